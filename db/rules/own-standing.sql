-- What people may see and do about their own claims and memberships: list and withdraw claims, leave an organization, and
-- see what they are and may do there, for its page (server/pages/organization).

create function app_private.own_claim(claim app_public.organization_claims) returns app_public.own_organization_claim
language sql stable
set search_path = pg_catalog, pg_temp
return (claim.claim_id, claim.org_uri, claim.org_name, claim.is_new_org, app_private.review_status(claim.status),
  claim.result_variant, claim.email_verified, claim.granted_role, claim.review_notes, claim.reviewed_at, claim.created_at
)::app_public.own_organization_claim;
comment on function app_private.own_claim is
  'A claim as the claimant sees it: without the reviewer, and with nothing about other people.';

create function app_public.own_organization_claims(user_email text, "limit" integer default 50, "offset" integer default 0)
returns app_public.own_organization_claim_page
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  bounds constant text[] := (app_private.key_bounds()).organizations;
  claimant uuid;
  page app_public.own_organization_claim_page;
begin
  user_email := app_private.acting_email(user_email);
  perform app_private.refuse_problems(
    app_private.email_problems('userEmail', user_email) || app_private.page_problems("limit", "offset"));
  perform app_private.name_actor(user_email);
  claimant := (select u.user_id from app_public.users as u where lower(u.email) = lower(user_email));
  select count(*) into page.total from app_public.organization_claims as c
  where c.user_id = claimant and app_private.is_within(bounds, c.org_uri);
  page.claims := array(
    select app_private.own_claim(c) from app_public.organization_claims as c
    where c.user_id = claimant and app_private.is_within(bounds, c.org_uri)
    order by c.created_at desc, c.claim_id desc
    limit coalesce("limit", 50) offset coalesce("offset", 0));
  return page;
end
$$;
comment on function app_public.own_organization_claims is
  E'@actor user_email\nThe organization claims that a person made, newest first, with the outcome of each. A key with bounds '
  'sees only the claims within them. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, '
  'insufficient_scope.';

create function app_public.withdraw_organization_claim(claim_id uuid, user_email text)
returns app_public.own_organization_claim
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  claim app_public.organization_claims;
begin
  user_email := app_private.acting_email(user_email);
  perform app_private.refuse_problems(
    app_private.required_problems('claimId', claim_id::text)
    || app_private.email_problems('userEmail', user_email));
  perform app_private.name_actor(user_email);
  -- As a review does, this locks first the claim, then its organization.
  select c.* into claim
  from app_public.organization_claims as c
  join app_public.users as u on u.user_id = c.user_id
  where c.claim_id = withdraw_organization_claim.claim_id and lower(u.email) = lower(user_email)
    and app_private.is_within((app_private.key_bounds()).organizations, c.org_uri)
  for no key update of c;
  -- Somebody else's claim, or one beyond the bounds of the key, counts as not found, so that nobody learns of it here.
  if not found then
    perform app_private.refuse('claim_not_found');
  elsif claim.status <> 'pending_review' then
    perform app_private.refuse('already_reviewed',
      format('This claim has already been %s.', app_private.review_status(claim.status)));
  end if;
  perform app_private.lock_organization(claim.org_uri);
  update app_public.organization_claims as c set status = 'withdrawn'
  where c.claim_id = claim.claim_id returning * into claim;
  perform app_private.settle_proposal(claim.org_uri);
  return app_private.own_claim(claim);
end
$$;
comment on function app_public.withdraw_organization_claim is
  E'@resultFieldName claim\n@actor user_email\nWithdraws a person''s own claim while it waits for review. If it was the last '
  'claim to a new organization, the proposal of that organization ends too. Errors: 400 validation_failed, 403 '
  'not_your_identity, key_not_for_person, insufficient_scope, 404 claim_not_found, 409 already_reviewed.';

create function app_public.leave_organization(org_uri text, user_email text) returns app_public.organization_member
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  leaver uuid;
begin
  user_email := app_private.acting_email(user_email);
  perform app_private.refuse_problems(
    app_private.http_uri_problems('orgUri', org_uri) || app_private.email_problems('userEmail', user_email));
  perform app_private.name_actor(user_email);
  perform app_private.require_organization(org_uri);
  perform app_private.lock_organization(org_uri);
  perform app_private.enter_by_claim(user_email, org_uri);
  -- A suspended member stays suspended: once they had left, they could claim again.
  update app_public.memberships as m set status = 'revoked'
  from app_public.users as u
  where u.user_id = m.user_id and lower(u.email) = lower(user_email) and m.org_uri = leave_organization.org_uri
    and m.status = 'active'
  returning m.user_id into leaver;
  if not found then
    perform app_private.refuse('membership_required', app_private.ended_membership(org_uri, user_email));
  end if;
  return app_private.member(org_uri, leaver);
end
$$;
comment on function app_public.leave_organization is
  E'@resultFieldName member\n@actor user_email\nEnds a person''s own membership of an organization, or the standing that an '
  'approved claim gives them; they may claim again. Errors: 400 validation_failed, 403 not_your_identity, '
  'key_not_for_person, key_not_for_organization, membership_required, insufficient_scope, 409 last_admin.';

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
    'appoints', app_private.has_platform_permission(asked.person, 'roles:assign')
      and app_private.appointment_refusal(own_standing_in.org_uri) is null,
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
