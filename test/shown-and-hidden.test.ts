// What the style sheet of the pages shows and hides, at a desk and on a phone: in a browser, with the elements that pages have.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { inBrowser, launchBrowser } from "./support/browser.ts";
import { ROOT } from "./support/process.ts";

let browser: Browser | undefined;
let page: Page;
let style: string;
beforeAll(async () => {
  browser = await launchBrowser();
  if (browser) page = await browser.newPage();
  style = await readFile(join(ROOT, "server/pages/assets/style.css"), "utf8");
});
afterAll(() => browser?.close());

async function show(markup: string, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.setContent(`<!doctype html><style>${style}</style><main>${markup}</main>`);
  // A browser may do it later, or not at all where something had it before.
  await page.evaluate("document.querySelector('[autofocus]')?.focus()");
}

/** The names of the elements that somebody sees: those that are there and have room. */
const SEEN = `Array.from(document.querySelectorAll("[data-as]"))
  .filter((each) => {
    const { width, height, right } = each.getBoundingClientRect();
    return width > 1 && height > 1 && right > 0;
  })
  .map((each) => each.getAttribute("data-as"))`;

const [DESK, PHONE] = [1_280, 390];
const REVIEW = (open: string) => `<div class="review ${open}">
  <form class="card filters" data-as="filters">Status</form>
  <div class="queue-and-claim">
    <section class="queue" data-as="list">Claims</section>
    <section class="card claim"><a class="back" data-as="back" href="#">Back to the list</a> A claim</section>
    <p class="empty" data-as="nothing open">Choose one</p>
  </div></div>`;
const CHAIN = `<div class="drawing">
  <svg class="chain wide" data-as="wide" width="500" height="80"></svg>
  <svg class="chain narrow" data-as="narrow" width="300" height="80"></svg></div>`;

describe("shown are", () => {
  inBrowser.each<[string, string, number, string[]]>([
    ["what is not hidden", '<form class="actions" data-as="it"><button>Undo</button></form>', DESK, ["it"]],
    [
      "no form that is hidden",
      '<form class="actions" hidden data-as="it"><button>Undo</button></form>',
      DESK,
      [],
    ],
    ["no row of a list that is hidden", '<ol class="lines"><li hidden data-as="it">Ana</li></ol>', DESK, []],
    [
      "no words that are for who listens",
      '<p>A <span class="hidden" data-as="it">claim</span></p>',
      DESK,
      [],
    ],
    ["a problem", '<p class="problem bad" data-as="it">A note is missing.</p>', DESK, ["it"]],
    [
      "no problem where there is none",
      '<div style="display: flow-root" data-as="room"><p class="problem bad" data-as="it"></p></div>',
      DESK,
      [],
    ],
    [
      "no hint where there is none",
      '<div style="display: flow-root" data-as="room"><p class="hint" data-as="it"></p></div>',
      DESK,
      [],
    ],
    [
      "no mark where there is none",
      '<ol class="lines"><li><a href="#"><span class="mark" data-as="it"></span></a></li></ol>',
      DESK,
      [],
    ],
    [
      "a mark",
      '<ol class="lines"><li><a href="#"><span class="mark" data-as="it">held</span></a></li></ol>',
      DESK,
      ["it"],
    ],
    [
      "the beginning of a long text",
      '<details class="cut"><summary><bdi data-as="it">Once</bdi> more</summary>all</details>',
      DESK,
      ["it"],
    ],
    [
      "no beginning beside all of it",
      '<details class="cut" open><summary><bdi data-as="it">Once</bdi> more</summary>all</details>',
      DESK,
      [],
    ],
    ["no link past the navigation", '<a class="skip" href="#main" data-as="it">Skip</a>', DESK, []],
    [
      "the link past the navigation once it is reached",
      '<a class="skip" href="#main" data-as="it" autofocus>Skip</a>',
      DESK,
      ["it"],
    ],
    ["at a desk the list beside the claim", REVIEW("open"), DESK, ["filters", "list", "nothing open"]],
    ["on a phone the claim that is open, and the way back", REVIEW("open"), PHONE, ["back"]],
    ["on a phone the list where no claim is open", REVIEW(""), PHONE, ["filters", "list"]],
    ["at 896 pixels one of the two", REVIEW("open"), 896, ["back"]],
    ["at 897 pixels both", REVIEW("open"), 897, ["filters", "list", "nothing open"]],
    ["at a desk the chain from left to right", CHAIN, DESK, ["wide"]],
    ["on a phone the chain from above", CHAIN, PHONE, ["narrow"]],
    ["at 768 pixels the chain from above", CHAIN, 768, ["narrow"]],
    ["at 769 pixels the chain from left to right", CHAIN, 769, ["wide"]],
  ])("%s", async (_, markup, width, shown) => {
    await show(markup, width);
    expect(await page.evaluate(SEEN)).toEqual(shown);
  });
});

describe("nobody has to move a page sideways", () => {
  const LONG = "x".repeat(300);
  inBrowser.each([
    [
      "a line of a list",
      `<ol class="lines"><li><a href="#"><span class="whose"><bdi>${LONG}</bdi></span></a></li></ol>`,
    ],
    ["a text", `<p class="text"><bdi>${LONG}</bdi></p>`],
    ["what is cut", `<details class="cut"><summary><bdi>${LONG}</bdi></summary></details>`],
    ["a record in words", `<ol class="chain"><li><div class="record"><p>${LONG}</p></div></li></ol>`],
    [
      "a chain that is drawn",
      `<div class="drawing"><svg class="chain narrow" width="2000" height="80"></svg></div>`,
    ],
  ])("for %s", async (_, markup) => {
    await show(markup, PHONE);
    const beyond = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
    expect(beyond).toBeLessThanOrEqual(0);
  });
});
