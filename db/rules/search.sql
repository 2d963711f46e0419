-- Records found by words of their texts.

create function app_private.word_query(q text) returns tsquery
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  words constant text[] := tsvector_to_array(app_private.words_of(q));
begin
  perform app_private.refuse_problems(
    case when cardinality(words) = 0 then app_private.problem('search', 'must have a word in it') else '[]' end);
  return (select string_agg(quote_literal(replace(word, '\', '\\')) || ':*', ' & ')::tsquery from unnest(words) as word);
end
$$;
comment on function app_private.word_query is
  'Asks for all words of a text, in any order; one that begins so will do. Refuses a text without any with 400 validation_failed.';

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
        create function app_private.%1$s_with_words(q text) returns table (id uuid, rank real)
        -- As its owner, because under row-level security no index finds words (leakproof.sql). The caller reads of what it
        -- finds what the caller may.
        language plpgsql stable security definer rows 100
        set search_path = pg_catalog, pg_temp
        as $body$
        declare
          words constant tsquery := app_private.word_query(q);
        begin
          return query
            select r.%2$I, ts_rank(app_private.words_of(%3$s), words)
            from %4$s as r where app_private.words_of(%3$s) @@ words;
        end
        $body$;
        comment on function app_private.%1$s_with_words is
          'The ids of the records that have all of the words, and how well each matches. Errors: 400 validation_failed.';
      $text$,
      (select c.relname from pg_class as c where c.oid = searched.recorded), searched.key, searched.columns, searched.recorded);
  end loop;
end
$make$;
