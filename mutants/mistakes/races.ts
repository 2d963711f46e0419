// What holds when two things happen at the same moment.
import type { Mistake } from "../mistake.ts";

export const RACES: readonly Mistake[] = [
  {
    rule: "who changes a membership is asked for their own once it is their turn",
    file: "db/rules/members.sql",
    before: `  perform app_private.lock_organization(org_uri);
  perform app_private.authorize(org_uri, admin_email, 'members:manage');
  return app_private.change_member(org_uri, user_email, null, status);`,
    after: `  perform app_private.authorize(org_uri, admin_email, 'members:manage');
  return app_private.change_member(org_uri, user_email, null, status);`,
    tests: ["authority-in-turn"],
    only: "revokes nobody's",
  },
  {
    rule: "who gives a role in an organization is asked for their own once it is their turn",
    file: "db/rules/members.sql",
    before: `  perform app_private.lock_organization(org_uri);
  perform app_private.authorize(org_uri, admin_email, 'members:manage');
  return app_private.change_member(org_uri, user_email, role, null);`,
    after: `  perform app_private.authorize(org_uri, admin_email, 'members:manage');
  return app_private.change_member(org_uri, user_email, role, null);`,
    tests: ["authority-in-turn"],
    only: "gives nobody a role",
  },
  {
    rule: "who changes an organization is asked for their role once it is their turn",
    file: "db/rules/organizations.sql",
    before: "  perform app_private.lock_organization(org_uri);\n  perform app_private.authorize",
    after: "  perform app_private.authorize",
    tests: ["authority-in-turn"],
    only: "changes nothing of the organization",
  },
  {
    rule: "who dismisses somebody from the platform is asked for their role once it is their turn",
    file: "db/rules/platform-users.sql",
    before:
      "  perform app_private.lock_platform_roles();\n  perform app_private.require_platform_permission(admin_email, 'roles:assign');",
    after: "  perform app_private.require_platform_permission(admin_email, 'roles:assign');",
    tests: ["authority-in-turn"],
    only: "takes nobody's",
  },
  {
    rule: "who appoints somebody is asked for their role once it is their turn",
    file: "db/rules/appointments.sql",
    before: `  perform app_private.lock_organization(org_uri);
  perform app_private.require_platform_permission(admin_email, 'roles:assign');`,
    after: `  perform app_private.require_platform_permission(admin_email, 'roles:assign');
  perform app_private.lock_organization(org_uri);`,
    tests: ["authority-in-turn"],
    only: "appoints nobody",
  },
  {
    rule: "who decides a claim is asked for their role once it is their turn",
    file: "db/rules/claim-review.sql",
    before: "  perform app_private.require_review(claim, admin_email);\n  update",
    after: "  update",
    tests: ["authority-in-turn"],
    only: "decides no claim",
  },
  {
    rule: "an answer that is forgotten while its request is repeated is given anew",
    file: "db/rules/requests.sql",
    before: "    exit when found;\n  end loop;",
    after: "    exit;\n  end loop;",
    tests: ["overlapping"],
    only: "forgotten while its request is repeated",
  },
  {
    rule: "an edition looks at what it moves once no other edition is under way",
    file: "db/rules/graph-references.sql",
    before: "  lock table app_public.accelerators in share row exclusive mode;\n",
    after: "",
    tests: ["overlapping"],
    only: "beside another one",
  },
  {
    rule: "records are marked in one order",
    file: "db/rules/graph-projection.sql",
    before: "from unnest(ids) as id order by id",
    after: "from unnest(ids) as id",
    tests: ["overlapping"],
    only: "in a circle",
  },
  {
    rule: "what is decided under the lock of an organization is decided by what is there by then",
    file: "db/rules/organizations.sql",
    before: "  select app_private.require_read_committed();\n",
    after: "",
    tests: ["overlapping"],
    only: "claims an organization",
  },
  {
    rule: "roles on the platform are given by who has one by then",
    file: "db/rules/platform-users.sql",
    before: "  perform app_private.require_read_committed();\n",
    after: "",
    tests: ["overlapping"],
    only: "gives a role on the platform",
  },
  {
    rule: "who claims an organization takes it before the person",
    file: "db/rules/organization-claims.sql",
    before: `    organization := app_private.lock_organization(org_uri);
  end if;
  claimant := app_private.introduce_user(user_email, first_name, last_name);`,
    after: `  end if;
  claimant := app_private.introduce_user(user_email, first_name, last_name);
  organization := app_private.lock_organization(org_uri);`,
    tests: ["lock-order"],
    only: "claims once more",
  },
  {
    rule: "who erases a person takes their claims before the person",
    file: "db/rules/people.sql",
    before: "  -- As a review does: first the claim, then its organization.\n",
    after: "  perform from app_public.users as u where u.user_id = person for no key update;\n",
    tests: ["lock-order"],
    only: "erased while their claim is being approved",
  },
  {
    rule: "an erasure locks the person when it has what organizations are locked with",
    file: "db/rules/people.sql",
    before: "  perform app_private.erase_name_in_mails(person, pseudonym);\n",
    after:
      "  perform app_private.erase_name_in_mails(person, pseudonym);\n  perform from app_public.users as u where u.user_id = person.user_id for no key update;\n",
    tests: ["lock-order"],
    only: "named after them",
  },
  {
    rule: "a person is erased once",
    file: "db/rules/people.sql",
    before: "  perform pg_advisory_xact_lock(hashtextextended('app_private.finish_erasure', 0));\n",
    after: "",
    tests: ["lock-order"],
    only: "of two who erase",
  },
  {
    rule: "a key is followed by one with the bounds that it has by then",
    file: "admin/keys.ts",
    before: "\n           for no key update",
    after: "",
    tests: ["overlapping"],
    only: "a key that",
  },
  {
    rule: "who confirms several claims takes all of their organizations before the person",
    file: "db/rules/address-proofs.sql",
    before: `  perform app_private.lock_organization(concerned.org_uri)
  from (select c.org_uri from app_public.organization_claims as c where c.claim_id = any (waiting) order by 1) as concerned;
  for claim in
    select c.* from app_public.organization_claims as c where c.claim_id = any (waiting) order by c.org_uri, c.claim_id
  loop
`,
    after: `  for claim in
    select c.* from app_public.organization_claims as c where c.claim_id = any (waiting) order by c.org_uri, c.claim_id
  loop
    perform app_private.lock_organization(claim.org_uri);
`,
    tests: ["lock-order"],
    only: "hears what",
  },
  {
    rule: "of the platform's last administrators one is left, whoever else is being erased",
    file: "db/rules/people.sql",
    before: "  perform app_private.lock_platform_roles();\n",
    after: "",
    tests: ["membership-concurrency"],
    only: "two admins are erased",
  },
  {
    rule: "who takes a claim back waits for whoever is deciding it",
    file: "db/rules/own-standing.sql",
    before: "  for no key update of c;",
    after: "  ;",
    tests: ["lock-order"],
    only: "take a claim back and approve it",
  },
  {
    rule: "who decides a claim waits for whoever is taking it back",
    file: "db/rules/claim-review.sql",
    before: "where c.claim_id = review_organization_claim.claim_id for no key update;",
    after: "where c.claim_id = review_organization_claim.claim_id;",
    tests: ["lock-order"],
    only: "take a claim back and approve it",
  },
];
