// Gives back what a visitor wrote into a form that was refused, so that they need not write it again.
import type { Request } from "express";
import { html } from "hono/html";
import { longestText } from "../../db/catalog.ts";
import { isFromOwnPage } from "../identity/own-page.ts";
import { before } from "./organization/acts.ts";
import type { Content } from "./layout.ts";

/** The fields that people write into. All others come from the page itself, and some are secrets. */
const WRITTEN = [
  ...["notes", "reason", "query", "email"],
  ...["name", "type", "website", "domain", "firstName", "lastName", "duty"],
];

/** In characters, of everything given back: the longest note, and the other fields of a form. */
const MOST = 3 * longestText.text;

/** What a visitor wrote into a form of ours; nothing of what another site made a browser send. */
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
