// The page at /sparql: who may ask what, how answers and refusals are shown, with and without the editor's script.
import { EventEmitter } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Route } from "playwright-core";
import { createNames, DEFAULT_NAMESPACE } from "../graph/namespaces.ts";
import { loadConfig } from "../config.ts";
import { ApiError } from "../server/errors.ts";
import type { Visit } from "../server/pages/page.ts";
import { sparqlPage } from "../server/pages/sparql.ts";
import { examplesFor } from "../server/pages/sparql/examples.ts";
import type { SparqlEndpoint } from "../server/sparql/endpoint.ts";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { startDemoService } from "./support/demo.ts";
import { eventually } from "./support/eventually.ts";
import { Visitor } from "./support/visitor.ts";

const EXAMPLES = examplesFor(createNames(loadConfig({})));
const CHAIN = EXAMPLES[0]!;
const HOSTILE = `<script>alert(1)</script>\u05D0\u05D1 "&'`;
const NEED = "https://data.example.org/needs/00000000-0000-4000-8001-000000000001";

let service: Awaited<ReturnType<typeof startDemoService>>;
let visitor: Visitor;
let browser: Browser | undefined;
beforeAll(async () => {
  service = await startDemoService();
  browser = await launchBrowser();
  visitor = await new Visitor(service).signIn("somebody@elsewhere.example");
  await eventually(async () => {
    const { status, body } = await visitor.call("/v0/health");
    expect([status, body.pending, body.pendingLists]).toEqual([200, 0, []]);
  });
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

const path = (query: string) => `/sparql?${new URLSearchParams({ query }).toString()}`;
const ask = (query: string, who = visitor) => who.open(path(query));
const shown = (text: string) => /<section class="card" id="result"[\s\S]*?<\/section>/.exec(text)?.[0];
const titleOf = (text: string) => /<h2 id="result-title">([^<]*)</.exec(text)?.[1];

describe("the examples", () => {
  test.each(EXAMPLES)("$title", async ({ query }) => {
    const { status, text } = await ask(query);
    expect([status, titleOf(text)]).toEqual([
      200,
      expect.stringMatching(/^(Yes|[1-9]\d* (rows?|triples?))$/),
    ]);
  });

  test("find in the demo what there is of it, and nothing else", async () => {
    const found = async (title: string) => {
      const { text } = await ask(EXAMPLES.find((example) => example.title === title)!.query);
      return { title: titleOf(text), text: shown(text)! };
    };
    for (const [title, expected] of [
      // Two of the commitments are attested, one of them twice.
      ["From a need to what was done about it", "4 rows"],
      ["Needs that nobody has committed to", "2 rows"],
      ["Needs by country", "4 rows"],
      ["The chains as a graph of their own", "6 triples"],
    ] as const)
      expect([title, (await found(title)).title]).toEqual([title, expected]);
    const others = await found("Attestations that are about work of others");
    expect(others.title).toBe("1 row");
    expect(others.text).toMatch(/Northern Light Fellowship[^]*Harbor Scripture/);
    expect((await found("All that is known of the latest need")).text).toContain("Pioneer teams");
  });

  test("have the prefixes that they use, and no others", () => {
    for (const { title, query } of EXAMPLES) {
      const prefixes = [...query.matchAll(/^PREFIX (\w+):/gm)].map(([, prefix]) => prefix!);
      const asked = query.replaceAll(/^PREFIX .*\n/gm, "");
      const used = new Set([...asked.matchAll(/(?<!\w)([a-z]+):\w/g)].map(([, prefix]) => prefix!));
      expect([title, new Set(prefixes)]).toEqual([title, used]);
    }
  });

  test("are all on the page, the first of them in the editor", async () => {
    const { text } = await visitor.open("/sparql");
    for (const { title } of EXAMPLES) expect(text).toContain(`>${title}</a>`);
    expect(text).toContain("Needs that nobody has committed to");
    expect(text).toContain("?commitment ns:concernsNeed ?need");
    expect(shown(text)).toBeUndefined();
  });
});

describe("what is answered", () => {
  test("rows, each IRI leading to what is known of it", async () => {
    const { text } = await ask(
      `SELECT ?need ?status (1.5 AS ?n) ?none { VALUES ?need { <${NEED}> } ?need <${DEFAULT_NAMESPACE}needStatus> ?status }`,
    );
    expect(titleOf(text)).toBe("1 row");
    const [, link] = /<td><a href="([^"]*)"/.exec(shown(text)!)!;
    expect(new URL(link!, service.url).searchParams.get("query")).toBe(`DESCRIBE <${NEED}>`);
    expect(shown(text)).toContain('<td class="number">1.5</td>');
    const described = await visitor.open(link!.replaceAll("&amp;", "&"));
    expect([described.status, titleOf(described.text)]).toEqual([200, expect.stringMatching(/triples$/)]);
    expect(described.text).toContain("a ns:Need");
  });

  test("texts with their language, and an IRI by the prefix that it begins with", async () => {
    const elsewhere = `https://elsewhere.example/?of=${DEFAULT_NAMESPACE}x`;
    const { text } = await ask(
      `SELECT ("hallo"@de AS ?text) ?iri { VALUES ?iri { <${elsewhere}> <${DEFAULT_NAMESPACE}Need> } }`,
    );
    expect(shown(text)).toContain('<bdi lang="de">hallo</bdi> <span class="quiet">de</span>');
    expect(shown(text)).toContain(`>${elsewhere}</a>`);
    expect(shown(text)).toContain(">ns:Need</a>");
  });

  test("a graph, as Turtle with prefixes", async () => {
    const { text } = await ask(
      `PREFIX ns: <${DEFAULT_NAMESPACE}> CONSTRUCT { <${NEED}> a ns:Need ; ns:orgName "a" , _:b } {}`,
    );
    expect(titleOf(text)).toBe("3 triples");
    expect(shown(text)).toContain(`@prefix ns: &lt;${DEFAULT_NAMESPACE}&gt;.`);
    expect(shown(text)).not.toContain("@prefix skos:");
  });

  test("yes and no", async () => {
    expect(titleOf((await ask("ASK {}")).text)).toBe("Yes");
    expect(titleOf((await ask("ASK { FILTER(false) }")).text)).toBe("No");
  });

  test("nothing", async () => {
    for (const query of [
      "SELECT * { <urn:none> ?p ?o }",
      "CONSTRUCT { <urn:none> ?p ?o } { <urn:none> ?p ?o }",
    ])
      expect(shown((await ask(query)).text)).toContain("Nothing in the graph matches.");
  });

  test("as much as a page, and not one more", async () => {
    const numbers = (n: number) => Array.from({ length: n }, (_, i) => i).join(" ");
    for (const [n, title] of [
      [500, "500 rows"],
      [501, "The first 500 rows"],
    ] as const) {
      const { text } = await ask(`SELECT ?n { VALUES ?n { ${numbers(n)} } }`);
      expect([n, titleOf(text)]).toEqual([n, title]);
    }
  });

  test("more than a page: its beginning, and that there is more", async () => {
    const many = "?a ?b ?c . ?d ?e ?f";
    for (const [query, title] of [
      [`SELECT * { ${many} }`, "The first 500 rows"],
      [`CONSTRUCT { ?d ?e ?f } { ?d ?e ?f }`, "The first 500 triples"],
    ] as const) {
      const { status, text } = await ask(query);
      expect([status, titleOf(text), shown(text)!.includes("There is more")]).toEqual([200, title, true]);
    }
    // A single value can be too long, too.
    const long = await ask(
      `SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?d))) AS ?all) { ?a ?b ?c . ?d ?e "open" }`,
    );
    expect([long.status, titleOf(long.text)]).toEqual([200, "The first 0 rows"]);
  });

  test("whatever is in the graph is text", async () => {
    const { text } = await ask(`SELECT ("${HOSTILE.replaceAll('"', '\\"')}" AS ?text) {}`);
    expect(text).not.toContain("<script>alert");
    expect(shown(text)).toContain("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;\u05D0\u05D1");
  });
});

describe("what is refused", () => {
  test.each([
    ["what is no SPARQL, with its place", "SELECT *\n{ ?s ?p ", 400, /line 2, column 9/],
    ["nothing", " ", 400, /line 1, column 2/],
    ["a prefix that is not declared", "SELECT * { ex:s ?p ?o }", 400, /role="alert"/],
    ["an update", "INSERT DATA { <urn:s> <urn:p> 1 }", 403, /does not accept updates/],
    [
      "another endpoint",
      "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
      403,
      /SERVICE is not allowed/,
    ],
    [
      "what takes too long",
      "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
      504,
      /role="alert"/,
    ],
  ])("%s", async (_, query, status, message) => {
    const refused = await ask(query);
    expect(refused.status).toBe(status);
    expect(titleOf(refused.text)).toBe("That did not work");
    expect(shown(refused.text)).toMatch(message);
    // What was asked is still there to be mended.
    expect(refused.text).toContain(query.trim().replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
  });

  test("somebody who is not signed in reads, and runs nothing", async () => {
    const nobody = new Visitor(service);
    const { status, text } = await ask("ASK {}", nobody);
    expect([status, shown(text), text.includes("<form")]).toEqual([200, undefined, false]);
    const [, link] = /href="(\/sign-in\?[^"]*)"\s*>Sign in<\/a\s*>\s+to\s+run it/.exec(text)!;
    expect(new URL(link!, service.url).searchParams.get("returnTo")).toBe(path("ASK {}"));
    expect((await nobody.open(path("ASK {}").replace("/sparql", "/sparql/result.json"))).status).toBe(401);
    expect((await nobody.submit({ text: "" }, "/sparql", { query: "ASK {}" })).status).toBe(401);
    // A key is for programs.
    const headers = { authorization: `Bearer ${service.keys.review}` };
    expect(shown((await nobody.open(path("ASK {}"), { headers })).text)).toBeUndefined();
  });

  test("a link from elsewhere shows what it asks, and does not run it", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    const { status, text } = await visitor.open(path("ASK {}"), { headers });
    expect([status, titleOf(text)]).toEqual([200, "Not run yet"]);
    expect(text).toContain("ASK {}");
    const file = path("ASK {}").replace("/sparql", "/sparql/result.json");
    expect((await visitor.open(file, { headers })).status).toBe(403);
  });

  test("who is to come back is told when", async () => {
    const set: object[] = [];
    const response = Object.assign(new EventEmitter(), { set: (headers: object) => set.push(headers) });
    const busy = new ApiError("service_busy");
    const endpoint = { maxBytes: 1_000, guard: () => Promise.reject(busy) } as unknown as SparqlEndpoint;
    const asking = {
      ...{ visitor: { identity: { id: "x" } }, query: () => "ASK {}", proof: "" },
      exchange: { request: { get: () => "same-origin", method: "GET" }, response },
    } as unknown as Visit;
    const { show } = sparqlPage(endpoint, createNames(loadConfig({})));
    expect(await show(asking)).toMatchObject({ status: 503 });
    expect(Object.keys(busy.headers).map((name) => name.toLowerCase())).toEqual(["retry-after"]);
    expect(set).toEqual([busy.headers]);
  });

  test("a form without its proof", async () => {
    expect((await visitor.submit({ text: "" }, "/sparql", { query: "ASK {}" })).status).toBe(403);
  });
});

test("the form leads to the address of its query; one that is too long for an address is answered at once", async () => {
  const page = await visitor.open("/sparql");
  // A browser ends each line of a field with two characters.
  const sent = await visitor.submit(page, "/sparql", { query: CHAIN.query.replaceAll("\n", "\r\n") });
  expect([sent.status, sent.location]).toEqual([303, `${path(CHAIN.query)}#result`]);
  const long = `ASK {} # ${"ä".repeat(5_000)}`;
  const answered = await visitor.submit(page, "/sparql", { query: long });
  expect([answered.status, titleOf(answered.text)]).toEqual([200, "Yes"]);
  expect(shown(answered.text)).not.toContain("result.json");
  const longer = await visitor.submit(page, "/sparql", { query: `ASK {} # ${"x".repeat(65_536)}` });
  expect(longer.status).toBe(413);
  expect(longer.text).toContain("at most 65536 bytes");
});

describe("downloads", () => {
  const linksOf = (text: string) =>
    [...shown(text)!.matchAll(/<a href="(\/sparql\/[^"]*)">([\w-]+)<\/a>/g)].map(
      ([, link, label]) => [label!, link!.replaceAll("&amp;", "&")] as const,
    );
  test.each([
    [
      "SELECT ?a { VALUES ?a { 1 2 } }",
      { CSV: "text/csv; charset=utf-8", JSON: "application/sparql-results+json" },
    ],
    ["ASK {}", { JSON: "application/sparql-results+json" }],
    [
      "CONSTRUCT { <urn:a> <urn:b> 1 } {}",
      { Turtle: "text/turtle; charset=utf-8", "JSON-LD": "application/ld+json" },
    ],
    ["DESCRIBE <urn:a> { }", { Turtle: "text/turtle; charset=utf-8", "JSON-LD": "application/ld+json" }],
  ])("%s", async (query, types: Record<string, string>) => {
    const links = linksOf((await ask(query)).text);
    expect(links.map(([label]) => label)).toEqual(Object.keys(types));
    for (const [label, link] of links) {
      const file = await visitor.open(link);
      expect([file.status, file.headers.get("content-type")]).toEqual([200, types[label]]);
      const [, name] = /^\/sparql\/(result\.\w+)\?/.exec(link)!;
      expect(file.headers.get("content-disposition")).toMatch(
        new RegExp(`^attachment; filename="?${name}"?$`),
      );
      const same = await visitor.open(link.replace(/^[^?]*/, "/v0/sparql"), {
        headers: { accept: types[label]! },
      });
      expect(file.text).toBe(same.text);
    }
  });

  test("a refused one is no file", async () => {
    const { status, headers } = await visitor.open("/sparql/result.csv?query=SELECT");
    expect([status, headers.get("content-disposition")]).toEqual([400, null]);
  });
});

test("the policy allows this service's own files, and the import map by its hash", async () => {
  const { headers, text } = await visitor.open("/sparql");
  const policy = headers.get("content-security-policy")!;
  expect(policy).toMatch(/script-src 'self' 'sha256-[^']+'; style-src 'self';/);
  expect(policy).not.toMatch(/unsafe|nonce|https?:/);
  const [, map] = /<script type="importmap">(.*?)<\/script>/.exec(text)!;
  const { imports } = JSON.parse(map!) as { imports: Record<string, string> };
  for (const file of Object.values(imports)) {
    const module = await visitor.open(file);
    expect([file, module.status, module.headers.get("content-type")]).toEqual([
      file,
      200,
      "text/javascript; charset=utf-8",
    ]);
    const etag = module.headers.get("etag")!;
    expect((await visitor.open(file, { headers: { "if-none-match": etag } })).status).toBe(304);
    if (module.text.length > 10_000) expect(module.headers.get("content-encoding")).toMatch(/br|gzip/);
    for (const [, name] of module.text.matchAll(/^(?:import|export) .*from ['"]([^'"]+)['"]/gm))
      expect(Object.keys(imports)).toContain(name);
  }
  expect((await visitor.open("/")).headers.get("content-security-policy")).toContain("script-src 'self';");
});

const open = async (context: BrowserContext, address: string) => {
  await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })));
  const watched = await watchedPage(context, service.url);
  await watched.page.goto(`${service.url}${address}`);
  return watched;
};

describe.each([390, 1280])("%i pixels wide", (width) => {
  inBrowser("by keyboard: mend a query, run it, follow what it has found", async () => {
    const context = await browser!.newContext({ viewport: { width, height: 900 } });
    try {
      const { page, trouble } = await open(context, path("SELECT ?need {\n  ?need a ns:Need\n}"));
      await page.getByRole("alert").waitFor();
      trouble.splice(0);
      const editor = page.getByRole("textbox", { name: "Query" });
      await editor.waitFor();
      await editor.focus();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type(`PREFIX ns: <${DEFAULT_NAMESPACE}>\n`);
      await page.keyboard.press("Control+Enter");
      await page.getByRole("heading", { name: "4 rows" }).waitFor();
      expect(new URL(page.url()).searchParams.get("query")).toMatch(/^PREFIX ns: .*\nSELECT \?need/);
      // From the answer on, the next is what it has found.
      await page.locator("#result:focus").waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: /triples$/ }).waitFor();
      await page.goBack();
      await page.getByRole("heading", { name: "4 rows" }).waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
      // Tab leads out of the editor.
      await editor.focus();
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Run");
      expect(trouble).toEqual([]);
    } finally {
      await context.close();
    }
  });

  inBrowser("by mouse: an example, a file; and the line that cannot be read is marked", async () => {
    const context = await browser!.newContext({ viewport: { width, height: 900 } });
    try {
      const { page, trouble } = await open(context, "/sparql");
      await page.getByRole("link", { name: "Needs by country" }).click();
      await page.getByRole("cell", { name: "Niger" }).waitFor();
      const file = page.waitForEvent("download");
      await page.getByRole("link", { name: "CSV" }).click();
      expect((await file).suggestedFilename()).toBe("result.csv");
      expect(trouble).toEqual([]);
      await page.goto(`${service.url}${path("SELECT *\n{ ?s ?p ")}`);
      expect(await page.locator(".cm-wrong").textContent()).toBe("{ ?s ?p ");
    } finally {
      await context.close();
    }
  });

  inBrowser("without script: the same, in a plain field", async () => {
    const context = await browser!.newContext({ viewport: { width, height: 900 }, javaScriptEnabled: false });
    try {
      const { page } = await open(context, "/sparql");
      await page.getByLabel("Query").fill("ASK {}");
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("heading", { name: "Yes" }).waitFor();
      expect(await page.getByLabel("Query").inputValue()).toBe("ASK {}");
    } finally {
      await context.close();
    }
  });
});

inBrowser("who writes before the editor is there goes on writing in it", async () => {
  const context = await browser!.newContext();
  try {
    await context.addCookies(
      [...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })),
    );
    const { page, trouble } = await watchedPage(context, service.url);
    const script = Promise.withResolvers<Route>();
    await page.route("**/assets/sparql.js", (route) => script.resolve(route));
    await page.goto(`${service.url}${path("ASK {}")}`, { waitUntil: "commit" });
    const route = await script.promise;
    const field = page.locator("#query textarea");
    await field.press("End");
    await page.keyboard.type(" # answed");
    await page.keyboard.press("ArrowLeft");
    await route.continue();
    await field.waitFor({ state: "hidden" });
    await page.keyboard.type("re");
    const editor = page.getByRole("textbox", { name: "Query" });
    expect([await editor.textContent(), await field.inputValue()]).toEqual([
      "ASK {} # answered",
      "ASK {} # answered",
    ]);
    expect(trouble).toEqual([]);
  } finally {
    await context.close();
  }
});

inBrowser("who is not signed in reads the query and writes none", async () => {
  const context = await browser!.newContext();
  try {
    const { page } = await watchedPage(context, service.url);
    await page.goto(`${service.url}${path("ASK {}")}`);
    const editor = page.getByRole("textbox", { name: "Query" });
    await editor.focus();
    await page.keyboard.type("x");
    expect([await editor.textContent(), await page.locator("#query textarea").inputValue()]).toEqual([
      "ASK {}",
      "ASK {}",
    ]);
  } finally {
    await context.close();
  }
});
