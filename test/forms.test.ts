// One way of writing a date, a time, a UUID: the same at every door, in what is stored and in what is asked for.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allRoutes } from "../server/resources/index.ts";
import { ask, send } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const commitment = {
  ...{ orgUri: ORG, orgName: "River", declaredByEmail: admin },
  ...{ commitmentDescription: "We dig", acceleratorScope: ["PRA"] },
};
const declare =
  "mutation ($input: DeclareCommitmentInput!) { declareCommitment(input: $input) { commitment { commitmentId } } }";
const UUID = "00000000-0000-4000-8000-00000000abcd";

test.each<[field: string, value: unknown, path?: string]>([
  ...[
    ...["infinity", "-infinity", "tomorrow", "now", "2030-01-05 BC", "J2462502", "20300105", "2030-1-5"],
    ...["0000-01-01", "10000-01-01", "2027-02-29", "05/01/2030", "2030-01-05T00:00:00Z", " 2030-01-05"],
  ].map((date): [string, string] => ["targetCompletionDate", date]),
  ...[UUID.replaceAll("-", ""), `{${UUID}}`, `urn:uuid:${UUID}`, ` ${UUID}`].map((id): [string, string] => [
    "concernsNeedId",
    id,
  ]),
  ...["\u00a0", "\u200b\u2060", "\ufeff", "\u3164", "\u2800"].map((text): [string, string] => [
    "commitmentDescription",
    text,
  ]),
  ["commitmentDescription", "a\u0000b"],
  ["acceleratorScope", Array(101).fill("PRA")],
  ["acceleratorScope", ["PRA", "PRA", "a\tb"], "acceleratorScope[2]"],
])("%s %j is refused by REST and GraphQL, in the same words", async (field, value, path = field) => {
  const input = { ...commitment, [field]: value };
  const rest = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, input);
  const { errors } = await send(service, declare, { input }, "write");
  expect(rest).toMatchObject({ status: 400, body: { error: "validation_failed", details: [{ path }] } });
  expect(errors![0]!.extensions).toMatchObject({
    code: "validation_failed",
    statusCode: 400,
    details: rest.body.details,
  });
  expect(errors![0]!.message).toBe(rest.body.message);
  // In the text of a request it is the same as in a variable.
  const literal = Object.entries(input).map(([name, given]) => `${name}: ${JSON.stringify(given)}`);
  const inline = await send(
    service,
    `mutation { declareCommitment(input: { ${literal.join(" ")} }) { commitment { commitmentId } } }`,
    {},
    "write",
  );
  expect(inline.errors![0]!.extensions["code"]).toBe("validation_failed");
});

test.each([
  ["101 times the same code", { accelerator_scope: Array(101).fill("PRA") }, /at most 100 items/],
  ["infinity", { target_completion_date: "infinity" }, /calendar date/],
  ["a year before the first", { target_completion_date: "0044-03-15 BC" }, /calendar date/],
])("psql: %s is refused", async (_name, values, message) => {
  const row = {
    ...{ org_uri: ORG, org_name: "River", declared_by_email: admin, commitment_description: "x" },
    accelerator_scope: ["PRA"],
    ...values,
  };
  const insert = service.database.owner.query(
    `insert into app_public.commitments (${Object.keys(row).join()}) values (${Object.keys(row)
      .map((_, n) => `$${n + 1}`)
      .join()})`,
    Object.values(row),
  );
  await expect(insert).rejects.toThrow(message);
});

test("a UUID in capitals is the same UUID", async () => {
  const input = { ...commitment, concernsNeedId: UUID.toUpperCase() };
  const rest = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, input);
  const { errors } = await send(service, declare, { input }, "write");
  expect([rest.body.error, errors![0]!.extensions["code"]]).toEqual(["unknown_need", "unknown_need"]);
});

test("over GraphQL a single value stands for a list of one, in a variable and in the text", async () => {
  const ofOne = { ...commitment, acceleratorScope: "PRA", concernsCountryCode: "KE" };
  const literal = Object.entries(ofOne).map(([name, given]) => `${name}: ${JSON.stringify(given)}`);
  for (const [text, variables] of [
    [declare, { input: ofOne }],
    [`mutation { declareCommitment(input: { ${literal.join(" ")} }) { commitment { commitmentId } } }`, {}],
  ] as const) {
    const { data, errors } = await send(service, text, variables, "write");
    expect(errors).toBeUndefined();
    const { body } = await call(
      `${service.url}/v0/commitments/${data.declareCommitment.commitment.commitmentId}`,
      "GET",
      service.keys.read,
    );
    expect(body).toMatchObject({ acceleratorScope: ["PRA"], concernsCountryCode: ["KE"] });
  }
  const wrong = { ...ofOne, acceleratorScope: "a\tb" };
  const { errors } = await send(service, declare, { input: wrong }, "write");
  expect(errors![0]!.extensions["details"]).toMatchObject([{ path: "acceleratorScope[0]" }]);
});

test("what is malformed is refused before anybody's rights are looked at", async () => {
  const input = {
    ...commitment,
    declaredByEmail: "stranger@elsewhere.example",
    targetCompletionDate: "soon",
  };
  for (const key of ["read", "write"] as const) {
    const rest = await call(`${service.url}/v0/commitments`, "POST", service.keys[key], input);
    const { errors } = await send(service, declare, { input }, key);
    expect([rest.status, errors![0]!.extensions["statusCode"]]).toEqual([400, 400]);
  }
});

test("every mutation is held to a route of REST", async () => {
  const { __schema } = await ask(service, "{ __schema { mutationType { fields { name } } } }");
  const routes = allRoutes({} as Parameters<typeof allRoutes>[0]).filter(({ body }) => body);
  expect(routes.map(({ operationId }) => operationId)).toEqual(
    expect.arrayContaining(__schema.mutationType.fields.map(({ name }: { name: string }) => name)),
  );
});

describe("in a query", () => {
  test.each([
    ["filter: { createdAt: { greaterThan: $v } }", "Datetime", "yesterday", "filter.createdAt.greaterThan"],
    ["filter: { createdAt: { lessThan: $v } }", "Datetime", "infinity", "filter.createdAt.lessThan"],
    ["filter: { createdAt: { lessThan: $v } }", "Datetime", "2030-01-05 10:00", "filter.createdAt.lessThan"],
    [
      "filter: { createdAt: { lessThan: $v } }",
      "Datetime",
      "2030-01-05T10:00:00",
      "filter.createdAt.lessThan",
    ],
    [
      "filter: { createdAt: { lessThan: $v } }",
      "Datetime",
      "0000-01-05T10:00:00Z",
      "filter.createdAt.lessThan",
    ],
    [
      "filter: { createdAt: { lessThan: $v } }",
      "Datetime",
      "2030-01-05T10:00:00+16:00",
      "filter.createdAt.lessThan",
    ],
    [
      "filter: { and: [{}, { createdAt: { in: [$v] } }] }",
      "Datetime!",
      "now",
      "filter.and[1].createdAt.in[0]",
    ],
    [
      "filter: { targetCompletionDate: { equalTo: $v } }",
      "Date",
      "2027-02-30",
      "filter.targetCompletionDate.equalTo",
    ],
    [
      "filter: { commitmentId: { in: [$v] } }",
      "UUID!",
      UUID.replaceAll("-", ""),
      "filter.commitmentId.in[0]",
    ],
    ["filter: { orgName: { equalTo: $v } }", "String", "a\u0000b", "filter.orgName.equalTo"],
    [
      "filter: { concernsNeed: { statusHistory: { some: { statusHistoryId: { equalTo: $v } } } } }",
      "BigInt",
      "9223372036854775808",
      "filter.concernsNeed.statusHistory.some.statusHistoryId.equalTo",
    ],
    ["offset: $v", "Int", -1, "offset"],
    ["last: $v, first: 1", "Int", 1, "last"],
  ])("commitments(%s) with the %s %j is refused by its path", async (argument, type, value, path) => {
    const text = `query ($v: ${type}) { commitments(${argument}) { totalCount } }`;
    const { status, errors } = await send(service, text, { v: value });
    expect(status).toBe(400);
    expect(errors![0]!.extensions).toMatchObject({ code: "validation_failed", details: [{ path }] });
    const inline = await send(
      service,
      `{ commitments(${argument.replace("$v", JSON.stringify(value))}) { totalCount } }`,
    );
    expect(inline.errors![0]!.extensions).toMatchObject({ code: "validation_failed", details: [{ path }] });
  });

  test.each([
    ["createdAt", "2030-01-05T10:00:00Z"],
    ["createdAt", "2030-01-05T10:00:00.123456+05:30"],
    ["targetCompletionDate", "2028-02-29"],
    ["commitmentId", UUID.toUpperCase()],
  ])("%s %s is understood", async (field, value) => {
    const text = `{ commitments(filter: { ${field}: { equalTo: "${value}" } }, first: 1, last: null) { totalCount } }`;
    expect(await ask(service, text)).toEqual({ commitments: { totalCount: 0 } });
  });

  test.each(["9223372036854775807", "-9223372036854775808", "-1"])(
    "the number %s, which eight bytes hold, is understood",
    async (value) => {
      const filter = "{ statusHistory: { some: { statusHistoryId: { equalTo: $v } } } }";
      const text = `query ($v: BigInt) { commitments(filter: ${filter}) { totalCount } }`;
      expect(await ask(service, text, { v: value })).toEqual({ commitments: { totalCount: 0 } });
    },
  );

  test("the argument of a single record is judged, too", async () => {
    const { errors } = await send(
      service,
      `{ commitment(commitmentId: "${UUID.replaceAll("-", "")}") { status } }`,
    );
    expect(errors![0]!.extensions["details"]).toEqual([{ path: "commitmentId", message: "must be a UUID" }]);
  });
});

describe("null", () => {
  type Schema = { type?: string | string[]; anyOf?: Schema[] };
  // Where none is named, any will do.
  const typesOf = ({ type = [], anyOf }: Schema): string[] =>
    type.length === 0 && !anyOf ? ["null"] : [type, ...(anyOf ?? []).map(typesOf)].flat();

  test("for what may be left out is the same as leaving it out, so that what GET shows can be sent back", async () => {
    const first = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, commitment);
    const at = `${service.url}/v0/commitments/${first.body.commitmentId}`;
    const { body: shown } = await call(at, "GET", service.keys.read);
    const {
      commitmentId: _id,
      status: _status,
      createdAt: _,
      updatedAt: __,
      graphStatus: ___,
      ...input
    } = shown;
    expect(input).toMatchObject({ concernsNeedId: null, targetCompletionDate: null });
    const second = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, {
      ...input,
      concernsCountryCode: null,
    });
    expect(second.status).toBe(201);
    const again = await call(
      `${service.url}/v0/commitments/${second.body.commitmentId}`,
      "GET",
      service.keys.read,
    );
    expect(again.body).toMatchObject(input);
    const nulls = { ...input, concernsCountryCode: null };
    expect((await send(service, declare, { input: nulls }, "write")).errors).toBeUndefined();
  });

  test.each(["orgUri", "orgName", "acceleratorScope"])(
    "for %s, which is required, is refused",
    async (field) => {
      const input = { ...commitment, [field]: null };
      const answer = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, input);
      expect(answer).toMatchObject({ status: 400, body: { details: [{ path: field }] } });
    },
  );

  test("is accepted for every optional field of every route, as its description says", async () => {
    const { body: document } = await call(`${service.url}/v0/openapi.json`, "GET", service.keys.read);
    const routes = allRoutes({} as Parameters<typeof allRoutes>[0]).filter(({ body }) => body);
    for (const { path, operationId, body } of routes) {
      const schema = document.paths[path].post.requestBody.content["application/json"].schema;
      const optional = Object.keys(body!.shape).filter((name) => !schema.required?.includes(name));
      const nulls = Object.fromEntries(optional.map((name) => [name, null]));
      const answer = await call(`${service.url}${path}`, "POST", service.keys.write, nulls);
      const refused = (answer.body.details as { path: string }[]).map((detail) => detail.path);
      // A key has to name whom a person may leave out.
      const free = optional.filter(
        (name) => !schema.properties[name].description?.includes("Required with an API key"),
      );
      expect([operationId, free.filter((name) => refused.includes(name))]).toEqual([operationId, []]);
      for (const name of optional) {
        const types = typesOf(schema.properties[name]);
        expect([operationId, name, types]).toEqual([operationId, name, expect.arrayContaining(["null"])]);
      }
    }
  });
});
