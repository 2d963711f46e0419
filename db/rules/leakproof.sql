-- Marks the comparison of enums as leakproof, so that lists filtered by status can use indexes. Under row-level
-- security PostgreSQL evaluates a policy before any operator that might leak its arguments, in an error message for
-- instance, and uses neither index nor statistics for such an operator, even where the policy is `true`. Comparing
-- enums cannot fail, but PostgreSQL does not mark it as leakproof.

do $$
begin
  if exists (select from pg_proc where oid = 'pg_catalog.enum_eq(anyenum, anyenum)'::regprocedure and not proleakproof) then
    alter function pg_catalog.enum_eq(anyenum, anyenum) leakproof;
  end if;
exception when insufficient_privilege then
  raise warning 'Only a superuser can mark enum_eq leakproof: lists that are filtered by status will be slow.';
end
$$;
