-- When the domain of an e-mail address counts as an organization's own, and the normal form in which domain names are
-- compared.

create function app_private.punycode(label text) returns text
language plpgsql immutable strict
set search_path = pg_catalog, pg_temp
as $$
-- The encoder of RFC 3492, section 6.3, with the names used there.
declare
  base constant integer := 36;
  points constant integer[] := array(select ascii(c) from regexp_split_to_table(label, '') as c);
  output text := array_to_string(array(select chr(p) from unnest(points) as p where p < 128), '');
  basic constant integer := char_length(output);
  handled integer := basic;
  n integer := 128;
  delta integer := 0;
  bias integer := 72;
  q integer;
  k integer;
  t integer;
  digit integer;
  m integer;
  point integer;
begin
  if basic > 0 then
    output := output || '-';
  end if;
  while handled < cardinality(points) loop
    m := (select min(p) from unnest(points) as p where p >= n);
    delta := delta + (m - n) * (handled + 1);
    n := m;
    foreach point in array points loop
      if point < n then
        delta := delta + 1;
      elsif point = n then
        q := delta;
        k := base;
        loop
          t := greatest(1, least(26, k - bias));
          exit when q < t;
          digit := t + (q - t) % (base - t);
          output := output || substr('abcdefghijklmnopqrstuvwxyz0123456789', digit + 1, 1);
          q := (q - t) / (base - t);
          k := k + base;
        end loop;
        output := output || substr('abcdefghijklmnopqrstuvwxyz0123456789', q + 1, 1);
        delta := case when handled = basic then delta / 700 else delta / 2 end;
        delta := delta + delta / (handled + 1);
        k := 0;
        while delta > 455 loop
          delta := delta / 35;
          k := k + base;
        end loop;
        bias := k + 36 * delta / (delta + 38);
        delta := 0;
        handled := handled + 1;
      end if;
    end loop;
    delta := delta + 1;
    n := n + 1;
  end loop;
  return output;
end
$$;
comment on function app_private.punycode is 'The Punycode of one label of an internationalized domain name, without its xn--.';

create function app_private.normal_domain(value text) returns text
language sql immutable
begin atomic
  select string_agg(
    -- A label that is too long as it is would also be too long in Punycode, and encoding it takes time quadratic in
    -- its length.
    case when label ~ '[^\u0001-\u007f]' and char_length(label) <= 63 then 'xn--' || app_private.punycode(label) else label end,
    '.' order by place)
  from regexp_split_to_table(
    regexp_replace(lower(normalize(app_private.trimmed(value), nfkc) collate "und-x-icu"), '[.。]$', ''),
    '[.。]') with ordinality as labels (label, place);
end;
comment on function app_private.normal_domain is
  'The one form in which domain names are compared: lower case, no trailing dot, internationalized names in Punycode. '
  'A look-alike in another script remains a different name.';

create function app_private.is_domain(value text) returns boolean
language sql immutable
return char_length(value) <= 253
  and value ~ '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';
comment on function app_private.is_domain is 'Whether a text that normal_domain returned is a domain name of two or more labels.';

create function app_private.domain_problems(path text, value text) returns jsonb
language sql immutable
return case
  when app_private.trimmed(value) is null or char_length(value) <= 1000 and app_private.is_domain(app_private.normal_domain(value))
    then '[]'
  else app_private.problem(path, 'must be a domain name such as example.org')
end;
comment on function app_private.domain_problems is 'Problems with an optional domain name.';

create function app_private.email_domain(email text) returns text
language sql immutable
return app_private.normal_domain(split_part(email, '@', 2));
comment on function app_private.email_domain is 'The domain of a well-formed e-mail address.';

create function app_private.is_free_mail(domain text) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select exists (select from app_private.free_mail_domains as f where f.domain = is_free_mail.domain);
end;
comment on function app_private.is_free_mail is 'Whether anybody can get a mailbox at this domain (db/rules/free-mail-domains.sql).';

create function app_private.own_domain_problems(path text, value text) returns jsonb
language sql stable
return app_private.domain_problems(path, value)
  || case when app_private.is_free_mail(app_private.normal_domain(value))
       then app_private.problem(path, 'must be the organization''s own domain, not a mail provider''s') else '[]' end;
comment on function app_private.own_domain_problems is
  'Problems with an optional domain name that an organization gives as its own, which must not be a mail provider''s.';

create function app_private.domains_match(email_domain text, org_domain text) returns boolean
language sql stable
-- An organization's domain is kept in its normal form (organizations.sql).
return coalesce(email_domain = org_domain and not app_private.is_free_mail(email_domain), false);
comment on function app_private.domains_match is
  'Whether an e-mail domain is the organization''s own: exactly the same name. Subdomains, longer names, look-alikes '
  'and the domains of mail providers do not count.';
