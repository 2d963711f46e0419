-- The three records of the lifecycle, and the history of their statuses.
-- References between records are checked at commit: the rules refuse an unknown record with
-- their own code first, the constraint is what holds when two transactions race.

create type app_public.need_status as enum ('open', 'partially_met', 'met', 'withdrawn');
create type app_public.commitment_status as enum
  ('declared', 'funded', 'in_progress', 'fulfilled', 'partially_fulfilled', 'abandoned', 'expired');
create type app_public.engagement_claim_status as enum ('active', 'paused', 'completed');

create table app_public.needs (
  need_id uuid primary key default gen_random_uuid(),
  org_uri text not null references app_public.organizations on update cascade,
  org_name text not null,
  declared_by_email text not null,
  need_description text not null,
  accelerators text[] not null,
  concerns_people_group_rop3 text[] not null default '{}',
  concerns_country_code text[] not null default '{}',
  status app_public.need_status not null default 'open',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table app_public.needs is 'Work that an organization declares to be needed.';
create index needs_newest on app_public.needs (created_at desc, need_id desc);
create index needs_by_organization on app_public.needs (org_uri, created_at desc, need_id desc);
create index needs_by_status on app_public.needs (status, created_at desc, need_id desc);
create index needs_by_accelerator on app_public.needs using gin (accelerators);
create index needs_by_people_group on app_public.needs using gin (concerns_people_group_rop3);
create index needs_by_country on app_public.needs using gin (concerns_country_code);
alter table app_public.needs enable row level security;

create table app_public.commitments (
  commitment_id uuid primary key default gen_random_uuid(),
  org_uri text not null references app_public.organizations on update cascade,
  org_name text not null,
  declared_by_email text not null,
  commitment_description text not null,
  accelerator_scope text[] not null,
  concerns_need_id uuid references app_public.needs deferrable initially deferred,
  concerns_people_group_rop3 text[] not null default '{}',
  concerns_country_code text[] not null default '{}',
  target_completion_date date,
  status app_public.commitment_status not null default 'declared',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table app_public.commitments is 'Work that an organization promises, in answer to a need or on its own.';
create index commitments_newest on app_public.commitments (created_at desc, commitment_id desc);
create index commitments_by_organization on app_public.commitments (org_uri, created_at desc, commitment_id desc);
create index commitments_by_status on app_public.commitments (status, created_at desc, commitment_id desc);
create index commitments_by_need on app_public.commitments (concerns_need_id, created_at desc, commitment_id desc);
create index commitments_by_accelerator on app_public.commitments using gin (accelerator_scope);
create index commitments_by_people_group on app_public.commitments using gin (concerns_people_group_rop3);
create index commitments_by_country on app_public.commitments using gin (concerns_country_code);
create index commitments_by_target_date on app_public.commitments (target_completion_date)
  where status not in ('fulfilled', 'partially_fulfilled', 'abandoned', 'expired');
alter table app_public.commitments enable row level security;

create table app_public.engagement_claims (
  claim_id uuid primary key default gen_random_uuid(),
  org_uri text not null references app_public.organizations on update cascade,
  org_name text not null,
  claimed_by_email text not null,
  engagement_accelerators text[] not null,
  people_group_rop3 text,
  people_group_name text,
  people_group_rog3 text,
  country_code text,
  country_name text,
  description text,
  fulfills_commitment_id uuid references app_public.commitments deferrable initially deferred,
  status app_public.engagement_claim_status not null default 'active',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table app_public.engagement_claims is
  'Work that an organization attests to be done, in fulfilment of a commitment or on its own.';
create index engagement_claims_newest on app_public.engagement_claims (created_at desc, claim_id desc);
create index engagement_claims_by_organization
  on app_public.engagement_claims (org_uri, created_at desc, claim_id desc);
create index engagement_claims_by_status on app_public.engagement_claims (status, created_at desc, claim_id desc);
create index engagement_claims_by_commitment
  on app_public.engagement_claims (fulfills_commitment_id, created_at desc, claim_id desc);
create index engagement_claims_by_people_group
  on app_public.engagement_claims (people_group_rop3, created_at desc, claim_id desc);
create index engagement_claims_by_country
  on app_public.engagement_claims (country_code, created_at desc, claim_id desc);
create index engagement_claims_by_accelerator on app_public.engagement_claims using gin (engagement_accelerators);
alter table app_public.engagement_claims enable row level security;

create table app_public.status_history (
  status_history_id bigint generated always as identity primary key,
  need_id uuid references app_public.needs on delete cascade,
  commitment_id uuid references app_public.commitments on delete cascade,
  engagement_claim_id uuid references app_public.engagement_claims on delete cascade,
  from_status text,
  to_status text not null,
  changed_by_email text,
  changed_at timestamptz not null default now(),
  check (num_nonnulls(need_id, commitment_id, engagement_claim_id) = 1)
);
comment on table app_public.status_history is
  'Every status a record has had: who set it, from what, to what, when. No e-mail: the service itself.';
create index status_history_by_need on app_public.status_history (need_id) where need_id is not null;
create index status_history_by_commitment
  on app_public.status_history (commitment_id) where commitment_id is not null;
create index status_history_by_engagement_claim
  on app_public.status_history (engagement_claim_id) where engagement_claim_id is not null;
alter table app_public.status_history enable row level security;
