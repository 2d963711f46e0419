// How fast changes come: a few at a time, or in bulk, as when a store is first filled or a graph is rebuilt.

/** More than this between two ticks counts as bulk. */
const BULK_BYTES = 128 * 1024;
const CALM_AFTER_MS = 5_000;

export class Pace {
  readonly #now: () => number;
  #bytes = 0;
  #lastBulkAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether there is time for work that can wait. */
  get isCalm(): boolean {
    return this.#now() - this.#lastBulkAt >= CALM_AFTER_MS;
  }

  push(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > BULK_BYTES) this.#lastBulkAt = this.#now();
  }

  /** Must be called about four times a second. */
  tick(): void {
    this.#bytes = 0;
  }
}
