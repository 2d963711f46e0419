// The pages of signing in and out. Without scripts: a form does, and what is not there cannot be tricked.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Response } from "express";

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  // With no-referrer a browser would send `Origin: null` with the forms.
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
};
const PAGE = readFileSync(join(import.meta.dirname, "page.html"), "utf8");

/** HTML that is safe to show. */
type Html = string & { readonly isHtml: unique symbol };

/** Makes HTML of a template; what is put in is text, unless it is HTML itself. */
export function html(parts: TemplateStringsArray, ...values: readonly (Html | { text: string })[]): Html {
  const all = parts.flatMap((part, place) => {
    const value = values[place];
    if (value === undefined) return [part];
    return [part, typeof value === "string" ? value : escape(value.text)];
  });
  return all.join("") as Html;
}

/** One after the other. */
export function joined(parts: readonly Html[]): Html {
  return parts.join("\n") as Html;
}

/** Answers with a page. */
export function sendPage(response: Response, title: string, content: Html, status = 200): void {
  const page = PAGE.replaceAll("<!-- title -->", () => escape(title));
  response
    .status(status)
    .set(HEADERS)
    .type("html")
    .send(page.replace("<!-- content -->", () => content));
}

const ESCAPES: Record<string, string> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}
