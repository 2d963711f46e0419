-- Who may act for an organization.

create view app_private.standings with (security_invoker = true) as
select m.org_uri, m.user_id,
  case when m.status = 'active' then m.role end as acting,
  case when m.status = 'active' then format('An active membership acts in its role, %s.', m.role)
    else format('The membership (%s) is %s: it acts in no role, and no claim stands in for it.', m.role, m.status)
  end as reason,
  m.created_at as since
from app_public.memberships as m
union all
select c.org_uri, c.user_id, 'org_contributor', 'Without any membership, an approved claim stands in for org_contributor.',
  c.created_at
from app_public.organization_claims as c
where c.status = 'approved' and not exists (
  select from app_public.memberships as m where m.org_uri = c.org_uri and m.user_id = c.user_id);
comment on view app_private.standings is
  'In which role each person acts for which organization (null: in none), and why. Several approved claims are several '
  'rows that say the same.';

create function app_private.ended_membership(org_uri text, email text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- Whether there is an approved claim as well makes no difference then.
  select format('The acting user''s membership of this organization is %s.', m.status)
  from app_public.users as u join app_public.memberships as m on m.user_id = u.user_id
  where lower(u.email) = lower(ended_membership.email) and m.org_uri = ended_membership.org_uri and m.status <> 'active';
end;
comment on function app_private.ended_membership is
  'What is said to somebody whose membership is suspended or revoked, when they act for the organization; null if theirs is neither.';

-- Each write asks this by way of authorize, so rights and search_path are left to that: setting them once more costs time.
create function app_private.authority(
  org_uri text, email text, permission text,
  out acting app_public.organization_role, out refusal text, out message text
)
language plpgsql stable
as $$
begin
  select s.acting into acting
  from app_public.users as u
  join app_private.standings as s on s.user_id = u.user_id and s.org_uri = authority.org_uri
  where lower(u.email) = lower(authority.email)
  limit 1;
  if acting is null then
    refusal := 'membership_required';
    message := app_private.ended_membership(org_uri, email);
  elsif not exists (
    select from app_public.organization_permissions as p
    where p.role = acting and p.permission = authority.permission
  ) then
    refusal := 'insufficient_role';
    message := format('In this organization the role %s does not include the permission %s.', acting, permission);
  end if;
end
$$;
comment on function app_private.authority is
  'In which role the person with this e-mail address (in any case) acts for an organization, and with which error they are '
  'refused a permission there; null if they have it.';

create function app_private.authorize(org_uri text, email text, permission text) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  decision constant record := app_private.authority(org_uri, email, permission);
begin
  -- Who asks for a permission asks for whoever acts, so what forgets name_actor is refused here.
  perform app_private.require_own_identity(email);
  perform app_private.require_organization(org_uri);
  if decision.refusal is not null then
    perform app_private.refuse(decision.refusal, decision.message);
  end if;
  return true;
end
$$;
comment on function app_private.authorize is
  'True when the person may do this for the organization; otherwise refuses with 403 not_your_identity, '
  'key_not_for_person, key_not_for_organization, membership_required or insufficient_role.';

-- Only the rules read people and memberships.
create policy read on app_public.organization_roles for select to api_read using (true);
create policy read on app_public.organization_permissions for select to api_read using (true);
create policy read on app_public.platform_permissions for select to api_read using (true);
