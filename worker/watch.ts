// Notices that the store is not the one that it was, and marks what it has lost: an empty store, another one, the same
// one set back to an earlier state, or a database that was set back. Nothing fails when that happens, so it is looked
// for: the graph says whose it is and which update it took last (graph/turns.ts), and the database knows what it should
// say.
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { PATIENCE_MS } from "../graph/session.ts";
import { GraphUnconfirmed } from "../graph/store.ts";
import { drainOf, readMark } from "../graph/turns.ts";
import type { Mark } from "../graph/turns.ts";
import type { RecordKind } from "../records/record.ts";
import type { DrainOptions } from "./drain.ts";
import { tryHold } from "./hold.ts";
import type { Hold } from "./hold.ts";
import { referenceGraph } from "./references.ts";
import type { Reference } from "./references.ts";

// No loss, although the same is done about it.
const NEVER_WRITTEN = "The graph has not been written yet";

/** What is wrong with a store. */
interface Loss {
  /** for the operator, without a full stop */
  reason: string;
  what: Lost;
  /** what the store said of itself */
  mark: Mark;
  /** whether the store may hold what no table contains, which only a verification finds */
  foreign: boolean;
}

/** What must be written to the store again: everything, or what each condition that is given leaves of it. */
interface Lost {
  /** written after this update */
  after?: bigint;
  /** of these graphs */
  kinds?: readonly RecordKind[];
  lists?: readonly Reference[];
}

const PAUSE_MS = 250;
const TIMEOUT_MS = 5_000;
const RECORDS_PER_STEP = 10_000;
// Leaves room for as many drains again before the numbers of updates outgrow PostgreSQL's bigint.
const LARGEST_DRAIN = 2n ** 42n;

/**
 * Looks at what the store says of itself, and mends it if need be: marks what it has lost, so that the next drain writes
 * it, and makes the store the one of this database.
 * @returns busy: somebody else is writing, and will see for themselves
 * @throws GraphUnavailable, GraphRejected
 */
export async function watch(options: DrainOptions): Promise<"whole" | "mended" | "busy"> {
  if (!(await findLoss(options))) return "whole";
  const done = await tryHold(options, (hold) => mend(options, hold));
  return done ?? "busy";
}

/** @param drain the number of the caller's, if nobody else is writing */
async function findLoss(
  { pool, store, projector: { names } }: DrainOptions,
  drain?: bigint,
): Promise<Loss | undefined> {
  // The database is asked first: what the store was seen to hold by then, it must still hold.
  const known = await readKnown(pool);
  const mark = await readMark(store, names, { timeoutMs: TIMEOUT_MS });
  const loss = await compare(pool, known, mark, drain);
  if (loss) return loss;
  const kinds: RecordKind[] = [];
  for (const kind of known.kinds) if (await isEmpty(names.graphs[kind])) kinds.push(kind);
  const lists: Reference[] = [];
  for (const list of known.lists) if (await isEmpty(referenceGraph(names, list))) lists.push(list);
  if (kinds.length + lists.length === 0) return undefined;
  return {
    reason: `The graph of ${[...kinds, ...lists].join(", ")} is empty`,
    what: { kinds, lists },
    mark,
    foreign: false,
  };

  async function isEmpty(graph: string): Promise<boolean> {
    return !(await store.ask(`ASK { GRAPH <${graph}> { ?s ?p ?o } }`, { timeoutMs: TIMEOUT_MS }));
  }
}

interface Known {
  identity: string;
  turn: string;
  /** what must not be empty */
  kinds: RecordKind[];
  lists: Reference[];
}

async function readKnown(db: Pool | PoolClient): Promise<Known> {
  const { rows } = await db.query<Known>(
    `select s.identity, s.turn,
       array(select app_private.graphs_with_records())::text[] as kinds,
       array(select r.name from app_private.graph_references as r
             where r.revision = r.synced_revision and r.triples > 0 order by r.name) as lists
     from app_private.graph_store as s`,
  );
  return rows[0]!;
}

async function compare(
  db: Pool | PoolClient,
  known: Known,
  mark: Mark,
  drain?: bigint,
): Promise<Loss | undefined> {
  if (mark.identity !== known.identity) {
    return mark.identity === undefined && mark.turn === 0n
      ? {
          reason: known.turn === "0" ? NEVER_WRITTEN : "The graph store is empty",
          what: {},
          mark,
          foreign: false,
        }
      : { reason: "The graph store holds another graph", what: {}, mark, foreign: true };
  }
  if (mark.hasOverlap) {
    return {
      reason: "Two updates have overlapped in the graph store",
      // Which of the two has won is not known record by record.
      what: { kinds: [], lists: [] },
      mark,
      foreign: true,
    };
  }
  if (mark.turn < BigInt(known.turn)) {
    return {
      reason: "The graph store was set back to an earlier state",
      what: { after: mark.turn },
      mark,
      foreign: true,
    };
  }
  return drainOf(mark.turn) > (drain === undefined ? await lastDrain(db) : drain - 1n)
    ? {
        reason: "The database was set back to an earlier state than the graph's",
        what: {},
        mark,
        foreign: true,
      }
    : undefined;
}

async function lastDrain(db: Pool | PoolClient): Promise<bigint> {
  const { rows } = await db.query<{ last: string }>(
    "select s.drain as last from app_private.graph_store as s",
  );
  return BigInt(rows[0]!.last);
}

async function mend(
  options: DrainOptions,
  { client, session, drain, lost }: Hold,
): Promise<"whole" | "mended"> {
  const { store, projector, logger } = options;
  const loss = await lastingLoss(options, drain);
  if (!loss) return "whole";
  if (loss.reason === NEVER_WRITTEN) logger.info("the graph is written for the first time");
  else logger.warn({ reason: loss.reason }, "the graph has lost something, which is written to it again");
  await client.query("select app_private.note_graph_state('behind', $1)", [`${loss.reason}.`]);
  await markLists(client, loss.what);
  await markRecords(client, loss.what);
  if (loss.foreign) await client.query("select app_private.request_verification()");
  // Marking takes a while, and what was marked is what this store lacks, not one that has come in its place since.
  const mark = await readMark(store, projector.names, { timeoutMs: TIMEOUT_MS });
  if (mark.turn !== loss.mark.turn || mark.identity !== loss.mark.identity) {
    throw new GraphUnconfirmed("The graph store was exchanged while what it lacked was being marked.");
  }
  // Only now: a store that belongs to this database is believed to have lost nothing.
  await align(client, mark.turn);
  const turn = await session.adopt(lost);
  await client.query("update app_private.graph_store set turn = $1", [String(turn)]);
  return "mended";
}

/** A store may only seem to have lost something, while queries are answered from a copy that is a little behind. */
async function lastingLoss(options: DrainOptions, drain: bigint): Promise<Loss | undefined> {
  const { pool, patienceMs = PATIENCE_MS } = options;
  const { turn } = await readKnown(pool);
  const end = turn === "0" ? 0 : performance.now() + patienceMs;
  for (;;) {
    const loss = await findLoss(options, drain);
    if (!loss || performance.now() >= end) return loss;
    await sleep(PAUSE_MS);
  }
}

/** Makes drains be numbered after those that the store has seen. A number beyond reason is not one of ours. */
async function align(client: PoolClient, turn: bigint): Promise<void> {
  const seen = drainOf(turn);
  if (seen >= LARGEST_DRAIN) return;
  await client.query("update app_private.graph_store set drain = $1 where drain < $1", [String(seen)]);
}

async function markLists(client: PoolClient, { after, kinds, lists }: Lost): Promise<void> {
  await client.query(
    `select app_private.mark_references(r.name) from app_private.graph_references as r
     where ($1::bigint is null or r.turn is null or r.turn > $1) and ($2::text[] is null or r.name = any ($2))`,
    [after === undefined ? null : String(after), lists ?? (kinds && [])],
  );
}

/** Marks records whose state in the graph has become uncertain, in steps so small that no writer has to wait for long. */
export async function markRecords(client: PoolClient, { after, kinds }: Lost): Promise<void> {
  let last: { kind: RecordKind; id: string; held: Record<string, string[]> } | undefined;
  for (;;) {
    const { rows } = await client.query<NonNullable<typeof last>>(
      `with step as materialized (
         select r.kind, r.record_id,
           r.state <> 'pending' and ($4::bigint is null or r.turn is null or greatest(r.turn, b.turn) > $4) as lost
         from app_private.graph_records as r
         join app_private.graph_rebuilds as b using (kind)
         where r.kind = any (coalesce($3, enum_range(null::app_public.record_kind)))
           and ($1::app_public.record_kind is null or (r.kind, r.record_id) > ($1, $2::uuid))
         order by r.kind, r.record_id limit ${RECORDS_PER_STEP}
       ), idle as materialized (
         select r.kind, r.record_id from app_private.graph_records as r join step using (kind, record_id)
         where step.lost
         for no key update of r skip locked
       ), marked as materialized (
         select app_private.mark_records(kind, array_agg(record_id)) from idle group by kind
       ), held as (
         select kind, array_agg(record_id) as ids from step
         where lost and (kind, record_id) not in (select kind, record_id from idle) group by kind
       )
       select step.kind, step.record_id as id, (select coalesce(json_object_agg(kind, ids), '{}') from held) as held
       from step cross join (select count(*) from marked) as done
       order by step.kind desc, step.record_id desc limit 1`,
      [last?.kind ?? null, last?.id ?? null, kinds ?? null, after === undefined ? null : String(after)],
    );
    if (!rows[0]) return;
    last = rows[0];
    // A writer that holds a record may still roll back. Marked one by one: whoever waits for two can be in a deadlock.
    for (const [kind, ids] of Object.entries(last.held)) {
      for (const id of ids) await client.query("select app_private.mark_records($1, $2)", [kind, [id]]);
    }
  }
}
