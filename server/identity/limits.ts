// How much one key may use.
import type { RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import { ApiError } from "../errors.ts";

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
