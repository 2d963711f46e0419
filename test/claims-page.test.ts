// The review dashboard, used as a reviewer uses it, in a browser that can reach nothing but the service.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let door: m.MembershipDoor;
let browser: Browser | undefined;
beforeAll(async () => {
  service = await startTestService({ world: false });
  await m.addPlatformPeople(service.database.owner);
  door = m.membershipDoor("REST", () => service);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

const db = () => service.database.owner;

async function open(email: string, key = service.keys.review): Promise<{ page: Page; trouble: string[] }> {
  const { page, trouble } = await watchedPage(browser!, service.url);
  await page.goto(`${service.url}/admin/claims`);
  await page.getByLabel("Your e-mail").fill(email);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Show claims" }).click();
  return { page, trouble };
}

test("the page and its files need no key, and may load nothing from elsewhere", async () => {
  for (const [path, type] of [
    ["/admin/claims", "text/html"],
    ["/assets/claims.js", "text/javascript"],
    ["/assets/style.css", "text/css"],
  ]) {
    const response = await fetch(`${service.url}${path}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain(type);
    if (type === "text/html")
      expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect((await response.text()).match(/(https?:)?\/\/[a-z0-9.-]+\.[a-z]{2,}/gi)).toBeNull();
  }
});

inBrowser("an org_admin approves one claim with a role and rejects another with a reason", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  await door.claim(m.claimOf(org, "ben@elsewhere.example"));
  await door.claim({ ...m.claimOf(org, "ana@elsewhere.example"), firstName: "<img src=x onerror=alert(1)>" });
  const { page, trouble } = await open(`head@${org.domain}`);

  await page.getByText("1–2 of 2, newest first").waitFor();
  expect(await page.getByText("An application says that it is theirs.").count()).toBe(2);
  const first = page.getByRole("article").first();
  // What people wrote is text.
  await first.getByRole("heading", { name: `<img src=x onerror=alert(1)> Silva → ${org.name}` }).waitFor();
  expect(await page.locator("img").count()).toBe(0);
  await first.getByLabel("Role if approved").selectOption("org_contributor");
  await first.getByRole("button", { name: "Approve" }).click();
  await page.getByText(/is approved\. They will get an e-mail\./).waitFor();

  await page.getByText("1–1 of 1, newest first").waitFor();
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("Say why: the person will be told.").waitFor();
  await page.getByRole("textbox", { name: /Notes/ }).fill("We do not know you.");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText(/is rejected\. They will get an e-mail\./).waitFor();
  await page.getByText("There are none.").waitFor();

  await page.getByLabel("Show").selectOption("rejected");
  await page.getByText("We do not know you.").waitFor();
  expect(trouble).toEqual([]);
  const { rows } = await db().query(
    `select email, c.status, granted_role from app_public.organization_claims as c join app_public.users using (user_id)
     where org_uri = $1 order by email`,
    [org.uri],
  );
  expect(rows).toEqual([
    { email: "ana@elsewhere.example", status: "approved", granted_role: "org_contributor" },
    { email: "ben@elsewhere.example", status: "rejected", granted_role: null },
  ]);
  await page.close();
});

inBrowser(
  "an org_admin who is signed in reviews without a key, in their own name, until they sign out",
  async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    await door.claim(m.claimOf(org, "by-session@elsewhere.example"));
    const email = `head@${org.domain}`;
    const { page, trouble } = await watchedPage(browser!, service.url);
    await page.goto(`${service.url}/admin/claims`);
    await page.getByRole("main").getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("Your e-mail").fill(email);
    await page.getByRole("button", { name: "Send the link" }).click();
    await page.getByText("A link is on its way").waitFor();
    const { rows: mails } = await db().query<{ link: string }>(
      "select data ->> 'link' as link from app_private.mails where recipient = $1 and kind = 'sign_in'",
      [email],
    );
    await page.goto(mails[0]!.link);
    await page.getByText(`Signed in as ${email}`).waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText(/is approved/).waitFor();
    const { rows } = await db().query(
      "select reviewer.email from app_public.organization_claims as c join app_public.users as reviewer on reviewer.user_id = c.reviewed_by where c.org_uri = $1",
      [org.uri],
    );
    expect(rows).toEqual([{ email }]);
    await page.getByRole("link", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText("You are not signed in.").waitFor();
    await page.goto(`${service.url}/admin/claims`);
    await page.getByLabel("API key").waitFor();
    expect(trouble).toEqual([]);
    await page.close();
  },
);

inBrowser("a reviewer learns in words why they see nothing, and why a decision was refused", async () => {
  const wrongKey = await open(m.support, "ek_wrong");
  await wrongKey.page.getByText("This API key is unknown, expired or revoked.").waitFor();
  const nobody = await open("nobody@nowhere.example");
  await nobody.page.getByText(/requires the platform permission claims:review/).waitFor();

  const org = await m.addOrganization(db());
  const { value } = await door.claim(m.claimOf(org, "late@elsewhere.example"));
  const { page } = await open(m.support);
  const claim = page.getByRole("article").filter({ hasText: org.name });
  await claim.waitFor();
  await door.review({ claimId: value.claimId, action: "approve", adminEmail: m.platformAdmin });
  await claim.getByRole("button", { name: "Approve" }).click();
  await claim.getByText("This claim has already been approved.").waitFor();
  const member = await door.claim(m.claimOf(org, "soon@elsewhere.example"));
  expect(member.value.status).toBe("pending");
  await page.getByRole("button", { name: "Refresh" }).click();
  const soon = page.getByRole("article").filter({ hasText: "soon@elsewhere.example" });
  await soon.getByRole("button", { name: "Approve" }).click();
  await page.getByText(`Nobody manages the members of ${org.name}.`).waitFor();
  await Promise.all([wrongKey, nobody, { page }].map((opened) => opened.page.close()));
});

inBrowser("every field and button has a name, and the page works by keyboard and on a phone", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  await door.claim(m.claimOf(org, "key@elsewhere.example"));
  const { page } = await open(`head@${org.domain}`);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole("article").waitFor();
  const unnamed = await page.evaluate(`
    [...document.querySelectorAll("input, select, textarea, button")]
      .filter((field) => !field.labels?.length && !field.textContent.trim())
      .map((field) => field.outerHTML)`);
  expect(unnamed).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  await page.getByRole("button", { name: "Approve" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText(/is approved/).waitFor();
  expect(await page.evaluate("document.activeElement.id")).toBe("message");
  await page.close();
});
