-- People: how they become known, their roles on the platform, and who may see and change them.

create function app_private.validate_user() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.first_name := app_private.trimmed(new.first_name);
  new.last_name := app_private.trimmed(new.last_name);
  if old.erased_at is not null and new.email = old.email then
    perform app_private.refuse_problems(app_private.problem('email', 'is that of a person who was erased'));
  end if;
  -- As for organizations, only values that change are checked.
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

create function app_private.introduce_user(email text, first_name text, last_name text) returns app_public.users
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  insert into app_public.users as u (email, first_name, last_name)
  values (introduce_user.email, introduce_user.first_name, introduce_user.last_name)
  -- For an application the update changes nothing; it is there to wait for the row and return it.
  on conflict (lower(email)) do update
    set first_name = case when app_private.address_is_proven() then excluded.first_name else u.first_name end,
      last_name = case when app_private.address_is_proven() then excluded.last_name else u.last_name end
  returning *;
end;
comment on function app_private.introduce_user is
  'The acting person, added with the given names if unknown. A person who is already known is renamed only with their own '
  'token or session: an application cannot rename them.';

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

create function app_private.full_name(person app_public.users) returns text
language sql stable
return nullif(concat_ws(' ', person.first_name, person.last_name), '');
comment on function app_private.full_name is 'What a person is called; null if nobody said.';

create function app_private.person_text(person app_public.users) returns text
language sql immutable
return app_private.fold(person.email || ' ' || coalesce(person.first_name, '') || ' ' || coalesce(person.last_name, ''));
comment on function app_private.person_text is
  'The text in which people are searched for. It sets no search_path, so that queries that call it use the index users_by_part.';

create view app_private.platform_powers with (security_invoker = true) as
select r.user_id, r.role, p.permission
from app_public.platform_roles as r
join app_public.platform_permissions as p on p.role = r.role;
comment on view app_private.platform_powers is 'Which permissions each person has on the platform, and by which role.';

create function app_private.has_platform_permission(email text, permission text) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from app_public.users as u
    join app_private.platform_powers as p on p.user_id = u.user_id
    where lower(u.email) = lower(has_platform_permission.email)
      and p.permission = has_platform_permission.permission);
end;
comment on function app_private.has_platform_permission is 'Whether one of a person''s platform roles includes a permission.';

create function app_private.own_permissions() returns text[]
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select array(
    select p.permission
    from app_public.users as u
    join app_private.platform_powers as p on p.user_id = u.user_id
    where lower(u.email) = lower(app_private.current_person())
    union
    -- Who manages members reviews the claims that are sent to them.
    select 'claims:review' where exists (select from app_private.managed_organizations(app_private.current_person()))
    order by 1);
end;
comment on function app_private.own_permissions is
  'The platform permissions of the person who is calling, with claims:review if they review any claims: the pages show links '
  'accordingly.';

create function app_private.require_platform_permission(email text, permission text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.require_own_identity(email);
  perform app_private.require_organization(null,
    'This API key is for certain organizations and cannot be used for anything that requires a permission on the platform.');
  if not app_private.has_platform_permission(email, permission) then
    perform app_private.refuse('permission_required',
      format('This requires the platform permission %s, which the acting user does not have.', permission));
  end if;
end
$$;
comment on function app_private.require_platform_permission is
  'Refuses with 403 permission_required unless one of the person''s platform roles includes the permission, and with 403 '
  'not_your_identity, key_not_for_person or key_not_for_organization if the caller may not use it in their name.';

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
    -- An erased person is removed in any case; begin_erasure checks before that.
    join app_public.users as u on u.user_id = before.user_id and u.erased_at is null
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
  -- A role that is changed into another, or handed over to another person, is recorded as one lost and one given.
  if tg_op <> 'INSERT' then
    insert into app_private.role_history (user_id, role, status, changed_by_email)
    values (old.user_id, old.role::text, 'revoked', app_private.current_actor());
  end if;
  if tg_op <> 'DELETE' then
    insert into app_private.role_history (user_id, role, status, changed_by_email)
    values (new.user_id, new.role::text, 'active', app_private.current_actor());
  end if;
  return null;
end
$$;
comment on function app_private.record_platform_role is
  'Row trigger: notes who was given or lost a platform role, by whom and when.';
create trigger record_change after insert or delete on app_public.platform_roles
  for each row execute function app_private.record_platform_role();
create trigger record_update after update on app_public.platform_roles
  for each row when (old.role is distinct from new.role or old.user_id is distinct from new.user_id)
  execute function app_private.record_platform_role();

create function app_private.platform_user(person app_public.users) returns app_public.platform_user
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select (
    person.user_id, person.email, person.first_name, person.last_name,
    array(select r.role from app_public.platform_roles as r where r.user_id = person.user_id order by r.role),
    array(
      select app_private.member(m.org_uri, m.user_id) from app_private.members as m
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
  -- Without an else branch: an action that is not handled here raises an error and changes nothing.
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
  'Grants or revokes a platform role, if that changes anything; the caller has checked that this is allowed.';

create function app_public.set_platform_role(
  user_email text, role app_public.platform_role, admin_email text,
  action app_public.platform_role_action default 'grant'
) returns app_public.platform_user
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(
    app_private.email_problems('userEmail', user_email)
    || app_private.required_problems('role', role::text)
    || app_private.email_problems('adminEmail', admin_email));
  perform app_private.name_actor(admin_email);
  perform app_private.require_read_committed();
  -- The lock comes first: if two administrators revoke each other's role, the second has lost the permission by their turn.
  perform app_private.lock_platform_roles();
  perform app_private.require_platform_permission(admin_email, 'roles:assign');
  return app_private.change_platform_role(app_private.known_user(user_email), role, coalesce(action, 'grant'));
end
$$;
comment on function app_public.set_platform_role is
  E'@resultFieldName user\n@actor admin_email\nGrants a person a role on the platform, or revokes it. The person named by '
  'adminEmail needs the platform permission roles:assign. Errors: 400 validation_failed, 403 not_your_identity, '
  'key_not_for_person, key_not_for_organization, permission_required, insufficient_scope, 404 user_not_found, 409 last_admin.';

create function app_public.platform_users(
  admin_email text, "limit" integer default 50, "offset" integer default 0, q text default null
) returns app_public.platform_user_page
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  parts constant text[] := app_private.parts_of(q);
  found uuid[];
  page app_public.platform_user_page;
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(
    app_private.email_problems('adminEmail', admin_email) || app_private.page_problems("limit", "offset"));
  perform app_private.name_actor(admin_email);
  perform app_private.require_platform_permission(admin_email, 'users:read');
  if app_private.trimmed(q) is null then
    select count(*) into page.total from app_public.users;
    -- Details are looked up only for the people on the page.
    page.users := array(
      select app_private.platform_user(u) from app_public.users as u
      where u.user_id in (
        select passed.user_id from app_public.users as passed order by passed.created_at desc, passed.user_id desc
        limit coalesce("limit", 50) offset coalesce("offset", 0))
      order by u.created_at desc, u.user_id desc);
  else
    found := array(
      select u.user_id from app_public.users as u
      where app_private.person_text(u) like parts[1] and app_private.person_text(u) like all (parts)
      order by u.created_at desc, u.user_id desc);
    page.total := cardinality(found);
    page.users := array(
      select app_private.platform_user(u)
      from unnest(found) with ordinality as f (user_id, place) join app_public.users as u on u.user_id = f.user_id
      where f.place > coalesce("offset", 0) and f.place <= coalesce("offset", 0)::bigint + coalesce("limit", 50)
      order by f.place);
  end if;
  return page;
end
$$;
comment on function app_public.platform_users is
  E'@actor admin_email\nAll people whom the service knows, newest first; with q, those whose names and address contain each '
  'of its words, also within a longer word, ignoring case and accents. The person named by adminEmail needs the platform '
  'permission users:read. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, '
  'key_not_for_organization, permission_required, insufficient_scope.';

create function app_public.check_user(email text default null) returns app_public.user_check
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  bounds constant record := app_private.key_bounds();
  person app_public.users;
  memberships app_public.belonging[];
  newest app_public.belonging;
begin
  -- A person who calls and names nobody asks about themself.
  email := app_private.acting_email(email);
  perform app_private.refuse_problems(app_private.email_problems('email', email));
  -- An application may ask about anybody within the bounds of its key, a person only about themself.
  if bounds.persons is not null then
    perform app_private.require_own_identity(email);
  end if;
  if lower(email) <> lower(app_private.current_person()) then
    perform app_private.require_platform_permission(app_private.current_person(), 'users:read');
  end if;
  select * into person from app_public.users as u
  where lower(u.email) = lower(check_user.email)
    -- An undecided claim is not enough: an application can submit one for anybody, and would learn their name.
    and (bounds.organizations is null or exists (
      select from app_private.standings as s
      where s.user_id = u.user_id and s.acting is not null
        and app_private.is_within(bounds.organizations, s.org_uri)));
  memberships := array(
    select (o.org_uri, o.name, o.type, s.acting)::app_public.belonging
    from (
      select distinct on (every.org_uri) every.* from app_private.standings as every
      where every.user_id = person.user_id and every.acting is not null
        and app_private.is_within(bounds.organizations, every.org_uri)
      order by every.org_uri, every.since desc) as s
    join app_public.organizations as o on o.org_uri = s.org_uri
    order by s.since desc, o.org_uri);
  newest := memberships[1];
  return (person.user_id is not null, person.first_name, person.last_name,
    newest.org_uri, newest.org_name, newest.org_type, memberships)::app_public.user_check;
end
$$;
comment on function app_public.check_user is
  E'Whether the service knows a person, and the organizations for which they act, most recent first; orgUri, orgName and '
  'orgType are those of the first. email is required with an API key; with a person''s token it defaults to that person. A '
  'person needs the platform permission users:read to ask about anybody else, and a key that has bounds can ask only within '
  'them. Errors: 400 validation_failed, 403 key_not_for_person, permission_required, insufficient_scope.';
