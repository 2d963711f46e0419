// What somebody has written into a form that cannot be taken: it is given back, so that it need not be written again.
import type { Request } from "express";
import { html } from "hono/html";
import { longestText } from "../../db/catalog.ts";
import { isFromOwnPage } from "../identity/own-page.ts";
import { before } from "./organization/acts.ts";
import type { Content } from "./layout.ts";

/** The fields that people write into. What else a form has is of the page that it stands on, and secrets are among it. */
const WRITTEN = [
  ...["notes", "reason", "query", "email"],
  ...["name", "type", "website", "domain", "firstName", "lastName", "duty"],
];

/** In characters, of all that is given back: a note of the longest, and what a form has besides. */
const MOST = 3 * longestText.text;

/** What a form of ours has brought that somebody has written; nothing of what another site has made a browser send. */
export function written(request: Request): Content | string {
  if (!isFromOwnPage(request)) return "";
  const form = (request.body ?? {}) as Record<string, string | string[] | undefined>;
  const fields = (name: string) => [form[name] ?? []].flat();
  let left = MOST;
  const texts = WRITTEN.flatMap((name) =>
    fields(name).filter((text) => text !== fields(before(name))[0] && text.trim() !== ""),
  ).filter((text) => (left -= text.length) >= 0);
  if (texts.length === 0) return "";
  return html`<h2>What you wrote</h2>
    ${texts.map((text) => html`<p class="card text"><bdi>${text}</bdi></p>`)}`;
}
