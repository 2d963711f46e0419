// A body may take half a minute to come, after it is known whose it is. What is taken from a caller meanwhile, their key or
// their session or a part of what either may do, is taken from what they are still sending.
import type { Request, RequestHandler } from "express";
import { pass } from "./identity/guards.ts";
import type { Identity } from "./identity/identity.ts";

declare global {
  namespace Express {
    interface Request {
      /** Where the body was still to come when it was found out whose it is: finds it out once more. */
      identifyAgain?: () => Promise<Identity>;
    }
  }
}

/**
 * Identifies the caller of a request once more, whose body has come meanwhile.
 * @throws what identifying throws: ApiError 401, 403
 */
export async function knowStill(request: Request): Promise<void> {
  if (request.identifyAgain) request.identity = await request.identifyAgain();
}

/** Has a body read, and hands on what is still its caller's to do. */
export function reading(read: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    await pass(read, request, response);
    await knowStill(request);
    next();
  };
}
