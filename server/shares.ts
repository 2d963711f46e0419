// Who gets the next connection, or the next query of the graph. One caller may use no more than a share of them, and
// those who wait take turns by caller, so that a caller who asks for a hundred things at once stands only in its own way.
import { CallerGone, ServiceBusy } from "./postgres/unavailable.ts";

/** How many there are, and how they are shared. */
export type ShareLimits = {
  slots: number;
  /** that one caller may have at a time */
  perCaller: number;
  /** how long a caller waits before it is told that the service is busy */
  patienceMs: number;
  /** how many of one caller's requests may wait */
  queuePerCaller: number;
  /** how many may wait in all */
  queue: number;
};

type Waiting = { admit: () => void; refuse: (error: Error) => void };
type Caller = { running: number; readonly waiting: Set<Waiting> };

/** Shares a number of slots among callers. */
export class Shares {
  readonly #limits: ShareLimits;
  // In the order of their turns: whoever has just been served comes last.
  readonly #callers = new Map<string, Caller>();
  #free: number;
  #queued = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
    this.#free = limits.slots;
  }

  /** Slots in use, and requests that wait for one. */
  get usage(): { used: number; waiting: number } {
    return { used: this.#limits.slots - this.#free, waiting: this.#queued };
  }

  /**
   * Takes a slot, when it is the caller's turn.
   * @param gone ends the waiting
   * @returns what gives it back, to be called once
   * @throws ServiceBusy when the queue is full or patience has run out; CallerGone
   */
  async take(name: string, gone?: AbortSignal): Promise<() => void> {
    if (gone?.aborted) throw new CallerGone();
    let caller = this.#callers.get(name);
    if (!caller) this.#callers.set(name, (caller = { running: 0, waiting: new Set() }));
    if (this.#free > 0 && caller.running < this.#limits.perCaller) this.#occupy(caller);
    else {
      try {
        await this.#wait(caller, gone);
      } catch (error) {
        this.#forget(name, caller);
        throw error;
      }
    }
    return () => this.#release(name, caller);
  }

  #occupy(caller: Caller): void {
    this.#free--;
    caller.running++;
  }

  #wait(caller: Caller, gone: AbortSignal | undefined): Promise<void> {
    if (caller.waiting.size >= this.#limits.queuePerCaller || this.#queued >= this.#limits.queue) {
      throw new ServiceBusy();
    }
    return new Promise((admitted, refused) => {
      const leave = () => {
        clearTimeout(patience);
        gone?.removeEventListener("abort", hangUp);
        caller.waiting.delete(waiting);
        this.#queued--;
      };
      const waiting: Waiting = {
        admit: () => {
          leave();
          this.#occupy(caller);
          admitted();
        },
        refuse: (error) => {
          leave();
          refused(error);
        },
      };
      const patience = setTimeout(() => waiting.refuse(new ServiceBusy()), this.#limits.patienceMs);
      const hangUp = () => waiting.refuse(new CallerGone());
      gone?.addEventListener("abort", hangUp);
      caller.waiting.add(waiting);
      this.#queued++;
    });
  }

  #release(name: string, caller: Caller): void {
    this.#free++;
    caller.running--;
    this.#admitNext();
    this.#forget(name, caller);
  }

  #forget(name: string, caller: Caller): void {
    const isIdle = caller.running === 0 && caller.waiting.size === 0;
    if (isIdle && this.#callers.get(name) === caller) this.#callers.delete(name);
  }

  /** Who has fewer running comes first, then whose turn it is. */
  #admitNext(): void {
    let next: { name: string; caller: Caller } | undefined;
    for (const [name, caller] of this.#callers) {
      if (caller.waiting.size === 0 || caller.running >= this.#limits.perCaller) continue;
      if (!next || caller.running < next.caller.running) next = { name, caller };
    }
    if (!next) return;
    this.#callers.delete(next.name);
    this.#callers.set(next.name, next.caller);
    const [first] = next.caller.waiting;
    first?.admit();
  }
}
