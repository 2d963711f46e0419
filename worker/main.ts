// The worker: from the database to the graph, and whatever runs on a schedule.
// `npm run worker` runs it as a separate process; `npm start` runs it alongside the server.
import { setTimeout as sleep } from "node:timers/promises";
import { Logger as GraphileLogger, run } from "graphile-worker";
import type { Runner } from "graphile-worker";
import type { Pool } from "pg";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { createPool } from "../db/pool.ts";
import type { GraphStore } from "../graph/store.ts";
import { runPart } from "../process/part.ts";
import { createDrainer } from "./drainer.ts";
import { createProjector } from "./projection.ts";
import { crontab, taskList } from "./tasks/index.ts";

export interface WorkerOptions {
  /** as the role that owns the schema */
  databaseUrl: string;
  store: GraphStore;
  config: Config;
  logger: Logger;
}

export interface Worker {
  /** Lets work in progress finish, within seconds, and closes the worker's connections. */
  stop: () => Promise<void>;
}

const CONCURRENT_JOBS = 4;
// For jobs, the drain, the timer, and graphile-worker itself.
const CONNECTIONS = CONCURRENT_JOBS + 6;
const RESTART_MS = 1_000;

/**
 * Starts the worker, which survives outages of the database and the graph store.
 * @throws when the database cannot be reached at the start
 */
export async function startWorker({ databaseUrl, store, config, logger }: WorkerOptions): Promise<Worker> {
  const onError = (error: Error) => logger.debug({ err: error }, "a database connection broke");
  const pool = createPool(databaseUrl, {
    max: CONNECTIONS,
    application_name: "engagement-worker",
    onError,
  });
  try {
    await pool.query("select");
  } catch (error) {
    await pool.end();
    throw error;
  }
  const drainer = createDrainer({ pool, store, projector: createProjector(config), logger });
  const jobs = superviseJobs(
    pool,
    () =>
      run({
        pgPool: pool,
        noHandleSignals: true,
        taskList: taskList({ pool, config, drainer, logger }),
        crontab: crontab(),
        logger: graphileLogger(logger),
        preset: {
          worker: {
            concurrentJobs: CONCURRENT_JOBS,
            pollInterval: 1_000,
            // Only batched completions have their failures handled; otherwise a connection that breaks at the end
            // of a job becomes an unhandled rejection, which ends the process.
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      }),
    logger,
  );
  // What the last worker left behind must not wait for the next write.
  void drainer.wake();
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await Promise.all([jobs.stop(), drainer.stop()]);
    await pool.end();
  };
  return { stop: () => (stopped ??= stop()) };
}

/** Keeps the job runner running: it gives up after several failures in a row, which an outage may cause. */
function superviseJobs(pool: Pool, start: () => Promise<Runner>, logger: Logger): Worker {
  const stopping = new AbortController();
  let runner: Runner | undefined;

  async function supervise(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        runner = await start();
        if (stopping.signal.aborted) await runner.stop();
        await runner.promise;
      } catch (error) {
        if (!stopping.signal.aborted)
          logger.warn({ err: error }, "the job runner ended and is being restarted");
      }
      runner = undefined;
      if (!stopping.signal.aborted)
        await sleep(RESTART_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const ended = supervise();
  return {
    async stop() {
      stopping.abort();
      // A runner that is already shutting down says so by throwing.
      await runner?.stop().catch(() => undefined);
      await ended;
    },
  };
}

/** Graphile-worker logs every job, which is only a detail here. */
function graphileLogger(logger: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, message) => {
    if (level === "error") logger.warn(message);
    else logger.debug(message);
  });
}

if (import.meta.main) {
  await runPart("npm run worker", async (options) => {
    const worker = await startWorker(options);
    options.logger.info("working");
    return worker;
  });
}
