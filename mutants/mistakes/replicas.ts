// What is read on a replica.
import type { Mistake } from "../mistake.ts";

export const REPLICAS: readonly Mistake[] = [
  {
    rule: "a replica is one of this database",
    file: "db/rules/replicas.sql",
    before: "elsif wanted ->> 'database' is distinct from app_private.database_identity() then",
    after: "elsif wanted ->> 'database' is null then",
    tests: ["replica-faults"],
    only: "another database like it",
  },
  {
    rule: "only queries are asked of a replica",
    file: "server/graphql/execution.ts",
    before: "if (operation?.operation === OperationTypeNode.QUERY)",
    after: "if (operation?.operation !== OperationTypeNode.SUBSCRIPTION)",
    tests: ["replica"],
    only: "what only reads",
  },
  {
    rule: "what a replica cannot do is asked of the primary",
    file: "server/postgres/reads.ts",
    before: "return error instanceof DatabaseError && (isSick(error) ||",
    after: "return error instanceof DatabaseError && (",
    tests: ["replica"],
    only: "cannot do",
  },
  {
    rule: "a replica that does not get there is given up",
    file: "server/postgres/replica.ts",
    before: "const patience = setTimeout(() => settle(false), this.#maxLagMs);",
    after: "const patience = setTimeout(() => settle(true), this.#maxLagMs);",
    tests: ["replica-faults"],
    only: "does not replay",
  },
];
