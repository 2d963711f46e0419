-- What makes a church well-formed, beyond the constraints of its table.

create function app_private.church_problems(church jsonb) returns jsonb
language sql immutable
return coalesce(
  (select jsonb_agg(jsonb_build_object('path', given.name, 'message', given.problem) order by given.name)
   from (
     select field.key as name, coalesce(
       app_private.document_problem(field.value, lines => field.key in ('address', 'church_summary', 'ministries_json')),
       case when field.key in ('name', 'campus_name', 'overarching_name')
         then app_private.name_problems('', field.value #>> '{}', required => false) -> 0 ->> 'message' end,
       -- Pages of others make links of it. (A list is taken item by item.)
       case when field.key ~ '^url_|_urls?$|^website$' and field.value @? '$[*] ? (@ like_regex "^\\s*(java|vb)script\\s*:" flag "i")'
         then 'must not be a script' end) as problem
     from jsonb_each(church) as field
   ) as given
   where given.problem is not null),
  '[]');
comment on function app_private.church_problems is
  'Problems with the texts of a church, given by column: characters that no text may have, names that are too long, and links '
  'that are scripts.';

create function app_private.is_suspect_church(row_text text, name text, campus_name text, overarching_name text, ministries jsonb)
returns boolean
language sql immutable
return app_private.character_problem(row_text) is not null
  or greatest(char_length(name), char_length(campus_name), char_length(overarching_name)) > app_private.longest_text('name')
  or row_text ~* '(java|vb)script\s*:'
  or app_private.is_blank(name) or app_private.is_blank(campus_name) or app_private.is_blank(overarching_name)
  -- Within JSON a control character is written as an escape.
  or ministries::text like E'%\\\\%';
comment on function app_private.is_suspect_church is
  'Whether church_problems may find something: one check of the whole row, so that an import need not examine each column.';

create function app_private.validate_church() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if app_private.is_suspect_church(new::text, new.name, new.campus_name, new.overarching_name, new.ministries_json) then
    perform app_private.refuse_problems(app_private.church_problems(
      case when tg_op = 'INSERT' then to_jsonb(new) else (
        select coalesce(jsonb_object_agg(field.key, field.value), '{}') from jsonb_each(to_jsonb(new)) as field
        where field.value is distinct from to_jsonb(old) -> field.key) end));
  end if;
  return new;
end
$$;
comment on function app_private.validate_church is
  'Row trigger: refuses malformed texts with 400; of an existing church, only those that change.';
create trigger validate before insert or update on app_public.churches
  for each row execute function app_private.validate_church();
