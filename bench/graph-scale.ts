// What grows with the graph: a rebuild, the lag behind the tables, and a round of
// verification, at three sizes.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { launchFuseki } from "../graph/fuseki/launch.ts";
import type { Fuseki } from "../graph/fuseki/launch.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { startWorker } from "../worker/main.ts";
import { createProjector } from "../worker/projection.ts";
import { rebuild } from "../worker/rebuild.ts";
import { verify } from "../worker/verify.ts";
import { lagAt } from "./projection.ts";
import { fill, percentile, round, startBenchDatabase, timed } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

/** Records at the largest size: a need, and ten commitments to each. */
const ROWS = 1_100_000;
const COMMITMENTS_EACH = 10;
/** What one server writes on a busy day; the store must have time left. */
const WRITES_PER_SECOND = 50;
const LAG_SECONDS = 15;

const logger = pino({ level: "error" }, pino.destination(2));

type Taken = { records: number; rebuildMs: number; lags: readonly number[]; verifyMs: number };

/** @param rows records at the largest size; the others have a hundredth and a tenth of that */
export async function benchGraphScale(rows = ROWS): Promise<Figure[]> {
  const taken: Taken[] = [];
  for (const share of [100, 10, 1])
    taken.push(await measureAt(Math.floor(rows / share / (1 + COMMITMENTS_EACH))));
  const sizes = taken.map(({ records }) => round(records)).join(" · ");
  const each = (show: (at: Taken) => string) => taken.map(show).join(" · ");
  const perSecond = (records: number, ms: number) => round((records * 1_000) / ms);
  return [
    {
      subject: `Rebuild into Fuseki, records/s at ${sizes}`,
      measured: each(({ records, rebuildMs }) => perSecond(records, rebuildMs)),
    },
    {
      subject: `From commit to visible in Fuseki at ${WRITES_PER_SECOND} writes/s, p50, p99 in ms at ${sizes}`,
      measured: each(({ lags }) => `${round(percentile(lags, 0.5))}, ${round(percentile(lags, 0.99))}`),
      aim: "p99 < 2,000 ms",
    },
    {
      subject: `A round of verification without pauses, records/s at ${sizes}`,
      measured: each(({ records, verifyMs }) => perSecond(records, verifyMs)),
    },
  ];
}

async function measureAt(needs: number): Promise<Taken> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-bench-graph-scale-"));
  const database = await startBenchDatabase();
  const fuseki = await launchFuseki({ dir, javaOptions: "-Xmx2g" });
  const { url, user, password } = fuseki;
  const store = createGraphStore({ ...storeUrls(url), takesTimeout: true, user, password });
  try {
    await fill(database, needs, COMMITMENTS_EACH);
    const records = needs * (1 + COMMITMENTS_EACH);
    told(`${records} records filled`);
    const rebuildMs = await timed(() => rebuildAll(database, store));
    told(`rebuilt in ${round(rebuildMs)} ms`);
    const lags = await lag(database, store, fuseki, WRITES_PER_SECOND);
    told(`visible after ${round(percentile(lags, 0.5))} ms, p99 ${round(percentile(lags, 0.99))} ms`);
    const verifyMs = await timed(() => verifyAll(database, store));
    told(`verified in ${round(verifyMs)} ms`);
    return { records, rebuildMs, lags, verifyMs };
  } finally {
    store.close();
    await fuseki.stop();
    await database.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

/**
 * Reports each step as it ends: ten million records take two hours, and a step that
 * fails must lose only itself.
 */
function told(step: string): void {
  process.stderr.write(`${new Date().toISOString()} ${step}\n`);
}

/** Builds the graph from the tables, and leaves them as autovacuum would. */
export async function rebuildAll(database: BenchDatabase, store: GraphStore): Promise<void> {
  await rebuild({ pool: database.owner, store, projector: createProjector(loadConfig({})), logger });
  await database.owner.query("vacuum analyze");
}

/** How long each record took from its commit until the store showed it, in milliseconds. */
export async function lag(
  database: BenchDatabase,
  store: GraphStore,
  fuseki: Fuseki,
  rate: number,
): Promise<number[]> {
  const config = loadConfig({ FUSEKI_URL: fuseki.url });
  const worker = await startWorker({ databaseUrl: database.url, store, config, logger });
  try {
    return await lagAt(database, store, rate, LAG_SECONDS);
  } finally {
    await worker.stop();
  }
}

/** A whole round at full speed; in operation, the configured share stretches it. */
export async function verifyAll(database: BenchDatabase, store: GraphStore): Promise<void> {
  await verify({ pool: database.owner, store, projector: createProjector(loadConfig({})) });
}
