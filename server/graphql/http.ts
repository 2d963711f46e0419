// GraphQL over HTTP: checks requests before they are run, and gives all refusals the same form.
import express from "express";
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from "express";
import { GraphQLSpecifiedErrorBehaviors } from "postgraphile/grafast";
import { getOperationAST, OperationTypeNode } from "postgraphile/graphql";
import type { DocumentNode, GraphQLError } from "postgraphile/graphql";
import { pass } from "../identity/guards.ts";
import { BODY_LIMIT } from "../identity/limits.ts";
import { ApiError, apiErrorFrom } from "../errors.ts";
import { reading } from "../identity/still-known.ts";
import { notRepeatable, repeatableOf } from "../repeatable.ts";
import { parseJson, verifyJson } from "../text.ts";
import { parseWithin } from "./bounds.ts";
import type { Documents } from "./documents.ts";
import { METHODS, PATH } from "./methods.ts";

const NEWER_TYPE = "application/graphql-response+json";
const MEDIA_TYPES = [NEWER_TYPE, "application/json"];
export const EVENTS = "text/event-stream";
/**
 * How to treat a field that fails (onError): Grafast has it, and so far only a draft of the specification.
 */
const BEHAVIORS: readonly unknown[] = GraphQLSpecifiedErrorBehaviors;
/** A media range that Grafserv can parse. */
const RANGE =
  /^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))(?:;(?:q=(?:0(?:\.\d*)?|\.\d+|1(?:\.0*)?)|(?!q=)[\w!#$&^.+-]+=[\w!#$&^.+-]+))*$/;
const parseBody = reading(express.json({ limit: BODY_LIMIT, type: "application/json", verify: verifyJson }));

/**
 * Refuses anything that is not a GraphQL request, and parses the body of one that is.
 * @param documents registered texts, each of which replaces the id by which it was sent
 */
export function readRequest(documents: Documents): RequestHandler {
  return (request, response, next) => {
    if (request.method !== "POST" && request.method !== "GET") throw otherMethod(METHODS);
    if (!request.accepts(MEDIA_TYPES)) {
      throw new ApiError("not_acceptable", { message: `GraphQL answers ${MEDIA_TYPES.join(" or ")}.` });
    }
    request.headers.accept = withoutOddities(request.headers.accept);
    if (request.method === "GET") {
      // Answers depend on the caller and may contain personal data; without a validator, caching is no use.
      response.set("cache-control", "no-store").vary("Accept, Authorization, Cookie");
      readParameters(request, documents);
      request.repeatable = repeatableOf(request, PATH);
      return next();
    }
    return readBody(request, response, documents, next);
  };
}

/** The header Accept without malformed parts, on which Grafserv would fail. */
function withoutOddities(accept = "*/*"): string {
  const parts = accept.split(",").map((part) => part.replaceAll(/\s/g, ""));
  return parts.filter((part) => RANGE.test(part)).join(",") || "*/*";
}

/** Continues the route for requests that prefer server-sent events, and skips it for all others. */
export const onlyForEvents: RequestHandler = (request, _response, next) =>
  next(request.accepts([...MEDIA_TYPES, EVENTS]) === EVENTS ? undefined : "route");

/** Refuses subscriptions that are not sent with POST. */
export const onlyByPost: RequestHandler = () => {
  throw otherMethod("POST, OPTIONS", "Send subscriptions with POST.");
};

/** The same for a subscription, whose answer is a stream. */
export function readStreamRequest(documents: Documents): RequestHandler {
  return (request, response, next) => {
    if (!request.accepts(EVENTS)) {
      throw new ApiError("not_acceptable", { message: "Subscriptions are answered as text/event-stream." });
    }
    if (repeatableOf(request, PATH)) throw notRepeatable("goes with a request that has exactly one mutation");
    // graphql-sse recognizes only this exact value.
    request.headers.accept = EVENTS;
    return readBody(request, response, documents, next);
  };
}

async function readBody(
  request: Request,
  response: Response,
  documents: Documents,
  next: NextFunction,
): Promise<void> {
  if (!request.is("application/json")) {
    throw new ApiError("unsupported_media_type");
  }
  await pass(parseBody, request, response);
  checkForm(request.body);
  request.body = withText(request.body, documents);
  request.repeatable = repeatableOf(request, PATH);
  next();
}

/** The request with the text to run, whether it was sent or named by its id. */
function withText<T extends object>(
  { documentId, ...body }: T & { documentId?: unknown; query?: unknown },
  documents: Documents,
) {
  return { ...body, query: documents.textOf({ documentId, query: body.query }) };
}

function otherMethod(
  allow: string,
  message = "Send GraphQL requests with POST, or queries with GET.",
): ApiError {
  return new ApiError("method_not_allowed", { message, headers: { allow } });
}

/**
 * Checks the parameters in the URL. GET must change nothing, because anybody who finds a link may follow it.
 */
function readParameters(request: Request, documents: Documents): void {
  const { variables, extensions, ...texts } = request.query;
  checkForm({
    ...texts,
    variables: parsed("variables", variables),
    extensions: parsed("extensions", extensions),
  });
  const parameters = withText(request.query, documents);
  // Express parses the URL again on each access.
  Object.defineProperty(request, "query", { value: parameters });
  const { operationName } = texts as { operationName?: string };
  const document = parsedText(parameters.query);
  if (!document) return;
  const operation = getOperationAST(document, operationName)?.operation;
  if (operation === OperationTypeNode.MUTATION)
    throw otherMethod("POST, OPTIONS", "Send mutations with POST.");
  if (operation !== OperationTypeNode.QUERY) {
    throw new ApiError("validation_failed", { message: "operationName must name the query to answer." });
  }
}

function parsed(name: string, text: unknown): unknown {
  return typeof text !== "string" ? text : parseJson(Buffer.from(text), `The parameter ${name}`);
}

function parsedText(query: string): DocumentNode | undefined {
  try {
    return parseWithin(query);
  } catch {
    // Errors in the text are reported when it is parsed to be run.
    return undefined;
  }
}

/**
 * Checks the parameters of a request, except those that say which text to run.
 * @throws ApiError 400 that names the first invalid one
 */
export function checkForm(body: unknown): asserts body is object {
  const problem = problemOf(body);
  if (problem !== undefined) throw new ApiError("validation_failed", { message: problem });
}

function problemOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return "The body must be one JSON object: {query, operationName, variables, extensions}.";
  }
  const { operationName, variables, extensions, onError } = body as Record<string, unknown>;
  if (operationName !== undefined && operationName !== null && typeof operationName !== "string") {
    return "operationName must be a string.";
  }
  if (!isMap(variables)) return "variables must be an object.";
  if (!isMap(extensions)) return "extensions must be an object.";
  if (onError !== undefined && onError !== null && !BEHAVIORS.includes(onError)) {
    return `onError must be one of: ${BEHAVIORS.join(", ")}.`;
  }
  return undefined;
}

function isMap(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && !Array.isArray(value));
}

/** Sends answers as application/json, unless the caller accepts the newer media type. */
export const MediaTypePlugin: GraphileConfig.Plugin = {
  name: "MediaTypePlugin",
  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest }) {
        const result = await next();
        const accept = requestDigest.headers["accept"] ?? "";
        if (result && "headers" in result && !accept.includes(NEWER_TYPE)) {
          for (const [name, value] of Object.entries(result.headers)) {
            if (value.startsWith(NEWER_TYPE))
              result.headers[name] = value.replace(NEWER_TYPE, "application/json");
          }
        }
        return result;
      },
    },
  },
};

/**
 * Answers errors of requests to /graphql in GraphQL's form, also those of authentication and the rate limit.
 */
export function answerErrors(publicError: (error: unknown) => GraphQLError): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const { statusCode, headers } = apiErrorFrom(error);
    const type = request.get("accept")?.includes(NEWER_TYPE)
      ? request.accepts(MEDIA_TYPES) || "application/json"
      : "application/json";
    response
      .status(statusCode)
      .set(headers)
      .type(type)
      .send(JSON.stringify({ errors: [publicError(error)] }));
  };
}
