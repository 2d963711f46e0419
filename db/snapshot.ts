// What migrations and rules have created in a database, as text by which two states can be compared.
import type pg from "pg";

/** The kinds of objects, in the order in which a reader wants to see them. */
export const KINDS = [
  "permission",
  "policy",
  "role",
  "membership",
  "grant",
  "function",
  "trigger",
  "view",
  "type",
  "table",
  "column",
  "constraint",
  "index",
  "comment",
] as const;

export type Kind = (typeof KINDS)[number];

/** An object: its kind, its name, unique within the kind, and its definition. */
export type Item = { kind: Kind; name: string; definition: string };

/** All objects of some schemas, and the permissions of each role; must be called within a transaction. */
export async function snapshot(client: pg.ClientBase, schemas: readonly string[]): Promise<Item[]> {
  const { rows: path } = await client.query<{ path: string }>(
    // With an empty search_path, all names are written with their schema.
    "select current_setting('search_path') as path, set_config('search_path', '', true)",
  );
  const { rows } = await client.query<Item>(CATALOG, [schemas]);
  await client.query("select set_config('search_path', $1, true)", [path[0]!.path]);
  return [...(await permissions(client)), ...rows];
}

async function permissions(client: pg.ClientBase): Promise<Item[]> {
  const items: Item[] = [];
  const { rows: kinds } = await client.query<{ kind: string; relation: string }>(
    `select regexp_replace(relname, '_permissions$', '') as kind, oid::regclass::text as relation from pg_class
     where relnamespace = to_regnamespace('app_public') and relkind = 'r' and relname like '%\\_permissions'`,
  );
  for (const { kind, relation } of kinds) {
    const { rows: cells } = await client.query<Item>(
      `select 'permission' as kind, format('%s %s %s', $1::text, role, permission) as name, '' as definition
       from ${relation}`,
      [kind],
    );
    items.push(...cells);
  }
  return items;
}

const CATALOG = `
  with ours as (select oid, nspname from pg_namespace where nspname = any ($1)),
  relations as (select c.* from pg_class as c join ours on ours.oid = c.relnamespace),
  routines as (select p.* from pg_proc as p join ours on ours.oid = p.pronamespace),
  granted as (
    select object, acl.* from (
      select oid::regclass::text as object, relacl as acl, relowner as owner from relations
      union all
      select format('%s (%I)', r.oid::regclass, a.attname), a.attacl, r.relowner
      from relations as r join pg_attribute as a on a.attrelid = r.oid and not a.attisdropped
      union all
      select oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)), proowner from routines
      union all
      select 'schema ' || nspname, coalesce(nspacl, acldefault('n', nspowner)), nspowner from pg_namespace
      where nspname = any ($1) or oid in (select extnamespace from pg_extension)
      union all
      select 'the database', coalesce(datacl, acldefault('d', datdba)), datdba from pg_database where datname = current_database()
    ) as objects, lateral aclexplode(objects.acl) as acl
    where acl.grantee <> objects.owner
  )
  select 'policy' as kind, format('%I on %I.%I', policyname, schemaname, tablename) as name,
    case permissive when 'RESTRICTIVE' then 'restrictive, ' else '' end
      || format(E'for %s to %s', lower(cmd), array_to_string(roles, ', '))
      || coalesce(E'\\nusing ' || qual, '') || coalesce(E'\\nwith check ' || with_check, '') as definition
  from pg_policies where schemaname = any ($1)

  union all
  select 'role', rolname::text, concat_ws(', ', case when rolsuper then 'superuser' end, case when rolinherit then 'inherits' end,
    case when rolbypassrls then 'bypasses row level security' end, case when rolcreaterole then 'makes roles' end,
    case when rolcreatedb then 'makes databases' end, case when rolreplication then 'replicates' end)
  from pg_roles where rolname in ('api_read', 'api_write', 'api_review', 'api_person', 'engagement_server')

  union all
  -- A role may be given by several; since PostgreSQL 16 each gift says by itself what comes with it.
  select 'membership', format('%s is held by %s', roleid::regrole, member::regrole),
    concat_ws(', ', case when bool_or(admin_option) then 'with admin option' end,
      case when bool_and(to_jsonb(m) ->> 'inherit_option' = 'false') then 'not inherited' end,
      case when bool_and(to_jsonb(m) ->> 'set_option' = 'false') then 'not to be switched to' end)
  from pg_auth_members as m
  where roleid in (select grantee from granted union select relowner from relations) or member in (select grantee from granted)
  group by roleid, member

  union all
  select distinct 'grant', format('%s: %s %s', case grantee when 0 then 'public' else grantee::regrole::text end,
    lower(privilege_type), object), case when is_grantable then 'with grant option' else '' end
  from granted

  union all
  select 'function', oid::regprocedure::text,
    case prokind when 'a' then 'aggregate' else rtrim(pg_get_functiondef(oid)) end
      || case when proowner <> (select nspowner from pg_namespace where oid = pronamespace) then E'\\nof ' || proowner::regrole else '' end
  from routines

  union all
  select 'trigger', format('%I on %s', t.tgname, t.tgrelid::regclass), concat_ws(E'\\n', pg_get_triggerdef(t.oid),
    case t.tgenabled when 'D' then 'disabled' when 'R' then 'on replicas only' when 'A' then 'on replicas too' end)
  from pg_trigger as t join relations as r on r.oid = t.tgrelid where not t.tgisinternal

  union all
  select 'trigger', format('rule %I on %s', w.rulename, w.ev_class::regclass), pg_get_ruledef(w.oid)
  from pg_rewrite as w join relations as r on r.oid = w.ev_class where r.relkind in ('r', 'p')

  union all
  select 'view', oid::regclass::text, concat_ws(E'\\n', 'with (' || array_to_string(reloptions, ', ') || ')',
    trim(pg_get_viewdef(oid)))
  from relations where relkind = 'v'

  union all
  select 'type', t.oid::regtype::text,
    (select string_agg(quote_literal(enumlabel), E'\\n' order by enumsortorder) from pg_enum where enumtypid = t.oid)
  from pg_type as t join ours on ours.oid = t.typnamespace where t.typtype = 'e'

  union all
  select 'table', r.oid::regclass::text, concat_ws(', ', case r.relpersistence when 'u' then 'unlogged' end,
    case when r.relrowsecurity then 'row level security' end, case when r.relforcerowsecurity then 'forced' end,
    case when r.relowner <> (select nspowner from pg_namespace where oid = r.relnamespace) then 'of ' || r.relowner::regrole end,
    case when exists (select from pg_trigger as t where t.tgrelid = r.oid and t.tgisinternal and t.tgenabled in ('D', 'R'))
      then 'foreign keys not checked' end,
    array_to_string(r.reloptions, ', '))
  from relations as r where r.relkind in ('r', 'p', 'S')

  union all
  select 'column', format('%s.%I', r.oid::regclass, a.attname),
    concat_ws(' ', format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
      'default ' || pg_get_expr(d.adbin, d.adrelid), nullif(a.attidentity, '')::text)
  from relations as r
  join pg_attribute as a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef as d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
  where r.relkind in ('r', 'p', 'c')

  union all
  select 'constraint', format('%s on %s', k.conname, coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text)),
    pg_get_constraintdef(k.oid)
  from pg_constraint as k join ours on ours.oid = k.connamespace
  -- That a column is not null, it says itself; releases differ in whether it is a constraint as well.
  where k.contype not in ('t', 'n')

  union all
  select 'index', i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
  from pg_index as i join relations as r on r.oid = i.indexrelid

  union all
  select 'comment', case
      when d.classoid = 'pg_proc'::regclass then 'on function ' || d.objoid::regprocedure
      when d.classoid = 'pg_type'::regclass then 'on type ' || d.objoid::regtype
      when d.objsubid > 0 then format('on column %s.%I', d.objoid::regclass,
        (select attname from pg_attribute where (attrelid, attnum) = (d.objoid, d.objsubid)))
      else 'on ' || d.objoid::regclass end,
    d.description
  from pg_description as d
  where d.classoid = 'pg_class'::regclass and d.objoid in (select oid from relations)
    or d.classoid = 'pg_proc'::regclass and d.objoid in (select oid from routines)
    or d.classoid = 'pg_type'::regclass and d.objoid in (select t.oid from pg_type as t join ours on ours.oid = t.typnamespace)`;
