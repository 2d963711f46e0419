// Mistakes in what a refusal says, to whom and in whose name, and in examples of answers.
import type { Mistake } from "../mistake.ts";

export const DOORS_SAID: readonly Mistake[] = [
  {
    rule: "an example shows what the demo answers",
    file: "server/openapi/examples.ts",
    before: "total: 17",
    after: "total: 18",
    tests: ["openapi"],
    only: "example of each",
  },
  {
    rule: "the operations of the graph name what a query is refused with",
    file: "server/openapi/protocols.ts",
    before: '  "query_too_expensive",\n',
    after: "",
    tests: ["openapi"],
    only: "operations of the graph",
  },
  {
    rule: "the operations of the graph name what a token may be refused with",
    file: "server/openapi/protocols.ts",
    before: '  "database_unavailable",\n  "identity_provider_unavailable",\n  "graph_unavailable",',
    after: '  "database_unavailable",\n  "graph_unavailable",',
    tests: ["openapi"],
    only: "every operation names",
  },
  {
    rule: "a download has the name of its format",
    file: "server/sparql/downloads.ts",
    before: 'file: "result.jsonld",',
    after: 'file: "result.ttl",',
    tests: ["sparql-page"],
    only: "downloads CONSTRUCT",
  },
  {
    rule: "levels of a filter are as many as may be, and no more",
    file: "server/graphql/arguments.ts",
    before: "if (at.length > BOUNDS.argumentDepth)",
    after: "if (at.length >= BOUNDS.argumentDepth)",
    tests: ["graphql-bounds"],
    only: "levels of a filter",
  },
  {
    rule: "a filter has no level more than it may",
    file: "server/graphql/arguments.ts",
    before: "if (at.length > BOUNDS.argumentDepth)",
    after: "if (at.length > BOUNDS.argumentDepth + 1)",
    tests: ["graphql-bounds"],
    only: "levels of a filter",
  },
  {
    rule: "a page says no more of a failure than any caller is told",
    file: "server/graphql/ask.ts",
    before: "errors: result.errors?.map(execution.publicError)",
    after: "errors: result.errors",
    tests: ["graphql-errors"],
    only: "a page of ours",
  },
  {
    rule: "what GraphQL sets going belongs to its request's trace",
    file: "server/graphql/connections.ts",
    before: '"app.trace_parent": traceParent() ?? ""',
    after: '"app.trace_parent": ""',
    tests: ["tracing"],
    only: "mutation too",
  },
];
