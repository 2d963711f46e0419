// What is known of the request that is being answered, wherever its answer is made: its id, which everything that is told
// of it carries, and the errors that it ended in.
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import type { ErrorCode } from "./errors.ts";
import { REQUEST_HEADERS, RESPONSE_HEADERS } from "./headers.ts";

/** A request that is being answered. */
export type RequestContext = {
  readonly id: string;
  /** What the caller was refused or what failed, by code; a GraphQL request can have several. */
  readonly errors: Set<ErrorCode>;
  /** Says when to try again, unless the answer has begun. */
  readonly retryAfter: (seconds: number) => void;
};

const contexts = new AsyncLocalStorage<RequestContext>();
const answered = new WeakMap<ServerResponse, RequestContext>();

// Long enough for what proxies make, and with nothing in it that a log, a header or a shell could stumble over.
const SANE_ID = /^[\w.:=/+-]{1,64}$/;

/** Gives each request an id, the caller's own if it is fit for use, and tells it in the answer. */
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

/** The request that a response answers, for who is not called by it; undefined before it has its name. */
export function requestOf(response: ServerResponse): RequestContext | undefined {
  return answered.get(response);
}
