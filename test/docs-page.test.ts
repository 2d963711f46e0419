// The API reference, used as a reader uses it, in a browser that can reach nothing but the service.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { startDemoService } from "./support/demo.ts";
import { call } from "./support/service.ts";

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
  const operation = page.locator(`[id$="-${operationId}"]`);
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Execute" }).click();
  const answer = operation.locator(".live-responses-table");
  await answer.waitFor();
  return {
    status: await answer.locator(".response-col_status").last().innerText(),
    body: await answer.locator(".response-col_description pre").first().innerText(),
  };
}

async function enterKey(page: Page, key: string): Promise<void> {
  await page.locator(".auth-wrapper .authorize").click();
  const scheme = page.locator(".auth-container").first();
  await scheme.locator("input").fill(key);
  await scheme.locator("button[type=submit]").click();
  await page.locator(".dialog-ux button.btn-done").first().click();
}

test("the page needs no key, and may load nothing from elsewhere", async () => {
  for (const [path, type] of [
    ["/docs", "text/html"],
    ["/docs/page.js", "text/javascript"],
    ["/docs/openapi.json", "application/json"],
    ["/docs/files/swagger-ui-bundle.js", "text/javascript"],
  ]) {
    const answer = await call(`${service.url}${path}`, "GET", undefined);
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    expect(answer.headers.get("content-type")).toContain(type);
    const policy = answer.headers.get("content-security-policy")!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:|\/\//);
  }
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
    await page.getByRole("heading", { name: /Engagement graph/ }).waitFor();
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

inBrowser("what an operation is filled with can be sent as it stands, whatever it is made of", async () => {
  const context = await browser!.newContext();
  const { page, trouble } = await open(context);
  await enterKey(page, service.demoKey);
  // Numbers next to lists that stay empty; a header; a list; a query as plain text; one of several examples.
  const expected = {
    searchChurches: "us-el-cajon-shadow-mountain",
    listOrganizationClaims: "noor@elsewhere.example",
    claimOrganization: "claimed",
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
