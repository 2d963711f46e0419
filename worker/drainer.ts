// When to drain, in one process: at once when woken, later when the store is down, and by itself when
// something has been left lying.
import type { Logger } from "pino";
import { GraphUnavailable } from "../graph/store.ts";
import { alignTurns, drain } from "./drain.ts";
import type { DrainOptions } from "./drain.ts";
import { markAll } from "./projection.ts";

export interface Drainer {
  /** Drains, unless the store is known to be down; resolves when the drain is over. Never throws. */
  wake: () => Promise<void>;
  /** Ends the drain in progress after its batch, and begins no other. */
  stop: () => Promise<void>;
}

// How often a process looks for what a wake-up that was lost has left lying, and how long that must have lain.
const LOOK_MS = 1_000;
const SHORTEST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5_000;

/**
 * Prepares the draining of one process. The timer in it is what makes up for anything that can befall a
 * wake-up: a process that was killed with its job, a store or a database that was away. It is no job, for a
 * job can itself be lost, doubled, or stay locked by a process that is no more.
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
    // What comes back may not be what went away.
    mustCheckStore = true;
  }

  function recovered(): void {
    retryAt = 0;
    retryMs = SHORTEST_RETRY_MS;
    logger.info("the graph is written again");
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
      logger.debug({ err: error }, "the database cannot be asked for dirty records");
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
 * A store that lacks what it was once given has been lost or exchanged, and is filled again from the tables.
 * The countries tell, for they are always there.
 */
async function checkStore(options: DrainOptions): Promise<void> {
  const { pool, store, projector, logger } = options;
  await alignTurns(options);
  const { rowCount } = await pool.query("select from app_private.dirty_references where name = 'countries'");
  if (rowCount) return;
  if (await store.ask(`ASK { GRAPH <${projector.names.countriesGraph}> { ?s ?p ?o } }`)) return;
  logger.warn("the graph store is empty; every record is written to it again");
  await markAll(pool);
}
