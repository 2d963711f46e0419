// What the migrations have made: columns, constraints, indexes, lists of values, settings; and how functions may be treated.
import type { Mistake } from "../mistake.ts";

const shape = (only: string, file: string, ...[rule, before, after]: [string, string, string]): Mistake => ({
  ...{ rule, file: `db/${file}.sql`, before, after },
  ...{ tests: ["table-shapes"], only },
});
const COLUMNS = "columns are of the listed types";
const CONSTRAINTS = "tables refuse";
const INDEXES = "indexes and sequences";
const VALUES = "the values of lists";
const SETTINGS = "begins with the listed settings";
const COUNTRIES = "countries are known by";
const MANNER = "functions are kept for a statement";

export const TABLE_SHAPES: readonly Mistake[] = [
  shape(
    COLUMNS,
    "migrations/0002_organizations",
    "a member's name is kept in full",
    "  first_name text,\n  last_name text,\n  created_at timestamptz not null default now()\n);\ncomment on table app_public.users",
    "  first_name varchar(64),\n  last_name text,\n  created_at timestamptz not null default now()\n);\ncomment on table app_public.users",
  ),
  shape(
    COLUMNS,
    "migrations/0065_changes",
    "a change has the time at which it was made",
    "changed_at timestamptz not null default clock_timestamp()",
    "changed_at timestamptz not null default now()",
  ),
  shape(
    COLUMNS,
    "migrations/0042_limits",
    "of a limit it is known when it ends",
    "expire bigint not null",
    "expire bigint",
  ),
  shape(
    CONSTRAINTS,
    "migrations/0004_lifecycle",
    "with a commitment goes its history",
    "commitment_id uuid references app_public.commitments on delete cascade",
    "commitment_id uuid references app_public.commitments",
  ),
  shape(
    CONSTRAINTS,
    "migrations/0002_organizations",
    "an organization that gets another URI takes its claims along",
    "  user_id uuid not null references app_public.users,\n  org_uri text not null references app_public.organizations on update cascade,\n  org_name",
    "  user_id uuid not null references app_public.users,\n  org_uri text not null references app_public.organizations,\n  org_name",
  ),
  shape(
    INDEXES,
    "migrations/0076_mailboxes",
    "mails to somebody are counted by an index",
    "create index mails_about_claims on app_private.mails (recipient, created_at)",
    "create index mails_about_claims on app_private.mails (created_at)",
  ),
  shape(
    INDEXES,
    "migrations/0020_membership",
    "of somebody one claim to an organization waits",
    "create unique index organization_claims_open",
    "create index organization_claims_open",
  ),
  shape(
    INDEXES,
    "migrations/0061_sessions",
    "somebody's sessions are found by an index",
    "create index sessions_of_person on app_private.sessions (lower(email));",
    "create index sessions_of_person on app_private.sessions (email);",
  ),
  shape(
    VALUES,
    "migrations/0020_membership",
    "what callers see of a claim has the status of those who review it",
    "create type app_public.claim_review_status as enum ('pending', 'approved', 'rejected');",
    "create type app_public.claim_review_status as enum ('pending', 'rejected', 'approved');",
  ),
  shape(
    SETTINGS,
    "migrations/0065_changes",
    "changes are kept for thirty days",
    "('changes_kept_days', '30',",
    "('changes_kept_days', '3',",
  ),
  shape(
    SETTINGS,
    "migrations/0061_sessions",
    "five links are sent to an address within a quarter of an hour",
    "('sign_in_links_per_address', '5',",
    "('sign_in_links_per_address', '50',",
  ),
  shape(
    MANNER,
    "rules/church-search",
    "what is near is found by the index of places",
    "set enable_bitmapscan = off\nset enable_seqscan = off\nset enable_sort = off\n",
    "set enable_bitmapscan = off\nset enable_seqscan = off\n",
  ),
  shape(
    MANNER,
    "rules/sessions",
    "whether a session is live is asked anew in each statement",
    "create function app_private.session_is_live(session app_private.sessions) returns boolean\nlanguage sql stable",
    "create function app_private.session_is_live(session app_private.sessions) returns boolean\nlanguage sql immutable",
  ),
  shape(
    COUNTRIES,
    "migrations/0003_vocabulary",
    "a country has the code of three letters that is its own",
    "('CI', 'CIV', 'Côte d''Ivoire')",
    "('CI', 'CVI', 'Côte d''Ivoire')",
  ),
  shape(
    COUNTRIES,
    "migrations/0062_choosing",
    "what else a country is called is its own name",
    "('CG', 'Congo - Brazzaville')",
    "('CD', 'Congo - Brazzaville')",
  ),
];
