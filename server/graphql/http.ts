// GraphQL over HTTP: what a request must look like before it is read, and what every refusal looks like.
import express from "express";
import type { ErrorRequestHandler, RequestHandler } from "express";
import type { GraphQLError } from "postgraphile/graphql";
import { BODY_LIMIT } from "../identity/limits.ts";
import { ApiError, apiErrorFrom } from "../errors.ts";
import { verifyJson } from "../text.ts";

const MEDIA_TYPES = ["application/graphql-response+json", "application/json"];
const parseJson = express.json({ limit: BODY_LIMIT, type: "application/json", verify: verifyJson });

/** Refuses anything that is not a GraphQL request, and parses the body of one that is. */
export const readRequest: RequestHandler = (request, response, next) => {
  if (request.method !== "POST") {
    throw new ApiError("method_not_allowed", {
      message: "Send GraphQL requests with POST.",
      headers: { allow: "POST, OPTIONS" },
    });
  }
  if (!request.accepts(MEDIA_TYPES)) {
    throw new ApiError("not_acceptable", { message: `GraphQL answers ${MEDIA_TYPES.join(" or ")}.` });
  }
  if (!request.is("application/json")) {
    throw new ApiError("unsupported_media_type");
  }
  parseJson(request, response, (error?: unknown) => {
    if (error) return next(error);
    const problem = problemOf(request.body);
    next(problem === undefined ? undefined : new ApiError("validation_failed", { message: problem }));
  });
};

function problemOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return "The body must be one JSON object: {query, operationName, variables}.";
  }
  const { query, operationName, variables } = body as Record<string, unknown>;
  if (typeof query !== "string" || query.trim() === "")
    return "query must be the text of a GraphQL document.";
  if (operationName !== undefined && operationName !== null && typeof operationName !== "string") {
    return "operationName must be a string.";
  }
  if (
    variables !== undefined &&
    variables !== null &&
    (typeof variables !== "object" || Array.isArray(variables))
  ) {
    return "variables must be an object.";
  }
  return undefined;
}

/** Answers errors of requests to /graphql, including those of the key and the rate limit, as GraphQL does. */
export function answerErrors(publicError: (error: unknown) => GraphQLError): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const { statusCode, headers } = apiErrorFrom(error);
    const type = request.accepts(MEDIA_TYPES) || "application/json";
    response
      .status(statusCode)
      .set(headers)
      .type(type)
      .send(JSON.stringify({ errors: [publicError(error)] }));
  };
}
