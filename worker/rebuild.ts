// Rebuilds the whole graph from the tables, while both are in use. The request for it is noted in
// the database, graph by graph: a rebuild that is killed, or whose store is, is continued by the
// next worker or the next call.
import type { Pool, PoolClient } from "pg";
import { requireSameNames } from "../db/settings.ts";
import { requireUpdates } from "../graph/session.ts";
import {
  GraphRejected,
  GraphTimeout,
  GraphUnavailable,
  GraphUnconfirmed,
  GraphUnreachable,
} from "../graph/store.ts";
import type { Turn } from "../graph/turns.ts";
import type { RecordKind } from "../records/record.ts";
import type { DrainOptions } from "./drain.ts";
import { hold, tryHold } from "./hold.ts";
import type { Hold } from "./hold.ts";
import { noteTurns } from "./marks.ts";
import { markAgain } from "./projection.ts";
import { countRecords } from "./records.ts";
import { writeDirtyReferences } from "./references.ts";
import { replaceGraph } from "./replace.ts";
import type { Replaced } from "./replace.ts";
import { inSnapshot, noteWritten, recordsIn } from "./snapshot.ts";
import { removalOf, strangersAmongRecords } from "./strangers.ts";
import { markRecords, watchUntilDone } from "./watch.ts";

/** The progress of a rebuild, in records. */
export interface RebuildProgress {
  total: number;
  written: number;
  /** records that the load check refused, so that they are not in the graph */
  rejected: number;
}

const LOOK_MS = 200;

/**
 * Replaces every named graph of the service, each in one step: readers see the old one until
 * the new one is complete. Changes made meanwhile wait, and the next drain writes them. A
 * worker may replace some of the graphs.
 * @param onProgress called now and then
 * @throws OtherNames, and GraphUnavailable; graphs that had not been reached are then
 *   unchanged, and still to be replaced
 */
export async function rebuild(
  options: DrainOptions,
  onProgress: (progress: RebuildProgress) => void = () => undefined,
): Promise<RebuildProgress> {
  const { pool, store, projector, logger } = options;
  await requireSameNames(pool, projector.names);
  await pool.query("select app_private.request_rebuild()");
  await watchUntilDone(options);
  await hold(options, ({ client, session, lost }) =>
    writeDirtyReferences(projector, client, store, session, logger, lost),
  );
  const looking = setInterval(() => void readProgress(pool).then(onProgress, () => undefined), LOOK_MS);
  try {
    // A worker takes the lock again and again; only by waiting in the queue for it
    // does this call get it as well.
    while ((await wanted(pool)).length > 0) await hold(options, (held) => rebuildOne(options, held));
  } finally {
    clearInterval(looking);
  }
  const progress = await readProgress(pool);
  onProgress(progress);
  return progress;
}

/**
 * Replaces one of the graphs that are to be replaced.
 * @returns whether there was one, and no other process was writing
 */
export async function rebuildNext(options: DrainOptions, signal?: AbortSignal): Promise<boolean> {
  const done = await tryHold(options, (held) => rebuildOne(options, held, signal));
  return done ?? false;
}

async function rebuildOne(options: DrainOptions, held: Hold, signal?: AbortSignal): Promise<boolean> {
  const [kind] = await wanted(held.client);
  if (kind === undefined) return false;
  const lost = signal ? AbortSignal.any([signal, held.lost]) : held.lost;
  await rebuildGraph(kind, options, { ...held, lost });
  return true;
}

/** The graphs that are to be replaced. */
export async function wanted(db: Pool | PoolClient): Promise<RecordKind[]> {
  const { rows } = await db.query<{ kind: RecordKind }>(
    "select kind from app_private.wanted_rebuilds order by kind",
  );
  return rows.map(({ kind }) => kind);
}

/** The progress of the current rebuild, or of the last one. */
async function readProgress(db: Pool): Promise<RebuildProgress> {
  const { rows } = await db.query<Record<keyof RebuildProgress, string>>(
    "select sum(total) as total, sum(written) as written, sum(rejected) as rejected from app_private.graph_rebuilds",
  );
  const { total, written, rejected } = rows[0]!;
  return { total: Number(total), written: Number(written), rejected: Number(rejected) };
}

async function rebuildGraph(kind: RecordKind, options: DrainOptions, held: Hold): Promise<void> {
  const { logger } = options;
  const { client, session, lost } = held;
  const { rows } = await client.query<{ requestedAt: string }>(
    `select app_private.begin_rebuild($1, $2)::text as "requestedAt"`,
    [kind, await countRecords(client, kind)],
  );
  const doubtful: string[] = [];
  let replaced: Turn | undefined;
  let shown: Turn;
  try {
    ({ turn: replaced, shown } = await replaceTwice(kind, options, held, doubtful));
  } catch (error) {
    // If the store takes other changes, it refuses this graph, whatever its error says.
    if (!isAnswer(error) || lost.aborted) throw error;
    shown = await requireUpdates(session, kind, lost);
    // Too large for the store, perhaps. Record by record it will take what it can.
    logger.error(
      { err: error, kind },
      "the graph store refused a whole graph; its records are written one by one",
    );
    shown = (await removeStrangers(kind, options, held)) ?? shown;
    await markRecords(client, kind);
    await client.query("select app_private.request_verification()");
  }
  await markAgain(client, kind, doubtful);
  await noteTurns(client, new Map([[kind, shown]]));
  // On the connection that has the lock: a process that has lost it must not note that the graph is complete.
  await client.query("select app_private.end_rebuild($1, $2, $3)", [kind, rows[0]!.requestedAt, replaced]);
}

/**
 * Whether an error may be because of what was sent. If the store cannot be reached, or does not show an
 * update, all that helps is to wait.
 */
function isAnswer(error: unknown): boolean {
  if (error instanceof GraphUnreachable || error instanceof GraphUnconfirmed) return false;
  return error instanceof GraphRejected || error instanceof GraphUnavailable;
}

/**
 * Sends a whole graph, and once more if the store takes other changes: one failure need
 * not be because of the graph.
 */
async function replaceTwice(
  kind: RecordKind,
  { pool, store, projector }: DrainOptions,
  { client, session, lost }: Hold,
  doubtful: string[],
): Promise<Replaced> {
  const replace = () =>
    inSnapshot(pool, async (tables) => {
      const snapshot = { tables, pool, projector, doubtful, refused: new Set<string>() };
      const subjects = recordsIn(snapshot, kind);
      const names = projector.names;
      const replaced = await replaceGraph({ store, session, names, name: kind, subjects, signal: lost });
      await noteWritten(client, snapshot, kind, replaced.shown);
      return replaced;
    });
  try {
    return await replace();
  } catch (error) {
    // After a timeout, another attempt would take as long.
    if (!isAnswer(error) || error instanceof GraphTimeout || lost.aborted) throw error;
    await requireUpdates(session, undefined, lost);
    doubtful.length = 0;
    await client.query("select app_private.begin_rebuild($1)", [kind]);
    return replace();
  }
}

/**
 * Removes subjects that no table contains from a graph that cannot be replaced as a whole.
 * @returns the number of the last update, if one was needed
 */
async function removeStrangers(
  kind: RecordKind,
  { pool, store, projector: { names } }: DrainOptions,
  { session, lost }: Hold,
): Promise<Turn | undefined> {
  const graph = names.graphs[kind];
  let turn: Turn | undefined;
  for await (const strangers of strangersAmongRecords({ pool, store, names }, kind)) {
    const iris = strangers.map(({ iri }) => iri);
    turn = await session.update([kind], (parts) => removalOf(parts, names, graph, iris), lost);
  }
  return turn;
}
