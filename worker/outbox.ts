// Sends the mails that are waiting in app_private.mails. Which mails are written is
// decided in db/rules/mail.sql.
//
// A mail is sent once however often this runs: its row is locked while it is handed over, and marked
// in the same transaction. The one exception is a process that dies after the server has accepted
// the mail but before the mark is committed: the mail goes out again, with the same Message-ID, by
// which receivers recognise it.
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Logger } from "pino";
import { composeMail, MAIL_KINDS } from "./mail-texts.ts";
import type { MailData, MailKind } from "./mail-texts.ts";
import { MailRefused, MailServerSilent, MailServerUnavailable } from "./mailer.ts";
import type { Mailer } from "./mailer.ts";

/** What sending needs. */
export type MailOptions = {
  /** Connects as the role that owns the schema. */
  pool: pg.Pool;
  /** Undefined: mails are kept in the database, unless another worker of the service has one. */
  mailer: Mailer | undefined;
  /**
   * Whether a mail that is kept is also written to the log, whatever its level: somebody who asks for a link
   * to sign in waits for it. Addresses and texts must not be in a production log.
   */
  showKept?: boolean;
  /** The URL of the dashboard, without a trailing slash. */
  platformUrl: string;
  logger: Logger;
  /** The domains where mails get through. */
  reached?: Reached;
  /** Sends only to these domains. */
  isForReached?: boolean;
  /** Ends the run after the mail that is being sent. */
  stopping?: AbortSignal;
};

const REMEMBERED_DOMAINS = 10_000;

/**
 * The domains for which the mail server has accepted or refused a mail, and has not fallen silent
 * since. Anyone may have links sent to any number of domains that never answer, and each such mail
 * blocks the sending for half a minute.
 */
export class Reached {
  readonly #domains = new LRUCache<string, true>({ max: REMEMBERED_DOMAINS });
  #begun: Promise<void> | undefined;

  /** The domains of now; the first call also reads those of recent mails. */
  async list(pool: pg.Pool): Promise<string[]> {
    this.#begun ??= this.#begin(pool).catch((error: unknown) => {
      this.#begun = undefined;
      throw error;
    });
    await this.#begun;
    return [...this.#domains.keys()];
  }

  note(recipient: string, isReached: boolean): void {
    if (isReached) this.#domains.set(domainOf(recipient), true);
    else this.#domains.delete(domainOf(recipient));
  }

  async #begin(pool: pg.Pool): Promise<void> {
    const { rows } = await pool.query<{ recipient: string }>(
      `select max(recipient) as recipient from app_private.mails where sent_at > now() - interval '30 days'
       group by substring(lower(recipient) from '@[^@]*$') limit ${REMEMBERED_DOMAINS}`,
    );
    for (const { recipient } of rows) this.note(recipient, true);
  }
}

/** How a run ended. */
export type MailResult = { sent: number; kept: number; refused: number; delayedSeconds: number | undefined };

// SQL for a mail that was tried once more: it is retried after minutes, then hours, for three days.
// The time since it was written does not count: the server may have been away since then, and have
// refused it for the first time.
const GIVEN_UP = "attempts >= 25";
const NEXT_TRY_IN = "least(interval '1 minute' * 2 ^ attempts, interval '4 hours')";

/**
 * Sends every mail that is due. A server that is down is not an error: the mails are postponed, for longer
 * the longer it lasts (a second to a minute), and a job is added that sends them later.
 */
export async function sendMails(options: MailOptions): Promise<MailResult> {
  const result: MailResult = { sent: 0, kept: 0, refused: 0, delayedSeconds: undefined };
  // Before a connection is taken, which may be the pool's last.
  await options.reached?.list(options.pool);
  const client = await options.pool.connect();
  let broken = false;
  try {
    if (!options.mailer && !options.showKept && (await leftToOthers(client, options.logger))) return result;
    const mayGoOn = () => result.delayedSeconds === undefined && !options.stopping?.aborted;
    while (mayGoOn() && (await sendNext(client, options, result)));
    // Another worker may send the rest.
    if (options.stopping?.aborted) await client.query("select graphile_worker.add_job('send_mails')");
    return result;
  } catch (error) {
    broken = true;
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * Whether all mails that are due are left to another worker, which has a mail server: a kept mail is never sent. The job is
 * added once more, after a time that differs, so that it does not come to the same worker each time.
 */
async function leftToOthers(client: pg.PoolClient, logger: Logger): Promise<boolean> {
  const { rows } = await client.query<{ mails: number }>(
    `with due as (
       select count(*)::integer as mails from app_private.mails
       where sent_at is null and kept_at is null and failed_at is null and next_attempt_at <= now()
     )
     select mails, graphile_worker.add_job('send_mails', job_key => 'send_left_mails',
       run_at => now() + make_interval(secs => 1 + 4 * random()))
     from due where mails > 0 and app_private.has_mail_server()`,
  );
  const [left] = rows;
  if (left)
    logger.warn(left, "mails left to another worker, which has a mail server: SMTP_URL is not set here");
  return left !== undefined;
}

type MailRow = {
  mail_id: string;
  kind: MailKind;
  recipient: string;
  recipient_name: string | null;
  data: MailData;
  subject: string | null;
  text_body: string | null;
  html_body: string | null;
  is_stale: boolean;
};

/** Deals with one mail, in one transaction; false when none is due. */
async function sendNext(client: pg.PoolClient, options: MailOptions, result: MailResult): Promise<boolean> {
  await client.query("begin");
  const { rows } = await client.query<MailRow>(
    `select mail_id, kind, recipient, recipient_name, data, subject, text_body, html_body, app_private.is_stale(m) as is_stale
     from app_private.mails as m
     where sent_at is null and kept_at is null and failed_at is null and next_attempt_at <= now()
       -- Of a kind that came with a later version, its own worker knows what to write.
       and kind = any ($1)
       and ($2::text[] is null or substring(lower(recipient) from '@[^@]*$') = any ($2))
     -- First those that have not been in the way of a server that was away: it may have been for one of the others alone. Of
     -- these first the links that somebody waits for before a screen: of the rest one key can bring about ten thousand.
     order by delayed_since is not null, delayed_since is null and kind <> 'sign_in', next_attempt_at, created_at limit 1
     for update skip locked`,
    [MAIL_KINDS, options.isForReached ? await options.reached?.list(options.pool) : null],
  );
  const [row] = rows;
  if (row) await deliver(client, row, options, result);
  await client.query("commit");
  return row !== undefined;
}

async function deliver(
  client: pg.PoolClient,
  row: MailRow,
  options: MailOptions,
  result: MailResult,
): Promise<void> {
  const { mailer, logger } = options;
  const about = { mailId: row.mail_id, kind: row.kind };
  if (row.is_stale) {
    await client.query("delete from app_private.mails where mail_id = $1", [row.mail_id]);
    logger.info(about, "mail not sent: the claim has been decided, or somebody else decides it now");
    return;
  }
  const mail = await composed(client, row, options.platformUrl);
  if (!mailer) {
    const said = "mail kept: SMTP_URL is not set";
    if (options.showKept) {
      const shown = { to: mail.to, subject: mail.subject, text: mail.text };
      logger.child({}, { level: "info" }).info({ ...about, ...shown }, said);
    } else logger.info(about, said);
    await client.query("update app_private.mails set kept_at = now() where mail_id = $1", [row.mail_id]);
    result.kept++;
    return;
  }
  try {
    await mailer.send(mail);
    await client.query(
      "update app_private.mails set sent_at = now(), delayed_since = null, last_error = null where mail_id = $1",
      [row.mail_id],
    );
    logger.info(about, "mail sent");
    options.reached?.note(row.recipient, true);
    result.sent++;
  } catch (error) {
    if (error instanceof MailRefused) {
      options.reached?.note(row.recipient, true);
      await noteRefusal(client, row, error);
      logger.warn({ ...about, forGood: error.forGood, err: error.cause }, "the mail server refused a mail");
      result.refused++;
    } else if (error instanceof MailServerUnavailable) {
      if (error instanceof MailServerSilent) options.reached?.note(row.recipient, false);
      result.delayedSeconds = await putOff(client, row, error);
      logger.warn({ seconds: result.delayedSeconds, err: error.cause }, "mail postponed: no mail server");
    } else {
      throw error;
    }
  }
}

/** The mail as it was first composed, so that every attempt sends the same. */
async function composed(client: pg.PoolClient, row: MailRow, platformUrl: string) {
  const address = { id: row.mail_id, to: row.recipient, toName: row.recipient_name };
  if (row.subject !== null && row.text_body !== null && row.html_body !== null) {
    return { ...address, subject: row.subject, text: row.text_body, html: row.html_body };
  }
  const mail = composeMail(row.kind, row.data, row.recipient_name, platformUrl);
  await client.query(
    "update app_private.mails set subject = $2, text_body = $3, html_body = $4 where mail_id = $1",
    [row.mail_id, mail.subject, mail.text, mail.html],
  );
  return { ...address, ...mail };
}

/** A mail that the server may still accept later is tried again. */
async function noteRefusal(client: pg.PoolClient, row: MailRow, refusal: MailRefused): Promise<void> {
  await client.query(
    `update app_private.mails set
       attempts = attempts + 1, last_error = $2,
       failed_at = case when $3 or ${GIVEN_UP} then now() end,
       next_attempt_at = now() + ${NEXT_TRY_IN}
     where mail_id = $1`,
    [row.mail_id, refusal.message, refusal.forGood],
  );
}

/** The domain of an address, with the @ before it. */
function domainOf(recipient: string): string {
  return recipient.slice(recipient.lastIndexOf("@")).toLowerCase();
}

/**
 * Postpones all mails that are due, the failed one behind the others: the server may fall silent at that one
 * alone. The others keep their order, or several such mails would keep taking turns ahead of them forever.
 *
 * If the server answered at first and then fell silent, only mails to the same domain are postponed, since
 * it may wait for the server there; another job sends the others. The server may also have accepted the
 * mail without saying so in time, so this mail is tried as seldom as a refused one: otherwise its
 * recipient would get it every minute.
 */
async function putOff(client: pg.PoolClient, row: MailRow, reason: Error): Promise<number> {
  const to = reason instanceof MailServerSilent ? domainOf(row.recipient) : "";
  if (to !== "") await client.query("select graphile_worker.add_job('send_mails')");
  const { rows } = await client.query<{ seconds: number }>(
    `with due as (
       select mail_id, mail_id = $2 and $3 <> '' as is_doubtful, delayed_since, next_attempt_at, created_at from app_private.mails
       where sent_at is null and kept_at is null and failed_at is null and next_attempt_at <= now()
         and right(lower(recipient), length($3::text)) = $3
       for update skip locked
     ),
     delay as (
       select least(60, greatest(1, extract(epoch from now() - min(delayed_since)) / 2))::float8 as seconds,
         count(*) as mails,
         -- The transaction may have begun a minute ago.
         clock_timestamp() as failed_at
       from due
     ),
     in_order as (
       select mail_id, is_doubtful,
         row_number() over (order by mail_id = $2, delayed_since is not null, next_attempt_at, created_at) as place
       from due
     ),
     put_off as (
       update app_private.mails as m set
         delayed_since = coalesce(m.delayed_since, now()), last_error = $1,
         attempts = m.attempts + in_order.is_doubtful::integer,
         failed_at = case when in_order.is_doubtful and m.${GIVEN_UP} then now() end,
         next_attempt_at = delay.failed_at + case when in_order.is_doubtful then ${NEXT_TRY_IN}
           else make_interval(secs => delay.seconds) + in_order.place * interval '1 microsecond' end
       from in_order, delay where m.mail_id = in_order.mail_id
     )
     select seconds, graphile_worker.add_job('send_mails',
       run_at => failed_at + make_interval(secs => seconds) + mails * interval '1 microsecond')
     from delay`,
    [reason.message, row.mail_id, to],
  );
  return rows[0]!.seconds;
}
