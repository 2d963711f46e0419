// What was drawn at random from all of the code, and went unnoticed; and what is like it.
import type { Mistake } from "../mistake.ts";

export const DRAWN_AT_LARGE: readonly Mistake[] = [
  {
    rule: "an ordering of GraphQL is described as the one that it is",
    file: "server/graphql/wording.ts",
    before: '{ ASC: "ascending", DESC: "descending" }',
    after: '{ ASC: "descending", DESC: "ascending" }',
    tests: ["graphql-orderings"],
    only: "what the schema says of it",
  },
  {
    rule: "a list within a record says how many it gives by default",
    file: "server/graphql/paging.ts",
    before: "${byDefault} when neither",
    after: "${PAGE_DEFAULT} when neither",
    tests: ["graphql-orderings"],
    only: "as many as the schema says",
  },
  {
    rule: "a list at the root says how many it gives by default",
    file: "server/graphql/paging.ts",
    before: "${byDefault} when neither",
    after: "${PAGE_DEFAULT_NESTED} when neither",
    tests: ["graphql-orderings"],
    only: "as many as the schema says",
  },
  {
    rule: "a status is described as that of its own kind of record",
    file: "server/graphql/descriptions.ts",
    before: "? codeDefinitions(record.fields.status.graph)",
    after: "? codeDefinitions(need.fields.status.graph)",
    tests: ["graphql-schema"],
    only: "means what records/",
  },
  {
    rule: "the fields of a commitment are described as records/ describes them",
    file: "server/graphql/descriptions.ts",
    before: "attribute: attributesOf(commitment)",
    after: "attribute: attributesOf(need)",
    tests: ["graphql-schema"],
    only: "means what records/",
  },
  {
    rule: "a description can be downloaded in Turtle",
    file: "server/sparql/downloads.ts",
    before: 'label: "Turtle",\n    of: ["construct", "describe"]',
    after: 'label: "Turtle",\n    of: ["construct"]',
    tests: ["sparql-page"],
    only: "DESCRIBE",
  },
  {
    rule: "a description can be downloaded in JSON-LD",
    file: "server/sparql/downloads.ts",
    before: 'label: "JSON-LD",\n    of: ["construct", "describe"]',
    after: 'label: "JSON-LD",\n    of: ["construct"]',
    tests: ["sparql-page"],
    only: "DESCRIBE",
  },
  {
    rule: "a key is shown a check that its scope gets to",
    file: "db/rules/reasons.sql",
    before: "(coalesce(reached, asking))[1])",
    after: "(coalesce(asking, reached))[1])",
    tests: ["authorization-reasons"],
    only: "not one that only a wider scope does",
  },
  {
    rule: "how many groups there are by default is described as it is",
    file: "server/graphql/groups.ts",
    before: "${GROUPS_DEFAULT} when it is not given",
    after: "${GROUPS_MAX} when it is not given",
    tests: ["graphql-aggregates"],
    only: "where nothing is said",
  },
  ...(
    [
      ["=", '"=", "!=", "<",', '"!=", "<",'],
      ["!=", '"=", "!=", "<",', '"=", "<",'],
      ["<=", '">", "<=", ">="', '">", ">="'],
      [">=", '"<=", ">=", "in"', '"<=", "in"'],
      ["NOT IN", '"in", "notin"', '"in"'],
    ] as const
  ).map(([operator, before, after]) => ({
    rule: `durations are compared at a cost by ${operator}, too`,
    file: "graph/sparql-times.ts",
    before,
    after,
    tests: ["sparql-costs"],
    only: "dates and durations",
  })),
];
