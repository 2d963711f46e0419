-- How a person comes to act for an organization: proposals, reviews, their history, and the mail about them.

create type app_public.organization_status as enum ('proposed', 'active', 'rejected');
alter table app_public.organizations
  add column status app_public.organization_status not null default 'active';
comment on column app_public.organizations.status is
  'proposed: named by a claim that waits for its review; rejected: that claim was rejected. Only active ones are public.';
create index on app_public.organizations (status);

create index on app_public.users (created_at desc, user_id desc);

alter table app_public.organization_claims
  add column stated_roles text[] not null default '{}',
  add check (status <> 'rejected' or review_notes is not null);
comment on column app_public.organization_claims.stated_roles is
  'What the claimant says they do there; for the reviewer to read, of no consequence by itself.';
comment on column app_public.organization_claims.routed_to is
  'Who is asked to review: the organization''s own administrators, or the platform.';
create unique index organization_claims_open on app_public.organization_claims (org_uri, user_id)
  where status in ('submitted', 'pending_review', 'reviewed');
create index organization_claims_newest on app_public.organization_claims (created_at desc, claim_id desc);
create index organization_claims_routed
  on app_public.organization_claims (org_uri, created_at desc, claim_id desc) where routed_to = 'organization';

create table app_public.organization_claim_history (
  claim_history_id bigint generated always as identity primary key,
  claim_id uuid not null references app_public.organization_claims on delete cascade,
  from_status app_public.organization_claim_status,
  to_status app_public.organization_claim_status not null,
  changed_by_email text,
  changed_at timestamptz not null default clock_timestamp()
);
comment on table app_public.organization_claim_history is
  'Every step of every organization claim: from what, to what, by whom, when. No e-mail: the service itself.';
create index on app_public.organization_claim_history (claim_id);
alter table app_public.organization_claim_history enable row level security;

create table app_private.role_history (
  role_history_id bigint generated always as identity primary key,
  user_id uuid not null references app_public.users,
  org_uri text references app_public.organizations on update cascade,
  role text not null,
  status text not null check (status in ('active', 'suspended', 'revoked')),
  changed_by_email text,
  changed_at timestamptz not null default clock_timestamp()
);
comment on table app_private.role_history is
  'Every role that a person was given, in an organization or (no org_uri) on the platform, and every change of it. '
  'No e-mail: the operator.';
create index on app_private.role_history (user_id);
create index on app_private.role_history (org_uri);
alter table app_private.role_history enable row level security;

-- Filled by db/rules/free-mail-domains.sql.
create table app_private.free_mail_domains (
  domain text primary key
);
comment on table app_private.free_mail_domains is
  'Domains where anybody can have a mailbox. They say nothing about whom a person works for.';
alter table app_private.free_mail_domains enable row level security;

create table app_private.mails (
  mail_id uuid primary key default gen_random_uuid(),
  unique_key text not null unique,
  kind text not null check (kind in ('claim_approved', 'claim_rejected', 'claim_request', 'claim_queue')),
  recipient text not null,
  recipient_name text,
  data jsonb not null,
  subject text,
  text_body text,
  html_body text,
  created_at timestamptz not null default now(),
  next_attempt_at timestamptz not null default now(),
  delayed_since timestamptz,
  attempts integer not null default 0,
  last_error text,
  sent_at timestamptz,
  kept_at timestamptz,
  failed_at timestamptz,
  check (num_nonnulls(sent_at, kept_at, failed_at) <= 1)
);
comment on table app_private.mails is
  'Mails of the service. A mail waits until it is sent, kept (no SMTP_URL is configured), or failed (the mail server '
  'refused it for good).';
comment on column app_private.mails.unique_key is 'What the mail is about; one event is never told twice to the same person.';
comment on column app_private.mails.data is 'What the text is made of, as it was when the event happened.';
comment on column app_private.mails.subject is 'With text_body and html_body: the mail as it was first composed.';
comment on column app_private.mails.attempts is 'How often a mail server refused this mail; a server that is down does not count.';
create index mails_waiting on app_private.mails (next_attempt_at)
  where sent_at is null and kept_at is null and failed_at is null;
alter table app_private.mails enable row level security;

-- What the functions of membership and review answer.
create type app_public.claim_review_status as enum ('pending', 'approved', 'rejected');
create type app_public.claim_review_action as enum ('approve', 'reject');
create type app_public.platform_role_action as enum ('grant', 'revoke');

create type app_public.organization_claim_result as (
  claim_id uuid,
  result_variant text,
  org_uri text,
  org_name text,
  status app_public.claim_review_status
);
comment on type app_public.organization_claim_result is
  'What became of a claim at once. resultVariant: claimed (approved by itself), request-sent (to the organization''s '
  'administrators), manual-review (to the platform''s), new-org (a new organization, to the platform''s).';

create type app_public.organization_claim_item as (
  id uuid,
  user_email text,
  user_first_name text,
  user_last_name text,
  org_uri text,
  org_name text,
  is_new_org boolean,
  email_domain text,
  org_domain text,
  domain_match boolean,
  status app_public.claim_review_status,
  routed_to text,
  result_variant text,
  new_org_website text,
  new_org_type text,
  reviewed_by text,
  reviewed_at timestamptz,
  review_notes text,
  created_at timestamptz
);
comment on type app_public.organization_claim_item is 'An organization claim as its reviewers see it.';

create type app_public.organization_claim_page as (
  claims app_public.organization_claim_item[],
  total bigint
);
comment on type app_public.organization_claim_page is 'A page of claims, and how many match in all.';

create type app_public.organization_claim_decision as (
  claim_id uuid,
  new_status app_public.claim_review_status
);
comment on type app_public.organization_claim_decision is 'What a reviewer decided.';

create type app_public.organization_member as (
  org_uri text,
  org_name text,
  user_email text,
  first_name text,
  last_name text,
  role app_public.organization_role,
  status app_public.membership_status,
  created_at timestamptz,
  updated_at timestamptz
);
comment on type app_public.organization_member is 'A person''s membership of an organization.';

create type app_public.platform_user as (
  user_id uuid,
  email text,
  first_name text,
  last_name text,
  platform_roles app_public.platform_role[],
  memberships app_public.organization_member[],
  created_at timestamptz
);
comment on type app_public.platform_user is 'A person, with what they may do on the platform and where they belong.';

create type app_public.platform_user_page as (
  users app_public.platform_user[],
  total bigint
);
comment on type app_public.platform_user_page is 'A page of people, and how many there are in all.';

create type app_public.user_check as (
  "exists" boolean,
  first_name text,
  last_name text,
  org_uri text,
  org_name text,
  org_type text
);
comment on type app_public.user_check is 'Whether the service knows a person, and the organization they belong to.';
