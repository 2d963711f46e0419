// What is told in the feed of changes, of each kind of record, and in which order.
import type { Mistake } from "../mistake.ts";

const CHANGES = "db/rules/changes.sql";

export const FEED: readonly Mistake[] = [
  {
    rule: "nobody gives places in the feed while somebody else does",
    file: CHANGES,
    before: "  perform pg_advisory_xact_lock(hashtextextended('app_private.changes', 0));\n  -- A statement",
    after: "  -- A statement",
    tests: ["changes"],
    only: "nobody gives places",
  },
  {
    rule: "the platform is told of claims that were deleted",
    file: CHANGES,
    before: "left join app_public.organization_claims as c on c.claim_id = s.record_id",
    after: "join app_public.organization_claims as c on c.claim_id = s.record_id",
    tests: ["changes"],
    only: "that were deleted are told",
  },
  {
    rule: "an attestation is in the chain of the need of its commitment",
    file: CHANGES,
    before: "where c.commitment_id = fulfills_commitment_id)')",
    after: "where c.concerns_need_id = fulfills_commitment_id)')",
    tests: ["changes"],
    only: "of each kind of record",
  },
  {
    rule: "what was deleted is told with the status that it had",
    file: CHANGES,
    before: "insert into app_private.changes (kind, record_id, change, from_status, org_uri, need_id)",
    after: "insert into app_private.changes (kind, record_id, change, to_status, org_uri, need_id)",
    tests: ["changes"],
    only: "of each kind of record",
  },
  {
    rule: "an update is told with the status of before and that of after",
    file: CHANGES,
    before: "'updated', %6$s, %7$s, changed.org_uri",
    after: "'updated', %7$s, %6$s, changed.org_uri",
    tests: ["changes"],
    only: "of each kind of record",
  },
  {
    rule: "an update is told with the time at which it was made",
    file: CHANGES,
    before: "n.need_id, changed.updated_at\n",
    after: "n.need_id, before.updated_at\n",
    tests: ["changes"],
    only: "of each kind of record",
  },
  {
    rule: "a claim that is saved as it was has not changed",
    file: "db/rules/organization-claims.sql",
    before:
      "create trigger touch before update on app_public.organization_claims\n  for each row when (old.* is distinct from new.*) execute",
    after: "create trigger touch before update on app_public.organization_claims\n  for each row execute",
    tests: ["changes"],
    only: "saved as they were",
  },
];
