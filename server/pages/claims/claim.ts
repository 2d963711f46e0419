// One claim beside the list: what to look at first, the decision, and all details.
import { html } from "hono/html";
import type { Content, Visit } from "../page.ts";
import { cut } from "../parts/text.ts";
import { time } from "../parts/time.ts";
import { decisionFields } from "./fields.ts";
import { addressOf } from "./filter.ts";
import type { Filter } from "./filter.ts";
import { organization } from "./organization.ts";
import { outcome, whose } from "./outcomes.ts";
import { similar } from "./similar.ts";
import type { Claim, Earlier, Queue } from "./told.ts";
import { personOf } from "./told.ts";

type Chosen = { filter: Filter; queue: Queue; claim: Claim };

export function claimBeside(visit: Visit, { filter, queue, claim }: Chosen): Content {
  const to = (id: string | null, rel: string, text: string) =>
    id === null ? "" : html`<a rel="${rel}" href="${addressOf(filter, { claim: id })}">${text}</a>`;
  return html`<section class="card claim" id="claim" aria-labelledby="claim-title">
    <nav class="actions" aria-label="Claims before and after">
      <a class="back" href="${addressOf(filter, { more: { from: claim.id } })}">Back to the list</a>
      ${to(queue.preceding, "prev", "Previous claim")} ${to(queue.following, "next", "Next claim")}
    </nav>
    <h2 id="claim-title" tabindex="-1">${whose(claim)}</h2>
    ${glance(claim)} ${decision(visit, claim, filter)} ${person(claim, filter)} ${organization(claim)}
    ${similar(claim, filter)} ${others(claim, filter)} ${steps(claim)}
  </section>`;
}

/** The points that most decisions depend on, in a few lines. */
function glance({ isProven, isNewOrg, similar, othersTotal, ...claim }: Claim): Content {
  const says = (isGood: boolean, text: Content | string) =>
    html`<li class="${isGood ? "good" : "warn"}">${isGood ? "✓" : "!"} ${text}</li>`;
  return html`<ul class="glance">
    ${
      isProven
        ? says(true, "They have proven that the address is theirs.")
        : says(false, "An application says that the address is theirs.")
    }
    ${says(isProven && claim.domainMatch, domainHint(claim))}
    ${isNewOrg ? says(false, "The organization is new: does it exist, under this name, and only once?") : ""}
    ${
      similar.length > 0
        ? says(
            false,
            html`<a href="#similar"
              >${similar.length === 1 ? "One organization looks like it." : `${similar.length} organizations look like it.`}</a
            >`,
          )
        : ""
    }
    ${othersTotal > 0 ? html`<li><a href="#others">Other claims to it: ${othersTotal}.</a></li>` : ""}
  </ul>`;
}

function domainHint({
  isAtDomain,
  isDomainStated,
  isFreeMail,
  orgDomain,
}: Pick<Claim, "isAtDomain" | "isDomainStated" | "isFreeMail" | "orgDomain">): string {
  const anybody = isFreeMail ? " Anybody can get an address like theirs." : "";
  if (orgDomain === null)
    return `The organization has ${isDomainStated ? "named" : "registered"} no domain to compare the address with.${anybody}`;
  const whether = isAtDomain ? "The address is at" : "The address is not at";
  const which = isDomainStated
    ? "the domain that they say is the organization's"
    : "the organization's registered domain";
  return `${whether} ${which}.${anybody}`;
}

function decision(visit: Visit, claim: Claim, filter: Filter): Content {
  const { id, roles, reasons, isOwn, isOpen, status, notes, role } = claim;
  if (roles.length === 0) {
    return html`<div class="outcome">
      <p>
        ${isOpen && isOwn ? "This is your own claim: somebody else decides about it." : html`This claim ${outcome(claim)}`}
        ${status === "approved" && role !== null ? html`As <b>${role}</b>.` : ""}
      </p>
      ${notes === null ? "" : html`<blockquote>${cut(notes)}</blockquote>`}
    </div>`;
  }
  return html`<form class="decision" id="decision" method="post" action="${addressOf(filter, { claim: id })}">
    ${visit.proof}
    <input name="claim" type="hidden" value="${id}" />
    ${decisionFields({ roles, reasons, of: id })}
  </form>`;
}

function person(
  { email, name, isProven, statedRoles, createdAt, sentTo, earlier }: Claim,
  filter: Filter,
): Content {
  return html`<h3>Person</h3>
    <dl>
      <dt>Name</dt>
      <dd>${name === null ? "not given" : html`<bdi>${name}</bdi>`}</dd>
      <dt>E-mail</dt>
      <dd><bdi>${email}</bdi>, ${isProven ? "proven" : "stated by an application"}</dd>
      <dt>Role, as they put it</dt>
      <dd>${statedRoles.length === 0 ? "not given" : cut(statedRoles.join(", "))}</dd>
      <dt>Claimed</dt>
      <dd>${time(createdAt)}</dd>
      <dt>Sent to</dt>
      <dd>${sentTo === "organization" ? "the organization's administrators" : "the platform"}</dd>
      <dt>Other claims</dt>
      <dd>${earlier.length === 0 ? "none" : claimsBeside(earlier, filter, ({ orgName }) => orgName)}</dd>
    </dl>`;
}

function others({ others, othersTotal, organization: { uri } }: Claim, filter: Filter): Content | string {
  if (othersTotal === 0) return "";
  return html`<h3 id="others">Other claims to this organization</h3>
    ${claimsBeside(others, filter, personOf)}
    ${
      othersTotal > others.length
        ? html`<p>
            <a href="${addressOf({ ...filter, status: "all", q: "", org: uri })}"
              >All ${othersTotal + 1} claims to it</a
            >
          </p>`
        : ""
    }`;
}

function claimsBeside(
  claims: readonly Earlier[],
  filter: Filter,
  named: (claim: Earlier) => string,
): Content {
  return html`<ul class="claims-beside">
    ${claims.map(
      (claim) =>
        html`<li>
          <a href="${addressOf(filter, { claim: claim.id })}"><bdi>${named(claim)}</bdi></a>
          ${outcome(claim)}
          ${claim.notes === null ? "" : html`<blockquote>${cut(claim.notes, 120)}</blockquote>`}
        </li>`,
    )}
  </ul>`;
}

function steps({ steps }: Claim): Content {
  return html`<h3>Steps</h3>
    <ol class="steps">
      ${steps.map(
        ({ to, by, at }) =>
          html`<li>${to}, ${by === null ? "the service" : html`<bdi>${by}</bdi>`}, ${time(at)}</li>`,
      )}
    </ol>`;
}
