-- People whose address was replaced because they asked for it.

alter table app_public.users add column erased_at timestamptz;
comment on column app_public.users.erased_at is
  'Since when this person is erased: their name is gone, their address a pseudonym, and they act no more.';

alter table app_private.administration_history
  drop constraint administration_history_subject_check,
  -- squawk-ignore constraint-missing-not-valid
  add constraint administration_history_subject_check
    check (subject in ('organization', 'api_key', 'list', 'churches', 'person'));
comment on column app_private.administration_history.subject is
  'What was changed. list: a controlled list that was imported; churches: an import of churches; person: an erasure.';
comment on column app_private.administration_history.name is
  'The organization''s URI, the key''s id, the list''s name, the file, the pseudonym.';
