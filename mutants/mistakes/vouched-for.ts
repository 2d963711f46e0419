// Whose word is taken for a session, and what the rules need that others own.
import type { Mistake } from "../mistake.ts";

const SESSIONS = {
  file: "db/rules/sessions.sql",
  tests: ["sign-in-provider"],
  only: "session that was begun at a provider",
} as const;
const SERVER = { ...SESSIONS, file: "server/identity/sessions.ts" } as const;

const RIGHTS = {
  file: "db/rules/rights-relied-on.sql",
  tests: ["settings-in-effect"],
  only: "harden a database|the right to",
} as const;

export const VOUCHED_FOR: readonly Mistake[] = [
  {
    ...SESSIONS,
    rule: "a session of a provider that is not trusted any more opens nothing",
    before: "    else coalesce(issuers -> session.issuer, '[]') ? ",
    after:
      "    else coalesce(issuers -> session.issuer, to_jsonb(array[split_part(lower(session.email), '@', 2)])) ? ",
  },
  {
    ...SESSIONS,
    rule: "a provider without domains is trusted for all",
    before: "issuers -> session.issuer = 'null'",
    after: "issuers -> session.issuer = '[]'",
  },
  {
    ...SESSIONS,
    rule: "the domain of an address is the same in any case",
    before: "split_part(lower(session.email), '@', 2)",
    after: "split_part(session.email, '@', 2)",
  },
  {
    ...SESSIONS,
    rule: "a session by mail needs no provider",
    before: "session_is_live(session) and (session.issuer is null or (",
    after: "session_is_live(session) and (false or (",
  },
  {
    ...SESSIONS,
    rule: "a session that is not accepted is not found",
    before: "s.secret_hash = find_session.secret_hash and app_private.session_is_accepted(s)",
    after: "s.secret_hash = find_session.secret_hash and app_private.session_is_live(s)",
  },
  {
    ...SESSIONS,
    rule: "a session that is not accepted ends no others",
    before: "s.secret_hash = end_session.secret_hash and app_private.session_is_accepted(s)",
    after: "s.secret_hash = end_session.secret_hash and app_private.session_is_live(s)",
  },
  {
    ...SESSIONS,
    file: "db/rules/address-proofs.sql",
    rule: "a session that is not accepted proves no address",
    before: "s.secret_hash = proven_by.secret_hash and app_private.session_is_accepted(s)",
    after: "s.secret_hash = proven_by.secret_hash and app_private.session_is_live(s)",
  },
  {
    ...SESSIONS,
    rule: "those of one provider are ended, not all",
    before: "where s.issuer = end_sessions_of_issuer.issuer returning",
    after: "where s.issuer is not null returning",
  },
  {
    rule: "an operator is told that there was no session of a provider",
    file: "admin/sessions.ts",
    before: "if (issuer !== undefined && ended === 0)",
    after: "if (issuer === '' && ended === 0)",
    tests: ["sign-in-provider"],
    only: "by the operator",
  },
  {
    rule: "a session and a provider are not ended in one call",
    file: "admin/sessions.ts",
    before: '"the session, as the list shows it").conflicts("issuer")',
    after: '"the session, as the list shows it")',
    tests: ["sessions"],
    only: "can be had for one",
  },
  {
    ...SERVER,
    rule: "each provider is trusted for its own domains",
    before: "oidc.domains?.[issuer] ?? null",
    after: "oidc.domains?.[oidc.issuers[0]!] ?? null",
  },
  {
    ...SERVER,
    rule: "who has a connection that lasts is asked for with those trusted",
    before: "where set_config('app.issuers', $2, true) is not null",
    after: "where $2::text is not null",
  },
  {
    ...SERVER,
    file: "server/main.ts",
    rule: "a server says whom it trusts",
    before: "new Sessions(postgres.requests, config.oidc)",
    after: "new Sessions(postgres.requests)",
  },
  {
    ...RIGHTS,
    rule: "what somebody may grant is granted, though it is held by everybody",
    before: "for step in select r.step from app_private.rights_relied_on() as r loop",
    after: "for step in select r.step from app_private.rights_relied_on() as r where false loop",
  },
  {
    ...RIGHTS,
    rule: "a right that nobody has granted stops the migration",
    before: "  if step is not null then\n    raise exception 'rights",
    after: "  if false then\n    raise exception 'rights",
  },
  {
    ...RIGHTS,
    rule: "callers may use the schemas of the extensions",
    before: "has_schema_privilege(h.oid, n.oid, 'USAGE')",
    after: "true",
  },
  {
    ...RIGHTS,
    rule: "callers may call the functions of the extensions",
    before: "and not has_function_privilege(h.oid, p.oid, 'EXECUTE')",
    after: "and false",
  },
  {
    ...RIGHTS,
    rule: "the server's login may connect",
    before: "not has_database_privilege('engagement_server', d.oid, 'CONNECT')",
    after: "false",
  },
  {
    ...RIGHTS,
    file: "db/rules/logins.sql",
    rule: "a server does not start where a right is lacking",
    before: "from app_private.rights_relied_on() as r where not r.is_held\n",
    after: "from app_private.rights_relied_on() as r where false\n",
  },
  {
    ...RIGHTS,
    file: "db/snapshot.ts",
    rule: "a plan names the right to connect",
    before: "where datname = current_database()\n",
    after: "where false\n",
  },
  {
    ...RIGHTS,
    file: "db/snapshot.ts",
    rule: "a plan names the right to use an extension's schema",
    before: " or oid in (select extnamespace from pg_extension)",
    after: "",
  },
];
