-- Schemas, roles, settings and API keys: what everything else stands on.

-- Roles belong to the whole cluster, so another database of it may have made them already.
do $$
declare
  role_name text;
begin
  foreach role_name in array array['api_read', 'api_write', 'api_review', 'engagement_server'] loop
    begin
      execute format('create role %I nologin', role_name);
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
end
$$;

grant api_read to api_write;
grant api_write to api_review;
-- The server's login inherits nothing: until it becomes one of the three it can read no table.
alter role engagement_server login noinherit;
grant api_read, api_write, api_review to engagement_server;

create schema app_public;
create schema app_private;
create schema rest;
comment on schema app_public is 'Tables and functions that GraphQL exposes, under row-level security.';
comment on schema app_private is 'Keys, settings, projection state and the helpers of the rules; not exposed.';
comment on schema rest is 'Views whose columns are the names on the wire of /v0.';

create extension if not exists unaccent;
create extension if not exists pg_trgm;

create table app_private.settings (
  name text primary key,
  value jsonb not null,
  description text not null
);
comment on table app_private.settings is 'Switches of the rules that an operator may change while the service runs.';
alter table app_private.settings enable row level security;

create table app_private.api_keys (
  key_id uuid primary key default gen_random_uuid(),
  label text not null,
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  scope name not null check (scope in ('api_read', 'api_write', 'api_review')),
  rate_per_minute integer check (rate_per_minute > 0),
  is_demo boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
comment on table app_private.api_keys is 'API keys by the SHA-256 of their text; the text itself is never stored.';
alter table app_private.api_keys enable row level security;

create table app_private.idempotent_answers (
  key_id uuid not null references app_private.api_keys on delete cascade,
  idempotency_key text not null check (char_length(idempotency_key) between 1 and 255),
  fingerprint bytea not null,
  answer text,
  created_at timestamptz not null default now(),
  primary key (key_id, idempotency_key)
);
comment on table app_private.idempotent_answers is 'First answers to requests that carried an Idempotency-Key.';
create index on app_private.idempotent_answers (created_at);
alter table app_private.idempotent_answers enable row level security;
