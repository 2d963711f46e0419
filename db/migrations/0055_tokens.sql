-- Callers that are persons and not keys: the histories remember whose token it was, as they remember the key
-- (0044_trail.sql), and answers are kept for idempotency keys of persons too.

do $make$
declare
  history text;
begin
  foreach history in array
    array['app_public.status_history', 'app_public.organization_claim_history', 'app_private.role_history',
      'app_private.administration_history']
  loop
    execute format(
      $text$
        alter table %1$s add column changed_by_identity text;
        alter table %1$s alter column changed_by_identity set default nullif(concat_ws(' ',
          nullif(current_setting('app.person', true), '')::jsonb ->> 'issuer',
          nullif(current_setting('app.person', true), '')::jsonb ->> 'subject'), '');
        comment on column %1$s.changed_by_identity is
          'Whose token it was: its issuer and its subject, with a space between them; null where a key named the person.';
      $text$, history);
  end loop;
end
$make$;

alter table app_private.idempotent_answers drop constraint idempotent_answers_key_id_fkey;
comment on column app_private.idempotent_answers.key_id is 'The id of the API key, or of the person whose token it was.';
