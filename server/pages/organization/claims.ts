// The claims to an organization, for their reviewers; each is decided in the review queue.
import { html } from "hono/html";
import type { Content, Visit } from "../page.ts";
import { format } from "../overview/numbers.ts";
import { pageOf, pager } from "../parts/pager.ts";
import { word } from "../parts/text.ts";
import { day } from "../parts/time.ts";
import { PAGE } from "./data.ts";
import type { Claim, Some } from "./data.ts";

export function claims(visit: Visit, { items, total }: Some<Claim>): Content {
  return html`<section class="card" aria-labelledby="claims">
    <h2 id="claims">Claims to it: ${format(total)}</h2>
    ${
      items.length === 0
        ? html`<p>None here.</p>`
        : html`<ul class="rows">
            ${items.map(
              ({ id, email, status, at }) =>
                html`<li>
                  <a href="/admin/claims/${id}"><bdi>${email}</bdi></a>
                  <span class="quiet">${word(status)}, ${day(at)}</span>
                </li>`,
            )}
          </ul>`
    }
    ${pager(visit, { page: pageOf(visit, "claims"), pages: Math.ceil(total / PAGE) }, "the claims", "claims")}
  </section>`;
}
