// What the processes of the service have in common: how they start, report failures, and end.
import type { Logger } from "pino";
import { ConfigError, processConfig } from "../config.ts";
import type { Config } from "../config.ts";
import { DEMO_KEY_ID } from "../db/demo/load.ts";
import { requireDatabase, requireSession } from "../db/reach.ts";
import { requireRelease } from "../db/release.ts";
import { explain } from "./explain.ts";
import { openLog, outliveOutputs } from "./log.ts";
import { createGraphStore } from "../graph/store.ts";
import { startTracing } from "./tracing.ts";
import type { GraphStore } from "../graph/store.ts";

/** The service cannot start as things stand; the message is one line for the operator. */
export class StartError extends Error {
  override name = "StartError";
}

/** The error of a service that would expose the demo key to a network. */
export function demoKeyExposed(host: string): StartError {
  return new StartError(
    `HOST: ${host} is not a loopback address, and the demo data comes with a key that everybody knows; ` +
      `revoke it first: npm run admin -- keys revoke ${DEMO_KEY_ID}`,
  );
}

/** The orders that a process has received by signals. */
export type Orders = {
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP: stop gracefully. */
  stop: AbortSignal;
  /** Aborted by a later SIGINT or SIGTERM: stop at once. */
  hurry: AbortSignal;
};

// A terminal sends Ctrl-C to npm and to this process, and npm passes it on: within this time both are one.
const ECHO_MS = 1_000;

export function signalOrders(): Orders {
  const [stop, hurry] = [new AbortController(), new AbortController()];
  const isUnderNpm = Boolean(process.env["npm_lifecycle_event"]);
  let since = Infinity;
  const hear = (signal: NodeJS.Signals) => {
    if (!stop.signal.aborted) since = performance.now();
    else if (signal !== "SIGHUP" && performance.now() - since > (isUnderNpm ? ECHO_MS : 0)) hurry.abort();
    stop.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, hear);
  // An npm that is killed with SIGKILL passes no signal on; this process then gets another parent.
  if (isUnderNpm) {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && stop.abort(), 500).unref();
  }
  return { stop: stop.signal, hurry: hurry.signal };
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
}

/** How long everything may take to stop, beyond the time for requests, before the process ends anyway. */
const STOP_PATIENCE_MS = 20_000;

/**
 * Ends the process if it does not stop in time.
 * @param told prints what did not stop
 */
export function endAnyway(config: Config | undefined, told: () => void): NodeJS.Timeout {
  const { delayMs, timeoutMs } = config?.shutdown ?? { delayMs: 0, timeoutMs: 0 };
  return setTimeout(
    () => {
      told();
      process.exit(1);
    },
    delayMs + timeoutMs + STOP_PATIENCE_MS,
  );
}

/** Prints, in one line, why a process could not start or had to end. */
export function complain(name: string, error: unknown, config?: Config): void {
  const line = (config && listenProblem(error, config)) ?? explain(error);
  process.stderr.write(`${error instanceof ConfigError ? "" : `${name}: `}${line}\n`);
}

/** Explains why an address cannot be listened on, and what to change; undefined for other errors. */
function listenProblem(error: unknown, config: Config): string | undefined {
  const { code, syscall, port = config.port } = error as NodeJS.ErrnoException & { port?: number };
  if (syscall !== "listen" && syscall !== "getaddrinfo") return undefined;
  const name = port !== config.port && port === config.metricsPort ? "METRICS_PORT" : "PORT";
  switch (code) {
    case "EADDRINUSE":
      return `${name}: ${port} is in use on ${config.host}; stop what listens there, or set ${name} to a free one`;
    case "EACCES":
      return `${name}: ${port} may not be opened by this user; set ${name} to one above 1023`;
    default:
      return `HOST: ${config.host} is not an address of this machine`;
  }
}

/**
 * The URL for what needs a session of its own: the worker's locks and notifications, migrations.
 * @throws StartError if that URL gives no session, as behind a pooler, or leads to another database
 */
export async function sessionUrl({ databaseListenUrl }: Config, databaseUrl: string): Promise<string> {
  const url = databaseListenUrl ?? databaseUrl;
  const name = databaseListenUrl === undefined ? "DATABASE_URL" : "DATABASE_LISTEN_URL";
  try {
    if (databaseListenUrl !== undefined) await requireDatabase(databaseListenUrl);
    await requireSession(url, databaseUrl);
  } catch (error) {
    throw new StartError(`${name}: ${explain(error)}`, { cause: error });
  }
  return url;
}

/** What a part of the service needs to run. */
export type PartOptions = { config: Config; databaseUrl: string; store: GraphStore; logger: Logger };

/**
 * Runs one part of the service as a process of its own until a signal ends it, and ends the process.
 * @param name the command, for messages
 */
export async function runPart(
  name: string,
  start: (options: PartOptions) => Promise<{ stop: () => Promise<void> }>,
): Promise<never> {
  outliveOutputs();
  const orders = signalOrders();
  orders.hurry.addEventListener("abort", () => process.exit(1));
  let code = 0;
  let config: Config | undefined;
  let store: GraphStore | undefined;
  let stopTracing: (() => Promise<void>) | undefined;
  try {
    config = processConfig();
    stopTracing = await startTracing(name.replace("npm run ", "engagement-"));
    const { databaseUrl, graphStore } = config;
    if (!databaseUrl)
      throw new StartError("DATABASE_URL: must be set; npm start brings a database of its own");
    if (!graphStore)
      throw new StartError("FUSEKI_URL: must be set; npm start brings a graph store of its own");
    await requireDatabase(databaseUrl).catch((error: unknown) => {
      throw new StartError(`DATABASE_URL: ${explain(error)}`, { cause: error });
    });
    await requireRelease(databaseUrl, {
      waitMs: config.migrationWaitMs,
      onWait: (line) => void process.stderr.write(`${name}: ${line}\n`),
      stop: orders.stop,
    });
    if (!orders.stop.aborted) {
      store = createGraphStore({ ...graphStore, timeoutMs: config.sparqlTimeoutMs });
      const logger = openLog(config.logLevel, 1);
      const part = await start({ config, databaseUrl, store, logger });
      await aborted(orders.stop);
      endAnyway(config, () => process.stderr.write(`${name}: did not stop in time\n`)).unref();
      await part.stop();
    }
  } catch (error) {
    complain(name, error, config);
    code = 1;
  } finally {
    store?.close();
    await stopTracing?.();
  }
  // Resources that a failed start left open would keep the process alive.
  process.exit(code);
}
