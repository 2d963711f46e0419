// The list of claims, its filters, and the form that decides several at once.
import { html } from "hono/html";
import type { Content, Visit } from "../page.ts";
import { day } from "../parts/time.ts";
import { decisionFields } from "./fields.ts";
import { addressOf, CHOICES, LONGEST_SEARCH, QUEUE } from "./filter.ts";
import type { Filter } from "./filter.ts";
import { whose } from "./outcomes.ts";
import type { Line, Queue } from "./told.ts";
import { personOf } from "./told.ts";

/** The form of the search, and the counts. */
export function filters(filter: Filter, { counts }: Queue): Content {
  const number = (status: string) =>
    status === "all"
      ? Object.values(counts).reduce((sum, count) => sum + count, 0)
      : (counts as Readonly<Record<string, number>>)[status];
  const select = (name: keyof typeof CHOICES, label: string, more: (value: string) => string = () => "") =>
    html`<label>
      ${label}
      <select name="${name}">
        ${Object.entries(CHOICES[name]).map(
          ([value, text]) =>
            html`<option value="${value}" ${value === filter[name] ? "selected" : ""}>
              ${text}${more(value)}
            </option>`,
        )}
      </select>
    </label>`;
  return html`<form class="card filters" method="get" action="${QUEUE}" role="search" aria-label="Claims">
    <label class="words">
      Person, address, organization or domain
      <input id="search" name="q" type="search" value="${filter.q}" maxlength="${LONGEST_SEARCH}" />
    </label>
    ${select("status", "Status", (status) => ` (${number(status)})`)} ${select("sent", "Sent to")}
    ${select("proof", "Address")} ${select("order", "Order")}
    ${
      filter.org === ""
        ? ""
        : html`<p class="only">
            <input name="org" type="hidden" value="${filter.org}" />
            Only claims to <bdi>${filter.org}</bdi>
            <a href="${addressOf({ ...filter, org: "" })}">all organizations</a>
          </p>`
    }
    <button type="submit">Show</button>
  </form>`;
}

type Listed = { filter: Filter; queue: Queue; open: string | undefined };

/** The list itself, within the form for several. */
export function list(visit: Visit, { filter, queue, open }: Listed): Content {
  const { claims, start, total, previousPage, nextPage } = queue;
  const order = CHOICES.order[filter.order];
  const page = (from: string, rel: string, text: string) =>
    html`<a rel="${rel}" href="${addressOf(filter, { more: { from } })}">${text}</a>`;
  return html`<section class="queue" aria-labelledby="list-title">
    <h2 id="list-title" tabindex="-1">
      ${total === 0 ? "There are none" : `${start + 1}–${start + claims.length} of ${total}, ${order}`}
    </h2>
    <form id="several" method="post" action="${addressOf(filter)}">
      ${visit.proof}
      <ol class="lines">
        ${claims.map((claim) => line(claim, filter, open))}
      </ol>
      <nav class="actions" aria-label="Pages of the list">
        ${previousPage === null ? "" : page(previousPage, "prev", "Page before")}
        ${nextPage === null ? "" : page(nextPage, "next", "Next page")}
      </nav>
      ${
        claims.some(isDecidable)
          ? html`<details class="card several">
              <summary>Decide several at once</summary>
              ${decisionFields({ roles: queue.roles, reasons: queue.reasons, of: "several", whom: "all chosen" })}
            </details>`
          : ""
      }
    </form>
  </section>`;
}

function isDecidable({ isOpen, isOwn }: Line): boolean {
  return isOpen && !isOwn;
}

function line(claim: Line, filter: Filter, open: string | undefined): Content {
  const { id, createdAt, isProven, domainMatch, isNewOrg, status } = claim;
  const notes = [
    status === "pending"
      ? undefined
      : html`<b class="${status === "approved" ? "good" : "bad"}">${status}</b>`,
    claim.isOwn ? "your own" : undefined,
    isNewOrg ? "new organization" : undefined,
    isProven ? (domainMatch ? html`<span class="good">proven, at its domain</span>` : "proven") : "stated",
  ].filter((note) => note !== undefined);
  return html`<li data-claim="${id}" ${isDecidable(claim) ? "data-decidable" : ""}>
    ${
      isDecidable(claim)
        ? html`<label class="choose">
            <span class="hidden">Choose <bdi>${personOf(claim)}</bdi></span>
            <input name="claim" type="checkbox" value="${id}" />
          </label>`
        : html`<span class="choose"></span>`
    }
    <a href="${addressOf(filter, { claim: id })}" ${id === open ? html`aria-current="true"` : ""}>
      <span class="whose">${whose(claim)}</span>
      <span class="quiet">${day(createdAt)}${notes.map((note) => html` · ${note}`)}</span>
      <span class="mark"></span>
    </a>
  </li>`;
}
