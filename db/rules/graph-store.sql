-- How the graph store is doing, and what is known to be wrong with what it holds.

create function app_private.note_graph_state(state app_public.graph_state, reason text default null) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_store as s
  set state = note_graph_state.state, reason = note_graph_state.reason,
    since = case when s.state = note_graph_state.state then s.since else now() end
  where (s.state, s.reason) is distinct from (note_graph_state.state, note_graph_state.reason);
end;
comment on function app_private.note_graph_state is
  'Says how the graph store is doing, and in one sentence why; docs/operations.md tells what each state means.';

create function app_private.note_graph_current() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.note_graph_state('current')
  where not exists (select from app_private.graph_rebuilds as r where r.requested_at is not null);
end;
comment on function app_private.note_graph_current is
  'Says that the graph holds everything, unless a named graph is waiting to be replaced.';

create function app_private.graphs_with_records() returns setof app_public.record_kind
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  recorded app_private.record_tables;
  found_one boolean;
begin
  for recorded in select * from app_private.record_tables loop
    execute format(
      'select exists (
         select from %s as t
         join app_private.graph_records as r on r.kind = %L and r.record_id = t.%I
         where r.state = ''synced'')', recorded.recorded, recorded.kind, recorded.key) into found_one;
    if found_one then
      return next recorded.kind;
    end if;
  end loop;
end
$$;
comment on function app_private.graphs_with_records is
  'The kinds of records of which the graph should hold at least one now.';

create function app_private.request_rebuild() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_rebuilds set requested_at = now(), written = 0, rejected = 0;
  select app_private.mark_references();
end;
comment on function app_private.request_rebuild is
  'Asks for every named graph of the service to be replaced as a whole; the worker does what nobody else does.';

create function app_private.request_verification() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_private.graph_verification
  set part = 0, after = null, differences = 0, repaired = 0, urgent = true;
end;
comment on function app_private.request_verification is
  'Begins the background verification anew, at once and as fast as its share of the store''s time allows.';

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
    differences = case when next_part is null then 0 else v.differences + found end,
    repaired = case when next_part is null then 0 else v.repaired + note_verification.repaired end,
    verified_at = case when next_part is null then now() else v.verified_at end,
    drift = case when next_part is null
      then v.differences + found - v.repaired - note_verification.repaired else v.drift end
  -- A round that was begun anew in the meantime is not taken further.
  where v.part = note_verification.part and v.after is not distinct from note_verification.after;
end;
comment on function app_private.note_verification is
  'Notes what a step of the background verification found and repaired, and where the next one begins; without a next '
  'part, the round is over.';

create policy read on app_private.graph_store for select to api_read using (true);
create policy read on app_private.graph_verification for select to api_read using (true);

create view rest.health with (security_invoker = true) as
select
  dirty.pending,
  coalesce(extract(epoch from now() - dirty.since), 0)::float8 as "oldestPendingSeconds",
  (select count(*) from app_private.graph_records as r where r.state = 'rejected') as rejected,
  -- While graphs are being replaced, readers see the old ones.
  s.state in ('current', 'rebuilding') as "isWhole",
  s.state as "graphState",
  s.since as "graphStateSince",
  v.verified_at as "verifiedAt",
  v.drift
from (select count(*) as pending, min(d.dirty_since) as since from app_private.dirty_records as d) as dirty
cross join app_private.graph_store as s
cross join app_private.graph_verification as v;
comment on view rest.health is 'How far the graph is behind the tables, for GET /v0/health.';
