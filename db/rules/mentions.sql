-- Where the service may mention a person, for export and erasure (people.sql): the columns, taken from the catalog so
-- that no table is forgotten, and the ways in which an address or a name can be written.

create function app_private.json_or_text(value text) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value::jsonb;
exception when data_exception then
  return to_jsonb(value);
end
$$;
comment on function app_private.json_or_text is 'A text parsed as JSON; if it is not JSON, the text as a JSON string.';

create function app_private.text_columns() returns table (relation regclass, name name, type text, reads_as text)
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select c.oid::regclass as relation, a.attname as name, format_type(a.atttypid, a.atttypmod),
    case
      -- JSON that is stored as text.
      when format('%s.%s.%s', c.relnamespace::regnamespace, c.relname, a.attname) = 'app_private.idempotent_answers.answer'
        then format('app_private.json_or_text(t.%I)', a.attname)
      else format('t.%I::%s', a.attname,
        case when t.typname in ('json', 'jsonb') then 'jsonb' when t.typcategory = 'A' then 'text[]' else 'text' end)
    end as reads_as
  from pg_class as c
  join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  join pg_type as t on t.oid = a.atttypid
  left join pg_type as item on item.oid = t.typelem and t.typcategory = 'A'
  where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text in ('app_public', 'app_private', 'graphile_worker')
    and (t.typcategory = 'S' or t.typname in ('json', 'jsonb') or item.typcategory = 'S')
    -- The churches are a published directory; the next import would bring an erased address back.
    and format('%s.%s', c.relnamespace::regnamespace, c.relname) not in (
      'app_public.churches', 'app_private.church_words', 'app_private.church_tags')
    -- Has the same content as text_body, but with characters escaped: after an apostrophe, &#39;, another address
    -- would seem to begin.
    and format('%s.%s.%s', c.relnamespace::regnamespace, c.relname, a.attname) <> 'app_private.mails.html_body';
end;
comment on function app_private.text_columns is
  'Every column that can contain an address, including those of graphile-worker, with reads_as, an SQL expression for its '
  'value in a row t; except the directory of churches and the HTML of mails.';

create function app_private.erasable_columns() returns table (relation regclass, name name, type text, reads_as text)
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select c.relation, c.name, c.type, c.reads_as from app_private.text_columns() as c
  where (c.relation, c.name) <> ('app_public.organizations'::regclass, 'org_uri');
end;
comment on function app_private.erasable_columns is
  'text_columns without the URI of an organization, which identifies it and is never changed, whatever it contains.';

create function app_private.pattern_in(name text, pattern text) returns text
language sql immutable
return case when name ~ '(^|_)(emails?|recipient|persons)$|Email$' then '^(' || pattern || ')$' else pattern end;
comment on function app_private.pattern_in is
  'The pattern to use for the values under a name, of a column or in JSON. A value that is an address must match as a whole: '
  'an address found within it would be part of somebody else''s.';

create function app_private.may_mention(value text, email text) returns boolean
language sql immutable
return strpos(
  replace(replace(lower(value), '%40', '@'), '%2b', '+'), replace(replace(lower(email), '%40', '@'), '%2b', '+')) > 0;
comment on function app_private.may_mention is
  'Whether a text contains an address at all, as it is or as it is encoded in URLs; quicker than a regular expression.';

-- In the conditions $1 is the address, $2 the person's id, $3 the pattern of the address.
create function app_private.mention_in(name name, reads_as text) returns text
language sql stable
return format(
  '(app_private.may_mention(t.%1$I::text, $1) and %2$s is distinct from app_private.substituted(%2$s, app_private.pattern_in(%1$L, $3), ''''))',
  name, reads_as);
comment on function app_private.mention_in is 'SQL: whether a column of a row t mentions the address.';

create function app_private.literal_pattern(literal text) returns text
language sql immutable
return regexp_replace(literal, '([^[:alnum:]])', '\\\1', 'g');
comment on function app_private.literal_pattern is 'A regular expression that matches just this text.';

create function app_private.address_spellings(email text) returns text
language sql immutable
-- In the query of a URL it may be written ana%40river.example; but %40 can also be part of other addresses.
return (
  select format('(?:%1$s\@%3$s|%2$s%%40%3$s(?!@))', a.person, replace(a.person, '\+', '(?:\+|%2B)'), a.domain)
  from (
    select app_private.literal_pattern(split_part(email, '@', 1)) as person,
      app_private.literal_pattern(split_part(email, '@', 2)) as domain) as a);
comment on function app_private.address_spellings is
  'A regular expression that matches an e-mail address, whatever stands around it.';

create function app_private.address_pattern(email text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- Not within a longer address. Quotes and similar characters may be part of an address too: before an address they
  -- are taken for punctuation, as they usually are in a text, unless somebody with the longer address is known.
  select '(?<!' || concat_ws('|', usual.before, string_agg(app_private.literal_pattern(left(u.email, -given.length)), '|')) || ')'
    || app_private.address_spellings(address_pattern.email) || '(?!-*[A-Za-z0-9]|\.[A-Za-z0-9])'
  from (select '[A-Za-z0-9][._%+-]*' as before) as usual
  cross join (select char_length(address_pattern.email) as length) as given
  -- The first hundred, so that somebody who makes many such addresses cannot make the pattern too long to search with.
  left join lateral (
    select u.email from app_public.users as u
    where right(lower(u.email), given.length) = lower(address_pattern.email) and char_length(u.email) > given.length
      and left(u.email, -given.length) !~ (usual.before || '$')
    order by u.created_at, u.user_id limit 100) as u on true
  group by usual.before;
end;
comment on function app_private.address_pattern is
  'A regular expression that matches an e-mail address that stands by itself in a text.';

create function app_private.erasable_pattern(email text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- The URI of an organization identifies it in the graph, to partners and in the bounds of keys: it stays wherever
  -- it occurs, even if it contains the address.
  with alone as materialized (select app_private.address_pattern(erasable_pattern.email) as pattern)
  select coalesce('(?<!' || string_agg(
      app_private.literal_pattern(known.before) || '(?=' || app_private.literal_pattern(known.rest) || known.after || ')', '|') || ')', '')
    || alone.pattern
  from alone
  left join lateral (
    -- 200 characters around the address are enough to recognize a long URI, and keep the pattern short.
    select distinct right(left(o.org_uri, place - 1), 200) as before, substr(o.org_uri, place, 200) as rest,
      -- Not within a longer URI, which is another one.
      case when char_length(o.org_uri) < place + 200 then '(?![/?#&=.]*[[:alnum:]_~%-])' else '' end as after
    from app_public.organizations as o, generate_series(1, char_length(o.org_uri)) as place
    -- URIs that contain only a longer address, which is somebody else's, must not take the places of those to be found.
    where case when app_private.may_mention(o.org_uri, erasable_pattern.email) then o.org_uri ~* alone.pattern end
      and substr(o.org_uri, place, 1000) ~* ('^' || app_private.address_spellings(erasable_pattern.email))
    order by before, rest, after limit 100) as known on true
  group by alone.pattern;
end;
comment on function app_private.erasable_pattern is
  'As address_pattern, except where the address is part of an organization''s URI.';

create function app_private.name_pattern(person app_public.users) returns text
language sql immutable
-- The full name, since a first name alone may be anybody's. Without a full name, a pattern that matches nothing.
return coalesce(
  -- Names may begin and end with other characters than letters, and lines may break within them.
  '(?<!\w)(?:' || (
    -- A letter and its accent may be one character or two, depending on the keyboard with which the name was written.
    select string_agg(regexp_replace(app_private.literal_pattern(written.name), '(\\\s)+', '\s+', 'g'), '|')
    from (values (person.first_name || ' ' || person.last_name)) as given (name),
      unnest(array[given.name, normalize(given.name, nfc), normalize(given.name, nfd)]) as written (name))
    || ')(?![\w\u0300-\u036f])',
  '(?!)');
comment on function app_private.name_pattern is
  'A regular expression that matches a person''s full name, in each of its Unicode normalization forms.';

create function app_private.substituted(value text, pattern text, substitute text) returns text
language sql immutable
return regexp_replace(value, pattern, substitute, 'gi');
comment on function app_private.substituted(text, text, text) is
  'A text in which everything that matches a pattern, in any case, is replaced.';

create function app_private.substituted(value text[], pattern text, substitute text) returns text[]
language sql immutable
begin atomic
  select case when value is not null then
    coalesce(array_agg(app_private.substituted(t.item, pattern, substitute) order by t.place), '{}') end
  from unnest(value) with ordinality as t (item, place);
end;
comment on function app_private.substituted(text[], text, text) is
  'A list in which everything that matches a pattern is replaced in each item.';

create function app_private.substituted(value jsonb, pattern text, substitute text) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- In each value, not in the JSON text, where the n of an escaped \n could seem to belong to the address after it.
  case jsonb_typeof(value)
    when 'string' then
      return to_jsonb(app_private.substituted(value #>> '{}', pattern, substitute));
    when 'array' then
      return (select coalesce(jsonb_agg(app_private.substituted(t.item, pattern, substitute) order by t.place), '[]')
        from jsonb_array_elements(value) with ordinality as t (item, place));
    when 'object' then
      return (select coalesce(jsonb_object_agg(
          app_private.substituted(t.key, pattern, substitute),
          app_private.substituted(t.value, app_private.pattern_in(t.key, pattern), substitute)), '{}')
        from jsonb_each(value) as t);
    else
      return value;
  end case;
end
$$;
comment on function app_private.substituted(jsonb, text, text) is
  'A JSON value in which everything that matches a pattern is replaced in each string and key.';

create function app_private.mention_condition(relation regclass) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select string_agg(app_private.mention_in(c.name, c.reads_as), ' or ')
  from app_private.text_columns() as c where c.relation = mention_condition.relation;
end;
comment on function app_private.mention_condition is 'SQL: whether a row t of a table mentions the address.';

create function app_private.belonging_condition(relation regclass) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select concat_ws(' or ', app_private.mention_condition(relation), case when relation::text = 'app_public.users'
      then 't.user_id = $2' end, (
    select string_agg(format('t.%I = $2', a.attname), ' or ')
    from pg_constraint as k
    join pg_attribute as a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
    where k.contype = 'f' and k.conrelid = relation and k.confrelid::regclass::text = 'app_public.users'));
end;
comment on function app_private.belonging_condition is
  'SQL: whether a row t of a table mentions the address or refers to the person; null where none can.';
