// Points in time, in UTC, so that they are the same for everybody.
import { html } from "hono/html";
import type { Content } from "../page.ts";

/** To the minute. */
export function time(at: string): Content {
  const text = new Date(at).toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** To the day, where the time of day does not matter. */
export function day(at: string): Content {
  return html`<time datetime="${new Date(at).toISOString()}">${dayOf(at)}</time>`;
}

/** The same as plain text, where an element is not possible. */
export function dayOf(at: string): string {
  return DAY.format(new Date(at));
}

const DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
