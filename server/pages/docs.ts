// The API reference at /docs, made from the OpenAPI document. The document is not secret, so the page shows
// it to everybody; the requests that it sends need a key or a visitor who is signed in.
import { html, raw } from "hono/html";
import type { Door } from "../door.ts";
import type { OpenApi } from "./docs/document.ts";
import { showOperation } from "./docs/operation.ts";
import { fieldsOf, typeOf } from "./docs/schema.ts";
import type { Content, Page } from "./page.ts";
import { phrase } from "./parts/text.ts";
import type { Visitor } from "./visitor.ts";

/** @param document the text of the OpenAPI document */
export function docs(document: string): Page {
  let shown: Promise<string> | undefined;
  return {
    path: "/docs",
    open: "always",
    show: async ({ visitor }) => {
      // The same for everybody, so it is made once.
      shown ??= Promise.resolve(reference(JSON.parse(document) as OpenApi)).then(String);
      return {
        title: "API reference",
        scripts: ["docs.js"],
        content: html`${caller(visitor)} ${raw(await shown)}`,
      };
    },
  };
}

/** The document itself; it needs no key. */
export function openApiDoor(document: string): Door {
  // One buffer for all readers, however many and however slow.
  const bytes = Buffer.from(document);
  return (app) => {
    app.get("/docs/openapi.json", (_request, response) => {
      response.type("application/json").set("cache-control", "no-cache").send(bytes);
    });
  };
}

function caller(visitor: Visitor | undefined): Content {
  return html`<form class="card" id="key" aria-labelledby="key-title">
    <h2 id="key-title">Who is asking?</h2>
    <p>
      ${
        visitor
          ? html`Requests are sent in your name, <b><bdi>${visitor.email}</bdi></b
              >, unless there is an API key here.`
          : html`Requests need an API key, or that you <a href="/sign-in?returnTo=/docs">sign in</a>.`
      }
      The key stays in this tab, for GraphiQL too.
    </p>
    <label>
      API key
      <input type="password" name="key" autocomplete="off" spellcheck="false" placeholder="ek_…" />
    </label>
    <noscript><p>Without JavaScript you can read this page, but not send requests from it.</p></noscript>
  </form>`;
}

function reference({ info, tags, paths, components }: OpenApi): Content {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return html`${info.description.split("\n\n").map((paragraph) => html`<p>${phrase(paragraph)}</p>`)}
    <p>For programs: <a href="/docs/openapi.json">the OpenAPI document</a>, from which this page is made.</p>
    <nav aria-label="Groups">
      <ul class="groups">
        ${tags.map(({ name }) => html`<li><a href="#${idOf(name)}">${name}</a></li>`)}
        <li><a href="#objects">Objects</a></li>
      </ul>
    </nav>
    ${tags.map(
      ({ name, description }) =>
        html`<section aria-labelledby="${idOf(name)}">
          <h2 id="${idOf(name)}">${name}</h2>
          <p>${phrase(description)}</p>
          ${operations
            .filter(({ operation }) => operation.tags.includes(name))
            .map(({ operation, ...place }) => showOperation(place, operation))}
        </section>`,
    )}
    <section aria-labelledby="objects">
      <h2 id="objects">Objects</h2>
      ${Object.entries(components.schemas).map(
        ([name, schema]) =>
          html`<details class="card">
            <summary><h3>${name}</h3></summary>
            <div id="schema-${name}">${typeOf(schema)} ${fieldsOf(schema)}</div>
          </details>`,
      )}
    </section>`;
}

const idOf = (tag: string) => tag.toLowerCase().replaceAll(" ", "-");
