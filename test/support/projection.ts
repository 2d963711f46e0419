// A database, a graph store and the worker between them, for tests that write with SQL and read with SPARQL.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import type pg from "pg";
import { pino } from "pino";
import type { Logger } from "pino";
import { loadConfig } from "../../config.ts";
import type { Config } from "../../config.ts";
import { createPool } from "../../db/pool.ts";
import { createGraphStore, storeUrls } from "../../graph/store.ts";
import type { GraphStore } from "../../graph/store.ts";
import { startWorker } from "../../worker/main.ts";
import type { Worker } from "../../worker/main.ts";
import { createProjector } from "../../worker/projection.ts";
import type { Projector } from "../../worker/projection.ts";
import { verify } from "../../worker/verify.ts";
import { createTestDatabase } from "./database.ts";
import type { TestDatabase } from "./database.ts";
import { eventually } from "./eventually.ts";
import { startFaultyProxy } from "./faulty-proxy.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";
import type { RunningStore, TestStore } from "./stores.ts";
import { buildWorld, contributor, ORG } from "./world.ts";

export const NS = "https://ontology.example.org/core#";
export const DATA = "https://data.example.org";

/** How long a loss, or an update that queries do not show, is doubted: these stores show at once what they hold. */
export const PATIENCE = { patienceMs: 100 };
// What a worker does from time to time it does sooner than in operation: nobody else uses these stores.
const RHYTHM = { lookMs: 50, retryMs: 100, ...PATIENCE };

/** How often a worker asks the store what it holds where a loss is what a test is about. */
export const WATCH_MS = 200;

/** The body of a need, as POST /v0/needs takes it. */
const need = (fields: Record<string, unknown> = {}) => ({
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures",
  accelerators: ["PRA-INT"],
  ...fields,
});

export type Projection = {
  config: Config;
  database: TestDatabase;
  running: RunningStore;
  proxy: FaultyProxy;
  /** the store as the worker sees it: through the proxy */
  store: GraphStore;
  projector: Projector;
  logger: Logger;
  /** the environment for a command that works on the same database and store */
  settings: Record<"DATABASE_URL" | "FUSEKI_URL" | "GRAPH_VERIFY_SHARE", string>;
  /** @param watchMs how often the worker asks the store what it holds; as in operation by default */
  startWorker: (watchMs?: number) => Promise<Worker>;
  declareNeed: (fields?: Record<string, unknown>) => Promise<string>;
  declareNeeds: (count: number, description?: string) => Promise<string[]>;
  setNeedStatus: (needId: string, status: string) => Promise<void>;
  graphStatus: (
    kind: string,
    id: string,
  ) => Promise<{ status: string; errors: { path: string; message: string }[] }>;
  graphState: () => Promise<string>;
  /** waits until nothing is dirty */
  settled: (withinMs?: number) => Promise<void>;
  /** waits until nothing is dirty and the graph counts as whole */
  current: (withinMs?: number) => Promise<void>;
  /** waits until nothing is dirty, then compares graph and tables */
  equal: (withinMs?: number) => Promise<void>;
  stop: () => Promise<void>;
};

/** A store that several projections use, one after another. */
export type SharedStore = RunningStore & { remove: () => Promise<void> };

export async function startSharedStore(kind: TestStore): Promise<SharedStore> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-projection-"));
  const running = await kind.start({ dir });
  return {
    ...running,
    remove: async () => {
      await running.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/**
 * Starts everything but the store and the worker.
 * @param running is emptied first
 */
export async function startProjection(
  running: SharedStore,
  storeTimeoutMs = 10_000,
  env: NodeJS.ProcessEnv = {},
): Promise<Projection> {
  await running.client.update("DROP ALL");
  const database = await createTestDatabase();
  await buildWorld(database.owner);
  const proxy = await startFaultyProxy(running.urls, running.headers);
  const store = createGraphStore({ ...storeUrls(proxy.url), timeoutMs: storeTimeoutMs });
  const config = loadConfig({ LOG_LEVEL: "silent", GRAPH_VERIFY_SHARE: "0", ...env });
  const logger = pino({ level: process.env["TEST_LOG_LEVEL"] ?? "silent" });
  const projector = createProjector(config);
  const caller = createPool(database.serverUrl, { max: 16 });
  const workers: Worker[] = [];

  // What the server sends: one statement, as the role of the key's scope.
  async function call(statement: string, body: unknown): Promise<string> {
    const { rows } = await caller.query<{ answer: string }>(
      "select app_private.run_as('api_write', $1, $2) as answer",
      [statement, JSON.stringify(body)],
    );
    return rows[0]!.answer;
  }

  const projection: Projection = {
    config,
    database,
    running,
    proxy,
    store,
    projector,
    logger,
    // Nothing is put right behind a test's back.
    settings: { DATABASE_URL: database.url, FUSEKI_URL: proxy.url, GRAPH_VERIFY_SHARE: "0" },
    async startWorker(watchMs) {
      const worker = await startWorker({
        ...{ databaseUrl: database.url, store, config: { ...config, databaseUrl: database.url }, logger },
        ...{ ...RHYTHM, watchMs },
      });
      workers.push(worker);
      return worker;
    },
    declareNeed: (fields) => call(DECLARE_NEED, need(fields)),
    async declareNeeds(count, description = "Bulk") {
      const { rows } = await database.owner.query<{ id: string }>(
        `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
         select $1, 'River Mission', $2, $3 || ' ' || i, '{PRA,PRA-INT}' from generate_series(1, $4) as i
         returning need_id as id`,
        [ORG, contributor, description, count],
      );
      return rows.map((row) => row.id);
    },
    async setNeedStatus(needId, status) {
      await call(SET_NEED_STATUS, { needId, status, actorEmail: contributor });
    },
    async graphStatus(kind, id) {
      const { rows } = await database.owner.query<Awaited<ReturnType<Projection["graphStatus"]>>>(
        "select app_public.record_graph_status($1, $2) as status, app_public.record_graph_errors($1, $2) as errors",
        [kind, id],
      );
      return rows[0]!;
    },
    async graphState() {
      const { rows } = await database.owner.query<{ state: string }>(
        `select "graphState" as state from rest.health`,
      );
      return rows[0]!.state;
    },
    settled: (withinMs) => eventually(() => expectNothingDirty(database.owner), withinMs),
    async current(withinMs) {
      await projection.settled(withinMs);
      await eventually(async () => expect(await projection.graphState()).toBe("current"), withinMs);
    },
    async equal(withinMs) {
      await projection.settled(withinMs);
      const differences: unknown[] = [];
      const { differences: counts } = await verify({
        pool: database.owner,
        store: running.client,
        projector,
        onDifference: (difference) => differences.push(difference),
      });
      expect({ counts, examples: differences.slice(0, 3) }).toEqual({
        counts: { missing: 0, stale: 0, altered: 0, foreign: 0 },
        examples: [],
      });
      // What a job has checked again meanwhile is pending for a moment.
      await eventually(() => expectSameStatuses(database.owner, running.client), withinMs);
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await caller.end();
      store.close();
      await proxy.stop();
      await database.drop();
    },
  };
  return projection;
}

const DECLARE_NEED = `
  select (app_public.declare_need($1 ->> 'orgUri', $1 ->> 'orgName', $1 ->> 'declaredByEmail',
    $1 ->> 'needDescription', array(select jsonb_array_elements_text($1 -> 'accelerators')),
    array(select jsonb_array_elements_text(coalesce($1 -> 'concernsPeopleGroupRop3', '[]'))),
    array(select jsonb_array_elements_text(coalesce($1 -> 'concernsCountryCode', '[]'))))).need_id`;
const SET_NEED_STATUS = `
  select (app_public.update_need_status(($1 ->> 'needId')::uuid, ($1 ->> 'status')::app_public.need_status,
    $1 ->> 'actorEmail')).need_id`;

async function expectNothingDirty(db: pg.Pool): Promise<void> {
  const { rows } = await db.query<{ dirty: string }>(
    // What is to be checked again is marked by a job.
    `select (select count(*) from app_private.dirty_records)
       + (select count(*) from app_private.dirty_references)
       + (select count(*) from graphile_worker.jobs where task_identifier = 'recheck_records') as dirty`,
  );
  expect(rows).toEqual([{ dirty: "0" }]);
}

/** Asks both sides the same question, without any of the service's code in between. */
async function expectSameStatuses(db: pg.Pool, store: GraphStore): Promise<void> {
  const { rows } = await db.query<{ iri: string; status: string }>(
    `select '${DATA}/needs/' || need_id as iri, status::text from app_public.needs
       where app_public.record_graph_status('need', need_id) = 'synced' order by 1`,
  );
  const inGraph = await store.select(
    `select ?iri ?status where { graph <${DATA}/needs/> { ?iri <${NS}needStatus> ?status } } order by str(?iri)`,
  );
  expect(inGraph.map((row) => ({ iri: row["iri"]?.value, status: row["status"]?.value }))).toEqual(rows);
}
