-- The tables of records (needs, commitments, engagement claims), listed for the triggers that all of them have.

create view app_private.record_tables with (security_invoker = true) as
select listed.kind::app_public.record_kind, listed.recorded::regclass, listed.key::name, listed.author::name,
  listed.accelerators::name, listed.countries::name
from (
  values
    ('need', 'app_public.needs', 'need_id', 'declared_by_email', 'accelerators', 'concerns_country_code'),
    ('commitment', 'app_public.commitments', 'commitment_id', 'declared_by_email',
     'accelerator_scope', 'concerns_country_code'),
    ('engagement_claim', 'app_public.engagement_claims', 'claim_id', 'claimed_by_email',
     'engagement_accelerators', 'country_code')
) as listed (kind, recorded, key, author, accelerators, countries);
comment on view app_private.record_tables is
  'Each kind of record: its table, its id column, and the columns that name the person who declared it, its accelerators, '
  'and its country or countries.';

create function app_private.touch() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Not now(), the start of the transaction: one that began earlier may write later. Never earlier than before
  -- either, in case the clock was set back.
  new.updated_at := greatest(clock_timestamp(), old.updated_at);
  return new;
end
$$;
comment on function app_private.touch is 'Row trigger: stamps updated_at, which never goes back.';

do $$
declare
  recorded regclass;
begin
  for recorded in select t.recorded from app_private.record_tables as t loop
    execute format(
      'create trigger touch before update on %s for each row when (old.* is distinct from new.*) '
      'execute function app_private.touch()', recorded);
  end loop;
end
$$;
