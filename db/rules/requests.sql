-- How the server has a request carried out: under which role, in one statement, and with the answer of the first time if the
-- request was sent before with the same idempotency key.

create function app_private.job_payload() returns json
language sql stable
return json_strip_nulls(json_build_object('traceparent', nullif(current_setting('app.trace_parent', true), '')));
comment on function app_private.job_payload is
  'The payload of a job: the trace of the request that adds it, if it is traced.';

-- The one statement of every REST request: switches to the role of the key's scope and does the work, in one round
-- trip. (A security-definer function could not change the role, so this one is not.)
create function app_private.run_as(
  scope name, statement text, body jsonb default '{}',
  key_id uuid default null, idempotency_key text default null, request_id text default null,
  trace_parent text default null, person jsonb default null, request jsonb default null
) returns setof text
language plpgsql rows 1
as $$
declare
  caller constant uuid := coalesce(key_id, (person ->> 'id')::uuid);
  answer text;
begin
  -- Read by the rules of identity.sql, and recorded in the histories of what this transaction changes (db/migrations/0044_trail.sql).
  perform set_config('app.key_id', coalesce(key_id::text, ''), true),
    set_config('app.person', coalesce(person::text, ''), true),
    set_config('app.request_id', coalesce(request_id, ''), true),
    set_config('app.trace_parent', coalesce(trace_parent, ''), true);
  if idempotency_key is not null then
    -- During an upgrade, servers of an earlier version still call this without the request; their fingerprints have
    -- another length.
    answer := app_private.recall_answer(caller, idempotency_key,
      coalesce(app_private.request_fingerprint(request, person), sha256(convert_to(statement || body, 'utf8'))));
    if answer is not null then
      return next answer;
      return;
    end if;
  end if;
  perform set_config('role', scope, true);
  if idempotency_key is null then
    -- Not "return query", which would not convert the type of the result to text.
    for answer in execute statement using body loop
      return next answer;
    end loop;
  else
    execute statement into answer using body;
    perform set_config('role', 'none', true);
    perform app_private.keep_answer(caller, idempotency_key, answer);
    return next answer;
  end if;
end
$$;
comment on function app_private.run_as is
  'Runs a statement of the server (its $1 is the request''s body) under an API role and returns its text answer, in pieces '
  'if the statement returns several rows. With an idempotency key, the same request (its method, path and body) '
  'gets the first answer again, and a different request gets 409.';

create function app_private.request_fingerprint(request jsonb, person jsonb default null) returns bytea
language sql immutable
-- Of the request as the caller sent it, whatever the spelling of its path, which is the same for every version of the service; the SQL that a server makes of it,
-- with defaults filled in, is not. Null counts as left out. A person whose provider has given them another address counts as
-- another person. The length differs from that without a person, which earlier versions did not include (recall_answer).
return case when person is null then '\x01'::bytea else '\x0201'::bytea end || sha256(convert_to(
  jsonb_strip_nulls(request || jsonb_build_object('person', lower(person ->> 'email')))::text, 'utf8'));
comment on function app_private.request_fingerprint is
  'The fingerprint by which a repeated request is recognized: of its method, its path however it was spelled, its body as it was sent, and the '
  'address of the person who sends it.';

create function app_private.recall_answer(caller uuid, idempotency_key text, fingerprint bytea) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  earlier app_private.idempotent_answers;
begin
  loop
    -- If a request with the same key is still running, this waits for it, at the unique index.
    insert into app_private.idempotent_answers (key_id, idempotency_key, fingerprint)
    values (recall_answer.caller, recall_answer.idempotency_key, recall_answer.fingerprint)
    on conflict do nothing;
    if found then
      return null;
    end if;
    select * into earlier from app_private.idempotent_answers as a
    where a.key_id = recall_answer.caller and a.idempotency_key = recall_answer.idempotency_key;
    -- The conflicting row may have been deleted by now; then try again.
    exit when found;
  end loop;
  -- Fingerprints of different lengths cannot be compared. If they counted as different requests, a client that
  -- repeats a request during an upgrade would send it again with a new key, and write twice.
  if length(earlier.fingerprint) = length(recall_answer.fingerprint)
    and earlier.fingerprint <> recall_answer.fingerprint then
    perform app_private.refuse('idempotency_key_reused');
  end if;
  return earlier.answer;
end
$$;
comment on function app_private.recall_answer is
  'The answer already given for this idempotency key, or null after reserving the key for the current request. Called by '
  'run_as for its one statement, and by GraphQL in the transaction of its one mutation.';

create function app_private.keep_answer(caller uuid, idempotency_key text, answer text) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.idempotent_answers as a set answer = keep_answer.answer
  where a.key_id = keep_answer.caller and a.idempotency_key = keep_answer.idempotency_key;
end;
comment on function app_private.keep_answer is 'Stores the answer, for when the request is repeated.';

create function app_private.forget_old_answers() returns bigint
language sql
begin atomic
  with forgotten as (
    delete from app_private.idempotent_answers where created_at < now() - interval '24 hours' returning 1
  )
  select count(*) from forgotten;
end;
comment on function app_private.forget_old_answers is 'Deletes answers that have been kept for idempotency keys for more than 24 hours; returns how many.';
