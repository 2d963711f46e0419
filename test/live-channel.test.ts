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
    recheck: () => Promise.resolve(),
    cut: (error: unknown) => void cuts.push([name, (error as ApiError).code]),
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
