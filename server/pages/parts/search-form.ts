// A field to search by, which puts what is searched for into the address.
import { html } from "hono/html";
import type { Content, Visit } from "../page.ts";
import { atMost } from "./text.ts";

/** What is searched for, `?q=`, in at most as many characters; undefined where it is nothing. */
export function wordsOf({ query }: Pick<Visit, "query">, most: number): string | undefined {
  // No text in the database has a NUL.
  return atMost((query("q") ?? "").replaceAll("\0", "").trim(), most) || undefined;
}

type Field = { action: string; label: string; value?: string | undefined; hint?: string; most?: number };

/** @param most of the characters that can be typed */
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
