-- What the database knows of the graph store, so that a store that was exchanged, emptied or set back is noticed.

create type app_public.graph_state as enum ('current', 'rebuilding', 'behind', 'lagging', 'unconfirmed', 'unavailable');

create table app_private.graph_store (
  only_row boolean primary key default true check (only_row),
  identity uuid not null default gen_random_uuid(),
  turn bigint not null default 0,
  drain bigint not null default 0,
  state app_public.graph_state not null default 'current',
  reason text,
  since timestamptz not null default now()
);
comment on table app_private.graph_store is 'One row: the graph that belongs to this database, and how its store is doing.';
comment on column app_private.graph_store.identity is
  'What the graph says of itself; updates have no effect on a store that does not say the same.';
comment on column app_private.graph_store.turn is 'The last update that the store was seen to hold; see graph/turns.ts.';
comment on column app_private.graph_store.drain is
  'Numbers the drains; no sequence, because that may be up to 32 ahead after a crash or a failover, and hide that the '
  'database has lost what those drains wrote.';
-- A worker of an earlier release would note as written what the graph, whose numbers are larger now, ignores. Without the
-- sequence it writes nothing, and waits to be replaced.
drop sequence app_private.graph_turns;
alter table app_private.graph_store enable row level security;
insert into app_private.graph_store default values;

alter table app_private.graph_records add column turn bigint;
comment on column app_private.graph_records.turn is
  'The update after which the store was seen to hold the record; a store that is set back before it has lost it.';
alter table app_private.graph_references add column turn bigint;
comment on column app_private.graph_references.turn is
  'The update after which the store was seen to hold the list; a store that is set back before it has lost it.';
alter table app_private.graph_references add column triples bigint;
comment on column app_private.graph_references.triples is 'How many triples the list was when it was last written.';

create table app_private.graph_rebuilds (
  kind app_public.record_kind primary key,
  requested_at timestamptz,
  total bigint not null default 0,
  written bigint not null default 0,
  rejected bigint not null default 0,
  turn bigint
);
comment on table app_private.graph_rebuilds is
  'One row a named graph of records: whether it is to be replaced as a whole, how far that is, and when it last was.';
comment on column app_private.graph_rebuilds.requested_at is 'Null unless a replacement is wanted and has not been finished.';
comment on column app_private.graph_rebuilds.turn is
  'The update after which the store was seen to hold the whole graph; a store that is set back before it has lost it.';
alter table app_private.graph_rebuilds enable row level security;
insert into app_private.graph_rebuilds (kind) select unnest(enum_range(null::app_public.record_kind));

create table app_private.graph_verification (
  only_row boolean primary key default true check (only_row),
  part bigint not null default 0,
  after uuid,
  differences bigint not null default 0,
  repaired bigint not null default 0,
  urgent boolean not null default false,
  verified_at timestamptz,
  drift bigint
);
comment on table app_private.graph_verification is
  'One row: how far the round of verification that is under way has come, and what the last whole one found.';
comment on column app_private.graph_verification.part is 'Which part of a round is next: the named graphs, the lists, everything else.';
comment on column app_private.graph_verification.after is 'Within a part: the last record that has been compared.';
comment on column app_private.graph_verification.urgent is 'Whether the round goes on as fast as the share of time allows.';
comment on column app_private.graph_verification.drift is
  'How many differences the last whole round found and did not repair; null before the first one.';
alter table app_private.graph_verification enable row level security;
insert into app_private.graph_verification default values;
