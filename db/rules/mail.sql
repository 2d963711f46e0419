-- Who is sent which mail. When it is sent is decided in outbox.sql; the worker composes the texts (worker/mail-texts.ts).

create function app_private.claim_mail_data(claim app_public.organization_claims) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_strip_nulls(jsonb_build_object(
    'claimId', claim.claim_id,
    'orgName', claim.org_name,
    'orgUri', claim.org_uri,
    'isNewOrg', claim.is_new_org,
    'newOrgType', claim.new_org_type,
    'newOrgWebsite', claim.new_org_website,
    'orgDomain', claim.org_domain,
    'domainMatch', claim.domain_match,
    'orgDomainStated', claim.org_domain_stated,
    'emailVerified', claim.email_verified,
    'claimantEmail', u.email,
    'claimantName', app_private.full_name(u),
    'statedRoles', to_jsonb(claim.stated_roles),
    'role', claim.granted_role,
    'roleTitle', r.title,
    'isSuspended', case when claim.kept_status = 'suspended' then true end,
    'notes', claim.review_notes))
  from app_public.users as u
  left join app_public.organization_roles as r on r.role = claim.granted_role
  where u.user_id = claim.user_id;
end;
comment on function app_private.claim_mail_data is 'The data that mails about a claim are composed from.';

create function app_private.told_of_claim(claim app_public.organization_claims) returns setof app_public.users
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select u from app_public.users as u
  where u.user_id <> claim.user_id and app_private.may_review(claim, u.email) and u.user_id in (
    select m.user_id from app_private.organization_managers as m
    where claim.routed_to = 'organization' and m.org_uri = claim.org_uri
    union
    select p.user_id from app_private.platform_powers as p
    where claim.routed_to = 'platform' and p.permission = 'claims:review');
end;
comment on function app_private.told_of_claim is
  'The people who are told that a claim is waiting: those who manage the members of its organization, or the platform''s '
  'reviewers, but not the claimant.';

create function app_private.asks_for_decision(kind text) returns boolean
language sql immutable
return kind in ('claim_request', 'claim_queue');
comment on function app_private.asks_for_decision is
  'Whether mails of a kind ask their recipient to decide on somebody else''s claim.';

create function app_private.claim_mails_left(address text) returns integer
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select s.value::integer - (
    select count(*)::integer from app_private.mails as m
    where m.recipient = address and app_private.asks_for_decision(m.kind) and m.created_at > now() - interval '1 day')
  from app_private.settings as s where s.name = 'claim_mails_per_person_per_day';
end;
comment on function app_private.claim_mails_left is
  'How many more mails that ask for a decision may be sent to an address within a day, so that no number of claims fills a '
  'mailbox.';

create function app_private.mail_claim_step() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.status = 'withdrawn' then
    -- No mail: the claimant knows. Checked here and not in the trigger's condition, which `migrate -- --plan` could
    -- not create: a new status cannot be used in the transaction that adds it.
    return null;
  elsif new.status = 'pending_review' and not new.email_verified and old.status <> new.status then
    perform app_private.ask_for_proof(new);
  end if;
  if new.status in ('approved', 'rejected') then
    insert into app_private.mails (unique_key, kind, recipient, recipient_name, data)
    select format('claim:%s:%s', new.claim_id, new.status), 'claim_' || new.status, u.email, u.first_name,
      app_private.claim_mail_data(new)
    from app_public.users as u
    -- A person who is being erased is not mailed about it, nor about anything else.
    where u.user_id = new.user_id and u.erased_at is null
    on conflict (unique_key) do nothing;
  elsif new.routed_to in ('organization', 'platform') then
    -- Otherwise two concurrent claims would each count without the mails of the other.
    perform pg_advisory_xact_lock(hashtextextended('app_private.claim_mails', 0));
    insert into app_private.mails (unique_key, kind, recipient, recipient_name, data)
    select format('claim:%s:%s:%s', new.claim_id, word, u.user_id), 'claim_' || word, u.email, u.first_name,
      app_private.claim_mail_data(new) || case when mails_left = 1 then '{"isLast": true}'::jsonb else '{}' end
    from (values ('organization', 'request'), ('platform', 'queue')) as w (routed_to, word),
      app_private.told_of_claim(new) as u, app_private.claim_mails_left(u.email) as mails_left
    where w.routed_to = new.routed_to::text and mails_left > 0
    on conflict (unique_key) do nothing;
  else
    raise exception 'nobody is told of a claim that is routed to %', new.routed_to;
  end if;
  return null;
end
$$;
comment on function app_private.mail_claim_step is
  'Row trigger: mails the claimant about a decision, those who manage the organization''s members about a request, and the '
  'platform''s reviewers about a claim in their queue; asks the claimant to prove an address that was only stated. The mail '
  'is stored in the same transaction as the step that it reports.';
-- Deferrable: a transaction that goes on to read for its caller defers it until then, because all other claims wait
-- for its lock.
create constraint trigger mail_step after update on app_public.organization_claims
  deferrable
  for each row when (
    old.status is distinct from new.status and new.status <> 'reviewed'
    or old.routed_to <> new.routed_to and new.status = 'pending_review')
  execute function app_private.mail_claim_step();

create function app_private.is_stale(mail app_private.mails) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select app_private.asks_for_decision(mail.kind) and mail.data ? 'claimId' and not exists (
    select from app_public.organization_claims as c, app_private.told_of_claim(c) as u
    where c.claim_id = (mail.data ->> 'claimId')::uuid and c.status = 'pending_review' and u.email = mail.recipient);
end;
comment on function app_private.is_stale is
  'Whether a waiting mail asks for a decision that has been made since, or that its recipient may no longer make. It is then '
  'not sent, because it says who the claimant is.';

create function app_private.forget_mailed_link() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.data := new.data - 'link';
  new.text_body := null;
  new.html_body := null;
  return new;
end
$$;
comment on function app_private.forget_mailed_link is
  'Row trigger: removes the link from a mail that has been sent, so that only its hash remains in the database.';
create trigger forget_link before update on app_private.mails
  for each row when (old.sent_at is null and new.sent_at is not null and new.data ? 'link')
  execute function app_private.forget_mailed_link();

create function app_private.wake_mailer() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from written) then
    perform graphile_worker.add_job('send_mails', app_private.job_payload());
  end if;
  return null;
end
$$;
comment on function app_private.wake_mailer is 'Statement trigger: has the worker look for waiting mails.';
create trigger wake after insert on app_private.mails
  referencing new table as written for each statement execute function app_private.wake_mailer();
