import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

/** How long to wait: a server that is frozen or unreachable never ends the connection. */
const PATIENCE_MS = 1_000;

/** Closes a connection cleanly, or destroys it if that takes too long. */
export async function closeClient(client: pg.Client): Promise<void> {
  await withinPatience(client.end());
  client.connection.stream.destroy();
}

/**
 * Closes the connections of a pool, those in use when they are returned, and waits until each has ended,
 * which pg-pool itself does not: a database that is shut down right afterwards would cut them off. A
 * connection that does not end in time is left open until the process ends.
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
