// Mails that are not to be sent, or not again.
import type { Mistake } from "../mistake.ts";

const OUTBOX = { file: "worker/outbox.ts", tests: ["outbox"] };
const RULES = { file: "db/rules/mail.sql", tests: ["mail"] };

export const STALE_MAILS: readonly Mistake[] = [
  {
    ...RULES,
    rule: "nobody is asked for a decision that has been made",
    before: " and c.status = 'pending_review' and u.email = mail.recipient",
    after: " and u.email = mail.recipient",
    only: "was decided before",
  },
  {
    ...RULES,
    rule: "nobody is asked who may not decide any more",
    before: " and c.status = 'pending_review' and u.email = mail.recipient",
    after: " and c.status = 'pending_review'",
    only: "not theirs to decide",
  },
  {
    ...RULES,
    rule: "nobody of the platform is asked who reviews no more",
    before: "select app_private.asks_for_decision(mail.kind) and",
    after: "select mail.kind = 'claim_request' and",
    only: "not theirs to decide",
  },
  {
    ...RULES,
    rule: "of a claim to the platform its reviewers are told",
    before: "where claim.routed_to = 'platform' and",
    after: "where claim.routed_to = 'organization' and",
    only: "who is told what",
  },
  {
    ...OUTBOX,
    rule: "a mail that nobody needs any more is not sent",
    before: "  if (row.is_stale) {",
    after: "  if (row.is_stale && !mailer) {",
    tests: ["mail"],
    only: "nobody of a claim",
  },
  {
    ...OUTBOX,
    rule: "a mail that may have been taken comes again seldom",
    only: "fell silent",
    file: "db/rules/outbox.sql",
    before: "case when in_order.is_doubtful then",
    after: "case when false then",
  },
  {
    ...OUTBOX,
    rule: "a mail that may have been taken is tried less and less often",
    only: "fell silent",
    file: "db/rules/outbox.sql",
    before: "attempts = m.attempts + in_order.is_doubtful::integer,",
    after: "attempts = m.attempts,",
  },
  {
    ...OUTBOX,
    rule: "a mail that may have been taken is given up",
    only: "fell silent",
    file: "db/rules/outbox.sql",
    before:
      "failed_at = case when in_order.is_doubtful and app_private.is_last_attempt(m.attempts) then now() end,",
    after: "failed_at = null,",
  },
  {
    ...OUTBOX,
    rule: "only the mail at which the server fell silent is tried seldom",
    only: "fell silent",
    file: "db/rules/outbox.sql",
    before: "m.mail_id = put_off_mails.mail_id and silent_at is not null as is_doubtful",
    after: "silent_at is not null as is_doubtful",
  },
  {
    ...OUTBOX,
    rule: "a worker that is stopped sends no further mail",
    before: "result.delayedSeconds === undefined && !options.stopping?.aborted;",
    after: "result.delayedSeconds === undefined;",
    only: "that is stopped",
  },
  {
    ...OUTBOX,
    rule: "what a stopped worker leaves is sent by another at once",
    before: "if (options.stopping?.aborted) await client.query(",
    after: "if (options.mailer === undefined) await client.query(",
    only: "that is stopped",
  },
  {
    rule: "the job that sends mails ends when its worker is stopped",
    file: "worker/tasks/mail.ts",
    before: "await sendMails({ ...options, stopping });",
    after: "await sendMails(options);",
    tests: ["worker-tasks"],
    only: "that has been stopped",
  },
  {
    rule: "and so does its second look",
    file: "worker/tasks/mail.ts",
    before: "sendMails({ ...options, stopping, isForReached: true })",
    after: "sendMails({ ...options, isForReached: true })",
    tests: ["worker-tasks"],
    only: "that has been stopped",
  },
  {
    rule: "nobody finds an address by trying what logs call a person",
    file: "db/rules/sessions.sql",
    before: "(select s.value #>> '{}' from app_private.settings as s where s.name = 'person_digest_key')",
    after: "'mail'",
    tests: ["sessions"],
    only: "no digest of their address",
  },
];
