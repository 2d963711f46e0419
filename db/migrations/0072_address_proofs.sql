-- Addresses that applications have stated are proven by a link, beside those by which persons sign in. The rows are written by
-- db/rules/address-proofs.sql.

-- Who reads them are the rules, which are made again with this migration.
alter table app_private.sign_ins
  -- squawk-ignore ban-drop-not-null
  alter column browser_hash drop not null,
  -- squawk-ignore ban-drop-not-null
  alter column return_to drop not null,
  -- squawk-ignore constraint-missing-not-valid
  add constraint sign_ins_check check (num_nulls(browser_hash, return_to) in (0, 2)),
  -- squawk-ignore constraint-missing-not-valid
  add constraint sign_ins_proof_check check (browser_hash is not null or email is not null);
comment on table app_private.sign_ins is
  'Who has begun to sign in, by the SHA-256 of what comes back: the text of a link, or the state of a provider''s answer; and '
  'who was sent a link that proves an address and signs nobody in. The row goes when it comes.';
comment on column app_private.sign_ins.browser_hash is
  'SHA-256 of the cookie of the browser that began: no other can finish. Null for a link that proves an address, in any browser.';
create index sign_ins_of_person on app_private.sign_ins (lower(email));

alter table app_public.organization_claims add column awaits_proof boolean not null default false;
comment on column app_public.organization_claims.awaits_proof is
  'Whether nothing but the proof of the address stood in the way of an approval without a review.';
comment on column app_public.organization_claims.email_verified is
  'Whether the address is proven to be the claimant''s: they called as themself, or confirmed the claim; otherwise an '
  'application stated it.';

insert into app_private.settings (name, value, description) values
  ('sign_in_links_per_address_everywhere', '50',
   'How many links to sign in may be sent to one address within 15 minutes, from whatever networks they are asked for.');
update app_private.settings
set description = 'How many links to sign in may be sent to one address within 15 minutes, asked for from one network.'
where name = 'sign_in_links_per_address';

alter table app_private.mails
  drop constraint mails_kind_check,
  -- squawk-ignore constraint-missing-not-valid
  add constraint mails_kind_check
    check (kind in ('claim_approved', 'claim_rejected', 'claim_request', 'claim_queue', 'sign_in', 'confirm_claim'));

alter table app_private.administration_history
  drop constraint administration_history_subject_check,
  -- squawk-ignore constraint-missing-not-valid
  add constraint administration_history_subject_check
    check (subject in ('organization', 'api_key', 'list', 'churches', 'person', 'organization_claim'));
comment on column app_private.administration_history.subject is
  'What was changed. list: a controlled list that was imported; churches: an import of churches; person: an erasure; '
  'organization_claim: its address was proven.';
comment on column app_private.administration_history.name is
  'The organization''s URI, the key''s id, the list''s name, the file, the pseudonym, the claim''s id.';
