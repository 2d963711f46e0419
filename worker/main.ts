// The worker: writes changes of the database to the graph, and runs jobs on a schedule. `npm run worker` runs
// it as a separate process; `npm start` runs it alongside the server.
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { closePool } from "../db/close.ts";
import { LoginUnfit, requireOwner } from "../db/logins.ts";
import { createOwnerPool } from "../db/pool.ts";
import { requireSameNames } from "../db/settings.ts";
import type { GraphStore } from "../graph/store.ts";
import { discreet } from "../process/log.ts";
import { traceJobs, traceStatements } from "../process/tracing.ts";
import { Metrics } from "../process/metrics.ts";
import { runPart, sessionUrl, StartError } from "../process/part.ts";
import { attended, pulseOf } from "../process/store-pulse.ts";
import { createDrainer } from "./drainer.ts";
import type { DrainerOptions } from "./drainer.ts";
import { CONCURRENT_JOBS, runJobs, superviseJobs } from "./jobs.ts";
import { addWorkerMetrics } from "./metrics.ts";
import { createProjector } from "./projection.ts";
import { startVerifier } from "./verifier.ts";
import { taskList } from "./tasks/index.ts";

/** The timing of its drainer; the defaults are meant for production. */
type Rhythm = Pick<DrainerOptions, "watchMs" | "lookMs" | "retryMs" | "patienceMs">;

export interface WorkerOptions extends Rhythm {
  /** as the role that owns the schema */
  databaseUrl: string;
  store: GraphStore;
  config: Config;
  logger: Logger;
  /** the process's metrics, if another part serves them */
  metrics?: Metrics;
}

export interface Worker {
  /** The port that serves the metrics, if METRICS_PORT is set and no other part does. */
  metricsPort: number | undefined;
  /** Lets work in progress finish, within seconds, and closes the worker's connections. */
  stop: () => Promise<void>;
}

// For jobs, the drain, the verification, the timer, and graphile-worker itself.
const CONNECTIONS = CONCURRENT_JOBS + 8;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Starts the worker, which survives outages of the database and the graph store.
 * @throws OtherNames, StartError for a login that does not own the tables, and when the shapes cannot be used or the database cannot be reached at the start
 */
export async function startWorker({
  databaseUrl,
  store: given,
  config,
  logger: givenLogger,
  metrics: givenMetrics,
  ...rhythm
}: WorkerOptions): Promise<Worker> {
  const logger = discreet(givenLogger);
  const projector = createProjector(config);
  const onError = (error: Error) => logger.debug({ err: error }, "a database connection broke");
  const pool = createOwnerPool(databaseUrl, {
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "engagement-worker",
    onError,
  });
  traceStatements(pool);
  if (config.smtpUrl !== undefined)
    pool.on("connect", (client) => {
      client.query("select app_private.note_mail_server()").catch(onError);
    });
  const { metricsPort } = config;
  const metrics = givenMetrics ?? (metricsPort === undefined ? undefined : new Metrics());
  let metricsServer: Awaited<ReturnType<Metrics["serve"]>> | undefined;
  try {
    await requireOwner(pool).catch((error: unknown) => {
      if (!(error instanceof LoginUnfit)) throw error;
      const name = config.databaseListenUrl === undefined ? "DATABASE_URL" : "DATABASE_LISTEN_URL";
      throw new StartError(`${name}: ${error.message}`, { cause: error });
    });
    await requireSameNames(pool, config);
    if (!givenMetrics && metricsPort !== undefined)
      metricsServer = await metrics?.serve(config.host, metricsPort);
  } catch (error) {
    await closePool(pool);
    throw error;
  }
  const pulse = pulseOf(given);
  const store = attended(given, pulse, true);
  const parts = { pool, store, projector, logger };
  const drainer = createDrainer({ ...parts, ...rhythm, pulse });
  const verifier = startVerifier({ ...parts, ...config.graphVerification });
  const traced = traceJobs(taskList({ pool, config, drainer, logger }));
  const tasks = metrics ? addWorkerMetrics(metrics, pool, traced) : traced;
  const jobs = superviseJobs((events) => runJobs(pool, tasks, events, logger), logger);
  // What the last worker left behind must not wait for the next write.
  void drainer.wake();
  return {
    metricsPort: metricsServer?.port,
    async stop() {
      await Promise.all([jobs.stop(), drainer.stop(), verifier.stop(), metricsServer?.stop()]);
      await pulse.stop();
      await closePool(pool);
    },
  };
}

if (import.meta.main) {
  await runPart("npm run worker", async (options) => {
    const databaseUrl = await sessionUrl(options.config, options.databaseUrl);
    const worker = await startWorker({ ...options, databaseUrl });
    options.logger.info("working");
    return worker;
  });
}
