// The data of an organization, and the form with which its administrators change them.
import { html } from "hono/html";
import { longestText } from "../../../db/catalog.ts";
import type { ApiError } from "../../errors.ts";
import type { Content, Visit } from "../page.ts";
import { ownAddress } from "../parts/attempt.ts";
import { before } from "./acts.ts";
import { inWords } from "./data.ts";
import type { Organization, Standing } from "./data.ts";

/** @param refusal why the form was refused; it then keeps what was typed */
export function about(
  visit: Visit,
  organization: Organization,
  standing: Standing,
  refusal?: ApiError,
): Content {
  const { orgUri, orgType, orgWebsite, orgDomain } = organization;
  const unknown = html`<span class="quiet">not known</span>`;
  return html`<section class="card" aria-labelledby="about">
    <h2 id="about">About</h2>
    <dl>
      <dt>Type</dt>
      <dd>${orgType === null ? unknown : html`<bdi>${orgType}</bdi>`}</dd>
      <dt>Website</dt>
      <dd>${orgWebsite === null ? unknown : website(orgWebsite)}</dd>
      <dt>E-mail domain</dt>
      <dd>${orgDomain === null ? unknown : html`<bdi>${orgDomain}</bdi>`}</dd>
      <dt>URI</dt>
      <dd><bdi>${orgUri}</bdi></dd>
      ${standing.role === null ? "" : own(standing)}
    </dl>
    ${standing.permissions.includes("organization:manage") ? form(visit, organization, refusal) : ""}
  </section>`;
}

function website(uri: string): Content {
  // Only http and https addresses become links.
  return /^https?:\/\//i.test(uri)
    ? html`<a href="${uri}" rel="noopener noreferrer nofollow"><bdi>${uri}</bdi></a>`
    : html`<bdi>${uri}</bdi>`;
}

function own({ role }: Standing): Content {
  const { title, description } = inWords(role!);
  return html`<dt>You</dt>
    <dd>${title}: ${description}</dd>`;
}

function form(visit: Visit, organization: Organization, refusal?: ApiError): Content {
  const { orgName, orgType, orgWebsite, orgDomain } = organization;
  const isAgain = refusal !== undefined && visit.field("do") === "edit";
  const input = (label: string, name: string, value: string | null, hint = "") => {
    const said = isAgain ? (visit.fields(before(name))[0] ?? "") : (value ?? "");
    return html`<label>
        ${label}
        <input
          name="${name}"
          value="${isAgain ? (visit.fields(name)[0] ?? "") : said}"
          maxlength="${name === "website" ? 2_048 : longestText.name}"
          autocomplete="off"
        />
        ${hint && html`<span class="hint">${hint}</span>`}
      </label>
      <input name="${before(name)}" type="hidden" value="${said}" />`;
  };
  return html`<details ${isAgain ? "open" : ""}>
    <summary>Change this</summary>
    <form method="post" action="${ownAddress(visit)}">
      ${visit.proof} ${input("Name", "name", orgName)} ${input("Type", "type", orgType)}
      ${input("Website", "website", orgWebsite)}
      ${input("E-mail domain", "domain", orgDomain, "Whoever proves an address there may be taken to belong to it.")}
      <button name="do" value="edit">Save</button>
    </form>
  </details>`;
}
