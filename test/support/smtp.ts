import { once } from "node:events";
import type { Readable } from "node:stream";
import { SMTPServer } from "smtp-server";
import type { SMTPServerSession } from "smtp-server";
import { freePort } from "./process.ts";

/** A mail as the server received it. */
export type ReceivedMail = {
  from: string;
  to: string[];
  headers: Map<string, string>;
  raw: string;
  body: string;
};

// More than any test has mails: whoever sends one without end is to come to one.
const MOST = 100;

/** A real SMTP server that keeps what it is sent, and can go down and come back on its port. */
export class TestMailServer {
  readonly received: ReceivedMail[] = [];
  /** Answers a recipient or a whole message with an SMTP error; undefined accepts. */
  refuse: (stage: "rcpt" | "data", address: string) => { code: number; text: string } | undefined = () =>
    undefined;
  #server: SMTPServer | undefined;
  #port = 0;

  get url(): string {
    return `smtp://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      allowInsecureAuth: true,
      disableReverseLookup: true,
      logger: false,
      // Nobody has an account here; anybody who does not try to log in may send.
      onAuth: (_auth, _session, done) => done(new Error("Wrong user or password")),
      onRcptTo: (address, _session, done) => done(this.#refusal("rcpt", address.address)),
      onData: (stream, session, done) => void this.#take(stream, session.envelope, done),
    });
    // Clients that hang up are the tests' own.
    server.on("error", () => undefined);
    // Drawn once, from where the system gives nobody a port: it is to be free when the server comes back.
    this.#port ||= await freePort();
    server.listen(this.#port, "127.0.0.1");
    await once(server.server, "listening");
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server) await new Promise<void>((done) => server.close(done));
  }

  async #take(
    stream: Readable,
    { mailFrom, rcptTo }: SMTPServerSession["envelope"],
    done: (error?: Error) => void,
  ): Promise<void> {
    const raw = await text(stream);
    const to = rcptTo.map((recipient) => recipient.address);
    const error = this.#refusal("data", to[0] ?? "");
    if (!error) this.received.push({ from: mailFrom ? mailFrom.address : "", to, raw, ...parsed(raw) });
    done(error);
  }

  #refusal(stage: "rcpt" | "data", address: string): Error | undefined {
    const refusal =
      this.received.length < MOST ? this.refuse(stage, address) : { code: 421, text: "That is too many" };
    return refusal && Object.assign(new Error(refusal.text), { responseCode: refusal.code });
  }
}

async function text(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(raw: string): { headers: Map<string, string>; body: string } {
  const end = raw.indexOf("\r\n\r\n");
  const lines = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  return { headers, body: raw.slice(end + 4) };
}
