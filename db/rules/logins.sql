-- Whether a server can do its work with the login that it was given, and whether that login, and the roles that it
-- switches to, can do no more than they should.

create function app_private.caller_roles() returns name[]
language sql immutable
return array['api_read', 'api_write', 'api_review', 'api_person']::name[];
comment on function app_private.caller_roles is 'The roles that statements of callers run under (roles.sql).';

create function app_private.roles_out_of_reach() returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- Until PostgreSQL 15 every member may switch to a role.
  select string_agg(r.rolname, ', ' order by r.rolname) from pg_roles as r
  where r.rolname = any (app_private.caller_roles())
    and not pg_has_role(current_user, r.oid,
      case when current_setting('server_version_num')::integer >= 160000 then 'SET' else 'MEMBER' end);
end;
comment on function app_private.roles_out_of_reach is
  'The roles of callers that the calling login may not switch to; null when it may switch to all.';

create function app_private.login_problems() returns table (problem text, is_fatal boolean)
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  with api_roles as (
    select r.oid, r.rolname, r.rolsuper, r.rolbypassrls from pg_roles as r
    where r.rolname = any (app_private.caller_roles())
  ),
  tables as (
    select c.oid, c.relowner, c.relrowsecurity from pg_class as c
    where c.relnamespace::regnamespace::text in ('app_public', 'app_private', 'rest') and c.relkind in ('r', 'p')
  ),
  owners as (select distinct t.relowner as oid from tables as t)
  select format('the login %s may not become %s, as callers need; use that of engagement_server', current_user, roles), true
  from app_private.roles_out_of_reach() as roles where roles is not null

  union all
  select format('no policy binds %s, which is a superuser, bypasses row-level security or may act as the owner of the tables; '
    'run npm run migrate', string_agg(r.rolname, ', ' order by r.rolname)), true
  from api_roles as r
  where r.rolsuper or r.rolbypassrls or exists (select from owners as o where pg_has_role(r.oid, o.oid, 'USAGE'))
  having count(*) > 0

  union all
  select format('rights are lacking that the rules rely on; run npm run migrate, or, as a superuser: %s', string_agg(r.step, '; ')), true
  from app_private.rights_relied_on() as r where not r.is_held
  having count(*) > 0

  union all
  select format('row-level security is switched off on %s; run npm run migrate',
    string_agg(t.oid::regclass::text, ', ' order by t.oid::regclass::text)), true
  from tables as t
  -- Of no concern to callers is what none of them has a right to, such as a copy that somebody has made there.
  where not t.relrowsecurity and exists (
    select from pg_roles as r
    where (r.rolname = any (app_private.caller_roles()) or r.rolname = 'engagement_server')
      and (has_any_column_privilege(r.oid, t.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
        or has_table_privilege(r.oid, t.oid, 'DELETE, TRUNCATE, TRIGGER')))
  having count(*) > 0

  union all
  select format('triggers are switched off on %s; run npm run migrate',
    string_agg(distinct g.tgrelid::regclass::text, ', ')), true
  from pg_trigger as g where g.tgrelid in (select t.oid from tables as t) and g.tgenabled in ('D', 'R')
  having count(*) > 0

  union all
  select format('the login %s may do more than its callers: it %s; use that of engagement_server', current_user,
    case when l.rolsuper then 'is a superuser' when l.rolbypassrls then 'is bound by no policy' else 'owns the tables' end),
    false
  from pg_roles as l
  where l.rolname = current_user
    and (l.rolsuper or l.rolbypassrls or exists (select from owners as o where pg_has_role(l.oid, o.oid, 'USAGE')));
end;
comment on function app_private.login_problems is
  'What is wrong with the calling login of a server, with the roles that it switches to, or with what binds them: a sentence '
  'each, and whether no server may start so.';
