-- What makes input well-formed. Each check returns the problems it finds as a JSON array of {path, message},
-- empty when there are none; refuse_problems turns them into a single 400 answer that names them all.
-- Paths are the wire names, which REST and GraphQL share.

create function app_private.is_email(value text) returns boolean
language sql immutable
return char_length(value) <= 254
  and value ~ '^[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$'
  -- At most 64 characters before the @ and 63 in each label of the domain. Checked separately, because one expression
  -- for all of it takes 25 times as long; an address of up to 64 characters cannot exceed these limits.
  and strpos(value, '@') <= 65
  and (char_length(value) <= 64 or value !~ '@.*[^.]{64}');
comment on function app_private.is_email is 'Whether a text is an e-mail address, as HTML defines it, with a dotted domain.';

create function app_private.is_host(host text) returns boolean
language sql immutable
return host !~ '(^|[.])[0-9]+$'
  or host ~ '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])([.](?!$)|$)){4}$';
comment on function app_private.is_host is
  'False for a host that ends in a number without being an IPv4 address: graph stores refuse a URI with such a host.';

create function app_private.is_http_uri(value text) returns boolean
language sql immutable
return char_length(value) <= 2048
  and value ~ '^https?://[^][/?#\s<>"{}|\\^`@:]+(:[0-9]*)?([/?][^][\s<>"{}|\\^`#]*)?(#[^][\s<>"{}|\\^`#]*)?$'
  and value !~ '%(?![0-9A-Fa-f]{2})'
  and app_private.is_host(substring(value from '^https?://([^/?#:]*)'))
  -- No dot segments: Jena resolves them, so Fuseki would hold another URI than it was given, and perhaps one URI for two.
  and value !~ '^[^/]+//[^/?#]*/([^?#]*/)?[.]{1,2}(/|[?#]|$)'
  -- No control characters, marks of writing direction, private-use characters or noncharacters: RFC 3987 does not allow them.
  and value !~ '[\u0001-\u0020\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ue000-\uf8ff\ufdd0-\ufdef\ufff0-\uffff\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U0010ffff]';
comment on function app_private.is_http_uri is 'Whether a text is an absolute http or https URI that can be written to the graph unchanged.';

create function app_private.is_rop3(value text) returns boolean
language sql immutable
return value ~ '^[0-9]{6}$';
comment on function app_private.is_rop3 is 'Whether a text has the form of a ROP3 people-group code: six digits.';

-- Also removes typographic white space, which comes with text copied from documents and tables, and the byte order mark.
create function app_private.trimmed(value text) returns text
language sql immutable
return nullif(btrim(value, E' \t\n\r\f\x0b\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\ufeff'), '');
comment on function app_private.trimmed is 'A text without the white space around it; null if nothing is left.';

create function app_private.distinct_items(items text[]) returns text[]
language plpgsql immutable
as $$
declare
  firsts text[] := '{}'::text[];
  item text;
begin
  foreach item in array coalesce(items, '{}') loop
    if array_position(firsts, item) is null then
      firsts := firsts || item;
    end if;
  end loop;
  return firsts;
end
$$;
comment on function app_private.distinct_items is 'A list without repetitions, in order of first mention.';

create function app_private.problem(path text, message text) returns jsonb
language sql immutable
return jsonb_build_array(jsonb_build_object('path', path, 'message', message));
comment on function app_private.problem is 'One problem with one input, as the checks return it.';

-- No text may contain characters that only deceive its readers: control characters; characters that change the order
-- of the text after them, so that it reads as something else; separators that some programs take for line ends and
-- others ignore; noncharacters; and U+FFFD, which stands for bytes that could not be decoded. Marks that scripts need
-- (joiners, U+200E and U+200F) are allowed.
create function app_private.refused_characters() returns text
language sql immutable parallel safe
return '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffd-\uffff'
  '\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff\U0004fffe\U0004ffff\U0005fffe\U0005ffff\U0006fffe\U0006ffff\U0007fffe\U0007ffff\U0008fffe\U0008ffff'
  '\U0009fffe\U0009ffff\U000afffe\U000affff\U000bfffe\U000bffff\U000cfffe\U000cffff\U000dfffe\U000dffff\U000efffe\U000effff\U000ffffe\U000fffff\U0010fffe\U0010ffff]'
  -- A lone carriage return would make a terminal overwrite the line.
  '|\r(?!\n)';
comment on function app_private.refused_characters is 'The characters that no text may contain, as a regular expression.';

create function app_private.character_problem(value text, lines boolean default false) returns text
language sql immutable parallel safe
return case
  -- Not with format(), which is not immutable: PostgreSQL could no longer inline this function.
  when value ~ app_private.refused_characters() then 'must not contain the character U+'
    || regexp_replace('000' || upper(to_hex(ascii(substring(value from app_private.refused_characters())))), '^0+(?=.{4,}$)', '')
  when not lines and value ~ '[\t\n\r]' then 'must be one line without tabs'
end;
comment on function app_private.character_problem is
  'What is wrong with the characters of a text, which may have several lines if lines is true; null if nothing is.';

create function app_private.is_blank(value text) returns boolean
language sql immutable parallel safe
return value !~ '[^\s\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]';
comment on function app_private.is_blank is
  'Whether a text shows nothing: it is empty, or has only white space, joiners, direction marks and fillers.';

create function app_private.document_problem(document jsonb, lines boolean default false) returns text
language sql immutable
return (
  select app_private.character_problem(found.text, lines)
  from (
    select node #>> '{}' as text from jsonb_path_query(document, 'strict $.**') as node where jsonb_typeof(node) = 'string'
    union all
    select name from jsonb_path_query(document, 'strict $.**') as node, jsonb_object_keys(node) as name
    where jsonb_typeof(node) = 'object'
  ) as found
  where app_private.character_problem(found.text, lines) is not null
  limit 1);
comment on function app_private.document_problem is
  'What is wrong with the characters of the strings and keys in a JSON value; null if nothing is.';

create function app_private.longest_text(kind text) returns integer
language sql immutable parallel safe
return case kind when 'name' then 200 when 'text' then 10000 end;
comment on function app_private.longest_text is
  'The maximum number of characters of a name (one line: of a person, an organization, a place) or a text (several lines).';

create function app_private.text_problems(
  path text, value text, required boolean default true, kind text default 'text'
) returns jsonb
language plpgsql immutable
as $$
declare
  found text;
begin
  if value is null then
    return case when required then app_private.problem(path, 'is required and must not be empty') else '[]' end;
  elsif char_length(value) > app_private.longest_text(kind) then
    return app_private.problem(
      path, format('must have at most %s characters', to_char(app_private.longest_text(kind), 'FM999,999')));
  end if;
  found := app_private.character_problem(value, kind = 'text');
  if found is null and app_private.is_blank(value) then
    found := 'must contain a visible character';
  end if;
  return case when found is null then '[]' else app_private.problem(path, found) end;
end
$$;
comment on function app_private.text_problems is
  'Problems with a trimmed text: missing where required, too long for its kind, or with characters that no text may have.';

create function app_private.name_problems(path text, value text, required boolean default true) returns jsonb
language sql immutable
return app_private.text_problems(path, value, required, 'name');
comment on function app_private.name_problems is
  'Problems with a trimmed name: as for a text, but it is shorter and must be one line.';

create function app_private.required_problems(path text, value text) returns jsonb
language sql immutable
return case when value is null then app_private.problem(path, 'is required') else '[]' end;
comment on function app_private.required_problems is 'Problems with a value that may not be missing.';

create function app_private.email_problems(path text, value text) returns jsonb
language sql immutable
return case
  when value is null then app_private.required_problems(path, value)
  when app_private.is_email(value) then '[]'
  else app_private.problem(path, 'must be an e-mail address')
end;
comment on function app_private.email_problems is 'Problems with a required e-mail address.';

create function app_private.require_address(email text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- An address that was accepted under earlier rules is still somebody's.
  if not exists (select from app_public.users as u where lower(u.email) = lower(require_address.email))
    and not exists (select from app_private.sessions as s where lower(s.email) = lower(require_address.email)) then
    perform app_private.refuse_problems(app_private.email_problems('email', email));
  end if;
end
$$;
comment on function app_private.require_address is
  'For the operator: refuses with 400 a text that is not an e-mail address, so that a typing error is not taken for a person '
  'about whom nothing is stored. The address of a known person or session always passes.';

create function app_private.is_concept_uri(value text) returns boolean
language sql immutable
return app_private.is_http_uri(value)
  -- With // after the scheme (and a host for http and https), or a path that does not begin with a slash: stores
  -- resolve all others.
  or (value ~* '^(https?://([^/?#@]*@)?([^][/?#@:]|\[[0-9a-f:.]+\])|(?!https?:|file:(?!///))[a-z][a-z0-9+.-]*:(//|[^/?#]))'
    and coalesce(app_private.is_host(substring(value from '^[^:/?#]*://(?:[^/?#@]*@)?([^/?#:]*)')), true)
    -- The rest is checked as in an http URI.
    and app_private.is_http_uri('http://x/' || regexp_replace(value, '^[^:]*:(//)?(?:([^/?#@]*@)?\[([0-9A-Fa-f:.]+)\])?', '\2\3')));
comment on function app_private.is_concept_uri is
  'Whether a text is an absolute URI that can be written to the graph unchanged; of any scheme, if stores take it as it is.';

create function app_private.concept_uri_problems(path text, value text) returns jsonb
language sql immutable
return case
  when app_private.is_concept_uri(value) then '[]'
  else app_private.problem(path, 'must be an absolute URI, as with http, https or urn')
end;
comment on function app_private.concept_uri_problems is 'Problems with the required URI of a concept.';

create function app_private.http_uri_problems(path text, value text) returns jsonb
language sql immutable
return case
  when value is null then app_private.required_problems(path, value)
  when app_private.is_http_uri(value) then '[]'
  else app_private.problem(path, 'must be an absolute http or https URI')
end;
comment on function app_private.http_uri_problems is 'Problems with a required absolute http(s) URI.';

create function app_private.problems_by_place(kind text, texts text[]) returns table (place integer, problem text)
language sql immutable
begin atomic
  select given.place::integer - 1, found -> 0 ->> 'message'
  from unnest(texts) with ordinality as given (text, place),
    lateral (select case kind
      when 'uri' then app_private.concept_uri_problems('', given.text)
      else app_private.text_problems('', app_private.trimmed(given.text), false, kind) end as found) as checked
  where found <> '[]';
end;
comment on function app_private.problems_by_place is
  'Which texts or URIs of a list have a problem, by index from 0: for imports, which leave these out and go on.';

create function app_private.list_problems(path text, items text[], required boolean) returns jsonb
language sql immutable
return case
  when coalesce(cardinality(items), 0) = 0 and required then app_private.problem(path, 'must name at least one item')
  when cardinality(items) > 100 then app_private.problem(path, 'must have at most 100 items')
  else '[]'
end;
comment on function app_private.list_problems is 'Problems with a list as a whole: empty where required, or longer than 100 items.';

create function app_private.code_problems(path text, items text[]) returns jsonb
language plpgsql immutable
as $$
declare
  problems jsonb := '[]'::jsonb;
  place integer := 0;
  item text;
  found text;
begin
  foreach item in array coalesce(items, '{}') loop
    found := case
      when item is null or char_length(item) not between 1 and 64 then 'must be a code of 1 to 64 characters'
      else coalesce(app_private.character_problem(item),
        case when app_private.is_blank(item) then 'must contain a visible character' end)
    end;
    if found is not null then
      problems := problems || app_private.problem(format('%s[%s]', path, place), found);
    end if;
    place := place + 1;
  end loop;
  return problems;
end
$$;
comment on function app_private.code_problems is 'Problems with the individual items of a list of vocabulary codes; whether a code exists is checked later.';

create function app_private.date_problems(path text, value date) returns jsonb
language sql immutable
return case
  when value between '0001-01-01' and '9999-12-31' then '[]'
  else app_private.problem(path, 'must be a calendar date, YYYY-MM-DD')
end;
comment on function app_private.date_problems is
  'Problems with a date: PostgreSQL has dates, such as infinity, that do not exist in a calendar, JSON or XSD.';

create function app_private.number_problems(path text, value numeric) returns jsonb
language sql immutable
return case
  when value not in ('NaN', 'Infinity', '-Infinity') then '[]'
  else app_private.problem(path, 'must be a number')
end;
comment on function app_private.number_problems is
  'Problems with a number: PostgreSQL has values, such as NaN, that JSON and xsd:decimal do not have.';

create function app_private.rop3_problems(path text, code text) returns jsonb
language sql immutable
return case
  when app_private.is_rop3(code) then '[]'
  else app_private.problem(path, 'must be a ROP3 code of six digits')
end;
comment on function app_private.rop3_problems(text, text) is 'Problems with one ROP3 code.';

create function app_private.rop3_problems(path text, codes text[]) returns jsonb
language plpgsql immutable
as $$
declare
  problems jsonb := '[]'::jsonb;
  place integer := 0;
  code text;
begin
  foreach code in array coalesce(codes, '{}') loop
    problems := problems || app_private.rop3_problems(format('%s[%s]', path, place), code);
    place := place + 1;
  end loop;
  return problems;
end
$$;
comment on function app_private.rop3_problems(text, text[]) is 'Problems with the individual items of a list of ROP3 codes.';

create function app_private.rog3_problems(path text, code text) returns jsonb
language sql immutable
return case
  when code ~ '^[A-Z]{2,3}$' then '[]'
  else app_private.problem(path, 'must be a ROG3 country code of two or three upper-case letters')
end;
comment on function app_private.rog3_problems is 'Problems with one ROG3 country code.';

create function app_private.country_problems(path text, code text) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from app_public.countries as c where c.alpha2 = code) then
    return '[]'::jsonb;
  end if;
  return app_private.problem(path, 'must be an ISO 3166-1 country code of two upper-case letters');
end
$$;
comment on function app_private.country_problems(text, text) is 'Problems with one ISO 3166-1 alpha-2 country code.';

create function app_private.country_problems(path text, codes text[]) returns jsonb
language plpgsql stable
as $$
declare
  problems jsonb := '[]'::jsonb;
  place integer := 0;
  code text;
begin
  foreach code in array coalesce(codes, '{}') loop
    problems := problems || app_private.country_problems(format('%s[%s]', path, place), code);
    place := place + 1;
  end loop;
  return problems;
end
$$;
comment on function app_private.country_problems(text, text[]) is 'Problems with the individual items of a list of country codes.';

create function app_private.refuse_problems(problems jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_array_length(problems) > 0 then
    perform app_private.refuse('validation_failed',
      (select string_agg(format('%s %s', p ->> 'path', p ->> 'message'), '; ') || '.' from jsonb_array_elements(problems) as p),
      problems);
  end if;
end
$$;
comment on function app_private.refuse_problems is 'Refuses with 400 validation_failed if there are any problems, naming each one.';

create function app_private.page_problems("limit" integer, "offset" integer) returns jsonb
language sql immutable
return case
    when coalesce("limit", 1) between 1 and 200 then '[]'
    else app_private.problem('limit', 'must be from 1 to 200')
  end
  || case when coalesce("offset", 0) >= 0 then '[]' else app_private.problem('offset', 'must be at least 0') end;
comment on function app_private.page_problems is 'Problems with the limit and offset of a list.';
