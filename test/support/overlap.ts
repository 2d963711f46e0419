// Transactions that have to wait for one another, in an order that nothing leaves to chance.
import pg from "pg";
import type { TestDatabase } from "./database.ts";
import { eventually } from "./eventually.ts";

/** Something that is done on a connection. */
export type Deed = (client: Pick<pg.ClientBase, "query">) => Promise<unknown>;

/** Does something on connections of their own, which end with it. */
export async function onConnections<T>(
  { url }: Pick<TestDatabase, "url">,
  count: number,
  work: (...clients: pg.Client[]) => Promise<T>,
): Promise<T> {
  const clients = Array.from({ length: count }, () => new pg.Client(url));
  await Promise.all(clients.map((client) => client.connect()));
  try {
    return await work(...clients);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/**
 * Begins something that has to wait for a lock.
 * @returns when it waits; what comes of it then, or the error that it ends with
 */
export async function waiting(
  { owner }: Pick<TestDatabase, "owner">,
  client: pg.Client,
  deed: Deed,
): Promise<{ outcome: Promise<unknown> }> {
  const pid = await pidOf(client);
  const outcome = deed(client).catch((error: unknown) => error);
  await untilOneIs(owner, "pid = $1 and cardinality(pg_blocking_pids(pid)) > 0", pid);
  return { outcome };
}

/** Resolves when somebody, wherever they are, waits for what a connection holds. */
export async function whenWaitedFor(
  { owner }: Pick<TestDatabase, "owner">,
  client: pg.ClientBase,
): Promise<void> {
  await untilOneIs(owner, "$1 = any (pg_blocking_pids(pid))", await pidOf(client));
}

async function pidOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}

async function untilOneIs(db: Pick<pg.ClientBase, "query">, condition: string, pid: number): Promise<void> {
  await eventually(async () => {
    const { rowCount } = await db.query(`select from pg_stat_activity where ${condition}`, [pid]);
    if (rowCount === 0) throw new Error("nobody waits");
  });
}

/**
 * Does the first thing and does not commit it; begins the second; commits the first once the second waits for it.
 * @returns what came of the second, or the error that it ended with
 */
export function overlap(database: TestDatabase, first: Deed, second: Deed): Promise<unknown> {
  return onConnections(database, 2, async (ahead, behind) => {
    await ahead.query("begin");
    await first(ahead);
    const { outcome } = await waiting(database, behind, second);
    await ahead.query("commit");
    return outcome;
  });
}

const GATE = 4711;

/** A gate that can be shut and opened again. */
export type Gate = { shut: () => Promise<unknown>; open: () => Promise<unknown> };

/** Puts a gate, open at first, behind each statement that inserts into a table, whether or not it inserts anything. */
export function gateAfterInsert<T>(
  database: TestDatabase,
  table: string,
  work: (gate: Gate) => Promise<T>,
): Promise<T> {
  return onConnections(database, 1, async (keeper) => {
    await database.owner.query(`
      create function app_private.pass_gate() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_lock_shared(${GATE});
        perform pg_advisory_unlock_shared(${GATE});
        return null;
      end $$;
      create trigger zz_gate after insert on ${table} for each statement execute function app_private.pass_gate()`);
    try {
      return await work({
        shut: () => keeper.query("select pg_advisory_lock($1)", [GATE]),
        open: () => keeper.query("select pg_advisory_unlock($1)", [GATE]),
      });
    } finally {
      await database.owner.query(`drop trigger zz_gate on ${table}; drop function app_private.pass_gate()`);
    }
  });
}
