-- What the page of an organization calls besides the functions that REST and GraphQL use (server/pages/organization):
-- what its visitor may do there, and the claims that they may review.

create function app_private.own_standing_in(org_uri text) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    'role', s.acting,
    'membership', (
      select m.status from app_public.memberships as m
      where m.org_uri = own_standing_in.org_uri and m.user_id = person.user_id),
    'permissions', array(
      select p.permission from app_public.organization_permissions as p where p.role = s.acting order by 1),
    'waitingClaim', (
      select jsonb_build_object('claimId', c.claim_id, 'since', c.created_at)
      from app_public.organization_claims as c
      where c.org_uri = own_standing_in.org_uri and c.user_id = person.user_id
        and app_private.review_status(c.status) = 'pending'),
    'firstName', person.first_name, 'lastName', person.last_name,
    -- The conditions of appoint_administrator.
    'appoints', app_private.has_platform_permission(asked.person, 'roles:assign')
      and not app_private.is_managed(own_standing_in.org_uri),
    'reviews', app_private.has_platform_permission(asked.person, 'claims:review')
      or own_standing_in.org_uri in (select app_private.managed_organizations(asked.person)))
  from (select app_private.current_person() as person) as asked
  left join app_public.users as person on lower(person.email) = lower(asked.person)
  left join lateral (
    select every.acting from app_private.standings as every
    where every.user_id = person.user_id and every.org_uri = own_standing_in.org_uri and every.acting is not null limit 1
  ) as s on true;
end;
comment on function app_private.own_standing_in is
  'The role, permissions and waiting claim of the person who is calling in an organization: its page shows links accordingly.';

create function app_private.claims_to_organization(org_uri text, "limit" integer, "offset" integer)
returns app_public.organization_claim_page
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  reviewer constant text := app_private.current_person();
  sees_all constant boolean := app_private.has_platform_permission(reviewer, 'claims:review');
  page app_public.organization_claim_page;
begin
  perform app_private.require_own_identity(reviewer);
  -- As in organization_claims_for_review.
  if not sees_all and org_uri <> all (app_private.organizations_reviewed(reviewer, sees_all)) then
    perform app_private.refuse('permission_required');
  end if;
  select count(*) into page.total from app_private.claims_reviewed(sees_all, array[org_uri], null) as c
  where c.org_uri = claims_to_organization.org_uri;
  page.claims := array(
    select app_private.claim_item(shown)
    from (
      -- Details are looked up only for the claims on the page.
      select c.claim_id from app_private.claims_reviewed(sees_all, array[org_uri], null) as c
      where c.org_uri = claims_to_organization.org_uri
      order by app_private.review_status(c.status) <> 'pending', c.created_at desc, c.claim_id desc
      limit "limit" offset "offset") as found
    join app_public.organization_claims as shown on shown.claim_id = found.claim_id
    order by app_private.review_status(shown.status) <> 'pending', shown.created_at desc, shown.claim_id desc);
  return page;
end
$$;
comment on function app_private.claims_to_organization is
  'Claims to an organization, for a person who may review them and is calling: waiting ones first, then newest first. '
  'Errors: 403 permission_required.';
