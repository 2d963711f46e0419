-- Each drain has a name that no other history of this database, and no other installation, has given to one.

create table app_private.graph_runs (
  drain bigint primary key,
  run uuid not null default gen_random_uuid()
);
comment on table app_private.graph_runs is
  'The drains that graphs may name, by their numbers: what says another name was not written by this database as it is.';
comment on column app_private.graph_runs.run is
  'Drawn when the drain begins, before any update carries it; a restored database draws others for the same numbers.';
alter table app_private.graph_runs enable row level security;
