// What was drawn by chance among the rules, the worker, the processes and the operator's tool: who sees what, and what is kept.
import type { Mistake } from "../mistake.ts";

const SENT = {
  file: "db/rules/claim-queue.sql",
  tests: ["claim-queue"],
  only: "stays with its reviewers",
};

const TAKEN = { tests: ["trail"], only: "each step names who took it" };
const IN_ORDER = {
  file: "db/rules/people.sql",
  tests: ["people"],
  only: "an address is not replaced before",
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
  {
    ...TAKEN,
    rule: "whoever appoints an administrator is told of as who did it",
    file: "db/rules/appointments.sql",
    before: "  perform app_private.name_actor(admin_email);\n",
    after: "",
  },
  {
    ...TAKEN,
    rule: "whoever suspends somebody is told of as who did it",
    file: "db/rules/members.sql",
    before:
      "    || app_private.required_problems('status', status::text)\n    || app_private.email_problems('adminEmail', admin_email));\n  perform app_private.name_actor(admin_email);\n",
    after:
      "    || app_private.required_problems('status', status::text)\n    || app_private.email_problems('adminEmail', admin_email));\n",
  },
  {
    ...TAKEN,
    rule: "whoever takes a claim back is told of as who did it",
    file: "db/rules/own-standing.sql",
    before: "  perform app_private.name_actor(user_email);\n  -- As a review does",
    after: "  -- As a review does",
  },
  {
    ...TAKEN,
    rule: "whoever leaves an organization is told of as who did it",
    file: "db/rules/own-standing.sql",
    before:
      "  perform app_private.name_actor(user_email);\n  perform app_private.require_organization(org_uri);",
    after: "  perform app_private.require_organization(org_uri);",
  },
  {
    ...TAKEN,
    rule: "whoever gives a role on the platform is told of as who did it",
    file: "db/rules/platform-users.sql",
    before: "  perform app_private.name_actor(admin_email);\n  perform app_private.require_read_committed();",
    after: "  perform app_private.require_read_committed();",
  },
  {
    ...IN_ORDER,
    rule: "nobody's address is replaced who may still act",
    before: "  if found and person.erased_at is null then\n",
    after: "  if false then\n",
  },
  {
    ...IN_ORDER,
    rule: "nobody's address is replaced while a claim of theirs waits",
    before: "where c.user_id = person.user_id and app_private.review_status(c.status) = 'pending'\n  ) then",
    after: "where false\n  ) then",
  },
  {
    rule: "a database is asked whether it will do before anything is done to it",
    file: "admin/migrate.ts",
    before: "    await requireDatabase(await context.databaseUrl());\n",
    after: "",
    tests: ["cli"],
    only: "when the database cannot be reached",
  },
  {
    rule: "nobody else on the machine reads the password of the embedded PostgreSQL, not even for a moment",
    file: "db/embedded.ts",
    before: "await writeFile(passwordFile, password, { mode: 0o600 });",
    after: "await writeFile(passwordFile, password);",
    tests: ["embedded-postgres-log"],
    only: "nobody else reads",
  },
  {
    rule: "an organization keeps its URI however far behind in it the address of an erased person is",
    file: "db/rules/mentions.sql",
    before:
      "      and substr(o.org_uri, place, 1000) ~* ('^' || app_private.address_spellings(erasable_pattern.email))\n",
    after: "",
    tests: ["people"],
    only: "organizations keep their URIs",
  },
  {
    rule: "a drain that is told to end begins no list any more",
    file: "worker/drain.ts",
    before: "if (!signal.aborted) await writeDirtyReferences",
    after: "await writeDirtyReferences",
    tests: ["drain-steps"],
    only: "begins nothing",
  },
  {
    rule: "a list that has changed wakes the worker",
    file: "db/rules/graph-references.sql",
    before: "  perform app_private.wake_projection();\n",
    after: "",
    tests: ["graph-marking"],
    only: "wakes the worker",
  },
  {
    rule: "a list that was refused a moment ago keeps no drain at it",
    file: "db/rules/graph-references.sql",
    before: "(select '-infinity'::timestamptz from app_private.due_references limit 1)",
    after: "(select '-infinity'::timestamptz from app_private.dirty_references limit 1)",
    tests: ["graph-marking"],
    only: "kept at",
  },
  {
    rule: "a claim is reviewed when it is decided, not when it was made",
    file: "db/rules/claim-review.sql",
    before: "reviewed_at = now()",
    after: "reviewed_at = claim.created_at",
    tests: ["membership-lifecycle"],
    only: "archived with its reason",
  },
  {
    rule: "an expiry does not wait for who is changing a commitment",
    file: "db/rules/expiry.sql",
    before: "for update skip locked",
    after: "for update",
    tests: ["expiry"],
    only: "holds nobody up",
  },
];
