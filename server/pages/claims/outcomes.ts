// The outcomes of claims.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { begin } from "../parts/text.ts";
import { time } from "../parts/time.ts";
import type { Brief, Line } from "./told.ts";
import { personOf } from "./told.ts";

/** In characters, of each name in a line. */
const LONGEST = 80;

/** The claims that the visitor has just decided, or another reviewer before them. */
export function outcomes(decided: readonly Brief[]): Content | string {
  if (decided.length === 0) return "";
  return html`<ul class="card outcomes" role="status">
    ${decided.map(
      (claim) =>
        html`<li>
          ${whose(claim)}: ${outcome(claim)}${isDecided(claim) ? " They get an e-mail." : ""}
          ${claim.warnings.map(({ message }) => html`<p class="warn">${message}</p>`)}
        </li>`,
    )}
  </ul>`;
}

/** No mail is sent while a claim waits, or when the claimant withdraws it. */
function isDecided({ status }: Line): boolean {
  return status !== "pending" && status !== "withdrawn";
}

/** The person and the organization of a claim, in short. */
export function whose(claim: Pick<Line, "name" | "email" | "orgName">): Content {
  return html`<bdi>${begin(personOf(claim), LONGEST)}</bdi> → <bdi>${begin(claim.orgName, LONGEST)}</bdi>`;
}

/** Who decided what, and when. */
export function outcome({ status, reviewedBy, reviewedAt }: Line): Content {
  if (status === "pending") return html`still waits.`;
  if (status === "withdrawn") return html`was withdrawn by the claimant.`;
  const by = reviewedBy === null ? "without a review" : html`by <bdi>${reviewedBy}</bdi>`;
  return html`<b class="${status === "approved" ? "good" : "bad"}">${status}</b> ${by}${
      reviewedAt === null ? "" : html`, ${time(reviewedAt)}`
    }.`;
}
