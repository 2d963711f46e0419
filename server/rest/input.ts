// Reads and checks the input of a route.
import express from "express";
import type { Request, Response } from "express";
import type { z } from "zod";
import { ApiError } from "../errors.ts";
import { REQUEST_HEADERS } from "../headers.ts";
import { pass } from "../identity/guards.ts";
import { BODY_LIMIT } from "../identity/limits.ts";
import { reading } from "../identity/still-known.ts";
import { verifyJson } from "../text.ts";
import { malformed, readAs, strictly } from "./body.ts";
import { coercion } from "./coerce.ts";
import type { Input, RestRoute } from "./route.ts";

const parseBody = reading(
  express.json({
    limit: BODY_LIMIT,
    // JSON that is not an object is refused below, with a message of its own.
    strict: false,
    type: () => true,
    verify: (request, response, body, charset) => {
      if (body.length === 0) throw emptyBody();
      verifyJson(request, response, body, charset);
    },
  }),
);

/**
 * Makes the function that reads a route's input.
 * @throws ApiError 400 naming every input at fault, 413 or 415
 */
export function inputReader(route: RestRoute): (request: Request, response: Response) => Promise<Input> {
  const { params, query, headers, body } = route;
  const parts: [z.ZodObject, (request: Request) => unknown, typeof readAs?][] = [];
  if (params) parts.push([params, ofStrings(params, (request) => request.params)]);
  if (query) parts.push([query, ofStrings(query, (request) => request.query)]);
  if (headers) parts.push([headers, (request) => headerValues(headers, request)]);
  if (body) parts.push([body, (request) => request.body as unknown, readAs]);
  return async (request, response) => {
    if (body) await readBody(request, response);
    const results = parts.map(([schema, read, parse = strictly]) => ({
      schema,
      result: parse(schema, read(request)),
    }));
    const issues = results.flatMap(({ schema, result }) =>
      (result.error?.issues ?? []).map((issue) =>
        schema === headers ? { ...issue, path: issue.path.map((name) => headerOf(String(name))) } : issue,
      ),
    );
    if (issues.length > 0) throw malformed(issues);
    return Object.assign({}, ...results.map(({ result }) => result.data)) as Input;
  };
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

async function readBody(request: Request, response: Response): Promise<void> {
  // Without a body its media type does not matter.
  const length = request.get("content-length") ?? "0";
  if (request.get("transfer-encoding") === undefined && Number(length) === 0) throw emptyBody();
  if (!request.is("application/json")) throw new ApiError("unsupported_media_type");
  await pass(parseBody, request, response);
  const body = request.body as unknown;
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return;
  const given = body === null ? "null" : Array.isArray(body) ? "a list" : `a ${typeof body}`;
  throw new ApiError("validation_failed", {
    message: `The body must be a JSON object with the fields of this request, not ${given}.`,
  });
}

function emptyBody(): ApiError {
  return new ApiError("validation_failed", {
    message: "The body is empty; send a JSON object with the fields of this request.",
  });
}
