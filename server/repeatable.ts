// Requests that a caller may send again without having their work done twice, at every door that takes an Idempotency-Key.
import type { Request } from "express";
import { validationFailed } from "./errors.ts";
import { REQUEST_HEADERS } from "./headers.ts";

/** How a refusal calls the header. */
const HEADER = "Idempotency-Key";

/** A request that a caller may send again. */
export type Repeatable = {
  /** the caller's name for it */
  key: string;
  /** what it consists of, as it was sent */
  request: { method: string; path: string; body: unknown };
};

declare global {
  namespace Express {
    interface Request {
      /** Set where the answer is made by others than those who have read the request. */
      repeatable?: Repeatable | undefined;
    }
  }
}

/**
 * A request as one that may be sent again, if its caller says so.
 * @throws ApiError 400 for a key that is none
 */
export function repeatableOf(request: Request): Repeatable | undefined {
  const key = request.get(REQUEST_HEADERS.idempotencyKey);
  if (key === undefined) return undefined;
  if (key.length === 0 || key.length > 255) throw notRepeatable("must have 1 to 255 characters");
  // With or without it, it is the same path.
  const path = request.path.replace(/\/$/, "");
  return { key, request: { method: request.method, path, body: request.body as unknown } };
}

/** The refusal of a request for its Idempotency-Key. */
export function notRepeatable(message: string): Error {
  return validationFailed([{ path: HEADER, message }]);
}
