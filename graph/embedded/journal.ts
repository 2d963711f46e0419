// Persists the embedded store: a snapshot, and the changes since.
import { chmod, mkdir, open, readdir, rename, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import {
  listFiles,
  nameOf,
  PRIVATE_DIRECTORY,
  PRIVATE_FILE,
  syncDirectory,
  UNFINISHED,
  type StoreFile,
} from "./files.ts";
import { encodeRecord, snapshotHeader, type Entry } from "./format.ts";
import { distrust, readTrusted, type Trusted } from "./recovery.ts";
import type { Image } from "./tasks.ts";

interface Waiting {
  record: Buffer;
  sequence: number;
  resolve(): void;
  reject(error: Error): void;
}

/** The files of one store directory. One process at a time may use them. */
export class Journal {
  readonly #dir: string;
  readonly #warn: (message: string) => void;
  #file: FileHandle | undefined;
  #size = 0;
  /** the last change before the file that is being written */
  #begunAfter = 0;
  #lastSequence = 0;
  #waiting: Waiting[] = [];
  /** The latest operation on the files: they run one after another. */
  #turn: Promise<unknown> = Promise.resolve();
  #snapshotBytes = 0;
  #journalBytes = 0;

  /** @param warn called with what was set aside, and what could not be written */
  constructor(dir: string, warn: (message: string) => void) {
    this.#dir = dir;
    this.#warn = warn;
  }

  /** The size in bytes of the changes since the last snapshot, and of that snapshot. */
  get sizes(): { journal: number; snapshot: number } {
    return { journal: this.#journalBytes, snapshot: this.#snapshotBytes };
  }

  /** The number of the last change that is on disk. */
  get sequence(): number {
    return this.#lastSequence;
  }

  /** Reads what can be trusted, sets the rest aside, and opens the journal for appending. */
  recover(): Promise<Trusted> {
    return this.#inTurn(async () => {
      await this.#file?.close();
      this.#file = undefined;
      await mkdir(this.#dir, { recursive: true, mode: PRIVATE_DIRECTORY });
      for (const name of await readdir(this.#dir))
        if (name.endsWith(UNFINISHED)) await rm(join(this.#dir, name));
      const trusted = await readTrusted(this.#dir, this.#warn);
      // Earlier versions left the files readable to other users of the machine.
      for (const { name } of await listFiles(this.#dir)) await chmod(join(this.#dir, name), PRIVATE_FILE);
      this.#snapshotBytes = trusted.snapshot?.quads.length ?? 0;
      this.#journalBytes = trusted.bytes;
      this.#lastSequence = trusted.entries.at(-1)?.sequence ?? trusted.snapshot?.file.after ?? 0;
      this.#size = trusted.last?.end ?? 0;
      this.#begunAfter = trusted.last?.file.after ?? this.#lastSequence;
      this.#file = await this.#open(trusted.last?.file.name ?? nameOf("journal", this.#lastSequence), "a+");
      // Removes a record that was cut off by a crash, and so was never acknowledged.
      await this.#file.truncate(this.#size);
      await syncDirectory(this.#dir);
      return trusted;
    });
  }

  /** Sets aside a snapshot, or a change and all that follow it, that the engine cannot read. */
  distrust(file: StoreFile, offset: number): Promise<void> {
    return this.#inTurn(() => distrust(this.#dir, { kind: "damage", file, offset }, this.#warn));
  }

  /** Resolves when the change is on disk. Changes that wait at the same time share one flush. */
  append(entry: Entry): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ record: encodeRecord(entry), sequence: entry.sequence, resolve, reject });
    if (this.#waiting.length === 1) void this.#inTurn(() => this.#flush());
    return promise;
  }

  /**
   * Resolves when a change that was passed to append() is on disk.
   * @throws Error if it is not, and will not be
   */
  async holds(sequence: number): Promise<void> {
    if (sequence <= this.#lastSequence) return;
    await this.#inTurn(async () => {
      if (sequence > this.#lastSequence) throw new Error(`Change ${sequence} is not on disk.`);
    });
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0);
    try {
      if (!this.#file) throw new Error("The journal is closed.");
      const bytes = Buffer.concat(batch.map((waiting) => waiting.record));
      await this.#file.appendFile(bytes);
      await this.#file.datasync();
      this.#size += bytes.length;
      this.#journalBytes += bytes.length;
      this.#lastSequence = batch.at(-1)?.sequence ?? this.#lastSequence;
      for (const waiting of batch) waiting.resolve();
    } catch (error) {
      this.#warn(`${this.#dir}: a change could not be written, and is refused: ${(error as Error).message}`);
      // Anything after an incomplete record would never be read again, so nothing
      // more is written until recover().
      const file = this.#file;
      this.#file = undefined;
      await file?.close().catch(() => undefined);
      for (const waiting of batch) waiting.reject(error as Error);
    }
  }

  /**
   * Starts a new file for changes, so that the older files can be deleted once a snapshot covers them.
   * @returns the number of the last change before the new file
   */
  rotate(): Promise<number> {
    return this.#inTurn(async () => {
      // After a failed write, nothing may be appended.
      if (!this.#file) throw new Error("The journal is closed.");
      const before = this.#file;
      // The new file is opened first, because without one no change could be written.
      const file = await this.#open(nameOf("journal", this.#lastSequence), "a+");
      this.#file = file;
      this.#begunAfter = this.#lastSequence;
      await before.close();
      this.#size = (await file.stat()).size;
      await syncDirectory(this.#dir);
      return this.#lastSequence;
    });
  }

  /** Saves an image as the snapshot to start from, and deletes the files that it replaces. */
  async keep(image: Image, rotatedAt: number): Promise<void> {
    const name = nameOf("snapshot", image.sequence);
    const part = `${name}${UNFINISHED}`;
    try {
      await this.#write(part, [snapshotHeader(image.quads), image.quads]);
    } catch (error) {
      // On a full disk, an unfinished snapshot would take the space that changes need.
      await rm(join(this.#dir, part), { force: true });
      throw error;
    }
    await rename(join(this.#dir, part), join(this.#dir, name));
    await syncDirectory(this.#dir);
    // What was read again since the rotation may continue in an older file, if the
    // newer one could not be trusted.
    const begunAfter = Math.min(rotatedAt, this.#begunAfter);
    for (const old of await listFiles(this.#dir)) {
      const isSuperseded =
        old.kind === "snapshot" ? old.after <= image.sequence && old.name !== name : old.after < begunAfter;
      if (isSuperseded) await rm(join(this.#dir, old.name));
    }
    this.#snapshotBytes = image.quads.length;
    this.#journalBytes = this.#size;
  }

  close(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#file?.close();
      this.#file = undefined;
    });
  }

  async #write(name: string, content: readonly (string | Uint8Array)[]): Promise<void> {
    const file = await this.#open(name, "w");
    try {
      for (const piece of content) await file.writeFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  #open(name: string, flags: string): Promise<FileHandle> {
    return open(join(this.#dir, name), flags, PRIVATE_FILE);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}
