// Guards that ask other guards.
import type { Request, RequestHandler, Response } from "express";

/**
 * Has a guard look at a request, and resolves when it has let it pass.
 * @throws what it throws, or hands on as Express has it
 */
export function pass(guard: RequestHandler, request: Request, response: Response): Promise<void> {
  return new Promise((passed, refused) => {
    const outcome: unknown = guard(request, response, (error?: unknown) =>
      error === undefined ? passed() : refused(error),
    );
    Promise.resolve(outcome).catch(refused);
  });
}

/** Has a guard look at those requests only of which is known whose they are. */
export function ifKnown(guard: RequestHandler): RequestHandler {
  return (request, response, next) => ("identity" in request ? guard(request, response, next) : next());
}

/** Has a guard look at the others. */
export function ifNobody(guard: RequestHandler): RequestHandler {
  return (request, response, next) => ("identity" in request ? next() : guard(request, response, next));
}
