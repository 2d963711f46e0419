// The statements that a connection has prepared. Texts of GraphQL are as many as callers think of, and each would stay
// with the server, and with this process, as long as the connection lives.
import type pg from "pg";

const MOST = 100;

const named = new WeakMap<pg.ClientBase, Set<string>>();

/** Notes the use of a prepared statement; returns the one that has to go for it, the longest unused, if any has to. */
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
