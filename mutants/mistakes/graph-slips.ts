// What a tired colleague gets wrong in the graph's parts: the second of two conditions, the other one of two readings.
import type { Mistake } from "../mistake.ts";

const VALUES = { file: "graph/triples.ts", tests: ["graph-parts"], only: "one form" };
const LEAVING = { file: "graph/store-http.ts", tests: ["store-answers"], only: "who has left before" };
const ERRORS = { file: "graph/store-errors.ts", tests: ["graph-parts"], only: "trying again later" };
const HTTP = { file: "graph/store-http.ts", tests: ["store-answers"] };
const SESSION = { tests: ["graph-sessions"] };

export const GRAPH_SLIPS: readonly Mistake[] = [
  {
    ...SESSION,
    rule: "an adopted graph that says the number of another drain by now keeps it",
    file: "graph/turns.ts",
    before: 'said.run === undefined ? "" : runIn(names, graph, termText(literal(said.run)))',
    after: 'said.run === undefined ? "" : termText(literal(said.run)).slice(0, 0)',
    only: "of another drain",
  },
  {
    ...SESSION,
    rule: "what follows a graph that was sent whole has an effect on that one alone",
    file: "graph/session.ts",
    before: "      graphs.set(graph, turn);\n",
    after: "",
    only: "in its place",
  },
  {
    ...SESSION,
    rule: "an update that nobody noted is looked after before another one has an effect",
    file: "graph/turns.ts",
    before: "    `FILTER EXISTS { ${turnIn(names, names.turnsGraph, String(last))} }`,\n",
    after: "",
    only: "nobody noted",
  },
  {
    ...SESSION,
    rule: "an update counts only in the store of this database",
    file: "graph/session.ts",
    before: "mark.run === run && mark.identity === identity",
    after: "mark.run === run && (mark.identity ?? identity) === identity",
    only: "another database's",
  },
  {
    ...SESSION,
    rule: "a graph that was refused whole is renumbered",
    file: "graph/session.ts",
    before: "graph ? [graph] : []",
    after: "graph ? [] : []",
    only: "refused whole",
  },
  {
    rule: "a rule about what many records have in common is applied to each of them",
    file: "graph/load-check.ts",
    before: "{ maxNodeChecks: 0 }",
    after: "{ maxNodeChecks: 50 }",
    tests: ["load-check"],
    only: "in common",
  },
  {
    rule: "a media type is the same in capitals",
    file: "graph/media-types.ts",
    before: '?.trim().toLowerCase() ?? ""',
    after: '?.trim() ?? ""',
    tests: ["graph-parts"],
    only: "media type",
  },
  {
    rule: "a text with escapes is read also as stores read it that leave them",
    file: "graph/sparql-guard.ts",
    before: "    query = inspect(resolved);\n",
    after: "    query = inspect(resolved);\n    return { ...query, text };\n",
    tests: ["sparql"],
    only: "federation_disabled",
  },
  {
    rule: "a graph whose making breaks off has no end, and is not taken for whole",
    file: "graph/rdf-xml.ts",
    before: `  for await (const group of groups) yield group.map(description).join("");
  yield FOOTER;`,
    after: `  try {
    for await (const group of groups) yield group.map(description).join("");
  } finally {
    yield FOOTER;
  }`,
    tests: ["graph-parts"],
    only: "breaks off",
  },
  {
    rule: "each document is published under its own name",
    file: "graph/documents.ts",
    before: "{ ontology: readOntology(), shapes: readShapes() }",
    after: "{ ontology: readShapes(), shapes: readOntology() }",
    tests: ["imports"],
    only: "under its own name",
  },
  {
    rule: "a rule that names no field is told by the name of its property",
    file: "graph/load-check.ts",
    before: '.replace(/^.*[#/]/, "")',
    after: "",
    tests: ["load-check"],
    only: "in common",
  },
  {
    rule: "a property with more than a name behind its prefix is written out",
    file: "graph/turtle.ts",
    before: "/^[A-Za-z][A-Za-z0-9]*$/.test(",
    after: "/^[A-Za-z].*$/.test(",
    tests: ["turtle"],
    only: "more than a name",
  },
  {
    ...VALUES,
    rule: "times have no zeros that add nothing: stores give them back without",
    before: "(utc) => `${withoutTrailingZeros(utc)}Z`",
    after: "(utc) => `${utc}Z`",
  },
  {
    ...VALUES,
    rule: "an organization is a resource, not a text",
    before: "return (add, value) => add(predicate, namedNode(String(value)));",
    after: "return (add, value) => add(predicate, literal(String(value)));",
  },
  {
    ...VALUES,
    rule: "of what a record does not say the graph says nothing",
    before: "if (value !== null && value !== undefined) write",
    after: "if (value !== undefined) write",
  },
  {
    ...LEAVING,
    rule: "nothing is sent for who has left before: a worker who has lost the right to write sends no update",
    before:
      "  if (signal?.aborted) return { answer: Promise.reject(abortReason(signal)), over: Promise.resolve(0) };\n",
    after: "",
  },
  {
    ...LEAVING,
    rule: "a store's work ends with the wish for it",
    before: "    given.abort(error);\n",
    after: "",
  },
  {
    rule: "what is too deep to be read is said to be nested too deeply",
    file: "graph/sparql-guard.ts",
    before: "  if (error instanceof RangeError) return tooDeep();\n",
    after: "",
    tests: ["sparql"],
    only: "so many levels",
  },
  {
    rule: "a triple is found by all three of its parts",
    file: "graph/batch-dataset.ts",
    before: "return object ? new QuadList(quads).match(null, null, object) : new QuadList(quads);",
    after: "return new QuadList(quads);",
    tests: ["graph-parts"],
    only: "by subject, predicate and object",
  },
  {
    rule: "Fuseki answers whoever asks whether it is healthy",
    file: "graph/fuseki/start.sh",
    before: "--no-cors --ping",
    after: "--no-cors",
    tests: ["fuseki-scripts"],
    only: "listens where",
  },
  {
    ...ERRORS,
    rule: "a store that lacks a graph may have it later",
    before: "class GraphNotFound extends GraphUnavailable",
    after: "class GraphNotFound extends Error",
  },
  {
    ...ERRORS,
    rule: "a store that met its time limit may answer later",
    before: "class GraphTimeout extends GraphUnavailable",
    after: "class GraphTimeout extends Error",
  },
  {
    ...ERRORS,
    rule: "what is too much for a store is so at every attempt",
    before: "class GraphTooExpensive extends GraphRejected",
    after: "class GraphTooExpensive extends GraphFailed",
  },
  {
    ...HTTP,
    rule: "an update that is too large is refused, and sent in pieces",
    before: "new Set([400, 406, 413, 415, 422])",
    after: "new Set([400, 406, 415, 422])",
    only: "413",
  },
  {
    ...HTTP,
    rule: "a store without such a dataset says which setting to look at",
    before:
      'if (status === 404) return new GraphNotFound("The graph store answered 404: check FUSEKI_URL.");\n',
    after: "",
    only: "404",
  },
  {
    ...HTTP,
    rule: "a redirection is no answer",
    before: "status >= 200 && status < 300",
    after: "status >= 200 && status < 400",
    only: "302",
  },
  {
    ...HTTP,
    rule: "the place of an error is told by line and column",
    before: "{ line: Number(found[1]), column: Number(found[2]) }",
    after: "{ line: Number(found[2]), column: Number(found[1]) }",
    only: "the place in the text",
  },
  {
    ...HTTP,
    rule: "a place is read as Oxigraph writes it",
    before: String.raw` ?? /\bat (\d+):(\d+)/.exec(text)`,
    after: "",
    only: "the place in the text",
  },
  {
    ...HTTP,
    rule: "a place is read as RIOT writes it",
    before: "col(?:umns?)?:?",
    after: "columns?:?",
    only: "the place in the text",
  },
  {
    ...HTTP,
    rule: "no time limit outlives its answer",
    before: "    clearTimeout(timer);\n",
    after: "",
    only: "each question has its time",
  },
  {
    ...HTTP,
    rule: "whoever fails to make what is sent hears of that",
    before: "if (!upload.destroyed) onFailure(error);",
    after: "if (upload.destroyed) onFailure(error);",
    only: "hears of that",
  },
  {
    rule: "a store that refuses to say that it is there is not",
    file: "graph/store.ts",
    before: "if (error instanceof GraphUnavailable || error instanceof GraphRejected) return false;",
    after: "if (error instanceof GraphUnavailable) return false;",
    tests: ["store-answers"],
    only: "so many words",
  },
];
