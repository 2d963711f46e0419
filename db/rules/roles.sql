-- The roles that keys and persons stand for, and the server's login. They belong to the whole cluster and are in no dump of a database:
-- one that was restored elsewhere finds them missing. `npm run migrate -- --roles` applies this file alone.

do $$
declare
  ours constant text[] := array['api_read', 'api_write', 'api_review', 'api_person', 'engagement_server'];
  wanted text;
  step text;
  is_taken boolean;
begin
  foreach wanted in array ours loop
    if to_regrole(wanted) is null then
      begin
        execute format('create role %I nologin', wanted);
        if wanted = 'engagement_server' then
          -- It inherits nothing: until it becomes one of the others it can read no table.
          alter role engagement_server login noinherit;
        end if;
      exception when duplicate_object or unique_violation then
        null;
      end;
    end if;
  end loop;

  -- Who has whose rights, among these. Only what differs: another owner, whose roles they are, may have let this one use them and no more.
  for step, is_taken in
    with listed (role, holder) as (
      values ('api_read', 'api_write'), ('api_write', 'api_review'), ('api_write', 'api_person'),
        ('api_read', 'engagement_server'), ('api_write', 'engagement_server'), ('api_review', 'engagement_server'),
        ('api_person', 'engagement_server')
    ),
    held (role, holder, giver) as (
      select role.rolname::text, holder.rolname::text, giver.rolname
      from pg_auth_members as m
      join pg_roles as role on role.oid = m.roleid
      join pg_roles as holder on holder.oid = m.member
      left join pg_roles as giver on giver.oid = m.grantor
      where role.rolname = any (ours) and holder.rolname = any (ours)
    )
    select format('grant %I to %I', role, holder), false
    from (select role, holder from listed except select role, holder from held) as missing
    union all
    -- From release 16 on, what somebody gave is taken in their name.
    select format('revoke %I from %I', role, holder)
      || case when current_setting('server_version_num')::integer >= 160000 then format(' granted by %I', giver) else '' end, true
    from held where (role, holder) not in (select role, holder from listed)
  loop
    begin
      execute step;
    exception
      -- Two databases of a cluster that are migrated at once take and give the same.
      when unique_violation then
        null;
      when others then
        -- What another owner gave, or gave on, is theirs to take.
        if not is_taken then
          raise;
        end if;
        raise warning 'db/rules/roles.sql: not done: %; a superuser has to: %', step, sqlerrm;
    end;
  end loop;
end
$$;
