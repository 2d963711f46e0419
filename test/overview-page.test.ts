// The pictures of the overview: what they show to whom, that each number is that of its list, and the query under each.
import { brotliDecompressSync } from "node:zlib";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { html } from "hono/html";
import type { Browser } from "playwright-core";
import type { AskGraphql } from "../server/graphql/ask.ts";
import { funnel } from "../server/pages/overview/funnel.ts";
import { picture } from "../server/pages/overview/picture.ts";
import { world } from "../server/pages/overview/world.ts";
import type { Visit } from "../server/pages/page.ts";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { startDemoService } from "./support/demo.ts";
import { startAnotherServer } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

let service: Awaited<ReturnType<typeof startDemoService>>;
let visitor: Visitor;
let overview: string;
/** The month that it counts as this one. */
let month: Date;
let browser: Browser | undefined;

const HOSTILE = `<script>alert(1)</script>\u05D0\u05D1 "&' ${"x".repeat(150)}`;

beforeAll(async () => {
  service = await startDemoService();
  browser = await launchBrowser();
  const { owner } = service.database;
  await owner.query(
    `update app_public.commitments
     set status = ('{fulfilled,partially_fulfilled,abandoned}'::text[])[n::integer]::app_public.commitment_status
     from (select commitment_id, row_number() over (order by commitment_id) as n from app_public.commitments) as c
     where commitments.commitment_id = c.commitment_id and n <= 3`,
  );
  // The month before.
  month = new Date();
  await owner.query(
    `update app_public.status_history set changed_at = date_trunc('month', now(), 'UTC') - interval '1 hour'
     where to_status = 'abandoned'`,
  );
  // One that is too small for the coarse map, one that the atlas does not know.
  await owner.query(
    "insert into app_public.countries (alpha2, alpha3, name) values ('ZZ', 'ZZZ', 'Nowhere')",
  );
  await owner.query(
    `update app_public.needs set concerns_country_code = concerns_country_code || '{SG,ZZ}'
     where need_id = (select min(need_id::text)::uuid from app_public.needs)`,
  );
  await owner.query("update app_public.accelerators set pref_label = $1 where code = 'PRA-INT'", [HOSTILE]);
  // So that somebody has committed to a need of which no work is attested.
  await owner.query(
    `update app_public.commitments set concerns_need_id = (
       select need_id from app_public.needs as n
       where not exists (select from app_public.commitments as c where c.concerns_need_id = n.need_id) limit 1)
     where concerns_need_id is null`,
  );
  // So that not all needs of a country are open.
  await owner.query(
    `update app_public.needs set status = 'met'
     where need_id in (
       select need_id from app_public.needs where 'NE' = any (concerns_country_code) order by need_id desc limit 1)`,
  );
  visitor = await new Visitor(service).signIn("somebody@elsewhere.example");
  overview = (await visitor.open("/")).text;
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

const unescaped = (text: string) =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name]!,
  );
const pictures = () => [...overview.matchAll(/<section class="card" id="(\w+)"[\s\S]*?<\/section>/g)];

test("who is not signed in sees the doors and no number", async () => {
  const { status, text } = await new Visitor(service).open("/");
  expect(status).toBe(200);
  expect(text).toContain("Doors for programs");
  expect(text).toContain('href="/sign-in?returnTo=/"');
  expect(text).not.toMatch(/<svg|<table|graphiql\?query/);
});

test("who is signed in is led to the review of claims if it is for them, and everybody else is told that there is one", async () => {
  const leads = (text: string) =>
    /<section class="card" aria-labelledby="pages">[\s\S]*\/admin\/claims/.test(text);
  expect(leads((await new Visitor(service).open("/")).text)).toBe(true);
  expect(leads(overview)).toBe(false);
  await service.database.owner.query(
    "select from app_private.change_platform_role(app_private.remember_user($1, null, null), 'support', 'grant')",
    ["support@elsewhere.example"],
  );
  const reviewer = await new Visitor(service).signIn("support@elsewhere.example");
  expect(leads((await reviewer.open("/")).text)).toBe(true);
});

test("an API key is not somebody who is signed in", async () => {
  const headers = { authorization: `Bearer ${service.keys.review}` };
  expect((await new Visitor(service).open("/", { headers })).text).not.toContain("<svg");
});

test("whoever is signed in sees four pictures", () => {
  expect(pictures().map(([, id]) => id)).toEqual(["countries", "funnel", "months", "accelerators"]);
  expect(overview).not.toContain('role="alert"');
});

test("the query under each picture is one that anybody may send, and opens in the explorer", async () => {
  for (const [text] of pictures()) {
    const query = unescaped(/<code>([\s\S]*?)<\/code>/.exec(text)![1]!);
    const { status, body } = await visitor.call("/graphql", { query });
    expect([status, body.errors]).toEqual([200, undefined]);
    const link = new URL(unescaped(/href="(\/graphiql[^"]*)">Open it/.exec(text)![1]!), service.url);
    expect(link.searchParams.get("query")).toBe(query);
  }
});

test("each number is that of the list to which it leads", async () => {
  const links = [...overview.matchAll(/<a href="([^"]*)">([\d,]+)<\/a>/g)];
  expect(links.length).toBeGreaterThan(20);
  for (const [, href, number] of links) {
    const link = new URL(unescaped(href!), service.url);
    const query = link.searchParams.get("query");
    if (query === null) {
      const { body } = await visitor.call(`${link.pathname}${link.search}`);
      expect([href, body.total]).toEqual([href, Number(number)]);
    } else {
      const { body } = await visitor.call("/graphql", { query });
      const [list] = Object.values(body.data as Record<string, { totalCount: number }>);
      expect([href, list!.totalCount]).toEqual([href, Number(number)]);
    }
  }
});

test("how far needs have come is what the tables say of them, as a share of all", async () => {
  const [card] = /<section class="card" id="funnel"[\s\S]*?<\/section>/.exec(overview)!;
  const rows = card.matchAll(/<td class="number"><a [^>]*>(\d+)<\/a>[\s\S]*?<rect width="([\d.]+)"/g);
  const { rows: counted } = await service.database.owner.query<Record<string, number>>(
    `select count(distinct need_id)::integer as declared,
       count(distinct concerns_need_id)::integer as committed,
       count(distinct concerns_need_id) filter (where claim_id is not null)::integer as attested,
       count(distinct need_id) filter (where n.status = 'met')::integer as met
     from app_public.needs as n
       left join app_public.commitments on concerns_need_id = need_id
       left join app_public.engagement_claims on fulfills_commitment_id = commitment_id`,
  );
  const stages = Object.values(counted[0]!);
  // All of them are different, so that none stands for another.
  expect([...new Set(stages)]).toEqual(stages);
  expect(Array.from(rows, ([, number, width]) => [Number(number), width])).toEqual(
    stages.map((number) => [number, ((number / stages[0]!) * 100).toFixed(2)]),
  );
});

test("the map shows each country: as an outline, a point, or in words", async () => {
  const [map] = /<svg\s+class="map"[\s\S]*?<\/svg>/.exec(overview)!;
  const drawn = new Map(
    [...map.matchAll(/countryCode=(\w+)"[\s\S]*?<(path|circle)/g)].map(([, code, shape]) => [code, shape]),
  );
  const { rows } = await service.database.owner.query<{ code: string }>(
    "select distinct unnest(concerns_country_code) as code from app_public.needs",
  );
  expect(new Set([...drawn.keys(), "ZZ"])).toEqual(new Set(rows.map(({ code }) => code)));
  expect([drawn.get("SG"), drawn.get("NE")]).toEqual(["circle", "path"]);
  expect(overview).toContain("Not on this map: Nowhere.");
  const needs = Array.from(map.matchAll(/aria-label="[^":]*: (\d+ \w+), /g), ([, number]) => number!);
  expect(needs).toContain("1 need");
  for (const number of needs) expect(number).toMatch(/^(1 need|([2-9]|\d\d+) needs)$/);
  const [, all, open] = /aria-label="Niger: (\d) needs, (\d) open"/.exec(map)!;
  expect(Number(open)).toBe(Number(all) - 1);
  const table =
    /<bdi>Niger<\/bdi><\/th>\s*<td class="number"><a [^>]*>(\d)<\/a><\/td>\s*<td class="number"><a [^>]*>(\d)</;
  expect(table.exec(overview)!.slice(1)).toEqual([all, open]);
});

test("every country that a need concerns is in the table, and of accelerators the twenty with the most needs", async () => {
  const { owner } = service.database;
  const { rows } = await owner.query<{
    id: string;
    accelerators: string[];
    countries: string[];
    all: number;
  }>(
    `select need_id as id, accelerators, concerns_country_code as countries,
       (select count(*)::integer from app_public.countries) as all
     from app_public.needs order by need_id desc limit 1`,
  );
  const [{ id, accelerators, countries, all }] = rows as [(typeof rows)[0]];
  await owner.query(
    `update app_public.needs set concerns_country_code = array(select alpha2 from app_public.countries),
       accelerators = array(select code from app_public.accelerators order by code limit 25) where need_id = $1`,
    [id],
  );
  try {
    const { text } = await visitor.open("/");
    const rowsOf = (picture: string) =>
      new RegExp(`<section class="card" id="${picture}"[^]*?</table>`)
        .exec(text)![0]
        .match(/<th scope="row">/g)!;
    expect([rowsOf("countries").length, rowsOf("accelerators").length]).toEqual([all, 20]);
  } finally {
    await owner.query(
      "update app_public.needs set concerns_country_code = $2, accelerators = $3 where need_id = $1",
      [id, countries, accelerators],
    );
  }
});

test("the months say what was fulfilled of what ended", () => {
  const name = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
  const before = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 0));
  expect(overview).toContain(
    `${name.format(before)}: 1 ended, 0 of them fulfilled; ${name.format(month)}: 2 ended, 2 of them fulfilled.`,
  );
});

test("a country is the darker the more needs concern it, and one of them is enough to be seen", () => {
  const steps = [...overview.matchAll(/countryCode=(\w+)"\s+tabindex[\s\S]*?class="step-(\d)"/g)];
  const stepOf = Object.fromEntries(steps.map(([, code, step]) => [code, Number(step)]));
  expect(stepOf).toMatchObject({ NE: 5, TD: 4, SG: 4 });
});

test("a picture of which a part is refused says so, and draws nothing of the rest", async () => {
  const part = picture<object>({ id: "x", title: "X", query: "{ a }", draw: () => html`<svg></svg>` });
  const answered = (answer: object) =>
    part((() => Promise.resolve(answer)) as AskGraphql, { exchange: {} } as Visit).then(String);
  expect(await answered({ data: {} })).toContain("<svg>");
  const refused = await answered({ data: { a: null }, errors: [{ message: "That is too much." }] });
  expect(refused).toContain("This could not be read: That is too much.");
  expect(refused).not.toContain("<svg>");
});

test("where nothing is declared yet nothing is drawn of it", async () => {
  const none = { totalCount: 0 };
  const names = ["declared", "committed", "attested", "met", "commitments", "attestations"];
  const data = Object.fromEntries(names.map((name) => [name, none]));
  const text = String(
    await funnel((() => Promise.resolve({ data })) as unknown as AskGraphql, { exchange: {} } as Visit),
  );
  expect([...text.matchAll(/<rect width="([^"]*)"/g)].map(([, width]) => width)).toEqual(
    Array.from({ length: 4 }, () => "0.00"),
  );
});

test("the map has its room for where people live, and small countries as points", async () => {
  const { shapeOf } = await world();
  expect(Object.keys(shapeOf("NE")!)).toEqual(["outline"]);
  for (const small of ["SG", "AQ"]) expect([small, Object.keys(shapeOf(small)!)]).toEqual([small, ["point"]]);
  expect(shapeOf("ZZ")).toBeUndefined();
});

test("what is stored is text, whatever it says", () => {
  expect(overview).not.toContain("<script>");
  expect(overview).toContain("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;\u05D0\u05D1");
});

test("the page counts as its queries do, and is refused like them", async () => {
  const another = await startAnotherServer(service, { RATE_LIMIT_PER_MINUTE: "8" });
  try {
    const hasty = new Visitor({ url: another.url, database: service.database });
    await hasty.signIn("hasty@elsewhere.example");
    expect((await hasty.open("/")).status).toBe(200);
    const refused = await hasty.open("/");
    expect([refused.status, refused.text.includes("<svg")]).toEqual([429, false]);
  } finally {
    await another.stop();
  }
});

test("it is sent in less than 100 kB", async () => {
  const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    request(service.url, { headers: { cookie, "accept-encoding": "br" } }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part)).on("end", () => resolve(Buffer.concat(parts)));
    })
      .on("error", reject)
      .end();
  });
  expect(bytes.length).toBeLessThan(100_000);
  expect(brotliDecompressSync(bytes).toString()).toContain('class="map"');
});

describe.each([390, 1280])("%i pixels wide", (width) => {
  inBrowser("by keyboard: from a picture to its table, and to the list behind a number", async () => {
    const context = await browser!.newContext({ viewport: { width, height: 800 } });
    try {
      await context.addCookies(
        [...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })),
      );
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(service.url);
      const picture = page.getByRole("region", { name: "Needs by country" });
      const table = picture.getByText(/^As a table/);
      while (!(await table.evaluate((summary) => summary.matches(":focus"))))
        await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await picture.getByRole("row", { name: /Niger/ }).waitFor();
      await page.keyboard.press("Tab");
      const number = await page.evaluate("document.activeElement.textContent");
      // The list has no icon, and a browser asks for one.
      expect(trouble).toEqual([]);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/v0\/needs\?countryCode=/);
      const { total } = JSON.parse((await page.locator("body").textContent())!) as { total: number };
      expect(String(total)).toBe(number);
    } finally {
      await context.close();
    }
  });

  inBrowser("by mouse: a country leads to its needs", async () => {
    const context = await browser!.newContext({ viewport: { width, height: 800 } });
    try {
      await context.addCookies(
        [...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })),
      );
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(service.url);
      expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
      expect(trouble).toEqual([]);
      await page.locator('.map a[href$="countryCode=NE"]').click();
      await page.waitForURL(/\/v0\/needs\?countryCode=NE/);
    } finally {
      await context.close();
    }
  });
});
