-- How many records there are, exactly and without counting: each statement appends by how much it changed the totals,
-- a fold sums that up now and then, and whoever asks adds the two in one statement, hence of one moment.

create policy read on app_private.record_totals for select to api_read using (true);
create policy read on app_private.record_total_changes for select to api_read using (true);

create function app_private.record_total(
  kind app_public.record_kind, org_uri text default null, status text default null
) returns bigint
-- Not in SQL: its plan is kept for the session, and the totals are asked for with every list.
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- In the table of totals an empty text is no organization but all of them.
  if record_total.org_uri = '' or record_total.status = '' then
    return 0;
  end if;
  return
    coalesce((
      select t.total from app_private.record_totals as t
      where t.kind = record_total.kind
        and t.org_uri = coalesce(record_total.org_uri, '') and t.status = coalesce(record_total.status, '')), 0)
    + coalesce((
      select sum(c.change) from app_private.record_total_changes as c
      where c.kind = record_total.kind
        and (record_total.org_uri is null or c.org_uri = record_total.org_uri)
        and (record_total.status is null or c.status = record_total.status)), 0);
end
$$;
comment on function app_private.record_total is
  'How many records of a kind there are in all, of an organization, in a status, or both.';

create function app_private.fold_record_totals() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  folded bigint;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('app_private.record_totals', 0)) then
    return 0;
  end if;
  with taken as (
    delete from app_private.record_total_changes returning kind, org_uri, status, change
  ), summed as (
    insert into app_private.record_totals as t (kind, org_uri, status, total)
    select kind, coalesce(org_uri, ''), coalesce(status, ''), sum(change) from taken
    group by kind, cube (org_uri, status) having sum(change) <> 0
    on conflict on constraint record_totals_pkey do update set total = t.total + excluded.total
  )
  select count(*) into folded from taken;
  return folded;
end
$$;
comment on function app_private.fold_record_totals is
  'Adds to the totals what writes have changed since the last fold; does nothing while another is at it. Returns how many '
  'changes it added.';

create function app_private.recount_records(kind app_public.record_kind) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('app_private.record_totals', 0));
  -- In one statement, hence of one moment: a write is either among the records that are counted, and what it noted is
  -- deleted, or it is neither. So no writer has to wait.
  execute format(
    'with summed as (delete from app_private.record_totals where kind = $1),
       noted as (delete from app_private.record_total_changes where kind = $1)
     insert into app_private.record_total_changes (kind, org_uri, status, change)
     select $1, org_uri, status, count(*) from %s group by org_uri, status',
    (select t.recorded from app_private.record_tables as t where t.kind = recount_records.kind))
  using recount_records.kind;
end
$$;
comment on function app_private.recount_records is
  'Counts the records of a kind anew, while they are in use; for totals that were damaged by hand.';

create function app_private.recount_truncated() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.recount_records(t.kind) from app_private.record_tables as t where t.recorded = tg_relid;
  return null;
end
$$;
comment on function app_private.recount_truncated is 'Statement trigger: an emptied table has no records.';

do $make$
declare
  recorded app_private.record_tables;
  operation record;
begin
  -- A function for each table and operation, for the reason given in graph-projection.sql.
  for recorded in select * from app_private.record_tables loop
    for operation in
      select * from (
        values
          ('insert', 'new table as added', 'select org_uri, status, 1 as change from added'),
          ('delete', 'old table as removed', 'select org_uri, status, -1 as change from removed'),
          ('update', 'new table as added old table as removed',
           'select org_uri, status, 1 as change from added union all select org_uri, status, -1 from removed')
      ) as o (name, transition_tables, changes)
    loop
      execute format(
        $text$
          create function app_private.count_%1$s_%2$s() returns trigger
          language plpgsql security definer
          set search_path = pg_catalog, pg_temp
          as $body$
          declare
            is_fold_due boolean;
          begin
            with noted as (
              insert into app_private.record_total_changes (kind, org_uri, status, change)
              select %1$L, org_uri, status, sum(change) from (%5$s) as changes
              group by org_uri, status having sum(change) <> 0
              returning change_id
            )
            select bool_or(change_id %% 1000 = 0) into is_fold_due from noted;
            if is_fold_due then
              perform graphile_worker.add_job('fold_record_totals');
            end if;
            return null;
          end
          $body$;
          comment on function app_private.count_%1$s_%2$s is
            'Statement trigger: notes by how much the statement has changed the totals; every thousandth note asks for a fold.';
          create trigger count_%2$s after %2$s on %3$s referencing %4$s
            for each statement execute function app_private.count_%1$s_%2$s();
        $text$,
        recorded.kind, operation.name, recorded.recorded, operation.transition_tables, operation.changes);
    end loop;
    execute format(
      'create trigger count_truncate after truncate on %s for each statement
       execute function app_private.recount_truncated()', recorded.recorded);
    -- What is older than these triggers. Until this transaction has ended nobody can write.
    if not exists (select from app_private.record_totals as t where t.kind = recorded.kind)
      and not exists (select from app_private.record_total_changes as c where c.kind = recorded.kind)
    then
      perform app_private.recount_records(recorded.kind);
    end if;
  end loop;
end
$make$;
