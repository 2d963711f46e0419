// What a REST route is: schemas for what goes in and out, and the statement that answers. The OpenAPI document,
// the validation and the served routes all come from these definitions.
import express from "express";
import type { Request, Response, Router } from "express";
import type { z } from "zod";
import { ApiError, validationFailed } from "../errors.ts";
import { coercion } from "./coerce.ts";
import type { Database } from "./statement.ts";

/** The checked input of a request: path parameters, query and body together. */
export type Input = Record<string, unknown>;

/** One REST route. */
export type RestRoute = {
  method: "get" | "post";
  /** As in OpenAPI: /v0/needs/{needId}. */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodObject;
  /** Status and schema of success. */
  answer: {
    status: 200 | 201;
    schema: z.ZodType;
    /** Schemas of media types beside application/json. */
    alternatives?: Record<string, z.ZodType>;
    /** Headers of this route's own. */
    headers?: Record<string, { description: string; schema: { type: "string"; enum?: string[] } }>;
    description: string;
  };
  /** Registered codes that this route can answer beside those that every route can. */
  errors: readonly string[];
  /** Takes an Idempotency-Key. */
  idempotent?: boolean;
  /** What else the statement needs to know, that is not the caller's to say. */
  context?: (request: Request) => Input;
  /** The SQL that answers with one text of JSON; its $1 is the input. No row at all is `missing`. */
  statement?: string | ((input: Input) => string);
  /** The refusal when the statement answers null. */
  missing?: { code: string; message: string };
  /** Instead of a statement, for a route whose answer does not come from one. */
  handle?: (request: Request, response: Response, input: Input) => Promise<void>;
};

const BODY_LIMIT = "256kb";
const parseBody = express.json({ limit: BODY_LIMIT, strict: true, type: () => true });

/** Serves the routes, and answers 405 for the other methods of their paths. */
export function mountRoutes(router: Router, routes: readonly RestRoute[], database: Database): void {
  const byPath = Map.groupBy(routes, (route) => route.path);
  // A literal path is not a parameter's value: /v0/needs/status before /v0/needs/{needId}.
  const literalFirst = [...byPath].toSorted(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")));
  for (const [path, served] of literalFirst) {
    const at = router.route(path.replaceAll(/\{(\w+)\}/g, ":$1"));
    for (const route of served) {
      at[route.method](handler(route, database));
    }
    at.all((request) => {
      const allowed = served.map((route) => route.method.toUpperCase());
      throw new ApiError(405, "method_not_allowed", `${request.path} does not answer ${request.method}.`, {
        headers: { allow: [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ") },
      });
    });
  }
}

function handler(route: RestRoute, database: Database) {
  const check = inputCheck(route);
  return async (request: Request, response: Response): Promise<void> => {
    const types = ["application/json", ...Object.keys(route.answer.alternatives ?? {})];
    if (!request.accepts(types)) {
      throw new ApiError(406, "not_acceptable", `This route answers ${types.join(" and ")}.`);
    }
    if (route.body) await readBody(request, response);
    const input = { ...check(request), ...route.context?.(request) };
    if (route.handle) return route.handle(request, response, input);

    const statement =
      typeof route.statement === "function" ? route.statement(input) : (route.statement ?? "");
    const answer = await database.answer(request.identity, statement, input, idempotencyKey(route, request));
    if (answer === null) {
      throw new ApiError(
        404,
        route.missing?.code ?? "not_found",
        route.missing?.message ?? "There is no such record.",
      );
    }
    response.status(route.answer.status).type("application/json").send(answer);
  };
}

function readBody(request: Request, response: Response): Promise<void> {
  if (!request.is("application/json")) {
    throw new ApiError(415, "unsupported_media_type", "Send the body as application/json.");
  }
  return new Promise((done, failed) => {
    parseBody(request, response, (error?: unknown) => (error ? failed(error) : done()));
  });
}

function inputCheck(route: RestRoute): (request: Request) => Input {
  const { params, query, headers, body } = route;
  const parts: [z.ZodObject, (request: Request) => unknown][] = [];
  if (params) parts.push([params, ofStrings(params, (request) => request.params)]);
  if (query) parts.push([query, ofStrings(query, (request) => request.query)]);
  if (headers) parts.push([headers, ofStrings(headers, (request) => request.headers)]);
  if (body) parts.push([body, (request) => (request.body as unknown) ?? {}]);
  return (request) => {
    const results = parts.map(([schema, read]) => schema.safeParse(read(request)));
    const issues = results.flatMap((result) => result.error?.issues ?? []);
    if (issues.length > 0) throw validationFailed(issues.map(detailOf));
    return Object.assign({}, ...results.map((result) => result.data)) as Input;
  };
}

function ofStrings(schema: z.ZodObject, read: (request: Request) => object) {
  const coerce = coercion(schema);
  return (request: Request) => coerce(read(request) as Record<string, unknown>);
}

function detailOf(issue: z.core.$ZodIssue): { path: string; message: string } {
  const unknown = issue.code === "unrecognized_keys" ? issue.keys.join(", ") : undefined;
  const path = [...issue.path, ...(unknown ? [unknown] : [])].reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part),
    "",
  );
  return { path, message: unknown ? "is not a field of this request" : issue.message };
}

function idempotencyKey(route: RestRoute, request: Request): string | undefined {
  const key = route.idempotent ? request.get("idempotency-key") : undefined;
  if (key !== undefined && (key.length === 0 || key.length > 255)) {
    throw validationFailed([{ path: "Idempotency-Key", message: "must have 1 to 255 characters" }]);
  }
  return key;
}
