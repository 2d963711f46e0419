// What tests of the pages share: a page as a browser asks for it, its size as it is sent, and texts that somebody might store.
import { request } from "node:http";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Visitor } from "./visitor.ts";

/** A script, Hebrew, what turns the direction of writing and never turns it back, and no place to break the line. */
export const HOSTILE = `<script>alert(1)</script>\u05D0\u05D1\u202Egnol "&' ${"x".repeat(3_000)}`;

export const AS_A_BROWSER = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };

/** How many bytes a page is on the wire. */
export function bytesOf(url: string, { cookies }: Visitor): Promise<number> {
  const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
  return new Promise((resolve, reject) => {
    const headers = { cookie, "accept-encoding": "br", ...AS_A_BROWSER.headers };
    request(url, { headers }, (answer) => {
      let bytes = 0;
      answer.on("data", (part: Buffer) => (bytes += part.length)).on("end", () => resolve(bytes));
    })
      .on("error", reject)
      .end();
  });
}

/** A window in which a visitor is signed in. */
export async function windowOf(
  browser: Browser,
  url: string,
  { cookies }: Visitor,
  width: number,
): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url })));
  return context;
}

/** Waits until the explorer asks when it is told to: until both of its editors are there its button does nothing. */
export async function canExecute(page: Page): Promise<void> {
  await page.locator(".graphiql-query-editor .view-line").first().waitFor();
  await page.locator(".result-window .view-lines").waitFor({ state: "attached" });
}
