-- What of the tables has reached the graph.

create type app_public.record_kind as enum ('need', 'commitment', 'engagement_claim');
create type app_public.graph_status as enum ('pending', 'synced', 'rejected');

create table app_private.graph_records (
  kind app_public.record_kind not null,
  record_id uuid not null,
  revision bigint not null default 1,
  synced_revision bigint not null default 0,
  state app_public.graph_status not null default 'pending',
  errors jsonb not null default '[]',
  dirty_since timestamptz default now(),
  synced_at timestamptz,
  primary key (kind, record_id)
) with (fillfactor = 80);
comment on table app_private.graph_records is
  'One row a record: which revision it has and which revision the graph holds. Dirty while the two differ.';
create index graph_records_dirty on app_private.graph_records (dirty_since) where revision <> synced_revision;
create index graph_records_rejected on app_private.graph_records (kind, record_id) where state = 'rejected';
alter table app_private.graph_records enable row level security;

create table app_private.graph_wakeups (
  wakeup_id bigint generated always as identity primary key,
  created_at timestamptz not null default now()
);
comment on table app_private.graph_wakeups is
  'Jobs of the worker that have not started: a writer joins one by a key-share lock instead of adding its own.';
alter table app_private.graph_wakeups enable row level security;
