-- The PostgreSQL roles that API keys and persons act under, and the server's login. Roles belong to the whole cluster
-- and are not part of a database dump, so before a dump is restored into another cluster they must be created there:
-- `npm run migrate -- --roles` applies this file alone.

do $$
declare
  ours constant text[] := array['api_read', 'api_write', 'api_review', 'api_person', 'engagement_server'];
  wanted text;
  step text;
begin
  foreach wanted in array ours loop
    if to_regrole(wanted) is null then
      begin
        execute format('create role %I nologin', wanted);
        if wanted = 'engagement_server' then
          alter role engagement_server login;
        end if;
      exception when duplicate_object or unique_violation then
        null;
      end;
    end if;
  end loop;

  -- What a role may do by itself, whatever it is granted: no policy and no grant would stop it. The login
  -- inherits nothing: it can read no table until it switches to one of the other roles. Whether these may log in too is
  -- left to the operator.
  for step in
    select format('alter role %I %s', r.rolname, concat_ws(' ',
      case when r.rolsuper then 'nosuperuser' end,
      case when r.rolbypassrls then 'nobypassrls' end,
      case when r.rolcreaterole then 'nocreaterole' end,
      case when r.rolcreatedb then 'nocreatedb' end,
      case when r.rolreplication then 'noreplication' end,
      case when r.rolinherit <> (r.rolname <> 'engagement_server') then
        case when r.rolinherit then 'noinherit' else 'inherit' end
      end))
    from pg_roles as r
    where r.rolname = any (ours)
      and (r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication
        or r.rolinherit <> (r.rolname <> 'engagement_server'))
  loop
    begin
      execute step;
    exception when insufficient_privilege then
      raise exception 'a role may do more than the rules allow, or less; a superuser has to: %', step;
    end;
  end loop;

  -- Which role is a member of which; what is too much is taken before anything is given. Only differences are granted or
  -- revoked: the roles may belong to another owner, who has let this one use them but not change them. Since PostgreSQL 16
  -- each grant says for itself whether the holder inherits the rights, and may switch to the role; until 15 the holder's
  -- attribute says so.
  for step in
    with listed (role, holder) as (
      values ('api_read', 'api_write'), ('api_write', 'api_review'), ('api_write', 'api_person'),
        ('api_read', 'engagement_server'), ('api_write', 'engagement_server'), ('api_review', 'engagement_server'),
        ('api_person', 'engagement_server')
    ),
    held (role, holder, giver, is_as_listed) as (
      select role.rolname::text, holder.rolname::text, giver.rolname,
        (role.rolname, holder.rolname) in (select l.role, l.holder from listed as l)
          and not m.admin_option
          and coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
          and coalesce((to_jsonb(m) ->> 'inherit_option')::boolean = (holder.rolname <> 'engagement_server'), true)
      from pg_auth_members as m
      join pg_roles as role on role.oid = m.roleid
      join pg_roles as holder on holder.oid = m.member
      left join pg_roles as giver on giver.oid = m.grantor
      where role.rolname = any (ours) and holder.rolname = any (ours)
    )
    -- Since PostgreSQL 16 a grant is revoked in the name of the role that made it.
    select format('revoke %I from %I', role, holder)
      || case when current_setting('server_version_num')::integer >= 160000 then format(' granted by %I', giver)
        else '' end as step, 1 as turn
    from held where not is_as_listed
    union all
    select format('grant %I to %I', role, holder)
      || case when current_setting('server_version_num')::integer < 160000 then ''
        when holder = 'engagement_server' then ' with inherit false, set true'
        else ' with inherit true, set true'
      end, 2
    from (select role, holder from listed except select role, holder from held where is_as_listed) as missing
    order by turn
  loop
    begin
      execute step;
    exception
      -- Two databases of one cluster that are migrated at the same time make the same changes.
      when unique_violation then
        null;
      when insufficient_privilege then
        raise exception 'the roles do not hold each other as the rules have it (%); a superuser has to: %', sqlerrm, step;
    end;
  end loop;
end
$$;
