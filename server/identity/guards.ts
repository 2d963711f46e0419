// Guards that are made of other guards.
import type { Request, RequestHandler, Response } from "express";
import { apiErrorFrom } from "../errors.ts";

/**
 * Runs a guard, and resolves when it has let the request pass.
 * @throws what the guard throws, or passes on to `next`
 */
export function pass(guard: RequestHandler, request: Request, response: Response): Promise<void> {
  return new Promise((passed, refused) => {
    const outcome: unknown = guard(request, response, (error?: unknown) =>
      error === undefined ? passed() : refused(error),
    );
    Promise.resolve(outcome).catch(refused);
  });
}

/** Applies a guard only to requests whose caller is known. */
export function ifKnown(guard: RequestHandler): RequestHandler {
  return (request, response, next) => ("identity" in request ? guard(request, response, next) : next());
}

/** Applies a guard only to requests whose caller is not known. */
export function ifNobody(guard: RequestHandler): RequestHandler {
  return (request, response, next) => ("identity" in request ? next() : guard(request, response, next));
}

/** Lets a request pass as well if what the guard needs is not available. */
export function unlessAway(guard: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    try {
      await pass(guard, request, response);
    } catch (error) {
      if (apiErrorFrom(error).statusCode !== 503) throw error;
    }
    next();
  };
}
