import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

/** A server that is frozen, or gone without a word, does not say goodbye. */
const PATIENCE_MS = 1_000;

/** Closes a connection in good order, or else breaks it. */
export async function closeClient(client: pg.Client): Promise<void> {
  await withinPatience(client.end());
  client.connection.stream.destroy();
}

/**
 * Closes the connections of a pool, those that are lent when they come back, and waits until each has ended, as pg-pool itself
 * does not: a database that is shut down right after that would cut them off. One that does not end is left to the end of the
 * process.
 */
export function closePool(pool: pg.Pool): Promise<void> {
  return withinPatience(Promise.all([allRemoved(pool), pool.end()]));
}

function allRemoved(pool: pg.Pool): Promise<void> {
  let open = pool.totalCount;
  if (open === 0) return Promise.resolve();
  return new Promise((done) => pool.on("remove", () => --open === 0 && done()));
}

async function withinPatience(ending: Promise<unknown>): Promise<void> {
  const impatience = new AbortController();
  const patience = sleep(PATIENCE_MS, undefined, { signal: impatience.signal }).catch(() => undefined);
  await Promise.race([ending, patience]).catch(() => undefined);
  impatience.abort();
}
