-- Sessions on the service's own pages: how a person signs in, how long a session lasts, and how it ends. The other
-- rules treat a session like a person's token (identity.sql). Secrets are looked up by their SHA-256: the browser
-- keeps the text of the session, and the text of a link is stored only until its mail is sent (mail.sql).

create function app_private.session_is_live(session app_private.sessions) returns boolean
language sql stable
return session.created_at > now() - interval '7 days' and session.last_used_at > now() - interval '12 hours';
comment on function app_private.session_is_live is 'Whether a session is valid: not too old, and not unused for too long.';

create function app_private.session_is_accepted(session app_private.sessions) returns boolean
language sql stable
return app_private.session_is_live(session) and (session.issuer is null or (
  -- A server says with each question whom it trusts at present, and for which domains, as it does for tokens
  -- (server/identity/tokens.ts): {issuer: null or [domain]}. Where nothing is said nobody is trusted.
  select case when issuers -> session.issuer = 'null' then true
    else coalesce(issuers -> session.issuer, '[]') ? split_part(lower(session.email), '@', 2) end
  from (select coalesce(nullif(current_setting('app.issuers', true), ''), '{}')::jsonb) as told (issuers)));
comment on function app_private.session_is_accepted is
  'Whether a session is valid, and the provider that it was begun at still trusted for the address of its person.';

create function app_private.link_lasts(kind text) returns text
language sql immutable
return case kind
  when 'sign_in' then '15 minutes'
  -- Longer: claims wait for a review anyway, and the recipient did not ask for the mail.
  when 'confirm_claim' then '7 days'
end;
comment on function app_private.link_lasts is
  'How long a link that is mailed can be used, by the kind of the mail, in the words that mails and pages say it in.';

create function app_private.sign_in_is_open(begun app_private.sign_ins) returns boolean
language sql stable
return begun.created_at > now() - app_private.link_lasts(
  case when begun.browser_hash is null then 'confirm_claim' else 'sign_in' end)::interval;
comment on function app_private.sign_in_is_open is 'Whether a link, or a provider''s answer, has not expired.';

-- Generated once per installation and never logged: a digest of the address alone could be reversed by trying addresses.
insert into app_private.settings as s (name, value, description)
values ('person_digest_key', to_jsonb(gen_random_uuid()),
        'Key for the digests that identify persons without a provider in limits and logs, so that addresses cannot be found by trying.')
on conflict (name) do update set description = excluded.description where s.description <> excluded.description;

create function app_private.session_person(session app_private.sessions) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    -- The id that limits are counted by: for a person of a provider the same as with their token (server/identity/tokens.ts).
    'id', left(encode(sha256(convert_to(
      coalesce(session.issuer || ' ' || session.subject,
        (select s.value #>> '{}' from app_private.settings as s where s.name = 'person_digest_key') || ' ' || lower(session.email)),
      'utf8')), 'hex'), 32)::uuid,
    'issuer', coalesce(session.issuer, 'session'),
    'subject', coalesce(session.subject, session.session_id::text),
    'email', session.email);
end;
comment on function app_private.session_person is
  'The person of a session, in the form of app.person. Histories name the provider''s account, or else the session.';

create function app_private.count_sign_in(network text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- By its hash, like the addresses below: after a quarter of an hour nobody needs to know who was here.
  select app_private.use_up(format('sign-in network %s', encode(sha256(convert_to(network, 'utf8')), 'hex')),
    'sign_ins_per_network', 'There have been too many sign-in attempts from this network; try again later.', interval '15 minutes');
end;
comment on function app_private.count_sign_in is
  'Counts one more attempt to sign in; refuses with 429 rate_limited when there are too many from one network.';

create function app_private.ask_provider(secret_hash bytea, browser_hash bytea, return_to text, network text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.count_sign_in(network);
  insert into app_private.sign_ins (secret_hash, browser_hash, return_to)
  values (ask_provider.secret_hash, ask_provider.browser_hash, ask_provider.return_to);
end
$$;
comment on function app_private.ask_provider is 'Records that a browser is sent to the provider, and with which state.';

create function app_private.send_link(
  email text, secret_hash bytea, browser_hash bytea, return_to text, link text, network text
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(app_private.email_problems('email', email));
  perform app_private.count_sign_in(network);
  -- By network as well, so that somebody who asks for links to another person's address does not keep that person
  -- from getting one.
  perform app_private.use_up(format('sign-in address %s', encode(sha256(convert_to(counted, 'utf8')), 'hex')),
    setting, 'Too many links were sent to this address; use the last one, or try again later.', interval '15 minutes')
  from (values
    (app_private.mailbox(email) || ' ' || network, 'sign_in_links_per_address'),
    (app_private.mailbox(email), 'sign_in_links_per_address_everywhere')
  ) as limits (counted, setting);
  insert into app_private.sign_ins (secret_hash, browser_hash, email, return_to)
  values (send_link.secret_hash, send_link.browser_hash, send_link.email, send_link.return_to);
  insert into app_private.mails (unique_key, kind, recipient, data)
  values (format('sign_in:%s', encode(send_link.secret_hash, 'hex')), 'sign_in', send_link.email,
    jsonb_build_object('link', send_link.link));
end
$$;
comment on function app_private.send_link is
  'Mails a link to sign in, whether the address is known here or not, so that nobody learns which. Refuses with 400 a text '
  'that is not an e-mail address, and with 429 rate_limited too many links for one address or from one network.';

create function app_private.take_sign_in(secret_hash bytea, browser_hash bytea, by_mail boolean)
returns app_private.sign_ins
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  -- Deletes the row instead of marking it, so that only one of two simultaneous requests finds it. Another browser
  -- uses nothing up.
  delete from app_private.sign_ins as s
  where s.secret_hash = take_sign_in.secret_hash and s.browser_hash = take_sign_in.browser_hash
    and (s.email is not null) = by_mail and app_private.sign_in_is_open(s)
  returning s.*;
end;
comment on function app_private.take_sign_in is
  'The sign-in that this browser had begun, which is thereby used up; nulls if it was used before, has expired, or was begun '
  'by another browser.';

create function app_private.begin_session(
  secret_hash bytea, earlier_hash bytea, email text, issuer text default null, subject text default null
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.end_session(earlier_hash, false);
  insert into app_private.sessions (secret_hash, email, issuer, subject)
  values (begin_session.secret_hash, begin_session.email, begin_session.issuer, begin_session.subject);
end
$$;
comment on function app_private.begin_session is
  'Begins a session, under a new secret, for a person who has proven their address. Ends the session that the browser had '
  'before.';

create function app_private.follow_link(secret_hash bytea, browser_hash bytea, session_hash bytea, earlier_hash bytea)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  begun constant app_private.sign_ins := app_private.take_sign_in(secret_hash, browser_hash, by_mail => true);
begin
  if begun.email is not null then
    perform app_private.begin_session(session_hash, earlier_hash, begun.email);
  end if;
  return begun.return_to;
end
$$;
comment on function app_private.follow_link is
  'Signs in the person who follows the link that was sent to them; returns the page they wanted, or null if the link is not '
  'valid.';

create function app_private.find_session(secret_hash bytea) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  found app_private.sessions;
begin
  select * into found from app_private.sessions as s
  where s.secret_hash = find_session.secret_hash and app_private.session_is_accepted(s);
  -- At most once a minute, and without waiting for another request that is doing it.
  if found.last_used_at < now() - interval '1 minute' then
    update app_private.sessions as s set last_used_at = now()
    from (
      select l.session_id from app_private.sessions as l where l.session_id = found.session_id
      for no key update skip locked
    ) as free
    where s.session_id = free.session_id;
  end if;
  return case when found.session_id is not null then app_private.session_person(found) end;
end
$$;
comment on function app_private.find_session is
  'The person of the session whose text has this SHA-256; null if it is unknown, has ended, or is not accepted any more.';

create function app_private.sessions_of(email text) returns setof app_private.sessions
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if email is not null then
    perform app_private.require_address(email);
  end if;
  return query select s.* from app_private.sessions as s
    where app_private.session_is_live(s) and (sessions_of.email is null or lower(s.email) = lower(sessions_of.email));
end
$$;
comment on function app_private.sessions_of is 'For the operator: the live sessions of a person, or all of them without an address.';

create function app_private.end_sessions(email text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  ended bigint;
begin
  perform app_private.require_address(email);
  delete from app_private.sign_ins as s where lower(s.email) = lower(end_sessions.email);
  delete from app_private.sessions as s where lower(s.email) = lower(end_sessions.email);
  get diagnostics ended = row_count;
  return ended;
end
$$;
comment on function app_private.end_sessions is
  'Ends all sessions of a person, and the links that were sent to them; returns the number of sessions.';

create function app_private.end_session_of_id(session_id text) returns bigint
language sql
begin atomic
  with ended as (delete from app_private.sessions as s where s.session_id::text = lower(end_session_of_id.session_id) returning 1)
  select count(*) from ended;
end;
comment on function app_private.end_session_of_id is 'Ends one session, by its id; returns whether there was one, as 1 or 0.';

create function app_private.end_sessions_of_issuer(issuer text) returns bigint
language sql
begin atomic
  with ended as (delete from app_private.sessions as s where s.issuer = end_sessions_of_issuer.issuer returning 1)
  select count(*) from ended;
end;
comment on function app_private.end_sessions_of_issuer is 'Ends all sessions that were begun at a provider; returns their number.';

create function app_private.end_session(secret_hash bytea, everywhere boolean) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  done boolean := true;
begin
  if everywhere then
    perform app_private.end_sessions(s.email) from app_private.sessions as s
    where s.secret_hash = end_session.secret_hash and app_private.session_is_accepted(s);
    done := found;
  end if;
  delete from app_private.sessions as s where s.secret_hash = end_session.secret_hash;
  return done;
end
$$;
comment on function app_private.end_session is
  'Signs out: ends this session, or all sessions of its person if everywhere. Returns false if those cannot be ended because '
  'this session has already ended, or is not accepted any more.';

create function app_private.forget_old_sessions() returns void
language sql
begin atomic
  -- A mail is of no use once its link has expired.
  delete from app_private.mails
  where kind = 'sign_in' and created_at < now() - interval '1 day'
    or kind = 'confirm_claim' and created_at < now() - app_private.link_lasts(kind)::interval;
  delete from app_private.sign_ins as s where not app_private.sign_in_is_open(s);
  delete from app_private.sessions as s where not app_private.session_is_live(s);
end;
comment on function app_private.forget_old_sessions is 'Deletes expired sessions and links, and the mails with such links.';
