-- Whether this database has the migrations and rules that a program needs. Every program asks before it starts, in a version
-- that may be older or newer than these rules, so the function's name, arguments and result must stay as they are.

create function app_private.lacking(migrations text[], edition text) returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(
    (select 'db/migrations/' || min(wanted) || '.sql' from unnest(lacking.migrations) as wanted
     where wanted not in (select a.version from app_migrations.applied as a)),
    (select 'db/rules' where not exists (select from app_migrations.editions as e where e.edition = lacking.edition)));
end;
comment on function app_private.lacking is
  'The first migration of a program that is not applied, db/rules if its edition of the rules was never applied or has been '
  'rolled back since, or null. Newer migrations and rules do not matter: rules of a later version serve programs of the '
  'version before.';
