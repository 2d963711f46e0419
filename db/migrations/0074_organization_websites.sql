-- Organizations are found by parts of their websites too, beside organizations_by_part (0062_choosing.sql).

create index organizations_by_website on app_public.organizations using gin (app_private.fold(website) public.gin_trgm_ops);
