// Where the numbers of the overview lead: to the lists that they count.
import { EXPLORER_PATH } from "../../graphql/explorer.ts";

/** A query, in the explorer. */
export function explorerLink(query: string): string {
  return `${EXPLORER_PATH}?${new URLSearchParams({ query }).toString()}`;
}

/** A list of REST. */
export function listLink(list: string, filters: Record<string, string> = {}): string {
  const query = new URLSearchParams(filters).toString();
  return `/v0/${list}${query && `?${query}`}`;
}
