// What is no longer believed without asking: a replica's settings, that it follows the primary, a provider's keys.
import type { Mistake } from "../mistake.ts";

export const NOT_BELIEVED: readonly Mistake[] = [
  {
    rule: "a replica with other settings than the rules need is passed over",
    file: "server/postgres/replica.ts",
    before: "if (other !== undefined) throw new ReplicaUnfit(`it has ${other}`);",
    after: "void other;",
    tests: ["replica-faults"],
    only: "in with another setting",
  },
  {
    rule: "policies decide whatever a login's own settings are",
    file: "server/postgres/connections.ts",
    before: ', row_security: "on" };',
    after: " };",
    tests: ["replica-faults"],
    only: "policies are switched off",
  },
  {
    rule: "the style of dates is what counts, and not their order",
    file: "db/reach.ts",
    before: '?.split(",", 1)[0] !== needed',
    after: " !== needed",
    tests: ["reach"],
    only: "new enough",
  },
];
