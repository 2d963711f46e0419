// Sends the mails that are waiting in app_private.mails. Which mails are written is decided in db/rules/mail.sql, which one
// is next and what follows from a failure in db/rules/outbox.sql.
//
// A mail is sent once however often this runs: its row is locked while it is handed over, and marked
// in the same transaction. The one exception is a process that dies after the server has accepted
// the mail but before the mark is committed: the mail goes out again, with the same Message-ID, by
// which receivers recognise it.
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Logger } from "pino";
import { MIGRATION_LOCK } from "../db/migrate.ts";
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

  note(domain: string, isReached: boolean): void {
    if (isReached) this.#domains.set(domain, true);
    else this.#domains.delete(domain);
  }

  async #begin(pool: pg.Pool): Promise<void> {
    const { rows } = await pool.query<{ domain: string }>(
      `select distinct app_private.mail_domain(recipient) as domain from app_private.mails
       where sent_at > now() - interval '30 days' limit ${REMEMBERED_DOMAINS}`,
    );
    for (const { domain } of rows) this.note(domain, true);
  }
}

/** How a run ended, how many mails it left to another worker, and how many have been waiting for a migration for some seconds. */
export type MailResult = {
  sent: number;
  kept: number;
  refused: number;
  left: number;
  heldUp: number;
  delayedSeconds: number | undefined;
};

/**
 * Sends every mail that is due. A server that is down is not an error: the mails are postponed, for longer
 * the longer it lasts (a second to a minute), and a job is added that sends them later.
 */
export async function sendMails(options: MailOptions): Promise<MailResult> {
  const result: MailResult = { sent: 0, kept: 0, refused: 0, left: 0, heldUp: 0, delayedSeconds: undefined };
  // Before a connection is taken, which may be the pool's last.
  await options.reached?.list(options.pool);
  const client = await options.pool.connect();
  let broken = false;
  try {
    if (!options.mailer && !options.showKept) {
      // Where mails get through is nothing to who sends none.
      const left = options.isForReached ? 0 : await leave(client);
      if (left !== null) return { ...result, left };
    }
    const mayGoOn = () => result.delayedSeconds === undefined && !options.stopping?.aborted;
    while (mayGoOn() && !(await isMigrating(client, result)) && (await sendNext(client, options, result)));
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
 * Whether a migration is at work. It waits for a moment without a mail that is just being handed over, which is an open transaction,
 * and with a slow server and two workers there may be none. The rest is sent by the next run, within a minute.
 */
async function isMigrating(client: pg.PoolClient, result: MailResult): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>("select app_private.is_held($1) as held", [
    MIGRATION_LOCK,
  ]);
  const { held } = rows[0]!;
  if (held) result.heldUp = await overdue(client);
  return held;
}

async function overdue(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ mails: number }>("select app_private.overdue_mails() as mails");
  return rows[0]!.mails;
}

/** How many mails that are due are left to another worker, which has a mail server; null if none has. */
async function leave(client: pg.PoolClient): Promise<number | null> {
  const { rows } = await client.query<{ mails: number | null }>(
    "select app_private.leave_mails($1) as mails",
    [MAIL_KINDS],
  );
  return rows[0]!.mails;
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
  domain: string;
  is_stale: boolean;
};

/** Deals with one mail, in one transaction; false when none is due. */
async function sendNext(client: pg.PoolClient, options: MailOptions, result: MailResult): Promise<boolean> {
  await client.query("begin");
  const { rows } = await client.query<MailRow>(
    `select m.*, app_private.mail_domain(m.recipient) as domain, app_private.is_stale(m) as is_stale
     from app_private.next_mail($1, $2) as m`,
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
    options.reached?.note(row.domain, true);
    result.sent++;
  } catch (error) {
    if (error instanceof MailRefused) {
      options.reached?.note(row.domain, true);
      await client.query("select app_private.note_mail_refused($1, $2, $3)", [
        row.mail_id,
        error.message,
        error.forGood,
      ]);
      logger.warn({ ...about, forGood: error.forGood, err: error.cause }, "the mail server refused a mail");
      result.refused++;
    } else if (error instanceof MailServerUnavailable) {
      if (error instanceof MailServerSilent) options.reached?.note(row.domain, false);
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

/** @returns for how many seconds the mails that are due wait, with this one or because of it */
async function putOff(client: pg.PoolClient, row: MailRow, reason: Error): Promise<number> {
  const silentAt = reason instanceof MailServerSilent ? row.domain : null;
  const { rows } = await client.query<{ seconds: number }>(
    "select app_private.put_off_mails($1, $2, $3) as seconds",
    [row.mail_id, reason.message, silentAt],
  );
  return rows[0]!.seconds;
}
