-- An approval leaves a membership that the claimant has from elsewhere as it is. What was asked for and what was there is kept with the
-- claim: the membership may be another one by the time somebody is told.

alter table app_public.organization_claims
  add column asked_role app_public.organization_role,
  add column kept_status app_public.membership_status;
comment on column app_public.organization_claims.asked_role is
  'The role that the reviewer asked for; null before a review, and for approvals without one or from before this column.';
comment on column app_public.organization_claims.kept_status is
  'The status of the membership that the claimant already had when the claim was approved, which was left as it was; null if there was '
  'none.';
