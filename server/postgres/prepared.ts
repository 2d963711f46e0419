// The prepared statements of each connection. GraphQL callers send any number of different queries, and each
// would stay in memory, in PostgreSQL and in this process, as long as the connection lives.
import type pg from "pg";

const MOST = 100;

const named = new WeakMap<pg.ClientBase, Set<string>>();

/** Notes the use of a prepared statement; returns the least recently used one if it has to make room. */
export function makeRoom(client: pg.ClientBase, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const names = named.get(client) ?? new Set();
  named.set(client, names);
  const isKnown = names.delete(name);
  names.add(name);
  if (isKnown || names.size <= MOST) return undefined;
  const [oldest] = names;
  names.delete(oldest!);
  return oldest;
}
