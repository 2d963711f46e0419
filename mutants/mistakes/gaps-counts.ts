// What the rules would have let through, or miscounted, or taken too much of, and no test would have noticed.
import type { Mistake } from "../mistake.ts";

const PEOPLE = {
  file: "db/rules/platform-users.sql",
  tests: ["membership-lifecycle"],
  only: "renames nobody",
};

export const GAPS_IN_COUNTS: readonly Mistake[] = [
  {
    ...PEOPLE,
    rule: "an application gives nobody another first name whom the service knows",
    before:
      "first_name = case when app_private.address_is_proven() then excluded.first_name else u.first_name end",
    after: "first_name = excluded.first_name",
  },
  {
    ...PEOPLE,
    rule: "an application gives nobody another last name whom the service knows",
    before:
      "last_name = case when app_private.address_is_proven() then excluded.last_name else u.last_name end",
    after: "last_name = excluded.last_name",
  },
  {
    rule: "records are not counted anew while somebody adds up what has changed",
    file: "db/rules/record-totals.sql",
    before: "  perform pg_advisory_xact_lock(hashtextextended('app_private.record_totals', 0));\n",
    after: "",
    tests: ["record-totals"],
    only: "counted anew while somebody folds",
  },
  {
    rule: "whoever writes does not wait for the worker that takes the wake-ups",
    file: "db/rules/graph-projection.sql",
    before: "limit 1 for key share skip locked;",
    after: "limit 1 for key share;",
    tests: ["graph-marking"],
    only: "just taking the wake-ups",
  },
  {
    rule: "who adds up what has changed does not wait for another who does",
    file: "db/rules/record-totals.sql",
    before:
      "  if not pg_try_advisory_xact_lock(hashtextextended('app_private.record_totals', 0)) then\n    return 0;\n  end if;\n",
    after: "",
    tests: ["record-totals"],
    only: "a fold waits for nobody",
  },
  {
    rule: "a permission of the platform is asked for by nobody but whoever is calling",
    file: "db/rules/platform-users.sql",
    before:
      "  perform app_private.require_own_identity(email);\n  perform app_private.require_organization(null,",
    after: "  perform app_private.require_organization(null,",
    tests: ["authorization"],
    only: "by nobody but whoever",
  },
  {
    rule: "a permission of an organization is asked for by nobody but whoever is calling",
    file: "db/rules/membership.sql",
    before:
      "  perform app_private.require_own_identity(email);\n  perform app_private.require_organization(org_uri);",
    after: "  perform app_private.require_organization(org_uri);",
    tests: ["authorization"],
    only: "by nobody but whoever",
  },
  {
    rule: "a role that has no words any more is no longer listed",
    file: "db/rules/permissions.sql",
    before: "where r.role::text not in (select role from words)",
    after: "where false",
    tests: ["migrate"],
    only: "in one rules file",
  },
  {
    file: "worker/verifier.ts",
    tests: ["verifier"],
    rule: "a round that is urgent takes no more than its share of the store's time",
    before: "        await pause(idleMs);\n",
    after: "",
    only: "that is urgent",
  },
  {
    rule: "what differs in a list counts as repaired",
    file: "worker/verify.ts",
    before: "  result.repaired += differing;\n",
    after: "",
    tests: ["graph-upkeep"],
    only: "what differs in a list",
  },
  {
    rule: "who notes that a list was written does not wait for an import of it",
    file: "db/rules/graph-references.sql",
    before: "    for no key update skip locked\n",
    after: "    for no key update\n",
    tests: ["graph-marking"],
    only: "does not wait for an import of it",
  },
  {
    rule: "a place in the feed that another history gave a moment later is another place",
    file: "db/rules/changes.sql",
    before: "(extract(epoch from change.numbered_at) * 1000000)::bigint",
    after: "extract(epoch from change.numbered_at)::bigint",
    tests: ["changes"],
    only: "another history of the database",
  },
  {
    rule: "what the store has refused for hours is still sent again",
    file: "db/rules/graph-projection.sql",
    before: "2 ^ least(refusals - 1, 9)",
    after: "2 ^ (refusals - 1)",
    tests: ["graph-marking"],
    only: "each five minutes, however often",
  },
  {
    rule: "what the store has refused often waits no longer than five minutes",
    file: "db/rules/graph-projection.sql",
    before: "least(refusals - 1, 9), interval '5 minutes')",
    after: "least(refusals - 1, 9), interval '10 minutes')",
    tests: ["graph-marking"],
    only: "each five minutes, however often",
  },
];
