-- The claims of an organization in a country: counted, and a page of them found, in the index alone. By the organization's
-- index all of its claims were read.

create index engagement_claims_by_organization_and_country
  on app_public.engagement_claims (org_uri, country_code, created_at desc, claim_id desc) include (status);
