-- A clean slate: everything that the files in this folder create is dropped here and created again by them, so that
-- a rule that was renamed or removed leaves nothing behind. Tables and their rows are never touched.

do $$
declare
  ours constant oid[] := array['app_public'::regnamespace, 'app_private'::regnamespace, 'rest'::regnamespace];
  drops text;
begin
  select string_agg(format('drop policy %I on %s', p.polname, p.polrelid::regclass), ';') into drops
  from pg_policy as p
  join pg_class as c on c.oid = p.polrelid
  where c.relnamespace = any (ours);
  execute coalesce(drops, '');

  select string_agg(format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass), ';') into drops
  from pg_trigger as t
  join pg_class as c on c.oid = t.tgrelid
  where c.relnamespace = any (ours) and not t.tgisinternal;
  execute coalesce(drops, '');

  select string_agg(format('drop view if exists %s cascade', c.oid::regclass), ';') into drops
  from pg_class as c
  where c.relnamespace = any (ours) and c.relkind = 'v';
  execute coalesce(drops, '');

  -- Functions that an index or a column is built on belong to the migrations.
  select string_agg(format('drop routine if exists %s cascade', p.oid::regprocedure), ';') into drops
  from pg_proc as p
  where p.pronamespace = any (ours)
    and not exists (
      select from pg_depend as d
      where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
        and d.classid in ('pg_class'::regclass, 'pg_attrdef'::regclass)
    );
  execute coalesce(drops, '');
end
$$;
