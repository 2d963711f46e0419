// The queue of claims as a reviewer has it before them, in a browser.
import type { Browser, Page } from "playwright-core";
import { watchedPage } from "./browser.ts";
import { QUEUE } from "./claim-queue.ts";
import type { ClaimQueue } from "./claim-queue.ts";
import * as m from "./membership.ts";
import type { TestService } from "./service.ts";
import type { Visitor } from "./visitor.ts";

export const DESK = 1280;
export const PHONE = 390;

export type Desk = {
  page: Page;
  trouble: string[];
  close: () => Promise<void>;
  org: m.TestOrganization;
  head: string;
  ids: string[];
};

/** An organization with claims by Ana-0, Ana-1, …, and its administrator before the queue, where the clock stands still. */
export async function openDesk(
  { service, queue, browser }: { service: TestService; queue: ClaimQueue; browser: Browser | undefined },
  claims: number,
  { path = QUEUE, width = DESK, script = true }: { path?: string; width?: number; script?: boolean } = {},
): Promise<Desk> {
  const org = await m.addOrganization(service.database.owner, { head: "org_admin" });
  const ids: string[] = [];
  for (let n = 0; n < claims; n++) ids.push(await queue.claim(org, { firstName: `Ana-${n}` }));
  const head = `head@${org.domain}`;
  const context = await browser!.newContext({ viewport: { width, height: 800 }, javaScriptEnabled: script });
  const visitor: Visitor = await queue.signIn(head);
  await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url: service.url })));
  const { page, trouble } = await watchedPage(context, service.url);
  if (script) await page.clock.install();
  await page.goto(`${service.url}${path}`);
  if (script) {
    await hasStarted(page);
    // A clock that is installed goes on by itself, and what is held would be decided while a busy machine looks elsewhere.
    await page.clock.pauseAt(Date.now() + 3_600_000);
  }
  return { page, trouble, close: () => context.close(), org, head, ids };
}

/** Waits until the page's scripts have begun. */
export const hasStarted = (page: Page) => page.locator("#keys:not([hidden])").waitFor();
export const titleOf = (page: Page, n: number) =>
  page.locator("#claim-title").filter({ hasText: `Ana-${n} ` });
export const lineOf = (page: Page, n: number) =>
  page.locator("#several").getByRole("link", { name: `Ana-${n} ` });
/** Where the page asks for what others have decided. */
export const FEED = "/v0/admin/claims/changes";
/** Tells the page of nothing from now on: what it is told makes lines of the list longer, and moves what is below them. */
export const tellNothing = (page: Page) =>
  page.route(
    ({ pathname }) => pathname === FEED,
    (route) => route.fulfill({ json: { changes: [], next: "none", hasMore: false } }),
  );
export const waitOut = (page: Page) => page.clock.fastForward(10_000);
