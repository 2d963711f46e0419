-- Claims as their people see them: what they claimed and what became of it, what they take back, where they belong. And what
-- reviewers are told: who says that the address is the claimant's, and the domain the organization's; what is odd about a
-- decision.

alter table app_public.organization_claims
  add column email_verified boolean not null default false,
  add column org_domain_stated boolean not null default false;
comment on column app_public.organization_claims.email_verified is
  'Whether the claimant called as themself, so that the address is proven to be theirs; otherwise an application stated it.';
comment on column app_public.organization_claims.org_domain_stated is
  'Whether org_domain was only what a claimant said of an organization that nobody has approved, and domain_match with it.';
-- Not by an update, which would say that all these claims have changed today.
alter table app_public.organization_claims
  -- squawk-ignore changing-column-type
  alter column org_domain_stated type boolean using is_new_org;
alter type app_public.organization_claim_item
  add attribute email_verified boolean,
  add attribute org_domain_stated boolean;

alter type app_public.organization_claim_status add value 'withdrawn' after 'rejected';
alter type app_public.claim_review_status add value 'withdrawn' after 'rejected';
comment on column app_public.organizations.status is
  'proposed: named by a claim that waits for its review; rejected: no claim to it was approved, and none waits any more. '
  'Only active ones are public.';

create type app_public.own_organization_claim as (
  claim_id uuid,
  org_uri text,
  org_name text,
  is_new_org boolean,
  status app_public.claim_review_status,
  result_variant text,
  email_verified boolean,
  role app_public.organization_role,
  review_notes text,
  reviewed_at timestamptz,
  created_at timestamptz
);
comment on type app_public.own_organization_claim is
  'An organization claim as the claimant sees it. role: the one that its approval gave; reviewNotes: what the reviewer wrote.';

create type app_public.own_organization_claim_page as (
  claims app_public.own_organization_claim[],
  total bigint
);
comment on type app_public.own_organization_claim_page is 'A page of a person''s claims, and how many they made in all.';

create type app_public.belonging as (
  org_uri text,
  org_name text,
  org_type text,
  role app_public.organization_role
);
comment on type app_public.belonging is 'An organization that a person acts for, and in which role.';
alter type app_public.user_check add attribute memberships app_public.belonging[];

create type app_public.review_warning as (
  code text,
  message text
);
comment on type app_public.review_warning is 'What a reviewer should know about a decision that was made all the same.';
alter type app_public.organization_claim_decision add attribute warnings app_public.review_warning[];
