// The people whom the service knows, at /admin/users: who sees them, who gives them roles, and that nobody else does.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { bytesOf, HOSTILE, windowOf } from "./support/desk.ts";
import { send } from "./support/graphql.ts";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

type Fields = Record<string, string>;

const PATH = "/admin/users";
const known = new Map<string, Visitor>();
let service: TestService;
let browser: Browser | undefined;
let org: m.TestOrganization;
let person: string;

beforeAll(async () => {
  service = await startTestService({ world: false });
  browser = await launchBrowser();
  await m.addPlatformPeople(service.database.owner);
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

beforeEach(async () => {
  org = await m.addOrganization(service.database.owner, { head: "org_admin", person: "org_member" });
  person = `person@${org.domain}`;
});

async function as(email: string): Promise<Visitor> {
  if (!known.has(email)) known.set(email, await new Visitor(service).signIn(email));
  return known.get(email)!;
}

async function open(email: string, address = PATH): Promise<string> {
  const { status, text } = await (await as(email)).open(address);
  expect([email, address, status]).toEqual([email, address, 200]);
  return text;
}

async function press(email: string, fields: Fields) {
  const visitor = await as(email);
  const [, form = ""] = /name="form" type="hidden" value="([^"]*)"/.exec(
    (await visitor.open("/sign-out")).text,
  )!;
  return visitor.submit({ text: "" }, PATH, { form, ...fields });
}

async function rolesOf(email: string): Promise<string[]> {
  const { rows } = await service.database.owner.query<{ role: string }>(
    "select role::text from app_public.platform_roles join app_public.users using (user_id) where email = $1 order by 1",
    [email],
  );
  return rows.map(({ role }) => role);
}

const peopleIn = (text: string) =>
  [
    ...(text.split('<ul class="rows">')[1] ?? "").matchAll(
      /<b><bdi>([^<]*)<\/bdi><\/b>\s*(?:<bdi>([^<]*))?/g,
    ),
  ].map(([, name, email]) => email ?? name);

test("people are shown to who may see them, and roles given by who may give them", async () => {
  const { status, location } = await new Visitor(service).open(PATH);
  expect([status, location]).toEqual([303, "/sign-in?returnTo=%2Fadmin%2Fusers"]);
  for (const email of [person, `head@${org.domain}`, "somebody@elsewhere.example"]) {
    const refused = await (await as(email)).open(PATH);
    expect([email, refused.status, peopleIn(refused.text)]).toEqual([email, 403, []]);
    expect(refused.text).not.toContain(`href="${PATH}"`);
  }
  const seen = await open(m.support);
  expect(peopleIn(seen)).toContain(person);
  expect(seen).toContain(`href="/organizations/${encodeURIComponent(org.uri)}"`);
  expect(seen).not.toContain('value="grant"');
  expect(await open(m.platformAdmin)).toContain('value="grant"');
});

test("they are found by parts of names and addresses, at every door", async () => {
  await service.database.owner.query(
    "update app_public.users set first_name = 'Zoë', last_name = 'Ångström' where email = $1",
    [person],
  );
  for (const q of ["zoe angst", "ANGSTROM zo", person.toUpperCase(), `zoe ${org.domain}`]) {
    const address = `${PATH}?${new URLSearchParams({ q }).toString()}`;
    expect([q, peopleIn(await open(m.support, address))]).toEqual([q, [person]]);
    const headers = { "x-admin-email": m.support };
    const rest = await call(`${service.url}/v0${address}`, "GET", service.keys.review, undefined, headers);
    expect([rest.body.total, rest.body.users.map(({ email }: { email: string }) => email)]).toEqual([
      1,
      [person],
    ]);
    const query =
      'query ($q: String) { platformUsers(adminEmail: "support@platform.example", q: $q) { total users { email } } }';
    const { data } = await send(service, query, { q }, "review");
    expect(data).toEqual({ platformUsers: { total: 1, users: [{ email: person }] } });
  }
  for (const q of ["zoe nobody", "%", "_", "\\"])
    expect(peopleIn(await open(m.support, `${PATH}?${new URLSearchParams({ q }).toString()}`))).toEqual([]);
  expect(peopleIn(await open(m.support, `${PATH}?q=+`)).length).toBeGreaterThan(2);
});

test("where somebody belongs is told, and in which they are not active; five of those, and how many more", async () => {
  const { owner } = service.database;
  const shown = () => open(m.support, `${PATH}?${new URLSearchParams({ q: person }).toString()}`);
  const linked = (text: string) => text.match(/href="\/organizations\/[^"]/g)?.length;
  expect(await shown()).not.toContain("(suspended)");
  await owner.query("select app_private.change_member($1, $2, null, 'suspended')", [org.uri, person]);
  const suspended = await shown();
  expect([suspended.includes("(suspended)"), suspended.includes("(active)")]).toEqual([true, false]);
  const join = async () => {
    const { uri } = await m.addOrganization(owner);
    await owner.query("select app_private.add_member($1, $2, 'org_member')", [uri, person]);
  };
  for (let place = 2; place <= 5; place++) await join();
  const five = await shown();
  expect([linked(five), five.includes("more organizations")]).toEqual([5, false]);
  await join();
  const six = await shown();
  expect([linked(six), six.includes("and 1 more organizations")]).toEqual([5, true]);
});

test("in pages, also of what was found, of which programs say how long they are", async () => {
  await service.database.owner.query(
    `insert into app_public.users (email, first_name, last_name, created_at)
     select 'paged' || n || '@pages.example', 'Paged', 'Person', now() - n * interval '1 day' from generate_series(1, 60) as n`,
  );
  const pages = [];
  for (const page of ["1", "2", "3"])
    pages.push(peopleIn(await open(m.support, `${PATH}?q=pages.example&page=${page}`)));
  expect(pages.map((page) => page.length)).toEqual([25, 25, 10]);
  expect(pages.flat()).toEqual(Array.from({ length: 60 }, (_, n) => `paged${n + 1}@pages.example`));
  const { body } = await call(
    `${service.url}/v0/admin/users?q=pages.example&limit=2&offset=30`,
    "GET",
    service.keys.review,
    undefined,
    { "x-admin-email": m.support },
  );
  expect([body.total, body.users.map(({ email }: { email: string }) => email)]).toEqual([
    60,
    ["paged31@pages.example", "paged32@pages.example"],
  ]);
  const all = [];
  for (const page of ["1", "2", "3"]) all.push(...peopleIn(await open(m.support, `${PATH}?page=${page}`)));
  expect(new Set(all).size).toBe(all.length);
  expect(all.filter((email) => email!.endsWith("@pages.example")).length).toBeGreaterThan(25);
  expect(await bytesOf(`${service.url}${PATH}`, await as(m.platformAdmin))).toBeLessThan(100_000);
});

test("roles are given and taken away, but for the last that gives them", async () => {
  const given = await press(m.platformAdmin, { do: "grant", email: person, role: "support" });
  expect([given.status, given.location]).toEqual([303, `${PATH}?done=grant#outcome`]);
  const shown = await open(m.platformAdmin, given.location!);
  expect(shown).toContain("The role was given.");
  // What is done next is said by itself.
  expect(shown).not.toMatch(/action="[^"]*done=/);
  const offered = await open(m.platformAdmin, `${PATH}?${new URLSearchParams({ q: person }).toString()}`);
  expect(offered).toMatch(/value="revoke">\s*Take away the role support/);
  expect(offered).toMatch(/value="grant">\s*Give the role admin/);
  expect(await rolesOf(person)).toEqual(["support"]);
  expect((await press(m.platformAdmin, { do: "revoke", email: person, role: "support" })).status).toBe(303);
  expect(await rolesOf(person)).toEqual([]);
  const last = await press(m.platformAdmin, { do: "revoke", email: m.platformAdmin, role: "admin" });
  expect([last.status, last.text.includes('role="alert"')]).toEqual([409, true]);
  expect(await rolesOf(m.platformAdmin)).toEqual(["admin"]);
});

describe("what is forced by hand is refused", () => {
  const act = () => ({ do: "grant", email: person, role: "admin" });

  test("from everybody who may not", async () => {
    for (const email of [m.support, `head@${org.domain}`, person, "somebody@elsewhere.example"]) {
      for (const fields of [
        act(),
        { ...act(), email },
        { do: "revoke", email: m.platformAdmin, role: "admin" },
      ]) {
        const { status } = await press(email, fields);
        expect([email, fields.do, status]).toEqual([email, fields.do, 403]);
      }
      expect(await rolesOf(email)).toEqual(email === m.support ? ["support"] : []);
    }
    expect([await rolesOf(person), await rolesOf(m.platformAdmin)]).toEqual([[], ["admin"]]);
  });

  test("without the form that the visitor was shown, and what no form has", async () => {
    const visitor = await as(m.platformAdmin);
    const page = await visitor.open(PATH);
    for (const form of ["", "x".repeat(43)])
      expect((await visitor.submit({ text: "" }, PATH, { ...act(), form })).status).toBe(403);
    const crossed = await visitor.submit(page, PATH, act(), { headers: { "sec-fetch-site": "cross-site" } });
    expect(crossed.status).toBe(403);
    for (const fields of [
      { ...act(), do: "" },
      { ...act(), do: "delete" },
      { ...act(), role: "owner" },
      { do: "grant", email: person },
      { do: "grant", role: "admin" },
    ] as Fields[])
      expect([fields, (await press(m.platformAdmin, fields)).status]).toEqual([fields, 400]);
    expect((await press(m.platformAdmin, { ...act(), email: "unknown@elsewhere.example" })).status).toBe(404);
    expect(await rolesOf(person)).toEqual([]);
  });
});

test("what is stored is text, whatever it says", async () => {
  const client = await service.database.owner.connect();
  await client.query("begin; set local session_replication_role = replica");
  await client.query("update app_public.users set first_name = $1, last_name = $1 where email = $2", [
    HOSTILE,
    person,
  ]);
  await client.query("update app_public.organizations set name = $1 where org_uri = $2", [HOSTILE, org.uri]);
  await client.query("commit");
  client.release();
  for (const address of [PATH, `${PATH}?${new URLSearchParams({ q: HOSTILE }).toString()}`])
    expect(await open(m.platformAdmin, address)).not.toContain("<script>alert");
});

describe.each([390, 1280])("%i pixels wide", (width) => {
  const inWindow = (walk: (page: Page) => Promise<void>) => async () => {
    const context = await windowOf(browser!, service.url, await as(m.platformAdmin), width);
    try {
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(`${service.url}${PATH}`);
      expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
      await walk(page);
      await page.getByText("The role was given.").waitFor();
      expect(await rolesOf(person)).toEqual(["support"]);
      expect(trouble).toEqual([]);
    } finally {
      await context.close();
    }
  };

  inBrowser(
    "by mouse: find somebody, give them a role",
    inWindow(async (page) => {
      await page.getByRole("searchbox").fill(person);
      await page.getByRole("button", { name: "Search" }).click();
      // Everybody is listed before.
      await page.waitForURL(/\?q=/);
      await page.locator("summary").click();
      await page.getByRole("button", { name: "Give the role support" }).click();
    }),
  );

  inBrowser(
    "by keyboard: the same",
    inWindow(async (page) => {
      const goTo = async (locator: ReturnType<Page["locator"]>) => {
        while (!(await locator.evaluate((element) => element.matches(":focus"))))
          await page.keyboard.press("Tab");
      };
      await goTo(page.getByRole("searchbox"));
      await page.keyboard.type(person);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\?q=/);
      await goTo(page.locator("summary"));
      await page.keyboard.press("Space");
      await goTo(page.getByRole("button", { name: "Give the role support" }));
      await page.keyboard.press("Enter");
    }),
  );
});
