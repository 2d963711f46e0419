-- Organizations that nobody manages: how reviewers are warned of one, and who may appoint an administrator for it.

create function app_private.approval_warnings(claim app_public.organization_claims)
returns app_public.review_warning[]
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(array_agg(w.warning order by w.place), '{}')
  from (
    select 1 as place, (
      'no_administrator',
      format('Nobody manages the members of %s. An administrator of the platform can appoint the claimant or somebody '
        'else (appointAdministrator); until then claims to it go to the platform.', claim.org_name)
    )::app_public.review_warning as warning
    where claim.status = 'approved' and not app_private.is_managed(claim.org_uri)
    union all
    select 2, (
      'already_member',
      format('The claimant was already a member of %s with the role %s%s. The approval left that as it was.', claim.org_name,
        claim.granted_role, case when claim.kept_status = 'active' then '' else format(', %s', claim.kept_status) end)
    )::app_public.review_warning
    where claim.status = 'approved'
      and (claim.kept_status <> 'active' or claim.kept_status = 'active' and claim.granted_role <> claim.asked_role)
  ) as w;
end;
comment on function app_private.approval_warnings is
  'Warnings for the reviewer who approves a claim: no_administrator if nobody may manage the organization''s members '
  'afterwards; already_member if the claimant is suspended or has another role than asked, because a membership that already exists '
  'stays as it is.';

create function app_private.appointment_refusal(org_uri text, out refusal text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
    select from app_public.organizations as o where o.org_uri = appointment_refusal.org_uri and o.status = 'active')
  then
    refusal := 'organization_not_found';
  elsif app_private.is_managed(org_uri) then
    refusal := 'has_administrator';
  end if;
end
$$;
comment on function app_private.appointment_refusal is
  'The error with which the appointment of an administrator for an organization is refused, whoever appoints whom; null if it '
  'is possible.';

create function app_public.appoint_administrator(
  org_uri text, user_email text, admin_email text, role app_public.organization_role default 'org_admin'
) returns app_public.organization_member
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  refusal text;
begin
  admin_email := app_private.acting_email(admin_email);
  role := coalesce(role, 'org_admin');
  perform app_private.refuse_problems(
    app_private.http_uri_problems('orgUri', org_uri)
    || app_private.email_problems('userEmail', user_email)
    || case when app_private.manages_members(role) then '[]'
         else app_private.problem('role', 'must be a role that includes members:manage') end
    || app_private.email_problems('adminEmail', admin_email));
  perform app_private.name_actor(admin_email);
  perform app_private.lock_organization(org_uri);
  perform app_private.require_platform_permission(admin_email, 'roles:assign');
  if lower(user_email) = lower(admin_email) then
    perform app_private.refuse('permission_required',
      'You cannot appoint yourself; another administrator of the platform must.');
  end if;
  refusal := app_private.appointment_refusal(org_uri);
  if refusal is not null then
    perform app_private.refuse(refusal);
  end if;
  return app_private.add_member(org_uri, (app_private.known_user(user_email)).email, role);
end
$$;
comment on function app_public.appoint_administrator is
  E'@resultFieldName member\n@actor admin_email\nMakes a person whom the service knows the administrator of an organization that nobody manages. The '
  'person named by adminEmail needs the platform permission roles:assign, and cannot appoint themself. Errors: '
  '400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, permission_required, insufficient_scope, 404 organization_not_found, '
  'user_not_found, 409 has_administrator.';
