// The graph: how fast it fills, how far it lags behind, and what the doors to it cost.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { startEmbeddedStore } from "../graph/embedded/index.ts";
import { launchFuseki } from "../graph/fuseki/launch.ts";
import type { Fuseki } from "../graph/fuseki/launch.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { drain } from "../worker/drain.ts";
import { createProjector } from "../worker/projection.ts";
import { watch } from "../worker/watch.ts";
import { intoGraphOf, intoOxigraph, loadRate } from "./graph-limits.ts";
import type { Load } from "./graph-limits.ts";
import { lag, rebuildAll, verifyAll } from "./graph-scale.ts";
import {
  fill,
  inTurns,
  median,
  percentile,
  requestsPerSecond,
  round,
  startBenchDatabase,
  startChild,
  timed,
} from "./support.ts";
import type { BenchDatabase, Child, Figure } from "./support.ts";

const logger = pino({ level: "error" }, pino.destination(2));
const CHAIN = `prefix ns: <https://ontology.example.org/core#>
  select ?need ?commitment where { ?commitment ns:concernsNeed ?need } limit 50`;
const MILLION = "select ?s ?p ?o where { graph ?g { ?s ?p ?o } } limit 1000000";

/** How fast the graph fills, how far it lags behind, and what its doors cost, on both stores. */
export async function benchGraph(): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-bench-graph-"));
  try {
    return [...(await benchEmbedded(join(dir, "embedded"))), ...(await benchFuseki(join(dir, "fuseki")))];
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function benchEmbedded(dir: string): Promise<Figure[]> {
  const database = await startBenchDatabase();
  const embedded = await startEmbeddedStore({ dir });
  const store = createGraphStore(storeUrls(embedded.url));
  try {
    return await drainRate(database, store, "the embedded store", intoOxigraph, 0.6);
  } finally {
    store.close();
    await embedded.stop();
    await database.stop();
  }
}

async function benchFuseki(dir: string): Promise<Figure[]> {
  const database = await startBenchDatabase();
  const fuseki = await launchFuseki({ dir });
  const store = createGraphStore({ ...storeUrls(fuseki.url), user: fuseki.user, password: fuseki.password });
  try {
    const figures = await drainRate(database, store, "Fuseki", intoGraphOf(store), 0.8);
    const lags = await lag(database, store, fuseki, 200);
    figures.push({
      subject: "From commit to visible in Fuseki at 200 writes/s",
      measured: `p50 ${round(percentile(lags, 0.5))} ms, p99 ${round(percentile(lags, 0.99))} ms`,
      aim: "p99 < 2,000 ms",
    });
    const served = await startChild("served.ts", {
      DATABASE_URL: database.serverUrl,
      FUSEKI_URL: fuseki.url,
      FUSEKI_USER: fuseki.user,
      FUSEKI_PASSWORD: fuseki.password,
      SPARQL_TIMEOUT_MS: "120000",
    });
    try {
      await empty(database);
      await fill(database, 10_000, 10);
      const ms = await timed(() => rebuildAll(database, store));
      figures.push({
        subject: "Rebuild of 110,000 records into Fuseki",
        measured: `${round(ms / 1000)} s, ${round((110_000 * 1000) / ms)} records/s`,
      });
      const { share, days } = loadConfig({}).graphVerification;
      const roundMs = await timed(() => verifyAll(database, store));
      figures.push({
        subject:
          "Verification of 110,000 records in Fuseki, without pauses; of the store's time in a round of a day",
        measured: `${round(roundMs / 1000)} s; ${round((100 * roundMs) / (days * 86_400_000))} %, at most ${round(100 * share)} %`,
        aim: "≤ 5 %",
      });
      figures.push(...(await sparqlDoor(database, served, fuseki)));
    } finally {
      await served.stop();
    }
    return figures;
  } finally {
    store.close();
    await fuseki.stop();
    await database.stop();
  }
}

async function empty(database: BenchDatabase): Promise<void> {
  await database.owner.query(
    `truncate app_public.needs, app_public.commitments, app_public.status_history, app_private.graph_records,
       app_private.graph_wakeups cascade`,
  );
}

async function drainRate(
  database: BenchDatabase,
  store: GraphStore,
  name: string,
  load: Load,
  aim: number,
): Promise<Figure[]> {
  const [earlier, records] = [20_000, 30_000];
  // The only queries of a drain are whether its updates have arrived.
  let confirmingMs = 0;
  const timedStore: GraphStore = {
    ...store,
    select: async (...query) => {
      const start = performance.now();
      try {
        return await store.select(...query);
      } finally {
        confirmingMs += performance.now() - start;
      }
    },
  };
  const options = {
    pool: database.owner,
    store: timedStore,
    projector: createProjector(loadConfig({})),
    logger,
  };
  await watch(options);
  // As if the service had been running for a while: the time that the engines take to warm up is not counted.
  await fill(database, earlier);
  await drain(options);
  await fill(database, records);
  confirmingMs = 0;
  const ms = await timed(() => drain(options));
  const rate = (records * 1000) / ms;
  const limit = await loadRate(store, load, earlier + records);
  return [
    {
      subject: `Drain into ${name}, ${round(records)} new needs, against loading the same triples at once`,
      measured: `${round(rate / limit)} (${round(rate)} against ${round(limit)} records/s)`,
      aim: `≥ ${aim}`,
    },
    {
      subject: `Of that time, asking ${name} whether it shows each update`,
      measured: `${round((100 * confirmingMs) / ms)} % (${round(confirmingMs)} of ${round(ms)} ms)`,
      aim: "≤ 5 %",
    },
  ];
}

async function sparqlDoor(database: BenchDatabase, served: Child, fuseki: Fuseki): Promise<Figure[]> {
  const basic = `Basic ${Buffer.from(`${fuseki.user}:${fuseki.password}`).toString("base64")}`;
  const door = { url: `${served.url}/v0/sparql`, headers: requestHeaders(`Bearer ${database.key}`) };
  const direct = { url: `${fuseki.url}/query`, headers: requestHeaders(basic) };
  const ask = (target: typeof door) => () =>
    // The door allows a key four queries at a time.
    requestsPerSecond({ ...target, method: "POST", body: CHAIN, connections: 4, duration: 4 });
  const requests = await inTurns(5, { door: ask(door), direct: ask(direct) });

  const firstBytes = { door: [] as number[], direct: [] as number[] };
  const before = await residentMegabytes(served.pid);
  let most = before;
  for (let i = 0; i < 4; i++) {
    for (const [name, target] of [
      ["door", door],
      ["direct", direct],
    ] as const) {
      const ms = await streamed(target, async () => {
        if (name === "door") most = Math.max(most, await residentMegabytes(served.pid));
      });
      if (i > 0) firstBytes[name].push(ms);
    }
  }
  const [doorMs, directMs] = [median(firstBytes.door), median(firstBytes.direct)];
  return [
    {
      subject: "POST /v0/sparql against the same query sent to Fuseki, 4 connections",
      measured: `${round(requests.door / requests.direct)} (${round(requests.door)} against ${round(requests.direct)} requests/s)`,
      aim: "≥ 0.9",
    },
    {
      subject: "First byte of 1,000,000 rows through the door against Fuseki itself",
      measured: `${round(doorMs / directMs)} (${round(doorMs)} against ${round(directMs)} ms)`,
      aim: "≤ 1.2",
    },
    {
      subject: "Memory of the server before and, at most, while it streams them",
      measured: `${round(before)} MB, ${round(most)} MB`,
      aim: "flat",
    },
  ];
}

function requestHeaders(authorization: string): Record<string, string> {
  return {
    authorization,
    "content-type": "application/sparql-query",
    accept: "application/sparql-results+json",
  };
}

/** Reads the whole answer to the large query; @returns milliseconds to its first byte */
async function streamed(
  target: { url: string; headers: Record<string, string> },
  onMegabytes: () => Promise<void>,
): Promise<number> {
  const start = performance.now();
  const answer = await fetch(target.url, { method: "POST", headers: target.headers, body: MILLION });
  if (!answer.ok || !answer.body) throw new Error(`${target.url}: ${answer.status}`);
  let first: number | undefined;
  let unseen = 0;
  for await (const chunk of answer.body) {
    first ??= performance.now() - start;
    unseen += (chunk as Uint8Array).length;
    if (unseen > 10_000_000) {
      unseen = 0;
      await onMegabytes();
    }
  }
  return first ?? Number.NaN;
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
