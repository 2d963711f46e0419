// How people join and leave an organization: claim, withdraw, leave; and the appointment of an administrator.
import { html } from "hono/html";
import { longestText } from "../../../db/catalog.ts";
import type { ApiError } from "../../errors.ts";
import type { Content, Visit } from "../page.ts";
import { ownAddress } from "../parts/attempt.ts";
import { time } from "../parts/time.ts";
import type { Standing } from "./data.ts";

/** The visitor's relation to the organization, and how they can change it. */
export function belonging(visit: Visit, standing: Standing, refusal?: ApiError): Content {
  return html`<section class="card" aria-labelledby="you">
    <h2 id="you">You and this organization</h2>
    ${current(visit, standing, refusal)}
  </section>`;
}

function current(visit: Visit, standing: Standing, refusal?: ApiError): Content {
  const { role, membership, waitingClaim } = standing;
  if (role !== null) {
    return html`<p>You belong to it.</p>
      ${button(visit, "leave", "Leave the organization")}`;
  }
  if (waitingClaim) {
    return html`<p>
        You have asked to belong to it; that has waited for an answer since ${time(waitingClaim.since)}.
      </p>
      ${button(
        visit,
        "withdraw",
        "Withdraw the request",
        html`<input name="claimId" type="hidden" value="${waitingClaim.claimId}" />`,
      )}`;
  }
  if (membership === "suspended")
    return html`<p>Your membership is suspended; an administrator of the organization can reinstate it.</p>`;
  return claim(visit, standing, refusal);
}

function claim(visit: Visit, { firstName, lastName }: Standing, refusal?: ApiError): Content {
  const isAgain = refusal !== undefined && visit.field("do") === "claim";
  const input = (label: string, name: string, value: string | null, more: Content) =>
    html`<label>
      ${label}
      <input
        name="${name}"
        value="${(isAgain ? visit.field(name) : value) ?? ""}"
        maxlength="${longestText.name}"
        ${more}
      />
    </label>`;
  return html`<details ${isAgain ? "open" : ""}>
    <summary>I belong to it</summary>
    <form method="post" action="${ownAddress(visit)}">
      ${visit.proof}
      <p>Whoever decides on it sees your name, your address and what you do there.</p>
      ${input("First name", "firstName", firstName, html`autocomplete="given-name" required`)}
      ${input("Last name", "lastName", lastName, html`autocomplete="family-name" required`)}
      ${input("What you do there, if you like", "duty", null, html`autocomplete="organization-title"`)}
      <button name="do" value="claim">Ask to belong to it</button>
    </form>
  </details>`;
}

/** The form that appoints a person whom the service knows, for an organization that nobody manages. */
export function appointment(visit: Visit, refusal?: ApiError): Content {
  const isAgain = refusal !== undefined && visit.field("do") === "appoint";
  return html`<section class="card" aria-labelledby="appointment">
    <h2 id="appointment">Nobody manages it</h2>
    <form method="post" action="${ownAddress(visit)}">
      ${visit.proof}
      <label>
        E-mail address of the new administrator, whom this service must know
        <input
          name="email"
          type="email"
          autocomplete="off"
          maxlength="254"
          value="${isAgain ? (visit.field("email") ?? "") : ""}"
          required
        />
      </label>
      <button name="do" value="appoint">Appoint</button>
    </form>
  </section>`;
}

function button(visit: Visit, wanted: string, label: string, more: Content | string = ""): Content {
  return html`<form method="post" action="${ownAddress(visit)}">
    ${visit.proof} ${more}
    <button class="plain" name="do" value="${wanted}">${label}</button>
  </form>`;
}
