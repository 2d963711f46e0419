-- The audit trail: what was changed, by whom, and through which key or token and which request. Each history records
-- its own part of it, in columns that have defaults (db/migrations/0044_trail.sql); this file records the changes
-- that no other history covers, and shows all of them together.

create function app_private.note_administration(subject text, name text, change jsonb, by_email text default null)
returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  insert into app_private.administration_history (subject, name, change, changed_by_email)
  values (subject, name, change, by_email);
end;
comment on function app_private.note_administration is
  'Records a change that has no history of its own, such as one of an organization, an API key or a list.';

create function app_private.record_administration() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  change jsonb;
begin
  -- A new timestamp alone is not a change, and the hash of a key must not be recorded.
  select jsonb_object_agg(now.key, now.value) into change
  from jsonb_each(to_jsonb(new)) as now
  where now.key not in ('created_at', 'updated_at', 'key_hash')
    and now.value is distinct from coalesce(to_jsonb(old) -> now.key, 'null');
  if change is not null then
    perform app_private.note_administration(tg_argv[0], to_jsonb(new) ->> tg_argv[1], change, app_private.current_actor());
  end if;
  return null;
end
$$;
comment on function app_private.record_administration is
  'Row trigger (subject, column of the name): records the new values of the columns that changed.';
create trigger record_change after insert or update on app_public.organizations
  for each row execute function app_private.record_administration('organization', 'org_uri');
create trigger record_change after insert or update on app_private.api_keys
  for each row execute function app_private.record_administration('api_key', 'key_id');

create function app_public.status_history_changed_by_key_label(change app_public.status_history) returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.label from app_private.api_keys as k where k.key_id = change.changed_by_key;
end;
comment on function app_public.status_history_changed_by_key_label is
  'The operator''s label for the key with which the status was set; null without a key. Only keys that may review see it.';

create view app_private.trail with (security_invoker = true) as
with changes as (
  select h.changed_at,
    case when h.need_id is not null then 'need' when h.commitment_id is not null then 'commitment'
      else 'engagement_claim' end as subject,
    coalesce(h.need_id, h.commitment_id, h.engagement_claim_id)::text as name,
    jsonb_build_object('status', h.to_status) as change,
    h.changed_by_email, h.changed_by_key, h.changed_by_identity, h.changed_through, h.request_id
  from app_public.status_history as h
  union all
  select h.changed_at, 'organization_claim', h.claim_id::text, jsonb_build_object('status', h.to_status),
    h.changed_by_email, h.changed_by_key, h.changed_by_identity, h.changed_through, h.request_id
  from app_public.organization_claim_history as h
  union all
  select h.changed_at, 'role', u.email, jsonb_build_object('org_uri', h.org_uri, 'role', h.role, 'status', h.status),
    h.changed_by_email, h.changed_by_key, h.changed_by_identity, h.changed_through, h.request_id
  from app_private.role_history as h
  join app_public.users as u on u.user_id = h.user_id
  union all
  select h.changed_at, h.subject, h.name, h.change,
    h.changed_by_email, h.changed_by_key, h.changed_by_identity, h.changed_through, h.request_id
  from app_private.administration_history as h
)
select c.changed_at, c.subject, c.name, c.change, c.changed_by_email, c.changed_by_key, k.label as key_label,
  c.changed_by_identity, c.changed_through, c.request_id
from changes as c
left join app_private.api_keys as k on k.key_id = c.changed_by_key;
comment on view app_private.trail is
  'Every change in any history: who made it, on whose word (a key, or the provider of a token), and through which program '
  'and request.';
