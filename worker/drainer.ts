// When one process drains: at once when woken, later when the store is down, and on its own when something
// has been left behind.
import type { Logger } from "pino";
import { GraphUnavailable } from "../graph/store.ts";
import { alignTurns, drain } from "./drain.ts";
import type { DrainOptions } from "./drain.ts";
import { markAll } from "./projection.ts";

export interface Drainer {
  /** Drains, unless the store is known to be down; resolves when the drain is over. Never throws. */
  wake: () => Promise<void>;
  /** Ends the drain in progress after its batch, and starts no other. */
  stop: () => Promise<void>;
}

// How often a process looks for what a lost wake-up has left behind, and how long that must have been waiting.
const LOOK_MS = 1_000;
const SHORTEST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5_000;

/**
 * Makes the drainer of one process. Its timer makes up for anything that can happen to a wake-up: a process
 * killed with its job, a store or a database that was away. It is not itself a job, because a job can be
 * lost, doubled, or stay locked by a process that no longer exists.
 */
export function createDrainer(options: DrainOptions): Drainer {
  const { pool, logger } = options;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let woken = false;
  let mustCheckStore = true;
  let retryMs = SHORTEST_RETRY_MS;
  let retryAt = 0;

  async function run(): Promise<void> {
    do {
      woken = false;
      try {
        if (mustCheckStore) await checkStore(options);
        mustCheckStore = false;
        const result = await drain(options, stopping.signal);
        if (result.state === "store_unavailable") later(logger, result.reason);
        else if (result.state === "drained" && retryAt > 0) recovered();
      } catch (error) {
        if (stopping.signal.aborted) return;
        later(logger, error instanceof Error ? error.message : String(error));
        if (!(error instanceof GraphUnavailable)) logger.warn({ err: error }, "a drain broke off");
      }
    } while (woken && !stopping.signal.aborted && Date.now() >= retryAt);
  }

  function later(log: Logger, reason: string): void {
    if (retryAt === 0) log.warn({ reason }, "the graph cannot be written; changes wait in the database");
    retryAt = Date.now() + retryMs;
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
    // The store that comes back may not be the one that went away.
    mustCheckStore = true;
  }

  function recovered(): void {
    retryAt = 0;
    retryMs = SHORTEST_RETRY_MS;
    logger.info("the graph can be written again");
  }

  async function wake(): Promise<void> {
    if (stopping.signal.aborted || Date.now() < retryAt) return;
    woken = true;
    running ??= run().finally(() => (running = undefined));
    await running;
  }

  async function look(): Promise<void> {
    if (running || Date.now() < retryAt) return;
    try {
      const { rows } = await pool.query<{ found: boolean | null }>(
        "select app_private.graph_behind_since() < now() - interval '1 second' as found",
      );
      if (rows[0]!.found) await wake();
    } catch (error) {
      logger.debug({ err: error }, "cannot ask the database for dirty records");
    }
  }

  const timer = setInterval(() => void look(), LOOK_MS);
  return {
    wake,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/**
 * A store that lacks what it was once given has been lost or replaced, and is filled again from the tables.
 * The countries show this, because they are always there.
 */
async function checkStore(options: DrainOptions): Promise<void> {
  const { pool, store, projector, logger } = options;
  await alignTurns(options);
  const { rowCount } = await pool.query("select from app_private.dirty_references where name = 'countries'");
  if (rowCount) return;
  if (await store.ask(`ASK { GRAPH <${projector.names.countriesGraph}> { ?s ?p ?o } }`)) return;
  logger.warn("the graph store is empty; every record will be written to it again");
  await markAll(pool);
}
