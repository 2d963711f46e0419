// From one page of a list to the next.
import { html } from "hono/html";
import type { Content, Visit } from "../page.ts";

const LAST = 10_000;

/** What the query says of a form that has just been sent: once, and on no other page of the list. */
export const DONE = "done";

/** Which page of a list is asked for; the first where the address does not say so in earnest. */
export function pageOf({ query }: Visit, name = "page"): number {
  const asked = Number(query(name));
  return Number.isInteger(asked) && asked >= 1 && asked <= LAST ? asked : 1;
}

type Place = { page: number; pages: number };

/**
 * Links to the pages around this one; nothing where there is but one.
 * @param name of the page in the query
 * @param label of which list
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

/** An address of this service with another query: what is undefined is left out, what is not named stays. */
export function withQuery(address: string, changes: Record<string, string | undefined>): string {
  const [path = ""] = address.split("?", 1);
  const query = new URLSearchParams(address.slice(path.length));
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return query.size > 0 ? `${path}?${query.toString()}` : path;
}
