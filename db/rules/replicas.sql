-- Positions in the write-ahead log, by which the server queries a replica only once it has everything that was
-- acknowledged before (server/postgres/replica.ts). A position is a number of bytes from the beginning of the log.

create function app_private.database_identity() returns text
language sql stable
begin atomic
  select s.system_identifier || '/' || d.oid
  from pg_control_system() as s, pg_database as d where d.datname = current_database();
end;
comment on function app_private.database_identity is
  'An identifier that a database shares with its replicas, and with no other database.';

-- An acknowledged commit has been flushed, unless synchronous_commit is off; then the insert position counts, which
-- replicas reach a moment later.
create function app_private.log_position() returns json
language sql volatile
begin atomic
  select json_build_object(
    'database', app_private.database_identity(),
    'timeline', left(pg_walfile_name(pg_current_wal_flush_lsn()), 8),
    'at', case current_setting('synchronous_commit')
        when 'off' then pg_current_wal_insert_lsn()
        else pg_current_wal_flush_lsn()
      end - pg_lsn '0/0');
end;
comment on function app_private.log_position is
  'The current position in the log of the primary, with its database and timeline: everything that has been acknowledged is '
  'before it.';

create function app_private.replayed_position() returns bigint
language sql volatile
return (pg_last_wal_replay_lsn() - pg_lsn '0/0')::bigint;
comment on function app_private.replayed_position is 'How far a replica has replayed the log.';

-- Raises an error and does not wait: a transaction that waits on a replica can keep it from replaying.
create function app_private.at_position(asked json) returns json
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted constant json := asked -> 'position';
  problem text;
begin
  if wanted is null then
    return asked -> 'settings';
  end if;
  if not pg_is_in_recovery() then
    problem := 'it is no replica';
  elsif wanted ->> 'database' is distinct from app_private.database_identity() then
    problem := 'it is a replica of another database';
  elsif wanted ->> 'timeline' is distinct from
    (select lpad(upper(to_hex(c.timeline_id)), 8, '0') from pg_control_checkpoint() as c) then
    problem := 'it follows another timeline of the log, or has not checkpointed since the primary changed';
  -- It has only what the primary had flushed, unless that has forgotten since.
  elsif (wanted ->> 'replayed')::bigint > (wanted ->> 'at')::bigint then
    problem := 'it is ahead of the primary, which was set back';
  elsif (wanted ->> 'at')::bigint > app_private.replayed_position() then
    raise exception using errcode = 'EG002', message = 'This replica is behind.';
  end if;
  if problem is not null then
    raise exception using errcode = 'EG001', message = problem;
  end if;
  return asked -> 'settings';
end
$$;
comment on function app_private.at_position is
  'The settings of a query. If a position is given, raises EG002 on a replica that has not reached it yet, and EG001 on a '
  'server that is not a replica of that database on that timeline, or had replayed more than the primary had afterwards.';
