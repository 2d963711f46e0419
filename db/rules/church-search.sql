-- Church search: the order in which churches are found. One function for REST, GraphQL, MCP and SQL.
-- A page continues where its cursor says: after a sort value and, among churches that share it, after a
-- church_id. So every church is listed exactly once, whatever is inserted in the meantime.

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
      -- A constant sort value: only the churches that share it are listed, by church_id.
      when sort_value in ('0', '1') then format('c.church_id > %L', place ->> 3)
      else format('(%s, c.church_id) > (%L::float8, %L)', sort_value, place ->> 2, place ->> 3)
    end,
    case when sort_value in ('0', '1') then '' else sort_value || ', ' end, take);
end
$$;
comment on function app_private.churches_in_order is
  'The next churches that meet the conditions, by a value and then by church_id; mark is the fingerprint of the search and '
  'its order, for their cursors.';

create function app_private.churches_nearest(
  conditions text, measure text, sort_value text, mark text[], place jsonb, take integer
) returns setof app_public.church_search_result
language sql stable
set search_path = pg_catalog, public, pg_temp
-- Forces the index of places, however many churches the planner expects.
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
begin atomic
  select * from app_private.churches_in_order(conditions, measure, sort_value, mark, place, take);
end;
comment on function app_private.churches_nearest is
  'churches_in_order by distance, for a search that little but the place narrows down.';

create function app_private.expected_churches(conditions text) returns bigint
-- Volatile, because PostgreSQL does not allow EXPLAIN in a stable function.
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
comment on function app_private.expected_churches is 'How many churches the planner expects to meet the conditions.';

create function app_private.churches_by_rank(
  conditions text, words tsquery, name text, mark text[], place jsonb, take integer, most bigint,
  out matches bigint, out page app_public.church_search_result[]
) language plpgsql stable
set search_path = pg_catalog, public, pg_temp
-- Forces bitmap scans of the indexes, however many churches the planner expects: counting stops soon after "most".
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
    most + 1,
    case when place is null then 'true'
      else format('(-rank, (c).church_id) > (-%L::float8, %L)', place ->> 2, place ->> 3) end,
    take)
  into matches, page;
end
$$;
comment on function app_private.churches_by_rank is
  'The next churches that meet the conditions, best match of the words and the name first, and how many match in all; '
  'the count stops at one more than "most", too many to rank.';

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
  query.q := app_private.trimmed(query.q);
  query.country := app_private.trimmed(query.country);
  query.region := app_private.trimmed(query.region);
  query.locality := app_private.trimmed(query.locality);
  query.postal_code := app_private.trimmed(query.postal_code);
  query.id := nullif(query.id, '');
  query.church_name := app_private.trimmed(query.church_name);
  query.languages := app_private.parted(query.languages);
  query.programs := app_private.parted(query.programs);
  if query.max_lng - query.min_lng >= 360 and query.min_lng >= -36000 and query.max_lng <= 36000 then
    query.min_lng := -180;
    query.max_lng := 180;
  end if;
  query.min_lng := app_private.within_range(query.min_lng);
  query.max_lng := app_private.within_range(query.max_lng);
  query.center_lng := app_private.within_range(query.center_lng);
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
    place := app_private.read_church_cursor(query.cursor, fingerprint, array(
      select possible || suffix
      -- If too many match to be ranked, they are listed by name; a free text that finds nothing is searched forgivingly (~).
      from unnest(case when ordering = 'rank' then array['rank', 'name'] else array[ordering] end) as possible,
        unnest(case when query.q is null then array[''] else array['', '~'] end) as suffix));
    ordering := rtrim(place ->> 1, '~');
    forgiving := place ->> 1 like '%~';
  end if;
  near := format('(c.position <-> %L::cube)', app_private.church_center(query));
  terms := tsvector_to_array(app_private.church_document(query.q, null, null, null, null, null));
  exact_name := format('app_private.fold(c.name) = %L', app_private.fold(query.q));

  -- The words of a free text are searched as spelt and, if that finds nothing, forgivingly.
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
      from app_private.churches_by_rank(conditions, words, app_private.fold(query.q), mark, place, take,
        -- There may be more by now than when the search began.
        case when place is null then rankable else 2 * rankable end) as r;
      if place is not null and matches > 2 * rankable then
        perform app_private.refuse_church_cursor();
      end if;
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
      -- Too many match to rank each one: those with exactly that name come first, then the others.
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
  'The first churches that a search finds, starting from its cursor: by distance where it has a radius, by rank where '
  'it has a free text, from the middle of a box outwards, otherwise by church_id.';

create function app_public.search_churches(
  q text default null, country text default null, belief app_public.church_belief[] default null,
  trinitarian boolean default null, region text default null, locality text default null,
  postal_code text default null, languages text[] default null, programs text[] default null,
  id text default null,
  min_lat double precision default null, max_lat double precision default null,
  min_lng double precision default null, max_lng double precision default null,
  center_lat double precision default null, center_lng double precision default null,
  radius_km double precision default null,
  "limit" integer default null, cursor text default null
) returns setof app_public.church_search_result
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  "limit" := app_private.church_limit("limit");
  perform app_private.refuse_problems(app_private.church_limit_problems("limit"));
  return query select * from app_private.find_churches(
    row(q, country, belief, trinitarian, region, locality, postal_code, languages, programs, id,
        min_lat, max_lat, min_lng, max_lng, center_lat, center_lng, radius_km, cursor, null), "limit");
end
$$;
comment on function app_public.search_churches is
  E'@simpleCollections only\nFinds churches by words, place, tradition, language and program. A radius needs '
  'centerLat, centerLng and radiusKm; a box needs all four of its sides, and one whose minLng is greater than its maxLng '
  'crosses the 180th meridian. Results within a radius are sorted by distance, those of a free text by rank. To '
  'continue, give the last result''s cursor with the same filters. Errors: 400 validation_failed.';
