// A subscription from its text to its events, of a feed that the test gives out change by change.
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, jest, test } from "@jest/globals";
import { get, lambda } from "postgraphile/grafast";
import type { Step } from "postgraphile/grafast";
import { CommonTypesPlugin, makeSchema, QueryPlugin, SubscriptionPlugin } from "postgraphile/graphile-build";
import { parse } from "postgraphile/graphql";
import type { ExecutionArgs, ExecutionResult } from "postgraphile/graphql";
import { extendSchema } from "postgraphile/utils";
import "../server/graphql/environment.ts";
import { publicErrors } from "../server/graphql/errors.ts";
import { LivePlugin } from "../server/graphql/live.ts";
import { Subscriptions } from "../server/graphql/subscriptions.ts";
import type { Asked, Events } from "../server/graphql/subscriptions.ts";
import { TextCache } from "../server/graphql/texts.ts";
import { ApiError } from "../server/errors.ts";
import { ServiceBusy } from "../server/postgres/unavailable.ts";
import { LoopTurns } from "../server/loop-turns.ts";
import type { Change } from "../server/live/channel.ts";
import type { LiveFeed, Party, Topic } from "../server/live/feed.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

/** As in server/graphql/subscriptions.ts. */
const UNDER_WAY = 20;
const PAUSE_MS = 5;

/** A field that cannot be read of the second change, and what other plugins bring. */
const DamagedPlugin = extendSchema(() => ({
  typeDefs: parse(`
    extend type Query { nothing: Int } extend type Change { damaged: String }
    enum NeedStatus { open } enum CommitmentStatus { active } enum EngagementClaimStatus { submitted }`),
  objects: {
    Change: {
      plans: {
        damaged: ($event: Step) =>
          lambda(get($event as Step<Change>, "cursor"), (cursor) => {
            if (cursor === "2-1") throw new Error("what nobody else may read");
            return "whole";
          }),
      },
    },
  },
}));

const { schema, resolvedPreset } = await makeSchema({
  plugins: [QueryPlugin, SubscriptionPlugin, CommonTypesPlugin, LivePlugin, DamagedPlugin],
});

const ASKED = "subscription { changes { cursor } }";

const begun: Events[] = [];
// Whoever still waits goes on looking otherwise, also after the last test.
afterEach(() => {
  for (const events of begun.splice(0)) void events.return();
});

/** Subscriptions to so many changes, and then to what is given. */
function subscriptions(
  changes: number,
  last: (ended: AbortSignal) => Promise<void> = () => Promise.resolve(),
) {
  const topics: Topic[] = [];
  const sent = { count: 0 };
  const feed = {
    async *changes(topic: Topic, _party: Party, ended: AbortSignal) {
      topics.push(topic);
      for (let place = 1; place <= changes; place++) {
        yield { cursor: `${place}-1`, id: `id ${place}` } as Change;
        sent.count = place;
      }
      await last(ended);
    },
  };
  const logged: unknown[] = [];
  const publicError = publicErrors({
    error: (about: unknown) => void logged.push(about),
    warn: () => undefined,
  });
  const turns = new LoopTurns();
  const made = new Subscriptions({
    ...{ feed: feed as unknown as LiveFeed, texts: new TextCache(schema, publicError) },
    turns,
    ...{ schema, resolvedPreset, publicError },
  });
  const party = { isReady: () => true, identity: () => ({ id: "a" }) } as Party;
  async function begin(
    query = ASKED,
    variables: Record<string, unknown> = {},
    by = party,
    onError?: "PROPAGATE" | "HALT",
  ) {
    const prepared = made.prepare({ query, variables, onError }, by);
    if (!("schema" in prepared)) return { errors: prepared };
    const result = await made.subscribe(prepared);
    if (Symbol.asyncIterator in result) begun.push(result);
    return result;
  }
  const prepare = (asked: Asked) => made.prepare(asked, party);
  return {
    topics,
    sent,
    logged,
    party,
    turns,
    begin,
    prepare,
    events: async () => (await begin()) as Events,
  };
}

/** What becomes of a promise by the time that whoever looks every few milliseconds has looked a hundred times. */
async function soon<T>(promise: Promise<T>): Promise<T | "nothing"> {
  const state = { isOver: false };
  const over = promise.finally(() => (state.isOver = true));
  // Timers of one length run in the order in which they began: however slow the machine is, the others have run as well.
  const looked = (async () => {
    for (let n = 0; n < 100 && !state.isOver; n++) await pause(PAUSE_MS);
    return "nothing" as const;
  })();
  return Promise.race([over, looked]);
}

async function next(events: Events): Promise<ExecutionResult | "nothing" | undefined> {
  const read = await soon(events.next());
  return read === "nothing" ? read : (read.value ?? undefined);
}

const NEED = "7b0cf2a4-52a6-4d0b-9e0b-0d3c0a6f7f21";

test.each<[string, string, Record<string, unknown>, Topic]>([
  [
    "changes",
    "($orgUri: String, $needId: UUID, $after: String) { changes(orgUri: $orgUri, needId: $needId, after: $after)",
    { orgUri: "https://x.example", needId: NEED, after: "7-1" },
    { orgUri: "https://x.example", needId: NEED, after: "7-1" },
  ],
  [
    "claimsToReview",
    "($adminEmail: String, $after: String) { claimsToReview(adminEmail: $adminEmail, after: $after)",
    { adminEmail: "ana@x.example", after: "8-1" },
    { claims: { adminEmail: "ana@x.example" }, after: "8-1" },
  ],
])("what the variables of a subscription to %s say is what the feed is asked for", async (...given) => {
  const [name, head, variables, topic] = given;
  const { begin, topics } = subscriptions(1);
  const events = (await begin(`subscription ${head} { cursor id } }`, variables)) as Events;
  expect(await next(events)).toEqual({ data: { [name]: { cursor: "1-1", id: "id 1" } } });
  expect(topics).toEqual([topic]);
});

test("a subscription goes on with its own operation and variables, and nothing else that came with it", () => {
  const { prepare } = subscriptions(1);
  const query = `query Other { ...b } fragment a on Change { cursor } fragment b on Query { nothing }
    subscription Own($after: String, $orgUri: String) { changes(after: $after, orgUri: $orgUri) { ...a } }`;
  const variables = { after: "7-1", other: [{}] };
  const prepared = prepare({ query, operationName: "Own", variables }) as ExecutionArgs;
  expect(prepared.variableValues).toEqual({ after: "7-1" });
  expect(prepared.document.definitions).toMatchObject([{ name: { value: "a" } }, { name: { value: "Own" } }]);
});

test("a field that fails within an event has a public code, and the events behind it come", async () => {
  const { begin, logged } = subscriptions(3);
  const events = (await begin("subscription { changes { cursor damaged } }")) as Events;
  const all = [await next(events), await next(events), await next(events)];
  expect(all).toMatchObject([
    { data: { changes: { cursor: "1-1", damaged: "whole" } } },
    {
      data: { changes: { cursor: "2-1", damaged: null } },
      errors: [{ path: ["changes", "damaged"], extensions: { code: "internal_error", statusCode: 500 } }],
    },
    { data: { changes: { cursor: "3-1", damaged: "whole" } } },
  ]);
  expect(JSON.stringify(all)).not.toContain("nobody else");
  expect(logged).toMatchObject([{ err: { message: "what nobody else may read" } }]);
});

test.each([
  ["PROPAGATE", { changes: { cursor: "2-1", damaged: null } }],
  ["HALT", null],
] as const)(
  "of an event in which a field fails, %s leaves %j, as whoever subscribes wants it",
  async (onError, data) => {
    const { begin, party } = subscriptions(2);
    const events = (await begin("subscription { changes { cursor damaged } }", {}, party, onError)) as Events;
    await next(events);
    expect(await next(events)).toMatchObject({ data });
  },
);

test("a feed that fails is told as the last event, with its code, and then nothing", async () => {
  const failed = new ApiError("changes_expired");
  const events = await subscriptions(1, () => Promise.reject(failed)).events();
  expect(await next(events)).toEqual({ data: { changes: { cursor: "1-1" } } });
  expect(await next(events)).toMatchObject({ errors: [{ extensions: { code: "changes_expired" } }] });
  expect(await soon(events.next())).toEqual({ value: undefined, done: true });
});

test("a feed that ends without a failure ends its subscription without an error", async () => {
  const events = await subscriptions(1).events();
  expect(await next(events)).toEqual({ data: { changes: { cursor: "1-1" } } });
  expect(await soon(events.next())).toEqual({ value: undefined, done: true });
});

test("who has ended a subscription is told of no failure that comes of it", async () => {
  const ends: boolean[] = [];
  const failing = (ended: AbortSignal) =>
    new Promise<void>((_, reject) => {
      ended.addEventListener("abort", () => {
        ends.push(ended.aborted);
        reject(new ApiError("service_busy"));
      });
    });
  const events = await subscriptions(1, failing).events();
  await next(events);
  const waiting = soon(events.next());
  await soon(events.return());
  expect(await waiting).toEqual({ value: undefined, done: true });
  expect(ends).toEqual([true]);
});

test("more changes than may be under way come all, as those before them are taken", async () => {
  const count = 3 * UNDER_WAY;
  const { events: begin } = subscriptions(count);
  const events = await begin();
  for (let place = 1; place <= count; place++)
    expect(await next(events)).toEqual({ data: { changes: { cursor: `${place}-1` } } });
});

test("while nobody takes them, twenty changes are under way and no more", async () => {
  const { events: begin, sent } = subscriptions(3 * UNDER_WAY);
  const events = await begin();
  await next(events);
  expect(await soon(new Promise<never>(() => undefined))).toBe("nothing");
  expect(sent.count).toBe(UNDER_WAY);
});

test("nothing is sent to who has not taken what came before, until it is taken", async () => {
  const { begin, sent, party } = subscriptions(3);
  let isReady = false;
  const events = (await begin(ASKED, {}, { ...party, isReady: () => isReady })) as Events;
  const first = events.next();
  expect(await soon(first)).toBe("nothing");
  expect(sent.count).toBe(0);
  isReady = true;
  expect(await soon(first)).toMatchObject({ value: { data: { changes: { cursor: "1-1" } } } });
});

test("an event waits for its caller's turn, and for what others have sent over the connection by then", async () => {
  const { begin, party, turns } = subscriptions(3);
  const turn = Promise.withResolvers<void>();
  const taken = jest.spyOn(turns, "take").mockImplementation(() => turn.promise);
  let isReady = true;
  const events = (await begin(ASKED, {}, { ...party, isReady: () => isReady })) as Events;
  const first = events.next();
  expect(await soon(first)).toBe("nothing");
  expect(taken.mock.calls).toEqual([["a", expect.any(AbortSignal)]]);
  isReady = false;
  turn.resolve();
  expect(await soon(first)).toBe("nothing");
  isReady = true;
  expect(await soon(first)).toMatchObject({ value: { data: { changes: { cursor: "1-1" } } } });
});

test("an event whose turn does not come is told as what it is", async () => {
  const { events, turns } = subscriptions(1);
  jest.spyOn(turns, "take").mockRejectedValue(new ServiceBusy());
  expect(await next(await events())).toMatchObject({ errors: [{ extensions: { code: "service_busy" } }] });
});

test("a subscription that is ended while nothing is taken of it is looked after no more", async () => {
  const { begin, party } = subscriptions(3);
  const looked = { count: 0, isOver: false };
  const isReady = () => {
    looked.count += 1;
    return looked.isOver;
  };
  const events = (await begin(ASKED, {}, { ...party, isReady })) as Events;
  const first = events.next();
  expect(await soon(first)).toBe("nothing");
  await soon(events.return());
  await pause(PAUSE_MS);
  const before = looked.count;
  expect(await soon(new Promise<never>(() => undefined))).toBe("nothing");
  looked.isOver = true;
  expect(before).toBeGreaterThan(1);
  expect(looked.count).toBe(before);
});

test("a subscription whose variables do not fit is refused with a code, and no feed is asked", async () => {
  const { begin, topics } = subscriptions(1);
  const query = "subscription ($needId: UUID) { changes(needId: $needId) { cursor } }";
  expect(await begin(query, { needId: "none" })).toMatchObject({
    errors: [{ extensions: { code: "validation_failed", statusCode: 400 } }],
  });
  expect(topics).toEqual([]);
});
