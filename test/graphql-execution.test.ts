// What an operation may read, and how many texts and plans are kept: what one caller asks for must not have the others' planned
// anew.
import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, jest, test } from "@jest/globals";
import { constant, makeGrafastSchema } from "postgraphile/grafast";
import type { FieldArgs } from "postgraphile/grafast";
import { buildSchema, parse } from "postgraphile/graphql";
import type { GraphQLError } from "postgraphile/graphql";
import type { RequestConnections } from "../server/graphql/connections.ts";
import { publicErrors } from "../server/graphql/errors.ts";
import { Execution } from "../server/graphql/execution.ts";
import { TextCache } from "../server/graphql/texts.ts";
import { CallerGone } from "../server/postgres/unavailable.ts";

let planned: string[];
/** For how many times the same in one answer the connection of the last operation made room, and whether it may be a replica's. */
let granted: { copies?: number; readsOnly?: true };
let run: (operation: Operation, variables?: { if?: boolean | null }) => Promise<boolean>;
type Operation = ReturnType<typeof parse>;

beforeEach(() => {
  planned = [];
  granted = {};
  const schema = makeGrafastSchema({
    typeDefs: "type Query { told(what: String!, if: Boolean): Told } type Told { of: String more: Told }",
    objects: {
      Query: {
        plans: {
          told(_: unknown, fieldArgs: FieldArgs) {
            const given = fieldArgs.getRaw("what") as unknown as { eval: () => string };
            // A plan is then for one value of it.
            (fieldArgs.getRaw("if") as unknown as { eval: () => unknown }).eval();
            planned.push(given.eval());
            return constant({ of: "this" });
          },
        },
      },
    },
  });
  const connections = {
    of: () => ({ repeats: (copies: number) => void (granted.copies = copies) }),
    readsOnly: () => void (granted.readsOnly = true),
  } as unknown as RequestConnections;
  const execution = new Execution(publicErrors(console), connections);
  /** Whether an operation had to be planned. */
  run = async (document, variableValues = {}) => {
    const before = planned.length;
    const contextValue = { pgSettings: {} } as Grafast.Context;
    const result = await execution.run({ schema, document, variableValues, contextValue });
    expect(result).toMatchObject({ data: expect.anything() });
    expect(result).not.toHaveProperty("errors");
    return planned.length > before;
  };
});

/** An operation of so many fields, as the cache of texts has it. */
const operation = (name: string, fields: number) =>
  parse(`query ($if: Boolean) { told(what: "${name}", if: $if) { ${"of ".repeat(fields - 1)} } }`);

const all = (count: number, name: string, fields: number) =>
  Array.from({ length: count }, (_, n) => operation(`${name} ${n}`, fields));

async function runEach(operations: readonly Operation[]): Promise<boolean[]> {
  const each: boolean[] = [];
  for (const one of operations) each.push(await run(one));
  return each;
}

test.each([
  ["a hundred operations of up to fifty fields", 50, 100],
  ["ten larger operations", 51, 10],
])("the plans of %s are kept, and of one more the longest unused is not", async (_, fields, most) => {
  const operations = all(most, "known", fields);
  expect(await runEach(operations)).toEqual(operations.map(() => true));
  expect(await runEach(operations)).toEqual(operations.map(() => false));
  expect(await run(operation("one more", fields))).toBe(true);
  expect(await run(operations[0]!)).toBe(true);
  expect(await run(operations.at(-1)!)).toBe(false);
});

test("large operations displace no small one, nor small ones a large one", async () => {
  const [small, large] = [operation("small", 50), operation("large", 51)];
  expect(await runEach([small, large])).toEqual([true, true]);
  await runEach(all(200, "others", 51));
  expect(await run(small)).toBe(false);
  expect(await run(large)).toBe(true);
  await runEach(all(200, "more", 50));
  expect(await runEach([large, small])).toEqual([false, true]);
});

test.each([
  ["three ways", 50, 3],
  ["two ways, if it is large", 51, 2],
])("an operation whose plan depends on what is sent is kept in %s", async (_, fields, most) => {
  const asked = operation("one", fields);
  const ways = [{}, ...[true, false, null].map((value) => ({ if: value }))].slice(0, most + 1);
  const kept = ways.slice(0, most);
  for (const way of kept) expect(await run(asked, way)).toBe(true);
  for (const way of kept) expect(await run(asked, way)).toBe(false);
  expect(await run(asked, ways[most])).toBe(true);
  expect(await run(asked, kept[0])).toBe(true);
});

const ALLOWED = `{ told(what: "x") { of } }`;
const REFUSED = `{ ${Array.from({ length: 21 }, (_, n) => `a${n}: told(what: "x") { of }`).join(" ")} }`;

/** Runs operations of a text where none gets a connection: how often one was measured, and what each is told. */
async function measuring(text: string, names: readonly (string | undefined)[]) {
  const schema = buildSchema(
    "type Query { told(what: String!, if: Boolean): Told } type Told { of: String }",
  );
  const asked = jest.spyOn(schema, "getRootType");
  const execution = new Execution(publicErrors(console), {
    of: () => {
      throw new CallerGone();
    },
  } as unknown as RequestConnections);
  const document = parse(text);
  const contextValue = { pgSettings: {} } as Grafast.Context;
  const told: (string | undefined)[] = [];
  for (const operationName of names) {
    const result = await execution.run({ schema, document, operationName, contextValue });
    told.push((result as { errors: GraphQLError[] }).errors[0]?.message);
  }
  return { measured: asked.mock.calls.length, told };
}

test.each([
  ["that may be run", ALLOWED, 1, "took too long"],
  ["that may not", REFUSED, 1, "at the root"],
  [
    "with variables, each time",
    `query ($if: Boolean) { told(what: "x", if: $if) { of } }`,
    3,
    "took too long",
  ],
])("an operation is measured once: one %s", async (_, text, measured, said) => {
  expect(await measuring(text, [undefined, undefined, undefined])).toEqual({
    measured,
    told: [said, said, said].map((message) => expect.stringMatching(message)),
  });
});

test.each([
  [
    ["A", "B", "A", "B"],
    ["took too long", "at the root", "took too long", "at the root"],
  ],
  [
    ["B", "A", "B", "A"],
    ["at the root", "took too long", "at the root", "took too long"],
  ],
])("an operation is measured once, and is none of the others in its text: %p", async (names, said) => {
  expect(await measuring(`query A ${ALLOWED} query B ${REFUSED}`, names)).toEqual({
    measured: 2,
    told: said.map((message) => expect.stringMatching(message)),
  });
});

describe("texts", () => {
  const LENGTH = 25_000;
  const texts = (name: string, count: number, length = LENGTH) =>
    Array.from({ length: count }, (_, n) => `{ a } # ${name} ${n} `.padEnd(length, "x"));
  /** Reads each, and tells which had been read before and kept. */
  const reader = () => {
    const { parse: read } = new TextCache(buildSchema("type Query { a: Int }"), publicErrors(console));
    const documents = new Set<object>();
    return (all: readonly string[]) =>
      all.map((text) => {
        const { document } = read(text);
        const isKept = documents.has(document!);
        documents.add(document!);
        return isKept;
      });
  };
  const each = (count: number, isKept: boolean) => Array.from({ length: count }, () => isKept);

  test("that came once are kept as long as they have half a million characters, and the oldest is forgotten", () => {
    const read = reader();
    const once = texts("once", 20);
    expect(read([...once, once[0]!])).toEqual([...each(20, false), true]);
    // One of them is in use now, and has left its place.
    const more = texts("more", 2);
    expect(read([more[0]!, once[1]!])).toEqual([false, true]);
    expect(read([...more.slice(1), ...texts("last", 1), once[3]!, once[2]!])).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  test("that came again are kept as long as they have as many, and the longest unused is forgotten", () => {
    const read = reader();
    const used = texts("used", 20);
    for (const text of used) read([text, text]);
    expect(read(used)).toEqual(each(20, true));
    const [one] = texts("one more", 1);
    expect(read([one!, one!, used[1]!])).toEqual([false, true, true]);
    read(texts("others", 20));
    expect(read([used[0]!])).toEqual([false]);
  });

  test("that somebody uses are displaced by none that come once, and by none of more than 50,000 characters", () => {
    const read = reader();
    const used = texts("used", 20);
    for (const text of used) read([text, text]);
    read(texts("flood", 200));
    for (const text of texts("long", 20, 50_001)) read([text, text, text]);
    expect(read(used)).toEqual(each(20, true));
    const [longest] = texts("longest", 1, 50_000);
    read([longest!, longest!]);
    read(texts("flood", 200));
    expect(read([longest!])).toEqual([true]);
  });

  test("that are refused take no place", () => {
    const read = reader();
    const once = texts("once", 20);
    read(once);
    read(texts("refused", 100).map((text) => text.replace("a", "unknown")));
    expect(read([once[0]!])).toEqual([true]);
  });
});

test.each([
  ["nothing", 1, `{ told(what: "x") { of more { of } } }`],
  ["the same value", 3, `{ told(what: "x") { of a: of b: of } }`],
  [
    "the same value, each on a condition of its own,",
    3,
    `query ($if: Boolean = true, $or: Boolean = true) {
       told(what: "x") { of a: of @include(if: $if) b: of @include(if: $or) @skip(if: false) } }`,
  ],
  [
    "the same record, in whichever order its arguments are,",
    2,
    `{ told(what: "x", if: true) { of } b: told(if: true, what: "x") { of } }`,
  ],
  [
    "the same record, whatever is read of it",
    2,
    `{ told(what: "x") { of } b: told(what: "x") { more { of } } }`,
  ],
  ["two different ones", 1, `{ told(what: "x") { of } b: told(what: "y") { of } }`],
  [
    "the same within the same",
    6,
    `{ ${["a", "b"].map((name) => `${name}: told(what: "x") { more { c: of d: of e: of } }`).join(" ")} }`,
  ],
  [
    "the same within one of the same",
    6,
    `{ a: told(what: "x") { c: of d: of e: of } b: told(what: "x") { of } }`,
  ],
  ["the same, before what is there once", 2, `{ told(what: "x") { a: of b: of } c: told(what: "y") { of } }`],
])("of an answer with %s %i times a share of its bytes may be read", async (_, copies, query) => {
  await run(parse(query));
  expect(granted).toEqual({ copies, readsOnly: true });
});

/** A field in another, and so on, and in the last of them its name. */
const within = (...fields: string[]) =>
  fields.reduceRight((inner, field) => `${field} { ${inner} }`, "__typename");
const times = (count: number, ...fields: string[]) => Array.from({ length: count }, () => fields).flat();
const ofLinks = (...links: string[]) =>
  within(
    ...["needs", "commitments", "engagementClaims", "statusHistory"].flatMap((list) => [
      list,
      "edges",
      "node",
    ]),
    ...links,
  );
const inLists = (...fields: string[]) =>
  within(
    ...["organizations", "needs", "commitments", "engagementClaims", "statusHistory"].flatMap((list) => [
      list,
      "nodes",
    ]),
    ...fields,
  );

test.each<[string, allowed: string, refused: string, by: RegExp]>([
  [
    "fourteen levels",
    ofLinks("engagementClaim", "fulfillsCommitment"),
    ofLinks("engagementClaim", "fulfillsCommitment", "concernsNeed"),
    /depth 15 exceeds maximum of 14/,
  ],
  ["five lists", inLists("need"), inLists("need", "graphErrors"), /list depth 6 exceeds maximum of 5/],
  [
    "the same field twice",
    within("accelerators", "nodes", ...times(2, "broader")),
    within("accelerators", "nodes", ...times(3, "broader")),
    /broader nested 3 times/,
  ],
  [
    "nine types within one another",
    within(`__type(name: "Need")`, ...times(9, "ofType")),
    within(`__type(name: "Need")`, ...times(10, "ofType")),
    /ofType nested 10 times which exceeds maximum of 9/,
  ],
])("an operation may have %s, and no more", (_, allowed, refused, by) => {
  const schema = buildSchema(readFileSync(new URL("../schema.graphql", import.meta.url), "utf8"));
  const { parse: read } = new TextCache(schema, publicErrors(console));
  expect(read(`{ ${allowed} }`).errors).toBeUndefined();
  expect(read(`{ ${refused} }`).errors).toEqual([
    expect.objectContaining({ message: expect.stringMatching(by) }),
  ]);
});
