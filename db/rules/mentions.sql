-- Where a person is mentioned: in which columns, as the catalog has them, so that no table is forgotten, and in which words.

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
comment on function app_private.json_or_text is 'What a text says if it is JSON; else the text, as a string of JSON.';

create function app_private.text_columns() returns table (relation regclass, name name, type text, reads_as text)
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select c.oid::regclass as relation, a.attname as name, format_type(a.atttypid, a.atttypmod),
    case
      -- JSON that is kept as text.
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
    -- A published directory, which the next import would bring back.
    and format('%s.%s', c.relnamespace::regnamespace, c.relname) not in (
      'app_public.churches', 'app_private.church_words', 'app_private.church_tags')
    -- Says what text_body says, with addresses spelt as HTML has them: an apostrophe is &#39; there, behind which another's begins.
    and format('%s.%s.%s', c.relnamespace::regnamespace, c.relname, a.attname) <> 'app_private.mails.html_body';
end;
comment on function app_private.text_columns is
  'Every column, of the worker''s tables too, that can hold an address, and reads_as, the SQL of what it has in a row t; the '
  'directory of churches and the HTML of mails aside.';

create function app_private.erasable_columns() returns table (relation regclass, name name, type text, reads_as text)
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select c.relation, c.name, c.type, c.reads_as from app_private.text_columns() as c
  where (c.relation, c.name) <> ('app_public.organizations'::regclass, 'org_uri');
end;
comment on function app_private.erasable_columns is
  'The same without what stays as it is, whatever is found in it: the URI by which an organization is known.';

create function app_private.pattern_in(name text, pattern text) returns text
language sql immutable
return case when name ~ '(^|_)(emails?|recipient|persons)$|Email$' then '^(' || pattern || ')$' else pattern end;
comment on function app_private.pattern_in is
  'The pattern for what is under a name, of a column or in JSON: an address that is kept as such is somebody''s as a whole, or '
  'somebody else''s; what is found within it is part of another''s.';

create function app_private.may_mention(value text, email text) returns boolean
language sql immutable
return strpos(
  replace(replace(lower(value), '%40', '@'), '%2b', '+'), replace(replace(lower(email), '%40', '@'), '%2b', '+')) > 0;
comment on function app_private.may_mention is
  'Whether an address is in a text at all, as it is or as it is written in addresses of pages: quicker than a regular expression.';

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
comment on function app_private.literal_pattern is 'Regular expression of a text as it stands.';

create function app_private.address_spellings(email text) returns text
language sql immutable
-- In the parameters of a page's address it may be written ana%40river.example; %40 is part of other addresses too.
return (
  select format('(?:%1$s\@%3$s|%2$s%%40%3$s(?!@))', a.person, replace(a.person, '\+', '(?:\+|%2B)'), a.domain)
  from (
    select app_private.literal_pattern(split_part(email, '@', 1)) as person,
      app_private.literal_pattern(split_part(email, '@', 2)) as domain) as a);
comment on function app_private.address_spellings is 'Regular expression of an e-mail address, whatever stands around it.';

create function app_private.address_pattern(email text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- Not within a longer address, neither before nor behind. Quotes and the like are characters of addresses too: before one they
  -- are taken for what they mostly are in a text, unless somebody is known whose address is the longer one.
  select '(?<!' || concat_ws('|', usual.before, string_agg(app_private.literal_pattern(left(u.email, -given.length)), '|')) || ')'
    || app_private.address_spellings(address_pattern.email) || '(?!-*[A-Za-z0-9]|\.[A-Za-z0-9])'
  from (select '[A-Za-z0-9][._%+-]*' as before) as usual
  cross join (select char_length(address_pattern.email) as length) as given
  -- The first of them: who makes many such addresses is not to make a pattern of it that nothing can be searched with.
  left join lateral (
    select u.email from app_public.users as u
    where right(lower(u.email), given.length) = lower(address_pattern.email) and char_length(u.email) > given.length
      and left(u.email, -given.length) !~ (usual.before || '$')
    order by u.created_at, u.user_id limit 100) as u on true
  group by usual.before;
end;
comment on function app_private.address_pattern is 'Regular expression of an e-mail address where it stands by itself in a text.';

create function app_private.erasable_pattern(email text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- By its URI an organization is known in the graph, to partners and to keys: one that has the address in it stays, here and there.
  with alone as materialized (select app_private.address_pattern(erasable_pattern.email) as pattern)
  select coalesce('(?<!' || string_agg(
      app_private.literal_pattern(known.before) || '(?=' || app_private.literal_pattern(known.rest) || known.after || ')', '|') || ')', '')
    || alone.pattern
  from alone
  left join lateral (
    -- Of a long URI what is around the address is enough to know it by, and keeps the pattern short.
    select distinct right(left(o.org_uri, place - 1), 200) as before, substr(o.org_uri, place, 200) as rest,
      -- No longer URI, which is another.
      case when char_length(o.org_uri) < place + 200 then '(?![/?#&=.]*[[:alnum:]_~%-])' else '' end as after
    from app_public.organizations as o, generate_series(1, char_length(o.org_uri)) as place
    -- A longer address, which is somebody else's, is not to take the place of one that is found.
    where case when app_private.may_mention(o.org_uri, erasable_pattern.email) then o.org_uri ~* alone.pattern end
      and substr(o.org_uri, place, 1000) ~* ('^' || app_private.address_spellings(erasable_pattern.email))
    order by before, rest, after limit 100) as known on true
  group by alone.pattern;
end;
comment on function app_private.erasable_pattern is
  'The same, but for where the address is part of an organization''s URI.';

create function app_private.name_pattern(person app_public.users) returns text
language sql immutable
-- A first name alone may be anybody's. No name: a pattern that finds nothing.
return coalesce(
  -- Names may begin and end with what is no letter, and lines may break within them.
  '(?<!\w)(?:' || (
    -- An accent may be one with its letter or a character behind it, as the keyboard has it with which the name was written.
    select string_agg(regexp_replace(app_private.literal_pattern(written.name), '(\\\s)+', '\s+', 'g'), '|')
    from (values (person.first_name || ' ' || person.last_name)) as given (name),
      unnest(array[given.name, normalize(given.name, nfc), normalize(given.name, nfd)]) as written (name))
    || ')(?![\w\u0300-\u036f])',
  '(?!)');
comment on function app_private.name_pattern is 'Regular expression of a person''s full name, in each form that Unicode has for it.';

create function app_private.substituted(value text, pattern text, substitute text) returns text
language sql immutable
return regexp_replace(value, pattern, substitute, 'gi');
comment on function app_private.substituted(text, text, text) is 'A text with something else for what a pattern finds, in any case.';

create function app_private.substituted(value text[], pattern text, substitute text) returns text[]
language sql immutable
begin atomic
  select case when value is not null then
    coalesce(array_agg(app_private.substituted(t.item, pattern, substitute) order by t.place), '{}') end
  from unnest(value) with ordinality as t (item, place);
end;
comment on function app_private.substituted(text[], text, text) is 'The same in each item of a list.';

create function app_private.substituted(value jsonb, pattern text, substitute text) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- By value, not in the JSON's text: there an address may follow upon the n of \n.
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
comment on function app_private.substituted(jsonb, text, text) is 'The same in each string of a JSON value, keys included.';

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
