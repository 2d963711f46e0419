-- What a store refuses once is not given up: it is tried again, less and less often.

alter table app_private.graph_references
  add column refusals bigint not null default 0,
  add column retry_at timestamptz,
  add column trouble app_public.graph_state,
  add column reason text;
comment on column app_private.graph_references.refusals is
  'How often in a row the list could not be written, although the store took other changes.';
comment on column app_private.graph_references.retry_at is 'When it is tried again; null when at once.';
comment on column app_private.graph_references.trouble is 'The state that the graph is in for as long as the list is not there.';
comment on column app_private.graph_references.reason is 'Why it could not be written, for the operator.';

alter table app_private.graph_records
  add column refusals bigint not null default 0,
  add column retry_at timestamptz;
comment on column app_private.graph_records.refusals is
  'How often in a row the store refused the record, although it took other changes and the load check let it pass.';
comment on column app_private.graph_records.retry_at is
  'When what the store refused is sent again; null for what the load check refused, which nothing but a change can mend.';
-- No row is in it yet, and the table is read through once.
-- squawk-ignore require-concurrent-index-creation
create index graph_records_retry on app_private.graph_records (retry_at) where retry_at is not null;
-- What earlier releases gave up.
update app_private.graph_records set retry_at = now()
where state = 'rejected' and errors @> '[{"path": ""}]';

-- A state is as good as the last look at the store.
alter type app_public.graph_state add value 'unwatched' after 'unavailable';
alter table app_private.graph_store
  add column looked_at timestamptz,
  add column looked_by uuid;
comment on column app_private.graph_store.looked_at is 'When somebody who writes the graph last knew how its store was doing.';
comment on column app_private.graph_store.looked_by is 'Which worker that was, by a number that it has for as long as it runs.';
