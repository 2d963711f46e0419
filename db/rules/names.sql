-- Whether the functions that PL/pgSQL calls are there. It looks names up only when it runs, so without this a function that was
-- renamed in one file and not in another would fail in the middle of a caller's request.

do $$
declare
  lacking constant text := (
    select string_agg(distinct format('%s calls %s, which is not there', p.oid::regproc, called.name), '; ')
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace,
      regexp_matches(regexp_replace(p.prosrc, '--[^\n]*', '', 'g'), '\m(app_(?:private|public)\.\w+)\(', 'g') as found (names),
      lateral (select names[1]) as called (name)
    -- A table may stand before a parenthesis too.
    where n.nspname in ('app_public', 'app_private', 'rest') and to_regclass(called.name) is null and not exists (
      select from pg_proc as there where format('%s.%s', there.pronamespace::regnamespace, there.proname) = called.name));
begin
  if lacking is not null then
    raise exception '%', lacking;
  end if;
end
$$;
