// What subscriptions are made of: what waits, who has a place, who is read for together, and what ends them.
import { AsyncLocalStorage } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { describe, expect, jest, test } from "@jest/globals";
import { ApiError } from "../server/errors.ts";
import type { Database } from "../server/database.ts";
import type { Identity } from "../server/identity/identity.ts";
import { Channel } from "../server/live/channel.ts";
import type { Change, Page, Subscriber } from "../server/live/channel.ts";
import { LIVE_BOUNDS, LiveFeed } from "../server/live/feed.ts";
import type { Topic } from "../server/live/feed.ts";
import { Inbox } from "../server/live/inbox.ts";
import { Places } from "../server/live/places.ts";
import { eventually } from "./support/eventually.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

const turn = () => new Promise(setImmediate);

describe("an inbox", () => {
  test("gives what came in the order in which it came, and knows how much waits", async () => {
    const inbox = new Inbox<string>();
    inbox.put("a", 3);
    inbox.put("b", 4);
    expect(inbox.bytes).toBe(7);
    const reading = inbox.read();
    expect((await reading.next()).value).toBe("a");
    expect(inbox.bytes).toBe(4);
    expect((await reading.next()).value).toBe("b");
    const next = reading.next();
    inbox.put("c", 1);
    expect((await next).value).toBe("c");
    expect(inbox.bytes).toBe(0);
  });

  test("that is closed ends the reading, with what still waits and while nothing comes", async () => {
    const full = new Inbox<string>();
    full.put("a", 1);
    full.put("b", 1);
    const reading = full.read();
    await reading.next();
    full.close();
    expect(full.bytes).toBe(0);
    expect(await reading.next()).toEqual({ value: undefined, done: true });
    const empty = new Inbox<string>();
    const waiting = empty.read().next();
    await turn();
    empty.close();
    expect((await waiting).done).toBe(true);
    expect(empty.isClosed).toBe(true);
  });
});

test("each caller has its own places, a person fewer than a key, and one that was given back can be taken again", () => {
  const places = new Places({ ofKey: 2, ofPerson: 1 }, "seats");
  const [a, b] = ["a", "b"].map((id) => ({ id, keyId: id }));
  const back = [places.take(a!), places.take(a!)];
  const refused = () => places.take(a!);
  const headers = { "retry-after": "60" };
  expect(refused).toThrow(expect.objectContaining({ code: "rate_limited", headers }));
  places.take(b!);
  back[0]!();
  back[1]!();
  places.take(a!);
  places.take(a!);
  expect(refused).toThrow("has 2 seats already");
  const person = { id: "p" };
  const seat = places.take(person);
  expect(() => places.take(person)).toThrow("You have 1 seats already");
  seat();
  places.take(person);
});

const changeAt = (place: number, more: Partial<Change> = {}) =>
  ({ cursor: `${place}-1`, orgUri: "o", needId: "n", ...more }) as Change;

function subscriber(cuts: unknown[] = [], wants = () => true): Subscriber {
  const listener = { recheck: () => Promise.resolve(), cut: (error: unknown) => void cuts.push(error) };
  return { inbox: new Inbox<Change>(), wants, listener };
}

/** A channel whose pages the test gives out one by one. */
function gatedChannel() {
  const asked: string[] = [];
  const pages: PromiseWithResolvers<Page>[] = [];
  const channel = new Channel({
    read: (after) => {
      asked.push(after);
      const page = Promise.withResolvers<Page>();
      pages.push(page);
      return page.promise;
    },
    ...{ tickMs: 1, maxBytes: 1_000, tooSlow: () => new ApiError("service_busy") },
  });
  const page = (place: number, changes: Change[] = [], hasMore = false): Page => ({
    ...{ changes, next: `${place}-1`, hasMore },
  });
  return { asked, pages, channel, page };
}

describe("a channel", () => {
  test("begins once for all who come, reads on where it was, and ends when nobody is left", async () => {
    const { asked, pages, channel, page } = gatedChannel();
    const [one, two] = [subscriber(), subscriber()];
    const joining = [channel.join(one), channel.join(two)];
    expect(asked).toEqual(["now"]);
    pages[0]!.resolve(page(4));
    await Promise.all(joining);
    expect(asked).toEqual(["now", "4-1"]);
    pages[1]!.resolve(page(6, [changeAt(5), changeAt(6)], true));
    await eventually(() => expect(asked).toEqual(["now", "4-1", "6-1"]));
    expect([one.inbox.bytes, two.inbox.bytes].every((bytes) => bytes > 0)).toBe(true);
    channel.leave(one);
    channel.leave(two);
    pages[2]!.resolve(page(6, [], true));
    await turn();
    const again = channel.join(one);
    expect(asked.slice(3)).toEqual(["now"]);
    channel.leave(one);
    pages[3]!.resolve(page(6));
    await again;
  });

  test("reads on in nobody's name, not in that of the request that came first", async () => {
    const names = new AsyncLocalStorage<string>();
    const read: (string | undefined)[] = [];
    const { pages, page } = gatedChannel();
    const channel = new Channel({
      read: () => {
        read.push(names.getStore());
        const next = Promise.withResolvers<Page>();
        pages.push(next);
        return next.promise;
      },
      ...{ tickMs: 1, maxBytes: 1_000, tooSlow: () => new ApiError("service_busy") },
    });
    const one = subscriber();
    const joining = names.run("the first", () => channel.join(one));
    pages[0]!.resolve(page(1));
    await joining;
    pages[1]!.resolve(page(1));
    await eventually(() => expect(read).toHaveLength(3));
    expect(read.slice(1)).toEqual([undefined, undefined]);
    channel.leave(one);
    pages[2]!.resolve(page(1));
  });

  test("that could not begin tells so, and begins anew for whoever comes next", async () => {
    const { asked, pages, channel, page } = gatedChannel();
    const first = channel.join(subscriber());
    pages[0]!.reject(new ApiError("service_busy"));
    await expect(first).rejects.toMatchObject({ code: "service_busy" });
    const next = subscriber();
    const second = channel.join(next);
    second.catch(() => undefined);
    expect(asked).toEqual(["now", "now"]);
    pages[1]!.resolve(page(1));
    await second;
    for (const each of channel.subscribers) channel.leave(each);
    pages[2]!.resolve(page(1));
  });

  test("whose cursor has expired cuts off all who are told, with the reason", async () => {
    const { pages, channel, page } = gatedChannel();
    const cuts: unknown[] = [];
    const joining = [channel.join(subscriber(cuts)), channel.join(subscriber(cuts))];
    pages[0]!.resolve(page(1));
    await Promise.all(joining);
    pages[1]!.reject(new ApiError("changes_expired"));
    await eventually(() => expect(cuts).toHaveLength(2));
    expect(cuts.map((error) => (error as ApiError).code)).toEqual(["changes_expired", "changes_expired"]);
  });

  test("whose database is away for a moment cuts off nobody, and reads the same page again a second later", async () => {
    const { asked, pages, channel, page } = gatedChannel();
    const cuts: unknown[] = [];
    const one = subscriber(cuts);
    const joining = channel.join(one);
    pages[0]!.resolve(page(1));
    await joining;
    const since = process.hrtime.bigint();
    pages[1]!.reject(new ApiError("service_busy"));
    await eventually(() => expect(asked).toEqual(["now", "1-1", "1-1"]));
    // A timer may be a millisecond early.
    expect(Number(process.hrtime.bigint() - since) / 1e6).toBeGreaterThan(990);
    expect(cuts).toEqual([]);
    channel.leave(one);
    pages[2]!.resolve(page(1));
  });

  test("asks every five seconds whether those may still be told to whom there is nothing to tell", async () => {
    const { asked, pages, channel, page } = gatedChannel();
    const one = subscriber();
    let checks = 0;
    const listener = { ...one.listener, recheck: () => Promise.resolve(checks++) };
    const told = { ...one, listener };
    let now = 0;
    const clock = jest.spyOn(performance, "now").mockImplementation(() => now);
    try {
      const joining = channel.join(told);
      pages[0]!.resolve(page(1));
      await joining;
      const counts: number[] = [];
      const times = [5_000, 5_001, 10_001, 10_002];
      for (const [place, time] of times.entries()) {
        now = time;
        pages[place + 1]!.resolve(page(1));
        await eventually(() => expect(asked).toHaveLength(place + 3));
        counts.push(checks);
      }
      expect(counts).toEqual([0, 1, 1, 2]);
    } finally {
      clock.mockRestore();
      channel.leave(told);
      pages.at(-1)!.resolve(page(1));
    }
  });

  test("cuts off those of a connection that may not be told any more, before they are told, and nobody else", async () => {
    const { pages, channel, page } = gatedChannel();
    const cuts: unknown[] = [];
    const gone = subscriber(cuts);
    const listener = { ...gone.listener, recheck: () => Promise.reject(new ApiError("invalid_api_key")) };
    const [one, two, other] = [{ ...gone, listener }, { ...subscriber(), listener }, subscriber()];
    const joining = [one, two, other].map((each) => channel.join(each));
    pages[0]!.resolve(page(1));
    await Promise.all(joining);
    pages[1]!.resolve(page(2, [changeAt(2)]));
    await eventually(() => expect(other.inbox.bytes).toBeGreaterThan(0));
    expect(cuts).toEqual([expect.objectContaining({ code: "invalid_api_key" })]);
    expect([one.inbox.bytes, two.inbox.bytes]).toEqual([0, 0]);
    expect(channel.subscribers).toEqual(new Set([other]));
    channel.leave(other);
    pages[2]!.resolve(page(2));
  });

  test("keeps a subscriber with exactly as much unread as may be, and tells it only what it wants", async () => {
    const { pages, channel, page } = gatedChannel();
    const cuts: unknown[] = [];
    const [full, over, other] = [subscriber(cuts), subscriber(cuts), subscriber(cuts, () => false)];
    const joining = [full, over, other].map((each) => channel.join(each));
    pages[0]!.resolve(page(1));
    await Promise.all(joining);
    full.inbox.put(changeAt(0), 1_000);
    over.inbox.put(changeAt(0), 1_001);
    pages[1]!.resolve(page(2, [changeAt(2)]));
    await eventually(() => expect(cuts).toHaveLength(1));
    await eventually(() => expect(full.inbox.bytes).toBeGreaterThan(1_000));
    expect([over.inbox.bytes, other.inbox.bytes]).toEqual([1_001, 0]);
    expect(channel.subscribers).toEqual(new Set([full, other]));
    channel.leave(full);
    channel.leave(other);
    pages[2]!.resolve(page(2));
  });
});

describe("a feed", () => {
  type Input = { after: string; limit: number; adminEmail?: string; orgUri?: string; needId?: string };
  type Reading = { feed: string; role: string; id: string; gone: AbortSignal | undefined; input: Input };

  function feedOf(answer: (reading: Reading) => Page | Promise<Page>) {
    const readings: Reading[] = [];
    const database = {
      answer: () => Promise.resolve(""),
      read: async ({ id, role, gone }: Identity, statement: string, input: Input) => {
        const feed = statement.includes("claim_change") ? "claims" : "records";
        const reading = { feed, role, id, gone, input };
        readings.push(reading);
        return JSON.stringify(await answer(reading));
      },
    };
    return { readings, feed: new LiveFeed(database as unknown as Database) };
  }
  const party = (id: string, role = "api_read", email?: string) => ({
    ...{ identity: () => ({ id, role, keyId: id, person: email && { email } }) as Identity },
    isReady: () => true,
    ...{ recheck: () => Promise.resolve() as Promise<unknown>, cut: () => undefined },
  });
  const nothing = ({ input }: Reading): Page => ({
    ...{ changes: [], next: input.after === "now" ? "1-1" : input.after, hasMore: false },
  });
  const OWN = 50;

  test("is read page after page until all is told that was before", async () => {
    const { feed, readings } = feedOf((reading) => {
      const { after, limit } = reading.input;
      if (limit !== OWN) return nothing(reading);
      const place = Number.parseInt(after, 10) + 1;
      return { changes: [changeAt(place)], next: `${place}-1`, hasMore: place < 5 };
    });
    const places: string[] = [];
    const ended = new AbortController();
    for await (const { cursor } of feed.changes({ after: "1-1" }, party("a"), ended.signal)) {
      places.push(cursor);
      if (places.length === 4) break;
    }
    expect(places).toEqual(["2-1", "3-1", "4-1", "5-1"]);
    const own = readings.filter(({ input }) => input.limit === OWN);
    expect(own.map(({ input }) => input.after)).toEqual(["1-1", "2-1", "3-1", "4-1"]);
  });

  test.each<[string, Topic, number]>([
    ["claims once a second, since each reviewer is read for alone", { claims: {} }, 1_000],
    ["records ten times a second", {}, 100],
  ])("looks for %s, and no more often", async (_, topic, apartMs) => {
    const times: bigint[] = [];
    const { feed } = feedOf((reading) => {
      if (reading.input.limit !== OWN) times.push(process.hrtime.bigint());
      return nothing(reading);
    });
    const ended = new AbortController();
    const next = feed.changes(topic, party("a"), ended.signal).next();
    // First to know where it begins.
    await eventually(() => expect(times.length).toBeGreaterThan(2));
    ended.abort();
    await next;
    // A timer may be a millisecond early.
    expect(Number(times[2]! - times[1]!) / 1e6).toBeGreaterThan(apartMs * 0.98);
  });

  test("keeps 5 MB for a subscriber who does not read, as docs/graphql.md says, and no more", async () => {
    const more = 2_500_000 - JSON.stringify(changeAt(3, { kind: "" })).length;
    const changes = new Map([
      ["1-1", [changeAt(2)]],
      ["2-1", [3, 4].map((place) => changeAt(place, { kind: "x".repeat(more) }))],
      ["4-1", [changeAt(5)]],
    ]);
    const taken = Promise.withResolvers<void>();
    const { feed, readings } = feedOf(async (reading) => {
      const { after, limit } = reading.input;
      if (limit === OWN || after === "now") return nothing(reading);
      if (after === "2-1") await taken.promise;
      const found = changes.get(after) ?? [];
      return { changes: found, next: found.at(-1)?.cursor ?? after, hasMore: found.length > 0 };
    });
    const cuts: unknown[] = [];
    const ended = new AbortController();
    const slow = { ...party("a"), cut: (error: unknown) => void cuts.push(error) };
    const reading = feed.changes({}, slow, ended.signal);
    expect((await reading.next()).value).toMatchObject({ cursor: "2-1" });
    taken.resolve();
    const told = () => readings.filter(({ input }) => input.limit !== OWN).map(({ input }) => input.after);
    await eventually(() => expect(told()).toContain("5-1"));
    await turn();
    expect(cuts).toEqual([expect.objectContaining({ code: "service_busy" })]);
    expect(told()).toEqual(["now", "1-1", "2-1", "4-1", "5-1"]);
    ended.abort();
    await reading.return(undefined);
  });

  test("keeps five pages of what was before for a caller, however many wait for theirs, and others have their own", async () => {
    const { feed, readings } = feedOf((reading) =>
      reading.input.limit === OWN
        ? { changes: [changeAt(9)], next: "9-1", hasMore: false }
        : nothing(reading),
    );
    const ended = new AbortController();
    const begin = (id: string, after: number) =>
      feed.changes({ after: `${after}-1` }, party(id), ended.signal);
    const own = Array.from({ length: 7 }, (_, n) => begin("a", n + 1));
    const told: number[] = [];
    const asked = own.map((each, n) =>
      each.next().then(
        () => told.push(n),
        () => undefined,
      ),
    );
    const other = begin("b", 1);
    expect((await other.next()).value).toMatchObject({ cursor: "9-1" });
    await eventually(() => expect(told).toEqual([0, 1, 2, 3, 4]));
    const pages = () => readings.filter(({ input, id }) => input.limit === OWN && id === "a").length;
    expect(pages()).toBe(5);
    await own[2]!.return(undefined);
    await eventually(() => expect(told).toEqual([0, 1, 2, 3, 4, 5]));
    expect(pages()).toBe(6);
    ended.abort();
    await Promise.all(asked);
    expect(pages()).toBe(6);
    await Promise.all([other, ...own].map((each) => each.return(undefined)));
  });

  test("has those who wait for what was before wait in order, and refuses none of them because others come", async () => {
    const { feed } = feedOf((reading) =>
      reading.input.limit === OWN
        ? { changes: [changeAt(9)], next: "9-1", hasMore: false }
        : nothing(reading),
    );
    const ended = new AbortController();
    const begin = (id: string) => feed.changes({ after: "1-1" }, party(id), ended.signal);
    const readOne = async (id: string) => {
      const changes = begin(id);
      await changes.next();
      await changes.return(undefined);
    };
    let now = 0;
    const clock = jest.spyOn(performance, "now").mockImplementation(() => now);
    try {
      await readOne("a");
      const told: number[] = [];
      const failures: unknown[] = [];
      const own = Array.from({ length: 7 }, () => begin("a"));
      const ask = (n: number) =>
        own[n]!.next().then(
          ({ value }) => value && told.push(n),
          (error: unknown) => failures.push(error),
        );
      const asked = [0, 1, 2, 3, 4, 5].map(ask);
      await eventually(() => expect(told).toEqual([0, 1, 2, 3, 4]));
      // Time passes for those who wait as others go on.
      for (let n = 0; n < 10; n++) {
        now += 100;
        await readOne("b");
      }
      asked.push(ask(6));
      await turn();
      await own[0]!.return(undefined);
      await eventually(() => expect(told.length + failures.length).toBeGreaterThan(5), 5_000);
      expect({ told, failures }).toEqual({ told: [0, 1, 2, 3, 4, 5], failures: [] });
      ended.abort();
      await Promise.all(asked);
      await Promise.all(own.map((each) => each.return(undefined)));
    } finally {
      clock.mockRestore();
      ended.abort();
    }
  });

  test("cuts who takes nothing of what was before for half a minute, and nobody who takes it", async () => {
    const { feed } = feedOf((reading) =>
      reading.input.limit === OWN
        ? { changes: [7, 8, 9].map((place) => changeAt(place)), next: "9-1", hasMore: false }
        : nothing(reading),
    );
    const cuts: unknown[] = [];
    const ended = new AbortController();
    const slow = { ...party("a"), cut: (error: unknown) => void cuts.push(error) };
    const changes = feed.changes({ after: "1-1" }, slow, ended.signal);
    // The first is asked for before time stands still, since more than timers is waited for.
    expect((await changes.next()).value).toMatchObject({ cursor: "7-1" });
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "performance"] });
    try {
      expect((await changes.next()).value).toMatchObject({ cursor: "8-1" });
      jest.advanceTimersByTime(20_000);
      expect((await changes.next()).value).toMatchObject({ cursor: "9-1" });
      jest.advanceTimersByTime(29_999);
      expect(cuts).toEqual([]);
      jest.advanceTimersByTime(1);
      expect(cuts).toEqual([expect.objectContaining({ code: "service_busy" })]);
    } finally {
      jest.useRealTimers();
    }
    ended.abort();
    expect((await changes.next()).done).toBe(true);
  });

  test("that is ended while it still reads what was before reads no further", async () => {
    const { feed, readings } = feedOf((reading) => {
      const place = Number.parseInt(reading.input.after, 10) + 1;
      if (reading.input.limit !== OWN) return nothing(reading);
      return { changes: [changeAt(place)], next: `${place}-1`, hasMore: place < 100 };
    });
    const ended = new AbortController();
    const changes = feed.changes({ after: "1-1" }, party("a"), ended.signal);
    expect((await changes.next()).value).toMatchObject({ cursor: "2-1" });
    ended.abort();
    expect((await changes.next()).done).toBe(true);
    expect(readings.filter(({ input }) => input.limit === OWN)).toHaveLength(1);
  });

  test("tells each change once, also one that is in what was before and in what comes", async () => {
    const { feed } = feedOf((reading) => {
      const { after, limit } = reading.input;
      if (limit !== OWN && after === "now") return { changes: [], next: "1-1", hasMore: false };
      const to = limit === OWN ? 3 : Math.max(5, Number.parseInt(after, 10));
      const places = Array.from({ length: to }, (_, n) => n + 1).filter(
        (n) => n > Number.parseInt(after, 10),
      );
      return { changes: places.map((place) => changeAt(place)), next: `${to}-1`, hasMore: false };
    });
    const ended = new AbortController();
    const places: string[] = [];
    for await (const { cursor } of feed.changes({ after: "1-1" }, party("a"), ended.signal)) {
      places.push(cursor);
      if (places.length === 4) break;
    }
    expect(places).toEqual(["2-1", "3-1", "4-1", "5-1"]);
  });

  test("goes by the numbers of the places, which get another digit one day", async () => {
    const ended = new AbortController();
    const { feed } = feedOf((reading) => {
      const { after, limit } = reading.input;
      if (after === "11-1") ended.abort();
      if (limit === OWN) return { changes: [changeAt(9)], next: "9-1", hasMore: false };
      if (after === "now") return { changes: [], next: "8-1", hasMore: false };
      const changes = [9, 10, 11].filter((place) => place > Number.parseInt(after, 10));
      return { changes: changes.map((place) => changeAt(place)), next: "11-1", hasMore: false };
    });
    const places: string[] = [];
    for await (const { cursor } of feed.changes({ after: "8-1" }, party("a"), ended.signal)) {
      places.push(cursor);
    }
    expect(places).toEqual(["9-1", "10-1", "11-1"]);
  });

  const NEED = "7b0cf2a4-52a6-4d0b-9e0b-0d3c0a6f7f21";
  test.each<[string, Topic, string[]]>([
    ["all", {}, ["2-1", "3-1", "4-1", "5-1"]],
    ["of an organization", { orgUri: "o" }, ["2-1", "4-1", "5-1"]],
    ["of a need, however its id is written", { needId: NEED.toUpperCase() }, ["3-1", "4-1", "5-1"]],
    ["of a need and an organization", { needId: NEED, orgUri: "o" }, ["4-1", "5-1"]],
  ])("tells of what comes %s", async (_, topic, expected) => {
    const { feed } = feedOf((reading) => {
      if (reading.input.limit === OWN || reading.input.after !== "1-1") return nothing(reading);
      const changes = [
        ...[changeAt(2, { needId: null }), changeAt(3, { needId: NEED, orgUri: "p" })],
        ...[changeAt(4, { needId: NEED }), changeAt(5, { needId: NEED })],
      ];
      return { changes, next: "5-1", hasMore: false };
    });
    const ended = new AbortController();
    const places: string[] = [];
    for await (const { cursor } of feed.changes(topic, party("a"), ended.signal)) {
      places.push(cursor);
      if (cursor === "5-1") break;
    }
    expect(places).toEqual(expected);
  });

  test("reads for whoever waits, though the request that they came with is over, and as who they are now", async () => {
    const { feed, readings } = feedOf(nothing);
    const gone = AbortSignal.abort();
    for (const topic of [{ claims: { adminEmail: "a@x.example" } }, {}]) {
      for (const role of ["api_review", "api_write"]) {
        const ended = new AbortController();
        const who = { ...party("a"), identity: () => ({ id: "a", role, gone }) as unknown as Identity };
        const before = readings.length;
        const next = feed.changes(topic, who, ended.signal).next();
        await eventually(() => expect(readings.slice(before).map(({ input }) => input.limit)).toContain(OWN));
        ended.abort();
        await next;
      }
    }
    expect(readings.map((reading) => reading.gone)).toEqual(readings.map(() => undefined));
    const roles = new Set(
      readings
        .filter(({ feed: name }) => name === "claims")
        .map(({ role, input }) => `${role} ${input.limit}`),
    );
    expect(roles).toEqual(new Set(["api_review 200", "api_review 50", "api_write 200", "api_write 50"]));
  });

  test("that is ended while nothing comes ends, gives back its place, and leaves its channel", async () => {
    const { feed } = feedOf(nothing);
    for (let i = 0; i < LIVE_BOUNDS.subscriptions.ofKey + 1; i += 100) {
      const all = Array.from({ length: 100 }, () => {
        const ended = new AbortController();
        const next = feed.changes({ after: "1-1" }, party("a"), ended.signal).next();
        return { ended, next };
      });
      await turn();
      for (const { ended } of all) ended.abort();
      for (const { next } of all) expect((await next).done).toBe(true);
    }
  });

  test("that has ended before it began reads nothing of what was before, and ends", async () => {
    const { feed, readings } = feedOf(nothing);
    const told: unknown[] = [];
    const first = feed.changes({ after: "1-1" }, party("a"), AbortSignal.abort()).next();
    void first.then((event) => told.push(event));
    await eventually(() => expect(told).toEqual([{ done: true, value: undefined }]));
    expect(readings.filter(({ input }) => input.limit === OWN)).toEqual([]);
  });

  test.each([
    ["1,000 subscriptions of one key", 1_000, "a"],
    ["100 subscriptions of one person", 100, undefined],
  ])(
    "has no more than %s, as docs/graphql.md says, and reads nothing for one more",
    async (_, most, keyId) => {
      const { feed, readings } = feedOf(nothing);
      const ended = new AbortController();
      const caller = { ...party("a"), identity: () => ({ id: "a", role: "api_read", keyId }) as Identity };
      const all = Array.from({ length: most }, () => feed.changes({}, caller, ended.signal).next());
      await turn();
      const before = readings.length;
      const oneMore = feed.changes({}, caller, ended.signal).next();
      await expect(Promise.race([oneMore, turn()])).rejects.toMatchObject({ code: "rate_limited" });
      expect(readings.length).toBe(before);
      ended.abort();
      await Promise.all(all);
    },
  );

  test("has the bounds that docs/graphql.md states", async () => {
    const text = await readFile(new URL("../docs/graphql.md", import.meta.url), "utf8");
    const stated = /a key may have ([\d,]+) subscriptions and a person ([\d,]+),/.exec(text)!.slice(1);
    const { ofKey, ofPerson } = LIVE_BOUNDS.subscriptions;
    expect(stated.map((number) => Number(number.replace(",", "")))).toEqual([ofKey, ofPerson]);
  });

  test("of a caller who is not let in any more reads nothing and keeps no place", async () => {
    const { feed, readings } = feedOf(nothing);
    const gone = { ...party("a"), recheck: () => Promise.reject(new ApiError("invalid_api_key")) };
    for (let i = 0; i <= LIVE_BOUNDS.subscriptions.ofKey; i += 1) {
      const next = feed.changes({}, gone, new AbortController().signal).next();
      await expect(next).rejects.toMatchObject({ code: "invalid_api_key" });
    }
    expect(readings).toEqual([]);
  });

  test("is read together for those of one role, and for each reviewer alone, however the address is written", async () => {
    const { feed, readings } = feedOf(nothing);
    const ended = new AbortController();
    const follow = (topic: Topic, id: string, role?: string) =>
      feed.changes(topic, party(id, role), ended.signal).next();
    const claims = (adminEmail: string): Topic => ({ claims: { adminEmail } });
    const all = [
      ...[follow({}, "a"), follow({}, "b"), follow({}, "c", "api_write")],
      ...[
        follow(claims("A@x.example"), "a"),
        follow(claims("a@X.example"), "a"),
        follow(claims("b@x.example"), "a"),
      ],
      follow(claims("a@x.example"), "b"),
    ];
    await eventually(() => {
      const begun = readings.filter(({ input }) => input.limit !== OWN && input.after === "now");
      expect(begun.map(({ feed: name, role, id }) => `${name} ${role} ${id}`).toSorted()).toEqual([
        ...["claims api_read a", "claims api_read a", "claims api_read b"],
        ...["records api_read changes", "records api_write changes"],
      ]);
    });
    ended.abort();
    await Promise.all(all);
  });

  test("is read for each address that the account of a person has had, however it is written", async () => {
    const { feed, readings } = feedOf(nothing);
    const ended = new AbortController();
    const all = ["ana@x.example", "ANA@x.example", "ana@y.example"].map((email) =>
      feed.changes({ claims: {}, after: "1-1" }, party("a", "api_person", email), ended.signal).next(),
    );
    const begun = () => readings.filter(({ input }) => input.limit === OWN || input.after === "now");
    await eventually(() => {
      expect(begun().map(({ input }) => input.limit === OWN)).toEqual([false, false, true, true]);
    });
    ended.abort();
    await Promise.all(all);
  });

  test("is read once for those of one caller who wait for the same, one after another for others, and on after a failure", async () => {
    let failures = 1;
    let atOnce = 0;
    let most = 0;
    const { feed, readings } = feedOf(async (reading) => {
      if (reading.input.limit !== OWN) return nothing(reading);
      most = Math.max(most, (atOnce += 1));
      await turn();
      atOnce -= 1;
      if (failures-- > 0) throw new ApiError("service_busy");
      return nothing(reading);
    });
    const ended = new AbortController();
    const follow = (after: string) => feed.changes({ after }, party("a"), ended.signal).next();
    const all = [follow("1-1"), follow("1-1"), follow("2-1"), follow("3-1")];
    const outcomes = Promise.allSettled(all);
    const own = () => readings.filter(({ input }) => input.limit === OWN).map(({ input }) => input.after);
    await eventually(() => expect(own()).toEqual(["1-1", "2-1", "3-1"]));
    expect(most).toBe(1);
    ended.abort();
    expect((await outcomes).map(({ status }) => status)).toEqual([
      "rejected",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
  });

  test("is read for each of those who wait for the same by themselves, as nobody else may see it", async () => {
    const { feed, readings } = feedOf(nothing);
    const ended = new AbortController();
    const all = [{}, { claims: {} }].flatMap((topic) =>
      ["a", "b"].map((id) => feed.changes(topic, party(id), ended.signal).next()),
    );
    await eventually(() => {
      const own = readings.filter(({ input }) => input.limit === OWN);
      expect(own.map(({ feed: name, id }) => `${name} ${id}`).toSorted()).toEqual([
        ...["claims a", "claims b", "records a", "records b"],
      ]);
    }, 5_000);
    ended.abort();
    await Promise.all(all);
  });

  test("is read by itself for each organization and each need that one caller waits for", async () => {
    const { feed, readings } = feedOf(nothing);
    const ended = new AbortController();
    const topics: Topic[] = [{}, { orgUri: "x" }, { orgUri: "y" }, { needId: "n" }, { needId: "m" }];
    const all = topics.map((topic) => feed.changes(topic, party("a"), ended.signal).next());
    await eventually(() => {
      const own = readings.filter(({ input }) => input.limit === OWN);
      expect(own.map(({ input: { orgUri, needId } }) => ({ orgUri, needId }))).toEqual(topics);
    }, 5_000);
    ended.abort();
    await Promise.all(all);
  });

  test("has nobody join a reading that has begun: it may end before what the channel tells them", async () => {
    const gate = Promise.withResolvers<void>();
    let first = true;
    const { feed, readings } = feedOf(async (reading) => {
      if (reading.input.limit === OWN && first) {
        first = false;
        await gate.promise;
      }
      return nothing(reading);
    });
    const ended = new AbortController();
    const own = () => readings.filter(({ input }) => input.limit === OWN);
    const all = [feed.changes({}, party("a"), ended.signal).next()];
    await eventually(() => expect(own()).toHaveLength(1));
    all.push(feed.changes({}, party("a"), ended.signal).next());
    await turn();
    gate.resolve();
    await eventually(() => expect(own()).toHaveLength(2));
    ended.abort();
    await Promise.all(all);
  });
});
