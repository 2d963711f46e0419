// Requests that may be repeated without being carried out twice, at every door that takes an Idempotency-Key.
import type { Request } from "express";
import { validationFailed } from "./errors.ts";
import { REQUEST_HEADERS } from "./headers.ts";

/** The name of the header in refusals. */
const HEADER = "Idempotency-Key";

/** A request that a caller may send again. */
export type Repeatable = {
  /** the caller's name for it */
  key: string;
  /** what it consists of */
  request: { method: string; path: string; body: unknown };
};

declare global {
  namespace Express {
    interface Request {
      /** Set if the code that makes the answer is not the code that has read the request. */
      repeatable?: Repeatable | undefined;
    }
  }
}

/**
 * A request with its idempotency key, if it has one.
 * @param path of what is asked, however its literal parts were spelled in the request
 * @throws ApiError 400 for an invalid key
 */
export function repeatableOf(request: Request, path: string): Repeatable | undefined {
  const key = request.get(REQUEST_HEADERS.idempotencyKey);
  if (key === undefined) return undefined;
  if (key.length === 0 || key.length > 255) throw notRepeatable("must have 1 to 255 characters");
  return { key, request: { method: request.method, path, body: request.body as unknown } };
}

/** The refusal of a request for its Idempotency-Key. */
export function notRepeatable(message: string): Error {
  return validationFailed([{ path: HEADER, message }]);
}
