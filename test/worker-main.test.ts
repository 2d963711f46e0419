// How a worker begins and ends: what it takes up, and what it gives back.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { startWorker } from "../worker/main.ts";
import type { Worker, WorkerOptions } from "../worker/main.ts";
import { eventually } from "./support/eventually.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";

let graph: MemoryGraph;
beforeEach(async () => {
  graph = await startMemoryGraph();
});
afterEach(() => graph.database.drop());

const start = (env: NodeJS.ProcessEnv = {}, more: Partial<WorkerOptions> = {}): Promise<Worker> =>
  startWorker({
    ...{ databaseUrl: graph.database.url, store: graph.store, logger: pino({ level: "silent" }) },
    ...{ config: loadConfig({ GRAPH_VERIFY_SHARE: "0", ...env }), ...more },
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

test("one that cannot start gives its connections back", async () => {
  const worker = await start({ METRICS_PORT: "0" });
  const port = String(worker.metricsPort);
  await expect(start({ NAMESPACE_URL: "https://elsewhere.example/ns#" })).rejects.toThrow("NAMESPACE_URL is");
  await expect(start({ METRICS_PORT: port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await worker.stop();
  await nothingHeld();
});

test("one that is told to stop, twice even, gives back its port, its connections and its locks", async () => {
  const worker = await start({ METRICS_PORT: "0", GRAPH_VERIFY_SHARE: "1" });
  const metrics = `http://127.0.0.1:${worker.metricsPort}/metrics`;
  expect((await fetch(metrics)).status).toBe(200);
  // It verifies, and is the only one who does.
  await eventually(async () => expect((await held()).locks).toBeGreaterThan(0));
  await Promise.all([worker.stop(), worker.stop()]);
  await worker.stop();
  await expect(fetch(metrics)).rejects.toThrow("fetch failed");
  await nothingHeld();
});
