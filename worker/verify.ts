// Compares the graph with the tables, record by record and triple by triple.
import { setTimeout as sleep } from "node:timers/promises";
import { createInterface } from "node:readline";
import { Parser } from "n3";
import type { Pool } from "pg";
import { DCTERMS } from "../graph/namespaces.ts";
import { RECORD_KINDS } from "../records/index.ts";
import type { RecordKind } from "../records/record.ts";
import { termText, tripleText } from "../graph/ntriples.ts";
import { namedNode } from "../graph/terms.ts";
import type { GraphStore } from "../graph/store.ts";
import { markAgain, prepare } from "./projection.ts";
import type { Projector } from "./projection.ts";
import { countRecords, existingIds, readPage, readRecords } from "./records.ts";
import type { PageRow } from "./records.ts";
import { REFERENCES, referenceGraph, referenceTriples } from "./references.ts";

/**
 * How a resource in the graph differs from the tables:
 * missing: it should be there; stale: it matches an earlier version; altered: it matches no version;
 * foreign: it should not be there.
 */
type DifferenceKind = "missing" | "stale" | "altered" | "foreign";

export interface Difference {
  kind: DifferenceKind;
  /** named graph */
  graph: string;
  iri: string;
  /** the record it is about, if the tables contain one */
  record?: { kind: RecordKind; id: string };
}

export interface VerifyOptions {
  pool: Pool;
  store: GraphStore;
  projector: Projector;
  /** whether to correct what differs */
  repair?: boolean;
  onTotal?: (records: number) => void;
  onProgress?: (records: number) => void;
  /** called for every difference as it is found */
  onDifference?: (difference: Difference) => void;
}

export interface VerifyResult {
  /** records that were compared */
  records: number;
  /** records that are waiting for the next drain, about which nothing can be said yet */
  pending: number;
  differences: Record<DifferenceKind, number>;
  /** resources that were removed, or marked for the next drain to write */
  repaired: number;
}

const PAGE_SIZE = 500;
const SETTLE_MS = 200;
// A record that has not been at rest after this many looks is about to be written anyway.
const LOOKS = 5;

/**
 * Compares the graph with the tables, and on request repairs it: foreign resources are removed at once,
 * everything else is marked for the next drain. Writes may continue: a difference counts only if it is
 * still there after the record was seen at rest twice.
 * @throws GraphUnavailable
 */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const { pool, onTotal } = options;
  const result: VerifyResult = {
    records: 0,
    pending: 0,
    differences: { missing: 0, stale: 0, altered: 0, foreign: 0 },
    repaired: 0,
  };
  const counts = await Promise.all(RECORD_KINDS.map((kind) => countRecords(pool, kind)));
  onTotal?.(counts.reduce((sum, count) => sum + count, 0));
  for (const kind of RECORD_KINDS) {
    await verifyRecords(kind, options, result);
    await verifySubjects(kind, options, result);
  }
  await verifyReferences(options, result);
  return result;
}

function found(difference: Difference, { onDifference }: VerifyOptions, result: VerifyResult): void {
  result.differences[difference.kind] += 1;
  onDifference?.(difference);
}

async function verifyRecords(kind: RecordKind, options: VerifyOptions, result: VerifyResult): Promise<void> {
  const { pool, projector, repair, onProgress } = options;
  const graph = projector.names.graphs[kind];
  let after: string | undefined;
  for (;;) {
    const page = await readPage(pool, kind, after, PAGE_SIZE);
    if (page.length === 0) return;
    after = page.at(-1)!.id;
    const differing = await compareUntilAtRest(kind, page, options, result);
    for (const [id, difference] of differing) {
      found(
        { kind: difference, graph, iri: projector.names.record(kind, id), record: { kind, id } },
        options,
        result,
      );
    }
    if (repair && differing.size > 0) {
      await markAgain(pool, kind, [...differing.keys()]);
      result.repaired += differing.size;
    }
    result.records += page.length;
    onProgress?.(page.length);
  }
}

/**
 * A record that was written between the look at the table and the look at the graph only seems to differ, so
 * apparent differences are looked at again until the record has been at rest from one look to the next.
 */
async function compareUntilAtRest(
  kind: RecordKind,
  page: readonly PageRow[],
  options: VerifyOptions,
  result: VerifyResult,
): Promise<Map<string, DifferenceKind>> {
  const differing = new Map<string, DifferenceKind>();
  let seen = page;
  let suspects = await compare(kind, page, options);
  for (let look = 1; suspects.size > 0 && look < LOOKS; look += 1) {
    await sleep(SETTLE_MS);
    const revisions = new Map(
      seen.filter((row) => row.state !== "pending").map((row) => [row.id, row.revision]),
    );
    seen = await readRecords(options.pool, kind, [...suspects.keys()]);
    suspects = await compare(kind, seen, options);
    for (const { id, revision, state } of seen) {
      const difference = suspects.get(id);
      if (!difference || state === "pending" || revisions.get(id) !== revision) continue;
      differing.set(id, difference);
      suspects.delete(id);
    }
  }
  result.pending += suspects.size;
  return differing;
}

async function compare(
  kind: RecordKind,
  rows: readonly PageRow[],
  { pool, store, projector }: VerifyOptions,
): Promise<Map<string, DifferenceKind>> {
  const differing = new Map<string, DifferenceKind>();
  if (rows.length === 0) return differing;
  const expected = new Map<string, Set<string>>();
  const { accepted } = await prepare(projector, pool, rows);
  // A record that should not be there is found by its subject, not here.
  for (const { triples } of accepted) expected.set(triples.iri, new Set(triples.quads.map(tripleText)));
  const actual = await describe(store, projector.names.graphs[kind], [...expected.keys()]);
  for (const { revision, triples } of accepted) {
    const difference = differ(expected.get(triples.iri)!, actual.get(triples.iri));
    if (difference) differing.set(revision.id, difference);
  }
  return differing;
}

const MODIFIED = `> ${termText(namedNode(`${DCTERMS}modified`))} `;

function differ(
  expected: ReadonlySet<string>,
  actual: ReadonlySet<string> | undefined,
): DifferenceKind | undefined {
  if (!actual) return "missing";
  if (expected.size === actual.size && [...expected].every((line) => actual.has(line))) return undefined;
  const modified = (lines: ReadonlySet<string>) => [...lines].find((line) => line.includes(MODIFIED));
  return modified(expected) === modified(actual) ? "altered" : "stale";
}

/** The triples of some subjects, as canonical N-Triples lines by subject. */
async function describe(
  store: GraphStore,
  graph: string,
  iris: readonly string[],
): Promise<Map<string, Set<string>>> {
  const described = new Map<string, Set<string>>();
  if (iris.length === 0) return described;
  const values = iris.map((iri) => termText(namedNode(iri))).join(" ");
  const text = await store.construct(
    `CONSTRUCT { ?s ?p ?o } WHERE { VALUES ?s { ${values} } GRAPH <${graph}> { ?s ?p ?o } }`,
  );
  for (const quad of new Parser({ format: "N-Triples" }).parse(text)) {
    const lines = described.get(quad.subject.value) ?? new Set<string>();
    described.set(quad.subject.value, lines.add(tripleText(quad)));
  }
  return described;
}

/** Finds the subjects of a graph that it should not have. */
async function verifySubjects(kind: RecordKind, options: VerifyOptions, result: VerifyResult): Promise<void> {
  const { pool, store, projector, repair } = options;
  const graph = projector.names.graphs[kind];
  for await (const subjects of subjectsOf(store, graph)) {
    const ids = new Map(subjects.map((iri) => [iri, idOf(graph, iri)]));
    const existing = await existingIds(
      pool,
      kind,
      [...ids.values()].filter((id) => id !== undefined),
    );
    const foreign: string[] = [];
    const refused: string[] = [];
    for (const [iri, id] of ids) {
      const state = id === undefined ? undefined : existing.get(id);
      if (state === undefined) foreign.push(iri);
      else if (state === "rejected") refused.push(id!);
    }
    for (const iri of foreign) found({ kind: "foreign", graph, iri }, options, result);
    for (const id of refused) {
      found(
        { kind: "foreign", graph, iri: projector.names.record(kind, id), record: { kind, id } },
        options,
        result,
      );
    }
    if (!repair) continue;
    if (foreign.length > 0) await removeSubjects(store, graph, foreign);
    if (refused.length > 0) await markAgain(pool, kind, refused);
    result.repaired += foreign.length + refused.length;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function idOf(graph: string, iri: string): string | undefined {
  const id = iri.startsWith(graph) ? iri.slice(graph.length) : "";
  return UUID.test(id) ? id : undefined;
}

/** The subjects of a graph in groups, streamed: there may be as many as there are records. */
async function* subjectsOf(store: GraphStore, graph: string): AsyncGenerator<string[]> {
  const { body } = await store.query(`SELECT DISTINCT ?s WHERE { GRAPH <${graph}> { ?s ?p ?o } }`, {
    accept: "text/tab-separated-values",
    priority: "service",
    timeoutMs: 600_000,
  });
  let subjects: string[] = [];
  for await (const line of createInterface({ input: body, crlfDelay: Infinity })) {
    const iri = /^<(.*)>$/.exec(line)?.[1];
    if (iri === undefined) continue;
    subjects.push(iri);
    if (subjects.length < PAGE_SIZE) continue;
    yield subjects;
    subjects = [];
  }
  if (subjects.length > 0) yield subjects;
}

async function removeSubjects(store: GraphStore, graph: string, iris: readonly string[]): Promise<void> {
  const values = iris.map((iri) => termText(namedNode(iri))).join(" ");
  await store.update(
    `DELETE { GRAPH <${graph}> { ?s ?p ?o } } WHERE { VALUES ?s { ${values} } GRAPH <${graph}> { ?s ?p ?o } }`,
  );
}

/** The lists are small enough to be compared, and rewritten, as a whole. */
async function verifyReferences(options: VerifyOptions, result: VerifyResult): Promise<void> {
  const { pool, store, projector, repair } = options;
  for (const reference of REFERENCES) {
    const graph = referenceGraph(projector.names, reference);
    const expected = bySubject(await referenceTriples(pool, projector.names, reference));
    const text = await store.construct(`CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <${graph}> { ?s ?p ?o } }`);
    const actual = bySubject(new Parser({ format: "N-Triples" }).parse(text));
    const before = result.differences.missing + result.differences.altered + result.differences.foreign;
    for (const [iri, lines] of expected) {
      const difference = differ(lines, actual.get(iri));
      if (difference)
        found({ kind: difference === "missing" ? "missing" : "altered", graph, iri }, options, result);
    }
    for (const iri of actual.keys()) {
      if (!expected.has(iri)) found({ kind: "foreign", graph, iri }, options, result);
    }
    const differing =
      result.differences.missing + result.differences.altered + result.differences.foreign - before;
    if (!repair || differing === 0) continue;
    await pool.query("select app_private.mark_references($1)", [reference]);
    result.repaired += differing;
  }
}

function bySubject(quads: Iterable<Parameters<typeof tripleText>[0]>): Map<string, Set<string>> {
  const subjects = new Map<string, Set<string>>();
  for (const quad of quads) {
    const lines = subjects.get(quad.subject.value) ?? new Set<string>();
    subjects.set(quad.subject.value, lines.add(tripleText(quad)));
  }
  return subjects;
}
