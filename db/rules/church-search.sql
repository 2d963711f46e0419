-- Church search: what may be asked, and how it is found. One function for REST, GraphQL, MCP and SQL.

create policy read on app_public.churches for select to api_read using (true);
create policy read on app_private.church_words for select to api_read using (true);
create policy read on app_private.church_tags for select to api_read using (true);

-- The words, languages and programs that there are.

create function app_private.learn_church_terms() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- In one order, so that two imports that learn the same words wait for each other and never in a circle.
  insert into app_private.church_words (word)
  select word
  from (select distinct unnest(tsvector_to_array(document)) as word from written) as used
  where not exists (select from app_private.church_words as known where known.word = used.word collate "C")
  order by word collate "C"
  on conflict do nothing;

  insert into app_private.church_tags (kind, tag)
  select distinct kind, tag
  from (
    select 'language'::app_private.church_tag_kind as kind, app_private.fold(item) collate "C" as tag
    from (select distinct unnest(service_languages) as item from written) as languages
    union all
    select 'program', app_private.fold(item) collate "C"
    from (select distinct unnest(ministry_names) as item from written) as programs
  ) as used
  where not exists (
    select from app_private.church_tags as known where known.kind = used.kind and known.tag = used.tag
  )
  order by kind, tag
  on conflict do nothing;
  return null;
end
$$;
comment on function app_private.learn_church_terms is
  'Statement trigger: remembers every word, language and program of the churches that were written.';
create trigger learn_inserted after insert on app_public.churches
  referencing new table as written for each statement execute function app_private.learn_church_terms();
create trigger learn_updated after update on app_public.churches
  referencing new table as written for each statement execute function app_private.learn_church_terms();

-- What may be asked.

create function app_private.church_query_problems(query app_private.church_query) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  problems jsonb := '[]';
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
  if query.country is not null and not exists (
    select from app_public.countries as c where upper(query.country) in (c.alpha2, c.alpha3)
  ) then
    problems := problems || app_private.problem('country', 'must be a country code of ISO 3166-1, two or three letters');
  end if;
  if char_length(query.q) > 200 then
    problems := problems || app_private.problem('q', 'must have at most 200 characters');
  elsif length(app_private.church_document(query.q, null, null, null, null, null)) = 0 and query.q is not null then
    problems := problems || app_private.problem('q', 'must contain a letter or a digit');
  end if;
  foreach part in array array['languages', 'programs', 'belief'] loop
    if jsonb_array_length(given -> part) > 100 then
      problems := problems || app_private.problem(part, 'must have at most 100 items');
    end if;
  end loop;
  return problems;
end
$$;
comment on function app_private.church_query_problems is 'Problems of the inputs of a church search, singly and together.';

-- Cursors.

create function app_private.church_cursor(fingerprint text, ordering text, value double precision, church_id text)
returns text
language sql immutable
return translate(encode(convert_to(json_build_array(fingerprint, ordering, value, church_id)::text, 'utf8'), 'base64'),
  E'+/=\n', '-_');
comment on function app_private.church_cursor is
  'Where a page of a church search ended: of which search, in which order, at which value of it, at which church.';

create function app_private.read_church_cursor(cursor text, fingerprint text) returns jsonb
language plpgsql immutable
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
    or place ->> 1 !~ '^(id|distance|rank|name)~?$'
    or jsonb_typeof(place -> 2) <> 'number' or jsonb_typeof(place -> 3) <> 'string'
  then
    perform app_private.refuse_problems(app_private.problem('cursor',
      'is not one of this search; use next_cursor with the same filters as the page it came with'));
  end if;
  return place;
end
$$;
comment on function app_private.read_church_cursor is
  'What a cursor of church_cursor holds; refuses with 400 what is none, or belongs to a search with other filters.';

-- The parts of a search.

-- Loads pg_trgm: a role that is no superuser may name only settings that PostgreSQL knows already.
do $$ begin perform public.similarity('', ''); end $$;

create function app_private.church_text_query(terms text[], forgiving boolean) returns tsquery
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
set pg_trgm.similarity_threshold = 0.4
as $$
declare
  term text;
  lexeme text;
  found tsquery;
  alike text;
begin
  foreach term in array terms loop
    lexeme := '''' || replace(replace(term, '\', '\\'), '''', '''''') || '''';
    if forgiving and char_length(term) > 2 then
      lexeme := lexeme || ':*';
    end if;
    if forgiving and char_length(term) > 3 then
      for alike in
        select word from app_private.church_words
        where app_private.misspellings(word) && app_private.misspellings(term) or word % term
        order by similarity(word, term) desc limit 50
      loop
        lexeme := lexeme || ' | ''' || replace(replace(alike, '\', '\\'), '''', '''''') || '''';
      end loop;
    end if;
    found := coalesce(found && lexeme::tsquery, lexeme::tsquery);
  end loop;
  return found;
end
$$;
comment on function app_private.church_text_query is
  'All of the words; forgiving: each of them or a word that begins with it or is spelt much like it.';

create function app_private.church_tag_condition(
  kind app_private.church_tag_kind, list text, parts text[]
) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  patterns text[] := array(
    select '%' || replace(replace(replace(app_private.fold(btrim(part)), '\', '\\'), '%', '\%'), '_', '\_') || '%'
    from unnest(parts) as part where btrim(part) <> '');
  tags text[];
begin
  if cardinality(patterns) = 0 then
    return null;
  end if;
  tags := array(
    select t.tag from app_private.church_tags as t
    where t.kind = church_tag_condition.kind and t.tag like any (patterns) limit 1001);
  if cardinality(tags) <= 1000 then
    return format('%s && %L::text[]', list, tags);
  end if;
  return format('exists (select from unnest(%s) as item where item like any (%L::text[]))', list, patterns);
end
$$;
comment on function app_private.church_tag_condition is
  'The condition that an item of a folded list contains one of the parts: by index, unless so many items do that an index is of no use.';

create function app_private.box_hull(
  min_lat double precision, max_lat double precision, min_lng double precision, max_lng double precision
) returns public.cube
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  east double precision := case when min_lng > max_lng then max_lng + 360 else max_lng end;
  -- cos(latitude) is the distance from the axis.
  near double precision := least(cos(radians(min_lat)), cos(radians(max_lat)));
  far double precision := case when min_lat <= 0 and max_lat >= 0 then 1
    else greatest(cos(radians(min_lat)), cos(radians(max_lat))) end;
  low_x double precision := case when ceil((min_lng - 180) / 360) * 360 + 180 <= east then -1
    else least(cos(radians(min_lng)), cos(radians(east))) end;
  high_x double precision := case when ceil(min_lng / 360) * 360 <= east then 1
    else greatest(cos(radians(min_lng)), cos(radians(east))) end;
  low_y double precision := case when ceil((min_lng + 90) / 360) * 360 - 90 <= east then -1
    else least(sin(radians(min_lng)), sin(radians(east))) end;
  high_y double precision := case when ceil((min_lng - 90) / 360) * 360 + 90 <= east then 1
    else greatest(sin(radians(min_lng)), sin(radians(east))) end;
begin
  return public.cube_enlarge(public.cube(
    array[least(low_x * near, low_x * far), least(low_y * near, low_y * far), sin(radians(min_lat))],
    array[greatest(high_x * near, high_x * far), greatest(high_y * near, high_y * far), sin(radians(max_lat))]
  ), 1e-12, 3);
end
$$;
comment on function app_private.box_hull is
  'The smallest cuboid around the part of the unit sphere that a box of latitudes and longitudes covers.';

create function app_private.church_center(query app_private.church_query) returns public.cube
language sql immutable
return case
  when (query).radius_km is not null then app_private.sphere_position((query).center_lat, (query).center_lng)
  else app_private.sphere_position(
    ((query).min_lat + (query).max_lat) / 2,
    ((query).min_lng + (query).max_lng + case when (query).min_lng > (query).max_lng then 360 else 0 end) / 2)
end;
comment on function app_private.church_center is 'Where a search by place looks first: the centre of its radius, or the middle of its box.';

create function app_private.church_chord(metres double precision) returns double precision
language sql immutable
return 2 * sin(metres / 6371008.8 / 2);
comment on function app_private.church_chord is
  'The straight distance on the unit sphere that a great-circle distance has on an earth of mean radius (IUGG).';

create function app_private.church_metres(chord double precision) returns double precision
language sql immutable
return round((2 * 6371008.8 * asin(least(1, chord / 2)))::numeric, 2)::double precision;
comment on function app_private.church_metres is 'The great-circle distance of a straight distance on the unit sphere, to the centimetre.';

-- Only what is asked becomes a condition, with its values as constants: one plan for all the filters that might
-- be given would suit none that is.
create function app_private.church_conditions(query app_private.church_query) returns text[]
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
as $$
declare
  conditions text[] := '{}';
  chord double precision;
begin
  if query.id is not null then
    conditions := conditions || format('c.church_id = %L', query.id);
  end if;
  if query.country is not null then
    conditions := conditions || format('c.country = %L',
      (select alpha2 from app_public.countries as k where upper(query.country) in (k.alpha2, k.alpha3)));
  end if;
  if cardinality(query.belief) > 0 then
    conditions := conditions || format('c.belief_type = any (%L::app_public.church_belief[])', query.belief);
  end if;
  if query.trinitarian is not null then
    conditions := conditions || format('c.trinitarian = %L', query.trinitarian);
  end if;
  if query.region is not null then
    conditions := conditions || format('app_private.fold(c.region) = %L', app_private.fold(query.region));
  end if;
  if query.locality is not null then
    conditions := conditions || format('app_private.fold(c.locality) = %L', app_private.fold(query.locality));
  end if;
  if query.postal_code is not null then
    conditions := conditions
      || format('app_private.postal_key(c.postal_code) ^@ %L', app_private.postal_key(query.postal_code));
  end if;
  conditions := conditions || array_remove(array[
    app_private.church_tag_condition('language', 'app_private.fold_all(c.service_languages)', query.languages),
    app_private.church_tag_condition('program', 'app_private.fold_all(c.ministry_names)', query.programs)
  ], null);
  if query.radius_km is not null then
    chord := app_private.church_chord(query.radius_km * 1000);
    conditions := conditions
      || format('c.position <@ %L::cube', cube_enlarge(app_private.church_center(query), chord, 3))
      || format('c.position <-> %L::cube <= %L::float8', app_private.church_center(query), chord);
  end if;
  if query.min_lat is not null then
    -- In coalesce, which the planner makes no guess of: places gather, and taken for spread they seem so few that
    -- it would rather sort them all than walk them from the middle.
    conditions := conditions || format('coalesce(c.latitude between %L and %L and %s, false)',
      query.min_lat, query.max_lat,
      case when query.min_lng <= query.max_lng
        then format('c.longitude between %L and %L', query.min_lng, query.max_lng)
        else format('(c.longitude >= %L or c.longitude <= %L)', query.min_lng, query.max_lng) end);
    -- What narrows the search to few churches does so better than the index of places does for a large box.
    if coalesce(query.q, query.locality, query.postal_code, query.id) is null or query.max_lat - query.min_lat < 5 then
      conditions := conditions || format('c.position <@ %L::cube',
        app_private.box_hull(query.min_lat, query.max_lat, query.min_lng, query.max_lng));
    end if;
  end if;
  return conditions;
end
$$;
comment on function app_private.church_conditions is 'The conditions on a church c that a search stands for, but for its free text.';

-- The search. A page goes on where its cursor says: behind a value of what it is ordered by, and there behind a
-- church_id. So every church is met once, whatever is inserted meanwhile.

create function app_private.churches_in_order(
  conditions text, measure text, sort_value text, mark text[], place jsonb, take integer
) returns setof app_public.church_search_result
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
as $$
begin
  return query execute format(
    'select c, %s, app_private.church_cursor(%L, %L, %s, c.church_id) from app_public.churches as c '
    'where %s and %s order by %s c.church_id limit %s',
    measure, mark[1], mark[2], sort_value, conditions,
    case
      when place is null then 'true'
      -- A constant is no order: only the churches that share it are listed.
      when sort_value in ('0', '1') then format('c.church_id > %L', place ->> 3)
      else format('(%s, c.church_id) > (%L::float8, %L)', sort_value, place ->> 2, place ->> 3)
    end,
    case when sort_value in ('0', '1') then '' else sort_value || ', ' end, take);
end
$$;
comment on function app_private.churches_in_order is
  'The next churches under conditions, by a value and then by church_id; mark is what their cursors say of the search.';

create function app_private.churches_nearest(
  conditions text, measure text, sort_value text, mark text[], place jsonb, take integer
) returns setof app_public.church_search_result
language sql stable
set search_path = pg_catalog, public, pg_temp
-- By the index of places, whatever the planner makes of their number.
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
begin atomic
  select * from app_private.churches_in_order(conditions, measure, sort_value, mark, place, take);
end;
comment on function app_private.churches_nearest is
  'churches_in_order by distance, for a search that nothing but places narrows much.';

create function app_private.expected_churches(conditions text) returns bigint
-- PostgreSQL has EXPLAIN for something that a stable function may not do.
language plpgsql volatile
set search_path = pg_catalog, public, pg_temp
as $$
declare
  plan json;
begin
  execute 'explain (format json) select from app_public.churches as c where ' || conditions into plan;
  return (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric;
end
$$;
comment on function app_private.expected_churches is 'How many churches the planner expects under conditions.';

create function app_private.churches_by_rank(
  conditions text, words tsquery, name text, mark text[], place jsonb, take integer, most bigint,
  out matches bigint, out page app_public.church_search_result[]
) language plpgsql stable
set search_path = pg_catalog, public, pg_temp
-- By the indexes of what is asked, however common the planner takes it to be: counting stops at the most.
set enable_seqscan = off
set enable_indexscan = off
as $$
begin
  execute format($sql$
    select max(matches), array_agg((c, null, app_private.church_cursor(%L, %L, rank, (c).church_id))::app_public.church_search_result
      order by rank desc, (c).church_id)
    from (
      select c, rank, matches
      from (
        select c, rank, count(*) over () as matches
        from (
          select c, (similarity(app_private.fold(c.name), %L) + ts_rank(c.document, %L::tsquery, 2))::float8 as rank
          from app_public.churches as c where %s limit %s
        ) as matching
      ) as counted
      where %s
      order by rank desc, (c).church_id limit %s
    ) as listed $sql$,
    mark[1], mark[2], name, words, conditions,
    case when place is null then (most + 1)::text else 'all' end,
    case when place is null then 'true'
      else format('(-rank, (c).church_id) > (-%L::float8, %L)', place ->> 2, place ->> 3) end,
    take)
  into matches, page;
end
$$;
comment on function app_private.churches_by_rank is
  'The next churches under conditions, best match of the words and the name first, and how many match in all; '
  'a first page gives up ranking when there are more than the most.';

create function app_private.find_churches(query app_private.church_query, take integer)
returns setof app_public.church_search_result
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
as $$
declare
  rankable constant bigint := 1000;
  ordering text;
  forgiving boolean := false;
  place jsonb;
  fingerprint text;
  mark text[];
  terms text[];
  words tsquery;
  conditions text;
  text_condition text;
  near text;
  measure text;
  exact_name text;
  matches bigint;
  page app_public.church_search_result[];
  found bigint := 0;
  more bigint;
begin
  query.q := nullif(btrim(query.q), '');
  query.country := nullif(btrim(query.country), '');
  query.region := nullif(btrim(query.region), '');
  query.locality := nullif(btrim(query.locality), '');
  query.postal_code := nullif(btrim(query.postal_code), '');
  query.id := nullif(query.id, '');
  query.cursor := nullif(query.cursor, '');
  perform app_private.refuse_problems(app_private.church_query_problems(query));

  fingerprint := left(md5((to_jsonb(query) - 'cursor')::text), 8);
  ordering := case
    when query.radius_km is not null then 'distance'
    when query.q is not null then 'rank'
    when query.min_lat is not null then 'distance'
    else 'id'
  end;
  if query.cursor is not null then
    place := app_private.read_church_cursor(query.cursor, fingerprint);
    ordering := rtrim(place ->> 1, '~');
    forgiving := place ->> 1 like '%~';
  end if;
  near := format('(c.position <-> %L::cube)', app_private.church_center(query));
  terms := tsvector_to_array(app_private.church_document(query.q, null, null, null, null, null));
  exact_name := format('app_private.fold(c.name) = %L', app_private.fold(query.q));

  -- The words of a free text are taken as they are spelt and, when nothing is found so, as they may be meant.
  loop
    conditions := array_to_string('{true}' || app_private.church_conditions(query), ' and ');
    if query.q is not null then
      words := app_private.church_text_query(terms, forgiving);
      text_condition := format('c.document @@ %L::tsquery', words);
      conditions := conditions || ' and ' || text_condition;
    end if;

    if ordering = 'rank' and place is null and app_private.expected_churches(conditions) > 20 * rankable then
      ordering := 'name';
    end if;
    if ordering = 'rank' then
      mark := array[fingerprint, 'rank' || case when forgiving then '~' else '' end];
      select r.matches, r.page into matches, page
      from app_private.churches_by_rank(conditions, words, app_private.fold(query.q), mark, place, take, rankable) as r;
      if place is not null or coalesce(matches, 0) <= rankable then
        return query select * from unnest(page);
        found := coalesce(cardinality(page), 0);
      else
        ordering := 'name';
      end if;
    end if;
    mark := array[fingerprint, ordering || case when forgiving then '~' else '' end];
    if ordering = 'distance' then
      measure := case when query.radius_km is null then 'null::float8' else format('app_private.church_metres(%s)', near) end;
      if coalesce(query.locality, query.postal_code, query.id) is null
        and (query.q is null or app_private.expected_churches(text_condition) > 5 * rankable)
      then
        return query select * from app_private.churches_nearest(conditions, measure, near, mark, place, take);
      else
        return query select * from app_private.churches_in_order(conditions, measure, near, mark, place, take);
      end if;
      get diagnostics found = row_count;
    elsif ordering = 'id' then
      return query select * from app_private.churches_in_order(conditions, 'null::float8', '0', mark, place, take);
    elsif ordering = 'name' then
      -- Too many match to rank each one: those of just that name first, then the others.
      if place is null or (place ->> 2)::float8 = 1 then
        return query select * from app_private.churches_in_order(
          conditions || ' and ' || exact_name, 'null::float8', '1', mark, place, take);
        get diagnostics found = row_count;
        place := null;
      end if;
      if found < take then
        return query select * from app_private.churches_in_order(
          conditions || ' and not ' || exact_name, 'null::float8', '0', mark, place, (take - found)::integer);
        get diagnostics more = row_count;
        found := found + more;
      end if;
    end if;
    exit when found > 0 or query.q is null or query.cursor is not null or forgiving;
    forgiving := true;
  end loop;
end
$$;
comment on function app_private.find_churches is
  'The first churches that a search finds, from its cursor on: by distance where it has a radius, by rank where it '
  'has a free text, from the middle of a box outwards, else by church_id.';

create function app_public.search_churches(
  q text default null, country text default null, belief app_public.church_belief[] default null,
  trinitarian boolean default null, region text default null, locality text default null,
  postal_code text default null, languages text[] default null, programs text[] default null,
  id text default null,
  min_lat double precision default null, max_lat double precision default null,
  min_lng double precision default null, max_lng double precision default null,
  center_lat double precision default null, center_lng double precision default null,
  radius_km double precision default null,
  "limit" integer default 20, cursor text default null
) returns setof app_public.church_search_result
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(app_private.church_limit_problems("limit"));
  return query select * from app_private.find_churches(
    row(q, country, belief, trinitarian, region, locality, postal_code, languages, programs, id,
        min_lat, max_lat, min_lng, max_lng, center_lat, center_lng, radius_km, cursor), "limit");
end
$$;
comment on function app_public.search_churches is
  E'@simpleCollections only\nFinds churches by words, place, tradition, language and program. A radius needs '
  'centerLat, centerLng and radiusKm, a box all four of its sides; minLng greater than maxLng is a box over the '
  '180th meridian. Results of a radius come by distance, of a free text by rank. To go on, give the last result''s '
  'cursor with the same filters. Errors: 400 validation_failed.';

create function app_private.church_limit_problems(value integer) returns jsonb
language sql immutable
return case when value between 1 and 10000 then '[]' else app_private.problem('limit', 'must be from 1 to 10000') end;
comment on function app_private.church_limit_problems is 'Problems of the number of churches asked for.';

-- What REST and MCP answer.

create view rest.churches with (security_invoker = true) as
select
  church_id, gers_id, name, latitude, longitude, address, locality, region, postal_code, country, website, phone,
  belief_type, denomination, trinitarian, church_summary, ministry_names, ministries_json, service_times,
  service_languages, service_source_urls, contact_emails, contact_phones, url_giving, url_beliefs, url_youtube,
  url_facebook, url_instagram, url_tiktok, url_campus, url_live, logo_url, logo_width, logo_height,
  logo_aspect_ratio, banner_url, banner_width, banner_height, banner_aspect_ratio, is_weekly_church, campus_name,
  overarching_name, is_multi_campus, extraction_confidence, pipeline_status, created_at, updated_at
from app_public.churches;
comment on view rest.churches is 'The record of GET /v0/orgs/{id}.';

create function app_public.churches_geojson(church app_public.churches) returns json
language sql stable
return case when church.latitude is not null then
  json_build_object('type', 'Point', 'coordinates', json_build_array(church.longitude, church.latitude))
end;
comment on function app_public.churches_geojson is 'The place as a GeoJSON Point; null where it is not known.';

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
         format('has no column %s; the columns are %s', to_json(field), array_to_string(valid, ', '))) -> 0)
       from unnest(wanted) as field where field <> all (valid)),
      '[]'));
    return wanted;
  end if;
  return columns || case when search.radius_km is not null then '{distance_m}'::text[] else '{}' end;
end
$$;
comment on function app_private.church_fields is
  'The columns that a record of a search has: those asked for, else all. Refuses with 400 what is no column.';

create function app_private.church_page(body jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  search app_private.church_query := jsonb_populate_record(null::app_private.church_query, body);
  size integer := coalesce((body ->> 'limit')::integer, 20);
  as_geojson boolean := body ->> 'format' = 'geojson';
  fields text[];
  answer text;
begin
  perform app_private.refuse_problems(app_private.church_limit_problems(size));
  fields := app_private.church_fields(search,
    app_private.distinct_items(array(select jsonb_array_elements_text(body -> 'fields'))));
  execute format($sql$
    select format('{%%s:[%%s],"limit":%%s,"has_more":%%s,"next_cursor":%%s}',
      %L, string_agg(item::text, ',' order by place) filter (where place <= $2), $2, to_json(count(*) > $2),
      coalesce(to_json(max(cursor) filter (where place = $2 and following))::text, 'null'))
    from (
      select %s as item, cursor, place, lead(true, 1, false) over (order by place) as following
      from (
        select (church).*, distance_m, cursor, app_public.churches_geojson(church) as geojson, row_number() over () as place
        from app_private.find_churches($1, $2 + 1)
      ) as found,
      lateral (select %s) as record
    ) as listed $sql$,
    case when as_geojson then '"type":"FeatureCollection","features"' else '"items"' end,
    case when as_geojson
      then 'json_build_object(''type'', ''Feature'', ''id'', found.church_id, ''geometry'', found.geojson, ''properties'', row_to_json(record))'
      else 'row_to_json(record)' end,
    coalesce(
      (select string_agg(format('found.%I', field), ', ' order by place)
       from unnest(fields) with ordinality as listed (field, place)
       where not (as_geojson and field = 'geojson')),
      ''))
  into answer using search, size;
  return answer;
end
$$;
comment on function app_private.church_page is
  'GET /v0/orgs/search: one page of a search as JSON text, of the columns and in the format asked for.';

create function app_private.church_record(body jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  answer text;
begin
  select row_to_json(c)::text into answer from rest.churches as c where c.church_id = body ->> 'id';
  if answer is null then
    perform app_private.refuse(404, 'organization_not_found', 'There is no church with this church_id.');
  end if;
  return answer;
end
$$;
comment on function app_private.church_record is 'GET /v0/orgs/{id}: one church as JSON text; 404 organization_not_found.';
