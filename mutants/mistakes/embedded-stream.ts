// The embedded store's answers, piece by piece: what is made, in which order, and what is given back.
import type { Mistake } from "../mistake.ts";

const STREAM = { file: "graph/embedded/stream.ts", tests: ["embedded-stream"] };
const EACH = { file: "graph/embedded/each-result.ts", tests: ["embedded-stream"] };

export const EMBEDDED_STREAM: readonly Mistake[] = [
  {
    ...STREAM,
    rule: "only the first solution of a document has nothing before it",
    before: "      isFirst = false;\n",
    after: "",
    only: "each solution",
  },
  {
    ...STREAM,
    rule: "an answer in pieces comes to its end",
    before: "  write(writer.tail);\n",
    after: "",
    only: "each solution",
  },
  {
    ...STREAM,
    rule: "the variables of a query are read with its base",
    before: "{ base_iri, results_format",
    after: "{ results_format",
    only: "relative names",
  },
  {
    ...STREAM,
    rule: "Turtle is made in pieces as well",
    before: "type !== N_TRIPLES && type !== TURTLE",
    after: "type !== N_TRIPLES",
    only: "each triple",
  },
  {
    ...STREAM,
    rule: "what the engine holds for a solution is given back",
    before: "      for (const term of solution.values()) release(term);\n",
    after: "",
    only: "given back",
  },
  {
    ...STREAM,
    rule: "what the engine holds for a triple is given back",
    before: "      release(quad);\n",
    after: "",
    only: "given back",
  },
  {
    ...STREAM,
    rule: "the store that only reads a query is given back",
    before: "  release(empty);\n",
    after: "",
    only: "given back",
  },
  {
    ...EACH,
    rule: "arrays are what they were after a query that fails",
    before: "results = run();\n  } finally {",
    after: "results = run();\n    Array.prototype.push = push;\n  } finally {\n    if (results)",
    only: "arrays are",
  },
  {
    ...EACH,
    rule: "what is no result of a query goes where it should",
    before: "return push.apply(this, values);",
    after: "return this.length;",
    only: "no result",
  },
  {
    ...EACH,
    rule: "an engine that comes to give its results some other way is asked for its array",
    before: "if (Array.isArray(results)) for",
    after: "if (!Array.isArray(results)) return;\n  if (results.length < 0) for",
    only: "some other way",
  },
  {
    rule: "a datatype with what XML gives a meaning to is escaped",
    file: "graph/embedded/solutions.ts",
    before: '` datatype="${escapeXml(datatype)}"`',
    after: '` datatype="${datatype}"`',
    tests: ["embedded-stream"],
    only: "what XML gives a meaning to",
  },
  {
    rule: "a value with what XML gives a meaning to is escaped",
    file: "graph/embedded/solutions.ts",
    before: ">${escapeXml(value)}</",
    after: ">${value}</",
    tests: ["embedded-stream"],
    only: "what XML gives a meaning to",
  },
  {
    rule: "a SELECT among whose values is true is no ASK",
    file: "graph/embedded/stream.ts",
    before: "/^(?:true|false)/",
    after: "/(?:true|false)/",
    tests: ["embedded-stream"],
    only: "is no ASK",
  },
];
