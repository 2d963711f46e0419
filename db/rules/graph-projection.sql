-- How a change of a record comes to the graph's notice.
-- The row in graph_records is the durable fact: dirty while its revision is not the one the graph holds.
-- The job is only a wake-up; the worker reads what is dirty, never what a job says.

create function app_private.mark_for_projection() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  case tg_table_name
    when 'needs' then
      insert into app_private.graph_records as r (kind, record_id)
      select 'need', need_id from changed
      on conflict (kind, record_id) do update
        set revision = r.revision + 1, dirty_since = coalesce(r.dirty_since, now()), state = 'pending';
    when 'commitments' then
      insert into app_private.graph_records as r (kind, record_id)
      select 'commitment', commitment_id from changed
      on conflict (kind, record_id) do update
        set revision = r.revision + 1, dirty_since = coalesce(r.dirty_since, now()), state = 'pending';
    when 'engagement_claims' then
      insert into app_private.graph_records as r (kind, record_id)
      select 'engagement_claim', claim_id from changed
      on conflict (kind, record_id) do update
        set revision = r.revision + 1, dirty_since = coalesce(r.dirty_since, now()), state = 'pending';
  end case;
  perform app_private.wake_projection();
  return null;
end
$$;
comment on function app_private.mark_for_projection is
  'Statement trigger: marks the changed records dirty, in the caller''s transaction, and wakes the worker.';

create function app_private.wake_projection() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A wake-up that no job has begun with is joined: its key-share lock keeps the worker from taking the row
  -- away before this transaction has committed, so the job cannot miss what it wrote.
  perform from app_private.graph_wakeups limit 1 for key share skip locked;
  if not found then
    insert into app_private.graph_wakeups default values;
    perform graphile_worker.add_job('project_records');
  end if;
end
$$;
comment on function app_private.wake_projection is
  'Makes sure that a project_records job starts after this transaction commits; joins one that waits where it can.';

create function app_public.record_graph_status(kind app_public.record_kind, record_id uuid)
returns app_public.graph_status
language sql stable
begin atomic
  select coalesce(
    (select case when r.revision <> r.synced_revision then 'pending' else r.state end
     from app_private.graph_records as r
     where r.kind = record_graph_status.kind and r.record_id = record_graph_status.record_id),
    'pending');
end;
comment on function app_public.record_graph_status is
  E'@behavior -*\nWhether the graph holds the record''s current revision (synced), will (pending), or refused it (rejected).';

create function app_public.record_graph_errors(kind app_public.record_kind, record_id uuid) returns jsonb
language sql stable
begin atomic
  select coalesce(
    (select r.errors from app_private.graph_records as r
     where r.kind = record_graph_errors.kind and r.record_id = record_graph_errors.record_id
       and r.state = 'rejected' and r.revision = r.synced_revision),
    '[]');
end;
comment on function app_public.record_graph_errors is
  E'@behavior -*\nWhat the load check found wrong with the record, as [{path, message}]; empty unless it is rejected.';

create policy read on app_private.graph_records for select to api_read using (true);

do $$
declare
  recorded regclass;
begin
  foreach recorded in array array['app_public.needs', 'app_public.commitments', 'app_public.engagement_claims']::regclass[] loop
    execute format(
      'create trigger project_insert after insert on %s referencing new table as changed
         for each statement execute function app_private.mark_for_projection()', recorded);
    execute format(
      'create trigger project_update after update on %s referencing new table as changed
         for each statement execute function app_private.mark_for_projection()', recorded);
    execute format(
      'create trigger project_delete after delete on %s referencing old table as changed
         for each statement execute function app_private.mark_for_projection()', recorded);
  end loop;
end
$$;

create view rest.health with (security_invoker = true) as
select
  count(*) filter (where r.revision <> r.synced_revision) as pending,
  coalesce(extract(epoch from now() - min(r.dirty_since) filter (where r.revision <> r.synced_revision)), 0)::float8
    as "oldestPendingSeconds",
  count(*) filter (where r.state = 'rejected') as rejected
from app_private.graph_records as r
where r.revision <> r.synced_revision or r.state = 'rejected';
comment on view rest.health is 'How far the graph is behind the tables, for GET /v0/health.';
