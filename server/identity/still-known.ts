// A caller is identified when the request arrives, but the body may take half a minute after that, and so may
// its turn. If the caller's key or session is revoked meanwhile, or given fewer rights, that applies to work
// that has not begun.
import type { Request, RequestHandler } from "express";
import { pass } from "./guards.ts";
import type { Identity } from "./identity.ts";

/** How long an identification holds once all of the request is there. */
const FRESH_MS = 1_000;

declare global {
  namespace Express {
    interface Request {
      /**
       * How to identify the caller again, and when it was last done; undefined if the body was incomplete.
       */
      known?: { identify: () => Promise<Identity>; at: number | undefined };
    }
  }
}

/** Keeps how to identify a request's caller, which has just been done. */
export function keepKnowing(request: Request, identify: () => Promise<Identity>): void {
  request.known = { identify, at: request.complete ? performance.now() : undefined };
}

/**
 * Identifies the caller again if that was last done before all of the request was there, or a while ago.
 * @returns whether it was done
 * @throws what identifying throws: ApiError 401, 403
 */
export async function knowStill(request: Request): Promise<boolean> {
  const { known } = request;
  if (!known || (known.at !== undefined && performance.now() - known.at < FRESH_MS)) return false;
  request.identity = await known.identify();
  known.at = performance.now();
  return true;
}

/** Reads a body, and then identifies the caller again. */
export function reading(read: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    await pass(read, request, response);
    await knowStill(request);
    next();
  };
}
