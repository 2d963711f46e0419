// How much of what was sent a refusal repeats: enough to mend it by, however much it was, at every door.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MODERN_META, modernHeaders, post, toolCall } from "./support/mcp.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

/** In characters: of fifty problems, each said twice. */
const LONGEST = 20_000;
const need = {
  ...{ orgUri: ORG, orgName: "River", declaredByEmail: admin },
  ...{ needDescription: "Prayer", accelerators: ["PRA"] },
};
const declare = (body: object) => call(`${service.url}/v0/needs`, "POST", service.keys.write, body);
const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, 1]));
const sizeOf = ({ body }: Answer) => JSON.stringify(body).length;

describe("a refusal by REST", () => {
  test("names fifty inputs at fault", async () => {
    const { body } = await declare({ ...need, ...unknown(50) });
    expect(body.details).toHaveLength(50);
    expect(body.message).toMatch(
      /^f0 is not a field of this request; .*; f49 is not a field of this request\.$/,
    );
  });

  test("names the first fifty of more, and says how many there are", async () => {
    const answer = await declare({ ...need, orgUri: undefined, orgName: undefined, ...unknown(4_000) });
    const { details, message } = answer.body;
    expect([answer.status, details.length, details[0].path]).toEqual([400, 50, "orgUri"]);
    expect(details.at(-1).path).toBe("f47");
    expect(message).toMatch(
      /^The first 50 of 4,002 problems: orgUri .*; f47 is not a field of this request\.$/,
    );
    expect(message).not.toContain("f48");
    expect(sizeOf(answer)).toBeLessThan(LONGEST);
  });

  test("does so of what the database refuses too", async () => {
    const codes = Array.from({ length: 60 }, () => "XX");
    const { details, message } = (await declare({ ...need, concernsCountryCode: codes })).body;
    expect(details).toHaveLength(50);
    expect(message).toMatch(/^The first 50 of 60 problems: concernsCountryCode\[0\] /);
  });

  test("repeats the first hundred characters of a name", async () => {
    const pathOf = async (name: string) => (await declare({ ...need, [name]: 1 })).body.details[0].path;
    expect(await pathOf("x".repeat(100))).toBe("x".repeat(100));
    expect(await pathOf("x".repeat(101))).toBe(`${"x".repeat(100)}…`);
    expect(await pathOf(`${"x".repeat(99)}\u{1f30d}`)).toBe(`${"x".repeat(99)}…`);
    expect(sizeOf(await declare({ ...need, ["x".repeat(200_000)]: 1 }))).toBeLessThan(1_000);
  });

  test("names five columns that there are not", async () => {
    const columns = Array.from({ length: 500 }, (_, n) => `none${n}`).join();
    const { body } = await call(`${service.url}/v0/orgs/search?fields=${columns}`, "GET", service.keys.read);
    expect(body.details[0].message).toMatch(
      /^contains the unknown column none0, .*none4, …; the columns are /,
    );
  });
});

test("a refusal by SPARQL names the first fifty inputs at fault", async () => {
  const graphs = Array.from({ length: 4_000 }, () => "x");
  const send = (body: object) => call(`${service.url}/v0/sparql`, "POST", service.keys.read, body);
  const answers = [
    await send({ query: "ASK {}", "default-graph-uri": graphs }),
    await send({ query: "ASK {}", ...unknown(4_000) }),
  ];
  for (const { status, body } of answers) {
    expect([status, body.details.length]).toEqual([400, 50]);
    expect(body.message).toMatch(/^The first 50 of 4,000 problems: /);
  }
});

describe("a refusal by GraphQL", () => {
  const long = "x".repeat(30_000);
  const many = Array.from({ length: 4_000 }, () => 1);
  const ask = (query: string, more: object = {}) =>
    call(`${service.url}/graphql`, "POST", service.keys.read, { query, ...more });

  test.each<[string, string, object]>([
    ["the name of an operation", `query ${long} { ${"needs(first: $a) { totalCount } ".repeat(19)} }`, {}],
    ["the name of an operation that there is not", "{ __typename }", { operationName: "x".repeat(200_000) }],
    [
      "the value of a variable",
      "query ($o: [NeedOrderBy!]) { needs(orderBy: $o) { totalCount } }",
      { variables: { o: ["x".repeat(200_000)] } },
    ],
    [
      "the values of a list",
      "query ($o: [NeedOrderBy!]) { needs(orderBy: $o) { totalCount } }",
      { variables: { o: many } },
    ],
    [
      "the names of fields",
      "query ($f: NeedFilter) { needs(filter: $f) { totalCount } }",
      { variables: { f: unknown(4_000) } },
    ],
    ["places", `{ ${"needs { id: totalCount } needs { id: nodes { needId } } ".repeat(6)} }`, {}],
  ])("repeats little of %s", async (_what, query, more) => {
    const answer = await ask(query, more);
    expect(answer.body.errors[0].extensions.code).toBe("validation_failed");
    expect(sizeOf(answer)).toBeLessThan(2 * LONGEST);
  });
});

describe("a refusal by the tool endpoint", () => {
  test.each<[string, object]>([
    ["columns that there are not", { fields: Array.from({ length: 20_000 }, (_, n) => `none${n}`).join() }],
    ["items of a list", { belief: Array.from({ length: 4_000 }, () => 1) }],
    ["items of a list of texts", { languages: Array.from({ length: 4_000 }, () => 1) }],
    ["inputs that there are not", unknown(4_000)],
  ])("repeats little of %s", async (_what, queryParams) => {
    const answer = await post(service, toolCall(queryParams));
    expect(answer.body.result.isError).toBe(true);
    expect(sizeOf(answer)).toBeLessThan(LONGEST);
  });

  test("repeats little of what the protocol's library quotes, and the whole id", async () => {
    const version = "9".repeat(100_000);
    const id = "i".repeat(5_000);
    const params = { _meta: { ...MODERN_META, "io.modelcontextprotocol/protocolVersion": version } };
    const headers = modernHeaders("tools/list");
    const answer = await post(service, { jsonrpc: "2.0", id, method: "tools/list", params }, headers);
    expect(answer.body).toMatchObject({ id, error: { message: expect.any(String) } });
    expect(sizeOf(answer)).toBeLessThan(LONGEST);
  });
});

test("a page gives back no more to who is not signed in than a form of ours has in it", async () => {
  const send = (notes: string) =>
    new Visitor(service).submit({ text: "" }, "/admin/claims", { do: "reject", form: "x", notes });
  expect((await send(`a ${"<".repeat(29_998)}`)).text).toContain("&lt;");
  expect((await send(`a ${"<".repeat(29_999)}`)).text).not.toContain("&lt;");
});
