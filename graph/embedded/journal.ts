// How the embedded store outlives its process: a snapshot, and the changes since. Each file is named after the number
// of the last change before it, so which changes it holds never depends on when it was written.
import { mkdir, open, readdir, readFile, rename, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";
import type { Change, Image } from "./tasks.ts";

/** A change and its number. */
export interface Entry {
  sequence: number;
  change: Change;
}

interface Waiting {
  record: Buffer;
  sequence: number;
  resolve(): void;
  reject(error: Error): void;
}

// A record: payload length (4 bytes), checksum of the payload (4), number (8), payload.
const HEADER_BYTES = 16;
const SNAPSHOT = /^snapshot-(\d{16})\.nq$/;
const JOURNAL = /^journal-(\d{16})\.log$/;

/** The files of one store directory. One process at a time may use them. */
export class Journal {
  readonly #dir: string;
  #file: FileHandle | undefined;
  #size = 0;
  #lastSequence = 0;
  #waiting: Waiting[] = [];
  /** What the files are in use for; everything else that touches them waits its turn. */
  #turn: Promise<unknown> = Promise.resolve();
  #snapshotBytes = 0;
  #journalBytes = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The size in bytes of the changes since the last snapshot, and of that snapshot. */
  get sizes(): { journal: number; snapshot: number } {
    return { journal: this.#journalBytes, snapshot: this.#snapshotBytes };
  }

  /** Reads what there is, and opens the journal for appending. A record cut off by a crash is dropped. */
  recover(): Promise<{ image: Image; entries: Entry[] }> {
    return this.#inTurn(async () => {
      await this.#file?.close();
      await mkdir(this.#dir, { recursive: true });
      const names = (await readdir(this.#dir)).toSorted();
      const snapshot = names.findLast((name) => SNAPSHOT.test(name));
      const start = snapshot ? numberOf(snapshot) : 0;
      const quads = snapshot ? await readFile(join(this.#dir, snapshot)) : Buffer.alloc(0);
      this.#snapshotBytes = quads.length;
      this.#journalBytes = 0;
      this.#size = 0;
      const entries: Entry[] = [];
      const journals = names.filter((name) => JOURNAL.test(name));
      for (const name of journals) {
        this.#size = readRecords(await readFile(join(this.#dir, name)), start, entries);
        this.#journalBytes += this.#size;
      }
      this.#lastSequence = entries.at(-1)?.sequence ?? start;
      this.#file = await open(join(this.#dir, journals.at(-1) ?? journalName(this.#lastSequence)), "a+");
      await this.#file.truncate(this.#size);
      return { image: { sequence: start, quads: new Uint8Array(quads) }, entries };
    });
  }

  /** Resolves when the change is on disk. Changes that wait at the same time share one flush. */
  append(entry: Entry): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ record: encode(entry), sequence: entry.sequence, resolve, reject });
    if (this.#waiting.length === 1) void this.#inTurn(() => this.#flush());
    return promise;
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
      // Whatever follows an incomplete record would never be read again, so nothing more is written until recover().
      const file = this.#file;
      this.#file = undefined;
      await file?.close().catch(() => undefined);
      for (const waiting of batch) waiting.reject(error as Error);
    }
  }

  /**
   * From here on, changes go to a new file, so that the older files can be deleted once a snapshot covers them.
   * @returns the number that the new file begins after
   */
  rotate(): Promise<number> {
    return this.#inTurn(async () => {
      await this.#file?.close();
      this.#file = await open(join(this.#dir, journalName(this.#lastSequence)), "a+");
      this.#size = (await this.#file.stat()).size;
      await syncDirectory(this.#dir);
      return this.#lastSequence;
    });
  }

  /** Keeps an image as the snapshot to start from, and deletes what it replaces. */
  async keep(image: Image, rotatedAt: number): Promise<void> {
    const name = `snapshot-${pad(image.sequence)}.nq`;
    const path = join(this.#dir, name);
    const file = await open(`${path}.part`, "w");
    await file.writeFile(image.quads);
    await file.sync();
    await file.close();
    await rename(`${path}.part`, path);
    await syncDirectory(this.#dir);
    for (const old of await readdir(this.#dir)) {
      const superseded = SNAPSHOT.test(old)
        ? numberOf(old) < image.sequence
        : JOURNAL.test(old)
          ? numberOf(old) < rotatedAt
          : old.endsWith(".part");
      if (superseded) await rm(join(this.#dir, old));
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

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

function numberOf(name: string): number {
  return Number(/\d+/.exec(name)?.[0]);
}

function pad(sequence: number): string {
  return String(sequence).padStart(16, "0");
}

function journalName(sequence: number): string {
  return `journal-${pad(sequence)}.log`;
}

function encode({ sequence, change }: Entry): Buffer {
  const payload = serialize(change);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(payload.length, 0);
  header.writeUInt32LE(crc32(payload), 4);
  header.writeBigUInt64LE(BigInt(sequence), 8);
  return Buffer.concat([header, payload]);
}

/** Adds the entries after `start` to `entries`; returns how many bytes complete records take up. */
function readRecords(bytes: Buffer, start: number, entries: Entry[]): number {
  let offset = 0;
  while (offset + HEADER_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(offset);
    const payload = bytes.subarray(offset + HEADER_BYTES, offset + HEADER_BYTES + length);
    if (payload.length < length || crc32(payload) !== bytes.readUInt32LE(offset + 4)) break;
    const sequence = Number(bytes.readBigUInt64LE(offset + 8));
    if (sequence > start) entries.push({ sequence, change: deserialize(payload) as Change });
    offset += HEADER_BYTES + length;
  }
  return offset;
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  await handle.sync();
  await handle.close();
}
