// Threads that answer questions from a copy of the store. Each can be ended at any time and replaced.
import { performance } from "node:perf_hooks";
import type { Readable } from "node:stream";
import { Pieces } from "./pieces.ts";
import { StoreThread } from "./thread.ts";
import { ThreadGone, type Answer, type Change, type Image, type Question } from "./tasks.ts";
import type { Entry } from "./format.ts";

export interface ReaderPoolOptions {
  /** kept ready at all times */
  minimum: number;
  /** while questions wait */
  maximum: number;
  queryTimeoutMs: number;
  changeTimeoutMs: number;
  /** a copy of the store in its current state */
  image: () => Promise<Image>;
  /** of memory that a thread with such a copy may use, and a query in it */
  memoryBytes: () => number;
}

interface Reader {
  thread: StoreThread;
  /** of the last change the copy holds; undefined until it is filled */
  sequence: number | undefined;
  /** changes to apply before the next question */
  pending: Entry[];
  pendingBytes: number;
  busy: boolean;
  idleSince: number;
}

interface Waiter {
  resolve(reader: Reader): void;
  reject(error: Error): void;
}

const RETRY_MS = 1_000;
const TICK_MS = 250;
/**
 * While less than this is pending, every reader applies changes as they come. When changes come faster, only one
 * reader keeps up, and the others catch up when there is a pause or a question needs them.
 */
const TRICKLE_BYTES = 512 * 1024;
/** A copy this far behind is cheaper to make anew. */
const OUTDATED_BYTES = 64 * 1024 * 1024;
/** After this long without an idle reader one more is started, before anybody has to wait for it. */
const ALL_BUSY_MS = 200;
const RETIRE_AFTER_MS = 30_000;
/** How long a question may run once nobody is waiting for its answer: a new copy costs more than most answers. */
const ABANDONED_MS = 500;

/** Answers questions so that each sees every change that was acknowledged before it was asked. */
export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #readers = new Set<Reader>();
  readonly #waiters: Waiter[] = [];
  readonly #ticker: NodeJS.Timeout;
  #lastChangeAt = 0;
  #lastIdleAt = performance.now();
  #stopped = false;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#ticker.unref();
  }

  /** Starts as many readers as are to be kept ready. */
  start(): void {
    while (!this.#stopped && this.#readers.size < this.#options.minimum) this.#startOne();
  }

  /** Tells the copies about a change; must be called in the order of the changes. */
  push(entry: Entry): void {
    this.#lastChangeAt = performance.now();
    const bytes = sizeOf(entry.change);
    for (const reader of [...this.#readers]) {
      reader.pending.push(entry);
      reader.pendingBytes += bytes;
      if (reader.pendingBytes > OUTDATED_BYTES && !reader.busy) reader.thread.end();
    }
  }

  /** Whether a question would be answered at once. */
  get idle(): boolean {
    return this.#ready().some(
      (reader) => reader.pendingBytes <= TRICKLE_BYTES && reader.thread.waiting === 0,
    );
  }

  /** @throws TaskRefused, TaskTooLarge, TaskTimeout, ThreadGone, or the signal's reason */
  async ask(question: Question, signal?: AbortSignal): Promise<Uint8Array | Readable | undefined> {
    const reader = await this.#acquire(signal);
    const pieces = new Pieces(() => reader.thread.taken());
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    let isStream = false;
    const answer = this.#answer(reader, question, signal, (piece) => {
      isStream = true;
      pieces.add(piece);
      begin();
    });
    const complete = ({ bytes }: Answer): void => {
      if (isStream) pieces.complete(bytes ?? new Uint8Array());
    };
    answer.then(complete, (error: Error) => pieces.destroy(error));
    await Promise.race([begun, answer]);
    return isStream ? pieces : (await answer).bytes;
  }

  async #answer(
    reader: Reader,
    question: Question,
    signal: AbortSignal | undefined,
    onPiece: (bytes: Uint8Array) => void,
  ): Promise<Answer> {
    let abandoned: NodeJS.Timeout | undefined;
    const onAbort = () => {
      abandoned = setTimeout(() => reader.thread.end(), ABANDONED_MS);
    };
    try {
      signal?.throwIfAborted();
      this.#catchUp(reader);
      signal?.addEventListener("abort", onAbort, { once: true });
      return await reader.thread.ask(question, this.#options.queryTimeoutMs, [], onPiece);
    } finally {
      clearTimeout(abandoned);
      signal?.removeEventListener("abort", onAbort);
      this.#release(reader);
    }
  }

  /** Ends all readers and makes new copies; what they were doing fails with ThreadGone. */
  renew(): void {
    for (const reader of [...this.#readers]) reader.thread.end();
    this.start();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#ticker);
    for (const reader of this.#readers) reader.thread.end();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new ThreadGone("The store is stopping."));
  }

  #ready(): Reader[] {
    return [...this.#readers].filter((reader) => reader.sequence !== undefined && !reader.busy);
  }

  async #acquire(signal?: AbortSignal): Promise<Reader> {
    signal?.throwIfAborted();
    const reader = this.#ready().toSorted((a, b) => a.pendingBytes - b.pendingBytes)[0];
    if (reader) {
      reader.busy = true;
      return reader;
    }
    if (this.#stopped) throw new ThreadGone("The store is stopping.");
    const { promise, resolve, reject } = Promise.withResolvers<Reader>();
    const waiter: Waiter = { resolve, reject };
    this.#waiters.push(waiter);
    this.#grow(this.#waiters.length);
    const onAbort = () => {
      const index = this.#waiters.indexOf(waiter);
      if (index >= 0) this.#waiters.splice(index, 1);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #release(reader: Reader): void {
    if (reader.thread.gone) return;
    const waiter = this.#waiters.shift();
    if (waiter) {
      waiter.resolve(reader);
      return;
    }
    reader.busy = false;
    reader.idleSince = performance.now();
  }

  /** Makes one more copy, unless as many as are wanted are already being made. */
  #grow(wanted: number): void {
    const filling = [...this.#readers].filter((reader) => reader.sequence === undefined).length;
    if (filling < wanted && this.#readers.size < this.#options.maximum) this.#startOne();
  }

  #startOne(): void {
    const thread = new StoreThread({ background: true, maxBytes: this.#options.memoryBytes() }, () => {
      this.#readers.delete(reader);
      this.start();
    });
    const reader: Reader = {
      thread,
      sequence: undefined,
      pending: [],
      pendingBytes: 0,
      busy: true,
      idleSince: 0,
    };
    this.#readers.add(reader);
    this.#fill(reader).catch(() => setTimeout(() => thread.end(), RETRY_MS).unref());
  }

  async #fill(reader: Reader): Promise<void> {
    const image = await this.#options.image();
    const { sequence } = await reader.thread.ask({ kind: "fill", image }, this.#options.changeTimeoutMs, [
      image.quads.buffer as ArrayBuffer,
    ]);
    reader.sequence = sequence;
    this.#release(reader);
  }

  #catchUp(reader: Reader): void {
    for (const { sequence, change } of reader.pending.splice(0)) {
      // The copy may have been made after a change that was announced while it was being made.
      if (sequence <= (reader.sequence ?? 0)) continue;
      reader.sequence = sequence;
      reader.thread
        .ask({ kind: "change", change, checked: true }, this.#options.changeTimeoutMs)
        .catch(() => reader.thread.end());
    }
    reader.pendingBytes = 0;
  }

  #tick(): void {
    const now = performance.now();
    const quiet = now - this.#lastChangeAt > TICK_MS;
    const ready = this.#ready();
    if (ready.length > 0) this.#lastIdleAt = now;
    else if (now - this.#lastIdleAt > ALL_BUSY_MS) this.#grow(1);
    for (const [index, reader] of ready.entries()) {
      if (this.#readers.size > this.#options.minimum && now - reader.idleSince > RETIRE_AFTER_MS)
        reader.thread.end();
      else if (index === 0 || quiet || reader.pendingBytes <= TRICKLE_BYTES) this.#catchUp(reader);
    }
  }
}

function sizeOf(change: Change): number {
  if (change.kind === "update") return change.sparql.length;
  return change.kind === "load" ? change.data.byteLength : 0;
}
