// npm start: everything in one process. Brings up what is not configured (PostgreSQL, graph store), then the
// worker and the server, and on a signal takes it all down again in reverse order.
import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { escapeLiteral } from "pg";
import type pg from "pg";
import { pino } from "pino";
import type { Logger } from "pino";
import { isLoopback, processConfig } from "./config.ts";
import type { Config } from "./config.ts";
import { demoKeyIsLive, isUntouched, loadDemo } from "./db/demo/load.ts";
import { migrate } from "./db/migrate.ts";
import { createPool } from "./db/pool.ts";
import { requireDatabase } from "./db/reach.ts";
import { saveSettings } from "./db/settings.ts";
import { joinEmbeddedPostgres, joinEmbeddedStore } from "./process/embedded.ts";
import { explain } from "./process/explain.ts";
import { createNames } from "./graph/namespaces.ts";
import { createGraphStore, storeUrls } from "./graph/store.ts";
import type { GraphStore } from "./graph/store.ts";
import { readStarterVocabulary } from "./graph/skos.ts";
import { greeting } from "./process/greeting.ts";
import { Metrics } from "./process/metrics.ts";
import { takeLock } from "./process/lock.ts";
import {
  aborted,
  complain,
  demoKeyExposed,
  endAnyway,
  sessionUrl,
  signalOrders,
  StartError,
} from "./process/part.ts";
import { startTracing } from "./process/tracing.ts";
import { startServer } from "./server/main.ts";
import { publishDocuments } from "./worker/documents.ts";
import { importVocabulary } from "./worker/imports.ts";
import { startWorker } from "./worker/main.ts";

const COMMAND = "npm start";

/** A signal came while the service was starting. */
class Interrupted extends Error {
  override name = "Interrupted";
}

const { stop: asked, hurry } = signalOrders();

/** Rejects when a part that was up ends by itself. */
const { promise: failed, reject: fail } = Promise.withResolvers<never>();
failed.catch(() => undefined);
process.once("uncaughtException", fail);

/** What is up, in the order in which it came up, and how to take it down. */
const up: { name: string; isStore: boolean; stop: () => Promise<void> | void }[] = [];

/** Brings up one part, and no further part once a signal has come. */
async function bringUp<T>(
  name: string,
  begin: () => Promise<T>,
  stop: (part: T) => Promise<void> | void,
  options: { isStore?: boolean } = {},
): Promise<T> {
  if (asked.aborted) throw new Interrupted();
  const part = await begin();
  up.push({ name, isStore: options.isStore ?? false, stop: () => stop(part) });
  return part;
}

async function start(config: Config): Promise<string> {
  const logger = pino({ level: config.logLevel }, pino.destination(2));
  await bringUp(
    "traces",
    () => startTracing("engagement-start"),
    (end) => end(),
  );
  const lockedDir = await takeDataDir(config);
  await requireFreePort(config);
  const { ownerUrl, serverUrl } = await openDatabase(config, logger);
  const owner = await bringUp(
    "database connections",
    () => Promise.resolve(createPool(ownerUrl, { max: 2, application_name: "engagement-start" })),
    (pool) => pool.end(),
  );
  await fillDatabase(config, owner);
  const store = await openGraphStore(config, logger);
  const metrics = config.metricsPort === undefined ? undefined : new Metrics();
  await bringUp(
    "worker",
    () => startWorker({ config, databaseUrl: ownerUrl, store, logger, metrics }),
    (worker) => worker.stop(),
  );
  const server = await bringUp(
    "server",
    () => startServer({ config, databaseUrl: serverUrl, store, logger, metrics }),
    (running) => running.stop(),
  );
  if (lockedDir) await announce(lockedDir, server.url);
  return greeting(config, server.url, owner);
}

/** Keeps a second service away from the same embedded parts. */
async function takeDataDir(config: Config): Promise<string | undefined> {
  if (config.databaseUrl && config.graphStore) return undefined;
  const dir = config.dataDir;
  await bringUp(
    "lock",
    async () => {
      const lock = await takeLock(join(dir, "service.lock"), "exclusive", 0);
      if (lock) return lock;
      const other = await readFile(join(dir, "service.json"), "utf8").then(
        (text) => JSON.parse(text) as { pid: number; url: string },
        () => undefined,
      );
      const where = other ? ` (process ${other.pid}, ${other.url})` : "";
      throw new StartError(
        `DATA_DIR: another npm start is running on ${dir}${where}; stop it, or set DATA_DIR to another directory`,
      );
    },
    (lock) => lock.release(),
  );
  return dir;
}

async function announce(dir: string, url: string): Promise<void> {
  const path = join(dir, "service.json");
  await bringUp(
    "announcement",
    () => writeFile(path, JSON.stringify({ pid: process.pid, url })),
    () => rm(path, { force: true }),
  );
}

/** Tries the port before anything else is started, so that a clash is reported at once. */
async function requireFreePort(config: Config): Promise<void> {
  const probe = createServer();
  await new Promise<void>((listening, failed) => {
    probe.once("error", failed).listen(config.port, config.host, listening);
  });
  await new Promise((closed) => probe.close(closed));
}

async function openDatabase(
  config: Config,
  logger: Logger,
): Promise<{ ownerUrl: string; serverUrl: string }> {
  if (config.databaseUrl) {
    const url = config.databaseUrl;
    await requireDatabase(url).catch((error: unknown) => {
      throw new StartError(`DATABASE_URL: ${explain(error)}`, { cause: error });
    });
    const ownerUrl = await sessionUrl(config, url);
    if (asked.aborted) throw new Interrupted();
    await migrate(ownerUrl, { onWait });
    await withPool(ownerUrl, mayBecomeApiRoles);
    return { ownerUrl, serverUrl: url };
  }
  const postgres = await bringUp(
    "PostgreSQL",
    () =>
      joinEmbeddedPostgres(config.dataDir, {
        onFailure: fail,
        onWarning: (message) => logger.warn(message),
      }),
    (joined) => joined.leave(),
    { isStore: true },
  );
  await migrate(postgres.url, { onWait });
  return { ownerUrl: postgres.url, serverUrl: await serverLogin(postgres.url) };
}

function onWait(line: string): void {
  process.stderr.write(`${COMMAND}: ${line}\n`);
}

/** Here one login serves as well as owns; unless it is a superuser, it must be let into the API's roles. */
async function mayBecomeApiRoles(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ rolsuper: boolean }>(
    "select rolsuper from pg_roles where rolname = current_user",
  );
  if (!rows[0]?.rolsuper) await pool.query("grant api_read, api_write, api_review to current_user");
}

/** Gives the server's own login of the embedded database a password for the lifetime of this process. */
async function serverLogin(ownerUrl: string): Promise<string> {
  const password = randomBytes(24).toString("base64url");
  await withPool(ownerUrl, (pool) =>
    pool.query(`alter role engagement_server login password ${escapeLiteral(password)}`),
  );
  const url = new URL(ownerUrl);
  url.username = "engagement_server";
  url.password = password;
  return url.href;
}

async function withPool(url: string, work: (pool: pg.Pool) => Promise<unknown>): Promise<void> {
  const pool = createPool(url, { max: 1 });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}

/** Gives a database without a vocabulary the starter list, and the untouched embedded one the demo. */
async function fillDatabase(config: Config, owner: pg.Pool): Promise<void> {
  await saveSettings(owner, config);
  await publishDocuments(owner);
  const { rows } = await owner.query<{ empty: boolean }>(
    "select not exists (select from app_public.accelerators) as empty",
  );
  if (rows[0]?.empty) await importVocabulary(owner, readStarterVocabulary(), createNames(config));
  const wantsDemo = !config.databaseUrl && (await isUntouched(owner));
  if (!isLoopback(config.host) && (wantsDemo || (await demoKeyIsLive(owner)))) {
    throw demoKeyExposed(config.host);
  }
  if (wantsDemo) await loadDemo(owner, config.graphDataUrl);
}

async function openGraphStore(config: Config, logger: Logger): Promise<GraphStore> {
  const timeoutMs = config.sparqlTimeoutMs;
  let urls = config.graphStore;
  if (!urls) {
    const embedded = await bringUp(
      "graph store",
      () =>
        joinEmbeddedStore(config.dataDir, {
          queryTimeoutMs: timeoutMs,
          own: true,
          onFailure: fail,
          onWarning: (message) => logger.warn(message),
        }),
      (joined) => joined.leave(),
      { isStore: true },
    );
    urls = storeUrls(embedded.url);
  }
  return bringUp(
    "graph connections",
    () => Promise.resolve(createGraphStore({ ...urls, timeoutMs })),
    (client) => client.close(),
  );
}

/**
 * Takes down what is up, the last first; one that fails to stop does not keep the others up. In a hurry only the
 * stores are waited for, which keep what they hold.
 */
async function stop(config: Config | undefined): Promise<boolean> {
  const impatience = endAnyway(config, () =>
    process.stderr.write(`${COMMAND}: ${up.at(-1)?.name ?? "something"} did not stop in time\n`),
  );
  let clean = true;
  for (let part = up.at(-1); part; part = up.at(-1)) {
    try {
      await (part.isStore ? part.stop() : Promise.race([part.stop(), aborted(hurry)]));
    } catch (error) {
      clean = false;
      process.stderr.write(`${COMMAND}: stopping ${part.name}: ${explain(error)}\n`);
    }
    up.pop();
  }
  clearTimeout(impatience);
  return clean;
}

async function main(): Promise<number> {
  let failure: unknown;
  let config: Config | undefined;
  try {
    config = processConfig();
    process.stdout.write(`${await start(config)}\n`);
    await Promise.race([aborted(asked), failed]);
    process.stdout.write("Stopping ... (once more to stop at once)\n");
  } catch (error) {
    failure = error;
  }
  // Ctrl-C during the start is an order like any other; what it broke on the way is not worth a word.
  if (failure !== undefined && !asked.aborted) {
    complain(COMMAND, failure, config);
  } else {
    failure = undefined;
  }
  const clean = await stop(config);
  if (clean && failure === undefined) process.stdout.write("Stopped.\n");
  return clean && failure === undefined ? 0 : 1;
}

process.exit(await main());
