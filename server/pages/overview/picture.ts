// A picture of the overview: one query of GraphQL, asked as the visitor, what is drawn of its answer, and its text.
import { html } from "hono/html";
import type { AskGraphql } from "../../graphql/ask.ts";
import type { Content, Visit } from "../page.ts";
import { explorerLink } from "./links.ts";

/** What a picture asks and shows. */
type Drawing<Data> = {
  /** Within the page. */
  id: string;
  title: string;
  query: string;
  draw: (data: Data) => Content;
};

/** A picture for one visitor. */
export type Picture = (ask: AskGraphql, visit: Visit) => Promise<Content>;

/** @param drawing.draw may rely on the whole answer: where a part of it was refused, that is said instead */
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
