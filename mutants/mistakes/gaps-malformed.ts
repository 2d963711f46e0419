// What a caller of the database has written wrongly: each of it is named, with whatever else is wrong.
import type { Mistake } from "../mistake.ts";

const MALFORMED = { tests: ["membership-refusals"], only: "names at once" };

export const GAPS_IN_MALFORMED: readonly Mistake[] = [
  {
    ...MALFORMED,
    rule: "whoever is to have another role is named by an address",
    file: "db/rules/members.sql",
    before:
      "    || app_private.email_problems('userEmail', user_email)\n    || app_private.required_problems('role', role::text)\n",
    after: "    || app_private.required_problems('role', role::text)\n",
  },
  {
    ...MALFORMED,
    rule: "whoever is to have another status is named by an address",
    file: "db/rules/members.sql",
    before:
      "    || app_private.email_problems('userEmail', user_email)\n    || app_private.required_problems('status', status::text)\n",
    after: "    || app_private.required_problems('status', status::text)\n",
  },
  {
    ...MALFORMED,
    rule: "whoever is to have a role on the platform is named by an address",
    file: "db/rules/platform-users.sql",
    before:
      "    app_private.email_problems('userEmail', user_email)\n    || app_private.required_problems('role', role::text)",
    after: "    app_private.required_problems('role', role::text)",
  },
  {
    ...MALFORMED,
    rule: "whoever changes an organization is named by an address",
    file: "db/rules/organizations.sql",
    before: "\n    || app_private.email_problems('adminEmail', admin_email)\n",
    after: "\n",
  },
  {
    ...MALFORMED,
    rule: "no organization is changed by nothing",
    file: "db/rules/organizations.sql",
    before: "when num_nonnulls(name, type, website, domain) = 0",
    after: "when num_nonnulls(name, type, website, domain) < 0",
  },
  {
    ...MALFORMED,
    rule: "a claim names an organization",
    file: "db/rules/organization-claims.sql",
    before: "    || app_private.name_problems('orgName', app_private.trimmed(org_name))\n",
    after: "",
  },
  {
    ...MALFORMED,
    rule: "the website that a claimant states can be opened",
    file: "db/rules/organization-claims.sql",
    before: "else app_private.http_uri_problems('newOrgWebsite', new_org_website) end",
    after: "else '[]' end",
  },
];
