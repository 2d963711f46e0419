// A primary and its replica, of one test's own, and servers beside them.
import { execFile } from "node:child_process";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { pino } from "pino";
import { loadConfig } from "../../config.ts";
import { startEmbeddedPostgres } from "../../db/embedded.ts";
import type { PostgresPrograms } from "../../db/embedded.ts";
import { migrate } from "../../db/migrate.ts";
import { createPool } from "../../db/pool.ts";
import { createGraphStore, storeUrls } from "../../graph/store.ts";
import { startServer } from "../../server/main.ts";
import { issueTestKey } from "./database.ts";
import { SERVER_PASSWORD } from "./global-setup.ts";
import { call } from "./service.ts";
import { forwardTo, processesOf } from "./sick-postgres.ts";
import { startStandby } from "./standby.ts";
import { buildWorld, contributor, ORG } from "./world.ts";

type Logged = { level: number; msg: string; reason?: string };

/** A server beside a replica. */
export type ServerOnReplica = {
  url: string;
  /** The value of a metric, by its whole name; undefined where it is left out. */
  metric: (series: string) => Promise<number | undefined>;
  /** What it has logged about the replica. */
  logged: () => readonly Logged[];
  stop: () => Promise<void>;
};

export type Replicated = {
  /** URL of the primary as the owner of the schema, and as the server's login. */
  url: string;
  serverUrl: string;
  /** Of the replica as the server's login; it stays the same whatever happens to the replica. */
  readUrl: string;
  owner: pg.Pool;
  /** A superuser on the replica, in a connection of its own. */
  onReplica: <R extends pg.QueryResultRow>(sql: string) => Promise<R[]>;
  /** Takes an advisory lock on the replica; resolves with what gives it back. */
  lockOnReplica: (number: number) => Promise<() => Promise<void>>;
  keys: { read: string; write: string; review: string };
  /** Puts the primary back to how it was before some work, as with a snapshot of its disk. */
  setBack: (work: () => Promise<void>) => Promise<void>;
  down: () => Promise<void>;
  up: () => Promise<void>;
  freeze: () => Promise<void>;
  thaw: () => void;
  serve: (environment?: Record<string, string>) => Promise<ServerOnReplica>;
  remove: () => Promise<void>;
};

/** A primary with the people and organizations of the tests, and its replica. */
export async function startReplicated(programs?: PostgresPrograms & { folder: string }): Promise<Replicated> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-replica-"));
  const at = (name: string) => join(dir, name);
  const startPrimary = (port = "0") => startEmbeddedPostgres(at("primary"), { fsync: "off", port }, programs);
  let primary = await startPrimary();
  await migrate(primary.url);
  const owner = createPool(primary.url, { max: 4 });
  await owner.query(`alter role engagement_server password '${SERVER_PASSWORD}'`);
  await buildWorld(owner);
  const begin = () => startStandby({ url: primary.url, dir: at("primary") }, at("replica"), programs);
  let replica = await begin();
  const line = await forwardTo(() => Number(new URL(replica.url).port));
  const asServer = (url: string) =>
    Object.assign(new URL(url), { username: "engagement_server", password: SERVER_PASSWORD });
  const readUrl = Object.assign(asServer(replica.url), { port: String(line.port) }).href;
  const serverUrl = asServer(primary.url).href;
  const [read, write, review] = await Promise.all(
    (["api_read", "api_write", "api_review"] as const).map((scope) => issueTestKey(owner, scope)),
  );
  let frozen: number[] = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) process.kill(pid, "SIGCONT");
  };
  const servers: ServerOnReplica[] = [];
  return {
    ...{ url: primary.url, serverUrl, readUrl, owner, thaw },
    keys: { read: read!, write: write!, review: review! },
    onReplica: async (sql) => {
      const client = new pg.Client(replica.url);
      await client.connect();
      try {
        return (await client.query(sql)).rows;
      } finally {
        await client.end();
      }
    },
    lockOnReplica: async (number) => {
      const client = new pg.Client(replica.url);
      await client.connect();
      await client.query("select pg_advisory_lock($1)", [number]);
      return () => client.end();
    },
    setBack: async (work) => {
      const { port } = new URL(primary.url);
      await primary.stop();
      await promisify(execFile)("cp", ["-a", at("primary"), at("earlier")]);
      primary = await startPrimary(port);
      await work();
      await primary.stop();
      await rm(at("primary"), { recursive: true });
      await rename(at("earlier"), at("primary"));
      primary = await startPrimary(port);
    },
    down: () => replica.stop(),
    up: async () => {
      replica = await begin();
    },
    freeze: async () => {
      frozen = await processesOf(join(at("replica"), "cluster"));
      for (const pid of frozen) process.kill(pid, "SIGSTOP");
    },
    serve: async (environment = {}) => {
      const server = await serveBeside(serverUrl, { DATABASE_READ_URL: readUrl, ...environment });
      servers.push(server);
      return server;
    },
    remove: async () => {
      thaw();
      for (const server of servers) await server.stop();
      line.close();
      await owner.end();
      await replica.stop();
      await primary.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A server of a primary, which the caller has to stop. */
export async function serveBeside(
  databaseUrl: string,
  environment: Record<string, string>,
): Promise<ServerOnReplica> {
  const lines: Logged[] = [];
  const logger = pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line) as Logged) });
  const common = { PORT: "0", RATE_LIMIT_PER_MINUTE: "1000000", DATABASE_URL: databaseUrl };
  const server = await startServer({
    config: { ...loadConfig({ ...common, ...environment }), metricsPort: 0 },
    ...{ databaseUrl, logger, store: createGraphStore(storeUrls("http://127.0.0.1:9")) },
  });
  return {
    url: server.url,
    metric: async (series) => {
      const answer = await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`);
      const line = (await answer.text()).split("\n").find((each) => each.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length));
    },
    logged: () => lines.filter(({ msg }) => msg.includes("replica")),
    stop: () => server.stop(),
  };
}

export const NEED = {
  ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor, accelerators: ["PRA"] },
};

/** Declares a need, and returns its id. */
export async function declare(
  { url }: ServerOnReplica,
  key: string,
  needDescription: string,
): Promise<string> {
  const made = await call(`${url}/v0/needs`, "POST", key, { ...NEED, needDescription });
  if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
  return made.body.needId as string;
}

/** How many statements were read where. */
export async function readsOf(server: ServerOnReplica): Promise<{ replica: number; primary: number }> {
  const at = async (place: string) => (await server.metric(`database_reads_total{place="${place}"}`)) ?? 0;
  return { replica: await at("replica"), primary: await at("primary") };
}
