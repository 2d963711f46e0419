// How a worker begins and ends: what it takes up, and what it gives back.
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { parseCrontab } from "graphile-worker";
import pg from "pg";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { GraphUnreachable } from "../graph/store.ts";
import { startWorker } from "../worker/main.ts";
import type { Worker, WorkerOptions } from "../worker/main.ts";
import { crontab } from "../worker/tasks/index.ts";
import { eventually } from "./support/eventually.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import { givenUpAfter } from "./support/silent-database.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";

let graph: MemoryGraph;
beforeEach(async () => {
  graph = await startMemoryGraph();
});
afterEach(() => graph.database.drop());

const start = (env: NodeJS.ProcessEnv = {}, more: Partial<WorkerOptions> = {}): Promise<Worker> =>
  startWorker({
    ...{ databaseUrl: graph.database.url, store: graph.store, logger: pino({ level: "silent" }) },
    ...{ config: loadConfig({ GRAPH_VERIFY_SHARE: "0", DATABASE_URL: graph.database.url, ...env }), ...more },
  });

/** What a worker has of the database: connections, and locks that last as long as these. */
async function held(): Promise<{ connections: number; locks: number }> {
  const { rows } = await graph.database.owner.query<{ connections: number; locks: number }>(
    `select (select count(*)::integer from pg_stat_activity
         where datname = current_database() and application_name = 'engagement-worker') as connections,
       (select count(*)::integer from pg_locks
         where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks`,
  );
  return rows[0]!;
}
/** Sooner than a pool would end what is idle. */
const nothingHeld = () =>
  eventually(async () => expect(await held()).toEqual({ connections: 0, locks: 0 }), 8_000);

test("what the last one has left behind is written without anything that says so", async () => {
  await graph.declareNeeds(3);
  await graph.database.owner.query(
    "delete from app_private.graph_wakeups; delete from graphile_worker._private_jobs",
  );
  const worker = await start({}, { lookMs: 1_000_000 });
  try {
    await eventually(async () => expect(await graph.described()).toBe(3), 20_000);
  } finally {
    await worker.stop();
  }
});

test("a database that says nothing is given up after ten seconds, at the start too", async () => {
  expect(await givenUpAfter(10, (databaseUrl) => start({}, { databaseUrl }))).toMatch(/timeout/);
});

test.each([
  [
    "one that has a mail server tells the others, as long as it works",
    { SMTP_URL: "smtp://127.0.0.1:9" },
    true,
  ],
  ["one that has none tells nobody of one", {}, false],
])("%s", async (_, env, has) => {
  const { owner } = graph.database;
  const hasMailServer = async () =>
    (await owner.query<{ has: boolean }>("select app_private.has_mail_server() as has")).rows[0]!.has;
  const worker = await start({ PLATFORM_URL: "https://a.example", ...env });
  try {
    expect(await hasMailServer()).toBe(has);
  } finally {
    await worker.stop();
  }
  await eventually(async () => expect(await hasMailServer()).toBe(false));
});

test("what runs on a schedule is known to whatever runs jobs", async () => {
  const worker = await start();
  try {
    const known = async () => {
      const { rows } = await graph.database.owner.query<{ identifier: string }>(
        "select identifier from graphile_worker._private_known_crontabs order by identifier",
      );
      return rows.map(({ identifier }) => identifier);
    };
    const planned = parseCrontab(crontab()).map(({ identifier }) => identifier);
    expect(planned.length).toBeGreaterThan(3);
    await eventually(async () => expect(await known()).toEqual(planned.toSorted()));
  } finally {
    await worker.stop();
  }
});

test("one whose login does not own the tables does not start, and names whose it has to be", async () => {
  const { serverUrl, url } = graph.database;
  const { username } = new URL(url);
  const why = `the login engagement_server does not own the tables; use that of ${username}`;
  const begun = (env: NodeJS.ProcessEnv) =>
    start(env, { databaseUrl: serverUrl }).then((worker) => worker.stop());
  await expect(begun({})).rejects.toThrow(`DATABASE_URL: ${why}`);
  await expect(begun({ DATABASE_LISTEN_URL: serverUrl })).rejects.toThrow(`DATABASE_LISTEN_URL: ${why}`);
  await nothingHeld();
});

test("one that cannot start gives its connections back", async () => {
  const worker = await start({ METRICS_PORT: "0" });
  const port = String(worker.metricsPort);
  await expect(start({ NAMESPACE_URL: "https://elsewhere.example/ns#" })).rejects.toThrow("NAMESPACE_URL is");
  await expect(start({ METRICS_PORT: port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await worker.stop();
  await nothingHeld();
});

test("one that is told to stop lets the step of the verification that it is at come to its end", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  let isAt = false;
  graph.store.before = async ({ name }) => {
    if (name !== "query") return;
    isAt = true;
    await gate;
  };
  const worker = await start({ GRAPH_VERIFY_SHARE: "1" });
  const ended = jest.spyOn(pg.Pool.prototype, "end");
  try {
    await eventually(() => expect(isAt).toBe(true));
    const stopping = worker.stop();
    // All else has ended when nobody listens for jobs any more.
    const listens = `select from pg_stat_activity
      where datname = current_database() and application_name = 'engagement-worker' and query ilike 'listen%'`;
    await eventually(async () => expect((await graph.database.owner.query(listens)).rows).toHaveLength(0));
    for (let i = 0; i < 50; i += 1) await graph.database.owner.query("select");
    expect(ended).not.toHaveBeenCalled();
    open();
    await stopping;
    expect(ended).toHaveBeenCalledTimes(1);
  } finally {
    open();
    ended.mockRestore();
    await worker.stop();
  }
  await nothingHeld();
});

test("one whose store does not say that it is there goes on with what it has begun, which may still arrive", async () => {
  await graph.declareNeeds(1);
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  graph.store.before = async ({ name, text }) => {
    if (name === "update" && text.includes("Wells")) await gate;
  };
  let asked = 0;
  const ask = () => {
    asked += 1;
    return Promise.reject(new GraphUnreachable("gone"));
  };
  const worker = await start({}, { store: { ...graph.store, ask } });
  try {
    await eventually(() => expect(asked).toBeGreaterThan(2));
    // Whoever waits for the graph is told so by then, and not when what was begun has failed or come to its end.
    await eventually(async () => {
      const { rows } = await graph.database.owner.query("select state, reason from app_private.graph_store");
      expect(rows).toEqual([{ state: "unavailable", reason: "The graph store does not answer." }]);
    }, 20_000);
    open();
    await eventually(async () => {
      const { rows } = await graph.database.owner.query("select from app_private.dirty_records");
      expect(rows).toEqual([]);
    }, 20_000);
  } finally {
    open();
    await worker.stop();
  }
});

test("one that is told to stop no longer asks whether a store is back that is away", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  graph.store.before = () => gate;
  let asked = 0;
  let isAway = true;
  const ask = () => {
    asked += 1;
    return isAway ? Promise.reject(new GraphUnreachable("gone")) : Promise.resolve(true);
  };
  const worker = await start({}, { store: { ...graph.store, ask } });
  // Again and again.
  await eventually(() => expect(asked).toBeGreaterThan(2));
  open();
  await worker.stop();
  const before = asked;
  await sleep(1_000);
  // Whoever goes on asking is told, and comes to an end.
  isAway = false;
  expect(asked).toBe(before);
});

test("one that is told to stop looks no more for what is to be written", async () => {
  const begun = jest.spyOn(globalThis, "setInterval");
  const ended = jest.spyOn(globalThis, "clearInterval");
  try {
    const worker = await start({}, { lookMs: 12_345 });
    const looking = begun.mock.calls.findIndex(([, ms]) => ms === 12_345);
    const timer = begun.mock.results[looking]!.value as NodeJS.Timeout;
    const isEnded = () => ended.mock.calls.some(([each]) => each === timer);
    expect(isEnded()).toBe(false);
    await worker.stop();
    const isOver = isEnded();
    // Or it would keep the test from ending.
    clearInterval(timer);
    expect(isOver).toBe(true);
  } finally {
    begun.mockRestore();
    ended.mockRestore();
  }
});

test("one that is told to stop, twice even, gives back its port, its connections and its locks", async () => {
  const signals = process.listenerCount("SIGTERM");
  const worker = await start({ METRICS_PORT: "0", GRAPH_VERIFY_SHARE: "1" });
  const metrics = `http://127.0.0.1:${worker.metricsPort}/metrics`;
  expect((await fetch(metrics)).status).toBe(200);
  // Whoever runs it hears of signals, not the job runner.
  expect(process.listenerCount("SIGTERM")).toBe(signals);
  // It verifies, and is the only one who does.
  await eventually(async () => expect((await held()).locks).toBeGreaterThan(0));
  await Promise.all([worker.stop(), worker.stop()]);
  await worker.stop();
  await expect(fetch(metrics)).rejects.toThrow("fetch failed");
  await nothingHeld();
});
