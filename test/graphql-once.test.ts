// A GraphQL request with an Idempotency-Key: its one mutation is made once, however often it is sent.
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { RunningServer } from "../server/main.ts";
import { BorrowedConnection } from "../server/postgres/connections.ts";
import { keyIdOf } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call, startAnotherServer, startTestService, untilServed } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
import { addOrganization, claimOf } from "./support/membership.ts";
import type { TestOrganization } from "./support/membership.ts";
import { contributor, ORG } from "./support/world.ts";

const DECLARE =
  "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId status statusHistory { nodes { toStatus } } } } }";
const NEEDS = "{ needs { totalCount } }";
const ANSWER_BYTES = 400_000;

let dir: string;
let service: TestService;
let registered: RunningServer;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "once-"));
  await writeFile(join(dir, "all.json"), JSON.stringify({ [idOf(DECLARE)]: DECLARE }));
  service = await startTestService({ config: { answerMaxBytes: ANSWER_BYTES, statementTimeoutMs: 60_000 } });
  registered = await startAnotherServer(service, { PERSISTED_DOCUMENTS: dir });
});
afterAll(async () => {
  await registered.stop();
  await service.stop();
  await rm(dir, { recursive: true, force: true });
});

const idOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;
const input = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Wells",
  accelerators: ["PRA"],
};

type Request = { query?: string; documentId?: string; operationName?: string | null; variables?: object };

const ask = (key: string | undefined, request: Request, apiKey = service.keys.write, url = service.url) =>
  call(`${url}/graphql`, "POST", apiKey, request, key === undefined ? {} : { "idempotency-key": key });
const declare = (key: string | undefined, differences: object = {}, query = DECLARE) =>
  ask(key, { query, variables: { input: { ...input, ...differences } } });
const count = async (): Promise<number> =>
  (await ask(undefined, { query: NEEDS })).body.data.needs.totalCount;
const needIdOf = ({ body }: Answer): string => body.data.declareNeed.need.needId;
const problemOf = ({ body }: Answer) => body.errors?.[0];
const REUSED = { extensions: { code: "idempotency_key_reused", statusCode: 409 } };

describe("a claim to an organization", () => {
  const claim = (organization: TestOrganization) =>
    claimOf(organization, `ana@elsewhere-${organization.domain}`);
  const overGraphql = (key: string, organization: TestOrganization, more = "") =>
    ask(key, {
      query: `mutation ($input: ClaimOrganizationInput!) { claimOrganization(input: $input) { claim { status ${more} } } }`,
      variables: { input: claim(organization) },
    });

  test("no claim waits for what another reads of what it has made", async () => {
    const { owner } = service.database;
    const [slow, other] = [await addOrganization(owner, { boss: "org_admin" }), await addOrganization(owner)];
    await count();
    const locker = await owner.connect();
    try {
      await locker.query("begin; lock table app_public.commitments in access exclusive mode");
      const reading = overGraphql("reads", slow, "organization { commitments { nodes { status } } }");
      await eventually(async () => {
        const { rowCount } = await owner.query(
          `select from pg_locks where database = (select oid from pg_database where datname = current_database())
             and relation = 'app_public.commitments'::regclass and not granted`,
        );
        expect(rowCount).toBe(1);
      });
      // With another key: those of one are counted, one after the other.
      const claimed = call(
        `${service.url}/v0/onboarding/claim-org`,
        "POST",
        service.keys.review,
        claim(other),
      );
      expect(await Promise.race([reading, claimed])).toMatchObject({ body: { status: "pending" } });
      await locker.query("rollback");
      expect(problemOf(await reading)).toBeUndefined();
    } finally {
      await locker.query("rollback");
      locker.release();
    }
  });

  test("where what counts the mails is locked for too long it is refused, and nothing was done", async () => {
    const { owner } = service.database;
    const organization = await addOrganization(owner);
    const server = await startAnotherServer(service, { STATEMENT_TIMEOUT_MS: "5000" });
    const locker = await owner.connect();
    const query =
      "mutation ($input: ClaimOrganizationInput!) { claimOrganization(input: $input) { claim { status } } }";
    try {
      await ask(undefined, { query: NEEDS }, undefined, server.url);
      await locker.query("select pg_advisory_lock(hashtextextended('app_private.claim_mails', 0))");
      const refused = await ask(
        "counted",
        { query, variables: { input: claim(organization) } },
        undefined,
        server.url,
      );
      expect(problemOf(refused)).toMatchObject({ extensions: { code: "query_timeout" } });
      await locker.query("select pg_advisory_unlock_all()");
      const { rows } = await owner.query("select from app_public.organization_claims where org_uri = $1", [
        organization.uri,
      ]);
      expect(rows).toEqual([]);
    } finally {
      await locker.query("select pg_advisory_unlock_all()");
      locker.release();
      await server.stop();
    }
  });
});

test("replays the first answer to the same request, and writes once", async () => {
  const before = await count();
  const first = await declare("one");
  expect(first).toMatchObject({
    status: 200,
    body: {
      data: { declareNeed: { need: { status: "open", statusHistory: { nodes: [{ toStatus: "open" }] } } } },
    },
  });
  await ask(undefined, {
    query: `mutation { updateNeedStatus(input: {needId: "${needIdOf(first)}", status: met, actorEmail: "${contributor}"}) { need { status } } }`,
  });
  // As it was told, not as it is by now.
  expect(await declare("one")).toMatchObject({ status: 200, body: first.body });
  expect(await count()).toBe(before + 1);
});

test("replays also what counts as more requests than one", async () => {
  const aggregates = "aggregates { count } groupedAggregates(groupBy: [STATUS]) { count }";
  const query = `mutation ($input: DeclareNeedInput!) {
    declareNeed(input: $input) { need { needId organization { needs { ${aggregates} } } } } }`;
  const before = await count();
  const first = await declare("several", {}, query);
  expect(problemOf(first)).toBeUndefined();
  expect((await declare("several", {}, query)).body).toEqual(first.body);
  expect(await count()).toBe(before + 1);
});

test("answers as without one", async () => {
  const [once, often] = [await declare("as without"), await declare(undefined)];
  const apart = (answer: Answer) => JSON.stringify(answer.body).replace(needIdOf(answer), "");
  expect(apart(once)).toBe(apart(often));
  const bad = { accelerators: ["NO-SUCH"] };
  const told = async (key?: string) => {
    const { status, body } = await declare(key, bad);
    return [status, body.data, body.errors[0].message, body.errors[0].path, body.errors[0].extensions.code];
  };
  expect(await told("as without, refused")).toEqual(await told());
});

test("knows the same request however it is written, and by its document", async () => {
  const first = await declare("written");
  const variables = { input: Object.fromEntries(Object.entries(input).toReversed()) };
  const same: [string, Request][] = [
    [service.url, { variables, query: DECLARE }],
    [service.url, { query: DECLARE, variables, operationName: null }],
    [service.url, { query: DECLARE, variables: { input: { ...input, concernsCountryCode: null } } }],
    [registered.url, { documentId: idOf(DECLARE), variables }],
  ];
  for (const [url, request] of same) {
    expect((await ask("written", request, service.keys.write, url)).body).toEqual(first.body);
  }
});

describe("is refused with another request:", () => {
  const two = "mutation A { __typename } mutation B($input: DeclareNeedInput!) ";
  const body = "{ declareNeed(input: $input) { need { needId } } }";

  test.each<[string, Request]>([
    ["other variables", { query: DECLARE, variables: { input: { ...input, needDescription: "Other" } } }],
    ["another text", { query: `${DECLARE} #`, variables: { input } }],
  ])("%s", async (name, request) => {
    await declare(name);
    const before = await count();
    expect(problemOf(await ask(name, request))).toMatchObject(REUSED);
    expect(await count()).toBe(before);
  });

  test("another operation of the text", async () => {
    const query = `mutation A($input: DeclareNeedInput!) ${body} ${two.replace("mutation A { __typename } ", "")}${body}`;
    const request = { query, variables: { input } };
    const first = await ask("operation", { ...request, operationName: "A" });
    expect(problemOf(await ask("operation", { ...request, operationName: "B" }))).toMatchObject(REUSED);
    expect((await ask("operation", { ...request, operationName: "A" })).body).toEqual(first.body);
  });

  test("null, where what is left out has a default", async () => {
    const query = `mutation ($text: String! = "Roofs", $country: [String!] = ["UG"]) { declareNeed(input: {
      orgUri: "${ORG}", orgName: "River Mission", declaredByEmail: "${contributor}", needDescription: $text, accelerators: ["PRA"],
      concernsCountryCode: $country }) { need { needId concernsCountryCode } } }`;
    const first = await ask("default", { query, variables: {} });
    expect(first.body.data.declareNeed.need.concernsCountryCode).toEqual(["UG"]);
    expect(problemOf(await ask("default", { query, variables: { country: null } }))).toMatchObject(REUSED);
    expect((await ask("default", { query, variables: { country: ["UG"] } })).body).toEqual(first.body);
  });

  test("one of REST, and the other way round", async () => {
    const rest = (key: string) =>
      call(`${service.url}/v0/needs`, "POST", service.keys.write, input, { "idempotency-key": key });
    await declare("graphql first");
    expect(await rest("graphql first")).toMatchObject({
      status: 409,
      body: { error: "idempotency_key_reused" },
    });
    expect((await rest("rest first")).status).toBe(201);
    expect(problemOf(await declare("rest first"))).toMatchObject(REUSED);
  });

  test("one that the version before has answered, which kept no others than those of REST", async () => {
    await service.database.owner.query(
      `select app_private.run_as('api_write', $1, '{}', $2, 'kept before')`,
      [`select '{"needId": "of REST"}'`, await keyIdOf(service.database.owner, service.keys.write)],
    );
    const before = await count();
    expect(problemOf(await declare("kept before"))).toMatchObject(REUSED);
    expect(await count()).toBe(before);
  });
});

test("rests at no time between the key and the kept answer, when others may wait for what it has locked", async () => {
  const rest = jest.spyOn(BorrowedConnection.prototype, "rest");
  await declare(undefined);
  expect(rest).toHaveBeenCalled();
  rest.mockClear();
  expect((await declare("restless")).body.errors).toBeUndefined();
  expect(rest).not.toHaveBeenCalled();
  rest.mockRestore();
});

test("is the same request however the path is spelled", async () => {
  const body = { query: DECLARE, variables: { input } };
  const send = (path: string) =>
    call(`${service.url}${path}`, "POST", service.keys.write, body, { "idempotency-key": "spelled" });
  const first = await send("/GraphQL/");
  expect(needIdOf(first)).toBeTruthy();
  expect(await send("/graphql")).toMatchObject({ status: 200, body: first.body });
});

test("belongs to one API key", async () => {
  const first = await declare("mine");
  const others = await ask("mine", { query: DECLARE, variables: { input } }, service.keys.review);
  expect(others.status).toBe(200);
  expect(needIdOf(others)).not.toBe(needIdOf(first));
});

test("ten at once make one record", async () => {
  const before = await count();
  const answers = await Promise.all(Array.from({ length: 10 }, () => untilServed(() => declare("ten"))));
  expect(new Set(answers.map(needIdOf)).size).toBe(1);
  expect(await count()).toBe(before + 1);
});

test("a refused request can be corrected and sent again with it", async () => {
  const refused = await declare("corrected", { accelerators: ["NO-SUCH"] });
  expect(problemOf(refused).extensions).toMatchObject({ code: "unknown_accelerator_code", statusCode: 422 });
  expect((await declare("corrected")).body.errors).toBeUndefined();
});

describe("goes with one mutation:", () => {
  const one = (name: string) =>
    `${name}: declareNeed(input: {orgUri: "${ORG}", orgName: "River Mission", declaredByEmail: "${contributor}", needDescription: "${name}", accelerators: ["PRA"]}) { need { needId } }`;

  test.each<[string, string, string]>([
    ["a query", NEEDS, "is a query"],
    ["a subscription", "subscription { changes { change } }", "is a subscription"],
    ["two mutations", `mutation { ${one("a")} ${one("b")} }`, "has 2"],
    [
      "two, one of them in a fragment",
      `mutation { ${one("a")} ...F } fragment F on Mutation { ${one("b")} }`,
      "has 2",
    ],
    ["two, one of them in an inline fragment", `mutation { ${one("a")} ... { ${one("b")} } }`, "has 2"],
    ["none but its type", "mutation { __typename }", "has 0"],
    ["one that is skipped", `mutation { ... @skip(if: true) { ${one("a")} } }`, "has 0"],
    [
      "one that is not included",
      `mutation ($with: Boolean = false) { ... @include(if: $with) { ${one("a")} } }`,
      "has 0",
    ],
  ])("%s is refused, and nothing done", async (name, query, found) => {
    const before = await count();
    const { body } = await ask(name, { query });
    expect(body.data).toBeUndefined();
    expect(body.errors[0].extensions).toMatchObject({
      ...{ code: "validation_failed", statusCode: 400 },
      details: [
        {
          path: "Idempotency-Key",
          message: `goes with a request that has exactly one mutation; this one ${found}`,
        },
      ],
    });
    expect(await count()).toBe(before);
    // Without the header it is a request like others.
    if (query !== NEEDS) return;
    expect((await ask(undefined, { query })).body.errors).toBeUndefined();
  });

  test.each<[string, string, object?]>([
    [
      "beside one that is skipped",
      `mutation ($b: Boolean!) { ${one("a")} ... @skip(if: $b) { ${one("b")} } }`,
      { b: true },
    ],
    [
      "that is included",
      `mutation ($b: Boolean! = true) { ... on Mutation @include(if: $b) { ${one("a")} } }`,
    ],
    [
      "that is asked for twice under one name",
      `mutation { ${one("a")} ...F } fragment F on Mutation { ${one("a")} }`,
    ],
    ["beside its type", `mutation { __typename ${one("a")} }`],
  ])("one %s", async (name, query, variables = {}) => {
    const before = await count();
    const first = await ask(name, { query, variables });
    expect(first.body).toMatchObject({ data: { a: { need: { needId: expect.any(String) } } } });
    expect((await ask(name, { query, variables })).body).toEqual(first.body);
    expect(await count()).toBe(before + 1);
  });

  test("an operation that is not named is what is refused", async () => {
    const { body } = await ask("which", { query: `query A ${NEEDS} query B ${NEEDS}` });
    expect(body.errors[0].extensions.code).toBe("validation_failed");
    expect(body.errors[0].message).not.toContain("Idempotency-Key");
  });

  test("a query by GET, and a subscription as a stream, are refused too", async () => {
    const headers = { "idempotency-key": "elsewhere" };
    const byGet = await call(
      `${service.url}/graphql?query=${encodeURIComponent(NEEDS)}`,
      "GET",
      service.keys.read,
      undefined,
      headers,
    );
    const asStream = await call(
      `${service.url}/graphql/stream`,
      "POST",
      service.keys.read,
      { query: NEEDS },
      headers,
    );
    for (const { status, body } of [byGet, asStream]) {
      expect([status, body.errors[0].extensions.code]).toEqual([400, "validation_failed"]);
      expect(body.errors[0].extensions.details[0].path).toBe("Idempotency-Key");
    }
  });
});

test.each([
  ["empty", ""],
  ["longer than 255 characters", "x".repeat(256)],
])("one that is %s is refused", async (_, key) => {
  const before = await count();
  const { status, body } = await declare(key);
  expect([status, body.errors[0].extensions]).toMatchObject([
    400,
    { code: "validation_failed", details: [{ path: "Idempotency-Key" }] },
  ]);
  expect(await count()).toBe(before);
});

describe("of an answer with an error in it nothing is kept, told, or done:", () => {
  const withHistory = `mutation ($input: DeclareNeedInput!) {
    __typename made: declareNeed(input: $input) { need { needId statusHistory { nodes { toStatus } } }
      again: need { statusHistory(first: 1) { nodes { toStatus } } } } }`;
  const withAll = (first: number) =>
    `mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { organization { needs(first: ${first}) { nodes { needDescription } } } } } }`;

  test("where a part of it may not be read", async () => {
    const { owner } = service.database;
    const before = await count();
    await owner.query("revoke select on app_public.status_history from api_read");
    const refused = await declare("part", {}, withHistory);
    await owner.query("grant select on app_public.status_history to api_read");
    expect(refused.body.data).toEqual({ __typename: "Mutation", made: null });
    const codes = JSON.stringify(refused.body.errors).match(/"code":"\w+"/g);
    expect(new Set(codes)).toEqual(new Set(['"code":"insufficient_scope"']));
    expect(await count()).toBe(before);
    expect((await declare("part", {}, withHistory)).body.data.made.need.statusHistory.nodes).toHaveLength(1);
    expect(await count()).toBe(before + 1);
  });

  test("where it would be too large to be kept, or to be sent", async () => {
    await service.database.owner.query(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       select $1, 'River Mission', $2, repeat('x', 9000), '{PRA}' from generate_series(1, 60)`,
      [ORG, contributor],
    );
    const before = await count();
    for (const [first, message] of [
      [20, /kept for an Idempotency-Key must not exceed 100,000\. This one has 1[0-9]{2},[0-9]{3}\./],
      [60, /exceed the size limit/],
    ] as const) {
      const { body } = await declare("large", {}, withAll(first));
      expect(body.errors[0].message).toMatch(message);
      expect(await count()).toBe(before);
    }
    expect((await declare("large", {}, withAll(2))).body.errors).toBeUndefined();
    expect(await count()).toBe(before + 1);
  });

  test("where what it reads takes longer than a fifth of what other requests may take, for others wait for what it has locked", async () => {
    const server = await startAnotherServer(service, { STATEMENT_TIMEOUT_MS: "10000" });
    // Builds its schema, which looks at each table.
    await ask(undefined, { query: NEEDS }, undefined, server.url);
    const locker = await service.database.owner.connect();
    const query =
      "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId commitments { nodes { status } } } } }";
    const read = (key?: string) => ask(key, { query, variables: { input } }, undefined, server.url);
    try {
      await locker.query("begin; lock table app_public.commitments in access exclusive mode");
      const before = await count();
      const others = read();
      const first = await Promise.race([read("slow"), others]);
      expect(problemOf(first)).toMatchObject({ extensions: { code: "query_timeout", statusCode: 504 } });
      await locker.query("rollback");
      expect((await others).body.errors).toBeUndefined();
      expect((await read("slow")).body.errors).toBeUndefined();
      expect(await count()).toBe(before + 2);
    } finally {
      await locker.query("rollback");
      locker.release();
      await server.stop();
    }
  });

  test("where the database is lost between the writing and the answer", async () => {
    const { owner } = service.database;
    const before = await count();
    const locker = await owner.connect();
    let lost: Promise<Answer>;
    try {
      await locker.query("begin; lock table app_public.commitments in access exclusive mode");
      lost = declare(
        "lost",
        {},
        "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId commitments { nodes { status } } } } }",
      );
      await eventually(async () => {
        const { rowCount } = await owner.query(
          // The need is written, and what is asked for of it waits.
          `select pg_terminate_backend(reading.pid) from pg_locks as reading join pg_locks as writing using (pid)
           where reading.database = (select oid from pg_database where datname = current_database())
             and reading.relation = 'app_public.commitments'::regclass and not reading.granted
             and writing.relation = 'app_public.needs'::regclass and writing.mode = 'RowExclusiveLock'`,
        );
        expect(rowCount).toBe(1);
      });
    } finally {
      await locker.query("rollback");
      locker.release();
    }
    expect((await lost).status).toBe(503);
    expect(await count()).toBe(before);
    expect((await declare("lost")).body.errors).toBeUndefined();
    expect(await count()).toBe(before + 1);
  });
});
