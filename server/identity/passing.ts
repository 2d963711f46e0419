// What guards a request, asked by another guard.
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
