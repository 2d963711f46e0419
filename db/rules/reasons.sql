-- Explains why a person may do something, or why not, in words taken from the rules that decide it, for the operator's
-- tool. What asks for which permission is also told by `npm run migrate -- --plan` and in docs/authorization.md.

-- A function, not a view: a migration locks every view and with it the tables that it reads, which here are PostgreSQL's own.
create function app_private.permission_checks() returns table (permission text, name text, routine oid, roles name[])
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  with rules as (
    select p.proname::text as name, pg_get_functiondef(p.oid) as body,
      -- A function that is not called from outside is part of one that is.
      case when n.nspname = 'app_public' then p.oid end as routine, '{}'::name[] as roles
    from pg_proc as p
    -- Not compared with a regnamespace constant, which would make this function depend on the schema, while reset.sql
    -- moves it.
    join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ('app_public', 'app_private') and p.prokind = 'f'
    union all
    select format('policy %s on %s', policyname, tablename), concat(qual, with_check), null, roles
    from pg_policies where schemaname = 'app_public'
    union all
    select format('view %s', viewname), definition, null, '{}'
    from pg_views where schemaname in ('app_public', 'app_private')
  )
  select distinct asked.permission, r.name, r.routine, r.roles
  from rules as r, lateral (select (regexp_matches(r.body, '''([a-z_]+:[a-z_]+)''', 'g'))[1]) as asked (permission);
end;
comment on function app_private.permission_checks is
  'Which function, view or policy checks which permission, found as string literals in the rules that look like a permission.';

create function app_private.known_permission(permission text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  kind constant text := (
    select k.kind from (
      select 'organization' as kind, p.permission from app_public.organization_permissions as p
      union all select 'platform', p.permission from app_public.platform_permissions as p
    ) as k where k.permission = known_permission.permission limit 1);
begin
  if kind is null then
    perform app_private.refuse('validation_failed', format('There is no permission %s; there are: %s.', permission, (
      select string_agg(k.permission, ', ' order by k.permission) from (
        select p.permission from app_public.organization_permissions as p
        union select p.permission from app_public.platform_permissions as p) as k)));
  end if;
  return kind;
end
$$;
comment on function app_private.known_permission is
  'The kind of a permission, organization or platform; refuses with 400 a permission that no role has.';

-- The rule column names what decides: a function, a view, or a row of the lists in permissions.sql.
create function app_private.key_reasons(key_id text, permission text, org_uri text, email text)
returns table (rule text, holds boolean, refusal text, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  key app_private.api_keys;
  asking text[];
  reached text[];
  for_all boolean;
begin
  select * into key from app_private.api_keys as k where k.key_id::text = lower(key_reasons.key_id);
  if key.key_id is null then
    return query select 'app_private.authenticate', false, 'invalid_api_key', format('There is no key %s.', key_id);
    return;
  end if;
  return query
    select 'app_private.key_state', state = 'live', 'invalid_api_key', format('The key %s is %s.', key.label, state)
    from app_private.key_state(key) as state;
  select array_agg(c.name order by c.name), array_agg(c.name order by c.name) filter (
      where has_function_privilege(key.scope, c.routine, 'execute')
        or exists (select from unnest(c.roles) as role where pg_has_role(key.scope, role, 'usage')))
  into asking, reached
  from app_private.permission_checks() as c
  where c.permission = key_reasons.permission and (c.routine is not null or cardinality(c.roles) > 0);
  return query select format('grant %s', (coalesce(reached, asking))[1]), reached is not null, 'insufficient_scope',
    case when reached is not null then format('Its scope %s can reach: %s.', key.scope, array_to_string(reached, ', '))
      else format('Its scope %s gives access to nothing that requires %s.', key.scope, permission) end;
  if key.networks is not null then
    return query select 'app_private.authenticate', true, null::text,
      format('It accepts calls from %s only; the caller''s network is not checked here.', array_to_string(key.networks, ', '));
  end if;
  if key.persons is not null then
    return query select 'app_private.require_own_identity', app_private.is_within(key.persons, lower(email)),
      'key_not_for_person', format('It can be used only in the name of %s.', array_to_string(key.persons, ', '));
  end if;
  if key.organizations is not null then
    -- A permission that is required in this way is required for the whole platform.
    for_all := exists (
      select from pg_proc as p
      where p.prosrc ~ format('app_private\.require_platform_permission\([^;]*''%s''', permission));
    return query select 'app_private.require_organization',
      not for_all and app_private.is_within(key.organizations, org_uri), 'key_not_for_organization',
      case when for_all then format('It is for certain organizations, and %s is a permission on the platform.', permission)
        else format('It is only for the organizations %s.', array_to_string(key.organizations, ', ')) end;
  end if;
end
$$;
comment on function app_private.key_reasons is
  'What a key contributes to the decision: whether it is live, which functions that check the permission its scope may call, '
  'and whether its bounds include the person and the organization.';

create function app_private.organization_reasons(org_uri text, email text, permission text)
returns table (rule text, holds boolean, refusal text, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  decision constant record := app_private.authority(org_uri, email, permission);
begin
  return query select 'app_private.standings', decision.acting is not null, decision.refusal, coalesce(
    (select s.reason from app_public.users as u join app_private.standings as s on s.user_id = u.user_id
      where lower(u.email) = lower(organization_reasons.email) and s.org_uri = organization_reasons.org_uri limit 1),
    case
      when not exists (select from app_public.organizations as o where o.org_uri = organization_reasons.org_uri)
        then 'No organization has this URI.'
      when not exists (select from app_public.users as u where lower(u.email) = lower(organization_reasons.email))
        then 'Nobody with this e-mail address is known.'
      else 'They have no membership of the organization, and no approved claim to it.'
    end);
  if decision.acting is not null then
    return query select format('organization %s %s', decision.acting, permission), decision.refusal is null, decision.refusal,
      coalesce(decision.message, format('In an organization the role %s includes %s.', decision.acting, permission));
  end if;
end
$$;
comment on function app_private.organization_reasons is
  'The reasons of authorize: the role in which a person acts for an organization, and whether it includes a permission.';

create function app_private.platform_reasons(email text, permission text)
returns table (rule text, holds boolean, refusal text, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  allowed constant boolean := app_private.has_platform_permission(email, permission);
  roles constant app_public.platform_role[] := array(
    select r.role from app_public.users as u join app_public.platform_roles as r on r.user_id = u.user_id
    where lower(u.email) = lower(platform_reasons.email) order by r.role);
begin
  if cardinality(roles) = 0 then
    return query select 'app_private.platform_powers', allowed, 'permission_required', 'They have no role on the platform.';
  end if;
  return query
    select format('platform %s %s', t.role, permission), allowed, 'permission_required',
      format('On the platform the role %s %s %s.', t.role, case when allowed then 'includes' else 'does not include' end,
        permission)
    from unnest(roles) as t (role)
    -- One role that includes it is enough.
    where not allowed or exists (
      select from app_private.platform_powers as p
      where p.role = t.role and p.permission = platform_reasons.permission);
end
$$;
comment on function app_private.platform_reasons is
  'The reasons of require_platform_permission: a person''s roles on the platform, and whether one of them includes a '
  'permission.';

create function app_private.authorization_reasons(org_uri text, email text, permission text, key_id text default null)
returns table (rule text, holds boolean, refusal text, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  kind constant text := app_private.known_permission(permission);
begin
  perform app_private.require_address(email);
  if key_id is not null then
    return query select * from app_private.key_reasons(key_id, permission, org_uri, email);
  end if;
  case kind
    when 'organization' then
      return query select * from app_private.organization_reasons(org_uri, email, permission);
    when 'platform' then
      return query select * from app_private.platform_reasons(email, permission);
  end case;
end
$$;
comment on function app_private.authorization_reasons is
  'Why a person may do something for an organization, or why not: rule by rule, in the order in which the rules are checked. '
  'The first rule that does not hold is the one that refuses.';

create function app_private.holders_of(org_uri text, permission text)
returns table (email text, first_name text, last_name text, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if app_private.known_permission(permission) = 'platform' then
    return query
      select u.email, u.first_name, u.last_name, string_agg(format('On the platform: %s.', p.role), ' ' order by p.role)
      from app_private.platform_powers as p
      join app_public.users as u on u.user_id = p.user_id
      where p.permission = holders_of.permission
        and app_private.has_platform_permission(u.email, holders_of.permission)
      group by u.user_id order by lower(u.email);
    return;
  elsif not exists (select from app_public.organizations as o where o.org_uri = holders_of.org_uri) then
    perform app_private.refuse('organization_not_found');
  end if;
  return query
    select u.email, u.first_name, u.last_name, min(s.reason)
    from app_private.standings as s
    join app_public.users as u on u.user_id = s.user_id
    where s.org_uri = holders_of.org_uri
      and (app_private.authority(s.org_uri, u.email, holders_of.permission)).refusal is null
    group by u.user_id order by lower(u.email);
end
$$;
comment on function app_private.holders_of is
  'Everybody who has a permission for an organization, or on the platform, and why. Refuses with 400 an unknown permission '
  'and with 404 organization_not_found.';
