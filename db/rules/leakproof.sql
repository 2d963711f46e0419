-- Under row-level security PostgreSQL evaluates a policy before any operator that might leak what it is given, by its
-- errors for instance, and uses neither index nor statistics for such an operator, even where the policy is `true`.
-- Comparing enums cannot fail, but is not marked so, and every list that is filtered by status does it.

do $$
begin
  if exists (select from pg_proc where oid = 'pg_catalog.enum_eq(anyenum, anyenum)'::regprocedure and not proleakproof) then
    alter function pg_catalog.enum_eq(anyenum, anyenum) leakproof;
  end if;
exception when insufficient_privilege then
  raise warning 'Only a superuser can mark enum_eq leakproof: lists that are filtered by status will be slow.';
end
$$;
