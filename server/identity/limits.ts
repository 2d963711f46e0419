// What one key may use up.
import type { RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import { ApiError } from "../errors.ts";

/** So many requests a minute for each key; a key may carry its own number. */
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
