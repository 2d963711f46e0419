// The live end of the feed of changes: read once for all subscribers who may see the same of it.
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { apiErrorFrom } from "../errors.ts";
import type { ApiError } from "../errors.ts";
import type { Inbox } from "./inbox.ts";

/** A change as the database returns it (app_private.shown_change). */
export type Change = Readonly<{
  cursor: string;
  kind: string;
  id: string;
  change: string;
  changedAt: string;
  orgUri: string;
  needId: string | null;
  fromStatus: string | null;
  toStatus: string | null;
  item: object | null;
}>;
export type Page = Readonly<{ changes: readonly Change[]; next: string; hasMore: boolean }>;

/** A connection over which changes are sent. */
export type Listener = Readonly<{
  /** @throws ApiError when the caller is no longer authorized */
  recheck: () => Promise<unknown>;
  /** ends all subscriptions of the connection */
  cut: (error: unknown) => void;
}>;

/** One of the subscriptions of a connection. */
export type Subscriber = Readonly<{
  inbox: Inbox<Change>;
  wants: (change: Change) => boolean;
  listener: Listener;
}>;

/** Runs outside of the request that happens to come first: what is read for all must not carry its id. */
const forAll = AsyncLocalStorage.snapshot();

/** How often it is checked that callers are still authorized, if there are no changes. */
const RECHECK_MS = 5_000;
/** How long to wait before reading again if the database does not answer. */
const RETRY_MS = 1_000;

/** The position of a cursor in the feed, for comparison. */
export function placeOf(cursor: string): number {
  return Number(cursor.split("-", 1)[0]);
}

/** Polls the feed as long as it has subscribers. */
export class Channel {
  readonly #read: (after: string) => Promise<Page>;
  readonly #tickMs: number;
  readonly #tooSlow: () => ApiError;
  readonly #maxBytes: number;
  readonly #subscribers = new Set<Subscriber>();
  #begun: Promise<void> | undefined;

  /**
   * @param parts.read the next page after a cursor
   * @param parts.tickMs how often to look for changes
   * @param parts.maxBytes bytes that may wait to be read by a subscriber
   */
  constructor(parts: {
    read: (after: string) => Promise<Page>;
    tickMs: number;
    maxBytes: number;
    tooSlow: () => ApiError;
  }) {
    this.#read = parts.read;
    this.#tickMs = parts.tickMs;
    this.#maxBytes = parts.maxBytes;
    this.#tooSlow = parts.tooSlow;
  }

  get subscribers(): ReadonlySet<Subscriber> {
    return this.#subscribers;
  }

  /**
   * Adds a subscriber. Once this resolves, it will be handed everything after what can be read now.
   * @throws what reading the feed threw
   */
  async join(subscriber: Subscriber): Promise<void> {
    this.#subscribers.add(subscriber);
    this.#begun ??= this.#begin();
    await this.#begun;
  }

  leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
  }

  async #begin(): Promise<void> {
    try {
      const { next } = await this.#read("now");
      void forAll(() => this.#goOn(next));
    } catch (error) {
      this.#begun = undefined;
      throw error;
    }
  }

  async #goOn(from: string): Promise<void> {
    let cursor = from;
    let checkedAt = performance.now();
    while (this.#subscribers.size > 0) {
      let page: Page;
      try {
        page = await this.#read(cursor);
      } catch (error) {
        if (apiErrorFrom(error).statusCode < 500) {
          for (const subscriber of this.#subscribers) subscriber.listener.cut(error);
          break;
        }
        await sleep(RETRY_MS, undefined, { ref: false });
        continue;
      }
      let letIn: ReadonlyMap<Listener, Promise<void>> = new Map();
      if (page.changes.length > 0 || performance.now() - checkedAt > RECHECK_MS) {
        checkedAt = performance.now();
        letIn = this.#recheck();
      }
      this.#cutSlow();
      for (const change of page.changes) this.#tell(change, letIn);
      cursor = page.next;
      if (!page.hasMore) await sleep(this.#tickMs, undefined, { ref: false });
    }
    this.#begun = undefined;
  }

  /**
   * Checks each connection once, however many subscriptions it has.
   * @returns the check that each connection waits for before it gets what was read; none waits for those of
   * others
   */
  #recheck(): Map<Listener, Promise<void>> {
    const letIn = new Map<Listener, Promise<void>>();
    for (const { listener } of this.#subscribers)
      if (!letIn.has(listener)) letIn.set(listener, this.#recheckOf(listener));
    return letIn;
  }

  async #recheckOf(listener: Listener): Promise<void> {
    try {
      await listener.recheck();
    } catch (error) {
      listener.cut(error);
      for (const subscriber of this.#subscribers) {
        if (subscriber.listener !== listener) continue;
        this.#subscribers.delete(subscriber);
        subscriber.inbox.close();
      }
    }
  }

  /** Cuts subscribers who have not read earlier pages. */
  #cutSlow(): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.inbox.bytes <= this.#maxBytes) continue;
      this.#subscribers.delete(subscriber);
      subscriber.listener.cut(this.#tooSlow());
    }
  }

  #tell(change: Change, letIn: ReadonlyMap<Listener, Promise<void>>): void {
    const bytes = JSON.stringify(change).length;
    for (const { inbox, listener, wants } of this.#subscribers) {
      if (wants(change)) inbox.put(change, bytes, letIn.get(listener));
    }
  }
}
