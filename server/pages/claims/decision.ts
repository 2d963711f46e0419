// Handles the forms of the queue: first a page asks for confirmation; then each claim is decided by the same
// function as at all doors. Scripts wait for ten seconds instead of asking for confirmation, and send
// decisions to REST.
import { html } from "hono/html";
import type { enums } from "../../../db/catalog.ts";
import { ApiError, apiErrorFrom } from "../../errors.ts";
import { currentRequest } from "../../request-context.ts";
import type { Content, Shown, Visit } from "../page.ts";
import { written } from "../written.ts";
import { askBrief, askQueue } from "./asks.ts";
import { LONGEST_NOTES } from "./fields.ts";
import { addressOf, filterOf, isId } from "./filter.ts";
import { whose } from "./outcomes.ts";
import type { Brief } from "./told.ts";

type Decision = Readonly<{
  action: (typeof enums.claim_review_action)[number];
  ids: readonly string[];
  role: string | undefined;
  notes: string | undefined;
}>;

/** As many as a page lists. */
const MOST = 20;

export async function act(visit: Visit): Promise<string | Shown> {
  const decision = decisionOf(visit);
  const claims = await askBrief(visit, decision.ids);
  if (visit.field("confirmed") === undefined) return confirmation(visit, decision, claims);
  const on = await afterwards(visit, decision);
  const refused = new Map<string, ApiError>();
  for (const id of decision.ids) {
    const refusal = await decide(visit, decision, id);
    if (refusal) refused.set(id, refusal);
  }
  const told = withDone(
    on,
    decision.ids.filter((id) => !refused.has(id)),
  );
  return refused.size > 0 ? results(visit, decision, claims, { refused, on: told }) : told;
}

/** Adds the decided claims to an address, whose page then shows their outcomes. */
function withDone(address: string, ids: readonly string[]): string {
  if (ids.length === 0) return address;
  const { pathname, searchParams } = new URL(address, "http://here.invalid");
  searchParams.set("done", ids.join(","));
  return `${pathname}?${searchParams.toString()}`;
}

function decisionOf({ field, fields }: Visit): Decision {
  const action = field("action");
  const ids = [...new Set(fields("claim").filter(isId))];
  if (action !== "approve" && action !== "reject")
    throw new ApiError("validation_failed", { message: "Say whether to approve or to reject." });
  if (ids.length === 0)
    throw new ApiError("validation_failed", { message: "Choose the claims that this is about." });
  if (ids.length > MOST)
    throw new ApiError("validation_failed", { message: `Choose at most ${MOST} claims at once.` });
  return {
    action,
    ids,
    role: field("role"),
    notes: (field("notes") ?? field("reason"))?.replaceAll("\r\n", "\n"),
  };
}

/** @returns the refusal, if there was one */
async function decide(
  visit: Visit,
  { action, role, notes }: Decision,
  id: string,
): Promise<ApiError | undefined> {
  const input = { id, action, notes, role };
  try {
    await visit.ask(
      `select to_json(app_public.review_organization_claim(($1 ->> 'id')::uuid,
         ($1 ->> 'action')::app_public.claim_review_action, null, $1 ->> 'notes',
         ($1 ->> 'role')::app_public.organization_role))::text`,
      input,
    );
    return undefined;
  } catch (error) {
    const refusal = apiErrorFrom(error);
    // Failures are logged by the general error handler; earlier claims stay decided.
    if (refusal.statusCode >= 500) throw error;
    // A visitor who presses a button twice sees only the answer to the second request.
    if (refusal.code === "already_reviewed" && (await hasDecidedSo(visit, input))) return undefined;
    currentRequest()?.errors.add(refusal.code);
    return refusal;
  }
}

function hasDecidedSo({ ask }: Visit, input: Record<string, unknown>): Promise<boolean> {
  return ask<boolean>(
    `select to_json(app_private.has_decided_so(($1 ->> 'id')::uuid, ($1 ->> 'action')::app_public.claim_review_action,
       $1 ->> 'notes', ($1 ->> 'role')::app_public.organization_role))::text`,
    input,
  );
}

/** Where to go on: to the next claim after one, to the list after several. */
async function afterwards(visit: Visit, { ids }: Decision): Promise<string> {
  const filter = filterOf(visit);
  if (ids.length > 1) return addressOf(filter);
  const { following } = await askQueue(visit, filter, ids[0]);
  return addressOf(filter, following === null ? {} : { claim: following });
}

function confirmation(visit: Visit, { action, role, notes = "" }: Decision, claims: readonly Brief[]): Shown {
  if (claims.length === 0) throw new ApiError("claim_not_found");
  const one = claims.length === 1 ? claims[0] : undefined;
  const verb = action === "approve" ? "Approve" : "Reject";
  const back = addressOf(filterOf(visit), one ? { claim: one.id } : {});
  return {
    title: `${verb} ${one ? "this claim" : `these ${claims.length} claims`}?`,
    content: html`<form class="card" method="post" action="${visit.address}">
      ${visit.proof}
      <input name="confirmed" type="hidden" value="yes" />
      <input name="action" type="hidden" value="${action}" />
      ${claims.map(({ id }) => html`<input name="claim" type="hidden" value="${id}" />`)}
      <ul>
        ${claims.map((claim) => html`<li>${whose(claim)}</li>`)}
      </ul>
      ${
        action === "approve" && role !== undefined
          ? html`<input name="role" type="hidden" value="${role}" />
              <p>As <b>${role}</b>. A decision is final.</p>`
          : html`<p>A decision is final.</p>`
      }
      <label>
        ${action === "reject" ? "Why? The person will read it" : "Notes, which the person will read"}
        <textarea name="notes" rows="3" maxlength="${LONGEST_NOTES}" ${action === "reject" ? "required" : ""}>
${notes}</textarea>
      </label>
      <div class="actions">
        <button type="submit" class="${action === "reject" ? "reject" : ""}">${verb}</button>
        <a href="${back}">Back, without deciding</a>
      </div>
    </form>`,
  };
}

type Refused = { refused: ReadonlyMap<string, ApiError>; on: string };

function results(
  { exchange }: Visit,
  { ids, action }: Decision,
  claims: readonly Brief[],
  { refused, on }: Refused,
): Shown {
  const line = (id: string): Content => {
    const claim = claims.find((one) => one.id === id);
    const refusal = refused.get(id);
    return html`<li>
      ${claim ? whose(claim) : "A claim"}:
      ${
        refusal
          ? html`<span class="bad">${refusal.message}</span>`
          : html`<span class="good">${action === "approve" ? "approved" : "rejected"}.</span>`
      }
    </li>`;
  };
  const [first] = refused.values();
  return {
    title: refused.size === ids.length ? "That did not work" : "Some of it did not work",
    // Several claims may have different ones.
    status: ids.length === 1 ? first!.statusCode : 200,
    content: html`<ul class="card" role="alert">
        ${ids.map(line)}
      </ul>
      <p><a href="${on}">Go on</a></p>
      ${written(exchange.request)}`,
  };
}
