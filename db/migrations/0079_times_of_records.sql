-- A record is of a time that every door can say: PostgreSQL has others (infinity, years before the first), which JSON, XSD and the
-- cursors of lists have not, and one of them kept whole lists from being read. What has such a time gets the nearest: a check
-- that it does not hold would stand in the way of whatever is changed of it.

update app_public.needs set created_at = least(greatest(created_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where created_at < '0001-01-01 00:00:00+00' or created_at >= '2200-01-01 00:00:00+00';
update app_public.commitments set created_at = least(greatest(created_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where created_at < '0001-01-01 00:00:00+00' or created_at >= '2200-01-01 00:00:00+00';
update app_public.engagement_claims set created_at = least(greatest(created_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where created_at < '0001-01-01 00:00:00+00' or created_at >= '2200-01-01 00:00:00+00';
update app_public.organization_claims set created_at = least(greatest(created_at, '0001-01-01 00:00:00+00'), '2199-12-31 23:59:59+00')
where created_at < '0001-01-01 00:00:00+00' or created_at >= '2200-01-01 00:00:00+00';

alter table app_public.needs add constraint needs_created_at_check
  check (created_at >= '0001-01-01 00:00:00+00' and created_at < '2200-01-01 00:00:00+00') not valid;
alter table app_public.commitments add constraint commitments_created_at_check
  check (created_at >= '0001-01-01 00:00:00+00' and created_at < '2200-01-01 00:00:00+00') not valid;
alter table app_public.engagement_claims add constraint engagement_claims_created_at_check
  check (created_at >= '0001-01-01 00:00:00+00' and created_at < '2200-01-01 00:00:00+00') not valid;
alter table app_public.organization_claims add constraint organization_claims_created_at_check
  check (created_at >= '0001-01-01 00:00:00+00' and created_at < '2200-01-01 00:00:00+00') not valid;
