import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

/** A server that is frozen, or gone without a word, does not say goodbye. */
const PATIENCE_MS = 1_000;

/** Closes a connection in good order, or else breaks it. */
export async function closeClient(client: pg.Client): Promise<void> {
  await withinPatience(client.end());
  client.connection.stream.destroy();
}

/** Closes the idle connections of a pool; one that does not end is left to the end of the process. */
export function closePool(pool: pg.Pool): Promise<void> {
  return withinPatience(pool.end());
}

async function withinPatience(ending: Promise<void>): Promise<void> {
  const impatience = new AbortController();
  const patience = sleep(PATIENCE_MS, undefined, { signal: impatience.signal }).catch(() => undefined);
  await Promise.race([ending, patience]).catch(() => undefined);
  impatience.abort();
}
