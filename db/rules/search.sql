-- Full-text search: which records match the words of a query, and how they are ranked.

create function app_private.word_query(q text, path text) returns tsquery
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  words constant text[] := tsvector_to_array(app_private.words_of(q));
begin
  if app_private.trimmed(q) is null then
    return null;
  end if;
  perform app_private.refuse_problems(
    case when cardinality(words) = 0 then app_private.problem(path, 'must contain a word') else '[]' end);
  return (select string_agg(quote_literal(replace(word, '\', '\\')) || ':*', ' & ')::tsquery from unnest(words) as word);
end
$$;
comment on function app_private.word_query is
  'A query for all words of a text, in any order, each of which may be the beginning of a longer word; null for white space alone, '
  'which restricts nothing. Refuses any other text without words with 400 validation_failed, naming path.';

do $make$
declare
  searched record;
begin
  for searched in
    select t.recorded, t.key, texts.columns
    from app_private.record_tables as t
    -- As in the indexes of 0068_search.sql.
    join (values
      ('app_public.needs'::regclass, 'r.need_description, r.org_name'),
      ('app_public.commitments', 'r.commitment_description, r.org_name'),
      ('app_public.engagement_claims', 'r.description, r.org_name, r.people_group_name, r.country_name')
    ) as texts (recorded, columns) on texts.recorded = t.recorded
  loop
    execute format(
      $text$
        create function app_private.%1$s_with_words(q text, path text, is_ranked boolean) returns table (id uuid, rank real)
        -- Security definer, because under row-level security no index finds words (leakproof.sql). The caller reads
        -- the records found with its own rights.
        language plpgsql stable security definer rows 100
        set search_path = pg_catalog, pg_temp
        as $body$
        declare
          words constant tsquery := app_private.word_query(q, path);
          -- Ranking a text means parsing it again, which takes a hundred times as long as finding it by the index;
          -- and nobody reads all records that contain a common word.
          most constant integer not null default case when is_ranked then 1000 else 0 end;
        begin
          -- By itself: a condition that is met without words as well would keep PostgreSQL from using the index.
          if words is null then
            return query select r.%2$I, 0::real from %4$s as r;
            return;
          end if;
          return query
            with matching as materialized (
              select r.%2$I as key, r.created_at from %4$s as r where app_private.words_of(%3$s) @@ words
            ), newest as materialized (
              select m.key from matching as m order by m.created_at desc, m.key desc limit most
            )
            -- Not a single join: if the planner expected one row where there are thousands, it would rank each of
            -- them for each of the others.
            select n.key, ts_rank(app_private.words_of(%3$s), words) from newest as n join %4$s as r on r.%2$I = n.key
            union all
            select m.key, 0 from matching as m where m.key not in (select n.key from newest as n);
        end
        $body$;
        comment on function app_private.%1$s_with_words is
          'The ids of the records that contain all of the words; of all records if q is white space alone. If is_ranked, the newest thousand have a rank above 0 that says '
          'how well each matches; the others have 0. Errors: 400 validation_failed.';
      $text$,
      (select c.relname from pg_class as c where c.oid = searched.recorded), searched.key, searched.columns, searched.recorded);
  end loop;
end
$make$;
