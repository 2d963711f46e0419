-- Whether what PL/pgSQL names is there: functions, tables, views and types. It looks names up only when it runs, so without this
-- one that was changed in one file and not in another would fail in the middle of a caller's request. Names in quotes are left
-- out, for what a function makes itself.

do $$
declare
  comments_and_texts constant text := concat_ws('|', '--[^\n]*', '/\*([^*]|\*+[^*/])*\*+/',
    'e''([^''\\]|\\.|'''')*''', '''([^'']|'''')*''', '\$\w*\$([^$]|\$(?!\w*\$))*\$\w*\$');
  lacking constant text := (
    select string_agg(distinct format('%s names %s, which is not there', p.oid::regproc, named.name), '; ')
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace,
      regexp_matches(regexp_replace(lower(p.prosrc), comments_and_texts, ' ', 'g'),
        '\m(app_(?:private|public)\.[a-z_][\w$]*)', 'g') as found (names),
      lateral (select names[1]) as named (name)
    where n.nspname in ('app_public', 'app_private', 'rest') and to_regclass(named.name) is null and to_regtype(named.name) is null
      and not exists (select from pg_collation as c where format('%s.%s', c.collnamespace::regnamespace, c.collname) = named.name)
      and not exists (select from pg_proc as there where format('%s.%s', there.pronamespace::regnamespace, there.proname) = named.name));
begin
  if lacking is not null then
    raise exception '%. What a function makes itself can be named in quotes, as app_private."name".', lacking;
  end if;
end
$$;
