-- Organization claims: a person says that they belong to an organization.
-- Submitted → (auto-approval check) → Approved | Pending Review → Reviewed → Approved | Rejected.

-- The lifecycle itself.

create function app_private.guard_claim_transition() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  allowed constant text[] := array[
    ' → submitted',
    'submitted → approved', 'submitted → pending_review',
    'pending_review → reviewed',
    'reviewed → approved', 'reviewed → rejected'];
  step text := format('%s → %s', case tg_op when 'UPDATE' then old.status end, new.status);
begin
  if tg_op = 'UPDATE' and old.status in ('approved', 'rejected') then
    perform app_private.refuse(409, 'already_reviewed', 'This claim has been decided already.');
  elsif step <> all (allowed) then
    raise exception using errcode = 'check_violation', message = format('no organization claim goes %s', step);
  end if;
  return new;
end
$$;
comment on function app_private.guard_claim_transition is
  'Row trigger: lets a claim begin as submitted and go only where the lifecycle goes; a decision is final.';
create trigger guard_insert before insert on app_public.organization_claims
  for each row execute function app_private.guard_claim_transition();
create trigger guard_update before update on app_public.organization_claims
  for each row when (old.status is distinct from new.status) execute function app_private.guard_claim_transition();
create trigger touch before update on app_public.organization_claims
  for each row execute function app_private.touch();

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
return case status
  when 'approved' then 'approved'::app_public.claim_review_status
  when 'rejected' then 'rejected'
  else 'pending'
end;
comment on function app_private.review_status is 'A claim''s status as callers see it: until it is decided it is pending.';

-- Submission.

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
  org_uri := app_private.trimmed(org_uri);
  new_org_name := coalesce(app_private.trimmed(new_org_name), app_private.trimmed(org_name));
  new_org_website := app_private.trimmed(new_org_website);
  perform app_private.refuse_problems(
    app_private.email_problems('userEmail', user_email)
    || app_private.text_problems('firstName', app_private.trimmed(first_name))
    || app_private.text_problems('lastName', app_private.trimmed(last_name))
    || app_private.list_problems('roles', roles, required => false)
    || app_private.code_problems('roles', roles)
    || app_private.text_problems('orgName', app_private.trimmed(org_name))
    || app_private.required_problems('isNewOrg', is_new_org::text)
    || case
         when is_new_org and org_uri is not null
           then app_private.problem('orgUri', 'must not be given for a new organization')
         when not is_new_org then app_private.http_uri_problems('orgUri', org_uri)
         else '[]'
       end
    || app_private.domain_problems('orgDomain', org_domain)
    || app_private.text_problems('newOrgName', new_org_name, required => false)
    || app_private.text_problems('newOrgType', app_private.trimmed(new_org_type), required => false)
    || case when new_org_website is null then '[]'
         else app_private.http_uri_problems('newOrgWebsite', new_org_website) end);
  perform app_private.name_actor(user_email);

  claimant := app_private.remember_user(user_email, first_name, last_name);
  if is_new_org then
    perform app_private.refuse_second_proposal(claimant.user_id, new_org_name);
    organization := app_private.propose_organization(new_org_name, new_org_type, new_org_website, org_domain);
  else
    -- From here on the claims to one organization are decided one after the other.
    organization := app_private.lock_organization(org_uri);
    if organization.org_uri is null or organization.status = 'rejected' then
      perform app_private.refuse(404, 'organization_not_found', 'There is no organization with this orgUri.');
    end if;
    perform app_private.refuse_second_claim(claimant.user_id, organization.org_uri);
  end if;

  insert into app_public.organization_claims
    (user_id, org_uri, org_name, is_new_org, new_org_type, new_org_website, stated_roles, email_domain, org_domain,
     domain_match)
  values
    (claimant.user_id, organization.org_uri, organization.name, is_new_org,
     case when is_new_org then app_private.trimmed(new_org_type) end, case when is_new_org then new_org_website end,
     app_private.distinct_items(roles), app_private.email_domain(user_email), organization.domain,
     app_private.domains_match(app_private.email_domain(user_email), organization.domain))
  returning * into claim;
  claim := app_private.route_claim(claim);
  return (claim.claim_id, claim.result_variant, claim.org_uri, claim.org_name, app_private.review_status(claim.status));
end
$$;
comment on function app_public.claim_organization is
  E'@resultFieldName claim\nA person says that they belong to an organization, or to a new one. Approved at once, with the role org_admin, when '
  'their e-mail is at the organization''s registered domain and nobody has claimed it before; else it waits for a '
  'review. Errors: 400 validation_failed, 403 insufficient_scope, 404 organization_not_found, 409 already_member, '
  'claim_pending.';

create function app_private.refuse_second_claim(user_id uuid, org_uri text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  standing constant app_public.membership_status := (
    select m.status from app_public.memberships as m
    where m.org_uri = refuse_second_claim.org_uri and m.user_id = refuse_second_claim.user_id);
begin
  if standing = 'suspended' then
    perform app_private.refuse(409, 'already_member',
      'This person''s membership of the organization is suspended; its administrators can make it active again.');
  elsif standing = 'active' or standing is null and exists (
    select from app_public.organization_claims as c
    where c.org_uri = refuse_second_claim.org_uri and c.user_id = refuse_second_claim.user_id and c.status = 'approved'
  ) then
    perform app_private.refuse(409, 'already_member', 'This person belongs to the organization already.');
  elsif exists (
    select from app_public.organization_claims as c
    where c.org_uri = refuse_second_claim.org_uri and c.user_id = refuse_second_claim.user_id
      and c.status in ('submitted', 'pending_review', 'reviewed')
  ) then
    perform app_private.refuse(409, 'claim_pending',
      'This person''s claim to the organization is waiting for its review already.');
  end if;
end
$$;
comment on function app_private.refuse_second_claim is
  'Refuses a claim to what one belongs to (409 already_member) or has claimed and not been answered (409 claim_pending). '
  'Who was a member once may claim again.';

create function app_private.refuse_second_proposal(user_id uuid, name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from app_public.organization_claims as c
    where c.user_id = refuse_second_proposal.user_id and c.is_new_org and lower(c.org_name) = lower(name)
      and c.status in ('submitted', 'pending_review', 'reviewed')
  ) then
    perform app_private.refuse(409, 'claim_pending',
      'This person has proposed an organization of this name already; it is waiting for its review.');
  end if;
end
$$;
comment on function app_private.refuse_second_proposal is
  'Refuses with 409 claim_pending to propose the same new organization twice.';

create function app_private.route_claim(claim app_public.organization_claims) returns app_public.organization_claims
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  has_admin constant boolean := exists (
    select from app_public.memberships as m
    where m.org_uri = claim.org_uri and m.role = 'org_admin' and m.status = 'active');
  is_first constant boolean := not exists (
      select from app_public.organization_claims as c
      where c.org_uri = claim.org_uri and c.claim_id <> claim.claim_id)
    and not exists (
      select from app_public.memberships as m where m.org_uri = claim.org_uri and m.user_id = claim.user_id);
begin
  -- This step is the service's, not the claimant's.
  perform set_config('app.actor_email', '', true);
  if claim.is_new_org then
    update app_public.organization_claims as c
    set status = 'pending_review', result_variant = 'new-org', routed_to = 'platform'
    where c.claim_id = claim.claim_id returning * into claim;
  elsif has_admin then
    update app_public.organization_claims as c
    set status = 'pending_review', result_variant = 'request-sent', routed_to = 'organization'
    where c.claim_id = claim.claim_id returning * into claim;
  elsif claim.domain_match and is_first then
    perform app_private.admit(claim.org_uri, claim.user_id, 'org_admin');
    update app_public.organization_claims as c
    set status = 'approved', result_variant = 'claimed', granted_role = 'org_admin'
    where c.claim_id = claim.claim_id returning * into claim;
  else
    update app_public.organization_claims as c
    set status = 'pending_review', result_variant = 'manual-review', routed_to = 'platform'
    where c.claim_id = claim.claim_id returning * into claim;
  end if;
  return claim;
end
$$;
comment on function app_private.route_claim is
  'The auto-approval check and the routing of a submitted claim. The organization must be locked.';

-- Review.

create function app_private.may_review(claim app_public.organization_claims, reviewer_email text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select case
    when claim.routed_to = 'organization'
      and claim.org_uri in (select app_private.managed_organizations(reviewer_email)) then 'organization'
    when app_private.has_platform_permission(reviewer_email, 'claims:review') then 'platform'
  end;
end;
comment on function app_private.may_review is
  'In whose name a person may review a claim: their organization''s, where it was asked, or the platform''s; null: not at all.';

create function app_public.review_organization_claim(
  claim_id uuid, action app_public.claim_review_action, admin_email text,
  notes text default null, role app_public.organization_role default 'org_member'
) returns app_public.organization_claim_decision
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  claim app_public.organization_claims;
  reviewer app_public.users;
  authority text;
begin
  notes := app_private.trimmed(notes);
  role := coalesce(role, 'org_member');
  perform app_private.refuse_problems(
    app_private.required_problems('claimId', claim_id::text)
    || app_private.required_problems('action', action::text)
    || app_private.email_problems('adminEmail', admin_email)
    || app_private.text_problems('notes', notes, required => coalesce(action = 'reject', false)));
  perform app_private.name_actor(admin_email);

  select * into claim from app_public.organization_claims as c where c.claim_id = review_organization_claim.claim_id;
  authority := app_private.may_review(claim, admin_email);
  if authority is null then
    perform app_private.refuse(403, 'permission_required',
      'Reviewing this claim takes the platform permission claims:review, or to be an administrator of the organization that it was sent to.');
  elsif claim.claim_id is null then
    perform app_private.refuse(404, 'claim_not_found', 'There is no organization claim with this claimId.');
  end if;
  select * into reviewer from app_public.users as u where lower(u.email) = lower(admin_email);
  if reviewer.user_id = claim.user_id then
    perform app_private.refuse(403, 'permission_required',
      'Nobody reviews their own claim; another reviewer must decide on it.');
  elsif action = 'approve' and role = 'org_admin' and authority = 'platform' then
    perform app_private.require_platform_permission(admin_email, 'roles:assign');
  end if;

  select * into claim from app_public.organization_claims as c
  where c.claim_id = review_organization_claim.claim_id for no key update;
  if claim.status <> 'pending_review' then
    perform app_private.refuse(409, 'already_reviewed',
      format('This claim has been %s already.', app_private.review_status(claim.status)));
  end if;
  perform app_private.lock_organization(claim.org_uri);
  update app_public.organization_claims as c
  set status = 'reviewed', reviewed_by = reviewer.user_id, reviewed_at = now(), review_notes = notes
  where c.claim_id = claim.claim_id;
  if action = 'approve' then
    perform app_private.admit(claim.org_uri, claim.user_id, role);
    update app_public.organization_claims as c set status = 'approved', granted_role = role
    where c.claim_id = claim.claim_id returning * into claim;
  else
    update app_public.organization_claims as c set status = 'rejected'
    where c.claim_id = claim.claim_id returning * into claim;
  end if;
  perform app_private.settle_proposal(claim.org_uri);
  return (claim.claim_id, app_private.review_status(claim.status));
end
$$;
comment on function app_public.review_organization_claim is
  E'@resultFieldName decision\nApproves a waiting claim, with a role in the organization, or rejects it with notes that say why. Reviewers are the '
  'administrators of the organization that the claim was sent to, and platform users with claims:review (who need '
  'roles:assign to make somebody org_admin). Nobody reviews their own claim. Errors: 400 validation_failed, '
  '403 permission_required, insufficient_scope, 404 claim_not_found, 409 already_reviewed.';

create function app_private.settle_proposal(org_uri text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- As long as one claim to it waits, a proposed organization waits too.
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
        where c.org_uri = o.org_uri and c.status in ('submitted', 'pending_review', 'reviewed')));
end;
comment on function app_private.settle_proposal is
  'A proposed organization becomes active with the first claim approved, and rejected with the last claim rejected.';

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
begin
  perform app_private.refuse_problems(
    app_private.email_problems('x-admin-email', admin_email) || app_private.page_problems("limit", "offset"));
  sees_all := app_private.has_platform_permission(admin_email, 'claims:review');
  own := array(select app_private.managed_organizations(admin_email));
  if not sees_all and cardinality(own) = 0 then
    perform app_private.refuse(403, 'permission_required',
      'Seeing claims takes the platform permission claims:review, or to be an administrator of an organization.');
  end if;
  statuses := case organization_claims_for_review.status
    when 'pending' then '{submitted,pending_review,reviewed}'
    when 'approved' then '{approved}'
    when 'rejected' then '{rejected}'
  end;

  select count(*) into page.total
  from app_public.organization_claims as c
  where (sees_all or c.routed_to = 'organization' and c.org_uri = any (own))
    and (statuses is null or c.status = any (statuses));
  page.claims := array(
    select (c.claim_id, u.email, u.first_name, u.last_name, c.org_uri, c.org_name, c.is_new_org, c.email_domain,
      c.org_domain, c.domain_match, app_private.review_status(c.status), c.routed_to, c.result_variant,
      c.new_org_website, c.new_org_type, r.email, c.reviewed_at, c.review_notes, c.created_at
    )::app_public.organization_claim_item
    from app_public.organization_claims as c
    join app_public.users as u on u.user_id = c.user_id
    left join app_public.users as r on r.user_id = c.reviewed_by
    where (sees_all or c.routed_to = 'organization' and c.org_uri = any (own))
      and (statuses is null or c.status = any (statuses))
    order by c.created_at desc, c.claim_id desc
    limit coalesce("limit", 50) offset coalesce("offset", 0));
  return page;
end
$$;
comment on function app_public.organization_claims_for_review is
  E'Organization claims, newest first. A platform user with claims:review sees all, an administrator of organizations '
  'those that were sent to them. Errors: 400 validation_failed, 403 permission_required, insufficient_scope.';
comment on column app_public.organization_claim_item.id is E'@name claim_id\nThe claim''s claimId.';
