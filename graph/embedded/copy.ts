// One copy of the store in a thread of its own: what it holds, how far it is behind,
// and how much room it has left.
import { StoreThread } from "./thread.ts";
import { NotBegun, ThreadGone, type Answer, type Change, type Image, type Question } from "./tasks.ts";
import type { Entry } from "./format.ts";

/** Memory for one query, besides what the store itself takes. */
const QUERY_MEMORY_BYTES = 256 * 1024 * 1024;
/** The most memory for a thread. A query that needs more ends its thread, not the process. */
export const MOST_MEMORY_BYTES = 2 * 1024 * 1024 * 1024;
/** In memory a store takes at most eight to ten times what it takes as N-Quads or as updates. */
const MEMORY_PER_BYTE = 12;
/**
 * A copy has room for this many bytes of changes, or for this share of its own size if that is more. Its
 * memory limit cannot be raised: once the room is used up, a question would have less memory than promised,
 * so the copy answers no more.
 */
const ROOM_BYTES = 16 * 1024 * 1024;
const ROOM_SHARE = 0.5;

export class Copy {
  busy = true;
  idleSince = 0;
  readonly #changeTimeoutMs: number;
  #thread: StoreThread | undefined;
  /** changes that have not been sent to the thread */
  #pending: Entry[] = [];
  #pendingBytes = 0;
  /** size of the changes that have been sent to the thread and not yet applied */
  #applyingBytes = 0;
  /** size of all changes since the copy's image, applied or not */
  #changedBytes = 0;
  /** how many bytes of changes its memory has room for, besides the largest query; known once it is filled */
  #room = Number.POSITIVE_INFINITY;
  /**
   * how much memory changes may take, and how much they took: a short update may need a lot, or
   * none if a query left some free
   */
  #growth = Number.POSITIVE_INFINITY;
  #grownBytes = 0;
  /** number of the last change that was sent to the thread */
  #sequence = 0;

  /** The copy is empty until it is filled, but must be told of changes from now on. */
  constructor(changeTimeoutMs: number) {
    this.#changeTimeoutMs = changeTimeoutMs;
  }

  /** @param onGone called once, when the thread has ended for any reason */
  async fill({ sequence, quads }: Image, onGone: () => void): Promise<void> {
    this.#changedBytes = 0;
    this.#pendingBytes = 0;
    // Changes that were announced while the image was being made may be in it already.
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
    // Usually filling has taken far less memory than reserved.
    this.#room = Math.max(room, (left + freeBytes) / MEMORY_PER_BYTE);
    this.#growth = Math.max(left, ROOM_BYTES);
  }

  /** Queues a change; must be called in the order of the changes. */
  push(entry: Entry): void {
    const bytes = sizeOf(entry.change);
    this.#changedBytes += bytes;
    this.#pendingBytes += bytes;
    this.#pending.push(entry);
    // The copy ends after its current answer: until then, further changes would only take up memory.
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

  /** Sends all queued changes to the thread. */
  catchUp(): void {
    this.#pendingBytes = 0;
    for (const { sequence, change } of this.#pending.splice(0)) {
      // A change that is in the image may be announced only now.
      if (sequence <= this.#sequence) continue;
      this.#sequence = sequence;
      const bytes = sizeOf(change);
      this.#applyingBytes += bytes;
      this.#filled
        .ask({ kind: "change", change, checked: true, sequence }, this.#changeTimeoutMs)
        .then(({ grownBytes = 0 }) => this.#applied(bytes, grownBytes))
        // Tasks that wait behind the change must go to another copy.
        .catch(() => this.#thread?.end(new NotBegun("The copy could not take a change.")));
    }
  }

  #applied(bytes: number, grownBytes: number): void {
    this.#applyingBytes -= bytes;
    this.#grownBytes += grownBytes;
  }

  /**
   * Answers once all changes that it was told of have been applied.
   * @param task if the copy lacks the change `after`, it does not answer but ends,
   *   and this fails with NotBegun
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

  /** Reports that a piece of an answer has left this process, or is no longer wanted. */
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

/** The size of a change as it arrived, as a first estimate of its cost. */
export function sizeOf(change: Change): number {
  if (change.kind === "update") return change.sparql.length;
  return change.kind === "load" ? change.data.byteLength : 0;
}
