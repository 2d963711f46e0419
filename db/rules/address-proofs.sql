-- Proof of an address that an application has stated. Whoever claims an organization by way of an application gets a link by
-- mail. It leads to a page that shows what was claimed in their name; their confirmation there proves the address. Who is
-- signed in with it (sessions.sql) confirms on the same page without the link. To have signed in is not enough: that an
-- address is somebody's does not say that they claimed what others claimed in their name.

create function app_private.new_secret() returns text
language sql volatile
-- 244 random bits, in base64url as the server has its own.
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
  -- One link is for all claims in the name of an address, so that it gets one mail a day, whatever applications claim.
  if exists (
    select from app_private.sign_ins as s
    where lower(s.email) = lower(claimant) and s.browser_hash is null and s.created_at > now() - interval '1 day'
  ) or (
    -- Of one mailbox there are as many addresses as somebody likes to type.
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
    -- Who proposes an organization says how it is called; who claims it, that this address is theirs: nobody's to advertise in.
    'orgName', case when not claim.org_domain_stated then claim.org_name end)));
end
$$;
comment on function app_private.ask_for_proof is 'Mails the link to whoever is said to have made a claim.';

create function app_private.proven_by(secret_hash bytea) returns text
language sql stable
set search_path = pg_catalog, pg_temp
return coalesce(
  (select s.email from app_private.sign_ins as s
   where s.secret_hash = proven_by.secret_hash and s.browser_hash is null and app_private.sign_in_is_open(s)),
  (select s.email from app_private.sessions as s
   where s.secret_hash = proven_by.secret_hash and app_private.session_is_live(s)));
comment on function app_private.proven_by is
  'The address that is proven by the text of a link to confirm claims, or of a session; null when it is neither.';

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
  'What waits in the name of whoever has a link or a session, on the word of an application: {email, claims: [{claimId, orgName, '
  'createdAt}]}, the oldest hundred; null when it is no good.';

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
    -- Deleted and not marked: of two at the same time one finds it.
    delete from app_private.sign_ins as s where s.secret_hash = confirm_claims.secret_hash;
    if not found then
      return null;
    end if;
  end if;
  -- What the histories remember of who says so (identity.sql): the session, or a link by mail.
  perform set_config('app.person', case
    -- Each link has a name of its own, as each session has: what is erased is found by it, and nothing else.
    when session.session_id is null then jsonb_build_object(
      'issuer', 'mail', 'subject', left(encode(sha256(secret_hash), 'hex'), 32)::uuid, 'email', address)
    else app_private.session_person(session) end::text, true);
  perform app_private.act_as_the_service();
  -- As a review and an erasure do: first the claims, then their organizations. All of them before any is decided, because to let
  -- somebody in is to hold the person, who comes last.
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
  'Confirms those of these claims that wait in the name of whoever has a link, which is then used up, or a session: their '
  'address is proven. Returns what became of them, [{orgName, status}]; null when link or session is no good.';
