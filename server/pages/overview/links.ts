// The links behind the numbers of the overview, to the lists that they count.
import { EXPLORER_PATH } from "../../graphql/explorer.ts";

/** Opens a query in the explorer. */
export function explorerLink(query: string): string {
  return `${EXPLORER_PATH}?${new URLSearchParams({ query }).toString()}`;
}

/** Opens a list of REST. */
export function listLink(list: string, filters: Record<string, string> = {}): string {
  const query = new URLSearchParams(filters).toString();
  return `/v0/${list}${query && `?${query}`}`;
}
