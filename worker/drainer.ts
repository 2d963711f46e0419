// When one process drains: at once when woken, later when the store is down, and on its own when something
// has been left behind.
import { randomUUID } from "node:crypto";
import { PATIENCE_MS } from "../graph/session.ts";
import type { Pulse } from "../process/pulse.ts";
import { inSpan } from "../process/tracing.ts";
import { GraphRejected, GraphTimeout, GraphUnavailable, GraphUnconfirmed } from "../graph/store.ts";
import { BATCH_SIZE, drain } from "./drain.ts";
import type { DrainOptions } from "./drain.ts";
import { rebuildNext, wanted } from "./rebuild.ts";
import { watch } from "./watch.ts";

export interface DrainerOptions extends DrainOptions {
  /** how often the store is asked what it holds, in milliseconds; 10,000 by default */
  watchMs?: number;
  /** how often it looks for what a lost wake-up has left behind, in milliseconds; 1,000 by default */
  lookMs?: number;
  /**
   * how soon it tries again after a first failure, in milliseconds; 1,000 by default. Further failures double
   * this, up to five times as long
   */
  retryMs?: number;
  /** tells when the store stops answering, and when it answers again */
  pulse?: Pulse;
}

export interface Drainer {
  /** Drains, unless the store is known to be down; resolves when the drain is over. Never throws. */
  wake: () => Promise<void>;
  /** Ends the drain in progress after its batch, and starts no other. */
  stop: () => Promise<void>;
}

// How often a process looks for what a lost wake-up has left behind.
const LOOK_MS = 1_000;
// How often a process that is writing notes that it still looks after the graph.
const BEAT_MS = 5_000;
// A loss must be noticed within half a minute, and a look costs the store a few milliseconds.
const WATCH_MS = 10_000;
const RETRY_MS = 1_000;
const LONGEST_RETRY_FACTOR = 5;
// If the store's queries are behind by more than usual, it waits longer each time, up to this.
const LONGEST_PATIENCE_MS = 15_000;
// A store that is too slow for a whole batch within its time limit may be quick enough for a part.
const SMALLEST_BATCH = 25;
const SILENT = "The graph store does not answer.";

/**
 * Makes the drainer of one process. Its timer makes up for anything that can happen to a wake-up: a
 * process killed with its job, a store or a database that was away. It is not itself a job, because
 * a job can be lost, doubled, or stay locked by a process that no longer exists. It uses the
 * monotonic clock, which cannot be set.
 */
export function createDrainer({
  watchMs = WATCH_MS,
  lookMs = LOOK_MS,
  retryMs: shortestRetryMs = RETRY_MS,
  pulse,
  ...given
}: DrainerOptions): Drainer {
  const { pool, logger } = given;
  const stopping = new AbortController();
  const self = randomUUID();
  let options = given;
  let running: Promise<void> | undefined;
  let isLooking = false;
  let woken = false;
  let watchAt = 0;
  let beatAt = 0;
  let failing = false;
  let retryMs = shortestRetryMs;
  let retryAt = 0;
  let sawWork = false;
  // False while it finds out what the store holds.
  let isWriting = false;

  async function run(): Promise<void> {
    do {
      woken = false;
      try {
        // A trace of its own, since one drain writes the changes of many requests.
        await inSpan("drain", drainOnce).finally(() => (isWriting = false));
      } catch (error) {
        if (stopping.signal.aborted) return;
        await later(error);
      }
    } while (woken && !stopping.signal.aborted && performance.now() >= retryAt);
  }

  async function drainOnce(): Promise<void> {
    if (performance.now() >= watchAt) {
      const seen = await watch(options);
      if (seen === "busy") return;
      watchAt = performance.now() + watchMs;
      await beat();
    }
    // Under a steady stream of writes there is always more to drain, and other things must be done as well.
    isWriting = true;
    const result = await drain(options, stopping.signal, watchAt);
    if (result.state === "store_unavailable") throw result.error;
    if (result.state === "busy") return;
    if ((await wanted(pool)).length > 0) {
      // One graph at a time: changes are drained before each of them.
      woken = await rebuildNext(options, stopping.signal);
      return;
    }
    if (failing) recovered();
    if (result.state === "interrupted") {
      woken = true;
      return;
    }
    await pool.query("select app_private.note_graph_current()");
  }

  async function later(error: unknown): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    const isStore = error instanceof GraphUnavailable || error instanceof GraphRejected;
    if (!failing) logger.warn({ err: error }, "the graph cannot be written; changes wait in the database");
    else if (!isStore) logger.warn({ err: error }, "a drain broke off");
    failing = true;
    retryAt = performance.now() + retryMs;
    retryMs = Math.min(retryMs * 2, shortestRetryMs * LONGEST_RETRY_FACTOR);
    // The store that comes back may not be the one that went away.
    watchAt = 0;
    options = easier(options, error);
    if (isStore) {
      await note(error instanceof GraphUnconfirmed ? "unconfirmed" : "unavailable", reason);
    }
  }

  function recovered(): void {
    failing = false;
    retryAt = 0;
    retryMs = shortestRetryMs;
    options = given;
    logger.info("the graph can be written again");
  }

  async function beat(): Promise<void> {
    beatAt = performance.now() + BEAT_MS;
    await pool.query("select app_private.note_graph_seen($1)", [self]);
  }

  async function note(state: string, reason: string): Promise<void> {
    await pool
      .query("select app_private.note_graph_state($1, $2, $3)", [state, reason, self])
      .catch((error: unknown) => logger.debug({ err: error }, "cannot note the state of the graph"));
  }

  /**
   * Notes that the store has stopped answering, or answers again. Requests under way go on: they may still
   * succeed, and sending them again would be no quicker.
   */
  async function tell(isDown: boolean): Promise<void> {
    if (isDown) return note("unavailable", SILENT);
    await pool
      .query("select app_private.note_graph_heard($1)", [SILENT])
      .catch((error: unknown) => logger.debug({ err: error }, "cannot note that the store answers"));
    // The store that comes back may not be the one that went away.
    watchAt = 0;
    retryAt = 0;
    await wake();
  }

  async function wake(): Promise<void> {
    if (stopping.signal.aborted || performance.now() < retryAt) return;
    woken = true;
    running ??= run().finally(() => (running = undefined));
    await running;
  }

  async function look(): Promise<void> {
    if (isLooking || performance.now() < retryAt) return;
    if (!running && performance.now() >= watchAt) return wake();
    isLooking = true;
    try {
      if (running) {
        // Replacing a whole graph may take minutes.
        if (isWriting && performance.now() >= beatAt) await beat();
        return;
      }
      const { rows } = await pool.query<{ found: boolean }>("select app_private.graph_work_waits() as found");
      const found = rows[0]!.found;
      // Work that is still there at a second look has been waiting at least since the
      // first, whatever any clock says.
      if (found && sawWork) await wake();
      sawWork = found;
    } catch (error) {
      logger.debug({ err: error }, "cannot ask the database for dirty records");
      // The database that comes back may be one that was set back.
      watchAt = 0;
    } finally {
      isLooking = false;
    }
  }

  pulse?.onChange((isDown) => void tell(isDown));
  const timer = setInterval(() => void look(), lookMs);
  return {
    wake,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/** Options for another attempt, after a failure that the same options might only repeat. */
function easier(options: DrainOptions, error: unknown): DrainOptions {
  if (error instanceof GraphUnconfirmed) {
    return { ...options, patienceMs: Math.min((options.patienceMs ?? PATIENCE_MS) * 2, LONGEST_PATIENCE_MS) };
  }
  if (error instanceof GraphTimeout) {
    return {
      ...options,
      batchSize: Math.max(Math.floor((options.batchSize ?? BATCH_SIZE) / 2), SMALLEST_BATCH),
    };
  }
  return options;
}
