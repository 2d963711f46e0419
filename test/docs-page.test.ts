// The API reference, used as a reader uses it, in a browser that can reach nothing but the service.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { typeOf } from "../server/pages/docs/schema.ts";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { startDemoService } from "./support/demo.ts";
import { call } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

let service: Awaited<ReturnType<typeof startDemoService>>;
let browser: Browser | undefined;
beforeAll(async () => {
  service = await startDemoService();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

async function open(context: BrowserContext): Promise<{ page: Page; trouble: string[] }> {
  const watched = await watchedPage(context, service.url);
  await watched.page.goto(`${service.url}/docs`);
  return watched;
}

/** Opens an operation and sends what it is filled with. */
async function execute(page: Page, operationId: string): Promise<{ status: string; body: string }> {
  const operation = page.locator("details.operation", { has: page.locator(`#${operationId}`) });
  if (!(await operation.locator("form").isVisible())) await operation.locator("summary").first().click();
  await operation.getByRole("button", { name: "Send" }).click();
  const answer = operation.getByRole("status");
  return {
    status: await answer.getByRole("heading").innerText(),
    body: await answer.getByRole("region", { name: "Body" }).innerText(),
  };
}

async function enterKey(page: Page, key: string): Promise<void> {
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
}

test("the page needs no key, and may load nothing from elsewhere", async () => {
  for (const [path, type] of [
    ["/docs", "text/html"],
    ["/assets/docs.js", "text/javascript"],
    ["/docs/openapi.json", "application/json"],
  ]) {
    const answer = await call(`${service.url}${path}`, "GET", undefined);
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    expect(answer.headers.get("content-type")).toContain(type);
    // And not the sign-in, to which others are led.
    if (path === "/docs") expect(answer.body).toContain("<h1>API reference</h1>");
    if (type !== "text/html") continue;
    const policy = answer.headers.get("content-security-policy")!;
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toMatch(/unsafe|\*|https?:|\/\//);
  }
});

test("every operation is on the page, with its parameters, fields and answers, and every object", async () => {
  const { body: document } = await call(`${service.url}/docs/openapi.json`, "GET", undefined);
  const { body: page } = await call(`${service.url}/docs`, "GET", undefined);
  type Operation = {
    operationId: string;
    parameters?: { name: string }[];
    responses: Record<string, object>;
  };
  for (const operation of Object.values<Record<string, Operation>>(document.paths).flatMap(Object.values)) {
    const { operationId, parameters = [], responses } = operation as Operation;
    const [shown] = new RegExp(`<div id="${operationId}">[^]*?(?=<summary>\\s*<h3>|</main>)`).exec(page)!;
    for (const { name } of parameters) expect(shown).toContain(`name="${name}"`);
    for (const status of Object.keys(responses)) expect(shown).toContain(`<b>${status}</b>`);
  }
  const [need] = /<div id="getNeed">[^]*?(?=<summary>\s*<h3>)/.exec(page)!;
  expect(need).toMatch(/name="needId" data-in="path" aria-describedby="[^"]*"\s+required/);
  expect(need).toMatch(/<b>404<\/b>[^]*?<code>need_not_found<\/code>/);
  for (const name of Object.keys(document.components.schemas)) expect(page).toContain(`id="schema-${name}"`);
  // Fields, and what is in them, to the last.
  for (const name of ["needDescription", "next_cursor", "coordinates"])
    expect(page).toContain(`<code>${name}</code>`);
  for (const [, link] of page.matchAll(/href="#([\w-]+)"/g)) expect(page).toContain(`id="${link}"`);
});

test("the document on the page is the one under /v0", async () => {
  const [shown, served] = await Promise.all([
    call(`${service.url}/docs/openapi.json`, "GET", undefined),
    call(`${service.url}/v0/openapi.json`, "GET", service.keys.read),
  ]);
  expect(shown.body).toEqual(served.body);
});

inBrowser(
  "a reader enters the key once and tries requests; it stays when the page is loaded again",
  async () => {
    const context = await browser!.newContext({ viewport: { width: 1280, height: 1400 } });
    const { page, trouble } = await open(context);
    for (const { name } of (await call(`${service.url}/docs/openapi.json`, "GET", undefined)).body.tags) {
      await page.getByRole("link", { name, exact: true }).first().waitFor();
    }

    const refused = await execute(page, "listAccelerators");
    expect(refused).toMatchObject({ status: expect.stringContaining("401") });
    expect(refused.body).toContain("missing_api_key");
    // A browser writes refused requests to its console: that one was meant.
    expect(trouble.splice(0)).toEqual([expect.stringContaining("401")]);

    await enterKey(page, service.demoKey);
    const need = await execute(page, "getNeed");
    expect(need.status).toContain("200");
    expect(JSON.parse(need.body)).toMatchObject({ orgName: "Northern Light Fellowship" });
    const declared = await execute(page, "declareNeed");
    expect(declared.status).toContain("201");
    expect(JSON.parse(declared.body)).toMatchObject({ status: "open" });

    await page.reload();
    expect((await execute(page, "listNeeds")).status).toContain("200");
    expect(trouble).toEqual([]);
    if (process.env["SCREENSHOTS"]) {
      await page.screenshot({ path: `${process.env["SCREENSHOTS"]}/docs.png` });
    }
    await context.close();
  },
);

inBrowser("who is signed in sends in their own name, and needs no key", async () => {
  const context = await browser!.newContext();
  const visitor = await new Visitor(service).signIn("contributor@northern-light.example");
  await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })));
  const { page, trouble } = await open(context);
  await page.getByText("Requests are sent in your name, contributor@northern-light.example").waitFor();
  expect((await execute(page, "listNeeds")).status).toContain("200");
  expect((await execute(page, "declareNeed")).status).toContain("201");
  expect(trouble).toEqual([]);
  await context.close();
});

inBrowser("who signs in next in a tab does not ask with the key of who was there before", async () => {
  const context = await browser!.newContext();
  const { page } = await open(context);
  await enterKey(page, service.demoKey);
  expect((await execute(page, "listNeeds")).status).toContain("200");
  const visitor = await new Visitor(service).signIn("contributor@northern-light.example");
  await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })));
  await page.reload();
  expect(await page.getByLabel("API key").inputValue()).toBe("");
  // Only a key for review sees this; whoever is signed in is no reviewer.
  expect((await execute(page, "listOrganizationClaims")).status).toContain("403");
  await page.goto(`${service.url}/graphiql`);
  expect(await page.locator("#frame").getByLabel("API key").inputValue()).toBe("");
  await context.close();
});

inBrowser("a link to an operation opens it, on a phone and by keyboard", async () => {
  const context = await browser!.newContext({ viewport: { width: 390, height: 800 } });
  const { page, trouble } = await open(context);
  await page.goto(`${service.url}/docs#getNeed`);
  const id = page.locator("#getNeed input");
  // In what is still closed nothing takes the focus.
  await id.waitFor();
  await id.focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("00000000-0000-4000-8001-000000000002");
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByRole("heading", { name: "401" }).waitFor();
  trouble.splice(0);
  await enterKey(page, service.demoKey);
  await id.press("Enter");
  await page.locator("#getNeed").getByText('"orgName": "Open Well Relief"').waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
  // The key goes along to the explorer in the same tab, and to no other.
  expect(await page.evaluate("Object.values(sessionStorage).join()")).toBe(service.demoKey);
  expect(await page.evaluate("localStorage.length")).toBe(0);
  expect(trouble).toEqual([]);
  await context.close();
});

inBrowser("what is a list is sent as one, and what is left empty is not sent", async () => {
  const context = await browser!.newContext();
  const { page } = await open(context);
  const operation = page.locator("details.operation", { has: page.locator("#querySparqlByGet") });
  await operation.locator("summary").first().click();
  await operation.locator("[name=default-graph-uri]").fill("https://a.example/, https://b.example/");
  const asked = page.waitForRequest(/\/v0\/sparql\?/);
  await operation.getByRole("button", { name: "Send" }).click();
  const { searchParams } = new URL((await asked).url());
  expect(searchParams.getAll("default-graph-uri")).toEqual(["https://a.example/", "https://b.example/"]);
  expect([...new Set(searchParams.keys())].toSorted()).toEqual(["default-graph-uri", "query"]);
  await context.close();
});

inBrowser("a key that no header can carry is said to be none, and the next one is sent", async () => {
  const context = await browser!.newContext();
  const { page, trouble } = await open(context);
  const operation = page.locator("details.operation", { has: page.locator("#listAccelerators") });
  await operation.locator("summary").first().click();
  // As a word processor writes the line of an instruction.
  await enterKey(page, "ek_\u2026");
  await operation.getByRole("button", { name: "Send" }).click();
  await operation
    .getByRole("status")
    .getByText(/^No answer: /)
    .waitFor();
  await enterKey(page, service.demoKey);
  expect((await execute(page, "listAccelerators")).status).toContain("200");
  expect(trouble).toEqual([]);
  await context.close();
});

inBrowser("an example that is chosen is sent as what it is", async () => {
  const context = await browser!.newContext();
  const { page } = await open(context);
  const operation = page.locator("details.operation", { has: page.locator("#querySparql") });
  await operation.locator("summary").first().click();
  for (const type of ["application/x-www-form-urlencoded", "application/sparql-query"]) {
    const value = await operation
      .locator(`select.examples option[data-type="${type}"]`)
      .first()
      .getAttribute("value");
    await operation.locator("select.examples").selectOption(value);
    const asked = page.waitForRequest(/\/v0\/sparql$/);
    await operation.getByRole("button", { name: "Send" }).click();
    const request = await asked;
    expect([request.headers()["content-type"], request.postData()]).toEqual([type, value]);
  }
  await context.close();
});

test.each<[Parameters<typeof typeOf>[0], string]>([
  [{ type: "integer", minimum: 1 }, "integer, at least 1"],
  [{ type: "integer", maximum: 5 }, "integer, at most 5"],
  [{ type: ["string", "null"], minLength: 1, maxLength: 200 }, "string or null, 1 to 200 characters"],
  [{ type: "array", maxItems: 100, items: { type: "number" } }, "list of number, at most 100 items"],
  [{ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, "integer, at least 0"],
])("of %j the bounds are named, each as what it is", async (schema, words) => {
  expect(String(await typeOf(schema))).toBe(words);
});

inBrowser("what an operation is filled with can be sent as it stands, whatever it is made of", async () => {
  const context = await browser!.newContext();
  const { page, trouble } = await open(context);
  await enterKey(page, service.demoKey);
  // Numbers next to lists that stay empty; a header; a list; a query as plain text; one of several examples.
  const expected = {
    searchChurches: "us-el-cajon-shadow-mountain",
    listOrganizationClaims: "noor@elsewhere.example",
    claimOrganization: "claimed",
    getOrganization: "Northern Light Fellowship",
    querySparql: "00000000-0000-4000-8001-000000000001",
    querySparqlByGet: "00000000-0000-4000-8001-000000000001",
    callTool: "us-el-cajon-shadow-mountain",
  };
  for (const [operationId, text] of Object.entries(expected)) {
    const { status, body } = await execute(page, operationId);
    expect({ operationId, status, body }).toEqual({
      operationId,
      status: expect.stringContaining("200"),
      body: expect.stringContaining(text),
    });
  }
  expect(trouble).toEqual([]);
  await context.close();
});

type Sent = {
  operation: string;
  address: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
};

/** Fills each form of the page, sends it, and returns what the page's script then asks for; it is answered without a body. */
const SEND_ALL = `(() => {
  const sent = [];
  let operation;
  window.fetch = async (address, { method, headers, body }) => {
    sent.push({ operation, address, method, headers: Object.fromEntries(headers), body });
    return new Response(null, { status: 204, headers: { "x-said": "yes" } });
  };
  for (const form of document.querySelectorAll("form.try")) {
    operation = form.dataset.method + " " + form.dataset.path;
    for (const field of form.querySelectorAll("input[data-in]"))
      field.value = field.dataset.list === undefined ? "a b/\u00fc" : "a b, c,d";
    for (const field of form.querySelectorAll("select[data-in]")) field.selectedIndex = field.options.length - 1;
    form.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));
  }
  return sent;
})()`;

type Described = {
  parameters?: { name: string; in: string; schema: { type?: string } }[];
  requestBody?: { content: Record<string, object> };
};

inBrowser(
  "every operation is sent as it is described: where to, how, and with what is in each field",
  async () => {
    const { body: document } = await call(`${service.url}/docs/openapi.json`, "GET", undefined);
    const context = await browser!.newContext();
    const { page, trouble } = await open(context);
    await enterKey(page, "  ek_of-somebody ");
    const sent = await page.evaluate<Sent[]>(SEND_ALL);
    const described = Object.entries<Record<string, Described>>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
    );
    expect(sent.map(({ operation }) => operation).toSorted()).toEqual(
      described.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
    for (const { path, method, parameters = [], requestBody } of described) {
      const { address, headers, body, ...how } = sent.find((one) => one.operation === `${method} ${path}`)!;
      const { pathname, searchParams } = new URL(address, service.url);
      const names = (place: string) => parameters.filter((one) => one.in === place);
      expect({ ...how, pathname }).toEqual({
        ...how,
        method: method.toUpperCase(),
        pathname: path.replaceAll(/\{\w+\}/g, encodeURIComponent("a b/\u00fc")),
      });
      expect([...new Set(searchParams.keys())].toSorted()).toEqual(
        names("query")
          .map(({ name }) => name)
          .toSorted(),
      );
      for (const { name, schema } of names("query")) {
        const values = searchParams.getAll(name);
        if (schema.type === "array") expect([name, values]).toEqual([name, ["a b", "c", "d"]]);
        else expect([name, values]).toEqual([name, [expect.stringMatching(/./)]]);
      }
      const types = Object.keys(requestBody?.content ?? {});
      expect([path, headers]).toEqual([
        path,
        {
          authorization: "Bearer ek_of-somebody",
          ...Object.fromEntries(names("header").map(({ name }) => [name.toLowerCase(), "a b/\u00fc"])),
          ...(types.length > 0 && { "content-type": types[0] }),
        },
      ]);
      expect([path, body === undefined]).toEqual([path, types.length === 0]);
    }
    // What is answered without a body has its headers alone, and stands in the place of what was answered before.
    await page.evaluate(SEND_ALL);
    const answers = page.locator("form.try .answer");
    expect(await answers.locator("h4").allTextContents()).toEqual(sent.map(() => "204 "));
    expect(await answers.getByRole("region", { name: "Body", includeHidden: true }).count()).toBe(0);
    const folded = await answers.locator("details pre").allTextContents();
    expect(folded).toEqual(sent.map(() => "x-said: yes"));
    // Entering a key leaves what is on the page, and it is there for the next time.
    await enterKey(page, service.demoKey);
    expect(await answers.locator("h4").count()).toBe(sent.length);
    await page.reload();
    expect(await page.getByLabel("API key").inputValue()).toBe(service.demoKey);
    // Whatever somebody has put behind the address.
    await page.goto(`${service.url}/docs#%`);
    await page.reload();
    expect(trouble).toEqual([]);
    await context.close();
  },
);
