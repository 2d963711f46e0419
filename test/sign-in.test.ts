// Signing in by a link that is mailed: for whom it is good, for how long, where it leads, and what others can do about it.
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { composeMail } from "../worker/mail-texts.ts";
import { sendMails } from "../worker/outbox.ts";
import { startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import { contributor } from "./support/world.ts";

let service: TestService;
const log: string[] = [];
beforeAll(async () => {
  service = await startTestService({
    config: { trustProxy: 1 },
    logger: pino({ level: "trace" }, { write: (line) => void log.push(line) }),
  });
});
afterAll(() => service.stop());
beforeEach(() => db().query("delete from app_private.rate_limits where key like 'sign-in%'"));

const db = () => service.database.owner;
const SESSION = "engagement-session";
const HTTPS = { "x-forwarded-proto": "https" };
const statusOf = async (visitor: Visitor) => (await visitor.call("/v0/needs")).status;

describe("a link", () => {
  test("signs in whoever has the mail and the browser, known here or not, and leads where they wanted to be", async () => {
    for (const email of [contributor, "never-seen@elsewhere.example"]) {
      const visitor = new Visitor(service);
      const link = await visitor.linkFor(email, "/admin/claims?status=all#first");
      expect(JSON.parse((await visitor.open("/sign-in/session")).text)).toEqual({ email: null });
      const answer = await visitor.open(link);
      expect([answer.status, answer.location]).toEqual([303, "/admin/claims?status=all#first"]);
      // It has the session in it, and the link's secret in its address.
      const kept = ["cache-control", "referrer-policy"].map((name) => answer.headers.get(name));
      expect(kept).toEqual(["no-store", "no-referrer"]);
      const told = await visitor.open("/sign-in/session");
      expect(JSON.parse(told.text)).toEqual({ email });
      // The next one before this browser may be somebody else.
      expect(told.headers.get("cache-control")).toBe("no-store");
      const elsewhere = { headers: { "sec-fetch-site": "same-site" } };
      expect(JSON.parse((await visitor.open("/sign-in/session", elsewhere)).text)).toEqual({ email: null });
      expect(await statusOf(visitor)).toBe(200);
      // What the attempt was bound to is good for nothing any more.
      expect([...visitor.cookies.keys()]).toEqual([SESSION]);
    }
  });

  test("that is asked for in a second tab leaves that of the first one good", async () => {
    const visitor = new Visitor(service);
    const first = await visitor.linkFor("tabs@river.example");
    const second = await visitor.linkFor("tabs@river.example");
    expect(second).not.toBe(first);
    expect((await visitor.open(first)).status).toBe(303);
  });

  test("works once, also when it is opened twice at the same time", async () => {
    const visitor = new Visitor(service);
    const link = await visitor.linkFor("once@river.example");
    const cookies = new Map(visitor.cookies);
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => {
        const copy = new Visitor(service);
        for (const [name, value] of cookies) copy.cookies.set(name, value);
        return (await copy.open(link)).status;
      }),
    );
    expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 403, 403]);
    for (const [name, value] of cookies) visitor.cookies.set(name, value);
    const replayed = await visitor.open(link);
    expect([replayed.status, replayed.cookies]).toEqual([403, []]);
  });

  test("is of no use in another browser, and not used up by it", async () => {
    const visitor = new Visitor(service);
    const link = await visitor.linkFor("browser@river.example");
    const without = new Visitor(service);
    const another = new Visitor(service);
    await another.open("/sign-in");
    for (const thief of [without, another]) {
      const answer = await thief.open(link);
      expect([answer.status, answer.cookies]).toEqual([403, []]);
    }
    expect((await visitor.open(link)).status).toBe(303);
  });

  test.each([
    ["15 minutes 1 second", 403],
    ["14 minutes", 303],
  ])("after %s is answered with %d", async (age, status) => {
    const visitor = new Visitor(service);
    const link = await visitor.linkFor("late@river.example");
    await db().query("update app_private.sign_ins set created_at = created_at - $1::interval", [age]);
    expect((await visitor.open(link)).status).toBe(status);
  });

  test("leads to the service itself, whatever host the request names", async () => {
    const visitor = new Visitor(service);
    const page = await visitor.open("/sign-in");
    const form = /name="form" type="hidden" value="([^"]*)"/.exec(page.text)![1]!;
    const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
    const body = new URLSearchParams({ form, email: "host@river.example" }).toString();
    const status = await new Promise((answered, failed) => {
      const headers = {
        ...{
          cookie,
          host: "evil.example",
          "x-forwarded-host": "evil.example",
          "sec-fetch-site": "same-origin",
        },
        "content-type": "application/x-www-form-urlencoded",
      };
      httpRequest(`${service.url}/sign-in`, { method: "POST", headers }, (response) => {
        response.resume();
        answered(response.statusCode);
      })
        .on("error", failed)
        .end(body);
    });
    expect(status).toBe(303);
    const { rows } = await db().query<{ link: string }>(
      "select data ->> 'link' as link from app_private.mails where recipient = 'host@river.example'",
    );
    expect(rows[0]!.link).toMatch(new RegExp(`^${service.url}/sign-in/callback\\?token=[\\w-]{43}$`));
    const named = await startAnotherServer(service, { PLATFORM_URL: "https://platform.example/" });
    try {
      const elsewhere = new Visitor(service, HTTPS);
      expect((await elsewhere.open(`${named.url}/sign-in`)).status).toBe(403);
    } finally {
      await named.stop();
    }
  });

  test("is in the mail, which says what to do with it, and in no log", async () => {
    const visitor = new Visitor(service);
    const link = await visitor.linkFor("mailed@river.example");
    const begin = log.length;
    await visitor.open(link);
    expect(log.slice(begin).join("")).not.toContain(new URL(link, service.url).searchParams.get("token"));
    const kept: string[] = [];
    const logger = pino({ level: "trace" }, { write: (line) => void kept.push(line) });
    await sendMails({ pool: db(), mailer: undefined, platformUrl: service.url, logger, showKept: true });
    expect(kept.join("")).toContain(link);
    const mail = composeMail("sign_in", { link: `${service.url}${link}` }, null, service.url);
    expect(mail.text).toContain(`\n\n${service.url}${link}\n\n`);
    expect(mail.html).toContain(`<a href="${service.url}${link}">`);
  });

  test("is forgotten with its mail when it is over", async () => {
    await new Visitor(service).linkFor("old@river.example");
    await new Visitor(service).linkFor("young@river.example");
    await db().query(
      `insert into app_private.mails (unique_key, kind, recipient, data, created_at)
         values ('other', 'claim_request', 'other@river.example', '{}', now() - interval '25 hours');
       update app_private.sign_ins set created_at = now() - interval '16 minutes' where email = 'old@river.example';
       update app_private.mails set created_at = now() - interval '25 hours' where recipient = 'old@river.example'`,
    );
    await db().query("select app_private.forget_old_sessions()");
    const { rows } = await db().query(
      `select email from app_private.sign_ins where email = 'old@river.example'
       union all select recipient from app_private.mails where recipient = 'old@river.example'`,
    );
    expect(rows).toEqual([]);
    // One that is still good has its mail, which may be on its way.
    const { rowCount: young } = await db().query(
      "select from app_private.mails where recipient = 'young@river.example'",
    );
    expect(young).toBe(1);
    const { rowCount: others } = await db().query("delete from app_private.mails where unique_key = 'other'");
    expect(others).toBe(1);
  });
});

describe("whoever asks for links", () => {
  test("learns nothing of who is known here: answer, rows, mails and jobs are the same", async () => {
    const counts = async () => {
      const { rows } = await db().query<Record<string, number>>(
        `select (select count(*) from app_private.sign_ins)::integer as sign_ins,
           (select count(*) from app_private.mails)::integer as mails,
           (select count(*) from app_private.rate_limits)::integer as limits,
           (select count(*) from app_public.users)::integer as users,
           (select count(*) from graphile_worker._private_jobs)::integer as jobs`,
      );
      return Object.values(rows[0]!);
    };
    const seen: unknown[] = [];
    // The first makes the row that counts its network.
    await new Visitor(service).linkFor("first@river.example");
    for (const email of [contributor, "nobody-knows@elsewhere.example"]) {
      await db().query("delete from graphile_worker._private_jobs");
      const visitor = new Visitor(service);
      const page = await visitor.open("/sign-in");
      const before = await counts();
      const { status, location, text, headers } = await visitor.submit(page, "/sign-in", { email });
      const names = [...headers.keys()].toSorted();
      const after = await counts();
      seen.push({ status, location, text, names, changes: after.map((count, i) => count - before[i]!) });
    }
    expect(seen[0]).toMatchObject({ status: 303, location: "/sign-in?sent", changes: [1, 1, 2, 0, 1] });
    expect(seen[1]).toEqual(seen[0]);
  });

  test("may do so so often for one address, and from one network, and no more is sent", async () => {
    const email = "pestered@river.example";
    for (let time = 0; time < 5; time++) await new Visitor(service).linkFor(email);
    const visitor = new Visitor(service);
    const refused = await visitor.submit(await visitor.open("/sign-in"), "/sign-in", {
      email: email.toUpperCase(),
    });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const { rows } = await db().query("select from app_private.mails where lower(recipient) = $1", [email]);
    expect(rows.length).toBe(5);
    // What stands behind a plus is another address of the same mailbox.
    for (const other of ["pestered+1@river.example", "Pestered+a+b@river.example"]) {
      await expect(new Visitor(service).linkFor(other)).rejects.toThrow("429");
    }
    // Whose address it is, and asks from elsewhere, is not kept from it.
    await new Visitor(service, { "x-forwarded-for": "192.0.2.1" }).linkFor(email);

    // However many networks ask, no mailbox is filled.
    await db().query(
      "update app_private.settings set value = '6' where name = 'sign_in_links_per_address_everywhere'",
    );
    try {
      const third = new Visitor(service, { "x-forwarded-for": "192.0.2.2" });
      await expect(third.linkFor(email)).rejects.toThrow("429");
      await expect(third.linkFor("pestered+1@river.example")).rejects.toThrow("429");
    } finally {
      await db().query(
        "update app_private.settings set value = '50' where name = 'sign_in_links_per_address_everywhere'",
      );
    }

    await db().query("delete from app_private.rate_limits where key like 'sign-in%'");
    await db().query("update app_private.settings set value = '2' where name = 'sign_ins_per_network'");
    try {
      const from = (ip: string) => new Visitor(service, { "x-forwarded-for": ip });
      await from("2001:db8:1:1::1").linkFor("a@river.example");
      await from("2001:db8:1:1::2").linkFor("b@river.example");
      await expect(from("2001:db8:1:1::3").linkFor("c@river.example")).rejects.toThrow("429");
      // For a quarter of an hour, and not for a day.
      const { rows: limits } = await db().query<{ minutes: number }>(
        `select ceil((expire / 1000.0 - extract(epoch from clock_timestamp())) / 60)::integer as minutes
         from app_private.rate_limits where key like 'sign-in%'`,
      );
      expect(limits.length).toBeGreaterThan(2);
      for (const { minutes } of limits) expect(minutes).toBeLessThanOrEqual(15);
      await from("2001:db8:2:1::1").linkFor("d@river.example");
    } finally {
      await db().query("update app_private.settings set value = '100' where name = 'sign_ins_per_network'");
    }
  });

  test.each(["", "nobody", "two@a.example, b@a.example", "line\r\nbcc: x@a.example", "<x@a.example>"])(
    "gets none for %j",
    async (email) => {
      const visitor = new Visitor(service);
      const before = await db().query("select count(*) from app_private.mails");
      const answer = await visitor.submit(await visitor.open("/sign-in"), "/sign-in", { email });
      expect(answer.status).toBe(400);
      expect((await db().query("select count(*) from app_private.mails")).rows).toEqual(before.rows);
    },
  );

  test("may have typed a space before or behind the address", async () => {
    const visitor = new Visitor(service);
    const page = await visitor.open("/sign-in");
    expect((await visitor.submit(page, "/sign-in", { email: " spaced@river.example\t" })).status).toBe(303);
    const { rows } = await db().query(
      "select from app_private.mails where kind = 'sign_in' and recipient = 'spaced@river.example'",
    );
    expect(rows).toHaveLength(1);
  });

  test("must have the page of this service open: no other site sends the form", async () => {
    const visitor = new Visitor(service);
    const page = await visitor.open("/sign-in");
    const email = "forged@river.example";
    const send = async (from: { text: string }, headers: Record<string, string> = {}, fields = {}) =>
      (await visitor.submit(from, "/sign-in", { email, ...fields }, { headers })).status;
    expect(await send(page, { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await send(page, { "sec-fetch-site": "same-site" })).toBe(403);
    expect(await send({ text: "" })).toBe(403);
    expect(await send({ text: "" }, {}, { form: "guessed" })).toBe(403);
    visitor.cookies.clear();
    expect(await send(page)).toBe(403);
    const { rows } = await db().query("select from app_private.mails where recipient = $1", [email]);
    expect(rows).toEqual([]);
  });
});

describe("the way back", () => {
  test.each([
    ["/docs?tag=needs#top", "/docs?tag=needs#top"],
    ["https://evil.example/", "/"],
    ["//evil.example", "/"],
    ["/\\evil.example", "/"],
    ["\\\\evil.example", "/"],
    ["/\t/evil.example", "/"],
    ["/.//evil.example", "/"],
    ["/x/..//evil.example", "/"],
    ["javascript:alert(1)", "/"],
    ["evil.example", "/"],
    ["/\r\nSet-Cookie: a=b", "/Set-Cookie:%20a=b"],
    ['/"><script>', "/%22%3E%3Cscript%3E"],
    [`/${"a".repeat(21_000)}`, "/"],
  ])("from %j is %j", async (returnTo, expected) => {
    const visitor = new Visitor(service);
    const page = await visitor.open("/sign-in");
    // Straight into the form, past what the page makes of its own address.
    const email = "way-back@river.example";
    await visitor.submit(page, "/sign-in", { email, returnTo });
    const { rows } = await db().query<{ link: string }>(
      "select data ->> 'link' as link from app_private.mails where recipient = $1 order by created_at desc limit 1",
      [email],
    );
    const answer = await visitor.open(rows[0]!.link.slice(service.url.length));
    expect([answer.status, answer.location]).toEqual([303, expected]);
    const shown = await visitor.open(`/sign-in?${new URLSearchParams({ returnTo }).toString()}`);
    expect(shown.text).toContain(`name="returnTo" type="hidden" value="${expected}"`);
    expect(shown.text).not.toContain("<script");
    await db().query("delete from app_private.rate_limits where key like 'sign-in%'");
  });
});

describe("the cookie", () => {
  test("is for this host, https and no script; over http it has no name that https would believe", async () => {
    const cookieOf = async (visitor: Visitor) => {
      const { cookies } = await visitor.open(await visitor.linkFor("cookie@river.example"));
      return cookies.find((cookie) => cookie.includes(`${SESSION}=`) && !/=;/.test(cookie))!;
    };
    const flags = (cookie: string) => cookie.split("; ").slice(1).toSorted();
    const secure = await cookieOf(new Visitor(service, HTTPS));
    expect(secure).toMatch(new RegExp(`^__Host-${SESSION}=[\\w-]{43};`));
    expect(flags(secure)).toEqual(["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]);
    const plain = await cookieOf(new Visitor(service));
    expect(plain).toMatch(new RegExp(`^${SESSION}=[\\w-]{43};`));
    expect(flags(plain)).toEqual(["HttpOnly", "Path=/", "SameSite=Lax"]);

    // Which browser has begun to sign in is known for an hour, and who is signed in until it is closed.
    const begun = await new Visitor(service).open("/sign-in");
    const kept = begun.cookies.map((cookie) => /^([^=]+)=.*; Max-Age=(\d+);/.exec(cookie)?.slice(1));
    expect(kept).toEqual([["engagement-sign-in", "3600"]]);

    const secret = /=([\w-]+)/.exec(plain)![1]!;
    const planted = new Visitor(service, HTTPS);
    planted.cookies.set(SESSION, secret);
    expect(await statusOf(planted)).toBe(401);
  });

  test("is taken away with what it was given with: a browser would keep it otherwise", async () => {
    for (const headers of [HTTPS, {}]) {
      const visitor = new Visitor(service, headers);
      const link = await visitor.linkFor("taken-away@river.example");
      const given = [...(await visitor.open("/sign-in")).cookies, ...(await visitor.open(link)).cookies];
      const left = await visitor.submit(await visitor.open("/sign-out"), "/sign-out", {});
      const nameOf = (cookie: string) => cookie.split("=", 1)[0];
      const flags = (cookie: string) =>
        cookie
          .split("; ")
          .slice(1)
          .filter((flag) => !/^(Max-Age|Expires)=/.test(flag))
          .toSorted();
      const taken = [...given, ...left.cookies].filter((cookie) => cookie.includes("=;"));
      expect(taken).toHaveLength(2);
      for (const cookie of taken) {
        const before = given.find((each) => nameOf(each) === nameOf(cookie) && !each.includes("=;"));
        expect(flags(cookie)).toEqual(flags(before!));
      }
    }
  });

  test("is not given over http where the service is on https, nor to a proxy that nobody has vouched for", async () => {
    const https = await startAnotherServer(service, {
      PLATFORM_URL: "https://platform.example",
      TRUST_PROXY: "1",
    });
    const untold = await startAnotherServer(service, { PLATFORM_URL: "https://platform.example" });
    try {
      expect((await new Visitor(service, HTTPS).open(`${https.url}/sign-in`)).status).toBe(200);
      for (const [url, headers] of [
        [https.url, {}],
        [untold.url, HTTPS],
      ] as const) {
        const answer = await new Visitor(service, headers).open(`${url}/sign-in`);
        expect([answer.status, answer.cookies]).toEqual([403, []]);
      }
    } finally {
      await Promise.all([https.stop(), untold.stop()]);
    }
  });

  test("is a new one with each sign-in, whatever the browser had before", async () => {
    const visitor = new Visitor(service);
    const chosen = "f".repeat(43);
    visitor.cookies.set(SESSION, chosen);
    await visitor.signIn("fixed@river.example");
    const first = visitor.cookies.get(SESSION);
    expect(first).not.toBe(chosen);
    const thief = new Visitor(service);
    thief.cookies.set(SESSION, chosen);
    expect(await statusOf(thief)).toBe(401);
    // Nor does the session live on that the browser had.
    await visitor.signIn("somebody-else@river.example");
    expect(visitor.cookies.get(SESSION)).not.toBe(first);
    thief.cookies.set(SESSION, first!);
    expect(await statusOf(thief)).toBe(401);
    expect(await statusOf(visitor)).toBe(200);
  });

  test("is not ended by a sign-in of the same person elsewhere, or once more in another browser", async () => {
    const [here, elsewhere] = [new Visitor(service), new Visitor(service)];
    for (const visitor of [here, elsewhere, elsewhere]) await visitor.signIn("in-two-places@river.example");
    expect([await statusOf(here), await statusOf(elsewhere)]).toEqual([200, 200]);
  });
});

test("of who begins to sign in, what counts them knows neither network nor address, but their hashes", async () => {
  await new Visitor(service, { "x-forwarded-for": "192.0.2.77" }).linkFor("counted@river.example");
  const { rows } = await db().query<{ key: string }>(
    "select key from app_private.rate_limits where key like 'sign-in%' order by key",
  );
  expect(rows.map(({ key }) => key.replace(/[0-9a-f]{64}$/, "…"))).toEqual([
    "sign-in address …",
    "sign-in address …",
    "sign-in network …",
  ]);
});

test("on one's own machine the sign-in has one name; a name of somewhere else is not led away from", async () => {
  const named = (host: string) =>
    new Promise<[number, string | undefined]>((answered, failed) => {
      httpRequest(`${service.url}/sign-in?returnTo=/docs`, { headers: { host } }, (response) => {
        response.resume();
        answered([response.statusCode!, response.headers.location]);
      })
        .on("error", failed)
        .end();
    });
  const own = new URL(service.url);
  expect(await named(own.host)).toEqual([200, undefined]);
  expect(await named(`localhost:${own.port}`)).toEqual([303, `${service.url}/sign-in?returnTo=/docs`]);
  expect(await named("engagement.example")).toEqual([200, undefined]);
});

test("the pages load nothing, run nothing, and are shown in no other page", async () => {
  const visitor = new Visitor(service);
  for (const path of ["/sign-in", "/sign-in?sent", "/sign-out", "/sign-in/callback?token=x"]) {
    const { headers, text } = await visitor.open(path);
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(text).not.toMatch(/<script|https?:\/\//);
  }
});
