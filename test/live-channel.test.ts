// What a channel does with a subscriber who does not read.
import { expect, test } from "@jest/globals";
import { ApiError } from "../server/errors.ts";
import { Channel } from "../server/live/channel.ts";
import type { Change, Page } from "../server/live/channel.ts";
import { Inbox } from "../server/live/inbox.ts";
import { eventually } from "./support/eventually.ts";

test("one who does not read is cut off with a code, and delays nobody", async () => {
  const PAGES = 20;
  let place = 0;
  const read = (after: string): Promise<Page> => {
    if (after === "now" || place >= PAGES)
      return Promise.resolve({ changes: [], position: `${place}-1`, hasMore: false });
    place++;
    const change = { position: `${place}-1`, orgUri: "x".repeat(1_000) } as Change;
    return Promise.resolve({ changes: [change], position: change.position, hasMore: false });
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
    for await (const { position } of quick.inbox.read()) told.push(position);
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
    const change = { position: `${place}-1`, orgUri: "" } as Change;
    const changes = place++ === 1 ? [change] : [];
    return Promise.resolve({ changes, position: `${place}-1`, hasMore: false });
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
