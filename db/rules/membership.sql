-- Who may act for an organization.

create function app_private.acting_role(org_uri text, email text) returns app_public.organization_role
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select case
    -- An active membership speaks for itself.
    when m.status = 'active' then m.role
    -- A suspended or revoked one never falls back to a claim.
    when m.status is not null then null
    -- Without any membership row, an approved organization claim counts as the membership of a contributor.
    when exists (
      select from app_public.organization_claims as c
      where c.org_uri = acting_role.org_uri and c.user_id = u.user_id and c.status = 'approved'
    ) then 'org_contributor'
  end
  from app_public.users as u
  left join app_public.memberships as m on m.user_id = u.user_id and m.org_uri = acting_role.org_uri
  where lower(u.email) = lower(acting_role.email);
end;
comment on function app_private.acting_role is
  'The role in which the person with this e-mail address (in any case) acts for an organization; null if in none.';

create function app_private.authorize(org_uri text, email text, permission text) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  acting app_public.organization_role := app_private.acting_role(org_uri, email);
begin
  if acting is null then
    perform app_private.refuse('membership_required');
  elsif not exists (
    select from app_public.organization_permissions as p
    where p.role = acting and p.permission = authorize.permission
  ) then
    perform app_private.refuse('insufficient_role',
      format('In this organization the role %s does not include the permission %s.', acting, permission));
  end if;
  return true;
end
$$;
comment on function app_private.authorize is
  'True when the person may do this for the organization; otherwise refuses with 403 membership_required or insufficient_role.';

-- Only the rules read people and memberships.
create policy read on app_public.organization_roles for select to api_read using (true);
create policy read on app_public.organization_permissions for select to api_read using (true);
create policy read on app_public.platform_permissions for select to api_read using (true);
