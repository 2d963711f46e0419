// How a migration waits for other sessions: in short turns. Whoever wants a lock makes everybody queue behind it who
// comes later, readers too, so it is asked for briefly, given up, and asked for again.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** A lock was not had in all the time there was; the message says who kept it. */
export class OutOfPatience extends Error {
  override name = "OutOfPatience";
}

/** How long to wait in all, and whom to tell what is waited for: one line, again when it is something else. */
export type Patience = {
  ms: number;
  onWait: (line: string) => void;
  /** Whoever gives up says what there is then, and what to run again; without, it was a migration. */
  meanwhile?: string;
  again?: string;
};

/**
 * Less than PostgreSQL's deadlock_timeout of a second, after which a caller who waits for us, while we wait for it, would
 * be the one to be refused.
 */
const TURN_MS = 500;
/** Every so many turns one is longer than that second: only then does PostgreSQL end an autovacuum that is in the way. */
const LONG_TURNS = 5;
const LONG_TURN_MS = 2_000;
const LONGEST_PAUSE_MS = 5_000;

/** A lock did not come within the turn, or two transactions waited for each other. */
const NOT_NOW = new Set(["55P03", "40P01"]);

/** Whether what was refused may well be done a moment later. */
export function passes(error: pg.DatabaseError): boolean {
  return NOT_NOW.has(error.code ?? "");
}

/**
 * Does work in a transaction, again and again until every lock that it needs was had within a turn.
 * @param work may run several times; what it did before is rolled back
 * @param end rollback: nothing of it stays at all
 * @throws OutOfPatience, or what the work threw
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
 * Does work again and again until every lock that it needs was had within a turn.
 * @param client asks who has the locks
 * @param work is told for how long it may wait for a lock; what it leaves when it fails, the next turn goes on from
 * @throws OutOfPatience, or what the work threw
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
 * Locks all tables and views of some schemas at once, within the time of one lock, so that nothing is waited for later
 * while others wait for what is locked already.
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

/** Waits until every transaction that is under way now has ended: what they began to write is there then, or never comes. */
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

/** Transactions of other sessions in this database, and who is at it. Each holds a lock on its own id, which anybody may see. */
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
    // Not in step with others who do the same.
    await sleep(Math.min(turn * 200, LONGEST_PAUSE_MS) * (0.5 + Math.random()));
  }
}

const ACTIVITY = `
  format('process %s of PostgreSQL', a.pid)
  || coalesce(', user ' || a.usename, '') || coalesce(', ' || nullif(a.application_name, ''), '')
  || case when a.state like 'idle in transaction%' then ', which does nothing in an open transaction'
    when a.query_start is not null then ', which is at work' else '' end
  || coalesce(to_char(a.xact_start at time zone 'UTC', '" since "YYYY-MM-DD HH24:MI:SS" UTC"'), '')`;

/** Who has had a lock on one of the service's tables for longest. */
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
