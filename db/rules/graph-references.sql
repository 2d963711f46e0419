-- The reference lists in the graph (accelerators, people groups, countries, organizations, ontology, shapes): when their named
-- graphs are written again, how a new edition is imported, and which records must be checked again because of it.

create view app_private.dirty_references with (security_invoker = true) as
select r.name, r.revision from app_private.graph_references as r where r.revision <> r.synced_revision;
comment on view app_private.dirty_references is 'The lists that have changed since they were last written to the graph.';

create view app_private.due_references with (security_invoker = true) as
select r.name, r.revision from app_private.graph_references as r
where r.revision <> r.synced_revision and app_private.is_due(r.retry_at);
comment on view app_private.due_references is
  'The lists that should be written now: those that have changed, except those refused a moment ago.';

create function app_private.note_list_refused(
  name text, revision bigint, trouble app_public.graph_state, reason text
) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_references as r
  set refusals = r.refusals + 1, retry_at = now() + app_private.retry_after(r.refusals + 1),
    trouble = note_list_refused.trouble, reason = note_list_refused.reason
  -- A list that has changed since is tried again at once.
  where r.name = note_list_refused.name and r.revision = note_list_refused.revision;
end;
comment on function app_private.note_list_refused is
  'Notes why a list could not be written, and when to try again; the list stays dirty.';

create function app_private.note_list_written(name text, revision bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_references as r
  set synced_revision = note_list_written.revision, synced_at = now(), refusals = 0, retry_at = null, trouble = null,
    reason = null
  -- A transaction that has locked the row is about to give it another revision; neither waits for the other.
  where r.name = (
    select free.name from app_private.graph_references as free where free.name = note_list_written.name
    for no key update skip locked
  );
end;
comment on function app_private.note_list_written is 'Notes that the graph holds this revision of a list.';

create function app_private.mark_references(name text default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- The store may accept the changed list, so it is tried at once.
  update app_private.graph_references as r set revision = r.revision + 1, retry_at = null
  where r.name = coalesce(mark_references.name, r.name);
  perform app_private.wake_projection();
end
$$;
comment on function app_private.mark_references is
  'Marks a list, or all of them, so that its named graph is written again, and wakes the worker.';

create function app_private.mark_reference() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.mark_references(tg_table_name);
  return null;
end
$$;
comment on function app_private.mark_reference is
  'Statement trigger: marks the list, so that its named graph is written again.';

do $$
declare
  list text;
begin
  for list in
    select r.name from app_private.graph_references as r
    where to_regclass('app_public.' || r.name) is not null and r.name <> 'organizations'
  loop
    execute format(
      'create trigger project after insert or update or delete or truncate on app_public.%I
         for each statement execute function app_private.mark_reference()', list);
  end loop;
end
$$;

create function app_private.mark_organizations() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  is_visible boolean;
begin
  if tg_op = 'INSERT' then
    is_visible := exists (select from after where after.status = 'active');
  elsif tg_op = 'DELETE' then
    is_visible := exists (select from before where before.status = 'active');
  else
    is_visible := exists (
      (select b.org_uri, b.name, b.type, b.website from before as b where b.status = 'active'
       except select a.org_uri, a.name, a.type, a.website from after as a where a.status = 'active')
      union all
      (select a.org_uri, a.name, a.type, a.website from after as a where a.status = 'active'
       except select b.org_uri, b.name, b.type, b.website from before as b where b.status = 'active'));
  end if;
  if is_visible then
    perform app_private.mark_references('organizations');
  end if;
  return null;
end
$$;
comment on function app_private.mark_organizations is
  'Statement trigger: marks the organizations when something has changed that the graph shows. Proposals and domains, which '
  'change more often and are not in the graph, do not cause the whole list to be written again.';
create trigger project_truncate after truncate on app_public.organizations
  for each statement execute function app_private.mark_reference();
create trigger project_insert after insert on app_public.organizations referencing new table as after
  for each statement execute function app_private.mark_organizations();
create trigger project_update after update on app_public.organizations
  referencing old table as before new table as after
  for each statement execute function app_private.mark_organizations();
create trigger project_delete after delete on app_public.organizations referencing old table as before
  for each statement execute function app_private.mark_organizations();

create function app_private.publish_document(name text, document text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update app_private.graph_references as r set document = publish_document.document
  where r.name = publish_document.name and r.document is distinct from publish_document.document;
  if found then
    perform app_private.mark_references(publish_document.name);
  end if;
end
$$;
comment on function app_private.publish_document is
  'Stores the text of a list that is a file, and marks the list if the text has changed.';

create function app_private.graph_behind_since() returns timestamptz
language sql stable
return least(
  (select min(d.dirty_since) from app_private.dirty_records as d),
  (select '-infinity'::timestamptz from app_private.due_references limit 1),
  (select min(r.retry_at) from app_private.graph_records as r
   where r.retry_at is not null and r.state = 'rejected' and app_private.is_due(r.retry_at)),
  (select min(w.created_at) from app_private.graph_wakeups as w));
comment on function app_private.graph_behind_since is
  'Since when something has been waiting to be written to the graph, except what was refused a moment ago; null if nothing '
  'is. -infinity for a list, whose time is not known.';

create function app_private.has_unknown_people_group(codes text[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
return cardinality(codes) > 0
  and exists (select from app_public.people_groups)
  and exists (
    select from unnest(codes) as named (rop3)
    where not exists (select from app_public.people_groups as p where p.rop3 = named.rop3)
  );
comment on function app_private.has_unknown_people_group is
  'Whether a list names a people group that the registry lacks; never true until a registry has been imported.';

create function app_private.recheck_records(moved_codes text[] default '{}') returns bigint
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  with affected as (
    -- A record that was refused may pass now.
    select r.kind, r.record_id from app_private.graph_records as r where r.state = 'rejected'
    union
    -- A record that is being checked right now may be checked against the old lists.
    select d.kind, d.record_id from app_private.dirty_records as d
    union
    select 'need', n.need_id from app_public.needs as n
    where n.accelerators && moved_codes or app_private.has_unknown_people_group(n.concerns_people_group_rop3)
    union
    select 'commitment', c.commitment_id from app_public.commitments as c
    where c.accelerator_scope && moved_codes or app_private.has_unknown_people_group(c.concerns_people_group_rop3)
    union
    select 'engagement_claim', e.claim_id from app_public.engagement_claims as e
    where e.engagement_accelerators && moved_codes
      or app_private.has_unknown_people_group(array_remove(array[e.people_group_rop3], null))
  ),
  marked as (
    select app_private.mark_records(a.kind, array_agg(a.record_id)) as records from affected as a group by a.kind
  )
  select coalesce(sum(m.records), 0)::bigint from marked as m;
end;
comment on function app_private.recheck_records is
  'Marks the records whose load check may come out differently with the current lists, and those that carry '
  'one of the given accelerator codes; returns how many.';

create function app_private.recheck_later(moved_codes text[] default '{}') returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform graphile_worker.add_job('recheck_records',
    (app_private.job_payload()::jsonb || jsonb_build_object('moved', moved_codes))::json);
end
$$;
comment on function app_private.recheck_later is
  'Adds a job that runs recheck_records once more after this transaction has committed: for records that are written and '
  'checked against the old lists until then.';

create function app_private.import_accelerators(list jsonb, left_out text[] default '{}') returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  moved text[];
  added bigint;
  changed bigint;
  deprecated bigint;
  result jsonb;
begin
  -- One import at a time, so that the moved codes are found by comparison with the previous edition.
  lock table app_public.accelerators in share row exclusive mode;
  select coalesce(array_agg(a.code), '{}') into moved
  from app_public.accelerators as a
  join jsonb_to_recordset(list) as i (code text, "conceptUri" text) using (code)
  where a.concept_uri <> i."conceptUri";

  with written as (
    insert into app_public.accelerators as a (code, concept_uri, kind, pref_label, definition, broader_code)
    select i.code, i."conceptUri", i.kind, i."prefLabel", i.definition, i."broaderCode"
    from jsonb_to_recordset(list) as i (
      code text, "conceptUri" text, kind app_public.accelerator_kind, "prefLabel" text, definition text,
      "broaderCode" text)
    on conflict (code) do update
      set concept_uri = excluded.concept_uri, kind = excluded.kind, pref_label = excluded.pref_label,
          definition = excluded.definition, broader_code = excluded.broader_code, deprecated_at = null
      where (a.concept_uri, a.kind, a.pref_label, a.definition, a.broader_code, a.deprecated_at)
        is distinct from (excluded.concept_uri, excluded.kind, excluded.pref_label, excluded.definition,
          excluded.broader_code, null)
    returning xmax = 0 as is_new
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into added, changed from written;

  update app_public.accelerators as a set deprecated_at = now()
  where a.deprecated_at is null
    and not exists (select from jsonb_to_recordset(list) as i (code text) where i.code = a.code)
    and not (a.code = any (left_out) or a.concept_uri = any (left_out));
  get diagnostics deprecated = row_count;

  result := jsonb_build_object('added', added, 'changed', changed, 'deprecated', deprecated,
    'rechecked', app_private.recheck_records(moved));
  perform app_private.note_administration('list', 'accelerators', result);
  perform app_private.recheck_later(moved);
  return result;
end
$$;
comment on function app_private.import_accelerators is
  'Imports a complete edition of the accelerator scheme, [{code, conceptUri, kind, prefLabel, definition, broaderCode}]. A '
  'code missing from it is deprecated, not deleted; one in left_out, by its code or URI, stays as it is. Returns {added, '
  'changed, deprecated, rechecked}.';

create function app_private.import_people_groups(list jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  added bigint;
  changed bigint;
  result jsonb;
begin
  with written as (
    insert into app_public.people_groups as p (rop3, name)
    select distinct on (i.rop3) i.rop3, i.name
    from rows from (jsonb_to_recordset(list) as (rop3 text, name text)) with ordinality as i (rop3, name, place)
    order by i.rop3, i.place desc
    on conflict (rop3) do update set name = excluded.name where p.name <> excluded.name
    returning xmax = 0 as is_new
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into added, changed from written;
  result := jsonb_build_object('added', added, 'changed', changed, 'rechecked', app_private.recheck_records());
  perform app_private.note_administration('list', 'people_groups', result);
  perform app_private.recheck_later();
  return result;
end
$$;
comment on function app_private.import_people_groups is
  'Adds people groups to the registry or renames them, [{rop3, name}]; the last mention of a code counts. '
  'Returns {added, changed, rechecked}.';
