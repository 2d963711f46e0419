// An answer on its way from a store thread to a caller, no faster than the caller takes it.
import { Readable } from "node:stream";

/** What a thread has sent and the caller has not taken yet. */
export class Pieces extends Readable {
  readonly #onTaken: () => void;
  readonly #waiting: (Uint8Array | null)[] = [];
  #isWanted = false;
  #isComplete = false;

  /** @param onTaken called for each piece that was added, once the thread may send another in its place */
  constructor(onTaken: () => void) {
    super();
    this.#onTaken = onTaken;
    // It may break off before anybody reads it; the stream keeps the error for whoever does.
    this.on("error", () => undefined);
  }

  add(piece: Uint8Array): void {
    this.#waiting.push(piece);
    this.#pass();
  }

  /** Ends it with a last piece. A caller who is slow with the rest no longer keeps the thread from its next task. */
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
