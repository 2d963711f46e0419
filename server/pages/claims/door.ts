// The review dashboard at /admin/claims: a page that talks to the REST API with the reviewer's key.
import { join } from "node:path";
import type { Door } from "../../door.ts";

const FOLDER = import.meta.dirname;
const FILES = {
  "/admin/claims": "page.html",
  "/admin/claims.css": "page.css",
  "/admin/claims.js": "page.js",
};

// The page needs nothing but its own files and this service, and must not be shown inside another page.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The review dashboard; the page itself needs no key. */
export const claimsPage: Door = (app) => {
  for (const [path, file] of Object.entries(FILES)) {
    app.get(path, (_request, response) => {
      response.set({
        "content-security-policy": POLICY,
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
      });
      response.sendFile(join(FOLDER, file));
    });
  }
};
