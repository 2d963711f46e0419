// Records over GraphQL: in which order they come, and how many of them at a time.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { ask, refusal, send } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG, OTHER_ORG, otherAdmin } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.database.owner.query(
    `insert into app_public.accelerators (code, concept_uri, kind, pref_label)
     select 'Z' || n, 'https://example.org/z' || n, 'function', 'Z' from generate_series(100, 359) as n;
     insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ('${OTHER_ORG}', 'Harbor Trust', '${otherAdmin}', 'Boats', '{PRA}');
     insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators, created_at)
     select '${ORG}', 'River Mission', '${admin}', 'n' || n, '{PRA}', timestamptz '2020-01-01' + (n / 3) * interval '1 day'
     from generate_series(1, 60) as n`,
  );
});
afterAll(() => service.stop());

test("newest first, ties by id, unless another order is asked for", async () => {
  const { rows } = await service.database.owner.query(
    "select need_id from app_public.needs order by created_at desc, need_id desc limit 50",
  );
  const { needs } = await ask(service, "{ needs { nodes { needId } } }");
  expect(needs.nodes.map((node: { needId: string }) => node.needId)).toEqual(rows.map((row) => row.need_id));
  const ordered = await ask(
    service,
    "{ needs(first: 3, orderBy: [ORG_NAME_ASC, NEED_DESCRIPTION_DESC]) { nodes { needDescription } } }",
  );
  expect(ordered.needs.nodes.map((node: { needDescription: string }) => node.needDescription)).toEqual([
    "Boats",
    "n9",
    "n8",
  ]);
  const { organizations } = await ask(
    service,
    "{ organizations(orderBy: [NEEDS_COUNT_DESC]) { nodes { orgUri } } }",
  );
  expect(organizations.nodes).toEqual([{ orgUri: ORG }, { orgUri: OTHER_ORG }]);
});

test("an ordering does what the schema says of it", async () => {
  const { __type: orders } = await ask(
    service,
    '{ __type(name: "NeedOrderBy") { enumValues { name description } } }',
  );
  const named = (order: string): string =>
    orders.enumValues.find(({ description }: { description: string }) => description === order).name;
  const times = async (order: string): Promise<string[]> => {
    const { needs } = await ask(
      service,
      "query ($orderBy: [NeedOrderBy!]) { needs(first: 100, orderBy: $orderBy) { nodes { createdAt } } }",
      { orderBy: [named(order)] },
    );
    return needs.nodes.map((node: { createdAt: string }) => node.createdAt);
  };
  const ascending = await times("By `createdAt`, ascending.");
  expect(new Set(ascending).size).toBeGreaterThan(20);
  expect(ascending).toEqual(ascending.toSorted());
  expect(await times("By `createdAt`, descending.")).toEqual(ascending.toReversed());
});

test("a list gives as many as the schema says, to who does not say how many", async () => {
  const told = "{ fields { name args { name description } } }";
  const schema = await ask(
    service,
    `{ root: __type(name: "Query") ${told} within: __type(name: "Organization") ${told} }`,
  );
  type Told = { fields: { name: string; args: { name: string; description: string }[] }[] };
  const saidOf = ({ fields }: Told) => {
    const { args } = fields.find(({ name }) => name === "needs")!;
    const { description } = args.find(({ name }) => name === "first")!;
    return Number(/; (\d+) when neither first nor last is given/.exec(description)![1]);
  };
  const { needs, organization } = await ask(
    service,
    "query ($uri: String!) { needs { nodes { needId } } organization(orgUri: $uri) { needs { nodes { needId } } } }",
    { uri: ORG },
  );
  expect([needs.nodes.length, organization.needs.nodes.length]).toEqual([
    saidOf(schema.root),
    saidOf(schema.within),
  ]);
});

test.each([[null], [[]]])(
  "%j for orderBy is the usual order, as without it, wherever a list stands",
  async (orderBy) => {
    const uri = ORG;
    const list = "{ nodes { needId } edges { cursor } }";
    const usual = await ask(
      service,
      `query ($uri: String!) { needs(first: 9) ${list} searched: needs(first: 9, search: "n1") ${list}
       organization(orgUri: $uri) { needs(first: 9) ${list} } }`,
      { uri },
    );
    const inVariable = await ask(
      service,
      `query ($uri: String!, $orderBy: [NeedOrderBy!]) {
       needs(first: 9, orderBy: $orderBy) ${list} searched: needs(first: 9, search: "n1", orderBy: $orderBy) ${list}
       organization(orgUri: $uri) { needs(first: 9, orderBy: $orderBy) ${list} } }`,
      { uri, orderBy },
    );
    expect(inVariable).toEqual(usual);
    const written = JSON.stringify(orderBy);
    const inText = await ask(service, `{ needs(first: 9, orderBy: ${written}) ${list} }`);
    expect(inText.needs).toEqual(usual.needs);
  },
);

test("cursors visit every record once, forwards and backwards, while records are added", async () => {
  const all = await ask(service, "{ needs(first: 200) { nodes { needId } } }");
  const expected = all.needs.nodes.map((node: { needId: string }) => node.needId);
  const seen: string[] = [];
  for (let after: string | null = null, more = true; more;) {
    const { needs } = await ask(
      service,
      "query ($after: Cursor) { needs(first: 7, after: $after) { nodes { needId } pageInfo { endCursor hasNextPage } } }",
      { after },
    );
    seen.push(...needs.nodes.map((node: { needId: string }) => node.needId));
    ({ endCursor: after, hasNextPage: more } = needs.pageInfo);
    // Newer than what has been read, so it must not shift anything.
    await service.database.owner.query(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       values ('${ORG}', 'River Mission', '${admin}', 'later', '{PRA}')`,
    );
  }
  expect(seen).toEqual(expected);
  const { needs } = await ask(
    service,
    "{ needs(last: 5) { nodes { needId } pageInfo { hasPreviousPage } } }",
  );
  expect(needs).toEqual({
    nodes: expected.slice(-5).map((needId: string) => ({ needId })),
    pageInfo: { hasPreviousPage: true },
  });
});

test.each([
  ["accelerators", 50],
  ["accelerators(first: null)", 50],
  ["accelerators(first: 200)", 200],
  ["accelerators(first: 0)", 0],
  ["accelerators(last: 3)", 3],
])("%s has %d records", async (field, size) => {
  const data = await ask(service, `{ list: ${field} { totalCount nodes { code } } }`);
  expect(data.list.nodes).toHaveLength(size);
  expect(data.list.totalCount).toBe(263);
});

test("of a page from the end whose records nobody asks for, the total is told all the same", async () => {
  const list = "needs(last: 3) { totalCount aggregates { distinctCount { orgUri } } }";
  const { whole, organization } = await ask(
    service,
    `query ($orgUri: String!) { whole: ${list} organization(orgUri: $orgUri) { ${list} } }`,
    { orgUri: ORG },
  );
  expect(whole.totalCount).toBeGreaterThan(3);
  expect(organization.needs.totalCount).toBeGreaterThan(3);
});

test("a list within a list has 20 records unless more are asked for", async () => {
  const { organization } = await ask(
    service,
    `query ($orgUri: String!) {
      organization(orgUri: $orgUri) { page: needs { nodes { needId } } more: needs(first: 33) { nodes { needId } } }
    }`,
    { orgUri: ORG },
  );
  expect([organization.page.nodes.length, organization.more.nodes.length]).toEqual([20, 33]);
});

test.each([
  ["first: 201", [{ path: "first", message: "must be from 0 to 200" }]],
  ["last: -1", [{ path: "last", message: "must be from 0 to 200" }]],
  ["first: 1, last: 1", [{ path: "last", message: "must not be given with first" }]],
  ["first: 1, offset: -1", [{ path: "offset", message: "must be at least 0" }]],
])("a page by (%s) is refused by what is wrong with it", async (args, details) => {
  const { errors } = await send(service, `{ needs(${args}) { nodes { needId } } }`);
  expect(errors?.[0]?.extensions).toMatchObject({ code: "validation_failed", details });
});

test.each([
  ["201 at once", "{ needs(first: 201) { totalCount } }", {}],
  ["201 from the end", "{ needs(last: 201) { totalCount } }", {}],
  ["201 in a variable", "query ($n: Int) { needs(first: $n) { totalCount } }", { n: 201 }],
  ["201 by a variable's default", "query ($n: Int = 201) { needs(first: $n) { totalCount } }", {}],
  ["201 in a nested list", "{ organizations { nodes { needs(first: 201) { totalCount } } } }", {}],
  ["201 behind a fragment", "{ ...all } fragment all on Query { needs(first: 201) { totalCount } }", {}],
  ["fewer than none", "{ needs(first: -1) { totalCount } }", {}],
  ["a negative offset", "{ needs(offset: -1) { nodes { needId } } }", {}],
  ["something that is not a cursor", '{ needs(after: "x") { nodes { needId } } }', {}],
  ["a cursor that nobody was given", '{ needs(after: "WyJ4IiwxXQ==") { nodes { needId } } }', {}],
])("%s is refused", async (_name, query, variables) => {
  // Outside production, Grafast also writes a cursor's error to the console.
  jest.spyOn(console, "error").mockImplementation(() => undefined);
  expect(await refusal(service, query, variables)).toEqual(["validation_failed", 400]);
});

test("a cursor goes on in the order and the list that it is from, and in no other", async () => {
  jest.spyOn(console, "error").mockImplementation(() => undefined);
  const { needs } = await ask(
    service,
    "{ needs(first: 1, orderBy: [NEED_DESCRIPTION_ASC]) { edges { cursor } } }",
  );
  const after = needs.edges[0].cursor as string;
  const on = (list: string) =>
    send(service, `query ($after: Cursor) { ${list} { edges { cursor } } }`, { after });
  const codes = async (list: string) =>
    (await on(list)).errors?.map(({ extensions }) => [extensions["code"], extensions["statusCode"]]);
  expect(await codes("needs(after: $after, orderBy: [NEED_DESCRIPTION_ASC])")).toBeUndefined();
  for (const list of [
    "needs(after: $after)",
    "needs(before: $after, orderBy: [UPDATED_AT_ASC])",
    "needs(after: $after, orderBy: [NEED_DESCRIPTION_ASC, ORG_NAME_ASC])",
    "commitments(after: $after)",
  ])
    expect([list, await codes(list)]).toEqual([list, [["validation_failed", 400]]]);
});
