-- How the operator exports everything that the service stores about a person, and how that is erased
-- (docs/operations.md). Both search wherever a person may be mentioned (mentions.sql).

create function app_private.export_person(email text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  person constant uuid := (select u.user_id from app_public.users as u where lower(u.email) = lower(export_person.email));
  kept jsonb := jsonb_build_object();
  found jsonb;
  searched record;
begin
  perform app_private.require_address(email);
  for searched in
    select c.oid::regclass as relation, nullif(concat_ws(' or ', nullif(app_private.belonging_condition(c.oid), ''), (
        -- Rows that would be deleted with a row (on delete cascade) are part of it.
        select string_agg(format('t.%I in (select t.%I from %s as t where %s)',
          part.attname, whole.attname, k.confrelid::regclass, app_private.belonging_condition(k.confrelid)), ' or ')
        from pg_constraint as k
        join pg_attribute as part on part.attrelid = k.conrelid and part.attnum = k.conkey[1]
        join pg_attribute as whole on whole.attrelid = k.confrelid and whole.attnum = k.confkey[1]
        where k.contype = 'f' and k.confdeltype = 'c' and k.conrelid = c.oid)), '') as condition,
      -- Columns of type bytea hold the hashes of keys and other secrets, and are left out.
      array(select a.attname::text from pg_attribute as a
        where a.attrelid = c.oid and a.atttypid = 'bytea'::regtype and not a.attisdropped) as secrets
    from pg_class as c
    where c.oid in (select t.relation from app_private.text_columns() as t union
      select k.conrelid from pg_constraint as k where k.confrelid = 'app_public.users'::regclass)
    order by c.oid::regclass::text
  loop
    execute format('select jsonb_agg(to_jsonb(t) - $4) from %s as t where %s', searched.relation, searched.condition)
      into found using email, person, app_private.address_pattern(email), searched.secrets;
    if found is not null then
      kept := kept || jsonb_build_object(searched.relation::text, found);
    end if;
  end loop;
  return kept;
end
$$;
comment on function app_private.export_person is
  'Every row that mentions a person''s address or refers to them, by table: of records, memberships, claims, histories, mails.';

create function app_private.refuse_erased() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- For share, so that this waits for an erasure, or the erasure waits for this row, which it would not see otherwise.
  if (select u.erased_at from app_public.users as u where u.user_id = new.user_id for share) is not null then
    perform app_private.refuse(tg_argv[0], 'This person was erased.');
  end if;
  return new;
end
$$;
comment on function app_private.refuse_erased is
  'Row trigger (error): refuses to give an erased person a role again, by which somebody could act in their name.';
create trigger refuse_erased before insert or update on app_public.memberships
  for each row when (new.status = 'active') execute function app_private.refuse_erased('member_not_found');
create trigger refuse_erased before insert or update on app_public.platform_roles
  for each row execute function app_private.refuse_erased('user_not_found');

create function app_private.begin_erasure(email text, forced boolean) returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  person app_public.users;
  bereft text[] := array[]::text[];
begin
  perform app_private.require_address(email);
  -- As whoever else changes who manages what: first the organizations, then the person.
  perform app_private.lock_platform_roles();
  perform app_private.lock_organization(concerned.org_uri) from (
    select m.org_uri from app_public.memberships as m join app_public.users as u on u.user_id = m.user_id
    where lower(u.email) = lower(begin_erasure.email)
    union
    select c.org_uri from app_public.organization_claims as c join app_public.users as u on u.user_id = c.user_id
    where lower(u.email) = lower(begin_erasure.email)
    order by 1) as concerned;
  select * into person from app_public.users as u
  where lower(u.email) = lower(begin_erasure.email) and u.erased_at is null for no key update;
  if not found then
    return bereft;
  end if;
  bereft := array(
    select m.org_uri from app_private.organization_managers as m
    group by m.org_uri having array_agg(m.user_id) = array[person.user_id]
    order by m.org_uri)
    || array(select 'the platform' from app_private.platform_powers as p where p.permission = 'roles:assign'
      having array_agg(distinct p.user_id) = array[person.user_id]);
  if cardinality(bereft) > 0 and not forced then
    perform app_private.refuse('last_admin', format('Without this person nobody would administer %s. Give someone else '
      'such a role first, or force it.', array_to_string(bereft, ', ')));
  end if;
  -- Or an approved claim would count in place of the memberships that are revoked here.
  perform app_private.enter_by_claim(email);
  update app_public.users as u set erased_at = now() where u.user_id = person.user_id;
  delete from app_public.platform_roles as r where r.user_id = person.user_id;
  update app_public.memberships as m set status = 'revoked' where m.user_id = person.user_id;
  return bereft;
end
$$;
comment on function app_private.begin_erasure is
  'Revokes everything that a person may do, and has their address refused until it is replaced. Returns the organizations, '
  'and the platform, that are left without an administrator; unless forced, refuses with 409 last_admin if there are any.';

create function app_private.being_erased(email text) returns app_public.users
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  person app_public.users;
begin
  perform app_private.require_address(email);
  select * into person from app_public.users as u where lower(u.email) = lower(being_erased.email);
  if found and person.erased_at is null then
    raise exception 'begin_erasure comes first';
  end if;
  return person;
end
$$;
comment on function app_private.being_erased is
  'The person with this address, whose erasure has begun, or nulls. Refuses a text that is not an e-mail address, and a '
  'person whose erasure has not begun.';

create function app_private.close_claims(email text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  person constant uuid := (app_private.being_erased(email)).user_id;
  closed text;
begin
  -- As a review does: first the claim, then its organization.
  perform from app_public.organization_claims as c
  where c.user_id = person or c.routed_to = 'organization' and app_private.review_status(c.status) = 'pending'
    and c.org_uri in (select m.org_uri from app_public.memberships as m where m.user_id = person)
  order by c.claim_id for no key update;
  for closed in
    select c.org_uri from app_public.organization_claims as c
    where c.user_id = person and app_private.review_status(c.status) = 'pending'
    order by c.org_uri
  loop
    perform app_private.lock_organization(closed);
    update app_public.organization_claims as c set status = 'reviewed', review_notes = 'This person was erased.'
    where c.user_id = person and c.org_uri = closed and c.status = 'pending_review';
    update app_public.organization_claims as c set status = 'rejected'
    where c.user_id = person and c.org_uri = closed and c.status = 'reviewed';
    perform app_private.settle_proposal(closed);
  end loop;
  update app_public.organization_claims as c set routed_to = 'platform'
  where c.routed_to = 'organization' and app_private.review_status(c.status) = 'pending'
    and c.org_uri in (select m.org_uri from app_public.memberships as m where m.user_id = person)
    and not app_private.is_managed(c.org_uri);
end
$$;
comment on function app_private.close_claims is
  'Rejects the undecided claims of an erased person, and sends to the platform those that only this person could have decided. '
  'Call it when they can have submitted no more: after begin_erasure, and '
  'after all transactions that were running then have ended. Call it in a transaction of its own, so that nobody waits for '
  'these organizations while finish_erasure searches.';

create function app_private.erase_name_in_mails(person app_public.users, pseudonym text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- A mail to the person keeps its data, which says what it was about, but neither the name nor the texts.
  update app_private.mails as m set recipient_name = null, subject = null, text_body = null, html_body = null
  where lower(m.recipient) = lower(person.email);
  update app_private.mails as m
  set data = app_private.substituted(m.data - 'claimantName', app_private.name_pattern(person), pseudonym)
  where lower(m.data ->> 'claimantEmail') = lower(person.email);
end;
comment on function app_private.erase_name_in_mails is
  'Removes a person''s name from mails about them, and the name and texts from mails to them.';

create function app_private.erase_name_in_claims(person app_public.users, pseudonym text) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  update app_public.organization_claims as c
  set review_notes = app_private.substituted(c.review_notes, app_private.name_pattern(person), pseudonym),
    stated_roles = app_private.substituted(c.stated_roles, app_private.name_pattern(person), pseudonym)
  where c.user_id = person.user_id;
end;
comment on function app_private.erase_name_in_claims is
  'Removes a person''s name from the review notes and stated roles of their claims.';

create function app_private.erase_identities(email text, pseudonym text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  identities constant text[] := array(
    select distinct t.changed_by_identity from app_private.trail as t
    where lower(t.changed_by_email) = lower(erase_identities.email) and t.changed_by_identity is not null);
  history regclass;
begin
  for history in
    select a.attrelid::regclass from pg_attribute as a join pg_class as c on c.oid = a.attrelid
    where a.attname = 'changed_by_identity' and c.relkind = 'r' and not a.attisdropped
  loop
    execute format('update %s set changed_by_identity = $1 where changed_by_identity = any ($2)', history)
      using pseudonym, identities;
  end loop;
end
$$;
comment on function app_private.erase_identities is
  'Replaces a person''s identity at a provider in the histories: issuer and subject identify them as well as the address '
  'does.';

create function app_private.is_about_values(sqlstate text) returns boolean
language sql immutable
return sqlstate ~ '^(22|23|54|P0|PT)';
comment on function app_private.is_about_values is
  'Whether an error says that a value is not allowed (by data types, constraints, limits or rules), not that something else '
  'went wrong.';

create function app_private.erase_row_by_row(relation regclass, email text, pattern text, pseudonym text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  key constant text[] := array(
    select a.attname from pg_index as i join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = relation and i.indisprimary);
  remains jsonb := jsonb_build_array();
  searched record;
  place tid;
  substitute text;
  refused text;
  named jsonb;
begin
  for searched in select c.* from app_private.erasable_columns() as c where c.relation = erase_row_by_row.relation loop
    for place in
      execute format('select t.ctid from %s as t where %s for no key update', relation,
        app_private.mention_in(searched.name, searched.reads_as)) using email, null::uuid, pattern
    loop
      refused := null;
      -- The second is shorter than any address, for where there is no room for the pseudonym.
      foreach substitute in array array[pseudonym, 'gone'] loop
        begin
          execute format('update %1$s as t set %2$I = app_private.substituted(%3$s, app_private.pattern_in(%2$L, $1), $2)::%4$s where t.ctid = $3',
            relation, searched.name, searched.reads_as, searched.type) using pattern, substitute, place;
          refused := null;
          exit;
        exception when others then
          if not app_private.is_about_values(sqlstate) then
            raise;
          end if;
          refused := coalesce(refused, sqlerrm);
        end;
      end loop;
      if refused is not null then
        execute format('select coalesce(jsonb_object_agg(k, to_jsonb(t) -> k), ''{}'') from %s as t, unnest($2) as k where t.ctid = $1',
          relation) into named using place, key;
        remains := remains || jsonb_build_object('table', relation::text, 'row', named, 'column', searched.name, 'reason', refused);
      end if;
    end loop;
  end loop;
  return remains;
end
$$;
comment on function app_private.erase_row_by_row is
  'Replaces an address row by row, in a table of which some row refuses the pseudonym. Returns what remains, in which column '
  'of which row, and why.';

create function app_private.finish_erasure(email text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  pseudonym constant text := format('erased-%s@erased.invalid', gen_random_uuid());
  pattern text;
  person app_public.users;
  swept record;
  changed bigint;
  erased bigint;
  counts jsonb := jsonb_build_object();
  remains jsonb;
begin
  -- Of two simultaneous calls, the second finds nobody any more.
  perform pg_advisory_xact_lock(hashtextextended('app_private.finish_erasure', 0));
  person := app_private.being_erased(email);
  if exists (
    select from app_public.organization_claims as c
    where c.user_id = person.user_id and app_private.review_status(c.status) = 'pending'
  ) then
    raise exception 'close_claims comes first';
  end if;
  -- First the mails: the worker may be handing one over, which takes up to a minute, and no lock that is taken below may be
  -- held that long. Waiting mails to the person are deleted, also those to an address that only asked for a link.
  delete from app_private.mails as m
  where lower(m.recipient) = lower(finish_erasure.email) and app_private.is_waiting_mail(m);
  perform app_private.erase_name_in_mails(person, pseudonym);
  pattern := app_private.erasable_pattern(email);
  -- Subject and texts are composed from the data, including names; those still to be sent are composed again.
  execute format('update app_private.mails as t set subject = null, text_body = null, html_body = null where %s', (
    select string_agg(app_private.mention_in(c.name, c.reads_as), ' or ') from app_private.text_columns() as c
    where c.relation = 'app_private.mails'::regclass and c.name in ('subject', 'text_body', 'data')))
    using email, null::uuid, pattern;
  get diagnostics changed = row_count;
  if changed > 0 then
    counts := counts || jsonb_build_object('app_private.mails', changed);
  end if;
  perform app_private.end_sessions(email);
  perform app_private.erase_identities(email, pseudonym);
  -- Stored answers contain names as well, and are kept for only a day; a repeated request gets a new answer.
  execute format('delete from app_private.idempotent_answers as t where %s',
    app_private.mention_condition('app_private.idempotent_answers')) using email, null::uuid, pattern;
  -- And those with the person's claims, so that a person who claims again is not told of the claim that was theirs.
  delete from app_private.idempotent_answers as a using app_public.organization_claims as c
  where c.user_id = person.user_id and strpos(a.answer, c.claim_id::text) > 0;
  remains := (
    select coalesce(jsonb_agg(jsonb_build_object('table', 'app_public.organizations', 'row',
      jsonb_build_object('org_uri', o.org_uri), 'column', 'org_uri', 'reason', 'an organization is known by its URI')
      order by o.org_uri), '[]')
    from app_public.organizations as o
    where app_private.substituted(o.org_uri, app_private.address_pattern(email), '') <> o.org_uri);
  for swept in
    select c.relation, string_agg(app_private.mention_in(c.name, c.reads_as), ' or ') as condition,
      string_agg(format('%1$I = app_private.substituted(%2$s, app_private.pattern_in(%1$L, $3), $4)::%3$s', c.name, c.reads_as, c.type), ', ') as changes
    from app_private.erasable_columns() as c group by c.relation
    -- Tables that others lock come last, in the order in which others lock them, so that they stay free while all
    -- others are searched.
    order by array_position(array['app_public.organization_claims', 'app_public.organizations', 'app_public.users'],
      c.relation::text) nulls first, c.relation::text
  loop
    if swept.relation = 'app_public.organization_claims'::regclass then
      perform app_private.erase_name_in_claims(person, pseudonym);
    elsif swept.relation = 'app_public.users'::regclass then
      update app_public.users as u set email = pseudonym, first_name = null, last_name = null
      where u.user_id = person.user_id;
      get diagnostics erased = row_count;
    end if;
    begin
      execute format('update %s as t set %s where %s', swept.relation, swept.changes, swept.condition)
        using email, null::uuid, pattern, pseudonym;
      get diagnostics changed = row_count;
    exception when others then
      -- No value, whatever somebody has written, may prevent an erasure.
      if not app_private.is_about_values(sqlstate) then
        raise;
      end if;
      execute format('select count(*) from %s as t where %s', swept.relation, swept.condition)
        into changed using email, null::uuid, pattern;
      remains := remains || app_private.erase_row_by_row(swept.relation, email, pattern, pseudonym);
      execute format('select $4 - count(*) from %s as t where %s', swept.relation, swept.condition)
        into changed using email, null::uuid, pattern, changed;
    end;
    changed := changed + case when swept.relation = 'app_public.users'::regclass then erased else 0 end;
    if changed > 0 then
      counts := counts || jsonb_build_object(swept.relation::text, changed);
    end if;
  end loop;
  if counts = '{}' then
    return jsonb_build_object('pseudonym', null, 'changed', counts, 'remains', remains);
  end if;
  perform app_private.note_administration('person', pseudonym, '{"erased": true}');
  return jsonb_build_object('pseudonym', pseudonym, 'changed', counts, 'remains', remains);
end
$$;
comment on function app_private.finish_erasure is
  'Replaces a person''s address with a pseudonym wherever it occurs, in one transaction. Call it when nobody can be writing '
  'the address any more: after begin_erasure, after all transactions that were running then have ended, and after '
  'close_claims. Returns the pseudonym, how many rows have it, by table, and what remains.';

create function app_private.churches_naming(email text) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select count(*) from app_public.churches as c
  where app_private.may_mention(to_jsonb(c)::text, churches_naming.email)
    and to_jsonb(c) <> app_private.substituted(to_jsonb(c), app_private.address_pattern(churches_naming.email), '');
end;
comment on function app_private.churches_naming is 'How many churches of the directory mention an address.';
