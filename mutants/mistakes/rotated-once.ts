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
    before:
      "if (!options.mailer && !options.showKept && (await leftToOthers(client, options.logger))) return result;",
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
    before: "from due where mails > 0 and app_private",
    after: "from due where app_private",
  },
  {
    ...LEFT,
    rule: "only mails that are due are left to others",
    before: "failed_at is null and next_attempt_at <= now()\n     )\n     select",
    after: "failed_at is null\n     )\n     select",
  },
  {
    ...LEFT,
    rule: "mails that are left to others come to somebody again",
    before:
      "mails, graphile_worker.add_job('send_mails', job_key => 'send_left_mails',\n       run_at => now() + make_interval(secs => 1 + 4 * random()))\n",
    after: "mails\n",
  },
  {
    ...LEFT,
    rule: "mails that are left to others are looked at once more, and not ever more often",
    before: "job_key => 'send_left_mails',\n       ",
    after: "",
  },
  {
    ...LEFT,
    rule: "an operator is warned of a worker that has no mail server",
    before: "logger.warn(left, ",
    after: "logger.info(left, ",
  },
  {
    ...NOTED,
    rule: "a note of a mail server is found",
    before: "l.classid::bigint << 32 | l.objid::bigint = hash",
    after: "l.objid::bigint = hash",
  },
  {
    ...NOTED,
    rule: "a worker that sent a mail within an hour has a mail server",
    before: "  or exists (select from app_private.mails as m where m.sent_at > now() - interval '1 hour');",
    after: "  ;",
  },
  {
    ...NOTED,
    rule: "a worker that has sent no mail for an hour has no mail server, unless it says so",
    before: "where m.sent_at > now() - interval '1 hour'",
    after: "where m.sent_at > now() - interval '1 day'",
  },
  {
    ...NOTED,
    rule: "a note of a mail server lasts as long as its worker's connection",
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
