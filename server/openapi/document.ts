// The OpenAPI document of everything under /v0, generated from the routes that serve it.
import { z } from "zod";
import { createDocument } from "zod-openapi";
import type {
  createDocument as CreateDocument,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
} from "zod-openapi";
import type { Config } from "../../config.ts";
import { errorExamples, errorResponses, EVERYWHERE, ANSWER_HEADERS } from "./errors.ts";
import { examplesOf } from "./examples.ts";
import type { Example } from "./example.ts";
import { keyScope, mcpOperation, sparqlByGetOperation, sparqlOperation } from "./protocols.ts";
import { TAGS } from "./tags.ts";
import type { ErrorCode } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import type { Scope } from "../identity/lookup.ts";
import { withNullable } from "../rest/body.ts";
import { headerOf } from "../rest/input.ts";
import type { RestRoute } from "../rest/route.ts";

/** The version of the interface: it changes when callers have to change. */
const INTERFACE_VERSION = "0.1.0";

const DESCRIPTION = `Needs, the commitments that answer them, and the engagement that fulfilled those; organizations \
and their people; church search; the graph.

Every route takes an API key, or the token of a person (a JWT of an OpenID provider that the service trusts), as \
\`Authorization: Bearer …\`. With a token that person acts: the field that names who acts may be left out, and nobody else may \
be named. A key's scope is \`api_read\`, \`api_write\` (which \
includes reading) or \`api_review\` (which includes both); each operation names the least one that it requires.

Errors look the same everywhere: \`error\` is a code to branch on, \`message\` a sentence to read; clients that name \
\`application/problem+json\` in \`Accept\` get them as problem details (RFC 9457), with the same \`error\`. A method that a \
path does not support gets 405 \`method_not_allowed\`, a path that does not exist 404 \`not_found\`. Checks are made \
in the order 401, 429, 400, 403, then 404 and 422. Unknown query parameters are ignored, unknown fields of a body \
refused. \`OPTIONS\` answers 204 on every path, without a key.

The same records and rules are served over GraphQL at \`/graphql\`.`;

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "The same key with the same request gets the first answer again; with a different request it is refused.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
} as const;

const LINK_HEADER = {
  [RESPONSE_HEADERS.link]: {
    required: false,
    description: 'Where there are more records: `<…>; rel="next"`, the next page, by a cursor (`after`).',
    schema: { type: "string" },
  },
} as const;

const ETAG_HEADER = {
  [RESPONSE_HEADERS.etag]: {
    description: "Send it as If-None-Match to get 304 while the answer is unchanged.",
    schema: { type: "string" },
    example: 'W/"2jmj7l5rSw0yVb_vlWAYkK_YBwk"',
  },
} as const;

const LOCATION_HEADER = {
  [RESPONSE_HEADERS.location]: {
    description: "The address of the new record.",
    schema: { type: "string" },
  },
} as const;

const UNCHANGED = {
  304: { description: "Unchanged since the answer that If-None-Match names.", headers: { ...ETAG_HEADER } },
} as const;

function mayBeKept({ method, isPersonal }: RestRoute): boolean {
  return method === "get" && !isPersonal;
}

type OpenApiDocument = ReturnType<typeof CreateDocument>;

type DocumentConfig = Pick<Config, "graphDataUrl" | "namespaceUrl" | "platformUrl">;

/**
 * The routes, and one more that returns the document describing them all.
 * @returns the routes, and the document's text for the page that shows it
 */
export function withOpenApi(
  routes: readonly RestRoute[],
  config: DocumentConfig,
): { routes: RestRoute[]; document: string } {
  const own: RestRoute = {
    method: "get",
    path: "/v0/openapi.json",
    operationId: "getOpenApi",
    tag: "Service",
    summary: "This document",
    answer: {
      status: 200,
      schema: z.looseObject({
        openapi: z.string(),
        info: z.looseObject({ title: z.string(), version: z.string() }),
        paths: z.looseObject({}),
      }),
      description: "OpenAPI 3.1.",
    },
    errors: [],
    handle: async () => document,
  };
  const all = [...routes, own];
  const document = JSON.stringify(createOpenApi(all, config));
  return { routes: all, document };
}

/**
 * The document.
 * @param routes as they are served
 */
function createOpenApi(routes: readonly RestRoute[], config: DocumentConfig): OpenApiDocument {
  const examples = examplesOf(config.graphDataUrl);
  const paths: ZodOpenApiPathsObject = {};
  const add = (path: string, method: RestRoute["method"], operation: ZodOpenApiOperationObject) => {
    paths[path] = { ...paths[path], [method]: operation };
  };
  for (const route of routes) {
    add(route.path, route.method, operationOf(route, examples[route.operationId]));
  }
  add("/v0/sparql", "get", sparqlByGetOperation(config.namespaceUrl));
  add("/v0/sparql", "post", sparqlOperation(config.namespaceUrl));
  add("/v0/mcp", "post", mcpOperation());

  return createDocument(
    {
      openapi: "3.1.0",
      info: {
        title: "Engagement graph",
        version: INTERFACE_VERSION,
        description: DESCRIPTION,
        contact: {
          name: "The operator of this service",
          ...(config.platformUrl && { url: config.platformUrl }),
        },
        license: { name: "MIT", url: "https://opensource.org/license/mit" },
      },
      servers: [
        { url: "/", description: "This service" },
        ...(config.platformUrl ? [{ url: config.platformUrl, description: "Its public address" }] : []),
      ],
      tags: TAGS,
      security: [{ apiKey: [] }, { person: [] }],
      paths,
      components: {
        securitySchemes: {
          apiKey: {
            type: "http",
            scheme: "bearer",
            description:
              "An API key: ek_… It may be issued for certain organizations (403 key_not_for_organization), for certain persons, of whom one has to be named as acting (403 key_not_for_person), and for certain networks (403 key_not_for_address). What it reads is what every key reads.",
          },
          person: {
            type: "http",
            scheme: "bearer",
            bearerFormat: "JWT",
            description:
              "A token of a person, where the operator trusts a provider: it has a verified e-mail address.",
          },
          apiKeyInQuery: {
            type: "apiKey",
            in: "query",
            name: "apiKey",
            description: "For clients of /v0/mcp that cannot send a header.",
          },
        },
        examples: errorExamples(),
      },
    },
    {
      // Answers may gain fields; a client that refused unknown ones would break.
      override: ({ jsonSchema, io }) => {
        if (io === "output") delete jsonSchema.additionalProperties;
      },
    },
  );
}

function operationOf(route: RestRoute, example?: Example): ZodOpenApiOperationObject {
  const { answer } = route;
  const { status, schema, description, alternatives = {} } = answer;
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...keyScope(route.description ?? `${route.summary}.`, example?.scope ?? "api_read"),
    requestParams: {
      ...(route.params && { path: withExamples(route.params, example?.params) }),
      ...(route.query && { query: withExamples(route.query, example?.query) }),
      ...(route.headers && { header: withExamples(asHeaders(route.headers), example?.headers) }),
    },
    ...(route.idempotent && { parameters: [IDEMPOTENCY_KEY] }),
    ...(route.body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: withNullable(route.body), example: example?.body } },
      },
    }),
    responses: {
      [`${status}`]: {
        description,
        headers: {
          ...ANSWER_HEADERS,
          ...(mayBeKept(route) && ETAG_HEADER),
          ...(answer.status === 201 && LOCATION_HEADER),
          ...answer.headers,
          ...(route.list && LINK_HEADER),
        },
        content: {
          "application/json": { schema, example: example?.answer },
          ...Object.fromEntries(
            Object.entries(alternatives).map(([type, schema]) => [
              type,
              { schema, example: example?.alternatives?.[type] },
            ]),
          ),
        },
      },
      ...(mayBeKept(route) && UNCHANGED),
      ...errorResponses(codesOf(route, example?.scope)),
    },
  };
}

function codesOf(route: RestRoute, scope?: Scope): ErrorCode[] {
  const hasInput = route.params ?? route.query ?? route.headers ?? route.body ?? route.idempotent;
  const codes: (ErrorCode | false)[] = [
    hasInput !== undefined && "validation_failed",
    ...EVERYWHERE,
    scope !== "api_read" && "insufficient_scope",
    ...route.errors,
    "not_acceptable",
    route.body !== undefined && "payload_too_large",
    route.body !== undefined && "unsupported_media_type",
    "query_timeout",
  ];
  return codes.filter((code) => code !== false);
}

/** The same parameters under the names of their headers. */
function asHeaders(headers: z.ZodObject): z.ZodObject {
  return z.object(
    Object.fromEntries(Object.entries(headers.shape).map(([name, field]) => [headerOf(name), field])),
  );
}

/** The same parameters, with the values from the example. */
function withExamples(parameters: z.ZodObject, values: Readonly<Record<string, unknown>> = {}): z.ZodObject {
  const fields = Object.entries(parameters.shape);
  return z.object(
    Object.fromEntries(
      fields.map(([name, field]) => [
        name,
        name in values
          ? field.meta({ ...field.meta(), param: { ...field.meta()?.param, example: values[name] } })
          : field,
      ]),
    ),
  );
}
