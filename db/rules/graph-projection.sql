-- How the graph learns that a record has changed. The row in graph_records is the durable fact: a record is dirty
-- while its revision is not the one that the graph holds. The job is only a wake-up; the worker reads the dirty
-- records, never the contents of a job.

create function app_private.retry_after(refusals bigint) returns interval
language sql immutable
set search_path = pg_catalog, pg_temp
return least(interval '1 second' * 2 ^ least(refusals - 1, 9), interval '5 minutes');
comment on function app_private.retry_after is
  'How long to wait before sending again what the store has refused so many times in a row: one second, doubled each time, '
  'at most five minutes.';

create function app_private.is_due(retry_at timestamptz) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
-- A time further ahead than any wait was written before the clock was set back: it counts as due.
return (retry_at > now() and retry_at <= now() + interval '5 minutes') is not true;
comment on function app_private.is_due is 'Whether something to be retried at this time should be retried now.';

create view app_private.dirty_records with (security_invoker = true) as
select r.kind, r.record_id, r.revision, r.dirty_since
from app_private.graph_records as r
where r.revision <> r.synced_revision;
comment on view app_private.dirty_records is 'The records whose current revision the graph does not hold.';

create function app_private.wake_projection() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Joins a wake-up that no job has started on yet: the key-share lock keeps the worker from removing the row before
  -- this transaction has committed, so the job cannot miss what the transaction wrote.
  perform from app_private.graph_wakeups limit 1 for key share skip locked;
  if not found then
    insert into app_private.graph_wakeups default values;
    perform graphile_worker.add_job('project_records', app_private.job_payload());
  end if;
end
$$;
comment on function app_private.wake_projection is
  'Makes sure that a project_records job starts after this transaction commits; joins a waiting one where it can.';

create function app_private.mark_records(kind app_public.record_kind, ids uuid[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  marked bigint;
begin
  insert into app_private.graph_records as r (kind, record_id)
  -- In a fixed order, so that transactions that mark the same records cannot deadlock.
  select mark_records.kind, id from unnest(ids) as id order by id
  on conflict on constraint graph_records_pkey do update
    set revision = r.revision + 1, dirty_since = coalesce(r.dirty_since, now()), state = 'pending';
  get diagnostics marked = row_count;
  if marked > 0 then
    perform app_private.wake_projection();
  end if;
  return marked;
end
$$;
comment on function app_private.mark_records is
  'Marks records dirty, whether or not they were ever marked before, and wakes the worker; returns how many.';

create function app_private.mark_refused() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  with due as materialized (
    select r.kind, r.record_id from app_private.graph_records as r
    where r.retry_at is not null and r.state = 'rejected' and app_private.is_due(r.retry_at)
    for no key update of r skip locked
  )
  select app_private.mark_records(d.kind, array_agg(d.record_id)) from due as d group by d.kind;
end;
comment on function app_private.mark_refused is
  'Marks the records that the store, not the load check, refused some time ago, so that they are sent again.';

create function app_private.mark_truncated() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  truncated constant app_public.record_kind := tg_argv[0]::app_public.record_kind;
begin
  perform app_private.mark_records(truncated, array(
    select r.record_id from app_private.graph_records as r where r.kind = truncated));
  return null;
end
$$;
comment on function app_private.mark_truncated is
  'Statement trigger (kind): TRUNCATE does not say which records are gone, so all records of the kind that were ever marked '
  'are marked.';

do $make$
declare
  recorded app_private.record_tables;
begin
  -- A function for each table: its statement is planned once, whereas one that took the names as arguments would be
  -- planned again for every row written.
  for recorded in select * from app_private.record_tables loop
    execute format(
      $text$
        create function app_private.mark_%1$s() returns trigger
        language plpgsql security definer
        set search_path = pg_catalog, pg_temp
        as $body$
        begin
          perform app_private.mark_records(%1$L, array(select %2$I from changed));
          return null;
        end
        $body$;
        comment on function app_private.mark_%1$s is
          'Statement trigger: marks the changed records dirty, in the caller''s transaction.';
        create trigger project_insert after insert on %3$s referencing new table as changed
          for each statement execute function app_private.mark_%1$s();
        create trigger project_update after update on %3$s referencing new table as changed
          for each statement execute function app_private.mark_%1$s();
        create trigger project_delete after delete on %3$s referencing old table as changed
          for each statement execute function app_private.mark_%1$s();
        create trigger project_truncate after truncate on %3$s
          for each statement execute function app_private.mark_truncated(%1$L);
      $text$,
      recorded.kind, recorded.key, recorded.recorded);
  end loop;
end
$make$;

create function app_public.record_graph_status(kind app_public.record_kind, record_id uuid)
returns app_public.graph_status
language sql stable
begin atomic
  select coalesce(
    (select r.state from app_private.graph_records as r
     where r.kind = record_graph_status.kind and r.record_id = record_graph_status.record_id),
    'pending');
end;
comment on function app_public.record_graph_status is
  E'@behavior -*\nWhether the graph holds the record''s current revision (synced), will soon (pending), or has refused it (rejected).';

create function app_public.record_graph_errors(kind app_public.record_kind, record_id uuid) returns jsonb
language sql stable
begin atomic
  select coalesce(
    (select r.errors from app_private.graph_records as r
     where r.kind = record_graph_errors.kind and r.record_id = record_graph_errors.record_id
       and r.state = 'rejected'),
    '[]');
end;
comment on function app_public.record_graph_errors is
  E'@behavior -*\nWhat the load check found wrong with the record, as [{path, message}]; empty unless it is rejected.';

create policy read on app_private.graph_records for select to api_read using (true);
