-- Church search: who may search, which inputs are valid, and where the next page begins.

create policy read on app_public.churches for select to api_read using (true);
create policy read on app_private.church_words for select to api_read using (true);
create policy read on app_private.church_tags for select to api_read using (true);

create function app_private.church_query_problems(query app_private.church_query) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  problems jsonb := jsonb '[]';
  given jsonb := jsonb_strip_nulls(to_jsonb(query));
  part text;
begin
  if given ?| array['center_lat', 'center_lng', 'radius_km'] then
    foreach part in array array['center_lat', 'center_lng', 'radius_km'] loop
      if not given ? part then
        problems := problems || app_private.problem(part, 'is required: a radius search needs center_lat, center_lng and radius_km');
      end if;
    end loop;
  end if;
  if given ?| array['min_lat', 'max_lat', 'min_lng', 'max_lng'] then
    foreach part in array array['min_lat', 'max_lat', 'min_lng', 'max_lng'] loop
      if not given ? part then
        problems := problems || app_private.problem(part, 'is required: a box needs min_lat, max_lat, min_lng and max_lng');
      end if;
    end loop;
  end if;
  foreach part in array array['center_lat', 'min_lat', 'max_lat'] loop
    if (given ->> part)::double precision not between -90 and 90 then
      problems := problems || app_private.problem(part, 'must be a latitude from -90 to 90');
    end if;
  end loop;
  foreach part in array array['center_lng', 'min_lng', 'max_lng'] loop
    if (given ->> part)::double precision not between -180 and 180 then
      problems := problems || app_private.problem(part, 'must be a longitude from -180 to 180');
    end if;
  end loop;
  if query.min_lat > query.max_lat then
    problems := problems || app_private.problem('min_lat', 'must not be north of max_lat');
  end if;
  if query.radius_km not between 0.1 and 200 then
    problems := problems || app_private.problem('radius_km', 'must be from 0.1 to 200 kilometres');
  end if;
  if query.country is not null and app_private.country_of(query.country) is null then
    problems := problems || app_private.problem('country',
      'must be a country: its ISO 3166-1 code of two or three letters, or its name');
  end if;
  foreach part in array array['q', 'country', 'region', 'locality', 'postal_code', 'id', 'church_name'] loop
    if char_length(given ->> part) > 200 then
      problems := problems || app_private.problem(part, 'must have at most 200 characters');
    end if;
  end loop;
  if length(app_private.church_document(query.q, null, null, null, null, null)) = 0 and query.q is not null then
    problems := problems || app_private.problem('q', 'must contain a letter or a digit');
  end if;
  foreach part in array array['languages', 'programs', 'belief'] loop
    if jsonb_array_length(given -> part) > 100 then
      problems := problems || app_private.problem(part, 'must have at most 100 items');
    elsif exists (select from jsonb_array_elements_text(given -> part) as item where char_length(item) > 200) then
      problems := problems || app_private.problem(part, 'must have items of at most 200 characters');
    end if;
  end loop;
  return problems;
end
$$;
comment on function app_private.church_query_problems is 'Problems with the inputs of a church search, on their own and in combination.';

create function app_private.parted(items text[]) returns text[]
language sql immutable
return (select array_agg(part) from unnest(items) as item, unnest(string_to_array(item, ',')) as part);
comment on function app_private.parted is 'The items of a list in which an item may be several, separated by commas.';

create function app_private.within_range(longitude double precision) returns double precision
language sql immutable
return case
  when longitude between -180 and 180 or abs(longitude) > 36000 then longitude
  else longitude - 360 * floor((longitude + 180) / 360)
end;
comment on function app_private.within_range is
  'The longitude from -180 to 180 of the same meridian, for a map that was turned around more than once; beyond a hundred '
  'turns it is left as it is.';

create function app_private.church_limit(asked integer) returns integer
language sql immutable
return coalesce(asked, 20);
comment on function app_private.church_limit is
  'The number of churches that a search asks for, or the default where it does not say.';

create function app_private.church_limit_problems(value integer) returns jsonb
language sql immutable
return case when value between 1 and 10000 then '[]' else app_private.problem('limit', 'must be from 1 to 10000') end;
comment on function app_private.church_limit_problems is 'Problems with the number of churches asked for.';

-- Cursors.

create function app_private.church_cursor(fingerprint text, ordering text, value double precision, church_id text)
returns text
language sql immutable
return translate(encode(convert_to(json_build_array(fingerprint, ordering, value, church_id)::text, 'utf8'), 'base64'),
  E'+/=\n', '-_');
comment on function app_private.church_cursor is
  'Where a page of a church search ended: which search, in which order, at which sort value, at which church.';

create function app_private.refuse_church_cursor() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.refuse_problems(app_private.problem('cursor',
    'does not belong to this search; use next_cursor with the same filters as the page it came with'));
end;
comment on function app_private.refuse_church_cursor is 'Refuses a cursor with 400 validation_failed.';

-- Anybody can make up a cursor, so its contents are checked: an order that the search would not have chosen could
-- mean that all churches are ranked for a single page.
create function app_private.read_church_cursor(cursor text, fingerprint text, orderings text[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  place jsonb;
begin
  begin
    place := convert_from(
      decode(translate(cursor, '-_', '+/') || repeat('=', (4 - length(cursor) % 4) % 4), 'base64'), 'utf8')::jsonb;
  exception when data_exception then
    place := null;
  end;
  if place is null or jsonb_typeof(place) <> 'array' or jsonb_array_length(place) <> 4
    or place ->> 0 is distinct from fingerprint
    or place ->> 1 is null or place ->> 1 <> all (orderings)
    or jsonb_typeof(place -> 2) <> 'number' or abs((place ->> 2)::numeric) > 1000
    or jsonb_typeof(place -> 3) <> 'string'
  then
    perform app_private.refuse_church_cursor();
  end if;
  return place;
end
$$;
comment on function app_private.read_church_cursor is
  'Reads a cursor written by church_cursor; refuses with 400 anything else, a cursor from a search with other filters, and '
  'an order that the search cannot have.';
