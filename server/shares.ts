// Who gets the next connection, or the next query of the graph. One caller may use no more than a share of them, and
// those who wait take turns by caller, so that a caller who asks for a hundred things at once stands only in its own way.
import { LRUCache } from "lru-cache";
import { CallerGone, ServiceBusy } from "./postgres/unavailable.ts";

/** How many there are, and how they are shared. */
export type ShareLimits = {
  slots: number;
  /** that one caller may have at a time */
  perCaller: number;
  /** a caller who keeps its slots for longer than this, but for rests, has fewer at a time, while others are there */
  slowMs: number;
  /** how long a caller waits before it is told that the service is busy */
  patienceMs: number;
  /** how many of one caller's requests may wait */
  queuePerCaller: number;
  /** how many may wait in all */
  queue: number;
};

/**
 * A queue in which somebody has waited for so long, and to which more still come, does not get shorter by waiting. They are
 * refused then, for those who came later; unless they have not waited for twice as long as their caller's requests take.
 */
const FRESH_MS = 400;
/** In a queue that has not been empty for two seconds, and will not be soon: who is served then is served within a second. */
const ENDURING = { afterMs: 2_000, freshMs: 300 };
/**
 * Of the time in which no slot comes back only so much counts: whoever waits for the database, which a migration may keep
 * for a second at a time, is not too many.
 */
const STALL_MS = 100;

/** What a slow caller keeps: one that takes very long is not to stand before all of its others. */
const LEAST = 2;

/** How long others count as being there after they have come. */
const COMPANY_MS = 1_000;
/** How much of what is remembered of a caller the last time that it had a slot makes up. */
const NEWEST = 1 / 4;
const REMEMBERED_CALLERS = 10_000;

type Waiting = { since: number; admit: () => void; refuse: (error: Error) => void };
type Caller = {
  running: number;
  readonly waiting: Set<Waiting>;
  /** Of requests that have had a slot before. */
  readonly continuing: Set<Waiting>;
  /** when the last of them came */
  latest: number;
  /** when the first of them came to whom nobody was before */
  queuedSince: number;
};
type Seen = { name: string; at: number };
/** For how many milliseconds a slot is kept, and for how many of them something is done. */
type Kept = { heldMs: number; busyMs: number };
/** @param restedMs for how long nothing was done meanwhile, which makes nobody slow */
export type GiveBack = (restedMs?: number) => void;

/** As many as one caller may have where there is always to be one for another. */
export function halfOf(slots: number): number {
  return Math.ceil(slots / 2);
}

/** Shares a number of slots among callers. */
export class Shares {
  readonly #limits: ShareLimits;
  // In the order of their turns: whoever has just been served comes last.
  readonly #callers = new Map<string, Caller>();
  // How each keeps a slot.
  readonly #typical = new LRUCache<string, Kept>({ max: REMEMBERED_CALLERS });
  // Who has come last, and who has come last before that and is somebody else.
  #last: Seen = { name: "", at: -Infinity };
  #other: Seen = { name: "", at: -Infinity };
  #free: number;
  #queued = 0;
  // The time for which slots have come back, until one last did.
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

  /** Whether somebody else waits for nothing but a slot. */
  isWantedBesides(name: string): boolean {
    const others = this.#callers.entries().filter(([other]) => other !== name);
    return others.some(([other, caller]) => isWaiting(caller) && this.#mayRun(other, caller));
  }

  /**
   * Takes a slot, when it is the caller's turn.
   * @param gone ends the waiting
   * @param isUnderWay whether the request has had a slot before: among the caller's own it comes first then, or it would
   * wait as often as it has something to ask
   * @returns what gives it back, to be called once
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

  /** The time as those who wait count it. */
  #now(): number {
    return this.#flowed + Math.min(performance.now() - this.#lastBack, STALL_MS);
  }

  /** Whether somebody else is there, or was a second ago. */
  hasCompany(name: string): boolean {
    const company = this.#last.name === name ? this.#other : this.#last;
    const others = this.#callers.size - (this.#callers.has(name) ? 1 : 0);
    return others > 0 || performance.now() - company.at <= COMPANY_MS;
  }

  /**
   * What takes twice as long uses twice as much of the machine, so one caller may have half as much of it at a time; and one
   * of whom nothing is known yet as much as a slow one, or five searches at once would show it too late.
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
      // Slots that came back while this process stood still are lent first.
      const patience = setTimeout(() => setImmediate(giveUp), this.#limits.patienceMs);
      // By then nobody else may be there any more, and it may run at once.
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

  /** Who has fewer running comes first, then whose turn it is. */
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

  /** The first of those who wait, after those are refused who have waited for too long while others came. */
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
