-- Removes the rules of the last `npm run migrate` before the other files create them again, so that a rule that was
-- renamed or removed leaves nothing behind. Tables and their rows are never touched.
--
-- Functions and views are not dropped but moved to schemas named earlier_…, which the next migrate drops: a statement
-- that has looked up a function and not called it yet would fail otherwise. They keep their names, which their bodies
-- use. No role has rights to these schemas, so nothing else finds them there.

set local client_min_messages = warning;

do $$
declare
  ours constant oid[] := array['app_public'::regnamespace, 'app_private'::regnamespace, 'rest'::regnamespace];
  schema oid;
  changes text;
begin
  foreach schema in array ours loop
    execute format('drop schema if exists %I cascade; create schema %1$I',
      'earlier_' || schema::regnamespace);
    execute format('comment on schema %I is %L', 'earlier_' || schema::regnamespace,
      'The rules before the last npm run migrate, for statements that had begun to use them. The next one drops them.');
  end loop;

  select string_agg(format('drop policy %I on %s', p.polname, p.polrelid::regclass), ';') into changes
  from pg_policy as p
  join pg_class as c on c.oid = p.polrelid
  where c.relnamespace = any (ours);
  execute coalesce(changes, '');

  select string_agg(format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass), ';') into changes
  from pg_trigger as t
  join pg_class as c on c.oid = t.tgrelid
  where c.relnamespace = any (ours) and not t.tgisinternal;
  execute coalesce(changes, '');

  -- No rule of ours rewrites statements.
  select string_agg(format('drop rule %I on %s', r.rulename, r.ev_class::regclass), ';') into changes
  from pg_rewrite as r
  join pg_class as c on c.oid = r.ev_class
  where c.relnamespace = any (ours) and c.relkind in ('r', 'p');
  execute coalesce(changes, '');

  select string_agg(format('alter view %s set schema %I', c.oid::regclass, 'earlier_' || c.relnamespace::regnamespace), ';')
  into changes
  from pg_class as c
  where c.relnamespace = any (ours) and c.relkind = 'v';
  execute coalesce(changes, '');

  -- Functions that an index or a column is built on belong to the migrations.
  select string_agg(
    format('alter routine %s set schema %I', p.oid::regprocedure, 'earlier_' || p.pronamespace::regnamespace), ';')
  into changes
  from pg_proc as p
  where p.pronamespace = any (ours)
    and not exists (
      select from pg_depend as d
      where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
        and d.classid in ('pg_class'::regclass, 'pg_attrdef'::regclass)
    );
  execute coalesce(changes, '');
end
$$;

set local client_min_messages = default;
