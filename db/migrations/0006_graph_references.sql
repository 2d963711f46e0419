-- What records point to in the graph, and which state of it the graph holds.

create table app_private.graph_references (
  name text primary key check (name in ('accelerators', 'people_groups', 'countries')),
  revision bigint not null default 1,
  synced_revision bigint not null default 0,
  synced_at timestamptz
);
comment on table app_private.graph_references is
  'One row a list that has a named graph of its own; the graph lags while the two revisions differ.';
alter table app_private.graph_references enable row level security;
insert into app_private.graph_references (name) values ('accelerators'), ('people_groups'), ('countries');

-- A new list may give a concept another code; the old code is kept, deprecated, with the concept it had.
alter table app_public.accelerators drop constraint accelerators_concept_uri_key;

insert into app_private.settings (name, value, description) values
  ('expire_commitments', 'true', 'Whether commitments past their target date become expired by themselves.');
