// How a migration waits for locks of other sessions: in short turns. While a session waits for a lock, all
// later ones, readers included, queue behind it, so the migration waits briefly, gives up, and tries again.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** A lock was not obtained in the time allowed; the message says who holds it. */
export class OutOfPatience extends Error {
  override name = "OutOfPatience";
}

/** How long to wait in all, and a callback for a line on what is being waited for, whenever that changes. */
export type Patience = {
  ms: number;
  onWait: (line: string) => void;
  /** For the error message: how things are left, and what to run again; by default those of a migration. */
  meanwhile?: string;
  again?: string;
};

/**
 * Less than PostgreSQL's deadlock_timeout of a second, after which a caller in a deadlock with us would be
 * the one that fails.
 */
const TURN_MS = 500;
/** Every so many turns one is longer than that second: only then does PostgreSQL cancel an autovacuum. */
const LONG_TURNS = 5;
const LONG_TURN_MS = 2_000;
const LONGEST_PAUSE_MS = 5_000;

/** lock_not_available, when a lock was not obtained within the turn, and deadlock_detected. */
const NOT_NOW = new Set(["55P03", "40P01"]);

/** Whether an error is temporary, so that the same may succeed a moment later. */
export function passes(error: pg.DatabaseError): boolean {
  return NOT_NOW.has(error.code ?? "");
}

/**
 * Runs work in a transaction, and repeats it until it obtains every lock that it needs within a turn.
 * @param work may run several times; a failed attempt is rolled back
 * @param end `rollback` undoes the work in any case
 * @throws OutOfPatience, or any other error of the work
 */
export async function inTurns(
  client: pg.ClientBase,
  patience: Patience,
  work: () => Promise<void>,
  end: "commit" | "rollback" = "commit",
): Promise<void> {
  await inTurnsOf(client, patience, async (lockTimeoutMs) => {
    await client.query("begin");
    try {
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
      await work();
      await client.query(end);
    } catch (error) {
      await client.query("rollback");
      throw error;
    }
  });
}

/**
 * Runs work, and repeats it until it obtains every lock that it needs within a turn.
 * @param client for finding out who holds the locks
 * @param work is given the lock timeout; the next turn goes on from what a failed attempt has left
 * @throws OutOfPatience, or any other error of the work
 */
export async function inTurnsOf(
  client: pg.ClientBase,
  patience: Patience,
  work: (lockTimeoutMs: number) => Promise<void>,
): Promise<void> {
  const waiting = new Waiting(patience);
  for (let turn = 1; ; turn += 1) {
    try {
      return await work(turn % LONG_TURNS === 0 ? LONG_TURN_MS : TURN_MS);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && passes(error))) throw error;
    }
    await waiting.pause(await tableHolder(client), turn);
  }
}

/**
 * Locks all tables and views of some schemas at once, within the timeout of a single lock, so that it does
 * not wait for further locks while others wait for those it already holds.
 */
export async function lockAll(client: pg.ClientBase, schemas: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ relations: string | null }>(
    `select string_agg(oid::regclass::text, ', ' order by relkind desc, oid) as relations from pg_class
     where relnamespace = any ($1::regnamespace[]) and relkind in ('r', 'v')`,
    [schemas],
  );
  const relations = rows[0]?.relations;
  if (!relations) return;
  await client.query("select set_config('statement_timeout', current_setting('lock_timeout'), true)");
  try {
    await client.query(`lock table ${relations} in access exclusive mode`);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === "57014") error.code = "55P03";
    throw error;
  }
  await client.query("set local statement_timeout = 0");
}

/** Takes an advisory lock for the rest of the session. */
export async function takeAdvisoryLock(
  client: pg.ClientBase,
  key: number,
  patience: Patience,
): Promise<void> {
  const waiting = new Waiting(patience);
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      key,
    ]);
    if (rows[0]?.taken) return;
    await waiting.pause((await advisoryHolder(client, key)) ?? "another migration", 0.25);
  }
}

/** Waits until every transaction running now has ended: its writes are visible by then, or never will be. */
export async function othersToEnd(client: pg.ClientBase, patience: Patience): Promise<void> {
  const waiting = new Waiting(patience);
  const underWay = await transactions(client);
  for (let turn = 1; ; turn += 1) {
    const still = new Map([...(await transactions(client))].filter(([id]) => underWay.has(id)));
    const [first] = still.values();
    if (first === undefined) return;
    await waiting.pause(first, turn);
  }
}

/** Running transactions in other sessions of this database, and who runs each, by the locks on their ids. */
async function transactions(client: pg.ClientBase): Promise<Map<string, string>> {
  const { rows } = await client.query<{ id: string; holder: string }>(
    `select l.virtualtransaction as id, ${ACTIVITY} as holder
     from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
     where l.locktype = 'virtualxid' and l.granted and l.virtualxid = l.virtualtransaction
       and a.datname = current_database() and a.pid <> pg_backend_pid()
       -- What the server does by itself, such as an autovacuum, writes nothing of anybody's.
       and a.usesysid is not null`,
  );
  return new Map(rows.map(({ id, holder }) => [id, holder]));
}

class Waiting {
  readonly #patience: Patience;
  readonly #deadline: number;
  #told: string | undefined;

  constructor(patience: Patience) {
    this.#patience = patience;
    this.#deadline = performance.now() + patience.ms;
  }

  async pause(holder: string | undefined, turn: number): Promise<void> {
    const line = `waiting for ${holder ?? "locks on tables that are in use"}`;
    if (performance.now() >= this.#deadline) {
      throw new OutOfPatience(
        `gave up ${line}; ${this.#patience.meanwhile ?? "nothing is left half done"}. End what is in the way, and run ${this.#patience.again ?? "npm run migrate"} again.`,
      );
    }
    if (this.#told !== line) this.#patience.onWait(line);
    this.#told = line;
    // With jitter, so that processes that wait do not retry in step.
    await sleep(Math.min(turn * 200, LONGEST_PAUSE_MS) * (0.5 + Math.random()));
  }
}

const ACTIVITY = `
  format('process %s of PostgreSQL', a.pid)
  || coalesce(', user ' || a.usename, '') || coalesce(', ' || nullif(a.application_name, ''), '')
  || case when a.state like 'idle in transaction%' then ', which does nothing in an open transaction'
    when a.state = 'idle' then ', which is idle' when a.query_start is not null then ', which is at work' else '' end
  || coalesce(to_char(a.xact_start at time zone 'UTC', '" since "YYYY-MM-DD HH24:MI:SS" UTC"'), '')`;

/** The session that has held a lock on one of the service's tables for longest. */
async function tableHolder(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ holder: string }>(
    `select ${ACTIVITY} as holder from pg_stat_activity as a
     where a.pid <> pg_backend_pid() and exists (
       select from pg_locks as l join pg_class as c on c.oid = l.relation
       where l.pid = a.pid and l.granted and c.relkind in ('r', 'v')
         and l.database = (select oid from pg_database where datname = current_database())
         and c.relnamespace::regnamespace::text ~ '^(app_|rest$|graphile_worker$)')
     order by a.xact_start limit 1`,
  );
  return rows[0]?.holder;
}

async function advisoryHolder(client: pg.ClientBase, key: number): Promise<string | undefined> {
  const { rows } = await client.query<{ holder: string }>(
    `select 'another migration: ' || ${ACTIVITY} as holder from pg_stat_activity as a
     where exists (select from pg_locks as l
       where l.pid = a.pid and l.granted and l.locktype = 'advisory' and (l.classid, l.objid) = (0, $1)
         and l.database = (select oid from pg_database where datname = current_database()))`,
    [key],
  );
  return rows[0]?.holder;
}
