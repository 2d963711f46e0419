// The mail server, as the rest of the worker sees it: it accepts a mail, refuses it, or is not there.
import { createTransport } from "nodemailer";

/** An outgoing mail. */
type OutgoingMail = {
  /**
   * Identifies the mail for good: it becomes the Message-ID, by which receivers
   * recognise a mail that comes twice.
   */
  id: string;
  to: string;
  toName: string | null;
  subject: string;
  text: string;
  html: string;
};

/** Hands mails to a mail server. */
export type Mailer = {
  /**
   * @throws MailRefused when the server does not accept this mail
   * @throws MailServerUnavailable when it does not accept any, or cannot be reached
   * @throws MailServerSilent when it has answered, and then stops answering, or goes away with the whole mail
   */
  send: (mail: OutgoingMail) => Promise<void>;
};

/** The server answered, and refused this mail. */
export class MailRefused extends Error {
  override name = "MailRefused";
  /** Whether it is useless to try again. */
  readonly forGood: boolean;

  constructor(message: string, forGood: boolean, options?: ErrorOptions) {
    super(message, options);
    this.forGood = forGood;
  }
}

/** The server cannot be reached, is busy, or does not let us in, through no fault of the mail. */
export class MailServerUnavailable extends Error {
  override name = "MailServerUnavailable";
}

/**
 * The server answered at first and then fell silent, perhaps because it waits for the recipient's server; or it went away, or
 * said nothing that makes sense, once it had the whole mail, which it may have taken.
 */
export class MailServerSilent extends MailServerUnavailable {
  override name = "MailServerSilent";
}

/** The time limits for sending one mail, however much the server says meanwhile, and for any one answer. */
const PATIENCE = { mailMs: 60_000, silenceMs: 30_000 };
/** The most that is kept of a server's answer, in characters. */
const LONGEST_REASON = 1_000;

/**
 * A mailer for an SMTP server.
 * @param smtpUrl smtp://user:password@host:port or smtps://…
 * @param from the sender, as in "Name <address@example.org>"
 */
export function createMailer(smtpUrl: string, from: string, { mailMs, silenceMs } = PATIENCE): Mailer {
  const domain = from.slice(from.lastIndexOf("@") + 1).replace(">", "");
  return {
    send: async ({ id, to, toName, subject, text, html }) => {
      let isHandedOver = false;
      const transport = transportTo(smtpUrl, silenceMs, () => (isHandedOver = true));
      try {
        await transport.sendMail({
          from,
          to: toName ? { name: toName, address: to } : { name: "", address: to },
          subject,
          text,
          html,
          messageId: `<${id}@${domain}>`,
          // Keeps out-of-office replies from being sent to a program.
          headers: { "Auto-Submitted": "auto-generated" },
          signal: AbortSignal.timeout(mailMs),
        });
      } catch (error) {
        throw classify(error, isHandedOver);
      }
    },
  };
}

/** @param handedOver called when the whole text of a mail is on its way, which no error of nodemailer says */
function transportTo(url: string, silenceMs: number, handedOver: () => void) {
  return createTransport({
    url,
    // Until the server's greeting.
    connectionTimeout: 10_000,
    socketTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: { info: (entry: { tnx?: string }) => entry.tnx === "message" && handedOver() },
  });
}

type SmtpError = Error & {
  code?: string;
  command?: string;
  responseCode?: number;
  response?: string;
  timeoutType?: string;
};

// 421: the service as a whole is closing down; 530: the sender must log in first.
const ABOUT_NO_MAIL = new Set<number | undefined>([421, 530]);

function classify(error: unknown, isHandedOver: boolean): Error {
  if (!(error instanceof Error)) return new MailServerUnavailable(String(error));
  const { name, code, command, responseCode, response, message, timeoutType } = error as SmtpError;
  // PostgreSQL cannot store a NUL.
  const reason = (response ?? message).replaceAll("\0", "").slice(0, LONGEST_REASON);
  // A sender who is refused is refused for every mail.
  const aboutThisMail = code === "EMESSAGE" || (code === "EENVELOPE" && command !== "MAIL FROM");
  // An answer has a code, and a line end: what is cut off comes as the error of the connection.
  const isAnswer = aboutThisMail && (response === undefined || responseCode !== undefined);
  if (isAnswer && !ABOUT_NO_MAIL.has(responseCode)) {
    return new MailRefused(reason, responseCode === undefined || responseCode >= 500, { cause: error });
  }
  // Before the greeting other limits apply, which are reached sooner.
  const isSilent = timeoutType === "SOCKET_TIMEOUT" || name === "AbortError" || (isHandedOver && !isAnswer);
  return new (isSilent ? MailServerSilent : MailServerUnavailable)(reason, { cause: error });
}
