// Decides which request gets the next database connection or graph query. One caller may use no more than a
// share of them, and waiting requests take turns by caller, so that a caller who asks for a hundred things at
// once delays only itself.
import { LRUCache } from "lru-cache";
import { CallerGone, ServiceBusy } from "./postgres/unavailable.ts";

/** How many slots there are, and how they are shared. */
export type ShareLimits = {
  slots: number;
  /** slots that one caller may have at a time */
  perCaller: number;
  /**
   * a caller whose requests take longer than this, apart from rests, gets fewer slots while others are there
   */
  slowMs: number;
  /** how long a request waits before it is refused because the service is busy */
  patienceMs: number;
  /** how many of one caller's requests may wait */
  queuePerCaller: number;
  /** how many may wait in all */
  queue: number;
};

/**
 * If a request has waited for this long and more still come, the queue does not get shorter by waiting. Such
 * requests are refused in favor of later ones, unless they have waited less than twice as long as their
 * caller's requests take.
 */
const FRESH_MS = 400;
/**
 * For a queue that has not been empty for two seconds, and will not be soon: a shorter limit, so that
 * requests that are served are served within a second.
 */
const ENDURING = { afterMs: 2_000, freshMs: 300 };
/**
 * Only this much of a period in which no slot is released counts as waiting: while a migration holds the
 * database for a second, the requests that wait are not too many.
 */
const STALL_MS = 100;

/** Slots that a slow caller keeps, so that one very long request does not block its others. */
const LEAST = 2;

/** How long other callers count as present after their last request. */
const COMPANY_MS = 1_000;
/** The weight of a caller's latest slot in its moving average. */
const NEWEST = 1 / 4;
const REMEMBERED_CALLERS = 10_000;

type Waiting = { since: number; admit: () => void; refuse: (error: Error) => void };
type Caller = {
  running: number;
  readonly waiting: Set<Waiting>;
  /** requests that have had a slot before */
  readonly continuing: Set<Waiting>;
  /** when the latest of them came */
  latest: number;
  /** when a request last came to an empty queue */
  queuedSince: number;
};
type Seen = { name: string; at: number };
/** How long a slot is held, and for how much of that time it is busy. */
type Kept = { heldMs: number; busyMs: number };
/** @param restedMs idle time, which does not make a caller slow */
export type GiveBack = (restedMs?: number) => void;

/** The most slots for one caller if others must always find one: half, rounded up. */
export function halfOf(slots: number): number {
  return Math.ceil(slots / 2);
}

/** Shares a number of slots among callers. */
export class Shares {
  readonly #limits: ShareLimits;
  // In the order of their turns: the caller who has just been served comes last.
  readonly #callers = new Map<string, Caller>();
  // Moving averages of how each caller uses a slot.
  readonly #typical = new LRUCache<string, Kept>({ max: REMEMBERED_CALLERS });
  // The last caller, and the last one before it that was another.
  #last: Seen = { name: "", at: -Infinity };
  #other: Seen = { name: "", at: -Infinity };
  #free: number;
  #queued = 0;
  // The time as waiting requests count it, when a slot was last released.
  #flowed = 0;
  #lastBack = performance.now();

  constructor(limits: ShareLimits) {
    this.#limits = limits;
    this.#free = limits.slots;
  }

  /** Slots in use, and requests that wait for one. */
  get usage(): { used: number; waiting: number } {
    return { used: this.#limits.slots - this.#free, waiting: this.#queued };
  }

  /** Whether another caller waits for nothing but a slot. */
  isWantedBesides(name: string): boolean {
    const others = this.#callers.entries().filter(([other]) => other !== name);
    return others.some(([other, caller]) => isWaiting(caller) && this.#mayRun(other, caller));
  }

  /**
   * Takes a slot, when it is the caller's turn.
   * @param gone ends the waiting
   * @param isUnderWay whether the request has had a slot before: it then comes before the caller's other
   * requests, or it would queue again for each of its statements
   * @returns releases the slot, to be called once
   * @throws ServiceBusy when the queue is full or patience has run out; CallerGone
   */
  async take(name: string, gone?: AbortSignal, isUnderWay = false): Promise<GiveBack> {
    if (gone?.aborted) throw new CallerGone();
    if (this.#last.name !== name) this.#other = this.#last;
    this.#last = { name, at: performance.now() };
    let caller = this.#callers.get(name);
    if (!caller) this.#callers.set(name, (caller = newCaller()));
    if (this.#free > 0 && this.#mayRun(name, caller)) this.#occupy(caller);
    else {
      try {
        await this.#wait(caller, isUnderWay ? caller.continuing : caller.waiting, gone);
      } catch (error) {
        this.#forget(name, caller);
        throw error;
      }
    }
    const began = performance.now();
    return (restedMs = 0) => {
      const heldMs = performance.now() - began;
      this.#release(name, caller, { heldMs, busyMs: heldMs - restedMs });
    };
  }

  /** The time as waiting requests count it: stalls count for less. */
  #now(): number {
    return this.#flowed + Math.min(performance.now() - this.#lastBack, STALL_MS);
  }

  /** Whether another caller is there, or was a second ago. */
  hasCompany(name: string): boolean {
    const company = this.#last.name === name ? this.#other : this.#last;
    const others = this.#callers.size - (this.#callers.has(name) ? 1 : 0);
    return others > 0 || performance.now() - company.at <= COMPANY_MS;
  }

  /**
   * A request that takes twice as long uses twice as much of the machine, so its caller gets half as many
   * slots. A caller of whom nothing is known yet counts as slow; otherwise five searches at once would show
   * it too late.
   */
  #mayRun(name: string, { running }: Caller): boolean {
    const { perCaller, slowMs } = this.#limits;
    const busyMs = this.#typical.get(name)?.busyMs ?? Infinity;
    const slowness = this.hasCompany(name) ? Math.max(1, busyMs / slowMs) : 1;
    return running < Math.max(Math.min(LEAST, perCaller), Math.floor(perCaller / slowness));
  }

  #occupy(caller: Caller): void {
    this.#free--;
    caller.running++;
  }

  #wait(caller: Caller, queue: Set<Waiting>, gone: AbortSignal | undefined): Promise<void> {
    if (queue.size >= this.#limits.queuePerCaller || this.#queued >= this.#limits.queue) {
      throw new ServiceBusy();
    }
    return new Promise((admitted, refused) => {
      const leave = () => {
        clearTimeout(patience);
        clearTimeout(alone);
        gone?.removeEventListener("abort", hangUp);
        queue.delete(waiting);
        this.#queued--;
      };
      const waiting: Waiting = {
        since: this.#now(),
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
      const giveUp = () => queue.has(waiting) && waiting.refuse(new ServiceBusy());
      // After a stall of the process, slots that were released meanwhile are handed out first.
      const patience = setTimeout(() => setImmediate(giveUp), this.#limits.patienceMs);
      // By then other callers may have gone, so that this one may have more slots.
      const alone = setTimeout(() => this.#admitNext(), COMPANY_MS + 1);
      const hangUp = () => waiting.refuse(new CallerGone());
      gone?.addEventListener("abort", hangUp);
      if (!isWaiting(caller)) caller.queuedSince = waiting.since;
      caller.latest = waiting.since;
      queue.add(waiting);
      this.#queued++;
    });
  }

  #release(name: string, caller: Caller, kept: Kept): void {
    const before = this.#typical.get(name) ?? kept;
    this.#typical.set(name, {
      heldMs: before.heldMs + (kept.heldMs - before.heldMs) * NEWEST,
      busyMs: before.busyMs + (kept.busyMs - before.busyMs) * NEWEST,
    });
    this.#flowed = this.#now();
    this.#lastBack = performance.now();
    this.#free++;
    caller.running--;
    this.#forget(name, caller);
    this.#admitNext();
  }

  #forget(name: string, caller: Caller): void {
    const isIdle = caller.running === 0 && !isWaiting(caller);
    if (isIdle && this.#callers.get(name) === caller) this.#callers.delete(name);
  }

  /** The caller with the fewest running requests comes first, then the one whose turn it is. */
  #admitNext(): void {
    while (this.#free > 0) {
      let next: { name: string; caller: Caller } | undefined;
      for (const [name, caller] of this.#callers) {
        if (!isWaiting(caller) || !this.#mayRun(name, caller)) continue;
        if (!next || caller.running < next.caller.running) next = { name, caller };
      }
      if (!next) return;
      this.#callers.delete(next.name);
      this.#callers.set(next.name, next.caller);
      this.#firstOf(next.name, next.caller)?.admit();
    }
  }

  /** The first waiting request, after refusing those that have waited for too long while others came. */
  #firstOf(name: string, { waiting, continuing, latest, queuedSince }: Caller): Waiting | undefined {
    for (const each of continuing) return each;
    const now = this.#now();
    const mostMs = now - queuedSince > ENDURING.afterMs ? ENDURING.freshMs : FRESH_MS;
    const freshMs = Math.max(mostMs, 2 * (this.#typical.get(name)?.heldMs ?? 0));
    const isFresh = (since: number) => now - since <= freshMs;
    for (const each of waiting) {
      if (isFresh(each.since) || !isFresh(latest)) return each;
      each.refuse(new ServiceBusy());
    }
    return undefined;
  }
}

function newCaller(): Caller {
  return { running: 0, waiting: new Set(), continuing: new Set(), latest: 0, queuedSince: 0 };
}

function isWaiting({ waiting, continuing }: Caller): boolean {
  return waiting.size > 0 || continuing.size > 0;
}
