// Notices that the store has lost something, and marks what that is: the store is empty, another one, or set
// back to an earlier state, as a whole or in one of its named graphs; or the database was set back. Nothing
// fails when that happens, so it is looked for: the marks in the graph say whose it is and which update it
// and each of its named graphs took last (graph/turns.ts), and the database knows what they should say.
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { PATIENCE_MS } from "../graph/session.ts";
import { GraphUnconfirmed } from "../graph/store.ts";
import { LIST_NAMES } from "../graph/namespaces.ts";
import type { GraphName, Names } from "../graph/namespaces.ts";
import { holdsAnything, readMark, readMarks } from "../graph/turns.ts";
import type { GraphMarks, GraphTurns, Mark, Said, Turn } from "../graph/turns.ts";
import { RECORD_KINDS } from "../records/index.ts";
import type { RecordKind } from "../records/record.ts";
import type { DrainOptions } from "./drain.ts";
import { tryHold } from "./hold.ts";
import type { Hold } from "./hold.ts";
import { noteTurns, readKnownTurns, readOwn } from "./marks.ts";

// Not losses, although they are handled in the same way.
const NEVER_WRITTEN = "The graph has not been written yet";
const NOT_NUMBERED = "Named graphs have no update numbers yet";
const NOT_NOTED = "The graph has an update that was never noted";

const OTHER_HISTORY =
  "The database was set back to an earlier state than the graph's, or the graph to one that is forgotten";

/** What is wrong with a store. */
interface Loss {
  /** for the operator, without a full stop */
  reason: string;
  what: Lost;
  /** the marks in the store */
  mark: Mark;
  graphs: GraphMarks;
  /** whether the store may hold what no table contains, which only a verification finds */
  foreign: boolean;
}

/**
 * The graphs that must be written to the store again: everything that each was given
 * after this update, or all of it.
 */
type Lost = ReadonlyMap<GraphName, Turn | undefined>;

const PAUSE_MS = 250;
const TIMEOUT_MS = 5_000;
const RECORDS_PER_STEP = 10_000;

/**
 * Checks the marks in the store, and repairs it if necessary: marks what it has lost, so that the next drain
 * writes it, and claims the store for this database.
 * @returns busy if another process is writing, which will check for itself
 * @throws GraphUnavailable, GraphRejected
 */
export async function watch(options: DrainOptions): Promise<"whole" | "mended" | "busy"> {
  if (!(await findLoss(options))) return "whole";
  const done = await tryHold(options, (hold) => mend(options, hold));
  return done ?? "busy";
}

/** Does the same, but waits while other processes are writing. */
export async function watchUntilDone(options: DrainOptions): Promise<void> {
  while ((await watch(options)) === "busy") await sleep(PAUSE_MS);
}

async function findLoss({ pool, store, projector: { names } }: DrainOptions): Promise<Loss | undefined> {
  // The database is asked first: what the store was seen to hold by then, it must still hold.
  const known = await readKnown(pool);
  const { mark, graphs } = await readMarks(store, names, { timeoutMs: TIMEOUT_MS });
  const loss = (reason: string, what: Lost, foreign = true): Loss => ({
    reason,
    what,
    mark,
    graphs,
    foreign,
  });

  if (mark.identity !== known.identity) {
    if (mark.identity !== undefined || mark.turn !== 0n) {
      return loss("The graph store holds another graph", everything(names));
    }
    const reason = known.turn === 0n ? NEVER_WRITTEN : "The graph store is empty";
    // Or it has lost its marks, and nothing else.
    return loss(reason, everything(names), await holdsAnything(store, names, { timeoutMs: TIMEOUT_MS }));
  }
  // Last: the name of a drain is in the database before it can be in the graph.
  const own = await readOwn(pool, [mark, ...graphs.values()]);
  const behind = graphsBehind(names, known, mark, graphs, own);
  // Which of the two has won is not known record by record.
  if (mark.hasOverlap) return loss("Two updates have overlapped in the graph store", everything(names));
  if (mark.run === undefined) {
    return loss("An update was applied in part", new Map([...behind, ...changedLast(mark, graphs)]));
  }
  if (!own.has(mark)) return loss(OTHER_HISTORY, everything(names));
  if (mark.turn < known.turn) return loss("The graph store was set back to an earlier state", behind);
  if (Object.keys(names.contents).some((name) => !known.graphs.has(name as GraphName))) {
    return loss(NOT_NUMBERED, behind);
  }
  if (behind.size > 0) {
    const list = [...behind.keys()].join(", ");
    return loss(`The graph of ${list} was emptied, replaced or set back to an earlier state`, behind);
  }
  // Written by a process that died; or the database has lost what it knew of that
  // update, and records with it.
  const isAhead = [...graphs].some(([name, { turn }]) => turn > known.graphs.get(name)!);
  return isAhead || mark.turn > known.turn ? loss(NOT_NOTED, new Map()) : undefined;
}

interface Known {
  identity: string;
  turn: Turn;
  graphs: GraphTurns;
}

async function readKnown(db: Pool | PoolClient): Promise<Known> {
  const graphs = await readKnownTurns(db);
  const { rows } = await db.query<{ identity: string; turn: string }>(
    "select s.identity, s.turn from app_private.graph_store as s",
  );
  return { identity: rows[0]!.identity, turn: BigInt(rows[0]!.turn), graphs };
}

function everything(names: Names): Lost {
  return new Map((Object.keys(names.contents) as GraphName[]).map((name) => [name, undefined]));
}

/**
 * What the named graphs lack: everything, if their mark is not from this database, or
 * nothing is known about them.
 */
function graphsBehind(
  names: Names,
  known: Known,
  mark: Mark,
  graphs: GraphMarks,
  own: ReadonlySet<Said>,
): Lost {
  const behind = new Map<GraphName, Turn | undefined>();
  for (const name of Object.keys(names.contents) as GraphName[]) {
    const expected = known.graphs.get(name);
    const said = graphs.get(name);
    // Only a graph that is sent whole is ahead of the mark of the whole, by one,
    // until the update that shows it.
    const isOwn = said && own.has(said) && said.turn <= mark.turn + 1n;
    if (expected === undefined || !isOwn) behind.set(name, undefined);
    else if (said.turn < expected) behind.set(name, said.turn);
  }
  return behind;
}

function changedLast(mark: Mark, graphs: GraphMarks): Lost {
  return new Map([...graphs].filter(([, { turn }]) => turn === mark.turn).map(([name]) => [name, undefined]));
}

async function mend(options: DrainOptions, { client, session, lost }: Hold): Promise<"whole" | "mended"> {
  const { store, projector, logger } = options;
  const loss = await lastingLoss(options);
  if (!loss) return "whole";
  if (loss.reason === NEVER_WRITTEN) logger.info("the graph is written for the first time");
  else if (loss.reason === NOT_NUMBERED)
    logger.info("the named graphs get their numbers, and are written anew");
  else if (loss.reason === NOT_NOTED) logger.info("an update that was never noted is being handled");
  else logger.warn({ reason: loss.reason }, "the graph has lost something, which is written to it again");
  await client.query("select app_private.note_graph_work('behind', $1)", [`${loss.reason}.`]);
  for (const list of LIST_NAMES) {
    if (loss.what.has(list)) await client.query("select app_private.mark_references($1)", [list]);
  }
  for (const kind of RECORD_KINDS) {
    if (loss.what.has(kind)) await markRecords(client, kind, loss.what.get(kind));
  }
  // Does not wait for a verification: records that no table has are removed only with their graph. The
  // graph's other records are marked as well, because the store lacks them.
  const replaced = RECORD_KINDS.filter(
    (kind) => loss.foreign && loss.what.has(kind) && loss.what.get(kind) === undefined,
  );
  await client.query("select app_private.request_rebuild($1, true)", [replaced]);
  if (loss.foreign) await client.query("select app_private.request_verification()");
  // Marking takes a while. It is about what this store lacks, not one that has replaced it since.
  const mark = await readMark(store, projector.names, { timeoutMs: TIMEOUT_MS });
  if (mark.turn !== loss.mark.turn || mark.run !== loss.mark.run || mark.identity !== loss.mark.identity) {
    throw new GraphUnconfirmed("The graph store was exchanged while what it lacked was being marked.");
  }
  // Only now: a store that belongs to this database is believed to have lost nothing.
  const turn = await session.adopt(loss.graphs, lost);
  const names = Object.keys(projector.names.contents) as GraphName[];
  // The state of a store that was away until now says only that, so the loss is noted as well.
  await noteTurns(client, new Map(names.map((name) => [name, turn])), { loss: `${loss.reason}.` });
  return "mended";
}

/**
 * Looks again for a while: a store may only seem to have lost something while queries are answered from a
 * copy that is a little behind.
 */
async function lastingLoss(options: DrainOptions): Promise<Loss | undefined> {
  const { pool, patienceMs = PATIENCE_MS } = options;
  const { turn } = await readKnown(pool);
  const end = turn === 0n ? 0 : performance.now() + patienceMs;
  for (;;) {
    const loss = await findLoss(options);
    const leftMs = end - performance.now();
    if (!loss || loss.reason === NOT_NOTED || leftMs <= 0) return loss;
    await sleep(Math.min(PAUSE_MS, leftMs));
  }
}

/**
 * Marks records whose state in the graph has become uncertain, in steps so small that no
 * writer has to wait for long.
 * @param after only records that the graph was given after this update
 */
export async function markRecords(client: PoolClient, kind: RecordKind, after?: Turn): Promise<void> {
  let last: { id: string; held: string[] } | undefined;
  for (;;) {
    const { rows } = await client.query<NonNullable<typeof last>>(
      `with step as materialized (
         select r.record_id,
           r.state <> 'pending' and ($3::bigint is null or r.turn is null or greatest(r.turn, whole.turn) > $3) as lost
         from app_private.graph_records as r
         -- A kind that is new may never have been replaced as a whole.
         left join app_private.graph_rebuilds as whole using (kind)
         where r.kind = $1 and ($2::uuid is null or r.record_id > $2)
         order by r.record_id limit ${RECORDS_PER_STEP}
       ), idle as materialized (
         select r.record_id from app_private.graph_records as r join step using (record_id)
         where r.kind = $1 and step.lost
         for no key update of r skip locked
       ), marked as materialized (
         select app_private.mark_records($1, array_agg(record_id)) from idle having count(*) > 0
       ), held as (
         select array_agg(record_id) as ids from step
         where lost and record_id not in (select record_id from idle)
       )
       select step.record_id as id, (select coalesce(ids, '{}') from held) as held
       from step cross join (select count(*) from marked) as done
       order by step.record_id desc limit 1`,
      [kind, last?.id, after],
    );
    if (!rows[0]) return;
    last = rows[0];
    // Records that a writer holds are marked as well, since it may still roll back: one by one, because
    // waiting for two can end in a deadlock.
    for (const id of last.held) await client.query("select app_private.mark_records($1, $2)", [kind, [id]]);
  }
}
