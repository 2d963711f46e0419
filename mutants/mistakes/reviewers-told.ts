// What reviewers and claimants are told: of claims that come into their sight, of people who are called otherwise, of an approval
// that changed nothing, and of claims that nobody else can decide; and how what is told is written.
import type { Mistake } from "../mistake.ts";

const CHANGES = { file: "db/rules/changes.sql", tests: ["changes"] };
const SIGHT = { ...CHANGES, only: "when somebody comes to review them" };
const CALLED = { ...CHANGES, only: "called otherwise" };
const MEANWHILE = { tests: ["membership-lifecycle"], only: "through REST.*(member meanwhile|has already)" };
const LEFT_BEHIND = { tests: ["people"], only: "what only they could decide" };

export const REVIEWERS_TOLD: readonly Mistake[] = [
  {
    ...SIGHT,
    rule: "claims are told again to who comes to review them",
    before: "for each row when (new.status = 'active') execute function app_private.tell_reviewer();",
    after: "for each row when (new.status = 'suspended') execute function app_private.tell_reviewer();",
  },
  {
    ...SIGHT,
    rule: "losing a right tells no claims again",
    before: "for each row when (new.status = 'active') execute function app_private.tell_reviewer();",
    after: "for each row execute function app_private.tell_reviewer();",
  },
  {
    ...SIGHT,
    rule: "a role that reviews nothing tells no claims again",
    before:
      "elsif new.org_uri is not null and app_private.manages_members(new.role::app_public.organization_role) then",
    after: "elsif new.org_uri is not null then",
  },
  {
    ...SIGHT,
    rule: "of the claims of other organizations nothing is told again",
    before: "where c.org_uri = new.org_uri and c.routed_to = 'organization'));",
    after: "where c.routed_to = 'organization'));",
  },
  {
    ...SIGHT,
    rule: "a reviewer of the platform is told all claims again",
    before: "where p.role::text = new.role and p.permission = 'claims:review')",
    after: "where p.role::text = new.role and p.permission = 'members:manage')",
  },
  {
    ...CHANGES,
    rule: "the rights of a reviewer are those of the moment of the page",
    before:
      "language plpgsql stable security definer\nset search_path = pg_catalog, pg_temp\nas $$\ndeclare\n  looked_at",
    after:
      "language plpgsql security definer\nset search_path = pg_catalog, pg_temp\nas $$\ndeclare\n  looked_at",
    only: "at the moment",
  },
  {
    ...CHANGES,
    rule: "a claim that is being written is told to who comes to review it",
    before: "    lock table app_public.organization_claims in share row exclusive mode;\n",
    after: "    perform from pg_locks as l where l.mode = 'ShareRowExclusiveLock';\n",
    only: "being written",
  },
  {
    ...SIGHT,
    rule: "a second role that reviews tells no claims again",
    before: "and p.permission = 'claims:review' and p.role::text <> new.role)",
    after: "and p.permission = 'claims:review' and false)",
  },
  {
    ...CALLED,
    rule: "a claim is told anew when its claimant is called otherwise",
    before:
      "      select c.claim_id from app_public.organization_claims as c where c.user_id = any (renamed)\n      union ",
    after: "      ",
  },
  {
    ...CALLED,
    rule: "a claim is told anew when its reviewer is called otherwise",
    before: "where c.reviewed_by = any (renamed)",
    after: "where c.reviewed_by = any (array[]::uuid[])",
  },
  ...[
    "u.email, u.first_name, u.last_name",
    "u.email, u.first_name",
    "u.email, u.last_name",
    "u.first_name, u.last_name",
  ]
    .slice(1)
    .map((columns) => ({
      ...CALLED,
      rule: `a claim is told anew for more than ${columns}`,
      before:
        "select u.user_id, u.email, u.first_name, u.last_name from changed as u\n      except select b.user_id, b.email, b.first_name, b.last_name from before as b",
      after: `select u.user_id, ${columns} from changed as u\n      except select b.user_id, ${columns.replaceAll("u.", "b.")} from before as b`,
    })),
  {
    ...CALLED,
    rule: "a person who is saved as they were changes no claim",
    before: "      except select b.user_id, b.email, b.first_name, b.last_name from before as b) as r);",
    after: "      ) as r);",
  },
  {
    ...CALLED,
    rule: "a claim is told anew when a person of its steps is called otherwise",
    before:
      "h.to_status, h.changed_by_email, h.changed_at from changed as h\n      except select b.claim_history_id, b.claim_id, b.from_status, b.to_status, b.changed_by_email, b.changed_at from before as b",
    after:
      "h.to_status, h.changed_at from changed as h\n      except select b.claim_history_id, b.claim_id, b.from_status, b.to_status, b.changed_at from before as b",
  },
  {
    ...MEANWHILE,
    rule: "an approval says which role somebody has, not which was asked",
    file: "db/rules/claim-review.sql",
    before: "granted_role = app_private.admit(claim.org_uri, claim.user_id, role),",
    after:
      "granted_role = case when app_private.admit(claim.org_uri, claim.user_id, role) is not null then role end,",
  },
  {
    ...MEANWHILE,
    rule: "a reviewer is warned of an approval that left the role as it was",
    file: "db/rules/claim-review.sql",
    before: "asked_role = role, ",
    after: "",
  },
  {
    ...MEANWHILE,
    rule: "an approval that gives what is there already is made without a warning",
    file: "db/rules/appointments.sql",
    before: "or claim.kept_status = 'active' and claim.granted_role <> claim.asked_role)",
    after: "or claim.kept_status = 'active')",
  },
  {
    ...MEANWHILE,
    rule: "a mail of an approval knows of a suspension",
    file: "db/rules/mail.sql",
    before: "case when claim.kept_status = 'suspended' then true end",
    after: "case when claim.kept_status = 'active' then true end",
  },
  {
    ...MEANWHILE,
    rule: "a membership that was revoked is none that an approval left as it was",
    file: "db/rules/claim-review.sql",
    before: "and m.user_id = claim.user_id and m.status <> 'revoked')",
    after: "and m.user_id = claim.user_id)",
    tests: ["claim-decisions"],
    only: "given now, whatever",
  },
  {
    rule: "a decision that left a role as it was is the same the second time",
    file: "db/rules/claim-queue.sql",
    before: "coalesce(c.asked_role, c.granted_role) = ",
    after: "c.granted_role = ",
    tests: ["claim-decisions"],
    only: "second time",
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
    ...LEFT_BEHIND,
    rule: "a claim that is sent on does not ask for a proof that was asked for",
    file: "db/rules/mail.sql",
    before: "and not new.email_verified and old.status <> new.status then",
    after: "and not new.email_verified then",
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
    ["in which policies do not decide", '  row_security: "on",\n'],
    ["that does not know the case of letters", `  "'É' ~* 'é'": "true",\n`],
    ["in which no trigger runs", '  session_replication_role: "origin",\n'],
    ["that reads texts otherwise", '  standard_conforming_strings: "on",\n'],
    ["that reads lists otherwise", '  array_nulls: "on",\n'],
    ["that writes names otherwise", '  quote_all_identifiers: "off",\n'],
  ].map(([which, line = ""]) => ({
    ...{ rule: `a database ${which} is refused`, file: "db/reach.ts", before: line, after: "" },
    ...{ tests: ["reach"], only: "a database (of|whose)" },
  })),
];
