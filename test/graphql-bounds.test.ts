// How much one GraphQL request may ask for: every bound, just within it and just beyond.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFile } from "node:fs/promises";
import { getIntrospectionQuery } from "graphql";
import { BOUNDS } from "../server/graphql/bounds.ts";
import { ask, refusal, send } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const times = (count: number, make: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => make(n)).join(" ");

const nested = (levels: number, innermost = "{}") =>
  `{ needs(filter: ${"{and: [".repeat(levels / 2)}${innermost}${"]}".repeat(levels / 2)}) { totalCount } }`;

// A fragment that spreads the next one twice, and so on: 2^depth fields of a few hundred characters.
const doubling = (depth: number) =>
  `{ needs { ...f0 } } ${times(depth, (n) => `fragment f${n} on NeedConnection { ...f${n + 1} ...f${n + 1} }`)}
   fragment f${depth} on NeedConnection { totalCount }`;

const many = (count: number, item: object) => Array.from({ length: count }, () => item);

/** A selection of so many columns of a church, up to ten. */
const columns = (count: number) =>
  "name locality region country website phone denomination address latitude longitude"
    .split(" ")
    .slice(0, count)
    .join(" ");
const fullIntrospection = getIntrospectionQuery({
  inputValueDeprecation: true,
  specifiedByUrl: true,
  schemaDescription: true,
});
// The usual query, its one field several times under other names.
const introspections = (count: number) => {
  const [, schemaField, fragments] = /^\s*query \w+ \{([^]*?)\n {4}\}\s([^]*)$/.exec(fullIntrospection)!;
  return `{ ${times(count, (n) => `a${n}: ${schemaField}`)} } ${fragments}`;
};

/** Written as cursors and ids are. */
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");
const filtered = (filter: object): [string, object] => [byVariable, { filter }];
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
    /fields in a GraphQL text must not exceed 1,000/,
  ],
  [
    "fields, those of other operations included",
    [
      `query q { needs { ${times(499, () => "totalCount")} } } query r { needs { ${times(499, () => "totalCount")} } }`,
    ],
    [
      `query q { needs { ${times(499, () => "totalCount")} } } query r { needs { ${times(500, () => "totalCount")} } }`,
    ],
    /fields in a GraphQL text must not exceed 1,000/,
  ],
  [
    "operations",
    [times(10, (n) => `query q${n} { __typename }`)],
    [times(11, (n) => `query q${n} { __typename }`)],
    /operations in a GraphQL text must not exceed 10/,
  ],
  [
    "records",
    ["{ needs(first: 125) { nodes { commitments(first: 199) { nodes { status } } } } }"],
    [
      `{ needs(first: 125) { nodes { commitments(first: 199) { nodes { status } } } }
        more: needs(first: 1) { nodes { status } } }`,
    ],
    /must not exceed 25,000. This one has 25,001/,
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
    "records, by what is sent for a variable that has a default",
    [
      "query ($n: Int = 200) { needs(first: $n) { nodes { commitments(first: $n) { nodes { status } } } } }",
      { n: 150 },
    ],
    [
      "query ($n: Int = 150) { needs(first: $n) { nodes { commitments(first: $n) { nodes { status } } } } }",
      { n: 200 },
    ],
    /must not exceed 25,000/,
  ],
  [
    "records, by the default of a variable that is not sent",
    ["query ($n: Int = 150) { needs(first: $n) { nodes { commitments(first: $n) { nodes { status } } } } }"],
    ["query ($n: Int = 200) { needs(first: $n) { nodes { commitments(first: $n) { nodes { status } } } } }"],
    /must not exceed 25,000/,
  ],
  [
    "records, under several names",
    [`{ ${times(2, (n) => `a${n}: needs { nodes { commitments(first: 200) { nodes { status } } } }`)} }`],
    [`{ ${times(3, (n) => `a${n}: needs { nodes { commitments(first: 200) { nodes { status } } } }`)} }`],
    /must not exceed 25,000/,
  ],
  [
    "records of a chain of four lists, which it names with their sizes",
    [
      "{ needs(first: 2) { nodes { commitments { nodes { engagementClaims { nodes { statusHistory { nodes { toStatus } } } } } } } } }",
    ],
    [
      "{ needs { nodes { commitments { edges { node { engagementClaims { nodes { statusHistory { nodes { toStatus } } } } } } } } } }",
    ],
    /This one has 421,050. Most of it is needs \(50\) › commitments \(20\) › engagementClaims \(20\) › statusHistory \(20\): ask for fewer/,
  ],
  [
    "records, by a function's own limit",
    ["{ churches(limit: 10000) { church { name } } more: churches(limit: 10000) { distanceM } }"],
    [`{ ${times(3, (n) => `a${n}: churches(limit: 10000) { church { name } }`)} }`],
    /must not exceed 25,000. This one has 30,000/,
  ],
  [
    "records, of which less than none are no others' gain",
    [`{ ${times(2, (n) => `a${n}: churches(limit: 10000) { distanceM }`)} }`],
    [
      `{ less: churches(limit: -20000) { distanceM }
        ${times(3, (n) => `a${n}: churches(limit: 10000) { distanceM }`)} }`,
    ],
    /must not exceed 25,000. This one has 30,000/,
  ],
  [
    "values",
    [`{ churches(limit: 10000) { church { ${columns(10)} } } }`],
    [`{ churches(limit: 10000) { distanceM church { ${columns(10)} } } }`],
    /number of values that a request could return if all its lists were full must not exceed 100,000. This one has 110,000/,
  ],
  [
    "values of an introspection",
    [introspections(1)],
    [introspections(4)],
    /values in an introspection must not exceed 30,000/,
  ],
  [
    "values of an introspection, under names within it",
    ["{ __schema { types { name fields { name args { name } } } } }"],
    [
      `{ __schema { ${times(25, (n) => `a${n}: types { name fields { name ...b } }`)} } }
      fragment b on __Field { args { name type { name } } x: args { name } }`,
    ],
    /values in an introspection must not exceed 30,000/,
  ],
  [
    "values of introspections of types",
    [`{ ${times(20, (n) => `a${n}: __type(name: "Need") { fields { name type { name } } }`)} }`],
    [
      `{ ${times(10, (n) => `a${n}: __type(name: "Query") { fields { ...args } }`)} }
       fragment args on __Field { ${times(4, (n) => `b${n}: args { ...type }`)} }
       fragment type on __InputValue { type { inputFields { name description type { name kind description } } enumValues { name } } }`,
    ],
    /values in an introspection must not exceed 30,000/,
  ],
  [
    "groups at once",
    ["{ needs { groupedAggregates(groupBy: [STATUS], first: 1000) { keys } } }"],
    ["{ needs { groupedAggregates(groupBy: [STATUS], first: 1001) { keys } } }"],
    /groupedAggregates: first must be from 0 to 1000/,
  ],
  [
    "groups, as many as are asked for",
    [
      "{ organizations(first: 24) { nodes { needs { groupedAggregates(groupBy: [STATUS], first: 1000) { keys } } } } }",
    ],
    [
      "{ organizations(first: 25) { nodes { needs { groupedAggregates(groupBy: [STATUS], first: 1000) { keys } } } } }",
    ],
    /must not exceed 25,000/,
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
  [
    "groupings by the same",
    [`{ needs { groupedAggregates(groupBy: [ACCELERATORS, CONCERNS_COUNTRY_CODE]) { keys } } }`],
    [`{ needs { groupedAggregates(groupBy: [ACCELERATORS, STATUS, ACCELERATORS]) { keys } } }`],
    /items in groupedAggregates\(groupBy:\) must differ/,
  ],
  [
    "levels of a filter",
    [nested(16)],
    [nested(16, "{not: {}}")],
    /levels in needs\(filter:\) must not exceed 16/,
  ],
  [
    "values in a filter",
    [byVariable, statuses(500)],
    [byVariable, statuses(501)],
    /values in needs\(filter:\) must not exceed 500/,
  ],
  [
    "values in a filter, empty ones included",
    filtered({ and: many(500, {}) }),
    filtered({ and: many(501, {}) }),
    /values in needs\(filter:\) must not exceed 500/,
  ],
  [
    "linked records in a filter",
    filtered({ or: many(10, { commitments: { some: { status: { equalTo: "declared" } } } }) }),
    filtered({ or: many(11, { commitments: { some: { status: { equalTo: "declared" } } } }) }),
    /conditions on linked records in needs\(filter:\) must not exceed 10/,
  ],
  [
    "linked records in a filter, by whatever way",
    filtered({ and: many(5, { commitmentsExist: true, organization: {} }) }),
    filtered({
      and: many(5, { commitmentsExist: true, organization: {} }),
      not: { commitments: { none: {} } },
    }),
    /conditions on linked records in needs\(filter:\) must not exceed 10/,
  ],
  [
    "characters of a text in a filter",
    filtered({ needDescription: { includesInsensitive: "x".repeat(2_048) } }),
    filtered({ needDescription: { includesInsensitive: "x".repeat(2_049) } }),
    /characters of a text in needs\(filter:\) must not exceed 2,048/,
  ],
  [
    "characters of an id that is none",
    ["query ($id: ID!) { node(id: $id) { id } }", { id: encoded(["Organization", "x".repeat(3_000)]) }],
    ["query ($id: ID!) { node(id: $id) { id } }", { id: encoded(["Organization", [["x".repeat(3_000)]]]) }],
    /characters of a text in node\(id:\) must not exceed 2,048/,
  ],
  [
    "characters of a cursor that is none",
    ["{ needs(after: null) { totalCount } }"],
    [
      "query ($c: Cursor) { needs(after: $c) { totalCount } }",
      { c: encoded(["x", { y: "z".repeat(3_000) }]) },
    ],
    /characters of a text in needs\(after:\) must not exceed 2,048/,
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
  expect((await send(service, within, fewer)).errors ?? []).toEqual(
    // Of several operations, none is named: that is said after they have been measured.
    /^query \w+ \{/.test(within)
      ? [expect.objectContaining({ message: expect.stringMatching(/operation name/) })]
      : [],
  );
  const refused = await send(service, beyond, more);
  expect(refused.status).toBe(400);
  expect(refused.data).toBeUndefined();
  expect(refused.errors?.[0]).toMatchObject({
    message: expect.stringMatching(message),
    extensions: { code: "validation_failed", statusCode: 400 },
  });
});

test("a text that is declared may be longer than one that is looked for", async () => {
  const declare = (length: number) =>
    refusal(
      service,
      "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }",
      {
        input: {
          ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: admin, accelerators: ["PRA"] },
          needDescription: "x".repeat(length),
        },
      },
      "write",
    );
  expect(await declare(10_000)).toEqual([undefined, undefined]);
  expect(await declare(10_001)).toEqual(["validation_failed", 400]);
});

test("the operation that is run is the one that is measured", async () => {
  const query = `query few { needs(first: 1) { nodes { status } } }
    query many { needs(first: 200) { nodes { commitments(first: 200) { nodes { status } } } } }`;
  const run = async (operationName: string) => {
    const { body } = await call(`${service.url}/graphql`, "POST", service.keys.read, {
      query,
      operationName,
    });
    return (body.errors as { message: string }[] | undefined)?.map(({ message }) => message);
  };
  expect(await run("few")).toBeUndefined();
  expect(await run("many")).toEqual([expect.stringContaining("must not exceed 25,000")]);
});

describe("texts made to hurt are refused", () => {
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
    expect(await refusal(service, text)).toEqual(["validation_failed", 400]);
  });
});

test.each([
  ["an argument", "query ($v: NeedFilter) { needs(filter: $v) { totalCount } }"],
  ["an argument of introspection", "query ($v: String!) { __type(name: $v) { name } }"],
  ["a directive", "query ($v: Boolean!) { needs @include(if: $v) { totalCount } }"],
  ["an input", "mutation ($v: DeclareNeedInput!) { declareNeed(input: $v) { need { needId } } }"],
])("a variable nested too deeply to be walked is refused, as %s", async (_where, query) => {
  const depth = 50_000;
  const { status, body } = await call(
    `${service.url}/graphql`,
    "POST",
    service.keys.write,
    `{"query": ${JSON.stringify(query)}, "variables": {"v": ${"[".repeat(depth)}${"]".repeat(depth)}}}`,
    { accept: "application/graphql-response+json" },
  );
  expect([status, body.errors[0].extensions.code]).toEqual([400, "validation_failed"]);
});

test("docs/graphql.md states the actual bounds", async () => {
  const text = await readFile(new URL("../docs/graphql.md", import.meta.url), "utf8");
  const stated = (row: string) =>
    new RegExp(`^\\| ${row}[^|]*\\| ([\\d,]+) *\\|$`, "m").exec(text)?.[1]?.replace(",", "");
  expect({
    textLength: stated("characters of the text"),
    tokens: stated("tokens of the text"),
    operations: stated("operations"),
    fields: stated("fields, each fragment"),
    rootFields: stated("fields at the root"),
    aliases: stated("aliases"),
    records: stated("records if every list"),
    values: stated("values of these records"),
    introspection: stated("values of introspection"),
    orderings: stated("items of `orderBy`"),
    argumentValues: stated("values in one argument"),
    argumentDepth: stated("levels of one argument"),
    links: stated("conditions on linked records"),
    argumentLength: stated("characters of one text"),
    keptLength: stated("characters of an answer that is kept"),
  }).toEqual(Object.fromEntries(Object.entries(BOUNDS).map(([name, bound]) => [name, String(bound)])));
});

test("the introspection of the usual tools is within the bounds", async () => {
  const { __schema } = await ask(service, fullIntrospection);
  expect(__schema.queryType.name).toBe("Query");
});

test("a subscription is refused, as long as there are none", async () => {
  expect(await refusal(service, "subscription { needs }")).toEqual(["validation_failed", 400]);
});

test("what is asked for again under other names counts towards the size of the answer", async () => {
  await service.database.owner.query(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     select $1, 'River Mission', $2, repeat('x', 9990), '{PRA}' from generate_series(1, 100)`,
    [ORG, admin],
  );
  const aliased = (count: number) =>
    `{ needs(first: 100) { nodes { ${times(count, (n) => `a${n}: needDescription`)} } } }`;
  expect((await send(service, aliased(5))).errors).toBeUndefined();
  expect(await refusal(service, aliased(40))).toEqual(["validation_failed", 400]);
  // Each is another text, and the same value.
  const onConditions = `query (${times(40, (n) => `$v${n}: Boolean = true`)}) {
    needs(first: 100) { nodes { ${times(40, (n) => `a${n}: needDescription @include(if: $v${n})`)} } } }`;
  expect(await refusal(service, onConditions)).toEqual(["validation_failed", 400]);
});
