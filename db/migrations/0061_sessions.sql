-- Persons who are signed in on the service's own pages, and those who are about to be. The rows are written by
-- db/rules/sessions.sql.

create table app_private.sessions (
  session_id uuid primary key default gen_random_uuid(),
  secret_hash bytea not null unique check (octet_length(secret_hash) = 32),
  email text not null,
  issuer text,
  subject text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  check ((issuer is null) = (subject is null))
);
comment on table app_private.sessions is
  'Sessions by the SHA-256 of the text in the browser''s cookie, which is never stored. One that is ended is deleted.';
comment on column app_private.sessions.email is 'The address that was proven when the session began.';
comment on column app_private.sessions.issuer is 'The OpenID provider that vouched for the address; null after a link by mail.';
comment on column app_private.sessions.last_used_at is 'To the minute.';
alter table app_private.sessions enable row level security;
create index sessions_of_person on app_private.sessions (lower(email));

create table app_private.sign_ins (
  secret_hash bytea primary key check (octet_length(secret_hash) = 32),
  browser_hash bytea not null check (octet_length(browser_hash) = 32),
  email text,
  return_to text not null,
  created_at timestamptz not null default now()
);
comment on table app_private.sign_ins is
  'Who has begun to sign in, by the SHA-256 of what comes back: the text of a link, or the state of a provider''s answer. '
  'The row goes when it comes.';
comment on column app_private.sign_ins.browser_hash is 'SHA-256 of the cookie of the browser that began: no other can finish.';
comment on column app_private.sign_ins.email is 'To whom the link was sent; null where the provider is to say.';
comment on column app_private.sign_ins.return_to is 'The path of the page that wanted somebody to be signed in.';
alter table app_private.sign_ins enable row level security;

insert into app_private.settings (name, value, description) values
  ('sign_in_links_per_address', '5', 'How many links to sign in may be sent to one address within 15 minutes.'),
  ('sign_ins_per_network', '100', 'How often somebody from one network may begin to sign in within 15 minutes.');

alter table app_private.mails
  drop constraint mails_kind_check,
  -- squawk-ignore constraint-missing-not-valid
  add constraint mails_kind_check
    check (kind in ('claim_approved', 'claim_rejected', 'claim_request', 'claim_queue', 'sign_in'));
