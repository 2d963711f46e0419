-- Commitments: who may declare one and change its status, and what makes one well-formed.

create policy read on app_public.commitments for select to api_read using (true);
create policy declare on app_public.commitments for insert to api_write
  with check ((select app_private.authorize(org_uri, declared_by_email, 'commitments:write')));
create policy change_status on app_public.commitments for update to api_write
  using (true)
  with check ((select app_private.authorize(org_uri, app_private.current_actor(), 'commitments:write')));

create function app_private.validate_commitment() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  problems jsonb;
begin
  new.declared_by_email := app_private.acting_email(new.declared_by_email);
  new.org_name := app_private.trimmed(new.org_name);
  new.commitment_description := app_private.trimmed(new.commitment_description);
  problems :=
    app_private.http_uri_problems('orgUri', new.org_uri)
    || app_private.name_problems('orgName', new.org_name)
    || app_private.email_problems('declaredByEmail', new.declared_by_email)
    || app_private.text_problems('commitmentDescription', new.commitment_description)
    || app_private.list_problems('acceleratorScope', new.accelerator_scope, required => true)
    || app_private.code_problems('acceleratorScope', new.accelerator_scope)
    || app_private.list_problems('concernsPeopleGroupRop3', new.concerns_people_group_rop3, required => false)
    || app_private.rop3_problems('concernsPeopleGroupRop3', new.concerns_people_group_rop3)
    || app_private.list_problems('concernsCountryCode', new.concerns_country_code, required => false)
    || app_private.country_problems('concernsCountryCode', new.concerns_country_code)
    || case when new.target_completion_date is null then '[]'
         else app_private.date_problems('targetCompletionDate', new.target_completion_date) end;
  if problems <> '[]' then
    perform app_private.refuse_problems(problems);
  end if;
  -- Removed only now: problems refer to items by their index in the list as given, and its length is checked too.
  new.accelerator_scope := app_private.distinct_items(new.accelerator_scope);
  new.concerns_people_group_rop3 := app_private.distinct_items(new.concerns_people_group_rop3);
  new.concerns_country_code := app_private.distinct_items(new.concerns_country_code);
  return new;
end
$$;
comment on function app_private.validate_commitment is
  'Row trigger: trims texts, removes repetitions from lists and refuses malformed input with 400, before authorization.';

create function app_private.check_commitment_references() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.check_accelerators('acceleratorScope', new.accelerator_scope);
  if new.concerns_need_id is not null
    and not exists (select from app_public.needs as n where n.need_id = new.concerns_need_id)
  then
    perform app_private.refuse('unknown_need', details =>
      app_private.problem('concernsNeedId', 'does not name an existing need'));
  end if;
  return null;
end
$$;
comment on function app_private.check_commitment_references is
  'Row trigger: refuses unknown codes and an unknown need with 422, after authorization, so that a stranger learns nothing.';

create trigger validate before insert on app_public.commitments
  for each row execute function app_private.validate_commitment();
create trigger check_references after insert on app_public.commitments
  for each row execute function app_private.check_commitment_references();

create function app_public.declare_commitment(
  org_uri text, org_name text, declared_by_email text, commitment_description text, accelerator_scope text[],
  concerns_need_id uuid default null,
  concerns_people_group_rop3 text[] default '{}', concerns_country_code text[] default '{}',
  target_completion_date date default null
) returns app_public.commitments
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  declared app_public.commitments;
begin
  insert into app_public.commitments
    (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id,
     concerns_people_group_rop3, concerns_country_code, target_completion_date)
  values
    (declare_commitment.org_uri, declare_commitment.org_name, declare_commitment.declared_by_email,
     declare_commitment.commitment_description, declare_commitment.accelerator_scope,
     declare_commitment.concerns_need_id, declare_commitment.concerns_people_group_rop3,
     declare_commitment.concerns_country_code, declare_commitment.target_completion_date)
  returning * into declared;
  return declared;
end
$$;
comment on function app_public.declare_commitment is
  E'@resultFieldName commitment\n@actor declared_by_email\nCommits an organization to act in a scope, in answer to a need or independently of one. The person named by '
  'declaredByEmail must be allowed to write commitments for the organization. '
  'Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, insufficient_scope, '
  '422 unknown_accelerator_code, unknown_need.';

create function app_public.update_commitment_status(
  commitment_id uuid, status app_public.commitment_status, actor_email text
) returns app_public.commitments
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  updated app_public.commitments;
begin
  perform app_private.refuse_problems(
    app_private.required_problems('commitmentId', commitment_id::text)
    || app_private.required_problems('status', status::text));
  perform app_private.name_actor(actor_email);
  update app_public.commitments as c set status = update_commitment_status.status
  where c.commitment_id = update_commitment_status.commitment_id
  returning c.* into updated;
  if not found then
    perform app_private.refuse('commitment_not_found');
  end if;
  return updated;
end
$$;
comment on function app_public.update_commitment_status is
  E'@resultFieldName commitment\n@actor actor_email\nSets the status of a commitment; any status may follow any other. The person named by actorEmail must be '
  'allowed to write commitments for the commitment''s organization. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, '
  'insufficient_scope, 404 commitment_not_found.';

create function app_public.commitments_graph_status(commitment app_public.commitments) returns app_public.graph_status
language sql stable
return app_public.record_graph_status('commitment', commitment.commitment_id);
comment on function app_public.commitments_graph_status is 'Whether the graph holds this commitment''s current revision.';

create function app_public.commitments_graph_errors(commitment app_public.commitments) returns jsonb
language sql stable
return app_public.record_graph_errors('commitment', commitment.commitment_id);
comment on function app_public.commitments_graph_errors is
  'What the load check found wrong with this commitment; empty unless it is rejected.';

create view rest.commitments with (security_invoker = true) as
select
  c.commitment_id as "commitmentId", c.org_uri as "orgUri", c.org_name as "orgName",
  c.declared_by_email as "declaredByEmail", c.commitment_description as "commitmentDescription",
  c.accelerator_scope as "acceleratorScope", c.concerns_need_id as "concernsNeedId",
  c.concerns_people_group_rop3 as "concernsPeopleGroupRop3",
  c.concerns_country_code as "concernsCountryCode",
  c.target_completion_date as "targetCompletionDate", c.status,
  c.created_at as "createdAt", c.updated_at as "updatedAt",
  app_public.record_graph_status('commitment', c.commitment_id) as "graphStatus"
from app_public.commitments as c;
comment on view rest.commitments is 'The commitment item of GET /v0/commitments.';
