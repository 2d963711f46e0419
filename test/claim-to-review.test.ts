// One claim: what whoever reviews it is told.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ClaimQueue, QUEUE, queueWith } from "./support/claim-queue.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import type { Visitor } from "./support/visitor.ts";

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
/** As many other claims as are shown beside one. */
const MOST_BESIDE = 10;

describe("a claim", () => {
  test("organizations like it, by name, by domain, by website, and by the claimant's address", async () => {
    const named = await m.addOrganization(db());
    await db().query(
      "update app_public.organizations set name = 'Waterfall Bible Trust' where org_uri = $1",
      [named.uri],
    );
    const sited = await m.addOrganization(db());
    await db().query(
      "update app_public.organizations set website = 'https://www.gorge.example/en' where org_uri = $1",
      [sited.uri],
    );
    const id = await queue.propose("Waterfal Bible Trust", {
      newOrgWebsite: "http://gorge.example",
      userEmail: `x@${named.domain}`,
    });
    const { similar } = await queue.told(m.support, `claim_to_review('${id}')`);
    expect(similar.map(({ uri, alike }: { uri: string; alike: string[] }) => [uri, alike])).toEqual([
      [named.uri, ["domain", "name"]],
      [sited.uri, ["website"]],
    ]);
    const { text } = await support.open(`${QUEUE}/${id}`);
    expect(text).toContain("2 organizations look like it.");
    expect(text).not.toContain('<span class="warn">active</span>');
    expect(text).toContain('<a href="http://gorge.example" rel="noopener noreferrer nofollow"');
  });

  test("organizations that have its name among other words are like it, the likeliest eight first, and none that has two words of it", async () => {
    const call = async (name: string) => {
      const { uri } = await m.addOrganization(db());
      await db().query("update app_public.organizations set name = $2 where org_uri = $1", [uri, name]);
      return uri;
    };
    for (let n = 0; n < 8; n++)
      await call(`Lantern Hill Fellowship, whose people go to all the villages around lake ${n}`);
    const likeliest = await call("Zion Lantern Hill Felowship");
    await call("Lantern Hill Makers");
    const id = await queue.propose("Lantern Hill Fellowship");
    const { similar } = await queue.told(m.support, `claim_to_review('${id}')`);
    expect(
      similar.map(({ uri, name }: { uri: string; name: string }) => (uri === likeliest ? "it" : name)),
    ).toEqual([
      "it",
      ...Array.from(
        { length: 7 },
        (_, n) => `Lantern Hill Fellowship, whose people go to all the villages around lake ${n}`,
      ),
    ]);
  });

  test("one with the same domain is likelier than one with nearly the same name", async () => {
    const [named, sited] = [await m.addOrganization(db()), await m.addOrganization(db())];
    const rename = (uri: string, name: string) =>
      db().query("update app_public.organizations set name = $2 where org_uri = $1", [uri, name]);
    await rename(named.uri, "Amber Coast Missions");
    await rename(sited.uri, "Zebra");
    const id = await queue.propose("Amber Coast Mission", { newOrgWebsite: `https://${sited.domain}` });
    const { similar } = await queue.told(m.support, `claim_to_review('${id}')`);
    expect(similar.map(({ uri }: { uri: string }) => uri)).toEqual([sited.uri, named.uri]);
  });

  test("one that has the domain of the organization itself is like it, or has it in its website", async () => {
    const [same, sited] = [await m.addOrganization(db()), await m.addOrganization(db())];
    await db().query("update app_public.organizations set website = $2 where org_uri = $1", [
      ...[sited.uri, `https://www.${same.domain}`],
    ]);
    const id = await queue.propose("Nothing Of The Kind", { orgDomain: same.domain });
    const { similar } = await queue.told(m.support, `claim_to_review('${id}')`);
    const found = similar.map(({ uri, alike }: { uri: string; alike: string[] }) => [uri, alike]);
    expect(Object.fromEntries(found)).toEqual({ [same.uri]: ["domain"], [sited.uri]: ["website"] });
  });

  test("a website is the same one whatever stands around its host, and another as part of a name or a path", async () => {
    const websites = {
      "https://www.chasm.example/en": true,
      "http://chasm.example:8443": true,
      "https://WWW.Chasm.EXAMPLE?lang=en": true,
      "http://somebody@chasm.example/": true,
      "https://chasm.example#top": true,
      "https://wwwchasm.example": false,
      "https://abyss.chasm.example": false,
      "https://directory.example/chasm.example": false,
    };
    const client = await db().connect();
    const same: string[] = [];
    try {
      // As earlier rules may have let it in: today's refuse some of these.
      await client.query("set session_replication_role = replica");
      for (const [website, isSame] of Object.entries(websites)) {
        const { uri } = await m.addOrganization(db());
        await client.query("update app_public.organizations set website = $2 where org_uri = $1", [
          uri,
          website,
        ]);
        if (isSame) same.push(uri);
      }
    } finally {
      client.release(true);
    }
    const id = await queue.propose("Unlike Any Of Them", {
      newOrgWebsite: "http://www.chasm.example:80/about",
    });
    const { similar } = await queue.told(m.support, `claim_to_review('${id}')`);
    expect(similar.map(({ uri }: { uri: string }) => uri).toSorted()).toEqual(same.toSorted());
  });

  test("who has a mailbox where anybody has one is like nobody for that", async () => {
    await m.addOrganization(db(), {}, { domain: "gmail.com" });
    const id = await queue.propose("Quite Something Else", { userEmail: "somebody@gmail.com" });
    const { similar, isFreeMail } = await queue.told(m.support, `claim_to_review('${id}')`);
    expect([isFreeMail, similar]).toEqual([true, []]);
    const { text } = await support.open(`${QUEUE}/${id}`);
    expect(text).toContain("Anybody can get an address like theirs.");
    // What is only proposed has no page.
    expect(text).not.toContain('href="/organizations/');
    const elsewhere = await queue.propose("Something Else Again");
    expect((await support.open(`${QUEUE}/${elsewhere}`)).text).not.toContain("Anybody can get");
  });

  test("of one that is like it are told its active members, and the claims that wait for it", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin", idle: "org_member" });
    await db().query("select app_private.change_member($1, $2, null, 'suspended')", [
      org.uri,
      `idle@${org.domain}`,
    ]);
    const decided = {
      claimId: await queue.claim(org),
      action: "reject",
      notes: "No.",
      adminEmail: m.support,
    };
    await queue.door.review(decided);
    await queue.claim(org);
    const id = await queue.propose("By Its Domain Alone", { newOrgWebsite: `https://${org.domain}` });
    expect((await queue.told(m.support, `claim_to_review('${id}')`)).similar).toMatchObject([
      { uri: org.uri, alike: ["domain"], members: 1, waiting: 1 },
    ]);
  });

  test("an address at the organization's domain is a good sign once it is proven", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const id = await queue.claim(org, { userEmail: `somebody@${org.domain}` });
    const sign = async () =>
      /<li class="(\w+)">. The address is at the organization/.exec(
        (await support.open(`${QUEUE}/${id}`)).text,
      )?.[1];
    expect(await sign()).toBe("warn");
    await db().query("update app_public.organization_claims set email_verified = true where claim_id = $1", [
      id,
    ]);
    expect(await sign()).toBe("good");
  });

  test("the domain that a new organization has by its claimant's word is no good sign, proven or not", async () => {
    const id = await queue.propose("Word of Mouth", {
      userEmail: "x@word.example",
      orgDomain: "word.example",
    });
    await db().query("update app_public.organization_claims set email_verified = true where claim_id = $1", [
      id,
    ]);
    expect(await queue.told(m.support, `claim_to_review('${id}')`)).toMatchObject({
      ...{ isProven: true, isAtDomain: true, isDomainStated: true, domainMatch: false },
    });
  });

  test("five of those who manage the organization are named, in the order of their addresses in any case, and the others counted", async () => {
    // The last of them was there first.
    const admins = Object.fromEntries(["F", "a", "b", "c", "d", "e"].map((name) => [name, "org_admin"]));
    const org = await m.addOrganization(db(), admins);
    const { text } = await support.open(`${QUEUE}/${await queue.claim(org)}`);
    expect(text).toContain("<li>and 1 more</li>");
    expect([
      text.includes(`<bdi>e@${org.domain}</bdi>`),
      text.includes(`<bdi>F@${org.domain}</bdi>`),
    ]).toEqual([true, false]);
    const few = await m.addOrganization(db(), { head: "org_admin" });
    expect((await support.open(`${QUEUE}/${await queue.claim(few)}`)).text).not.toContain("<li>and ");
  });

  test("the organization with its people and records, and what became of the person's other claims", async () => {
    const org = await m.addOrganization(db(), {
      ...{ head: "org_admin", writer: "org_contributor", idle: "org_member" },
    });
    await db().query("select app_private.change_member($1, $2, null, 'suspended')", [
      org.uri,
      `idle@${org.domain}`,
    ]);
    const other = await m.addOrganization(db(), { head: "org_admin" });
    const userEmail = `${crypto.randomUUID()}@elsewhere.example`;
    const older = await queue.claim(await m.addOrganization(db()), { userEmail });
    const before = await queue.claim(other, { userEmail });
    await queue.door.review({
      claimId: before,
      action: "reject",
      notes: "Not with us.",
      adminEmail: m.support,
    });
    const id = await queue.claim(org, { userEmail });
    const rival = await queue.claim(org);
    const whose = `'${org.uri}', 'x', 'writer@${org.domain}'`;
    await db().query(`
      insert into app_public.accelerators (code, concept_uri, kind, pref_label)
        values ('PRA', 'https://a.example/pra', 'accelerator', 'Prayer') on conflict do nothing;
      insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
        values (${whose}, 'x', '{PRA}');
      insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope)
        select ${whose}, 'x', '{PRA}' from generate_series(1, 2);
      insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators)
        select ${whose}, '{PRA}' from generate_series(1, 3)`);
    await m.addApprovedClaim(db(), org, `by.claim@${org.domain}`);
    const told = await queue.told(m.support, `claim_to_review('${id}')`);
    expect(told.organization).toMatchObject({ members: 3, administrators: 1, domain: org.domain });
    expect(told.organization).toMatchObject({ needs: 1, commitments: 2, engagementClaims: 3 });
    expect(told.earlier).toMatchObject([
      { id: before, status: "rejected", reviewedBy: m.support, notes: "Not with us." },
      { id: older, status: "pending" },
    ]);
    expect(told.others).toMatchObject([{ id: rival, status: "pending" }, { status: "approved" }]);
    const { text } = await support.open(`${QUEUE}/${id}`);
    for (const said of [
      "Not with us.",
      `<bdi>head@${org.domain}</bdi>`,
      "3, of these administrators: 1",
      "Other claims to it: 2.",
    ])
      expect(text).toContain(said);
  });

  test("of a decided one everything, each under its own name", async () => {
    const email = `${crypto.randomUUID()}@gmail.com`;
    const id = await queue.propose("Shape of Water", {
      ...{ newOrgType: "sending agency", newOrgWebsite: "https://shape.example", orgDomain: "shape.example" },
      ...{ userEmail: email, roles: ["digs", "prays", "digs"] },
    });
    const decide = (claimId: string, role: string, notes: string) =>
      queue.door.review({ claimId, action: "approve", role, notes, adminEmail: m.support });
    await decide(id, "org_contributor", "Welcome.");
    const uri = (await queue.told(m.support, `claim_to_review('${id}')`)).organization.uri as string;
    const rival = { id: "", email: `${crypto.randomUUID()}@elsewhere.example` };
    rival.id = await queue.claim({ uri, name: "Shape of Water", domain: "" }, { userEmail: rival.email });
    await decide(rival.id, "org_admin", "You too.");
    const at = expect.any(String);
    // What is changed of a claim later is no review.
    await db().query(
      `update app_public.organization_claims
       set created_at = '2025-12-31T12:00:00Z', reviewed_at = '2026-01-02T03:04:05Z' where org_uri = $1`,
      [uri],
    );
    const createdAt = expect.stringContaining("2025-12-31T12:00:00");
    const reviewedAt = expect.stringContaining("2026-01-02T03:04:05");
    const line = { createdAt, reviewedAt, reviewedBy: m.support, status: "approved" };
    const signs = { isProven: false, domainMatch: false, isOpen: false, isOwn: false };
    expect(await queue.told(m.platformAdmin, `claim_to_review('${id}')`)).toEqual({
      ...{ ...line, ...signs, id, email, name: "Ben Ode", orgName: "Shape of Water", isNewOrg: true },
      ...{ sentTo: "platform", newOrgType: "sending agency", newOrgWebsite: "https://shape.example" },
      ...{
        statedRoles: ["digs", "prays"],
        emailDomain: "gmail.com",
        isFreeMail: true,
        orgDomain: "shape.example",
      },
      ...{ isAtDomain: false, isDomainStated: true, notes: "Welcome.", role: "org_contributor" },
      steps: [
        { to: "pending", by: email, at },
        { to: "approved", by: m.support, at },
      ],
      ...{ roles: [], reasons: expect.any(Array), similar: [], earlier: [], othersTotal: 1 },
      organization: {
        ...{ uri, name: "Shape of Water", status: "active", type: "sending agency" },
        ...{ website: "https://shape.example", domain: "shape.example", members: 2, administrators: 1 },
        administratorsNamed: [{ email: rival.email, name: "Ana Silva" }],
        ...{ needs: 0, commitments: 0, engagementClaims: 0 },
      },
      others: [
        {
          ...{ ...line, ...signs, id: rival.id, email: rival.email, name: "Ana Silva", isNewOrg: false },
          ...{ orgName: "Shape of Water", orgUri: uri, notes: "You too.", role: "org_admin" },
        },
      ],
    });
  });

  const atOneTime = (ids: readonly string[]) =>
    db().query(
      "update app_public.organization_claims set created_at = '2026-01-01' where claim_id = any ($1)",
      [ids],
    );

  test("of many claims to one organization the latest are beside it, and a link leads to all of them", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const ids: string[] = [];
    for (let n = 0; n < MOST_BESIDE + 2; n++) ids.push(await queue.claim(org));
    const others = async () => {
      const told = await queue.told(m.support, `claim_to_review('${ids[0]}')`);
      return told.others.map(({ id }: { id: string }) => id);
    };
    expect(await others()).toEqual(ids.slice(2).toReversed());
    const { text } = await support.open(`${QUEUE}/${ids[0]}?q=somebody&status=rejected`);
    expect(text).toContain(`Other claims to it: ${MOST_BESIDE + 1}.`);
    const [, link, words] = /<a href="([^"]*)"\s*>(All \d+ claims to it)</.exec(text)!;
    expect(words).toBe(`All ${ids.length} claims to it`);
    const all = (await support.open(link!.replaceAll("&amp;", "&"))).text;
    expect(all).toContain(` of ${ids.length}, `);
    // Of those of one time the same are there each time.
    await atOneTime(ids);
    expect(await others()).toEqual(ids.slice(1).toSorted().slice(0, MOST_BESIDE));
  });

  test("of many claims by one person the latest are beside it", async () => {
    const userEmail = `${crypto.randomUUID()}@elsewhere.example`;
    const ids: string[] = [];
    for (let n = 0; n < MOST_BESIDE + 2; n++)
      ids.push(await queue.claim(await m.addOrganization(db()), { userEmail }));
    const earlier = async () => {
      const told = await queue.told(m.support, `claim_to_review('${ids[0]}')`);
      return told.earlier.map(({ id }: { id: string }) => id);
    };
    expect(await earlier()).toEqual(ids.slice(2).toReversed());
    await atOneTime(ids);
    expect(await earlier()).toEqual(ids.slice(1).toSorted().slice(0, MOST_BESIDE));
  });

  test("whoever claimed the same organization before is not among the others who claim it", async () => {
    const org = await m.addOrganization(db());
    const userEmail = `${crypto.randomUUID()}@elsewhere.example`;
    const refused = await queue.claim(org, { userEmail });
    await queue.door.review({ claimId: refused, action: "reject", notes: "Not yet.", adminEmail: m.support });
    const id = await queue.claim(org, { userEmail });
    const rival = await queue.claim(org);
    const idsOf = (claims: { id: string }[]) => claims.map((claim) => claim.id);
    const told = await queue.told(m.support, `claim_to_review('${id}')`);
    expect([idsOf(told.earlier), idsOf(told.others), told.othersTotal]).toEqual([[refused], [rival], 1]);
  });

  test("several that are decided at once become members where nothing else is chosen", async () => {
    const { roles } = await queue.told(m.support, "claim_queue()");
    const usual = roles.filter(({ isUsual }: { isUsual: boolean }) => isUsual);
    expect(usual).toMatchObject([{ role: "org_member" }]);
  });

  test("the usual role is the least of those for an organization, and for a new one a role that manages it", async () => {
    const rolesOf = async (id: string) =>
      (await queue.told(m.support, `claim_to_review('${id}')`)).roles.map(
        ({ role, isUsual }: { role: string; isUsual: boolean }) => (isUsual ? `${role}!` : role),
      );
    expect(await rolesOf(await queue.claim(await m.addOrganization(db())))).toEqual([
      "org_member!",
      "org_contributor",
      "org_admin",
    ]);
    expect(await rolesOf(await queue.propose("Newly Thought Of"))).toEqual([
      "org_member",
      "org_contributor",
      "org_admin!",
    ]);
    // Of several that manage it, the one that may do the most.
    const another = ["org_contributor", "members:manage"];
    await db().query(
      "insert into app_public.organization_permissions (role, permission) values ($1, $2)",
      another,
    );
    try {
      expect(await rolesOf(await queue.propose("Newly Thought Of As Well"))).toContain("org_admin!");
    } finally {
      await db().query(
        "delete from app_public.organization_permissions where role = $1 and permission = $2",
        another,
      );
    }
  });

  /** Does something while a function of the rules returns something else. */
  async function whileItReturns(name: string, body: string, work: () => Promise<void>): Promise<void> {
    const { rows } = await db().query<{ rule: string }>("select pg_get_functiondef(to_regproc($1)) as rule", [
      `app_private.${name}`,
    ]);
    const { rule } = rows[0]!;
    const [head] = rule.split(/\n(?:BEGIN ATOMIC| ?RETURN )/);
    await db().query(`${head} return ${body}`);
    try {
      await work();
    } finally {
      await db().query(rule);
    }
  }

  test("who may not review a claim is neither offered to decide it nor mailed about it", () =>
    whileItReturns("may_review", `reviewer_email <> '${m.support}'`, async () => {
      const id = await queue.claim(await m.addOrganization(db()));
      expect(await queue.told(m.support, `claim_to_review('${id}')`)).toMatchObject({
        isOpen: false,
        roles: [],
      });
      expect((await support.open(`${QUEUE}/${id}`)).text).not.toContain('id="decision"');
      const { rows } = await db().query(
        "select recipient from app_private.mails where data ->> 'claimId' = $1 and kind = 'claim_queue'",
        [id],
      );
      expect(rows).toEqual([{ recipient: m.platformAdmin }]);
    }));

  test("who reviews for the platform decides about claims to an organization of their own too", async () => {
    const org = await m.addOrganization(db());
    await db().query(
      `insert into app_public.memberships (org_uri, user_id, role)
       select $1, user_id, 'org_member' from app_public.users where email = $2`,
      [org.uri, m.support],
    );
    const claimId = await queue.claim(org);
    expect(await queue.told(m.support, `claim_to_review('${claimId}')`)).toMatchObject({ isOpen: true });
    const review = { claimId, action: "reject", notes: "Not ours.", adminEmail: m.support };
    expect((await queue.door.review(review)).refusal).toBeUndefined();
  });

  test("the usual role is the same to the page, to whoever names none, and to a form that is sent twice", () =>
    whileItReturns("usual_role", "'org_contributor'::app_public.organization_role", async () => {
      const { roles } = await queue.told(m.support, "claim_queue()");
      expect(roles.find(({ isUsual }: { isUsual: boolean }) => isUsual).role).toBe("org_contributor");
      const id = await queue.claim(await m.addOrganization(db()));
      await queue.door.review({ claimId: id, action: "approve", adminEmail: m.support });
      const asked = `has_decided_so('${id}', 'approve', null, null)`;
      expect(await queue.told(m.support, asked)).toBe(true);
      expect(await queue.told(m.support, `claim_to_review('${id}')`)).toMatchObject({
        role: "org_contributor",
      });
    }));

  test("one's own has no form, nor has one that is decided, which says by whom and when", async () => {
    const org = await m.addOrganization(db());
    const own = await queue.claim(org, { userEmail: m.support });
    // As a provider may write their address.
    expect(await queue.told(m.support.toUpperCase(), `claim_to_review('${own}')`)).toMatchObject({
      isOwn: true,
      roles: [],
    });
    // Or as it was registered.
    const rename = (as: string) =>
      db().query(`update app_public.users set email = ${as}(email) where lower(email) = $1`, [m.support]);
    await rename("upper");
    try {
      expect(await queue.told(m.support, `claim_to_review('${own}')`)).toMatchObject({ isOwn: true });
    } finally {
      await rename("lower");
    }
    const { text } = await support.open(queueWith({ org: org.uri }, own));
    expect(text).toContain("This is your own claim: somebody else decides about it.");
    expect([text.includes('id="decision"'), text.includes(`value="${own}"`)]).toEqual([false, false]);
    await queue.door.review({ claimId: own, action: "approve", adminEmail: m.platformAdmin });
    const decided = (await support.open(`${QUEUE}/${own}`)).text;
    expect(decided).toMatch(/approved<\/b>\s+by <bdi>admin@platform\.example<\/bdi>, <time/);
    expect(decided).not.toContain('id="decision"');
    const unclaimed = await m.addOrganization(db());
    const first = await queue.claim(unclaimed, { userEmail: `first@${unclaimed.domain}` });
    expect((await support.open(`${QUEUE}/${first}`)).text).toMatch(/approved<\/b>\s+without a review/);
  });

  test("own reasons come back, the latest first, without those of others and the long ones", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const head = `head@${org.domain}`;
    for (const [notes, adminEmail] of [
      ["First.", head],
      ["Second.", head],
      ["Somebody else's.", m.platformAdmin],
      ["First.", head],
      ["x".repeat(501), head],
    ])
      await queue.door.review({ claimId: await queue.claim(org), action: "reject", notes, adminEmail });
    const approved = {
      claimId: await queue.claim(org),
      action: "approve",
      notes: "Welcome.",
      adminEmail: head,
    };
    await queue.door.review(approved);
    expect((await queue.told(head, "claim_queue()")).reasons).toEqual(["First.", "Second."]);
    const latest = ["x".repeat(500), "3.", "4.", "5.", "6.", "7.", "8.", "9."];
    for (const notes of latest)
      await queue.door.review({ claimId: await queue.claim(org), action: "reject", notes, adminEmail: head });
    expect((await queue.told(head.toUpperCase(), "claim_queue()")).reasons).toEqual(latest.toReversed());
    // One of the oldest that is used again is the latest.
    const again = { claimId: await queue.claim(org), action: "reject", notes: "Second.", adminEmail: head };
    await queue.door.review(again);
    expect((await queue.told(head, "claim_queue()")).reasons).toEqual([
      "Second.",
      ...latest.toReversed().slice(0, -1),
    ]);
  });

  test("what strangers wrote is text, stands by itself, and is cut where it is long", async () => {
    const hostile = "<script>alert(1)</script>\u202Egnol \"&' <img src=x onerror=alert(1)>";
    const long = "long ".repeat(400).trim();
    const org = await m.addOrganization(db());
    const id = await queue.claim(org);
    // As earlier rules may have let it in: today's refuse some of these.
    const client = await db().connect();
    try {
      await client.query("begin; set local session_replication_role = replica");
      await client.query(
        `update app_public.organizations set name = $2, type = $2, website = 'javascript:alert(1)//' || $3, domain = $2
         where org_uri = $1`,
        [org.uri, hostile, long],
      );
      await client.query(
        `update app_public.users set first_name = $2, last_name = $3
         where user_id in (select user_id from app_public.organization_claims where claim_id = $1)`,
        [id, hostile, long],
      );
      await client.query(
        `update app_public.organization_claims
         set org_name = $2, new_org_type = $2, stated_roles = array[$2, $3], review_notes = $3 || $2, status = 'rejected',
           reviewed_at = now()
         where claim_id = $1`,
        [id, hostile, long],
      );
      await client.query("commit");
    } finally {
      client.release();
    }
    for (const path of [
      `${QUEUE}/${id}`,
      `${QUEUE}?status=all&org=${encodeURIComponent(org.uri)}`,
      `${QUEUE}?done=${id}`,
    ]) {
      const { status, text } = await support.open(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toMatch(/<script>|<img|href="javascript/);
      // Whatever turns the direction around ends where the text does.
      const turns = [...text.matchAll(/\u202E/g)];
      expect(turns).not.toEqual([]);
      for (const { index } of turns) expect(text.slice(0, index)).toMatch(/<bdi[^<]*>[^<]*$/);
    }
    const { text } = await support.open(`${QUEUE}/${id}`);
    expect(text.match(/<details class="cut">/g)!.length).toBeGreaterThanOrEqual(3);
  });
});
