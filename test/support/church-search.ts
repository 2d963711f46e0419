import { expect } from "@jest/globals";
import { ask } from "./graphql.ts";
import { call } from "./service.ts";
import type { TestService } from "./service.ts";

/** A page of a church search, as JSON. */
export type Page = {
  items: (Record<string, unknown> & { church_id: string })[];
  limit: number;
  has_more: boolean;
  next_cursor: string | null;
};

/** What may be asked in a query string. */
export type Query = string | Record<string, string | number>;

export const ids = (page: Page): string[] => page.items.map((item) => item.church_id);

/** Asks a service for churches, with its read-only key. */
export function churchSearch(service: () => TestService) {
  const search = (query: Query) => {
    const text =
      typeof query === "string"
        ? query
        : new URLSearchParams(
            Object.entries(query).map(([k, v]): [string, string] => [k, String(v)]),
          ).toString();
    return call(`${service().url}/v0/orgs/search?${text}`, "GET", service().keys.read);
  };
  const found = async (query: Query): Promise<Page> => {
    const { status, body } = await search(query);
    expect({ status, body: status === 200 ? {} : body }).toEqual({ status: 200, body: {} });
    return body as Page;
  };
  const graphql = async (args: string, selection: string): Promise<unknown[]> =>
    (await ask(service(), `{ churches(${args}) { ${selection} } }`)).churches;
  return { search, found, graphql };
}
