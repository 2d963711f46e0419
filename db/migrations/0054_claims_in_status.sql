-- Engagement claims are always listed by status. With the status beside the key, a page of a country's claims, or of a
-- people group's, is found in the index alone.

drop index app_public.engagement_claims_by_people_group;
create index engagement_claims_by_people_group
  on app_public.engagement_claims (people_group_rop3, created_at desc, claim_id desc) include (status);
drop index app_public.engagement_claims_by_country;
create index engagement_claims_by_country
  on app_public.engagement_claims (country_code, created_at desc, claim_id desc) include (status);
