-- The tables of records, for the triggers that they all have.

create view app_private.record_tables with (security_invoker = true) as
select listed.kind::app_public.record_kind, listed.recorded::regclass, listed.key::name, listed.author::name
from (
  values
    ('need', 'app_public.needs', 'need_id', 'declared_by_email'),
    ('commitment', 'app_public.commitments', 'commitment_id', 'declared_by_email'),
    ('engagement_claim', 'app_public.engagement_claims', 'claim_id', 'claimed_by_email')
) as listed (kind, recorded, key, author);
comment on view app_private.record_tables is
  'Each kind of record: its table, its id column, and the column that names the person who declared it.';

create function app_private.touch() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function app_private.touch is 'Row trigger: stamps updated_at.';

do $$
declare
  recorded regclass;
begin
  for recorded in select t.recorded from app_private.record_tables as t loop
    execute format(
      'create trigger touch before update on %s for each row execute function app_private.touch()', recorded);
  end loop;
end
$$;
