-- Engagement claims: who may submit one and change its status, and what makes one well-formed.

create policy read on app_public.engagement_claims for select to api_read using (true);
create policy submit on app_public.engagement_claims for insert to api_write
  with check ((select app_private.authorize(org_uri, claimed_by_email, 'engagement_claims:write')));
create policy change_status on app_public.engagement_claims for update to api_write
  using (true)
  with check ((select app_private.authorize(org_uri, app_private.current_actor(), 'engagement_claims:write')));

create function app_private.validate_engagement_claim() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  problems jsonb;
begin
  new.claimed_by_email := app_private.acting_email(new.claimed_by_email);
  new.org_name := app_private.trimmed(new.org_name);
  new.people_group_name := app_private.trimmed(new.people_group_name);
  new.country_name := app_private.trimmed(new.country_name);
  new.description := app_private.trimmed(new.description);
  problems :=
    app_private.http_uri_problems('orgUri', new.org_uri)
    || app_private.name_problems('orgName', new.org_name)
    || app_private.email_problems('claimedByEmail', new.claimed_by_email)
    || app_private.list_problems('engagementAccelerators', new.engagement_accelerators, required => true)
    || app_private.code_problems('engagementAccelerators', new.engagement_accelerators)
    || case when new.people_group_rop3 is null then '[]'
         else app_private.rop3_problems('peopleGroupRop3', new.people_group_rop3) end
    || app_private.name_problems('peopleGroupName', new.people_group_name, required => false)
    || case when new.people_group_rog3 is null then '[]'
         else app_private.rog3_problems('peopleGroupRog3', new.people_group_rog3) end
    || case when new.country_code is null then '[]'
         else app_private.country_problems('countryCode', new.country_code) end
    || app_private.name_problems('countryName', new.country_name, required => false)
    || app_private.text_problems('description', new.description, required => false);
  if problems <> '[]' then
    perform app_private.refuse_problems(problems);
  end if;
  -- Removed only now: problems refer to items by their index in the list as given, and its length is checked too.
  new.engagement_accelerators := app_private.distinct_items(new.engagement_accelerators);
  return new;
end
$$;
comment on function app_private.validate_engagement_claim is
  'Row trigger: trims texts, removes repetitions from lists and refuses malformed input with 400, before authorization.';

create function app_private.check_engagement_claim_references() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.check_accelerators('engagementAccelerators', new.engagement_accelerators);
  if new.fulfills_commitment_id is not null
    and not exists (
      select from app_public.commitments as c where c.commitment_id = new.fulfills_commitment_id
    )
  then
    perform app_private.refuse('unknown_commitment', details =>
      app_private.problem('fulfillsCommitmentId', 'does not name an existing commitment'));
  end if;
  return null;
end
$$;
comment on function app_private.check_engagement_claim_references is
  'Row trigger: refuses unknown codes and an unknown commitment with 422, after authorization, so that a stranger learns nothing.';

create trigger validate before insert on app_public.engagement_claims
  for each row execute function app_private.validate_engagement_claim();
create trigger check_references after insert on app_public.engagement_claims
  for each row execute function app_private.check_engagement_claim_references();

create function app_public.submit_engagement_claim(
  org_uri text, org_name text, claimed_by_email text, engagement_accelerators text[],
  people_group_rop3 text default null, people_group_name text default null, people_group_rog3 text default null,
  country_code text default null, country_name text default null, description text default null,
  fulfills_commitment_id uuid default null
) returns app_public.engagement_claims
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  submitted app_public.engagement_claims;
begin
  insert into app_public.engagement_claims
    (org_uri, org_name, claimed_by_email, engagement_accelerators, people_group_rop3, people_group_name,
     people_group_rog3, country_code, country_name, description, fulfills_commitment_id)
  values
    (submit_engagement_claim.org_uri,
     submit_engagement_claim.org_name,
     submit_engagement_claim.claimed_by_email,
     submit_engagement_claim.engagement_accelerators,
     submit_engagement_claim.people_group_rop3,
     submit_engagement_claim.people_group_name,
     submit_engagement_claim.people_group_rog3,
     submit_engagement_claim.country_code,
     submit_engagement_claim.country_name,
     submit_engagement_claim.description,
     submit_engagement_claim.fulfills_commitment_id)
  returning * into submitted;
  return submitted;
end
$$;
comment on function app_public.submit_engagement_claim is
  E'@resultFieldName engagementClaim\n@actor claimed_by_email\nAttests that engagement has taken place, in fulfilment of a commitment or independently of one. The person named by '
  'claimedByEmail must be allowed to write engagement claims for the organization. '
  'Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, insufficient_scope, '
  '422 unknown_accelerator_code, unknown_commitment.';

create function app_public.update_engagement_claim_status(
  claim_id uuid, status app_public.engagement_claim_status, actor_email text
) returns app_public.engagement_claims
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  updated app_public.engagement_claims;
begin
  perform app_private.refuse_problems(
    app_private.required_problems('claimId', claim_id::text)
    || app_private.required_problems('status', status::text));
  perform app_private.name_actor(actor_email);
  update app_public.engagement_claims as c set status = update_engagement_claim_status.status
  where c.claim_id = update_engagement_claim_status.claim_id
  returning c.* into updated;
  if not found then
    perform app_private.refuse('engagement_claim_not_found');
  end if;
  return updated;
end
$$;
comment on function app_public.update_engagement_claim_status is
  E'@resultFieldName engagementClaim\n@actor actor_email\nSets the status of an engagement claim; any status may follow any other. The person named by actorEmail must be '
  'allowed to write engagement claims for the claim''s organization. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, '
  'insufficient_scope, 404 engagement_claim_not_found.';

create function app_public.engagement_claims_graph_status(engagement_claim app_public.engagement_claims) returns app_public.graph_status
language sql stable
return app_public.record_graph_status('engagement_claim', engagement_claim.claim_id);
comment on function app_public.engagement_claims_graph_status is 'Whether the graph holds this claim''s current revision.';

create function app_public.engagement_claims_graph_errors(engagement_claim app_public.engagement_claims) returns jsonb
language sql stable
return app_public.record_graph_errors('engagement_claim', engagement_claim.claim_id);
comment on function app_public.engagement_claims_graph_errors is
  'What the load check found wrong with this engagement claim; empty unless it is rejected.';

create view rest.engagement_claims with (security_invoker = true) as
select
  c.claim_id as "claimId", c.org_uri as "orgUri", c.org_name as "orgName",
  c.claimed_by_email as "claimedByEmail", c.engagement_accelerators as "engagementAccelerators",
  c.people_group_rop3 as "peopleGroupRop3", c.people_group_name as "peopleGroupName",
  c.people_group_rog3 as "peopleGroupRog3", c.country_code as "countryCode", c.country_name as "countryName",
  c.description, c.fulfills_commitment_id as "fulfillsCommitmentId", c.status,
  c.created_at as "createdAt", c.updated_at as "updatedAt",
  app_public.record_graph_status('engagement_claim', c.claim_id) as "graphStatus"
from app_public.engagement_claims as c;
comment on view rest.engagement_claims is 'The engagement claim item of GET /v0/engagement-claims.';
