-- Who is calling, who is acting, and on whose word. With each request the server sets what it has verified itself:
--   app.key_id   the id of an API key. The key stands for an application, which is trusted to name the person who acts,
--                within the bounds of the key: certain organizations and persons (app_private.key_bounds), and certain
--                networks, which are checked before the transaction begins (app_private.authenticate).
--   app.person   the person of a token or session, as JSON {id, issuer, subject, email}. Only that person can act.
-- In psql, set them by hand: `set local role api_person; set local app.person = '{"email": "…"}'`.
-- Privileges are granted to the scope of a key, and to api_person for persons (grants.sql).

create function app_private.key_state(key app_private.api_keys) returns text
language sql stable
return case
  when key.revoked_at is not null then 'revoked'
  when key.expires_at <= now() then 'expired'
  else 'live'
end;
comment on function app_private.key_state is 'Whether a key is live, expired or revoked; only a live key is accepted.';

create function app_private.plain_address(address inet) returns inet
language sql immutable
return case when address <<= '::ffff:0:0/96' then inet '0.0.0.0' + (address - inet '::ffff:0:0') else address end;
comment on function app_private.plain_address is
  'An IP address; an IPv4 address that a socket reports as IPv4-mapped IPv6 is returned as plain IPv4.';

-- The address :: stands for one that the server does not know. A server that passes no address is of a version from
-- before keys had networks, and would ignore is_for_address, so it gets only keys without networks.
create function app_private.authenticate(hash bytea, address inet default null)
returns table (
  key_id uuid, scope name, rate_per_minute integer, expires_at timestamptz, is_for_networks boolean, is_for_address boolean
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, k.scope, k.rate_per_minute, k.expires_at, k.networks is not null,
    coalesce(app_private.plain_address(address) <<= any (k.networks), true)
  from app_private.api_keys as k
  where k.key_hash = hash and app_private.key_state(k) = 'live' and (k.networks is null or address is not null);
end;
comment on function app_private.authenticate is
  'The live API key whose text has this SHA-256, and whether it may be used from an address; no row when it is unknown, expired '
  'or revoked.';

create function app_private.validate_api_key() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  problems jsonb := jsonb_build_array();
  item text;
begin
  if new.label is distinct from old.label then
    problems := app_private.name_problems('label', app_private.trimmed(new.label));
  end if;
  if new.persons is distinct from old.persons then
    foreach item in array coalesce(new.persons, '{}') loop
      problems := problems || app_private.email_problems('persons', coalesce(item, ''));
    end loop;
    new.persons := lower(new.persons::text)::text[];
  end if;
  if new.organizations is distinct from old.organizations then
    foreach item in array coalesce(new.organizations, '{}') loop
      if not exists (select from app_public.organizations as o where o.org_uri = item) then
        problems := problems || app_private.problem('organizations', format('names %s, which does not exist', item));
      end if;
    end loop;
  end if;
  foreach item in array coalesce(new.networks::text[], '{}') loop
    if item::cidr <<= '::ffff:0:0/96' then
      problems := problems || app_private.problem('networks', format('contains %s, an IPv4 network; write it in IPv4 form', item));
    end if;
  end loop;
  perform app_private.refuse_problems(problems);
  return new;
end
$$;
comment on function app_private.validate_api_key is
  'Row trigger: refuses with 400 a malformed label, and bounds that nothing could meet, such as an unknown organization.';
create trigger validate_insert before insert on app_private.api_keys
  for each row execute function app_private.validate_api_key();
create trigger validate_update before update on app_private.api_keys
  for each row when ((old.label, old.organizations, old.persons, old.networks)
    is distinct from (new.label, new.organizations, new.persons, new.networks)) execute function app_private.validate_api_key();

create function app_private.announce_api_key() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('api_keys', coalesce(new.key_id, old.key_id)::text);
  return null;
end
$$;
comment on function app_private.announce_api_key is
  'Tells every server process on channel api_keys which key to forget, so that a revocation takes effect at once, and '
  'a new key works at once although it was unknown before.';
create trigger announce after insert or update or delete on app_private.api_keys
  for each row execute function app_private.announce_api_key();

create function app_private.note_key_uses(key_ids uuid[]) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  -- In order, so that two servers cannot deadlock. Deleted keys are left out.
  insert into app_private.key_uses as u (key_id, last_used_at)
  select k.key_id, now() from app_private.api_keys as k where k.key_id = any (key_ids) order by k.key_id
  on conflict (key_id) do update set last_used_at = excluded.last_used_at
  where u.last_used_at <= excluded.last_used_at - interval '1 minute';
end;
comment on function app_private.note_key_uses is
  'Notes that keys were used just now, unless that was noted less than a minute ago.';

create function app_private.current_key() returns uuid
language sql stable
return nullif(current_setting('app.key_id', true), '')::uuid;
comment on function app_private.current_key is 'The API key of the request; null without one, as in psql.';

create function app_private.current_person() returns text
language sql stable
-- Returns '' for a person without an e-mail address: null would mean a caller who may name anybody. Also for an
-- address that is not ASCII: İ and the Kelvin sign are i and k in lower case, so it would match somebody else's.
return case
  when current_setting('app.person', true) <> '' then
    coalesce(substring(current_setting('app.person')::jsonb ->> 'email' from '^[!-~]+$'), '')
  when current_setting('role') = 'api_person' then ''
end;
comment on function app_private.current_person is
  'E-mail address of the person whose token came with the request; null when an API key, or nobody, is calling.';

create function app_private.address_is_proven() returns boolean
language sql stable
return app_private.current_person() is not null;
comment on function app_private.address_is_proven is
  'Whether the acting person''s address is proven to be theirs, by their own token or session; an application only states it.';

create function app_private.acting_email(email text) returns text
language sql stable
return coalesce(email, app_private.current_person());
comment on function app_private.acting_email is
  'The acting person''s address: the one named by the request, or else that of the calling person. name_actor checks whether '
  'the caller may act as them.';

create function app_private.key_bounds(out organizations text[], out persons text[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if app_private.current_key() is not null then
    select k.organizations, k.persons into organizations, persons
    from app_private.api_keys as k where k.key_id = app_private.current_key() and app_private.key_state(k) = 'live';
    -- Revoked after the server looked the key up: a request may have waited for a connection.
    if not found then
      perform app_private.refuse('invalid_api_key');
    end if;
  end if;
end
$$;
comment on function app_private.key_bounds is
  'The organizations for which, and the persons as whom, the calling key may act; null for any, as without a key. Refuses a '
  'key that is no longer live. Errors: 401 invalid_api_key.';

create function app_private.is_within(bounds text[], item text) returns boolean
language sql immutable
return bounds is null or coalesce(item = any (bounds), false);
comment on function app_private.is_within is 'Whether bounds include an item; null bounds include everything.';

create function app_private.require_organization(org_uri text, message text default null) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not app_private.is_within((app_private.key_bounds()).organizations, org_uri) then
    perform app_private.refuse('key_not_for_organization', message);
  end if;
end
$$;
comment on function app_private.require_organization is
  'Refuses with 403 key_not_for_organization when the calling key is bound to other organizations; with org_uri null, which '
  'stands for all organizations, when it is bound to any.';

-- Security definer, to read the bounds of the key.
create function app_private.require_own_identity(email text) returns void
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if app_private.current_person() is not null
    and lower(email) is distinct from lower(app_private.current_person()) then
    perform app_private.refuse('not_your_identity');
  elsif not app_private.is_within((app_private.key_bounds()).persons, lower(email)) then
    perform app_private.refuse('key_not_for_person');
  end if;
end
$$;
comment on function app_private.require_own_identity is
  'Refuses with 403 not_your_identity when a person is calling and acts as somebody else, and with 403 key_not_for_person when '
  'the calling key is for other persons.';

create function app_private.name_actor(email text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  email := app_private.acting_email(email);
  perform app_private.refuse_problems(app_private.email_problems('actorEmail', email));
  perform app_private.require_own_identity(email);
  perform set_config('app.actor_email', email, true);
end
$$;
comment on function app_private.name_actor is
  'Sets the acting user for the rest of the transaction. Every function that takes the acting user as an argument calls it. '
  'Refuses with 400 a text that is not an e-mail address, and with 403 not_your_identity or key_not_for_person a user as '
  'whom the caller may not act.';

create function app_private.act_as_the_service() returns void
language sql
begin atomic
  select set_config('app.actor_email', '(the service)', true);
end;
comment on function app_private.act_as_the_service is
  'For the rest of the transaction the service itself acts, and no person.';

create function app_private.current_actor() returns text
language sql stable
return nullif(
  coalesce(nullif(current_setting('app.actor_email', true), ''), app_private.current_person()), '(the service)');
comment on function app_private.current_actor is
  'E-mail address of the acting user: as named by name_actor, or else the person who is calling; null for the service itself.';
