// What the scripts of the queue keep to while requests are under way, clocks run and several tabs are open: each of these
// is held at its point, so that nothing depends on who is quicker.
import { afterAll, beforeAll, expect } from "@jest/globals";
import type { Browser, Page, Route } from "playwright-core";
import { inBrowser, launchBrowser } from "./support/browser.ts";
import { FEED, hasStarted, lineOf, openDesk, titleOf, waitOut } from "./support/claim-desk.ts";
import { ClaimQueue, NO_CLAIM, QUEUE } from "./support/claim-queue.ts";
import { eventually } from "./support/eventually.ts";
import * as m from "./support/membership.ts";
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

const open = (claims: number) => openDesk({ service, queue, browser }, claims);

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};
/** The claim that the keys lead to from the list, and from one to the next. */
const turn = async (page: Page, key: string, n: number) => {
  await press(page, key);
  await titleOf(page, n).waitFor();
};
const undo = (page: Page) => page.getByRole("button", { name: "Undo" });
const heldLines = (page: Page) => page.locator("#held li");
const notesOf = (page: Page) => page.locator("#decision").getByLabel("Notes");
const REVIEW = "**/v0/admin/claims/review";
const claimIn = (route: Route) => (route.request().postDataJSON() as { claimId: string }).claimId;

// Notes what the page's scripts ask for in the moment in which they do.
const NOTE_ASKED = `
  window.asked = [];
  const real = window.fetch;
  window.fetch = (address, options) => {
    const { pathname } = new URL(address, location.href);
    window.asked.push(options?.keepalive ? pathname + " keepalive" : pathname);
    return real(address, options);
  };`;
const asked = (page: Page, path: string): Promise<string[]> =>
  page.evaluate(`asked.filter((each) => each.startsWith(${JSON.stringify(path)}))`);
const askedPages = async (page: Page) => (await asked(page, QUEUE)).length;

inBrowser("a decision can be undone until its ten seconds are over, and nothing is left of it", async () => {
  const { page, close, ids } = await open(2);
  await turn(page, "j", 0);
  await turn(page, "a", 1);
  await page.clock.fastForward(9_999);
  expect(await undo(page).getAttribute("aria-disabled")).toBeNull();
  expect(await page.evaluate("JSON.stringify(localStorage)")).toContain(ids[0]);
  await press(page, "u");
  expect(await heldLines(page).count()).toBe(0);
  expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(ids[0]);
  await waitOut(page);
  expect(await queue.statusOf(ids[0]!)).toBe("pending_review");
  await close();
});

inBrowser("what is being sent is undone no more, and what the service has to say of it is said", async () => {
  const { page, close } = await open(1);
  const sending = Promise.withResolvers<Route>();
  await page.route(REVIEW, (route) => sending.resolve(route));
  await turn(page, "j", 0);
  await press(page, "a");
  expect(await page.locator("#said").textContent()).toBe("No other claim waits here.");
  await page.locator("#claim-title").waitFor({ state: "detached" });
  await waitOut(page);
  const route = await sending.promise;
  await undo(page).dispatchEvent("click");
  await press(page, "u");
  expect(await heldLines(page).count()).toBe(1);
  expect(await page.locator("#said").textContent()).not.toContain("Undone");
  const warnings = [{ code: "no_administrator", message: "Nobody manages it." }];
  await route.fulfill({ json: { newStatus: "approved", warnings } });
  await page.locator("#held ul").getByText("is approved. They get an e-mail. Nobody manages it.").waitFor();
  expect(await page.locator("#said").textContent()).toContain("Nobody manages it.");
  await close();
});

inBrowser("each decision is sent once, and when the page is left as what outlives it", async () => {
  const { page, close, ids } = await open(3);
  await page.evaluate(NOTE_ASKED);
  const first = Promise.withResolvers<Route>();
  const sent: string[] = [];
  await page.route(REVIEW, async (route) => {
    if (sent.push(claimIn(route)) === 1) first.resolve(route);
    else await route.continue();
  });
  await page.getByText("Decide several at once", { exact: true }).click();
  for (const n of [0, 1]) await page.getByRole("checkbox", { name: `Choose Ana-${n} ` }).check();
  await page.getByRole("button", { name: "Approve all chosen" }).click();
  await lineOf(page, 2).click();
  await titleOf(page, 2).waitFor();
  await waitOut(page);
  const route = await first.promise;
  await page.locator("#decision").getByRole("button", { name: "Approve", exact: true }).click();
  // As when the page goes where the browser may bring it back from.
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
  expect(await undo(page).count()).toBe(1);
  await eventually(() => expect(sent).toHaveLength(3));
  await route.continue();
  await page.locator("#held ul").getByText("is approved. They get an e-mail.").waitFor();
  await waitOut(page);
  expect(sent.toSorted()).toEqual(ids.toSorted());
  const path = "/v0/admin/claims/review";
  expect(await asked(page, path)).toEqual([path, `${path} keepalive`, `${path} keepalive`]);
  await close();
});

// Reviews are answered at once, before anything else can happen.
const answerReviews = (ok: boolean, answer: object) => `
  const real = window.fetch;
  window.fetch = (address, options) =>
    address === "/v0/admin/claims/review"
      ? Promise.resolve({ ok: ${ok}, json: () => Promise.resolve(${JSON.stringify(answer)}) })
      : real(address, options);`;

inBrowser(
  "what is not made when the page is left stays written down, and what is made does not",
  async () => {
    const { page, close, ids } = await open(2);
    const leave = () =>
      page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    await turn(page, "j", 0);
    await turn(page, "a", 1);
    await page.evaluate(answerReviews(false, { message: "Too busy." }));
    await leave();
    await press(page, "a");
    await page.evaluate(answerReviews(true, { newStatus: "approved", warnings: [] }));
    await leave();
    const kept = await page.evaluate("JSON.stringify(localStorage)");
    expect(kept).toContain(ids[0]);
    expect(kept).not.toContain(ids[1]);
    await close();
  },
);

inBrowser("keys ask once however long they are held down, and leave the browser its own", async () => {
  const { page, close, ids } = await open(3);
  await page.evaluate(NOTE_ASKED);
  await press(page, "Control+k", "Alt+k", "Meta+k");
  expect(await askedPages(page)).toBe(0);
  // From the list itself back is to its end.
  await turn(page, "k", 2);
  await turn(page, "k", 1);
  await turn(page, "k", 0);
  const before = await askedPages(page);
  for (let n = 0; n < 3; n++) await page.keyboard.down("j");
  await page.keyboard.up("j");
  expect(await askedPages(page)).toBe(before + 1);
  await titleOf(page, 1).waitFor();
  await press(page, "x");
  expect(await page.locator("#several [name=claim]:checked").getAttribute("value")).toBe(ids[1]);
  await press(page, "x");
  expect(await page.locator("#several [name=claim]:checked").count()).toBe(0);
  // A letter in a list of roles is one that somebody looks for.
  await page.locator("#decision").getByLabel("Role if approved").focus();
  await press(page, "a", "j");
  expect([await heldLines(page).count(), await askedPages(page)]).toEqual([0, before + 1]);
  // With notes there is nothing to write first; and blanks are none.
  await notesOf(page).fill(" \n ");
  await page.getByRole("button", { name: "Reject", exact: true }).click();
  await page.getByText("Say why: the person will be told.").waitFor();
  expect(await heldLines(page).count()).toBe(0);
  await notesOf(page).fill("We do not know you.");
  await page.locator("#claim-title").focus();
  await press(page, "r");
  expect(await heldLines(page).filter({ hasText: "Rejecting Ana-1" }).count()).toBe(1);
  await titleOf(page, 2).waitFor();
  await press(page, "a");
  await titleOf(page, 0).waitFor();
  await press(page, "u");
  expect(await heldLines(page).allTextContents()).toEqual([expect.stringMatching(/^Rejecting Ana-1 /)]);
  await press(page, "/");
  expect(await page.evaluate("document.activeElement.id")).toBe("search");
  await close();
});

// The answers are there, and the page gets each when the test lets it.
const HOLD_ANSWERS = `
  window.answers = new Map();
  const real = window.fetch;
  window.fetch = async (address, options) => {
    const { pathname } = new URL(address, location.href);
    const response = await real(address, options);
    if (!pathname.startsWith("${QUEUE}/")) return response;
    const text = await response.text();
    await new Promise((answer) => window.answers.set(pathname, answer));
    return { status: response.status, text: async () => text };
  };`;
/** Waits until the answers to so many are there. */
const answers = (page: Page, count: number) =>
  eventually(async () => expect(await page.evaluate("answers.size")).toBe(count));
const answer = (page: Page, id: string) => page.evaluate(`answers.get("${QUEUE}/${id}")()`);

/** Opens the page anew in a browser that keeps a decision of a tab that is gone, until it has looked for its claim. */
async function findDecision(page: Page, head: string, id: string): Promise<void> {
  const left = [{ id, action: "reject", tab: "gone", at: 0 }];
  await page.evaluate(
    `localStorage.setItem("decisions of ${head}", ${JSON.stringify(JSON.stringify(left))})`,
  );
  await page.reload();
  await hasStarted(page);
  await page.evaluate(HOLD_ANSWERS);
  await page.clock.fastForward(3_000);
  await answers(page, 1);
}

inBrowser(
  "of two claims that were asked for the later one is shown, whichever answer comes last",
  async () => {
    const { page, close, ids } = await open(2);
    await page.evaluate(HOLD_ANSWERS);
    await lineOf(page, 0).click();
    await lineOf(page, 1).click();
    await answers(page, 2);
    await answer(page, ids[1]!);
    await titleOf(page, 1).waitFor();
    await answer(page, ids[0]!);
    expect(await page.locator("#claim-title").textContent()).toContain("Ana-1 ");
    expect(page.url()).toBe(`${service.url}${QUEUE}/${ids[1]}`);
    await close();
  },
);

inBrowser("whoever writes while another claim is on its way goes on writing where they are", async () => {
  const { page, close, ids } = await open(3);
  await page.evaluate(HOLD_ANSWERS);
  const search = page.locator("#search");
  await press(page, "j");
  await answers(page, 1);
  await press(page, "/");
  await page.keyboard.type("anna");
  await press(page, "ArrowLeft", "ArrowLeft");
  await answer(page, ids[0]!);
  await titleOf(page, 0).waitFor();
  await page.keyboard.type("j");
  expect([await search.inputValue(), await heldLines(page).count()]).toEqual(["anjna", 0]);
  // What stood there before is none of what is written now: the next claim takes its place as ever.
  await page.locator("#claim-title").focus();
  await press(page, "j");
  await answers(page, 2);
  await answer(page, ids[1]!);
  await titleOf(page, 1).waitFor();
  expect(await search.inputValue()).toBe("");
  expect(await page.evaluate("document.activeElement.id")).toBe("claim-title");
  // Of a claim that somebody writes about nobody is taken away.
  await press(page, "j");
  await answers(page, 3);
  await press(page, "r");
  await page.keyboard.type("jar");
  await answer(page, ids[2]!);
  expect(await notesOf(page).inputValue()).toBe("jar");
  expect(page.url()).toBe(`${service.url}${QUEUE}/${ids[1]}`);
  await press(page, "k");
  expect(await notesOf(page).inputValue()).toBe("jark");
  // From the search that is sent one comes to what it has found.
  await search.fill("ana-2");
  await press(page, "Enter");
  await page.getByText("1–1 of 1, oldest first").waitFor();
  expect(await page.evaluate("document.activeElement.id")).toBe("list-title");
  await close();
});

inBrowser(
  "claims that are chosen stay chosen from one to the next, with the form open for them",
  async () => {
    const { page, close, ids } = await open(3);
    const chosen = () =>
      page.evaluate(
        "[...document.querySelectorAll('#several [name=claim]:checked')].map(({ value }) => value)",
      );
    await turn(page, "j", 0);
    await press(page, "x");
    await turn(page, "j", 1);
    await turn(page, "j", 2);
    await press(page, "x");
    await turn(page, "k", 1);
    expect(await chosen()).toEqual([ids[0], ids[2]]);
    await page.getByText("Decide several at once", { exact: true }).click();
    await lineOf(page, 0).click();
    await titleOf(page, 0).waitFor();
    await page.getByRole("button", { name: "Approve all chosen" }).click();
    expect(await heldLines(page).locator("span:first-child").textContent()).toContain("Approving 2 claims: ");
    expect(await chosen()).toEqual([]);
    await close();
  },
);

inBrowser("a claim that is opened in another tab is shown there alone", async () => {
  const { page, close } = await open(2);
  const other = page.context().waitForEvent("page");
  await lineOf(page, 0).click({ modifiers: ["Control"] });
  await titleOf(await other, 0).waitFor();
  expect(await page.locator("#claim-title").count()).toBe(0);
  await close();
});

inBrowser("what is held offers no second decision, alone or among several", async () => {
  const { page, trouble, close, ids } = await open(3);
  await turn(page, "j", 0);
  await turn(page, "a", 1);
  await turn(page, "k", 0);
  expect(await page.getByRole("button", { name: "Approve", exact: true }).isDisabled()).toBe(true);
  await page.getByText("Decide several at once", { exact: true }).click();
  for (const n of [0, 1]) await page.getByRole("checkbox", { name: `Choose Ana-${n} ` }).check();
  await page.getByRole("button", { name: "Approve all chosen" }).click();
  expect(await heldLines(page).locator("span:first-child").allTextContents()).toEqual([
    expect.stringMatching(/^Approving Ana-0 /),
    expect.stringMatching(/^Approving Ana-1 /),
  ]);
  await waitOut(page);
  await page.locator("#held ul").getByText("is approved. They get an e-mail.").nth(1).waitFor();
  expect(await Promise.all(ids.map((id) => queue.statusOf(id)))).toEqual([
    "approved",
    "approved",
    "pending_review",
  ]);
  expect(trouble).toEqual([]);
  await close();
});

inBrowser("what could not be decided keeps its notes, and what is undone overwrites no others", async () => {
  const { page, close } = await open(3);
  await page.getByText("Decide several at once", { exact: true }).click();
  const several = page.locator("#several").getByLabel("Notes");
  const reject = page.getByRole("button", { name: "Reject all chosen" });
  const choose = (n: number) => page.getByRole("checkbox", { name: `Choose Ana-${n} ` }).check();
  const chosen = page.locator("#several [name=claim]:checked");
  const rejectTwo = async () => {
    for (const n of [0, 1]) await choose(n);
    await several.fill("Please write to us first.");
    await reject.click();
  };
  await rejectTwo();
  await several.fill("Other words");
  await undo(page).click();
  expect([await several.inputValue(), await chosen.count()]).toEqual(["Other words", 0]);
  await rejectTwo();
  await choose(2);
  await undo(page).click();
  expect([await several.inputValue(), await chosen.count()]).toEqual(["", 1]);
  for (const n of [0, 1]) await choose(n);
  await several.fill("Please write to us first.");
  await page.route(REVIEW, (route) => route.fulfill({ status: 503, json: { message: "Too busy." } }));
  await reject.click();
  await waitOut(page);
  await page.locator("#held li.bad").getByText("Too busy.").nth(2).waitFor();
  await lineOf(page, 1).click();
  await titleOf(page, 1).waitFor();
  expect(await notesOf(page).inputValue()).toBe("Please write to us first.");
  expect(await page.getByRole("button", { name: "Reject", exact: true }).isEnabled()).toBe(true);
  await close();
});

inBrowser(
  "of what other tabs have left only that is told which they hold no more and nobody decided",
  async () => {
    const { page, close, ids } = await open(4);
    await turn(page, "j", 0);
    await turn(page, "a", 1);
    await page.context().addInitScript(NOTE_ASKED);
    const other = await page.context().newPage();
    await other.goto(`${service.url}${QUEUE}`);
    await hasStarted(other);
    await other.clock.fastForward(3_000);
    expect(await asked(other, `${QUEUE}/`)).toEqual([]);
    // Of a tab that is gone for more than a minute: one that somebody else has decided meanwhile, and one that waits.
    await queue.door.review({ claimId: ids[1], action: "approve", adminEmail: m.platformAdmin });
    // Of one that was there a minute ago the decision may still be on its way.
    const left = [60_001, 60_001, 60_000].map((ago, n) => ({ id: ids[n + 1], ago }));
    await other.evaluate(
      `const [key] = Object.keys(localStorage).filter((name) => name.startsWith("decisions of "));
     const left = ${JSON.stringify(left)}.map(({ id, ago }) => ({ id, action: "reject", tab: "gone", at: Date.now() - ago }));
     localStorage.setItem(key, JSON.stringify(JSON.parse(localStorage.getItem(key)).concat(left)));`,
    );
    await other.reload();
    await hasStarted(other);
    await other.clock.fastForward(3_000);
    await other
      .locator("#held li")
      .getByText("your decision to reject it did not reach the service.")
      .waitFor();
    expect(await heldLines(other).allTextContents()).toEqual([expect.stringMatching(/^Ana-2 /)]);
    await close();
  },
);

/** Answers the feed of changes in this order, and then with 401; and tells from where on each was asked for. */
async function feed(page: Page, ...answers: ((route: Route) => Promise<void>)[]): Promise<(string | null)[]> {
  const after: (string | null)[] = [];
  const signedOut = (route: Route) => route.fulfill({ status: 401, json: {} });
  await page.route(
    ({ pathname }) => pathname === FEED,
    (route) => {
      after.push(new URL(route.request().url()).searchParams.get("after"));
      return (answers.shift() ?? signedOut)(route);
    },
  );
  await page.context().addInitScript(NOTE_ASKED);
  await page.reload();
  await hasStarted(page);
  return after;
}
const changes =
  (next: string, ...told: object[]) =>
  (route: Route) =>
    route.fulfill({ json: { changes: told, next, hasMore: false } });
const times = (page: Page, after: unknown[], count: number) =>
  eventually(async () => {
    if (after.length < count) await page.clock.fastForward(3_000);
    expect(after).toHaveLength(count);
  }, 30_000);

inBrowser(
  "the queue asks on while nothing answers, from the beginning where its place is too old, and not when signed out",
  async () => {
    const { page, close } = await open(1);
    const after = await feed(
      page,
      changes("first"),
      (route) => route.fulfill({ status: 503, json: {} }),
      (route) => route.abort(),
      (route) => route.fulfill({ status: 410, json: {} }),
      changes("second"),
    );
    await times(page, after, 6);
    await page.locator("#said").getByText("You are not signed in any more.").waitFor({ state: "attached" });
    expect(after).toEqual(["now", "first", "first", "first", "now", "second"]);
    await page.clock.fastForward(3_000);
    expect(await asked(page, FEED)).toHaveLength(6);
    await close();
  },
);

inBrowser("a tab that nobody looks at asks for no changes, until somebody does", async () => {
  const { page, close, ids } = await open(1);
  const item = { reviewed_by: m.support };
  const after = await feed(page, changes("first", { id: ids[0], toStatus: "approved", item }));
  // Once that is shown the next question is due in three seconds.
  await lineOf(page, 0).getByText(`approved by ${m.support}`).waitFor();
  const hide = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} })`);
  await hide(true);
  for (let n = 0; n < 3; n++) await page.clock.fastForward(3_000);
  expect(await asked(page, FEED)).toHaveLength(1);
  await hide(false);
  await page.clock.fastForward(3_000);
  expect(await asked(page, FEED)).toHaveLength(2);
  await eventually(() => expect(after).toEqual(["now", "first"]));
  await close();
});

inBrowser("a decision about a claim that is gone is looked for once, and told to nobody", async () => {
  const { page, close, head } = await open(1);
  await findDecision(page, head, NO_CLAIM);
  await answer(page, NO_CLAIM);
  expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(NO_CLAIM);
  expect(await heldLines(page).count()).toBe(0);
  await close();
});

inBrowser(
  "nobody loses what they write to an address that is proven, and what is decided is shown",
  async () => {
    const { page, close, ids } = await open(1);
    await turn(page, "j", 0);
    const [id] = ids;
    const decided = Promise.withResolvers<Route>();
    const after = await feed(
      page,
      changes("first"),
      changes("second", { id, toStatus: "pending", item: {} }),
      (route) => Promise.resolve(decided.resolve(route)),
    );
    await notesOf(page).fill("Half a thought");
    await times(page, after, 3);
    expect(await asked(page, `${QUEUE}/`)).toEqual([]);
    await queue.door.review({ claimId: id, action: "approve", adminEmail: m.platformAdmin });
    const item = { reviewed_by: m.platformAdmin };
    await changes("third", { id, toStatus: "approved", item })(await decided.promise);
    await page.locator("#claim .outcome").getByText(`approved by ${m.platformAdmin}`).waitFor();
    await page.locator("#said").getByText(`approved by ${m.platformAdmin}`).waitFor({ state: "attached" });
    await close();
  },
);

inBrowser(
  "what others decide of a claim whose decision is held is told, and takes nothing away",
  async () => {
    const { page, close, ids } = await open(2);
    const told = Promise.withResolvers<Route>();
    const after = await feed(page, changes("first"), (route) => Promise.resolve(told.resolve(route)));
    await times(page, after, 2);
    await turn(page, "j", 0);
    await turn(page, "a", 1);
    await turn(page, "k", 0);
    const before = await askedPages(page);
    const item = { reviewed_by: m.support };
    await changes("second", { id: ids[0], toStatus: "approved", item })(await told.promise);
    await lineOf(page, 0).getByText(`approved by ${m.support}`).waitFor();
    expect(await askedPages(page)).toBe(before);
    expect(await heldLines(page).allTextContents()).toEqual([expect.stringMatching(/^Approving Ana-0 /)]);
    await close();
  },
);

inBrowser("a claim that was asked for anew and left in the meantime does not come back", async () => {
  const { page, close, ids } = await open(2);
  const told = Promise.withResolvers<Route>();
  const after = await feed(page, changes("first"), (route) => Promise.resolve(told.resolve(route)));
  await times(page, after, 2);
  await turn(page, "j", 0);
  await page.evaluate(HOLD_ANSWERS);
  const item = { reviewed_by: m.support };
  await changes("second", { id: ids[0], toStatus: "approved", item })(await told.promise);
  await answers(page, 1);
  await lineOf(page, 1).click();
  await answers(page, 2);
  await answer(page, ids[1]!);
  await titleOf(page, 1).waitFor();
  await answer(page, ids[0]!);
  expect(await page.locator("#claim-title").textContent()).toContain("Ana-1 ");
  await close();
});

inBrowser(
  "a claim that was asked for anew while another was on its way does not take its place",
  async () => {
    const { page, close, ids } = await open(2);
    const told = Promise.withResolvers<Route>();
    const after = await feed(page, changes("first"), (route) => Promise.resolve(told.resolve(route)));
    await times(page, after, 2);
    await turn(page, "j", 0);
    await page.evaluate(HOLD_ANSWERS);
    await lineOf(page, 1).click();
    await answers(page, 1);
    const item = { reviewed_by: m.support };
    await changes("second", { id: ids[0], toStatus: "approved", item })(await told.promise);
    await answers(page, 2);
    await answer(page, ids[1]!);
    await titleOf(page, 1).waitFor();
    await answer(page, ids[0]!);
    expect(await page.locator("#claim-title").textContent()).toContain("Ana-1 ");
    await close();
  },
);

inBrowser("whoever begins to write while a claim is asked for anew goes on writing", async () => {
  const { page, close, ids } = await open(1);
  const told = Promise.withResolvers<Route>();
  const after = await feed(page, changes("first"), (route) => Promise.resolve(told.resolve(route)));
  await times(page, after, 2);
  await turn(page, "j", 0);
  await page.evaluate(HOLD_ANSWERS);
  await changes("second", { id: ids[0], toStatus: "pending", item: {} })(await told.promise);
  await answers(page, 1);
  await press(page, "r", "j");
  await answer(page, ids[0]!);
  await press(page, "a", "r");
  expect([await notesOf(page).inputValue(), await heldLines(page).count()]).toEqual(["jar", 0]);
  await close();
});

inBrowser("what is decided anew while it is looked for is not lost", async () => {
  const { page, close, ids, head } = await open(2);
  await findDecision(page, head, ids[1]!);
  await page.getByRole("checkbox", { name: "Choose Ana-1 " }).check();
  await page.getByText("Decide several at once", { exact: true }).click();
  await page.getByRole("button", { name: "Approve all chosen" }).click();
  await answer(page, ids[1]!);
  expect(await heldLines(page).allTextContents()).toEqual([expect.stringMatching(/^Approving Ana-1 /)]);
  expect(await page.evaluate("JSON.stringify(localStorage)")).toContain(ids[1]);
  await close();
});

inBrowser("a decision that is made takes the focus from nobody", async () => {
  const { page, close } = await open(2);
  await turn(page, "j", 0);
  await turn(page, "a", 1);
  await press(page, "/");
  await waitOut(page);
  await page.locator("#held ul").getByText("is approved. They get an e-mail.").waitFor();
  expect(await page.evaluate("document.activeElement.id")).toBe("search");
  await close();
});
