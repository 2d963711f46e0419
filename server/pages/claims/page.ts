// The review of claims at /admin/claims: the queue, and beside it the claim of /admin/claims/:id, with the same query.
import { html } from "hono/html";
import { ApiError } from "../../errors.ts";
import type { Page, Shown, Visit } from "../page.ts";
import { claimBeside } from "./claim.ts";
import { askBrief, askClaim, askQueue } from "./asks.ts";
import { act } from "./decision.ts";
import { filterOf, isId, QUEUE } from "./filter.ts";
import { keys } from "./keys.ts";
import { outcomes } from "./outcomes.ts";
import { filters, list } from "./queue.ts";
import { personOf } from "./told.ts";

export const claims: Page = { path: QUEUE, show: (visit) => show(visit, undefined), act };

export const claim: Page = {
  path: `${QUEUE}/:id`,
  show: (visit) => {
    const id = visit.part("id");
    if (!isId(id)) throw new ApiError("claim_not_found");
    return show(visit, id);
  },
  act,
};

async function show(visit: Visit, open: string | undefined): Promise<Shown> {
  const filter = filterOf(visit);
  const from = visit.query("from");
  const at = open ?? (isId(from) ? from : undefined);
  const done = (visit.query("done") ?? "").split(",").filter(isId);
  const queue = await askQueue(visit, filter, at);
  const chosen = open === undefined ? undefined : await askClaim(visit, open);
  const decided = done.length > 0 ? await askBrief(visit, done) : [];
  return {
    title: "Claims",
    subject: chosen && `${personOf(chosen)} → ${chosen.orgName}`,
    wide: true,
    scripts: ["claims.js"],
    content: html`<div
        id="queue"
        class="review${open === undefined ? "" : " open"}"
        data-visitor="${visit.visitor!.email}"
        data-open="${open ?? ""}"
      >
        ${outcomes(decided)} ${filters(filter, queue)}
        <div class="queue-and-claim">
          ${list(visit, { filter, queue, open })}
          ${
            chosen
              ? claimBeside(visit, { filter, queue, claim: chosen })
              : html`<section class="quiet empty" id="claim" aria-label="Claim">
                  ${queue.total > 0 ? html`<p>Choose a claim to see its details.</p>` : ""}
                </section>`
          }
        </div>
      </div>
      ${keys} ${heldDecisions}`,
  };
}

/** The decisions that can still be undone; assets/claims/hold.js fills them in. */
const heldDecisions = html`<section id="held" class="held" aria-label="Your decisions" hidden>
    <ul></ul>
  </section>
  <p id="said" class="hidden" role="status"></p>`;
