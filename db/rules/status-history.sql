-- The history of statuses: every status that a record has had, who set it, and when; the time is the record's own updated_at.

do $make$
declare
  recorded app_private.record_tables;
begin
  -- A function for each table, for the reason given in graph-projection.sql.
  for recorded in select * from app_private.record_tables loop
    execute format(
      $text$
        create function app_private.record_%1$s_status() returns trigger
        language plpgsql security definer
        set search_path = pg_catalog, pg_temp
        as $body$
        begin
          insert into app_public.status_history (%1$s_id, to_status, changed_by_email, changed_at)
          select %2$I, status, %3$I, updated_at from changed;
          return null;
        end
        $body$;
        comment on function app_private.record_%1$s_status is
          'Statement trigger: notes the first status of each new record.';
        create trigger record_status after insert on %4$s referencing new table as changed
          for each statement execute function app_private.record_%1$s_status();

        create function app_private.record_%1$s_status_change() returns trigger
        language plpgsql security definer
        set search_path = pg_catalog, pg_temp
        -- As in changes.sql, where an update is reported.
        set enable_nestloop = off
        as $body$
        begin
          insert into app_public.status_history (%1$s_id, from_status, to_status, changed_by_email, changed_at)
          select %2$I, before.status, changed.status, app_private.current_actor(), changed.updated_at
          from changed join before using (%2$I) where changed.status <> before.status;
          return null;
        end
        $body$;
        comment on function app_private.record_%1$s_status_change is
          'Statement trigger: notes each change of status; setting the status a record already has is not a change.';
        create trigger record_status_change after update on %4$s
          referencing new table as changed old table as before
          for each statement execute function app_private.record_%1$s_status_change();
      $text$,
      recorded.kind, recorded.key, recorded.author, recorded.recorded);
  end loop;
end
$make$;

create policy read on app_public.status_history for select to api_read using (true);
