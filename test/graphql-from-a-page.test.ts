// The page in docs/graphql.md, as it stands there, on an origin of its own, in a browser.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "@jest/globals";
import type { Browser, Page, Route } from "playwright-core";
import { inBrowser, launchBrowser } from "./support/browser.ts";
import { AUDIENCE, subjectOf, TestProvider } from "./support/oidc.ts";
import { ROOT } from "./support/process.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, member } from "./support/world.ts";

let provider: TestProvider;
let service: TestService;
let site: Server;
let origin: string;
let browser: Browser | undefined;
beforeAll(async () => {
  provider = await TestProvider.start();
  const text = await readFile(join(ROOT, "docs/graphql.md"), "utf8");
  const recipe = /```html\n(<!doctype html>.*?)```/s.exec(text)![1]!;
  site = createServer((_request, response) => {
    const page = recipe
      .replace("https://graph.example.org", service.url)
      .replace("https://accounts.example.org", provider.issuer);
    response.setHeader("content-type", "text/html; charset=utf-8").end(page);
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  service = await startTestService({
    config: { corsOrigins: [origin], oidc: { issuers: [provider.issuer], audience: AUDIENCE } },
  });
  provider.register(AUDIENCE, `${origin}/`);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  site.closeAllConnections();
  site.close();
  await service.stop();
  await provider.stop();
});

async function signIn(email: string): Promise<Page> {
  provider.person = email;
  const context = await browser!.newContext();
  const page = await context.newPage();
  await page.goto(`${origin}/`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText('"totalCount"').waitFor();
  return page;
}

inBrowser(
  "a person signs in at the provider, reads and writes over GraphQL, each as themselves",
  async () => {
    const page = await signIn(contributor);
    await page.getByRole("button", { name: "Declare a need" }).click();
    await page.getByText(`"declaredByEmail": "${contributor}"`).waitFor();
    const { rows } = await service.database.owner.query(
      "select changed_by_email, changed_by_identity from app_private.trail where subject = 'need'",
    );
    expect(rows).toEqual([
      { changed_by_email: contributor, changed_by_identity: `${provider.issuer} ${subjectOf(contributor)}` },
    ]);
    // Nothing of it is left where another script of the origin, or the next reader of the history, would find it.
    expect(await page.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")).toBe("{}{}");
    expect(page.url()).toBe(`${origin}/`);

    const reader = await signIn(member);
    await reader.getByRole("button", { name: "Declare a need" }).click();
    await reader.getByText('"insufficient_role"').waitFor();
  },
);

inBrowser("who is quicker than the provider cannot press a button that does nothing yet", async () => {
  const page = await (await browser!.newContext()).newPage();
  const asked = Promise.withResolvers<Route>();
  await page.route(`${provider.issuer}/.well-known/openid-configuration`, (route) => asked.resolve(route));
  await page.goto(`${origin}/`);
  const route = await asked.promise;
  const signIn = page.getByRole("button", { name: "Sign in" });
  expect(await signIn.isDisabled()).toBe(true);
  await route.continue();
  await signIn.click({ trial: true });
  await page.context().close();
});

inBrowser(
  "a page of an origin that is not configured is not answered, with or without a session",
  async () => {
    const context = await browser!.newContext();
    const page = await context.newPage();
    await page.goto(`${provider.issuer}/.well-known/openid-configuration`);
    const answers = await page.evaluate(`Promise.all(["omit", "include"].map((credentials) =>
    fetch("${service.url}/graphql?query={__typename}", { credentials }).then(() => "answered", () => "refused")))`);
    expect(answers).toEqual(["refused", "refused"]);
  },
);
