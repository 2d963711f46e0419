// One copy of the store in a thread of its own: what it holds, how far it is behind, and how much more it has room for.
import { StoreThread } from "./thread.ts";
import { NotBegun, ThreadGone, type Answer, type Change, type Image, type Question } from "./tasks.ts";
import type { Entry } from "./format.ts";

/** For one query, beside what the store itself takes. */
const QUERY_MEMORY_BYTES = 256 * 1024 * 1024;
/** A query that would have its thread use more takes down that thread, not the process. */
export const MOST_MEMORY_BYTES = 2 * 1024 * 1024 * 1024;
/** In memory a store takes at most eight to ten times what it takes as N-Quads or as updates. */
const MEMORY_PER_BYTE = 12;
/**
 * A copy has room for changes of this many bytes, or of this share of its own size. The bound of its memory cannot be
 * raised: once the room is used up, a question would have less than it is promised, and the copy answers no more.
 */
const ROOM_BYTES = 16 * 1024 * 1024;
const ROOM_SHARE = 0.5;

export class Copy {
  busy = true;
  idleSince = 0;
  readonly #changeTimeoutMs: number;
  #thread: StoreThread | undefined;
  /** changes that have not been given to the thread */
  #pending: Entry[] = [];
  #pendingBytes = 0;
  /** of the changes that have been given to the thread, and that it has not applied yet */
  #applyingBytes = 0;
  /** of all changes since the copy's image, whether applied or not */
  #changedBytes = 0;
  /** how many bytes of changes its memory has room for, beside the largest query; known when it is filled */
  #room = Number.POSITIVE_INFINITY;
  /** how much memory changes may take and have taken, which few words can make much; where a query left some free, none */
  #growth = Number.POSITIVE_INFINITY;
  #grownBytes = 0;
  /** of the last change that has been given to the thread */
  #sequence = 0;

  /** It holds nothing until it is filled, but is told of changes from now on. */
  constructor(changeTimeoutMs: number) {
    this.#changeTimeoutMs = changeTimeoutMs;
  }

  /** @param onGone called once, when the thread has ended for any reason */
  async fill({ sequence, quads }: Image, onGone: () => void): Promise<void> {
    this.#changedBytes = 0;
    this.#pendingBytes = 0;
    // The image may have been made after changes that were announced while it was being made.
    for (const entry of this.#pending.splice(0)) if (entry.sequence > sequence) this.push(entry);
    const room = Math.max(ROOM_BYTES, ROOM_SHARE * quads.length);
    const wanted = QUERY_MEMORY_BYTES + MEMORY_PER_BYTE * (quads.length + room);
    const maxBytes = Math.min(wanted, MOST_MEMORY_BYTES);
    this.#thread = new StoreThread({ background: true, maxBytes }, onGone);
    const task = { kind: "fill", image: { sequence, quads } } as const;
    this.#sequence = sequence;
    const filled = await this.#thread.ask(task, this.#changeTimeoutMs, [quads.buffer as ArrayBuffer]);
    const { memoryBytes = maxBytes, freeBytes = 0 } = filled;
    const left = maxBytes - QUERY_MEMORY_BYTES - memoryBytes;
    // As a rule it has taken far less than it might have.
    this.#room = Math.max(room, (left + freeBytes) / MEMORY_PER_BYTE);
    this.#growth = Math.max(left, ROOM_BYTES);
  }

  /** Tells it about a change; must be called in the order of the changes. */
  push(entry: Entry): void {
    const bytes = sizeOf(entry.change);
    this.#changedBytes += bytes;
    this.#pendingBytes += bytes;
    this.#pending.push(entry);
    // Once its answer is complete it ends; until then it would keep in memory whatever is written meanwhile.
    if (this.usedRoom >= 1) this.#pending = [];
  }

  /** How many bytes of changes a question would have to wait for. */
  get behindBytes(): number {
    return this.#pendingBytes + this.#applyingBytes;
  }

  /** The share of the room for changes that has been used; more than 1 when there was none left. */
  get usedRoom(): number {
    return Math.max(this.#changedBytes / this.#room, this.#grownBytes / this.#growth);
  }

  /** Whether its thread has anything to do. */
  get isWorking(): boolean {
    return (this.#thread?.waiting ?? 0) > 0;
  }

  get gone(): boolean {
    return this.#thread?.gone ?? false;
  }

  /** Has everything applied that it has been told of. */
  catchUp(): void {
    this.#pendingBytes = 0;
    for (const { sequence, change } of this.#pending.splice(0)) {
      // Also such a change may be announced only now.
      if (sequence <= this.#sequence) continue;
      this.#sequence = sequence;
      const bytes = sizeOf(change);
      this.#applyingBytes += bytes;
      this.#filled
        .ask({ kind: "change", change, checked: true, sequence }, this.#changeTimeoutMs)
        .then(({ grownBytes = 0 }) => this.#applied(bytes, grownBytes))
        // Whatever waits behind it must be asked of another copy.
        .catch(() => this.#thread?.end(new NotBegun("The copy could not take a change.")));
    }
  }

  #applied(bytes: number, grownBytes: number): void {
    this.#applyingBytes -= bytes;
    this.#grownBytes += grownBytes;
  }

  /**
   * Answers as soon as it holds everything that it has been told of.
   * @param task `after`: without this change it does not answer but ends, and fails with NotBegun
   * @param onPiece see StoreThread
   */
  ask(
    task: Question & { after: number },
    timeoutMs: number,
    onPiece: (bytes: Uint8Array) => void,
  ): Promise<Answer> {
    this.catchUp();
    return this.#filled.ask(task, timeoutMs, [], onPiece);
  }

  /** Says that a piece of an answer has left this process, or nobody wants it any more. */
  taken(): void {
    this.#thread?.taken();
  }

  end(): void {
    this.#thread?.end();
  }

  get #filled(): StoreThread {
    if (!this.#thread) throw new ThreadGone("The copy has not been made.");
    return this.#thread;
  }
}

/** How large a change is as it came, for a first idea of what it costs. */
export function sizeOf(change: Change): number {
  if (change.kind === "update") return change.sparql.length;
  return change.kind === "load" ? change.data.byteLength : 0;
}
