// What the document says about errors. docs/errors.md explains what each code means; a test keeps the two in step.
import { z } from "zod";
import type { ZodOpenApiResponsesObject } from "zod-openapi";
import { errorDetail, ERRORS, PROBLEM } from "../errors.ts";
import type { ErrorCode, ErrorDetail } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

/** The body of every refusal and failure. */
const errorSchema = z
  .object({
    error: z.string().meta({ description: "The registered code: branch on this." }),
    message: z.string().meta({ description: "One sentence that a person can act on." }),
    statusCode: z.int().meta({ description: "The status of the answer." }),
    details: z
      .array(errorDetail)
      .optional()
      .meta({ description: "The inputs at fault, by their wire names." }),
    requestId: z.string().meta({ description: "The X-Request-Id of the answer; quote it to the operator." }),
  })
  .meta({ id: "Error", description: "A refusal or a failure." });

/** The same, as problem details. */
const problemSchema = z
  .object({
    type: z.literal("about:blank"),
    title: z.string().meta({ description: "The status in words." }),
    status: z.int().meta({ description: "The status of the answer." }),
    detail: z.string().meta({ description: "One sentence that a person can act on." }),
    ...errorSchema.pick({ error: true, details: true, requestId: true }).shape,
  })
  .meta({ id: "Problem", description: "A refusal or a failure, as RFC 9457 has it." });

// The inputs at fault, for the codes that name them.
const DETAILS: Partial<Record<ErrorCode, readonly ErrorDetail[]>> = {
  validation_failed: [{ path: "limit", message: "must be at most 200" }],
  malformed_query: [{ path: "query", message: "line 1, column 8" }],
  unknown_accelerator_code: [
    { path: "accelerators[0]", message: "PRY is not a current code of the accelerator scheme" },
  ],
};

const MEANING: Readonly<Record<number, string>> = {
  400: "The request is not well-formed.",
  401: "The API key or token is missing or not valid.",
  403: "The key or the person may not do this.",
  404: "There is no such record.",
  406: "None of the media types in Accept is available.",
  409: "The request conflicts with what has already happened.",
  410: "It is no longer kept.",
  413: "The body is too large.",
  415: "The body's media type or encoding is not supported.",
  422: "The input is well-formed, but names something that does not exist.",
  429: "Too many requests.",
  500: "The service failed.",
  503: "A part that the service depends on does not answer, or the service is busy.",
  504: "The query takes too long, or needs too much memory.",
};

const WAIT = {
  [RESPONSE_HEADERS.retryAfter]: {
    description: "Seconds to wait.",
    schema: { type: "integer" },
    example: 12,
  },
} as const;

/** The id of the requests that examples show. */
export const REQUEST_ID = "b1a6c6b8-0b6f-4c8e-9a53-6f2f0d3c9a11";
const NAME = {
  [RESPONSE_HEADERS.requestId]: {
    description:
      "Names the request in the operator's log: the X-Request-Id that was sent, if it has at most 64 characters of A-Z a-z 0-9 _ . : = / + -, or one of the service's own.",
    schema: { type: "string" },
    example: REQUEST_ID,
  },
} as const;

/** Headers that tell how much of a key's quota is left. */
const RATE_LIMIT_HEADERS = {
  [RESPONSE_HEADERS.rateLimit]: {
    description: "What is left of the key's quota: r requests, t seconds until it is full again.",
    schema: { type: "string" },
    example: '"200-in-1min"; r=199; t=60',
  },
  [RESPONSE_HEADERS.rateLimitPolicy]: {
    description: "What a key may send: q requests in w seconds.",
    schema: { type: "string" },
    example: '"200-in-1min"; q=200; w=60; pk=:MmM4YzQ4NDY0OGRi:',
  },
} as const;

/** Headers of every success. */
export const ANSWER_HEADERS = { ...RATE_LIMIT_HEADERS, ...NAME };

const HEADERS: Readonly<Record<number, object>> = {
  401: {
    [RESPONSE_HEADERS.authenticate]: {
      description: 'Bearer, and error="invalid_token" where something was sent.',
      schema: { type: "string" },
      example: "Bearer",
    },
  },
  429: { ...WAIT, ...RATE_LIMIT_HEADERS },
  503: WAIT,
};

/** The examples of the components: one body for each code that an operation can return. */
export function errorExamples(): Record<string, { summary: string; value: object }> {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => !OUTSIDE.includes(code));
  return Object.fromEntries(
    codes.map((code) => {
      const [statusCode, sentence] = ERRORS[code];
      const details = DETAILS[code];
      const message = details
        ? `${details.map(({ path, message }) => `${path} ${message}`).join("; ")}.`
        : sentence;
      return [
        code,
        {
          summary: code,
          value: { error: code, message, statusCode, ...(details && { details }), requestId: REQUEST_ID },
        },
      ];
    }),
  );
}

// Not in the document: the answers to requests that match no operation or are incomplete, that reach a
// laptop's demo under a foreign host name, that come with a session's cookie, or that are for GraphQL.
const OUTSIDE: readonly ErrorCode[] = [
  "not_found",
  "method_not_allowed",
  "request_timeout",
  "headers_too_large",
  "document_not_found",
  "document_not_registered",
  "host_not_allowed",
  "invalid_session",
  "session_not_allowed",
  "sign_in_refused",
];

/** What any operation may be refused with, or fail with. */
export const EVERYWHERE = [
  "missing_api_key",
  "invalid_api_key",
  "invalid_token",
  "key_not_for_address",
  "rate_limited",
  "service_busy",
  "internal_error",
  "database_unavailable",
  "identity_provider_unavailable",
] as const;

/** The responses for an operation's codes, by status. */
export function errorResponses(codes: Iterable<ErrorCode>): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code][0]);
  return Object.fromEntries(
    [...byStatus].map(([status, members]) => [
      `${status}`,
      {
        description: MEANING[status]!,
        headers: { ...HEADERS[status], ...NAME },
        content: {
          [PROBLEM]: { schema: problemSchema },
          "application/json": {
            schema: errorSchema,
            examples: Object.fromEntries(
              members.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
            ),
          },
        },
      },
    ]),
  );
}
