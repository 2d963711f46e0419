// The page at /: what this service is, what is in it, and where its doors are.
import { html } from "hono/html";
import type { AskGraphql } from "../graphql/ask.ts";
import { accelerators } from "./overview/accelerators.ts";
import { countries } from "./overview/countries.ts";
import { funnel } from "./overview/funnel.ts";
import { months } from "./overview/months.ts";
import type { Content, Page } from "./page.ts";
import { searchForm } from "./parts/search-form.ts";
import { LONGEST } from "./search.ts";
import type { Visitor } from "./visitor.ts";

const PICTURES = [countries, funnel, months, accelerators];

/** @param ask queries as the visitor, who may read what everybody who is signed in may */
export function home(ask: AskGraphql): Page {
  return {
    path: "/",
    open: true,
    show: async (visit) => ({
      title: "Overview",
      content: html`<p>
          Mission organizations declare needs, others commit to meet them, and those who did the work attest
          it. This service keeps the three linked.
        </p>
        ${
          visit.visitor
            ? html`${searchForm({
                  ...{ action: "/search", label: "Search needs, commitments, attestations, organizations" },
                  most: LONGEST,
                })}
                <div class="pictures">
                  ${await Promise.all(PICTURES.map((picture) => picture(ask, visit)))}
                </div>`
            : html`<p><a href="/sign-in?returnTo=/">Sign in</a> to see what is in it.</p>`
        }
        ${pages(visit.visitor)} ${doors}`,
    }),
  };
}

/** @param visitor gets no links to pages that would refuse them */
function pages(visitor: Visitor | undefined): Content {
  const reviews = visitor === undefined || visitor.permissions.has("claims:review");
  return html`<section class="card" aria-labelledby="pages">
    <h2 id="pages">Pages</h2>
    <ul>
      <li><a href="/docs">API reference</a>: every route of REST, to read and to try</li>
      <li><a href="/graphiql">GraphiQL</a>: the GraphQL schema, to read and to ask</li>
      <li><a href="/sparql">SPARQL</a>: the whole graph, to ask, with examples</li>
      <li>
        <a href="/organizations">Organizations</a>: who they are, and what each has declared, promised and
        attested
      </li>
      <li>
        <a href="/search">Search</a>: needs, commitments and attestations by their words, each with its whole
        chain
      </li>
      ${
        reviews
          ? html`<li>
              <a href="/admin/claims">Claim review</a>: people who say that they belong to an organization
            </li>`
          : ""
      }
      <li><a href="/sign-in">Sign in</a>, <a href="/sign-out">sign out</a></li>
    </ul>
  </section>`;
}

const doors = html`<section class="card" aria-labelledby="doors">
  <h2 id="doors">Doors for programs</h2>
  <p>
    All of them take an API key, in the header <code>Authorization: Bearer &lt;key&gt;</code>. Whoever runs
    this service issues keys.
  </p>
  <dl>
    <dt>REST</dt>
    <dd><code>/v0/…</code>, described by <a href="/docs/openapi.json">its OpenAPI document</a></dd>
    <dt>GraphQL</dt>
    <dd><code>POST /graphql</code></dd>
    <dt>SPARQL</dt>
    <dd><code>GET</code> and <code>POST /v0/sparql</code>: queries of the whole graph</dd>
    <dt>MCP</dt>
    <dd><code>POST /v0/mcp</code>: church search for AI clients</dd>
  </dl>
  <p>Whether the service is up: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>.</p>
</section>`;
