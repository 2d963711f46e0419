// Errors as callers see them: one status, one registered code, one sentence (docs/errors.md explains them all).
import { STATUS_CODES } from "node:http";
import type { ErrorRequestHandler, Request } from "express";
import { DatabaseError } from "pg";
import Negotiator from "negotiator";
import type { Logger } from "pino";
import { z } from "zod";
import { errors as raisedByRules, linkLasts } from "../db/catalog.ts";
import { routeOf } from "./access-log.ts";
import { breakOff } from "./break-off.ts";
import { RESPONSE_HEADERS } from "./headers.ts";
import {
  CallerGone,
  DatabaseUnavailable,
  isSick,
  ServiceBusy,
  StatementTimeout,
} from "./postgres/unavailable.ts";
import { quoted } from "./quoted.ts";
import { currentRequest } from "./request-context.ts";

type Registered = readonly [statusCode: number, sentence: string];

// What the server itself refuses. What the rules refuse is registered in db/rules/errors.sql.
const RAISED_HERE = {
  malformed_query: [400, "The query is not well-formed SPARQL."],
  missing_api_key: [401, "Send an API key, or a person's token: Authorization: Bearer <key or token>."],
  invalid_token: [401, "This service cannot verify this person's token."],
  invalid_session: [401, "You are signed out, or were away for too long; sign in again."],
  insufficient_scope: [403, "The scope of this API key, or what persons may call, does not include this."],
  key_not_for_address: [403, "This API key is for certain networks and cannot be used from this address."],
  read_only: [403, "This endpoint only answers queries; it does not accept updates."],
  federation_disabled: [403, "SERVICE is not allowed here; query the other endpoint yourself."],
  origin_not_allowed: [
    403,
    "Pages from this origin may not call the tool endpoint; CORS_ORIGINS lists the origins that may.",
  ],
  session_not_allowed: [
    403,
    "A session is for this service's own pages: same origin, and with the header X-Session-Request for anything but GET.",
  ],
  sign_in_refused: [
    403,
    `This sign-in is over: it can be finished once, within ${linkLasts.sign_in}, and in the browser that began it. Begin again.`,
  ],
  document_not_registered: [
    403,
    "Only GraphQL documents that the operator has registered are answered here; send the documentId of one.",
  ],
  host_not_allowed: [
    403,
    "While the demo key is live, the service answers only under the names localhost and 127.0.0.1.",
  ],
  not_found: [404, "There is nothing at this path."],
  document_not_found: [404, "No GraphQL document is registered under this documentId."],
  method_not_allowed: [405, "This path does not support this method."],
  not_acceptable: [406, "None of the media types in Accept is available."],
  request_timeout: [408, "The request took too long to arrive."],
  payload_too_large: [413, "The body is larger than this service accepts."],
  unsupported_media_type: [415, "Send the body as application/json."],
  headers_too_large: [431, "The address and the headers together are larger than this service accepts."],
  internal_error: [500, "The service failed to answer; the failure has been logged."],
  query_failed: [
    500,
    "The graph store failed in the middle of this query; leave out functions that fail on some of the values, such as HOURS of something that is not a date.",
  ],
  service_busy: [503, "The service is busy; try again as soon as Retry-After says."],
  database_unavailable: [503, "The database is not available; try again."],
  identity_provider_unavailable: [
    503,
    "The identity provider does not answer, so the caller cannot be verified; try again.",
  ],
  graph_unavailable: [503, "The graph store is not available; try again later."],
  query_timeout: [504, "The query took too long; ask for less."],
  query_too_expensive: [504, "The query needs more memory than the graph store has for one; ask for less."],
} as const satisfies Record<string, Registered>;

export type ErrorCode = keyof typeof RAISED_HERE | keyof typeof raisedByRules;

const BUILT: Readonly<Record<ErrorCode, Registered>> = { ...raisedByRules, ...RAISED_HERE };
const known: Record<ErrorCode, Registered> = { ...BUILT };
/** Every error: its status, and the sentence used where there is no better one. */
export const ERRORS: Readonly<typeof known> = known;
/** A bound, because what the rules raise might quote a caller. */
const MOST_CODES = 1_000;

/** Whether a code may be answered. An operator's rules may have come to raise it, or with another status, since this began. */
function isKnown(code: string, registered: Registered): code is ErrorCode {
  if (Object.hasOwn(BUILT, code)) return true;
  if (!/^[a-z]\w*$/.test(code)) return false;
  if (!Object.hasOwn(known, code) && Object.keys(known).length >= MOST_CODES) return false;
  known[code as ErrorCode] = registered;
  return true;
}

type ErrorBody = {
  error: string;
  message: string;
  statusCode: number;
  details?: ErrorDetail[];
  requestId?: string;
};

/** One input at fault: its wire name and what is wrong with it. */
export const errorDetail = z.object({ path: z.string(), message: z.string() });
export type ErrorDetail = z.infer<typeof errorDetail>;

/** The most inputs at fault that one refusal names; callers fix these first. */
export const MOST_DETAILS = 50;
/** In characters, of any message, whatever it quotes; long enough to list as many details. */
const LONGEST_MESSAGE = 10_000;
/** In characters, of a path: enough for the longest of this service's inputs, and to recognize any other. */
const LONGEST_PATH = 100;

/** A refusal or failure with its public status, code and message. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly statusCode: number;
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  readonly headers: Record<string, string>;

  /** @param options.message instead of the registered sentence */
  constructor(
    code: ErrorCode,
    options: {
      message?: string;
      details?: ErrorDetail[];
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(quoted(options.message ?? ERRORS[code][1], LONGEST_MESSAGE), { cause: options.cause });
    this.statusCode = ERRORS[code][0];
    this.code = code;
    this.details = options.details?.length ? options.details : undefined;
    this.headers = {
      ...(this.statusCode === 401 && {
        // RFC 6750: no error code if no credential was sent.
        [RESPONSE_HEADERS.authenticate]:
          code === "missing_api_key" || code === "invalid_session"
            ? "Bearer"
            : 'Bearer error="invalid_token"',
      }),
      ...(this.statusCode === 503 && { [RESPONSE_HEADERS.retryAfter]: "1" }),
      ...options.headers,
    };
  }

  /** The body of a REST answer. */
  toJSON(): ErrorBody {
    const requestId = currentRequest()?.id;
    return {
      error: this.code,
      message: this.message,
      statusCode: this.statusCode,
      ...(this.details && { details: this.details }),
      ...(requestId !== undefined && { requestId }),
    };
  }
}

/**
 * What a caller is told about any error. One that is not known here becomes a 500 that does not reveal its cause.
 * @param error as thrown by PostgreSQL, by Express's body parsers, or by us
 */
export function apiErrorFrom(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseError) return fromDatabase(error);
  if (error instanceof DatabaseUnavailable) {
    const message = error.isOutcomeUnknown ? OUTCOME_UNKNOWN : undefined;
    return new ApiError("database_unavailable", { cause: error, ...(message && { message }) });
  }
  if (error instanceof ServiceBusy) return new ApiError("service_busy", { cause: error });
  // A caller who has gone is told nothing; the log should say that the query did not end.
  if (error instanceof StatementTimeout || error instanceof CallerGone) {
    return new ApiError("query_timeout", { cause: error });
  }
  if (isHttpError(error)) return fromHttp(error);
  return new ApiError("internal_error", { cause: error });
}

/**
 * Errors caused by what callers ask for: too much, or something that makes a store fail. No operator has to
 * look at each one, and one caller can cause thousands.
 */
const BY_CALLERS: ReadonlySet<ErrorCode> = new Set([
  "service_busy",
  "query_timeout",
  "query_too_expensive",
  "query_failed",
]);

/** The log level of an error with a status of 500 or more. */
export function levelOf({ code }: ApiError): "error" | "warn" {
  return BY_CALLERS.has(code) ? "warn" : "error";
}

/**
 * The 400 validation_failed that names every input at fault; if there are too many, the first ones and their
 * number.
 * @param options.count how many there are, if `problems` has only some
 */
export function validationFailed(
  problems: readonly ErrorDetail[],
  { count = problems.length, cause }: { count?: number; cause?: unknown } = {},
): ApiError {
  const details = problems
    .slice(0, MOST_DETAILS)
    .map(({ path, message }) => ({ path: quoted(path, LONGEST_PATH), message }));
  const told = details.map(({ path, message }) => (path ? `${path} ${message}` : message)).join("; ");
  const first = `The first ${MOST_DETAILS} of ${count.toLocaleString("en")} problems: `;
  return new ApiError("validation_failed", {
    message: `${count > MOST_DETAILS ? first : ""}${told}.`,
    details,
    cause,
  });
}

/** The media type of RFC 9457. */
export const PROBLEM = "application/problem+json";

/**
 * Whether a request asks for problem details by name: a caller who accepts everything expects our own form.
 */
export function namesProblem(request: Request): boolean {
  return new Negotiator(request).mediaTypes().includes(PROBLEM);
}

/**
 * The same error as problem details. The code says what kind of problem it is; `type` has no page to lead to.
 */
function problemFrom(answer: ApiError): object {
  const { message, statusCode, ...others } = answer.toJSON();
  const title = STATUS_CODES[statusCode];
  return { type: "about:blank", title, status: statusCode, detail: message, ...others };
}

/**
 * Logs failures, and has every error answered.
 * @param show answers instead of answerInJson; not called once an answer has begun
 */
export function errorHandler(logger: Logger, show: ErrorRequestHandler = answerInJson): ErrorRequestHandler {
  return async (error: unknown, request, response, next) => {
    // The request was cut short, and answered, in the meantime.
    if (response.writableEnded) return;
    const answer = apiErrorFrom(error);
    currentRequest()?.errors.add(answer.code);
    if (answer.statusCode >= 500 && !(error instanceof CallerGone))
      logger[levelOf(answer)]({ err: error, method: request.method, route: routeOf(request) }, answer.code);
    // Half an answer cannot be taken back; cutting the connection shows that it is incomplete. Express would
    // do so too, but also write the error, with whatever the caller has put into it, to the console.
    if (response.headersSent) {
      breakOff(response);
      return;
    }
    await show(error, request, response, next);
  };
}

/** Answers an error as REST does. */
export const answerInJson: ErrorRequestHandler = (error: unknown, request, response, _next) => {
  const answer = apiErrorFrom(error);
  response
    .status(answer.statusCode)
    .set({ ...answer.headers, "cache-control": "no-store" })
    .vary("accept");
  if (namesProblem(request)) response.type(PROBLEM).send(JSON.stringify(problemFrom(answer)));
  else response.json(answer);
};

const details = z.array(errorDetail);

/** Where PostgreSQL refuses a value of a setting, such as the role. */
const SETTING_REFUSED = "call_string_check_hook";

function fromDatabase(error: DatabaseError): ApiError {
  const state = error.code ?? "";
  const [, status] = /^PT([45]\d\d)$/.exec(state) ?? [];
  // Who raises without app_private.refuse may have written a sentence there.
  const raised = error.detail ?? "";
  if (status && isKnown(raised, [Number(status), error.message])) {
    const hint = parseJson(error.hint);
    const parsed = details.safeParse(hint);
    if (parsed.success && raised === "validation_failed")
      return validationFailed(parsed.data, { cause: error });
    return new ApiError(raised, {
      message: error.message,
      cause: error,
      ...(parsed.success && { details: parsed.data }),
      ...(typeof hint === "number" && { headers: { [RESPONSE_HEADERS.retryAfter]: String(hint) } }),
    });
  }
  const refuse = (code: ErrorCode, message?: string) =>
    new ApiError(code, { cause: error, ...(message !== undefined && { message }) });
  // insufficient_privilege: a grant is missing, so the key's scope does not reach this far. Where a setting is refused, it is the
  // server's login that may not switch to the role, and no fault of the caller.
  if (state === "42501" && error.routine !== SETTING_REFUSED) return refuse("insufficient_scope");
  // Data that a type or a constraint refused before any rule could describe the problem better.
  if (state.startsWith("22")) return refuse("validation_failed", "A value is not well-formed.");
  if (state.startsWith("23")) return refuse("validation_failed", "The values are not valid in combination.");
  // query_canceled: the statement's own timeout.
  if (state === "57014") return refuse("query_timeout");
  if (isSick(error)) return refuse("database_unavailable");
  return refuse("internal_error");
}

// The answer was lost, not necessarily the request.
const OUTCOME_UNKNOWN =
  "The connection to the database broke before it answered. If this request was to change something, it may have: " +
  "repeat it with the same Idempotency-Key, or check first.";

const HTTP_ERRORS: Readonly<Record<number, ErrorCode>> = {
  413: "payload_too_large",
  415: "unsupported_media_type",
};

function fromHttp(error: HttpError): ApiError {
  const code = HTTP_ERRORS[error.status];
  if (code === "unsupported_media_type") {
    return new ApiError(code, {
      message: "The body's media type or encoding is not supported.",
      cause: error,
    });
  }
  if (code) return new ApiError(code, { cause: error });
  const message =
    error.type === "entity.parse.failed"
      ? "The body is not well-formed JSON."
      : "The request is not well-formed.";
  return new ApiError("validation_failed", { message, cause: error });
}

type HttpError = Error & { status: number; type?: string };

function isHttpError(error: unknown): error is HttpError {
  return (
    error instanceof Error && "status" in error && typeof error.status === "number" && error.status < 500
  );
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
