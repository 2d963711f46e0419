-- What a review of claims looks up: people by parts of their names and addresses, organizations that look alike.

-- Beside app_private.fold (0010_churches.sql), because an index is built on it.
create function app_private.website_host(website text) returns text
language sql immutable parallel safe
return lower(substring(website from '^[A-Za-z]+://(?:[^/?#@]*@)?(?:[Ww]{3}\.)?([^/:?#]+)'));
comment on function app_private.website_host is 'The host of a website without its www; null where there is none.';

create index users_by_part on app_public.users
  using gin (app_private.fold(email || ' ' || coalesce(first_name, '') || ' ' || coalesce(last_name, '')) public.gin_trgm_ops);
create index organizations_by_name_alike on app_public.organizations using gin (app_private.fold(name) public.gin_trgm_ops);
create index organizations_by_website_host on app_public.organizations (app_private.website_host(website)) where website is not null;
