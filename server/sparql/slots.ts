// Whose query runs when: a store works on a few at a time, and one key must not have all of them.

/** How many may run and wait. */
export type SlotOptions = {
  /** running, of all keys */
  overall: number;
  /** running, of one key */
  perKey: number;
  /** waiting, of one key */
  waitingPerKey: number;
  /** how long one waits before it is refused, in milliseconds */
  waitMs: number;
};

/** There is no slot, and none came free in time. */
export class NoSlot extends Error {
  override name = "NoSlot";
}

type Waiter = { key: string; go: () => void };

/** Lends slots. Of those that wait, a key with fewer queries running comes first, then who has waited longer. */
export class Slots {
  readonly #options: SlotOptions;
  readonly #running = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  #count = 0;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /**
   * @param gone aborted when nobody wants the slot any more
   * @returns what gives the slot back; it may be called more than once
   * @throws NoSlot, or the signal's reason
   */
  async take(key: string, gone: AbortSignal): Promise<() => void> {
    gone.throwIfAborted();
    if (this.#waiting.filter((waiter) => waiter.key === key).length >= this.#options.waitingPerKey) {
      throw new NoSlot("Too many are waiting.");
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { key, go: resolve };
    const leave = (reason: unknown) => {
      const at = this.#waiting.indexOf(waiter);
      if (at >= 0) this.#waiting.splice(at, 1);
      reject(reason);
    };
    const onGone = () => leave(gone.reason);
    const timer = setTimeout(() => leave(new NoSlot("The wait was too long.")), this.#options.waitMs);
    gone.addEventListener("abort", onGone, { once: true });
    this.#waiting.push(waiter);
    this.#next();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      gone.removeEventListener("abort", onGone);
    }
    let isHeld = true;
    return () => {
      if (isHeld) this.#giveBack(key);
      isHeld = false;
    };
  }

  #next(): void {
    while (this.#count < this.#options.overall) {
      const [first] = this.#waiting
        .filter(({ key }) => this.#of(key) < this.#options.perKey)
        .toSorted((a, b) => this.#of(a.key) - this.#of(b.key));
      if (!first) return;
      this.#waiting.splice(this.#waiting.indexOf(first), 1);
      this.#running.set(first.key, this.#of(first.key) + 1);
      this.#count += 1;
      first.go();
    }
  }

  #giveBack(key: string): void {
    const left = this.#of(key) - 1;
    if (left > 0) this.#running.set(key, left);
    else this.#running.delete(key);
    this.#count -= 1;
    this.#next();
  }

  #of(key: string): number {
    return this.#running.get(key) ?? 0;
  }
}
