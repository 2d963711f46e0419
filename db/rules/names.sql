-- Whether what PL/pgSQL names is there: functions, tables, views and types. It looks names up only when it runs, so without this
-- one that was changed in one file and not in another would fail in the middle of a caller's request.

do $$
declare
  lacking constant text := (
    select string_agg(distinct format('%s names %s, which is not there', p.oid::regproc, named.name), '; ')
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace,
      -- Without comments, and without texts.
      regexp_matches(regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', '', 'g'), '''[^'']*''', '', 'g'),
        '\m(app_(?:private|public)\.\w+)', 'g') as found (names),
      lateral (select names[1]) as named (name)
    where n.nspname in ('app_public', 'app_private', 'rest') and to_regclass(named.name) is null and to_regtype(named.name) is null
      and not exists (select from pg_proc as there where format('%s.%s', there.pronamespace::regnamespace, there.proname) = named.name));
begin
  if lacking is not null then
    raise exception '%', lacking;
  end if;
end
$$;
