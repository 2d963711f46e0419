// The explorer at /graphiql: it loads without a key and loads nothing from another host.
import { hash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { SESSION_HEADER } from "../server/headers.ts";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { canExecute } from "./support/desk.ts";
import { ask } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

const HOSTILE = `"><img/src=x>'&`;

let browser: Browser | undefined;
let service: TestService;
let page: Response;
let html: string;

beforeAll(async () => {
  service = await startTestService();
  page = await fetch(`${service.url}/graphiql`);
  html = await page.text();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

test("it is served without a key, with a field for one", () => {
  expect(page.status).toBe(200);
  expect(html).toContain('<input id="api-key" type="password"');
});

test("it names no other host, and its policy allows none", () => {
  expect(html.match(/(?:https?:)?\/\/[a-z0-9.-]+\.[a-z]{2,}/gi) ?? []).toEqual([]);
  const policy = page.headers.get("content-security-policy")!;
  expect(policy).toMatch(/^default-src 'none'; script-src 'self' 'nonce-/);
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
  expect(page.headers.get("referrer-policy")).toBe("no-referrer");
  for (const part of ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])
    expect(policy.split("; ")).toContain(part);
});

test("what it first shows can be asked, and reads what there is", async () => {
  const [, text] = /"defaultQuery": ("(?:[^"\\]|\\.)*")/.exec(html)!;
  const data = await ask(service, JSON.parse(text!) as string);
  expect(Object.keys(data)).toEqual(["needs"]);
});

test("every script of the page carries the nonce of its policy", () => {
  const nonce = /'nonce-([^']+)'/.exec(page.headers.get("content-security-policy")!)![1];
  const scripts = html.match(/<script[^>]*>/g)!;
  expect(scripts.length).toBeGreaterThan(3);
  for (const script of scripts) expect(script).toContain(`nonce="${nonce}"`);
});

test("its files are served from here", async () => {
  const files = [...html.matchAll(/"(\/graphiql\/files\/[^"]+\.(?:js|css))"/g)].map((match) => match[1]!);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    const answer = await fetch(`${service.url}${file}`);
    expect([file, answer.status]).toEqual([file, 200]);
    await answer.body?.cancel();
  }
  expect((await fetch(`${service.url}/graphiql/files/../../package.json`)).status).not.toBe(200);
});

test.each(["br", "gzip", "*;q=0.5", "br;q=0", "identity"])(
  "its files are the same to who unpacks %s, and come unpacked to who does not unpack them",
  async (accepted) => {
    const file = await fetch(`${service.url}/graphiql/files/ruru.js`, {
      headers: { "accept-encoding": accepted },
    });
    const packed = ["br", "*;q=0.5"].includes(accepted) ? "br" : null;
    expect([file.status, file.headers.get("content-encoding")]).toEqual([200, packed]);
    expect(file.headers.get("vary")?.toLowerCase()).toContain("accept-encoding");
    expect(file.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const plain = await fetch(`${service.url}/graphiql/files/ruru.js`, {
      headers: { "accept-encoding": "identity" },
    });
    expect(hash("sha1", await file.text())).toBe(hash("sha1", await plain.text()));
  },
);

test("who asks for its longest file again and again, without a key and without reading, fills no memory", async () => {
  const { hostname, port } = new URL(service.url);
  const before = process.memoryUsage().arrayBuffers;
  const deaf = Array.from({ length: 30 }, () => connect(Number(port), hostname));
  try {
    // Ten megabytes.
    const asked = "GET /graphiql/files/2370.js.map HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const begun = deaf.map(async (socket) => {
      socket.on("error", () => undefined).write(asked);
      await once(socket, "readable");
    });
    await Promise.all(begun);
    expect(String(deaf[0]!.read(15))).toBe("HTTP/1.1 200 OK");
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100_000_000);
  } finally {
    for (const socket of deaf) socket.destroy();
  }
});

test("it has the header of all pages, which says who is signed in", async () => {
  expect(html).toContain('href="/graphiql" aria-current="page"');
  expect(html).toContain('href="/sign-in?returnTo=%2Fgraphiql"');
  const visitor = await new Visitor(service).signIn("somebody@elsewhere.example");
  const { text, headers } = await visitor.open(`/graphiql?query=${encodeURIComponent(HOSTILE)}`);
  expect(text).toContain("<bdi>somebody@elsewhere.example</bdi>");
  expect(text).not.toContain("<img/src");
  expect(headers.get("cache-control")).toBe("no-store");
});

inBrowser("who is signed in asks in their own name, and with a key in its", async () => {
  const context = await browser!.newContext({ viewport: { width: 390, height: 800 } });
  try {
    const visitor = await new Visitor(service).signIn("somebody@elsewhere.example");
    await context.addCookies(
      [...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })),
    );
    const { page: shown, trouble } = await watchedPage(context, service.url);
    const asked = () =>
      shown.waitForRequest((request) => request.postData()?.includes("{ __typename }") ?? false);
    await shown.goto(`${service.url}/graphiql?query=${encodeURIComponent("{ __typename }")}`);
    await canExecute(shown);
    const run = shown.getByRole("button", { name: /Execute/ });
    const [own] = await Promise.all([asked(), run.click()]);
    expect((await own.allHeaders())["authorization"]).toBeUndefined();
    await shown.locator(".result-window").getByText('"Query"').waitFor();
    expect(await shown.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
    expect(trouble).toEqual([]);

    await shown.getByLabel("API key").fill(service.keys.read);
    await shown.keyboard.press("Enter");
    const [keyed] = await Promise.all([asked(), run.click()]);
    expect((await keyed.allHeaders())["authorization"]).toBe(`Bearer ${service.keys.read}`);
    expect(new URL(shown.url()).pathname).toBe("/graphiql");
    expect(trouble).toEqual([]);
  } finally {
    await context.close();
  }
});

inBrowser.each([
  ["at a desk, below the header", 1_280],
  ["on a phone, when it is scrolled to", 390],
])("it has all the room that there is: %s", async (where, width) => {
  const height = 800;
  const shown = await browser!.newPage({ viewport: { width, height } });
  try {
    await shown.goto(`${service.url}/graphiql`);
    await canExecute(shown);
    const tall = async (selector: string) =>
      Math.round((await shown.locator(selector).first().boundingBox())!.height);
    const header = await tall("#frame");
    expect(header).toBeGreaterThan(40);
    const room = where.startsWith("at a desk") ? height - header : height;
    expect([await tall("main"), await tall(".graphiql-container")]).toEqual([room, room]);
  } finally {
    await shown.close();
  }
});

inBrowser("a key stays in the tab that it was entered in, and with who entered it", async () => {
  const context = await browser!.newContext();
  try {
    const shown = await context.newPage();
    const keyIn = (tab: typeof shown) => tab.getByLabel("API key").inputValue();
    await shown.goto(`${service.url}/graphiql`);
    await shown.getByLabel("API key").fill(service.keys.read);
    await shown.keyboard.press("Enter");
    await shown.reload();
    expect(await keyIn(shown)).toBe(service.keys.read);
    const other = await context.newPage();
    await other.goto(`${service.url}/graphiql`);
    expect(await keyIn(other)).toBe("");
    const visitor = await new Visitor(service).signIn("somebody@elsewhere.example");
    await context.addCookies(
      [...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })),
    );
    await shown.reload();
    expect(await keyIn(shown)).toBe("");
  } finally {
    await context.close();
  }
});

inBrowser("the key goes along with what is asked of GraphQL here, and with nothing else", async () => {
  // The policy keeps requests from leaving at all; what the page itself does is to be seen.
  const context = await browser!.newContext({ bypassCSP: true });
  try {
    const shown = await context.newPage();
    const asked = new Map<string, Record<string, string>>();
    await context.route(/\/asked|elsewhere\.example|\/graphql\?/, async (route) => {
      asked.set(route.request().url(), await route.request().allHeaders());
      await route.fulfill({
        json: {},
        headers: { "access-control-allow-origin": "*", "access-control-allow-headers": "*" },
      });
    });
    await shown.goto(`${service.url}/graphiql`);
    const ask = (url: string, headers: Record<string, string> = {}) =>
      shown.evaluate(async ([to, given]) => void (await fetch(to, { method: "POST", headers: given })), [
        url,
        headers,
      ] as const);
    const own = `${service.url}/graphql?`;
    await ask(`${own}nobody`);
    await shown.getByLabel("API key").fill(` ${service.keys.read} `);
    await shown.keyboard.press("Enter");
    await ask(`${own}key`);
    await ask(`${own}another`, { authorization: "Bearer another" });
    await ask(`${service.url}/asked`);
    await ask("https://elsewhere.example/graphql");
    const told = Object.fromEntries(
      [...asked].map(([url, headers]) => [
        url,
        [headers["authorization"], headers[SESSION_HEADER.toLowerCase()]],
      ]),
    );
    expect(told).toEqual({
      [`${own}nobody`]: [undefined, "1"],
      [`${own}key`]: [`Bearer ${service.keys.read}`, undefined],
      [`${own}another`]: ["Bearer another", undefined],
      [`${service.url}/asked`]: [undefined, undefined],
      "https://elsewhere.example/graphql": [undefined, undefined],
    });
  } finally {
    await context.close();
  }
});
