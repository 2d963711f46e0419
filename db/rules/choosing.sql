-- Lists that are searched while typing: finds organizations, people groups and countries by parts of their names.

create policy read on app_public.country_names for select to api_read using (true);

create function app_private.containing(part text) returns text
language sql immutable
return '%' || regexp_replace(part, '[\\%_]', '\\\&', 'g') || '%';
comment on function app_private.containing is 'A LIKE pattern for texts that contain this one.';

create function app_private.parts_of(q text) returns text[]
language sql immutable
set search_path = pg_catalog, pg_temp
begin atomic
  -- The longest first: an index is used for the first only, and the longest matches the fewest rows.
  select coalesce(
    array_agg(app_private.containing(part)
      order by char_length(part) desc, part),
    '{%}')
  from unnest(string_to_array(app_private.fold(app_private.trimmed(q)), ' ')) as part where part <> '';
end;
comment on function app_private.parts_of is
  'The words of what was typed, as LIKE patterns that match them anywhere; one that matches everything if there are no words.';

create function app_private.organizations_named(q text) returns setof app_public.organizations
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
begin atomic
  -- Security definer, because under row-level security no index finds parts of a text (leakproof.sql).
  select o.*
  from app_public.organizations as o, app_private.parts_of(q) as parts
  where o.status = 'active'
    -- Two indexes, one for each expression, find the first part.
    and (app_private.fold(o.name || ' ' || coalesce(o.domain, '')) like parts[1] or app_private.fold(o.website) like parts[1])
    and app_private.fold(concat_ws(' ', o.name, o.domain, o.website)) like all (parts);
end;
comment on function app_private.organizations_named is
  'The public organizations whose name, domain or website contains each of the words, also within a longer word, ignoring '
  'case and accents.';

create view rest.organizations with (security_invoker = true) as
select org_uri as "orgUri", name as "orgName", type as "orgType", website as "orgWebsite", domain as "orgDomain"
from app_public.organizations;
comment on view rest.organizations is 'The item of GET /v0/organizations.';

create function app_private.people_groups_named(q text) returns setof app_public.people_groups
language sql stable
set search_path = pg_catalog, public, pg_temp
begin atomic
  select p.*
  from app_public.people_groups as p, app_private.parts_of(q) as parts
  where app_private.fold(p.rop3 || ' ' || p.name) like parts[1]
    and app_private.fold(p.rop3 || ' ' || p.name) like all (parts);
end;
comment on function app_private.people_groups_named is
  'The people groups whose name or code contains each of the words, also within a longer word, ignoring case and accents.';

create view app_private.names_of_countries with (security_invoker = true) as
select c.alpha2, app_private.fold(called) as name
from app_public.countries as c
cross join lateral (
  values (c.name),
    -- "Cocos (Keeling) Islands", "Virgin Islands, British"
    (regexp_replace(c.name, ' *\([^)]*\)', '')),
    (regexp_replace(c.name, '^(.*), (.*)$', '\2 \1'))
) as forms (called)
union
select alpha2, app_private.fold(name) from app_public.country_names;
comment on view app_private.names_of_countries is
  'Every name by which a country can be found, in lower case and without accents.';

create function app_private.country_of(named text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  found text;
begin
  select c.alpha2 into found from app_public.countries as c where upper(btrim(named)) in (c.alpha2, c.alpha3);
  if found is null then
    select min(n.alpha2) into found from app_private.names_of_countries as n where n.name = app_private.fold(btrim(named));
  end if;
  return found;
end
$$;
comment on function app_private.country_of is
  'The alpha-2 code of a country that is given by a code of two or three letters or by a name; null where there is none.';
