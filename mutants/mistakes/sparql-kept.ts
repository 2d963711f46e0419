// A query leaves more in a store than its caller may: what was not found, unknown types, texts of blank nodes.
import type { Mistake } from "../mistake.ts";

const SOUGHT = { file: "graph/sparql-survey.ts", tests: ["sparql-kept"], only: "looks for in the graph" };
const BOUND = { ...SOUGHT, file: "graph/sparql-cost.ts" };

const TYPES = { file: "graph/sparql-guard.ts", tests: ["sparql-kept"], only: "a type of which" };

const SOUGHT_SLIPS: readonly (readonly [rule: string, before: string, after: string])[] = [
  ["what a triple has is looked for", 'if (type === "triple") return', 'if (type === "none") return'],
  ["what a path leads through is looked for", 'if (type === "path") return items;', ""],
  ["a graph is looked for", 'if (subType === "graph") return name;', ""],
  ["a dataset is looked for", 'if ("clauseType" in part) return value;', ""],
  ["what is described is looked for", 'subType === "describe" ? variables : []', "[]"],
  ["sameTerm may look for what it compares with", 'operator === "sameterm" || ', ""],
  ["= may look for what it compares with", 'operator === "=" || ', ""],
  ["IN may look for what it compares with", ' || operator === "in"', ""],
  ["it stands on either side", "[each, name!],", ""],
  ["what no triple has is only compared", " && predicates.has(String(one", " && (true || String(one"],
];

export const SPARQL_KEPT: readonly Mistake[] = [
  ...SOUGHT_SLIPS.map(([rule, before, after]) => ({ ...SOUGHT, rule, before, after })),
  {
    ...BOUND,
    rule: "what is looked for is shorter than what is passed on",
    before: "isJoined || length > LONGEST_KEPT",
    after: "isJoined",
  },
  {
    ...BOUND,
    rule: "no GROUP_CONCAT is looked for",
    before: "isJoined || length > LONGEST_KEPT",
    after: "length > LONGEST_KEPT",
  },
  {
    ...TYPES,
    rule: "no store is told of a type that it may keep",
    before: 'faultOfUnknown(node["langOrIri"], names) ?? ',
    after: "",
  },
  {
    ...TYPES,
    rule: "STRDT makes nothing of such a type",
    before: " ?? faultOfUnknown(second, names)",
    after: "",
  },
  {
    ...TYPES,
    file: "graph/sparql-types.ts",
    rule: "a type is known however it is read",
    before: ".every((iri) => TYPES",
    after: ".some((iri) => TYPES",
  },
  {
    ...TYPES,
    file: "graph/sparql-types.ts",
    rule: "bytes have a type",
    before: "boolean hexBinary base64Binary",
    after: "boolean base64Binary",
  },
  {
    ...TYPES,
    file: "graph/sparql-types.ts",
    rule: "texts that have a direction have a type",
    before: '"langString", "dirLangString"',
    after: '"langString"',
  },
  {
    file: "graph/sparql-types.ts",
    tests: ["sparql-costs"],
    rule: "a day of a month is a date, with as many digits as one",
    before: "gYearMonth gMonthDay gMonth",
    after: "gYearMonth gMonth",
  },
  {
    ...TYPES,
    file: "graph/sparql-types.ts",
    rule: "a long type is not repeated in the answer",
    before: "quoted(written(named))",
    after: "written(named)",
  },
  {
    ...TYPES,
    only: "blank node",
    rule: "no text is made a blank node",
    before: '=== "bnode" && first',
    after: '=== "bnode" && !node',
  },
  {
    ...TYPES,
    only: "blank node",
    rule: "blank nodes may be made of nothing",
    before: '=== "bnode" && first',
    after: '=== "bnode"',
  },
];
