// The frame of every page.
import { html, raw } from "hono/html";
import { placesFor } from "./navigation.ts";
import { begin } from "./parts/text.ts";
import type { Visitor } from "./visitor.ts";

/** In characters. */
const LONGEST_IN_TAB = 120;

/** HTML, or a promise of it; strings that are inserted into it are escaped. */
export type Content = ReturnType<typeof html>;

/** What a page shows. */
export type Shown = {
  title: string;
  /** Which of many things it shows, for tabs and bookmarks. */
  subject?: string | undefined;
  content: Content;
  status?: number;
  /** Scripts in assets/ that make it more convenient; it must work without them. */
  scripts?: readonly string[];
  /** The import map of those scripts, where they import libraries by name. */
  imports?: string;
  /** For tables and drawings that need the width. */
  wide?: boolean;
};

/** A page as a whole. */
export function layout(
  { title, subject, content, scripts = [], imports, wide = false }: Shown,
  { address, visitor }: { address: string; visitor: Visitor | undefined },
): Content {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${inTab([...(subject === undefined ? [] : [subject]), title, "Engagement graph"])}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/assets/style.css" />
        ${imports === undefined ? "" : raw(`<script type="importmap">${imports}</script>`)}
        ${scripts.map((file) => html`<script type="module" src="/assets/${file}"></script>`)}
      </head>
      <body>
        ${header(address, visitor)}
        <main id="main" tabindex="-1" class="${wide ? "wide" : ""}">
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>`;
}

/** Direction controls, which older names may have: a title has no markup that would end their effect. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function inTab(parts: readonly string[]): string {
  return parts.map((part) => begin(part.replace(TURNING, ""), LONGEST_IN_TAB)).join(" · ");
}

/**
 * The header of every page.
 * @param address of the page: the navigation marks it as current, and the sign-in leads back to it
 */
export function header(address: string, visitor: Visitor | undefined): Content {
  const [path = ""] = address.split("?", 1);
  return html`<a class="skip" href="#main">Skip to the content</a>
    <header class="site" data-visitor="${visitor?.email ?? ""}">
      <a class="name" href="/">Engagement graph</a>
      <nav aria-label="Pages">
        <ul>
          ${placesFor(visitor).map((place) => html`<li>${link(place, isAt(path, place.path))}</li>`)}
        </ul>
      </nav>
      ${account(visitor, address)}
    </header>`;
}

function link({ path, label }: { path: string; label: string }, isHere: boolean): Content {
  return isHere
    ? html`<a href="${path}" aria-current="page">${label}</a>`
    : html`<a href="${path}">${label}</a>`;
}

function isAt(path: string, place: string): boolean {
  return path === place || (place !== "/" && path.startsWith(`${place}/`));
}

function account(visitor: Visitor | undefined, address: string): Content {
  if (visitor) {
    return html`<p class="account">
      Signed in as <b><bdi>${visitor.email}</bdi></b> <a href="/sign-out">Sign out</a>
    </p>`;
  }
  // Not back to the sign-in itself; and a mailed link is a secret, which must not go into another address.
  const leadsBack = !/^\/(sign-|confirm-address)/.test(address);
  const returnTo = leadsBack ? `?${new URLSearchParams({ returnTo: address }).toString()}` : "";
  return html`<p class="account"><a href="/sign-in${returnTo}">Sign in</a></p>`;
}
