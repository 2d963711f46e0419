-- Church search: the JSON that REST and MCP return.

-- Built from the catalog, so that a column added by a migration is included. A view, because listing the columns
-- in each request would cost more than the rest of reading a church.
do $$
begin
  execute (
    select format('create view rest.churches with (security_invoker = true) as select %s from app_public.churches',
      string_agg(quote_ident(attname), ', ' order by attnum))
    from pg_attribute
    where attrelid = 'app_public.churches'::regclass and attnum > 0 and not attisdropped and attgenerated = '');
end
$$;
comment on view rest.churches is
  'The record of GET /v0/orgs/{id}: the columns of a church except those computed for the search.';

-- The columns are described in db/churches/columns.ts, for GraphQL too.
comment on column app_public.churches.country is null;
comment on column app_public.churches.ministry_names is null;
comment on column app_public.churches.extraction_confidence is null;

create function app_public.churches_geojson(church app_public.churches) returns json
language sql stable
return case when church.latitude is not null then
  json_build_object('type', 'Point', 'coordinates', json_build_array(church.longitude, church.latitude))
end;
comment on function app_public.churches_geojson is 'The location as a GeoJSON Point; null where it is not known.';

create function app_private.church_fields(search app_private.church_query, wanted text[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  columns text[] := array(
    select attname from pg_attribute
    where attrelid = 'rest.churches'::regclass and attnum > 0 and not attisdropped order by attnum);
  valid text[] := columns || '{distance_m,geojson}';
begin
  if cardinality(wanted) > 0 then
    perform app_private.refuse_problems(coalesce(
      (select jsonb_agg(app_private.problem('fields',
         format('contains the unknown column %s; the columns are %s', to_json(field), array_to_string(valid, ', '))) -> 0)
       from unnest(wanted) as field where field <> all (valid)),
      '[]'));
    -- Without church_id nobody could tell which church a record is.
    return case when 'church_id' = any (wanted) then wanted else array['church_id'] || wanted end;
  end if;
  return columns || case when search.radius_km is not null then '{distance_m}'::text[] else '{}' end;
end
$$;
comment on function app_private.church_fields is
  'The columns of each record in a search result: church_id and those asked for, or else all. Refuses with 400 a name that is not a column.';

-- A loop, not a single statement, so that churches that do not fit are not turned into JSON, which is nine tenths of the work.
create function app_private.church_page_in_pieces(body jsonb, max_bytes bigint, place jsonb default null) returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- As much as a server can read, hash and compress without keeping other requests waiting.
  most_of_piece constant integer := 60000;
  -- As many churches as the database finds in some tens of milliseconds. Far from the middle of a box or a radius
  -- most of the time is spent on getting to the beginning of a part, so after a slow part the next one is twice as
  -- long: otherwise each of twenty parts would take that time.
  most_of_part constant integer := coalesce((place ->> 'most')::integer, 500);
  slow_part constant interval := interval '100 ms';
  began constant timestamptz := clock_timestamp();
  search app_private.church_query := jsonb_populate_record(null::app_private.church_query, body);
  size integer := app_private.church_limit((body ->> 'limit')::integer);
  as_geojson boolean := coalesce(body ->> 'format' = 'geojson', false);
  fields text[];
  item text;
  cursor text;
  opening text := format('{%s:[', case when as_geojson then '"type":"FeatureCollection","features"' else '"items"' end);
  listed integer := coalesce((place ->> 'listed')::integer, 0);
  end_of_part integer := case when place is null then size else least(size, listed + most_of_part) end;
  piece text[] := array[]::text[];
  bytes_of_piece integer := 0;
  -- The JSON around the items takes space too.
  bytes bigint := coalesce((place ->> 'bytes')::bigint, 500);
  next_cursor text;
begin
  perform app_private.refuse_problems(app_private.church_limit_problems(size));
  search.cursor := coalesce(place ->> 'cursor', search.cursor);
  fields := app_private.church_fields(search,
    app_private.distinct_items(array(select jsonb_array_elements_text(body -> 'fields'))));
  for item, cursor in execute format($sql$
    select (%s)::text, found.cursor
    from (
      select (church).*, distance_m, cursor, app_public.churches_geojson(church) as geojson
      from app_private.find_churches($1, $2 + 1)
    ) as found,
    lateral (select %s) as record $sql$,
    case when as_geojson
      then 'json_build_object(''type'', ''Feature'', ''id'', found.church_id, ''geometry'', found.geojson, ''properties'', row_to_json(record))'
      else 'row_to_json(record)' end,
    coalesce(
      (select string_agg(format('found.%I', field), ', ' order by number)
       from unnest(fields) with ordinality as asked (field, number)
       where not (as_geojson and field = 'geojson')),
      ''))
    using search, end_of_part - listed
  loop
    if listed = end_of_part and listed < size then
      return next array_to_string(piece, '');
      return next jsonb_build_object('listed', listed, 'bytes', bytes, 'cursor', next_cursor,
        'most', case when clock_timestamp() - began > slow_part then 2 * most_of_part else most_of_part end);
      return;
    end if;
    bytes := bytes + octet_length(item) + 1;
    -- A page without a church would have no cursor to continue from.
    exit when listed = size or bytes > max_bytes and listed > 0;
    piece := piece || (case when listed = 0 then opening else ',' end || item);
    bytes_of_piece := bytes_of_piece + octet_length(item);
    if bytes_of_piece >= most_of_piece then
      return next array_to_string(piece, '');
      piece := '{}';
      bytes_of_piece := 0;
    end if;
    listed := listed + 1;
    next_cursor := cursor;
    item := null;
  end loop;
  -- item is null if the loop ended with the last church.
  return next format('%s%s],"limit":%s,"has_more":%s,"next_cursor":%s}',
    case when listed = 0 then opening end, array_to_string(piece, ''), size, to_json(item is not null),
    coalesce(to_json(case when item is not null then next_cursor end)::text, 'null'));
end
$$;
comment on function app_private.church_page_in_pieces is
  'GET /v0/orgs/search: one page of a search as JSON text, with the columns and in the format asked for. It ends early, with '
  'its cursor, where it would have more than max_bytes. The rows are pieces of the text; the last has everything after the '
  'items. A caller that passes a place, at first {}, gets a part of a long page: the last row is then the place at which the '
  'next part begins, except in the last part, where it is the end of the page.';

create function app_private.church_page(body jsonb, max_bytes bigint default 100000000) returns text
language sql stable
begin atomic
  select string_agg(piece, '') from app_private.church_page_in_pieces(body, max_bytes) as page (piece);
end;
comment on function app_private.church_page is
  'church_page_in_pieces as one text, for servers of version 0.1, which keep running during a migration.';

create function app_private.church_record(body jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  answer text;
begin
  select row_to_json(c)::text into answer from rest.churches as c where c.church_id = body ->> 'id';
  if answer is null then
    perform app_private.refuse('church_not_found');
  end if;
  return answer;
end
$$;
comment on function app_private.church_record is 'GET /v0/orgs/{id}: one church as JSON text; 404 church_not_found.';
