// The explorer at /graphiql: it loads without a key and loads nothing from another host.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let page: Response;
let html: string;

beforeAll(async () => {
  service = await startTestService();
  page = await fetch(`${service.url}/graphiql`);
  html = await page.text();
});
afterAll(() => service.stop());

test("it is served without a key, with a field for one", () => {
  expect(page.status).toBe(200);
  expect(html).toContain('<input id="api-key" type="password"');
});

test("it names no other host, and its policy allows none", () => {
  expect(html.match(/(?:https?:)?\/\/[a-z0-9.-]+\.[a-z]{2,}/gi) ?? []).toEqual([]);
  const policy = page.headers.get("content-security-policy")!;
  expect(policy).toMatch(/^default-src 'none'; script-src 'self' 'nonce-/);
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
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
