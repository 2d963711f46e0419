-- The feed of committed changes: which changes it lists, in which order, to whom they are shown, and how long they are kept.
--
-- Numbers drawn before the commit would make a reader skip a change that commits later with a smaller number. So a
-- change gets its position only once it is visible, from the first reader who asks, and one at a time: by then, all
-- positions up to the last are taken.

create function app_private.number_changes(most integer default 5000) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- A plan made while the table was small, or while many changes waited, would scan all kept changes for each one.
set enable_seqscan = off
as $$
declare
  waiting tid;
  numbered bigint := 0;
begin
  if not exists (select from app_private.changes where position is null) then
    return 0;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('app_private.changes', 0));
  -- A statement of its own, which sees what others committed while this one waited for the lock.
  for waiting in
    select c.ctid from app_private.changes as c where c.position is null order by c.change_id limit most
  loop
    update app_private.changes as c
    set position = nextval('app_private.change_positions'), numbered_at = clock_timestamp() where c.ctid = waiting;
    numbered := numbered + 1;
  end loop;
  return numbered;
end
$$;
comment on function app_private.number_changes is
  'Gives committed changes their positions in the feed, oldest first, some thousand at a time; returns how many. A second '
  'caller waits until the first has committed, so this is called in a transaction of its own, before a page is read.';

create function app_private.begin_changes() returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  select pg_advisory_xact_lock(hashtextextended('app_private.changes', 0));
  delete from app_private.changes;
  insert into app_private.changes (position, numbered_at)
  values (nextval('app_private.change_positions'), clock_timestamp());
end;
comment on function app_private.begin_changes is
  'Restarts the feed: anyone who has read part of it must read the lists again.';

create function app_private.begin_changes_again() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.begin_changes();
  return null;
end
$$;
comment on function app_private.begin_changes_again is
  'Statement trigger: restarts the feed, which cannot name the records that a TRUNCATE has removed.';

create function app_private.forget_changes(most integer default 20000) returns bigint
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- By the age of the next change, not its own: a reader who asks every day has read up to the last one, however old that is.
  with oldest as (
    select c.position, c.numbered_at from app_private.changes as c
    where c.position is not null order by c.position limit most + 1
  ), followed as (
    select o.position, lead(o.numbered_at) over (order by o.position) as next_at from oldest as o
  ), forgotten as (
    delete from app_private.changes as c
    using followed as f
    where c.position = f.position and f.next_at < now() - make_interval(days =>
      (select s.value::integer from app_private.settings as s where s.name = 'changes_kept_days'))
    returning 1
  )
  select count(*) from forgotten;
end;
comment on function app_private.forget_changes is
  'Deletes changes that were followed by another one longer ago than changes are kept, some thousand at a time; returns how '
  'many.';

do $make$
declare
  told record;
begin
  -- A function for each table, for the reason given in graph-projection.sql.
  for told in
    select t.kind::text, t.recorded, t.key, c.need, '%s' as status
    from app_private.record_tables as t
    join (values
      ('need', 'need_id'),
      ('commitment', 'concerns_need_id'),
      ('engagement_claim', '(select c.concerns_need_id from app_public.commitments as c
         where c.commitment_id = fulfills_commitment_id)')
    ) as c (kind, need) on c.kind = t.kind::text
    union all
    select 'organization_claim', 'app_public.organization_claims'::regclass, 'claim_id', 'null::uuid',
      'app_private.review_status(%s)'
  loop
    execute format(
      $text$
        create function app_private.tell_%1$s_created() returns trigger
        language plpgsql security definer
        set search_path = pg_catalog, pg_temp
        as $body$
        begin
          insert into app_private.changes (kind, record_id, change, to_status, org_uri, need_id, changed_at)
          select %1$L, %3$I, 'created', %5$s, org_uri, %4$s, updated_at from changed;
          return null;
        end
        $body$;
        comment on function app_private.tell_%1$s_created is 'Statement trigger: adds the created records to the feed.';
        create trigger tell_created after insert on %2$s referencing new table as changed
          for each statement execute function app_private.tell_%1$s_created();

        create function app_private.tell_%1$s_updated() returns trigger
        language plpgsql security definer
        set search_path = pg_catalog, pg_temp
        -- A session plans the join below once, perhaps for a single row; as a nested loop it would take the square of the time for
        -- thousands.
        set enable_nestloop = off
        as $body$
        begin
          insert into app_private.changes (kind, record_id, change, from_status, to_status, org_uri, need_id, changed_at)
          select %1$L, changed.%3$I, 'updated', %6$s, %7$s, changed.org_uri, n.need_id, changed.updated_at
          from changed join before on before.%3$I = changed.%3$I,
            lateral (select %4$s as need_id from (select changed.*) as one) as n
          where changed.* is distinct from before.*;
          return null;
        end
        $body$;
        comment on function app_private.tell_%1$s_updated is
          'Statement trigger: adds the records that an update has changed to the feed; setting a value it already has is no change.';
        create trigger tell_updated after update on %2$s referencing new table as changed old table as before
          for each statement execute function app_private.tell_%1$s_updated();

        create function app_private.tell_%1$s_deleted() returns trigger
        language plpgsql security definer
        set search_path = pg_catalog, pg_temp
        as $body$
        begin
          insert into app_private.changes (kind, record_id, change, from_status, org_uri, need_id)
          select %1$L, %3$I, 'deleted', %5$s, org_uri, %4$s from changed;
          return null;
        end
        $body$;
        comment on function app_private.tell_%1$s_deleted is 'Statement trigger: adds the deleted records to the feed.';
        create trigger tell_deleted after delete on %2$s referencing old table as changed
          for each statement execute function app_private.tell_%1$s_deleted();

        create trigger tell_truncated after truncate on %2$s
          for each statement execute function app_private.begin_changes_again();
      $text$,
      told.kind, told.recorded, told.key, told.need,
      format(told.status, 'status'), format(told.status, 'before.status'), format(told.status, 'changed.status'));
  end loop;
  if not exists (select from app_private.changes where position is not null) then
    perform app_private.begin_changes();
  end if;
end
$make$;

-- A claim is shown with the names of its claimant and its reviewer, which are those of the persons, and with its steps. What has changed
-- is found by EXCEPT: a join of the two tables that was planned for one row takes the square of the time for thousands.
create function app_private.tell_claims_of_people() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  renamed constant uuid[] := array(
    select r.user_id from (
      select u.user_id, u.email, u.first_name, u.last_name from changed as u
      except select b.user_id, b.email, b.first_name, b.last_name from before as b) as r);
begin
  if cardinality(renamed) > 0 then
    perform app_private.tell_claims_again(array(
      select c.claim_id from app_public.organization_claims as c where c.user_id = any (renamed)
      union select c.claim_id from app_public.organization_claims as c where c.reviewed_by = any (renamed)));
  end if;
  return null;
end
$$;
comment on function app_private.tell_claims_of_people is
  'Statement trigger: reports the claims of a claimant or reviewer whose address or name has changed, for example by an erasure.';
create trigger tell_claims after update on app_public.users referencing new table as changed old table as before
  for each statement execute function app_private.tell_claims_of_people();

create function app_private.tell_claims_of_steps() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.tell_claims_again(array(
    select distinct s.claim_id from (
      select h.claim_history_id, h.claim_id, h.from_status, h.to_status, h.changed_by_email, h.changed_at from changed as h
      except select b.claim_history_id, b.claim_id, b.from_status, b.to_status, b.changed_by_email, b.changed_at from before as b
    ) as s));
  return null;
end
$$;
comment on function app_private.tell_claims_of_steps is
  'Statement trigger: reports the claims whose past steps have changed, for example by the erasure of the person who took one.';
create trigger tell_claims after update on app_public.organization_claim_history
  referencing new table as changed old table as before
  for each statement execute function app_private.tell_claims_of_steps();

create function app_private.tell_claims_again(claims uuid[]) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  insert into app_private.changes (kind, record_id, change, from_status, to_status, org_uri)
  select 'organization_claim', c.claim_id, 'updated', s.status, s.status, c.org_uri
  from app_public.organization_claims as c,
    lateral (select app_private.review_status(c.status)::text as status) as s
  where c.claim_id = any (claims)
  order by c.created_at, c.claim_id;
end;
comment on function app_private.tell_claims_again is 'Reports claims as updated although their own rows have not changed.';

create function app_private.tell_reviewer() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.org_uri is null and exists (
    select from app_public.platform_permissions as p where p.role::text = new.role and p.permission = 'claims:review')
    and not exists (
      select from app_private.platform_powers as p
      where p.user_id = new.user_id and p.permission = 'claims:review' and p.role::text <> new.role)
  then
    -- A claim that is being written would be seen neither here nor, before the right is there, by the person who gets it. (Claims to
    -- one organization wait for its members to change in any case.)
    lock table app_public.organization_claims in share row exclusive mode;
    perform app_private.tell_claims_again(array(select c.claim_id from app_public.organization_claims as c));
  elsif new.org_uri is not null and app_private.manages_members(new.role::app_public.organization_role) then
    perform app_private.tell_claims_again(array(
      select c.claim_id from app_public.organization_claims as c
      where c.org_uri = new.org_uri and c.routed_to = 'organization'));
  end if;
  return null;
end
$$;
comment on function app_private.tell_reviewer is
  'Row trigger: reports the claims that a person may review from now on. Their earlier changes are behind the cursor of that person, who '
  'would never receive them.';
create trigger tell_reviewer after insert on app_private.role_history
  for each row when (new.status = 'active') execute function app_private.tell_reviewer();

create policy read on app_private.changes for select to api_read using (kind is distinct from 'organization_claim');

create function app_private.change_cursor(change app_private.changes) returns text
language sql immutable
return change.position || '-' || (extract(epoch from change.numbered_at) * 1000000)::bigint;
comment on function app_private.change_cursor is 'The cursor of a reader who has read up to a change.';

create function app_private.change_position(after text) returns bigint
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  read_last app_private.changes;
begin
  if after is null then
    return -1;
  end if;
  if after = 'now' then
    return (select max(c.position) from app_private.changes as c);
  end if;
  if after !~ '^[0-9]{1,18}-[0-9]{1,18}$' then
    perform app_private.refuse_problems(app_private.problem('after', 'must be a cursor of this feed, or now'));
  end if;
  select * into read_last from app_private.changes as c where c.position = split_part(after, '-', 1)::bigint;
  if app_private.change_cursor(read_last) is distinct from after then
    perform app_private.refuse('changes_expired');
  end if;
  return read_last.position;
end
$$;
comment on function app_private.change_position is
  'The position of a cursor in the feed; for null it is before all changes that are kept, for now after them. A cursor has '
  'expired if its change is no longer kept, or belongs to another history of the database. Errors: 400 validation_failed, '
  '410 changes_expired.';

create function app_private.changes_after(start bigint, looked_at integer)
returns setof app_private.changes
language sql stable
begin atomic
  select * from app_private.changes as c where c.position > start order by c.position limit looked_at;
end;
comment on function app_private.changes_after is
  'The next changes after a position that the caller may see, at most looked_at of them, so that filtering them has a bound.';

do $make$
declare
  shown text;
begin
  select string_agg(format(
      'when %L then (select row_to_json(item) from rest.%I as item where item.%I = record_id)',
      t.kind, c.relname, a.attname), ' ')
  into shown
  from app_private.record_tables as t
  join pg_class as c on c.oid = t.recorded
  join pg_attribute as a on a.attrelid = format('rest.%I', c.relname)::regclass and a.attnum = 1;
  execute format(
    'create function app_private.shown_record(kind text, record_id uuid) returns json
     language sql stable return case kind %s end', shown);
end
$make$;
comment on function app_private.shown_record is 'A record as its list shows it; null if it does not exist.';

create function app_private.shown_change(change app_private.changes, item json) returns json
language sql stable
return json_build_object(
  'cursor', app_private.change_cursor(change), 'kind', change.kind, 'id', change.record_id, 'change', change.change,
  'changedAt', change.changed_at, 'orgUri', change.org_uri, 'needId', change.need_id, 'fromStatus', change.from_status, 'toStatus', change.to_status,
  'item', item);
comment on function app_private.shown_change is 'A change as readers of the feed get it, with the record.';

create function app_private.page_of_changes(changes json, read_to bigint) returns json
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  -- With read_to null, the cursor is that of the last change of all, even if the caller may not see it.
  select json_build_object(
    'changes', coalesce(changes, '[]'),
    'next', app_private.change_cursor(c),
    'hasMore', read_to is not null and exists (select from app_private.changes as n where n.position > read_to)
      or exists (select from app_private.changes as n where n.position is null))
  from app_private.changes as c
  where c.position = coalesce(read_to, (select max(n.position) from app_private.changes as n));
end;
comment on function app_private.page_of_changes is
  'A page of the feed: the changes, the cursor to go on from, and whether there is more. read_to is the position up to which '
  'the feed has been read, null for all of it.';

create function app_private.change_page(
  after text default null, kind text default null, org_uri text default null, need_id uuid default null,
  most integer default 50
) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  looked_at constant integer not null default 10000;
  start bigint;
begin
  start := app_private.change_position(after);
  return (
    with seen as materialized (
      select * from app_private.changes_after(start, looked_at)
    ), matching as materialized (
      select s.* from seen as s
      where s.kind is not null
        and (change_page.kind is null or s.kind = change_page.kind)
        and (change_page.org_uri is null or s.org_uri = change_page.org_uri)
        and (change_page.need_id is null or s.need_id = change_page.need_id)
      order by s.position limit most
    )
    select app_private.page_of_changes(
      (select json_agg(app_private.shown_change(m, app_private.shown_record(m.kind, m.record_id)) order by m.position)
        from matching as m),
      case
        when (select count(*) from matching) = most then (select max(m.position) from matching as m)
        when (select count(*) from seen) = looked_at then (select max(s.position) from seen as s)
      end));
end
$$;
comment on function app_private.change_page is
  'Changes of records after a cursor, in order, each with the record as it is now, the cursor to go on from, and whether '
  'there is more, which is also so while changes wait for their positions (number_changes). A page can be short, since a '
  'bounded number of changes is searched for matches. Errors: 400 validation_failed, 410 changes_expired.';

create function app_private.claim_change_page(admin_email text, after text default null, most integer default 50)
returns json
-- Stable, so that the rights and the page are of one snapshot: a page read with earlier rights would skip what was reported with the
-- new ones.
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  looked_at constant integer not null default 10000;
  start bigint;
  sees_all boolean;
  own text[];
  bounds constant text[] := (app_private.key_bounds()).organizations;
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(app_private.email_problems('adminEmail', admin_email));
  perform app_private.name_actor(admin_email);
  sees_all := app_private.has_platform_permission(admin_email, 'claims:review');
  own := app_private.organizations_reviewed(admin_email, sees_all);
  start := app_private.change_position(after);
  return (
    with seen as materialized (
      select * from app_private.changes_after(start, looked_at)
    ), matching as materialized (
      select s.* from seen as s
      left join app_public.organization_claims as c on c.claim_id = s.record_id
      where s.kind = 'organization_claim' and app_private.is_within(bounds, s.org_uri)
        and (sees_all or c.routed_to = 'organization' and s.org_uri = any (own))
      order by s.position limit most
    )
    select app_private.page_of_changes(
      (select json_agg(
          app_private.shown_change(m, (
            select row_to_json(app_private.claim_item(c)) from app_public.organization_claims as c where c.claim_id = m.record_id))
          order by m.position)
        from matching as m),
      case
        when (select count(*) from matching) = most then (select max(m.position) from matching as m)
        when (select count(*) from seen) = looked_at then (select max(s.position) from seen as s)
      end));
end
$$;
comment on function app_private.claim_change_page is
  'Changes of the organization claims that a person may review, in the form of change_page. Errors: 400 validation_failed, '
  '403 not_your_identity, key_not_for_person, permission_required, insufficient_scope, 410 changes_expired.';
