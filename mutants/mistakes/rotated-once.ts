// What is left of a thing for who comes second: a key that was rotated, a mail that another worker would send.
import type { Mistake } from "../mistake.ts";

const KEYS = { file: "admin/keys.ts", tests: ["cli"], only: "are rotated" };
const LEFT = { file: "worker/outbox.ts", tests: ["outbox"], only: "without a mail server" };
const NOTED = { file: "db/rules/mail.sql", tests: ["outbox"], only: "without a mail server" };

export const ROTATED_ONCE: readonly Mistake[] = [
  {
    ...KEYS,
    rule: "a key is rotated once",
    before: "\n             and k.replaced_by is null",
    after: "",
  },
  {
    ...KEYS,
    rule: "who rotates a key again is told which key has replaced it",
    before: "(await rotatedBefore(client, keyId)) ?? noKey",
    after: "noKey",
  },
  {
    ...KEYS,
    rule: "who rotates a key again is told whether the key that replaced it works",
    before: 'next.state === "live"',
    after: 'next.state !== "revoked"',
  },
  {
    ...KEYS,
    rule: "a key that was rotated and revoked is called one that is not live",
    before: "where k.key_id::text = lower($1) and app_private.key_state(k) = 'live'`,",
    after: "where k.key_id::text = lower($1)`,",
  },
  {
    ...KEYS,
    rule: "a key that was rotated before is found whatever the case of its id",
    before: "where k.key_id::text = lower($1) and app_private.key_state(k) = 'live'`,",
    after: "where k.key_id::text = $1 and app_private.key_state(k) = 'live'`,",
  },
  {
    ...KEYS,
    rule: "a rotated key shows which key has replaced it",
    before: '${key.replacedBy ?? "none"}',
    after: "none",
    tests: ["operator-tables"],
    only: "a key",
  },
  {
    ...LEFT,
    rule: "who has no mail server leaves mails to whoever has one",
    file: "worker/outbox.ts",
    before:
      "if (!options.mailer && !options.showKept && (await areLeftToOthers(client, options.logger)))\n      return result;",
    after: "",
  },
  {
    ...LEFT,
    rule: "a link for which somebody waits before the log is shown there at once",
    before: "!options.mailer && !options.showKept && (",
    after: "!options.mailer && (",
  },
  {
    ...LEFT,
    rule: "mails that wait for nobody are left to nobody",
    file: "db/rules/outbox.sql",
    before: "left_to_others = 0 or ",
    after: "",
  },
  {
    ...LEFT,
    rule: "only mails that are due are left to others",
    file: "db/rules/outbox.sql",
    before: "into left_to_others from app_private.mails as m where app_private.is_due_mail(m)",
    after: "into left_to_others from app_private.mails as m where app_private.is_waiting_mail(m)",
  },
  {
    ...LEFT,
    rule: "mails that are left to others come to somebody again",
    file: "db/rules/outbox.sql",
    before:
      "  perform graphile_worker.add_job('send_mails', job_key => 'send_left_mails',\n    run_at => now() + make_interval(secs => 1 + 4 * random()));\n",
    after: "",
  },
  {
    ...LEFT,
    rule: "mails that are left to others are looked at once more, and not ever more often",
    file: "db/rules/outbox.sql",
    before: " job_key => 'send_left_mails',",
    after: "",
  },
  {
    ...LEFT,
    rule: "an operator is warned of a worker that has no mail server",
    file: "worker/outbox.ts",
    before: "logger.warn({ mails }, ",
    after: "logger.info({ mails }, ",
  },
  {
    ...NOTED,
    rule: "a note of a mail server is found",
    file: "db/rules/outbox.sql",
    before: "l.classid::bigint << 32 | l.objid::bigint = hash",
    after: "l.objid::bigint = hash",
  },
  {
    ...NOTED,
    rule: "a worker that sent a mail within an hour has a mail server",
    file: "db/rules/outbox.sql",
    before: "  or exists (select from app_private.mails as m where m.sent_at > now() - interval '1 hour');",
    after: "  ;",
  },
  {
    ...NOTED,
    rule: "a worker that has sent no mail for an hour has no mail server, unless it says so",
    file: "db/rules/outbox.sql",
    before: "where m.sent_at > now() - interval '1 hour'",
    after: "where m.sent_at > now() - interval '1 day'",
  },
  {
    ...NOTED,
    rule: "a note of a mail server lasts as long as its worker's connection",
    file: "db/rules/outbox.sql",
    before: "return pg_advisory_lock_shared(hashtextextended('app_private.mails', 0));",
    after: "return pg_advisory_xact_lock_shared(hashtextextended('app_private.mails', 0));",
  },
  {
    rule: "a worker that has a mail server tells the others",
    file: "worker/main.ts",
    before: "if (config.smtpUrl !== undefined)",
    after: "if (config.smtpUrl === undefined)",
    tests: ["worker-main"],
    only: "mail server",
  },
  {
    rule: "a worker that has no mail server tells nobody of one",
    file: "worker/main.ts",
    before: "if (config.smtpUrl !== undefined)",
    after: "if (config.host !== undefined)",
    tests: ["worker-main"],
    only: "has none",
  },
];
