// npm start: everything in one process. Starts the embedded PostgreSQL and graph store unless others are
// configured, then the worker and the server, and on a signal stops all of them in reverse order.
import "./process/compiled.ts";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import type { Logger } from "pino";
import { isLoopback, processConfig } from "./config.ts";
import type { Config } from "./config.ts";
import { closePool } from "./db/close.ts";
import { demoKeyIsLive, isUntouched, loadDemo } from "./db/demo/load.ts";
import { mayBecomeApiRoles, serverLogin } from "./db/logins.ts";
import { migrate } from "./db/migrate.ts";
import { createOwnerPool } from "./db/pool.ts";
import { requireDatabase } from "./db/reach.ts";
import { keepNames, saveSettings } from "./db/settings.ts";
import { joinEmbeddedPostgres, joinEmbeddedStore } from "./process/embedded.ts";
import { explain } from "./process/explain.ts";
import { createNames } from "./graph/namespaces.ts";
import { createGraphStore, storeUrls } from "./graph/store.ts";
import type { GraphStore, GraphStoreOptions } from "./graph/store.ts";
import { readStarterVocabulary } from "./graph/skos.ts";
import { greeting } from "./process/greeting.ts";
import { Metrics } from "./process/metrics.ts";
import { takeLock } from "./process/lock.ts";
import { openLog, outliveOutputs } from "./process/log.ts";
import {
  aborted,
  complain,
  demoKeyExposed,
  endAnyway,
  sessionUrl,
  signalOrders,
  StartError,
} from "./process/part.ts";
import { sinceStart, step } from "./process/steps.ts";
import { startTracing } from "./process/tracing.ts";

const COMMAND = "npm start";

/** A signal came while the service was starting. */
class Interrupted extends Error {
  override name = "Interrupted";
}

const { stop: asked, hurry } = signalOrders();

/** Rejects when a running part ends by itself. */
const { promise: failed, reject: fail } = Promise.withResolvers<never>();
failed.catch(() => undefined);
process.once("uncaughtException", fail);

/** The running parts, in the order in which they were started, and how to stop each. */
const up: { name: string; isStore: boolean; stop: () => Promise<void> | void }[] = [];

/** Starts one part; throws instead once a signal has come. */
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
  outliveOutputs();
  const logger = openLog(config.logLevel, 2);
  await bringUp(
    "traces",
    () => startTracing("engagement-start"),
    (end) => end(),
  );
  const lockedDir = await takeDataDir(config);
  await requireFreePort(config);
  const [ownerUrl] = await both(reachDatabase(config, logger), loadParts());
  // Before anything else begins that a refusal would have to end.
  await keepNames(ownerUrl, config);
  const [{ serverUrl, owner }, store] = await both(
    prepareDatabase(config, ownerUrl),
    openGraphStore(config, logger),
  );
  const { startWorker } = await import("./worker/main.ts");
  const { startServer } = await import("./server/main.ts");
  const metrics = config.metricsPort === undefined ? undefined : new Metrics();
  await bringUp(
    "worker",
    () => step("worker", () => startWorker({ config, databaseUrl: ownerUrl, store, logger, metrics })),
    (worker) => worker.stop(),
  );
  const server = await bringUp(
    "server",
    () =>
      step("server", () =>
        startServer({
          config,
          databaseUrl: serverUrl,
          store,
          logger,
          metrics,
          graphql: "on demand",
          isWithOwner: true,
        }),
      ),
    (running) => running.stop(),
  );
  if (lockedDir) await announce(lockedDir, server.url);
  await giveMemoryBack();
  return greeting(config, server.url, owner);
}

/** Waits for both, so that nothing starts while parts are being stopped; then throws what either threw. */
async function both<A, B>(...work: [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/**
 * Loads modules that are needed later, while PostgreSQL and the graph store start in processes and threads of
 * their own. In pieces, so that their next steps need not wait until everything is loaded.
 */
async function loadParts(): Promise<void> {
  const pieces = [
    () => import("./worker/imports.ts"),
    () => import("./worker/main.ts"),
    () => import("./server/main.ts"),
  ];
  for (const load of pieces) {
    await setImmediate();
    await load();
  }
}

/** Frees a hundred megabytes that only the start needed: Node would keep them until memory runs short. */
async function giveMemoryBack(): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
}

/** Locks the data directory, so that no second service uses the same embedded parts. */
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
  const probe = createServer().listen(config.port, config.host);
  await once(probe, "listening");
  await probe[Symbol.asyncDispose]();
}

/** @returns the URL of a database that answers, as the role that owns the schema */
async function reachDatabase(config: Config, logger: Logger): Promise<string> {
  if (config.databaseUrl) {
    await requireDatabase(config.databaseUrl).catch((error: unknown) => {
      throw new StartError(`DATABASE_URL: ${explain(error)}`, { cause: error });
    });
    return sessionUrl(config, config.databaseUrl);
  }
  const postgres = await bringUp(
    "PostgreSQL",
    () =>
      step("PostgreSQL", () =>
        joinEmbeddedPostgres(config.dataDir, {
          onFailure: fail,
          onWarning: (message) => logger.warn(message),
        }),
      ),
    (joined) => joined.leave(),
    { isStore: true },
  );
  return postgres.url;
}

/** Brings the database up to date, and fills it with what it needs to begin with. */
async function prepareDatabase(
  config: Config,
  ownerUrl: string,
): Promise<{ serverUrl: string; owner: pg.Pool }> {
  if (asked.aborted) throw new Interrupted();
  await step("tables and rules", () => migrate(ownerUrl, { onWait }));
  const owner = await bringUp(
    "database connections",
    () => Promise.resolve(createOwnerPool(ownerUrl, { max: 2, application_name: "engagement-start" })),
    closePool,
  );
  if (config.databaseUrl) await mayBecomeApiRoles(owner);
  await fillDatabase(config, owner);
  return { serverUrl: config.databaseUrl ?? (await serverLogin(owner, ownerUrl)), owner };
}

function onWait(line: string): void {
  process.stderr.write(`${COMMAND}: ${line}\n`);
}

/** Imports the starter vocabulary if there is none, and the demo data into an untouched embedded database. */
async function fillDatabase(config: Config, owner: pg.Pool): Promise<void> {
  const { publishDocuments } = await import("./worker/documents.ts");
  await saveSettings(owner, config);
  await publishDocuments(owner);
  const { rows } = await owner.query<{ empty: boolean }>(
    "select not exists (select from app_public.accelerators) as empty",
  );
  if (rows[0]?.empty) {
    const { importVocabulary } = await import("./worker/imports.ts");
    await step("starter vocabulary", () =>
      importVocabulary(owner, readStarterVocabulary(), createNames(config)),
    );
  }
  const wantsDemo = !config.databaseUrl && (await isUntouched(owner));
  if (!isLoopback(config.host) && (wantsDemo || (await demoKeyIsLive(owner)))) {
    throw demoKeyExposed(config.host);
  }
  if (wantsDemo) await step("demo data", () => loadDemo(owner, config.graphDataUrl));
}

async function openGraphStore(config: Config, logger: Logger): Promise<GraphStore> {
  const timeoutMs = config.sparqlTimeoutMs;
  let engine: GraphStoreOptions | undefined = config.graphStore;
  if (!engine) {
    const embedded = await bringUp(
      "graph store",
      () =>
        step("graph store", () =>
          joinEmbeddedStore(config.dataDir, {
            queryTimeoutMs: timeoutMs,
            own: true,
            onFailure: fail,
            onWarning: (message) => logger.warn(message),
          }),
        ),
      (joined) => joined.leave(),
      { isStore: true },
    );
    engine = { ...storeUrls(embedded.url), endsWhenLeft: true };
  }
  return bringUp(
    "graph connections",
    () => Promise.resolve(createGraphStore({ ...engine, timeoutMs })),
    (client) => client.close(),
  );
}

/**
 * Stops the running parts, the last one first; a part that fails to stop does not keep the others from
 * stopping. In a hurry it waits only for the stores, which must save their data.
 */
async function stop(config: Config | undefined): Promise<boolean> {
  endAnyway(config, () =>
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
  return clean;
}

async function main(): Promise<number> {
  let failure: unknown;
  let config: Config | undefined;
  try {
    config = processConfig();
    const told = await start(config);
    process.stdout.write(`Ready after ${sinceStart()}.\n\n${told}\n`);
    await Promise.race([aborted(asked), failed]);
    process.stdout.write("Stopping ... (once more to stop at once)\n");
  } catch (error) {
    failure = error;
  }
  // Ctrl-C during the start is a normal stop; do not report the errors that it caused.
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
