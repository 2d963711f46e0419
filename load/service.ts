// The service as in production: server, worker, PostgreSQL and Fuseki, each a process of its
// own. This process is a caller.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { churchCsv } from "../bench/church-data.ts";
import { importChurches } from "../db/churches/import.ts";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import { createPool } from "../db/pool.ts";
import type { Scope } from "../server/identity/lookup.ts";
import { readLists } from "../faults/count.ts";
import type { Lists } from "../faults/count.ts";
import { ask, introduce, runAdmin, serverIsReady, WRITER } from "../faults/service.ts";
import type { Counted } from "../faults/service.ts";
import { Supervised } from "../faults/supervisor.ts";
import { upstreamOf } from "../faults/with-fuseki.ts";
import { launchFuseki } from "../graph/fuseki/launch.ts";
import { freePort, run } from "../test/support/process.ts";

export type LoadedService = Counted & {
  url: string;
  /** where the server reports its memory */
  metricsUrl: string;
  /**
   * the keys of the load itself, which may write and have hardly any rate limit; several, since one key
   * gets only a share of everything
   */
  keys: readonly string[];
  /** issues another key, with default settings */
  issueKey: (scope: Scope, ...options: string[]) => Promise<string>;
  /** the contents of named graphs other than those of records */
  lists: Lists;
};

/** Enough that a page of ten thousand is a long answer, and a search without an index a slow one. */
const CHURCHES = 100_000;
const NEEDS = 20_000;
const KEYS = 8;

/** Starts everything and fills it; `parts` stops it. */
export async function startLoadedService(parts: AsyncDisposableStack): Promise<LoadedService> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-load-"));
  parts.defer(() => rm(dir, { recursive: true, force: true }));
  const postgres = await startEmbeddedPostgres(join(dir, "postgres"), { shared_buffers: "512MB" });
  parts.defer(() => postgres.stop());
  const fuseki = await launchFuseki({ dir: join(dir, "fuseki"), javaOptions: "-Xmx2g" });
  parts.defer(() => fuseki.stop());

  const url = `http://127.0.0.1:${await freePort()}`;
  const metricsPort = String(await freePort());
  const settings = {
    LOG_LEVEL: "warn",
    DATABASE_URL: postgres.url,
    FUSEKI_URL: fuseki.url,
    FUSEKI_USER: fuseki.user,
    FUSEKI_PASSWORD: fuseki.password,
    PORT: new URL(url).port,
  };
  const migrated = await run("npm", ["run", "--silent", "migrate"], settings);
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  const issueKey = async (scope: Scope, ...options: string[]) => {
    const asked = ["keys", "issue", "--label", "load", "--scope", scope, "--json", ...options];
    const command = runAdmin(asked, settings);
    if ((await command.ended) !== 0) throw new Error(command.output().stderr);
    return (JSON.parse(command.output().stdout) as { key: string }).key;
  };
  const keys = [await introduce(settings)];
  while (keys.length < KEYS) keys.push(await issueKey("api_write", "--rate", "1000000"));
  await fill(postgres.url);

  const server = new Supervised("server", () => ({ ...settings, METRICS_PORT: metricsPort }));
  const worker = new Supervised("worker", () => settings);
  for (const part of [server, worker]) {
    parts.defer(() => part.stop());
    part.start();
  }
  await serverIsReady(url, () => server.lastWords);

  const counted: Counted = {
    sql: (text, values) => ask(postgres.url, text, values),
    graph: () => upstreamOf(fuseki),
  };
  await written(counted);
  return {
    ...counted,
    url,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    keys,
    issueKey,
    lists: await readLists(counted),
  };
}

async function fill(databaseUrl: string): Promise<void> {
  const pool = createPool(databaseUrl, { max: 4 });
  try {
    await importChurches(pool, Readable.from(churchCsv(CHURCHES)), { format: "csv" });
    await pool.query(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators,
         concerns_country_code, created_at)
       select $1, $2, $3, 'Audio Scriptures for village ' || n, '{PRA}', '{KE}', now() - n * interval '1 minute'
       from generate_series(1, $4::integer) as n`,
      [WRITER.orgUri, WRITER.orgName, WRITER.email, NEEDS],
    );
    await pool.query("vacuum analyze");
  } finally {
    await pool.end();
  }
}

/** Waits until the graph has everything. */
export async function written({ sql }: Counted): Promise<void> {
  for (;;) {
    const [health] = await sql<{ pending: string }>("select pending from rest.health");
    if (Number(health!.pending) === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
