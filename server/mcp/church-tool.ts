// The only tool: church search, described for a model that has to choose it and fill in its inputs. The inputs and the
// answers come from the schemas of GET /v0/orgs/search.
import { setImmediate } from "node:timers/promises";
import type { CallToolResult, McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import { ApiError, apiErrorFrom } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import { quotedNames } from "../quoted.ts";
import { currentRequest } from "../request-context.ts";
import { churchFeatures, churchPage, churchQuery } from "../resources/church-schemas.ts";
import { isObject } from "./messages.ts";
import type { Piece } from "../rest/answer.ts";

export const CHURCH_TOOL = "churches_search_v1";

/** Runs a checked search, and returns a placeholder for its page. */
export type Search = (query: Record<string, unknown>) => Promise<string>;

const TITLE = "Search churches";

const DESCRIPTION = `Finds churches in a directory: their names, addresses, coordinates, traditions, service times and languages, programs, contacts and links. It only reads. Use it for questions such as which churches of a tradition are in a town, or which church is nearest to a place.

Put every input inside queryParams. Each filter narrows the result; none is required. Say where in one of three ways:
1. by names: {"queryParams": {"belief": "protestant", "locality": "El Cajon", "region": "CA", "country": "US"}}
2. by radius, nearest first, each church with distance_m: {"queryParams": {"center_lat": 32.7948, "center_lng": -116.9625, "radius_km": 10}}
3. by box: {"queryParams": {"min_lat": 32.5, "max_lat": 33.1, "min_lng": -117.3, "max_lng": -116.8}}
A radius needs all three of its inputs and a box all four. To search by name or by words use q, which forgives misspelling.

A church has some fifty columns; name those you need in fields to keep the answer short, for example "church_id,name,address,locality,website". If has_more is true, call again with next_cursor as cursor and the same filters. Empty items mean that no church matched: drop a filter, or search by radius.`;

const QUERY_PARAMS =
  "The inputs of the search, the same as the query parameters of GET /v0/orgs/search. {} finds all churches.";

const query = churchQuery.strict();
const { $schema, properties = {}, ...queryRest } = z.toJSONSchema(query, { io: "input" });
const INPUTS = properties as Record<string, object & { type?: string; items?: object; maxItems?: number }>;
const LISTS = Object.keys(INPUTS).filter((name) => INPUTS[name]?.type === "array");

// A single value counts as a list of one, as it does in a URL.
for (const name of LISTS) {
  const { type, items, maxItems, ...rest } = INPUTS[name]!;
  INPUTS[name] = { ...rest, ...{ anyOf: [items, { type, items, maxItems }] } };
}

const inputSchema = {
  $schema,
  type: "object",
  properties: { queryParams: { ...queryRest, description: QUERY_PARAMS, properties: INPUTS } },
  required: ["queryParams"],
  additionalProperties: false,
};

// Older revisions require the type object at the root, which a bare choice of two schemas does not state.
const outputSchema = {
  type: "object",
  ...z.toJSONSchema(z.union([churchPage, churchFeatures]), { io: "input" }),
  description: "A page of churches; a GeoJSON FeatureCollection where format is geojson.",
};

// The inputs are checked below, with messages that a model can act on; the answers are checked by the tests.
function declared(schema: Record<string, unknown>): StandardSchemaWithJSON {
  return {
    "~standard": {
      version: 1,
      vendor: "engagement-graph",
      jsonSchema: { input: () => schema, output: () => schema },
      validate: (value) => ({ value }),
    },
  };
}

const DEFINITION = {
  title: TITLE,
  description: DESCRIPTION,
  inputSchema: declared(inputSchema),
  outputSchema: declared(outputSchema),
  annotations: {
    title: TITLE,
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
};

/**
 * Adds the tool to a server.
 * @param search runs the search on the caller's behalf
 * @param failed called with failures that are not the caller's fault
 */
export function addChurchTool(server: McpServer, search: Search, failed: (error: ApiError) => void): void {
  server.registerTool(CHURCH_TOOL, DEFINITION, async (input): Promise<CallToolResult> => {
    const checked = checkInput(input);
    if ("problem" in checked) return failure(new ApiError("validation_failed", { message: checked.problem }));
    try {
      return pageResult(await search(checked.query));
    } catch (thrown) {
      const error = apiErrorFrom(thrown);
      if (error.statusCode >= 500) failed(error);
      return failure(error);
    }
  });
}

function pageResult(standIn: string): CallToolResult {
  return { content: [{ type: "text", text: standIn }], structuredContent: { [standIn]: true } };
}

/** A page in both forms that a reply contains: as JSON, and escaped for a string in JSON. */
export type Page = { content: readonly Uint8Array[]; quoted: readonly Uint8Array[]; bytes: number };

/** Reads a page of JSON text; other requests are handled after each piece. */
export async function readPage(pieces: AsyncIterable<string>): Promise<Page> {
  const content: Buffer[] = [];
  const quoted: Buffer[] = [];
  for await (const piece of pieces) {
    content.push(Buffer.from(piece));
    quoted.push(Buffer.from(JSON.stringify(piece).slice(1, -1)));
    await setImmediate();
  }
  return { content, quoted, bytes: content.reduce((sum, piece) => sum + piece.length, 0) };
}

/**
 * Puts a page into a reply in place of its placeholder, as text and as structured content: the SDK would
 * parse and serialize every value of it several times.
 */
export function withPage(reply: string, standIn: string, { content, quoted }: Page): Piece[] {
  const asText = JSON.stringify(standIn);
  const asContent = JSON.stringify({ [standIn]: true });
  const parts: Piece[] = [];
  for (const part of reply.split(new RegExp(`(\\{${asText}:true\\}|${asText})`))) {
    if (part === asContent) parts.push(...content);
    else if (part === asText) parts.push('"', ...quoted, '"');
    else parts.push(part);
  }
  return parts;
}

/**
 * A refusal, with details for programs; its text is for a model, which sees no headers. It is a result of the
 * tool and not an error of the protocol, which clients seldom show to models.
 */
function failure({ code, message, statusCode, headers }: ApiError): CallToolResult {
  const retryAfter = headers[RESPONSE_HEADERS.retryAfter];
  const text = statusCode >= 500 ? `${code}: ${message}` : message;
  return {
    content: [
      { type: "text", text: retryAfter === undefined ? text : `${text} Retry-After: ${retryAfter} s.` },
    ],
    isError: true,
    _meta: {
      error: {
        ...{ code, statusCode, requestId: currentRequest()?.id },
        ...(retryAfter !== undefined && { retryAfter: Number(retryAfter) }),
      },
    },
  };
}

function checkInput(input: unknown): { query: Record<string, unknown> } | { problem: string } {
  const { queryParams, ...beside } = isObject(input) ? input : {};
  const misplaced = Object.keys(beside);
  if (misplaced.length > 0) {
    return {
      problem: `${quotedNames(misplaced)} must not be outside queryParams: put every input inside it, as in {"queryParams": {"locality": "El Cajon"}}. ${VALID}`,
    };
  }
  if (!isObject(queryParams)) {
    const fault = queryParams === undefined ? "is missing" : "must be an object";
    return {
      problem: `queryParams ${fault}: it holds the inputs of the search, as in {"queryParams": {"locality": "El Cajon"}}. ${VALID}`,
    };
  }
  const lists = LISTS.filter((name) => name in queryParams).map((name) => [name, [queryParams[name]].flat()]);
  const { data, error } = query.safeParse({ ...queryParams, ...Object.fromEntries(lists) });
  if (!error) return { query: data };
  return { problem: error.issues.map((issue) => sentence(issue, queryParams)).join(" ") };
}

const VALID = `The inputs are ${Object.keys(INPUTS).join(", ")}.`;

function sentence(issue: z.core.$ZodIssue, given: Record<string, unknown>): string {
  if (issue.code === "unrecognized_keys") {
    return `There is no input ${quotedNames(issue.keys)}. ${VALID}`;
  }
  const [name, item] = issue.path.map(String);
  const place = Array.isArray(given[name ?? ""]) && item !== undefined ? `[${item}]` : "";
  return `${name}${place} ${issue.message}.`;
}
