// When the background verification takes its steps, by a clock that the test sets, and what it leaves behind.
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import type { Logger } from "pino";
import { createPool } from "../db/pool.ts";
import { GraphFailed, GraphTimeout, GraphUnavailable } from "../graph/store.ts";
import { drain } from "../worker/drain.ts";
import { startVerifier } from "../worker/verifier.ts";
import type { VerifierOptions } from "../worker/verifier.ts";
import { verify } from "../worker/verify.ts";
import { eventually } from "./support/eventually.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";
import { standBetween } from "./support/statements.ts";
import type { Between } from "./support/statements.ts";

const DAY_MS = 86_400_000;

let graph: MemoryGraph;
let between: Between;
let now: number;
let said: [level: string, text: string][];
let stops: (() => Promise<unknown>)[];
beforeEach(async () => {
  graph = await startMemoryGraph();
  // Nothing is compared while something waits for the graph.
  await drain(graph.options);
  await graph.database.owner.query("select app_private.note_graph_current()");
  between = standBetween(graph.database.owner);
  now = 1_000_000;
  said = [];
  stops = [];
  jest.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(async () => {
  graph.store.before = () => undefined;
  for (const stop of stops) await stop();
  jest.restoreAllMocks();
  await graph.database.drop();
});

const say = (level: string) => (_: object, text: string) => void said.push([level, text]);
function start(more: Partial<VerifierOptions> = {}) {
  const logger = { debug: say("debug"), warn: say("warn") } as unknown as Logger;
  const verifier = startVerifier({
    ...graph.options,
    ...{ pool: between.pool, logger, share: 1, days: 1, repair: true, lookMs: 200 },
    ...more,
  });
  stops.push(() => verifier.stop());
  return verifier;
}
const troubleNow = async () => {
  const { rows } = await graph.database.owner.query<object>(
    `select trouble, "verificationFails" as fails from rest.health, app_private.graph_verification`,
  );
  return rows[0]!;
};
const steps = () => between.count("note_verification");
const isVerified = async () => {
  const { rows } = await graph.database.owner.query<{ done: boolean }>(
    "select verified_at is not null as done from app_private.graph_verification",
  );
  return rows[0]!.done;
};

/**
 * Has a first round be done, which nothing holds up, and then as much time pass as is given.
 * @returns how many steps the round had, and how many came after it
 */
async function round(options: Partial<VerifierOptions>, pass: (steps: number) => number) {
  const looked = Promise.withResolvers<void>();
  let first: number | undefined;
  between.before = async (text) => {
    // Each step takes ten milliseconds.
    if (text.includes("note_verification")) now += 10;
    if (!text.includes("graph_verification as v")) return;
    if (first === undefined && (await isVerified())) {
      first = steps();
      now += pass(first);
      looked.resolve();
    }
  };
  const verifier = start(options);
  await looked.promise;
  // A step that it has begun by then comes to its end.
  await verifier.stop();
  return { first: first!, after: steps() - first! };
}

test.each([
  ["before the day is over", -1, 0],
  ["when it is due", 0, 1],
])("a round takes a day, in equal steps: the next one is taken, or not, %s", async (_, ms, after) => {
  const taken = await round({}, (all) => DAY_MS / all - 10 + ms);
  expect(taken.first).toBeGreaterThan(5);
  expect(taken.after).toBe(after);
});

test.each([
  ["a moment too early", -1, 0],
  ["when it is due", 0, 1],
])("a step rests for as long as its share of the time asks, if that is longer: %s", async (_, ms, after) => {
  // A quarter of the time: ten milliseconds, and thirty of rest.
  const taken = await round({ share: 0.25, days: 1e-9 }, () => 30 + ms);
  expect(taken.after).toBe(after);
});

test("whoever verifies keeps nobody from writing the graph", async () => {
  start();
  await eventually(async () => expect(await isVerified()).toBe(true));
  await graph.declareNeeds(1);
  expect(await drain(graph.options)).toEqual({ state: "drained", records: 1 });
});

test("a round that is urgent takes no more than its share of the time either", async () => {
  between.before = (text) => {
    if (text.includes("note_verification")) now += 10;
  };
  // Ten milliseconds, and hours of rest.
  start({ share: 1e-6 });
  await eventually(() => expect(steps()).toBeGreaterThan(0));
  for (let i = 0; i < 50; i += 1) await graph.database.owner.query("select");
  expect(steps()).toBe(1);
});

test("how many steps there are is counted anew for each round", async () => {
  // One step of the second round is taken.
  const { after } = await round({}, (all) => DAY_MS / all - 10);
  expect(after).toBe(1);
  expect(between.count("select count(*) from app_public.needs")).toBe(2);
});

test("whoever has stopped leaves the verification to another process, which goes on", async () => {
  // Whose connections stay open.
  const lasting = createPool(graph.database.url, { max: 4, idleTimeoutMillis: 0 });
  const verifier = start({ pool: lasting });
  await eventually(async () => expect(await isVerified()).toBe(true));
  const pool = createPool(graph.database.url, { max: 4 });
  const other = standBetween(pool);
  try {
    const waiting = start({ pool: other.pool });
    // As long as the first is at it, there is one. It may have been asked for again before this looks.
    await eventually(() => expect(other.count("pg_try_advisory_lock")).toBeGreaterThan(0));
    await waiting.stop();
    expect(other.count("graph_verification as v")).toBe(0);
    await verifier.stop();
    const next = start({ pool: other.pool });
    await eventually(() => expect(other.count("graph_verification as v")).toBeGreaterThan(0), 15_000);
    await next.stop();
  } finally {
    for (const stop of stops.splice(0)) await stop();
    await lasting.end();
    await pool.end();
  }
});

test("whoever may not verify asks again after a while, not at once, and whoever may keeps its connection while a step takes minutes", async () => {
  const verifier = start();
  await eventually(async () => expect(await isVerified()).toBe(true));
  expect(between.count("set idle_session_timeout = 0")).toBe(1);
  const other = standBetween(graph.database.owner);
  const waiting = start({ pool: other.pool, lookMs: 1_000_000 });
  await eventually(() => expect(other.count("pg_try_advisory_lock")).toBeGreaterThan(0));
  // Each time that it asks takes a new connection, as each of these does.
  for (let i = 0; i < 20; i += 1) (await graph.database.owner.connect()).release(true);
  expect(other.count("pg_try_advisory_lock")).toBe(1);
  await waiting.stop();
  await verifier.stop();
});

test.each<[string, Error, string, string | null]>([
  ["is away, which others tell of", new GraphUnavailable("away"), "debug", null],
  ["is too slow for it", new GraphTimeout("slow"), "warn", "slow"],
  ["fails on it alone", new GraphFailed("failed"), "warn", "failed"],
  ["answers nonsense", new TypeError("nonsense"), "warn", "nonsense"],
])("a verification that is interrupted by a store that %s", async (_, error, level, trouble) => {
  await graph.database.owner.query(
    "update app_private.graph_verification set verified_at = now(), urgent = true",
  );
  graph.store.before = () => {
    throw error;
  };
  start();
  await eventually(() => expect(said[0]).toEqual([level, "the verification of the graph was interrupted"]));
  // Also before a first round has come to its end.
  await eventually(async () => expect(await troubleNow()).toEqual({ trouble, fails: trouble !== null }));
  graph.store.before = () => undefined;
  await eventually(async () => expect(await troubleNow()).toEqual({ trouble: null, fails: false }), 15_000);
});

test("a verification that failed is known to work when an operator has had all of it done", async () => {
  const { owner } = graph.database;
  await owner.query("update app_private.graph_verification set trouble = 'nonsense'");
  await verify(graph.options);
  expect(await troubleNow()).toEqual({ trouble: null, fails: false });
});

test("nothing is verified while the graph is behind, and all of it as soon as it is not", async () => {
  await graph.database.owner.query("select app_private.note_graph_state('behind', 'x')");
  start();
  await eventually(() => expect(between.count("graph_verification as v")).toBeGreaterThan(1));
  expect(steps()).toBe(0);
  await graph.database.owner.query("select app_private.note_graph_current()");
  await eventually(async () => expect(await isVerified()).toBe(true));
});

test("a verification that is asked for begins within seconds, though the next step is due in hours", async () => {
  const looked = Promise.withResolvers<void>();
  between.before = async (text) => {
    if (text.includes("graph_verification as v") && (await isVerified())) looked.resolve();
  };
  start();
  await looked.promise;
  // It has read by then that nothing is urgent.
  for (let i = 0; i < 50; i += 1) await graph.database.owner.query("select");
  const first = steps();
  await graph.database.owner.query("select app_private.request_verification()");
  await eventually(() => expect(steps()).toBeGreaterThan(first), 15_000);
});

test.each([
  ["a share", { share: 0 }],
  ["days", { days: 0 }],
])("with %s of 0 nobody even asks whose turn it is, and nothing is said to fail", async (_, options) => {
  await graph.database.owner.query("update app_private.graph_verification set trouble = 'nonsense'");
  await start(options).stop();
  expect(between.count("pg_try_advisory_lock")).toBe(0);
  expect(await troubleNow()).toEqual({ trouble: null, fails: false });
});
