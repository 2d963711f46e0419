// The request that is being answered, wherever its answer is made: its id, which is in everything that is
// logged or answered, and the errors that it ended in.
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import type { ErrorCode } from "./errors.ts";
import { REQUEST_HEADERS, RESPONSE_HEADERS } from "./headers.ts";

/** A request that is being answered. */
export type RequestContext = {
  readonly id: string;
  /** Codes of what was refused or failed; a GraphQL request can have several. */
  readonly errors: Set<ErrorCode>;
  /** Sets Retry-After, unless the answer has begun. */
  readonly retryAfter: (seconds: number) => void;
};

const contexts = new AsyncLocalStorage<RequestContext>();
const answered = new WeakMap<ServerResponse, RequestContext>();

// Long enough for the ids of proxies, with nothing that a log, a header or a shell could stumble over.
const SANE_ID = /^[\w.:=/+-]{1,64}$/;

/** Gives each request an id, the caller's own if it is suitable, and returns it in the answer. */
export const nameRequest: RequestHandler = (request, response, next) => {
  const given = request.get(REQUEST_HEADERS.requestId);
  const id = given !== undefined && SANE_ID.test(given) ? given : randomUUID();
  response.set(RESPONSE_HEADERS.requestId, id);
  const retryAfter = (seconds: number) => {
    if (!response.headersSent) response.set(RESPONSE_HEADERS.retryAfter, String(seconds));
  };
  const context = { id, errors: new Set<ErrorCode>(), retryAfter };
  answered.set(response, context);
  contexts.run(context, next);
};

/** The request that is being answered; undefined outside of one. */
export function currentRequest(): RequestContext | undefined {
  return contexts.getStore();
}

/** Does something that is not about the request that happened to bring it about, nor is what it logs. */
export function apart<T>(work: () => T): T {
  return contexts.exit(work);
}

/** The context of a response, for code that runs outside of its request; undefined before nameRequest. */
export function requestOf(response: ServerResponse): RequestContext | undefined {
  return answered.get(response);
}
