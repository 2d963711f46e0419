// The review dashboard at /admin/claims: a page of its own that talks to the REST API with the reviewer's key.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { enums, organizationRoles } from "../../../db/catalog.ts";
import type { Door } from "../../door.ts";

const FILES = { "/admin/claims.css": "page.css", "/admin/claims.js": "page.js" };

// The page needs nothing but its own files and this service, and must not be shown inside another page.
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** The review dashboard; the page itself needs no key. */
export const claimsPage: Door = (app) => {
  const page = readFileSync(join(import.meta.dirname, "page.html"), "utf8")
    .replace(
      "<!-- statuses -->",
      enums.claim_review_status.map((status) => `<option>${status}</option>`).join("\n"),
    )
    .replace("<!-- roles -->", roleOptions());
  app.get("/admin/claims", (_request, response) => void response.set(HEADERS).type("html").send(page));
  for (const [path, file] of Object.entries(FILES)) {
    app.get(path, (_request, response) => {
      response.set(HEADERS).sendFile(join(import.meta.dirname, file));
    });
  }
};

/** The roles that a reviewer may give, the one that may do the least first. */
function roleOptions(): string {
  type Role = { description: string; permissions: readonly string[] };
  return Object.entries<Role>(organizationRoles)
    .toSorted(([, a], [, b]) => a.permissions.length - b.permissions.length)
    .map(([role, { description, permissions }]) => {
      const manages = permissions.includes("members:manage") ? ' data-manages=""' : "";
      return `<option value="${role}"${manages}>${role}: ${description}</option>`;
    })
    .join("\n");
}
