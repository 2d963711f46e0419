-- Which codes a new record may carry.

create function app_private.check_accelerators(path text, codes text[]) returns void
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  unknown jsonb;
begin
  select jsonb_agg(jsonb_build_object(
      'path', format('%s[%s]', path, place - 1),
      'message', format('%s is not a current code of the accelerator scheme', code)) order by place)
  into unknown
  from unnest(codes) with ordinality as listed (code, place)
  where not exists (
    select from app_public.accelerators as a where a.code = listed.code and a.deprecated_at is null
  );
  if unknown is not null then
    perform app_private.refuse('unknown_accelerator_code',
      (select string_agg(problem ->> 'message', '; ') || '.' from jsonb_array_elements(unknown) as problem), unknown);
  end if;
end
$$;
comment on function app_private.check_accelerators is
  'Refuses with 422 unknown_accelerator_code, naming every code that is not in the scheme or is deprecated.';

create policy read on app_public.accelerators for select to api_read using (true);
create policy read on app_public.people_groups for select to api_read using (true);
create policy read on app_public.countries for select to api_read using (true);

create view rest.accelerators with (security_invoker = true) as
select
  a.code, a.kind, a.pref_label as "prefLabel", a.definition, a.broader_code as broader,
  a.concept_uri as "conceptUri", a.deprecated_at is not null as deprecated
from app_public.accelerators as a;
comment on view rest.accelerators is 'The item of GET /v0/accelerators.';
