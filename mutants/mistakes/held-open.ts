// What was switched off by hand, or built on what is made anew: put back, refused, or told of.
import type { Mistake } from "../mistake.ts";

const ENFORCED = {
  file: "db/rules/enforcement.sql",
  tests: ["migrate-plan"],
  only: "switched off by hand",
};
const PUT_BACK = { file: "db/rules/roles.sql", tests: ["migrate-plan"], only: "may do by itself" };
const TOLD = { file: "db/snapshot.ts", tests: ["snapshot"] };
const OUTSIDE = { file: "db/outsiders.ts", tests: ["migrate"], only: "somebody has built" };

export const HELD_OPEN: readonly Mistake[] = [
  {
    ...ENFORCED,
    rule: "a migration switches row-level security on again",
    before: "c.relkind in ('r', 'p') and not c.relrowsecurity",
    after: "c.relkind in ('p') and not c.relrowsecurity",
  },
  {
    ...ENFORCED,
    rule: "the owner is bound by no policy, after a migration",
    before: "and c.relforcerowsecurity\n",
    after: "and c.relforcerowsecurity and false\n",
  },
  {
    ...ENFORCED,
    rule: "no table belongs to a role of the service",
    before: "c.relkind in ('r', 'p') and pg_get_userbyid(c.relowner) = any (roles)",
    after: "c.relkind in ('r', 'p') and pg_get_userbyid(c.relowner) = 'api_read'",
  },
  {
    ...ENFORCED,
    rule: "foreign keys are checked again",
    before: "t.tgisinternal and t.tgenabled in ('D', 'R')",
    after: "t.tgisinternal and t.tgenabled in ('R')",
  },
  {
    ...ENFORCED,
    rule: "foreign keys are enforced again",
    before: "and k.contype = 'f' and not coalesce",
    after: "and k.contype = 'c' and not coalesce",
  },
  {
    ...ENFORCED,
    rule: "who may not put foreign keys back is told to let a superuser",
    before: "raise exception 'foreign keys are not checked",
    after: "raise warning 'foreign keys are not checked",
    only: "only a superuser",
  },
  {
    ...PUT_BACK,
    rule: "a role that bypasses policies does no longer",
    before: "(r.rolsuper or r.rolbypassrls or r.rolcreaterole",
    after: "(r.rolsuper or r.rolcreaterole",
  },
  {
    ...PUT_BACK,
    rule: "only the server's login inherits nothing",
    before: "case when r.rolinherit then 'noinherit' else 'inherit' end",
    after: "case when r.rolinherit then 'noinherit' end",
  },
  {
    ...PUT_BACK,
    rule: "who may not put a role back is told to let a superuser",
    before: "raise exception 'a role may do more",
    after: "raise warning 'a role may do more",
    only: "only a superuser",
  },
  {
    ...PUT_BACK,
    rule: "a role of the service gives itself to nobody",
    before: "          and not m.admin_option\n",
    after: "",
  },
  {
    ...PUT_BACK,
    rule: "who holds a role may switch to it",
    before: "coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)",
    after: "true",
  },
  {
    ...PUT_BACK,
    rule: "the server's login has no role's rights before it switches to it",
    before: "(to_jsonb(m) ->> 'inherit_option')::boolean = (holder.rolname <> 'engagement_server')",
    after: "(to_jsonb(m) ->> 'inherit_option')::boolean",
  },
  {
    ...TOLD,
    rule: "a plan tells what a role may do by itself",
    before: "case when rolbypassrls then 'bypasses row level security' end, ",
    after: "",
    only: "by itself",
  },
  {
    ...TOLD,
    rule: "a plan tells of a trigger that it is switched off",
    before: "case t.tgenabled when 'D' then 'disabled' when",
    after: "case t.tgenabled when",
    only: "switched off",
  },
  {
    ...TOLD,
    rule: "a plan tells of foreign keys that are not checked",
    before: "t.tgrelid = r.oid and t.tgisinternal and t.tgenabled in ('D', 'R')",
    after: "t.tgrelid = r.oid and t.tgisinternal and t.tgenabled in ('R')",
    only: "not checked",
  },
  {
    ...TOLD,
    rule: "a plan tells of a table that is another's",
    before: "case when r.relowner <> (select",
    after: "case when r.relowner is null and 0 <> (select",
    only: "another owner",
  },
  {
    ...TOLD,
    rule: "a plan tells of a rewrite rule",
    before: "where r.relkind in ('r', 'p')\n\n  union all\n  select 'view'",
    after: "where r.relkind in ('p')\n\n  union all\n  select 'view'",
    tests: ["migrate"],
    only: "rewrite rule",
  },
  {
    rule: "a rewrite rule on a table is dropped",
    file: "db/rules/reset.sql",
    before: "c.relnamespace = any (ours) and c.relkind in ('r', 'p');",
    after: "c.relnamespace = any (ours) and c.relkind in ('p');",
    tests: ["migrate"],
    only: "rewrite rule",
  },
  {
    ...OUTSIDE,
    rule: "a view of somebody's own is not dropped",
    before: "when 'pg_rewrite'::regclass then (select ev_class from pg_rewrite where oid = d.objid)",
    after: "when 'pg_rewrite'::regclass then (select d.refobjid)",
    only: "dropped: a view",
  },
  {
    ...OUTSIDE,
    rule: "a function of somebody's own that takes a row of a view is not dropped",
    before: "select 'pg_type'::regclass, c.reltype",
    after: "select 'pg_type'::regclass, c.oid",
    only: "takes a row",
  },
  {
    ...OUTSIDE,
    rule: "what stays because an index is built on it may be used",
    before: "and c.relnamespace in (select oid from ours)\n      )",
    after: "and c.relnamespace is null\n      )",
    only: "dropped: a view",
  },
  {
    rule: "a migration looks for what others have built before its first step",
    file: "db/migrate.ts",
    before:
      "async function dropEarlierRules(client: pg.ClientBase): Promise<void> {\n  await requireNoOutsiders(client, SCHEMAS);",
    after: "async function dropEarlierRules(client: pg.ClientBase): Promise<void> {",
    tests: ["migrate"],
    only: "somebody has built",
  },
  {
    rule: "no role of callers may act as the owner of the tables",
    file: "db/rules/enforcement.sql",
    before: "    where holder.rolname = any (roles) and owner.rolname <> all (roles)",
    after: "    where false",
    tests: ["migrate-plan"],
    only: "given in another way",
  },
  {
    rule: "and a plan says so",
    file: "db/snapshot.ts",
    before: " union select relowner from relations)",
    after: ")",
    tests: ["migrate-plan"],
    only: "given in another way",
  },
  {
    rule: "as others it may act",
    file: "db/rules/enforcement.sql",
    before:
      "\n      and m.roleid in (select c.relowner from pg_class as c where c.relnamespace = any (ours) and c.relkind in ('r', 'p'))",
    after: "",
    tests: ["migrate-plan"],
    only: "given in another way",
  },
];
