// GET /v0/commitments, and the totals behind it: how their cost grows with the table.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { loadConfig } from "../config.ts";
import { createPool } from "../db/pool.ts";
import { launchFuseki } from "../graph/fuseki/launch.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { contributor, ORG } from "../test/support/world.ts";
import { createProjector } from "../worker/projection.ts";
import { readPage } from "../worker/records.ts";
import { inTurns, percentile, round, startBenchDatabase, startChild, timed } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const SIZES = [1_000, 100_000, 1_000_000];
const REQUESTS = 200;

/**
 * Pages at three sizes, each with a server, a PostgreSQL and a Fuseki of its own; and what
 * keeping the totals costs writers.
 */
export async function benchCommitments(): Promise<Figure[]> {
  const figures = await pages();
  const database = await startBenchDatabase();
  try {
    return [...figures, ...(await writersWithTotals(database))];
  } finally {
    await database.stop();
  }
}

/** The service at one size. */
type Site = { size: number; url: string; key: string; needId: string; stop: () => Promise<void> };

async function startSite(size: number): Promise<Site> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-bench-commitments-"));
  const database = await startBenchDatabase();
  const fuseki = await launchFuseki({ dir });
  const store = createGraphStore({ ...storeUrls(fuseki.url), user: fuseki.user, password: fuseki.password });
  const needId = await fillTables(database, size);
  await fillGraph(database, store);
  store.close();
  const served = await startChild("served.ts", {
    DATABASE_URL: database.serverUrl,
    FUSEKI_URL: fuseki.url,
    FUSEKI_USER: fuseki.user,
    FUSEKI_PASSWORD: fuseki.password,
  });
  const stop = async () => {
    await served.stop();
    await fuseki.stop();
    await database.stop();
    await rm(dir, { recursive: true, force: true });
  };
  return { size, url: served.url, key: database.key, needId, stop };
}

/**
 * Inserts commitments, and a tenth as many needs, all noted as being in the graph. Triggers are off, because
 * validating a million rows takes longer than everything else; what they would note is noted here.
 * @returns a need that ten commitments answer
 */
async function fillTables(database: BenchDatabase, size: number): Promise<string> {
  const client = await database.owner.connect();
  try {
    await client.query("set session_replication_role = replica");
    await client.query(
      `insert into app_public.organizations (org_uri, name)
       select $1 || '-' || n, 'Organization ' || n from generate_series(1, 10) as n on conflict do nothing`,
      [ORG],
    );
    await client.query(
      `insert into app_public.needs
         (org_uri, org_name, declared_by_email, need_description, accelerators, created_at)
       select $1, 'River Mission', $2, 'Audio Scriptures for village ' || n, '{PRA}', now() - n * interval '1 minute'
       from generate_series(1, $3::integer) as n`,
      [ORG, contributor, size / 10],
    );
    await client.query(
      `insert into app_public.commitments
         (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id,
          concerns_country_code, target_completion_date, status, created_at)
       select case n when 1 then $1 else $1 || '-' || 1 + abs(hashtext(need_id::text || n) % 10) end,
         'River Mission', $2, 'Recording ' || n, '{PRA-INT,PRA}', need_id, '{KE,UG}', '2099-12-31',
         case when hashtext(n || need_id::text) % 100 = 0 then 'funded' else 'declared' end::app_public.commitment_status,
         created_at + n * interval '1 second'
       from app_public.needs, generate_series(1, 10) as n`,
      [ORG, contributor],
    );
    await client.query(
      `insert into app_private.graph_records (kind, record_id, synced_revision, state, dirty_since, synced_at)
       select kind::app_public.record_kind, id, 1, 'synced', null, now() - interval '1 day'
       from (
         select 'need', need_id from app_public.needs union all select 'commitment', commitment_id from app_public.commitments
       ) as r (kind, id)`,
    );
    await client.query(
      "select app_private.recount_records(kind) from app_private.record_tables; select app_private.fold_record_totals()",
    );
  } finally {
    // Ends the session and, with it, its setting.
    client.release(true);
  }
  await database.owner.query("vacuum analyze");
  const { rows } = await database.owner.query<{ need_id: string }>(
    "select need_id from app_public.needs limit 1",
  );
  return rows[0]!.need_id;
}

/** Writes to the graph what the worker would, in one load and unchecked. */
async function fillGraph(database: BenchDatabase, store: GraphStore): Promise<void> {
  const { names, build, writer } = createProjector(loadConfig({}));
  const { rows } = await database.owner.query<{ code: string; concept_uri: string }>(
    "select code, concept_uri from app_public.accelerators",
  );
  const concepts = new Map(rows.map(({ code, concept_uri }) => [code, concept_uri]));
  async function* triples(): AsyncGenerator<string> {
    yield writer.header;
    let after: string | undefined;
    for (;;) {
      const page = await readPage(database.owner, "commitment", after, 1_000);
      if (page.length === 0) return;
      yield page.map(({ record }) => writer.write(build(record!, concepts).quads)).join("");
      after = page.at(-1)!.id;
    }
  }
  await store.putGraph(names.graphs.commitment, Readable.from(triples()), "text/turtle", {
    timeoutMs: 3_600_000,
  });
}

const FILTERS: Record<string, (site: Site) => Record<string, string>> = {
  all: () => ({}),
  "of a status that one in a hundred has": () => ({ status: "funded" }),
  "of an organization that has a tenth": () => ({ orgUri: ORG }),
  "of such an organization in such a status": () => ({ orgUri: ORG, status: "funded" }),
  "that answer a need": ({ needId }) => ({ concernsNeedId: needId }),
  "all, after nine tenths": ({ size }) => ({ offset: String(0.9 * size) }),
};

async function pages(): Promise<Figure[]> {
  const sites: Site[] = [];
  try {
    for (const size of SIZES) sites.push(await startSite(size));
    const cases = Object.entries(FILTERS).map(([name, filter]) => ({
      name,
      at: sites.map((site) => ({ site, filter: filter(site), ms: [] as number[] })),
    }));
    // The first ones warm up the engines.
    for (let turn = -50; turn < REQUESTS; turn++) {
      for (const { site, filter, ms } of cases.flatMap(({ at }) => at)) {
        const taken = await timed(() => readPageOf(site, filter));
        if (turn >= 0) ms.push(taken);
      }
    }
    return cases.map(({ name, at }) => {
      const [first] = at;
      const measured = at.map(({ site, ms }) => {
        const [p50, p95] = [percentile(ms, 0.5), percentile(ms, 0.95)];
        const growth = p95 / percentile(first!.ms, 0.95);
        return `${round(site.size)}: ${round(p50)}, ${round(p95)} ms (${round(growth)} ×)`;
      });
      return {
        subject: `GET /v0/commitments, 50 ${name}: p50, p95`,
        measured: measured.join("; "),
        aim: "p95 at 1,000,000 ≤ 2 × that at 1,000",
      };
    });
  } finally {
    await Promise.all(sites.map((site) => site.stop()));
  }
}

async function readPageOf({ url, key }: Site, filter: Record<string, string>): Promise<void> {
  const query = new URLSearchParams({ limit: "50", ...filter });
  const answer = await fetch(`${url}/v0/commitments?${query.toString()}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { commitments } = (await answer.json()) as { commitments: { graphStatus: string }[] };
  if (answer.headers.get("x-data-source") !== "graph") throw new Error("the graph did not answer");
  if (commitments.some(({ graphStatus }) => graphStatus !== "synced"))
    throw new Error("not all of it is in the graph");
}

const COUNTING = ["count_insert", "count_update"];
const ROUND_MS = 3_000;

async function writersWithTotals(database: BenchDatabase): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [clients, aim] of [
    [8, "≥ 0.9"],
    [32, "≥ 0.7"],
  ] as const) {
    const result = await inTurns(6, {
      with: () => writesPerSecond(database, clients, true),
      without: () => writesPerSecond(database, clients, false),
    });
    figures.push({
      subject: `Writers with the totals kept against without, ${clients} connections`,
      measured: `${round(result.with / result.without)} (${round(result.with)} against ${round(result.without)} writes/s)`,
      aim,
    });
  }
  return figures;
}

/** Half of the writes declare, half set a status. */
async function writesPerSecond(database: BenchDatabase, clients: number, kept: boolean): Promise<number> {
  for (const trigger of COUNTING)
    await database.owner.query(
      `alter table app_public.needs ${kept ? "enable" : "disable"} trigger ${trigger}`,
    );
  const pool = createPool(database.url, { max: clients });
  const until = Date.now() + ROUND_MS;
  let written = 0;
  const client = async () => {
    while (Date.now() < until) {
      const { rows } = await pool.query<{ id: string }>({
        name: "declare",
        text: `select (app_public.declare_need(
          '${ORG}', 'River Mission', '${contributor}', 'Audio Scriptures', '{PRA,PRA-INT}', '{104425}', '{KE}')).need_id as id`,
      });
      await pool.query({
        name: "meet",
        text: `select app_public.update_need_status($1, 'met', '${contributor}')`,
        values: [rows[0]!.id],
      });
      written += 2;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  await pool.end();
  return written / (ROUND_MS / 1000);
}
