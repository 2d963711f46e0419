// What was left unsettled in the rules when mistakes were thought up blindly, and has a test since.
import type { Mistake } from "../mistake.ts";

export const SETTLED: readonly Mistake[] = [
  {
    rule: "on the page to confirm claims is the day on which each was made",
    file: "db/rules/address-proofs.sql",
    before: "'createdAt', c.created_at)",
    after: "'createdAt', c.updated_at)",
    tests: ["confirm-address"],
    only: "on which day each was claimed",
  },
  {
    rule: "of claims to confirm the oldest is the first",
    file: "db/rules/address-proofs.sql",
    before: "order by c.created_at, c.claim_id limit 100))",
    after: "order by c.updated_at, c.claim_id limit 100))",
    tests: ["confirm-address"],
    only: "on which day each was claimed",
  },
  {
    rule: "who claims first waits while another takes their claim back",
    file: "db/rules/own-standing.sql",
    before:
      "  perform app_private.lock_organization(claim.org_uri);\n  update app_public.organization_claims as c set status = 'withdrawn'",
    after: "  update app_public.organization_claims as c set status = 'withdrawn'",
    tests: ["membership-concurrency"],
    only: "being taken back",
  },
  {
    rule: "a right that the owner cannot give to a role stops the migration",
    file: "db/rules/roles.sql",
    before: "        if not is_taken then\n          raise;\n        end if;\n",
    after: "",
    tests: ["migrate-plan"],
    only: "may not give to a role",
  },
  {
    rule: "a replica that has replayed just what is asked for is there",
    file: "db/rules/replicas.sql",
    before: "elsif (wanted ->> 'at')::bigint > app_private.replayed_position() then",
    after: "elsif (wanted ->> 'at')::bigint >= app_private.replayed_position() then",
    tests: ["replica-faults"],
    only: "which position it cannot have",
  },
  {
    rule: "a replica that lacks one byte of what is asked for is behind",
    file: "db/rules/replicas.sql",
    before: "elsif (wanted ->> 'at')::bigint > app_private.replayed_position() then",
    after: "elsif (wanted ->> 'at')::bigint > app_private.replayed_position() + 1 then",
    tests: ["replica-faults"],
    only: "which position it cannot have",
  },
  {
    rule: "a replica that is behind says so, and not that it is none",
    file: "db/rules/replicas.sql",
    before: "errcode = 'EG002'",
    after: "errcode = 'EG001'",
    tests: ["replica-faults"],
    only: "which position it cannot have",
  },
  {
    rule: "what is no replica of the database says so, and not that it is behind",
    file: "db/rules/replicas.sql",
    before: "errcode = 'EG001'",
    after: "errcode = 'EG002'",
    tests: ["replica-faults"],
    only: "which position it cannot have",
  },
  {
    rule: "of the two codes of a replica one says that it is behind",
    file: "server/postgres/connections.ts",
    before: 'const BEHIND = "EG002";',
    after: 'const BEHIND = "EG001";',
    tests: ["replica-faults"],
    only: "a read URL|does not replay",
  },
  {
    rule: "a backslash in a church's name is one",
    file: "db/rules/church-conditions.sql",
    before:
      "'%' || replace(replace(replace(app_private.fold(query.church_name), '\\', '\\\\'), '%', '\\%'), '_', '\\_') || '%');",
    after: "'%' || replace(replace(app_private.fold(query.church_name), '%', '\\%'), '_', '\\_') || '%');",
    tests: ["churches"],
    only: "a backslash",
  },
  {
    rule: "a backslash in a language or program is one",
    file: "db/rules/church-conditions.sql",
    before:
      "replace(replace(replace(app_private.fold(btrim(part)), '\\', '\\\\'), '%', '\\%'), '_', '\\_') || '%'",
    after: "replace(replace(app_private.fold(btrim(part)), '%', '\\%'), '_', '\\_') || '%'",
    tests: ["churches"],
    only: "a backslash",
  },
  {
    rule: "a link to sign in goes to an address only",
    file: "db/rules/sessions.sql",
    before: "  perform app_private.refuse_problems(app_private.email_problems('email', email));\n",
    after: "",
    tests: ["sign-in"],
    only: "gets none for",
  },
  {
    rule: "a job of a request that is not traced has no trace",
    file: "db/rules/identity.sql",
    before: "nullif(current_setting('app.trace_parent', true), '')));",
    after: "current_setting('app.trace_parent', true)));",
    tests: ["trail"],
    only: "told of no trace",
  },
  {
    rule: "what there is not is told to be what was asked for",
    file: "db/rules/errors.sql",
    before:
      "'There is no need with this needId.'),\n    (404, 'commitment_not_found', 'There is no commitment with this commitmentId.'),",
    after:
      "'There is no commitment with this commitmentId.'),\n    (404, 'commitment_not_found', 'There is no need with this needId.'),",
    tests: ["errors-docs"],
    only: "fit better",
  },
  {
    rule: "for which organizations a key is, is not told as for which persons",
    file: "db/rules/errors.sql",
    before:
      "'This API key is for certain organizations and cannot be used for this one.'),\n    (403, 'key_not_for_person', 'This API key is for certain persons and cannot be used in the name of this one.'),",
    after:
      "'This API key is for certain persons and cannot be used in the name of this one.'),\n    (403, 'key_not_for_person', 'This API key is for certain organizations and cannot be used for this one.'),",
    tests: ["errors-docs"],
    only: "fit better",
  },
  {
    rule: "who belongs already is not told that their claim waits",
    file: "db/rules/errors.sql",
    before:
      "'This person already belongs to the organization.'),\n    (409, 'claim_pending', 'This person''s claim to the organization is already waiting for review.'),",
    after:
      "'This person''s claim to the organization is already waiting for review.'),\n    (409, 'claim_pending', 'This person already belongs to the organization.'),",
    tests: ["errors-docs"],
    only: "fit better",
  },
];
