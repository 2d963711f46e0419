// The job runner, graphile-worker, and what keeps it running.
import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Logger as GraphileLogger, run } from "graphile-worker";
import type { Job, Runner, TaskList, WorkerEvents } from "graphile-worker";
import type { Pool } from "pg";
import type { Logger } from "pino";
import { crontab } from "./tasks/index.ts";

export const CONCURRENT_JOBS = 4;

/** Starts a job runner. */
export function runJobs(
  pool: Pool,
  taskList: TaskList,
  events: WorkerEvents,
  logger: Logger,
): Promise<Runner> {
  return run({
    pgPool: forgiving(pool),
    noHandleSignals: true,
    taskList,
    crontab: crontab(),
    events,
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
  });
}

/**
 * Makes a pool tolerate a client that is released twice. Graphile-worker does so with the connection that it
 * listens on, if that is lost while it is being released. The pool would throw where nothing catches it,
 * which would end the process.
 */
export function forgiving(pool: Pool): Pool {
  type Connected = Parameters<Pool["connect"]>[0];
  const connect = (connected?: Connected) => {
    if (!connected) return pool.connect();
    return pool.connect((error, client, release) => {
      // A pool that has ended passes no client, and no function to release it.
      if (!client) return connected(error, client, release);
      let isReleased = false;
      connected(error, client, (broken) => {
        if (!isReleased) release(broken);
        isReleased = true;
      });
    });
  };
  return new Proxy(pool, {
    get(target, name) {
      if (name === "connect") return connect;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/**
 * Logs graphile-worker's jobs at debug level. Its messages are left out, because
 * they quote what jobs failed on.
 */
export function graphileLogger(logger: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, _message, meta) => {
    const { job, error, fatalError, duration: durationMs } = (meta ?? {}) as Partial<Told>;
    const about = { task: job?.task_identifier, jobId: job?.id, durationMs, err: fatalError ?? error };
    if (level === "error" || level === "warning") logger.warn(about, "a job, or the job runner, failed");
    else if (job) logger.debug(about, "job");
  });
}

/** What graphile-worker logs besides its messages. */
type Told = { job: Job; error: unknown; fatalError: unknown; duration: number };

// The pause before the next runner, and how long a runner may take to end once it has begun to.
const PATIENCE = { restartMs: 1_000, endingMs: 5_000 };

/**
 * Restarts the job runner whenever it ends: it gives up after some failures in a
 * row, which an outage can cause.
 */
export function superviseJobs(
  start: (events: WorkerEvents) => Promise<Runner>,
  logger: Logger,
  { restartMs, endingMs } = PATIENCE,
): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  let runner: Runner | undefined;

  async function supervise(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const events = new EventEmitter() as WorkerEvents;
        const overdue = overdueEnd(events, endingMs);
        runner = await start(events);
        if (stopping.signal.aborted) void runner.stop().catch(() => undefined);
        await Promise.race([runner.promise, overdue]);
      } catch (error) {
        if (!stopping.signal.aborted)
          logger.warn({ err: error }, "the job runner ended and is being restarted");
      }
      await sleep(restartMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const ended = supervise();
  return {
    async stop() {
      stopping.abort();
      // A runner that is already shutting down says so by throwing.
      void runner?.stop().catch(() => undefined);
      await ended;
    },
  };
}

/**
 * Resolves when a runner has been ending for too long. graphile-worker 0.18 counts a batch twice when two of
 * them fail at the same time, and then waits for ever for it to be done.
 */
function overdueEnd(events: WorkerEvents, endingMs: number): Promise<void> {
  return new Promise((resolve) => {
    let active = 0;
    let isEnding = false;
    // The time starts when no job is running. The timer does not keep the process alive.
    const wait = () => {
      if (isEnding && active === 0) setTimeout(resolve, endingMs).unref();
    };
    const begin = () => {
      isEnding = true;
      wait();
    };
    events.once("pool:gracefulShutdown", begin).once("stop", begin);
    events.on("job:start", () => (active += 1));
    events.on("job:complete", () => {
      active -= 1;
      wait();
    });
  });
}
