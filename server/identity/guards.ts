// Guards that are made of other guards.
import type { Request, RequestHandler, Response } from "express";

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
