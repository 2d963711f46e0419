// Queries of the graph, at /sparql: run as the visitor, within the limits of /v0/sparql.
import { html } from "hono/html";
import type { Names } from "../../graph/namespaces.ts";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { isFromOwnPage } from "../identity/own-page.ts";
import { currentRequest } from "../request-context.ts";
import { DOWNLOADS } from "../sparql/downloads.ts";
import { failure } from "../sparql/endpoint.ts";
import type { SparqlEndpoint } from "../sparql/endpoint.ts";
import { tooLong } from "../sparql/request.ts";
import { IMPORTS } from "./modules.ts";
import type { Content, Page, Shown, Visit } from "./page.ts";
import { examplesFor, prefixesOf } from "./sparql/examples.ts";
import type { Example } from "./sparql/examples.ts";
import { readResult, typeFor } from "./sparql/result.ts";
import { queryLink, showRefusal, showResult } from "./sparql/show.ts";
import type { Visitor } from "./visitor.ts";

const PATH = "/sparql";
/** What every browser and proxy accepts; longer queries run, but have no address. */
const LONGEST_ADDRESS = 8_000;

type Answered = { status: number; content: Content };

/** @param endpoint the one of /v0/sparql */
export function sparqlPage(endpoint: SparqlEndpoint, names: Pick<Names, "namespaceUrl">): Page {
  const examples = examplesFor(names);
  const prefixes = prefixesOf(names);

  const answer = async (visit: Visit, visitor: Visitor, text: string): Promise<Answered> => {
    const { response } = visit.exchange;
    const gone = hungUp(response);
    try {
      if (Buffer.byteLength(text) > endpoint.maxBytes) throw tooLong(endpoint.maxBytes);
      const caller = visitor.identity.id;
      const query = await endpoint.guard(text, { caller, gone });
      const { form } = query;
      const body = await endpoint.run(query, { type: typeFor(form), caller, gone });
      const result = await readResult(form, body);
      return { status: 200, content: await showResult(result, prefixes, downloads(text, form)) };
    } catch (error) {
      const refusal = failure(error);
      if (!(refusal instanceof ApiError)) throw refusal;
      currentRequest()?.errors.add(refusal.code);
      response.set(refusal.headers);
      return { status: refusal.statusCode, content: showRefusal(refusal) };
    }
  };

  const page = (visit: Visit, text: string, answered?: Answered | Content): Shown => {
    const { status, content } =
      answered && "status" in answered ? answered : { status: 200, content: answered };
    return {
      title: "SPARQL",
      status,
      wide: true,
      scripts: ["sparql.js"],
      imports: IMPORTS,
      content: html`<p>
          Query the whole graph in
          <a href="https://www.w3.org/TR/sparql11-query/" rel="noreferrer">SPARQL 1.1</a>. Programs send the
          same queries to <code>/v0/sparql</code>.
        </p>
        <div class="beside">
          <div>${editor(visit, text)} ${content ?? ""}</div>
          ${list(examples)}
        </div>`,
    };
  };

  return {
    path: PATH,
    open: "always",
    show: async (visit) => {
      const text = visit.query("query");
      const { visitor } = visit;
      if (text === undefined || !visitor) return page(visit, text ?? examples[0]!.query);
      // A visitor who follows a link from another site has not seen yet which query it would run.
      if (!isFromOwnPage(visit.exchange.request)) return page(visit, text, fromElsewhere);
      return page(visit, text, await answer(visit, visitor, text));
    },
    act: async (visit) => {
      // Forms send line ends as CR LF.
      const text = (visit.field("query") ?? "").replaceAll("\r\n", "\n");
      const address = queryLink(text);
      if (address.length <= LONGEST_ADDRESS) return `${address}#result`;
      return page(visit, text, await answer(visit, visit.visitor!, text));
    },
  };
}

const fromElsewhere = html`<section class="card" id="result" aria-labelledby="result-title">
  <h2 id="result-title">Not run yet</h2>
  <p>This query came with a link from another site. Have a look at it, and then run it.</p>
</section>`;

function editor({ visitor, proof }: Visit, text: string): Content {
  const field = html`<label>
    Query
    <textarea name="query" rows="14" spellcheck="false" autocapitalize="none" ${visitor ? "" : "readonly"}>
${text}</textarea>
  </label>`;
  // HTML ignores the first line break after the tag.
  return visitor
    ? html`<form class="card" id="query" method="post" action="${PATH}">
        ${proof} ${field}
        <p class="actions"><button type="submit">Run</button> <span class="hint"></span></p>
      </form>`
    : html`<div class="card" id="query">
        ${field}
        <p>
          <a href="/sign-in?${new URLSearchParams({ returnTo: queryLink(text) }).toString()}">Sign in</a> to
          run it.
        </p>
      </div>`;
}

function list(examples: readonly Example[]): Content {
  return html`<nav class="card" aria-labelledby="examples">
    <h2 id="examples">Examples</h2>
    <ul>
      ${examples.map(({ title, query }) => html`<li><a href="${queryLink(query)}">${title}</a></li>`)}
    </ul>
  </nav>`;
}

function downloads(text: string, form: string): Content {
  const query = new URLSearchParams({ query: text }).toString();
  if (query.length > LONGEST_ADDRESS)
    return html`<p class="quiet">
      This query is too long for a link; get the full answer from <code>POST /v0/sparql</code>.
    </p>`;
  const links = DOWNLOADS.filter(({ of }) => (of as readonly string[]).includes(form)).map(
    ({ path, label }) => html`<a href="${path}?${query}">${label}</a> `,
  );
  return html`<p>Download: ${links}</p>`;
}
