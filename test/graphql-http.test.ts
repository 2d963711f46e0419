// GraphQL over HTTP, as its specification has it: the public audits, and what they leave open.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { serverAudits } from "graphql-http";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const audits = serverAudits({
  url: () => `${service.url}/graphql`,
  fetchFn: (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${service.keys.read}`);
    return fetch(url, { ...init, headers });
  },
});

describe("the audits of graphql-http", () => {
  test("are all there", () => expect(audits).toHaveLength(61));

  test.each(audits.map((audit) => [audit.name, audit] as const))("%s", async (_name, audit) => {
    const result = await audit.fn();
    expect([result.status, "reason" in result ? result.reason : ""]).toEqual(["ok", ""]);
  });
});

describe("by GET", () => {
  const get = (parameters: Record<string, string>, key = service.keys.read, method = "GET") =>
    call(`${service.url}/graphql?${new URLSearchParams(parameters).toString()}`, method, key);

  test("a query with variables is answered, for this key alone", async () => {
    const answer = await get({
      query: "query A { __typename } query B($code: String!) { accelerator(code: $code) { prefLabel } }",
      operationName: "B",
      variables: '{"code": "PRA"}',
      extensions: "{}",
    });
    expect([answer.status, answer.body]).toEqual([200, { data: { accelerator: { prefLabel: "Prayer" } } }]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("vary")?.split(", ")).toEqual(
      expect.arrayContaining(["Accept", "Authorization", "Cookie"]),
    );
  });

  test("a mutation is refused with 405, and changes nothing", async () => {
    const parameters = {
      query: `query A { __typename } mutation B($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }`,
      operationName: "B",
      variables: JSON.stringify({
        input: {
          ...{ orgUri: ORG, orgName: "River", declaredByEmail: admin },
          ...{ needDescription: "By a link", accelerators: ["PRA"] },
        },
      }),
    };
    const answer = await get(parameters, service.keys.write);
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    expect(answer.body.errors[0].extensions.code).toBe("method_not_allowed");
    const { rows } = await service.database.owner.query("select from app_public.needs");
    expect(rows).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ["no query", {}],
    ["variables that are no JSON", { query: "{ __typename }", variables: "{" }],
    ["variables that are a list", { query: "{ __typename }", variables: "[]" }],
    ["half of a surrogate pair", { query: "{ __typename }", variables: '{"a": "\\ud800"}' }],
    ["extensions that are empty", { query: "{ __typename }", extensions: "" }],
    ["a text with a syntax error", { query: "{" }],
    ["two operations and no name", { query: "query A { __typename } query B { __typename }" }],
    ["a subscription", { query: "subscription { x }" }],
  ])("%s is refused with 400", async (_name, parameters) => {
    const answer = await get(parameters);
    expect([answer.status, answer.body.errors[0].extensions.code]).toEqual([400, "validation_failed"]);
  });

  test("without a key it is 401", async () => {
    const answer = await call(`${service.url}/graphql?query={__typename}`, "GET", undefined);
    expect([answer.status, answer.body.errors[0].extensions.code]).toEqual([401, "missing_api_key"]);
  });

  test.each(["PUT", "DELETE", "PATCH"])("%s answers 405", async (method) => {
    const answer = await get({ query: "{ __typename }" }, service.keys.read, method);
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, POST, OPTIONS"]);
  });
});

describe("UTF-8 in Accept asks for what there is", () => {
  const accepts = [
    ["application/json; charset=UTF-8", "application/json"],
    ['application/json;q=0.5;Charset="utf-8" , text/html', "application/json"],
    ["application/graphql-response+json;charset=utf8;q=1", "application/graphql-response+json"],
  ] as const;

  test.each(accepts)("of GraphQL: %s", async (accept, type) => {
    const ask = { query: "{ __typename }" };
    const answer = await call(`${service.url}/graphql`, "POST", service.keys.read, ask, { accept });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toContain(`${type};`);
  });

  test.each(accepts.slice(0, 2).map(([accept]) => accept))("of REST: %s", async (accept) => {
    const answer = await call(`${service.url}/v0/needs`, "GET", service.keys.read, undefined, { accept });
    expect(answer.status).toBe(200);
  });

  test("and of a subscription; another encoding does not", async () => {
    const ask = { query: "" };
    const at = (path: string, accept: string) =>
      call(`${service.url}${path}`, "POST", service.keys.read, ask, { accept });
    expect((await at("/graphql", "text/event-stream; charset=utf-8")).status).toBe(400);
    expect((await at("/graphql/stream", "text/event-stream; charset=utf-8")).status).toBe(400);
    expect((await at("/graphql/stream", "text/event-stream; charset=utf-16")).status).toBe(406);
    expect((await at("/graphql", "application/json; charset=utf-16")).status).toBe(406);
  });
});

test.each(["/graphql/", "/GraphQL", "/GRAPHQL/"])(
  "%s is /graphql, as all paths are taken whatever their case and with a slash at their end",
  async (path) => {
    const query = "{ __typename }";
    const data = { __typename: "Query" };
    const url = `${service.url}${path}`;
    expect(await call(url, "POST", service.keys.read, { query })).toMatchObject({
      status: 200,
      body: { data },
    });
    expect(await call(`${url}?query=${encodeURIComponent(query)}`, "GET", service.keys.read)).toMatchObject({
      ...{ status: 200, body: { data } },
    });
    const accept = "text/event-stream";
    const streamed = await call(url, "POST", service.keys.read, { query }, { accept });
    expect([streamed.status, streamed.headers.get("content-type")]).toEqual([
      200,
      expect.stringContaining(accept),
    ]);
    expect((await call(url, "PUT", service.keys.read)).headers.get("allow")).toBe("GET, POST, OPTIONS");
    expect((await call(url, "OPTIONS", undefined)).headers.get("allow")).toBe("GET, POST, OPTIONS");
  },
);

test.each([
  ["", "application/json"],
  ["text/html, image/gif, *; q=.2, */*; q=.2", "application/json"],
  ["application/*;q=2", "application/json"],
  ["application/graphql-response+json, *", "application/graphql-response+json"],
])("an Accept that is not well-formed does no harm: %s", async (accept, type) => {
  const { status, headers, body } = await call(
    `${service.url}/graphql`,
    "POST",
    service.keys.read,
    { query: "{ __typename }" },
    { accept },
  );
  expect([status, body]).toEqual([200, { data: { __typename: "Query" } }]);
  expect(headers.get("content-type")).toContain(type);
});

test.each(["application/json", "application/graphql-response+json", "*/*"])(
  "a subscription is refused to who accepts %s",
  async (accept) => {
    const answer = await call(
      `${service.url}/graphql`,
      "POST",
      service.keys.read,
      { query: "subscription { x }" },
      { accept },
    );
    expect([answer.status, answer.body.errors[0].extensions.code]).toEqual([
      accept === "application/json" ? 200 : 400,
      "validation_failed",
    ]);
  },
);
