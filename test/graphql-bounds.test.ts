// How much one GraphQL request may ask for: every bound, just within it and just beyond.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFile } from "node:fs/promises";
import { getIntrospectionQuery } from "graphql";
import { BOUNDS } from "../server/graphql/bounds.ts";
import { ask, refusal, send } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const times = (count: number, make: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => make(n)).join(" ");

const nested = (levels: number) =>
  `{ needs(filter: ${"{and: [".repeat(levels / 2)}{}${"]}".repeat(levels / 2)}) { totalCount } }`;

// A fragment that spreads the next one twice, and so on: 2^depth fields of a few hundred characters.
const doubling = (depth: number) =>
  `{ needs { ...f0 } } ${times(depth, (n) => `fragment f${n} on NeedConnection { ...f${n + 1} ...f${n + 1} }`)}
   fragment f${depth} on NeedConnection { totalCount }`;

const statuses = (count: number) => ({ filter: { status: { in: Array<string>(count).fill("open") } } });
const byVariable = "query ($filter: NeedFilter) { needs(filter: $filter) { totalCount } }";

test.each<[what: string, within: [string, object?], beyond: [string, object?], message: RegExp]>([
  [
    "characters",
    [`{ __typename } #${"x".repeat(BOUNDS.textLength - 16)}`],
    [`{ __typename } #${"x".repeat(BOUNDS.textLength - 15)}`],
    /characters in a GraphQL text must not exceed 32,768/,
  ],
  [
    "tokens",
    [`{ needs { nodes { ${times(300, () => "needId")} } } }`],
    [`query (${times(1100, (n) => `$v${n}: Int`)}) { __typename }`],
    /tokens/,
  ],
  [
    "fields at the root",
    [`{ ${times(20, (n) => `a${n}: __typename`)} }`],
    [`{ ${times(21, (n) => `a${n}: __typename`)} }`],
    /fields at the root of an operation must not exceed 20/,
  ],
  [
    "aliases",
    [`{ needs { nodes { ${times(50, (n) => `a${n}: needId`)} } } }`],
    [`{ needs { nodes { ${times(51, (n) => `a${n}: needId`)} } } }`],
    /aliases in an operation must not exceed 50/,
  ],
  [
    "fields, those of fragments included",
    [doubling(7)],
    [doubling(20)],
    /fields in an operation must not exceed 1,000/,
  ],
  [
    "records",
    ["{ needs(first: 110) { nodes { commitments(first: 200) { nodes { status } } } } }"],
    ["{ needs(first: 200) { nodes { commitments(first: 200) { nodes { status } } } } }"],
    /must not exceed 25,000. This one has 40,200/,
  ],
  [
    "records, by edges",
    ["{ needs(first: 110) { edges { node { commitments(first: 200) { edges { node { status } } } } } } }"],
    ["{ needs(first: 200) { edges { node { commitments(first: 200) { edges { node { status } } } } } } }"],
    /must not exceed 25,000/,
  ],
  [
    "records, by variables",
    [
      "query ($n: Int) { needs(first: $n) { nodes { commitments(first: $n) { nodes { status } } } } }",
      { n: 150 },
    ],
    [
      "query ($n: Int) { needs(first: $n) { nodes { commitments(first: $n) { nodes { status } } } } }",
      { n: 200 },
    ],
    /must not exceed 25,000/,
  ],
  [
    "records, under several names",
    [`{ ${times(2, (n) => `a${n}: needs { nodes { commitments(first: 200) { nodes { status } } } }`)} }`],
    [`{ ${times(3, (n) => `a${n}: needs { nodes { commitments(first: 200) { nodes { status } } } }`)} }`],
    /must not exceed 25,000/,
  ],
  [
    "records, by a function's own limit",
    ["{ churches(limit: 10000) { church { name } } more: churches(limit: 10000) { distanceM } }"],
    [`{ ${times(3, (n) => `a${n}: churches(limit: 10000) { church { name } }`)} }`],
    /must not exceed 25,000. This one has 30,000/,
  ],
  [
    "groups",
    ["{ organizations(first: 200) { nodes { needs { groupedAggregates(groupBy: [STATUS]) { keys } } } } }"],
    [
      `{ organizations(first: 200) { nodes { needs {
          ${times(2, (n) => `a${n}: groupedAggregates(groupBy: [STATUS]) { keys }`)} } } } }`,
    ],
    /must not exceed 25,000/,
  ],
  [
    "orderings",
    [`{ needs(orderBy: [${times(5, () => "STATUS_ASC")}]) { totalCount } }`],
    [`{ needs(orderBy: [${times(6, () => "STATUS_ASC")}]) { totalCount } }`],
    /items in needs\(orderBy:\) must not exceed 5/,
  ],
  [
    "groupings",
    [`{ needs { groupedAggregates(groupBy: [STATUS, ORG_URI]) { keys } } }`],
    [`{ needs { groupedAggregates(groupBy: [${times(6, () => "STATUS")}]) { keys } } }`],
    /items in groupedAggregates\(groupBy:\) must not exceed 5/,
  ],
  ["levels of a filter", [nested(14)], [nested(18)], /levels in needs\(filter:\) must not exceed 16/],
  [
    "values in a filter",
    [byVariable, statuses(500)],
    [byVariable, statuses(501)],
    /values in needs\(filter:\) must not exceed 500/,
  ],
  [
    "depth",
    [
      "{ needs { edges { node { commitments { edges { node { engagementClaims { edges { node { organization { name } } } } } } } } } } }",
    ],
    [
      `{ needs(first: 1) { edges { node { commitments(first: 1) { edges { node { engagementClaims(first: 1) { edges { node {
         fulfillsCommitment { concernsNeed { organization { engagementClaims { nodes { organization { name } } } } } } } } } } } } } } } }`,
    ],
    /exceeds operation depth limits/,
  ],
  [
    "going round",
    ["{ needs { nodes { organization { needs(first: 1) { nodes { organization { name } } } } } } }"],
    [
      "{ needs { nodes { organization { needs(first: 1) { nodes { organization { needs(first: 1) { nodes { status } } } } } } } } }",
    ],
    /nested 3 times|exceeds operation depth limits/,
  ],
])("%s", async (_what, [within, fewer], [beyond, more], message) => {
  await ask(service, within, fewer);
  const refused = await send(service, beyond, more);
  expect(refused.status).toBe(400);
  expect(refused.data).toBeUndefined();
  expect(refused.errors?.[0]).toMatchObject({
    message: expect.stringMatching(message),
    extensions: { code: "validation_failed", statusCode: 400 },
  });
});

describe("texts made to hurt are refused at once", () => {
  test.each([
    ["open braces", "{ a ".repeat(1_900)],
    ["open lists", `{ needs(filter: ${"[".repeat(3_900)}`],
    [
      "fragments that spread each other",
      "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }",
    ],
    ["one field a thousand times", `{ needs { ${"totalCount ".repeat(1_001)} } }`],
    ["a million-fold fragment", doubling(40)],
  ])("%s", async (_name, text) => {
    const before = performance.now();
    expect(await refusal(service, text)).toEqual(["validation_failed", 400]);
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

test("docs/graphql.md states the actual bounds", async () => {
  const text = await readFile(new URL("../docs/graphql.md", import.meta.url), "utf8");
  const stated = (row: string) =>
    new RegExp(`^\\| ${row}[^|]*\\| ([\\d,]+) *\\|$`, "m").exec(text)?.[1]?.replace(",", "");
  expect({
    textLength: stated("characters of the text"),
    tokens: stated("tokens of the text"),
    fields: stated("fields, each fragment"),
    rootFields: stated("fields at the root"),
    aliases: stated("aliases"),
    records: stated("records if every list"),
    orderings: stated("items of `orderBy`"),
    argumentValues: stated("values in one argument"),
    argumentDepth: stated("levels of one argument"),
  }).toEqual(Object.fromEntries(Object.entries(BOUNDS).map(([name, bound]) => [name, String(bound)])));
});

test("the introspection of the usual tools is within the bounds", async () => {
  const { __schema } = await ask(
    service,
    getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, schemaDescription: true }),
  );
  expect(__schema.queryType.name).toBe("Query");
});
