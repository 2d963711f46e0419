// Threads that answer questions from a copy of the store. Each can be ended at any time and replaced.
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
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
}

/** A copy that is being made, and what has changed since it was begun. */
interface Copy {
  /** undefined until there is something to fill it with */
  thread: StoreThread | undefined;
  /** changes to apply before the next question */
  pending: Entry[];
  pendingBytes: number;
  /** of all changes since the copy's image, whether applied or not */
  changedBytes: number;
}

interface Reader extends Copy {
  thread: StoreThread;
  /** of the last change the copy holds */
  sequence: number;
  /** how many bytes of changes its memory has room for, beside the largest query */
  room: number;
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
/** For one query, beside what the store itself takes. */
const QUERY_MEMORY_BYTES = 256 * 1024 * 1024;
/** In memory a store takes eight to ten times what it takes as N-Quads or as updates. */
const MEMORY_PER_BYTE = 12;
/**
 * A copy has room for changes of this many bytes, or of this share of its own size. The bound of its memory cannot be
 * raised: once the room is used up, a question would have less than it is promised, and the copy answers no more.
 */
const ROOM_BYTES = 16 * 1024 * 1024;
const ROOM_SHARE = 0.5;
/** From this share of its room on, a copy's successor is made while it goes on answering. */
const WORN_AT = 2 / 3;
/** After this long without an idle reader one more is started, before anybody has to wait for it. */
const ALL_BUSY_MS = 200;
const RETIRE_AFTER_MS = 30_000;
/** How long a question may run once nobody is waiting for its answer: a new copy costs more than most answers. */
const ABANDONED_MS = 500;

/** Answers questions so that each sees every change that was acknowledged before it was asked. */
export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #readers = new Set<Reader>();
  readonly #copies = new Set<Copy>();
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
    while (!this.#stopped && this.#size < this.#options.minimum) void this.#startOne();
  }

  /** Tells the copies about a change; must be called in the order of the changes. */
  push(entry: Entry): void {
    this.#lastChangeAt = performance.now();
    const bytes = sizeOf(entry.change);
    for (const copy of [...this.#copies, ...this.#readers]) {
      copy.pending.push(entry);
      copy.pendingBytes += bytes;
      copy.changedBytes += bytes;
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
    this.#end();
    this.start();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#ticker);
    this.#end();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new ThreadGone("The store is stopping."));
  }

  #end(): void {
    const copies = [...this.#copies, ...this.#readers];
    this.#copies.clear();
    for (const { thread } of copies) thread?.end();
  }

  get #size(): number {
    return this.#readers.size + this.#copies.size;
  }

  /** Those that do nothing, the one that is the least behind first. */
  #idle(): Reader[] {
    const idle = [...this.#readers].filter((reader) => !reader.busy);
    return idle.toSorted((a, b) => a.pendingBytes - b.pendingBytes);
  }

  #ready(): Reader[] {
    return this.#idle().filter((reader) => usedRoom(reader) < 1);
  }

  async #acquire(signal?: AbortSignal): Promise<Reader> {
    signal?.throwIfAborted();
    const [reader] = this.#ready();
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
    if (usedRoom(reader) >= 1) {
      reader.thread.end();
      return;
    }
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
    if (this.#copies.size < wanted && this.#size < this.#options.maximum) void this.#startOne();
  }

  async #startOne(): Promise<void> {
    const copy: Copy = { thread: undefined, pending: [], pendingBytes: 0, changedBytes: 0 };
    this.#copies.add(copy);
    const reader = await this.#fill(copy).catch(async () => {
      copy.thread?.end();
      await sleep(RETRY_MS, undefined, { ref: false });
    });
    // Whoever renews or stops the readers no longer wants what was being made.
    const isWanted = this.#copies.delete(copy);
    if (reader && isWanted) {
      this.#readers.add(reader);
      this.#release(reader);
    } else reader?.thread.end();
    this.start();
  }

  async #fill(copy: Copy): Promise<Reader> {
    const image = await this.#options.image();
    if (!this.#copies.has(copy)) throw new ThreadGone("The copy is no longer wanted.");
    copy.changedBytes = 0;
    const room = Math.max(ROOM_BYTES, ROOM_SHARE * image.quads.length);
    const maxBytes = QUERY_MEMORY_BYTES + MEMORY_PER_BYTE * (image.quads.length + room);
    const thread: StoreThread = new StoreThread({ background: true, maxBytes }, () => {
      this.#readers.delete(reader);
      this.start();
    });
    const reader: Reader = Object.assign(copy, { thread, room, sequence: 0, busy: true, idleSince: 0 });
    const quads = image.quads.buffer as ArrayBuffer;
    const filled = await thread.ask({ kind: "fill", image }, this.#options.changeTimeoutMs, [quads]);
    reader.sequence = filled.sequence;
    return reader;
  }

  #catchUp(reader: Reader): void {
    for (const { sequence, change } of reader.pending.splice(0)) {
      // The copy may have been made after a change that was announced while it was being made.
      if (sequence <= reader.sequence) continue;
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
    if (this.#ready().length > 0) this.#lastIdleAt = now;
    else if (now - this.#lastIdleAt > ALL_BUSY_MS) this.#grow(1);
    for (const [index, reader] of this.#idle().entries()) {
      const isWorn = usedRoom(reader) >= WORN_AT;
      const isSpare = this.#readers.size > this.#options.minimum;
      if (isSpare && (isWorn || now - reader.idleSince > RETIRE_AFTER_MS)) reader.thread.end();
      else if (index === 0 || quiet || reader.pendingBytes <= TRICKLE_BYTES) {
        this.#catchUp(reader);
        if (isWorn) this.#grow(1);
      }
    }
  }
}

/** @returns the share of the room for changes that has been used; more than 1 when there was none left */
function usedRoom({ changedBytes, room }: Reader): number {
  return changedBytes / room;
}

function sizeOf(change: Change): number {
  if (change.kind === "update") return change.sparql.length;
  return change.kind === "load" ? change.data.byteLength : 0;
}
