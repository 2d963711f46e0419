-- The state of the graph store as health checks and operators see it, the URIs that everything in it begins with, and
-- the bookkeeping of rebuilds and of the background verification.

-- The beginnings of all IRIs in the graph, the same for all processes of the service. `npm run migrate` writes them here.
insert into app_private.settings as s (name, value, description)
values
  ('graph_data_url', '"https://data.example.org"',
   'GRAPH_DATA_URL: new organizations are named under its /org/. Written by every migrate.'),
  ('namespace_url', '"https://ontology.example.org/core#"',
   'NAMESPACE_URL: the namespace of the graph''s terms. Written by every migrate.')
on conflict (name) do update set description = excluded.description where s.description <> excluded.description;

create function app_private.graph_names() returns table (name text, value text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select s.name, s.value #>> '{}' from app_private.settings as s where s.name in ('graph_data_url', 'namespace_url');
end;
comment on function app_private.graph_names is
  'The beginnings of all IRIs in the graph, for each process to compare with its own; also for the server''s login.';

create function app_private.graph_owner() returns uuid
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select s.identity from app_private.graph_store as s where s.turn > 0;
end;
comment on function app_private.graph_owner is
  'The identity that this database gave to its graph store, and that the store must show; null if the graph has never been '
  'written.';

create function app_private.is_recent(at timestamptz, span interval) returns boolean
language sql stable
return at between now() - span and now() + span;
comment on function app_private.is_recent is
  'Whether a time is at most so long ago; one that is further ahead was written before the clock was set back, and is not '
  'recent. Null if the time is.';

create function app_private.note_graph_state(
  state app_public.graph_state, reason text default null, seen_by uuid default null
) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_store as s
  set state = note_graph_state.state, reason = note_graph_state.reason,
    since = case when s.state = note_graph_state.state then s.since else now() end,
    looked_at = now(), looked_by = coalesce(seen_by, s.looked_by)
  -- A worker that cannot reach the store knows less than one that has just seen it, so it is believed only if the
  -- other is silent.
  where seen_by is null or s.looked_by is null or s.looked_by = seen_by
    or app_private.is_recent(s.looked_at, '15 seconds') is not true;
end;
comment on function app_private.note_graph_state is
  'Records the state of the graph store and the reason in one sentence; docs/operations.md explains each state. A failure '
  'seen only by the worker seen_by is ignored while another worker can reach the store.';

create function app_private.note_graph_work(state app_public.graph_state, reason text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- A worker that tries again does not know yet whether the store accepts anything; until it does, the failure and
  -- its time stay.
  select app_private.note_graph_state(note_graph_work.state, note_graph_work.reason)
  from app_private.graph_store as s where s.state not in ('unavailable', 'unconfirmed');
end;
comment on function app_private.note_graph_work is
  'Records what is being done about the graph, and why. Trying does not end a failure of the store: only an accepted update '
  'does (note_graph_turns), or that nothing is left to do (note_graph_current).';

create function app_private.note_graph_back(loss text default null) returns void
language sql
set search_path = pg_catalog, pg_temp
return app_private.note_graph_state('behind', coalesce(loss, 'Changes that had to wait are being written.'));
comment on function app_private.note_graph_back is
  'Records that a store that failed can be written to again, and what it has lost, if that is known.';

create function app_private.note_graph_turns(names text[], turns bigint[], last bigint default null, loss text default null)
returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_store as s
  set turn = greatest(s.turn, note_graph_turns.last, (select max(n.turn) from unnest(turns) as n (turn)));
  insert into app_private.graph_marks as m (name, turn)
  select n.name, n.turn from unnest(names, turns) as n (name, turn)
  on conflict (name) do update set turn = greatest(m.turn, excluded.turn);
  -- An update that changes no named graph does not count: even a full disk may have room for it.
  select app_private.note_graph_back(loss) from app_private.graph_store as s
  where s.state in ('unavailable', 'unconfirmed') and cardinality(names) > 0
    -- Nor if the failure is that of a list, which is reported with the list: the store accepts everything else.
    and not exists (select from app_private.graph_references as r where r.trouble = s.state);
end;
comment on function app_private.note_graph_turns is
  'Records the numbers (turns) of the updates that were seen to have changed these named graphs: from now on a graph must '
  'not show a smaller number. A store that had failed is now behind, with what it has lost as the reason, if that is given. '
  'last is the number of the last update, given if it changed none of them.';

create function app_private.note_graph_heard(silence text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.note_graph_back() from app_private.graph_store as s where s.state = 'unavailable' and s.reason = silence;
end;
comment on function app_private.note_graph_heard is
  'Records that the store answers again, if silence, the reason given for its not answering, is all that was wrong. A '
  'refusal is another matter: it ends when the store accepts something.';

create function app_private.note_graph_seen(seen_by uuid) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_store set looked_at = now(), looked_by = seen_by;
end;
comment on function app_private.note_graph_seen is 'Records that a worker has looked at the store, or is writing to it.';

create function app_private.note_graph_held() returns boolean
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- clock_timestamp(), because the statement that waits for the lock began before it had it.
  update app_private.graph_store set held_at = clock_timestamp();
  select true;
end;
comment on function app_private.note_graph_held is
  'Called every ten seconds by the process that has the right to write the graph, to show that it is not frozen; returns '
  'true.';

create function app_private.end_silent_graph_holder(lock integer) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
begin atomic
  -- A frozen process keeps its connection, and with it the right to write; when it continues, it finds both gone. An
  -- update that it still has under way has no effect on a graph that another process has written since; a whole graph
  -- that it sends does have one, until that is noticed (graph/turns.ts).
  select coalesce(bool_or(pg_terminate_backend(l.pid)), false)
  from pg_locks as l
  -- A process that has only just got the lock, or is running a statement, is not silent.
  join pg_stat_activity as a on a.pid = l.pid and a.state <> 'active'
  cross join app_private.graph_store as s
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.classid = 0 and l.objid = lock::oid
    and l.database = (select d.oid from pg_database as d where d.datname = current_database())
    and not app_private.is_recent(s.held_at, '1 minute');
end;
comment on function app_private.end_silent_graph_holder is
  'Ends the connection of the process that has the right to write the graph, the advisory lock of this key, if it has not '
  'called note_graph_held for a minute; returns whether there was one.';

create view app_private.graph_condition with (security_invoker = true) as
select
  -- As text: `migrate -- --plan` creates this view in the transaction that adds an enum value, where the value cannot
  -- be used yet.
  case
    when not is_watched then 'unwatched'
    when s.state = 'current' and waiting.since is not null then 'behind'
    else s.state::text
  end::app_public.graph_state as state,
  is_watched,
  case
    when not is_watched then coalesce(s.looked_at, s.since)
    when s.state = 'current' then coalesce(waiting.since, s.since)
    else s.since
  end as since
from app_private.graph_store as s
cross join lateral (
  select coalesce(app_private.is_recent(s.looked_at, '30 seconds'), false) as is_watched
) as watched
-- The process that writes may be frozen, which the worker that looks at the store does not notice.
cross join lateral (
  select min(d.dirty_since) as since from app_private.dirty_records as d
  where d.dirty_since < now() - interval '30 seconds'
) as waiting;
comment on view app_private.graph_condition is
  'The state of the graph store: as recorded, but unwatched if no worker has looked at it for half a minute, and behind, not '
  'current, if a change has been waiting for half a minute.';

create view app_private.wanted_rebuilds with (security_invoker = true) as
select r.kind from app_private.graph_rebuilds as r where r.requested_at is not null;
comment on view app_private.wanted_rebuilds is 'The kinds of records whose named graphs are still to be replaced as a whole.';

create function app_private.graph_work_waits() returns boolean
language sql stable
return app_private.graph_behind_since() is not null or exists (select from app_private.wanted_rebuilds);
comment on function app_private.graph_work_waits is
  'Whether anything is waiting for the graph: something to be written to it, or a named graph to be replaced.';

create function app_private.note_graph_current() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.note_graph_state(coalesce(refused.trouble, 'current'), refused.reason)
  from (select) as always
  left join (
    select r.trouble, format('The list %s is not in the graph as it should be. %s', r.name, r.reason) as reason
    from app_private.graph_references as r
    where r.trouble is not null
    order by r.name limit 1
  ) as refused on true
  where not exists (select from app_private.wanted_rebuilds);
end;
comment on function app_private.note_graph_current is
  'Records that the graph is current, or, if a list could not be written to it, what is wrong with that list; does nothing '
  'while a named graph is waiting to be replaced.';

-- One row for each kind of record, also those that later migrations add: each has a named graph.
insert into app_private.graph_rebuilds (kind)
select t.kind from app_private.record_tables as t
on conflict (kind) do nothing;

create function app_private.request_rebuild(kinds app_public.record_kind[], is_repair boolean default false) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_rebuilds as r
  set requested_at = now(), written = 0, rejected = 0, is_repair = r.is_repair or request_rebuild.is_repair
  where r.kind = any (kinds);
end;
comment on function app_private.request_rebuild(app_public.record_kind[], boolean) is
  'Requests that the named graphs of these kinds of records be replaced as a whole; is_repair because what they hold is wrong.';

create function app_private.request_rebuild() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.request_rebuild(array_agg(t.kind)) from app_private.record_tables as t;
  select app_private.mark_references();
end;
comment on function app_private.request_rebuild() is
  'Requests that every named graph of the service be replaced as a whole; the worker does so unless another process does.';

create function app_private.begin_rebuild(kind app_public.record_kind, total bigint default null) returns timestamptz
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.note_graph_work(
    (case when r.is_repair then 'behind' else 'rebuilding' end)::app_public.graph_state, 'Its named graphs are being replaced.')
  from app_private.graph_rebuilds as r where r.kind = begin_rebuild.kind;
  update app_private.graph_rebuilds as r
  set total = coalesce(begin_rebuild.total, r.total), written = 0, rejected = 0
  where r.kind = begin_rebuild.kind
  returning r.requested_at;
end;
comment on function app_private.begin_rebuild is
  'Records that the named graph of a kind of records is being replaced, with so many records in all, or as many as before; '
  'returns when that was requested.';

create function app_private.note_rebuilt(kind app_public.record_kind, written bigint, rejected bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_rebuilds as r
  set written = r.written + note_rebuilt.written, rejected = r.rejected + note_rebuilt.rejected
  where r.kind = note_rebuilt.kind;
end;
comment on function app_private.note_rebuilt is 'Records how many more records a rebuild has sent, and refused.';

create function app_private.end_rebuild(kind app_public.record_kind, requested_at timestamptz, turn bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_rebuilds as r
  set requested_at = null, is_repair = false, turn = coalesce(end_rebuild.turn, r.turn)
  -- A request that came since is for another rebuild.
  where r.kind = end_rebuild.kind and r.requested_at = end_rebuild.requested_at;
end;
comment on function app_private.end_rebuild is
  'Records that the named graph that was requested then has been replaced, by the update of this number, or record by record '
  'if it is null.';

create function app_private.graph_is_comparable() returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select s.state = 'current'
    or not app_private.graph_work_waits()
      and exists (select from app_private.graph_references as r where r.trouble is not null)
  from app_private.graph_store as s;
end;
comment on function app_private.graph_is_comparable is
  'Whether it is useful to compare the graph with the tables: nothing is waiting for the graph, except lists that could not '
  'be written to it.';

create function app_private.request_verification() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_verification
  set part = 0, after = null, differences = 0, repaired = 0, urgent = true;
end;
comment on function app_private.request_verification is
  'Restarts the background verification, at once and as fast as its share of the store''s time allows.';

create function app_private.note_verification(
  part bigint, after uuid, next_part bigint, next_after uuid, found bigint, repaired bigint
) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_verification as v
  set part = coalesce(note_verification.next_part, 0),
    after = note_verification.next_after,
    urgent = v.urgent and note_verification.next_part is not null,
    trouble = null,
    differences = case when next_part is null then 0 else v.differences + found end,
    repaired = case when next_part is null then 0 else v.repaired + note_verification.repaired end,
    verified_at = case when next_part is null then now() else v.verified_at end,
    drift = case when next_part is null
      then v.differences + found - v.repaired - note_verification.repaired else v.drift end
  -- A round that was restarted in the meantime is left alone.
  where v.part = note_verification.part and v.after is not distinct from note_verification.after;
end;
comment on function app_private.note_verification is
  'Records what a step of the background verification found and repaired, and where the next one begins; without a next '
  'part, the round is over.';

create function app_private.end_verification(drift bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_verification set verified_at = now(), drift = end_verification.drift, trouble = null;
end;
comment on function app_private.end_verification is
  'Records that the whole graph has just been compared, with so many differences left; the round in the background goes on.';

create function app_private.note_verification_trouble(reason text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_verification as v set trouble = reason where v.trouble is distinct from reason;
end;
comment on function app_private.note_verification_trouble is 'Records why the verification fails; null if it does not.';

create policy read on app_private.graph_store for select to api_read using (true);
create policy read on app_private.graph_references for select to api_read using (true);
create policy read on app_private.graph_verification for select to api_read using (true);

create view rest.health with (security_invoker = true) as
select
  dirty.pending,
  coalesce(extract(epoch from now() - dirty.since), 0)::float8 as "oldestPendingSeconds",
  (select count(*) from app_private.graph_records as r where r.state = 'rejected') as rejected,
  array(select d.name from app_private.dirty_references as d order by d.name) as "pendingLists",
  -- While graphs are being replaced, readers see the old ones.
  c.state in ('current', 'rebuilding') as "isWhole",
  c.state as "graphState",
  c.since as "graphStateSince",
  v.verified_at as "verifiedAt",
  v.drift,
  v.trouble is not null as "verificationFails"
from (select count(*) as pending, min(d.dirty_since) as since from app_private.dirty_records as d) as dirty
cross join app_private.graph_condition as c
cross join app_private.graph_verification as v;
comment on view rest.health is 'How far the graph is behind the tables, for GET /v0/health.';

create function app_private.graph_counts()
returns table (kind app_public.record_kind, records bigint, pending bigint, synced bigint, rejected bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  listed record;
begin
  for listed in select t.kind, t.recorded, t.key from app_private.record_tables as t order by t.kind loop
    return query execute format(
      'select $1, count(*), '
      'count(*) filter (where coalesce(marked.state, ''pending'') = ''pending''), '
      'count(*) filter (where marked.state = ''synced''), '
      'count(*) filter (where marked.state = ''rejected'') '
      'from %s as record left join app_private.graph_records as marked on marked.kind = $1 and marked.record_id = record.%I',
      listed.recorded, listed.key) using listed.kind;
  end loop;
end
$$;
comment on function app_private.graph_counts is 'How many records of each kind there are, by their state in the graph.';

create function app_private.graph_status() returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    'state', h."graphState",
    'reason', case
      when not c.is_watched then 'No worker has looked at the graph store since then.'
      when c.state <> s.state then 'Changes have been waiting for more than half a minute.'
      else s.reason
    end,
    'since', h."graphStateSince",
    'verifiedAt', h."verifiedAt",
    'drift', h.drift,
    'verificationTrouble', v.trouble,
    'oldestPendingSeconds', h."oldestPendingSeconds",
    'pendingLists', to_jsonb(h."pendingLists"),
    'lastSyncedAt', (select max(r.synced_at) from app_private.graph_records as r),
    'rebuild', (
      select jsonb_build_object('total', sum(r.total), 'written', sum(r.written), 'rejected', sum(r.rejected))
      from app_private.graph_rebuilds as r having count(r.requested_at) > 0),
    'graphs', (select jsonb_agg(to_jsonb(g)) from app_private.graph_counts() as g),
    'rejected', coalesce((
      select jsonb_agg(jsonb_build_object('kind', r.kind, 'id', r.record_id, 'errors', r.errors) order by r.synced_at desc)
      from (
        select * from app_private.graph_records as latest
        where latest.state = 'rejected' order by latest.synced_at desc limit 20
      ) as r), '[]'))
  from rest.health as h cross join app_private.graph_store as s cross join app_private.graph_condition as c
    cross join app_private.graph_verification as v;
end;
comment on function app_private.graph_status is
  'The state of the graph according to the tables, in the terms of `graph status`: rest.health with its reason, the progress '
  'of a rebuild, the number of records of each kind by state, and the latest twenty refusals of the load check.';

create function app_private.graph_status_for_operators() returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- People who assign roles run the platform. Others must not see the reason and the refusals, which may contain addresses.
  perform app_private.require_platform_permission(app_private.current_person(), 'roles:assign');
  return app_private.graph_status();
end
$$;
comment on function app_private.graph_status_for_operators is
  'app_private.graph_status for the person who is calling, who needs the platform permission roles:assign. Errors: 403 '
  'permission_required.';
