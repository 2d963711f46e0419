// A session as the third kind of caller, beside key and token: what it opens, to whom, and how it ends.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { admin as runAdmin } from "./support/process.ts";
import { startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import { admin, contributor, member, ORG, stranger } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await db().query("update app_private.settings set value = '1000' where name like 'sign_in%'");
});
afterAll(() => service.stop());

const db = () => service.database.owner;
const signedIn = (email: string) => new Visitor(service).signIn(email);
const need = { orgUri: ORG, orgName: "River Mission", needDescription: "Prayer", accelerators: ["PRA-INT"] };
const READ = "{ needs { totalCount } }";
const COOKIE = "engagement-session";

describe("a session", () => {
  test("reads and writes as its person at the doors that pages use, and as nobody else", async () => {
    // Who has no other session.
    const writer = "only-once@river.example";
    await db().query("select app_private.add_member($1, $2, 'org_contributor')", [ORG, writer]);
    const visitor = await signedIn(writer);
    expect((await visitor.call("/v0/needs")).status).toBe(200);
    expect((await visitor.call("/graphql", { query: READ })).body.data.needs).toBeDefined();
    const declared = await visitor.call("/v0/needs", need);
    expect(declared.status).toBe(201);
    const { rows } = await db().query(
      `select t.changed_by_email, t.changed_by_key, t.changed_by_identity = format('session %s', s.session_id) as is_session
       from app_private.trail as t, app_private.sessions as s where t.name = $1 and s.email = $2`,
      [declared.body.needId, writer],
    );
    expect(rows).toEqual([{ changed_by_email: writer, changed_by_key: null, is_session: true }]);
    const foreign = await visitor.call("/v0/needs", { ...need, declaredByEmail: admin });
    expect([foreign.status, foreign.body.error]).toEqual([403, "not_your_identity"]);
    for (const email of [member, stranger]) {
      const refused = await (await signedIn(email)).call("/v0/needs", need);
      expect([refused.status, refused.body.error]).toEqual([
        403,
        email === member ? "insufficient_role" : "membership_required",
      ]);
    }
  });

  test("is no way in for AI clients, and stands back where a key or a token is sent", async () => {
    const visitor = await signedIn(contributor);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await visitor.call("/v0/mcp", ping)).status).toBe(401);
    const wrong = await visitor.call("/v0/needs", undefined, { authorization: "Bearer ek_wrong" });
    expect([wrong.status, wrong.body.error]).toEqual([401, "invalid_api_key"]);
  });

  test("is limited as its person, however many of them they have", async () => {
    const limited = await startAnotherServer(service, { RATE_LIMIT_PER_MINUTE: "1" });
    try {
      const [one, another] = [
        await signedIn("limited@river.example"),
        await signedIn("Limited@River.example"),
      ];
      const at = `${limited.url}/v0/needs`;
      expect((await one.call(at)).status).toBe(200);
      expect((await another.call(at)).body.error).toBe("rate_limited");
    } finally {
      await limited.stop();
    }
  });
});

test("what a person is called in logs is no digest of their address that others could find by trying", async () => {
  const address = "called@river.example";
  await signedIn(address);
  const called = async () => {
    const { rows } = await db().query<{ id: string }>(
      "select app_private.session_person(s) ->> 'id' as id from app_private.sessions as s where s.email = $1",
      [address],
    );
    return rows[0]!.id.replaceAll("-", "");
  };
  const digests = ["", " ", "mail ", "null "].map((before) =>
    createHash("sha256")
      .update(before + address)
      .digest("hex")
      .slice(0, 32),
  );
  const here = await called();
  expect(digests).not.toContain(here);
  // In another installation they are called otherwise.
  const key = "app_private.settings where name = 'person_digest_key'";
  const { rows } = await db().query<{ value: string }>(`select value #>> '{}' as value from ${key}`);
  const rename = (to: string) =>
    db().query(
      "update app_private.settings set value = to_jsonb($1::text) where name = 'person_digest_key'",
      [to],
    );
  await rename("another");
  try {
    expect(await called()).not.toBe(here);
  } finally {
    await rename(rows[0]!.value);
  }
});

describe("what somebody else does with it", () => {
  test("the database has nothing in it that signs anybody in", async () => {
    const visitor = await signedIn(contributor);
    const secret = visitor.cookies.get(COOKIE)!;
    const { rows } = await db().query<{ all: string; hash: Buffer }>(
      `select to_jsonb(s)::text as all, secret_hash as hash from app_private.sessions as s where email = $1`,
      [contributor],
    );
    expect(rows.map(({ hash }) => hash)).toContainEqual(createHash("sha256").update(secret).digest());
    for (const { all, hash } of rows) {
      expect(all).not.toContain(secret);
      for (const stolen of [hash.toString("base64url"), hash.toString("hex")]) {
        visitor.cookies.set(COOKIE, stolen);
        expect((await visitor.call("/v0/needs")).status).toBe(401);
      }
    }
  });

  test.each([
    ["a page of another site", { "sec-fetch-site": "cross-site" }],
    ["a page of a sister site", { "sec-fetch-site": "same-site" }],
    ["a page elsewhere, in a browser that says no more", { origin: "https://elsewhere.example" }],
    ["a page that hides its origin", { origin: "null" }],
  ])("%s neither reads nor writes by it", async (_who, headers: Record<string, string>) => {
    const visitor = await signedIn(contributor);
    const cookie = `${COOKIE}=${visitor.cookies.get(COOKIE)}`;
    const before = await db().query("select count(*) from app_public.needs");
    for (const [path, body] of [["/v0/needs"], ["/v0/needs", need], ["/graphql", { query: READ }]] as const) {
      const answer = await fetch(`${service.url}${path}`, {
        method: body ? "POST" : "GET",
        headers: { cookie, "x-session-request": "1", "content-type": "application/json", ...headers },
        ...(body && { body: JSON.stringify(body) }),
      });
      expect(answer.status).toBe(403);
      expect(await answer.text()).toContain("session_not_allowed");
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    }
    expect((await db().query("select count(*) from app_public.needs")).rows).toEqual(before.rows);
  });

  test("nothing is changed without the header that no form can send and no preflight allows", async () => {
    const visitor = await signedIn(contributor);
    const send = (headers: Record<string, string>) =>
      visitor.open("/v0/needs", {
        ...{ method: "POST", body: JSON.stringify(need) },
        headers: { "content-type": "application/json", ...headers },
      });
    expect((await send({})).text).toContain("session_not_allowed");
    expect((await send({ "x-session-request": "1" })).status).toBe(201);
    const preflight = await fetch(`${service.url}/v0/needs`, {
      method: "OPTIONS",
      headers: { origin: "https://elsewhere.example", "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-headers")).not.toContain("x-session-request");
  });

  test("a browser that says nothing of itself reads, and changes nothing", async () => {
    const visitor = await signedIn(contributor);
    const headers = { cookie: `${COOKIE}=${visitor.cookies.get(COOKIE)}`, "x-session-request": "1" };
    expect((await fetch(`${service.url}/v0/needs`, { headers })).status).toBe(200);
    const body = JSON.stringify(need);
    const write = (more: object) =>
      fetch(`${service.url}/v0/needs`, {
        ...{ method: "POST", body },
        headers: { ...headers, "content-type": "application/json", ...more },
      });
    expect((await write({})).status).toBe(403);
    expect((await write({ origin: service.url })).status).toBe(201);
  });

  test("one that is made up is refused, and counts as a wrong key does", async () => {
    const limited = await startAnotherServer(service, { UNKNOWN_KEYS_PER_MINUTE: "2" });
    try {
      const statuses: number[] = [];
      for (const letter of "abc") {
        const headers = { cookie: `${COOKIE}=${letter.repeat(43)}` };
        statuses.push((await fetch(`${limited.url}/v0/needs`, { headers })).status);
      }
      expect(statuses).toEqual([401, 401, 429]);
    } finally {
      await limited.stop();
    }
  });
});

describe("the end of a session", () => {
  test.each([
    ["after twelve hours without use", "last_used_at = now() - interval '12 hours 1 second'", 401],
    ["not before", "last_used_at = now() - interval '11 hours 59 minutes'", 200],
    ["after seven days, however much it is used", "created_at = now() - interval '7 days 1 second'", 401],
    ["not before either", "created_at = now() - interval '6 days 23 hours 59 minutes'", 200],
  ])("comes %s", async (_when, change, status) => {
    const email = `over-${Math.random()}@river.example`;
    const visitor = await signedIn(email);
    await db().query(`update app_private.sessions set ${change} where email = $1`, [email]);
    const answer = await visitor.call("/v0/needs");
    expect([answer.status, answer.body.error]).toEqual([
      status,
      status === 401 ? "invalid_session" : undefined,
    ]);
    // Nothing was sent that a program could have sent wrongly.
    expect(answer.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
    await db().query("select app_private.forget_old_sessions()");
    const { rows } = await db().query("select from app_private.sessions where email = $1", [email]);
    expect(rows.length).toBe(status === 200 ? 1 : 0);
  });

  test("is put off by use", async () => {
    const visitor = await signedIn("in-use@river.example");
    await db().query(
      "update app_private.sessions set last_used_at = now() - interval '11 hours' where email = 'in-use@river.example'",
    );
    await visitor.call("/v0/needs");
    const { rows } = await db().query(
      "select last_used_at > now() - interval '1 minute' as fresh from app_private.sessions where email = 'in-use@river.example'",
    );
    expect(rows).toEqual([{ fresh: true }]);
    // That is noted once a minute. However slow this test is, the last use was less than a minute ago.
    const { rows: ahead } = await db().query(
      "update app_private.sessions set last_used_at = now() + interval '10 minutes' where email = 'in-use@river.example' returning last_used_at",
    );
    expect((await visitor.call("/v0/needs")).status).toBe(200);
    const { rows: kept } = await db().query(
      "select last_used_at from app_private.sessions where email = 'in-use@river.example'",
    );
    expect(kept).toEqual(ahead);
  });

  test("is put off by nobody who would have to wait for another that is doing it", async () => {
    const email = "in-use-twice@river.example";
    const secret = (await signedIn(email)).cookies.get(COOKIE)!;
    await db().query(
      "update app_private.sessions set last_used_at = now() - interval '11 hours' where email = $1",
      [email],
    );
    const [other, asking] = [await db().connect(), await db().connect()];
    try {
      await other.query("begin");
      await other.query("select from app_private.sessions where email = $1 for no key update", [email]);
      await asking.query("set lock_timeout = '1s'");
      const { rows } = await asking.query(
        "select app_private.find_session(sha256(convert_to($1, 'utf8'))) ->> 'email' as email",
        [secret],
      );
      expect(rows).toEqual([{ email }]);
    } finally {
      other.release(true);
      asking.release(true);
    }
  });

  test("is at once and in every process, for one or for all of a person's", async () => {
    const email = "Busy@river.example";
    const [here, there] = [await signedIn(email), await signedIn(email)];
    const elsewhere = await signedIn(email);
    const other = await signedIn(contributor);
    const second = await startAnotherServer(service, { RATE_LIMIT_PER_MINUTE: "1000000" });
    const statusAt = async (visitor: Visitor) => (await visitor.call(`${second.url}/v0/needs`)).status;
    try {
      expect(await Promise.all([here, there, elsewhere].map(statusAt))).toEqual([200, 200, 200]);
      await here.submit(await here.open("/sign-out"), "/sign-out", {});
      expect(here.cookies.has(COOKIE)).toBe(false);
      expect(await Promise.all([here, there, elsewhere].map(statusAt))).toEqual([401, 200, 200]);
      const waiting = new Visitor(service);
      const link = await waiting.linkFor(email.toLowerCase());
      const ended = await there.submit(await there.open("/sign-out"), "/sign-out", { everywhere: "yes" });
      expect(ended.location).toBe("/sign-out");
      expect(await Promise.all([there, elsewhere, other].map(statusAt))).toEqual([401, 401, 200]);
      // Nor is there a way back in that was open before.
      expect((await waiting.open(link)).status).toBe(403);
      const { rows } = await db().query("select from app_private.sign_ins where lower(email) = lower($1)", [
        email,
      ]);
      expect(rows).toEqual([]);
    } finally {
      await second.stop();
    }
  });

  test("is told to have changed nothing where all were to end and this one is over", async () => {
    const email = "ended-before@river.example";
    const [here, there] = [await signedIn(email), await signedIn(email)];
    const page = await here.open("/sign-out");
    const end =
      "update app_private.sessions set last_used_at = now() - interval '13 hours' where secret_hash = sha256($1)";
    await db().query(end, [here.cookies.get(COOKIE)]);
    const cookies = [...here.cookies];
    const answer = await here.submit(page, "/sign-out", { everywhere: "yes" });
    expect(answer.status).toBe(401);
    expect(answer.text).toMatch(/nothing was changed.*href="\/sign-in"/s);
    expect((await there.call("/v0/needs")).status).toBe(200);
    // Which it is for who only signs out here, as often as they like.
    for (const [name, value] of cookies) here.cookies.set(name, value);
    expect((await here.submit(page, "/sign-out", {})).location).toBe("/sign-out");
  });

  test("is not for another site to order", async () => {
    const visitor = await signedIn(contributor);
    const page = await visitor.open("/sign-out");
    const answers = [
      await visitor.submit(page, "/sign-out", {}, { headers: { "sec-fetch-site": "cross-site" } }),
      await visitor.submit({ text: "" }, "/sign-out", {}),
      await visitor.submit({ text: "" }, "/sign-out", { form: "guessed" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect((await visitor.call("/v0/needs")).status).toBe(200);
  });

  test("comes with the erasure of the person", async () => {
    const email = "leaving@river.example";
    const visitor = await signedIn(email);
    await db().query("select app_private.begin_erasure($1, false)", [email]);
    await db().query("select app_private.finish_erasure($1)", [email]);
    expect((await visitor.call("/v0/needs")).status).toBe(401);
    const { rows } = await db().query("select from app_private.sessions where email like 'erased-%'");
    expect(rows).toEqual([]);
  });

  test("can be had from the operator's tool, which lists them too", async () => {
    const email = "watched@river.example";
    const visitor = await signedIn(email);
    const env = { DATABASE_URL: service.database.url };
    const listed = await runAdmin(["sessions", "list", "--email", email, "--json"], env);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ email, issuer: null }]);
    expect(listed.stdout).not.toContain(visitor.cookies.get(COOKIE));
    expect((await runAdmin(["sessions", "list", "--email", email], env)).stdout).toContain(
      `  ${email}  a link by mail  `,
    );
    const ended = await runAdmin(["sessions", "end", "--email", email.toUpperCase(), "--json"], env);
    expect(JSON.parse(ended.stdout)).toEqual({ email: email.toUpperCase(), ended: 1 });
    expect((await visitor.call("/v0/needs")).status).toBe(401);
    expect(JSON.parse((await runAdmin(["sessions", "list", "--json"], env)).stdout)).not.toContainEqual(
      expect.objectContaining({ email }),
    );
  });

  test("comes first in the operator's list whose last use is the latest, in any case of the address", async () => {
    const email = "several@river.example";
    for (let count = 0; count < 4; count++) await signedIn(email);
    // The third of them is over.
    await db().query(
      `update app_private.sessions as s set last_used_at = now() - interval '1 hour' *
         case created.place when 3 then 13 else created.place % 3 end
       from (select session_id, row_number() over (order by created_at) as place
         from app_private.sessions where email = $1) as created
       where created.session_id = s.session_id`,
      [email],
    );
    const { stdout } = await runAdmin(["sessions", "list", "--email", email.toUpperCase(), "--json"], {
      DATABASE_URL: service.database.url,
    });
    const used = (JSON.parse(stdout) as { lastUsedAt: string }[]).map(({ lastUsedAt }) =>
      Date.parse(lastUsedAt),
    );
    expect(used).toHaveLength(3);
    expect(used).toEqual(used.toSorted((a, b) => b - a));
  });

  test("is not to be had with a session that is over", async () => {
    const email = "left@river.example";
    const [old, live] = [await signedIn(email), await signedIn(email)];
    const secret = old.cookies.get(COOKIE)!;
    await db().query(
      `update app_private.sessions set last_used_at = now() - interval '13 hours'
       where secret_hash = sha256(convert_to($1, 'utf8'))`,
      [secret],
    );
    await db().query("select app_private.end_session(sha256(convert_to($1, 'utf8')), true)", [secret]);
    expect((await live.call("/v0/needs")).status).toBe(200);
  });

  test("can be had for one session, and not for one that there is not", async () => {
    const email = "twice@river.example";
    const [one, other] = [await signedIn(email), await signedIn(email)];
    const env = { DATABASE_URL: service.database.url };
    // The last used comes first.
    const [{ sessionId }, { sessionId: kept }] = JSON.parse(
      (await runAdmin(["sessions", "list", "--email", email, "--json"], env)).stdout,
    );
    const end = ["sessions", "end", "--json", "--id"];
    expect(JSON.parse((await runAdmin([...end, sessionId.toUpperCase()], env)).stdout)).toMatchObject({
      ended: 1,
    });
    expect((await other.call("/v0/needs")).status).toBe(401);
    expect((await one.call("/v0/needs")).status).toBe(200);
    for (const id of [sessionId, "none"])
      expect(await runAdmin([...end, id], env)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`There is no session with the id ${id}.`),
      });
    const issuer = ["--issuer", "https://login.example"];
    for (const nobody of [
      ...[[], ["--email", ""], ["--id", " "], ["--email", email, "--id", sessionId]],
      ...[
        ["--email", email, ...issuer],
        ["--id", kept, ...issuer],
      ],
    ])
      expect(await runAdmin(["sessions", "end", ...nobody], env)).toMatchObject({ code: 2, stdout: "" });
  });
});
