// The answer to a query as pieces of text, made while the query runs.
import * as oxigraph from "oxigraph";
import { N_TRIPLES, TURTLE } from "../media-types.ts";
import { eachResult, isQuad, isSolution, release } from "./each-result.ts";
import { solutionWriter } from "./solutions.ts";

type QueryOptions = NonNullable<Parameters<oxigraph.Store["query"]>[1]>;

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

/** The variables that a SELECT projects, in order; undefined for ASK. A solution has only the bound ones. */
function variablesOf(sparql: string, { base_iri }: QueryOptions): string[] | undefined {
  const empty = new oxigraph.Store();
  const head = empty.query(sparql, { base_iri, results_format: "text/tab-separated-values" }) as string;
  release(empty);
  if (/^(?:true|false)/.test(head)) return undefined;
  return [...head.split("\n", 1)[0]!.matchAll(/\?([^\t]+)/g)].map(([, name]) => name!);
}

/** @param write is given the answer to a CONSTRUCT or DESCRIBE, piece by piece in line-based formats */
export function streamQuads(
  store: oxigraph.Store,
  sparql: string,
  options: QueryOptions,
  type: string,
  write: (text: string) => void,
): void {
  if (type !== N_TRIPLES && type !== TURTLE) {
    write(store.query(sparql, { ...options, results_format: type }) as string);
    return;
  }
  eachResult(
    () => store.query(sparql, options),
    isQuad,
    (quad) => {
      write(`${quad.toString()} .\n`);
      release(quad);
    },
  );
}
