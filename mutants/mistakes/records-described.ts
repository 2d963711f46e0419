// What a record consists of, as the tables, the doors and the graph have it.
import type { Mistake } from "../mistake.ts";

export const RECORDS_DESCRIBED: readonly Mistake[] = [
  {
    rule: "a person is not named in the graph",
    file: "records/need.ts",
    before: "graph: inGraph.person,",
    after: 'graph: "ns:declaredBy",',
    tests: ["records"],
  },
  {
    rule: "a claim that names a country names it as one",
    file: "records/engagement-claim.ts",
    before: 'graph: "ns:countryName"',
    after: 'graph: "ns:peopleGroupName"',
    tests: ["records", "projection"],
    only: "described by|a need|a commitment|a engag",
  },
  {
    rule: "when a record was changed is not when it was made",
    file: "records/shared.ts",
    before: 'graph: "dct:modified"',
    after: 'graph: "dct:created"',
    tests: ["records", "projection"],
    only: "described by|a need|a commitment|a engag|ontology",
  },
  {
    rule: "a commitment may be without a day",
    file: "records/commitment.ts",
    before: 'description: "When it should be done: YYYY-MM-DD.",\n      input: "optional",',
    after: 'description: "When it should be done: YYYY-MM-DD.",\n      input: "required",',
    tests: ["records", "rest-records"],
    only: "ontology|described|a need|a commitment|only what is required",
  },
  {
    rule: "a claim leads to the commitment that it fulfils",
    file: "records/engagement-claim.ts",
    before: 'graph: { link: "ns:fulfillsCommitment", to: "commitment" }',
    after: 'graph: { link: "ns:fulfillsCommitment", to: "need" }',
    tests: ["graph-records", "projection"],
    only: "point to what|described by",
  },
  {
    rule: "the name of an organization is asked for",
    file: "records/shared.ts",
    before:
      'description: "The organization\'s display name when the record was created.",\n    input: "required",',
    after:
      'description: "The organization\'s display name when the record was created.",\n    input: "optional",',
    tests: ["records", "rest-records", "openapi"],
    only: "described|a need|a commitment|only what is required|examples",
  },
  {
    rule: "records are told of from the need to the engagement",
    file: "records/index.ts",
    before: "  need,\n  commitment,\n  engagement_claim: engagementClaim,\n};",
    after: "  engagement_claim: engagementClaim,\n  commitment,\n  need,\n};",
    tests: ["records", "openapi", "graph-records"],
    only: "need|records|documented$",
  },
];
