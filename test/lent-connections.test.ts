// What becomes of a connection, and of what its borrower is told, when a statement on it fails, and how long one rests that did
// not; by a clock that the test sets.
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { DatabaseError } from "pg";
import type pg from "pg";
import type { Pulse } from "../process/pulse.ts";
import type { BorrowedConnection } from "../server/postgres/connections.ts";
import {
  CallerGone,
  DatabaseUnavailable,
  ReplicaUnfit,
  ServiceBusy,
} from "../server/postgres/unavailable.ts";
import { Shares } from "../server/shares.ts";

// The test's clock does not reach what a module has imported of this one.
jest.unstable_mockModule("node:timers/promises", () => ({
  setTimeout: (ms: number, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((done, failed) => {
      setTimeout(done, ms, value);
      signal?.addEventListener("abort", () => failed(signal.reason as Error));
    }),
}));
const { Connections } = await import("../server/postgres/connections.ts");

const QUERY = { text: "select 1" };
const TIMEOUT_MS = 7_000;

/** A statement that is on its way, as the driver has it. */
type Sent = {
  handleCommandComplete: (message: object, connection: object) => void;
  handleError: (error: Error) => void;
  handleReadyForQuery: () => void;
};

let sent: Sent[];
let released: unknown[];
/** Breaks the connection, as the driver tells of it. */
let sever: () => void;
let lose: (cause: Error) => void;
let pulse: { isDown: boolean; outages: number; attend: (fail: typeof lose) => object };
let pooled: number;
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["setImmediate"] });
  [sent, released, pooled] = [[], [], 0];
  pulse = {
    ...{ isDown: false, outages: 0 },
    attend: (fail) => {
      lose = fail;
      return { answered: () => undefined, end: () => undefined };
    },
  };
});
afterEach(() => void jest.useRealTimers());

function refusal(code: string, severity = "ERROR", message = "no"): DatabaseError {
  return Object.assign(new DatabaseError(message, 2, "error"), { code, severity });
}

/** Of a pool that has one which is open. */
function connectionsOf(more: { isReplica?: boolean; shares?: Shares } = {}) {
  let made: (client: pg.PoolClient) => void;
  const client = {
    once: (_: string, listener: () => void) => (sever = listener),
    getTransactionStatus: () => "I",
    release: (isBroken?: boolean) => released.push(isBroken ?? false),
    // What every statement needs is prepared before.
    query: (what: Partial<Sent>) => (what.handleError ? void sent.push(what as Sent) : Promise.resolve()),
  } as unknown as pg.PoolClient;
  const pool = {
    ...{ idleCount: 1, waitingCount: 0 },
    on: (_: string, listener: typeof made) => (made = listener),
    connect: () => {
      pooled += 1;
      made(client);
      return Promise.resolve(client);
    },
  } as unknown as pg.Pool;
  const limits = { slots: 1, perCaller: 1, queuePerCaller: 0, queue: 0, patienceMs: 1_000, slowMs: 1_000 };
  return new Connections({
    ...{ pool, pulse: pulse as unknown as Pulse, timeoutMs: TIMEOUT_MS, shares: new Shares(limits), ...more },
  });
}
/** Sends a statement; what comes of it. */
async function begin(connections: ReturnType<typeof connectionsOf>, gone?: AbortSignal) {
  const lent = await connections.take({ caller: "a", ...(gone && { gone }) });
  const run = async () => {
    const outcome: { error?: Error } = {};
    const running = lent.run(QUERY).catch((error: Error) => {
      outcome.error = error;
    });
    await jest.advanceTimersByTimeAsync(0);
    return { outcome, running };
  };
  return { lent, run };
}

test("has a second beyond a statement's time limit for the database to say so, and is closed when it does not", async () => {
  const { lent, run } = await begin(connectionsOf());
  const { outcome } = await run();
  await jest.advanceTimersByTimeAsync(TIMEOUT_MS + 999);
  expect(outcome).toEqual({});
  await jest.advanceTimersByTimeAsync(1);
  expect(outcome.error).toMatchObject({ name: "StatementTimeout" });
  // What it says later does not make it fit for others.
  const later = await run();
  sent[1]!.handleError(refusal("22P02"));
  await later.running;
  expect(later.outcome.error).toMatchObject({ code: "22P02" });
  lent.release();
  expect(released).toEqual([true]);
});

test("whose answer came while the process stood still has it in time", async () => {
  const { run } = await begin(connectionsOf());
  const { outcome, running } = await run();
  // Timers come before what is to be read.
  jest.advanceTimersByTime(TIMEOUT_MS + 1_000);
  sent[0]!.handleReadyForQuery();
  await running;
  expect(outcome).toEqual({});
});

test("that is answered on waits for nothing more, and is lent again", async () => {
  const { lent, run } = await begin(connectionsOf());
  const { outcome, running } = await run();
  sent[0]!.handleReadyForQuery();
  await running;
  lent.release();
  expect([outcome, released, jest.getTimerCount()]).toEqual([{}, [false], 0]);
});

test.each<[string, () => void, { isUnknown: boolean; isClosed: boolean }]>([
  [
    "that breaks",
    () => {
      sever();
      sent[0]!.handleError(new Error("read ECONNRESET"));
    },
    { isUnknown: true, isClosed: true },
  ],
  [
    "to a server that stops",
    () => sent[0]!.handleError(refusal("57P01")),
    { isUnknown: true, isClosed: true },
  ],
  [
    "that a pooler closes",
    () => sent[0]!.handleError(refusal("XX000", "FATAL")),
    { isUnknown: true, isClosed: true },
  ],
  [
    "to a database that does not answer any more",
    () => lose(new Error("silent")),
    { isUnknown: true, isClosed: true },
  ],
  [
    "to a database that has run out of something",
    () => sent[0]!.handleError(refusal("53200")),
    { isUnknown: false, isClosed: false },
  ],
  [
    "on which a rule refuses",
    () => sent[0]!.handleError(refusal("PT403")),
    { isUnknown: false, isClosed: false },
  ],
])("%s: whether anybody knows what was done, and whether it is closed", async (_, fail, expected) => {
  const { lent, run } = await begin(connectionsOf());
  const { outcome, running } = await run();
  fail();
  await running;
  lent.release();
  const isUnknown = outcome.error instanceof DatabaseUnavailable && outcome.error.isOutcomeUnknown;
  expect({ isUnknown, isClosed: released[0] }).toEqual(expected);
});

test.each<[string, () => void, boolean, number[]]>([
  ["that is answered", () => sent[0]!.handleReadyForQuery(), false, [1_200]],
  ["that fails", () => sent[0]!.handleError(refusal("22P02")), false, [1_200]],
  ["whose caller hung up", () => sent[0]!.handleError(refusal("57014")), true, [1_200]],
  ["on which nothing is answered any more", () => lose(new Error("silent")), false, []],
  ["on which nothing is answered to a caller who hung up", () => lose(new Error("silent")), true, []],
])("tells for how long it kept the database: one %s", async (_, end, hangsUp, told) => {
  const [took, gone]: [number[], AbortController] = [[], new AbortController()];
  const lent = await connectionsOf().take({
    ...{ caller: "a", gone: gone.signal },
    took: (ms) => void took.push(ms),
  });
  const running = lent.run(QUERY).catch(() => undefined);
  await jest.advanceTimersByTimeAsync(1_200);
  if (hangsUp) gone.abort();
  end();
  await running;
  expect(took).toEqual(told);
});

test("is not lent while the database is down, though one is open; nothing was done then", async () => {
  const connections = connectionsOf();
  pulse.isDown = true;
  await expect(connections.take({ caller: "a" })).rejects.toMatchObject({
    ...{ constructor: DatabaseUnavailable, isOutcomeUnknown: false },
  });
  expect([pooled, connections.usage.used]).toEqual([0, 0]);
});

test("is waited for no longer by who hangs up, and goes to nobody of theirs when it comes back", async () => {
  const limits = { slots: 1, perCaller: 1, queuePerCaller: 1, queue: 1, patienceMs: 1_000, slowMs: 1_000 };
  const connections = connectionsOf({ shares: new Shares(limits) });
  const lent = await connections.take({ caller: "a" });
  const gone = new AbortController();
  let refused: unknown;
  connections.take({ caller: "b", gone: gone.signal }).catch((error: unknown) => (refused = error));
  expect(connections.usage).toEqual({ used: 1, waiting: 1 });
  gone.abort();
  await jest.advanceTimersByTimeAsync(0);
  expect([refused, connections.usage]).toEqual([expect.any(CallerGone), { used: 1, waiting: 0 }]);
  lent.release();
  await jest.advanceTimersByTimeAsync(0);
  expect([pooled, connections.usage.used]).toEqual([1, 0]);
});

test("is waited for as long as is told, also by who waits in vain", async () => {
  const connections = connectionsOf();
  const told: number[] = [];
  connections.onWait((seconds) => told.push(seconds));
  const lent = await connections.take({ caller: "a" });
  expect(told).toEqual([expect.any(Number)]);
  await expect(connections.take({ caller: "b" })).rejects.toThrow(ServiceBusy);
  expect(told).toHaveLength(2);
  lent.release();
});

test("is waited for in seconds", async () => {
  const waits = Promise.withResolvers<() => void>();
  const connections = connectionsOf({ shares: { take: () => waits.promise } as unknown as Shares });
  const told: number[] = [];
  connections.onWait((seconds) => told.push(seconds));
  const taking = connections.take({ caller: "a" });
  await jest.advanceTimersByTimeAsync(1_500);
  waits.resolve(() => undefined);
  (await taking).release();
  expect(told).toEqual([1.5]);
});

test.each<[string, DatabaseError, object]>([
  [
    "is behind",
    refusal("EG002", "ERROR", "it is behind"),
    { constructor: ReplicaUnfit, message: "it is behind", isBehind: true },
  ],
  [
    "is no replica",
    refusal("EG001", "ERROR", "it is no replica"),
    { constructor: ReplicaUnfit, message: "it is no replica", isBehind: false },
  ],
  [
    "has no rules of ours",
    refusal("42883", "ERROR", "function does not exist"),
    {
      ...{ constructor: ReplicaUnfit, isBehind: false },
      message: "it is not a database of this service and version",
    },
  ],
  ["is in the way of what it replays", refusal("40001"), { constructor: DatabaseError, code: "40001" }],
  ["has run out of something", refusal("53200"), { constructor: DatabaseError, code: "53200" }],
])("to a replica that %s before the statement has begun", async (_, error, told) => {
  const { lent, run } = await begin(connectionsOf({ isReplica: true }));
  const { outcome, running } = await run();
  sent[0]!.handleError(error);
  await running;
  lent.release();
  expect(outcome.error).toMatchObject(told);
});

test("to a replica: what fails once the statement has begun is the statement's own failure", async () => {
  const { lent, run } = await begin(connectionsOf({ isReplica: true }));
  const { outcome, running } = await run();
  sent[0]!.handleCommandComplete({ text: "SELECT 1" }, {});
  sent[0]!.handleError(refusal("42883"));
  await running;
  lent.release();
  expect(outcome.error).toMatchObject({ constructor: DatabaseError, code: "42883" });
});

describe("rests before its next statement", () => {
  const roomy = { slots: 2, perCaller: 1, queuePerCaller: 1, queue: 2, patienceMs: 60_000, slowMs: 1_000 };

  /** Runs a statement that takes so long. */
  async function runFor(ms: number, { run }: Awaited<ReturnType<typeof begin>>): Promise<void> {
    const { running } = await run();
    await jest.advanceTimersByTimeAsync(ms);
    sent.at(-1)!.handleReadyForQuery();
    await running;
  }
  /** For how many milliseconds it rests; nothing where that has no end. */
  async function restOf(lent: BorrowedConnection): Promise<number | undefined> {
    const began = performance.now();
    let rested: number | undefined;
    void lent.rest().then(() => (rested = performance.now() - began));
    await jest.advanceTimersByTimeAsync(10_000);
    return rested;
  }

  test.each([
    ["not at all after one of ten milliseconds", 10, 0],
    ["for eleven milliseconds after one that took as long", 11, 11],
    ["for as long as the last has taken", 150, 150],
    ["for a fifth of a second after one of a second", 1_000, 200],
  ])("%s, and not again", async (_, tookMs, restedMs) => {
    const connections = connectionsOf({ shares: new Shares(roomy) });
    const begun = await begin(connections);
    await connections.take({ caller: "b" });
    await runFor(tookMs, begun);
    expect(await restOf(begun.lent)).toBe(restedMs);
    expect(await restOf(begun.lent)).toBe(0);
  });

  test("not at all where nobody else is there", async () => {
    const begun = await begin(connectionsOf({ shares: new Shares(roomy) }));
    await runFor(150, begun);
    expect(await restOf(begun.lent)).toBe(0);
  });

  test("not at all while somebody else waits for nothing but its connection, but while others wait for their own", async () => {
    const connections = connectionsOf({ shares: new Shares(roomy) });
    const begun = await begin(connections);
    await connections.take({ caller: "b" });
    void connections.take({ caller: "b" });
    await runFor(150, begun);
    expect(await restOf(begun.lent)).toBe(150);
    const wanted = connections.take({ caller: "c" });
    await runFor(150, begun);
    expect(await restOf(begun.lent)).toBe(0);
    begun.lent.release();
    await wanted;
  });

  test("and says for how long in all when it is given back, also where its caller hung up meanwhile", async () => {
    const told: unknown[] = [];
    const shares = {
      take: () => Promise.resolve((restedMs: number) => told.push(restedMs)),
      ...{ hasCompany: () => true, isWantedBesides: () => false },
    } as unknown as Shares;
    const caller = new AbortController();
    const begun = await begin(connectionsOf({ shares }), caller.signal);
    for (const ms of [50, 150, 5]) {
      await runFor(ms, begun);
      await restOf(begun.lent);
    }
    await runFor(100, begun);
    void begun.lent.rest().catch(() => undefined);
    await jest.advanceTimersByTimeAsync(30);
    caller.abort();
    await jest.advanceTimersByTimeAsync(60);
    begun.lent.release();
    expect(told).toEqual([230]);
  });

  test("until its caller hangs up", async () => {
    const connections = connectionsOf({ shares: new Shares(roomy) });
    const caller = new AbortController();
    const begun = await begin(connections, caller.signal);
    await connections.take({ caller: "b" });
    await runFor(150, begun);
    const told: unknown[] = [];
    void begun.lent.rest().catch((error: unknown) => told.push(error));
    await jest.advanceTimersByTimeAsync(149);
    expect(told).toEqual([]);
    caller.abort();
    await jest.advanceTimersByTimeAsync(0);
    expect(told).toEqual([expect.any(CallerGone)]);
  });
});
