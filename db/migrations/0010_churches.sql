-- Churches, and the indexes that find them.
-- The functions of this file are part of indexes and generated columns: to change one is to rebuild what was
-- computed with it, so they stand among the migrations and not among the rules. Each of them is named by an
-- index or a column itself, which is how db/rules/reset.sql knows to leave it alone; and each names the schema
-- of what it calls, because a restored dump runs with an empty search_path.

create extension if not exists cube with schema public;
create extension if not exists pg_trgm with schema public;
create extension if not exists unaccent with schema public;

-- PL/pgSQL throughout: a function of one expression that cannot be inlined costs half of what it does in SQL.

create function app_private.fold(value text) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  return lower(public.unaccent('public.unaccent'::regdictionary, value) collate "und-x-icu");
end
$$;
comment on function app_private.fold is 'A text without case and accents: what church search compares.';

create function app_private.fold_all(items text[]) returns text[]
language plpgsql immutable strict parallel safe
as $$
begin
  return string_to_array(
    lower(public.unaccent('public.unaccent'::regdictionary, array_to_string(items, E'\x1f')) collate "und-x-icu"), E'\x1f');
end
$$;
comment on function app_private.fold_all is 'Every text of a list without case and accents.';

create function app_private.postal_key(value text) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  return translate(lower(value), ' -.', '') collate "C";
end
$$;
comment on function app_private.postal_key is
  'A postal code as it is compared: in lower case and unspaced, so that "SW1A 1AA" begins with "sw1a1".';

-- Apostrophes vanish ("Mary's" is one word), and the marks that the text-search parser would join words at
-- ("St.Mary" for the name of a host) part them.
create function app_private.church_document(
  name text, campus_name text, overarching_name text, denomination text, locality text, region text
) returns tsvector
language plpgsql immutable parallel safe
as $$
begin
  return
    setweight(to_tsvector('simple'::regconfig, translate(lower(public.unaccent('public.unaccent'::regdictionary,
      coalesce(name, '') || ' ' || coalesce(campus_name, '') || ' ' || coalesce(overarching_name, ''))
      collate "und-x-icu"), './-_@:+''', '       ')), 'A')
    || setweight(to_tsvector('simple'::regconfig, translate(lower(public.unaccent('public.unaccent'::regdictionary,
      coalesce(denomination, '') || ' ' || coalesce(locality, '') || ' ' || coalesce(region, ''))
      collate "und-x-icu"), './-_@:+''', '       ')), 'B');
end
$$;
comment on function app_private.church_document is
  'The words that free text finds a church by: those of its names weigh A, of its denomination and place B.';

create function app_private.sphere_position(latitude double precision, longitude double precision) returns public.cube
language plpgsql immutable strict parallel safe
as $$
begin
  return public.cube(array[
    cos(radians(latitude)) * cos(radians(longitude)),
    cos(radians(latitude)) * sin(radians(longitude)),
    sin(radians(latitude))
  ]);
end
$$;
comment on function app_private.sphere_position is
  'A place on the unit sphere. Straight distances between such places order them as great-circle distances do, '
  'and know neither poles nor a 180th meridian.';

create function app_private.misspellings(word text) returns text[]
language sql immutable strict parallel safe
return array[word] || array(
  select substr(word, 1, place - 1) || substr(word, place + 1) from generate_series(1, char_length(word)) as place);
comment on function app_private.misspellings is
  'A word, and the word without any one of its letters. Two words that share an item differ by a letter added, '
  'left out, changed or swapped with its neighbour.';

create type app_public.church_belief as enum
  ('roman_catholic', 'protestant', 'orthodox', 'anglican', 'other', 'unknown');

create table app_public.churches (
  church_id text collate "C" primary key check (char_length(church_id) between 1 and 128 and church_id !~ '[[:space:][:cntrl:]]'),
  gers_id text,
  name text not null check (name <> ''),
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  address text,
  locality text,
  region text,
  postal_code text,
  country text references app_public.countries,
  website text,
  phone text,
  belief_type app_public.church_belief not null default 'unknown',
  denomination text,
  trinitarian boolean,
  church_summary text,
  ministry_names text[],
  ministries_json jsonb,
  service_times text[],
  service_languages text[],
  service_source_urls text[],
  contact_emails text[],
  contact_phones text[],
  url_giving text,
  url_beliefs text,
  url_youtube text,
  url_facebook text,
  url_instagram text,
  url_tiktok text,
  url_campus text,
  url_live text,
  logo_url text,
  logo_width integer check (logo_width > 0),
  logo_height integer check (logo_height > 0),
  logo_aspect_ratio double precision check (logo_aspect_ratio > 0),
  banner_url text,
  banner_width integer check (banner_width > 0),
  banner_height integer check (banner_height > 0),
  banner_aspect_ratio double precision check (banner_aspect_ratio > 0),
  is_weekly_church boolean,
  campus_name text,
  overarching_name text,
  is_multi_campus boolean,
  extraction_confidence double precision check (extraction_confidence between 0 and 1),
  pipeline_status text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  position public.cube generated always as (app_private.sphere_position(latitude, longitude)) stored,
  document tsvector generated always as
    (app_private.church_document(name, campus_name, overarching_name, denomination, locality, region)) stored,
  check ((latitude is null) = (longitude is null))
);
comment on table app_public.churches is
  'Churches that the search finds. Filled by `admin churches import`; read-only to every API key.';
comment on column app_public.churches.country is 'ISO 3166-1 alpha-2.';
comment on column app_public.churches.trinitarian is '@deprecated Use beliefType.';
comment on column app_public.churches.ministry_names is 'Names of programs and ministries, as the church gives them.';
comment on column app_public.churches.extraction_confidence is 'How sure the source is of this record, 0 to 1.';
comment on column app_public.churches.position is E'@behavior -*\nThe place on the unit sphere; for the search alone.';
comment on column app_public.churches.document is E'@behavior -*\nThe words that free text finds; for the search alone.';
alter table app_public.churches enable row level security;

create index churches_near on app_public.churches using gist (position);
create index churches_by_word on app_public.churches using gin (document);
create index churches_by_language on app_public.churches using gin (app_private.fold_all(service_languages));
create index churches_by_program on app_public.churches using gin (app_private.fold_all(ministry_names));
-- With church_id, the order of what is found: the first page of a large region is then read and not sorted.
create index churches_by_name on app_public.churches (app_private.fold(name), church_id);
create index churches_by_locality on app_public.churches (app_private.fold(locality), church_id);
create index churches_by_region on app_public.churches (app_private.fold(region), church_id);
create index churches_by_postal_code on app_public.churches (app_private.postal_key(postal_code));
create index churches_by_country on app_public.churches (country);
create index churches_by_belief on app_public.churches (belief_type);

-- Countries and traditions go together; a planner that takes them for independent would walk the whole table for
-- the twenty orthodox churches of a protestant country.
create statistics app_public.churches_together (mcv) on country, belief_type from app_public.churches;
alter statistics app_public.churches_together set statistics 1000;

-- Every word, language and program that any church has, kept by trigger. They grow with the languages of the
-- world and not with the table, so a misspelt word and a part of a name are looked up here first.
create table app_private.church_words (word text collate "C" primary key);
comment on table app_private.church_words is 'Every word that free text can find a church by.';
create index church_words_misspelt on app_private.church_words using gin (app_private.misspellings(word));
create index church_words_alike on app_private.church_words using gin (word public.gin_trgm_ops);
alter table app_private.church_words enable row level security;

create type app_private.church_tag_kind as enum ('language', 'program');
create table app_private.church_tags (
  kind app_private.church_tag_kind not null,
  tag text collate "C" not null,
  primary key (kind, tag)
);
comment on table app_private.church_tags is 'Every language of a service and every program, without case and accents.';
create index church_tags_parts on app_private.church_tags using gin (tag public.gin_trgm_ops);
alter table app_private.church_tags enable row level security;

-- What a search asks for, by the names on the wire, and what it finds.
create type app_private.church_query as (
  q text,
  country text,
  belief app_public.church_belief[],
  trinitarian boolean,
  region text,
  locality text,
  postal_code text,
  languages text[],
  programs text[],
  id text,
  min_lat double precision,
  max_lat double precision,
  min_lng double precision,
  max_lng double precision,
  center_lat double precision,
  center_lng double precision,
  radius_km double precision,
  cursor text
);
comment on type app_private.church_query is 'The inputs of a church search; null stands for not given.';

create type app_public.church_search_result as (
  church app_public.churches,
  distance_m double precision,
  cursor text
);
comment on type app_public.church_search_result is
  'A church that a search found, its distance from the centre of a radius search in metres, and the cursor that '
  'continues the search after it.';
