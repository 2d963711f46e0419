-- When a waiting mail is sent, how long it waits after a failure, and when it is given up. Which mails are written is decided in
-- mail.sql; the worker hands them to the mail server (worker/outbox.ts).

create function app_private.is_waiting_mail(mail app_private.mails) returns boolean
language sql immutable
return mail.sent_at is null and mail.kept_at is null and mail.failed_at is null;
comment on function app_private.is_waiting_mail is
  'Whether a mail has been neither sent nor kept nor given up. Like is_due_mail it sets no search_path, so that queries that '
  'call it use the index of waiting mails.';

create function app_private.is_due_mail(mail app_private.mails) returns boolean
language sql stable
return app_private.is_waiting_mail(mail) and mail.next_attempt_at <= now();
comment on function app_private.is_due_mail is 'Whether a mail is waiting, and has not been put off until later.';

create function app_private.mail_domain(address text) returns text
language sql immutable
return lower(split_part(address, '@', 2));
comment on function app_private.mail_domain is
  'The domain of an address. It is not brought into its normal form (email_domain), which would take long for thousands of'
  ' waiting mails; mails to two spellings of a domain merely wait separately.';

create function app_private.next_mail(kinds text[], domains text[] default null) returns setof app_private.mails rows 1
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select m.* from app_private.mails as m
  where app_private.is_due_mail(m)
    -- Of a kind that came with a later version, its own worker knows what to write.
    and m.kind = any (kinds)
    and (domains is null or app_private.mail_domain(m.recipient) = any (domains))
  -- First those that have not been in the way of a server that was away: it may have been for one of the others alone. Of
  -- these first the links that somebody waits for before a screen: of the rest one key can bring about ten thousand.
  order by m.delayed_since is not null, m.delayed_since is null and m.kind <> 'sign_in', m.next_attempt_at, m.created_at limit 1
  for update skip locked;
end;
comment on function app_private.next_mail is
  'The mail to send next, of these kinds and, if they are given, to these domains (mail_domain). Its row is locked until '
  'the transaction ends, and no other worker gets it.';

create function app_private.mail_wait_after(attempts integer) returns interval
language sql immutable
return least(interval '1 minute' * 2 ^ attempts, interval '4 hours');
comment on function app_private.mail_wait_after is
  'How long a mail that the server refused for now waits after this number of earlier attempts.';

create function app_private.is_last_attempt(attempts integer) returns boolean
language sql immutable
return attempts >= 25;
comment on function app_private.is_last_attempt is
  'Whether the attempt after this number of earlier ones is the last: with the waits between them that is after three days. The '
  'time since the mail was written does not count: the server may have been away since then, and have refused it for the first '
  'time.';

create function app_private.note_mail_refused(mail_id uuid, reason text, for_good boolean) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.mails as m
  set attempts = m.attempts + 1, last_error = reason,
    failed_at = case when for_good or app_private.is_last_attempt(m.attempts) then now() end,
    next_attempt_at = now() + app_private.mail_wait_after(m.attempts)
  where m.mail_id = note_mail_refused.mail_id;
end;
comment on function app_private.note_mail_refused is
  'Records that the mail server refused a mail, and why: it is given up if that is for good or was the last attempt, and '
  'otherwise tried again.';

create function app_private.put_off_mails(mail_id uuid, reason text, silent_at text default null) returns double precision
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  delay record;
begin
  if silent_at is not null then
    perform graphile_worker.add_job('send_mails');
  end if;
  with due as (
    select m.mail_id, m.mail_id = put_off_mails.mail_id and silent_at is not null as is_doubtful, delayed_since, next_attempt_at,
      created_at
    from app_private.mails as m
    where app_private.is_due_mail(m) and (silent_at is null or app_private.mail_domain(m.recipient) = silent_at)
    for update skip locked
  ),
  common as (
    select least(60, greatest(1, extract(epoch from now() - min(delayed_since)) / 2))::float8 as seconds,
      count(*) as mails,
      -- The transaction may have begun a minute ago.
      clock_timestamp() as failed_at
    from due
  ),
  in_order as (
    select mail_id, is_doubtful, row_number() over (
      order by mail_id = put_off_mails.mail_id, delayed_since is not null, next_attempt_at, created_at) as place
    from due
  ),
  put_off as (
    update app_private.mails as m
    set delayed_since = coalesce(m.delayed_since, now()), last_error = reason,
      attempts = m.attempts + in_order.is_doubtful::integer,
      failed_at = case when in_order.is_doubtful and app_private.is_last_attempt(m.attempts) then now() end,
      next_attempt_at = common.failed_at + case when in_order.is_doubtful then app_private.mail_wait_after(m.attempts)
        else make_interval(secs => common.seconds) + in_order.place * interval '1 microsecond' end
    from in_order, common where m.mail_id = in_order.mail_id
  )
  select seconds, failed_at + make_interval(secs => seconds) + mails * interval '1 microsecond' as over_at into delay from common;
  perform graphile_worker.add_job('send_mails', run_at => delay.over_at);
  return delay.seconds;
end
$$;
comment on function app_private.put_off_mails is
  'Puts off all mails that are due because the server is away, longer the longer it lasts, and returns for how many '
  'seconds (1 to 60); a job sends them then. The mail that failed goes behind the others, because the server may fall '
  'silent at that one alone; the others keep their order, or several such mails would take turns before them for ever. '
  'silent_at is given if the server answered at first and fell silent at that mail: the domain (mail_domain) for which it '
  'may wait. Then only mails to this domain are put off, and a job sends the others. The server may also have taken the '
  'mail without saying so in time, so it is tried as seldom as a refused one: otherwise its recipient would get it every '
  'minute.';

create function app_private.is_held(lock bigint) returns boolean
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from pg_locks as l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select d.oid from pg_database as d where d.datname = current_database())
      and l.classid::bigint << 32 | l.objid::bigint = lock);
end;
comment on function app_private.is_held is 'Whether a session has this advisory lock in the database, alone or with others.';

create function app_private.overdue_mails() returns integer
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select count(*)::integer from app_private.mails as m
  where app_private.is_due_mail(m) and m.next_attempt_at <= now() - interval '10 seconds';
end;
comment on function app_private.overdue_mails is
  'How many mails have been due for some seconds, longer than most migrations take: who waits for one is told then.';

create function app_private.note_mail_server() returns void
language sql
return pg_advisory_lock_shared(hashtextextended('app_private.mails', 0));
comment on function app_private.note_mail_server is
  'Notes that a worker which has a mail server is at work. The note is a shared lock, which ends with the connection.';

create function app_private.has_mail_server() returns boolean
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.is_held(hashtextextended('app_private.mails', 0))
  -- A worker that is being restarted has no connection.
  or exists (select from app_private.mails as m where m.sent_at > now() - interval '1 hour');
end;
comment on function app_private.has_mail_server is
  'Whether a worker of the service has a mail server: one is at work, or sent a mail within the last hour. Workers that '
  'have none then leave the mails to it.';

create function app_private.leave_mails(kinds text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  left_to_others integer;
begin
  if not app_private.has_mail_server() then
    return null;
  end if;
  -- One that is locked is just being sent.
  select count(*) into left_to_others
  from (
    select from app_private.mails as m where app_private.is_due_mail(m) and m.kind = any (kinds) for update skip locked
  ) as due;
  if left_to_others > 0 then
    -- After a time that differs, so that it does not come to the same worker each time.
    perform graphile_worker.add_job('send_mails', job_key => 'send_left_mails',
      run_at => now() + make_interval(secs => 1 + 4 * random()));
  end if;
  return left_to_others;
end
$$;
comment on function app_private.leave_mails is
  'For a worker without a mail server, because a mail that it keeps is never sent: the number of due mails of these kinds '
  'that it leaves to another worker, which has one. The job is then added once more. null if no worker has a server.';
