-- As 0079, of the other times and dates of records that doors tell: when a status was set, when a record was last changed or decided
-- on, until when something was promised, and when the feed says that something has changed.

-- A row that is changed twice has its deferred foreign keys checked although they are as they were, and no table with checks to come
-- can be altered. A plan has what 0079 changed to be checked as well.
set constraints all immediate;

do $$
declare
  recorded regclass;
  touches boolean;
begin
  foreach recorded in array array['app_public.needs', 'app_public.commitments', 'app_public.engagement_claims']::regclass[] loop
    -- It would keep a time of the last change that is ahead of now. The others tell the graph and the feed.
    touches := exists (select from pg_trigger where tgrelid = recorded and tgname = 'touch');
    if touches then
      execute format('alter table %s disable trigger touch', recorded);
    end if;
    execute format(
      'update %s set updated_at = least(greatest(updated_at, ''0001-01-01 00:00:00+00''), ''2199-12-31 23:59:59+00'')
       where updated_at < ''0001-01-01 00:00:00+00'' or updated_at >= ''2200-01-01 00:00:00+00''', recorded);
    if touches then
      execute format('alter table %s enable trigger touch', recorded);
    end if;
  end loop;
end
$$;

-- What was decided stays so, and of the claims the graph holds none.
alter table app_public.organization_claims disable trigger user;
update app_public.organization_claims
set updated_at = least(greatest(updated_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where updated_at < '0001-01-01 00:00:00+00' or updated_at >= '2200-01-01 00:00:00+00';
update app_public.organization_claims
set reviewed_at = least(greatest(reviewed_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where reviewed_at < '0001-01-01 00:00:00+00' or reviewed_at >= '2200-01-01 00:00:00+00';
alter table app_public.organization_claims enable trigger user;

update app_public.commitments
set target_completion_date = least(greatest(target_completion_date, '0001-01-01'), '9999-12-31')
where target_completion_date < '0001-01-01' or target_completion_date > '9999-12-31';
update app_public.status_history
set changed_at = least(greatest(changed_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where changed_at < '0001-01-01 00:00:00+00' or changed_at >= '2200-01-01 00:00:00+00';
update app_public.organization_claim_history
set changed_at = least(greatest(changed_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where changed_at < '0001-01-01 00:00:00+00' or changed_at >= '2200-01-01 00:00:00+00';
update app_private.changes
set changed_at = least(greatest(changed_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where changed_at < '0001-01-01 00:00:00+00' or changed_at >= '2200-01-01 00:00:00+00';

alter table app_public.needs
  add constraint needs_updated_at_check
    check (updated_at >= '0001-01-01 00:00:00+00' and updated_at < '2200-01-01 00:00:00+00') not valid;
alter table app_public.commitments
  add constraint commitments_updated_at_check
    check (updated_at >= '0001-01-01 00:00:00+00' and updated_at < '2200-01-01 00:00:00+00') not valid,
  add constraint commitments_target_completion_date_check
    check (target_completion_date between '0001-01-01' and '9999-12-31') not valid;
alter table app_public.engagement_claims
  add constraint engagement_claims_updated_at_check
    check (updated_at >= '0001-01-01 00:00:00+00' and updated_at < '2200-01-01 00:00:00+00') not valid;
alter table app_public.organization_claims
  add constraint organization_claims_updated_at_check
    check (updated_at >= '0001-01-01 00:00:00+00' and updated_at < '2200-01-01 00:00:00+00') not valid,
  add constraint organization_claims_reviewed_at_check
    check (reviewed_at >= '0001-01-01 00:00:00+00' and reviewed_at < '2200-01-01 00:00:00+00') not valid;
alter table app_public.status_history
  add constraint status_history_changed_at_check
    check (changed_at >= '0001-01-01 00:00:00+00' and changed_at < '2200-01-01 00:00:00+00') not valid;
alter table app_public.organization_claim_history
  add constraint organization_claim_history_changed_at_check
    check (changed_at >= '0001-01-01 00:00:00+00' and changed_at < '2200-01-01 00:00:00+00') not valid;
alter table app_private.changes
  add constraint changes_changed_at_check
    check (changed_at >= '0001-01-01 00:00:00+00' and changed_at < '2200-01-01 00:00:00+00') not valid;
