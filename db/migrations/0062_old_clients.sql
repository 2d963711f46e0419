-- Church search as the clients of the earlier service speak to it: services by the minute of the week, churches by a part
-- of their names.

-- Rules use the column, and are written anew after this.
drop view if exists rest.churches, earlier_rest.churches cascade;

create function pg_temp.minutes(times text[]) returns integer[]
language sql immutable
return nullif(array(
  select item.minute::integer
  from unnest(times) with ordinality as item (minute, place)
  where item.minute ~ '^[0-9]{1,4}$' or item.minute ~ '^100[0-7][0-9]$'
  order by place), '{}');

do $$
declare
  others bigint;
begin
  select count(*) into others from app_public.churches
  where cardinality(service_times) is distinct from cardinality(pg_temp.minutes(service_times));
  if others > 0 then
    raise warning '% churches had service times that are no minutes of the week; import these churches again', others;
  end if;
end
$$;

-- Callers wait for it, once: nothing else would keep the column in its place.
-- squawk-ignore changing-column-type, prefer-bigint-over-int
alter table app_public.churches alter column service_times type integer[] using pg_temp.minutes(service_times);
alter table app_public.churches
  -- The table has just been written anew, and is locked.
  -- squawk-ignore constraint-missing-not-valid
  add constraint churches_service_times_check check (0 <= all (service_times) and 10080 > all (service_times));

create index churches_by_part_of_name on app_public.churches using gin (app_private.fold(name) public.gin_trgm_ops);
alter type app_private.church_query add attribute church_name text;
