// How much one key, and one request, may use.
import type { RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import { ApiError } from "../errors.ts";

/** The longest body of a request, as body parsers take it. */
export const BODY_LIMIT = "256kb";

/** Limits the requests per minute of each key; a key may have a limit of its own. */
export function perKeyLimit(perMinute: number): RequestHandler {
  return rateLimit({
    windowMs: 60_000,
    limit: (request) => request.identity.ratePerMinute ?? perMinute,
    keyGenerator: (request) => request.identity.keyId,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    handler: () => {
      throw new ApiError("rate_limited");
    },
  });
}
