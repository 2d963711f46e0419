-- One index for all that a need is looked up by without an order: what is asked of several of them at once is put together
-- within the index. The organization is among them because a big one has too many needs to look through for a code.

drop index app_public.needs_by_accelerator;
drop index app_public.needs_by_people_group;
drop index app_public.needs_by_country;
create index needs_by_codes on app_public.needs
  using gin (accelerators, concerns_people_group_rop3, concerns_country_code, (array[org_uri]));
