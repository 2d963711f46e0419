// What is told of what others have done, and what is left as it is.
import type { Mistake } from "../mistake.ts";

const OUTSIDE = { file: "db/outsiders.ts", tests: ["migrate"] };

const SWITCHED_OFF = {
  file: "db/rules/logins.sql",
  tests: ["settings-in-effect"],
  only: "that somebody has copied",
};

export const TOLD_AND_LEFT: readonly Mistake[] = [
  {
    ...OUTSIDE,
    rule: "a function that the rules make does not stay because of an index of somebody's own",
    before: "<> all ($2::text[])",
    after: `<> all ($2::text[])
      and not exists (select from pg_depend as d where d.refobjid = p.oid and d.classid = 'pg_class'::regclass)`,
    only: "an index on a table",
  },
  {
    ...OUTSIDE,
    rule: "an index on a table of the service is somebody's own if it uses what the rules make",
    before: "(relkind = 'v' or d.classid <> 'pg_class'::regclass)",
    after: "(relkind in ('v', 'i') or d.classid <> 'pg_class'::regclass)",
    only: "an index on",
  },
  {
    ...OUTSIDE,
    rule: "so is a column, or a table",
    before: "(relkind = 'v' or d.classid <> 'pg_class'::regclass)",
    after: "relkind <> 'i'",
    only: "a column with a row",
  },
  {
    ...OUTSIDE,
    rule: "so is a check",
    before: "when 'pg_policy'::regclass then (select polrelid from pg_policy where oid = d.objid)",
    after: `when 'pg_policy'::regclass then (select polrelid from pg_policy where oid = d.objid)
        when 'pg_constraint'::regclass then (select conrelid from pg_constraint where oid = d.objid)`,
    only: "a check on a table",
  },
  {
    ...OUTSIDE,
    rule: "so is a default",
    before: "when 'pg_policy'::regclass then (select polrelid from pg_policy where oid = d.objid)",
    after: `when 'pg_policy'::regclass then (select polrelid from pg_policy where oid = d.objid)
        when 'pg_attrdef'::regclass then (select adrelid from pg_attrdef where oid = d.objid)`,
    only: "a column of a table",
  },
  {
    ...OUTSIDE,
    rule: "so is a materialized view",
    before: "relkind <> 'm' and",
    after: "relkind <> 'x' and",
    only: "materialized view beside",
  },
  {
    ...OUTSIDE,
    rule: "so is a domain",
    before: "(select pronamespace from pg_proc where d.classid",
    after: `(select connamespace from pg_constraint where d.classid = 'pg_constraint'::regclass and oid = d.objid and conrelid = 0),
      (select pronamespace from pg_proc where d.classid`,
    only: "a domain",
  },
  {
    rule: "a migration looks for what others have built before its first step",
    file: "db/migrate.ts",
    before:
      "  await requireNoOutsiders(client, SCHEMAS, await readMigrations(directory));\n  await client.query(drops);",
    after: "  await client.query(drops);",
    tests: ["migrate"],
    only: "an index on a table",
  },
  {
    rule: "of an address that is missing it is said that it is required",
    file: "db/rules/validation.sql",
    before:
      "  when value is null then app_private.required_problems(path, value)\n  when app_private.is_email(",
    after: "  when app_private.is_email(",
    tests: ["input"],
    only: "each missing field is named",
  },
  {
    rule: "and so of a URI",
    file: "db/rules/validation.sql",
    before:
      "  when value is null then app_private.required_problems(path, value)\n  when app_private.is_http_uri(",
    after: "  when app_private.is_http_uri(",
    tests: ["input"],
    only: "what only the rules can miss",
  },
  {
    rule: "an address of a key's that is null is not said to be required",
    file: "db/rules/identity.sql",
    before: "app_private.email_problems('persons', coalesce(item, ''))",
    after: "app_private.email_problems('persons', item)",
    tests: ["key-bounds"],
    only: "organizations that there are",
  },
  {
    ...SWITCHED_OFF,
    rule: "no server starts where callers have a right to a table without row-level security",
    before: "where (r.rolname = any (app_private.caller_roles()) or",
    after: "where (false or",
  },
  {
    ...SWITCHED_OFF,
    rule: "nor where the server's login has one",
    before: " or r.rolname = 'engagement_server')",
    after: ")",
  },
  {
    ...SWITCHED_OFF,
    rule: "nor where it is to one of its columns",
    before: "has_any_column_privilege(r.oid",
    after: "has_table_privilege(r.oid",
  },
  {
    ...SWITCHED_OFF,
    rule: "nor where it is one to delete",
    before: "'DELETE, TRUNCATE, TRIGGER'",
    after: "'TRUNCATE, TRIGGER'",
  },
  {
    ...SWITCHED_OFF,
    rule: "a server starts beside a copy of a table",
    before: "  where not t.relrowsecurity and exists (\n    select from pg_roles as r\n    where (",
    after: "  where not t.relrowsecurity and exists (\n    select from pg_roles as r\n    where true or (",
  },
];
