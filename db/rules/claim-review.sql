-- Review of organization claims: who may decide which claims, and what a decision does.

create function app_private.may_review(claim app_public.organization_claims, reviewer_email text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(claim.routed_to = 'organization', false)
    and claim.org_uri in (select app_private.managed_organizations(reviewer_email))
    or app_private.has_platform_permission(reviewer_email, 'claims:review');
end;
comment on function app_private.may_review is
  'Whether a person may review a claim: for the organization that it was sent to, or for the platform.';

create function app_private.require_review(claim app_public.organization_claims, reviewer_email text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not app_private.may_review(claim, reviewer_email) then
    perform app_private.refuse('permission_required', 'Reviewing this claim requires the platform permission claims:review, '
      'or the permission members:manage in the organization that it was sent to.');
  end if;
end
$$;
comment on function app_private.require_review is
  'Refuses with 403 permission_required a person who may not review the claim.';

create function app_private.usual_role() returns app_public.organization_role
language sql immutable
return 'org_member'::app_public.organization_role;
comment on function app_private.usual_role is 'The role that an approval gives, where the reviewer names no other.';

create function app_public.review_organization_claim(
  claim_id uuid, action app_public.claim_review_action, admin_email text,
  notes text default null, role app_public.organization_role default null
) returns app_public.organization_claim_decision
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  claim app_public.organization_claims;
  reviewer app_public.users;
  bounds constant text[] := (app_private.key_bounds()).organizations;
begin
  admin_email := app_private.acting_email(admin_email);
  notes := app_private.trimmed(notes);
  role := coalesce(role, app_private.usual_role());
  perform app_private.refuse_problems(
    app_private.required_problems('claimId', claim_id::text)
    || app_private.required_problems('action', action::text)
    || app_private.email_problems('adminEmail', admin_email)
    || app_private.text_problems('notes', notes, required => coalesce(action = 'reject', false)));
  perform app_private.name_actor(admin_email);

  -- A key must not learn whether a claim beyond its bounds exists.
  select * into claim from app_public.organization_claims as c
  where c.claim_id = review_organization_claim.claim_id
    and app_private.is_within(bounds, c.org_uri);
  perform app_private.require_review(claim, admin_email);
  if claim.claim_id is null then
    perform app_private.refuse('claim_not_found');
  end if;
  select * into reviewer from app_public.users as u where lower(u.email) = lower(admin_email);
  if reviewer.user_id = claim.user_id then
    perform app_private.refuse('permission_required',
      'You cannot review your own claim; another reviewer must decide on it.');
  end if;

  select * into claim from app_public.organization_claims as c
  where c.claim_id = review_organization_claim.claim_id for no key update;
  if claim.status <> 'pending_review' then
    perform app_private.refuse('already_reviewed',
      format('This claim has already been %s.', app_private.review_status(claim.status)));
  end if;
  perform app_private.lock_organization(claim.org_uri);
  -- Checked again: the reviewer may have lost the permission while waiting for the locks.
  perform app_private.require_review(claim, admin_email);
  update app_public.organization_claims as c
  set status = 'reviewed', reviewed_by = reviewer.user_id, reviewed_at = now(), review_notes = notes
  where c.claim_id = claim.claim_id;
  -- Without an else branch: an action that is not handled here raises an error and changes nothing.
  case action
    when 'approve' then
      -- Whoever is a member by an earlier claim alone stays one in that role, as every member does.
      perform app_private.enter_by_claim(u.email, claim.org_uri) from app_public.users as u where u.user_id = claim.user_id;
      update app_public.organization_claims as c
      set status = 'approved', asked_role = role, granted_role = app_private.admit(claim.org_uri, claim.user_id, role),
        kept_status = (
          select m.status from app_public.memberships as m
          where m.org_uri = claim.org_uri and m.user_id = claim.user_id and m.status <> 'revoked')
      where c.claim_id = claim.claim_id returning * into claim;
    when 'reject' then
      update app_public.organization_claims as c set status = 'rejected'
      where c.claim_id = claim.claim_id returning * into claim;
  end case;
  perform app_private.settle_proposal(claim.org_uri);
  return (claim.claim_id, app_private.review_status(claim.status), app_private.approval_warnings(claim));
end
$$;
comment on function app_public.review_organization_claim is
  E'@resultFieldName decision\n@actor admin_email\nApproves a waiting claim, with a role in the organization, or rejects it with notes that say why. Reviewers are '
  'people who may manage the members of the organization that the claim was sent to, and platform users with '
  'claims:review, who may give any role. Nobody may review their own claim. warnings says no_administrator where an approval '
  'leaves the organization without anybody who manages its members, and already_member if the claimant already was a member, and is suspended '
  'or has another role than was asked for: the membership stays as it was. Errors: 400 validation_failed, '
  '403 not_your_identity, key_not_for_person, key_not_for_organization, permission_required, insufficient_scope, 404 claim_not_found, 409 already_reviewed.';

create function app_private.settle_proposal(org_uri text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- A proposed organization stays proposed as long as a claim to it is waiting.
  update app_public.organizations as o
  set status = case
    when exists (select from app_public.organization_claims as c where c.org_uri = o.org_uri and c.status = 'approved')
      then 'active'::app_public.organization_status
    else 'rejected'
  end
  where o.org_uri = settle_proposal.org_uri and o.status = 'proposed'
    and (exists (select from app_public.organization_claims as c where c.org_uri = o.org_uri and c.status = 'approved')
      or not exists (
        select from app_public.organization_claims as c
        where c.org_uri = o.org_uri and app_private.review_status(c.status) = 'pending'));
end;
comment on function app_private.settle_proposal is
  'A proposed organization becomes active when the first claim to it is approved, and rejected when the last one is rejected or withdrawn.';

create function app_private.claim_steps(claim_id uuid) returns app_public.organization_claim_step[]
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- Several steps may look like one from outside: submitted and pending_review are both pending.
  select coalesce(array_agg(
      (steps.from_status, steps.to_status, steps.changed_by_email, steps.changed_at)::app_public.organization_claim_step
      order by steps.place), '{}')
  from (
    select app_private.review_status(h.from_status) as from_status, app_private.review_status(h.to_status) as to_status,
      h.changed_by_email, h.changed_at, h.claim_history_id as place
    from app_public.organization_claim_history as h where h.claim_id = claim_steps.claim_id
  ) as steps
  where steps.from_status is distinct from steps.to_status;
end;
comment on function app_private.claim_steps is 'The steps that a claim has taken as its reviewers see them, oldest first.';

create function app_private.claim_item(claim app_public.organization_claims) returns app_public.organization_claim_item
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select (claim.claim_id, u.email, u.first_name, u.last_name, claim.org_uri, claim.org_name, claim.is_new_org,
    claim.email_domain, claim.org_domain, claim.domain_match, app_private.review_status(claim.status), claim.routed_to,
    claim.result_variant, claim.new_org_website, claim.new_org_type, r.email, claim.reviewed_at, claim.review_notes,
    claim.created_at, claim.email_verified, claim.org_domain_stated, claim.stated_roles,
    app_private.claim_steps(claim.claim_id)
  )::app_public.organization_claim_item
  from app_public.users as u
  left join app_public.users as r on r.user_id = claim.reviewed_by
  where u.user_id = claim.user_id;
end;
comment on function app_private.claim_item is 'A claim as its reviewers see it.';

create function app_private.organizations_reviewed(admin_email text, sees_all boolean) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  bounds constant text[] := (app_private.key_bounds()).organizations;
  own constant text[] := array(
    select o from app_private.managed_organizations(admin_email) as o where app_private.is_within(bounds, o));
begin
  if not sees_all and cardinality(own) = 0 then
    perform app_private.refuse('permission_required', 'Seeing claims requires the platform permission claims:review, '
      'or the permission members:manage in an organization.');
  end if;
  return own;
end
$$;
comment on function app_private.organizations_reviewed is
  'The organizations whose claims a person reviews because they manage the members. Refuses with 403 permission_required a '
  'person who reviews none, unless they see all claims.';

create function app_private.claims_reviewed(sees_all boolean, organizations text[], bounds text[])
returns setof app_public.organization_claims
-- Without a search_path of its own, so that PostgreSQL can inline it.
language sql stable
as $$
  select c.* from app_public.organization_claims as c
  where (sees_all or c.routed_to = 'organization' and c.org_uri = any (organizations))
    and app_private.is_within(bounds, c.org_uri);
$$;
comment on function app_private.claims_reviewed is
  'The claims that a person reviews: all of them, or those sent to the organizations of organizations_reviewed; within the '
  'bounds of the calling key.';

create function app_public.organization_claims_for_review(
  admin_email text, status app_public.claim_review_status default null,
  "limit" integer default 50, "offset" integer default 0
) returns app_public.organization_claim_page
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  sees_all boolean;
  own text[];
  statuses app_public.organization_claim_status[];
  page app_public.organization_claim_page;
  bounds constant text[] := (app_private.key_bounds()).organizations;
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(
    app_private.email_problems('adminEmail', admin_email) || app_private.page_problems("limit", "offset"));
  perform app_private.name_actor(admin_email);
  sees_all := app_private.has_platform_permission(admin_email, 'claims:review');
  own := app_private.organizations_reviewed(admin_email, sees_all);
  statuses := array(
    select s from unnest(enum_range(null::app_public.organization_claim_status)) as s
    where app_private.review_status(s) = organization_claims_for_review.status);
  select count(*) into page.total
  from app_private.claims_reviewed(sees_all, own, bounds) as c
  where organization_claims_for_review.status is null or c.status = any (statuses);
  page.claims := array(
    select app_private.claim_item(c)
    from app_private.claims_reviewed(sees_all, own, bounds) as c
    where organization_claims_for_review.status is null or c.status = any (statuses)
    order by c.created_at desc, c.claim_id desc
    limit coalesce("limit", 50) offset coalesce("offset", 0));
  return page;
end
$$;
comment on function app_public.organization_claims_for_review is
  E'@actor admin_email\nOrganization claims, newest first. A platform user with claims:review sees all of them; someone who manages the '
  'members of organizations sees those that were sent to these organizations. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, permission_required, insufficient_scope.';
comment on column app_public.organization_claim_item.domain_match is
  'Whether the address is at orgDomain. This proves something only if the domain is registered (see orgDomainStated) and the '
  'address is proven (see emailVerified).';
comment on column app_public.organization_claim_item.email_verified is
  'Whether the address is proven to be the claimant''s: they called with their own token or session, or confirmed the claim. '
  'Otherwise an application only stated it.';
comment on column app_public.organization_claim_item.org_domain_stated is
  'Whether orgDomain was only stated by a claimant, as for a new organization, and is not the organization''s registered '
  'domain.';
comment on column app_public.organization_claim_item.roles is
  E'@name stated_roles\nWhat the claimant says they do there.';
comment on column app_public.organization_claim_item.id is E'@name claim_id\nThe claim''s claimId.';
