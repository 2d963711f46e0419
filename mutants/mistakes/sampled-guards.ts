// What was drawn by chance among the rules, the worker, the processes and the operator's tool: who sees what, and what is kept.
import type { Mistake } from "../mistake.ts";

const SENT = {
  file: "db/rules/claim-queue.sql",
  tests: ["claim-queue"],
  only: "stays with its reviewers",
};

export const SAMPLED_GUARDS: readonly Mistake[] = [
  {
    rule: "a step of a round of verification that was begun anew in the same part takes that no further",
    file: "db/rules/graph-store.sql",
    before: "where v.part = note_verification.part and v.after is not distinct from note_verification.after;",
    after: "where v.part = note_verification.part;",
    tests: ["graph-marking"],
    only: "begun anew",
  },
  {
    ...SENT,
    rule: "who manages an organization reviews what was sent there, and not what was sent to the platform before",
    before: "or c.routed_to = 'organization'\n      and c.org_uri in",
    after: "or c.org_uri in",
  },
  {
    ...SENT,
    rule: "of others who claim the organization its administrator sees those that were sent to it",
    before:
      "        select c.* from app_private.claims_to_review() as c\n        where c.org_uri = claim.org_uri",
    after:
      "        select c.* from app_public.organization_claims as c\n        where c.org_uri = claim.org_uri",
  },
  {
    ...SENT,
    rule: "others are counted as they are listed",
    before: "      select count(*) from app_private.claims_to_review() as c",
    after: "      select count(*) from app_public.organization_claims as c",
  },
];
