// Links between the pages of a list.
import { html } from "hono/html";
import type { Content, Visit } from "../page.ts";

const LAST = 10_000;

/** The query parameter with the outcome of a form: shown once, and on no other page of the list. */
export const DONE = "done";

/** The number of the requested page; the first if the address has no valid one. */
export function pageOf({ query }: Visit, name = "page"): number {
  const asked = Number(query(name));
  return Number.isInteger(asked) && asked >= 1 && asked <= LAST ? asked : 1;
}

type Place = { page: number; pages: number };

/**
 * Links to the pages around this one; empty if there is only one.
 * @param label names the list
 * @param name of the page's query parameter
 */
export function pager(
  { address }: Visit,
  { page, pages }: Place,
  label: string,
  name = "page",
): Content | string {
  if (pages <= 1 && page === 1) return "";
  const last = Math.max(pages, 1);
  const to = (number: number, text: string, rel: string) => {
    const href = withQuery(address, {
      [name]: number === 1 ? undefined : String(number),
      [DONE]: undefined,
    });
    return html`<a rel="${rel}" href="${href}">${text}</a>`;
  };
  return html`<nav class="actions" aria-label="Pages of ${label}">
    ${page > 1 ? to(Math.min(page - 1, last), "Previous", "prev") : ""}
    <span class="quiet">Page ${page} of ${last}</span>
    ${page < pages ? to(page + 1, "Next", "next") : ""}
  </nav>`;
}

/** An address with a changed query: undefined removes a parameter, those not named stay. */
export function withQuery(address: string, changes: Record<string, string | undefined>): string {
  const [path = ""] = address.split("?", 1);
  const query = new URLSearchParams(address.slice(path.length));
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return query.size > 0 ? `${path}?${query.toString()}` : path;
}
