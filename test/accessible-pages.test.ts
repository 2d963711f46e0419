// Every page, on a phone and on a desk, in the light and in the dark: axe-core finds nothing, and nothing sticks out.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect } from "@jest/globals";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { demoId } from "../db/demo/records.ts";
import { inBrowser, launchBrowser } from "./support/browser.ts";
import { startDemoService } from "./support/demo.ts";
import { canExecute } from "./support/desk.ts";
import { Visitor } from "./support/visitor.ts";

let service: Awaited<ReturnType<typeof startDemoService>>;
let browser: Browser | undefined;
let axe: string;
/** The cookies of who runs the platform, and of who manages an organization, by name. */
let operator: Map<string, string>;
let manager: Map<string, string>;
beforeAll(async () => {
  service = await startDemoService();
  browser = await launchBrowser();
  axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  operator = (await new Visitor(service).signIn("admin@platform.example")).cookies;
  manager = (await new Visitor(service).signIn("admin@northern-light.example")).cookies;
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

const NORTHERN_LIGHT = `/organizations/${encodeURIComponent("https://data.example.org/org/northern-light")}`;
const openAll = (page: Page) =>
  page.locator("details").evaluateAll((all) => {
    for (const details of all as unknown as { open: boolean }[]) details.open = true;
  });

const CLAIM = `/admin/claims/${demoId("organization claim", 0)}`;

/** Decides as far as one can without its being decided, since others are to see it too: its ten seconds do not pass. */
async function decide(page: Page): Promise<void> {
  await page.addInitScript(
    `addEventListener("pagehide", (event) => event.stopImmediatePropagation(), { capture: true });
     const real = window.setTimeout;
     window.setTimeout = (callback, ms, ...more) => (ms === 10_000 ? 0 : real(callback, ms, ...more));`,
  );
  await page.route("**/v0/admin/claims/review", (route) => route.abort());
  await page.reload();
  await page.locator("#keys:not([hidden])").waitFor();
  await page.getByText("Keys", { exact: true }).click();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  // The next claim takes its place, at once or later.
  await page.waitForURL(({ pathname }) => pathname !== CLAIM);
}

type Visit = [
  name: string,
  path: string,
  isSignedIn: boolean | "manager",
  ready: (page: Page) => Promise<unknown>,
];
const VISITS: Visit[] = [
  ["the overview", "/", false, (page) => page.getByRole("heading").first().waitFor()],
  ["what is in it", "/", true, (page) => page.locator("svg").first().waitFor()],
  ["signing in", "/sign-in", false, (page) => page.getByRole("button").first().waitFor()],
  ["signing out", "/sign-out", true, (page) => page.getByRole("button").first().waitFor()],
  ["claims to review", "/admin/claims", true, (page) => page.locator("#keys:not([hidden])").waitFor()],
  ["a claim beside the others", CLAIM, true, (page) => page.locator("#decision").waitFor()],
  ["a decision that can be undone", CLAIM, true, decide],
  ["a search", "/search?q=audio", true, (page) => page.getByRole("searchbox").waitFor()],
  ["people", "/admin/users", true, openAll],
  ["organizations", "/organizations", true, (page) => page.getByRole("searchbox").waitFor()],
  ["an organization", NORTHERN_LIGHT, true, (page) => page.locator("#about").waitFor()],
  ["an organization, to who manages it", NORTHERN_LIGHT, "manager", openAll],
  [
    "a chain",
    "/commitments/00000000-0000-4000-8002-000000000001",
    true,
    (page) => page.locator(".drawing").first().waitFor(),
  ],
  ["the API reference", "/docs", false, (page) => page.locator("#listNeeds").waitFor({ state: "attached" })],
  [
    "all that it can unfold",
    "/docs",
    true,
    (page) => page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))"),
  ],
  [
    "the explorer, signed out",
    "/graphiql",
    false,
    (page) => page.locator(".view-line .mtk8").first().waitFor(),
  ],
  [
    "the explorer with an answer, and what it tells of the schema",
    "/graphiql",
    true,
    async (page) => {
      await page.getByRole("button", { name: /Documentation Explorer/ }).click();
      await page.getByRole("link", { name: "Query", exact: true }).waitFor();
      await canExecute(page);
      await page.getByRole("button", { name: /Execute/ }).click();
      await page.locator(".result-window").getByText("totalCount").waitFor();
    },
  ],
  ["queries, signed out", "/sparql", false, (page) => page.locator(".cm-content").waitFor()],
  ["rows", sparql("SELECT * { ?a ?b ?c }"), true, (page) => page.locator(".cm-content").waitFor()],
  ["triples", sparql("DESCRIBE ?a { ?a ?b ?c } LIMIT 9"), true, (page) => page.locator("pre").waitFor()],
  ["a refused query", sparql("SELECT *\n{ ?a"), true, (page) => page.locator(".cm-wrong").waitFor()],
  ["the graph's state", "/admin/graph", true, (page) => page.getByRole("table").first().waitFor()],
];

/**
 * What stays, as it is made by a library: GraphiQL, whose tabs are list items with the role of a tab and buttons in them,
 * as they can be closed. No style sheet can change that.
 */
const EXCEPTIONS = [
  /^nested-interactive: <li aria-selected="true" role="tab" class="graphiql-tab graphiql-tab-active"/,
];

function sparql(query: string): string {
  return `/sparql?${new URLSearchParams({ query }).toString()}`;
}

/** A phone's width and a desk's, in pixels, each in the light and in the dark. */
const LOOKS = [390, 1280].flatMap((width) =>
  (["light", "dark"] as const).map((scheme) => [scheme, width] as const),
);

describe.each(VISITS)("%s", (_, path, isSignedIn, ready) => {
  // The pages leave their colours to the style sheet. The explorer asks for them once, and what can be undone cannot for long.
  const stays = path !== "/graphiql" && ready !== decide;
  let page: Page | undefined;
  afterAll(() => page?.context().close());

  async function open(colorScheme: "light" | "dark", width: number): Promise<Page> {
    const context = await browser!.newContext({ viewport: { width, height: 800 }, colorScheme });
    if (isSignedIn) {
      const cookies = [...(isSignedIn === "manager" ? manager : operator)];
      await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: service.url })));
    }
    const opened = await context.newPage();
    await opened.goto(`${service.url}${path}`);
    await ready(opened);
    await opened.evaluate(`${axe};0`);
    return opened;
  }

  inBrowser.each(LOOKS)("in the %s, %i pixels wide", async (colorScheme, width) => {
    if (!stays) await page?.context().close();
    page = page && stays ? page : await open(colorScheme, width);
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    expect(await page.evaluate(`matchMedia("(prefers-color-scheme: ${colorScheme})").matches`)).toBe(true);
    // Only what is wrong is handed over: what is right is most of a page, and takes many times as long as finding it.
    const violations = await page.evaluate<AxeResults["violations"]>(
      "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
    );
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`),
    );
    expect(
      found.filter((each) => path !== "/graphiql" || !EXCEPTIONS.some((known) => known.test(each))),
    ).toEqual([]);
    const isWider = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
    expect(isWider).toBe(false);
  });
});
