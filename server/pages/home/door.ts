// The page at /: what this service is, and where its doors are.
import { join } from "node:path";
import type { Door } from "../../door.ts";

// Of this service's own files the page needs one, for its looks.
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** The overview; it needs no key. */
export const homePage: Door = (app) => {
  app.get("/", (_request, response) => {
    response.set(HEADERS).sendFile(join(import.meta.dirname, "page.html"));
  });
};
