// Finds data that should not be in the store at all: in the graphs of the service, and
// elsewhere in what partners query.
import type { Readable } from "node:stream";
import type { Pool } from "pg";
import type { RecordKind } from "../records/record.ts";
import type { Names } from "../graph/namespaces.ts";
import { readIri, termText } from "../graph/ntriples.ts";
import type { GraphStore } from "../graph/store.ts";
import { literal, namedNode } from "../graph/terms.ts";
import { exceptMark } from "../graph/turns.ts";
import type { Numbered } from "../graph/turns.ts";
import { existingIds } from "./records.ts";

/**
 * A subject that should not be there: an IRI, or what the store writes for anything else, such
 * as the label of a blank node.
 */
interface Stranger {
  iri: string;
  /** the id of the record, if the load check refused it */
  refused?: string;
}

const SUBJECTS_AT_ONCE = 500;
// For queries over whole graphs: a million records take a minute or two, and no caller waits for that.
const TIMEOUT_MS = 3_600_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The subjects that the graph of a kind should not have, in groups. */
export async function* strangersAmongRecords(
  { pool, store, names }: { pool: Pool; store: GraphStore; names: Names },
  kind: RecordKind,
): AsyncGenerator<Stranger[]> {
  const graph = names.graphs[kind];
  for await (const subjects of subjectsOf(store, names, graph)) {
    const ids = new Map(subjects.map((subject) => [subject, idOf(graph, subject)]));
    const existing = await existingIds(
      pool,
      kind,
      [...ids.values()].filter((id) => id !== undefined),
    );
    const strangers = [...ids].flatMap(([iri, id]): Stranger[] => {
      const state = id === undefined ? undefined : existing.get(id);
      if (state === undefined) return [{ iri }];
      return state === "rejected" ? [{ iri, refused: id! }] : [];
    });
    const lasting = await stillThere(store, graph, strangers);
    if (lasting.length > 0) yield lasting;
  }
}

/** Leaves out records that were removed in the meantime: a large graph takes minutes to list. */
async function stillThere(store: GraphStore, graph: string, strangers: Stranger[]): Promise<Stranger[]> {
  const records = strangers.filter(({ iri }) => idOf(graph, iri) !== undefined);
  if (records.length === 0) return strangers;
  const values = records.map(({ iri }) => termText(namedNode(iri))).join(" ");
  const rows = await store.select(
    `SELECT DISTINCT ?s WHERE { VALUES ?s { ${values} } GRAPH <${graph}> { ?s ?p ?o } }`,
  );
  const there = new Set(rows.map(({ s }) => s?.value));
  return strangers.filter((stranger) => !records.includes(stranger) || there.has(stranger.iri));
}

function idOf(graph: string, iri: string): string | undefined {
  const id = iri.startsWith(graph) ? iri.slice(graph.length) : "";
  return UUID.test(id) ? id : undefined;
}

/** The subjects that should not be in the graph with the mark of the whole (graph/turns.ts). */
export async function strangersAmongTurns(store: GraphStore, names: Names): Promise<string[]> {
  const strangers: string[] = [];
  for await (const subjects of subjectsOf(store, names, names.turnsGraph)) strangers.push(...subjects);
  return strangers;
}

/** The subjects of a graph in groups, streamed: there may be as many as there are records. */
async function* subjectsOf(store: GraphStore, names: Names, graph: string): AsyncGenerator<string[]> {
  // REDUCED is enough, and the store need not remember all subjects: it finds the
  // triples of a subject together.
  const { body } = await store.query(`SELECT REDUCED ?s WHERE { ${contentOf(names, graph)} }`, {
    accept: "text/tab-separated-values",
    // As a public query: the embedded store builds answers to the service's own queries in one piece,
    // for which this may be too long.
    priority: "public",
    fresh: true,
    timeoutMs: TIMEOUT_MS,
  });
  let subjects: string[] = [];
  let last: string | undefined;
  try {
    for await (const line of linesOf(body)) {
      // The name of the column comes first.
      if (!/^(?:<|_:)/.test(line) || line === last) continue;
      last = line;
      subjects.push(readIri(line) ?? line);
      if (subjects.length < SUBJECTS_AT_ONCE) continue;
      yield subjects;
      subjects = [];
    }
    if (subjects.length > 0) yield subjects;
  } finally {
    // Otherwise the query would go on when the consumer stops early.
    body.destroy();
  }
}

/**
 * Splits at the line breaks of the format only: an IRI may contain other characters that some
 * readers take for a line break.
 */
async function* linesOf(body: Readable): AsyncGenerator<string> {
  let begun = "";
  for await (const chunk of body.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (begun + chunk).split(/\r?\n/);
    begun = lines.pop()!;
    yield* lines;
  }
  yield begun;
}

/** A pattern for everything that a graph holds, except its mark. */
export function contentOf(names: Names, graph: string): string {
  return `GRAPH <${graph}> { ?s ?p ?o ${exceptMark(names, graph)} }`;
}

/**
 * The update that removes subjects from a graph. Subjects that are not IRIs cannot be named,
 * so all of those are removed.
 */
export function removalOf(
  { note, condition }: Numbered,
  names: Names,
  graph: string,
  subjects: readonly string[],
): string {
  const remove = (which: string) =>
    `DELETE { GRAPH <${graph}> { ?s ?p ?o } } WHERE { ${condition} ${which} ${contentOf(names, graph)} }`;
  const plain = subjects.filter(isPlain);
  const odd = subjects.filter((subject) => isIri(subject) && !isPlain(subject));
  const values = plain.map((iri) => termText(namedNode(iri))).join(" ");
  const texts = odd.map((iri) => termText(literal(iri))).join(", ");
  return [
    note,
    ...(plain.length > 0 ? [remove(`VALUES ?s { ${values} }`)] : []),
    ...(odd.length > 0 ? [remove(`FILTER(STR(?s) IN (${texts}))`)] : []),
    ...(subjects.every(isIri) ? [] : [remove("FILTER(!isIRI(?s))")]),
  ].join(" ;\n");
}

function isIri(subject: string): boolean {
  return !/^(?:_:|<<)/.test(subject);
}

/**
 * Whether every store understands this IRI the same way in an update; others they
 * refuse, or take for another IRI.
 */
function isPlain(subject: string): boolean {
  return (
    /^https?:\/\/[a-z0-9.-]+(?::[0-9]+)?\/[!$&-;=?-Z_a-z~]*(?:#[!$&-;=?-Z_a-z~]*)?$/.test(subject) &&
    !/\/\.{1,2}(?:[/?#]|$)/.test(subject)
  );
}

/** The named graphs in the store that are not the service's: IRIs, or labels of blank nodes. */
export async function unlistedGraphs(store: GraphStore, names: Names): Promise<string[]> {
  const listed = new Set(names.namedGraphs);
  const rows = await store.select("SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }", {
    timeoutMs: TIMEOUT_MS,
  });
  return rows.flatMap(({ g }) => {
    if (!g || listed.has(g.value)) return [];
    return g.type === "bnode" ? [`_:${g.value}`] : [g.value];
  });
}

/**
 * A pattern for what an unlisted graph holds; if a blank node names it, for all graphs that blank nodes name.
 */
export function contentOfUnlisted(graph: string): string {
  const named = isIri(graph) ? `STR(?g) = ${termText(literal(graph))}` : "isBlank(?g)";
  return `${isPlain(graph) ? `VALUES ?g { <${graph}> }` : `FILTER(${named})`} GRAPH ?g { ?s ?p ?o }`;
}

/** How many triples partners see that are in no named graph. */
export async function countUnnamed(store: GraphStore): Promise<number> {
  const rows = await store.select(
    "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o FILTER NOT EXISTS { GRAPH ?g { ?s ?p ?o } } }",
    { timeoutMs: TIMEOUT_MS },
  );
  return Number(rows[0]?.["n"]?.value ?? 0);
}
