// A picture of the overview: one GraphQL query, run as the visitor, a drawing of its result, and the query.
import { html } from "hono/html";
import type { AskGraphql } from "../../graphql/ask.ts";
import type { Content, Visit } from "../page.ts";
import { explorerLink } from "./links.ts";

/** The query of a picture, and how its result is drawn. */
type Drawing<Data> = {
  /** Unique within the page. */
  id: string;
  title: string;
  query: string;
  draw: (data: Data) => Content;
};

/** A picture for one visitor. */
export type Picture = (ask: AskGraphql, visit: Visit) => Promise<Content>;

/** @param drawing.draw gets complete results only: if a part was refused, the error is shown instead */
export function picture<Data>({ id, title, query, draw }: Drawing<Data>): Picture {
  const text = `${query.trim()}\n`;
  return async (ask, { exchange: { request, response } }) => {
    const { data, errors } = await ask<Data>(request, response, text);
    const [refusal] = errors ?? [];
    return html`<section class="card" id="${id}" aria-labelledby="${id}-title">
      <h2 id="${id}-title">${title}</h2>
      ${
        data && !refusal
          ? draw(data)
          : html`<p role="alert">This could not be read: ${refusal?.message ?? "there was no answer"}</p>`
      }
      <details>
        <summary>The query of these numbers</summary>
        <pre tabindex="0" role="group" aria-label="Query: ${title}"><code>${text}</code></pre>
        <p><a href="${explorerLink(text)}">Open it in GraphiQL</a></p>
      </details>
    </section>`;
  };
}
