import { z } from "zod";

type Property = { type?: string; items?: Property };

/**
 * Turns the strings of a query or a path into the types that a schema asks for. A string that does not
 * look like such a value stays a string, so that validation can refuse it by name.
 * @returns a function from Express's query object to the schema's input
 */
export function coercion(schema: z.ZodObject): (query: Record<string, unknown>) => Record<string, unknown> {
  const { properties } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as {
    properties?: Record<string, Property>;
  };
  const types = Object.entries(properties ?? {});
  return (query) => {
    const input: Record<string, unknown> = {};
    for (const [name, property] of types) {
      const value = query[name];
      if (value !== undefined) input[name] = coerce(value, property);
    }
    return input;
  };
}

function coerce(value: unknown, { type, items = {} }: Property): unknown {
  if (type === "array") return [value].flat().map((item) => coerce(item, items));
  if (typeof value !== "string") return value;
  switch (type) {
    case "integer":
    case "number":
      return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) ? Number(value) : value;
    case "boolean":
      return value === "true" ? true : value === "false" ? false : value;
    default:
      return value;
  }
}
