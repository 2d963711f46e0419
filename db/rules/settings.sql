-- Which values an operator may set in app_private.settings. They are checked when they are set: a rule that read any
-- other value would fail in the middle of a caller's request. A migration that removes one of these settings or
-- changes its type drops the trigger first; the rules are applied after the migrations and create it again.

create function app_private.setting_problem(name text, value jsonb) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
begin atomic
  select case known.type
    when 'boolean' then
      case when jsonb_typeof(value) is distinct from 'boolean' then 'must be true or false, without quotes' end
    when 'number' then
      -- A value of another JSON type is not between two numbers, and so is refused. The rules read 20.0 as 20.
      case when (value between to_jsonb(known.least) and to_jsonb(known.most) and value #>> '{}' ~ '^[0-9]+([.]0+)?$') is not true
        then format('must be a whole number from %s to %s, without quotes', known.least, known.most) end
    else
      case when jsonb_typeof(value) is distinct from 'string' or value = '""' then 'must be a text, in double quotes' end
  end
  from (values
    ('auto_approval_needs_verified_email', 'boolean', null, null),
    ('changes_kept_days', 'number', 1, 36500),
    ('claim_mails_per_person_per_day', 'number', 0, 1000000000),
    ('claims_per_key_per_day', 'number', 0, 1000000000),
    ('claims_per_person_per_day', 'number', 0, 1000000000),
    ('expire_commitments', 'boolean', null, null),
    ('graph_data_url', 'text', null, null),
    ('namespace_url', 'text', null, null),
    ('person_digest_key', 'text', null, null),
    ('sign_in_links_per_address', 'number', 0, 1000000000),
    ('sign_in_links_per_address_everywhere', 'number', 0, 1000000000),
    ('sign_ins_per_network', 'number', 0, 1000000000)
  ) as known (name, type, least, most)
  where known.name = setting_problem.name;
end;
comment on function app_private.setting_problem is
  'What is wrong with a value of a setting, in words for the operator who sets it; null if nothing is, or if the rules know '
  'no setting of that name.';

create function app_private.validate_setting() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  problem text;
begin
  -- Null is a problem for every setting that the rules know, so this finds those settings.
  if tg_op <> 'INSERT' and app_private.setting_problem(old.name, null) is not null
    and (tg_op = 'DELETE' or new.name <> old.name) then
    raise exception using errcode = 'check_violation',
      message = format('The rules need the setting %s: set its value instead.', old.name);
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  problem := app_private.setting_problem(new.name, new.value);
  if problem is not null then
    -- Without the value, which may be a secret.
    raise exception using errcode = 'check_violation', message = format('The setting %s %s.', new.name, problem);
  end if;
  return new;
end
$$;
comment on function app_private.validate_setting is
  'Row trigger: refuses a value that the rules could not read, and refuses to delete or rename a setting that they need.';
create trigger validate before insert or update of name, value or delete on app_private.settings
  for each row execute function app_private.validate_setting();

create view app_private.odd_settings with (security_invoker = true) as
select s.name, app_private.setting_problem(s.name, s.value) as problem from app_private.settings as s
where app_private.setting_problem(s.name, s.value) is not null;
comment on view app_private.odd_settings is
  'Settings with malformed values from before values were checked. Which value was meant cannot be known, so every migrate '
  'reports them.';
