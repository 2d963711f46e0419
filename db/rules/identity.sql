-- Which key is calling, in which role, on whose behalf.

create function app_private.authenticate(hash bytea)
returns table (key_id uuid, scope name, rate_per_minute integer, expires_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, k.scope, k.rate_per_minute, k.expires_at
  from app_private.api_keys as k
  where k.key_hash = hash and k.revoked_at is null and (k.expires_at is null or k.expires_at > now());
end;
comment on function app_private.authenticate is
  'The live API key whose text has this SHA-256; no row when it is unknown, expired or revoked.';

create function app_private.validate_api_key() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(app_private.name_problems('label', app_private.trimmed(new.label)));
  return new;
end
$$;
comment on function app_private.validate_api_key is 'Row trigger: refuses a malformed label with 400.';
create trigger validate_insert before insert on app_private.api_keys
  for each row execute function app_private.validate_api_key();
create trigger validate_update before update on app_private.api_keys
  for each row when (old.label is distinct from new.label) execute function app_private.validate_api_key();

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

create function app_private.name_actor(email text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(app_private.email_problems('actorEmail', email));
  perform set_config('app.actor_email', email, true);
end
$$;
comment on function app_private.name_actor is
  'Names the acting user for the rest of the transaction; refuses with 400 what is not an e-mail address.';

create function app_private.current_actor() returns text
language sql stable
return nullif(current_setting('app.actor_email', true), '');
comment on function app_private.current_actor is 'E-mail address of the acting user, as named by name_actor; null when nobody was.';

create function app_private.job_payload() returns json
language sql stable
return json_strip_nulls(json_build_object('traceparent', nullif(current_setting('app.trace_parent', true), '')));
comment on function app_private.job_payload is
  'What a job is told of the request that asks for it: its trace, if one is made.';

-- The one statement of every REST request: becomes the role of the key's scope and does the work, in one
-- round trip. (A security-definer function could not change the role, so this one is not.)
create function app_private.run_as(
  scope name, statement text, body jsonb default '{}',
  key_id uuid default null, idempotency_key text default null, request_id text default null,
  trace_parent text default null
) returns text
language plpgsql
as $$
declare
  answer text;
begin
  -- What the histories remember of this transaction (db/migrations/0044_trail.sql).
  perform set_config('app.key_id', coalesce(key_id::text, ''), true),
    set_config('app.request_id', coalesce(request_id, ''), true),
    set_config('app.trace_parent', coalesce(trace_parent, ''), true);
  if idempotency_key is not null then
    answer := app_private.recall_answer(key_id, idempotency_key, sha256(convert_to(statement || body, 'utf8')));
    if answer is not null then
      return answer;
    end if;
  end if;
  perform set_config('role', scope, true);
  execute statement into answer using body;
  if idempotency_key is not null then
    perform set_config('role', 'none', true);
    perform app_private.keep_answer(key_id, idempotency_key, answer);
  end if;
  return answer;
end
$$;
comment on function app_private.run_as is
  'Runs a statement of the server (its $1 is the request''s body) under an API role and returns its text answer. '
  'With an idempotency key, the same statement and body get the first answer again, and any other gets 409.';

create function app_private.recall_answer(key_id uuid, idempotency_key text, fingerprint bytea) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  earlier app_private.idempotent_answers;
begin
  -- If a request with the same key is still running, this waits for it, at the unique index.
  insert into app_private.idempotent_answers (key_id, idempotency_key, fingerprint)
  values (recall_answer.key_id, recall_answer.idempotency_key, recall_answer.fingerprint)
  on conflict do nothing;
  if found then
    return null;
  end if;
  select * into earlier from app_private.idempotent_answers as a
  where a.key_id = recall_answer.key_id and a.idempotency_key = recall_answer.idempotency_key;
  if earlier.fingerprint is distinct from recall_answer.fingerprint then
    perform app_private.refuse('idempotency_key_reused');
  end if;
  return earlier.answer;
end
$$;
comment on function app_private.recall_answer is
  'The answer already given for this idempotency key, or null after taking the key for the current request.';

create function app_private.keep_answer(key_id uuid, idempotency_key text, answer text) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.idempotent_answers as a set answer = keep_answer.answer
  where a.key_id = keep_answer.key_id and a.idempotency_key = keep_answer.idempotency_key;
end;
comment on function app_private.keep_answer is 'Keeps the answer for a repetition of the request.';

create function app_private.forget_old_answers() returns bigint
language sql
begin atomic
  with forgotten as (
    delete from app_private.idempotent_answers where created_at < now() - interval '24 hours' returning 1
  )
  select count(*) from forgotten;
end;
comment on function app_private.forget_old_answers is 'Deletes answers that have been kept for idempotency keys for more than 24 hours; returns how many.';
