alter table app_private.graph_rebuilds add column is_repair boolean not null default false;
comment on column app_private.graph_rebuilds.is_repair is
  'Whether it is to be replaced because the store holds something else: then what readers see until it is, is wrong.';
