// The answer to a query as pieces of text, made while the query runs.
import * as oxigraph from "oxigraph";
import { JSON_LD, RDF_XML } from "../media-types.ts";
import { eachResult, isQuad, isSolution, release } from "./each-result.ts";
import { solutionWriter } from "./solutions.ts";

type QueryOptions = NonNullable<Parameters<oxigraph.Store["query"]>[1]>;

/** How many quads are given to the engine's own serializer at once. */
const QUADS_AT_ONCE = 1_000;

/** @param write is given the answer to a SELECT or ASK, piece by piece */
export function streamBindings(
  store: oxigraph.Store,
  sparql: string,
  options: QueryOptions,
  type: string,
  write: (text: string) => void,
): void {
  const variables = variablesOf(sparql, options);
  if (!variables) {
    write(store.query(sparql, { ...options, results_format: type }) as string);
    return;
  }
  const writer = solutionWriter(type, variables);
  let isFirst = true;
  write(writer.head);
  eachResult(
    () => store.query(sparql, options),
    isSolution,
    (solution) => {
      write(writer.solution(solution, isFirst));
      isFirst = false;
      for (const term of solution.values()) release(term);
    },
  );
  write(writer.tail);
}

/** The variables that a SELECT projects, in their order; undefined for ASK. A solution only has those that are bound. */
function variablesOf(sparql: string, { base_iri }: QueryOptions): string[] | undefined {
  const empty = new oxigraph.Store();
  const head = empty.query(sparql, { base_iri, results_format: "text/tab-separated-values" }) as string;
  release(empty);
  if (/^(?:true|false)/.test(head)) return undefined;
  return [...head.split("\n", 1)[0]!.matchAll(/\?([^\t]+)/g)].map(([, name]) => name!);
}

/** @param write is given the answer to a CONSTRUCT or DESCRIBE, piece by piece */
export function streamQuads(
  store: oxigraph.Store,
  sparql: string,
  options: QueryOptions,
  type: string,
  write: (text: string) => void,
): void {
  const frame = FRAMES[type] ?? UNFRAMED;
  let quads: oxigraph.Quad[] = [];
  let isFirst = true;
  /** @returns what ends the document, should this be all of it */
  const flush = () => {
    const batch = new oxigraph.Store(quads);
    const text = batch.dump({ format: type, from_graph_name: oxigraph.defaultGraph() });
    for (const quad of quads) release(quad);
    release(batch);
    quads = [];
    const head = frame.head.exec(text)![0];
    const { 0: tail, index: end } = frame.tail.exec(text)!;
    const inside = text.slice(head.length, end);
    if (isFirst) write(head);
    else if (inside) write(frame.between);
    write(inside);
    isFirst = false;
    return tail;
  };
  eachResult(
    () => store.query(sparql, options),
    isQuad,
    (quad) => {
      // Not by push, which means something else meanwhile.
      quads[quads.length] = quad;
      if (quads.length === QUADS_AT_ONCE) flush();
    },
  );
  write(flush());
}

/** What stands around the triples in a format, and between those of one document and the next in a document of both. */
interface Frame {
  head: RegExp;
  between: string;
  tail: RegExp;
}

const UNFRAMED: Frame = { head: /^/, between: "", tail: /$/ };
const FRAMES: Readonly<Record<string, Frame>> = {
  [JSON_LD]: { head: /^\[/, between: ",", tail: /\]\s*$/ },
  [RDF_XML]: { head: /^[^]*?<rdf:RDF[^>]*>\n?/, between: "", tail: /<\/rdf:RDF>\s*$/ },
};
