// The mail server, as the rest of the worker sees it: it accepts a mail, refuses it, or is not there.
import { createTransport } from "nodemailer";

/** An outgoing mail. */
type OutgoingMail = {
  /** Identifies the mail for good: it becomes the Message-ID, by which receivers recognise a mail that comes twice. */
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

/** For one mail, however much the server says meanwhile. */
const PATIENCE_MS = 60_000;
/** Of what a server said, in characters. */
const LONGEST_REASON = 1_000;

/**
 * A mailer for an SMTP server.
 * @param smtpUrl smtp://user:password@host:port or smtps://…
 * @param from the sender, as in "Name <address@example.org>"
 */
export function createMailer(smtpUrl: string, from: string, patienceMs = PATIENCE_MS): Mailer {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = /@([^\s<>@]+)>?\s*$/.exec(from)?.[1] ?? "localhost";
  return {
    send: async ({ id, to, toName, subject, text, html }) => {
      try {
        await transport.sendMail({
          from,
          to: toName ? { name: toName, address: to } : { name: "", address: to },
          subject,
          text,
          html,
          messageId: `<${id}@${domain}>`,
          // Nobody's out-of-office note should answer a program.
          headers: { "Auto-Submitted": "auto-generated" },
          signal: AbortSignal.timeout(patienceMs),
        });
      } catch (error) {
        throw classify(error);
      }
    },
  };
}

type SmtpError = Error & { code?: string; responseCode?: number; response?: string };

function classify(error: unknown): Error {
  if (!(error instanceof Error)) return new MailServerUnavailable(String(error));
  const { code, responseCode, response, message } = error as SmtpError;
  // PostgreSQL cannot store a NUL.
  const reason = (response ?? message).replaceAll("\0", "").slice(0, LONGEST_REASON);
  const aboutThisMail = code === "EENVELOPE" || code === "EMESSAGE";
  // 421: the service as a whole is closing down.
  if (aboutThisMail && responseCode !== 421) {
    return new MailRefused(reason, responseCode === undefined || responseCode >= 500, { cause: error });
  }
  return new MailServerUnavailable(reason, { cause: error });
}
