// What a mail server's answers mean: is it this mail, for good or for now, or is it the server?
import { once } from "node:events";
import { createServer, Socket } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { afterEach, expect, jest, test } from "@jest/globals";
import { createMailer } from "../worker/mailer.ts";

const FROM = "River Register <register@service.example>";
const MAIL = { id: "one", to: "ana@river.example", toName: null, subject: "s", text: "as text", html: "<p>" };

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  jest.restoreAllMocks();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** In place of an answer: the server hangs up, at once or in the middle of it. */
const GONE = "";
const CUT = ["250 Goo", "451 Lat", "554 Sp"];
const NONSENSE = "Good";

/** A server that answers a command, or the end of a mail ("."), with a line of its own, and takes all else. */
async function answering(answers: Record<string, string> = {}) {
  const said: string[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let isText = false;
    let rest = "";
    const reply = (command: string, otherwise = "250 Good") => {
      const answer = answers[command] ?? otherwise;
      if (answer === GONE) socket.destroy();
      else if (CUT.includes(answer)) socket.end(answer);
      else socket.write(`${answer}\r\n`);
    };
    socket
      .on("error", () => undefined)
      .on("data", (data) => {
        const lines = (rest + String(data)).split("\r\n");
        rest = lines.pop()!;
        for (const line of lines) {
          said.push(line);
          if (isText && line !== ".") continue;
          const [command] = line.split(/[ :]/) as [string];
          const begins = command === "DATA" && answers["DATA"] === undefined;
          reply(command, begins ? "354 Go on" : undefined);
          isText = begins;
        }
      });
    socket.write("220 mail.example\r\n");
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, said };
}

test.each([
  ["RCPT", "550 No such user", { name: "MailRefused", forGood: true }],
  ["RCPT", "500 No", { name: "MailRefused", forGood: true }],
  ["RCPT", "450 Greylisted", { name: "MailRefused", forGood: false }],
  ["RCPT", "421 Closing down", { name: "MailServerUnavailable" }],
  ["RCPT", "530 Log in first", { name: "MailServerUnavailable" }],
  ["DATA", "554 No", { name: "MailRefused", forGood: true }],
  [".", "554 Spam", { name: "MailRefused", forGood: true }],
  [".", "451 Later", { name: "MailRefused", forGood: false }],
  [".", "421 Closing down", { name: "MailServerUnavailable" }],
  // Nothing that we send would be taken, and what is given up now would be lost.
  ["MAIL", "530 Log in first", { name: "MailServerUnavailable" }],
  ["MAIL", "550 You may not send as that", { name: "MailServerUnavailable" }],
  ["MAIL", "452 Full", { name: "MailServerUnavailable" }],
  ["EHLO", "554 Go away", { name: "MailServerUnavailable" }],
])("%s answered with %s", async (command, answer, expected) => {
  // Whoever may not say EHLO says HELO.
  const { url } = await answering({ [command]: answer, ...(command === "EHLO" && { HELO: answer }) });
  await expect(createMailer(url, FROM).send(MAIL)).rejects.toMatchObject({
    ...expected,
    message: expect.stringContaining(answer) as unknown,
  });
});

test.each([
  ["DATA", GONE, "MailServerUnavailable"],
  [".", GONE, "MailServerSilent"],
  ...CUT.map((answer) => ["RCPT", answer, "MailServerUnavailable"] as const),
  ...CUT.map((answer) => [".", answer, "MailServerSilent"] as const),
  ["RCPT", NONSENSE, "MailServerUnavailable"],
  [".", NONSENSE, "MailServerSilent"],
])(
  "a server whose answer to %s is no whole one (%p) may have taken the mail only if it had all of it",
  async (command, answer, name) => {
    const { url } = await answering({ [command]: answer });
    await expect(createMailer(url, FROM).send(MAIL)).rejects.toMatchObject({ name });
  },
);

test("a mail says that a program wrote it, which keeps notes of absence from answering, and has its id for good", async () => {
  const { url, said } = await answering();
  await createMailer(url, FROM).send(MAIL);
  expect(said).toEqual(
    expect.arrayContaining(["Auto-Submitted: auto-generated", "Message-ID: <one@service.example>"]),
  );
});

test("an address to which nothing can be sent is refused for good", async () => {
  const { url, said } = await answering();
  const refused = createMailer(url, FROM).send({ ...MAIL, to: "" });
  await expect(refused).rejects.toMatchObject({ name: "MailRefused", forGood: true });
  expect(said.some((line) => line.startsWith("RCPT"))).toBe(false);
});

test.each(["path", "href"])(
  "a mail never holds what is elsewhere, such as where a %s in it leads to",
  async (way) => {
    const { url, said } = await answering();
    const elsewhere = way === "path" ? import.meta.filename : url.replace("smtp", "http");
    const text = { [way]: elsewhere } as unknown as string;
    await expect(createMailer(url, FROM).send({ ...MAIL, text })).rejects.toThrow(/access rejected/i);
    expect(said).not.toContain(".");
  },
);

test("a mail is text and markup, and has a minute; the server has ten seconds to greet, then thirty to say anything", async () => {
  const { url, said } = await answering();
  const limits = jest.spyOn(AbortSignal, "timeout");
  const timers = jest.spyOn(globalThis, "setTimeout");
  const silences = jest.spyOn(Socket.prototype, "setTimeout");
  await createMailer(url, FROM).send(MAIL);
  expect(limits.mock.calls).toEqual([[60_000]]);
  const greeting = Math.max(...timers.mock.calls.map(([, ms = 0]) => ms));
  expect([greeting <= 10_000, greeting > 7_000]).toEqual([true, true]);
  expect(Math.max(...silences.mock.calls.map(([ms]) => ms))).toBe(30_000);
  expect(said).toEqual(expect.arrayContaining([MAIL.text, MAIL.html]));
  expect(said.filter((line) => /^content-type/i.test(line)).map((line) => line.split(";")[0])).toEqual([
    "Content-Type: multipart/alternative",
    "Content-Type: text/plain",
    "Content-Type: text/html",
  ]);
});
