// Everything within the service's schemas belongs to one role, that of the first migration, whoever migrates: functions run as
// it, and the worker, the operator's tool and the next migration, which are its own, need what a superuser has made.
import type pg from "pg";
import { MigrationError } from "./sql-files.ts";

/** The schemas in which the rules create functions, views, triggers and policies. */
export const SCHEMAS = ["app_public", "app_private", "rest"];

const NEEDED = [...SCHEMAS, "app_migrations"];
/** Whoever has once begun a worker has made this one: of another's, its owner sees to it. */
const EVERYWHERE = [...NEEDED, "graphile_worker"];

// An extension belongs to whoever has made it. What belongs to a column belongs to whose the table is.
const ALL = `
  with ours as (
    select n.oid, n.nspowner from pg_namespace as n, unnest($1::text[]) as name where n.nspname in (name, 'earlier_' || name)
  ),
  held (classid, objid, kind, name, owner) as (
    select 'pg_namespace'::regclass::oid, o.oid, 'schema', o.oid::regnamespace::text, o.nspowner from ours as o
    union all
    select 'pg_class'::regclass, c.oid,
      case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
        when 'S' then 'sequence' else 'table' end,
      c.oid::regclass::text, c.relowner
    from pg_class as c
    where c.relnamespace in (select oid from ours) and c.relkind in ('r', 'p', 'f', 'v', 'm', 'S')
      and not exists (
        select from pg_depend as d
        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i') and d.refobjsubid > 0)
    union all
    select 'pg_proc'::regclass, p.oid, case p.prokind when 'a' then 'aggregate' else 'routine' end,
      p.oid::regprocedure::text, p.proowner
    from pg_proc as p where p.pronamespace in (select oid from ours)
    union all
    select 'pg_type'::regclass, t.oid, 'type', t.oid::regtype::text, t.typowner
    from pg_type as t
    left join pg_class as c on c.oid = t.typrelid
    where t.typnamespace in (select oid from ours) and (t.typtype in ('e', 'd', 'r') or c.relkind = 'c')
  )
  select h.name, pg_get_userbyid(h.owner)::text as owner, home.owner::text as home,
    format('alter %s %s owner to %I', h.kind, h.name, home.owner) as step
  from held as h
  cross join (
    -- Nobody has a reason to touch this table; schemas and others may have been given away by mistake. Who may not use its schema
    -- is told too.
    select coalesce(
      (select pg_get_userbyid(c.relowner) from pg_class as c
        where c.relname = 'applied' and c.relnamespace in (select oid from pg_namespace where nspname = 'app_migrations')),
      current_user) as owner
  ) as home
  where not exists (select from pg_depend as d where (d.classid, d.objid, d.deptype) = (h.classid, h.objid, 'e'))`;

type Held = { name: string; owner: string; home: string; step: string };

/**
 * Makes sure that the login may change whatever is in the service's schemas.
 * @throws MigrationError that names what it may not
 */
export async function requireOwn(client: Pick<pg.ClientBase, "query">): Promise<void> {
  const { rows } = await client.query<Held>(
    `select * from (${ALL}) as held where not pg_has_role(owner::name, 'USAGE') order by name`,
    [NEEDED],
  );
  const [first, ...others] = rows;
  if (!first) return;
  const those = others.length === 0 ? first.name : `${first.name} and ${others.length} more`;
  const owners = [...new Set(rows.map(({ owner }) => owner))].join(", ");
  const whose = `${those}, which ${others.length === 0 ? "belongs" : "belong"} to ${owners}`;
  const remedy = rows.every(({ owner, home }) => owner === home)
    ? `Use that login, or give everything to this one (docs/operations.md#two-logins).`
    : `Drop what is not the service's, or run npm run migrate once as a superuser, which gives the rest to ${first.home}.`;
  throw new MigrationError(`this login may not change ${whose}. ${remedy}`);
}

/** Gives whatever the login may give away of the service's schemas to the role that it belongs to. */
export async function handOver(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<Held>(
    `select * from (${ALL}) as held where owner <> home and pg_has_role(owner::name, 'USAGE')`,
    [EVERYWHERE],
  );
  for (const { step } of rows) await client.query(step);
}
