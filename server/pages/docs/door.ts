// The API reference at /docs: Swagger UI, served only from here. The document is not secret, so the page can show it
// before a key is entered; the requests it tries need the key.
import { join } from "node:path";
import type { RequestHandler } from "express";
import swaggerUi from "swagger-ui-express";
import type { Door } from "../../door.ts";

const FOLDER = import.meta.dirname;
const FILES = { "/docs": "page.html", "/docs/page.css": "page.css", "/docs/page.js": "page.js" };

// Swagger UI draws with images in its own style sheet, and speaks only to this service.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const headers: RequestHandler = (_request, response, next) => {
  response.set({
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
  });
  next();
};

/**
 * Puts the API reference on an application; neither the page nor the document needs a key.
 * @param document the text of the OpenAPI document
 */
export function docsPage(document: string): Door {
  return (app) => {
    app.use("/docs", headers);
    for (const [path, file] of Object.entries(FILES)) {
      app.get(path, (_request, response) => response.sendFile(join(FOLDER, file)));
    }
    app.get("/docs/openapi.json", (_request, response) => {
      response.type("application/json").send(document);
    });
    app.use("/docs/files", ...swaggerUi.serveWithOptions({ index: false }));
  };
}
