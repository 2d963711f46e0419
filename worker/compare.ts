// Compares records with what the graph says about them, triple by triple.
import { setTimeout as sleep } from "node:timers/promises";
import { Parser } from "n3";
import type { Quad } from "@rdfjs/types";
import { DCTERMS } from "../graph/namespaces.ts";
import { readIri, termText, tripleText } from "../graph/ntriples.ts";
import type { GraphStore } from "../graph/store.ts";
import { namedNode } from "../graph/terms.ts";
import type { RecordKind } from "../records/record.ts";
import type { HoldOptions } from "./hold.ts";
import { prepare } from "./projection.ts";
import type { Projector } from "./projection.ts";
import { NEVER_MARKED, readRecords } from "./records.ts";
import type { PageRow } from "./records.ts";

/**
 * How a resource in the graph differs from the tables:
 * missing: it should be there; stale: it matches an earlier version; altered: it matches no version;
 * foreign: it should not be there.
 */
export type DifferenceKind = "missing" | "stale" | "altered" | "foreign";

export interface CompareOptions extends HoldOptions {
  projector: Projector;
}

const SETTLE_MS = 200;
// A record that has not been at rest after this many looks is about to be written anyway.
const LOOKS = 5;

/**
 * Compares a page of records. A record that is written between reading the table and reading the
 * graph only seems to differ, so apparent differences are looked at again until the record is
 * unchanged from one look to the next.
 * @returns the differences by id, and how many records were never at rest
 */
export async function compareRecords(
  kind: RecordKind,
  page: readonly PageRow[],
  options: CompareOptions,
): Promise<{ differing: Map<string, DifferenceKind>; pending: number }> {
  const differing = new Map<string, DifferenceKind>();
  let seen = page;
  let suspects = await compareOnce(kind, page, options);
  for (let look = 1; suspects.size > 0 && look < LOOKS; look += 1) {
    await sleep(SETTLE_MS);
    const revisions = new Map(seen.filter((row) => !isWaiting(row)).map((row) => [row.id, row.revision]));
    seen = await readRecords(options.pool, kind, [...suspects.keys()]);
    suspects = await compareOnce(kind, seen, options);
    for (const row of seen) {
      const { id, revision } = row;
      const difference = suspects.get(id);
      if (!difference || isWaiting(row) || revisions.get(id) !== revision) continue;
      differing.set(id, difference);
      suspects.delete(id);
    }
  }
  return { differing, pending: suspects.size };
}

/** Whether a record is waiting to be written. One that no trigger has seen is not. */
function isWaiting({ state, revision }: PageRow): boolean {
  return state === "pending" && revision !== NEVER_MARKED;
}

async function compareOnce(
  kind: RecordKind,
  rows: readonly PageRow[],
  { pool, store, projector }: CompareOptions,
): Promise<Map<string, DifferenceKind>> {
  const differing = new Map<string, DifferenceKind>();
  if (rows.length === 0) return differing;
  const { accepted, refused } = await prepare(projector, pool, rows);
  // A refused record that is in the graph all the same is found by its subject, not here. But a record that
  // was written may be refused by a newer check: then it should not be there.
  const synced = new Set(rows.filter(({ state }) => state === "synced").map(({ id }) => id));
  for (const { revision } of refused) if (synced.has(revision.id)) differing.set(revision.id, "foreign");
  const expected = new Map(
    accepted.map(({ triples }) => [triples.iri, new Set(triples.quads.map(tripleText))]),
  );
  const actual = await describe(store, projector.names.graphs[kind], [...expected.keys()]);
  for (const { revision, triples } of accepted) {
    const difference = differ(expected.get(triples.iri)!, actual.get(triples.iri));
    if (difference) differing.set(revision.id, difference);
  }
  return differing;
}

const MODIFIED = `> ${termText(namedNode(`${DCTERMS}modified`))} `;

/** How the triples of one subject differ from those that it should have; both as canonical lines. */
export function differ(
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
  if (iris.length === 0) return new Map();
  const values = iris.map((iri) => termText(namedNode(iri))).join(" ");
  const text = await store.construct(
    `CONSTRUCT { ?s ?p ?o } WHERE { VALUES ?s { ${values} } GRAPH <${graph}> { ?s ?p ?o } }`,
  );
  return readBySubject(text);
}

/**
 * Reads N-Triples from a store into canonical lines by subject. A line that cannot be read, such as one with
 * a term of a later RDF or an invalid IRI, is kept as it is: nothing that should be there looks like it.
 */
export function readBySubject(text: string): Map<string, Set<string>> {
  const read = (part: string) => bySubject(new Parser({ format: "N-Triples" }).parse(part));
  try {
    return read(text);
  } catch {
    const subjects = new Map<string, Set<string>>();
    for (const line of text.split(/\r?\n/)) {
      for (const [subject, lines] of orAsItIs(read, line)) {
        subjects.set(subject, new Set([...(subjects.get(subject) ?? []), ...lines]));
      }
    }
    return subjects;
  }
}

function orAsItIs(read: typeof readBySubject, line: string): ReturnType<typeof readBySubject> {
  try {
    return read(line);
  } catch {
    const subject = /^(?:<[^<>]*>|_:\S+|<<.*>>(?=\s))/.exec(line)?.[0] ?? line;
    return new Map([[readIri(subject) ?? subject, new Set([line])]]);
  }
}

/** Triples as canonical N-Triples lines, by subject. */
export function bySubject(quads: Iterable<Quad>): Map<string, Set<string>> {
  const subjects = new Map<string, Set<string>>();
  for (const quad of quads) {
    const lines = subjects.get(quad.subject.value) ?? new Set<string>();
    subjects.set(quad.subject.value, lines.add(tripleText(quad)));
  }
  return subjects;
}
