// Confirming what an application has claimed in somebody's name: by the link in a mail, or signed in. What proof is worth to a
// claim that is made with it is in proven-address.test.ts.
import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { composeMail } from "../worker/mail-texts.ts";
import { sendMails } from "../worker/outbox.ts";
import { eventually } from "./support/eventually.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

const PAGE = "/confirm-address";

let service: TestService;
const log: string[] = [];
const logger = pino({ level: "trace" }, { write: (line) => void log.push(line) });
beforeAll(async () => {
  service = await startTestService({ world: false, logger });
  await m.addPlatformPeople(db());
});
afterAll(() => service.stop());
afterEach(() => askForProof(false));

const db = () => service.database.owner;
const door = m.membershipDoor("REST", () => service);
const askForProof = (asked: boolean) =>
  db().query("update app_private.settings set value = to_jsonb($2::boolean) where name = $1", [
    "auto_approval_needs_verified_email",
    asked,
  ]);
const somebody = (domain = "elsewhere.example") => `${randomBytes(4).toString("hex")}@${domain}`;

/** A claim by way of an application; returns what it was answered. */
async function claim(email: string, org?: m.TestOrganization) {
  const { value } = await door.claim(m.claimOf(org ?? (await m.addOrganization(db())), email));
  return value as { claimId: string; resultVariant: string; status: string };
}

/** The paths in the mails that were written to an address. */
async function links(email: string): Promise<string[]> {
  const { rows } = await db().query<{ link: string }>(
    `select data ->> 'link' as link from app_private.mails
     where kind = 'confirm_claim' and recipient = $1 order by created_at`,
    [email],
  );
  return rows.map(({ link }) => link);
}

/** Whether the claims of an address are proven, in the order in which they were made, with their state. */
async function claims(email: string): Promise<unknown[]> {
  const { rows } = await db().query(
    `select c.status, c.email_verified from app_public.organization_claims as c join app_public.users as u using (user_id)
     where u.email = $1 order by c.created_at`,
    [email],
  );
  return rows.map(({ status, email_verified: isProven }) => [status, isProven]);
}

/** Who proved the address of a claim, by what, and with which request, as the trail tells. */
async function proofs(claimId: string): Promise<unknown[]> {
  const { rows } = await db().query(
    `select changed_by_email, changed_by_identity, request_id from app_private.trail
     where subject = 'organization_claim' and name = $1 and change = '{"email_verified": true}'`,
    [claimId],
  );
  return rows.map((row) => Object.values(row as object));
}

/** Opens a link and presses the button. */
async function follow(link: string, visitor = new Visitor(service)) {
  return visitor.submit(await visitor.open(link), PAGE, {});
}

describe("the link", () => {
  test("proves the address of all claims that wait in its name, when the button is pressed and not before", async () => {
    const email = somebody();
    const orgs = [await m.addOrganization(db()), await m.addOrganization(db())];
    await claim(email, orgs[0]);
    await claim(email.toUpperCase(), orgs[1]);
    const decided = await claim(email);
    await door.review({ claimId: decided.claimId, action: "reject", notes: "No.", adminEmail: m.support });
    const [link, ...more] = await links(email);
    expect(more).toEqual([]);

    // A program that looks through mail opens what it finds, more than once, and asks for its head.
    for (const method of ["GET", "HEAD", "GET"]) {
      expect((await new Visitor(service).open(link!, { method })).status).toBe(200);
    }
    const waits = ["pending_review", false];
    expect(await claims(email)).toEqual([waits, waits, ["rejected", false]]);

    const visitor = new Visitor(service);
    const page = await visitor.open(link!, { headers: { "sec-fetch-site": "cross-site" } });
    expect(page.text).toContain(email);
    // The secret is in no address of the page.
    expect(page.text).toContain('<a href="/sign-in">Sign in</a>');
    // The oldest first.
    expect(Array.from(page.text.matchAll(/<li>([^<]*), on /g), ([, name]) => name)).toEqual(
      orgs.map(({ name }) => name),
    );
    const answer = await visitor.submit(page, PAGE, {});
    expect([answer.status, answer.text.match(/waiting for review/g)]).toEqual([
      200,
      [expect.any(String), expect.any(String)],
    ]);
    expect(await claims(email)).toEqual([
      ["pending_review", true],
      ["pending_review", true],
      ["rejected", false],
    ]);
    const { value } = await door.claims(m.support, { limit: 200 });
    const seen = value.claims.filter((one: { userEmail: string }) => one.userEmail === email);
    expect(seen.map((one: { emailVerified: boolean }) => one.emailVerified).toSorted()).toEqual([
      false,
      true,
      true,
    ]);
    // It signs nobody in.
    expect(visitor.cookies.size).toBe(0);
    // What is confirmed is not asked for again.
    const signedIn = await new Visitor(service).signIn(email);
    expect((await signedIn.open(PAGE)).text).toContain("Nothing in your name is waiting to be confirmed.");
  });

  test("says on which day each was claimed, the oldest first", async () => {
    const email = somebody();
    const orgs = [await m.addOrganization(db()), await m.addOrganization(db())];
    for (const [place, org] of orgs.entries()) {
      const { claimId } = await claim(email, org);
      await db().query("update app_public.organization_claims set created_at = $2 where claim_id = $1", [
        ...[claimId, ["2024-05-17T12:00:00Z", "2024-03-09T12:00:00Z"][place]],
      ]);
    }
    const { text } = await new Visitor(service).open((await links(email))[0]!);
    expect(Array.from(text.matchAll(/<li>([^<]*, on [^<]*)<\/li>/g), ([, item]) => item)).toEqual([
      `${orgs[1]!.name}, on 2024-03-09`,
      `${orgs[0]!.name}, on 2024-05-17`,
    ]);
  });

  test("confirms what the page has shown, and nothing that was claimed since", async () => {
    const email = somebody();
    await claim(email);
    const visitor = new Visitor(service);
    const page = await visitor.open((await links(email))[0]!);
    await claim(email);
    expect((await visitor.submit(page, PAGE, {})).status).toBe(200);
    expect(await claims(email)).toEqual([
      ["pending_review", true],
      ["pending_review", false],
    ]);
  });

  test("confirms nobody else's claim, though its page was made to name one", async () => {
    const [email, other] = [somebody(), somebody()];
    await claim(email);
    const { claimId } = await claim(other);
    const visitor = new Visitor(service);
    const { text } = await visitor.open((await links(email))[0]!);
    const changed = text.replace(/(name="claims" type="hidden" value=")[^"]+/, `$1${claimId}`);
    expect(changed).toContain(claimId);
    expect((await visitor.submit({ text: changed }, PAGE, {})).status).toBe(200);
    expect([await claims(email), await claims(other)]).toEqual([
      [["pending_review", false]],
      [["pending_review", false]],
    ]);
  });

  test("works once, also when its button is pressed twice at the same time", async () => {
    const email = somebody();
    await claim(email);
    const [link] = await links(email);
    const visitor = new Visitor(service);
    const page = await visitor.open(link!);
    const press = async () => (await visitor.submit(page, PAGE, {})).status;
    // All of them have seen the link before one of them takes it.
    const client = await db().connect();
    await client.query("begin");
    await client.query("select from app_private.sign_ins where email = $1 for update", [email]);
    const pressed = [press(), press(), press()];
    await eventually(async () => {
      const { rows } = await db().query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      expect(rows.length).toBe(3);
    });
    await client.query("commit");
    client.release();
    expect((await Promise.all(pressed)).toSorted((a, b) => a - b)).toEqual([200, 403, 403]);
    expect((await new Visitor(service).open(link!)).status).toBe(403);
    expect(await press()).toBe(403);
  });

  test.each([
    ["7 days 1 second", 403],
    ["6 days 23 hours", 200],
  ])("after %s is answered with %d", async (age, status) => {
    const email = somebody();
    await claim(email);
    const [link] = await links(email);
    const visitor = new Visitor(service);
    const page = await visitor.open(link!);
    await db().query(
      "update app_private.sign_ins set created_at = created_at - $1::interval where email = $2",
      [age, email],
    );
    expect((await visitor.open(link!)).status).toBe(status);
    expect((await visitor.submit(page, PAGE, {})).status).toBe(status);
    expect(await claims(email)).toEqual([["pending_review", status === 200]]);
  });

  test("is about its own address, whoever is signed in where it is opened", async () => {
    const [email, other] = [somebody(), somebody()];
    await claim(email);
    await claim(other);
    const visitor = await new Visitor(service).signIn(other);
    const page = await visitor.open((await links(email))[0]!);
    expect(page.text).toContain(`says that ${email} belongs to`);
    expect((await visitor.submit(page, PAGE, {})).status).toBe(200);
    expect([await claims(email), await claims(other)]).toEqual([
      [["pending_review", true]],
      [["pending_review", false]],
    ]);
  });

  test("is of no use to sign in, nor one to sign in here", async () => {
    const email = somebody();
    await claim(email);
    const token = new URL((await links(email))[0]!, service.url).searchParams.get("token")!;
    const visitor = new Visitor(service);
    const other = new URL(await visitor.linkFor(email), service.url).searchParams.get("token")!;
    expect((await visitor.open(`/sign-in/callback?token=${token}`)).status).toBe(403);
    expect((await visitor.open(`${PAGE}?token=${other}`)).status).toBe(403);
    expect(await claims(email)).toEqual([["pending_review", false]]);
  });

  test("is not pressed by a page of another site, nor guessed", async () => {
    const email = somebody();
    await claim(email);
    const [link] = await links(email);
    const visitor = new Visitor(service);
    const page = await visitor.open(link!);
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }]) {
      expect((await visitor.submit(page, PAGE, {}, { headers })).status).toBe(403);
    }
    for (const token of ["", "guessed", "a".repeat(43)]) {
      expect((await visitor.submit({ text: "" }, PAGE, { token })).status).toBe(403);
      expect((await visitor.open(`${PAGE}?token=${token}`)).status).toBe(403);
    }
    expect((await visitor.submit({ text: "" }, PAGE, {})).status).toBe(403);
    // Nor by what is no form at all.
    expect((await visitor.open(PAGE, { method: "POST" })).status).toBe(403);
    expect(await claims(email)).toEqual([["pending_review", false]]);
  });

  test("is in the database by its hash alone once its mail is sent, in no log, and forgotten with the mail", async () => {
    const email = somebody();
    await claim(email);
    const [link] = await links(email);
    const token = new URL(link!, service.url).searchParams.get("token")!;
    expect(token).toMatch(/^[\w-]{43}$/);
    const sent: string[] = [];
    const mailer = {
      send: async ({ to, text }: { to: string; text: string }) => void (to === email && sent.push(text)),
    };
    await sendMails({ pool: db(), mailer, platformUrl: "https://platform.example", logger });
    expect(sent).toEqual([expect.stringContaining(`\n\nhttps://platform.example${link}\n\n`)]);
    const { rows } = await db().query<{ kept: string }>(
      `select to_jsonb(t)::text as kept from app_private.mails as t where recipient = $1
       union all select to_jsonb(s)::text from app_private.sign_ins as s where email = $1`,
      [email],
    );
    expect(rows.length).toBe(2);
    expect(rows.map(({ kept }) => kept).join()).not.toContain(token);
    const { rows: sentMails } = await db().query(
      "select subject is not null as subject, text_body, html_body from app_private.mails where recipient = $1",
      [email],
    );
    expect(sentMails).toEqual([{ subject: true, text_body: null, html_body: null }]);
    expect((await follow(link!)).status).toBe(200);
    expect(log.join("")).not.toContain(token);

    const late = somebody();
    await claim(late);
    // For as long as the link works, its mail may be on its way.
    await db().query(
      `update app_private.sign_ins set created_at = now() - interval '6 days' where email = '${late}';
       update app_private.mails set created_at = now() - interval '6 days' where recipient = '${late}';
       select app_private.forget_old_sessions()`,
    );
    expect(await links(late)).toHaveLength(1);
    await db().query(
      `update app_private.sign_ins set created_at = now() - interval '8 days' where email = '${late}';
       update app_private.mails set created_at = now() - interval '8 days' where recipient = '${late}';
       select app_private.forget_old_sessions()`,
    );
    const { rowCount } = await db().query(
      `select email from app_private.sign_ins where email = $1
       union all select recipient from app_private.mails where recipient = $1`,
      [late],
    );
    expect(rowCount).toBe(0);
  });
});

describe("the mail", () => {
  test("comes to an address once a day, however much is claimed in its name, and for nothing that is decided", async () => {
    const email = somebody();
    for (let time = 0; time < 3; time++) await claim(email);
    const mailedAgo = (age: string) =>
      db().query("update app_private.sign_ins set created_at = now() - $2::interval where email = $1", [
        ...[email, age],
      ]);
    await mailedAgo("23 hours");
    await claim(email);
    expect(await links(email)).toHaveLength(1);
    await mailedAgo("25 hours");
    await claim(email);
    const [old, fresh] = await links(email);
    expect(fresh).toBeDefined();
    // Both are good for whatever waits.
    expect((await follow(old!)).status).toBe(200);
    expect(await claims(email)).toEqual(Array.from({ length: 5 }, () => ["pending_review", true]));

    const org = await m.addOrganization(db());
    const first = `first@${org.domain}`;
    expect((await claim(first, org)).resultVariant).toBe("claimed");
    expect(await links(first)).toEqual([]);
  });

  test("comes to a mailbox five times a day, whatever stands behind a plus", async () => {
    const [name] = somebody().split("@");
    const addresses = Array.from(
      { length: 7 },
      (_, i) => `${i % 2 ? name : name!.toUpperCase()}+${i}@elsewhere.example`,
    );
    for (const email of addresses) await claim(email);
    expect(await Promise.all(addresses.map(async (email) => (await links(email)).length))).toEqual([
      1, 1, 1, 1, 1, 0, 0,
    ]);
    for (const [hours, mails] of [
      [23, 0],
      [25, 1],
    ] as const) {
      await db().query(
        "update app_private.sign_ins set created_at = now() - make_interval(hours => $2) where email = $1",
        [addresses[0], hours],
      );
      await claim(addresses[6]!);
      expect([hours, (await links(addresses[6]!)).length]).toEqual([hours, mails]);
    }
  });

  test("comes also to who was sent links to sign in that day, and however many", async () => {
    const email = somebody();
    for (let time = 0; time < 5; time++) await new Visitor(service).linkFor(email);
    await claim(email);
    expect(await links(email)).toHaveLength(1);
  });

  test("says what was claimed; what only the claim calls a new organization, it does not", async () => {
    const org = await m.addOrganization(db());
    const [email, other] = [somebody(), somebody()];
    await claim(email, org);
    await door.claim({
      ...{ userEmail: other, firstName: "Ana", lastName: "Silva", roles: [] },
      ...{ orgName: "Win now at evil.example", isNewOrg: true },
    });
    const third = somebody();
    const { value: proposed } = await door.claim({
      ...{ userEmail: somebody(), firstName: "Ana", lastName: "Silva", roles: [] },
      ...{ orgName: "Win more at evil.example", isNewOrg: true },
    });
    await door.claim({
      ...{ userEmail: third, firstName: "Ana", lastName: "Silva", roles: [], isNewOrg: false },
      ...{ orgName: "Win more at evil.example", orgUri: proposed.orgUri },
    });
    const { rows } = await db().query(
      "select recipient, recipient_name as name, data from app_private.mails where recipient = any ($1) order by created_at",
      [[email, other, third]],
    );
    const texts = rows.map(({ data, name }) => composeMail("confirm_claim", data, name, service.url).text);
    expect(texts[0]).toContain(org.name);
    expect(texts[0]).toContain(`${service.url}${PAGE}?token=`);
    expect(texts.slice(1)).toEqual([1, 2].map(() => expect.stringContaining("a new organization")));
    // Every few thousandth of the secrets in the links has her name in it.
    expect(texts.join().replaceAll(/token=\S+/g, "")).not.toMatch(/evil|Ana/);
  });
});

describe("where an operator asks for proof", () => {
  test("a claim that lacked nothing else is approved with it, and its history says so", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    const { claimId, resultVariant } = await claim(email, org);
    expect(resultVariant).toBe("manual-review");
    const answer = await follow((await links(email))[0]!);
    expect(answer.text).toContain(`${org.name}: approved`);
    expect(await m.membershipOf(db(), org.uri, email)).toBe("org_admin active");
    expect(await m.historyOf(db(), claimId)).toEqual([
      [null, "submitted", email],
      ["submitted", "pending_review", null],
      ["pending_review", "approved", null],
    ]);
    expect(await proofs(claimId)).toEqual([
      [email, expect.stringMatching(/^mail [\w-]{36}$/), expect.any(String)],
    ]);
    const { value } = await door.ownClaims(email);
    expect(value.claims).toMatchObject([
      { status: "approved", resultVariant: "claimed", emailVerified: true, role: "org_admin" },
    ]);
    const { rows } = await db().query(
      "select kind from app_private.mails where recipient = $1 order by created_at",
      [email],
    );
    expect(rows.map(({ kind }) => kind)).toEqual(["confirm_claim", "claim_approved"]);
  });

  test("who is erased afterwards takes nobody else's proof along", async () => {
    const [erased, other] = [somebody(), somebody()];
    const claimed = [];
    for (const email of [erased, other]) {
      claimed.push((await claim(email)).claimId);
      await follow((await links(email))[0]!);
    }
    const before = await proofs(claimed[1]!);
    await db().query("select app_private.begin_erasure($1, true)", [erased]);
    await db().query("select app_private.close_claims($1)", [erased]);
    await db().query("select app_private.finish_erasure($1)", [erased]);
    expect(await proofs(claimed[1]!)).toEqual(before);
    expect(JSON.stringify(await proofs(claimed[0]!))).not.toContain(erased);
  });

  test("what lacked more than that goes on waiting for its review", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const [first, second, elsewhere] = [`first@${org.domain}`, `second@${org.domain}`, somebody()];
    for (const email of [first, second, elsewhere]) await claim(email, org);
    for (const email of [elsewhere, second]) {
      await follow((await links(email))[0]!);
      expect(await claims(email)).toEqual([["pending_review", true]]);
      expect(await m.membershipOf(db(), org.uri, email)).toBeUndefined();
    }
    // The first one was let in by nothing that others did.
    await follow((await links(first))[0]!);
    expect(await claims(first)).toEqual([["approved", true]]);
  });

  test("whose domain is not the organization's any more, nobody is let in by", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    await claim(email, org);
    await db().query("update app_public.organizations set domain = 'moved-' || domain where org_uri = $1", [
      org.uri,
    ]);
    await follow((await links(email))[0]!);
    expect(await claims(email)).toEqual([["pending_review", true]]);
    expect(await m.membershipOf(db(), org.uri, email)).toBeUndefined();
  });

  test("whose organization is rejected by then, nobody is let in by", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    await claim(email, org);
    await db().query("update app_public.organizations set status = 'rejected' where org_uri = $1", [org.uri]);
    await follow((await links(email))[0]!);
    expect(await claims(email)).toEqual([["pending_review", true]]);
    expect(await m.membershipOf(db(), org.uri, email)).toBeUndefined();
  });

  test("who has come to manage the organization meanwhile decides about it", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    await claim(email, org);
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [org.uri, `head@${org.domain}`]);
    await follow((await links(email))[0]!);
    expect(await claims(email)).toEqual([["pending_review", true]]);
    expect(await m.membershipOf(db(), org.uri, email)).toBeUndefined();
  });

  test("who has become a member meanwhile stays what they are, and their claim goes on waiting", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    await claim(email, org);
    await db().query("select app_private.add_member($1, $2, 'org_member')", [org.uri, email]);
    await follow((await links(email))[0]!);
    expect(await claims(email)).toEqual([["pending_review", true]]);
    expect(await m.membershipOf(db(), org.uri, email)).toBe("org_member active");
    // Also who is one by another claim, without a membership.
    const other = await m.addOrganization(db());
    const person = `first@${other.domain}`;
    const { claimId } = await claim(person, other);
    await m.addApprovedClaim(db(), other, person);
    await follow((await links(person))[0]!);
    const own = (await door.ownClaims(person)).value.claims;
    expect(own.find((one: { claimId: string }) => one.claimId === claimId).status).toBe("pending");
  });

  test("what was withdrawn stays so", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    const { claimId } = await claim(email, org);
    await door.withdraw({ claimId, userEmail: email });
    expect((await new Visitor(service).open((await links(email))[0]!)).text).toContain(
      "Nothing in your name is waiting",
    );
    expect(await claims(email)).toEqual([["withdrawn", false]]);
  });

  test("nobody takes that way past the review without it", async () => {
    const email = somebody();
    const { claimId } = await claim(email);
    for (const change of ["status = 'approved'", "status = 'approved', email_verified = true"]) {
      await expect(
        db().query(`update app_public.organization_claims set ${change} where claim_id = $1`, [claimId]),
      ).rejects.toThrow("cannot go pending_review → approved");
    }
    await askForProof(true);
    const org = await m.addOrganization(db());
    const first = await claim(`first@${org.domain}`, org);
    await expect(
      db().query("update app_public.organization_claims set status = 'approved' where claim_id = $1", [
        first.claimId,
      ]),
    ).rejects.toThrow("cannot go pending_review → approved");
  });
});

describe("signed in", () => {
  test("one is shown the oldest hundred of what waits", async () => {
    const email = somebody();
    const client = await db().connect();
    try {
      // As many organizations, which are not looked at here, would take long to make.
      await client.query("begin; set local session_replication_role = replica");
      await client.query(
        `with person as (insert into app_public.users (email) values ($1) returning user_id)
         insert into app_public.organization_claims (user_id, org_uri, org_name, email_domain, status, created_at)
         select user_id, 'https://many.example/' || n, 'Number ' || n, 'elsewhere.example', 'pending_review',
           now() - (200 - n) * interval '1 minute'
         from person, generate_series(1, 101) as n`,
        [email],
      );
      await client.query("commit");
      const { text } = await (await new Visitor(service).signIn(email)).open(PAGE);
      expect(Array.from(text.matchAll(/<li>Number (\d+), on /g), ([, n]) => Number(n))).toEqual(
        Array.from({ length: 100 }, (_, i) => i + 1),
      );
    } finally {
      await client.query(
        "delete from app_public.organization_claims where org_uri like 'https://many.example/%'",
      );
      client.release(true);
    }
  });

  test("one is led past the page, and confirms there what waits in one's own name", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    const { claimId } = await claim(email, org);
    const other = somebody();
    await claim(other);
    const visitor = new Visitor(service);
    const { location } = await visitor.open(await visitor.linkFor(email, "/docs"));
    expect(location).toBe(`${PAGE}?returnTo=%2Fdocs`);
    const page = await visitor.open(location!);
    expect(page.text).toContain('<a href="/docs">Not now</a>');
    // To be signed in proves whose address it is, and not that they asked for it.
    expect(await claims(email)).toEqual([["pending_review", false]]);

    for (const [from, headers] of [
      [{ text: "" }, {}],
      [page, { "sec-fetch-site": "cross-site" }],
    ] as const) {
      expect((await visitor.submit(from, PAGE, {}, { headers })).status).toBe(403);
    }
    const shown = /name="claims" type="hidden" value="([^"]+)"/.exec(page.text)![1]!;
    const twice = await visitor.open(PAGE, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: `token=a&token=b&claims=${shown}`,
    });
    expect(twice.status).toBe(403);
    expect((await visitor.submit(page, PAGE, {})).text).toContain(`${org.name}: approved`);
    expect(await claims(email)).toEqual([["approved", true]]);
    expect(await proofs(claimId)).toEqual([
      [email, expect.stringMatching(/^session [\w-]{36}$/), expect.any(String)],
    ]);
    expect(await claims(other)).toEqual([["pending_review", false]]);
    expect((await visitor.open(await visitor.linkFor(email, "/docs"))).location).toBe("/docs");
  });

  test("in other capitals, one finds and confirms what waits all the same", async () => {
    const email = somebody();
    await claim(email);
    const visitor = await new Visitor(service).signIn(email.toUpperCase());
    const { text } = await visitor.submit(await visitor.open(PAGE), PAGE, {});
    expect(text).toContain("Your address is confirmed.");
    expect(await claims(email)).toEqual([["pending_review", true]]);
  });

  test("who presses the button of a page twice has confirmed once", async () => {
    const email = somebody();
    const { claimId } = await claim(email);
    const visitor = await new Visitor(service).signIn(email);
    const page = await visitor.open(PAGE);
    for (const said of ["Your address is confirmed.", "Nothing is waiting any more."]) {
      const { status, text } = await visitor.submit(page, PAGE, {});
      expect([status, text]).toEqual([200, expect.stringContaining(said)]);
    }
    expect(await proofs(claimId)).toHaveLength(1);
  });

  test("and away for too long, one confirms nothing", async () => {
    const email = somebody();
    await claim(email);
    const visitor = await new Visitor(service).signIn(email);
    const page = await visitor.open(PAGE);
    await db().query(
      "update app_private.sessions set last_used_at = now() - interval '13 hours' where email = $1",
      [email],
    );
    await visitor.submit(page, PAGE, {});
    expect(await claims(email)).toEqual([["pending_review", false]]);
  });

  test("is what the page asks for without a link, and it leads to no other service", async () => {
    const visitor = new Visitor(service);
    const { status, location } = await visitor.open(PAGE);
    expect([status, location]).toEqual([303, "/sign-in?returnTo=%2Fconfirm-address"]);
    const email = somebody();
    await claim(email);
    const page = await visitor.open(
      `${(await links(email))[0]!}&returnTo=${encodeURIComponent("//evil.example")}`,
    );
    expect(page.text).not.toContain("evil.example");
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});
