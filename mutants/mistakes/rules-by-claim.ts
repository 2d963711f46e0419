// Members by an approved claim alone: listed, counted, changed and removed like all others.
import type { Mistake } from "../mistake.ts";

const tests = ["members-by-claim"];
const LISTED = "through REST who belongs by an approved claim alone is listed";
const CHANGED = "through REST who belongs by an approved claim alone is (suspended|removed|given|made|left)";

export const BY_CLAIM: readonly Mistake[] = [
  {
    tests,
    rule: "who is appointed and belongs by an approved claim has been a member since then",
    file: "db/rules/members.sql",
    before: "  perform app_private.enter_by_claim(email, org_uri);\n",
    after: "",
    only: "the operator lists",
  },
  {
    tests,
    rule: "who belongs by an approved claim alone is listed among the members",
    file: "db/rules/members.sql",
    before: "from app_private.members as m, lateral app_private.member(",
    after: "from app_public.memberships as m, lateral app_private.member(",
    only: LISTED,
  },
  {
    tests,
    rule: "a member is described by an approved claim where there is no membership",
    file: "db/rules/members.sql",
    before: "  from app_private.members as m\n  join app_public.organizations as o",
    after: "  from app_public.memberships as m\n  join app_public.organizations as o",
    only: LISTED,
  },
  {
    tests,
    rule: "a member by several approved claims is listed once",
    file: "db/rules/membership.sql",
    before: "(select distinct on (s.org_uri, s.user_id) s.org_uri,",
    after: "(select s.org_uri,",
    only: LISTED,
  },
  {
    tests,
    rule: "a member by several approved claims to several organizations belongs to each of them",
    file: "db/rules/membership.sql",
    before:
      "(select distinct on (s.org_uri, s.user_id) s.org_uri, s.user_id, s.role, 'active'::app_public.membership_status,\n  s.created_at, s.updated_at\nfrom app_private.claim_standings as s\norder by s.org_uri, s.user_id, s.created_at desc);",
    after:
      "(select distinct on (s.user_id) s.org_uri, s.user_id, s.role, 'active'::app_public.membership_status,\n  s.created_at, s.updated_at\nfrom app_private.claim_standings as s\norder by s.user_id, s.created_at desc);",
    only: LISTED,
  },
  {
    tests,
    rule: "a member by approved claims is one since the latest of them",
    file: "db/rules/membership.sql",
    before: "order by s.org_uri, s.user_id, s.created_at desc);",
    after: "order by s.org_uri, s.user_id, s.created_at);",
    only: LISTED,
  },
  {
    tests,
    rule: "a person's organizations include those where they are a member by an approved claim alone",
    file: "db/rules/platform-users.sql",
    before: "select app_private.member(m.org_uri, m.user_id) from app_private.members as m",
    after: "select app_private.member(m.org_uri, m.user_id) from app_public.memberships as m",
    only: LISTED,
  },
  {
    tests,
    rule: "a member by an approved claim alone is changed by whoever manages members",
    file: "db/rules/members.sql",
    before: "  perform app_private.enter_by_claim(user_email, org_uri);\n  update",
    after: "  update",
    only: CHANGED,
  },
  {
    tests,
    rule: "what a member by an approved claim is elsewhere stays when they are changed here",
    file: "db/rules/members.sql",
    before: "s.org_uri = coalesce(enter_by_claim.org_uri, s.org_uri)",
    after: "true",
    only: CHANGED,
  },
  {
    tests,
    rule: "the membership made of an approved claim has the role that the claim gave",
    file: "db/rules/members.sql",
    before:
      "insert into app_public.memberships (org_uri, user_id, role, created_at)\n  select s.org_uri, s.user_id, s.role, s.created_at",
    after:
      "insert into app_public.memberships (org_uri, user_id, created_at)\n  select s.org_uri, s.user_id, s.created_at",
    only: CHANGED,
  },
  {
    tests,
    rule: "the membership made of an approved claim is as old as the claim",
    file: "db/rules/members.sql",
    before:
      "insert into app_public.memberships (org_uri, user_id, role, created_at)\n  select s.org_uri, s.user_id, s.role, s.created_at",
    after:
      "insert into app_public.memberships (org_uri, user_id, role)\n  select s.org_uri, s.user_id, s.role",
    only: CHANGED,
  },
  {
    tests,
    rule: "the membership made of several approved claims is as old as the latest",
    file: "db/rules/members.sql",
    before: "  order by s.created_at desc\n  on conflict do nothing;\n",
    after: "  order by s.created_at\n  on conflict do nothing;\n",
    only: `${CHANGED}|through REST who leaves`,
  },
  {
    tests,
    rule: "a member by an approved claim is found by their address in any case, to be changed",
    file: "db/rules/members.sql",
    before: "where lower(u.email) = lower(enter_by_claim.email) and",
    after: "where u.email = enter_by_claim.email and",
    only: CHANGED,
  },
  {
    tests: ["own-standing", ...tests],
    rule: "who leaves what an approved claim gives them is a member no more",
    file: "db/rules/own-standing.sql",
    before: "  perform app_private.enter_by_claim(user_email, org_uri);\n",
    after: "",
    only: "through REST.*(leaves what an approved claim)",
  },
  {
    tests: ["own-standing"],
    rule: "who has left cannot leave again",
    file: "db/rules/own-standing.sql",
    before: "and m.org_uri = leave_organization.org_uri\n    and m.status = 'active'\n",
    after: "and m.org_uri = leave_organization.org_uri\n    and m.status <> 'suspended'\n",
    only: "through REST.*leaves an organization",
  },
  {
    tests,
    rule: "members by approved claims count where an organization is like another",
    file: "db/rules/claim-queue.sql",
    before: "'members', (select count(*) from app_private.members as m where m.org_uri = o.org_uri",
    after: "'members', (select count(*) from app_public.memberships as m where m.org_uri = o.org_uri",
    only: "is counted, once",
  },
  {
    tests: ["claim-to-review"],
    rule: "members by approved claims count in what reviewers are told of an organization",
    file: "db/rules/claim-queue.sql",
    before: "'members', (select count(*) from app_private.members as m\n",
    after: "'members', (select count(*) from app_public.memberships as m\n",
    only: "with its people and records",
  },
  {
    tests: ["membership-lifecycle"],
    rule: "an approval leaves a member by an earlier approved claim in the role that it gave",
    file: "db/rules/claim-review.sql",
    before:
      "      perform app_private.enter_by_claim(u.email, claim.org_uri) from app_public.users as u where u.user_id = claim.user_id;\n",
    after: "",
    only: "through REST.*an approval leaves alone",
  },
  {
    tests: ["confirm-address"],
    rule: "proof approves nobody who is a member by another claim",
    file: "db/rules/organization-claims.sql",
    before:
      "select from app_private.members as m where m.org_uri = claim.org_uri and m.user_id = claim.user_id\n  ) and exists",
    after:
      "select from app_public.memberships as m where m.org_uri = claim.org_uri and m.user_id = claim.user_id\n  ) and exists",
    only: "become a member",
  },
  {
    tests: ["people"],
    rule: "who is erased has lost the role that an approved claim gave them",
    file: "db/rules/people.sql",
    before: "  perform app_private.enter_by_claim(email);\n",
    after:
      "  insert into app_public.memberships (org_uri, user_id, status)\n  select s.org_uri, s.user_id, 'revoked' from app_private.claim_standings as s where s.user_id = person.user_id\n  on conflict do nothing;\n",
    only: "in for an erased person either",
  },
];
