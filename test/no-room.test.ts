// What callers of GraphQL and of the tool endpoint are told when there is no connection for them: what REST would say.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { eventually } from "./support/eventually.ts";
import { post, toolCall } from "./support/mcp.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";

let service: TestService;
let blocker: pg.Client;
let holding: Promise<Answer>;
/** What those are told who have come at the same time: each of them waits for seconds. */
let told: Record<"all" | "allAsGraphql" | "part" | "wrong" | "tool", Answer>;
beforeAll(async () => {
  service = await startTestService({ config: { databasePoolSize: 1, statementTimeoutMs: 600_000 } });
  blocker = new pg.Client(service.database.url);
  await blocker.connect();
  await blocker.query("begin; lock table app_public.needs in access exclusive mode");
  holding = call(`${service.url}/v0/needs`, "GET", service.keys.write);
  await eventually(async () => {
    const { rows } = await service.database.owner.query(
      `select from pg_stat_activity where usename = 'engagement_server' and wait_event_type = 'Lock'
         and datname = current_database()`,
    );
    expect(rows).toHaveLength(1);
  });
  const nothing = "{ needs { totalCount } countries: accelerators { totalCount } }";
  const [all, allAsGraphql, part, wrong, tool] = await Promise.all([
    ask(nothing, JSON_TYPE),
    ask(nothing, GRAPHQL_TYPE),
    ask("{ __typename needs { totalCount } }", JSON_TYPE),
    ask("{ nothing }", GRAPHQL_TYPE),
    post(service, toolCall({ locality: "El Cajon" })),
  ]);
  told = { all, allAsGraphql, part, wrong, tool };
});
afterAll(async () => {
  await blocker.end();
  await holding;
  await service.stop();
});

const JSON_TYPE = "application/json";
const GRAPHQL_TYPE = "application/graphql-response+json";
const ask = (query: string, accept: string) =>
  call(`${service.url}/graphql`, "POST", service.keys.read, { query }, { accept });
const busy = { extensions: { code: "service_busy", statusCode: 503, retryAfter: 1 } };

test.each([
  [JSON_TYPE, "all"],
  [GRAPHQL_TYPE, "allAsGraphql"],
] as const)("GraphQL, of which nothing could be answered, as %s", (accept, asked) => {
  const { status, headers, body } = told[asked];
  expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 503, retryAfter: "1" });
  expect(headers.get("content-type")).toContain(accept);
  expect(body).not.toHaveProperty("data");
  expect(body).toMatchObject({ errors: [busy, busy] });
});

test("GraphQL, of which something was", () => {
  const { status, headers, body } = told.part;
  expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 200, retryAfter: "1" });
  expect(body).toMatchObject({ data: { __typename: "Query", needs: null }, errors: [busy] });
});

test("GraphQL that is refused for another reason", () => {
  const { status, body } = told.wrong;
  expect({ status, body }).toMatchObject({
    status: 400,
    body: { errors: [{ extensions: { statusCode: 400 } }] },
  });
});

test("the tool endpoint", () => {
  const { status, headers, body } = told.tool;
  expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 200, retryAfter: "1" });
  expect(body.result).toEqual({
    content: [{ type: "text", text: expect.stringMatching(/^service_busy: .* Retry-After: 1 s\.$/) }],
    isError: true,
    _meta: {
      error: {
        ...{ code: "service_busy", statusCode: 503, retryAfter: 1 },
        requestId: headers.get("x-request-id"),
      },
    },
  });
});
