// Verifies the graph against the tables, in steps: all at once for an operator, spread
// over time in the background.
import { LIST_NAMES } from "../graph/namespaces.ts";
import type { GraphName, ListName } from "../graph/namespaces.ts";
import type { Numbered } from "../graph/turns.ts";
import { RECORD_KINDS } from "../records/index.ts";
import type { RecordKind } from "../records/record.ts";
import { bySubject, compareRecords, differ, readBySubject } from "./compare.ts";
import type { CompareOptions, DifferenceKind } from "./compare.ts";
import { hold } from "./hold.ts";
import { noteTurns } from "./marks.ts";
import { markAgain } from "./projection.ts";
import { countRecords, readPage } from "./records.ts";
import { referenceTriples } from "./references.ts";
import {
  contentOf,
  contentOfUnlisted,
  countUnnamed,
  removalOf,
  strangersAmongRecords,
  strangersAmongTurns,
  unlistedGraphs,
} from "./strangers.ts";

export interface Difference {
  kind: DifferenceKind;
  /** named graph, or "DEFAULT" for what is in none */
  graph: string;
  /** the resource, or the graph where that is foreign as a whole */
  iri: string;
  /** the record it is about, if the tables contain one */
  record?: { kind: RecordKind; id: string };
}

export interface VerifyOptions extends CompareOptions {
  /** whether to correct what differs in the service's own graphs */
  repair?: boolean;
  /** whether to drop data in the store outside the service's own graphs */
  dropUnlisted?: boolean;
  /** called for every difference as it is found */
  onDifference?: (difference: Difference) => void;
}

/** How far a round has come. */
export interface Position {
  /** index into PARTS */
  part: number;
  /** within a part: the last record that has been compared */
  after: string | undefined;
}

/** The result of one step, or of several. */
export interface VerifyResult {
  /** records that were compared */
  records: number;
  /** records and lists that are waiting for the next drain, and cannot be compared yet */
  pending: number;
  differences: Record<DifferenceKind, number>;
  /** resources that were removed, or marked for the next drain to write */
  repaired: number;
}

/** Does one step of a part. Returns where the next one begins, or undefined at the end of the part. */
type Part = (step: Step, after: string | undefined) => Promise<string | undefined>;

interface Step extends VerifyOptions {
  result: VerifyResult;
  found: (difference: Difference) => void;
}

const PAGE_SIZE = 500;

const PARTS: readonly Part[] = [
  ...RECORD_KINDS.flatMap((kind): Part[] => [
    (step, after) => verifyPage(kind, step, after),
    (step) => verifySubjects(kind, step),
  ]),
  ...LIST_NAMES.map(
    (list): Part =>
      (step) =>
        verifyList(list, step),
  ),
  verifyTurns,
  verifyRest,
];

export function nothingFound(): VerifyResult {
  return {
    records: 0,
    pending: 0,
    differences: { missing: 0, stale: 0, altered: 0, foreign: 0 },
    repaired: 0,
  };
}

export function countDifferences({ differences }: VerifyResult): number {
  return Object.values(differences).reduce((sum, count) => sum + count, 0);
}

/** About how many steps a round takes. */
export async function countSteps(db: CompareOptions["pool"]): Promise<number> {
  const counts = await Promise.all(RECORD_KINDS.map((kind) => countRecords(db, kind)));
  return counts.reduce((sum, count) => sum + Math.ceil(count / PAGE_SIZE), PARTS.length);
}

/**
 * Does one step of a round: a page of records, or the subjects of a graph, or a list. Writes may continue: a
 * difference counts only if it is still there when two looks in a row find the record unchanged.
 * @param result what was found is added to it
 * @returns where the next step begins; undefined at the end of the round
 * @throws GraphUnavailable, GraphRejected
 */
export async function verifyStep(
  options: VerifyOptions,
  { part, after }: Position,
  result: VerifyResult,
): Promise<Position | undefined> {
  const found = (difference: Difference) => {
    result.differences[difference.kind] += 1;
    options.onDifference?.(difference);
  };
  // An earlier release may have had more parts.
  const next = await PARTS[part]?.({ ...options, result, found }, after);
  if (next !== undefined) return { part, after: next };
  return part + 1 < PARTS.length ? { part: part + 1, after: undefined } : undefined;
}

/**
 * Compares the whole graph with the tables, and on request repairs it: foreign resources are removed at once,
 * everything else is marked for the next drain.
 * @param onProgress called with the number of records that have been compared
 * @throws GraphUnavailable, GraphRejected
 */
export async function verify(
  options: VerifyOptions,
  onProgress: (records: number) => void = () => undefined,
): Promise<VerifyResult> {
  const result = nothingFound();
  let position: Position | undefined = { part: 0, after: undefined };
  while (position) {
    position = await verifyStep(options, position, result);
    onProgress(result.records);
  }
  await options.pool.query("select app_private.end_verification($1)", [
    countDifferences(result) - result.repaired,
  ]);
  return result;
}

async function verifyPage(
  kind: RecordKind,
  step: Step,
  after: string | undefined,
): Promise<string | undefined> {
  const { pool, projector, repair, result, found } = step;
  const graph = projector.names.graphs[kind];
  const page = await readPage(pool, kind, after, PAGE_SIZE);
  if (page.length === 0) return undefined;
  const { differing, pending } = await compareRecords(kind, page, step);
  for (const [id, difference] of differing) {
    found({ kind: difference, graph, iri: projector.names.record(kind, id), record: { kind, id } });
  }
  if (repair && differing.size > 0) {
    await markAgain(pool, kind, [...differing.keys()]);
    result.repaired += differing.size;
  }
  result.records += page.length;
  result.pending += pending;
  return page.length < PAGE_SIZE ? undefined : page.at(-1)!.id;
}

async function verifySubjects(kind: RecordKind, step: Step): Promise<undefined> {
  const { pool, store } = step;
  const { names } = step.projector;
  const graph = names.graphs[kind];
  let removed = 0;
  for await (const strangers of strangersAmongRecords({ pool, store, names }, kind)) {
    for (const { iri, refused } of strangers) {
      step.found({ kind: "foreign", graph, iri, ...(refused && { record: { kind, id: refused } }) });
    }
    if (!step.repair) continue;
    const foreign = strangers.filter(({ refused }) => refused === undefined).map(({ iri }) => iri);
    const refused = strangers.flatMap(({ refused: id }) => id ?? []);
    if (foreign.length > 0) await change(step, [kind], (parts) => removalOf(parts, names, graph, foreign));
    if (refused.length > 0) await markAgain(pool, kind, refused);
    removed += foreign.length;
    step.result.repaired += refused.length;
  }
  if (removed === 0) return;
  let left = 0;
  for await (const strangers of strangersAmongRecords({ pool, store, names }, kind)) {
    left += strangers.filter(({ refused }) => refused === undefined).length;
  }
  step.result.repaired += gone(removed, left);
}

/** How many of the removed subjects are gone. The store may still show some, although it took the update. */
function gone(removed: number, left: number): number {
  return Math.max(0, removed - left);
}

/** The lists are small enough to be compared, and rewritten, as a whole. */
async function verifyList(
  list: ListName,
  { pool, store, projector, repair, result, found }: Step,
): Promise<undefined> {
  const { names } = projector;
  const graph = names.lists[list];
  const before = countDifferences(result);
  const revision = await revisionAtRest(pool, list);
  const expected = bySubject(await referenceTriples(pool, names, list));
  const text = await store.construct(`CONSTRUCT { ?s ?p ?o } WHERE { ${contentOf(names, graph)} }`);
  const actual = readBySubject(text);
  if (revision === undefined || (await revisionAtRest(pool, list)) !== revision) {
    result.pending += 1;
    return;
  }
  for (const [iri, lines] of expected) {
    const difference = differ(lines, actual.get(iri));
    if (difference) found({ kind: difference === "missing" ? "missing" : "altered", graph, iri });
  }
  for (const iri of actual.keys()) if (!expected.has(iri)) found({ kind: "foreign", graph, iri });
  const differing = countDifferences(result) - before;
  if (!repair || differing === 0) return;
  await pool.query("select app_private.mark_references($1)", [list]);
  result.repaired += differing;
}

/** The revision of a list; undefined while it is waiting to be written. */
async function revisionAtRest(pool: VerifyOptions["pool"], list: ListName): Promise<string | undefined> {
  const { rows } = await pool.query<{ revision: string }>(
    "select revision from app_private.graph_references where name = $1 and revision = synced_revision",
    [list],
  );
  return rows[0]?.revision;
}

async function verifyTurns(step: Step): Promise<undefined> {
  const { names } = step.projector;
  const strangers = await strangersAmongTurns(step.store, names);
  for (const iri of strangers) step.found({ kind: "foreign", graph: names.turnsGraph, iri });
  if (!step.repair || strangers.length === 0) return;
  await change(step, [], (parts) => removalOf(parts, names, names.turnsGraph, strangers));
  step.result.repaired += gone(strangers.length, (await strangersAmongTurns(step.store, names)).length);
}

/**
 * Data outside the service's graphs may have been put there on purpose, so it is
 * removed only for an operator.
 */
async function verifyRest(step: Step): Promise<undefined> {
  const { store, dropUnlisted, result, found } = step;
  const { names } = step.projector;
  const unlisted = await unlistedGraphs(store, names);
  for (const graph of unlisted) {
    found({ kind: "foreign", graph, iri: graph });
    if (!dropUnlisted) continue;
    await change(
      step,
      [],
      ({ note, condition }) =>
        `${note} ;\nDELETE { GRAPH ?g { ?s ?p ?o } } WHERE { ${condition} ${contentOfUnlisted(graph)} }`,
    );
  }
  if (dropUnlisted && unlisted.length > 0) {
    result.repaired += gone(unlisted.length, (await unlistedGraphs(store, names)).length);
  }
  if ((await countUnnamed(store)) === 0) return;
  found({ kind: "foreign", graph: "DEFAULT", iri: "DEFAULT" });
  if (!dropUnlisted) return;
  // Without the condition, which DROP cannot have. Engines differ in what a DELETE takes for the default
  // graph: RDF4J would empty every graph.
  await change(step, [], ({ note }) => `${note} ;\nDROP SILENT DEFAULT`);
  result.repaired += gone(1, await countUnnamed(store));
}

/**
 * Sends an update that removes something, while no other process is writing, and waits until queries show it.
 * @throws GraphUnavailable, GraphRejected
 */
async function change(
  options: CompareOptions,
  graphs: readonly GraphName[],
  build: (parts: Numbered) => string,
): Promise<void> {
  await hold(options, async ({ client, session, lost }) => {
    const turn = await session.update(graphs, build, lost);
    await noteTurns(client, new Map(graphs.map((name) => [name, turn])));
  });
}
