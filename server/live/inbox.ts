// What waits to be read by one subscriber, in order.
/** A queue that one reads from as things come, until it is closed. */
export class Inbox<T> {
  readonly #waiting: { item: T; bytes: number; until: Promise<void> | undefined }[] = [];
  #bytes = 0;
  #isClosed = false;
  #wake: (() => void) | undefined;

  /** That wait to be read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param until what it is not to be read before */
  put(item: T, bytes: number, until?: Promise<void>): void {
    this.#waiting.push({ item, bytes, until });
    this.#bytes += bytes;
    this.#wake?.();
  }

  /** Ends the reading; what waits is dropped. */
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
