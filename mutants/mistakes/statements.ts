// What goes to PostgreSQL with a statement, how one is cancelled, and who gets the next connection.
import type { Mistake } from "../mistake.ts";

export const STATEMENTS: readonly Mistake[] = [
  {
    tests: ["statements"],
    rule: "a cancel over TLS is negotiated first",
    file: "server/postgres/cancel.ts",
    before: 'sslNegotiation !== "direct"',
    after: 'sslNegotiation === "direct"',
  },
  {
    tests: ["statements"],
    rule: "a cancel goes by the socket that the connection goes by",
    file: "server/postgres/cancel.ts",
    before: 'if (host.startsWith("/"))',
    after: 'if (host.startsWith("\\\\"))',
  },
  {
    tests: ["statements"],
    rule: "a cancel that fails is known to have",
    file: "server/postgres/cancel.ts",
    before: '    wire.on("error", failed);\n',
    after: '    wire.on("error", () => undefined);\n',
  },
  {
    tests: ["statements"],
    rule: "a cancel that nobody answers is given up",
    file: "server/postgres/cancel.ts",
    before: "      wire.stream.destroy();\n      failed(new DatabaseUnavailable());\n",
    after: "      wire.stream.destroy();\n",
  },
  {
    tests: ["statements"],
    rule: "settings end with their transaction",
    file: "server/postgres/query.ts",
    before: '"select set_config(key, value, true) from json_each_text($1)"',
    after: '"select set_config(key, value, false) from json_each_text($1)"',
  },
  {
    tests: ["statements"],
    rule: "a statement that the server has let go is parsed anew",
    file: "server/postgres/query.ts",
    before: "      delete connection.parsedStatements[forget];\n",
    after: "",
  },
  {
    tests: ["statements"],
    rule: "what fails with its settings has not begun",
    file: "server/postgres/query.ts",
    before: "return this.#isSettled;",
    after: "return true;",
  },
  {
    tests: ["statements"],
    rule: "what cannot be cancelled closes its connection",
    file: "server/postgres/connections.ts",
    before: "() => (this.#isBroken = true),",
    after: "() => undefined,",
  },
  {
    tests: ["reads"],
    rule: "a request that has begun comes before others of its caller",
    file: "server/postgres/connections.ts",
    before: "    if (request) this.#underWay.add(request);\n",
    after: "",
    only: "a connection",
  },
  {
    tests: ["turns"],
    rule: "who hangs up after its turn leaves no queue twice",
    file: "server/shares.ts",
    before: '        gone?.removeEventListener("abort", hangUp);\n',
    after: "",
  },
  {
    tests: ["turns"],
    rule: "a caller who has given up is forgotten",
    file: "server/shares.ts",
    before: "        this.#forget(name, caller);\n        throw error;",
    after: "        throw error;",
  },
];
