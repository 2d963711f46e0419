// Mail against a real SMTP server: who is told what, once, and what happens while the server is away.
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { escapeLiteral } from "pg";
import { Logger, run } from "graphile-worker";
import type { JobHelpers } from "graphile-worker";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { composeMail } from "../worker/mail-texts.ts";
import type { ClaimMailData } from "../worker/mail-texts.ts";
import { createMailer, MailServerSilent } from "../worker/mailer.ts";
import { sendMails } from "../worker/outbox.ts";
import { taskList } from "../worker/tasks/index.ts";
import { createDrainer } from "../worker/drainer.ts";
import { createProjector } from "../worker/projection.ts";
import { eventually } from "./support/eventually.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { TestMailServer } from "./support/smtp.ts";

const FROM = "River Register <register@service.example>";
const PLATFORM = "https://platform.example";
const logger = pino({ level: "silent" });

let service: TestService;
let door: m.MembershipDoor;
let smtp: TestMailServer;
beforeAll(async () => {
  service = await startTestService({ world: false });
  await m.addPlatformPeople(service.database.owner);
  door = m.membershipDoor("REST", () => service);
});
afterAll(() => service.stop());
beforeEach(async () => {
  await db().query(
    "delete from app_private.mails; delete from app_private.sign_ins; delete from graphile_worker._private_jobs",
  );
  smtp = new TestMailServer();
  await smtp.start();
});
/** What ends the servers that only begin to speak, and whatever is connected to them. */
const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
  return smtp.stop();
});

const db = () => service.database.owner;
const send = (options: { url?: string; platformUrl?: string } = {}) =>
  sendMails({
    pool: db(),
    mailer: createMailer(options.url ?? smtp.url, FROM),
    platformUrl: options.platformUrl ?? PLATFORM,
    logger,
  });
const dueNow = () => db().query("update app_private.mails set next_attempt_at = now()");

/** A server that greets, and then does something of its own. */
async function speaking(act: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    endings.push(() => socket.destroy());
    act(socket.on("error", () => undefined));
    socket.write("220 slow.example\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  endings.push(() => server.close());
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type MailRow = {
  kind: string;
  recipient: string;
  attempts: number;
  last_error: string | null;
  state: string;
};
async function mails(): Promise<MailRow[]> {
  const { rows } = await db().query<MailRow>(
    `select kind, recipient, attempts, last_error,
       case when sent_at is not null then 'sent' when kept_at is not null then 'kept'
         when failed_at is not null then 'failed' else 'waiting' end as state
     from app_private.mails order by created_at, recipient`,
  );
  return rows;
}

/** A claim that is waiting for the head of its organization. */
async function waitingClaim(email = "ana@elsewhere.example") {
  const org = await m.addOrganization(db(), { head: "org_admin", other: "org_admin", reader: "org_member" });
  const { value } = await door.claim(m.claimOf(org, email));
  // The one to the claimant is in confirm-address.test.ts.
  await db().query("delete from app_private.mails where kind = 'confirm_claim'");
  return { org, claimId: value.claimId as string, head: `head@${org.domain}` };
}

test("any number of domains that do not answer hold up those to which mails get through no longer than one look", async () => {
  // As a server does that asks the one at which a mail is to arrive.
  const url = await speaking((socket) => {
    let isText = false;
    createInterface({ input: socket }).on("line", (line) => {
      if (isText && line !== ".") return;
      if (/^rcpt.*tarpit/i.test(line)) return;
      isText = /^data/i.test(line);
      socket.write(isText ? "354 go on\r\n" : "250 well\r\n");
    });
  });
  const tasks = taskList({
    ...{ pool: db(), config: loadConfig({ SMTP_URL: url, MAIL_FROM: FROM }), logger },
    drainer: { wake: () => Promise.resolve(), stop: () => Promise.resolve() },
  });
  const run = () => tasks["send_mails"]!({}, {} as JobHelpers) as Promise<unknown>;
  const write = (name: string, to: string, kind: string, sent = "null") =>
    db().query(
      `insert into app_private.mails (unique_key, kind, recipient, data, subject, text_body, html_body, sent_at)
       values ('${name}', '${kind}', '${name}@${to}', '{}', 'a', 'a', 'a', ${sent})`,
    );
  /** What is still to come, while the server is waited for that fell silent at one of the others. */
  const waiting = async () => {
    const all = await mails();
    const tarpits = all.filter(({ recipient }) => recipient.endsWith(".tarpit.example"));
    expect(tarpits.map(({ state, last_error }) => [state, last_error])).toEqual(
      [1, 2, 3].map(() => ["waiting", null]),
    );
    return all.filter(({ state }) => state === "waiting").map(({ recipient }) => recipient);
  };
  await write("before", "Known.example", "claim_queue", "now()");
  for (const n of [1, 2, 3]) await write(`link-${n}`, `${n}.tarpit.example`, "sign_in");
  await write("now", "known.example", "claim_queue");
  const jobs = [run(), run(), run()];
  await eventually(async () => expect(await waiting()).not.toContain("now@known.example"));
  await write("later", "known.example", "sign_in");
  await run();
  // One of the other jobs may have taken it, and be about to send it.
  await eventually(async () => expect(await waiting()).not.toContain("later@known.example"));
  for (const end of endings.splice(0)) end();
  await Promise.allSettled(jobs);
});

describe("who is told what", () => {
  test("the organization's administrators of a request, and no other's; the claimant of the approval", async () => {
    await m.addOrganization(db(), { head: "org_admin" });
    const { org, claimId, head } = await waitingClaim();
    expect(await send()).toMatchObject({ sent: 2 });
    expect(smtp.received.map(({ to }) => to.join()).toSorted()).toEqual([head, `other@${org.domain}`]);
    const [request] = smtp.received;
    expect(request!.headers.get("subject")).toBe(`Ana Silva asks to join ${org.name}`);
    expect(request!.headers.get("from")).toBe("River Register <register@service.example>");
    expect(request!.from).toBe("register@service.example");
    expect(request!.body).toContain(`${PLATFORM}/admin/claims/${claimId}`);
    expect(request!.body).toContain("ana@elsewhere.example");
    expect(request!.body).toContain("field coordinator");

    await door.review({ claimId, action: "approve", adminEmail: head, role: "org_contributor" });
    expect(await send()).toMatchObject({ sent: 1 });
    const decision = smtp.received.at(-1)!;
    expect(decision.to).toEqual(["ana@elsewhere.example"]);
    expect(decision.headers.get("subject")).toBe(`Welcome: you now belong to ${org.name}`);
    expect(decision.body).toContain("Hello Ana,");
    expect(decision.body).toContain("Your role there is now contributor (org_contributor).");
  });

  test("all that is known of a claim is in what its mails are made from, and whom they greet", async () => {
    const named = "update app_public.users set first_name = $2 where email = $1";
    await db().query(named, [m.support, "Sue"]);
    const { value } = await door.claim({
      ...m.claimOf({ uri: "", name: "Delta Relief", domain: "" }, "ana@delta.example"),
      ...{ isNewOrg: true, orgUri: undefined, orgDomain: "delta.example" },
      ...{ newOrgType: "sending agency", newOrgWebsite: "https://delta.example" },
    });
    const said = {
      ...{ claimId: value.claimId, orgName: "Delta Relief", orgUri: value.orgUri, isNewOrg: true },
      ...{ newOrgType: "sending agency", newOrgWebsite: "https://delta.example", orgDomain: "delta.example" },
      ...{ domainMatch: true, orgDomainStated: true, emailVerified: false },
      ...{
        claimantEmail: "ana@delta.example",
        claimantName: "Ana Silva",
        statedRoles: ["field coordinator"],
      },
    };
    const sent = async (kind: string, recipient: string) =>
      (
        await db().query(
          "select recipient_name as name, data from app_private.mails where kind = $1 and recipient = $2",
          [kind, recipient],
        )
      ).rows;
    expect(await sent("claim_queue", m.support)).toEqual([{ name: "Sue", data: said }]);
    const decision = { role: "org_admin", notes: "Welcome." };
    await door.review({ claimId: value.claimId, action: "approve", adminEmail: m.support, ...decision });
    expect(await sent("claim_approved", "ana@delta.example")).toEqual([
      { name: "Ana", data: { ...said, ...decision, roleTitle: "administrator" } },
    ]);
    const org = await m.addOrganization(db(), { head: "org_admin" });
    await db().query(named, [`head@${org.domain}`, "Hal"]);
    // Whom an operator knows by one name is called by it.
    await db().query(
      "insert into app_public.users (email, first_name) values ('ben@elsewhere.example', 'Ben')",
    );
    await door.claim(m.claimOf(org, "ben@elsewhere.example"));
    expect(await sent("claim_request", `head@${org.domain}`)).toMatchObject([
      { name: "Hal", data: { claimantName: "Ben" } },
    ]);
    // That of an organization that there is, is not only stated, whether theirs or not.
    await door.claim(m.claimOf(org, `colleague@${org.domain}`));
    const { rows: told } = await db().query(
      `select data -> 'domainMatch' as matches, data -> 'orgDomainStated' as is_stated from app_private.mails
       where kind = 'claim_request' and data ->> 'orgUri' = $1 order by created_at`,
      [org.uri],
    );
    expect(told).toEqual([
      { matches: false, is_stated: false },
      { matches: true, is_stated: false },
    ]);
  });

  test("of a claimant whose name nobody knows, by their address", async () => {
    const email = "nameless@elsewhere.example";
    await db().query("insert into app_public.users (email) values ($1)", [email]);
    const { org } = await waitingClaim(email);
    await send();
    const subjects = smtp.received.map(({ headers }) => headers.get("subject"));
    expect(new Set(subjects)).toEqual(new Set([`${email} asks to join ${org.name}`]));
    expect(smtp.received[0]!.body).toContain("not given");
  });

  test("the claimant of the rejection, with the reason", async () => {
    const { claimId, head } = await waitingClaim();
    await door.review({
      claimId,
      action: "reject",
      adminEmail: head,
      notes: "We do not know you.\nWrite to us.",
    });
    await send();
    const decision = smtp.received.find((mail) => mail.to[0] === "ana@elsewhere.example")!;
    expect(decision.body).toContain("> We do not know you.\r\n> Write to us.");
    expect(decision.body).toContain("<blockquote>We do not know you.<br>Write to us.</blockquote>");
  });

  test("the platform's reviewers of what is waiting for them, but nobody of their own claim", async () => {
    const org = await m.addOrganization(db());
    await door.claim(m.claimOf(org, "ana@elsewhere.example"));
    await door.claim(m.claimOf(org, m.support));
    expect((await mails()).map(({ kind, recipient }) => [kind, recipient])).toEqual([
      ["claim_queue", m.platformAdmin],
      ["confirm_claim", "ana@elsewhere.example"],
      ["claim_queue", m.support],
      ["claim_queue", m.platformAdmin],
      ["confirm_claim", m.support],
    ]);
  });

  test.each(["claim_queue", "claim_request"])(
    "reviewers of so many within a day, the last of which says so, and of no more: %s",
    async (kind) => {
      const limit = (mails: number) =>
        db().query(
          "update app_private.settings set value = to_jsonb($1::integer) where name = 'claim_mails_per_person_per_day'",
          [mails],
        );
      const org = await m.addOrganization(db(), kind === "claim_request" ? { head: "org_admin" } : {});
      const recipient = kind === "claim_request" ? `head@${org.domain}` : m.platformAdmin;
      // Links to sign in are no mails about claims: whoever signs in often is told of claims all the same.
      await db().query(
        `insert into app_private.mails (unique_key, kind, recipient, data)
         select 'link ' || n, 'sign_in', $1, '{"link": "/"}' from generate_series(1, 3) as n`,
        [recipient],
      );
      let people = 0;
      const claim = () => door.claim(m.claimOf(org, `flood-${people++}@elsewhere.example`));
      const told = async () => {
        const { rows } = await db().query<{ data: ClaimMailData }>(
          "select data from app_private.mails where kind = $1 and recipient = $2 order by created_at",
          [kind, recipient],
        );
        return rows.map(({ data }) =>
          composeMail(kind as "claim_queue", data, null, PLATFORM).text.includes(
            `at\n\n${PLATFORM}/admin/claims\n`,
          ),
        );
      };
      await limit(3);
      try {
        for (let time = 0; time < 5; time++) expect((await claim()).refusal).toBeUndefined();
        expect(await told()).toEqual([false, false, true]);
        // The day is over for the first.
        await db().query(
          `update app_private.mails set created_at = created_at - interval '25 hours'
           where data ->> 'claimantEmail' = 'flood-0@elsewhere.example'`,
        );
        await claim();
        await claim();
        expect(await told()).toEqual([false, false, true, true]);
      } finally {
        await limit(100);
      }
    },
  );

  test("a claimant who was approved at once", async () => {
    const org = await m.addOrganization(db());
    await door.claim(m.claimOf(org, `first@${org.domain}`));
    await send();
    expect(smtp.received.map((mail) => mail.to)).toEqual([[`first@${org.domain}`]]);
    expect(smtp.received[0]!.body).toContain("administrator (org_admin)");
  });

  test("nobody of a claim that is taken back, not even who has come to decide about it since it was made", async () => {
    const { org, claimId } = await waitingClaim();
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [org.uri, `late@${org.domain}`]);
    const before = await mails();
    await door.withdraw({ claimId, userEmail: "ana@elsewhere.example" });
    expect(await mails()).toEqual(before);
  });

  test.each([
    [
      "decided",
      (claimId: string, head: string) => door.review({ claimId, action: "approve", adminEmail: head }),
    ],
    ["taken back", (claimId: string) => door.withdraw({ claimId, userEmail: "ana@elsewhere.example" })],
  ])("nobody of a claim that was %s before they were reached", async (_how, decide) => {
    const { claimId, head } = await waitingClaim();
    await decide(claimId, head);
    await send();
    expect(smtp.received.map((mail) => mail.to).filter(([to]) => to !== "ana@elsewhere.example")).toEqual([]);
    expect((await mails()).filter(({ kind }) => kind === "claim_request")).toEqual([]);
  });

  test("nobody of a claim which is not theirs to decide any more when they are reached", async () => {
    const { org, head } = await waitingClaim();
    await db().query(
      "update app_public.memberships as m set status = 'suspended' from app_public.users as u where u.user_id = m.user_id and m.org_uri = $1 and u.email = $2",
      [org.uri, head],
    );
    await send();
    expect(smtp.received.map((mail) => mail.to)).toEqual([[`other@${org.domain}`]]);
    expect((await mails()).map(({ state }) => state)).toEqual(["sent"]);
    const open = await m.addOrganization(db());
    await door.claim(m.claimOf(open, "bea@elsewhere.example"));
    await db().query("delete from app_private.mails where kind = 'confirm_claim'");
    const role =
      "app_public.platform_roles where user_id = (select user_id from app_public.users where email = $1)";
    const { rows } = await db().query(`delete from ${role} returning *`, [m.support]);
    await send();
    expect(smtp.received.map((mail) => mail.to)).toEqual([[`other@${org.domain}`], [m.platformAdmin]]);
    for (const row of rows) {
      await db().query(
        "insert into app_public.platform_roles select * from jsonb_populate_record(null::app_public.platform_roles, $1)",
        [row],
      );
    }
  });

  test("nobody of what was refused or rolled back", async () => {
    const { org, claimId } = await waitingClaim();
    const before = await mails();
    await door.claim(m.claimOf(org, "ana@elsewhere.example"));
    await door.review({ claimId, action: "approve", adminEmail: "nobody@nowhere.example" });
    expect(await mails()).toEqual(before);
  });
});

describe("once", () => {
  test("however often and however many jobs run at the same time", async () => {
    for (let n = 0; n < 5; n++) await waitingClaim(`many${n}@elsewhere.example`);
    await Promise.all(Array.from({ length: 4 }, () => send()));
    await send();
    expect(smtp.received.length).toBe(10);
    expect(new Set(smtp.received.map((mail) => mail.headers.get("message-id"))).size).toBe(10);
    expect((await mails()).every((mail) => mail.state === "sent")).toBe(true);
  });

  test("and if the mark is lost after the server took it, again under the same Message-ID with the same text", async () => {
    await waitingClaim();
    await send();
    await db().query("update app_private.mails set sent_at = null");
    await send({ platformUrl: "https://elsewhere.example" });
    const ids = smtp.received.map((mail) => mail.headers.get("message-id")!).toSorted();
    expect(ids.length).toBe(4);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toMatch(/^<[0-9a-f-]{36}@service\.example>$/);
    expect(smtp.received[2]!.body.replaceAll(/--_.*/g, "")).toBe(
      smtp.received[0]!.body.replaceAll(/--_.*/g, ""),
    );
  });
});

describe("a mail server that", () => {
  test("is down delays mail without using up attempts, and gets everything once it is back", async () => {
    const config = { ...loadConfig({ SMTP_URL: smtp.url, PLATFORM_URL: PLATFORM, MAIL_FROM: FROM }) };
    const { store } = service;
    const drainer = createDrainer({ pool: db(), store, projector: createProjector(config), logger });
    const { send_mails } = taskList({ pool: db(), config, drainer, logger });
    await smtp.stop();
    const runner = await run({
      pgPool: db(),
      taskList: { send_mails: send_mails! },
      crontab: "",
      noHandleSignals: true,
      logger: new Logger(() => () => undefined),
      preset: { worker: { pollInterval: 200 } },
    });
    try {
      await waitingClaim();
      await eventually(async () => {
        expect(
          (await mails()).map(({ state, attempts, last_error }) => [state, attempts, last_error]),
        ).toEqual([
          ["waiting", 0, expect.stringContaining("ECONNREFUSED")],
          ["waiting", 0, expect.stringContaining("ECONNREFUSED")],
        ]);
      });
      await smtp.start();
      await eventually(async () => {
        expect((await mails()).map((mail) => mail.state)).toEqual(["sent", "sent"]);
      });
      // What was wrong until then is no error of a mail that was sent.
      const { rows: wrong } = await db().query(
        "select from app_private.mails where last_error is not null or delayed_since is not null",
      );
      expect(wrong).toEqual([]);
      expect(smtp.received.length).toBe(2);
      const { rows } = await db().query(
        "select last_error from graphile_worker.jobs where last_error is not null",
      );
      expect(rows).toEqual([]);
    } finally {
      await runner.stop();
      await drainer.stop();
    }
  });

  test("closes down, or does not let us in, is as good as down", async () => {
    await waitingClaim();
    for (const last of ["rcpt", "data"]) {
      smtp.refuse = (stage) => (stage === last ? { code: 421, text: "Closing down" } : undefined);
      expect(await send()).toMatchObject({ sent: 0, refused: 0, delayedSeconds: 1 });
      expect((await mails()).map(({ state, attempts }) => [state, attempts])).toEqual([
        ["waiting", 0],
        ["waiting", 0],
      ]);
      // Or the second time would be put off for longer, the longer this takes.
      await db().query("update app_private.mails set next_attempt_at = now(), delayed_since = null");
    }
    smtp.refuse = () => undefined;
    expect(await send({ url: smtp.url.replace("//", "//user:wrong@") })).toMatchObject({ sent: 0 });
    await dueNow();
    expect(await send()).toMatchObject({ sent: 2 });
  });

  test("stays down is tried less and less often, but at least every minute", async () => {
    await waitingClaim();
    await smtp.stop();
    for (const [seconds, half] of [
      [0, 1],
      [6, 3],
      [60, 30],
      [3_600, 60],
    ] as const) {
      const { rows } = await db().query<{ since: string }>(
        `update app_private.mails set next_attempt_at = now(),
           delayed_since = now() - make_interval(secs => $1) returning delayed_since as since`,
        [seconds],
      );
      const { delayedSeconds } = await send();
      const { rows: past } = await db().query<{ seconds: number }>(
        "select extract(epoch from now() - $1::timestamptz)::float8 as seconds",
        [rows[0]!.since],
      );
      // Half of the time so far, which goes on meanwhile.
      expect(delayedSeconds).toBeGreaterThanOrEqual(half);
      expect(delayedSeconds).toBeLessThanOrEqual(Math.min(60, Math.max(1, past[0]!.seconds / 2)));
    }
  });

  test("says something now and then, and never comes to an end, is given up", async () => {
    await waitingClaim();
    const url = await speaking((socket) => {
      // It would come to an end after all, long after it should have been given up.
      let said = 0;
      const dripping = setInterval(() => {
        socket.write(++said === 100 ? "\r\n" : said === 1 ? "250 " : ".");
        if (said === 100) clearInterval(dripping);
      }, 20);
      socket.on("close", () => clearInterval(dripping));
    });
    const mailer = createMailer(url, FROM, { mailMs: 200, silenceMs: 30_000 });
    // It may be about this mail alone.
    const to = { toName: null, subject: "s", text: "t", html: "h" };
    await expect(mailer.send({ id: "x", to: "ana@b.example", ...to })).rejects.toThrow(MailServerSilent);
    const result = await sendMails({ pool: db(), mailer, platformUrl: PLATFORM, logger });
    expect(result).toMatchObject({ sent: 0, refused: 0, delayedSeconds: 1 });
    expect((await mails())[0]).toMatchObject({ state: "waiting", last_error: "Message sending aborted" });
  });

  test("falls silent is told from one that is away", async () => {
    const mail = { id: "x", to: "ana@b.example", toName: null, subject: "s", text: "t", html: "h" };
    const url = await speaking(() => undefined);
    const mailer = createMailer(url, FROM, { mailMs: 60_000, silenceMs: 50 });
    await expect(mailer.send(mail)).rejects.toThrow(MailServerSilent);
    await smtp.stop();
    await expect(createMailer(smtp.url, FROM).send(mail)).rejects.toMatchObject({
      name: "MailServerUnavailable",
    });
  });

  test("answers with what PostgreSQL cannot store, and at length, is quoted all the same", async () => {
    await waitingClaim();
    const url = await speaking((socket) => {
      socket.on("data", (line) =>
        socket.write(
          String(line).startsWith("RCPT") ? `550 No\0 ${"such user ".repeat(1_000)}\r\n` : "250 Good\r\n",
        ),
      );
    });
    expect(await send({ url })).toMatchObject({ sent: 0, refused: 2 });
    const [mail] = await mails();
    expect(mail!.last_error).toHaveLength(1_000);
    expect(mail!.last_error).toContain("No such user");
  });

  test("is away for a while gets a link as it was, which is forgotten once it is sent", async () => {
    const link = `${PLATFORM}/sign-in/callback?token=secret`;
    await db().query(
      "select app_private.send_link('late@river.example', sha256('a'), sha256('b'), '/', $1, 'net')",
      [link],
    );
    smtp.refuse = () => ({ code: 451, text: "Later" });
    expect(await send()).toMatchObject({ sent: 0 });
    smtp.refuse = () => undefined;
    await dueNow();
    expect(await send()).toMatchObject({ sent: 1 });
    expect(smtp.received[0]!.body.replaceAll("=\r\n", "").replaceAll("=3D", "=")).toContain(link);
    const { rows } = await db().query("select data, text_body, html_body from app_private.mails");
    expect(rows).toEqual([{ data: {}, text_body: null, html_body: null }]);
  });

  test("refuses a recipient for good is not asked again, and the others get their mail", async () => {
    const { head } = await waitingClaim();
    smtp.refuse = (stage, address) =>
      stage === "rcpt" && address === head ? { code: 550, text: "No such user" } : undefined;
    expect(await send()).toMatchObject({ sent: 1, refused: 1 });
    expect((await mails()).find((mail) => mail.recipient === head)).toMatchObject({
      state: "failed",
      attempts: 1,
      last_error: expect.stringContaining("No such user"),
    });
    await dueNow();
    expect(await send()).toMatchObject({ sent: 0, refused: 0 });
  });

  test("refuses a mail for now is asked again later, for three days", async () => {
    await waitingClaim();
    smtp.refuse = (stage) => (stage === "data" ? { code: 451, text: "Greylisted" } : undefined);
    expect(await send()).toMatchObject({ sent: 0, refused: 2, delayedSeconds: undefined });
    expect(await send()).toMatchObject({ sent: 0, refused: 0 });
    // Later each time, and never more than four hours.
    for (const [attempts, minutes] of [
      [1, 2],
      [5, 32],
      [7, 128],
      [8, 240],
      [20, 240],
    ] as const) {
      await db().query(
        "update app_private.mails set attempts = $1, next_attempt_at = now() where sent_at is null",
        [attempts],
      );
      const { rows: begun } = await db().query<{ at: string }>("select clock_timestamp()::text as at");
      await send();
      // From the moment at which it was refused, which is after this began and before now.
      const { rows } = await db().query<{ isThen: boolean }>(
        `select next_attempt_at - make_interval(mins => $1) between $2 and clock_timestamp() as "isThen"
         from app_private.mails where sent_at is null`,
        [minutes, begun[0]!.at],
      );
      expect([attempts, rows]).toEqual([attempts, [{ isThen: true }, { isThen: true }]]);
    }
    await dueNow();
    smtp.refuse = () => undefined;
    expect(await send()).toMatchObject({ sent: 2 });

    await waitingClaim("late@elsewhere.example");
    smtp.refuse = () => ({ code: 451, text: "Greylisted" });
    // The 25th wait of these ends when three days are over.
    await db().query("update app_private.mails set attempts = 25 where sent_at is null");
    await send();
    expect((await mails()).filter((mail) => mail.state === "failed").length).toBe(2);
  });
});

test("a mail is addressed to a name where there is one, and is known to be a program's", async () => {
  const { send: hand } = createMailer(smtp.url, FROM);
  const mail = { to: "ana@river.example", subject: "s", text: "t", html: "<p>t</p>" };
  await hand({ ...mail, id: "first", toName: "Ana, of the River" });
  await hand({ ...mail, id: "second", toName: null });
  const said = smtp.received.map(({ headers }) =>
    ["to", "from", "message-id", "auto-submitted"].map((name) => headers.get(name)),
  );
  expect(said).toEqual([
    ['"Ana, of the River" <ana@river.example>', FROM, "<first@service.example>", "auto-generated"],
    ["ana@river.example", FROM, "<second@service.example>", "auto-generated"],
  ]);
});

test("a mail of a kind that only a later version knows waits for that version, and holds up no other", async () => {
  await waitingClaim();
  await db().query("alter table app_private.mails drop constraint mails_kind_check");
  await db().query(`
    insert into app_private.mails (unique_key, kind, recipient, data, created_at, next_attempt_at)
    values ('later', 'of_a_later_version', 'ana@elsewhere.example', '{}', now() - interval '1 hour', now() - interval '1 hour')`);
  expect(await send()).toMatchObject({ sent: 2, refused: 0 });
  expect((await mails()).map(({ kind, state }) => [kind, state])).toContainEqual([
    "of_a_later_version",
    "waiting",
  ]);
});

test("without SMTP_URL mails are kept, and written to the log where nobody else reads it", async () => {
  await waitingClaim();
  const lines: string[] = [];
  const write = (line: string) => {
    lines.push(line);
    // Whoever keeps mails without end is to come to one.
    if (lines.length > 100) throw new Error("That is too many");
  };
  const log = pino({ level: "info" }, { write });
  const options = { pool: db(), mailer: undefined, showKept: true, platformUrl: PLATFORM, logger: log };
  expect(await sendMails(options)).toMatchObject({ kept: 2, sent: 0 });
  expect(await sendMails(options)).toMatchObject({ kept: 0 });
  expect(lines.length).toBe(2);
  expect(lines[0]).toContain("asks to join");
  const { rows } = await db().query("select subject, text_body, html_body from app_private.mails");
  expect(rows[0]).toEqual({
    subject: expect.stringContaining("asks to join"),
    text_body: expect.stringContaining("Hello,"),
    html_body: expect.stringContaining("<p>Hello,</p>"),
  });
  expect(await send()).toMatchObject({ sent: 0 });
});

describe("what strangers write", () => {
  const nasty = "Ana\r\nBcc: victim@elsewhere.example\r\n\r\n<script>alert(1)</script>";

  test("cannot add headers, recipients or markup", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    // Earlier versions accepted such names, and what they stored is still there.
    await db().query(`set session_replication_role = replica;
      update app_public.organizations set name = ${escapeLiteral("Evil\r\nX-Injected: yes <b>Org</b>")}
      where org_uri = ${escapeLiteral(org.uri)};
      insert into app_public.users (email, first_name) values ('nasty@elsewhere.example', ${escapeLiteral(nasty)});
      set session_replication_role = default`);
    const { value } = await door.claim(m.claimOf(org, "nasty@elsewhere.example"));
    await send();
    await door.review({
      claimId: value.claimId,
      action: "reject",
      adminEmail: `head@${org.domain}`,
      notes: "<img src=x onerror=alert(1)>\r\n.\r\nRCPT TO:<victim@elsewhere.example>",
    });
    await send();
    expect(smtp.received.length).toBe(3);
    for (const mail of smtp.received) {
      expect(mail.to.length).toBe(1);
      expect([...mail.headers.keys()].toSorted()).toEqual([
        ...["auto-submitted", "content-type", "date", "from", "message-id", "mime-version", "subject", "to"],
      ]);
      expect(mail.raw).not.toMatch(/^(X-Injected|Bcc):/m);
      const html = mail.body.slice(mail.body.indexOf("<!doctype html>"));
      expect(html).not.toMatch(/<(script|img|b)\b/i);
    }
  });

  const data: ClaimMailData = {
    claimId: "00000000-0000-4000-8000-000000000000",
    orgName: "Ärzte & <Brüder>",
    orgUri: "https://data.example.org/org/x",
    isNewOrg: true,
    domainMatch: false,
    claimantEmail: "ana@elsewhere.example",
    claimantName: `${"x".repeat(300)}\u202Eevil`,
    notes: "a & b",
  };

  test.each(["claim_approved", "claim_rejected", "claim_request", "claim_queue"] as const)(
    "stays text in a mail of kind %s",
    (kind) => {
      const mail = composeMail(kind, data, "Ana\n<i>", "https://platform.example");
      expect(mail.subject).toContain("Ärzte & <Brüder>");
      expect(mail.subject).not.toMatch(/[\p{Cc}\u202e]/u);
      expect(mail.subject.length).toBeLessThanOrEqual(200);
      expect(mail.text).toContain("Ärzte & <Brüder>");
      expect(mail.html).toContain("Ärzte &amp; &lt;Brüder&gt;");
      expect(mail.html).toContain("<p>Hello Ana &lt;i&gt;,</p>");
      expect(mail.html).not.toContain("<Brüder>");
      expect(mail.text).toMatch(/^Hello Ana <i>,\n\n/);
    },
  );
});
