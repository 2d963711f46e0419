// A search field, whose text goes into the address.
import { html } from "hono/html";
import type { Content, Visit } from "../page.ts";
import { atMost } from "./text.ts";

/** The search text, `?q=`, cut to so many characters; undefined if it is empty. */
export function wordsOf({ query }: Pick<Visit, "query">, most: number): string | undefined {
  // No text in the database can have a NUL.
  return atMost((query("q") ?? "").replaceAll("\0", "").trim(), most) || undefined;
}

type Field = { action: string; label: string; value?: string | undefined; hint?: string; most?: number };

/** @param most how many characters can be typed */
export function searchForm({ action, label, value = "", hint, most = 200 }: Field): Content {
  return html`<form class="search" method="get" action="${action}" role="search">
    <label>
      ${label}
      <input name="q" type="search" value="${value}" maxlength="${most}" autocomplete="off" />
    </label>
    <button>Search</button>
    ${hint === undefined ? "" : html`<p class="hint">${hint}</p>`}
  </form>`;
}
