-- Links that no foreign key makes: the records of an accelerator, a country or a people group, and what an organization does.

do $make$
declare
  linked record;
begin
  for linked in
    select list.name as list, list.key, t.recorded, list.holds,
      case list.name when 'accelerators' then t.accelerators when 'countries' then t.countries else groups.column end as column
    from app_private.record_tables as t
    join (values
      ('app_public.needs'::regclass, 'concerns_people_group_rop3'), ('app_public.commitments', 'concerns_people_group_rop3'),
      ('app_public.engagement_claims', 'people_group_rop3')
    ) as groups (recorded, "column") on groups.recorded = t.recorded
    cross join (values
      ('accelerators', 'code', 'with the accelerator'), ('countries', 'alpha2', 'that concern the country'),
      ('people_groups', 'rop3', 'that concern the people group')
    ) as list (name, key, holds)
  loop
    execute format(
      $text$
        -- Without a search_path of its own, so that it can become part of the statement, which takes a page of it. As text:
        -- otherwise all columns would count as used, and no migration could change one.
        create function app_public.%1$s_%2$s(%1$s app_public.%1$s) returns setof app_public.%2$s
        language sql stable
        as $body$
          select r.* from app_public.%2$s as r where %3$s;
        $body$;
        comment on function app_public.%1$s_%2$s is %4$L;
      $text$,
      linked.list, (select c.relname from pg_class as c where c.oid = linked.recorded),
      case when (select a.atttypid from pg_attribute as a where a.attrelid = linked.recorded and a.attname = linked.column)
          = 'text[]'::regtype
        then format('r.%I @> array[%I.%I]', linked.column, linked.list, linked.key)
        else format('r.%I = %I.%I', linked.column, linked.list, linked.key) end,
      -- In GraphQL a list like those that foreign keys make.
      format(E'@behavior +filterProc +order\nThe %s %s.', replace(linked.recorded::text, 'app_public.', ''), linked.holds));
  end loop;
end
$make$;

create function app_public.organizations_activity(organizations app_public.organizations)
returns setof app_public.status_history
language sql stable rows 100
begin atomic
  select h.* from app_public.status_history as h
  where h.status_history_id in (
    select n.status_history_id from app_public.needs as r join app_public.status_history as n on n.need_id = r.need_id
    where r.org_uri = organizations.org_uri
    union all
    select c.status_history_id from app_public.commitments as r
    join app_public.status_history as c on c.commitment_id = r.commitment_id
    where r.org_uri = organizations.org_uri
    union all
    select e.status_history_id from app_public.engagement_claims as r
    join app_public.status_history as e on e.engagement_claim_id = r.claim_id
    where r.org_uri = organizations.org_uri)
  order by h.changed_at desc, h.status_history_id desc;
end;
comment on function app_public.organizations_activity is
  'What the organization has done, newest first: each status of each of its needs, commitments and engagement claims.';
