// The three claims of the demo, as a reviewer decides them who is new to it: docs/decisions.md has the clicks and keys.
import { afterAll, beforeAll, expect } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { applicants, DEMO_REVIEWER } from "../db/demo/records.ts";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { startDemoService } from "./support/demo.ts";
import { eventually } from "./support/eventually.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

const REASON = "Harbor Scripture Partners is here already: please claim that one.";

let service: TestService;
let browser: Browser | undefined;
beforeAll(async () => {
  service = await startDemoService();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

const titleOf = (page: Page, place: number) =>
  page.locator("#claim-title").filter({ hasText: applicants[place]!.firstName });

/** What shows that the last of them is to be rejected. */
async function noticeDuplicate(page: Page): Promise<void> {
  await titleOf(page, 2).waitFor();
  await page.getByText("One organization looks like it.").waitFor();
  const alike = page.locator(".similar").getByText("Harbor Scripture Partners");
  await alike.waitFor();
  expect(await page.locator(".similar li").innerText()).toContain("alike by domain, name, website");
}

// The mouse undoes what it decided, so that the keyboard finds the same.
inBrowser("three decisions, the duplicate noticed, without a detour: by mouse, and by keyboard", async () => {
  for (const hand of ["mouse", "keyboard"]) {
    const context = await browser!.newContext();
    const { cookies } = await new Visitor(service).signIn(DEMO_REVIEWER);
    await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: service.url })));
    const { page, trouble } = await watchedPage(context, service.url);
    await page.clock.install();
    await page.goto(`${service.url}/admin/claims`);
    await page.locator("#keys:not([hidden])").waitFor();
    await page.clock.pauseAt(Date.now() + 3_600_000);
    let steps = 0;
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
      steps += keys.length;
    };
    const click = async (name: string) => {
      await page.getByRole("button", { name, exact: true }).click();
      steps += 1;
    };
    if (hand === "mouse") {
      await page.locator("#several a").first().click();
      steps += 1;
    } else await press("j");
    for (const place of [0, 1]) {
      await titleOf(page, place).waitFor();
      if (hand === "mouse") await click("Approve");
      else await press("a");
    }
    await noticeDuplicate(page);
    if (hand === "mouse") {
      await page.locator("#decision").getByLabel("Notes").fill(REASON);
      await click("Reject");
    } else {
      await press("r");
      await page.keyboard.type(REASON);
      await press("Tab", "Tab", "Enter");
    }
    await page.locator("#held li").nth(2).waitFor();
    expect([hand, steps]).toEqual([hand, hand === "mouse" ? 4 : 7]);
    if (hand === "mouse") {
      // Behind the last claim comes the list, which moves what is below it.
      await page.locator("#claim-title").waitFor({ state: "detached" });
      for (let left = 3; left > 0; left--) {
        await page.getByRole("button", { name: "Undo" }).first().click();
        await page
          .locator("#held li")
          .nth(left - 1)
          .waitFor({ state: "detached" });
      }
    } else {
      await page.clock.fastForward(10_000);
      await eventually(async () => {
        const { rows } = await service.database.owner.query(
          `select u.first_name as who, c.status, c.review_notes as notes from app_public.organization_claims as c
           join app_public.users as u using (user_id) order by c.claim_id`,
        );
        expect(rows).toEqual([
          { who: "Noor", status: "approved", notes: null },
          { who: "Tomas", status: "approved", notes: null },
          { who: "Lena", status: "rejected", notes: REASON },
        ]);
      });
    }
    expect(trouble).toEqual([]);
    await context.close();
  }
});
