-- Rights that the rules need on what others own. Everybody has them until somebody takes them from PUBLIC, as is often done
-- to harden a database. They are granted before the rules that cannot be made without them.

create function app_private.rights_relied_on() returns table (step text, is_held boolean)
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  with extensions as (
    select e.oid, e.extnamespace from pg_extension as e where e.extname in ('cube', 'pg_trgm', 'unaccent')
  ),
  -- Functions are called with the rights of a caller, or of the owner.
  holders as (
    select r.oid, r.rolname from pg_roles as r
    where r.rolname = 'api_read' or r.oid = (select n.nspowner from pg_namespace as n where n.nspname = 'app_private')
  )
  select format('grant usage on schema %I to %I', n.nspname, h.rolname), has_schema_privilege(h.oid, n.oid, 'USAGE')
  from holders as h, pg_namespace as n where n.oid in (select e.extnamespace from extensions as e)
  union all
  select format('grant execute on function %s to %s', string_agg(distinct p.oid::regprocedure::text, ', '),
    string_agg(distinct quote_ident(h.rolname), ', ')), false
  from holders as h, pg_proc as p
  join pg_depend as d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
    and d.refclassid = 'pg_extension'::regclass
  where d.refobjid in (select e.oid from extensions as e) and not has_function_privilege(h.oid, p.oid, 'EXECUTE')
  having count(*) > 0
  union all
  -- Which is not kept where a database is made from another one.
  select format('grant connect on database %I to engagement_server', d.datname), false
  from pg_database as d
  where d.datname = current_database() and not has_database_privilege('engagement_server', d.oid, 'CONNECT');
end;
comment on function app_private.rights_relied_on is
  'The rights that the rules need on what others own, each as the statement that grants it: on the schemas and functions of the '
  'extensions, and to connect. Of the last two only what is lacking.';

-- Without the right to grant them PostgreSQL only warns.
do $$
declare
  step text;
begin
  for step in select r.step from app_private.rights_relied_on() as r loop
    begin
      execute step;
    exception when insufficient_privilege then
      null;
    end;
  end loop;
  step := (select string_agg(r.step, '; ') from app_private.rights_relied_on() as r where not r.is_held);
  -- A role that this migration has made is gone with it.
  if step is not null then
    raise exception 'rights are lacking that the rules rely on; after npm run migrate -- --roles a superuser has to: %', step;
  end if;
end
$$;
