// Reads pages of the feeds of changes from the database.
import type { Database } from "../database.ts";
import type { Identity } from "../identity/identity.ts";

export type FeedName = "records" | "claims";

const STATEMENTS: Readonly<Record<FeedName, string>> = {
  records: `select app_private.change_page(
    $1 ->> 'after', $1 ->> 'kind', $1 ->> 'orgUri', ($1 ->> 'needId')::uuid, ($1 ->> 'limit')::integer)::text`,
  claims: `select app_private.claim_change_page($1 ->> 'adminEmail', $1 ->> 'after', ($1 ->> 'limit')::integer)::text`,
};

/**
 * Reads a page, after giving positions to the changes that have been committed until now. That has a
 * transaction of its own: others who give positions wait for its end, and a page takes a while.
 * @returns the JSON of the page
 */
export async function readChanges(
  database: Database,
  feed: FeedName,
  identity: Identity,
  input: Record<string, unknown>,
): Promise<string> {
  await database.answer(identity, "select app_private.number_changes()::text");
  return (await database.read(identity, STATEMENTS[feed], input)) ?? "";
}
