// The REST door: serves the routes under /v0.
import type { Request, Response } from "express";
import type { Database } from "../database.ts";
import { withAllowed } from "../door.ts";
import type { Door } from "../door.ts";
import { ApiError, apiErrorFrom, validationFailed } from "../errors.ts";
import { repeatableOf } from "../repeatable.ts";
import { requireAcceptable, sendAnswer } from "./answer.ts";
import { headerOf, inputReader } from "./input.ts";
import { readPage } from "./list.ts";
import type { RestRoute } from "./route.ts";

/** Serves the routes, and answers 405 for the other methods of their paths. */
export function restDoor(routes: readonly RestRoute[], database: Database): Door {
  const byPath = Map.groupBy(routes, (route) => route.path);
  // Literal paths come first, so that /v0/needs/status is not taken for /v0/needs/{needId}.
  const literalFirst = [...byPath].toSorted(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")));
  const allowed = allowedAt(literalFirst);
  return withAllowed(allowed, (app, guards) => {
    app.use("/v0", ...guards.key);
    for (const [path, served] of literalFirst) {
      const at = app.route(path.replaceAll(/\{(\w+)\}/g, ":$1"));
      for (const route of served) at[route.method](handler(route, database));
      at.all((request) => {
        throw new ApiError("method_not_allowed", {
          message: `${request.path} does not support ${request.method}.`,
          headers: { allow: allowed(request.path) ?? "" },
        });
      });
    }
  });
}

/** The methods allowed at a path; paths are matched as Express does it. */
function allowedAt(
  byPath: readonly (readonly [path: string, served: readonly RestRoute[]])[],
): (path: string) => string | undefined {
  const known = byPath.map(([path, served]) => {
    const methods = served.map((route) => route.method.toUpperCase());
    return {
      parts: path.split("/"),
      methods: [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", "),
    };
  });
  return (path) => {
    const given = path.replace(/\/$/, "").split("/");
    const fits = (part: string, at: number) =>
      part.startsWith("{") ? given[at] !== "" : part === given[at]?.toLowerCase();
    return known.find(({ parts }) => parts.length === given.length && parts.every(fits))?.methods;
  };
}

function handler(route: RestRoute, database: Database) {
  const readInput = inputReader(route);
  const types = ["application/json", ...Object.keys(route.answer.alternatives ?? {})];
  return async (request: Request, response: Response): Promise<void> => {
    requireAcceptable(request, types);
    const input = await readInput(request, response);
    if (route.handle) {
      return sendAnswer(request, response, await route.handle(request, response, input), route);
    }
    if (route.list) {
      return sendAnswer(
        request,
        response,
        await readPage(database, route.list, input, { request, response }),
      );
    }
    const statement =
      typeof route.statement === "function" ? route.statement(input) : (route.statement ?? "");
    const asking =
      route.method === "get"
        ? database.read(request.identity, statement, input)
        : database.answer(
            request.identity,
            statement,
            input,
            route.idempotent ? repeatableOf(request, filled(route.path, request.params)) : undefined,
          );
    const answer = await asking.catch((error: unknown) => {
      throw byHeaders(route, error);
    });
    if (answer === null) throw new ApiError(route.missing ?? "not_found");
    response.status(route.answer.status);
    if (route.answer.status === 201)
      response.location(filled(route.answer.location, JSON.parse(answer) as Record<string, unknown>));
    return sendAnswer(request, response, answer, route);
  };
}

/** Names inputs in a refusal as the caller knows them: the rules know their names, some came in a header. */
function byHeaders({ headers }: RestRoute, error: unknown): unknown {
  const { code, details } = apiErrorFrom(error);
  if (!headers || code !== "validation_failed" || !details) return error;
  return validationFailed(
    details.map(({ path, message }) => ({ path: path in headers.shape ? headerOf(path) : path, message })),
  );
}

/** Fills a path with the ids of what was created, or is asked for. */
function filled(path: string, ids: Readonly<Record<string, unknown>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, id: string) => String(ids[id]));
}
