-- The feed of committed changes, for those who keep a copy or wait for what is new, and records by when they were last
-- updated. The rows are written, numbered and forgotten by db/rules/changes.sql.

create sequence app_private.change_positions as bigint;

create table app_private.changes (
  change_id bigint generated always as identity,
  position bigint,
  numbered_at timestamptz,
  kind text check (kind in ('need', 'commitment', 'engagement_claim', 'organization_claim')),
  record_id uuid,
  change text check (change in ('created', 'updated', 'deleted')),
  from_status text,
  to_status text,
  org_uri text,
  need_id uuid,
  changed_at timestamptz not null default clock_timestamp(),
  check ((position is null) = (numbered_at is null))
);
comment on table app_private.changes is
  'What has changed, in the order in which readers are told: one row for each record that a statement created, updated or '
  'deleted. The row without a kind is where the feed begins, before its first change.';
comment on column app_private.changes.position is
  'Its place in the feed; null until it is numbered, which is after the commit.';
comment on column app_private.changes.numbered_at is
  'When it got its place. With the place it names one change in all histories of the database, those before it was set back included.';
comment on column app_private.changes.org_uri is 'The organization of the record, after the change.';
comment on column app_private.changes.need_id is 'The need whose chain the record is in.';
create unique index changes_in_order on app_private.changes (position) where position is not null;
-- All that a writer adds to: as long as what waits to be numbered.
create index changes_to_number on app_private.changes (change_id) where position is null;
alter table app_private.changes enable row level security;

insert into app_private.settings (name, value, description) values
  ('changes_kept_days', '30', 'For how many days after a change who has read up to it can go on reading from there.');

create index needs_by_update on app_public.needs (updated_at, need_id);
create index commitments_by_update on app_public.commitments (updated_at, commitment_id);
create index engagement_claims_by_update on app_public.engagement_claims (updated_at, claim_id);
