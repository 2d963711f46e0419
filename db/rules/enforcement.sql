-- What must be in force on every table, for the rules of the other files to hold. Tables are made by the migrations, once;
-- what was switched off by hand since, for a bulk load for instance, is switched on again here. Triggers and policies are
-- made anew by the other files. Constraints that are not valid stay so: they hold for what is written.

do $$
declare
  ours constant oid[] := array['app_public'::regnamespace, 'app_private'::regnamespace, 'rest'::regnamespace];
  roles constant name[] := array['api_read', 'api_write', 'api_review', 'api_person', 'engagement_server'];
  step text;
begin
  for step in
    with tables as (
      select c.oid, c.relowner, pg_get_userbyid(c.relowner) as owner, c.relrowsecurity, c.relforcerowsecurity
      from pg_class as c where c.relnamespace = any (ours) and c.relkind in ('r', 'p')
    )
    -- The owner of the tables needs it for the other files. Who owns everything in the end is decided in db/ownership.ts.
    select format('alter schema %I owner to %I', n.nspname, current_user)
    from pg_namespace as n where n.oid = any (ours) and pg_get_userbyid(n.nspowner) = any (roles)
    union all
    -- An owner is bound by no policy and no grant, nor is whoever may act as one, or as somebody who may. Since PostgreSQL 16
    -- a grant is revoked in the name of the role that made it.
    select format('revoke %I from %I', given.rolname, holder.rolname)
      || case when current_setting('server_version_num')::integer >= 160000 then format(' granted by %I', pg_get_userbyid(m.grantor))
        else '' end
    from pg_auth_members as m
    join pg_roles as given on given.oid = m.roleid
    join pg_roles as holder on holder.oid = m.member
    where holder.rolname = any (roles) and given.rolname <> all (roles)
      and exists (
        select from tables as t where t.owner <> all (roles) and pg_has_role(given.oid, t.relowner, 'MEMBER'))
    union all
    select format('alter table %s enable row level security', t.oid::regclass)
    from tables as t where not t.relrowsecurity
    union all
    -- The service itself, which works as the owner, is bound by none.
    select format('alter table %s no force row level security', t.oid::regclass)
    from tables as t where t.relforcerowsecurity
    union all
    -- Since PostgreSQL 18.
    select format('alter table %s alter constraint %I enforced', k.conrelid::regclass, k.conname)
    from pg_constraint as k
    where k.connamespace = any (ours) and k.contype = 'f' and not coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
  loop
    begin
      execute step;
    exception
      when insufficient_privilege then
        raise exception 'the rules would not bind everybody (%); a superuser has to: %', sqlerrm, step;
      when foreign_key_violation then
        raise exception '%: it was not enforced, and rows were written that it refuses; delete or correct them, and migrate again', sqlerrm;
    end;
  end loop;

  -- What checks a foreign key is a trigger of PostgreSQL's own.
  for step in
    select distinct format('alter table %s enable trigger all', c.oid::regclass)
    from pg_trigger as t
    join pg_class as c on c.oid = t.tgrelid
    where c.relnamespace = any (ours) and t.tgisinternal and t.tgenabled in ('D', 'R')
  loop
    begin
      execute step;
    exception when insufficient_privilege then
      raise exception 'foreign keys are not checked; a superuser has to: %', step;
    end;
  end loop;
end
$$;
