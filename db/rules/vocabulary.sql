-- The controlled vocabularies (accelerators, people groups, countries): which accelerator codes a new record may
-- carry, and what makes an entry well-formed.

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

create function app_private.validate_accelerator() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(
    case when new.code is distinct from old.code then app_private.code_problems('code', array[new.code]) else '[]' end
    || case when new.concept_uri is distinct from old.concept_uri
         then app_private.concept_uri_problems('conceptUri', new.concept_uri) else '[]' end
    || case when new.pref_label is distinct from old.pref_label
         then app_private.name_problems('prefLabel', new.pref_label) else '[]' end
    || case when new.definition is distinct from old.definition
         then app_private.text_problems('definition', new.definition, required => false) else '[]' end);
  return new;
end
$$;
comment on function app_private.validate_accelerator is 'Row trigger: refuses a malformed code, URI, label or definition with 400.';
create trigger validate before insert or update on app_public.accelerators
  for each row execute function app_private.validate_accelerator();

create function app_private.refuse_circle() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    with recursive above (code) as (
      values (new.broader_code)
      union
      select a.broader_code from above join app_public.accelerators as a using (code)
    )
    select from above where above.code = new.code
  ) then
    perform app_private.refuse_problems(jsonb_build_array(jsonb_build_object(
      'path', 'broaderCode', 'message', format('%s of %s leads back to it', new.broader_code, new.code))));
  end if;
  return null;
end
$$;
comment on function app_private.refuse_circle is
  'Row trigger: refuses with 400 a code that is broader than itself, directly or through others; it would belong to no '
  'accelerator.';
-- After all rows of the statement are written: an edition lists codes in any order.
create trigger refuse_circle after insert or update of broader_code on app_public.accelerators
  for each row when (new.broader_code is not null) execute function app_private.refuse_circle();

create function app_private.validate_people_group() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.refuse_problems(
    case when new.rop3 is distinct from old.rop3 then app_private.rop3_problems('rop3', new.rop3) else '[]' end
    || case when new.name is distinct from old.name then app_private.name_problems('name', new.name) else '[]' end);
  return new;
end
$$;
comment on function app_private.validate_people_group is 'Row trigger: refuses a malformed code or name with 400.';
create trigger validate before insert or update on app_public.people_groups
  for each row execute function app_private.validate_people_group();

create policy read on app_public.accelerators for select to api_read using (true);
create policy read on app_public.people_groups for select to api_read using (true);
create policy read on app_public.countries for select to api_read using (true);

create view rest.accelerators with (security_invoker = true) as
select
  a.code, a.kind, a.pref_label as "prefLabel", a.definition, a.broader_code as broader,
  a.concept_uri as "conceptUri", a.deprecated_at is not null as deprecated
from app_public.accelerators as a;
comment on view rest.accelerators is 'The item of GET /v0/accelerators.';
