-- Who may act for an organization, and in which role: by an active membership, or without any membership by an approved claim.

create view app_private.claim_standings with (security_invoker = true) as
select c.org_uri, c.user_id, 'org_contributor'::app_public.organization_role as role, c.created_at, c.updated_at
from app_public.organization_claims as c
where c.status = 'approved' and not exists (
  select from app_public.memberships as m where m.org_uri = c.org_uri and m.user_id = c.user_id);
comment on view app_private.claim_standings is
  'Approved claims that stand in for a membership, because there is none, and the role for which they do. A person with '
  'several such claims to one organization has several rows with the same role.';

create view app_private.standings with (security_invoker = true) as
select m.org_uri, m.user_id,
  case when m.status = 'active' then m.role end as acting,
  case when m.status = 'active' then format('An active membership acts in its role, %s.', m.role)
    else format('The membership (%s) is %s: it acts in no role, and no claim stands in for it.', m.role, m.status)
  end as reason,
  m.created_at as since
from app_public.memberships as m
union all
select s.org_uri, s.user_id, s.role, format('Without any membership, an approved claim stands in for %s.', s.role),
  s.created_at
from app_private.claim_standings as s;
comment on view app_private.standings is
  'The role in which each person acts for each organization (null: none), and why. A person with several approved claims has '
  'several rows with the same role.';

create view app_private.members with (security_invoker = true) as
select m.org_uri, m.user_id, m.role, m.status, m.created_at, m.updated_at
from app_public.memberships as m
union all
(select distinct on (s.org_uri, s.user_id) s.org_uri, s.user_id, s.role, 'active'::app_public.membership_status,
  s.created_at, s.updated_at
from app_private.claim_standings as s
order by s.org_uri, s.user_id, s.created_at desc);
comment on view app_private.members is
  'Who belongs to which organization, once each: by a membership, whatever its status, or by an approved claim in place of '
  'one, which counts as active since the latest such claim. Lists and counts of members read this.';

create function app_private.ended_membership(org_uri text, email text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- An approved claim makes no difference then.
  select format('The acting user''s membership of this organization is %s.', m.status)
  from app_public.users as u join app_public.memberships as m on m.user_id = u.user_id
  where lower(u.email) = lower(ended_membership.email) and m.org_uri = ended_membership.org_uri and m.status <> 'active';
end;
comment on function app_private.ended_membership is
  'The message for a person who acts for an organization while their membership is suspended or revoked; null if it is '
  'neither.';

-- Every write calls this through authorize, which sets the rights and the search_path; setting them again here would
-- cost time.
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
  'The role in which the person with this e-mail address (in any case) acts for an organization, and the error with which '
  'they are refused a permission there, null if they have it.';

create function app_private.authorize(org_uri text, email text, permission text) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  decision constant record := app_private.authority(org_uri, email, permission);
begin
  -- A permission is always asked for the acting person, so this also catches a function that forgot to call name_actor.
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

-- Users and memberships have no such policy: only the rules read them.
create policy read on app_public.organization_roles for select to api_read using (true);
create policy read on app_public.organization_permissions for select to api_read using (true);
create policy read on app_public.platform_permissions for select to api_read using (true);
