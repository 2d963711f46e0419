-- People: how they become known, their roles on the platform, and who may see and change them.

create function app_private.validate_user() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.first_name := app_private.trimmed(new.first_name);
  new.last_name := app_private.trimmed(new.last_name);
  -- As for organizations: only what changes is looked at.
  perform app_private.refuse_problems(
    case when new.email is null or new.email is distinct from old.email
      then app_private.email_problems('email', new.email) else '[]' end
    || case when new.first_name is distinct from old.first_name
         then app_private.name_problems('firstName', new.first_name, required => false) else '[]' end
    || case when new.last_name is distinct from old.last_name
         then app_private.name_problems('lastName', new.last_name, required => false) else '[]' end);
  return new;
end
$$;
comment on function app_private.validate_user is 'Row trigger: trims names and refuses malformed input with 400.';
create trigger validate before insert or update on app_public.users
  for each row execute function app_private.validate_user();

create function app_private.remember_user(email text, first_name text, last_name text) returns app_public.users
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  insert into app_public.users as u (email, first_name, last_name)
  values (remember_user.email, remember_user.first_name, remember_user.last_name)
  on conflict (lower(email)) do update
    set first_name = coalesce(u.first_name, excluded.first_name), last_name = coalesce(u.last_name, excluded.last_name)
  returning *;
end;
comment on function app_private.remember_user is
  'The person with this e-mail address, added if unknown. Names that are already known are kept.';

create function app_private.known_user(email text) returns app_public.users
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  person app_public.users;
begin
  select * into person from app_public.users as u where lower(u.email) = lower(known_user.email);
  if not found then
    perform app_private.refuse('user_not_found');
  end if;
  return person;
end
$$;
comment on function app_private.known_user is 'The person with this e-mail address; refuses with 404 user_not_found.';

create function app_private.has_platform_permission(email text, permission text) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from app_public.users as u
    join app_public.platform_roles as r on r.user_id = u.user_id
    join app_public.platform_permissions as p on p.role = r.role
    where lower(u.email) = lower(has_platform_permission.email)
      and p.permission = has_platform_permission.permission);
end;
comment on function app_private.has_platform_permission is 'Whether one of a person''s platform roles includes a permission.';

create function app_private.require_platform_permission(email text, permission text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not app_private.has_platform_permission(email, permission) then
    perform app_private.refuse('permission_required',
      format('This requires the platform permission %s, which the acting user does not have.', permission));
  end if;
end
$$;
comment on function app_private.require_platform_permission is
  'Refuses with 403 permission_required unless one of the person''s platform roles includes the permission.';

create function app_private.lock_platform_roles() returns void
language sql volatile
set search_path = pg_catalog, pg_temp
begin atomic
  select pg_advisory_xact_lock(hashtextextended('app_public.platform_roles', 0));
end;
comment on function app_private.lock_platform_roles is
  'Makes other changes to platform roles wait until the transaction ends.';

create function app_private.keep_a_role_assigner() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from before
    join app_public.platform_permissions as p on p.role = before.role and p.permission = 'roles:assign'
  ) then
    -- Locking those who remain makes a transaction with an old snapshot fail rather than rely on it.
    perform app_private.lock_platform_roles();
    perform from app_public.platform_roles as r
    join app_public.platform_permissions as p on p.role = r.role and p.permission = 'roles:assign'
    limit 1 for share of r;
    if not found then
      perform app_private.refuse('last_admin',
        'The platform needs at least one person who may assign roles; give someone else such a role first.');
    end if;
  end if;
  return null;
end
$$;
comment on function app_private.keep_a_role_assigner is
  'Statement trigger: refuses with 409 last_admin any change that leaves nobody who may assign platform roles.';
create trigger keep_a_role_assigner_updated after update on app_public.platform_roles
  referencing old table as before for each statement execute function app_private.keep_a_role_assigner();
create trigger keep_a_role_assigner_deleted after delete on app_public.platform_roles
  referencing old table as before for each statement execute function app_private.keep_a_role_assigner();

create function app_private.record_platform_role() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into app_private.role_history (user_id, role, status, changed_by_email)
  select coalesce(new.user_id, old.user_id), coalesce(new.role, old.role)::text,
    case tg_op when 'DELETE' then 'revoked'::app_public.membership_status else 'active' end, app_private.current_actor();
  return null;
end
$$;
comment on function app_private.record_platform_role is
  'Row trigger: notes who was given or lost a platform role, by whom and when.';
create trigger record_change after insert or delete on app_public.platform_roles
  for each row execute function app_private.record_platform_role();

create function app_private.platform_user(person app_public.users) returns app_public.platform_user
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select (
    person.user_id, person.email, person.first_name, person.last_name,
    array(select r.role from app_public.platform_roles as r where r.user_id = person.user_id order by r.role),
    array(
      select app_private.member(m.org_uri, m.user_id) from app_public.memberships as m
      where m.user_id = person.user_id order by m.org_uri),
    person.created_at
  )::app_public.platform_user;
end;
comment on function app_private.platform_user is 'A person, as shown to those who may see people.';

create function app_private.change_platform_role(
  person app_public.users, role app_public.platform_role, action app_public.platform_role_action
) returns app_public.platform_user
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.lock_platform_roles();
  -- Without an else: an action that nobody has decided about fails and changes nothing.
  case action
    when 'grant' then
      insert into app_public.platform_roles (user_id, role) values (person.user_id, change_platform_role.role)
      on conflict do nothing;
    when 'revoke' then
      delete from app_public.platform_roles as r
      where r.user_id = person.user_id and r.role = change_platform_role.role;
  end case;
  return app_private.platform_user(person);
end
$$;
comment on function app_private.change_platform_role is
  'Gives a platform role or takes it away, where that changes anything; the caller has checked that this is allowed.';

create function app_public.set_platform_role(
  user_email text, role app_public.platform_role, admin_email text,
  action app_public.platform_role_action default 'grant'
) returns app_public.platform_user
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(
    app_private.email_problems('userEmail', user_email)
    || app_private.required_problems('role', role::text)
    || app_private.email_problems('adminEmail', admin_email));
  perform app_private.name_actor(admin_email);
  perform app_private.require_platform_permission(admin_email, 'roles:assign');
  return app_private.change_platform_role(app_private.known_user(user_email), role, coalesce(action, 'grant'));
end
$$;
comment on function app_public.set_platform_role is
  E'@resultFieldName user\nGives a person a role on the platform, or takes it away. The person named by adminEmail needs the platform '
  'permission roles:assign. Errors: 400 validation_failed, 403 permission_required, insufficient_scope, '
  '404 user_not_found, 409 last_admin.';

create function app_public.platform_users(admin_email text, "limit" integer default 50, "offset" integer default 0)
returns app_public.platform_user_page
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  page app_public.platform_user_page;
begin
  perform app_private.refuse_problems(
    app_private.email_problems('adminEmail', admin_email) || app_private.page_problems("limit", "offset"));
  perform app_private.require_platform_permission(admin_email, 'users:read');
  select count(*) into page.total from app_public.users;
  page.users := array(
    select app_private.platform_user(u) from app_public.users as u
    order by u.created_at desc, u.user_id desc
    limit coalesce("limit", 50) offset coalesce("offset", 0));
  return page;
end
$$;
comment on function app_public.platform_users is
  E'Everybody the service knows, newest first. The person named by adminEmail needs the platform permission '
  'users:read. Errors: 400 validation_failed, 403 permission_required, insufficient_scope.';

create function app_public.check_user(email text) returns app_public.user_check
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  answer app_public.user_check;
begin
  perform app_private.refuse_problems(app_private.email_problems('email', email));
  select true, u.first_name, u.last_name, o.org_uri, o.name, o.type into answer
  from app_public.users as u
  left join lateral (
    select m.org_uri, m.created_at from app_public.memberships as m
    where m.user_id = u.user_id and m.status = 'active'
    union all
    select c.org_uri, c.created_at from app_public.organization_claims as c
    where c.user_id = u.user_id and c.status = 'approved' and not exists (
      select from app_public.memberships as m where m.user_id = u.user_id and m.org_uri = c.org_uri)
    order by created_at desc limit 1
  ) as belonging on true
  left join app_public.organizations as o on o.org_uri = belonging.org_uri
  where lower(u.email) = lower(check_user.email);
  answer."exists" := coalesce(answer."exists", false);
  return answer;
end
$$;
comment on function app_public.check_user is
  E'Whether the service knows a person, and the organization that they act for (the most recent if there are several). '
  'Errors: 400 validation_failed, 403 insufficient_scope.';
