// A query goes to Fuseki in words in which nothing ends it, or in words that mean something else.
import type { Mistake } from "../mistake.ts";

const ENDABLE = { file: "graph/sparql-endable.ts", tests: ["endable-queries"], only: "stands in a UNION" };

const ENDABLE_SLIPS: readonly (readonly [rule: string, before: string, after: string])[] = [
  ["a pattern is begun behind the plan", "} UNION { FILTER(false) }", "}"],
  ["what stands in a UNION stays what it is", "UNION { FILTER(false) }", "UNION {}"],
  ["VALUES go with the pattern", "const joined = values ? ", "const joined = !values ? "],
  ["VALUES do not stand twice", "+ text.slice(values.end)", "+ text.slice(values.start)"],
  ["columns stay where they are", '.replace(/^ /, "")', ""],
  [
    "VALUES behind a group are refused",
    "const { group, having, ...others }",
    "const { group: _, having, having: group, ...others }",
  ],
  ["VALUES behind what is counted are refused", "|| aggregates([variables, others])", ""],
  ["what is counted may be what is sorted by", "aggregates([variables, others])", "aggregates(variables)"],
  ["VALUES behind HAVING are refused", "|| having !== undefined ", ""],
  ["what a subquery counts is no group", 'return type !== "query" && ', "return "],
  ["VALUES behind CONSTRUCT WHERE are refused", "(spanOf(where) && ", "("],
  ["VALUES behind a DESCRIBE without a pattern are not", "|| !where ", ""],
  ["DESCRIBE * groups nothing", '[0] === "*" && isGrouped(query)', '[0] === "*" && !isGrouped'],
  ["a DESCRIBE describes what it finds and no more", '!== "describe")', '=== "describe")'],
  ["each name is one resource", "MOST_DESCRIBED / Math.max(count, 1)", "MOST_DESCRIBED"],
  [
    "a name that comes twice is one",
    "[...new Set(named.filter(isVariable).map(({ value }) => `?${String(value)}`))]",
    "named.filter(isVariable).map(({ value }) => `?${String(value)}`)",
  ],
  ["IRIs alone are described whatever is found", "count > 0 && ", ""],
  ["what has a limit is bounded", "?? Infinity) > most", "?? Infinity) >= most"],
  ["a limit of one's own stays", "limitOffset?.limit ?? Infinity", "Infinity"],
  ["what is found is told apart before it is counted", "`SELECT DISTINCT ${names}", "`SELECT ${names}"],
  ["what is too much begins behind what is not", "LIMIT 1 OFFSET ${most}", "LIMIT 1"],
  ["what is random is described to an end", "late(`${found} LIMIT ${most}`)", "late(found)"],
  ["a text may end with a comment", "${behind}\\n}`", "${behind}}`"],
  [
    "a prologue may name what it likes",
    'spanOf((query["context"] as readonly Node[]).at(-1))?.end ?? 0',
    "0",
  ],
  ["a subquery binds what it selects", "isWhole ? { variables } : node", "node"],
  [
    "a subquery of all names binds all",
    "!(variables as readonly Node[]).some(",
    "(variables as readonly Node[]).every(",
  ],
  ["solutions are passed over behind the plan", "(limitOffset?.offset ?? 0) > 0", "false"],
  [
    "what passes over nothing stays as it is",
    "(limitOffset?.offset ?? 0) > 0",
    "limitOffset?.offset !== undefined",
  ],
  ["what is passed over keeps its limit and order", "{${joined}}${behind}\\n`;", "{${joined}}`;"],
  ["a SELECT has outside what it makes", 'isNode(each["variable"]) ? each["variable"] : each', "each"],
  [
    "a SELECT makes within what it has outside",
    "text.slice(start, end)} {",
    "asSelect(text, query, where)} {",
  ],
  ["a page of a CONSTRUCT has all names", 'described(query).join(" ") || "*"', 'described(query).join(" ")'],
  ["CONSTRUCT WHERE passes over nothing", "if (where && !spanOf(where))", "if (!where)"],
  [
    "CONSTRUCT passes over no groups",
    "[0] === undefined && isGrouped(query)",
    "[0] === undefined && !isGrouped",
  ],
  [
    "a DESCRIBE of names passes over groups",
    "[0] === undefined && isGrouped",
    "[0] !== undefined && isGrouped",
  ],
  ["EXISTS binds nothing", 'if (subType === "patternOperation") return found;\n', ""],
];

export const SPARQL_ENDABLE: readonly Mistake[] = [
  ...ENDABLE_SLIPS.map(([rule, before, after]) => ({ ...ENDABLE, rule, before, after })),
  {
    ...ENDABLE,
    file: "graph/store.ts",
    rule: "Fuseki is sent what it can end",
    before: "        ? endable\n",
    after: "        ? sparql\n",
    only: "and so do others: ASK",
  },
  {
    ...ENDABLE,
    file: "server/sparql/endpoint.ts",
    rule: "a DESCRIBE that finds too much is refused",
    before: "excess !== undefined && (",
    after: "excess === undefined && (",
    only: "if that is not too much",
  },
  {
    ...ENDABLE,
    file: "server/sparql/endpoint.ts",
    rule: "what is asked before a DESCRIBE takes of its time",
    before: "end - performance.now()",
    after: "this.#timeoutMs",
    tests: ["sparql-endpoint"],
    only: "asked before it",
  },
  {
    ...ENDABLE,
    file: "server/sparql/endpoint.ts",
    rule: "a caller's query is sent to Fuseki as it can be ended",
    before: "type: ALIASES.get(type) ?? type, endable,",
    after: "type: ALIASES.get(type) ?? type,",
    tests: ["sparql-endpoint"],
    only: "can end it",
  },
];
