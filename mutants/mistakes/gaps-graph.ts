// What the embedded store answers, what an edition of the vocabulary may have in it, and what a query is reckoned to make of its
// values, where no test had looked.
import type { Mistake } from "../mistake.ts";

const COST = { file: "graph/sparql-cost.ts", tests: ["sparql-lengths"] };
const LENGTHS = { file: "graph/sparql-lengths.ts", tests: ["sparql-lengths"] };
const NUMBERS = { file: "graph/sparql-numbers.ts", tests: ["sparql-lengths"] };
const PATTERNS = { file: "graph/sparql-patterns.ts", tests: ["sparql-lengths"] };
const PARTS = 'return [node["args"], node["expression"], node["subject"], node["predicate"], node["object"]]';
const NO_LETTER = 'if (letter === "" || by?.["subType"] !== "literal" || flags) return Infinity;';

export const GAPS_OF_GRAPH: readonly Mistake[] = [
  {
    rule: "what is always true is told in the format that was asked for",
    file: "graph/embedded/http.ts",
    before: "if (shape.asksNothing && type === RESULTS_JSON)",
    after: "if (shape.asksNothing)",
    tests: ["embedded-store-answers"],
    only: "as the engine writes them",
  },
  {
    rule: "a reader is asked nothing for a caller who has left when it is given to them",
    file: "graph/embedded/readers.ts",
    before: '      signal?.throwIfAborted();\n      signal?.addEventListener("abort", onAbort',
    after: '      signal?.addEventListener("abort", onAbort',
    tests: ["embedded-store-pool"],
    only: "leaves when it is given",
  },
  {
    rule: "a concept without a name of its own is none",
    file: "graph/skos.ts",
    before: '    if (subject.termType !== "NamedNode") continue;\n',
    after: "",
    tests: ["vocabulary"],
    only: "without a name of its own",
  },
  {
    ...COST,
    rule: "the subject of a triple is as long as it is",
    file: "graph/sparql-constants.ts",
    before: PARTS,
    after: PARTS.replace('node["subject"], ', ""),
    only: "SUBJECT of a triple",
  },
  {
    ...COST,
    rule: "the predicate of a triple is as long as it is",
    file: "graph/sparql-constants.ts",
    before: PARTS,
    after: PARTS.replace('node["predicate"], ', ""),
    only: "PREDICATE of a triple",
  },
  ...["min", "max"].map((name) => ({
    ...COST,
    rule: `what is chosen of lists by ${name} is made with them`,
    before: `"${name}", `,
    after: "",
    only: "chosen of lists",
  })),
  {
    ...COST,
    rule: "what is chosen of lists by sample is made with them",
    before: '"max", "sample"]',
    after: '"max"]',
    only: "chosen of lists",
  },
  ...["sum", "avg"].map((name) => ({
    ...COST,
    rule: `what is added up by ${name} is not kept`,
    before: '["count", "sum", "avg"]',
    after: JSON.stringify(["count", "sum", "avg"].filter((each) => each !== name)),
    only: "added up",
  })),
  {
    ...LENGTHS,
    rule: "what replaces a letter is as long as it may be, and not as its name is",
    before: NO_LETTER,
    after: 'if (letter === "" || flags) return Infinity;',
    only: "by what nobody has written out",
  },
  {
    ...LENGTHS,
    rule: "what replaces a letter may have it in it again",
    before: 'if (node["operator"] !== "replace" || mayRefer) return Infinity;',
    after: 'if (node["operator"] !== "replace") return Infinity;',
    only: "by themselves",
  },
  {
    ...LENGTHS,
    rule: "with a flag a letter may be one that was made before",
    before: NO_LETTER,
    after: 'if (letter === "" || by?.["subType"] !== "literal") return Infinity;',
    only: "capital or not",
  },
  {
    ...LENGTHS,
    rule: "a pattern with a flag is not taken as it is written",
    before: 'if (args[3] && String(args[3]["value"]).includes("q")) return',
    after: "if (args[3]) return",
    only: "with a flag",
  },
  ...["=", "<=", "strstarts", "langmatches", "sameterm", "isiri", "isnumeric", "seconds", "tz"].map(
    (name) => ({
      ...LENGTHS,
      rule: `what is short whatever it is of: ${name}`,
      before: `"${name}"${name === "sameterm" || name === "isnumeric" ? "]" : ", "}`,
      after: name === "sameterm" || name === "isnumeric" ? "]" : "",
      only: "are short",
    }),
  ),
  ...["ceil", "floor"].map((name) => ({
    ...NUMBERS,
    rule: `a number has as many digits as that of which ${name} makes it`,
    before: `"${name}", `,
    after: "",
    only: "have the digits",
  })),
  {
    ...NUMBERS,
    rule: "a difference has the digits of what it is of",
    before: 'if (operator === "+" || operator === "-") return ofDigits(all.digits + 1);',
    after: 'if (operator === "+") return ofDigits(all.digits + 1);',
    only: "a difference",
  },
  ...["lcase", "ucase"].map((name) => ({
    ...NUMBERS,
    rule: `a number that is read of ${name} has no more digits than the text`,
    before: name === "lcase" ? '"lcase", "ucase"' : '"lcase", "ucase"',
    after: name === "lcase" ? '"ucase"' : '"lcase"',
    only: "read of a part",
  })),
  {
    rule: "alternatives have as many walks as all of them together",
    file: "graph/sparql-paths.ts",
    before: "number: one.number + other.number",
    after: "number: Math.max(one.number, other.number)",
    tests: ["sparql-lengths"],
    only: "as many walks",
  },
  {
    ...PATTERNS,
    rule: "a bracket behind a backslash ends no set",
    before: 'this.#at += this.#signs[this.#at] === "\\\\" ? 2 : 1;',
    after: "this.#at += 1;",
    only: "stands in a set",
  },
  {
    ...PATTERNS,
    rule: "a count behind a class is one",
    before: 'if (!/[pPu]/.test(of) || this.#signs[this.#at] !== "{") {',
    after: 'if (this.#signs[this.#at] !== "{") {',
    only: "by its number or its kind",
  },
  {
    ...PATTERNS,
    rule: "alternatives are as long as the longest",
    before: "length: Math.max(...costs",
    after: "length: Math.min(...costs",
    only: "alternatives are as long",
  },
  {
    ...PATTERNS,
    rule: "what is there once or more takes a letter away",
    before: 'least: sign === "+" ? 1 : 0',
    after: "least: 0",
    only: "as many letters or more",
  },
];
