// What the database knows about the marks that named graphs should have (graph/turns.ts).
import type { GraphName } from "../graph/namespaces.ts";
import { drainOf } from "../graph/turns.ts";
import type { GraphTurns, Said, Turn } from "../graph/turns.ts";
import type { Queryable } from "./records.ts";

// How many drains are remembered, which takes 7 MB. A graph whose mark is from a forgotten drain
// is written again as a whole.
const REMEMBERED = 100_000n;
const FORGET_EVERY = 1_000n;
// How many drains are accepted that could not note their updates. There are more only while no update counts.
const UNNOTED = 100;

/** A drain that is starting. */
interface Run {
  /** identity of the database */
  identity: string;
  drain: bigint;
  /** the last update that the store was seen to hold */
  last: Turn;
  /** a unique name, since another history may have a drain of this number */
  run: string;
}

/** Gives a drain its number and its name, before any update can carry them. */
export async function drawRun(db: Queryable): Promise<Run> {
  const { rows } = await db.query<Record<keyof Run, string>>({
    name: "draw_run",
    text: `
      with next as (
        update app_private.graph_store as s set drain = s.drain + 1 returning s.identity, s.drain, s.turn
      ), drawn as (
        insert into app_private.graph_runs (drain) select n.drain from next as n
        -- Whoever has set the drain back by hand.
        on conflict (drain) do update set run = excluded.run
        returning run
      )
      select n.identity, n.drain, n.turn as last, d.run from next as n cross join drawn as d`,
  });
  const { identity, run, ...row } = rows[0]!;
  const drain = BigInt(row.drain);
  if (drain % FORGET_EVERY === 0n) await forget(db, drain - REMEMBERED);
  return { identity, run, drain, last: BigInt(row.last) };
}

/** Forgets the drains before the given one, except those that the marks of graphs should name. */
async function forget(db: Queryable, first: bigint): Promise<void> {
  const graphs = await readKnownTurns(db);
  await db.query("delete from app_private.graph_runs where drain < $1 and drain <> all ($2::bigint[])", [
    first,
    drainsOf([...graphs.values()]),
  ]);
}

/**
 * The names of drains that marks may have when nothing has been lost: those of noted updates, and those of
 * drains that could not note theirs.
 */
export async function readRuns(db: Queryable, last: Turn, graphs: GraphTurns): Promise<string[]> {
  const { rows } = await db.query<{ run: string }>({
    name: "read_runs",
    text: `
      select r.run from app_private.graph_runs as r where r.drain = any ($1::bigint[])
      union
      (select r.run from app_private.graph_runs as r where r.drain >= $2 order by r.drain desc limit ${UNNOTED})`,
    values: [drainsOf([...graphs.values()]), drainOf(last)],
  });
  return rows.map(({ run }) => run);
}

/**
 * Which of these marks are from this database. They must have been read from the store before this is called.
 */
export async function readOwn(db: Queryable, said: readonly Said[]): Promise<Set<Said>> {
  const possible = said.map(({ turn }) => turn).filter((turn) => BigInt.asIntN(64, turn) === turn);
  const { rows } = await db.query<{ drain: string; run: string }>(
    `select r.drain, r.run from app_private.graph_runs as r cross join app_private.graph_store as s
     where r.drain <= s.drain and r.drain = any ($1::bigint[])`,
    [drainsOf(possible)],
  );
  const runs = new Map(rows.map(({ drain, run }) => [drain, run]));
  return new Set(
    said.filter(({ turn, run }) => run !== undefined && runs.get(String(drainOf(turn))) === run),
  );
}

function drainsOf(turns: readonly Turn[]): bigint[] {
  return turns.map(drainOf);
}

/** The last update that was seen to change each named graph. */
export async function readKnownTurns(db: Queryable): Promise<Map<GraphName, Turn>> {
  const { rows } = await db.query<{ name: GraphName; turn: string }>(
    "select name, turn from app_private.graph_marks",
  );
  return new Map(rows.map(({ name, turn }) => [name, BigInt(turn)]));
}

/**
 * Notes the updates that were seen to change named graphs: from now on, these must not have lower numbers.
 * @param last the last update of all, if it changed none of them
 * @param loss what the store has lost, if that is why it is behind
 */
export async function noteTurns(
  db: Queryable,
  turns: GraphTurns,
  { last, loss }: { last?: Turn; loss?: string } = {},
): Promise<void> {
  await db.query({
    name: "note_turns",
    text: "select app_private.note_graph_turns($1, $2, $3, $4)",
    values: [[...turns.keys()], [...turns.values()], last, loss],
  });
}
