// What somebody has built on rules that a migration makes anew.
import type pg from "pg";
import { MigrationError } from "./sql-files.ts";

/**
 * Functions and views are made anew by each migration, and what depends on the former ones goes with these. Functions that a
 * migration has made, for indexes and columns of ours, stay.
 */
const OUTSIDERS = `
  with ours as (
    select n.oid from pg_namespace as n, unnest($1::text[]) as name where n.nspname in (name, 'earlier_' || name)
  ),
  made_anew (classid, objid, name) as (
    select 'pg_class'::regclass::oid, c.oid, c.oid::regclass::text
    from pg_class as c where c.relnamespace in (select oid from ours) and c.relkind = 'v'
    union all
    select 'pg_type'::regclass, c.reltype, c.oid::regclass::text
    from pg_class as c where c.relnamespace in (select oid from ours) and c.relkind = 'v'
    union all
    select 'pg_proc'::regclass, p.oid, p.oid::regprocedure::text
    from pg_proc as p
    where p.pronamespace in (select oid from ours) and p.pronamespace::regnamespace || '.' || p.proname <> all ($2::text[])
  ),
  dependents as (
    select d.classid, d.objid, d.objsubid, made_anew.name as used,
      case d.classid
        when 'pg_class'::regclass then d.objid
        when 'pg_rewrite'::regclass then (select ev_class from pg_rewrite where oid = d.objid)
        when 'pg_trigger'::regclass then (select tgrelid from pg_trigger where oid = d.objid)
        when 'pg_policy'::regclass then (select polrelid from pg_policy where oid = d.objid)
      end as relation
    from pg_depend as d
    join made_anew on (made_anew.classid, made_anew.objid) = (d.refclassid, d.refobjid)
    where d.deptype <> 'i'
  )
  select distinct case
      when d.classid = 'pg_rewrite'::regclass then d.relation::regclass::text
      else pg_describe_object(d.classid, d.objid, d.objsubid)
    end || ' uses ' || d.used as said
  from dependents as d
  -- Views, functions, triggers, policies and rewrite rules of ours are the rules' own; tables and indexes are not.
  where coalesce(
      (select relnamespace from pg_class
        where oid = d.relation and relkind <> 'm' and (relkind = 'v' or d.classid <> 'pg_class'::regclass)),
      (select pronamespace from pg_proc where d.classid = 'pg_proc'::regclass and oid = d.objid),
      0) not in (select oid from ours)
  order by 1`;

/**
 * Makes sure that nothing of anybody else would be dropped, or go on with rules of before, unnoticed.
 * @param migrations all of them: what they have made stays
 * @throws MigrationError that names what is in the way
 */
export async function requireNoOutsiders(
  client: pg.ClientBase,
  schemas: readonly string[],
  migrations: readonly { sql: string }[],
): Promise<void> {
  const stay = migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/^create function ([\w.]+)/gm)].map(([, name]) => name),
  );
  const { rows } = await client.query<{ said: string }>(OUTSIDERS, [schemas, stay]);
  if (rows.length === 0) return;
  throw new MigrationError(
    `${rows.map(({ said }) => said).join("; ")}: a migration makes functions and views anew, and would drop what uses them. ` +
      "Drop it, and make it again from tables (docs/operations.md#views-of-your-own).",
  );
}
