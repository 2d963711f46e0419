-- Needs: who may declare one and change its status, and what makes one well-formed.

create policy read on app_public.needs for select to api_read using (true);
create policy declare on app_public.needs for insert to api_write
  with check ((select app_private.authorize(org_uri, declared_by_email, 'needs:write')));
create policy change_status on app_public.needs for update to api_write
  using (true)
  with check ((select app_private.authorize(org_uri, app_private.current_actor(), 'needs:write')));

create function app_private.validate_need() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  problems jsonb;
begin
  new.declared_by_email := app_private.acting_email(new.declared_by_email);
  new.org_name := app_private.trimmed(new.org_name);
  new.need_description := app_private.trimmed(new.need_description);
  problems :=
    app_private.http_uri_problems('orgUri', new.org_uri)
    || app_private.name_problems('orgName', new.org_name)
    || app_private.email_problems('declaredByEmail', new.declared_by_email)
    || app_private.text_problems('needDescription', new.need_description)
    || app_private.list_problems('accelerators', new.accelerators, required => true)
    || app_private.code_problems('accelerators', new.accelerators)
    || app_private.list_problems('concernsPeopleGroupRop3', new.concerns_people_group_rop3, required => false)
    || app_private.rop3_problems('concernsPeopleGroupRop3', new.concerns_people_group_rop3)
    || app_private.list_problems('concernsCountryCode', new.concerns_country_code, required => false)
    || app_private.country_problems('concernsCountryCode', new.concerns_country_code);
  if problems <> '[]' then
    perform app_private.refuse_problems(problems);
  end if;
  -- Removed only now: problems refer to items by their index in the list as given, and its length is checked too.
  new.accelerators := app_private.distinct_items(new.accelerators);
  new.concerns_people_group_rop3 := app_private.distinct_items(new.concerns_people_group_rop3);
  new.concerns_country_code := app_private.distinct_items(new.concerns_country_code);
  return new;
end
$$;
comment on function app_private.validate_need is
  'Row trigger: trims texts, removes repetitions from lists and refuses malformed input with 400, before authorization.';

create function app_private.check_need_references() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.check_accelerators('accelerators', new.accelerators);
  return null;
end
$$;
comment on function app_private.check_need_references is
  'Row trigger: refuses unknown codes with 422, after authorization, so that a stranger learns nothing.';

create trigger validate before insert on app_public.needs
  for each row execute function app_private.validate_need();
create trigger check_references after insert on app_public.needs
  for each row execute function app_private.check_need_references();

create function app_public.declare_need(
  org_uri text, org_name text, declared_by_email text, need_description text, accelerators text[],
  concerns_people_group_rop3 text[] default '{}', concerns_country_code text[] default '{}'
) returns app_public.needs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  declared app_public.needs;
begin
  insert into app_public.needs
    (org_uri, org_name, declared_by_email, need_description, accelerators,
     concerns_people_group_rop3, concerns_country_code)
  values
    (declare_need.org_uri, declare_need.org_name, declare_need.declared_by_email, declare_need.need_description,
     declare_need.accelerators, declare_need.concerns_people_group_rop3, declare_need.concerns_country_code)
  returning * into declared;
  return declared;
end
$$;
comment on function app_public.declare_need is
  E'@resultFieldName need\n@actor declared_by_email\nDeclares that work is needed. The person named by '
  'declaredByEmail must be allowed to write needs for the organization. '
  'Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, insufficient_scope, '
  '422 unknown_accelerator_code.';

create function app_public.update_need_status(
  need_id uuid, status app_public.need_status, actor_email text
) returns app_public.needs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  updated app_public.needs;
begin
  perform app_private.refuse_problems(
    app_private.required_problems('needId', need_id::text)
    || app_private.required_problems('status', status::text));
  perform app_private.name_actor(actor_email);
  update app_public.needs as n set status = update_need_status.status
  where n.need_id = update_need_status.need_id
  returning n.* into updated;
  if not found then
    perform app_private.refuse('need_not_found');
  end if;
  return updated;
end
$$;
comment on function app_public.update_need_status is
  E'@resultFieldName need\n@actor actor_email\nSets the status of a need; any status may follow any other. The person named by actorEmail must be '
  'allowed to write needs for the need''s organization. Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, '
  'insufficient_scope, 404 need_not_found.';

create function app_public.needs_graph_status(need app_public.needs) returns app_public.graph_status
language sql stable
return app_public.record_graph_status('need', need.need_id);
comment on function app_public.needs_graph_status is 'Whether the graph holds this need''s current revision.';

create function app_public.needs_graph_errors(need app_public.needs) returns jsonb
language sql stable
return app_public.record_graph_errors('need', need.need_id);
comment on function app_public.needs_graph_errors is
  'What the load check found wrong with this need; empty unless it is rejected.';

create view rest.needs with (security_invoker = true) as
select
  n.need_id as "needId", n.org_uri as "orgUri", n.org_name as "orgName",
  n.declared_by_email as "declaredByEmail", n.need_description as "needDescription",
  n.accelerators, n.concerns_people_group_rop3 as "concernsPeopleGroupRop3",
  n.concerns_country_code as "concernsCountryCode", n.status,
  n.created_at as "createdAt", n.updated_at as "updatedAt",
  app_public.record_graph_status('need', n.need_id) as "graphStatus"
from app_public.needs as n;
comment on view rest.needs is 'The need item of GET /v0/needs.';
