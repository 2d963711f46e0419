// Lines of the code, drawn by lot, that could be wrong with no test to say so; and others of their kinds.
import type { Mistake } from "../mistake.ts";

const PROTOCOLS = { file: "server/openapi/protocols.ts", tests: ["openapi"] };
const STATES = {
  file: "server/pages/graph-state.ts",
  tests: ["pages-followed"],
  only: "who runs the platform",
};
const ROLES = { file: "db/rules/roles.sql", tests: ["migrate-locks"], only: "make the same roles" };
const KEPT = {
  file: "server/pages/assets/claims/kept.js",
  tests: ["claims-script"],
  only: "other tabs have left",
};

export const LINES_DRAWN: readonly Mistake[] = [
  {
    rule: "what is wrong with a file of people groups is said, and not that the file cannot be read",
    file: "admin/people-groups.ts",
    before: "    if (error instanceof AdminError) throw error;\n",
    after: "",
    tests: ["vocabulary"],
    only: "are not guessed at",
  },
  {
    rule: "nobody waits for the count of a database that is known to be silent",
    file: "server/identity/rate-limit.ts",
    before: "return await whileAlive(this.#pulse, async () => {\n",
    after: "return await ((_: Pulse, work: () => Promise<Consumed>) => work())(this.#pulse, async () => {\n",
    tests: ["rate-window"],
    only: "falls silent",
  },
  {
    rule: "nobody waits for a connection to a database that is known to be silent",
    file: "server/postgres/connections.ts",
    before:
      "          : whileAlive(this.#pulse, () =>\n              within(CONNECT_PATIENCE_MS, connecting, () => new DatabaseUnavailable()),\n            ));",
    after: "          : within(CONNECT_PATIENCE_MS, connecting, () => new DatabaseUnavailable()));",
    tests: ["reads"],
    only: "when nobody waits for it any more",
  },
  {
    rule: "a page says why the store has broken an answer off",
    file: "server/pages/sparql/result.ts",
    before: "    if (error instanceof GraphUnavailable || error instanceof GraphRejected) throw error;\n",
    after: "",
    tests: ["results-as-read"],
    only: "breaks off",
  },
  {
    ...STATES,
    rule: "what names a part of a page is there",
    before: '<h2 id="states">',
    after: '<h2 id="state-list">',
  },
  {
    ...STATES,
    rule: "two things of a page are not called the same",
    before: '<section class="card" aria-labelledby="states">\n    <h2 id="states">',
    after: '<section class="card" aria-labelledby="refused">\n    <h2 id="refused">',
  },
  {
    rule: "what describes a field of the API reference is there",
    file: "server/pages/docs/operation.ts",
    before: 'aria-describedby="${hint}"',
    after: 'aria-describedby="${hint}-hint"',
    tests: ["pages-followed"],
    only: "who is not signed in",
  },
  {
    rule: "a backslash in what was typed is a backslash",
    file: "db/rules/choosing.sql",
    before: String.raw`'[\\%_]'`,
    after: "'[%_]'",
    tests: ["choosing"],
    only: "organizations that have",
  },
  {
    ...PROTOCOLS,
    rule: "an example of an error is what is answered",
    before: "initialize, ping, tools/list, tools/call",
    after: "initialize, tools/list, tools/call",
    only: "an answer of the tool endpoint",
  },
  {
    ...PROTOCOLS,
    rule: "an example of a message calls a method that there is",
    before: 'rpc(3, { method: "ping" })',
    after: 'rpc(3, { method: "notifications/ping" })',
    only: "of each operation",
  },
  {
    ...PROTOCOLS,
    rule: "an example of a call names a tool that there is",
    before: 'name: "churches_search_v1",',
    after: 'name: "churches_search",',
    only: "of each operation",
  },
  {
    ...PROTOCOLS,
    rule: "an example of a search has the names of the service's parameters",
    before: 'locality: "El Cajon", region: "CA"',
    after: 'city: "El Cajon", region: "CA"',
    only: "of each operation",
  },
  {
    ...PROTOCOLS,
    rule: "an example of a refusal says what the service says",
    before: 'noMethod("server/discover, tools/list, tools/call")',
    after: 'noMethod("initialize, ping, tools/list, tools/call")',
    only: "of an answer",
  },
  {
    ...PROTOCOLS,
    rule: "an example of a refusal has the code of the service",
    before: "refusal(null, -32700,",
    after: "refusal(null, -32600,",
    only: "of an answer",
  },
  // Only up to release 15 of PostgreSQL, which Debian 12 has.
  {
    ...ROLES,
    rule: "two databases of a cluster may give a role at the same time",
    before: "      when unique_violation then\n        null;\n      when insufficient",
    after: "      when insufficient",
  },
  {
    ...ROLES,
    rule: "two databases of a cluster may make a role at the same time",
    before: "exception when duplicate_object or unique_violation then",
    after: "exception when duplicate_object then",
  },
  {
    rule: "Fuseki listens where it was told to",
    file: "graph/fuseki/launch.ts",
    before: "      FUSEKI_PORT: String(port),\n",
    after: "",
    tests: ["java-servers"],
    only: "machine's alone",
  },
  {
    ...KEPT,
    rule: "a decision that another tab has left is told of after a minute",
    before: "const LONGEST_MS = 60_000;",
    after: "const LONGEST_MS = 600_000;",
  },
  {
    ...KEPT,
    rule: "a decision of another tab may be on its way for a minute",
    before: "const LONGEST_MS = 60_000;",
    after: "const LONGEST_MS = 30_000;",
  },
];
