// What stands in the catalog of the database: rights, policies, triggers, locks, and what an argument is that nobody gives.
import type { Mistake } from "../mistake.ts";

const CATALOG = ["catalog"];

export const CATALOG_ENTRIES: readonly Mistake[] = [
  {
    rule: "readers of the feed are kept from claims by a policy too",
    file: "db/rules/changes.sql",
    before: "for select to api_read using (kind is distinct from 'organization_claim');",
    after: "for select to api_read using (true);",
    tests: CATALOG,
    only: "policies are exactly",
  },
  {
    rule: "whoever changes a status is asked for their permission, whose name the policy has",
    file: "db/rules/needs.sql",
    before: "create policy change_status on app_public.needs for update to api_write\n  using (true)",
    after:
      "create policy change_status on app_public.needs for update to api_write\n  using (status = 'open')",
    tests: CATALOG,
    only: "policies are exactly",
  },
  {
    rule: "callers have no more than their own rights in what is not made for it",
    file: "db/rules/platform-users.sql",
    before:
      "create function app_private.known_user(email text) returns app_public.users\nlanguage plpgsql stable\n",
    after:
      "create function app_private.known_user(email text) returns app_public.users\nlanguage plpgsql stable security definer\n",
    tests: CATALOG,
    only: "owner's rights",
  },
  {
    rule: "whose key was used is noted with rights of its own",
    file: "db/rules/identity.sql",
    before:
      "create function app_private.note_key_uses(key_ids uuid[]) returns void\nlanguage sql security definer\n",
    after: "create function app_private.note_key_uses(key_ids uuid[]) returns void\nlanguage sql\n",
    tests: CATALOG,
    only: "owner's rights",
  },
  {
    rule: "a function finds its names along a path of its own",
    file: "db/rules/members.sql",
    before:
      "returns app_public.organization_member\nlanguage plpgsql\nset search_path = pg_catalog, pg_temp\nas $$\ndeclare\n  changed",
    after: "returns app_public.organization_member\nlanguage plpgsql\nas $$\ndeclare\n  changed",
    tests: CATALOG,
    only: "along their caller's search_path",
  },
  {
    rule: "an erased person's role on the platform is not made another's either",
    file: "db/rules/people.sql",
    before: "create trigger refuse_erased before insert or update on app_public.platform_roles",
    after: "create trigger refuse_erased before insert on app_public.platform_roles",
    tests: CATALOG,
    only: "triggers stand",
  },
  {
    rule: "a claim's step is noted when its status changes, and not whenever it is touched",
    file: "db/rules/organization-claims.sql",
    before:
      "create trigger record_update after update on app_public.organization_claims\n  for each row when (old.status is distinct from new.status) execute function app_private.record_claim_step();",
    after:
      "create trigger record_update after update on app_public.organization_claims\n  for each row execute function app_private.record_claim_step();",
    tests: CATALOG,
    only: "triggers stand",
  },
  {
    rule: "a page of changes has fifty where nobody says how many",
    file: "db/rules/changes.sql",
    before: "need_id uuid default null,\n  most integer default 50\n",
    after: "need_id uuid default null,\n  most integer default 20\n",
    tests: CATALOG,
    only: "when nobody gives it",
  },
  {
    rule: "two who mark what was refused do not mark the same records",
    file: "db/rules/graph-projection.sql",
    before: "    for no key update of r skip locked\n",
    after: "",
    tests: CATALOG,
    only: "exactly the listed locks",
  },
  {
    rule: "whoever erases a person waits for who is changing them",
    file: "db/rules/people.sql",
    before: "where lower(u.email) = lower(begin_erasure.email) and u.erased_at is null for no key update;",
    after: "where lower(u.email) = lower(begin_erasure.email) and u.erased_at is null;",
    tests: CATALOG,
    only: "exactly the listed locks",
  },
];
