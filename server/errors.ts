// Errors as callers see them: one status, one registered code, one sentence (docs/errors.md lists them all).
import type { ErrorRequestHandler } from "express";
import { DatabaseError } from "pg";
import type { Logger } from "pino";
import { z } from "zod";

/** One input at fault: its name on the wire and what is wrong with it. */
export type ErrorDetail = { path: string; message: string };

/** A refusal or failure with its public status, code and message. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly statusCode: number;
  readonly code: string;
  readonly details: ErrorDetail[] | undefined;
  readonly headers: Record<string, string>;

  constructor(
    statusCode: number,
    code: string,
    message: string,
    options: { details?: ErrorDetail[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.statusCode = statusCode;
    this.code = code;
    this.details = options.details?.length ? options.details : undefined;
    this.headers = options.headers ?? {};
  }

  /** The body of a REST answer. */
  toJSON(): { error: string; message: string; statusCode: number; details?: ErrorDetail[] } {
    return {
      error: this.code,
      message: this.message,
      statusCode: this.statusCode,
      ...(this.details && { details: this.details }),
    };
  }
}

const details = z.array(z.object({ path: z.string(), message: z.string() }));

/**
 * What a caller is told of any error. What is not known here is a 500 that says nothing of its cause.
 * @param error as thrown by PostgreSQL, by Express's body parsers, or by us
 */
export function apiErrorFrom(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isDatabaseError(error)) return fromDatabase(error);
  if (isHttpError(error)) return fromHttp(error);
  return new ApiError(500, "internal_error", "The service failed to answer; the failure has been logged.", {
    cause: error,
  });
}

/** A 400 validation_failed that names every input at fault. */
export function validationFailed(problems: ErrorDetail[]): ApiError {
  const message = problems.map(({ path, message }) => (path ? `${path} ${message}` : message)).join("; ");
  return new ApiError(400, "validation_failed", `${message}.`, { details: problems });
}

/** Answers errors of the REST routes; the last middleware of the application. */
export function errorHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const answer = apiErrorFrom(error);
    if (answer.statusCode >= 500)
      logger.error({ err: error, method: request.method, path: request.path }, answer.code);
    // Half an answer cannot be taken back: the connection is cut so that the caller can tell.
    if (response.headersSent) return next(error);
    response.status(answer.statusCode).set(answer.headers).json(answer);
  };
}

function fromDatabase(error: DatabaseError): ApiError {
  const state = error.code ?? "";
  // A rule's refusal: db/rules/errors.sql.
  if (state.startsWith("PT")) {
    const parsed = details.safeParse(parseJson(error.hint));
    return new ApiError(Number(state.slice(2)), error.detail ?? "error", error.message, {
      cause: error,
      ...(parsed.success && { details: parsed.data }),
    });
  }
  const refuse = (statusCode: number, code: string, message: string) =>
    new ApiError(statusCode, code, message, { cause: error });
  // insufficient_privilege: a grant is missing, so the key's scope does not reach this far.
  if (state === "42501")
    return refuse(403, "insufficient_scope", "The scope of this API key does not allow this.");
  // Data that a type or a constraint refuses and that no rule described better.
  if (state.startsWith("22")) return refuse(400, "validation_failed", "A value is not well-formed.");
  if (state.startsWith("23")) return refuse(400, "validation_failed", "The values do not fit together.");
  // query_canceled: the statement's own timeout.
  if (state === "57014") return refuse(504, "query_timeout", "The query takes too long; ask for less.");
  if (UNAVAILABLE.test(state))
    return refuse(503, "database_unavailable", "The database is not available; try again.");
  return refuse(500, "internal_error", "The service failed to answer; the failure has been logged.");
}

// Connection failures, too many connections, shut-downs, and transactions that may simply be tried again.
const UNAVAILABLE = /^(08|53|57P|40)/;

function fromHttp(error: HttpError): ApiError {
  const known: Record<number, [code: string, message: string]> = {
    400: ["validation_failed", "The request is not well-formed."],
    413: ["payload_too_large", "The body is larger than this service accepts."],
    415: ["unsupported_media_type", "The body's media type or encoding is not supported."],
  };
  const [code, message] = known[error.status] ?? known[400]!;
  const malformedJson =
    error.type === "entity.parse.failed" ? "The body is not well-formed JSON." : undefined;
  return new ApiError(known[error.status] ? error.status : 400, code, malformedJson ?? message, {
    cause: error,
  });
}

type HttpError = Error & { status: number; type?: string };

function isHttpError(error: unknown): error is HttpError {
  return (
    error instanceof Error && "status" in error && typeof error.status === "number" && error.status < 500
  );
}

function isDatabaseError(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
