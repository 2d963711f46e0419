// Mistakes in what is believed of a graph store that answers: which rows, of which question, whole or not, and how much of it;
// and in what an import and an erasure make of what they find.
import type { Mistake } from "../mistake.ts";

type Slip = [rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([rule, before, after]) => ({ rule, file, before, after, tests: [tests] }));

export const GRAPH_BELIEVED: readonly Mistake[] = [
  ...slips(
    "store-answers",
    "graph/store.ts",
    ["a row of a store is an object of terms", " || !rows.every(isRow))", ")"],
    ["a term of a store has a text", '(typeof term.value === "string" || (', "(true || ("],
    ["a triple in a row is believed", ' || ("type" in term && term.type === "triple")', ""],
    ["any other success than 200 is not all of an answer", "[200, 203].includes(response.status) && ", ""],
    [
      "a question of the service's own is read no further than its answer can be long",
      "readAll(body, most);",
      "readAll(body);",
    ],
  ),
  ...slips(
    "store-answers",
    "graph/store-http.ts",
    ["a compressed answer is none", "hasSucceeded && isCompressed", "!hasSucceeded && isCompressed"],
    [
      "what a store refuses in a compressed form is told as without it",
      "hasSucceeded && isCompressed",
      "isCompressed",
    ],
    ["nothing is left behind of an answer that was whole", "if (!incoming.closed) {", "{"],
    ["an answer by drops gives back its place", "UNREAD_TIMES * timeoutMs", "1_000 * timeoutMs"],
    ["and not before it could have ended", "UNREAD_TIMES * timeoutMs", "timeoutMs"],
  ),
  ...slips(
    "store-faults",
    "graph/store-body.ts",
    ["Turtle that ends in the middle is not whole", "  [TURTLE, ", "  [RDF_XML, "],
    ["Turtle of prefixes alone is whole", "(#|prefix\\s|base\\s)", "#"],
    ["a line that goes on is none of prefixes", "|(^|\\n)\\s*(#|prefix", "|(#|prefix"],
  ),
  ...slips(
    "health",
    "server/resources/health.ts",
    ["a count is of a question that was asked just now", "!row?.[ASKED] || ", ""],
    ["a count is a whole number, and not less than none", "!/^\\d+$/.test(counted)", 'counted === ""'],
  ),
  ...slips(
    "graph-content",
    "server/resources/commitments-from-graph.ts",
    [
      "what the graph says of commitments it was asked just now",
      "if (!rows?.some((row) => row[ASKED])) return undefined;",
      "if (!rows) return undefined;",
    ],
    ["what the graph does not hold is not called synced", ', graphStatus: "pending" }', " }"],
    [
      "what the graph refused is not called pending because it does not hold it",
      'if (fromTable.graphStatus !== "synced") return { ...fromTable };',
      'if (fromTable.graphStatus === "pending") return { ...fromTable };',
    ],
  ),
  ...slips("texts", "worker/imports.ts", [
    "a NUL in one name keeps no others from being looked at",
    'text?.replaceAll("\\0", "") ?? null',
    "text ?? null",
  ]),
  ...slips("texts", "db/rules/validation.sql", [
    "a character beyond the first plane is named in full",
    "'^0+(?=.{4,}$)', '')",
    "'^.*(?=.{4}$)', '')",
  ]),
  ...slips("people", "db/rules/people.sql", [
    "who comes back after an erasure and claims again makes a claim",
    "strpos(a.answer, c.claim_id::text) > 0",
    "false",
  ]),
];
