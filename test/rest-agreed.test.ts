// What REST takes and answers, to the letter: the clients of the earlier service and those of today rely on each field. Whoever
// means to change some of it runs `npm test -- test/rest-agreed -u` and says so in CHANGELOG.md.
import { describe, expect, test } from "@jest/globals";
import { withOpenApi } from "../server/openapi/document.ts";
import { allRoutes } from "../server/resources/index.ts";
import { codesOf, operationsOf } from "./support/openapi.ts";
import type { Document, Placed } from "./support/openapi.ts";

type Schema = {
  $ref?: string;
  const?: unknown;
  enum?: unknown[];
  type?: string;
  format?: string;
  pattern?: string;
  default?: unknown;
  deprecated?: boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
} & Partial<Record<"minLength" | "maxLength" | "minItems" | "maxItems" | "minimum" | "maximum", number>>;

const { document: text } = withOpenApi(allRoutes({} as Parameters<typeof allRoutes>[0]), {
  ...{ graphDataUrl: "https://data.example", namespaceUrl: "https://data.example/core#" },
  platformUrl: undefined,
});
const document = JSON.parse(text) as Document;

/** A schema in short: {orgUri: string(uri ≤2048), limit?: integer(1..200) = 50}. */
function inShort(schema: Schema = {}): string {
  const { anyOf, oneOf, allOf, default: otherwise, deprecated } = schema;
  const said = [
    anyOf ? anyOf.map(inShort).join(" | ") : "",
    oneOf ? oneOf.map(inShort).join(" | ") : "",
    allOf ? allOf.map(inShort).join(" & ") : "",
    bare(schema),
    otherwise === undefined ? "" : `= ${JSON.stringify(otherwise)}`,
    deprecated ? "deprecated" : "",
  ];
  return said.filter((part) => part !== "").join(" ");
}

function bare({ $ref, enum: values, items, properties, additionalProperties, ...schema }: Schema): string {
  if ($ref) return $ref.split("/").at(-1)!;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (values) return values.join("|");
  if (items) return `[${inShort(items)}]${boundsOf(schema.minItems, schema.maxItems)}`;
  if (properties) {
    const required = new Set(schema.required);
    const fields = Object.entries(properties).map(
      ([name, field]) =>
        `  ${name}${required.has(name) ? "" : "?"}: ${inShort(field).replaceAll("\n", "\n  ")}`,
    );
    return ["{", ...fields, additionalProperties === false ? "  and nothing else\n}" : "}"].join("\n");
  }
  const { type = "", format = "", pattern = "", minLength, maxLength, minimum, maximum } = schema;
  // How the library writes what a standard says changes with its version.
  const own = ["date", "date-time", "uuid"].includes(format) ? "" : pattern;
  const bounds = [format, own, boundsOf(minLength, maxLength), boundsOf(minimum, maximum)];
  const within = bounds.filter((part) => part !== "").join(" ");
  return within === "" ? type : `${type}(${within})`;
}

function boundsOf(least?: number, most?: number): string {
  const [from, to] = [least, most].map((bound) =>
    Math.abs(bound ?? NaN) < Number.MAX_SAFE_INTEGER ? bound : undefined,
  );
  return from === undefined && to === undefined ? "" : `${from ?? ""}..${to ?? ""}`;
}

function agreed({ path, method, operation }: Placed): string {
  const { parameters = [], requestBody, responses, operationId, tags } = operation;
  return [
    `${method.toUpperCase()} ${path}: ${operationId}, ${operation["x-required-scope"]}, of ${tags.join(", ")}`,
    ...parameters.map(
      ({ in: where, name, required, schema }) =>
        `${where} ${name}${required ? "" : "?"}: ${inShort(schema as Schema)}`,
    ),
    ...Object.entries(requestBody?.content ?? {}).map(
      ([type, { schema }]) => `takes ${type}: ${inShort(schema as Schema)}`,
    ),
    ...Object.entries(responses).flatMap(([status, { content = {}, headers = {} }]) => [
      `${status}: ${Object.entries(headers)
        .map(([name, { required, schema }]) => {
          const { enum: known = [] }: Schema = schema ?? {};
          const values = known.join("|");
          return `${name}${required === false ? "?" : ""}${values && ` (${values})`}`;
        })
        .join(", ")}`,
      ...(Number(status) < 400
        ? Object.entries(content).map(([type, { schema }]) => `  ${type}: ${inShort(schema as Schema)}`)
        : [`  ${codesOf(operation, Number(status)).join(", ")}`]),
    ]),
  ].join("\n");
}

describe("takes and answers what was agreed", () => {
  test.each(operationsOf(document).map((placed) => [`${placed.method} ${placed.path}`, placed] as const))(
    "%s",
    (_, placed) => expect(agreed(placed)).toMatchSnapshot(),
  );
});

describe("has the fields that were agreed", () => {
  test.each(Object.entries(document.components.schemas))("%s", (_, schema) =>
    expect(inShort(schema as Schema)).toMatchSnapshot(),
  );
});

test("what a status means is said in words that belong to it, wherever it is answered", () => {
  const said = new Map<string, Set<string>>();
  for (const { operation } of operationsOf(document)) {
    // JSON-RPC has meanings of its own.
    if (operation.operationId === "callTool") continue;
    for (const [status, { description }] of Object.entries(operation.responses))
      if (Number(status) >= 400) said.set(status, (said.get(status) ?? new Set()).add(description));
  }
  const words = {
    ...{
      400: /not well-formed/,
      401: /key or token is missing/,
      403: /may not do this/,
      404: /no such record/,
    },
    ...{
      406: /Accept/,
      409: /conflicts/,
      410: /no longer kept/,
      413: /too large/,
      415: /media type or encoding/,
    },
    ...{ 422: /does not exist/, 429: /Too many/, 500: /failed/, 503: /does not answer/, 504: /too long/ },
  };
  expect([...said.keys()].toSorted()).toEqual(Object.keys(words));
  for (const [status, word] of Object.entries(words))
    expect([...said.get(status)!]).toEqual([expect.stringMatching(word)]);
});
