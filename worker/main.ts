// The worker: from the database to the graph, and what is done by the clock.
// `npm run worker` runs it as a process of its own; `npm start` runs it beside the server.
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
  /** Lets what is in progress end, within seconds, and closes the worker's connections. */
  stop: () => Promise<void>;
}

const CONCURRENT_JOBS = 4;
// Jobs, the drain, the timer, and graphile-worker's own.
const CONNECTIONS = CONCURRENT_JOBS + 6;
const RESTART_MS = 1_000;
// How long a runner may take to end once it has begun to.
const ENDING_MS = 5_000;

/**
 * Starts the worker; it goes on through outages of the database and the graph store.
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
            // Only what is batched has its failure handled; otherwise a connection that breaks at the end of a
            // job becomes an unhandled rejection, which ends the process.
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      }),
    logger,
  );
  // What was left by the last one is not left to wait for the next write.
  void drainer.wake();
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await Promise.all([jobs.stop(), drainer.stop()]);
    await pool.end();
  };
  return { stop: () => (stopped ??= stop()) };
}

/** Keeps the job runner running: it gives up after some failures in a row, which an outage may bring. */
function superviseJobs(pool: Pool, start: () => Promise<Runner>, logger: Logger): Worker {
  const stopping = new AbortController();
  let runner: Runner | undefined;

  async function supervise(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        runner = await start();
        const ended = endOf(runner);
        if (stopping.signal.aborted) void runner.stop().catch(() => undefined);
        await ended;
      } catch (error) {
        if (!stopping.signal.aborted)
          logger.warn({ err: error }, "the job runner ended; it is started again");
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
      // A runner that is on its way down already says so by throwing.
      void runner?.stop().catch(() => undefined);
      await ended;
    },
  };
}

/**
 * Waits for a runner to end, and no longer than ENDING_MS once it has begun to: graphile-worker 0.18 counts a batch twice
 * when two of them fail at the same time, and then waits for ever for it to be done.
 */
async function endOf(runner: Runner): Promise<void> {
  const { promise: overdue, resolve } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const begin = () => void (timer ??= setTimeout(resolve, ENDING_MS));
  runner.events.once("pool:gracefulShutdown", begin).once("stop", begin);
  try {
    await Promise.race([runner.promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** Graphile-worker tells every job; that is detail here. */
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
