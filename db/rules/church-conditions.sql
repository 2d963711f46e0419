-- Church search: the known words, languages and programs, and the SQL conditions that a search is translated into.

create function app_private.learn_church_terms() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Always in the same order, so that two imports learning the same words wait for one another and never deadlock.
  insert into app_private.church_words (word)
  select word
  from (select distinct unnest(tsvector_to_array(document)) as word from written) as used
  -- Nobody searches for a misspelling of so long a word, and computing its misspellings takes time quadratic in its length.
  where char_length(word) <= 64
    and not exists (select from app_private.church_words as known where known.word = used.word collate "C")
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

-- Loads pg_trgm: a role that is not a superuser may name only settings that PostgreSQL already knows.
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
  'A query for all of the words; when forgiving, also for words that begin with the given word or are spelt much like it.';

create function app_private.church_tag_condition(
  kind app_private.church_tag_kind, list text, parts text[]
) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  patterns text[] := array(
    select app_private.containing(app_private.fold(btrim(part)))
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
  'The condition that an item of a folded list contains one of the parts: uses the index, unless so many items match that an index is of no use.';

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
  'The chord of the unit sphere that corresponds to a great-circle distance on an earth of mean radius (IUGG).';

create function app_private.church_metres(chord double precision) returns double precision
language sql immutable
return round((2 * 6371008.8 * asin(chord / 2))::numeric, 2)::double precision;
comment on function app_private.church_metres is 'The great-circle distance that corresponds to a chord of the unit sphere, to the centimetre.';

-- Only the filters given become conditions, with their values as constants: a single plan for every filter that
-- might be given would suit no actual search.
create function app_private.church_conditions(query app_private.church_query) returns text[]
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
as $$
declare
  conditions text[] := array[]::text[];
  chord double precision;
begin
  if query.id is not null then
    conditions := conditions || format('c.church_id = %L', query.id);
  end if;
  if query.country is not null then
    conditions := conditions || format('c.country = %L', app_private.country_of(query.country));
  end if;
  if cardinality(query.belief) > 0 then
    conditions := conditions || format('c.belief_type = any (%L::app_public.church_belief[])', query.belief);
  end if;
  if query.trinitarian is not null then
    conditions := conditions || format('c.trinitarian = %L', query.trinitarian);
  end if;
  if query.church_name is not null then
    conditions := conditions || format('app_private.fold(c.name) like %L',
      app_private.containing(app_private.fold(query.church_name)));
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
    -- Within coalesce, so that the planner does not estimate it: churches cluster, but the planner takes them to be
    -- evenly spread, expects only a few, and would rather sort them all than walk outwards from the middle.
    conditions := conditions || format('coalesce(c.latitude between %L and %L and %s, false)',
      query.min_lat, query.max_lat,
      case when query.min_lng <= query.max_lng
        then format('c.longitude between %L and %L', query.min_lng, query.max_lng)
        else format('(c.longitude >= %L or c.longitude <= %L)', query.min_lng, query.max_lng) end);
    -- For a large box, a condition that leaves only a few churches is better used alone, without the index of places.
    if coalesce(query.q, query.locality, query.postal_code, query.id) is null or query.max_lat - query.min_lat < 5 then
      conditions := conditions || format('c.position <@ %L::cube',
        app_private.box_hull(query.min_lat, query.max_lat, query.min_lng, query.max_lng));
    end if;
  end if;
  return conditions;
end
$$;
comment on function app_private.church_conditions is 'The conditions on a church c that a search translates into, except for its free text.';
