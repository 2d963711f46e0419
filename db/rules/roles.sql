-- The roles that keys and persons stand for, and the server's login. They belong to the whole cluster and are in no dump of a database:
-- one that was restored elsewhere finds them missing. `npm run migrate -- --roles` applies this file alone.

do $$
declare
  wanted text;
  holder text;
begin
  foreach wanted in array array['api_read', 'api_write', 'api_review', 'api_person', 'engagement_server'] loop
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

  -- Only what is missing: another owner, whose roles these are, may have let this one use them and no more.
  for wanted, holder in
    values ('api_read', 'api_write'), ('api_write', 'api_review'), ('api_write', 'api_person'),
      ('api_read', 'engagement_server'), ('api_write', 'engagement_server'), ('api_review', 'engagement_server'),
      ('api_person', 'engagement_server')
  loop
    if not exists (
      select from pg_auth_members as m where m.roleid = to_regrole(wanted) and m.member = to_regrole(holder)
    ) then
      execute format('grant %I to %I', wanted, holder);
    end if;
  end loop;
end
$$;
