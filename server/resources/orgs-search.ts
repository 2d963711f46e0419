import { z } from "zod";
import { RESPONSE_HEADERS } from "../headers.ts";
import type { Identity } from "../identity/identity.ts";
import { church, churchFeatures, churchPage, churchQuery, olderChurchQuery } from "./church-schemas.ts";
import type { RestRoute } from "../rest/route.ts";
import type { Database } from "../database.ts";

const GEOJSON = "application/geo+json";
const PAGE = "select app_private.church_page_in_pieces($1 -> 'query', ($1 ->> 'maxBytes')::bigint)";

/** A page of more takes hundreds of milliseconds, here and in the database. */
const LONG_PAGE = 1_000;

/**
 * Runs a church search: one page as JSON text, in pieces, the last of which has everything behind the items.
 * @param query checked by churchQuery
 * @param maxBytes of the page, which ends early, with its cursor, where it would be longer
 * @throws what PostgreSQL raised; apiErrorFrom turns it into what callers are told
 */
export async function searchChurches(
  database: Database,
  identity: Identity,
  query: Record<string, unknown>,
  maxBytes: number,
): Promise<string[]> {
  const isLong = Number(query["limit"]) > LONG_PAGE;
  return database.readPieces(identity, PAGE, { query, maxBytes }, { isLong });
}

// Its form is that of app_private.church_page_in_pieces.
const END_OF_PAGE = /"limit":(\d+),"has_more":(?:true|false),"next_cursor":(?:null|"([^"]*)")\}$/;

/** The inputs by their names of today. */
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
export function churchRoutes(database: Database, answerMaxBytes: number): RestRoute[] {
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
        "added in the meantime. A page that would be too long for one answer ends early, with has_more and its cursor.",
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
      handle: async (request, response, input) => {
        const query = withToday(input);
        const answer = await searchChurches(database, request.identity, query, answerMaxBytes);
        const [, limit, cursor] = END_OF_PAGE.exec(answer.at(-1) ?? "") ?? [];
        response.set(RESPONSE_HEADERS.limit, limit);
        if (cursor !== undefined) response.set(RESPONSE_HEADERS.nextCursor, cursor);
        if (input["format"] === "geojson") response.type(GEOJSON);
        return answer;
      },
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
