// What a tired colleague gets wrong in the graph's parts: the second of two conditions, the other one of two readings.
import type { Mistake } from "../mistake.ts";

const VALUES = { file: "graph/triples.ts", tests: ["graph-parts"], only: "one form" };
const LEAVING = { file: "graph/store-http.ts", tests: ["store-answers"], only: "who has left before" };
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
    before: "    form = inspect(resolved);\n",
    after: "    form = inspect(resolved);\n    return { form, text };\n",
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
    before: "  if (signal?.aborted) return Promise.reject(abortReason(signal));\n",
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
];
