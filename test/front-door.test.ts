// A laptop's front door: what a page in a browser may do there while a key is live that everybody knows.
import { once } from "node:events";
import { request as send } from "node:http";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { DEMO_KEY, DEMO_KEY_ID } from "../db/demo/load.ts";
import { DEMO_REVIEWER } from "../db/demo/records.ts";
import { startServer } from "../server/main.ts";
import type { RunningServer } from "../server/main.ts";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { startDemoService } from "./support/demo.ts";
import type { TestService } from "./support/service.ts";

/** A service in which the demo was loaded, as npm start does it, before the server began. */
let demo: TestService;
let server: RunningServer;
let listing: RunningServer;
let browser: Browser | undefined;
const serve = (corsOrigins: string) =>
  startServer({
    config: loadConfig({ PORT: "0", CORS_ORIGINS: corsOrigins, RATE_LIMIT_PER_MINUTE: "1000000" }),
    databaseUrl: demo.database.serverUrl,
    store: demo.store,
    logger: pino({ level: "silent" }),
  });
beforeAll(async () => {
  demo = await startDemoService();
  [server, listing] = await Promise.all([serve("*"), serve("https://app.example.org")]);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await Promise.all([server.stop(), listing.stop()]);
  await demo.stop();
});

type Answer = { status: number; allowed: string | undefined; error?: string };

/** A request with headers that fetch does not let anybody set. */
async function ask(
  headers: Record<string, string>,
  path = "/v0/accelerators",
  url = server.url,
  method = "GET",
): Promise<Answer> {
  const common = { authorization: `Bearer ${DEMO_KEY}`, "content-type": "application/json" };
  const sent = send(`${url}${path}`, { method, headers: { ...common, ...headers } });
  sent.end(method === "POST" ? "{}" : undefined);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const body = await text(response);
  const isJson = /json/.test(response.headers["content-type"] ?? "");
  return {
    status: response.statusCode!,
    allowed: response.headers["access-control-allow-origin"],
    ...(isJson && { error: errorOf(JSON.parse(body)) }),
  };
}

function errorOf(body: unknown): string {
  const { error, errors } = body as { error?: string; errors?: { extensions: { code: string } }[] };
  return error ?? errors?.[0]?.extensions.code ?? "";
}

const DOORS = [
  ["GET", "/"],
  ["GET", "/v0/accelerators"],
  ["POST", "/v0/needs"],
  ["POST", "/graphql"],
  ["POST", "/v0/sparql"],
  ["POST", "/v0/mcp"],
  ["GET", "/healthz"],
  ["GET", "/no-such-path"],
] as const;

describe("while the demo key is live", () => {
  test.each(DOORS)(
    "%s %s answers no page of another machine, and under no other name",
    async (method, path) => {
      const foreign = [
        "https://evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "null",
        "file://",
        "http://192.168.1.7",
      ];
      for (const origin of foreign) {
        expect([origin, await ask({ origin }, path, server.url, method)]).toEqual([
          origin,
          { status: 403, allowed: undefined, error: "origin_not_allowed" },
        ]);
      }
      for (const host of [
        "evil.example",
        "evil.example:3000",
        "localhost.evil.example",
        "192.168.1.7:3000",
        "evil@localhost",
        "127.0.0.1[:80",
        "[127.0.0.1]",
        "127.0.0.1]",
        "[::1",
        "::1",
        "127.0.0.999",
      ]) {
        expect([host, (await ask({ host }, path, server.url, method)).error]).toEqual([
          host,
          "host_not_allowed",
        ]);
      }
    },
  );

  test("pages of this machine may call, and so may whatever is no page", async () => {
    for (const origin of [
      "http://localhost:5173",
      "http://127.0.0.1:8080",
      "https://localhost",
      "http://[::1]:3000",
    ]) {
      expect(await ask({ origin })).toMatchObject({ status: 200, allowed: origin });
    }
    expect(await ask({})).toMatchObject({ status: 200, allowed: undefined });
    for (const host of [
      "localhost",
      "LOCALHOST",
      "localhost:9999",
      "127.0.0.1:80",
      "127.9.9.9",
      "[::1]:3000",
    ]) {
      expect([host, (await ask({ host })).status]).toEqual([host, 200]);
    }
  });

  test("a preflight is answered, and allows only pages of this machine", async () => {
    const preflight = (origin: string) =>
      ask({ origin, "access-control-request-method": "POST" }, "/v0/needs", server.url, "OPTIONS");
    expect(await preflight("https://evil.example")).toEqual({ status: 204, allowed: undefined });
    expect(await preflight("http://localhost:5173")).toEqual({
      ...{ status: 204, allowed: "http://localhost:5173" },
    });
  });

  test("an origin that the operator names may call", async () => {
    const from = (origin: string) => ask({ origin }, "/v0/accelerators", listing.url);
    expect(await from("https://app.example.org")).toMatchObject({
      status: 200,
      allowed: "https://app.example.org",
    });
    expect(await from("https://other.example.org")).toMatchObject({ status: 403, allowed: undefined });
  });

  inBrowser("a script of another site can neither read nor write", async () => {
    const page = await browser!.newPage();
    await page.route("http://site.example/", (route) =>
      route.fulfill({ contentType: "text/html", body: "<p>hello" }),
    );
    await page.goto("http://site.example/");
    const outcome = await page.evaluate(
      async ([url, key]) =>
        fetch(`${url}/v0/needs`, { headers: { authorization: `Bearer ${key}` } }).then(
          (answer) => answer.status,
          () => "refused",
        ),
      [server.url, DEMO_KEY] as const,
    );
    expect(outcome).toBe("refused");
  });

  test("the demo reviewer may review every claim, as the greeting says", async () => {
    const claims = await ask({ "x-admin-email": DEMO_REVIEWER }, "/v0/admin/claims");
    expect(claims.status).toBe(200);
  });
});

test("once the demo key is revoked, a service answers whoever has a key, under any name", async () => {
  const { owner } = demo.database;
  await owner.query("update app_private.api_keys set revoked_at = now() where key_id = $1", [DEMO_KEY_ID]);
  const open = await serve("*");
  try {
    const authorization = `Bearer ${demo.keys.read}`;
    const answer = await ask(
      { authorization, origin: "https://app.example.org", host: "graph.example.org" },
      undefined,
      open.url,
    );
    expect(answer).toMatchObject({ status: 200, allowed: "*" });
  } finally {
    await open.stop();
    await owner.query("update app_private.api_keys set revoked_at = null where key_id = $1", [DEMO_KEY_ID]);
  }
});

describe("the page at /", () => {
  test("is a page, for reading only, and loads nothing from elsewhere", async () => {
    const answer = await fetch(`${server.url}/`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toContain("text/html");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect((await answer.text()).match(/(https?:)?\/\/[a-z0-9.-]+\.[a-z]{2,}/gi)).toBeNull();
    expect((await fetch(`${server.url}/`, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(`${server.url}/`, { method: "POST" })).status).toBe(404);
  });

  test("leads only to what is there", async () => {
    const page = await (await fetch(`${server.url}/`)).text();
    const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) expect([link, (await fetch(server.url + link)).status]).toEqual([link, 200]);
  });

  inBrowser("shows itself without a complaint", async () => {
    const { page, trouble } = await watchedPage(browser!, server.url);
    await page.goto(`${server.url}/`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Claim review" }).click();
    await page.getByLabel("Your e-mail").waitFor();
    expect(trouble).toEqual([]);
  });
});
