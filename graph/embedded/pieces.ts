// Streams an answer from a store thread to a caller, no faster than the caller reads it.
import { Readable } from "node:stream";

/** The pieces that a thread has sent and the caller has not read yet. */
export class Pieces extends Readable {
  readonly #onTaken: () => void;
  readonly #waiting: (Uint8Array | null)[] = [];
  #isWanted = false;
  #isComplete = false;

  /** @param onTaken called for each piece that was added, once the thread may send another in its place */
  constructor(onTaken: () => void) {
    super();
    this.#onTaken = onTaken;
    // The answer may fail before anyone reads it; the stream keeps the error for its reader.
    this.on("error", () => undefined);
  }

  add(piece: Uint8Array): void {
    this.#waiting.push(piece);
    this.#pass();
  }

  /**
   * Adds the last piece. From now on, a caller who is slow to read the rest no longer keeps
   * the thread from its next task.
   */
  complete(last: Uint8Array): void {
    for (const _ of this.#waiting) this.#onTaken();
    this.#isComplete = true;
    this.#waiting.push(last, null);
    this.#pass();
  }

  override _read(): void {
    this.#isWanted = true;
    this.#pass();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // The thread goes on until it is ended, and should not wait for a caller who has gone.
    this.#pass();
    done(error);
  }

  #pass(): void {
    while (this.#waiting.length > 0 && (this.#isWanted || this.destroyed)) {
      const piece = this.#waiting.shift() ?? null;
      if (!this.#isComplete) this.#onTaken();
      if (!this.destroyed) this.#isWanted = this.push(piece);
    }
  }
}
