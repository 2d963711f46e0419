-- Every history remembers through what a change came: the API key, the program, and the request in the server's log.
-- The defaults read what app_private.run_as and GraphQL set for the transaction, so that no trigger has to.
-- No foreign key to api_keys: each write would lock the row of its key, which all writers with this key share, and
-- keys are revoked, never deleted.

do $make$
declare
  history text;
begin
  foreach history in array
    array['app_public.status_history', 'app_public.organization_claim_history', 'app_private.role_history']
  loop
    -- The defaults come after the columns: what happened before this migration came through nothing that is known.
    execute format(
      $text$
        alter table %1$s
          add column changed_by_key uuid, add column changed_through text, add column request_id text;
        alter table %1$s
          alter column changed_by_key set default nullif(current_setting('app.key_id', true), '')::uuid,
          alter column changed_through set default current_setting('application_name'),
          alter column request_id set default nullif(current_setting('app.request_id', true), '');
        comment on column %1$s.changed_by_key is 'The API key (app_private.api_keys); null without one, and before 0.2.0.';
        comment on column %1$s.changed_through is 'The application_name of the connection that it was made through.';
        comment on column %1$s.request_id is 'The request that asked for it, as X-Request-Id and the server''s log name it.';
      $text$, history);
  end loop;
end
$make$;

create index mails_failed on app_private.mails (failed_at) where failed_at is not null;

create table app_private.administration_history (
  administration_history_id bigint generated always as identity primary key,
  subject text not null check (subject in ('organization', 'api_key', 'list', 'churches')),
  name text not null,
  change jsonb not null,
  changed_by_email text,
  changed_at timestamptz not null default clock_timestamp(),
  changed_by_key uuid default nullif(current_setting('app.key_id', true), '')::uuid,
  changed_through text default current_setting('application_name'),
  request_id text default nullif(current_setting('app.request_id', true), '')
);
comment on table app_private.administration_history is
  'Changes of what records and roles stand on: organizations, API keys, imported lists and churches. '
  'No e-mail: the operator, or the service itself.';
comment on column app_private.administration_history.subject is
  'What was changed. list: a controlled list that was imported; churches: an import of churches.';
comment on column app_private.administration_history.name is 'The organization''s URI, the key''s id, the list''s name, the file.';
comment on column app_private.administration_history.change is 'The columns that were set, as they are since; of an import what it did.';
create index on app_private.administration_history (subject, name);
alter table app_private.administration_history enable row level security;
