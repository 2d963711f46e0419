// Errors of GraphQL as callers see them: the codes and statuses of REST, in extensions.code and .statusCode.
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { isSafeError } from "postgraphile/grafast";
import { GraphQLError, Kind } from "postgraphile/graphql";
import { ApiError, apiErrorFrom, levelOf } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import { CallerGone } from "../postgres/unavailable.ts";
import { LONGEST_SAID, quoted } from "../quoted.ts";
import { currentRequest } from "../request-context.ts";

/** The most places in a text that one error names. */
const MOST_PLACES = 20;

/** Turns whatever went wrong into what the caller is told, and logs what is our own fault. */
export function publicErrors(logger: Pick<Logger, "error" | "warn">): (error: unknown) => GraphQLError {
  const told = toldErrors(logger);
  return (error) => ofThisRequest(told(error));
}

/** Copies an error for the current request, with its id: requests that send the same text may share one. */
function ofThisRequest(error: GraphQLError): GraphQLError {
  const request = currentRequest();
  if (!request) return error;
  request.errors.add(error.extensions["code"] as ErrorCode);
  const { nodes, source, positions, path, extensions } = error;
  const retryAfter = extensions["retryAfter"];
  if (typeof retryAfter === "number") request.retryAfter(retryAfter);
  const named = new GraphQLError(error.message, {
    ...{ nodes, source, positions, path },
    extensions: { ...extensions, requestId: request.id },
  });
  PUBLIC.add(named);
  return named;
}

function toldErrors(logger: Pick<Logger, "error" | "warn">): (error: unknown) => GraphQLError {
  return (error) => {
    const at = error instanceof GraphQLError ? error : undefined;
    if (at && PUBLIC.has(at)) return at;
    const cause = causeOf(error);
    const told = toldOf(at, cause);
    let extensions: Record<string, unknown> = { code: told.code, statusCode: told.statusCode };
    if (told.details) extensions["details"] = told.details;
    const retryAfter = told.headers[RESPONSE_HEADERS.retryAfter];
    if (retryAfter !== undefined) extensions["retryAfter"] = Number(retryAfter);
    if (told.statusCode >= 500) {
      const errorId = randomUUID();
      extensions = { ...extensions, errorId };
      // A caller who hangs up is not a failure of the service.
      if (!(cause instanceof CallerGone)) logger[levelOf(told)]({ err: cause, errorId }, told.code);
    }
    // Without originalError, which a serializer might reveal.
    const answer = new GraphQLError(told.message, {
      nodes: at?.nodes?.slice(0, MOST_PLACES),
      source: at?.source,
      positions: at?.positions?.slice(0, MOST_PLACES),
      path: at?.path,
      extensions,
    });
    PUBLIC.add(answer);
    return answer;
  };
}

// Errors pass through here more than once on their way out.
const PUBLIC = new WeakSet<GraphQLError>();

function causeOf(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

function toldOf(at: GraphQLError | undefined, cause: unknown): ApiError {
  const invalid = (message: string) =>
    new ApiError("validation_failed", { message: quoted(message, LONGEST_SAID), cause });
  // Syntax, validation and the values of variables: reported by GraphQL itself, before anything ran.
  if (cause instanceof GraphQLError && at?.path === undefined) return invalid(cause.message);
  // PostGraphile converts the value to a string first, which fails for an object with a toString of its own.
  if (at?.nodes?.[0]?.kind === Kind.VARIABLE_DEFINITION) {
    return invalid(`Variable "$${at.nodes[0].variable.name.value}" has a value that is not of its type.`);
  }
  // Thrown by a plugin with a message meant for the caller, such as an empty object in a filter.
  if (cause instanceof Error && isSafeError(cause)) return invalid(cause.message);
  return apiErrorFrom(cause);
}
