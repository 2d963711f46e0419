// Who proves that an address is theirs, and what that is worth.
import type { Mistake } from "../mistake.ts";

export const PROOFS: readonly Mistake[] = [
  {
    rule: "a link to confirm that is over confirms nothing",
    file: "db/rules/address-proofs.sql",
    before: "s.browser_hash is null and app_private.sign_in_is_open(s)),",
    after: "s.browser_hash is null),",
    tests: ["confirm-address"],
  },
  {
    rule: "a link to sign in confirms nothing",
    file: "db/rules/address-proofs.sql",
    before: "where s.secret_hash = proven_by.secret_hash and s.browser_hash is null and",
    after: "where s.secret_hash = proven_by.secret_hash and",
    tests: ["confirm-address"],
  },
  {
    rule: "a session that is over confirms nothing",
    file: "db/rules/address-proofs.sql",
    before: "where s.secret_hash = proven_by.secret_hash and app_private.session_is_live(s)));",
    after: "where s.secret_hash = proven_by.secret_hash));",
    tests: ["confirm-address", "sessions"],
  },
  {
    rule: "a link confirms once",
    file: "db/rules/address-proofs.sql",
    before: "    if not found then\n      return null;\n    end if;",
    after: "    if not found then\n      null;\n    end if;",
    tests: ["confirm-address"],
    only: "pressed twice|works once",
  },
  {
    rule: "what is confirmed is what was shown",
    file: "db/rules/address-proofs.sql",
    before: "\n      and c.claim_id::text = any (claim_ids)",
    after: "",
    tests: ["confirm-address"],
    only: "what the page has shown",
  },
  {
    rule: "nobody's claims but one's own are confirmed",
    file: "db/rules/address-proofs.sql",
    before:
      "where lower(u.email) = lower(address) and c.status = 'pending_review' and not c.email_verified\n      and c.claim_id",
    after: "where c.status = 'pending_review' and not c.email_verified\n      and c.claim_id",
    tests: ["confirm-address"],
  },
  {
    rule: "an address gets one mail a day",
    file: "db/rules/address-proofs.sql",
    before: "s.created_at > now() - interval '1 day'",
    after: "s.created_at > now()",
    tests: ["confirm-address"],
    only: "once a day",
  },
  {
    rule: "a mail does not name an organization that only its claimant names",
    file: "db/rules/address-proofs.sql",
    before: "case when not claim.is_new_org and not claim.org_domain_stated then claim.org_name end",
    after: "claim.org_name",
    tests: ["confirm-address"],
    only: "says what was claimed",
  },
  {
    rule: "the trail says who proved an address",
    file: "db/rules/address-proofs.sql",
    before:
      "    perform app_private.note_administration('organization_claim', claim.claim_id::text, '{\"email_verified\": true}', address);\n",
    after: "",
    tests: ["confirm-address"],
  },
  {
    rule: "the trail says by which session or link",
    file: "db/rules/address-proofs.sql",
    before: "'subject', left(encode(sha256(secret_hash), 'hex'), 32)::uuid, ",
    after: "",
    tests: ["confirm-address"],
  },
  {
    rule: "a mail of a later version waits for it",
    file: "worker/outbox.ts",
    before: "\n       and kind = any ($1)",
    after: "\n       and $1::text[] is not null",
    tests: ["mail"],
    only: "later version",
  },
  {
    rule: "the operator ends one session and no other",
    file: "db/rules/sessions.sql",
    before: "where s.session_id::text = lower(end_session_of_id.session_id) returning 1",
    after: "where s.session_id::text = lower(end_session_of_id.session_id) or true returning 1",
    tests: ["sessions"],
    only: "for one session",
  },
];
