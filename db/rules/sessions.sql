-- Sessions of persons on the service's own pages: how one begins, how long it lasts, how it ends. To the other rules a
-- session is what a person's token is (identity.sql). Of every secret only the SHA-256 comes this far: the browser has the
-- text of the session, the mail has the text of the link.

create function app_private.session_is_live(session app_private.sessions) returns boolean
language sql stable
return session.created_at > now() - interval '7 days' and session.last_used_at > now() - interval '12 hours';
comment on function app_private.session_is_live is 'Whether a session is let in: not too old, and not left alone for too long.';

create function app_private.sign_in_is_open(begun app_private.sign_ins) returns boolean
language sql stable
return begun.created_at > now() - case
  -- A claim waits for its review anyway, and whoever is to confirm it has not asked for the mail.
  when begun.browser_hash is null then interval '7 days'
  else interval '15 minutes'
end;
comment on function app_private.sign_in_is_open is 'Whether a link, or the answer of a provider, is still in time.';

-- Made once for each installation, and in no log: of an address alone the digest could be found by trying.
insert into app_private.settings as s (name, value, description)
values ('person_digest_key', to_jsonb(gen_random_uuid()),
        'Goes into what persons without a provider are called in limits and logs, so that nobody finds their address by trying.')
on conflict (name) do update set description = excluded.description where s.description <> excluded.description;

create function app_private.session_person(session app_private.sessions) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    -- What limits are counted by: for a person of a provider the same as with their token (server/identity/tokens.ts).
    'id', left(encode(sha256(convert_to(
      coalesce(session.issuer || ' ' || session.subject,
        (select s.value #>> '{}' from app_private.settings as s where s.name = 'person_digest_key') || ' ' || lower(session.email)),
      'utf8')), 'hex'), 32)::uuid,
    'issuer', coalesce(session.issuer, 'session'),
    'subject', coalesce(session.subject, session.session_id::text),
    'email', session.email);
end;
comment on function app_private.session_person is
  'The person of a session, as app.person has them. Histories name the provider''s account, or else the session.';

create function app_private.count_sign_in(network text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- By its hash, as addresses are below: who was here is nobody's business a quarter of an hour later.
  select app_private.use_up(format('sign-in network %s', encode(sha256(convert_to(network, 'utf8')), 'hex')),
    'sign_ins_per_network', 'Too many have begun to sign in from this network; try again later.', interval '15 minutes');
end;
comment on function app_private.count_sign_in is
  'Counts one more who begins to sign in; refuses with 429 rate_limited too many from one network.';

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
comment on function app_private.ask_provider is 'Notes that a browser is sent to the provider, and with which state.';

create function app_private.send_link(
  email text, secret_hash bytea, browser_hash bytea, return_to text, link text, network text
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(app_private.email_problems('email', email));
  perform app_private.count_sign_in(network);
  -- By network as well: somebody who asks for links to another's address does not keep the other from getting one.
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
  'Mails a link to sign in to whoever asks, known here or not: the same is done for both, so nobody learns which. Refuses '
  'with 400 what is not an address, and with 429 rate_limited too many for one address or from one network.';

create function app_private.take_sign_in(secret_hash bytea, browser_hash bytea, by_mail boolean)
returns app_private.sign_ins
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  -- Deleted and not marked: of two at the same time one finds it. Another browser takes nothing away.
  delete from app_private.sign_ins as s
  where s.secret_hash = take_sign_in.secret_hash and s.browser_hash = take_sign_in.browser_hash
    and (s.email is not null) = by_mail and app_private.sign_in_is_open(s)
  returning s.*;
end;
comment on function app_private.take_sign_in is
  'What this browser had begun, which thereby is over; nulls when it is used, too late, or of another browser.';

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
  'Signs in whoever has proven an address, under a secret that is new. The session that the browser had before is over.';

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
  'Signs in whoever comes with the link that was sent to them; returns where they wanted to be, or null when it is no good.';

create function app_private.find_session(secret_hash bytea) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  found app_private.sessions;
begin
  select * into found from app_private.sessions as s
  where s.secret_hash = find_session.secret_hash and app_private.session_is_live(s);
  -- Not with every request, and not behind another that is doing it.
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
  'The person of the live session whose text has this SHA-256; null when it is unknown, ended or over.';

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
  'Ends all sessions of a person, and the links that were sent to them; returns how many sessions these were.';

create function app_private.end_session_of_id(session_id text) returns bigint
language sql
begin atomic
  with ended as (delete from app_private.sessions as s where s.session_id::text = lower(end_session_of_id.session_id) returning 1)
  select count(*) from ended;
end;
comment on function app_private.end_session_of_id is 'Ends one session, by its id; returns whether there was one, as 1 or 0.';

create function app_private.end_session(secret_hash bytea, everywhere boolean) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  done boolean := true;
begin
  if everywhere then
    perform app_private.end_sessions(s.email) from app_private.sessions as s
    where s.secret_hash = end_session.secret_hash and app_private.session_is_live(s);
    done := found;
  end if;
  delete from app_private.sessions as s where s.secret_hash = end_session.secret_hash;
  return done;
end
$$;
comment on function app_private.end_session is
  'Signs out: this session, or all of its person; returns false for all where this one is over already.';

create function app_private.forget_old_sessions() returns void
language sql
begin atomic
  -- What a link was mailed with is worth nothing once it is over.
  delete from app_private.mails
  where kind = 'sign_in' and created_at < now() - interval '1 day'
    or kind = 'confirm_claim' and created_at < now() - interval '7 days';
  delete from app_private.sign_ins as s where not app_private.sign_in_is_open(s);
  delete from app_private.sessions as s where not app_private.session_is_live(s);
end;
comment on function app_private.forget_old_sessions is 'Deletes sessions that are over, links that are, and the mails with such links.';
