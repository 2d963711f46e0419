// A headless Chromium that can reach nothing but the service under test.
import { existsSync } from "node:fs";
import { test } from "@jest/globals";
import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Page } from "playwright-core";

const EXECUTABLE = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path !== undefined && existsSync(path));

const missing = EXECUTABLE === undefined && process.env["REQUIRE_CHROMIUM"] !== "1";

/** A test in a browser; skipped if there is none, unless REQUIRE_CHROMIUM=1. */
export const inBrowser = missing ? test.skip : test;

/** Undefined if there is no browser and none is required. */
export async function launchBrowser(): Promise<Browser | undefined> {
  if (missing) {
    console.warn("Chromium is not here: the tests in a browser are skipped. CHROMIUM may name one.");
    return undefined;
  }
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/**
 * A page that is watched.
 * @param url of the service
 * @returns the page, and an object that collects errors and every request to another host
 */
export async function watchedPage(
  browser: Browser | BrowserContext,
  url: string,
): Promise<{ page: Page; trouble: string[] }> {
  const page = await browser.newPage();
  const trouble: string[] = [];
  page.on("console", (entry) => entry.type() === "error" && trouble.push(entry.text()));
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(`${url}/`) && !asked.startsWith("data:")) trouble.push(`asked ${asked}`);
  });
  return { page, trouble };
}
