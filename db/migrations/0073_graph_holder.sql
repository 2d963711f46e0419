alter table app_private.graph_store add column held_at timestamptz;
comment on column app_private.graph_store.held_at is
  'When whoever has the right to write the graph last said that they are still at it.';
