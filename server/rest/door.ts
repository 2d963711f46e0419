// The REST door: serves the routes under /v0.
import type { Request, Response } from "express";
import type { Database } from "../database.ts";
import type { Door } from "../door.ts";
import { ApiError } from "../errors.ts";
import { idempotencyKey, inputReader } from "./input.ts";
import type { RestRoute } from "./route.ts";

/** Serves the routes, and answers 405 for the other methods of their paths. */
export function restDoor(routes: readonly RestRoute[], database: Database): Door {
  const byPath = Map.groupBy(routes, (route) => route.path);
  // Literal paths come first, so that /v0/needs/status is not taken for /v0/needs/{needId}.
  const literalFirst = [...byPath].toSorted(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")));
  return (app, guards) => {
    app.use("/v0", ...guards.key);
    for (const [path, served] of literalFirst) {
      const at = app.route(path.replaceAll(/\{(\w+)\}/g, ":$1"));
      for (const route of served) at[route.method](handler(route, database));
      at.all((request) => {
        const allowed = served.map((route) => route.method.toUpperCase());
        throw new ApiError("method_not_allowed", {
          message: `${request.path} does not support ${request.method}.`,
          headers: {
            allow: [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", "),
          },
        });
      });
    }
  };
}

function handler(route: RestRoute, database: Database) {
  const readInput = inputReader(route);
  const types = ["application/json", ...Object.keys(route.answer.alternatives ?? {})];
  return async (request: Request, response: Response): Promise<void> => {
    if (!request.accepts(types)) {
      throw new ApiError("not_acceptable", { message: `This route can answer with ${types.join(" and ")}.` });
    }
    const input = await readInput(request, response);
    if (route.handle) return route.handle(request, response, input);

    const statement =
      typeof route.statement === "function" ? route.statement(input) : (route.statement ?? "");
    const answer = await database.answer(request.identity, statement, input, idempotencyKey(route, request));
    if (answer === null) throw new ApiError(route.missing ?? "not_found");
    response.status(route.answer.status).type("application/json").send(answer);
  };
}
