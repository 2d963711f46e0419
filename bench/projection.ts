// What the projection costs writers, and how far the graph lags behind.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createPool } from "../db/pool.ts";
import { startEmbeddedStore } from "../graph/embedded/index.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { contributor, ORG } from "../test/support/world.ts";
import { startWorker } from "../worker/main.ts";
import { inTurns, percentile, round, startBenchDatabase } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const DECLARE = `select (app_public.declare_need(
  '${ORG}', 'River Mission', '${contributor}', 'Audio Scriptures', '{PRA,PRA-INT}', '{104425}', '{KE}')).need_id`;
const ROUND_MS = 3_000;

export async function benchProjection(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-bench-store-"));
  const embedded = await startEmbeddedStore({ dir, port: 0 });
  const store = createGraphStore(storeUrls(embedded.url));
  const figures: Figure[] = [];
  try {
    for (const clients of [8, 32]) {
      const result = await inTurns(4, {
        with: () => writesPerSecond(database, clients, true),
        without: () => writesPerSecond(database, clients, false),
      });
      figures.push({
        subject: `Writers with the projection trigger against without, ${clients} connections`,
        measured: `${round(result.with / result.without)} (${round(result.with)} against ${round(result.without)} writes/s)`,
        aim: "≥ 0.45",
      });
    }
    await setTriggers(database, true);
    await database.owner.query(
      "truncate app_public.needs, app_private.graph_records, app_private.graph_wakeups cascade",
    );
    const worker = await startWorker({
      databaseUrl: database.url,
      store,
      config: loadConfig({}),
      logger: pino({ level: "error" }, pino.destination(2)),
    });
    try {
      const lags = await lagAt(database, store, 200, 15);
      figures.push({
        subject: "From commit to visible in the embedded store at 200 writes/s",
        measured: `p50 ${round(percentile(lags, 0.5))} ms, p99 ${round(percentile(lags, 0.99))} ms`,
        aim: "p50 < 50 ms, p99 < 500 ms",
      });
    } finally {
      await worker.stop();
    }
    return figures;
  } finally {
    store.close();
    await embedded.stop();
    await database.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Switches the projection's triggers on needs on or off; everything else that a write does remains. */
async function setTriggers(database: BenchDatabase, on: boolean): Promise<void> {
  for (const trigger of ["project_insert", "project_update"]) {
    await database.owner.query(
      `alter table app_public.needs ${on ? "enable" : "disable"} trigger ${trigger}`,
    );
  }
}

async function writesPerSecond(
  database: BenchDatabase,
  clients: number,
  projected: boolean,
): Promise<number> {
  await setTriggers(database, projected);
  const pool = createPool(database.url, { max: clients });
  const until = Date.now() + ROUND_MS;
  const write = { name: "declare", text: DECLARE };
  let written = 0;
  const client = async () => {
    const connection = await pool.connect();
    while (Date.now() < until) {
      await connection.query(write);
      written++;
    }
    connection.release();
  };
  await Promise.all(Array.from({ length: clients }, client));
  await pool.end();
  return written / (ROUND_MS / 1000);
}

/**
 * Milliseconds from each commit to the first query that finds its record, at a steady rate of writes.
 * @param rate writes per second
 */
export async function lagAt(
  database: BenchDatabase,
  store: GraphStore,
  rate: number,
  seconds: number,
): Promise<number[]> {
  const committed = new Map<string, number>();
  const lags: number[] = [];
  const pool = createPool(database.url, { max: 8 });
  const writing = new AbortController();

  const watcher = (async () => {
    while (!writing.signal.aborted || committed.size > 0) {
      const waiting = [...committed.keys()].slice(0, 500);
      if (waiting.length === 0) {
        await pause(1);
        continue;
      }
      const values = waiting.map((id) => `<https://data.example.org/needs/${id}>`).join(" ");
      const rows = await store.select(
        `select ?need where { values ?need { ${values} } graph <https://data.example.org/needs/> {
           ?need a <https://ontology.example.org/core#Need> } }`,
      );
      const now = performance.now();
      for (const { need } of rows) {
        const id = need!.value.slice(-36);
        lags.push(now - committed.get(id)!);
        committed.delete(id);
      }
    }
  })();

  const write = async () => {
    const { rows } = await pool.query<{ need_id: string }>(DECLARE);
    committed.set(rows[0]!.need_id, performance.now());
  };
  const start = performance.now();
  const writes: Promise<void>[] = [];
  for (let i = 0; i < rate * seconds; i++) {
    const due = start + (i * 1000) / rate;
    if (due > performance.now()) await pause(due - performance.now());
    writes.push(write());
  }
  await Promise.all(writes);
  writing.abort();
  await watcher;
  await pool.end();
  return lags;
}
