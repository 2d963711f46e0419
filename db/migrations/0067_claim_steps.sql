-- Reviewers see what the claimant does there, as the mail to them says, and every step that the claim has taken.

create type app_public.organization_claim_step as (
  from_status app_public.claim_review_status,
  to_status app_public.claim_review_status,
  changed_by_email text,
  changed_at timestamptz
);
comment on type app_public.organization_claim_step is 'A step that a claim to an organization has taken.';

alter type app_public.organization_claim_item
  add attribute stated_roles text[],
  add attribute history app_public.organization_claim_step[];
