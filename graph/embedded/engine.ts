// The embedded store as a whole: a writer thread that holds the authoritative state, a journal that persists
// it, and readers with copies of it.
import type { Readable } from "node:stream";
import { RESULTS_JSON } from "../media-types.ts";
import { Journal } from "./journal.ts";
import { sizeOf } from "./copy.ts";
import { Pace } from "./pace.ts";
import { ReaderPool } from "./readers.ts";
import type { Place, Trusted } from "./recovery.ts";
import { StoreThread } from "./thread.ts";
import {
  NotBegun,
  TaskRefused,
  ThreadGone,
  isQuick,
  type Answer,
  type Change,
  type Image,
  type Question,
  type Task,
} from "./tasks.ts";

/**
 * A journal larger than this is replaced by a snapshot at stop: loading one takes a fraction of the time it
 * takes to repeat the changes.
 */
const SNAPSHOT_AT_STOP_BYTES = 1024 * 1024;

export interface EngineOptions {
  dir: string;
  queryTimeoutMs: number;
  /** called with what an operator should know although the store goes on */
  warn: (message: string) => void;
}

const CHANGE_TIMEOUT_MS = 120_000;
/** A query that is answered once everything asked before it is done. */
const BARRIER = {
  kind: "query",
  sparql: "ASK {}",
  type: RESULTS_JSON,
  answersGraph: false,
  dataset: "query",
  quick: true,
  after: 0,
} as const;
const RETRY_MS = 1_000;
// One more than one API key may use at a time, so that the next caller does not wait until a copy is made.
const READERS_READY = 3;
const READERS_AT_REST = 1;
const READERS_AT_MOST = 4;
/** A snapshot is due when the journal is larger than this and larger than the previous snapshot. */
const SNAPSHOT_AFTER_BYTES = 32 * 1024 * 1024;
/**
 * While changes come in bulk a snapshot waits, since it would hold up the writer. But the journal
 * must be read at the next start, so the wait ends when the journal is this many times larger
 * than when the snapshot was due.
 */
const SNAPSHOT_AT_LATEST = 3;
const TICK_MS = 250;

/** All methods throw TaskRefused, TaskTooLarge, TaskTimeout or ThreadGone. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #journal: Journal;
  readonly #readers: ReaderPool;
  readonly #pace = new Pace();
  readonly #ticker: NodeJS.Timeout;
  #writer: Promise<StoreThread>;
  /** the last change that readers have been told of, or that was there before they started */
  #shown = 0;
  #snapshot: Promise<void> | undefined;
  #isSnapshotPutOff = false;
  /** how large the journal must be before another attempt at a snapshot, after one has failed */
  #noSnapshotBefore = 0;
  #stopped = false;

  private constructor(options: EngineOptions) {
    this.#options = options;
    this.#journal = new Journal(options.dir, options.warn);
    this.#readers = new ReaderPool({
      minimum: READERS_READY,
      minimumAtRest: READERS_AT_REST,
      maximum: READERS_AT_MOST,
      queryTimeoutMs: options.queryTimeoutMs,
      changeTimeoutMs: CHANGE_TIMEOUT_MS,
      image: () => this.#image(),
      pace: this.#pace,
    });
    this.#ticker = setInterval(() => {
      this.#pace.tick();
      this.#readers.tick();
      if (this.#isSnapshotPutOff && this.#pace.isCalm) this.#snapshotIfDue();
    }, TICK_MS);
    this.#ticker.unref();
    this.#writer = this.#startWriter();
  }

  /** Resolves when everything in the directory has been loaded. */
  static async open(options: EngineOptions): Promise<Engine> {
    const engine = new Engine(options);
    await engine.#writer;
    engine.#shown = engine.#journal.sequence;
    engine.#readers.start();
    return engine;
  }

  /** Applies a change; resolves when it is on disk and every later question sees it. */
  async change(change: Change): Promise<Answer> {
    const writer = await this.#theWriter();
    const answer = await writer.ask({ kind: "change", change, checked: false }, CHANGE_TIMEOUT_MS);
    // The writer's successor was started without this change.
    if (writer.gone) throw new ThreadGone("The store was restarted.");
    const entry = { sequence: answer.sequence, change };
    try {
      await this.#journal.append(entry);
    } catch (error) {
      // The thread now holds something that the disk does not: go back to what is on disk.
      writer.end();
      throw new ThreadGone("The change could not be written to disk.", { cause: error });
    }
    this.#pace.push(sizeOf(change));
    this.#shown = entry.sequence;
    this.#readers.push(entry);
    this.#snapshotIfDue();
    return answer;
  }

  /**
   * @returns the bytes of a short answer, a stream of a long one; undefined for a graph that does not exist.
   *   A stream may still fail with any of the errors.
   */
  async ask(question: Question, signal?: AbortSignal): Promise<Uint8Array | Readable | undefined> {
    if (!isQuick(question) || this.#readers.idle) return this.#readers.ask(question, signal);
    try {
      // The writer need not catch up, and never waits for a slow caller.
      return (await this.#asked({ ...question, after: 0 }, this.#options.queryTimeoutMs)).bytes;
    } catch (error) {
      if (!(error instanceof NotBegun)) throw error;
      return this.#readers.ask(question, signal);
    }
  }

  async #theWriter(): Promise<StoreThread> {
    try {
      return await this.#writer;
    } catch (error) {
      // The question is not to blame if the writer cannot be started.
      throw new NotBegun(`The store could not be read again: ${(error as Error).message}`, { cause: error });
    }
  }

  /** The writer's answer, once every change that it may show is on disk. */
  async #asked(task: Extract<Task, { kind: "query" | "dump" }>, timeoutMs: number): Promise<Answer> {
    const writer = await this.#theWriter();
    const answer = await writer.ask(task, timeoutMs);
    await this.#journal.holds(answer.sequence).catch((error: unknown) => {
      throw new NotBegun("The store went back to what is on disk.", { cause: error });
    });
    return answer;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#ticker);
    this.#readers.stop();
    await this.#snapshot;
    if (this.#journal.sizes.journal > SNAPSHOT_AT_STOP_BYTES)
      await this.#takeSnapshot().catch(() => undefined);
    const writer = await this.#writer.catch(() => undefined);
    await writer?.ask(BARRIER, CHANGE_TIMEOUT_MS).catch(() => undefined);
    writer?.end();
    await this.#journal.close();
  }

  async #startWriter(): Promise<StoreThread> {
    for (;;) {
      const trusted = await this.#journal.recover();
      const loaded = await this.#load(trusted);
      if (loaded instanceof StoreThread) return loaded;
      await this.#journal.distrust(loaded.file, loaded.offset);
    }
  }

  /**
   * @returns the place of a change that the engine refused, if any: it was accepted once, so the
   *   bytes on disk must have changed
   */
  async #load({ snapshot, entries }: Trusted): Promise<StoreThread | Place> {
    let loaded = false;
    const thread = new StoreThread({ background: false }, () => {
      if (loaded) this.#replaceWriter();
    });
    const quads = new Uint8Array(snapshot?.quads ?? []);
    const image = { sequence: snapshot?.file.after ?? 0, quads };
    const tasks = [
      ...(snapshot
        ? [
            {
              task: thread.ask({ kind: "fill", image }, CHANGE_TIMEOUT_MS, [quads.buffer]),
              at: { file: snapshot.file, offset: 0 },
            },
          ]
        : []),
      ...entries.map(({ change, at }) => ({
        task: thread.ask({ kind: "change", change, checked: true }, CHANGE_TIMEOUT_MS),
        at,
      })),
    ];
    const results = await Promise.allSettled(tasks.map(({ task }) => task));
    const failed = results.findIndex(({ status }) => status === "rejected");
    const failure = results[failed];
    if (failure?.status === "rejected") {
      thread.end();
      if (failure.reason instanceof TaskRefused) return tasks[failed]!.at;
      throw failure.reason;
    }
    loaded = true;
    return thread;
  }

  #replaceWriter(): void {
    if (this.#stopped) return;
    this.#writer = this.#startWriter();
    this.#writer.then(
      () => this.#agree(),
      () => setTimeout(() => this.#replaceWriter(), RETRY_MS).unref(),
    );
  }

  /**
   * Makes readers show the state that the new writer was loaded from. Usually they
   * do already, and keep running.
   */
  #agree(): void {
    const { sequence } = this.#journal;
    if (sequence === this.#shown) return;
    // The files were damaged since the readers were made, or contain a change that was reported as failed.
    this.#shown = sequence;
    this.#readers.renew();
  }

  async #image(): Promise<Image> {
    const { sequence, bytes } = await this.#asked({ kind: "dump" }, CHANGE_TIMEOUT_MS);
    return { sequence, quads: bytes ?? new Uint8Array() };
  }

  #snapshotIfDue(): void {
    const { journal, snapshot } = this.#journal.sizes;
    const due = Math.max(SNAPSHOT_AFTER_BYTES, snapshot, this.#noSnapshotBefore);
    if (this.#snapshot || this.#stopped || journal < due) return;
    this.#isSnapshotPutOff = !this.#pace.isCalm && journal < due * SNAPSHOT_AT_LATEST;
    if (this.#isSnapshotPutOff) return;
    this.#snapshot = this.#takeSnapshot()
      .catch((error: unknown) => {
        // The journal still has everything. Trying again at every change would cost a copy
        // of the whole store each time.
        this.#noSnapshotBefore = this.#journal.sizes.journal + SNAPSHOT_AFTER_BYTES;
        if (error instanceof ThreadGone) return;
        this.#options.warn(
          `${this.#options.dir}: no snapshot could be written, and the journal grows: ${(error as Error).message}`,
        );
      })
      .finally(() => {
        this.#snapshot = undefined;
      });
  }

  async #takeSnapshot(): Promise<void> {
    const rotatedAt = await this.#journal.rotate();
    await this.#journal.keep(await this.#image(), rotatedAt);
    this.#noSnapshotBefore = 0;
  }
}
