// Subscriptions to the feed of changes: from a cursor on, without a gap, as long as the caller is authorized.
//
// The feed in the database is the truth. It is polled ten times a second while anybody is subscribed:
// notifications would make all writers queue up (docs/decisions.md).
import type { Database } from "../database.ts";
import { ApiError } from "../errors.ts";
import type { Identity } from "../identity/identity.ts";
import { Shares } from "../shares.ts";
import { Channel, placeOf } from "./channel.ts";
import type { Change, Listener, Page, Subscriber } from "./channel.ts";
import { Inbox } from "./inbox.ts";
import { readChanges } from "./pages.ts";
import { Places } from "./places.ts";

/** The changes that a subscriber wants. */
export type Topic = Readonly<{
  orgUri?: string | null;
  needId?: string | null;
  /** Instead of records: the organization claims that a reviewer decides, and who the reviewer is. */
  claims?: Readonly<{ adminEmail?: string | null }>;
  after?: string | null;
}>;

/** A subscriber and its connection. */
export type Party = Listener &
  Readonly<{
    identity: () => Identity;
    /** whether the client has read nearly all that was written to the connection */
    isReady: () => boolean;
  }>;

const TICK_MS = 100;
/** Less often, because claims are read for each reviewer separately. */
const CLAIMS_TICK_MS = 1_000;
const PAGE = 50;
const LONGER_PAGE = 200;

/**
 * How many pages of earlier changes may be held until they are sent, each of fifty records of any length.
 * They are not subject to the limits for slow or too many requests: they only wait in order.
 */
const PAGES = {
  ...{ slots: 100, perCaller: 5, slowMs: 1e9 },
  ...{ patienceMs: 60_000, queuePerCaller: 1_000, queue: 10_000 },
};
/**
 * How long a subscriber that is catching up may read nothing: others of the same caller wait for its place.
 */
const STUCK_MS = 30_000;

/** Of one caller, in one process. */
export const LIVE_BOUNDS = {
  subscriptions: { ofKey: 1_000, ofPerson: 100 },
  unreadBytes: 5_000_000,
} as const;

/** All subscriptions of a server process. */
export class LiveFeed {
  readonly #database: Database;
  readonly #channels = new Map<string, Channel>();
  readonly #places = new Places(LIVE_BOUNDS.subscriptions, "subscriptions");
  readonly #pages = new Shares(PAGES);
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, Promise<Page>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The changes, as they come.
   * @param ended ends the subscription
   * @throws ApiError rate_limited, validation_failed, changes_expired, ServiceBusy, CallerGone, and what
   * reading throws
   */
  async *changes(topic: Topic, party: Party, ended: AbortSignal): AsyncGenerator<Change, void, undefined> {
    const giveBack = this.#places.take(party.identity());
    const inbox = new Inbox<Change>();
    const close = () => inbox.close();
    ended.addEventListener("abort", close);
    if (ended.aborted) close();
    let channel: Channel | undefined;
    const subscriber: Subscriber = { inbox, wants: wantedBy(topic), listener: party };
    try {
      // The connection may be hours old.
      await party.recheck();
      // With nothing in between, or of those who come at the same time each would have a channel.
      channel = this.#channelOf(topic, party);
      // Joins the live changes first, then reads the earlier ones: nothing falls between them.
      await channel.join(subscriber);
      let after = topic.after ?? "now";
      for (let hasMore = true; hasMore && !inbox.isClosed;) {
        const giveBackPage = await this.#pages.take(party.identity().id, ended, true);
        try {
          const page = await this.#readInTurn(topic, party.identity(), after);
          for (const change of page.changes) yield* cutIfStuck(change, party);
          ({ next: after, hasMore } = page);
        } finally {
          giveBackPage();
        }
      }
      const read = placeOf(after);
      for await (const change of inbox.read()) if (placeOf(change.cursor) > read) yield change;
    } finally {
      ended.removeEventListener("abort", close);
      channel?.leave(subscriber);
      giveBack();
    }
  }

  /** Subscribers who may see the same share a channel; for claims, each reviewer has their own. */
  #channelOf({ claims }: Topic, party: Party): Channel {
    const identity = party.identity();
    const name = claims
      ? JSON.stringify([...whoIs(identity), claims.adminEmail?.toLowerCase()])
      : identity.role;
    const known = this.#channels.get(name);
    if (known && (known.subscribers.size > 0 || !claims)) return known;
    for (const [other, { subscribers }] of this.#channels)
      if (subscribers.size === 0) this.#channels.delete(other);
    // Records are read with the role alone, and not as a caller with its own limits or person.
    const reader: Identity = claims ? identity : { ...SERVICE, role: identity.role };
    const channel = new Channel({
      read: (after) => this.#read(claims ? { claims } : {}, reader, after, LONGER_PAGE),
      tickMs: claims ? CLAIMS_TICK_MS : TICK_MS,
      maxBytes: LIVE_BOUNDS.unreadBytes,
      tooSlow,
    });
    this.#channels.set(name, channel);
    return channel;
  }

  /**
   * Reads one page after the other for each caller, since a thousand subscriptions may come back at once;
   * those that wait for the same page share it. None joins a read that has begun, which may end before the
   * changes that their channel hands out.
   */
  #readInTurn(topic: Topic, identity: Identity, after: string): Promise<Page> {
    const { orgUri, needId, claims } = topic;
    const name = JSON.stringify([...whoIs(identity), orgUri, needId, claims, after]);
    const waiting = this.#waiting.get(name);
    if (waiting) return waiting;
    const read = (this.#turns.get(identity.id) ?? Promise.resolve()).then(() => {
      this.#waiting.delete(name);
      return this.#read(topic, identity, after, PAGE);
    });
    this.#waiting.set(name, read);
    const turn = read
      .catch(() => undefined)
      .finally(() => {
        if (this.#turns.get(identity.id) === turn) this.#turns.delete(identity.id);
      });
    this.#turns.set(identity.id, turn);
    return read;
  }

  async #read(
    { orgUri, needId, claims }: Topic,
    identity: Identity,
    after: string,
    limit: number,
  ): Promise<Page> {
    const input = { orgUri, needId, ...claims, after, limit };
    const feed = claims ? "claims" : "records";
    return JSON.parse(await readChanges(this.#database, feed, withoutGone(identity), input)) as Page;
  }
}

function tooSlow(): ApiError {
  return new ApiError("service_busy", {
    message: "Too many unread changes are waiting; subscribe again after the last cursor.",
  });
}

function* cutIfStuck(change: Change, party: Party): Generator<Change, void, undefined> {
  const stuck = setTimeout(() => party.cut(tooSlow()), STUCK_MS).unref();
  try {
    yield change;
  } finally {
    clearTimeout(stuck);
  }
}

const SERVICE = {
  id: "changes",
  ratePerMinute: null,
  keyId: undefined,
  person: undefined,
} as unknown as Identity;

/**
 * Who sees the same: a provider may give the same person another e-mail address, which identifies them here.
 */
function whoIs({ id, person }: Identity): unknown[] {
  return [id, person?.email.toLowerCase()];
}

/** Without the signal of the request, which may be over by now. */
function withoutGone(identity: Identity): Identity {
  return { ...identity, gone: undefined };
}

function wantedBy({ orgUri, needId }: Topic): (change: Change) => boolean {
  const chain = needId?.toLowerCase();
  return (change) =>
    (orgUri ?? change.orgUri) === change.orgUri && (chain ?? change.needId) === change.needId;
}
