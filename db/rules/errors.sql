-- Every error that the rules can raise, with its HTTP status and message, and the one function that raises them.

create function app_private.errors() returns table (status integer, code text, sentence text)
language sql immutable
begin atomic
  values
    (400, 'validation_failed', 'The input is not valid.'),

    (401, 'invalid_api_key', 'This API key is unknown, expired or revoked.'),

    (403, 'membership_required',
      'The acting user is not an active member of this organization and has no approved claim to it.'),
    (403, 'insufficient_role', 'The acting user''s role in this organization does not allow this.'),
    (403, 'not_your_identity',
      'A person''s token acts for that person alone; omit the acting person''s e-mail address, or give your own.'),
    (403, 'key_not_for_organization', 'This API key is for certain organizations and cannot be used for this one.'),
    (403, 'key_not_for_person', 'This API key is for certain persons and cannot be used in the name of this one.'),
    (403, 'permission_required', 'This requires a permission that the acting user does not have.'),

    (404, 'need_not_found', 'There is no need with this needId.'),
    (404, 'commitment_not_found', 'There is no commitment with this commitmentId.'),
    (404, 'engagement_claim_not_found', 'There is no engagement claim with this claimId.'),
    (404, 'claim_not_found', 'There is no organization claim with this claimId.'),
    (404, 'organization_not_found', 'There is no organization with this orgUri.'),
    (404, 'church_not_found', 'There is no church with this church_id.'),
    (404, 'member_not_found', 'This person is not a member of the organization.'),
    (404, 'user_not_found', 'Nobody with this e-mail address is known to the service.'),

    (409, 'already_reviewed', 'This claim has already been decided or withdrawn.'),
    (409, 'already_member', 'This person already belongs to the organization.'),
    (409, 'claim_pending', 'This person''s claim to the organization is already waiting for review.'),
    (409, 'has_administrator',
      'This organization already has an administrator, who decides who else becomes one.'),
    (409, 'last_admin',
      'An organization needs at least one active member who may manage its members; give someone else such a role first.'),
    (409, 'idempotency_key_reused',
      'This idempotency key was already used with a different request; use a new key for a new request.'),

    (410, 'changes_expired',
      'Some changes after this cursor have been deleted; read the lists again and continue from a new cursor.'),

    (422, 'unknown_accelerator_code', 'One of the codes is not a current code of the accelerator scheme.'),
    (422, 'unknown_need', 'concernsNeedId does not name an existing need.'),
    (422, 'unknown_commitment', 'fulfillsCommitmentId does not name an existing commitment.'),

    (429, 'rate_limited', 'This API key, or this person, has sent too many requests; wait as long as Retry-After says.');
end;
comment on function app_private.errors is
  'The errors that the rules raise: HTTP status, code, and the message used where the rule gives no more specific one.';

-- SQLSTATE is 'PT' + status, the detail is the code, and the hint is a JSON array of {path, message} or the number of
-- seconds to wait before trying again.
create function app_private.refuse(
  code text, message text default null, details jsonb default null, retry_after integer default null
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  registered record;
begin
  select e.status, e.sentence into registered from app_private.errors() as e where e.code = refuse.code;
  if not found then
    raise exception 'app_private.errors() has no error with the code %', code;
  end if;
  message := coalesce(message, registered.sentence);
  details := coalesce(details, to_jsonb(retry_after));
  if details is null then
    raise exception using errcode = 'PT' || registered.status, message = message, detail = code;
  else
    raise exception using
      errcode = 'PT' || registered.status, message = message, detail = code, hint = details::text;
  end if;
end
$$;
comment on function app_private.refuse is
  'Raises an error of app_private.errors with its own message or a more specific one, and with the inputs at fault as '
  '[{path, message}] or the seconds to wait.';
