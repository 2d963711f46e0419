// The operations that speak a protocol of their own and are not RestRoutes: SPARQL and the Model Context Protocol.
import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { BINDING_TYPES, GRAPH_TYPES } from "../../graph/media-types.ts";
import type { Scope } from "../identity/lookup.ts";
import { LONGEST_BATCH } from "../mcp/messages.ts";
import { errorResponses, EVERYWHERE, ANSWER_HEADERS, REQUEST_ID } from "./errors.ts";

const query = z.string().describe("SELECT, ASK, CONSTRUCT or DESCRIBE, in SPARQL 1.1.");
const graphs = z.array(z.url()).optional();
const dataset = {
  "default-graph-uri": graphs.describe("A graph to be merged into the default graph; may be repeated."),
  "named-graph-uri": graphs.describe("A graph that GRAPH may name; may be repeated."),
};
const queryForm = z.object({ query, ...dataset });
const queryJson = z.strictObject({ query, ...dataset });

/** The description of an operation, and the least scope that a key needs to call it. */
export function keyScope(description: string, scope: Scope) {
  return {
    description: `${description} Requires a key with the scope \`${scope}\`.`,
    "x-required-scope": scope,
  } as const;
}

const exampleQuery = (namespaceUrl: string) =>
  [
    `prefix ns: <${namespaceUrl}>`,
    "select ?need ?commitment where { ?commitment ns:concernsNeed ?need } limit 10",
  ].join("\n");

const plainText = { schema: { type: "string" } } as const;

/** The answer to a query, however it was sent. */
const sparqlAnswer = {
  description: "The results, or the triples.",
  headers: ANSWER_HEADERS,
  content: {
    [BINDING_TYPES[0]!]: {
      schema: { type: "object" },
      example: { head: { vars: ["need", "commitment"] }, results: { bindings: [] } },
    },
    ...Object.fromEntries([...BINDING_TYPES.slice(1), ...GRAPH_TYPES].map((type) => [type, plainText])),
  },
} as const;

const SPARQL_ERRORS = [
  ...EVERYWHERE,
  "validation_failed",
  "malformed_query",
  "read_only",
  "federation_disabled",
  "not_acceptable",
  "payload_too_large",
  "graph_unavailable",
  "query_failed",
  "query_timeout",
  "query_too_expensive",
] as const;

/** GET /v0/sparql. */
export function sparqlByGetOperation(namespaceUrl: string): ZodOpenApiOperationObject {
  return {
    operationId: "querySparqlByGet",
    tags: ["Graph"],
    summary: "Query the graph in SPARQL 1.1, with the query in the address",
    ...keyScope(
      "For clients of the SPARQL 1.1 Protocol, which ask in this way; POST takes the same queries. Without any of " +
        "these parameters the answer is a description of the service (SPARQL 1.1 Service Description), as triples.",
      "api_read",
    ),
    requestParams: {
      query: z.object({
        query: query.optional().meta({ ...query.meta(), param: { example: exampleQuery(namespaceUrl) } }),
        ...dataset,
      }),
    },
    responses: { "200": sparqlAnswer, ...errorResponses(SPARQL_ERRORS) },
  };
}

/** POST /v0/sparql. */
export function sparqlOperation(namespaceUrl: string): ZodOpenApiOperationObject {
  const example = exampleQuery(namespaceUrl);
  return {
    operationId: "querySparql",
    tags: ["Graph"],
    summary: "Query the graph in SPARQL 1.1",
    ...keyScope(
      "SELECT and ASK return SPARQL results as JSON (the default), XML, CSV or TSV; CONSTRUCT and DESCRIBE return " +
        "Turtle (the default), N-Triples, JSON-LD or RDF/XML, as Accept asks. The default graph is the union of all " +
        "named graphs. Updates and SERVICE are refused. Answers are streamed; closing the connection ends the query.",
      "api_read",
    ),
    requestParams: { query: z.object(dataset) },
    requestBody: {
      required: true,
      description: "The query, in any form of the SPARQL 1.1 Protocol.",
      content: {
        "application/sparql-query": { ...plainText, example },
        "application/x-www-form-urlencoded": { schema: queryForm, example: { query: example } },
        "application/json": { schema: queryJson, example: { query: example } },
      },
    },
    responses: { "200": sparqlAnswer, ...errorResponses([...SPARQL_ERRORS, "unsupported_media_type"]) },
  };
}

const jsonRpcId = z.union([z.string(), z.int()]);
const jsonRpcRequest = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: jsonRpcId.optional(),
    method: z.string(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: "JsonRpcRequest", description: "A request; without id, a notification." });
const jsonRpcAnswer = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: jsonRpcId.nullable().describe("null where the request could not be read."),
    result: z.looseObject({}).optional(),
    error: z
      .looseObject({
        code: z.int(),
        message: z.string(),
        data: z
          .looseObject({
            requestId: z.string().optional().describe("As in the log, and in the header X-Request-Id."),
          })
          .optional(),
      })
      .optional(),
  })
  .meta({ id: "JsonRpcAnswer", description: "A result or an error." });
const jsonRpcBatch = z.array(jsonRpcRequest).min(1).max(LONGEST_BATCH);
const jsonRpcAnswers = z.array(jsonRpcAnswer).min(1).max(LONGEST_BATCH);

/** POST /v0/mcp. */
export function mcpOperation(): ZodOpenApiOperationObject {
  const rpc = (id: number | null, rest: object) => ({ jsonrpc: "2.0", id, ...rest });
  const refusal = (id: number | null, code: number, message: string) =>
    rpc(id, { error: { code, message, data: { requestId: REQUEST_ID } } });
  const noMethod = (methods: string) =>
    refusal(4, -32601, `There is no method "tools/run"; the methods are ${methods}.`);
  return {
    operationId: "callTool",
    tags: ["Tools"],
    summary: "The tool endpoint for AI clients: Model Context Protocol over Streamable HTTP",
    ...keyScope(
      "Stateless, answers in plain JSON, and needs no handshake. One tool, churches_search_v1, takes the inputs of " +
        "GET /v0/orgs/search under queryParams. Errors of the protocol are those of JSON-RPC: -32700, -32600, " +
        "-32601, -32602; a search that fails is a result with isError. Clients of revision 2025-03-26 may send a batch. A client that cannot send a header may give " +
        "the key as ?apiKey=.",
      "api_read",
    ),
    security: [{ apiKey: [] }, { person: [] }, { apiKeyInQuery: [] }],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: z.union([jsonRpcRequest, jsonRpcBatch]),
          examples: {
            callTool: {
              summary: "Search churches",
              value: rpc(1, {
                method: "tools/call",
                params: {
                  name: "churches_search_v1",
                  arguments: { queryParams: { locality: "El Cajon", region: "CA", limit: 3 } },
                },
              }),
            },
            listTools: { summary: "List the tools", value: rpc(2, { method: "tools/list" }) },
            ping: { summary: "Ping", value: rpc(3, { method: "ping" }) },
          },
        },
      },
    },
    responses: {
      "200": {
        description: "The result, or the error of the protocol; of a batch, those of its requests.",
        headers: ANSWER_HEADERS,
        content: {
          "application/json": {
            schema: z.union([jsonRpcAnswer, jsonRpcAnswers]),
            examples: {
              ping: { summary: "Pong", value: rpc(3, { result: {} }) },
              unknownMethod: {
                summary: "An error of the protocol",
                value: noMethod("initialize, ping, tools/list, tools/call"),
              },
            },
          },
        },
      },
      "202": { description: "A notification was accepted." },
      "400": {
        description: "The body is not JSON, or not a request.",
        content: {
          "application/json": {
            schema: jsonRpcAnswer,
            examples: {
              parseError: {
                summary: "No JSON",
                value: refusal(null, -32700, "The body is not well-formed JSON."),
              },
            },
          },
        },
      },
      "404": {
        description: "A client of the current revision called a method that does not exist: -32601.",
        content: {
          "application/json": {
            schema: jsonRpcAnswer,
            example: noMethod("server/discover, tools/list, tools/call"),
          },
        },
      },
      ...errorResponses([...EVERYWHERE, "origin_not_allowed", "payload_too_large", "unsupported_media_type"]),
    },
  };
}
