// Reads the store with plain HTTP and a parser of N-Triples.
import { Parser } from "n3";
import type { Term } from "n3";
import { fact, iri, NS, text } from "./expected.ts";
import type { GraphDoor } from "./service.ts";

const TIMEOUT_MS = 60_000;
const STRING = "http://www.w3.org/2001/XMLSchema#string";

// The mark of each graph, which changes with every update.
const MARKS = [`${NS}projectionTurn`, `${NS}projectionRun`];

/** The facts about each subject, as in expected.ts. A blank node is a subject like any other. */
export type Said = Map<string, Set<string>>;

async function query(door: GraphDoor, sparql: string, accept: string): Promise<string> {
  const path = door.url.endsWith("/sparql") ? "" : "/query";
  const answer = await fetch(door.url + path, {
    method: "POST",
    headers: { authorization: door.authorization, "content-type": "application/sparql-query", accept },
    body: sparql,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const body = await answer.text();
  if (!answer.ok) throw new Error(`The store answers ${answer.status}: ${body.slice(0, 200)}`);
  return body;
}

/** @param subjects only these */
export async function readGraph(door: GraphDoor, graph: string, subjects?: readonly string[]): Promise<Said> {
  const only = subjects ? `VALUES ?s { ${subjects.map(iri).join(" ")} }` : "";
  const body = await query(
    door,
    `CONSTRUCT { ?s ?p ?o } WHERE { ${only} GRAPH <${graph}> { ?s ?p ?o } }`,
    "application/n-triples",
  );
  const said: Said = new Map();
  for (const { subject, predicate, object } of new Parser({ format: "N-Triples" }).parse(body)) {
    if (subject.value === graph && MARKS.includes(predicate.value)) continue;
    const name = subject.termType === "BlankNode" ? `_:${subject.value}` : subject.value;
    let facts = said.get(name);
    if (!facts) said.set(name, (facts = new Set()));
    facts.add(fact(predicate.value, written(object)));
  }
  return said;
}

function written(term: Term): string {
  if (term.termType === "NamedNode") return iri(term.value);
  if (term.termType !== "Literal") return "_:";
  if (term.language) return `${text(term.value)}@${term.language}`;
  return text(term.value, term.datatype.value === STRING ? "" : term.datatype.value);
}

type Cell = { type: string; value: string; datatype?: string; "xml:lang"?: string };

/**
 * Every triple of every named graph except the given ones, without the graphs' marks, one line each. Labels
 * of blank nodes are left out, since they mean nothing.
 */
export async function readOtherGraphs(door: GraphDoor, except: readonly string[]): Promise<string[]> {
  const body = await query(
    door,
    `SELECT ?g ?s ?p ?o WHERE { GRAPH ?g { ?s ?p ?o } FILTER(?g NOT IN (${except.map(iri).join(", ")}))
       FILTER(?s != ?g || ?p NOT IN (${MARKS.map(iri).join(", ")})) }`,
    "application/sparql-results+json",
  );
  const { results } = JSON.parse(body) as { results: { bindings: Record<"g" | "s" | "p" | "o", Cell>[] } };
  const line = (cell: Cell) =>
    cell.type === "bnode" ? "_:" : `${cell.value} ${cell.datatype ?? ""}${cell["xml:lang"] ?? ""}`;
  return results.bindings.map(({ g, s, p, o }) => [g, s, p, o].map(line).join(" | ")).toSorted();
}
