// What a form asked for, and what is said when it was done or refused: on the page that it stands on, so that nothing typed is lost.
import { html } from "hono/html";
import { ApiError, apiErrorFrom } from "../../errors.ts";
import { currentRequest } from "../../request-context.ts";
import type { Content, Shown, Visit } from "../page.ts";
import { DONE, withQuery } from "./pager.ts";

/**
 * Does what a form asks for.
 * @param act returns what was done, as a word
 * @param again the page once more, for who was refused
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
    // What has failed, and what has ended, is not for this page to say.
    if (refusal.statusCode >= 500 || refusal.statusCode === 401) throw error;
    currentRequest()?.errors.add(refusal.code);
    return { ...(await again(refusal)), status: refusal.statusCode };
  }
}

/**
 * What came of a form, at the top of its page.
 * @param sentences by the word for what was done
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

/** Where a form of a page is sent to: back to the same list, without what was done before. */
export function ownAddress({ address }: Visit): string {
  return withQuery(address, { [DONE]: undefined });
}

/** What a form that has no such button asks for. */
export function unknownAct(): ApiError {
  return new ApiError("validation_failed", { message: "This form asks for nothing that the page offers." });
}
