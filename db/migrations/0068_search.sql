-- Words of records, by which they are found.

-- Beside app_private.fold (0010_churches.sql), for the same reasons.
create function app_private.words_of(variadic texts text[]) returns tsvector
language plpgsql immutable parallel safe
as $$
begin
  return to_tsvector('pg_catalog.simple', app_private.fold(array_to_string(texts, ' ')));
end
$$;
comment on function app_private.words_of is 'The words of some texts, case and accents aside.';

create index needs_by_word on app_public.needs
  using gin (app_private.words_of(need_description, org_name));
create index commitments_by_word on app_public.commitments
  using gin (app_private.words_of(commitment_description, org_name));
create index engagement_claims_by_word on app_public.engagement_claims
  using gin (app_private.words_of(description, org_name, people_group_name, country_name));
