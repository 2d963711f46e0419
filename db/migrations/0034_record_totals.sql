-- How many records there are, kept so that a list need not count them: what has been summed up, and what has not yet.
-- The rows are written by db/rules/record-totals.sql.

create table app_private.record_totals (
  kind app_public.record_kind not null,
  org_uri text not null,
  status text not null,
  total bigint not null,
  primary key (kind, org_uri, status)
) with (fillfactor = 70);
comment on table app_private.record_totals is
  'Records of each kind by organization and status, up to the last fold; an empty text stands for all of them.';
alter table app_private.record_totals enable row level security;

create table app_private.record_total_changes (
  change_id bigint generated always as identity,
  kind app_public.record_kind not null,
  org_uri text not null,
  status text not null,
  change bigint not null
);
comment on table app_private.record_total_changes is
  'By how much each write since the last fold has changed the totals. Appended to only, so that no writer waits for another.';
alter table app_private.record_total_changes enable row level security;

-- With the status beside it, a page of an organization's records in one status is found in the index alone. Engagement
-- claims are always listed by status.
drop index app_public.needs_by_organization;
create index needs_by_organization on app_public.needs (org_uri, created_at desc, need_id desc) include (status);
drop index app_public.commitments_by_organization;
create index commitments_by_organization
  on app_public.commitments (org_uri, created_at desc, commitment_id desc) include (status);
drop index app_public.engagement_claims_by_organization;
create index engagement_claims_by_organization
  on app_public.engagement_claims (org_uri, created_at desc, claim_id desc) include (status);
