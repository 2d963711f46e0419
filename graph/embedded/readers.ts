// Threads that answer questions from a copy of the store. Each can be ended at any time and replaced.
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Readable } from "node:stream";
import { Copy } from "./copy.ts";
import type { Pace } from "./pace.ts";
import { Pieces } from "./pieces.ts";
import { isQuick, NotBegun, ThreadGone, type Answer, type Image, type Question } from "./tasks.ts";
import type { Entry } from "./format.ts";

export interface ReaderPoolOptions {
  /** how many readers are kept ready while callers ask */
  minimum: number;
  /** how many are kept ready when no caller has asked for a while; each takes about 20 MB */
  minimumAtRest: number;
  /** the most readers, while questions wait */
  maximum: number;
  queryTimeoutMs: number;
  changeTimeoutMs: number;
  /** a copy of the store in its current state */
  image: () => Promise<Image>;
  /** the pace of the changes */
  pace: Pick<Pace, "isCalm">;
}

interface Waiter {
  resolve(reader: Copy): void;
  reject(error: Error): void;
}

const RETRY_MS = 1_000;
/** A reader that is behind by no more than this answers at once. */
const AT_ONCE_BYTES = 32 * 1024;
/** While a reader is behind by no more than this, it catches up whatever else is going on. */
const TRICKLE_BYTES = 512 * 1024;
/** A question to a reader that is further behind would wait for seconds. */
const FAR_BEHIND_BYTES = 16 * 1024 * 1024;
/** Once a reader has used this share of its room, its successor is made while it keeps answering. */
const WORN_AT = 2 / 3;
/** How many readers a question is put to, if they end before they come to it. */
const ATTEMPTS = 3;
/** After this long without an idle reader one more is started, before a caller has to wait for it. */
const ALL_BUSY_MS = 200;
const RETIRE_AFTER_MS = 30_000;
/** After this long without a caller's question, fewer readers are kept ready. */
const REST_AFTER_MS = 300_000;
/**
 * How long a question may go on after its caller has left: ending it costs a new copy, which is
 * more than most answers cost.
 */
const ABANDONED_MS = 500;

/** Answers questions. Each answer shows every change that was acknowledged before the question. */
export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #readers = new Set<Copy>();
  /** copies that are being made */
  readonly #copies = new Set<Copy>();
  readonly #waiters: Waiter[] = [];
  /** number of the last change */
  #sequence = 0;
  /** how many readers were used up and will get a successor when there is time */
  #missing = 0;
  #lastIdleAt = performance.now();
  #lastAskedAt = -Infinity;
  #stopped = false;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
  }

  /** Starts readers until enough are kept ready. */
  start(): void {
    const wanted = Math.max(1, this.#minimum - this.#missing);
    while (!this.#stopped && this.#size < wanted) void this.#startOne();
  }

  /** Tells the copies about a change; must be called in the order of the changes. */
  push(entry: Entry): void {
    this.#sequence = entry.sequence;
    for (const copy of [...this.#copies, ...this.#readers]) {
      copy.push(entry);
      if (!copy.busy) this.#retireUsed(copy);
    }
  }

  /** Whether a question would be answered at once. */
  get idle(): boolean {
    return this.#ready().some(({ behindBytes, isWorking }) => behindBytes <= AT_ONCE_BYTES && !isWorking);
  }

  /** @throws TaskRefused, TaskTooLarge, TaskTimeout, ThreadGone, or the signal's reason */
  async ask(question: Question, signal?: AbortSignal): Promise<Uint8Array | Readable | undefined> {
    // The service's own questions do not count: they never stop.
    if (!isQuick(question)) this.#lastAskedAt = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#ask(question, signal);
      } catch (error) {
        // The question did not end the thread, and another reader can answer it.
        if (!(error instanceof NotBegun) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #ask(question: Question, signal?: AbortSignal): Promise<Uint8Array | Readable | undefined> {
    const reader = await this.#acquire(signal);
    const pieces = new Pieces(() => reader.taken());
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
    reader: Copy,
    question: Question,
    signal: AbortSignal | undefined,
    onPiece: (bytes: Uint8Array) => void,
  ): Promise<Answer> {
    let abandoned: NodeJS.Timeout | undefined;
    const onAbort = () => {
      abandoned = setTimeout(() => reader.end(), ABANDONED_MS);
    };
    try {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", onAbort, { once: true });
      const task = { ...question, after: this.#sequence };
      return await reader.ask(task, this.#options.queryTimeoutMs, onPiece);
    } finally {
      clearTimeout(abandoned);
      signal?.removeEventListener("abort", onAbort);
      this.#release(reader);
    }
  }

  /** Ends all readers and makes new copies; what they were doing fails with ThreadGone. */
  renew(): void {
    // The new copies may be of an earlier state.
    this.#sequence = 0;
    this.#missing = 0;
    this.#end();
    this.start();
  }

  stop(): void {
    this.#stopped = true;
    this.#end();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new ThreadGone("The store is stopping."));
  }

  #end(): void {
    const copies = [...this.#copies, ...this.#readers];
    this.#copies.clear();
    for (const copy of copies) copy.end();
  }

  get #minimum(): number {
    const isAtRest = performance.now() - this.#lastAskedAt > REST_AFTER_MS;
    return isAtRest ? this.#options.minimumAtRest : this.#options.minimum;
  }

  get #size(): number {
    return this.#readers.size + this.#copies.size;
  }

  /** The readers that could answer, the least far behind first. */
  #ready(): Copy[] {
    const ready = [...this.#readers].filter(({ busy, usedRoom }) => !busy && usedRoom < 1);
    return ready.toSorted((a, b) => a.behindBytes - b.behindBytes);
  }

  async #acquire(signal?: AbortSignal): Promise<Copy> {
    signal?.throwIfAborted();
    const [reader] = this.#ready();
    if (reader) {
      reader.busy = true;
      return reader;
    }
    if (this.#stopped) throw new ThreadGone("The store is stopping.");
    const { promise, resolve, reject } = Promise.withResolvers<Copy>();
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

  #release(reader: Copy): void {
    if (reader.gone || this.#retireUsed(reader)) return;
    const waiter = this.#waiters.shift();
    if (waiter) {
      waiter.resolve(reader);
      return;
    }
    reader.busy = false;
    reader.idleSince = performance.now();
  }

  /** Ends a reader that has no room left. @returns whether it did */
  #retireUsed(reader: Copy): boolean {
    if (reader.usedRoom < 1) return false;
    if (!this.#options.pace.isCalm) this.#missing += 1;
    reader.end();
    return true;
  }

  /** Makes one more copy, unless as many as are wanted are already being made. */
  #grow(wanted: number): void {
    if (this.#copies.size < wanted && this.#size < this.#options.maximum) void this.#startOne();
  }

  async #startOne(): Promise<void> {
    const copy = new Copy(this.#options.changeTimeoutMs);
    this.#copies.add(copy);
    const isMade = await this.#fill(copy).catch(() => undefined);
    // renew() and stop() discard the copies that are being made.
    if (isMade && this.#copies.delete(copy)) {
      this.#readers.add(copy);
      this.#release(copy);
    } else {
      copy.end();
      if (isMade === undefined) await sleep(RETRY_MS, undefined, { ref: false });
      this.#copies.delete(copy);
    }
    this.start();
  }

  async #fill(copy: Copy): Promise<boolean> {
    const image = await this.#options.image();
    if (!this.#copies.has(copy)) return false;
    await copy.fill(image, () => {
      this.#readers.delete(copy);
      this.start();
    });
    return true;
  }

  /** Must be called some four times a second. */
  tick(): void {
    const now = performance.now();
    if (this.#ready().length > 0) this.#lastIdleAt = now;
    else if (now - this.#lastIdleAt > ALL_BUSY_MS) this.#grow(1);
    for (const reader of this.#ready()) {
      const isSpare = this.#readers.size > this.#minimum;
      if (isSpare && (isWorn(reader) || now - reader.idleSince > RETIRE_AFTER_MS)) reader.end();
    }
    this.#succeed();
    this.#follow();
  }

  /** Starts successors, one at a time: the writer can do nothing else while it dumps its store for a copy. */
  #succeed(): void {
    if (this.#copies.size > 0) return;
    const readers = [...this.#readers];
    if (!this.#options.pace.isCalm) {
      // Otherwise the next caller would have to wait for a copy.
      if (readers.every(isWorn)) this.#grow(1);
    } else if (this.#missing > 0) {
      this.#missing -= 1;
      this.start();
    } else if (readers.some(isWorn)) this.#grow(1);
    else this.start();
  }

  /**
   * Makes idle readers catch up. While changes come in bulk, one of them keeps up
   * closely, the others only roughly.
   */
  #follow(): void {
    const [first, ...others] = this.#ready().toSorted((a, b) => Number(isWorn(a)) - Number(isWorn(b)));
    if (first && !first.isWorking) first.catchUp();
    let isOneAtIt = others.some(({ isWorking }) => isWorking);
    for (const reader of others) {
      if (reader.behindBytes > TRICKLE_BYTES) {
        const canWait = !this.#options.pace.isCalm && reader.behindBytes <= FAR_BEHIND_BYTES;
        if (isOneAtIt || canWait) continue;
        isOneAtIt = true;
      }
      reader.catchUp();
    }
  }
}

/** Whether its successor should be made while it keeps answering. */
function isWorn({ usedRoom }: Copy): boolean {
  return usedRoom >= WORN_AT;
}
