// The search of the pages: records by their words, organizations by parts of their names, and each by its id or URI.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { AS_A_BROWSER, bytesOf, HOSTILE, windowOf } from "./support/desk.ts";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

let service: TestService;
let browser: Browser | undefined;
let visitor: Visitor;
let org: m.TestOrganization;
let paths: { need: string; commitment: string; claim: string };

beforeAll(async () => {
  service = await startTestService();
  browser = await launchBrowser();
  org = await m.addOrganization(service.database.owner, { writer: "org_admin" });
  const email = `writer@${org.domain}`;
  const post = async (path: string, body: object) => {
    const whose = { orgUri: org.uri, orgName: org.name };
    const answer = await call(`${service.url}${path}`, "POST", service.keys.write, { ...whose, ...body });
    expect(answer.status).toBe(201);
    return answer.body;
  };
  const { needId } = await post("/v0/needs", {
    ...{ declaredByEmail: email, needDescription: "Höre zebra stories", accelerators: ["PRA-INT"] },
  });
  const { commitmentId } = await post("/v0/commitments", {
    ...{ declaredByEmail: email, commitmentDescription: "Zebra recordings", acceleratorScope: ["PRA-INT"] },
  });
  const { claimId } = await post("/v0/engagement-claims/submit", {
    ...{ claimedByEmail: email, description: "zebras heard them", engagementAccelerators: ["PRA-INT"] },
  });
  paths = {
    need: `/needs/${needId}`,
    commitment: `/commitments/${commitmentId}`,
    claim: `/engagement-claims/${claimId}`,
  };
  await service.database.owner.query(
    `insert into app_public.organizations (org_uri, name) values ('https://data.example.org/org/zebra', 'Zebra Trust')`,
  );
  visitor = await new Visitor(service).signIn("somebody@elsewhere.example");
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

const address = (q: string, more: Record<string, string> = {}) =>
  `/search?${new URLSearchParams({ q, ...more }).toString()}`;

async function open(q: string, more: Record<string, string> = {}): Promise<string> {
  const { status, text } = await visitor.open(address(q, more));
  expect([q, status]).toEqual([q, 200]);
  return text;
}

const linksOf = (text: string) =>
  [...text.matchAll(/<a href="(\/(?:needs|commitments|engagement-claims|organizations)\/[^"]*)"/g)].map(
    ([, href]) => href,
  );

test("it is for who is signed in", async () => {
  const { status, location } = await new Visitor(service).open(address("zebra"));
  expect([status, location]).toEqual([
    303,
    `/sign-in?${new URLSearchParams({ returnTo: address("zebra") }).toString()}`,
  ]);
  expect((await visitor.open("/search")).status).toBe(200);
  expect((await visitor.open("/")).text).toContain('action="/search"');
});

test("one word finds records of each kind, and organizations", async () => {
  const zebra = `/organizations/${encodeURIComponent("https://data.example.org/org/zebra")}`;
  expect(linksOf(await open("zebra"))).toEqual([zebra, paths.need, paths.commitment, paths.claim]);
  expect(linksOf(await open("  HORE zeb "))).toEqual([paths.need]);
  expect(linksOf(await open("zebra elsewhere"))).toEqual([]);
  expect(linksOf(await open("zebra", { in: "commitments" }))).toEqual([paths.commitment]);
  expect(linksOf(await open("zebra", { in: "nonsense" }))).toHaveLength(4);
});

test("of a long text that somebody pastes the first 200 characters are looked for, and all of it as a URI", async () => {
  const long = "zebra ".repeat(34).slice(0, 199);
  expect(linksOf(await open(`${long} elsewhere`))).toHaveLength(4);
  expect(linksOf(await open(`${long.slice(0, 188)} elsewhere`))).toEqual([]);
  const uri = `https://data.example.org/org/${"x".repeat(200)}`;
  await service.database.owner.query(
    "insert into app_public.organizations (org_uri, name) values ($1, 'Long')",
    [uri],
  );
  const { status, location } = await visitor.open(address(uri), AS_A_BROWSER);
  expect([status, location]).toEqual([303, `/organizations/${encodeURIComponent(uri)}`]);
});

test("as many as the lists of REST find", async () => {
  for (const [list, path] of Object.entries({ Needs: "needs", Commitments: "commitments" })) {
    const { body } = await call(`${service.url}/v0/${path}?q=zebra`, "GET", service.keys.read);
    expect(await open("zebra")).toContain(`${list}: ${body.total}<`);
  }
});

test("what is found says on which day it was declared, and not when it was changed", async () => {
  await service.database.owner.query(
    "update app_public.commitments set created_at = '2020-06-15Z' where commitment_id = $1",
    [paths.commitment.split("/").at(-1)],
  );
  expect(await open("zebra", { in: "commitments" })).toMatch(/<time [^>]*>15 Jun 2020<\/time>/);
});

test("what matches best comes first, though another is newer", async () => {
  const found: string[] = [];
  for (const needDescription of [
    "ostrich, ostrich and ostrich",
    "an ostrich among much else that is needed",
  ]) {
    const { body } = await call(`${service.url}/v0/needs`, "POST", service.keys.write, {
      ...{ orgUri: org.uri, orgName: org.name, declaredByEmail: `writer@${org.domain}` },
      ...{ needDescription, accelerators: ["PRA-INT"] },
    });
    found.push(`/needs/${body.needId}`);
  }
  expect(linksOf(await open("ostrich"))).toEqual(found);
});

test("an id or a URI leads to what it names", async () => {
  for (const [q, expected] of [
    [paths.need.slice("/needs/".length).toUpperCase(), paths.need],
    [`https://data.example.org${paths.claim}`, paths.claim],
    [` ${service.url}${paths.commitment} `, paths.commitment],
    [org.uri, `/organizations/${encodeURIComponent(org.uri)}`],
  ] as const) {
    const { status, location } = await visitor.open(address(q), AS_A_BROWSER);
    expect([q, status, location?.toLowerCase()]).toEqual([q, 303, expected.toLowerCase()]);
  }
  expect(linksOf(await open("00000000-0000-4000-8000-000000000000"))).toEqual([]);
});

test("whatever is typed is text, and answered", async () => {
  for (const q of [HOSTILE, "…", "%", "_", "\\", "'", "& | !", "zebra:*"])
    expect(await open(q)).not.toContain("<script>");
  await open("a\0b");
  expect(await open(`"><img src=x>`)).toContain('value="&quot;&gt;&lt;img src=x&gt;"');
});

test("many are found in pages, none of them long", async () => {
  // So that the planner knows of few, as it does until statistics are made of those that come all at once.
  await service.database.owner.query("vacuum analyze app_public.needs");
  const client = await service.database.owner.connect();
  await client.query("begin; set local session_replication_role = replica");
  const { rows } = await client.query<{ id: string }>(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators, created_at)
     select $1, $2, 'a@b.example', 'giraffe ' || $2, '{PRA-INT}', now() - n * interval '1 second'
     from generate_series(1, 1100) as n returning need_id as id`,
    [org.uri, HOSTILE],
  );
  await client.query("commit");
  client.release();
  const all = await open("giraffe");
  // They match as well as each other, so the newest come first.
  expect(linksOf(all)).toEqual(rows.slice(0, 8).map(({ id }) => `/needs/${id}`));
  expect(all).toContain("Needs: 1,100");
  expect(all).toContain('href="/search?q=giraffe&amp;in=needs"');
  const seen = new Set<string | undefined>();
  for (const page of [1, 2, 3]) {
    const found = linksOf(await open("giraffe", { in: "needs", page: String(page) }));
    expect(found).toHaveLength(25);
    for (const link of found) seen.add(link);
  }
  expect(seen.size).toBe(75);
  // Those that are ranked.
  expect(await open("giraffe", { in: "needs", page: "40" })).toContain("Page 40 of 40");
  expect(linksOf(await open("giraffe", { in: "needs", page: "41" }))).toEqual([]);
  const beyond = await open("giraffe", { in: "needs", page: "60" });
  expect(beyond).toMatch(/rel="prev" href="\/search\?q=giraffe&amp;in=needs&amp;page=40"/);
  expect(beyond).toContain('href="/search?q=giraffe">Search in all');
  for (const page of ["0", "-1", "1.5", "x"])
    expect(await open("giraffe", { in: "needs", page })).toContain("Page 1 of 40");
  expect(await bytesOf(`${service.url}${address("giraffe", { in: "needs" })}`, visitor)).toBeLessThan(
    100_000,
  );
});

describe.each([390, 1280])("%i pixels wide", (width) => {
  const inWindow = (walk: (page: Page) => Promise<void>) => async () => {
    const context = await windowOf(browser!, service.url, visitor, width);
    try {
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(service.url);
      await walk(page);
      await page.waitForURL(`**${paths.commitment}`);
      expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
      expect(trouble).toEqual([]);
    } finally {
      await context.close();
    }
  };

  inBrowser(
    "by mouse: from a word to a chain",
    inWindow(async (page) => {
      await page.getByRole("searchbox").fill("zebra");
      await page.getByRole("button", { name: "Search" }).click();
      await page.getByRole("link", { name: "Zebra recordings" }).click();
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
      await page.keyboard.type("zebra");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/search\?q=/);
      await goTo(page.getByRole("link", { name: "Zebra recordings" }));
      await page.keyboard.press("Enter");
    }),
  );
});
