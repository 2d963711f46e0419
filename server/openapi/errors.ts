// What the document says of errors. docs/errors.md tells what each code means; a test holds the two together.
import { z } from "zod";
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from "zod-openapi";
import type { ErrorDetail } from "../errors.ts";

/** The body of every refusal and failure. */
export const errorSchema = z
  .object({
    error: z.string().meta({ description: "The registered code: branch on this." }),
    message: z.string().meta({ description: "One sentence that a person can act on." }),
    statusCode: z.int().meta({ description: "The status of the answer." }),
    details: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .meta({ description: "The inputs at fault, by their names on the wire." }),
  })
  .meta({ id: "Error", description: "A refusal or a failure." });

type ErrorExample = readonly [status: number, message: string, details?: readonly ErrorDetail[]];

/** An example of each code that an operation can answer. */
export const ERRORS: Readonly<Record<string, ErrorExample>> = {
  validation_failed: [400, "limit must be at most 200.", [{ path: "limit", message: "must be at most 200" }]],
  malformed_query: [400, "Expected a variable.", [{ path: "query", message: "line 1, column 8" }]],
  missing_api_key: [401, "Send an API key: Authorization: Bearer <key>."],
  invalid_api_key: [401, "This API key is unknown, expired or revoked."],
  insufficient_scope: [403, "The scope of this API key does not allow this."],
  membership_required: [
    403,
    "This takes an active membership of the organization, or an approved claim to it.",
  ],
  insufficient_role: [403, "The person's role in the organization does not allow this."],
  permission_required: [403, "This takes a permission that the person does not have."],
  read_only: [403, "This endpoint only answers queries; updates are not accepted."],
  federation_disabled: [403, "SERVICE is not allowed here; query the other endpoint yourself."],
  origin_not_allowed: [403, "Pages of this origin may not call the tool endpoint."],
  need_not_found: [404, "There is no need with this needId."],
  commitment_not_found: [404, "There is no commitment with this commitmentId."],
  engagement_claim_not_found: [404, "There is no engagement claim with this claimId."],
  claim_not_found: [404, "There is no organization claim with this claimId."],
  organization_not_found: [404, "There is no such organization."],
  member_not_found: [404, "This person is no member of the organization."],
  user_not_found: [404, "The service knows nobody with this e-mail address."],
  not_acceptable: [406, "This route answers application/json."],
  already_reviewed: [409, "This claim has been approved already."],
  already_member: [409, "This person belongs to the organization already."],
  claim_pending: [409, "This person has a claim that waits for a decision."],
  last_admin: [409, "An organization keeps at least one org_admin; appoint another one first."],
  idempotency_key_reused: [409, "This Idempotency-Key was used before with another request."],
  payload_too_large: [413, "The body is larger than this service accepts."],
  unsupported_media_type: [415, "Send the body as application/json."],
  unknown_accelerator_code: [
    422,
    "PRY is not a current code of the accelerator scheme.",
    [{ path: "accelerators[0]", message: "PRY is not a current code of the accelerator scheme" }],
  ],
  unknown_need: [422, "concernsNeedId names no existing need."],
  unknown_commitment: [422, "fulfillsCommitmentId names no existing commitment."],
  rate_limited: [429, "This API key has sent too many requests; wait as Retry-After says."],
  internal_error: [500, "The service failed to answer; the failure has been logged."],
  database_unavailable: [503, "The database is not available; try again."],
  graph_unavailable: [503, "The graph store is not available; try again later."],
  query_timeout: [504, "The query takes too long; ask for less."],
};

const MEANING: Readonly<Record<number, string>> = {
  400: "The request is not well-formed.",
  401: "There is no API key, or none that is good.",
  403: "The key or the person may not do this.",
  404: "There is no such record.",
  406: "None of the media types in Accept can be given.",
  409: "It collides with what has happened before.",
  413: "The body is too large.",
  415: "The body's media type or encoding is not supported.",
  422: "The input is well-formed, and names something that does not exist.",
  429: "Too many requests.",
  500: "The service failed.",
  503: "A part that the service stands on does not answer; nothing was written.",
  504: "It took too long.",
};

const WAIT = {
  "retry-after": { description: "Seconds to wait.", schema: { type: "integer" }, example: 12 },
} as const;

/** Headers that tell how much of a key's minute is left. */
export const RATE_LIMIT_HEADERS = {
  ratelimit: {
    description: "What is left of the key's minute: r requests, t seconds until it is full again.",
    schema: { type: "string" },
    example: '"200-in-1min"; r=199; t=60',
  },
  "ratelimit-policy": {
    description: "What a key may send: q requests in w seconds.",
    schema: { type: "string" },
    example: '"200-in-1min"; q=200; w=60; pk=:MmM4YzQ4NDY0OGRi:',
  },
} as const;

const HEADERS: Readonly<Record<number, ZodOpenApiResponseObject["headers"]>> = {
  401: {
    "www-authenticate": { description: "Bearer.", schema: { type: "string" }, example: "Bearer" },
  },
  429: { ...WAIT, ...RATE_LIMIT_HEADERS },
};

/** The examples of the components: one body for each code. */
export function errorExamples(): Record<string, { summary: string; value: object }> {
  return Object.fromEntries(
    Object.entries(ERRORS).map(([code, [statusCode, message, details]]) => [
      code,
      { summary: code, value: { error: code, message, statusCode, ...(details && { details }) } },
    ]),
  );
}

/**
 * The responses of an operation's codes, by status.
 * @throws when a code has no entry here
 */
export function errorResponses(codes: Iterable<string>): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(codes, (code) => {
    const entry = ERRORS[code];
    if (!entry) throw new Error(`${code} is not in the document's list of errors`);
    return entry[0];
  });
  return Object.fromEntries(
    [...byStatus].map(([status, members]) => [
      `${status}`,
      {
        description: MEANING[status]!,
        ...(HEADERS[status] && { headers: HEADERS[status] }),
        content: {
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
