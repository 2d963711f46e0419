// From a request to the checked input of a route.
import express from "express";
import type { Request, Response } from "express";
import type { z } from "zod";
import { ApiError, validationFailed } from "../errors.ts";
import { REQUEST_HEADERS } from "../headers.ts";
import { BODY_LIMIT } from "../identity/limits.ts";
import { verifyJson } from "../text.ts";
import { coercion } from "./coerce.ts";
import type { Input, RestRoute } from "./route.ts";

const parseBody = express.json({
  limit: BODY_LIMIT,
  strict: true,
  type: () => true,
  verify: verifyJson,
});

/**
 * Makes the function that reads a route's input.
 * @throws ApiError 400 naming every input at fault, 413 or 415
 */
export function inputReader(route: RestRoute): (request: Request, response: Response) => Promise<Input> {
  const { params, query, headers, body } = route;
  const parts: [z.ZodObject, (request: Request) => unknown][] = [];
  if (params) parts.push([params, ofStrings(params, (request) => request.params)]);
  if (query) parts.push([query, ofStrings(query, (request) => request.query)]);
  if (headers) parts.push([headers, (request) => headerValues(headers, request)]);
  if (body) parts.push([body, (request) => (request.body as unknown) ?? {}]);
  return async (request, response) => {
    if (body) await readBody(request, response);
    const results = parts.map(([schema, read]) => ({ schema, result: schema.safeParse(read(request)) }));
    const problems = results.flatMap(({ schema, result }) =>
      (result.error?.issues ?? []).map((issue) => detailOf(issue, schema === headers)),
    );
    if (problems.length > 0) throw validationFailed(problems);
    return Object.assign({}, ...results.map(({ result }) => result.data)) as Input;
  };
}

/** The Idempotency-Key of a request to a route that takes one. */
export function idempotencyKey(route: RestRoute, request: Request): string | undefined {
  const key = route.idempotent ? request.get(REQUEST_HEADERS.idempotencyKey) : undefined;
  if (key !== undefined && (key.length === 0 || key.length > 255)) {
    throw validationFailed([{ path: "Idempotency-Key", message: "must have 1 to 255 characters" }]);
  }
  return key;
}

/** The header from which a route reads the input of this name. */
export function headerOf(name: string): string {
  return (REQUEST_HEADERS as Readonly<Record<string, string>>)[name] ?? name;
}

function headerValues(schema: z.ZodObject, request: Request): Record<string, string | undefined> {
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, request.get(headerOf(name))]));
}

function ofStrings(schema: z.ZodObject, read: (request: Request) => object) {
  const coerce = coercion(schema);
  return (request: Request) => coerce(read(request) as Record<string, unknown>);
}

function readBody(request: Request, response: Response): Promise<void> {
  if (!request.is("application/json")) throw new ApiError("unsupported_media_type");
  return new Promise((done, failed) => {
    parseBody(request, response, (error?: unknown) => (error ? failed(error) : done()));
  });
}

function detailOf(issue: z.core.$ZodIssue, inHeaders: boolean): { path: string; message: string } {
  const unknown = issue.code === "unrecognized_keys" ? issue.keys.join(", ") : undefined;
  const path = [...issue.path, ...(unknown ? [unknown] : [])].reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part),
    "",
  );
  return {
    path: inHeaders ? headerOf(path) : path,
    message: unknown ? "is not a field of this request" : issue.message,
  };
}
