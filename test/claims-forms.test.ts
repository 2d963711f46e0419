// What the forms of the queue send and keep, and what they say of it, word by word.
import { afterAll, beforeAll, expect } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { inBrowser, launchBrowser } from "./support/browser.ts";
import { FEED, hasStarted, lineOf, openDesk, tellNothing, titleOf, waitOut } from "./support/claim-desk.ts";
import { ClaimQueue, QUEUE } from "./support/claim-queue.ts";
import { eventually } from "./support/eventually.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let queue: ClaimQueue;
let browser: Browser | undefined;
beforeAll(async () => {
  service = await startTestService({ world: false });
  queue = new ClaimQueue(service);
  await queue.prepare();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

const open = (claims: number, path?: string) =>
  openDesk({ service, queue, browser }, claims, path === undefined ? {} : { path });

/** The bodies that the page has sent to be decided; each is answered as if it had been. */
async function reviews(page: Page): Promise<object[]> {
  const sent: object[] = [];
  await page.route("**/v0/admin/claims/review", (route) => {
    const body = route.request().postDataJSON() as { action: string };
    sent.push(body);
    return route.fulfill({ json: { newStatus: `${body.action}d`, warnings: [] } });
  });
  return sent;
}
const notesIn = (page: Page, form: "decision" | "several") => page.locator(`#${form} [name=notes]`);
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const focused = (page: Page) => page.evaluate("document.activeElement.name || document.activeElement.id");
const held = (page: Page) => page.locator("#held li > span:first-child").allTextContents();
/** Waits until so many decisions are told to have been made: they move what is below them, also from under a button. */
const settled = (page: Page, count: number) =>
  page
    .locator("#held li")
    .filter({ hasText: " is approved. " })
    .nth(count - 1)
    .waitFor();
const said = (page: Page) => page.locator("#said").textContent();
const choose = async (page: Page, ...all: number[]) => {
  for (const n of all) await page.getByRole("checkbox", { name: `Choose Ana-${n} ` }).check();
};

inBrowser(
  "a decision is sent with its action, role and notes, and is named by person and organization",
  async () => {
    const { page, close, ids, head, org } = await open(4);
    const sent = await reviews(page);
    const whose = (n: number) => new RegExp(`Ana-${n} [^→]*→ ${org.name}`);
    expect(await page.locator("#held").isHidden()).toBe(true);
    await lineOf(page, 0).click();
    await titleOf(page, 0).waitFor();
    await page.locator("#decision").getByLabel("Role if approved").selectOption("org_contributor");
    await notesIn(page, "decision").fill("  Welcome.\n ");
    await button(page, "Approve").click();
    await titleOf(page, 1).waitFor();
    await notesIn(page, "decision").fill(" ");
    await button(page, "Reject").click();
    await page.getByText("Say why: the person will be told.").waitFor();
    expect(await focused(page)).toBe("notes");
    await notesIn(page, "decision").fill(" We do not know you. ");
    await button(page, "Reject").click();
    await titleOf(page, 2).waitFor();
    await button(page, "Approve").click();
    await titleOf(page, 3).waitFor();
    expect(await held(page)).toEqual([
      expect.stringMatching(new RegExp(`^Approving ${whose(0).source} as org_contributor$`)),
      expect.stringMatching(new RegExp(`^Rejecting ${whose(1).source}$`)),
      expect.stringMatching(new RegExp(`^Approving ${whose(2).source} as org_member$`)),
    ]);
    await page.keyboard.press("u");
    expect(await said(page)).toMatch(new RegExp(`^Undone: ${whose(2).source}\\.$`));
    await waitOut(page);
    await eventually(() => expect(sent).toHaveLength(2));
    expect(sent).toEqual([
      { claimId: ids[0], action: "approve", adminEmail: head, role: "org_contributor", notes: "Welcome." },
      { claimId: ids[1], action: "reject", adminEmail: head, notes: "We do not know you." },
    ]);
    await page.locator("#held").getByText("is rejectd. They get an e-mail.").waitFor();
    // Which of them is answered last is said last.
    await eventually(async () =>
      expect(await said(page)).toMatch(
        /^(Ana-0 .* is approved|Ana-1 .* is rejectd)\. They get an e-mail\. $/,
      ),
    );
    // With the last line the list of decisions goes.
    for (let lines = 2; lines > 0; lines--) await button(page, "Close").first().click();
    expect(await page.locator("#held").isHidden()).toBe(true);
    await close();
  },
);

inBrowser(
  "several are decided with one role and note, which is kept until they are, and is not there for the next",
  async () => {
    const { page, close, ids, head } = await open(4);
    const sent = await reviews(page);
    await page.getByText("Decide several at once", { exact: true }).click();
    const problem = page.locator("#several .problem");
    await button(page, "Reject all chosen").click();
    expect(await problem.textContent()).toBe("Choose claims in the list.");
    await choose(page, 0, 2);
    await button(page, "Reject all chosen").click();
    expect([await problem.textContent(), await focused(page)]).toEqual([
      "Say why: the person will be told.",
      "notes",
    ]);
    await notesIn(page, "several").fill("Please write to us first.");
    await page.reload();
    await hasStarted(page);
    expect(await notesIn(page, "several").inputValue()).toBe("Please write to us first.");
    await page.getByText("Decide several at once", { exact: true }).click();
    await button(page, "Reject all chosen").click();
    expect(await problem.textContent()).toBe("Choose claims in the list.");
    await choose(page, 0, 2);
    await button(page, "Reject all chosen").click();
    expect(await problem.textContent()).toBe("");
    expect(await notesIn(page, "several").inputValue()).toBe("");
    expect(await held(page)).toEqual([expect.stringMatching(/^Rejecting 2 claims: Ana-0 .*, Ana-2 [^,]*$/)]);
    await page.clock.fastForward(9_000);
    await button(page, "Undo").click();
    expect(await said(page)).toBe("Undone: 2 decisions.");
    expect(await page.locator("#several .held").count()).toBe(0);
    // What was undone is a draft again.
    await page.reload();
    await hasStarted(page);
    expect(await notesIn(page, "several").inputValue()).toBe("Please write to us first.");
    await page.getByText("Decide several at once", { exact: true }).click();
    await choose(page, 0, 2);
    await page.locator("#several [name=role]").selectOption("org_admin");
    await button(page, "Approve all chosen").click();
    expect(await page.locator("#several .held .whose").count()).toBe(2);
    await waitOut(page);
    await eventually(() => expect(sent).toHaveLength(2));
    expect(sent).toEqual(
      [ids[0], ids[2]].map((claimId) => ({
        ...{ claimId, action: "approve", adminEmail: head },
        ...{ role: "org_admin", notes: "Please write to us first." },
      })),
    );
    await settled(page, 2);
    expect(await page.locator("#several .held").count()).toBe(0);
    await page.reload();
    await hasStarted(page);
    expect(await notesIn(page, "several").inputValue()).toBe("");
    await close();
  },
);

inBrowser(
  "after a decision comes the next claim that waits, else one before it, and else the list",
  async () => {
    const { page, close, ids } = await open(4);
    // The feed would tell of the first decision too, whenever it comes.
    await tellNothing(page);
    await page.getByText("Decide several at once", { exact: true }).click();
    // Those that are held, or decided, are passed over.
    await choose(page, 1);
    await button(page, "Approve all chosen").click();
    await waitOut(page);
    await settled(page, 1);
    await choose(page, 2);
    await button(page, "Approve all chosen").click();
    await lineOf(page, 0).click();
    await titleOf(page, 0).waitFor();
    await button(page, "Approve").click();
    await titleOf(page, 3).waitFor();
    await button(page, "Undo").last().click();
    await button(page, "Approve").click();
    await titleOf(page, 0).waitFor();
    await button(page, "Approve").click();
    await page.locator("#claim-title").waitFor({ state: "detached" });
    expect(await said(page)).toBe("No other claim waits here.");
    expect(await page.locator("#several li[data-decidable]").count()).toBe(3);
    expect(await page.locator(`#several [name=claim][value="${ids[1]}"]`).count()).toBe(0);
    await close();
  },
);

inBrowser("a reason that is chosen is written where the notes are, and can be chosen again", async () => {
  const { page, close, ids, org } = await open(2);
  const earlier = await queue.claim(org);
  const reason = "We do not know you.";
  await queue.door.review({
    claimId: earlier,
    action: "reject",
    notes: reason,
    adminEmail: `head@${org.domain}`,
  });
  await page.goto(`${service.url}${QUEUE}/${ids[0]}`);
  await hasStarted(page);
  const reasons = page.locator("#decision [name=reason]");
  for (const before of ["", "Something else"]) {
    await notesIn(page, "decision").fill(before);
    await reasons.focus();
    await reasons.selectOption(reason);
    expect([await notesIn(page, "decision").inputValue(), await reasons.inputValue()]).toEqual([reason, ""]);
    expect(await focused(page)).toBe("notes");
  }
  // To have chosen none is to leave what is written.
  await reasons.dispatchEvent("change");
  expect(await notesIn(page, "decision").inputValue()).toBe(reason);
  // A draft that is emptied is none.
  await notesIn(page, "decision").fill("");
  expect(await page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('notes'))")).toEqual(
    [],
  );
  await close();
});

inBrowser("links lead where they would without script, and what is filtered is in the address", async () => {
  const { page, close, ids } = await open(3);
  await page.getByLabel("Person, address, organization or domain").fill("ana-");
  await button(page, "Show").click();
  // All are found, as they were before: only the address says when.
  await page.waitForURL(/\?q=ana-&status=pending$/);
  await page.getByText("1–3 of 3, oldest first").waitFor();
  // Within the page, and to another site: neither is a page of the queue.
  const goes = (href: string) =>
    page.evaluate(`(() => {
      const link = document.querySelector("#several li a").cloneNode(true);
      link.setAttribute("href", ${JSON.stringify(href)});
      document.querySelector("#several").append(link);
      const click = new MouseEvent("click", { bubbles: true, cancelable: true });
      const stop = (event) => { event.stayed = event.defaultPrevented; event.preventDefault(); };
      addEventListener("click", stop, { once: true });
      link.dispatchEvent(click);
      link.remove();
      return click.stayed;
    })()`);
  expect(await goes("#claim-title")).toBe(false);
  expect(await goes(`https://elsewhere.example${QUEUE}/${ids[0]}`)).toBe(false);
  expect(await goes("/admin/claimsandmore")).toBe(false);
  expect(await goes(`${QUEUE}/${ids[2]}`)).toBe(true);
  await titleOf(page, 2).waitFor();
  // A fragment of the same page is no other page.
  await page.evaluate(`window.asked = 0; window.fetch = () => new Promise(() => void window.asked++)`);
  await page.evaluate("location.hash = 'list-title'; dispatchEvent(new PopStateEvent('popstate'))");
  expect(await page.evaluate("asked")).toBe(0);
  await titleOf(page, 2).waitFor();
  await close();
});

inBrowser("what is told of a claim that still waits takes nothing away from it in the list", async () => {
  const { page, close, ids } = await open(2);
  const told = [
    { id: ids[0], toStatus: "pending", item: { reviewed_by: null } },
    { id: ids[1], toStatus: "withdrawn", item: { reviewed_by: null } },
  ];
  let asked = 0;
  await page.route(
    ({ pathname }) => pathname === FEED,
    (route) => route.fulfill({ json: { changes: asked++ === 0 ? told : [], next: "p", hasMore: false } }),
  );
  await page.reload();
  await hasStarted(page);
  await page.clock.fastForward(3_000);
  await page
    .locator(`#several li[data-claim="${ids[1]}"] .mark`)
    .getByText("withdrawn", { exact: true })
    .waitFor();
  expect(await page.locator("#several li[data-decidable]").count()).toBe(1);
  expect(
    await page
      .locator("#several [name=claim]")
      .evaluateAll((all) => all.map((one) => one.getAttribute("value"))),
  ).toEqual([ids[0]]);
  await close();
});

inBrowser("who has switched the keys off finds them off, and on again", async () => {
  const { page, close } = await open(1);
  const use = page.getByLabel("Use these keys in this browser");
  await page.getByText("Keys", { exact: true }).click();
  for (const isOn of [false, true]) {
    await use.setChecked(isOn);
    await page.reload();
    await hasStarted(page);
    await page.getByText("Keys", { exact: true }).click();
    expect(await use.isChecked()).toBe(isOn);
  }
  // On a box they are keys still, where nobody writes; in the search they are letters.
  await page.getByRole("checkbox", { name: "Choose Ana-0 " }).focus();
  await page.keyboard.press("j");
  await titleOf(page, 0).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("jar/");
  expect(await page.locator("#search").inputValue()).toBe("jar/");
  await close();
});

inBrowser("a decision that an earlier page lost leads back to its claim", async () => {
  const { page, close, ids, head } = await open(1);
  const left = JSON.stringify([{ id: ids[0], action: "approve", tab: "gone", at: 0 }]);
  await page.evaluate(`localStorage.setItem("decisions of ${head}", ${JSON.stringify(left)})`);
  // As when the browser brings the page back as it was.
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
  await page.clock.fastForward(3_000);
  const line = page.locator("#held li.bad");
  await line
    .getByText(/^Ana-0 .* still waits: your decision to approve it did not reach the service\. /)
    .waitFor();
  expect(await said(page)).toMatch(
    /^Ana-0 .* still waits: your decision to approve it did not reach the service\. $/,
  );
  expect(await line.getByRole("link", { name: "Decide again" }).getAttribute("href")).toBe(
    `${QUEUE}/${ids[0]}`,
  );
  expect(
    await page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('decisions'))"),
  ).toEqual([]);
  await close();
});
