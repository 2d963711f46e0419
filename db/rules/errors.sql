-- How a rule says no. SQLSTATE 'PT' + HTTP status, detail = the code that docs/errors.md registers,
-- hint = a JSON array of {path, message} where single inputs are at fault.

create function app_private.refuse(status integer, code text, message text, details jsonb default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if details is null then
    raise exception using errcode = 'PT' || status, message = message, detail = code;
  else
    raise exception using errcode = 'PT' || status, message = message, detail = code, hint = details::text;
  end if;
end
$$;
comment on function app_private.refuse is
  'Raises a refusal: HTTP status, registered code, one sentence a person can act on, optional [{path, message}].';
