// Drains dirty records into the graph. Level-triggered: it reads which records are dirty and their current
// rows, never what a job says, so a wake-up that is late, doubled or lost loses nothing.
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import type { Logger } from "pino";
import { GraphUnavailable } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { readTurn } from "../graph/turns.ts";
import type { Turn } from "../graph/turns.ts";
import { noteOutcomes, prepare, write } from "./projection.ts";
import type { Prepared, Projector } from "./projection.ts";
import { readDirty } from "./records.ts";
import type { Revision } from "./records.ts";
import { writeDirtyReferences } from "./references.ts";

export interface DrainOptions {
  pool: Pool;
  store: GraphStore;
  projector: Projector;
  logger: Logger;
  /** records per batch */
  batchSize?: number;
}

/** How a drain ended. */
export type DrainResult =
  | { state: "drained"; records: number }
  /** another process is draining */
  | { state: "busy" }
  /** the store is down; nothing is lost, and `drain` may be called again later */
  | { state: "store_unavailable"; reason: string };

// Any number will do as long as all versions of this program agree on it.
const DRAIN_LOCK = 7203545;
const BATCH_SIZE = 1_000;
// No more are read at a time: rows that have changed again before their batch's turn would be written for nothing.
const BATCHES_AT_ONCE = 5;
// How long to wait for writers that have joined a wake-up, and so are about to commit.
const SHORTEST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 50;
// After this long the lock is offered to whoever is waiting for it, such as a rebuild.
const TURN_MS = 200;

/**
 * Brings everything that is dirty into the graph, and stays until no writer is about to commit more.
 * @throws what the database connection throws when it breaks; the next call continues where this one ended
 */
export async function drain(options: DrainOptions, signal?: AbortSignal): Promise<DrainResult> {
  const { pool, logger } = options;
  // The lock and the work share a connection: a drain that has lost the lock can no longer note anything.
  const client = await pool.connect();
  let failure: Error | undefined;
  const noteFailure = (error: Error) => (failure = error);
  client.on("error", noteFailure);
  let records = 0;
  try {
    for (;;) {
      const turn = await tryLock(client);
      if (turn === undefined) return { state: "busy" };
      try {
        records += await drainLocked(client, turn, options, signal);
      } finally {
        if (!failure) await client.query("select pg_advisory_unlock($1)", [DRAIN_LOCK]);
      }
      // A job that found the lock taken a moment ago has left its work to this drain.
      if (signal?.aborted || !(await hasWork(client))) return { state: "drained", records };
    }
  } catch (error) {
    if (!(error instanceof GraphUnavailable)) {
      failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    }
    logger.debug({ err: error }, "the graph store is unavailable");
    return { state: "store_unavailable", reason: error.message };
  } finally {
    client.off("error", noteFailure);
    client.release(failure);
  }
}

/**
 * Does something while no drain is running anywhere; waits for one that is.
 * @param work may use the connection that it is given
 */
export async function betweenDrains<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [DRAIN_LOCK]);
    return await work(client);
  } finally {
    // Ends the session and, with it, the lock.
    client.release(true);
  }
}

/** @returns the turn of this drain; undefined when somebody else has the lock */
async function tryLock(client: PoolClient): Promise<Turn | undefined> {
  const { rows } = await client.query<{ turn: string | null }>(
    "select case when pg_try_advisory_lock($1) then nextval('app_private.graph_turns') end as turn",
    [DRAIN_LOCK],
  );
  const turn = rows[0]!.turn;
  return turn === null ? undefined : BigInt(turn);
}

/**
 * Makes sure that turns continue from the last one that the store has noted. After the database has been restored
 * from a backup they would start again before it, and nothing would be written any more. Must be called before
 * the first drain of a database into a store.
 * @throws GraphUnavailable
 */
export async function alignTurns({ pool, store, projector }: DrainOptions): Promise<void> {
  const noted = await readTurn(store, projector.names);
  await pool.query(
    `select case when turn < $1::bigint then setval('app_private.graph_turns', $1::bigint) end
     from nextval('app_private.graph_turns') as turn`,
    [String(noted)],
  );
}

/** Whether anything is waiting for a drain. */
export async function hasWork(db: Pool | PoolClient): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    "select app_private.graph_behind_since() is not null as found",
  );
  return rows[0]!.found;
}

async function drainLocked(
  client: PoolClient,
  turn: Turn,
  options: DrainOptions,
  signal?: AbortSignal,
): Promise<number> {
  const { store, projector, logger, batchSize = BATCH_SIZE } = options;
  const turnEnds = Date.now() + TURN_MS;
  let records = 0;
  let wait = SHORTEST_WAIT_MS;
  for (;;) {
    if (signal?.aborted || Date.now() >= turnEnds) break;
    const { writersAhead, listsChanged } = await takeWakeups(client);
    if (listsChanged) await writeDirtyReferences(projector, client, store, logger, signal);
    const revisions = await readDirty(client, batchSize * BATCHES_AT_ONCE);
    const noted = revisions.length > 0 ? await project(client, revisions, turn, options, signal) : 0;
    records += noted;
    if (noted > 0) {
      wait = SHORTEST_WAIT_MS;
      continue;
    }
    if (revisions.length === 0 && !writersAhead) break;
    // A record that a writer holds has been written for nothing; waiting longer makes that rarer.
    await sleep(revisions.length > 0 ? wait * 4 : wait);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
  return records;
}

/**
 * Takes the wake-ups that no writer holds. One that a writer has joined stays, because what that writer is
 * about to commit is not visible yet. What is dirty must be read after this, by a separate statement.
 */
async function takeWakeups(client: PoolClient): Promise<{ writersAhead: boolean; listsChanged: boolean }> {
  const { rows } = await client.query<{ writersAhead: boolean; listsChanged: boolean }>({
    name: "take_wakeups",
    text: `
      with taken as (
        delete from app_private.graph_wakeups where wakeup_id in
          (select wakeup_id from app_private.graph_wakeups for update skip locked)
        returning 1
      )
      select (select count(*) from app_private.graph_wakeups) > (select count(*) from taken) as "writersAhead",
        exists (select from app_private.dirty_references) as "listsChanged"`,
  });
  return rows[0]!;
}

/**
 * Brings revisions into the graph, one update per batch. While the store works on one batch, the next one is
 * built and checked, and the previous one is noted.
 * @returns how many were noted
 */
async function project(
  client: PoolClient,
  revisions: readonly Revision[],
  turn: Turn,
  { store, projector, logger, batchSize = BATCH_SIZE }: DrainOptions,
  signal?: AbortSignal,
): Promise<number> {
  const batches: (readonly Revision[])[] = [];
  for (let start = 0; start < revisions.length; start += batchSize) {
    batches.push(revisions.slice(start, start + batchSize));
  }
  const underWay: Promise<unknown>[] = [];
  // A failure ahead of its turn is reported when its turn comes, or not at all if the drain ends before that.
  const begin = <T>(work: Promise<T>): Promise<T> => {
    underWay.push(work);
    work.catch(() => undefined);
    return work;
  };
  let noted = 0;
  let noting: Promise<number> = Promise.resolve(0);
  let preparing = begin(prepare(projector, client, batches[0] ?? []));
  try {
    for (const following of [...batches.slice(1), undefined]) {
      const prepared = await preparing;
      tellOfRefusals(logger, prepared);
      const writing = begin(write(projector, store, prepared, turn, signal));
      if (following) preparing = begin(prepare(projector, client, following));
      const outcomes = await writing;
      noted += await noting;
      noting = begin(noteOutcomes(client, outcomes));
    }
    return noted + (await noting);
  } finally {
    // The connection is released only when nothing is under way on it any more.
    await Promise.allSettled(underWay);
  }
}

function tellOfRefusals(logger: Logger, { refused }: Prepared): void {
  for (const { revision, errors } of refused) {
    logger.info({ kind: revision.kind, id: revision.id, errors }, "the load check refused a record");
  }
}
