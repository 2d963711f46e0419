-- How far the log has got, so that a replica is asked only once it has everything that was acknowledged before
-- (server/postgres/replica.ts). Positions are numbers of bytes from the beginning of the log.

create function app_private.database_identity() returns text
language sql stable
begin atomic
  select s.system_identifier || '/' || d.oid
  from pg_control_system() as s, pg_database as d where d.datname = current_database();
end;
comment on function app_private.database_identity is 'What a database has in common with its replicas, and with nothing else.';

-- Whoever has been told of a commit can rely on it being flushed, unless commits are told before that; then what is inserted
-- is what counts, and replicas get that a moment later.
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
  'How far the log of the primary has got, of which database, and on which timeline: whatever has been acknowledged is before it.';

create function app_private.replayed_position() returns bigint
language sql volatile
return (pg_last_wal_replay_lsn() - pg_lsn '0/0')::bigint;
comment on function app_private.replayed_position is 'How far a replica has replayed the log.';

-- Who waits for a replica within a transaction can keep it from replaying, so this does not wait.
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
  'The settings of a question, where a position comes with it only on a replica that has got there: raises EG002 on one that is '
  'behind, and EG001 on what is no replica of that database.';
