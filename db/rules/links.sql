-- Relations that no foreign key expresses: the records of an accelerator, a country or a people group, and what an
-- organization has done.

create function app_private.is_rare(kind app_public.record_kind, accelerator text, country text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.record_total(kind, accelerator => is_rare.accelerator, country => is_rare.country)::float8 ^ 2
    <= app_private.record_total(kind) * 50;
end;
comment on function app_private.is_rare is
  'Whether so few records of a kind have an accelerator, concern a country, or both, that looking them all up takes fewer '
  'steps than going through the newest records until a page of 50 is found. null: any.';

do $make$
declare
  linked record;
begin
  for linked in
    select links.*, t.kind, r.relname as recorded, code.attname as "column", code.atttypid = 'text[]'::regtype as is_list,
      (select string_agg(format('r.%I', a.attname), ', ' order by a.attnum) from pg_attribute as a
       where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped) as columns
    from app_private.record_tables as t
    join pg_class as r on r.oid = t.recorded
    cross join (values
      ('accelerators', 'code', 'with the accelerator', 'app_private.is_rare(%L, accelerators.code, null)'),
      ('countries', 'alpha2', 'that concern the country', 'app_private.is_rare(%L, null, countries.alpha2)'),
      -- There are thousands of people groups, and no totals are kept of them.
      ('people_groups', 'rop3', 'that concern the people group', 'true')
    ) as links (list, key, holds, is_rare)
    join pg_attribute as code on code.attrelid = r.oid
      and code.attname = case links.list when 'accelerators' then t.accelerators when 'countries' then t.countries
        else case t.kind when 'engagement_claim' then 'people_group_rop3' else 'concerns_people_group_rop3' end end
  loop
    execute format(
      $text$
        -- Without a search_path of its own, so that PostgreSQL can inline it into the statement that takes a page of it. The
        -- body is a text: otherwise the function would depend on all columns, and no migration could change one.
        create function app_public.%1$s_%2$s(%1$s app_public.%1$s) returns setof app_public.%2$s
        language sql stable
        as $body$
          %3$s
        $body$;
        comment on function app_public.%1$s_%2$s is %4$L;
      $text$,
      linked.list, linked.recorded,
      case when linked.is_list
        -- In an inlined function PostgreSQL assumes an average code, and would go through all records, newest first, for a
        -- code that few records have. So there are two branches, of which is_rare selects one: through the newest records, or
        -- by the index of the code, which `offset 0` keeps the planner from turning into the first.
        then format(
          $body$
          select %1$s
          from (
            select r.*, false as is_rare from app_public.%2$I as r
            union all
            select rare.*, true from (
              select r.* from app_public.%2$I as r where r.%3$I @> array[%4$I.%5$I] offset 0) as rare
          ) as r
          where r.%3$I @> array[%4$I.%5$I] and r.is_rare = %6$s;
          $body$,
          linked.columns, linked.recorded, linked.column, linked.list, linked.key, format(linked.is_rare, linked.kind))
        else format('select r.* from app_public.%I as r where r.%I = %I.%I;',
          linked.recorded, linked.column, linked.list, linked.key)
      end,
      -- In GraphQL it is a list like those of foreign keys.
      format(E'@behavior +filterProc +order\nThe %s %s.', replace(linked.recorded, '_', ' '), linked.holds));
  end loop;
end
$make$;

create function app_public.organizations_activity(organizations app_public.organizations)
returns setof app_public.status_history
language plpgsql stable rows 100
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    $query$
      select %s from app_public.status_history as h
      where h.status_history_id in (
        select n.status_history_id from app_public.needs as r join app_public.status_history as n on n.need_id = r.need_id
        where r.org_uri = $1
        union all
        select c.status_history_id from app_public.commitments as r
        join app_public.status_history as c on c.commitment_id = r.commitment_id
        where r.org_uri = $1
        union all
        select e.status_history_id from app_public.engagement_claims as r
        join app_public.status_history as e on e.engagement_claim_id = r.claim_id
        where r.org_uri = $1)
      order by h.changed_at desc, h.status_history_id desc
    $query$,
    -- Only reviewers see the key and the token (grants.sql); for everybody else these columns are null.
    (select string_agg(
        case when has_column_privilege(a.attrelid, a.attnum, 'select') then format('h.%I', a.attname)
          else format('null::%s', a.atttypid::regtype) end,
        ', ' order by a.attnum)
      from pg_attribute as a
      where a.attrelid = 'app_public.status_history'::regclass and a.attnum > 0 and not a.attisdropped)
  ) using organizations.org_uri;
end
$$;
comment on function app_public.organizations_activity is
  'What the organization has done, newest first: each status of each of its needs, commitments and engagement claims.';
