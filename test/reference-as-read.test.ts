// The API reference word by word, of a document in which no two things are alike.
import { expect, test } from "@jest/globals";
import { docs } from "../server/pages/docs.ts";
import type { Shown, Visit } from "../server/pages/page.ts";
import { asRead } from "./support/as-read.ts";

const DOCUMENT = {
  info: { description: "First `code`.\n\nSecond." },
  tags: [
    { name: "Two words", description: "Of two words." },
    { name: "Other", description: "Of another." },
  ],
  paths: {
    "/v0/things/{thingId}": {
      get: {
        ...{ operationId: "getThing", tags: ["Two words"], summary: "Read a thing", deprecated: true },
        parameters: [
          {
            name: "thingId",
            in: "path",
            required: true,
            example: "t1",
            schema: { type: "string", format: "uuid" },
          },
          {
            ...{ name: "kinds", in: "query", description: "Of these kinds." },
            schema: { type: "array", items: { enum: ["a", "b"] }, maxItems: 5 },
          },
          {
            ...{ name: "limit", in: "query", example: 7 },
            schema: { type: "integer", minimum: 1, maximum: 200, default: 50, description: "How many." },
          },
          { name: "order", in: "query", example: "down", schema: { enum: ["up", "down"], deprecated: true } },
          { name: "whole", in: "header", schema: { type: "boolean" } },
          { name: "above", in: "query", schema: { type: "integer", minimum: 0, maximum: 9 } },
          { name: "below", in: "query", schema: { type: "integer", minimum: -9, maximum: 0 } },
        ],
        responses: {
          200: {
            description: "It is `there`.",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
          },
          404: {
            description: "It is not.",
            content: { "application/json": { examples: { thing_not_found: {}, gone: {} } } },
          },
        },
      },
    },
    "/v0/others": {
      post: {
        ...{ operationId: "makeOther", tags: ["Other"], summary: "Make another", description: "Makes one." },
        requestBody: {
          content: {
            "application/json": {
              schema: {
                required: ["name"],
                properties: {
                  name: { type: "string", minLength: 1, maxLength: 64 },
                  note: { anyOf: [{ type: "string", maxLength: 9 }, { type: "null" }], description: "Why." },
                },
              },
              examples: { one: { summary: "One", value: { name: "A" } }, two: { value: { name: "B" } } },
            },
            "application/x-www-form-urlencoded": { example: { name: "C D" } },
          },
        },
        responses: {
          201: { description: "Made.", content: { "application/json": { schema: { const: 1 } } } },
        },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        required: ["id"],
        properties: {
          id: { type: "string" },
          parts: { type: "array", items: { properties: { n: { type: ["integer", "null"], minimum: 0 } } } },
          far: { type: "integer", minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
        },
      },
    },
  },
};

test("the API reference tells what each operation takes and answers, and where each object is", async () => {
  const page = docs(JSON.stringify(DOCUMENT));
  const read = async (visitor?: object) => asRead(((await page.show({ visitor } as Visit)) as Shown).content);
  const text = await read();
  const start = text.indexOf("First code.");
  expect(text.slice(start)).toEqual([
    ...["First code.", "Second."],
    "For programs: [the OpenAPI document](/docs/openapi.json), from which this page is made.",
    ...["[Two words](#two-words)", "[Other](#other)", "[Objects](#objects)"],
    ...["Two words", "Of two words."],
    "GET /v0/things/{thingId}",
    "Deprecated. Read a thing",
    "Read a thing",
    "→",
    "thingId path, string, uuid, required {thingId=t1 required}",
    "kinds query, list of a or b, at most 5 items {kinds=}",
    "Of these kinds. Separate several values by commas.",
    "limit query, integer, 1 to 200 {limit=7}",
    "How many. Otherwise 50.",
    "order query, up or down {order=} | | up|* down",
    "Deprecated.",
    "whole header, boolean {whole=} | | true| false",
    // Nought is a bound as well.
    ...["above query, integer, 0 to 9 {above=}", "below query, integer, -9 to 0 {below=}"],
    "{Send}",
    "Answers",
    ...["200 It is there. application/json: [Thing](#schema-Thing)"],
    "404 It is not. thing_not_found gone",
    ...["Other", "Of another."],
    "POST /v0/others",
    "Make another",
    ...["Makes one.", "→"],
    'Example {=} |{ "name": "A" } One|{ "name": "B" } two|name=C+D application/x-www-form-urlencoded',
    'Body application/json or application/x-www-form-urlencoded {body=} { "name": "A" }',
    "The fields of application/json in makeOther",
    ...[
      "name string, 1 to 64 characters, required",
      "note string, at most 9 characters or null Why.",
      "{Send}",
    ],
    ...["Answers", "201 Made. application/json: 1"],
    "Objects",
    "Thing",
    "anything",
    ...["id string, required", "parts list of anything", "n integer or null, at least 0", "far integer"],
  ]);
  expect(text.slice(0, start).join(" ")).toContain("or that you [sign in](/sign-in?returnTo=/docs).");
  expect((await read({ email: "ana@o.example" })).join(" ")).toContain("in your name, ana@o.example,");
});
