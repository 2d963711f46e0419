// What speaks a protocol of its own, SPARQL and the tool endpoint, is described in the document too: what it takes, and
// what it answers. Clients are generated from that.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startDemoService } from "./support/demo.ts";
import { MODERN_META, modernHeaders, toolCall } from "./support/mcp.ts";
import { checkOf, operationsOf } from "./support/openapi.ts";
import type { Document, Operation } from "./support/openapi.ts";
import { call } from "./support/service.ts";

let service: Awaited<ReturnType<typeof startDemoService>>;
let document: Document;
let operations: ReadonlyMap<string, Operation>;
beforeAll(async () => {
  service = await startDemoService();
  document = (await call(`${service.url}/v0/openapi.json`, "GET", service.keys.read)).body;
  operations = new Map(operationsOf(document).map(({ operation }) => [operation.operationId, operation]));
});
afterAll(() => service.stop());

const JSON_TYPE = "application/json";

describe("the tool endpoint", () => {
  const ping = { jsonrpc: "2.0", id: 3, method: "ping" };
  const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
  const unknown = { jsonrpc: "2.0", id: 4, method: "tools/delete" };
  const pings = (count: number) => Array.from({ length: count }, () => ping);
  const modern = { id: 4, method: "ping", params: { _meta: MODERN_META } };
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    call(`${service.url}/v0/mcp`, "POST", service.keys.read, body, { "content-type": JSON_TYPE, ...headers });
  const takes = (body: unknown) =>
    checkOf(document, operations.get("callTool")!.requestBody!.content[JSON_TYPE]!.schema, {
      open: true,
    }).safeParse(body).success;
  const answers = (status: number) => operations.get("callTool")!.responses[status]!.content?.[JSON_TYPE];
  const isAnswer = (status: number, body: unknown) =>
    checkOf(document, answers(status)!.schema, { open: true }).safeParse(body).success;

  const cases: [string, number, unknown, Record<string, string>][] = [
    ["a message", 200, ping, {}],
    ["a message whose id is a text", 200, { ...ping, id: "a" }, {}],
    ["a call of the tool", 200, toolCall({ limit: 1 }), {}],
    ["a method that there is not", 200, unknown, {}],
    ["a batch", 200, [ping, unknown, notification], {}],
    ["a batch of one", 200, pings(1), {}],
    ["the longest batch", 200, pings(10), {}],
    ["a notification", 202, notification, {}],
    ["a batch of notifications", 202, [notification, notification], {}],
    ["a method that the current revision has not", 404, { ...ping, ...modern }, modernHeaders("ping")],
  ];
  test.each(cases)("takes and answers %s as described", async (_name, status, body, headers) => {
    const answer = await send(body, headers);
    expect({ status: answer.status, taken: takes(body) }).toEqual({ status, taken: true });
    expect(operations.get("callTool")!.responses).toHaveProperty(String(status));
    if (status === 202) expect(answer.body).toBe("");
    else expect([answer.body, isAnswer(status, answer.body)]).toEqual([answer.body, true]);
  });

  const wrong: [string, unknown][] = [
    ["an empty batch", []],
    ["a batch that is too long", pings(11)],
    ["a message without a method", { jsonrpc: "2.0", id: 1 }],
    ["another version of JSON-RPC", { ...ping, jsonrpc: "1.0" }],
    ["an id that is an object", { ...ping, id: {} }],
    ["params that are a list", { ...ping, params: [] }],
  ];
  test.each(wrong)("refuses %s as described", async (_name, body) => {
    const { status, body: refusal } = await send(body);
    expect({ status, taken: takes(body), as: isAnswer(400, refusal) }).toEqual({
      status: 400,
      taken: false,
      as: true,
    });
  });

  test("answers nothing else by the description", () => {
    const result = { jsonrpc: "2.0", id: 1, result: {} };
    const long = Array.from({ length: 11 }, () => result);
    for (const body of [
      {},
      [],
      long,
      { ...result, id: {} },
      { ...result, result: 5 },
      { ...result, error: {} },
    ])
      expect([body, isAnswer(200, body)]).toEqual([body, false]);
    expect([400, 404].map((status) => isAnswer(status, [result]))).toEqual([false, false]);
  });
});

describe("SPARQL", () => {
  const select = "select ?s where { ?s ?p ?o } limit 1";
  const construct = "construct where { ?s ?p ?o } limit 1";
  const ask = (query: string, operationId: string, accept?: string) => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    return operationId === "querySparql"
      ? call(`${service.url}/v0/sparql`, "POST", service.keys.read, query, {
          ...headers,
          "content-type": "application/sparql-query",
        })
      : call(
          `${service.url}/v0/sparql?${new URLSearchParams({ query }).toString()}`,
          "GET",
          service.keys.read,
          undefined,
          headers,
        );
  };
  const typeOf = ({ headers }: { headers: Headers }) => headers.get("content-type")!.split(";")[0]!;

  test.each(["querySparql", "querySparqlByGet"])(
    "is answered to %s in each type that is described, and in the first without being asked",
    async (id) => {
      const types = Object.keys(operations.get(id)!.responses[200]!.content!);
      const found: string[] = [];
      for (const query of [select, construct]) {
        const first = typeOf(await ask(query, id));
        expect(types).toContain(first);
        for (const type of types) {
          const { status, headers } = await ask(query, id, type);
          if (status === 200) found.push(typeOf({ headers }));
          else expect([type, status]).toEqual([type, 406]);
        }
      }
      expect(found.toSorted()).toEqual(types.toSorted());
      expect(types).toHaveLength(8);
    },
  );
});
