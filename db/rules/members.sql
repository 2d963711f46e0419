-- Members of organizations: who manages them, and how every organization keeps at least one manager.

create view app_private.organization_managers with (security_invoker = true) as
select m.org_uri, m.user_id
from app_public.memberships as m
-- No join, so that a lock on rows of this view locks memberships only.
where m.status = 'active'
  and m.role in (select p.role from app_public.organization_permissions as p where p.permission = 'members:manage');
comment on view app_private.organization_managers is
  'Who may manage the members of which organization: active members whose role includes members:manage.';

create function app_private.manages_members(role app_public.organization_role) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from app_public.organization_permissions as p
    where p.role = manages_members.role and p.permission = 'members:manage');
end;
comment on function app_private.manages_members is 'Whether a role in an organization includes the management of its members.';

create function app_private.is_managed(org_uri text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select exists (select from app_private.organization_managers as m where m.org_uri = is_managed.org_uri);
end;
comment on function app_private.is_managed is 'Whether somebody may manage the members of an organization.';

create function app_private.managed_organizations(email text) returns setof text
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select m.org_uri
  from app_public.users as u
  join app_private.organization_managers as m on m.user_id = u.user_id
  where lower(u.email) = lower(managed_organizations.email);
end;
comment on function app_private.managed_organizations is 'URIs of the organizations whose members a person may manage.';

create function app_private.admit(org_uri text, user_id uuid, role app_public.organization_role)
returns app_public.organization_role
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- Somebody who has become a member some other way in the meantime keeps that membership unchanged.
  insert into app_public.memberships as m (org_uri, user_id, role)
  values (admit.org_uri, admit.user_id, admit.role)
  on conflict (org_uri, user_id) do update set
    role = case when m.status = 'revoked' then excluded.role else m.role end,
    status = case when m.status = 'revoked' then 'active' else m.status end
  returning m.role;
end;
comment on function app_private.admit is
  'Makes a person a member of an organization, for the first time or again. Returns the role that the person then has: that of an existing '
  'membership, which stays as it is, or the given one.';

create function app_private.enter_by_claim(email text, org_uri text default null) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  insert into app_public.memberships (org_uri, user_id, role, created_at)
  select s.org_uri, s.user_id, s.role, s.created_at
  from app_public.users as u
  join app_private.claim_standings as s on s.user_id = u.user_id
  where lower(u.email) = lower(enter_by_claim.email) and s.org_uri = coalesce(enter_by_claim.org_uri, s.org_uri)
  -- Of several claims the first row is kept.
  order by s.created_at desc
  on conflict do nothing;
end;
comment on function app_private.enter_by_claim is
  'Gives a person who belongs to an organization (null: each one) by an approved claim alone the membership for which it stood, so '
  'that it can be changed or ended like any other: as long as there is none, the claim counts. The organization must be locked.';

create function app_private.keep_a_manager() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  bereft text;
begin
  for bereft in
    select distinct before.org_uri
    from before
    join app_public.organization_permissions as p on p.role = before.role and p.permission = 'members:manage'
    -- An erased person is removed in any case; begin_erasure checks before that.
    join app_public.users as u on u.user_id = before.user_id and u.erased_at is null
    where before.status = 'active'
    order by 1
  loop
    -- Two managers who step down at the same time wait for each other here. Locking those who remain makes a
    -- transaction with an old snapshot fail rather than rely on it.
    perform from app_public.organizations as o where o.org_uri = bereft for no key update;
    perform from app_private.organization_managers as m where m.org_uri = bereft limit 1 for share;
    if not found then
      perform app_private.refuse('last_admin');
    end if;
  end loop;
  return null;
end
$$;
comment on function app_private.keep_a_manager is
  'Statement trigger: refuses with 409 last_admin any change that leaves an organization without an active member who '
  'may manage its members.';
create trigger keep_a_manager_updated after update on app_public.memberships
  referencing old table as before for each statement execute function app_private.keep_a_manager();
create trigger keep_a_manager_deleted after delete on app_public.memberships
  referencing old table as before for each statement execute function app_private.keep_a_manager();
create trigger touch before update on app_public.memberships
  for each row when (old.* is distinct from new.*) execute function app_private.touch();

create function app_private.record_membership() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A membership that is handed over to another person is recorded as lost by one and given to the other.
  if tg_op <> 'INSERT' and new.user_id is distinct from old.user_id then
    insert into app_private.role_history (user_id, org_uri, role, status, changed_by_email)
    values (old.user_id, old.org_uri, old.role::text, 'revoked', app_private.current_actor());
  end if;
  if tg_op <> 'DELETE' then
    insert into app_private.role_history (user_id, org_uri, role, status, changed_by_email)
    values (new.user_id, new.org_uri, new.role::text, new.status, app_private.current_actor());
  end if;
  return null;
end
$$;
comment on function app_private.record_membership is 'Row trigger: notes each change of a membership, with who made it and when.';
create trigger record_change after insert or delete on app_public.memberships
  for each row execute function app_private.record_membership();
create trigger record_update after update on app_public.memberships
  for each row when ((old.user_id, old.role, old.status) is distinct from (new.user_id, new.role, new.status))
  execute function app_private.record_membership();

create function app_private.member(org_uri text, user_id uuid) returns app_public.organization_member
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select (o.org_uri, o.name, u.email, u.first_name, u.last_name, m.role, m.status, m.created_at, m.updated_at
    )::app_public.organization_member
  from app_private.members as m
  join app_public.organizations as o on o.org_uri = m.org_uri
  join app_public.users as u on u.user_id = m.user_id
  where m.org_uri = member.org_uri and m.user_id = member.user_id;
end;
comment on function app_private.member is 'A member as callers see them.';

create function app_private.members_of(org_uri text) returns setof app_public.organization_member
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from app_public.organizations as o where o.org_uri = members_of.org_uri) then
    perform app_private.refuse('organization_not_found');
  end if;
  return query
    select found.*
    from app_private.members as m, lateral app_private.member(m.org_uri, m.user_id) as found
    where m.org_uri = members_of.org_uri
    order by lower(found.user_email);
end
$$;
comment on function app_private.members_of is
  'The members of an organization, sorted by e-mail address; the caller has checked that they may be seen. '
  'Refuses with 404 organization_not_found.';

create function app_private.change_member(
  org_uri text, user_email text, role app_public.organization_role, status app_public.membership_status
) returns app_public.organization_member
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  changed app_public.memberships;
begin
  perform app_private.lock_organization(org_uri);
  perform app_private.enter_by_claim(user_email, org_uri);
  update app_public.memberships as m
  set role = coalesce(change_member.role, m.role), status = coalesce(change_member.status, m.status)
  from app_public.users as u
  where u.user_id = m.user_id and lower(u.email) = lower(user_email) and m.org_uri = change_member.org_uri
  returning m.* into changed;
  if not found then
    perform app_private.refuse('member_not_found');
  end if;
  return app_private.member(changed.org_uri, changed.user_id);
end
$$;
comment on function app_private.change_member is
  'Sets a member''s role or status, leaving it unchanged where null; the caller has checked that this is allowed. A member by an '
  'approved claim gets a membership by it. '
  'Refuses with 404 member_not_found.';

create function app_private.add_member(
  org_uri text, email text, role app_public.organization_role, first_name text default null, last_name text default null
) returns app_public.organization_member
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  person app_public.users;
begin
  if app_private.lock_organization(org_uri) is null then
    perform app_private.refuse('organization_not_found');
  end if;
  person := app_private.remember_user(email, first_name, last_name);
  perform app_private.enter_by_claim(email, org_uri);
  insert into app_public.memberships as m (org_uri, user_id, role)
  values (add_member.org_uri, person.user_id, add_member.role)
  on conflict on constraint memberships_pkey do update set role = excluded.role, status = 'active';
  return app_private.member(org_uri, person.user_id);
end
$$;
comment on function app_private.add_member is
  'Makes a person an active member in a role, whatever they were before, for the operator or an appointment; the caller has '
  'checked that this is allowed. Refuses with 404 organization_not_found.';

create function app_public.set_member_role(
  org_uri text, user_email text, role app_public.organization_role, admin_email text
) returns app_public.organization_member
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(
    app_private.http_uri_problems('orgUri', org_uri)
    || app_private.email_problems('userEmail', user_email)
    || app_private.required_problems('role', role::text)
    || app_private.email_problems('adminEmail', admin_email));
  perform app_private.name_actor(admin_email);
  -- The lock comes first: the permission may be lost while waiting for it.
  perform app_private.lock_organization(org_uri);
  perform app_private.authorize(org_uri, admin_email, 'members:manage');
  return app_private.change_member(org_uri, user_email, role, null);
end
$$;
comment on function app_public.set_member_role is
  E'@resultFieldName member\n@actor admin_email\nGives a member of an organization a different role. The person named by adminEmail must be allowed to '
  'manage its members. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, insufficient_scope, '
  '404 member_not_found, 409 last_admin.';

create function app_public.set_member_status(
  org_uri text, user_email text, status app_public.membership_status, admin_email text
) returns app_public.organization_member
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(
    app_private.http_uri_problems('orgUri', org_uri)
    || app_private.email_problems('userEmail', user_email)
    || app_private.required_problems('status', status::text)
    || app_private.email_problems('adminEmail', admin_email));
  perform app_private.name_actor(admin_email);
  -- The lock comes first: the permission may be lost while waiting for it.
  perform app_private.lock_organization(org_uri);
  perform app_private.authorize(org_uri, admin_email, 'members:manage');
  return app_private.change_member(org_uri, user_email, null, status);
end
$$;
comment on function app_public.set_member_status is
  E'@resultFieldName member\n@actor admin_email\nSuspends a membership, revokes it, or makes it active again. The person named by adminEmail must be '
  'allowed to manage the organization''s members. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, '
  'insufficient_role, insufficient_scope, 404 member_not_found, 409 last_admin.';

create function app_public.organization_members(org_uri text, admin_email text)
returns setof app_public.organization_member
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(
    app_private.http_uri_problems('orgUri', org_uri) || app_private.email_problems('adminEmail', admin_email));
  perform app_private.name_actor(admin_email);
  perform app_private.authorize(org_uri, admin_email, 'members:read');
  -- Suspended and former members are shown only to those who manage members.
  return query select m.* from app_private.members_of(org_uri) as m
    where m.status = 'active' or m.org_uri in (select app_private.managed_organizations(admin_email));
end
$$;
comment on function app_public.organization_members is
  E'@actor admin_email\nThe members of an organization, sorted by e-mail address, for people who belong to it: the active '
  'ones, including those whom an approved claim alone makes members, and for those who may manage members also those who were '
  'suspended or have left. Errors: 400 validation_failed, 403 '
  'not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, '
  'insufficient_scope.';
