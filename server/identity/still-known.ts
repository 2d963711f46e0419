// Whose a request is, is found out when it comes. Its body may take half a minute after that, and so may its turn. What is taken
// from a caller meanwhile, their key or their session or a part of what either may do, is taken from what has not begun.
import type { Request, RequestHandler } from "express";
import { pass } from "./guards.ts";
import type { Identity } from "./identity.ts";

/** For so long whoever sent a request is taken for who they were, once all of it is there. */
const FRESH_MS = 1_000;

declare global {
  namespace Express {
    interface Request {
      /** How to find out whose it is, and when that was done last; undefined where it was still to come by then. */
      known?: { identify: () => Promise<Identity>; at: number | undefined };
    }
  }
}

/** Keeps how it was found out whose a request is, which has just been done. */
export function keepKnowing(request: Request, identify: () => Promise<Identity>): void {
  request.known = { identify, at: request.complete ? performance.now() : undefined };
}

/**
 * Finds out once more whose a request is, where that was before all of it was there, or a while ago.
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

/** Has a body read, and hands on what is still its caller's to do. */
export function reading(read: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    await pass(read, request, response);
    await knowStill(request);
    next();
  };
}
