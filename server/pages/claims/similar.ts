// Organizations that may be the claimed one under another URI, so that no duplicate is approved.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { addressOf } from "./filter.ts";
import type { Filter } from "./filter.ts";
import { linked, website } from "./organization.ts";
import type { Claim } from "./told.ts";

export function similar({ similar }: Claim, filter: Filter): Content | string {
  if (similar.length === 0) return "";
  return html`<h3 id="similar">Organizations like it</h3>
    <ul class="similar">
      ${similar.map(
        ({ uri, name, status, type, domain, website: site, members, alike, waiting }) =>
          html`<li>
            <b>${linked({ uri, name, status })}</b
            >${status === "active" ? "" : html` <span class="warn">${status}</span>`}, alike by
            <b class="warn">${alike.join(", ")}</b>
            <span class="quiet">
              ${type === null ? "" : html`<bdi>${type}</bdi> ·`}
              ${domain === null ? "no domain" : html`<bdi>${domain}</bdi>`} · members: ${members}
            </span>
            ${site === null ? "" : website(site)}
            ${
              waiting > 0
                ? html`<a href="${addressOf({ ...filter, q: "", status: "pending", org: uri })}"
                    >waiting claims: ${waiting}</a
                  >`
                : ""
            }
          </li>`,
      )}
    </ul>`;
}
