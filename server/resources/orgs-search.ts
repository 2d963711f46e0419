import { z } from "zod";
import type { Identity } from "../identity/keys.ts";
import { church, churchFeatures, churchPage, churchQuery } from "./church-schemas.ts";
import type { RestRoute } from "../rest/route.ts";
import type { Database } from "../database.ts";

const GEOJSON = "application/geo+json";
const PAGE = "select app_private.church_page($1 -> 'query', ($1 ->> 'maxBytes')::bigint)";

/**
 * Runs a church search: one page as JSON text.
 * @param query checked by churchQuery
 * @param maxBytes of the page, which ends early, with its cursor, where it would be longer
 * @throws what PostgreSQL raised; apiErrorFrom turns it into what callers are told
 */
export async function searchChurches(
  database: Database,
  identity: Identity,
  query: Record<string, unknown>,
  maxBytes: number,
): Promise<string> {
  return (await database.answer(identity, PAGE, { query, maxBytes })) ?? "";
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
      query: churchQuery,
      answer: {
        status: 200,
        schema: churchPage,
        alternatives: { [GEOJSON]: churchFeatures },
        description: "A page of the churches found.",
      },
      errors: [],
      handle: async (request, response, input) => {
        const answer = await searchChurches(database, request.identity, input, answerMaxBytes);
        response.type(input["format"] === "geojson" ? GEOJSON : "application/json").send(answer);
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
      errors: ["organization_not_found"],
      statement: "select app_private.church_record($1)",
    },
  ];
}
