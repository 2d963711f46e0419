// Deciding claims by the forms of the pages, without script: what they do and refuse.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { longestText } from "../db/catalog.ts";
import { ApiError } from "../server/errors.ts";
import { act } from "../server/pages/claims/decision.ts";
import type { Visit } from "../server/pages/page.ts";
import { ClaimQueue, NO_CLAIM, QUEUE } from "./support/claim-queue.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

let service: TestService;
let queue: ClaimQueue;
let support: Visitor;
beforeAll(async () => {
  service = await startTestService({ world: false });
  queue = new ClaimQueue(service);
  await queue.prepare();
  support = await queue.signIn(m.support);
});
afterAll(() => service.stop());

const db = () => service.database.owner;

describe("the forms, without script", () => {
  test("ask whether it is meant, decide, lead on to the next claim and say what became of this one", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const [first, second] = [await queue.claim(org), await queue.claim(org)];
    const head = await queue.signIn(`head@${org.domain}`);
    const page = await head.open(`${QUEUE}/${first}`);
    const asking = await head.submit(page, `${QUEUE}/${first}`, {
      action: "approve",
      claim: first,
      role: "org_contributor",
    });
    expect([asking.status, await queue.statusOf(first)]).toEqual([200, "pending_review"]);
    expect(asking.text).toContain("Approve this claim?");
    const done = await head.submit(asking, `${QUEUE}/${first}`, {});
    expect([done.status, done.location]).toEqual([303, `${QUEUE}/${second}?done=${first}`]);
    expect(
      await m.membershipOf(db(), org.uri, (await queue.told(m.support, `claim_to_review('${first}')`)).email),
    ).toBe("org_contributor active");
    expect((await head.open(done.location!)).text).toMatch(/approved<\/b>\s+by <bdi>head@/);
    // Nothing was said to whom nothing was decided about.
    const waiting = (await head.open(`${QUEUE}?done=${second}`)).text;
    expect([waiting.includes("still waits."), waiting.includes("They get an e-mail.")]).toEqual([
      true,
      false,
    ]);
  });

  test("reject with a reason, one of the earlier if none was written; without any it is asked for", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const head = await queue.signIn(`head@${org.domain}`);
    const [first, second, third] = [await queue.claim(org), await queue.claim(org), await queue.claim(org)];
    const page = await head.open(`${QUEUE}/${first}`);
    const asking = await head.submit(page, QUEUE, { action: "reject", claim: first });
    expect(asking.text).toMatch(/<textarea[^>]* required/);
    for (const { text } of [page, asking])
      expect(text).toContain(`name="notes" rows="3" maxlength="${longestText.text}"`);
    const refused = await head.submit(page, QUEUE, { action: "reject", claim: first, confirmed: "yes" });
    expect([refused.status, await queue.statusOf(first)]).toEqual([400, "pending_review"]);
    await head.submit(page, QUEUE, {
      action: "reject",
      claim: first,
      confirmed: "yes",
      notes: "Two\r\nlines.",
    });
    const options = /<select name="reason">[\s\S]*?<\/select>/.exec(
      (await head.open(`${QUEUE}/${second}`)).text,
    )![0];
    expect(options).toContain("Two");
    await head.submit(page, QUEUE, {
      action: "reject",
      claim: second,
      confirmed: "yes",
      reason: "Two\r\nlines.",
    });
    await head.submit(page, QUEUE, {
      action: "reject",
      claim: third,
      confirmed: "yes",
      notes: "Typed.",
      reason: "Two\r\nlines.",
    });
    const { rows } = await db().query(
      `select status, review_notes as notes from app_public.organization_claims where org_uri = $1
       order by created_at`,
      [org.uri],
    );
    const kept = { status: "rejected", notes: "Two\nlines." };
    expect(rows).toEqual([kept, kept, { status: "rejected", notes: "Typed." }]);
  });

  test("let somebody in again with the role that is given now, whatever they were before", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin", back: "org_member" });
    const email = `back@${org.domain}`;
    await db().query("select app_private.change_member($1, $2, null, 'revoked')", [org.uri, email]);
    const again = await queue.claim(org, { userEmail: email });
    const head = await queue.signIn(`head@${org.domain}`);
    const page = await head.open(`${QUEUE}/${again}`);
    const sent = await head.submit(page, QUEUE, {
      ...{ action: "approve", claim: again, confirmed: "yes", role: "org_contributor" },
    });
    expect(await m.membershipOf(db(), org.uri, email)).toBe("org_contributor active");
    expect((await head.open(sent.headers.get("location")!)).text).not.toContain("already a member");
  });

  test("decide several at once, each by itself", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const head = await queue.signIn(`head@${org.domain}`);
    const [first, second, third] = [await queue.claim(org), await queue.claim(org), await queue.claim(org)];
    const page = await head.open(QUEUE);
    const [, hidden] = /name="form" type="hidden" value="([^"]+)"/.exec(page.text)!;
    const send = (ids: string[]) =>
      head.open(QUEUE, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams([
          ...Object.entries({ form: hidden!, confirmed: "yes", action: "approve", role: "org_member" }),
          ...ids.map((id): [string, string] => ["claim", id]),
        ]).toString(),
      });
    const done = await send([first, second]);
    expect([done.status, done.location]).toEqual([
      303,
      `${QUEUE}?done=${encodeURIComponent(`${first},${second}`)}`,
    ]);
    expect((await head.open(done.location!)).text.match(/approved<\/b>/g)).toHaveLength(2);
    const brief = await queue.told(
      `head@${org.domain}`,
      `claims_in_brief(array['${second}', '${first}']::uuid[])`,
    );
    expect(brief.map(({ id }: { id: string }) => id)).toEqual([first, second]);
    const settled = await queue.claim(org);
    await queue.door.review({
      ...{ claimId: settled, action: "reject", notes: "No.", adminEmail: m.support },
    });
    const mixed = await send([settled, third, NO_CLAIM]);
    expect(mixed.status).toBe(200);
    expect(mixed.text).toContain("Some of it did not work");
    expect(mixed.text).toContain("This claim has already been rejected.");
    // What is left to be done about those that worked is said there.
    expect(mixed.text).toContain(`<a href="${QUEUE}?done=${third}">Go on</a>`);
    expect([await queue.statusOf(third), mixed.text.match(/class="good">approved/g)]).toEqual([
      "approved",
      ['class="good">approved'],
    ]);
    const fourth = await queue.claim(org);
    const twice = await send([fourth, fourth]);
    expect([twice.status, twice.location]).toEqual([303, `${QUEUE}?done=${fourth}`]);
    const unknown = (length: number) => send(Array.from({ length }, () => crypto.randomUUID()));
    const asMany = await unknown(20);
    expect([asMany.status, asMany.text.match(/class="bad"/g)?.length]).toEqual([200, 20]);
    expect([(await unknown(21)).status, (await send([])).status]).toEqual([400, 400]);
  });

  test("are answered twice as once where they are sent twice, with what an approval leaves to be done", async () => {
    const org = await m.addOrganization(db());
    const [first, second] = [await queue.claim(org), await queue.claim(org)];
    const page = await support.open(`${QUEUE}/${first}`);
    const approve = { action: "approve", claim: first, role: "org_contributor", confirmed: "yes" };
    const twice = await Promise.all(
      [1, 2].map(() => support.submit(page, QUEUE, { ...approve, notes: "Yes." })),
    );
    for (const { status, location } of twice) {
      expect([status, location]).toEqual([303, expect.stringMatching(`[?&]done=${first}$`)]);
      expect((await support.open(location!)).text).toContain('<p class="warn">');
    }
    const again = (fields: Record<string, string>) => support.submit(page, QUEUE, { ...approve, ...fields });
    expect((await again({ notes: " Yes.\r\n" })).status).toBe(303);
    const reject = { action: "reject", claim: second, notes: "Two\r\nlines." };
    for (const role of ["org_contributor", "org_admin"])
      expect((await again({ ...reject, role })).status).toBe(303);
    const { rows } = await db().query(
      `select claim_id as id, to_status as status, count(*)::integer from app_public.organization_claim_history
       where claim_id = any ($1) and to_status in ('approved', 'rejected') group by claim_id, to_status order by to_status`,
      [[first, second]],
    );
    expect(rows).toEqual([
      { id: first, status: "approved", count: 1 },
      { id: second, status: "rejected", count: 1 },
    ]);
  });

  test("are refused the second time where they decide otherwise, or somebody else has decided, and give the note back", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin", second: "org_admin" });
    const head = await queue.signIn(`head@${org.domain}`);
    const page = await head.open(QUEUE);
    const usual = await queue.claim(org);
    expect(
      (await head.submit(page, QUEUE, { action: "approve", claim: usual, confirmed: "yes" })).status,
    ).toBe(303);
    const id = await queue.claim(org);
    const made = { action: "approve", claim: id, confirmed: "yes", role: "org_member", notes: "Welcome." };
    expect((await head.submit(page, QUEUE, made)).status).toBe(303);
    const supports = await support.open(QUEUE);
    for (const [who, form, fields, said] of [
      [head, page, { ...made, role: "org_admin" }, "Welcome."],
      [head, page, { ...made, notes: "Hello." }, "Hello."],
      [head, page, { ...made, notes: "" }, undefined],
      [head, page, { ...made, action: "reject" }, "Welcome."],
      [head, page, { ...made, claim: usual }, "Welcome."],
      [support, supports, made, "Welcome."],
    ] as const) {
      const { status, text } = await who.submit(form, QUEUE, fields);
      expect([
        status,
        text.includes("has already been approved"),
        /<p class="card text"><bdi>(.*?)</.exec(text)?.[1],
      ]).toEqual([...[409, true, said]]);
    }
    // Without a role it is that of a member, the second time too.
    expect(
      (await head.submit(page, QUEUE, { action: "approve", claim: usual, confirmed: "yes" })).status,
    ).toBe(303);
    // Nor is it another decision because the claimant was a member already, whose role stays; that is said.
    const kept = await queue.claim(org);
    await db().query(
      `insert into app_public.memberships (org_uri, user_id, role)
       select org_uri, user_id, 'org_contributor' from app_public.organization_claims where claim_id = $1`,
      [kept],
    );
    for (const _ of [1, 2]) {
      const sent = await head.submit(page, QUEUE, {
        action: "approve",
        claim: kept,
        confirmed: "yes",
        role: "org_admin",
      });
      expect(sent.status).toBe(303);
      expect((await head.open(sent.headers.get("location")!)).text).toContain("already a member");
    }
    const asked = `has_decided_so('${id}', 'approve', 'Welcome.', 'org_member')`;
    expect([await queue.told(`head@${org.domain}`, asked), await queue.told(m.support, asked)]).toEqual([
      true,
      false,
    ]);
    // Nobody is told of a claim that they may not review any more.
    const suspend = "select app_private.change_member($1, $2, null, 'suspended')";
    await db().query(suspend, [org.uri, `head@${org.domain}`]);
    expect(await queue.told(`head@${org.domain}`, asked)).toBe(false);
  });

  test("say of an approval what it leaves to be done, and which role it gave", async () => {
    const org = await m.addOrganization(db());
    const [first, second] = [await queue.claim(org), await queue.claim(org)];
    const brief = async () => {
      const told = await queue.told(m.support, `claims_in_brief(array['${first}', '${second}']::uuid[])`);
      return told.map(({ role, warnings }: { role: string; warnings: { code: string }[] }) => [
        ...[role, warnings.map(({ code }) => code)],
      ]);
    };
    await queue.door.review({
      ...{ claimId: first, action: "approve", role: "org_contributor", adminEmail: m.support },
    });
    expect(await brief()).toEqual([
      ["org_contributor", ["no_administrator"]],
      [null, []],
    ]);
    await queue.door.review({
      ...{ claimId: second, action: "approve", role: "org_admin", adminEmail: m.support },
    });
    expect(await brief()).toEqual([
      ["org_contributor", []],
      ["org_admin", []],
    ]);
  });

  test("end where something has failed, and say what became of those alone that are claims", async () => {
    const broken = new ApiError("database_unavailable");
    const sent: Record<string, string[]> = { action: ["approve"], claim: [NO_CLAIM], confirmed: ["yes"] };
    const visit = {
      query: () => undefined,
      field: (name: string) => sent[name]?.[0],
      fields: (name: string) => sent[name] ?? [],
      ask: (statement: string) => {
        if (statement.includes("review_organization_claim")) return Promise.reject(broken);
        return Promise.resolve(statement.includes("claims_in_brief") ? [] : { following: null });
      },
    } as unknown as Visit;
    // A refusal would say that the claim was looked at.
    await expect(act(visit)).rejects.toBe(broken);
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const id = await queue.claim(org, { firstName: "Still-here" });
    const { status, text } = await support.open(`${QUEUE}?done=x,${id},`);
    expect([status, text.includes("still waits.")]).toEqual([200, true]);
  });

  test("refuse who may not, in the page's name and by hand", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin", reader: "org_member" });
    const other = await m.addOrganization(db(), { head: "org_admin" });
    const id = await queue.claim(org);
    const own = await queue.claim(await m.addOrganization(db()), { userEmail: m.support });
    const decide = { action: "approve", claim: id, confirmed: "yes", role: "org_admin" };
    const supportPage = await support.open(`${QUEUE}/${id}`);
    // Signed out; in nobody's name; by a token that was made for somebody else; without one; from elsewhere.
    expect((await new Visitor(service).submit(supportPage, QUEUE, decide)).status).toBe(401);
    for (const email of [`reader@${org.domain}`, `head@${other.domain}`]) {
      const visitor = await queue.signIn(email);
      const theirs = await visitor.open("/sign-out");
      for (const form of [supportPage, { text: "" }])
        expect((await visitor.submit(form, QUEUE, decide)).status).toBe(403);
      for (const confirmed of ["yes", ""]) {
        const { status, text } = await visitor.submit(theirs, `${QUEUE}/${id}`, { ...decide, confirmed });
        expect([email, [403, 404].includes(status), text.includes(org.name)]).toEqual([email, true, false]);
      }
    }
    const headers = { "sec-fetch-site": "cross-site" };
    expect((await support.submit(supportPage, QUEUE, decide, { headers })).status).toBe(403);
    expect(await queue.statusOf(id)).toBe("pending_review");
    const forOwn = await support.submit(supportPage, QUEUE, { ...decide, claim: own });
    expect([forOwn.status, await queue.statusOf(own)]).toEqual([403, "pending_review"]);
    expect(forOwn.text).toContain("You cannot review your own claim");
    for (const wrong of [{ role: "king" }, { action: "delete" }, { claim: "x" }])
      expect((await support.submit(supportPage, QUEUE, { ...decide, ...wrong })).status).toBe(400);
    expect((await support.submit(supportPage, QUEUE, { ...decide, claim: NO_CLAIM })).status).toBe(404);
    expect(await queue.statusOf(id)).toBe("pending_review");
  });
});
