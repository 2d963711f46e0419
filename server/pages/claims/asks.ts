// The database queries of the review queue (db/rules/claim-queue.sql).
import type { Visit } from "../page.ts";
import { inputOf } from "./filter.ts";
import type { Filter } from "./filter.ts";
import type { Brief, Claim, Queue } from "./told.ts";

/** @param at the claim that the returned page must contain */
export function askQueue({ ask }: Visit, filter: Filter, at: string | undefined): Promise<Queue> {
  return ask<Queue>(
    `select app_private.claim_queue(
       $1 ->> 'q', ($1 ->> 'status')::app_public.claim_review_status, $1 ->> 'sentTo', ($1 ->> 'proven')::boolean,
       $1 ->> 'orgUri', ($1 ->> 'newest')::boolean, ($1 ->> 'at')::uuid)::text`,
    inputOf(filter, at),
  );
}

export function askClaim({ ask }: Visit, id: string): Promise<Claim> {
  return ask<Claim>("select app_private.claim_to_review(($1 ->> 'id')::uuid)::text", { id });
}

/** Returns only the claims that the visitor may review. */
export function askBrief({ ask }: Visit, ids: readonly string[]): Promise<readonly Brief[]> {
  return ask<readonly Brief[]>(
    "select app_private.claims_in_brief(array(select jsonb_array_elements_text($1 -> 'ids')::uuid))::text",
    { ids },
  );
}
