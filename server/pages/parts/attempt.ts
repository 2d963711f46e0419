// Handles a form, and reports success or refusal on the form's own page, so that nothing typed is lost.
import { html } from "hono/html";
import { ApiError, apiErrorFrom } from "../../errors.ts";
import { currentRequest } from "../../request-context.ts";
import type { Content, Shown, Visit } from "../page.ts";
import { DONE, withQuery } from "./pager.ts";

/**
 * Does what a form asks for.
 * @param act returns a word for what was done
 * @param again shows the page again after a refusal
 */
export async function attempt(
  visit: Visit,
  act: () => Promise<string>,
  again: (refusal: ApiError) => Promise<Shown>,
): Promise<string | Shown> {
  try {
    return `${withQuery(visit.address, { [DONE]: await act() })}#outcome`;
  } catch (error) {
    const refusal = apiErrorFrom(error);
    // Failures and ended sessions are not reported by this page.
    if (refusal.statusCode >= 500 || refusal.statusCode === 401) throw error;
    currentRequest()?.errors.add(refusal.code);
    return { ...(await again(refusal)), status: refusal.statusCode };
  }
}

/**
 * The outcome of a form, at the top of its page.
 * @param sentences messages by the word for what was done
 */
export function outcome(
  visit: Visit,
  sentences: Readonly<Record<string, string>>,
  refusal?: ApiError,
): Content | string {
  if (refusal)
    return html`<p class="note bad" id="outcome" role="alert" tabindex="-1">
      <bdi>${refusal.message}</bdi>
    </p>`;
  const done = visit.query(DONE) ?? "";
  if (!Object.hasOwn(sentences, done)) return "";
  return html`<p class="note" id="outcome" role="status" tabindex="-1">${sentences[done]}</p>`;
}

/** Where a form of a page is sent to: its own address, without the outcome of an earlier form. */
export function ownAddress({ address }: Visit): string {
  return withQuery(address, { [DONE]: undefined });
}

/** The refusal of a form with an unknown button. */
export function unknownAct(): ApiError {
  return new ApiError("validation_failed", { message: "This form asks for nothing that the page offers." });
}
