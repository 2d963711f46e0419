-- No number of claims, addresses or networks fills somebody's mailbox.

-- Here, because an index is built on it.
create function app_private.mailbox(email text) returns text
language sql immutable parallel safe
return lower(regexp_replace(email, '\+[^@]*@', '@'));
comment on function app_private.mailbox is
  'Where mail to an address arrives, as far as can be told: what stands behind a plus is for the recipient to sort by.';

create index sign_ins_of_mailbox on app_private.sign_ins (app_private.mailbox(email)) where browser_hash is null;
create index mails_about_claims on app_private.mails (recipient, created_at) where kind in ('claim_request', 'claim_queue');

insert into app_private.settings (name, value, description) values
  ('claim_mails_per_person_per_day', '100', 'How many mails about claims of others one person is sent within a day.');
