// What was drawn at random from all of the code, and went unnoticed; and what is like it: what is offered, shown or waited for.
import type { Mistake } from "../mistake.ts";

const CONNECTIONS = { file: "server/postgres/postgres.ts", tests: ["postgres-parts"] };
const EXAMPLES = { tests: ["openapi"], only: "works on the demo" };
const ROWS = { tests: ["changed-rows"] };

export const DRAWN_ONCE_MORE: readonly Mistake[] = [
  {
    rule: "what has no date is offered no order in time",
    file: "server/graphql/groups.ts",
    before: "...(dateOf(table.codec) !== undefined && BY_TIME)",
    after: "...BY_TIME",
    tests: ["graphql-aggregates"],
    only: "each that is offered",
  },
  {
    ...EXAMPLES,
    rule: "the example of a change is in the chain of the need that has changed",
    file: "server/openapi/lifecycle-examples.ts",
    before: "            needId,\n            fromStatus",
    after: "            needId: commitmentId,\n            fromStatus",
  },
  {
    ...EXAMPLES,
    rule: "the example of a change is about the record that it shows",
    file: "server/openapi/lifecycle-examples.ts",
    before: "            id: needId,\n",
    after: "            id: claimId,\n",
  },
  {
    ...EXAMPLES,
    rule: "the example of a change of an organization claim names the organization of the claim",
    file: "server/openapi/examples.ts",
    before: "            orgUri: northernLight,\n            needId: null",
    after: "            orgUri: `${graphDataUrl}/org/stone-bridge`,\n            needId: null",
  },
  {
    ...EXAMPLES,
    rule: "the example of a change of an organization claim begins where a claim begins",
    file: "server/openapi/examples.ts",
    before: '            fromStatus: null,\n            toStatus: "pending"',
    after: '            fromStatus: "pending",\n            toStatus: "approved"',
  },
  {
    ...CONNECTIONS,
    rule: "a connection that is never given is not waited for without end",
    before: "        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,\n",
    after: "",
    only: "never gives",
  },
  {
    ...CONNECTIONS,
    rule: "it is noticed that the machine of the database is away",
    before: "        keepAlive: true,\n",
    after: "",
    only: "still there",
  },
  {
    ...CONNECTIONS,
    rule: "it is noticed that the machine of the database is away, by what checks it too",
    before: "connectionString: url, keepAlive: true",
    after: "connectionString: url",
    only: "still there",
  },
  {
    rule: "a database that does not let anybody listen is not waited for without end",
    file: "server/identity/announcements.ts",
    before: "connectionString: this.#url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS,",
    after: "connectionString: this.#url,",
    tests: ["postgres-parts"],
    only: "waited for five seconds",
  },
  {
    rule: "a database that gives no connection to count by is not waited for without end",
    file: "server/identity/rate-limit.ts",
    before: "      connectionTimeoutMillis: patienceMs,\n",
    after: "",
    tests: ["rate-window"],
    only: "never gives",
  },
  {
    ...ROWS,
    rule: "the statuses of an update of thousands do not take the square of its time",
    file: "db/rules/status-history.sql",
    before: "        set enable_nestloop = off\n",
    after: "",
    only: "compared with each",
  },
  {
    ...ROWS,
    rule: "the feed of an update of thousands does not take the square of its time",
    file: "db/rules/changes.sql",
    before: "        set enable_nestloop = off\n",
    after: "",
    only: "compared with each",
  },
  {
    ...ROWS,
    rule: "changes get their places without a look at all that are kept",
    file: "db/rules/changes.sql",
    before: "set enable_seqscan = off\n",
    after: "",
    only: "wait for their places",
  },
];
