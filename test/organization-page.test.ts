// The page of an organization: what it shows to whom, what its forms do, and that they do nothing for who may not.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { bytesOf, HOSTILE, windowOf } from "./support/desk.ts";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

type Fields = Record<string, string>;

let service: TestService;
let browser: Browser | undefined;
const known = new Map<string, Visitor>();

beforeAll(async () => {
  service = await startTestService();
  browser = await launchBrowser();
  await m.addPlatformPeople(service.database.owner);
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

let org: m.TestOrganization;
let path: string;
let people: Record<"head" | "writer" | "reader" | "stopped" | "gone", string>;

beforeEach(async () => {
  const { owner } = service.database;
  org = await m.addOrganization(owner, {
    ...{ head: "org_admin", writer: "org_contributor", reader: "org_member" },
    ...{ stopped: "org_admin", gone: "org_admin" },
  });
  path = pathOf(org.uri);
  const at = (name: string) => `${name}@${org.domain}`;
  people = {
    ...{ head: at("head"), writer: at("writer"), reader: at("reader") },
    ...{ stopped: at("stopped"), gone: at("gone") },
  };
  await setStatus(people.stopped, "suspended");
  await setStatus(people.gone, "revoked");
});

const pathOf = (uri: string) => `/organizations/${encodeURIComponent(uri)}`;
const stranger = "somebody@elsewhere.example";

const setStatus = (email: string, status: string) =>
  service.database.owner.query(
    `update app_public.memberships set status = $2::app_public.membership_status
     where user_id = (select user_id from app_public.users where email = $1)`,
    [email, status],
  );

async function as(email: string): Promise<Visitor> {
  if (!known.has(email)) known.set(email, await new Visitor(service).signIn(email));
  return known.get(email)!;
}

async function open(email: string, address = path): Promise<string> {
  const { status, text } = await (await as(email)).open(address);
  expect([email, address, status]).toEqual([email, address, 200]);
  return text;
}

/** Presses a button of the page. */
async function press(email: string, fields: Fields) {
  const visitor = await as(email);
  const page = await visitor.open("/sign-out");
  const form = /name="form" type="hidden" value="([^"]*)"/.exec(page.text)![1]!;
  return visitor.submit({ text: "" }, path, { form, ...fields });
}

async function succeed(email: string, fields: Fields, sentence: string) {
  const { status, location } = await press(email, fields);
  expect([fields["do"], status]).toEqual([fields["do"], 303]);
  expect(location).toContain("#outcome");
  expect(await open(email, location!)).toContain(sentence);
}

const membership = (email: string) => m.membershipOf(service.database.owner, org.uri, email);

async function organization() {
  const answer = await call(
    `${service.url}/v0/organizations/${encodeURIComponent(org.uri)}`,
    "GET",
    service.keys.read,
  );
  return answer.body;
}

async function claimBy(email: string): Promise<string> {
  const claim = m.claimOf(org, email);
  const answer = await call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, claim);
  expect(answer.status).toBe(200);
  return answer.body.claimId;
}

/** What is on the page, by the headings and forms that it has. */
const partsOf = (text: string) =>
  Object.entries({
    edit: 'value="edit"',
    members: 'id="members"',
    manage: 'value="role"',
    invite: "Invite somebody",
    claims: 'id="claims"',
    appoint: 'value="appoint"',
    claim: 'value="claim"',
    withdraw: 'value="withdraw"',
    leave: 'value="leave"',
  }).flatMap(([name, sign]) => (text.includes(sign) ? [name] : []));

describe("what the page shows", () => {
  test("to nobody who is not signed in", async () => {
    const { status, location } = await new Visitor(service).open(path);
    expect([status, location]).toEqual([
      303,
      `/sign-in?${new URLSearchParams({ returnTo: path }).toString()}`,
    ]);
    const headers = { authorization: `Bearer ${service.keys.review}` };
    expect((await new Visitor(service).open(path, { headers })).status).toBe(303);
  });

  test("to each what they may see and do", async () => {
    const other = await m.addOrganization(service.database.owner, { boss: "org_admin" });
    for (const [email, expected] of [
      [stranger, ["claim"]],
      [people.gone, ["claim"]],
      [`boss@${other.domain}`, ["claim"]],
      [people.stopped, []],
      [people.reader, ["members", "leave"]],
      [people.writer, ["members", "leave"]],
      [people.head, ["edit", "members", "manage", "invite", "claims", "leave"]],
      [m.support, ["claims", "claim"]],
      [m.platformAdmin, ["claims", "claim"]],
    ] as const) {
      expect([email, partsOf(await open(email))]).toEqual([email, expected]);
    }
    expect(await open(people.stopped)).toContain("suspended");
  });

  test("members who left or were suspended only to those who manage them", async () => {
    const shown = (text: string) =>
      Object.values(people).filter((email) => text.includes(`<bdi>${email}</bdi>`));
    expect(shown(await open(people.writer))).toEqual([people.head, people.writer, people.reader]);
    const managed = await open(people.head);
    expect(shown(managed)).toEqual(Object.values(people));
    // Three are active, one is suspended and one gone: to each the statuses that they have not.
    const offered = (status: string) => managed.match(new RegExp(`name="do" value="${status}"`, "g"))?.length;
    expect(["active", "suspended", "revoked"].map(offered)).toEqual([2, 4, 4]);
    for (const email of [stranger, m.platformAdmin]) expect(shown(await open(email))).toEqual([]);
  });

  test("who has a role of a later version, and keeps it where nothing else is chosen", async () => {
    const { owner } = service.database;
    await owner.query("alter type app_public.organization_role add value if not exists 'org_guide'");
    await owner.query(
      `update app_public.memberships set role = 'org_guide'
       where user_id = (select user_id from app_public.users where email = $1)`,
      [people.reader],
    );
    expect((await (await as(people.reader)).open(path)).text).toContain("org_guide: of a later version");
    const { text } = await (await as(people.head)).open(path);
    expect(text).toMatch(/<option value="org_guide" selected>\s+org_guide: /);
  });

  test("members who are more than a page on several", async () => {
    const add = (from: number, to: number) =>
      service.database.owner.query(
        `select app_private.add_member($1, 'member' || n || '@crowd.example', 'org_member')
         from generate_series($2::integer, $3::integer) as n`,
        [org.uri, from, to],
      );
    // In the order of their addresses, whatever their case.
    const last = "ZZ@crowd.example";
    await service.database.owner.query("insert into app_public.users (email) values ($1)", [last]);
    await service.database.owner.query("select app_private.add_member($1, $2, 'org_member')", [
      org.uri,
      last,
    ]);
    // Five are there already.
    await add(1, 19);
    expect(await open(people.head)).not.toContain("members=2");
    await add(20, 20);
    expect(await open(people.head)).toContain("members=2");
    const second = await open(people.head, `${path}?members=2`);
    expect([second.includes(last), second.includes(people.writer)]).toEqual([true, false]);
    const page = await open(people.head);
    const places = [people.head, "member1@crowd.example", people.reader].map((email) =>
      page.indexOf(email, page.indexOf('id="members"')),
    );
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test("claims that are more than a page on several", async () => {
    const made: string[] = [];
    for (let n = 0; n < 26; n++) made.push(await claimBy(`claim${n}@elsewhere.example`));
    const shown = async (address: string) =>
      Array.from(
        (await open(people.head, address)).matchAll(/href="\/admin\/claims\/([^"]+)"/g),
        ([, id]) => id!,
      );
    // Of those that were made at the same time each has one place.
    await service.database.owner.query(
      "update app_public.organization_claims set created_at = '2026-01-01' where claim_id = any ($1)",
      [made],
    );
    const [first, second] = [await shown(path), await shown(`${path}?claims=2`)];
    expect([first.length, second.length]).toEqual([25, 1]);
    expect([...first, ...second]).toEqual(made.toSorted().toReversed());
  });

  test("claims to those who review them, each as far as they do", async () => {
    // Sent to the platform, before anybody managed the organization.
    const unmanaged = await m.addOrganization(service.database.owner);
    org = unmanaged;
    path = pathOf(org.uri);
    const early = await claimBy("early@elsewhere.example");
    await press(m.platformAdmin, { do: "appoint", email: people.writer });
    const late = await claimBy("late@elsewhere.example");
    const shown = (text: string) => [early, late].filter((id) => text.includes(`href="/admin/claims/${id}"`));
    expect(shown(await open(m.platformAdmin))).toEqual([early, late]);
    expect(shown(await open(m.support))).toEqual([early, late]);
    expect(shown(await open(people.writer))).toEqual([late]);
    expect(await open(people.writer)).toContain("Claims to it: 1<");
    expect(await open(m.platformAdmin)).toContain("Claims to it: 2<");
    for (const email of [people.head, stranger]) {
      const text = await open(email);
      expect([email, shown(text), text.includes("@elsewhere.example</bdi></a>")]).toEqual([email, [], false]);
    }
  });

  test("claims that wait before those that are decided, and of each the newest first", async () => {
    const ids: string[] = [];
    for (const name of ["one", "two", "three", "four"]) ids.push(await claimBy(`${name}@elsewhere.example`));
    for (const claimId of [ids[2], ids[3]]) {
      const decision = { claimId, action: "reject", adminEmail: people.head, notes: "No." };
      const path = `${service.url}/v0/admin/claims/review`;
      expect((await call(path, "POST", service.keys.review, decision)).status).toBe(200);
    }
    const links = (await open(people.head)).matchAll(/href="\/admin\/claims\/([^"]+)"/g);
    expect(Array.from(links, ([, id]) => id)).toEqual([ids[1], ids[0], ids[3], ids[2]]);
  });

  test("since when somebody is a member, a record is declared, and a claim waits: each by its own day", async () => {
    const claimId = await claimBy("days@elsewhere.example");
    const { body } = await call(`${service.url}/v0/needs`, "POST", service.keys.write, {
      ...{ orgUri: org.uri, orgName: org.name, declaredByEmail: people.writer },
      ...{ needDescription: "Days", accelerators: ["PRA-INT"] },
    });
    const { owner } = service.database;
    // All of them have been changed since.
    await owner.query("update app_public.memberships set created_at = '2020-06-15Z' where org_uri = $1", [
      org.uri,
    ]);
    await owner.query("update app_public.needs set created_at = '2021-07-16Z' where need_id = $1", [
      body.needId,
    ]);
    await owner.query(
      "update app_public.organization_claims set created_at = '2022-08-17Z' where claim_id = $1",
      [claimId],
    );
    const days = (await open(people.head)).matchAll(/<time [^>]*>(\d+ \w+ \d{4})<\/time>/g);
    expect(Array.from(days, ([, day]) => day)).toEqual([
      "16 Jul 2021",
      ...["gone", "head", "reader", "stopped", "writer"].map(() => "15 Jun 2020"),
      "17 Aug 2022",
    ]);
  });

  test("records by lists, each with a way to its chain", async () => {
    const declare = async ({ uri, name }: m.TestOrganization, writer: string, needDescription: string) => {
      const { status } = await call(`${service.url}/v0/needs`, "POST", service.keys.write, {
        ...{ orgUri: uri, orgName: name, declaredByEmail: writer },
        ...{ needDescription, accelerators: ["PRA-INT"] },
      });
      expect(status).toBe(201);
    };
    const other = await m.addOrganization(service.database.owner, { writer: "org_contributor" });
    await declare(other, `writer@${other.domain}`, "Of others");
    for (let n = 0; n < 27; n++) await declare(org, people.writer, `Need ${n} & more`);
    const text = await open(stranger);
    expect(text).toContain("Needs: 27");
    const first = [...text.matchAll(/href="(\/needs\/[^"]*)"/g)].map(([, href]) => href!);
    expect(first).toHaveLength(25);
    expect(text).toContain("<bdi>Need 26 &amp; more</bdi>");
    const second = await open(stranger, `${path}?page=2`);
    const rest = [...second.matchAll(/href="(\/needs\/[^"]*)"/g)].map(([, href]) => href!);
    expect(new Set([...first, ...rest]).size).toBe(27);
    expect(second).not.toContain("Of others");
    // Another list begins with its first page.
    expect(second).toContain(`href="${path}?list=commitments#records"`);
    expect(await open(stranger, `${path}?list=commitments`)).toContain("No commitments here.");
    expect(await open(stranger, `${path}?list=nonsense`)).toContain("Need 26");
    expect((await (await as(stranger)).open(first[0]!, { headers: { accept: "text/html" } })).status).toBe(
      200,
    );
  });

  test("nothing of an organization that is not public, or not there", async () => {
    await service.database.owner.query(
      "update app_public.organizations set status = 'proposed' where org_uri = $1",
      [org.uri],
    );
    for (const [email, address] of [
      [people.head, path],
      [m.platformAdmin, path],
      [stranger, "/organizations/nothing"],
      [stranger, pathOf("https://data.example.org/org/nothing")],
    ] as const) {
      expect([address, (await (await as(email)).open(address)).status]).toEqual([address, 404]);
    }
  });
});

describe("what its forms do", () => {
  test("change the organization, and only what was typed", async () => {
    const was = await organization();
    const before = {
      ...{ nameBefore: was.orgName, typeBefore: "", websiteBefore: "", domainBefore: was.orgDomain },
      ...{ name: was.orgName, type: "", website: "", domain: was.orgDomain },
    };
    await succeed(
      people.head,
      { do: "edit", ...before, type: " Mission agency ", website: "https://river.example/" },
      "The organization was changed.",
    );
    // Who had opened the form before that takes none of it back.
    await succeed(people.head, { do: "edit", ...before, name: "Renamed" }, "The organization was changed.");
    const expected = {
      ...was,
      orgName: "Renamed",
      orgType: "Mission agency",
      orgWebsite: "https://river.example/",
    };
    expect(await organization()).toEqual(expected);
    await succeed(people.head, { do: "edit", typeBefore: "Mission agency", type: "" }, "was changed");
    await succeed(people.head, { do: "edit", ...before }, "nothing was changed");
    await succeed(
      people.head,
      { do: "edit", domainBefore: org.domain, domain: `new.${org.domain}` },
      "was changed",
    );
    expect(await organization()).toEqual({ ...expected, orgType: null, orgDomain: `new.${org.domain}` });
    await succeed(
      people.head,
      { do: "edit", domainBefore: `new.${org.domain}`, domain: org.domain },
      "was changed",
    );
    expect(await organization()).toEqual({ ...expected, orgType: null });
  });

  test("refuse what is wrong, and keep what was typed", async () => {
    const was = await organization();
    const { status, text } = await press(people.head, {
      ...{ do: "edit", websiteBefore: "", website: "javascript:alert(1)" },
      ...{ nameBefore: was.orgName, name: `New "<name>"` },
    });
    expect(status).toBe(400);
    expect(text).toMatch(/role="alert"[^>]*>\s*<bdi>website /);
    expect(text).toContain('value="New &quot;&lt;name&gt;&quot;"');
    expect(text).toContain('value="javascript:alert(1)"');
    expect(text).not.toContain('href="javascript');
    expect(text).toMatch(/<details open>\s*<summary>Change this/);
    expect(await organization()).toEqual(was);
    // What the form said before it was sent: the fields that were not sent had nothing in them.
    const said = Array.from(
      text.matchAll(/name="(\w+Before)" type="hidden" value="([^"]*)"/g),
      ([, ...field]) => field,
    );
    expect(said).toEqual([
      ["nameBefore", was.orgName],
      ["typeBefore", ""],
      ["websiteBefore", ""],
      ["domainBefore", ""],
    ]);
  });

  test("give roles, suspend, reinstate and end memberships", async () => {
    const email = people.reader;
    await succeed(people.head, { do: "role", email, role: "org_admin" }, "has another role");
    expect(await membership(email)).toMatch(/org_admin/);
    await succeed(people.head, { do: "suspended", email }, "suspended.");
    expect(await membership(email)).toMatch(/suspended/);
    await succeed(people.head, { do: "active", email }, "active again");
    expect(await membership(email)).toMatch(/active/);
    await succeed(people.head, { do: "revoked", email }, "has ended");
    expect(await membership(email)).toMatch(/revoked/);
  });

  test("never take the last administrator away", async () => {
    for (const fields of [
      { do: "role", email: people.head, role: "org_member" } as Fields,
      { do: "suspended", email: people.head },
      { do: "leave" },
    ]) {
      const { status, text } = await press(people.head, fields);
      expect([fields["do"], status]).toEqual([fields["do"], 409]);
      expect(text).toContain('role="alert"');
      expect(text).toContain('id="members"');
    }
    expect(await membership(people.head)).toMatch(/active/);
  });

  test("leave, claim, take back", async () => {
    await succeed(people.reader, { do: "leave" }, "You have left");
    expect(await membership(people.reader)).toMatch(/revoked/);
    await succeed(
      people.reader,
      { do: "claim", firstName: "Re", lastName: "Ader", duty: "Reads, again" },
      "Your request to join was sent",
    );
    const text = await open(people.reader);
    expect(partsOf(text)).toEqual(["withdraw"]);
    const [, claimId] = /name="claimId" type="hidden" value="([^"]*)"/.exec(text)!;
    const { rows } = await service.database.owner.query(
      "select stated_roles, email_verified, routed_to from app_public.organization_claims where claim_id = $1",
      [claimId],
    );
    expect(rows).toEqual([
      { stated_roles: ["Reads, again"], email_verified: true, routed_to: "organization" },
    ]);
    expect(await open(people.head)).toContain(`href="/admin/claims/${claimId}"`);
    const twice = await press(people.reader, { do: "claim", firstName: "Re", lastName: "Ader" });
    expect(twice.status).toBe(409);
    await succeed(people.reader, { do: "withdraw", claimId: claimId! }, "withdrawn");
    expect(partsOf(await open(people.reader))).toEqual(["claim"]);
    const nameless = await press(people.reader, { do: "claim", lastName: "Only" });
    expect([nameless.status, nameless.text.includes('value="Only"')]).toEqual([400, true]);
  });

  test("are as they were where another one was refused", async () => {
    const formOf = (text: string) =>
      /<details[^>]*>\s*<summary>I belong to it[\s\S]*?<\/details>/.exec(text)![0];
    const withoutProof = (text: string) => text.replaceAll(/name="form"[^>]*>/g, "");
    const sent = { firstName: "Some", email: "typed@elsewhere.example" };
    const refused = await press(people.gone, { do: "leave", ...sent });
    expect(refused.status).toBe(403);
    expect(withoutProof(formOf(refused.text))).toBe(withoutProof(formOf(await open(people.gone))));
    org = await m.addOrganization(service.database.owner);
    path = pathOf(org.uri);
    const other = await press(m.platformAdmin, { do: "claim", ...sent });
    expect([other.status, other.text.includes('value="appoint"')]).toEqual([400, true]);
    expect(other.text).not.toContain(sent.email);
  });

  test("appoint an administrator where there is none", async () => {
    const appointed = people.writer;
    org = await m.addOrganization(service.database.owner);
    path = pathOf(org.uri);
    expect(partsOf(await open(m.platformAdmin))).toEqual(["claims", "appoint", "claim"]);
    expect(partsOf(await open(m.support))).toEqual(["claims", "claim"]);
    const unknown = await press(m.platformAdmin, { do: "appoint", email: "unknown@elsewhere.example" });
    expect([unknown.status, unknown.text.includes('value="unknown@elsewhere.example"')]).toEqual([404, true]);
    await succeed(m.platformAdmin, { do: "appoint", email: appointed }, "has an administrator");
    expect(await membership(appointed)).toMatch(/org_admin/);
    expect(partsOf(await open(m.platformAdmin))).not.toContain("appoint");
    expect((await press(m.platformAdmin, { do: "appoint", email: people.reader })).status).toBe(409);
  });
});

test("the page knows of its visitors their own names, role and claim, and what they may do", async () => {
  const standing = async (email: string) => {
    const client = await service.database.owner.connect();
    try {
      await client.query("begin");
      await client.query("select set_config('app.person', $1, true)", [JSON.stringify({ email })]);
      await client.query("set local role api_person");
      const { rows } = await client.query<{ standing: unknown }>(
        "select app_private.own_standing_in($1) as standing",
        [org.uri],
      );
      return rows[0]!.standing;
    } finally {
      await client.query("rollback");
      client.release();
    }
  };
  const claimant = `ana@${crypto.randomUUID()}.example`;
  const claimId = await claimBy(claimant);
  await service.database.owner.query(
    "update app_public.organization_claims set created_at = '2020-06-15Z' where claim_id = $1",
    [claimId],
  );
  const nobody = { firstName: null, lastName: null, appoints: false, reviews: false };
  const none = { role: null, membership: null, permissions: [], waitingClaim: null };
  expect(await standing(claimant)).toEqual({
    ...{ ...none, ...nobody, firstName: "Ana", lastName: "Silva" },
    waitingClaim: { claimId, since: expect.stringMatching(/^2020-06-15/) },
  });
  // What is decided waits no more.
  await m
    .membershipDoor("REST", () => service)
    .review({
      ...{ claimId, action: "reject", notes: "No.", adminEmail: people.head },
    });
  expect(await standing(claimant)).toMatchObject({ firstName: "Ana", waitingClaim: null });
  expect(await standing("nobody@elsewhere.example")).toEqual({ ...none, ...nobody });
  expect(await standing(people.reader)).toEqual({
    ...{ ...none, ...nobody, role: "org_member", membership: "active", permissions: ["members:read"] },
  });
  expect(await standing(people.head)).toMatchObject({ role: "org_admin", reviews: true, waitingClaim: null });
});

test("the database decides who sees claims, whoever asks it", async () => {
  const claimId = await claimBy("claimant@elsewhere.example");
  const other = await m.addOrganization(service.database.owner, { boss: "org_admin" });
  const ask = async (role: string, email: string) => {
    const client = await service.database.owner.connect();
    try {
      await client.query("begin");
      await client.query("select set_config('app.person', $1, true)", [
        JSON.stringify({ id: "x", issuer: "i", subject: "s", email }),
      ]);
      await client.query(`set local role ${role}`);
      const { rows } = await client.query<{ id: string }>(
        "select c.id from app_private.claims_to_organization($1, 9, 0) as page, unnest(page.claims) as c",
        [org.uri],
      );
      return rows.map(({ id }) => id);
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await client.query("rollback");
      client.release();
    }
  };
  for (const email of [people.head, m.support, m.platformAdmin])
    expect([email, await ask("api_person", email)]).toEqual([email, [claimId]]);
  for (const email of [people.reader, people.stopped, people.gone, stranger, "", `boss@${other.domain}`])
    expect([email, await ask("api_person", email)]).toEqual([email, "PT403"]);
  for (const role of ["api_read", "api_write", "api_review"])
    expect(await ask(role, m.support)).toBe("42501");
});

describe("what is forced by hand is refused", () => {
  const acts = (): Fields[] => [
    { do: "edit", nameBefore: "", name: "Taken over" },
    { do: "role", email: people.reader, role: "org_admin" },
    { do: "suspended", email: people.head },
    { do: "active", email: people.stopped },
    { do: "revoked", email: people.head },
    { do: "appoint", email: people.reader },
  ];
  const state = async () => [
    (await organization()).orgName,
    ...(await Promise.all(Object.values(people).map(membership))),
  ];

  test("from everybody who may not", async () => {
    const other = await m.addOrganization(service.database.owner, { boss: "org_admin" });
    const before = await state();
    for (const email of [
      ...[stranger, people.reader, people.writer, people.stopped, people.gone],
      ...[m.support, m.platformAdmin, `boss@${other.domain}`],
    ]) {
      for (const fields of acts()) {
        const { status, text } = await press(email, fields);
        // It has an administrator, which is what the one who may appoint others is told.
        const expected = email === m.platformAdmin && fields["do"] === "appoint" ? 409 : 403;
        expect([email, fields["do"], status]).toEqual([email, fields["do"], expected]);
        expect(text).toContain('role="alert"');
        expect(text).not.toContain("Taken over");
      }
      const { status } = await press(email, { do: "leave" });
      const belongs = email === people.reader || email === people.writer;
      expect([email, status]).toEqual([email, belongs ? 303 : 403]);
      if (belongs) await setStatus(email, "active");
    }
    expect(await state()).toEqual(before);
  });

  test("somebody else's claim is none of theirs", async () => {
    const claimId = await claimBy("claimant@elsewhere.example");
    for (const email of [stranger, people.head, m.platformAdmin])
      expect([email, (await press(email, { do: "withdraw", claimId })).status]).toEqual([email, 404]);
    expect((await press(stranger, { do: "claim", firstName: "Some", lastName: "Body" })).status).toBe(303);
  });

  test("without the form that the visitor was shown", async () => {
    const before = await state();
    const visitor = await as(people.head);
    const theirs = await as(stranger);
    const [, foreign = ""] = /name="form" type="hidden" value="([^"]*)"/.exec(
      (await theirs.open(path)).text,
    )!;
    for (const fields of acts()) {
      for (const form of ["", "x".repeat(43), foreign]) {
        const { status } = await visitor.submit({ text: "" }, path, { ...fields, form });
        expect([fields["do"], form, status]).toEqual([fields["do"], form, 403]);
      }
      const page = await visitor.open(path);
      const headers = { "sec-fetch-site": "cross-site" };
      const crossed = await visitor.submit(page, path, fields, { headers });
      expect([fields["do"], crossed.status]).toEqual([fields["do"], 403]);
      const nobody = await new Visitor(service).submit(page, path, fields);
      expect([fields["do"], nobody.status]).toEqual([fields["do"], 401]);
    }
    expect(await state()).toEqual(before);
  });

  test("and what no form has", async () => {
    for (const fields of [
      { do: "" } as Fields,
      { do: "toString" },
      { do: "delete" },
      { do: "role", email: people.reader, role: "owner" },
      { do: "role", email: people.reader },
      { do: "role", email: "a\0b", role: "org_admin" },
      { do: "suspended" },
      { do: "withdraw", claimId: "1" },
    ]) {
      expect([fields, (await press(people.head, fields)).status]).toEqual([fields, 400]);
    }
    expect((await press(people.head, { do: "suspended", email: stranger })).status).toBe(404);
    for (const done of ["toString", "nonsense", "<b>"])
      expect(await open(people.head, `${path}?${new URLSearchParams({ done }).toString()}`)).not.toContain(
        'id="outcome"',
      );
  });
});

test("what is stored is text, whatever it says, and in no field too long", async () => {
  const client = await service.database.owner.connect();
  try {
    await client.query("begin; set local session_replication_role = replica");
    await client.query(
      `update app_public.organizations set name = $1, type = $1, website = 'javascript:alert(1)//' || $1, domain = $1
       where org_uri = $2`,
      [HOSTILE, org.uri],
    );
    await client.query("update app_public.users set first_name = $1, last_name = $1 where email = any ($2)", [
      HOSTILE,
      Object.values(people),
    ]);
    await client.query("commit");
  } finally {
    client.release();
  }
  await claimBy("claimant@elsewhere.example").catch(() => undefined);
  for (const address of [
    path,
    "/organizations?q=script",
    `/organizations?q=${encodeURIComponent(HOSTILE)}`,
  ]) {
    const text = await open(people.head, address);
    expect(text).not.toContain("<script>alert");
    expect(text).not.toMatch(/href="(&lt;script|javascript)/);
    if (!browser) continue;
    for (const width of [390, 1280]) {
      const context = await windowOf(browser, service.url, await as(people.head), width);
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(`${service.url}${address}`);
      for (const details of await page.locator("details").all())
        await details.evaluate((element) => ((element as unknown as { open: boolean }).open = true));
      expect([address, await page.evaluate("document.documentElement.scrollWidth > innerWidth")]).toEqual([
        address,
        false,
      ]);
      expect(trouble).toEqual([]);
      await context.close();
    }
  }
});

describe("the list of organizations", () => {
  test("is found by parts of name, domain and website, and paged in the address", async () => {
    const { owner } = service.database;
    await owner.query(
      `insert into app_public.organizations (org_uri, name, domain, website)
       select 'https://data.example.org/org/listed-' || n, 'Löwen Verein ' || lpad(n::text, 3, '0'),
         'lion' || n || '.example', 'https://www.pride-' || n || '.example/'
       from generate_series(1, 60) as n`,
    );
    const found = async (query: string) => {
      const text = await open(stranger, `/organizations?${query}`);
      return [...text.matchAll(/<a href="\/organizations\/[^"]*listed-(\d+)"/g)].map(([, n]) => Number(n));
    };
    expect(await found("q=lowen+verein+007")).toEqual([7]);
    expect(await found("q=LION12.ex")).toEqual([12]);
    expect(await found("q=www.pride-33")).toEqual([33]);
    expect(await found("q=verein+pride-33")).toEqual([33]);
    const first = await found("q=verein");
    const second = await found("q=verein&page=2");
    expect([first.length, [...first, ...second]]).toEqual([50, Array.from({ length: 60 }, (_, n) => n + 1)]);
    expect(await open(stranger, "/organizations?q=verein")).toContain("Page 1 of 2");
    // Those that begin so come before those that go on so.
    await owner.query(
      `insert into app_public.organizations (org_uri, name) values
       ('https://data.example.org/org/listed-61', 'Alte Quelle'), ('https://data.example.org/org/listed-62', 'Quelle Neu')`,
    );
    expect(await found("q=quelle")).toEqual([62, 61]);
    expect(await found("q=nothing+of+the+kind")).toEqual([]);
    for (const q of ["%", "_", "\\", "'", "%00"])
      expect((await (await as(stranger)).open(`/organizations?q=${encodeURIComponent(q)}`)).status).toBe(200);
    expect(await bytesOf(`${service.url}/organizations?q=verein`, await as(stranger))).toBeLessThan(100_000);
  });

  test("has none that is not public", async () => {
    await service.database.owner.query(
      "update app_public.organizations set status = 'proposed' where org_uri = $1",
      [org.uri],
    );
    expect(await open(m.platformAdmin, `/organizations?q=${org.domain}`)).toContain("0 found");
  });
});

describe.each([390, 1280])("%i pixels wide", (width) => {
  /** Goes on with the Tab key until something has the focus. */
  const byTab = (page: Page) => async (locator: ReturnType<Page["locator"]>) => {
    while (!(await locator.evaluate((element) => element.matches(":focus"))))
      await page.keyboard.press("Tab");
  };
  /** What came of a form takes the focus, and may do so later than it is seen: from where the Tab key has led. */
  const told = (page: Page, sentence: string) =>
    page.locator("#outcome:focus").filter({ hasText: sentence }).waitFor();
  const walkAs = async (email: string, walk: (page: Page) => Promise<void>) => {
    const context = await windowOf(browser!, service.url, await as(email), width);
    try {
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(`${service.url}/organizations`);
      await walk(page);
      expect(trouble).toEqual([]);
    } finally {
      await context.close();
    }
  };
  const inWindow = (walk: (page: Page) => Promise<void>) => async () => {
    await walkAs(people.head, walk);
    expect((await organization()).orgType).toBe("Mission agency");
    expect(await membership(people.reader)).toMatch(/suspended/);
  };

  inBrowser(
    "by mouse: find the organization, say what it is, suspend a member",
    inWindow(async (page) => {
      await page.getByRole("searchbox").fill(org.domain);
      await page.getByRole("button", { name: "Search" }).click();
      // Every organization is listed before.
      await page.waitForURL(/\?q=/);
      await page.getByRole("link", { name: org.name }).click();
      await page.getByText("Change this").click();
      await page.getByLabel("Type").fill("Mission agency");
      await page.getByRole("button", { name: "Save" }).click();
      await told(page, "The organization was changed.");
      const member = page.getByRole("listitem").filter({ hasText: people.reader });
      await member.getByText("Change").first().click();
      await member.getByRole("button", { name: "Suspend" }).click();
      await told(page, "The membership is suspended.");
    }),
  );

  inBrowser(
    "by keyboard: the same",
    inWindow(async (page) => {
      const goTo = byTab(page);
      await goTo(page.getByRole("searchbox"));
      await page.keyboard.type(org.domain);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\?q=/);
      await goTo(page.getByRole("link", { name: org.name }));
      await page.keyboard.press("Enter");
      await goTo(page.locator("summary").filter({ hasText: "Change this" }));
      await page.keyboard.press("Enter");
      await goTo(page.getByLabel("Type"));
      await page.keyboard.type("Mission agency");
      await page.keyboard.press("Enter");
      await told(page, "The organization was changed.");
      const member = page.getByRole("listitem").filter({ hasText: people.reader });
      await goTo(member.locator("summary"));
      await page.keyboard.press("Enter");
      await goTo(member.getByRole("button", { name: "Suspend" }));
      await page.keyboard.press("Space");
      await told(page, "The membership is suspended.");
    }),
  );

  type Control = ReturnType<Page["locator"]>;
  type Hands = {
    press: (control: Control) => Promise<void>;
    write: (field: Control, text: string) => Promise<void>;
  };
  const byMouse = (): Hands => ({
    press: (control) => control.click(),
    write: (field, text) => field.fill(text),
  });
  const byKeyboard = (page: Page): Hands => {
    const goTo = byTab(page);
    return {
      press: async (control) => {
        await goTo(control);
        await page.keyboard.press("Enter");
      },
      write: async (field, text) => {
        await goTo(field);
        await page.keyboard.type(text);
      },
    };
  };

  describe.each([
    ["by mouse", byMouse],
    ["by keyboard", byKeyboard],
  ])("%s", (_, handsOn) => {
    inBrowser("leave, ask to belong again, take it back", () =>
      walkAs(people.reader, async (page) => {
        const { press, write } = handsOn(page);
        await page.goto(service.url + path);
        await press(page.getByRole("button", { name: "Leave the organization" }));
        await told(page, "You have left");
        await press(page.locator("summary").filter({ hasText: "I belong to it" }));
        await write(page.getByLabel("First name"), "Re");
        await write(page.getByLabel("Last name"), "Ader");
        await press(page.getByRole("button", { name: "Ask to belong to it" }));
        await told(page, "see below for its outcome");
        await press(page.getByRole("button", { name: "Withdraw the request" }));
        await told(page, "withdrawn");
      }),
    );

    inBrowser("appoint an administrator where there is none", () =>
      walkAs(m.platformAdmin, async (page) => {
        const { press, write } = handsOn(page);
        const empty = await m.addOrganization(service.database.owner);
        await page.goto(service.url + pathOf(empty.uri));
        await write(page.getByLabel("E-mail address of the new administrator"), people.writer);
        await press(page.getByRole("button", { name: "Appoint" }));
        await told(page, "has an administrator");
      }),
    );
  });
});
