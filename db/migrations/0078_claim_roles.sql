-- What reviewers read of a claim names the claimant's own roles as the claim itself did when it was sent.

alter type app_public.organization_claim_item rename attribute stated_roles to roles;
