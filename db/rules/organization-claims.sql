-- Organization claims, by which people say that they belong to an organization: who may submit one, which ones are approved
-- at once, and who reviews the others.
-- Submitted → (auto-approval check) → Approved | Pending Review → Reviewed → Approved | Rejected, or → Withdrawn, or, when
-- only the proof of the address was missing and has arrived (address-proofs.sql), → Approved.

-- The lifecycle itself.

create function app_private.guard_claim_transition() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  allowed constant text[] := array[
    ' → submitted',
    'submitted → approved', 'submitted → pending_review',
    'pending_review → reviewed', 'pending_review → withdrawn',
    'reviewed → approved', 'reviewed → rejected'];
  step text := format('%s → %s', case tg_op when 'UPDATE' then old.status end, new.status);
begin
  if tg_op = 'UPDATE' and old.status in ('approved', 'rejected', 'withdrawn') then
    perform app_private.refuse('already_reviewed');
  elsif step <> all (allowed)
    -- Unless it is the auto-approval check, repeated because the proof that was missing has arrived.
    and not (step = 'pending_review → approved' and old.awaits_proof and new.email_verified) then
    raise exception using errcode = 'check_violation', message = format('an organization claim cannot go %s', step);
  end if;
  return new;
end
$$;
comment on function app_private.guard_claim_transition is
  'Row trigger: lets a claim begin only as submitted and move only along the lifecycle; a decision is final.';
create trigger guard_insert before insert on app_public.organization_claims
  for each row execute function app_private.guard_claim_transition();
create trigger guard_update before update on app_public.organization_claims
  for each row when (old.status is distinct from new.status) execute function app_private.guard_claim_transition();
create trigger touch before update on app_public.organization_claims
  for each row when (old.* is distinct from new.*) execute function app_private.touch();

create function app_private.record_claim_step() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into app_public.organization_claim_history (claim_id, from_status, to_status, changed_by_email)
  values (new.claim_id, case tg_op when 'UPDATE' then old.status end, new.status, app_private.current_actor());
  return null;
end
$$;
comment on function app_private.record_claim_step is 'Row trigger: notes each step of a claim, with who took it and when.';
create trigger record_insert after insert on app_public.organization_claims
  for each row execute function app_private.record_claim_step();
create trigger record_update after update on app_public.organization_claims
  for each row when (old.status is distinct from new.status) execute function app_private.record_claim_step();

create function app_private.review_status(status app_public.organization_claim_status)
returns app_public.claim_review_status
language sql immutable
return case
  when status in ('submitted', 'pending_review', 'reviewed') then 'pending'::app_public.claim_review_status
  -- Decided statuses have the same names for callers.
  else status::text::app_public.claim_review_status
end;
comment on function app_private.review_status is
  'A claim''s status as callers see it: pending until it is decided. A status that is in neither list is an error.';

-- Submission.

insert into app_private.settings as s (name, value, description)
values ('auto_approval_needs_verified_email', 'false',
        'Whether only claimants who have proven their address are approved without a review; an application''s word does not prove '
        'an address.')
on conflict (name) do update set description = excluded.description where s.description <> excluded.description;

create function app_public.claim_organization(
  user_email text, first_name text, last_name text, roles text[], org_name text, is_new_org boolean,
  org_uri text default null, org_domain text default null,
  new_org_name text default null, new_org_type text default null, new_org_website text default null
) returns app_public.organization_claim_result
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  claimant app_public.users;
  organization app_public.organizations;
  claim app_public.organization_claims;
begin
  user_email := app_private.acting_email(user_email);
  org_uri := app_private.trimmed(org_uri);
  new_org_name := coalesce(app_private.trimmed(new_org_name), app_private.trimmed(org_name));
  new_org_website := app_private.trimmed(new_org_website);
  perform app_private.refuse_problems(
    app_private.email_problems('userEmail', user_email)
    || app_private.name_problems('firstName', app_private.trimmed(first_name))
    || app_private.name_problems('lastName', app_private.trimmed(last_name))
    || app_private.list_problems('roles', roles, required => false)
    || app_private.code_problems('roles', roles)
    || app_private.name_problems('orgName', app_private.trimmed(org_name))
    || app_private.required_problems('isNewOrg', is_new_org::text)
    || case
         when is_new_org and org_uri is not null
           then app_private.problem('orgUri', 'must not be given for a new organization')
         when not is_new_org then app_private.http_uri_problems('orgUri', org_uri)
         else '[]'
       end
    || app_private.domain_problems('orgDomain', org_domain)
    || app_private.name_problems('newOrgName', new_org_name, required => false)
    || app_private.name_problems('newOrgType', app_private.trimmed(new_org_type), required => false)
    || case when new_org_website is null then '[]'
         else app_private.http_uri_problems('newOrgWebsite', new_org_website) end);
  perform app_private.name_actor(user_email);
  perform app_private.require_organization(org_uri);

  if app_private.current_key() is not null then
    perform app_private.use_up('claims:key:' || app_private.current_key(), 'claims_per_key_per_day',
      'Too many organization claims were submitted with this API key today.');
  end if;
  if not is_new_org then
    -- From here on, claims to the same organization are decided one after another. The organization is always locked
    -- before the person.
    organization := app_private.lock_organization(org_uri);
  end if;
  claimant := app_private.introduce_user(user_email, first_name, last_name);
  -- Limited, because each claim sends mail to administrators.
  perform app_private.use_up('claims:user:' || claimant.user_id, 'claims_per_person_per_day',
    'This person has submitted too many organization claims today.');
  if is_new_org then
    perform app_private.refuse_second_proposal(claimant.user_id, new_org_name);
    organization := app_private.propose_organization(new_org_name, new_org_type, new_org_website, org_domain);
  else
    if organization.org_uri is null or organization.status = 'rejected' then
      perform app_private.refuse('organization_not_found');
    end if;
    perform app_private.refuse_second_claim(claimant.user_id, organization.org_uri);
  end if;

  insert into app_public.organization_claims
    (user_id, org_uri, org_name, is_new_org, new_org_type, new_org_website, stated_roles, email_domain, org_domain,
     domain_match, org_domain_stated, email_verified)
  values
    (claimant.user_id, organization.org_uri, organization.name, is_new_org,
     case when is_new_org then app_private.trimmed(new_org_type) end, case when is_new_org then new_org_website end,
     app_private.distinct_items(roles), app_private.email_domain(user_email), organization.domain,
     app_private.domains_match(app_private.email_domain(user_email), organization.domain),
     organization.status = 'proposed', app_private.address_is_proven())
  returning * into claim;
  claim := app_private.route_claim(claim);
  return (claim.claim_id, claim.result_variant, claim.org_uri, claim.org_name, app_private.review_status(claim.status));
end
$$;
comment on function app_public.claim_organization is
  E'@resultFieldName claim\n@actor user_email\nClaims that a person belongs to an organization, which may be a new one. The '
  'claim is approved at once, with the role org_admin, when their e-mail address is at the organization''s registered domain '
  'and the organization has never been claimed (with the setting auto_approval_needs_verified_email only when the address is '
  'proven, by their own token, session or confirmation); otherwise it waits for a review. Errors: 400 validation_failed, 403 '
  'not_your_identity, key_not_for_person, key_not_for_organization, insufficient_scope, 404 organization_not_found, 409 '
  'already_member, claim_pending, 429 rate_limited.';

create function app_private.refuse_second_claim(user_id uuid, org_uri text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  standing constant app_public.membership_status := (
    select m.status from app_public.memberships as m
    where m.org_uri = refuse_second_claim.org_uri and m.user_id = refuse_second_claim.user_id);
begin
  -- As in app_private.admit: only a revoked membership gives way to a new claim.
  if standing not in ('active', 'revoked') then
    perform app_private.refuse('already_member', format(
      'This person''s membership of the organization is %s; someone who manages its members can reactivate it.', standing));
  elsif standing = 'active' or standing is null and exists (
    select from app_public.organization_claims as c
    where c.org_uri = refuse_second_claim.org_uri and c.user_id = refuse_second_claim.user_id and c.status = 'approved'
  ) then
    perform app_private.refuse('already_member');
  elsif exists (
    select from app_public.organization_claims as c
    where c.org_uri = refuse_second_claim.org_uri and c.user_id = refuse_second_claim.user_id
      and app_private.review_status(c.status) = 'pending'
  ) then
    perform app_private.refuse('claim_pending');
  end if;
end
$$;
comment on function app_private.refuse_second_claim is
  'Refuses a claim to an organization that the person belongs to (409 already_member), or to which they have an undecided claim (409 claim_pending). '
  'A former member may claim again.';

create function app_private.refuse_second_proposal(user_id uuid, name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from app_public.organization_claims as c
    where c.user_id = refuse_second_proposal.user_id and c.is_new_org and lower(c.org_name) = lower(name)
      and app_private.review_status(c.status) = 'pending'
  ) then
    perform app_private.refuse('claim_pending',
      'This person has already proposed an organization with this name; it is waiting for review.');
  end if;
end
$$;
comment on function app_private.refuse_second_proposal is
  'Refuses with 409 claim_pending a second proposal of the same new organization by one person.';

create function app_private.route_claim(claim app_public.organization_claims) returns app_public.organization_claims
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  has_manager constant boolean := app_private.is_managed(claim.org_uri);
  -- Withdrawn claims do not count.
  is_first constant boolean := not exists (
      select from app_public.organization_claims as c
      where c.org_uri = claim.org_uri and c.claim_id <> claim.claim_id and c.status <> 'withdrawn')
    and not exists (
      select from app_public.memberships as m where m.org_uri = claim.org_uri and m.user_id = claim.user_id);
  needs_proof constant boolean := (
    select s.value::boolean from app_private.settings as s where s.name = 'auto_approval_needs_verified_email');
begin
  -- This step is taken by the service, not by the claimant.
  perform app_private.act_as_the_service();
  if claim.is_new_org then
    update app_public.organization_claims as c
    set status = 'pending_review', result_variant = 'new-org', routed_to = 'platform'
    where c.claim_id = claim.claim_id returning * into claim;
  elsif has_manager then
    update app_public.organization_claims as c
    set status = 'pending_review', result_variant = 'request-sent', routed_to = 'organization'
    where c.claim_id = claim.claim_id returning * into claim;
  elsif claim.domain_match and is_first and (claim.email_verified or not needs_proof) then
    claim := app_private.approve_by_itself(claim);
  else
    update app_public.organization_claims as c
    set status = 'pending_review', result_variant = 'manual-review', routed_to = 'platform',
      awaits_proof = claim.domain_match and is_first
    where c.claim_id = claim.claim_id returning * into claim;
  end if;
  return claim;
end
$$;
comment on function app_private.route_claim is
  'The auto-approval check and the routing of a submitted claim. The organization must be locked.';

create function app_private.approve_by_itself(claim app_public.organization_claims) returns app_public.organization_claims
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.admit(claim.org_uri, claim.user_id, 'org_admin');
  update app_public.organization_claims as c
  set status = 'approved', result_variant = 'claimed', granted_role = 'org_admin'
  where c.claim_id = claim.claim_id returning * into claim;
  return claim;
end
$$;
comment on function app_private.approve_by_itself is 'Approves a claim without a review.';

create function app_private.reconsider_claim(claim app_public.organization_claims) returns app_public.organization_claims
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if claim.awaits_proof and not app_private.is_managed(claim.org_uri) and not exists (
    select from app_private.members as m where m.org_uri = claim.org_uri and m.user_id = claim.user_id
  ) and exists (
    select from app_public.organizations as o
    where o.org_uri = claim.org_uri and o.status = 'active' and app_private.domains_match(claim.email_domain, o.domain)
  ) then
    claim := app_private.approve_by_itself(claim);
  end if;
  return claim;
end
$$;
comment on function app_private.reconsider_claim is
  'Repeats the auto-approval check for a waiting claim whose address has just been proven: approves it if only that proof '
  'was missing, still nobody manages the organization, the claimant has no membership there, and the domain is still the '
  'organization''s. The organization must be locked.';
