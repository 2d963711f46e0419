-- Every status a record has had, with the person who set it.

create function app_private.record_status() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  case tg_table_name
    when 'needs' then
      insert into app_public.status_history (need_id, to_status, changed_by_email)
      select need_id, status, declared_by_email from changed;
    when 'commitments' then
      insert into app_public.status_history (commitment_id, to_status, changed_by_email)
      select commitment_id, status, declared_by_email from changed;
    when 'engagement_claims' then
      insert into app_public.status_history (engagement_claim_id, to_status, changed_by_email)
      select claim_id, status, claimed_by_email from changed;
  end case;
  return null;
end
$$;
comment on function app_private.record_status is 'Statement trigger: notes the first status of each new record.';

create function app_private.record_status_change() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  case tg_table_name
    when 'needs' then
      insert into app_public.status_history (need_id, from_status, to_status, changed_by_email)
      select need_id, before.status, changed.status, app_private.current_actor()
      from changed join before using (need_id) where changed.status <> before.status;
    when 'commitments' then
      insert into app_public.status_history (commitment_id, from_status, to_status, changed_by_email)
      select commitment_id, before.status, changed.status, app_private.current_actor()
      from changed join before using (commitment_id) where changed.status <> before.status;
    when 'engagement_claims' then
      insert into app_public.status_history (engagement_claim_id, from_status, to_status, changed_by_email)
      select claim_id, before.status, changed.status, app_private.current_actor()
      from changed join before using (claim_id) where changed.status <> before.status;
  end case;
  return null;
end
$$;
comment on function app_private.record_status_change is
  'Statement trigger: notes each change of status; setting the status a record already has is no change.';

create function app_private.touch() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function app_private.touch is 'Row trigger: stamps updated_at.';

do $$
declare
  recorded regclass;
begin
  foreach recorded in array array['app_public.needs', 'app_public.commitments', 'app_public.engagement_claims']::regclass[] loop
    execute format(
      'create trigger touch before update on %s for each row execute function app_private.touch()', recorded);
    execute format(
      'create trigger record_status after insert on %s referencing new table as changed
         for each statement execute function app_private.record_status()', recorded);
    execute format(
      'create trigger record_status_change after update on %s
         referencing new table as changed old table as before
         for each statement execute function app_private.record_status_change()', recorded);
  end loop;
end
$$;

create policy read on app_public.status_history for select to api_read using (true);
