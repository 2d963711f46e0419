-- When commitments expire by themselves: once their target date has passed, unless they are fulfilled, even in part,
-- or abandoned.

create function app_private.expire_commitments(at_most integer default 1000) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  expired bigint;
begin
  if not (select value::boolean from app_private.settings where name = 'expire_commitments') then
    return 0;
  end if;
  update app_public.commitments as c set status = 'expired'
  where c.commitment_id in (
    select due.commitment_id from app_public.commitments as due
    -- The target date itself is still on time; days are UTC days.
    where due.target_completion_date < (now() at time zone 'UTC')::date
      and due.status not in ('fulfilled', 'partially_fulfilled', 'abandoned', 'expired')
      -- A status that a person has set since it expired stands; if the target date is moved, it can expire again.
      and not exists (
        select from app_public.status_history as h
        where h.commitment_id = due.commitment_id and h.to_status = 'expired'
          and (h.changed_at at time zone 'UTC')::date > due.target_completion_date)
    order by due.target_completion_date
    limit at_most
    -- A commitment that somebody is changing right now is left for the next call.
    for update skip locked
  );
  get diagnostics expired = row_count;
  return expired;
end
$$;
comment on function app_private.expire_commitments is
  'Marks as expired the commitments past their target date (in UTC) that are not fulfilled, partially fulfilled or '
  'abandoned and have not expired since that date; the history names nobody for the change. Returns how many, at most the given number. '
  'Switched off by the setting expire_commitments = false.';
