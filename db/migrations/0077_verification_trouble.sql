alter table app_private.graph_verification add column trouble text;
comment on column app_private.graph_verification.trouble is
  'Why the last step of the background verification could not be done; null as soon as one can.';
