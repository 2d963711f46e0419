// Counts errors by comparing contents: the tables with what was acknowledged, the graph with the tables.
import { GRAPHS, DATA, MODIFIED, fact, readExpected, same, text } from "./expected.ts";
import type { Expected } from "./expected.ts";
import { readGraph, readOtherGraphs } from "./graph-reader.ts";
import type { Counted, GraphDoor } from "./service.ts";
import type { Acknowledged, Kind, Log } from "./writer.ts";

const KINDS = Object.keys(GRAPHS) as Kind[];
const MOST_EXAMPLES = 3;

/** How many records, or resources of lists, are wrong in the graph, and how. */
export type Wrong = {
  missing: number;
  /** as an earlier version had it */
  stale: number;
  /** as no version had it */
  altered: number;
  /** should not be there: subjects, blank nodes, named graphs */
  foreign: number;
  /** changes that the service itself reports as not yet written */
  pending: number;
  examples: string[];
};

/** The contents of named graphs other than those of records; they must not change in a scenario. */
export type Lists = readonly string[];

// The projection's own notes change with every update.
const NOTES = `${DATA}/projection/`;

export function readLists(service: Counted): Promise<Lists> {
  return readOtherGraphs(service.graph(), [...Object.values(GRAPHS), NOTES]);
}

export async function countWrong(service: Counted, lists: Lists | undefined): Promise<Wrong> {
  const wrong: Wrong = { missing: 0, stale: 0, altered: 0, foreign: 0, pending: 0, examples: [] };
  const note = (what: "missing" | "stale" | "altered" | "foreign", which: string) => {
    wrong[what] += 1;
    if (wrong.examples.length < MOST_EXAMPLES) wrong.examples.push(`${what}: ${which}`);
  };
  for (const kind of KINDS) {
    const expected = await readExpected(service, kind);
    const said = await readGraph(service.graph(), GRAPHS[kind]);
    for (const [iri, record] of expected) {
      const what = compare(record, said.get(iri));
      if (what) note(what, iri);
    }
    for (const subject of said.keys()) if (!expected.has(subject)) note("foreign", subject);
  }
  if (lists) {
    const before = new Set(lists);
    const now = await readLists(service);
    const after = new Set(now);
    for (const line of before) if (!after.has(line)) note("missing", line);
    for (const line of after) if (!before.has(line)) note("foreign", line);
    for (let excess = now.length - after.size; excess > 0; excess -= 1) note("foreign", "a triple twice");
  }
  const [health] = await service.sql<{ pending: string }>("select pending from rest.health");
  wrong.pending = Number(health!.pending);
  return wrong;
}

function compare({ facts, modified }: Expected, said: Set<string> | undefined) {
  if (!said) return "missing";
  if (same(facts, said)) return undefined;
  const times = [...said].filter((each) => each.startsWith(`${MODIFIED} `));
  const expected = fact(MODIFIED, text(modified, "http://www.w3.org/2001/XMLSchema#dateTime"));
  return times.length === 1 && times[0] !== expected ? "stale" : "altered";
}

/**
 * Counts records that the service calls synced although queries of the store do not show them as they are.
 * The tables are read before and after, so that a change in between does not count.
 */
export async function countFalselySynced(service: Counted, door: GraphDoor, log: Log): Promise<number> {
  let count = 0;
  for (const kind of KINDS) {
    const ids = log.records.filter((record) => record.kind === kind).slice(-100);
    if (ids.length === 0) continue;
    const claimed = await readExpected(service, kind, idsOf(ids));
    const said = await readGraph(door, GRAPHS[kind], [...claimed.keys()]);
    const still = await readExpected(service, kind, idsOf(ids));
    for (const [iri, record] of claimed) {
      const after = still.get(iri);
      if (after && same(after.facts, record.facts) && compare(record, said.get(iri))) count += 1;
    }
  }
  return count;
}

const idsOf = (records: readonly Acknowledged[]) => records.map(({ id }) => id);

const COLUMNS: Record<Kind, string> = {
  need: "need_id as id, need_description as description, accelerators as codes, status from app_public.needs",
  commitment: `commitment_id as id, commitment_description as description, accelerator_scope as codes, status
     from app_public.commitments`,
  engagement_claim: `claim_id as id, description, engagement_accelerators as codes, status
     from app_public.engagement_claims`,
};

/**
 * Counts acknowledged records that the tables do not have, or have with other values than were acknowledged.
 */
export async function countLost({ sql }: Counted, { records }: Log): Promise<number> {
  let lost = 0;
  for (const kind of KINDS) {
    type Row = { id: string; description: string; codes: string[]; status: string };
    const rows = new Map((await sql<Row>(`select ${COLUMNS[kind]}`)).map((row) => [row.id, row]));
    for (const record of records.filter((each) => each.kind === kind)) {
      const row = rows.get(record.id);
      const kept =
        row?.description === record.description &&
        record.statuses.has(row.status) &&
        same(new Set(row.codes), new Set(record.codes));
      if (!kept) lost += 1;
    }
  }
  return lost;
}
