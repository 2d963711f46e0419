// What a channel does with a subscriber who does not read, and what a subscription takes from it.
import { expect, test } from "@jest/globals";
import { ApiError } from "../server/errors.ts";
import type { Database } from "../server/database.ts";
import type { Identity } from "../server/identity/identity.ts";
import { Channel } from "../server/live/channel.ts";
import type { Change, Page } from "../server/live/channel.ts";
import { LiveFeed } from "../server/live/feed.ts";
import type { Topic } from "../server/live/feed.ts";
import { Inbox } from "../server/live/inbox.ts";
import { eventually } from "./support/eventually.ts";

test("one who does not read is cut off with a code, and delays nobody", async () => {
  const PAGES = 20;
  let place = 0;
  const read = (after: string): Promise<Page> => {
    if (after === "now" || place >= PAGES)
      return Promise.resolve({ changes: [], next: `${place}-1`, hasMore: false });
    place++;
    const change = { cursor: `${place}-1`, orgUri: "x".repeat(1_000) } as Change;
    return Promise.resolve({ changes: [change], next: change.cursor, hasMore: false });
  };
  const channel = new Channel({
    read,
    tickMs: 1,
    maxBytes: 5_000,
    tooSlow: () => new ApiError("service_busy"),
  });
  const cuts: unknown[] = [];
  const subscriber = (name: string) => ({
    inbox: new Inbox<Change>(),
    wants: () => true,
    listener: {
      recheck: () => Promise.resolve(),
      cut: (error: unknown) => void cuts.push([name, (error as ApiError).code]),
    },
  });
  const [slow, quick] = [subscriber("slow"), subscriber("quick")];
  const told: string[] = [];
  void (async () => {
    for await (const { cursor } of quick.inbox.read()) told.push(cursor);
  })();
  await Promise.all([channel.join(slow), channel.join(quick)]);
  await eventually(() => expect(told).toHaveLength(PAGES));
  expect(cuts).toEqual([["slow", "service_busy"]]);
  expect(slow.inbox.bytes).toBeLessThan(7_000);
  channel.leave(quick);
  quick.inbox.close();
});

test("who is told over one connection is asked for once, however many subscriptions go over it", async () => {
  let place = 0;
  const read = (): Promise<Page> => {
    const change = { cursor: `${place}-1`, orgUri: "" } as Change;
    const changes = place++ === 1 ? [change] : [];
    return Promise.resolve({ changes, next: `${place}-1`, hasMore: false });
  };
  const channel = new Channel({
    ...{ read, tickMs: 1, maxBytes: 5_000 },
    tooSlow: () => new ApiError("service_busy"),
  });
  let checks = 0;
  const cuts: unknown[] = [];
  const listener = {
    recheck: () => Promise.reject(new ApiError("invalid_api_key", { message: String(++checks) })),
    cut: (error: unknown) => void cuts.push((error as ApiError).code),
  };
  const subscribers = Array.from({ length: 3 }, () => ({
    inbox: new Inbox<Change>(),
    wants: () => true,
    listener,
  }));
  await Promise.all(subscribers.map((subscriber) => channel.join(subscriber)));
  await eventually(() => expect(cuts).toEqual(["invalid_api_key"]));
  expect(checks).toBe(1);
  expect(channel.subscribers.size).toBe(0);
  expect(subscribers.map(({ inbox }) => inbox.bytes)).toEqual([0, 0, 0]);
});

test("one who is still being asked about is told once they are let in, and keeps nobody else waiting", async () => {
  const PAGES = 3;
  let place = 0;
  const read = (after: string): Promise<Page> => {
    if (after === "now" || place >= PAGES)
      return Promise.resolve({ changes: [], next: `${place}-1`, hasMore: false });
    place++;
    const change = { cursor: `${place}-1`, orgUri: "" } as Change;
    return Promise.resolve({ changes: [change], next: change.cursor, hasMore: false });
  };
  const channel = new Channel({
    ...{ read, tickMs: 1, maxBytes: 5_000 },
    tooSlow: () => new ApiError("service_busy"),
  });
  const asked = Promise.withResolvers<void>();
  const follow = (recheck: () => Promise<void>) => {
    const inbox = new Inbox<Change>();
    const told: string[] = [];
    void (async () => {
      for await (const { cursor } of inbox.read()) told.push(cursor);
    })();
    return { told, subscriber: { inbox, wants: () => true, listener: { recheck, cut: () => undefined } } };
  };
  const [slow, other] = [follow(() => asked.promise), follow(() => Promise.resolve())];
  await Promise.all([channel.join(slow.subscriber), channel.join(other.subscriber)]);
  await eventually(() => expect(other.told).toEqual(["1-1", "2-1", "3-1"]));
  expect(slow.told).toEqual([]);
  asked.resolve();
  await eventually(() => expect(slow.told).toEqual(other.told));
  for (const { subscriber } of [slow, other]) {
    channel.leave(subscriber);
    subscriber.inbox.close();
  }
});

const ORG = "https://data.example.org/org/river";
const NEED = "0b9a2f5e-6c1d-4e0a-9f00-abcdefabcdef";
const changeAt = (place: number, needId = NEED) => ({ cursor: `${place}-1`, orgUri: ORG, needId }) as Change;

/**
 * The places that a subscription is told of, until it is told of the last one. The channel tells of its changes one by one;
 * what the subscription reads for itself comes when the channel has told the first of them.
 */
async function placesTold(topic: Topic, own: readonly Change[], told: readonly Change[]): Promise<string[]> {
  const hasTold = Promise.withResolvers<void>();
  const page = (changes: readonly Change[], next: string) =>
    JSON.stringify({ changes, next, hasMore: false });
  let next = 0;
  const database = {
    answer: () => Promise.resolve(""),
    read: async (_: Identity, _statement: string, { after, limit }: { after: string; limit: number }) => {
      if (limit === 50) {
        await hasTold.promise;
        return page(own, own.at(-1)?.cursor ?? "1-1");
      }
      if (after === "now") return page([], "1-1");
      if (next > 0) hasTold.resolve();
      const change = told[next++];
      return page(change ? [change] : [], change?.cursor ?? after);
    },
  };
  const party = {
    identity: () => ({ id: "a", role: "api_read" }) as Identity,
    isReady: () => true,
    recheck: () => Promise.resolve(),
    cut: () => undefined,
  };
  const feed = new LiveFeed(database as unknown as Database);
  const places: string[] = [];
  for await (const { cursor } of feed.changes(topic, party, new AbortController().signal)) {
    places.push(cursor);
    if (cursor === told.at(-1)?.cursor) break;
  }
  return places;
}

test("a change that a subscription has read for itself is not told again, and the next one is told", async () => {
  expect(await placesTold({}, [changeAt(2)], [changeAt(2), changeAt(3), changeAt(4)])).toEqual([
    "2-1",
    "3-1",
    "4-1",
  ]);
});

test("a need whose id is asked for in capitals is the same need, and another is not", async () => {
  const other = "0b9a2f5e-6c1d-4e0a-9f00-abcdefabcdee";
  const told = [changeAt(2), changeAt(3, other), changeAt(4)];
  expect(await placesTold({ needId: NEED.toUpperCase() }, [], told)).toEqual(["2-1", "4-1"]);
});
