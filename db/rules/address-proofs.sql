-- How people prove an e-mail address that an application has only stated. A person who claims an organization through an
-- application gets a link by mail. It leads to a page that shows the claims made in their name; confirming them there proves
-- the address. A person who is signed in with the address (sessions.sql) confirms on the same page without the link. Signing
-- in alone is not enough: that an address is theirs does not mean that they made the claims that others made in their name.

create function app_private.new_secret() returns text
language sql volatile
-- 244 random bits, in base64url like the server's own secrets.
return translate(encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'base64'), '+/=', '-_');
comment on function app_private.new_secret is 'A secret for a link: 43 characters of base64url.';

create function app_private.ask_for_proof(claim app_public.organization_claims) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  claimant constant text := (select u.email from app_public.users as u where u.user_id = claim.user_id);
  secret constant text := app_private.new_secret();
begin
  -- One link is for all claims in the name of an address, so that it gets at most one mail a day, however much
  -- applications claim.
  if exists (
    select from app_private.sign_ins as s
    where lower(s.email) = lower(claimant) and s.browser_hash is null and s.created_at > now() - interval '1 day'
  ) or (
    -- A limit per mailbox too, since one mailbox can be written as any number of addresses.
    select count(*) from app_private.sign_ins as s
    where app_private.mailbox(s.email) = app_private.mailbox(claimant) and s.browser_hash is null
      and s.created_at > now() - interval '1 day'
  ) >= 5 then
    return;
  end if;
  insert into app_private.sign_ins (secret_hash, email) values (sha256(convert_to(secret, 'utf8')), claimant);
  insert into app_private.mails (unique_key, kind, recipient, data)
  values (format('claim:%s:confirm', claim.claim_id), 'confirm_claim', claimant, jsonb_strip_nulls(jsonb_build_object(
    'link', '/confirm-address?token=' || secret,
    -- Not the name of a proposed organization: its claimant could use it to send advertising to anybody's address.
    'orgName', case when not claim.org_domain_stated then claim.org_name end)));
end
$$;
comment on function app_private.ask_for_proof is 'Mails the confirmation link to the person in whose name a claim was made.';

create function app_private.proven_by(secret_hash bytea) returns text
language sql stable
set search_path = pg_catalog, pg_temp
return coalesce(
  (select s.email from app_private.sign_ins as s
   where s.secret_hash = proven_by.secret_hash and s.browser_hash is null and app_private.sign_in_is_open(s)),
  (select s.email from app_private.sessions as s
   where s.secret_hash = proven_by.secret_hash and app_private.session_is_accepted(s)));
comment on function app_private.proven_by is
  'The address that a link to confirm claims, or a session, proves, given the SHA-256 of its text; null if it is neither.';

create function app_private.claims_to_confirm(secret_hash bytea) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object('email', proven.email, 'claims', array(
    select jsonb_build_object('claimId', c.claim_id, 'orgName', c.org_name, 'createdAt', c.created_at)
    from app_public.organization_claims as c
    join app_public.users as u on u.user_id = c.user_id
    where lower(u.email) = lower(proven.email) and c.status = 'pending_review' and not c.email_verified
    order by c.created_at, c.claim_id limit 100))
  from app_private.proven_by(secret_hash) as proven (email)
  where proven.email is not null;
end;
comment on function app_private.claims_to_confirm is
  'The claims that an application has made in the name of the person with this link or session, and that wait for '
  'confirmation: {email, claims: [{claimId, orgName, createdAt}]}, the oldest hundred; null if the link or session is not '
  'valid.';

create function app_private.confirm_claims(secret_hash bytea, claim_ids text[]) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  address constant text := app_private.proven_by(secret_hash);
  waiting uuid[];
  claim app_public.organization_claims;
  outcomes jsonb := jsonb_build_array();
  session constant app_private.sessions := (select s from app_private.sessions as s where s.secret_hash = confirm_claims.secret_hash);
begin
  if address is null then
    return null;
  elsif session.session_id is null then
    -- Deletes the row instead of marking it, so that only one of two simultaneous requests finds it.
    delete from app_private.sign_ins as s where s.secret_hash = confirm_claims.secret_hash;
    if not found then
      return null;
    end if;
  end if;
  -- The histories record on whose word this is done (identity.sql): the session, or a link by mail.
  perform set_config('app.person', case
    -- Each link has its own subject, as each session has, so that an erasure finds just what belongs to the person.
    when session.session_id is null then jsonb_build_object(
      'issuer', 'mail', 'subject', left(encode(sha256(secret_hash), 'hex'), 32)::uuid, 'email', address)
    else app_private.session_person(session) end::text, true);
  perform app_private.act_as_the_service();
  -- Locks in the same order as a review and an erasure: first the claims, then their organizations. All of them
  -- before any claim is decided, because an approval locks the person, who comes last.
  waiting := array(
    select locked.claim_id
    from (
      select c.claim_id from app_public.organization_claims as c
      join app_public.users as u on u.user_id = c.user_id
      where lower(u.email) = lower(address) and c.status = 'pending_review' and not c.email_verified
        and c.claim_id::text = any (claim_ids)
      order by c.claim_id for no key update of c
    ) as locked);
  perform app_private.lock_organization(concerned.org_uri)
  from (select c.org_uri from app_public.organization_claims as c where c.claim_id = any (waiting) order by 1) as concerned;
  for claim in
    select c.* from app_public.organization_claims as c where c.claim_id = any (waiting) order by c.org_uri, c.claim_id
  loop
    update app_public.organization_claims as c set email_verified = true
    where c.claim_id = claim.claim_id returning * into claim;
    perform app_private.note_administration('organization_claim', claim.claim_id::text, '{"email_verified": true}', address);
    claim := app_private.reconsider_claim(claim);
    outcomes := outcomes || jsonb_build_object(
      'orgName', claim.org_name, 'status', app_private.review_status(claim.status));
  end loop;
  return outcomes;
end
$$;
comment on function app_private.confirm_claims is
  'Confirms those of the given claims that wait in the name of the person with this link, which is then used up, or session: '
  'their address is proven. Returns the outcomes, [{orgName, status}]; null if the link or session is not valid.';
