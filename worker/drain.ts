// Drains dirty records into the graph. Level-triggered: it reads which records are dirty and their current
// rows, never what a job says, so a wake-up that is late, doubled or lost loses nothing.
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import type { Logger } from "pino";
import { GraphUnavailable } from "../graph/store.ts";
import { tryHold } from "./hold.ts";
import type { Hold, HoldOptions } from "./hold.ts";
import { noteOutcomes, prepare, write } from "./projection.ts";
import type { Prepared, Projector } from "./projection.ts";
import { readDirty } from "./records.ts";
import type { Revision } from "./records.ts";
import { writeDirtyReferences } from "./references.ts";

export interface DrainOptions extends HoldOptions {
  projector: Projector;
  logger: Logger;
  /** records per batch; BATCH_SIZE by default */
  batchSize?: number;
}

/** How a drain ended. */
export type DrainResult =
  | { state: "drained"; records: number }
  /** there was more to do when its time was over */
  | { state: "interrupted"; records: number }
  /** another process is draining */
  | { state: "busy" }
  /**
   * the store is down, or does not show what it accepts; nothing is lost, and
   * `drain` may be called again later
   */
  | { state: "store_unavailable"; error: GraphUnavailable };

export const BATCH_SIZE = 1_000;
// Not more at a time: rows that change again before their batch's turn would be written for nothing.
const BATCHES_AT_ONCE = 5;
// How long to wait for writers that have joined a wake-up, and so are about to commit.
const SHORTEST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 50;
// After this long the lock is released, so that others who wait for it can have it, such as a rebuild.
const TURN_MS = 200;

/**
 * Writes everything that is dirty to the graph, and stays until no writer is about to commit more. The store
 * must be the one that belongs to the database (see worker/watch.ts); nothing is written to another one.
 * @param until when to stop although there is more to do, on the clock of `performance.now()`
 * @throws what the database connection throws when it breaks; the next call continues where this one ended
 */
export async function drain(
  options: DrainOptions,
  signal?: AbortSignal,
  until = Number.POSITIVE_INFINITY,
): Promise<DrainResult> {
  let records = 0;
  const contest = { isMet: false };
  try {
    for (;;) {
      const noted = await tryHold(options, (hold) => drainHeld(hold, options, contest, signal));
      if (noted === undefined) return { state: "busy" };
      records += noted;
      // A job that found the lock taken a moment ago has left its work to this drain.
      if (signal?.aborted || !(await hasWork(options.pool))) return { state: "drained", records };
      if (performance.now() >= until) return { state: "interrupted", records };
      // Writers hold all the rows that are dirty.
      if (noted === 0) await sleep(TURN_MS);
    }
  } catch (error) {
    if (!(error instanceof GraphUnavailable)) throw error;
    options.logger.debug({ err: error }, "the graph store is unavailable");
    return { state: "store_unavailable", error };
  }
}

/** Whether anything is waiting for a drain. */
export async function hasWork(db: Pool | PoolClient): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    "select app_private.graph_behind_since() is not null as found",
  );
  return rows[0]!.found;
}

async function drainHeld(
  { client, session, lost }: Hold,
  options: DrainOptions,
  contest: { isMet: boolean },
  stopping?: AbortSignal,
): Promise<number> {
  const { store, projector, logger, batchSize = BATCH_SIZE } = options;
  const signal = stopping ? AbortSignal.any([stopping, lost]) : lost;
  const turnEnds = performance.now() + TURN_MS;
  let records = 0;
  let wait = SHORTEST_WAIT_MS;
  await client.query("select app_private.mark_refused()");
  for (;;) {
    if (signal.aborted || performance.now() >= turnEnds) break;
    const writersAhead = await takeWakeups(client);
    const revisions = await readDirty(client, batchSize * BATCHES_AT_ONCE, contest.isMet);
    const noted = revisions.length > 0 ? await project({ client, session }, revisions, options, signal) : 0;
    records += noted;
    // Rows that a writer holds have waited longest, and would be read again and again before all others.
    contest.isMet ||= noted < revisions.length;
    if (noted > 0) {
      wait = SHORTEST_WAIT_MS;
      continue;
    }
    if (revisions.length === 0 && !writersAhead) break;
    // A record that a writer holds has been written for nothing; waiting longer makes that rarer.
    await sleep(revisions.length > 0 ? wait * 4 : wait);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
  // Last, so that a list that cannot be written keeps no record waiting.
  if (!signal.aborted) await writeDirtyReferences(projector, client, store, session, logger, signal);
  return records;
}

/**
 * Takes the wake-ups that no writer holds. One that a writer has joined stays, because what that writer is
 * about to commit is not visible yet. What is dirty must be read after this, by a separate statement.
 * @returns whether there is such a writer
 */
async function takeWakeups(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ writersAhead: boolean }>({
    name: "take_wakeups",
    text: `
      with taken as (
        delete from app_private.graph_wakeups where wakeup_id in
          (select wakeup_id from app_private.graph_wakeups for update skip locked)
        returning 1
      )
      select (select count(*) from app_private.graph_wakeups) > (select count(*) from taken) as "writersAhead"`,
  });
  return rows[0]!.writersAhead;
}

/**
 * Writes revisions to the graph, one update per batch. While the store works on one batch, the next one is
 * built and checked, and the previous one is noted.
 * @returns how many were noted
 */
async function project(
  { client, session }: Pick<Hold, "client" | "session">,
  revisions: readonly Revision[],
  { projector, logger, batchSize = BATCH_SIZE }: DrainOptions,
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
      const writing = begin(write(projector, session, prepared, signal));
      if (following) preparing = begin(prepare(projector, client, following));
      const outcomes = await writing;
      noted += await noting;
      noting = begin(noteOutcomes(client, outcomes));
    }
    return noted + (await noting);
  } finally {
    // The connection may be released only when no query is running on it any more.
    await Promise.allSettled(underWay);
  }
}

function tellOfRefusals(logger: Logger, { refused }: Prepared): void {
  for (const { revision, errors } of refused) {
    // Without the messages, which quote values.
    const paths = errors.map(({ path }) => path);
    logger.info({ kind: revision.kind, id: revision.id, paths }, "the load check refused a record");
  }
}
