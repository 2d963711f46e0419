// The OpenAPI document as a client reads it.
import type { Express } from "express";
import { z } from "zod";

export type Operation = {
  operationId: string;
  tags: string[];
  "x-required-scope": "api_read" | "api_write" | "api_review";
  security?: object[];
  parameters?: {
    name: string;
    in: "path" | "query" | "header";
    required?: boolean;
    description?: string;
    example?: unknown;
    schema?: { description?: string };
  }[];
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<
    string,
    {
      description: string;
      headers?: Record<string, { required?: boolean; schema?: object }>;
      content?: Record<string, Media>;
    }
  >;
};

type Media = {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown; $ref?: string }>;
};

export type Document = {
  openapi: string;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  security: object[];
  components: {
    schemas: Record<string, object>;
    examples: Record<string, { value: ErrorBody }>;
    securitySchemes: Record<string, object>;
  };
};

type ErrorBody = { error: string; statusCode: number };

/** An operation with its place. */
export type Placed = { path: string; method: string; operation: Operation };

export function operationsOf(document: Document): Placed[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Codes of errors that an operation documents for a status. */
export function codesOf({ responses }: Operation, status: number): string[] {
  return Object.keys(responses[status]?.content?.["application/json"]?.examples ?? {});
}

/** A request as the document's own examples make it. */
export function exampleRequest({ path, operation }: Placed): {
  path: string;
  headers: Record<string, string>;
  bodies: { type: string; value: unknown }[];
} {
  const given = (operation.parameters ?? []).filter((parameter) => parameter.example !== undefined);
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let filled = path;
  for (const parameter of given) {
    const values = [parameter.example].flat().map(String);
    if (parameter.in === "path") {
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(values[0]!));
    }
    if (parameter.in === "query") for (const value of values) query.append(parameter.name, value);
    if (parameter.in === "header") headers[parameter.name] = values[0]!;
  }
  const bodies = Object.entries(operation.requestBody?.content ?? {}).flatMap(([type, media]) =>
    [media.example, ...Object.values(media.examples ?? {}).map((example) => example.value)]
      .filter((value) => value !== undefined)
      .map((value) => ({ type, value })),
  );
  return { path: query.size > 0 ? `${filled}?${query.toString()}` : filled, headers, bodies };
}

/** A body as it is sent in a media type. */
export function encode({ type, value }: { type: string; value: unknown }): string {
  if (type === "application/x-www-form-urlencoded") {
    return new URLSearchParams(value as Record<string, string>).toString();
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * What checks an answer against a schema of the document; fields that the schema does not name are refused, unless it
 * is of a standard that has more of them.
 */
export function checkOf(document: Document, schema: object, { open = false } = {}): z.ZodType {
  const closed = JSON.parse(
    JSON.stringify({ ...schema, $defs: document.components.schemas }).replaceAll(
      "#/components/schemas/",
      "#/$defs/",
    ),
    (_key, value: unknown) =>
      !open && typeof value === "object" && value !== null && "properties" in value && "type" in value
        ? { ...value, additionalProperties: false }
        : value,
  ) as Parameters<typeof z.fromJSONSchema>[0];
  return z.fromJSONSchema(closed);
}

type Layer = {
  route?: { path: string; stack: { method?: string }[] };
  handle?: { stack?: Layer[] };
};

/**
 * What an application answers under /v0, from the router itself: `get /v0/needs/{needId}`. Whatever answers every method
 * alike is not an operation: it is a guard, or says 405.
 */
export function servedOperations(app: Express): string[] {
  const walk = (layers: Layer[]): string[] =>
    layers.flatMap(({ route, handle }) => {
      if (!route) return walk(handle?.stack ?? []);
      const methods = new Set(route.stack.flatMap(({ method }) => method ?? []));
      return methods.has("trace") ? [] : [...methods].map((method) => `${method} ${route.path}`);
    });
  return walk((app as unknown as { router: { stack: Layer[] } }).router.stack)
    .filter((operation) => operation.includes(" /v0"))
    .map((operation) => operation.replaceAll(/:(\w+)/g, "{$1}"));
}
