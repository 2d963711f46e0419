// The explorer at /graphiql: Ruru, served entirely from here, with the header of the other pages and a field
// for the API key.
import { randomBytes } from "node:crypto";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import express from "express";
import type { RequestHandler } from "express";
import { html, raw } from "hono/html";
import type { RuruClientConfig } from "postgraphile/grafserv/ruru/server";
import { SESSION_HEADER } from "../headers.ts";
import { header } from "../pages/layout.ts";
import type { Content } from "../pages/layout.ts";
import { visitorOf } from "../pages/visitor.ts";
import type { Visitor } from "../pages/visitor.ts";

export const EXPLORER_PATH = "/graphiql";
export const EXPLORER_FILES = "/graphiql/files/";

const SCRIPT = `
  // What a link asks for; the explorer itself reads no address.
  RURU_CONFIG.initialQuery = new URLSearchParams(location.search).get("query") ?? undefined;
  const frame = document.getElementById("frame").shadowRoot;
  const field = frame.getElementById("api-key");
  // As the API reference does.
  const KEY = "api-key " + frame.querySelector("header.site").dataset.visitor;
  field.value = sessionStorage.getItem(KEY) ?? "";
  field.form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("change", () => {
    sessionStorage.setItem(KEY, field.value.trim());
    // The schema could not be read without the key; a reload would lose the tabs.
    document.querySelector('button[aria-label^="Re-fetch"]')?.click();
  });
  const send = globalThis.fetch;
  globalThis.fetch = (resource, options = {}) => {
    const key = sessionStorage.getItem(KEY);
    const url = new URL(resource.url ?? resource, location.href);
    if (url.origin !== location.origin || url.pathname !== "/graphql") return send(resource, options);
    const headers = new Headers(options.headers);
    // Without a key whoever is signed in asks, and this says that they meant it.
    if (!key) headers.set("${SESSION_HEADER}", "1");
    else if (!headers.has("authorization")) headers.set("authorization", "Bearer " + key);
    return send(resource, { ...options, headers });
  };
`;

/** The header of all pages. A shadow root keeps our style sheet and the explorer's apart. */
function frame(address: string, visitor: Visitor | undefined): Content {
  return html`<div id="frame">
    <template shadowrootmode="open">
      <link rel="stylesheet" href="/assets/style.css" />
      ${header(address, visitor)}
      <form class="caller" aria-label="Who is asking">
        <label for="api-key">
          API key
          ${raw('<input id="api-key" type="password" autocomplete="off" placeholder="ek_…" spellcheck="false">')}
        </label>
        <p class="quiet">
          ${visitor ? "Stays in this tab; without one you ask in your own name." : "Stays in this tab; or sign in."}
        </p>
      </form>
    </template>
  </div>`;
}

// The explorer's own colours have too little contrast in places, and its two columns do not fit on a phone.
const STYLE = `
  body { display: flex; flex-direction: column; height: 100vh; color-scheme: light dark; }
  body.graphiql-light { color-scheme: light; }
  body.graphiql-dark { color-scheme: dark; }
  #frame { color-scheme: inherit; }
  main { flex: 1; min-height: 0; }
  main h1 { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
  #ruru-root { height: 100%; }
  .graphiql-doc-explorer-type-name { text-decoration: underline !important; }
  .graphiql-doc-explorer-root-type { color: light-dark(#005fb3, #70bdff) !important; }
  .graphiql-doc-explorer-type-name { color: light-dark(#8a5200, #ffcc99) !important; }
  .graphiql-logo a { color: light-dark(#a8006f, #ff9cc2) !important; }
  .line-numbers { color: light-dark(#55606f, #a6b0bf) !important; }
  .mtk8 { color: light-dark(#06693f, #8fc07a) !important; }
  @media (max-width: 48rem) {
    body { height: auto; }
    main { flex: none; height: 100vh; }
    .graphiql-main, #graphiql-session { flex-direction: column !important; }
    .graphiql-horizontal-drag-bar { display: none !important; }
  }
`;

const FIRST_QUERY = `# Needs, the commitments that answer them, and the engagement that fulfilled those.
{
  needs(first: 10, filter: { status: { equalTo: open } }) {
    totalCount
    nodes {
      needDescription
      organization { name }
      commitments {
        nodes {
          commitmentDescription
          status
          engagementClaims { nodes { description status } }
        }
      }
    }
  }
}
`;

/** Allows the page its own scripts and nothing from another host. */
export const explorerHeaders: RequestHandler = (_request, response, next) => {
  const nonce = randomBytes(16).toString("base64");
  response.locals["nonce"] = nonce;
  response.set({
    "content-security-policy": [
      "default-src 'none'",
      `script-src 'self' 'nonce-${nonce}'`,
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "font-src 'self' data:",
      "connect-src 'self'",
      "worker-src 'self' blob:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
  });
  next();
};

/** Comes with PostGraphile. */
const LIBRARY = "ruru";
const asInstalled = express.static(join(dirname(findPackageJSON(LIBRARY, import.meta.filename)!), "static"), {
  acceptRanges: false,
  index: false,
  redirect: false,
});

/**
 * Serves the explorer's files from the disk, in chunks, to clients that do not accept brotli. The library has
 * them compressed: it would decompress a file for every such request, and keep ten megabytes for a client
 * that does not read.
 */
export const explorerFiles: RequestHandler = (request, response, next) => {
  response.vary("Accept-Encoding");
  if (request.acceptsEncodings("br") === false) {
    asInstalled(request, response, next);
    return;
  }
  request.headers["accept-encoding"] = "br";
  next();
};

/** Renders the header for the visitor; comes after the guard that finds out who it is. */
export const explorerFrame: RequestHandler = async (request, response, next) => {
  response.locals["frame"] = String(await frame(request.originalUrl, visitorOf(response)));
  response.set("cache-control", "no-store");
  next();
};

export const ExplorerPlugin: GraphileConfig.Plugin = {
  name: "ExplorerPlugin",
  grafserv: {
    middleware: {
      ruruHTML(next, event) {
        const parts = event.htmlParts;
        parts.titleTag = "<title>GraphQL explorer</title>";
        parts.metaTags += '<meta name="viewport" content="width=device-width, initial-scale=1">';
        parts.styleTags += `<link rel="icon" href="data:,"><style>${STYLE}</style>`;
        const { frame, nonce } = event.request.requestContext.expressv4!.res.locals as Record<string, string>;
        parts.bodyContent = `${frame}<main id="main" tabindex="-1"><h1>GraphQL explorer</h1>${parts.bodyContent}</main>`;
        parts.bodyScripts += `<script type="module">${SCRIPT}</script>`;
        for (const part of ["configScript", "headerScripts", "bodyScripts", "bodyInitScript"] as const) {
          parts[part] = parts[part].replaceAll("<script", `<script nonce="${nonce}"`);
        }
        return next();
      },
    },
  },
};

/** What the explorer shows when it is first opened. */
export const explorerConfig: GraphileConfig.Preset["ruru"] = {
  clientConfig: { defaultQuery: FIRST_QUERY } as RuruClientConfig,
};
