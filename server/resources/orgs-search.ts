import { z } from "zod";
import { RESPONSE_HEADERS } from "../headers.ts";
import type { ChurchPages } from "./church-pages.ts";
import { church, churchFeatures, churchPage, churchQuery, olderChurchQuery } from "./church-schemas.ts";
import type { RestRoute } from "../rest/route.ts";

const GEOJSON = "application/geo+json";

/** Moves inputs with older names to today's names. */
function withToday({ language, program, ...query }: Record<string, unknown>): Record<string, unknown> {
  const both = (many: unknown, one: unknown) =>
    one === undefined ? many : [...((many ?? []) as string[]), one];
  return {
    ...query,
    languages: both(query["languages"], language),
    programs: both(query["programs"], program),
  };
}

/** The routes of church search. */
export function churchRoutes(churchPages: ChurchPages, answerMaxBytes: number): RestRoute[] {
  return [
    {
      method: "get",
      path: "/v0/orgs/search",
      operationId: "searchChurches",
      tag: "Church search",
      summary: "Find churches by words, place, tradition, language and program",
      description:
        "Each filter narrows the result; repeating a filter widens it. Results within a radius are sorted by " +
        "distance, of a free text by rank, in a box from its middle outwards, others by church_id. For the next " +
        "page send next_cursor as cursor with the same filters: paging lists every church exactly once, whatever is " +
        "added in the meantime. A page of more than 1,000 is made in parts, each a moment later; of one that changes its " +
        "place in the order between two of them the same holds as between two pages: it may be listed twice or not at all. A page that would be too long for one answer ends early, with has_more and its cursor.",
      query: churchQuery.extend(olderChurchQuery),
      answer: {
        status: 200,
        schema: churchPage,
        alternatives: { [GEOJSON]: churchFeatures },
        headers: {
          [RESPONSE_HEADERS.limit]: { description: "The limit, as in the body.", schema: { type: "string" } },
          [RESPONSE_HEADERS.nextCursor]: {
            required: false,
            description: "The next_cursor of the body, where there is one.",
            schema: { type: "string" },
          },
        },
        description: "A page of the churches found.",
      },
      errors: [],
      handle: (request, response, input) =>
        churchPages.page(request.identity, withToday(input), answerMaxBytes, ({ limit, nextCursor }) => {
          // Not earlier: a refusal is not GeoJSON and has none of these headers.
          if (input["format"] === "geojson") response.type(GEOJSON);
          response.set(RESPONSE_HEADERS.limit, limit);
          if (nextCursor !== undefined) response.set(RESPONSE_HEADERS.nextCursor, nextCursor);
        }),
    },
    {
      method: "get",
      path: "/v0/orgs/{id}",
      operationId: "getChurch",
      tag: "Church search",
      summary: "Read one church",
      params: z.object({ id: z.string().meta({ description: "Its church_id." }) }),
      answer: { status: 200, schema: church, description: "The church." },
      errors: ["church_not_found"],
      statement: "select app_private.church_record($1)",
    },
  ];
}
