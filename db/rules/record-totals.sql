-- How many records there are, exactly and without counting them: each statement appends by how much it changed the totals, a
-- fold adds these changes up now and then, and a query adds totals and changes in one statement, and so in one snapshot.

create policy read on app_private.record_totals for select to api_read using (true);
create policy read on app_private.record_total_changes for select to api_read using (true);

create function app_private.record_total(
  kind app_public.record_kind,
  org_uri text default null, status text default null, accelerator text default null, country text default null
) returns bigint
-- In PL/pgSQL, which keeps the plan for the session: the totals are queried with every list.
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- In the table of totals an empty text stands for all organizations, accelerators or countries.
  if '' in (org_uri, accelerator, country) then
    return 0;
  end if;
  return
    coalesce((
      select sum(t.total) from app_private.record_totals as t
      where t.kind = record_total.kind and t.org_uri = coalesce(record_total.org_uri, '')
        and t.country = coalesce(record_total.country, '') and t.accelerator = coalesce(record_total.accelerator, '')
        and (record_total.status is null or t.status = record_total.status)), 0)
    + coalesce((
      select sum(c.change) from app_private.record_total_changes as c
      where c.kind = record_total.kind
        and (record_total.org_uri is null or c.org_uri = record_total.org_uri)
        and (record_total.status is null or c.status = record_total.status)
        and (record_total.accelerator is null or record_total.accelerator = any (c.accelerators))
        and (record_total.country is null or record_total.country = any (c.countries))), 0);
end
$$;
comment on function app_private.record_total is
  'The number of records of a kind: in all, of an organization, or with an accelerator, a country or both; each also in a '
  'given status. No totals are kept of an organization together with an accelerator or a country.';

create function app_private.is_wholly_visible(kind app_public.record_kind) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
return not exists (
  select from pg_policy as p
  join app_private.record_tables as t on t.recorded = p.polrelid and t.kind = is_wholly_visible.kind
  where p.polcmd in ('r', '*') and (not p.polpermissive or pg_get_expr(p.polqual, p.polrelid) <> 'true'));
comment on function app_private.is_wholly_visible is
  'Whether every reader sees all records of a kind, as the totals count them.';

create function app_private.record_totals_by(kind app_public.record_kind, facets text[])
returns table (org_uri text, status text, accelerator text, country text, total bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  by_org_uri constant boolean not null default 'org_uri' = any (facets);
  by_status constant boolean not null default 'status' = any (facets);
  by_accelerator constant boolean not null default 'accelerator' = any (facets);
  by_country constant boolean not null default 'country' = any (facets);
begin
  -- Comparisons with '' are written into the text, not passed as parameters, so that an index can be used for them.
  return query execute format(
    $query$
      select g.org_uri, g.status, g.accelerator, g.country, sum(g.total)::bigint
      from (
        select t.org_uri, case when $3 then t.status else '' end as status, t.accelerator, t.country, t.total
        from app_private.record_totals as t
        where t.kind = $1 and t.org_uri %s '' and t.accelerator %s '' and t.country %s ''
        union all
        select case when $2 then c.org_uri else '' end, case when $3 then c.status else '' end, a.accelerator, k.country,
          c.change
        from app_private.record_total_changes as c
        cross join lateral (select distinct unnest(case when $4 then c.accelerators else array[''] end)) as a (accelerator)
        cross join lateral (select distinct unnest(case when $5 then c.countries else array[''] end)) as k (country)
        where c.kind = $1
      ) as g
      group by g.org_uri, g.status, g.accelerator, g.country
      having sum(g.total) <> 0
    $query$,
    case when by_org_uri then '<>' else '=' end,
    case when by_accelerator then '<>' else '=' end,
    case when by_country then '<>' else '=' end)
  using kind, by_org_uri, by_status, by_accelerator, by_country;
end
$$;
comment on function app_private.record_totals_by is
  'The number of records of a kind in each group by the facets org_uri, status, accelerator and country, but not by '
  'organization together with accelerator or country; columns that are not grouped by are empty texts.';

create function app_private.fold_record_totals(most integer default 20000) returns bigint
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
    delete from app_private.record_total_changes
    where ctid = any (array(select c.ctid from app_private.record_total_changes as c limit most))
    returning kind, org_uri, status, accelerators, countries, change
  ), summed as (
    insert into app_private.record_totals as t (kind, org_uri, status, accelerator, country, total)
    select n.kind, o.org_uri, n.status, a.accelerator, c.country, sum(n.change)
    from taken as n
    cross join lateral (values (''), (n.org_uri)) as o (org_uri)
    cross join lateral (select '' union select unnest(n.accelerators)) as a (accelerator)
    cross join lateral (select '' union select unnest(n.countries)) as c (country)
    -- Organizations combined with accelerators or countries would give as many totals as records.
    where o.org_uri = '' or (a.accelerator = '' and c.country = '')
    group by n.kind, o.org_uri, n.status, a.accelerator, c.country having sum(n.change) <> 0
    on conflict on constraint record_totals_pkey do update set total = t.total + excluded.total
  )
  select count(*) into folded from taken;
  return folded;
end
$$;
comment on function app_private.fold_record_totals is
  'Adds the changes made by writes since the last fold to the totals, some thousand at a time; does nothing while another '
  'fold is running. Returns how many changes it added.';

create function app_private.recount_records(kind app_public.record_kind) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  recorded app_private.record_tables;
begin
  select * into recorded from app_private.record_tables as t where t.kind = recount_records.kind;
  perform pg_advisory_xact_lock(hashtextextended('app_private.record_totals', 0));
  -- In one statement, and so in one snapshot: a write is either among the records counted, and its note is deleted,
  -- or neither. So no writer has to wait.
  execute format(
    'with summed as (delete from app_private.record_totals where kind = $1),
       noted as (delete from app_private.record_total_changes where kind = $1)
     insert into app_private.record_total_changes (kind, org_uri, status, accelerators, countries, change)
     select $1, org_uri, status, %2$I, app_private.listed(%3$I), count(*) from %1$s
     group by org_uri, status, %2$I, %3$I',
    recorded.recorded, recorded.accelerators, recorded.countries)
  using recount_records.kind;
end
$$;
comment on function app_private.recount_records is
  'Recounts the records of a kind while they are in use; for totals that were damaged by hand.';

create function app_private.listed(items text[]) returns text[]
language sql immutable
return items;
comment on function app_private.listed(text[]) is 'The list itself, for columns that hold a list.';
create function app_private.listed(item text) returns text[]
language sql immutable
return array_remove(array[item], null);
comment on function app_private.listed(text) is
  'A list of the value, empty if it is null, for columns that hold a single value.';

create function app_private.recount_truncated() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.recount_records(t.kind) from app_private.record_tables as t where t.recorded = tg_relid;
  return null;
end
$$;
comment on function app_private.recount_truncated is 'Statement trigger: recounts the records of a table that was truncated.';

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
          ('insert', 'new table as added', 'select *, 1 as change from added'),
          ('delete', 'old table as removed', 'select *, -1 as change from removed'),
          ('update', 'new table as added old table as removed',
           'select *, 1 as change from added union all select *, -1 from removed')
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
            is_fold_overdue boolean;
          begin
            with noted as (
              insert into app_private.record_total_changes (kind, org_uri, status, accelerators, countries, change)
              select %1$L, org_uri, status, %6$I, app_private.listed(%7$I), sum(change) from (%5$s) as changes
              group by org_uri, status, %6$I, %7$I having sum(change) <> 0
              returning change_id
            )
            select bool_or(change_id %% 1000 = 0), bool_or(change_id %% 10000 = 0)
            into is_fold_due, is_fold_overdue from noted;
            if is_fold_due then
              perform graphile_worker.add_job('fold_record_totals');
            end if;
            -- Where no worker runs, the list of changes must not grow forever. In other isolation levels a concurrent
            -- fold since the snapshot would make the caller's statement fail.
            if is_fold_overdue and current_setting('transaction_isolation') = 'read committed' then
              perform app_private.fold_record_totals();
            end if;
            return null;
          end
          $body$;
          comment on function app_private.count_%1$s_%2$s is
            'Statement trigger: notes by how much the statement has changed the totals; every thousandth note adds a job '
            'that folds, every ten thousandth folds at once.';
          create trigger count_%2$s after %2$s on %3$s referencing %4$s
            for each statement execute function app_private.count_%1$s_%2$s();
        $text$,
        recorded.kind, operation.name, recorded.recorded, operation.transition_tables, operation.changes,
        recorded.accelerators, recorded.countries);
    end loop;
    execute format(
      'create trigger count_truncate after truncate on %s for each statement
       execute function app_private.recount_truncated()', recorded.recorded);
    -- Recounts if the totals are older than these triggers, that is, without accelerators, which every record has.
    -- Nobody can write until this transaction has ended.
    if not exists (
        select from app_private.record_totals as t where t.kind = recorded.kind and t.accelerator <> ''
        union all
        select from app_private.record_total_changes as c where c.kind = recorded.kind and c.accelerators is not null)
      or exists (select from app_private.record_total_changes as c where c.kind = recorded.kind and c.accelerators is null)
    then
      perform app_private.recount_records(recorded.kind);
    end if;
  end loop;
end
$make$;
