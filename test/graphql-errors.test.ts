// How GraphQL refuses: the codes and statuses of REST, whatever went wrong and wherever.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { once } from "node:events";
import express from "express";
import type { AddressInfo } from "node:net";
import { buildSchema, GraphQLError, parse } from "postgraphile/graphql";
import { answerWithin } from "../server/graphql/ask.ts";
import { createGraphql } from "../server/graphql/door.ts";
import { publicErrors } from "../server/graphql/errors.ts";
import type { Execution } from "../server/graphql/execution.ts";
import { callerWith } from "../server/identity/identity.ts";
import { Postgres } from "../server/postgres/postgres.ts";
import { nameRequest } from "../server/request-context.ts";
import {
  CallerGone,
  DatabaseUnavailable,
  ServiceBusy,
  StatementTimeout,
} from "../server/postgres/unavailable.ts";
import { refusal, send } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, DEPRECATED_CODE, member, ORG, stranger } from "./support/world.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const UNKNOWN = "00000000-0000-4000-8000-000000000000";
const need = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: admin,
  needDescription: "Water",
  accelerators: ["PRA"],
};
const commitment = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: admin,
  commitmentDescription: "We dig",
  acceleratorScope: ["PRA"],
};
const claim = {
  orgUri: ORG,
  orgName: "River Mission",
  claimedByEmail: admin,
  engagementAccelerators: ["PRA"],
};

const declareNeed = "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }";
const declareCommitment =
  "mutation ($input: DeclareCommitmentInput!) { declareCommitment(input: $input) { commitment { commitmentId } } }";
const submitClaim =
  "mutation ($input: SubmitEngagementClaimInput!) { submitEngagementClaim(input: $input) { engagementClaim { claimId } } }";
const updateNeed =
  "mutation ($input: UpdateNeedStatusInput!) { updateNeedStatus(input: $input) { need { status } } }";
const updateCommitment =
  "mutation ($input: UpdateCommitmentStatusInput!) { updateCommitmentStatus(input: $input) { commitment { status } } }";
const updateClaim =
  "mutation ($input: UpdateEngagementClaimStatusInput!) { updateEngagementClaimStatus(input: $input) { engagementClaim { status } } }";

describe("a mutation is refused with", () => {
  test.each<[code: string, status: number, name: string, query: string, input: object]>([
    ["membership_required", 403, "a stranger", declareNeed, { ...need, declaredByEmail: stranger }],
    ["insufficient_role", 403, "a member who only reads", declareNeed, { ...need, declaredByEmail: member }],
    ["validation_failed", 400, "no e-mail address", declareNeed, { ...need, declaredByEmail: "x" }],
    ["validation_failed", 400, "an empty list", declareNeed, { ...need, accelerators: [] }],
    ["validation_failed", 400, "blanks for a text", declareNeed, { ...need, needDescription: " \n" }],
    ["validation_failed", 400, "a NUL character", declareNeed, { ...need, needDescription: "a\u0000b" }],
    ["validation_failed", 400, "a country of no list", declareNeed, { ...need, concernsCountryCode: ["ke"] }],
    ["validation_failed", 400, "a missing field", declareNeed, { ...need, orgUri: undefined }],
    ["validation_failed", 400, "null for a required field", declareNeed, { ...need, orgName: null }],
    ["validation_failed", 400, "null in a list", declareNeed, { ...need, accelerators: [null] }],
    ["validation_failed", 400, "a number for a text", declareNeed, { ...need, orgName: 7 }],
    ["validation_failed", 400, "an unknown field", declareNeed, { ...need, status: "met" }],
    [
      "unknown_accelerator_code",
      422,
      "a deprecated code",
      declareNeed,
      { ...need, accelerators: [DEPRECATED_CODE] },
    ],
    [
      "validation_failed",
      400,
      "30 February",
      declareCommitment,
      { ...commitment, targetCompletionDate: "2027-02-30" },
    ],
    ["validation_failed", 400, "no UUID", declareCommitment, { ...commitment, concernsNeedId: "x" }],
    [
      "unknown_need",
      422,
      "a need that does not exist",
      declareCommitment,
      { ...commitment, concernsNeedId: UNKNOWN },
    ],
    [
      "unknown_commitment",
      422,
      "a commitment that does not exist",
      submitClaim,
      { ...claim, fulfillsCommitmentId: UNKNOWN },
    ],
    [
      "need_not_found",
      404,
      "no such need",
      updateNeed,
      { needId: UNKNOWN, status: "met", actorEmail: admin },
    ],
    [
      "commitment_not_found",
      404,
      "no such commitment",
      updateCommitment,
      { commitmentId: UNKNOWN, status: "funded", actorEmail: admin },
    ],
    [
      "engagement_claim_not_found",
      404,
      "no such claim",
      updateClaim,
      { claimId: UNKNOWN, status: "paused", actorEmail: admin },
    ],
    [
      "validation_failed",
      400,
      "a status that is in no list",
      updateNeed,
      { needId: UNKNOWN, status: "OPEN", actorEmail: admin },
    ],
  ])("%s %d: %s", async (code, status, _name, query, input) => {
    const answer = await send(service, query, { input }, "write");
    expect(answer.errors?.[0]?.extensions).toMatchObject({ code, statusCode: status });
    expect(answer.body).not.toMatch(/node_modules|select |app_private/);
  });

  test("insufficient_scope, for every mutation, with a key that only reads", async () => {
    const inputs: [string, object][] = [
      [declareNeed, need],
      [declareCommitment, commitment],
      [submitClaim, claim],
      [updateNeed, { needId: UNKNOWN, status: "met", actorEmail: admin }],
      [updateCommitment, { commitmentId: UNKNOWN, status: "funded", actorEmail: admin }],
      [updateClaim, { claimId: UNKNOWN, status: "paused", actorEmail: admin }],
    ];
    for (const [query, input] of inputs) {
      expect(await refusal(service, query, { input }, "read")).toEqual(["insufficient_scope", 403]);
    }
  });

  test("every problem by its path", async () => {
    const { errors } = await send(
      service,
      declareNeed,
      { input: { ...need, orgUri: "x", concernsCountryCode: ["KE", "xx"] } },
      "write",
    );
    expect(errors?.[0]?.extensions["details"]).toEqual([
      { path: "orgUri", message: expect.any(String) },
      { path: "concernsCountryCode[1]", message: expect.any(String) },
    ]);
  });

  test("the other fields of a request go on", async () => {
    const { data, errors } = await send(
      service,
      `mutation ($good: DeclareNeedInput!, $bad: DeclareNeedInput!) {
        bad: declareNeed(input: $bad) { need { needId } }
        good: declareNeed(input: $good) { clientMutationId need { status } }
      }`,
      { good: { ...need, clientMutationId: "mine" }, bad: { ...need, accelerators: ["NOT-ONE"] } },
      "write",
    );
    expect(data).toEqual({ bad: null, good: { clientMutationId: "mine", need: { status: "open" } } });
    expect(errors?.map(({ path }) => path)).toEqual([["bad"]]);
  });
});

describe("over HTTP", () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    call(`${service.url}/graphql`, "POST", service.keys.read, body, headers);
  const query = JSON.stringify({ query: "{ __typename }" });

  test.each<[string, number, string, string, Record<string, string>]>([
    ["malformed JSON", 400, "validation_failed", "{", {}],
    ["a batch", 400, "validation_failed", `[${query}]`, {}],
    ["no query", 400, "validation_failed", "{}", {}],
    [
      "variables that are a list",
      400,
      "validation_failed",
      '{"query": "{ __typename }", "variables": []}',
      {},
    ],
    ["a text with a syntax error", 400, "validation_failed", '{"query": "{"}', {}],
    ["an unknown field", 400, "validation_failed", '{"query": "{ nothing }"}', {}],
    [
      "an operation that does not exist",
      400,
      "validation_failed",
      '{"query": "query A { __typename }", "operationName": "B"}',
      {},
    ],
    ["another content type", 415, "unsupported_media_type", query, { "content-type": "text/plain" }],
    ["an answer of another type", 406, "not_acceptable", query, { accept: "image/png" }],
    ["10 MB", 413, "payload_too_large", `{"query": "${"x".repeat(10_000_000)}"}`, {}],
  ])("%s answers %d %s", async (_name, status, code, body, headers) => {
    const answer = await post(body, headers);
    expect(answer.status).toBe(status);
    expect(answer.body.errors[0].extensions).toMatchObject({ code, statusCode: status });
  });

  test.each([
    ["a UUID", "query ($v: UUID!) { need(needId: $v) { needId } }"],
    ["a cursor", "query ($v: Cursor) { needs(first: 1, after: $v) { totalCount } }"],
  ])("what cannot be made a text is refused as %s, as any other wrong value", async (_name, text) => {
    const { errors } = (await post(JSON.stringify({ query: text, variables: { v: { toString: "x" } } })))
      .body;
    expect(errors[0]).toMatchObject({
      message: 'Variable "$v" has a value that is not of its type.',
      extensions: { code: "validation_failed", statusCode: 400 },
    });
  });

  test("other methods answer 405", async () => {
    const answer = await call(`${service.url}/graphql`, "PUT", service.keys.read);
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, POST, OPTIONS"]);
    expect(answer.body.errors[0].extensions.code).toBe("method_not_allowed");
    const stream = await call(`${service.url}/graphql/stream`, "GET", service.keys.read);
    expect([stream.status, stream.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });

  test.each([
    [undefined, "missing_api_key", "Bearer"],
    ["ek_unknown", "invalid_api_key", 'Bearer error="invalid_token"'],
  ])("the key %s answers 401 %s, before anything else", async (key, code, challenge) => {
    const answer = await call(`${service.url}/graphql`, "POST", key, "{");
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, challenge]);
    const requestId = answer.headers.get("x-request-id");
    expect(answer.body.errors[0].extensions).toEqual({ code, statusCode: 401, requestId });
  });

  test("of a text with many mistakes the first twenty are told", async () => {
    const told = async (count: number) => {
      const fields = Array.from({ length: count }, (_, n) => `nothing${n}`).join(" ");
      const { body } = await post(JSON.stringify({ query: `{ ${fields} }` }));
      return (body.errors as { message: string }[]).map(({ message }) => message);
    };
    expect(await told(20)).toHaveLength(20);
    const more = await told(30);
    expect(more.slice(0, 20)).toEqual(await told(20));
    expect(more.slice(20)).toEqual([expect.stringMatching(/^Too many validation errors/)]);
  });

  test("a mistake in a text is told with its line and column, and whatever fails with its field", async () => {
    const told = async (text: string) =>
      ((await post(JSON.stringify({ query: text }))).body.errors as object[]).map((error) => ({
        locations: undefined,
        path: undefined,
        ...error,
      }));
    const at = (line: number, column: number) => [{ line, column }];
    expect(await told("{\n  needs { nothing }\n}")).toMatchObject([
      { locations: at(2, 11), path: undefined },
    ]);
    expect(await told("{\n  needs(}")).toMatchObject([{ locations: at(2, 9), path: undefined }]);
    expect(
      await told('{\n  needs { a: totalCount }\n  b: needs(after: "x") { nodes { id } }\n}'),
    ).toMatchObject([{ locations: at(3, 3), path: ["b"] }]);
  });

  test("nothing but null is an answer, where nothing went wrong", async () => {
    const query = `{ need(needId: "00000000-0000-4000-8000-000000000000") { status } }`;
    const { status, body } = await call(`${service.url}/graphql`, "POST", service.keys.read, { query });
    expect([status, body]).toEqual([200, { data: { need: null } }]);
  });

  test("a client of the older media type gets 200 and reads the errors", async () => {
    const answer = await post('{"query": "{ nothing }"}', { accept: "application/json" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.body.errors[0].extensions.code).toBe("validation_failed");
  });
});

describe("what is our own fault", () => {
  let left = Infinity;
  const logged: object[] = [];
  const start = async (statementTimeoutMs: number) => {
    const postgres = new Postgres({
      url: service.database.serverUrl,
      poolSize: 4,
      statementTimeoutMs,
      onError: () => undefined,
    });
    const take = postgres.requests.take.bind(postgres.requests);
    jest.spyOn(postgres.requests, "take").mockImplementation((...asked) => {
      if (left-- > 0) return take(...asked);
      return Promise.reject(new ServiceBusy());
    });
    const logger = { error: (details: object) => void logged.push(details), warn: () => undefined };
    const graphql = await createGraphql({ postgres, logger, answerMaxBytes: 1_000_000 });
    const app = express().use(nameRequest);
    const guard: express.RequestHandler = (request, _response, next) => {
      request.identity = callerWith({ keyId: UNKNOWN, scope: "api_read", ratePerMinute: null });
      next();
    };
    await graphql.door(app, { key: [guard], again: guard, keyInQuery: [], page: [], openPage: [] });
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      stop: async () => {
        server.close();
        await graphql.release();
        await postgres.end();
      },
    };
  };
  // To build a schema takes longer than all that it is asked here.
  const started = new Map<number, ReturnType<typeof start>>();
  afterAll(async () => {
    for (const served of started.values()) await (await served).stop();
  });
  const serve = async (
    {
      statementTimeoutMs = 10_000,
      connections = Infinity,
    }: { statementTimeoutMs?: number; connections?: number },
    work: (served: Pick<TestService, "url" | "keys">) => Promise<void>,
  ) => {
    const served = started.get(statementTimeoutMs) ?? start(statementTimeoutMs);
    started.set(statementTimeoutMs, served);
    const { url } = await served;
    left = connections;
    logged.length = 0;
    await work({ url, keys: service.keys });
  };

  test("a statement that takes too long answers 504 query_timeout", async () => {
    await serve({ statementTimeoutMs: 200 }, async (served) => {
      const client = await service.database.owner.connect();
      await client.query("begin; lock table app_public.needs in access exclusive mode");
      const [code, status] = await refusal(served, "{ needs { nodes { id } } }");
      await client.query("rollback");
      client.release();
      expect([code, status]).toEqual(["query_timeout", 504]);
    });
  });

  test.each<[what: string, connections: number, query: string, status: number, codes: string[]]>([
    [
      "nothing of it can be answered",
      0,
      "{ a: needs { nodes { id } } b: needs { totalCount } }",
      503,
      ["service_busy"],
    ],
    [
      "a part of it is refused for another reason",
      0,
      '{ a: needs(after: "x") { nodes { id } } b: needs { totalCount } }',
      200,
      ["service_busy", "validation_failed"],
    ],
    ["a part of it is answered", 1, "{ __typename a: needs { totalCount } }", 200, []],
    ["a part of it needs no database", 0, "{ __typename a: needs { totalCount } }", 200, ["service_busy"]],
  ])("a request is busy's only where %s", async (_what, connections, query, status, codes) => {
    await serve({ connections }, async (served) => {
      const answer = await call(`${served.url}/graphql`, "POST", service.keys.read, { query });
      const errors = (answer.body.errors ?? []) as { extensions: { code: string } }[];
      expect([
        answer.status,
        [...new Set(errors.map(({ extensions }) => extensions.code))].toSorted(),
      ]).toEqual([status, codes]);
      expect("data" in answer.body).toBe(status === 200);
    });
  });

  test("a page of ours says no more of it than any caller is told", async () => {
    const publicError = publicErrors({ error: () => undefined, warn: () => undefined });
    const execution = {
      ...{ publicError, parserOf: () => () => ({ document: parse("{ a }") }) },
      run: () => ({ errors: [new GraphQLError("", { originalError: new Error("app_private.secrets") })] }),
    } as unknown as Execution;
    const parts = { execution, schema: buildSchema("type Query { a: Int }") };
    const context = { expressv4: { req: { countAs: () => Promise.resolve() } } } as never;
    const { errors } = await answerWithin({ ...parts, resolvedPreset: {} as never }, "{ a }", context);
    expect(errors).toMatchObject([{ extensions: { code: "internal_error" } }]);
    expect(JSON.stringify(errors)).not.toContain("secrets");
  });

  test("that a caller has gone is not", () => {
    const logged: object[] = [];
    const publicError = publicErrors({
      error: (details: object) => void logged.push(details),
      warn: (details: object) => void logged.push(details),
    });
    expect(publicError(new CallerGone()).extensions).toMatchObject({ code: "query_timeout" });
    expect(logged).toEqual([]);
    expect(publicError(new Error("Ours")).extensions).toMatchObject({ code: "internal_error" });
    expect(logged).toHaveLength(1);
  });

  test("that there was too much to do is a warning, and a failure is an error", () => {
    const logged: string[] = [];
    const publicError = publicErrors({ error: () => logged.push("error"), warn: () => logged.push("warn") });
    for (const cause of [
      new ServiceBusy(),
      new StatementTimeout(),
      new DatabaseUnavailable(),
      new Error("Ours"),
    ])
      publicError(cause);
    expect(logged).toEqual(["warn", "warn", "error", "error"]);
  });

  test("a failure answers 500 with an id, and the log has the cause under that id", async () => {
    await serve({}, async (served) => {
      await service.database.owner.query("alter table app_public.countries rename column name to renamed");
      const { body, errors } = await send(served, "{ countries { nodes { name } } }");
      await service.database.owner.query("alter table app_public.countries rename column renamed to name");
      const { code, statusCode, errorId } = errors![0]!.extensions;
      expect([code, statusCode]).toEqual(["internal_error", 500]);
      expect(body).not.toMatch(/renamed|does not exist|select/);
      expect(logged).toEqual([expect.objectContaining({ errorId, err: expect.any(Error) })]);
    });
  });
});
