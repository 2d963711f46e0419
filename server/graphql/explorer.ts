// The explorer at /graphiql: Ruru, served entirely from here, with a field for the API key.
import { randomBytes } from "node:crypto";
import type { RequestHandler } from "express";
import type { RuruClientConfig } from "postgraphile/grafserv/ruru/server";

export const EXPLORER_PATH = "/graphiql";
export const EXPLORER_FILES = "/graphiql/files/";

const KEY_SCRIPT = `
  const field = document.getElementById("api-key");
  field.value = sessionStorage.getItem("api-key") ?? "";
  field.addEventListener("change", () => {
    sessionStorage.setItem("api-key", field.value.trim());
    // The schema could not be read without the key; a reload would lose the tabs.
    document.querySelector('button[aria-label^="Re-fetch"]')?.click();
  });
  const send = globalThis.fetch;
  globalThis.fetch = (resource, options = {}) => {
    const key = sessionStorage.getItem("api-key");
    const url = new URL(resource.url ?? resource, location.href);
    if (!key || url.origin !== location.origin || url.pathname !== "/graphql") return send(resource, options);
    const headers = new Headers(options.headers);
    if (!headers.has("authorization")) headers.set("authorization", "Bearer " + key);
    return send(resource, { ...options, headers });
  };
`;

const KEY_FIELD = `
  <div id="key-bar">
    <label for="api-key">API key</label>
    <input id="api-key" type="password" autocomplete="off" placeholder="ek_…" spellcheck="false" size="48">
    <span>stays in this tab and is sent as Authorization: Bearer</span>
  </div>
`;

const KEY_STYLE = `
  body { display: flex; flex-direction: column; height: 100vh; }
  #key-bar { display: flex; gap: .6rem; align-items: center; padding: .4rem .8rem; font: 14px sans-serif;
    background: #1f2430; color: #eee; }
  #key-bar input { font: 13px monospace; padding: .2rem .4rem; }
  #key-bar span { opacity: .7; }
  #ruru-root { flex: 1; min-height: 0; height: auto !important; }
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
    "referrer-policy": "no-referrer",
  });
  next();
};

export const ExplorerPlugin: GraphileConfig.Plugin = {
  name: "ExplorerPlugin",
  grafserv: {
    middleware: {
      ruruHTML(next, event) {
        const parts = event.htmlParts;
        parts.titleTag = "<title>GraphQL explorer</title>";
        parts.styleTags += `<style>${KEY_STYLE}</style>`;
        parts.bodyContent = KEY_FIELD + parts.bodyContent;
        parts.bodyScripts += `<script type="module">${KEY_SCRIPT}</script>`;
        const nonce = String(event.request.requestContext.expressv4?.res.locals["nonce"]);
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
