// What waits for one subscriber to read it, in order.
/** A queue with one reader, who waits for items until it is closed. */
export class Inbox<T> {
  readonly #waiting: { item: T; bytes: number; until: Promise<void> | undefined }[] = [];
  #bytes = 0;
  #isClosed = false;
  #wake: (() => void) | undefined;

  /** Bytes that wait to be read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param until the item is not read before this resolves */
  put(item: T, bytes: number, until?: Promise<void>): void {
    this.#waiting.push({ item, bytes, until });
    this.#bytes += bytes;
    this.#wake?.();
  }

  /** Ends the reading, and drops what waits. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.#wake?.();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async *read(): AsyncGenerator<T, void, undefined> {
    while (!this.#isClosed) {
      const next = this.#waiting[0];
      if (next) {
        await next.until;
        if (this.#isClosed) return;
        this.#waiting.shift();
        this.#bytes -= next.bytes;
        yield next.item;
      } else {
        await new Promise<void>((wake) => (this.#wake = wake));
      }
    }
  }
}
