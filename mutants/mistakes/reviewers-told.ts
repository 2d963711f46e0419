// What reviewers and claimants are told: of claims that come into their sight, of people who are called otherwise, of an approval
// that changed nothing, and of claims that nobody else can decide; and how what is told is written.
import type { Mistake } from "../mistake.ts";

const CHANGES = { file: "db/rules/changes.sql", tests: ["changes"] };
const SIGHT = { ...CHANGES, only: "before somebody reviewed them" };
const CALLED = { ...CHANGES, only: "called otherwise" };
const MEANWHILE = { tests: ["membership-lifecycle"], only: "through REST.*(member meanwhile|has already)" };
const LEFT_BEHIND = { tests: ["people"], only: "what only they could decide" };

export const REVIEWERS_TOLD: readonly Mistake[] = [
  {
    ...SIGHT,
    rule: "a cursor from before somebody reviewed more has expired",
    before: "where c.kind is null and c.position > start",
    after: "where c.kind is null and c.position < start",
  },
  {
    ...SIGHT,
    rule: "who reads from the beginning is told of all there is",
    before: "if start >= 0 and exists (",
    after: "if exists (",
  },
  {
    ...SIGHT,
    rule: "of one reviewer's sight others lose nothing",
    before:
      "      and c.record_id = (select u.user_id from app_public.users as u where lower(u.email) = lower(admin_email))\n",
    after: "      and c.record_id is not null\n",
  },
  {
    ...SIGHT,
    rule: "a role that reviews nothing widens nobody's sight",
    before: "    else app_private.manages_members(new.role::app_public.organization_role)\n  end;",
    after: "    else true\n  end;",
  },
  {
    ...SIGHT,
    rule: "a role on the platform widens the sight of who reviews for it",
    before: "where p.role::text = new.role and p.permission = 'claims:review')",
    after: "where p.role::text = new.role and p.permission = 'members:manage')",
  },
  {
    ...SIGHT,
    rule: "who loses a role has nothing to read again",
    before: "for each row when (new.status = 'active') execute function app_private.tell_reviewer();",
    after: "for each row execute function app_private.tell_reviewer();",
  },
  {
    ...CALLED,
    rule: "a claim is told anew when its claimant is called otherwise",
    before: "c.user_id = person.user_id or c.reviewed_by = person.user_id",
    after: "c.reviewed_by = person.user_id",
  },
  {
    ...CALLED,
    rule: "a claim is told anew when its reviewer is called otherwise",
    before: "c.user_id = person.user_id or c.reviewed_by = person.user_id",
    after: "c.user_id = person.user_id",
  },
  {
    ...CALLED,
    rule: "a person who is saved as they were changes no claim",
    before:
      "    where (u.email, u.first_name, u.last_name) is distinct from (b.email, b.first_name, b.last_name)\n",
    after: "",
  },
  {
    ...CALLED,
    rule: "a claim is told anew when a person of its steps is called otherwise",
    before: "    where h.* is distinct from b.*)",
    after: "    where h.to_status is distinct from b.to_status)",
  },
  {
    ...MEANWHILE,
    rule: "an approval says which role somebody has, not which was asked",
    file: "db/rules/claim-review.sql",
    before: "granted_role = app_private.admit(claim.org_uri, claim.user_id, role)\n",
    after: "granted_role = role from app_private.admit(claim.org_uri, claim.user_id, role)\n",
  },
  {
    ...MEANWHILE,
    rule: "a reviewer is warned of an approval that left the role as it was",
    file: "db/rules/claim-review.sql",
    before: "app_private.approval_warnings(claim, role)",
    after: "app_private.approval_warnings(claim)",
  },
  {
    ...MEANWHILE,
    rule: "an approval that gives what is there already is made without a warning",
    file: "db/rules/appointments.sql",
    before: "      and (m.status <> 'active' or m.role is distinct from coalesce(asked, m.role))\n",
    after: "",
  },
  {
    ...MEANWHILE,
    rule: "a mail of an approval knows of a suspension",
    file: "db/rules/mail.sql",
    before: "case when m.status = 'suspended' then true end",
    after: "case when m.status = 'revoked' then true end",
  },
  {
    rule: "who is suspended is not welcomed",
    file: "worker/mail-texts.ts",
    before: "    if (data.isSuspended) return approvedYetSuspended(data);\n",
    after: "",
    tests: ["mail-texts"],
    only: "suspended",
  },
  {
    ...LEFT_BEHIND,
    rule: "what only an erased person could decide goes to the platform",
    file: "db/rules/people.sql",
    before: "    and not app_private.is_managed(c.org_uri);\n",
    after: "    and app_private.is_managed(c.org_uri);\n",
  },
  {
    ...LEFT_BEHIND,
    rule: "what another manager can decide stays with the organization",
    file: "db/rules/people.sql",
    before: "    and not app_private.is_managed(c.org_uri);\n",
    after: ";\n",
  },
  {
    ...LEFT_BEHIND,
    rule: "decided claims stay where they were sent",
    file: "db/rules/people.sql",
    before:
      "set routed_to = 'platform'\n  where c.routed_to = 'organization' and app_private.review_status(c.status) = 'pending'\n",
    after: "set routed_to = 'platform'\n  where c.routed_to = 'organization'\n",
  },
  {
    ...LEFT_BEHIND,
    rule: "the platform's reviewers are mailed of what was sent on to them",
    file: "db/rules/mail.sql",
    before: "or old.routed_to <> new.routed_to and new.status = 'pending_review')",
    after: "or false)",
  },
  {
    rule: "times are told in UTC whatever the database's time zone",
    file: "server/postgres/connections.ts",
    before: 'timezone: "UTC", ',
    after: "",
    tests: ["graphql-aggregates"],
    only: "by month, in UTC",
  },
  {
    rule: "an answer that breaks off does not pass for a whole one over HTTP/1.0",
    file: "server/break-off.ts",
    before: "socket.resetAndDestroy();",
    after: "response.destroy();",
    tests: ["break-off"],
  },
  {
    rule: "an answer that a server leaves behind does not pass for a whole one over HTTP/1.0",
    file: "server/listener.ts",
    before: "for (const socket of this.#sockets) socket.resetAndDestroy();",
    after: "for (const socket of this.#sockets) socket.destroy();",
    tests: ["break-off"],
  },
  ...[
    ["in which I is another letter", `  "lower('I')": "i",\n`],
    ["of another encoding", '  server_encoding: "UTF8",\n'],
    [
      "whose transactions see what was there before they waited",
      '  default_transaction_isolation: "read committed",\n',
    ],
    ["that writes times otherwise", '  DateStyle: "ISO",\n'],
    ["that gives up waiting for a lock", '  lock_timeout: "0",\n'],
    ["in which no trigger runs", '  session_replication_role: "origin",\n'],
    ["that reads texts otherwise", '  standard_conforming_strings: "on",\n'],
    ["that reads lists otherwise", '  array_nulls: "on",\n'],
    ["that writes names otherwise", '  quote_all_identifiers: "off",\n'],
  ].map(([which, line = ""]) => ({
    ...{ rule: `a database ${which} is refused`, file: "db/reach.ts", before: line, after: "" },
    ...{ tests: ["reach"], only: "a database (of|whose)" },
  })),
];
