// Pages on which something fails in the middle: what they say to a person, and what the log says to the operator.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { pino } from "pino";
import type { Browser } from "playwright-core";
import { inBrowser, launchBrowser } from "./support/browser.ts";
import { ClaimQueue, QUEUE } from "./support/claim-queue.ts";
import { AS_A_BROWSER, windowOf } from "./support/desk.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

type Line = { msg: string; level: number; requestId?: string; err?: { message: string }; errors?: string[] };

let service: TestService;
let queue: ClaimQueue;
let browser: Browser | undefined;
const lines: Line[] = [];
beforeAll(async () => {
  const logger = pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  service = await startTestService({ world: false, logger });
  queue = new ClaimQueue(service);
  await queue.prepare();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

/** What was logged about a request as a failure. */
const failures = (id: string) =>
  lines
    .filter(({ requestId, msg }) => requestId === id && msg !== "request")
    .map(({ msg, level }) => [msg, level]);

/** Has the connection break on which a claim is decided. */
async function breakAt(claimId: string): Promise<void> {
  await service.database.owner.query(`
    create or replace function break_off() returns trigger language plpgsql security definer as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
    create or replace trigger a_break_off before update on app_public.organization_claims for each row
      when (old.claim_id = '${claimId}') execute function break_off()`);
}
const mend = () => service.database.owner.query("drop function break_off() cascade");

test("what nobody expected is a page with the request's id, by which it is found in the log", async () => {
  const visitor = await queue.signIn(m.platformAdmin);
  const renamed = (from: string, to: string) =>
    service.database.owner.query(`alter function app_public.${from} rename to ${to}`);
  await renamed("platform_users", "platform_users_gone");
  try {
    const id = randomUUID();
    const { status, headers, text } = await visitor.open("/admin/users?q=ana", {
      headers: { "x-request-id": id },
    });
    expect([status, headers.get("content-type")]).toEqual([500, "text/html; charset=utf-8"]);
    expect(text).toMatch(
      /<h1>That did not work<.*The service failed to answer; the failure has been logged\./s,
    );
    expect(text).toContain(`<code>${id}</code>`);
    expect(text).toContain('<a href="/admin/users?q=ana">Try again</a>');
    expect(text).toContain(`<bdi>${m.platformAdmin}</bdi>`);
    expect(text).not.toContain("platform_users");
    expect(failures(id)).toEqual([["internal_error", 50]]);
  } finally {
    await renamed("platform_users_gone", "platform_users");
  }
});

test("a refusal is a page too where only the explorer is, or nothing", async () => {
  for (const path of ["/graphiql?query=%ff", "/nowhere?q=%ff"]) {
    const { status, text } = await new Visitor(service).open(path, AS_A_BROWSER);
    expect([path, status, text]).toEqual([path, 400, expect.stringContaining("<h1>That did not work<")]);
    expect(text).not.toContain("finds this in its log");
  }
});

inBrowser(
  "decisions that break off half-way may be sent again, with what was written, and no harm is done",
  async () => {
    const org = await m.addOrganization(service.database.owner, { head: "org_admin" });
    const ids = [await queue.claim(org), await queue.claim(org), await queue.claim(org)];
    const visitor = await queue.signIn(`head@${org.domain}`);
    const context = await windowOf(browser!, service.url, visitor, 1280);
    const scriptless = await browser!.newContext({
      ...{ javaScriptEnabled: false, storageState: await context.storageState() },
    });
    await breakAt(ids[1]!);
    try {
      const page = await scriptless.newPage();
      const id = randomUUID();
      await page.goto(`${service.url}${QUEUE}`);
      await page.locator("#several > summary, details.several > summary").first().click();
      for (const claim of ids) await page.locator(`[name=claim][value="${claim}"]`).check();
      await page.locator("#several [name=notes]").fill("Nobody here knows you.");
      await page.locator("#several").getByRole("button", { name: "Reject" }).click();
      await page.setExtraHTTPHeaders({ "x-request-id": id });
      await page.locator("main").getByRole("button", { name: "Reject" }).click();
      await page.getByRole("heading", { name: "That did not work" }).waitFor();
      const told = (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");
      expect(told).toContain(
        "that may have been done, or a part of it: look at the page first. Sending it again does no harm.",
      );
      expect(told).not.toContain("Idempotency-Key");
      expect(told).toContain(id);
      expect(told).toContain("What you wrote Nobody here knows you.");
      expect(failures(id)).toEqual([["database_unavailable", 50]]);
      expect(await Promise.all(ids.map((claim) => queue.statusOf(claim)))).toEqual([
        ...["rejected", "pending_review", "pending_review"],
      ]);
      if (process.env["SHOT"]) await page.screenshot({ path: "/tmp/mdD-broken.png" });
      await mend();
      const link = page.getByRole("link", { name: "look at the page" });
      expect(await link.getAttribute("href")).toBe(QUEUE);
      // Which sends the form again.
      await page.reload();
      await page.getByRole("heading", { name: "Claims" }).waitFor();
      expect(await Promise.all(ids.map((claim) => queue.statusOf(claim)))).toEqual(ids.map(() => "rejected"));
    } finally {
      await service.database.owner.query("drop function if exists break_off() cascade");
      await scriptless.close();
      await context.close();
    }
  },
);
