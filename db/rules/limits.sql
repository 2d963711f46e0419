-- Limits on how often one caller may do something, such as claims per day. Requests are counted by the server
-- (server/identity/rate-limit.ts), in the same table.

create policy count_requests on app_private.rate_limits to engagement_server using (true) with check (true);

create function app_private.use_up(what text, setting text, message text, span interval default '1 day') returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Not null: without the setting there would be no limit.
  most constant integer not null := (select value::integer from app_private.settings where name = setting);
  clock constant bigint := extract(epoch from clock_timestamp()) * 1000;
  longest constant bigint := extract(epoch from span) * 1000;
  used app_private.rate_limits;
begin
  -- Deletes a counter whose span is over, and one that was begun when the clock was ahead by more than a minute: it
  -- would lock its caller out until then.
  delete from app_private.rate_limits
  where key = what and expire not between clock + 1 and clock + longest + 60000;
  insert into app_private.rate_limits as r (key, points, expire) values (what, 1, clock + longest)
  on conflict (key) do update set points = r.points + 1
  returning * into used;
  -- Refusing rolls back, so a refused use does not count.
  if used.points > most then
    perform app_private.refuse('rate_limited', message, retry_after => ceil((used.expire - clock) / 1000.0)::integer);
  end if;
end
$$;
comment on function app_private.use_up is
  'Counts one more use of something that a setting limits per day, or another span; refuses with 429 rate_limited when the '
  'limit is exceeded. Transactions that count the same thing wait for one another until they commit.';
