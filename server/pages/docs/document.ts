// The parts of the OpenAPI document (made by server/openapi) that the API reference reads.

/** JSON Schema, as far as the document uses it. */
export type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  deprecated?: boolean;
  default?: unknown;
  const?: unknown;
  enum?: readonly unknown[];
  examples?: readonly unknown[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

export type Parameter = {
  name: string;
  in: "query" | "path" | "header";
  required?: boolean;
  description?: string;
  example?: string | number | boolean;
  schema: Schema;
};

type Example = { summary?: string; value: unknown };

export type MediaType = {
  schema?: Schema;
  example?: unknown;
  examples?: Readonly<Record<string, Example | { $ref: string }>>;
};

type Answer = { description: string; content?: Readonly<Record<string, MediaType>> };

export type Operation = {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  deprecated?: boolean;
  parameters?: readonly Parameter[];
  requestBody?: { required?: boolean; content: Readonly<Record<string, MediaType>> };
  responses: Readonly<Record<string, Answer>>;
};

export type OpenApi = {
  info: { description: string };
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
};
