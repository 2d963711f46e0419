// The document is checked against the service: what it lists is served, its examples work, and answers match it.
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { codeDefinitions } from "../graph/ontology.ts";
import { RECORDS } from "../records/index.ts";
import { fieldsOf } from "../records/record.ts";
import { ERRORS } from "../server/errors.ts";
import { withOpenApi } from "../server/openapi/document.ts";
import { startDemoService } from "./support/demo.ts";
import { eventually } from "./support/eventually.ts";
import { MODERN_META, modernHeaders } from "./support/mcp.ts";
import {
  checkOf,
  codesOf,
  encode,
  exampleRequest,
  operationsOf,
  servedOperations,
} from "./support/openapi.ts";
import type { Document, Placed } from "./support/openapi.ts";
import { ROOT } from "./support/process.ts";
import { call } from "./support/service.ts";

let service: Awaited<ReturnType<typeof startDemoService>>;
let document: Document;
let operations: Placed[];
beforeAll(async () => {
  service = await startDemoService();
  document = (await call(`${service.url}/v0/openapi.json`, "GET", service.keys.read)).body;
  operations = operationsOf(document);
});
afterAll(() => service.stop());

/** Examples show a graph in which everything is, whatever another test has written. */
const isUpToDate = () =>
  eventually(async () => {
    const { body } = await call(`${service.url}/v0/health`, "GET", service.keys.read);
    expect(body).toMatchObject({ status: "ok", pending: 0, graphState: "current" });
  });

const keyOf = (scope: string) => service.keys[scope.replace("api_", "") as keyof typeof service.keys];
/** The descriptions of what a schema has, by name. */
const propertiesOf = (schema: object): Record<string, string | undefined> => {
  const { properties } = schema as { properties: Record<string, { description?: string }> };
  return Object.fromEntries(Object.entries(properties).map(([name, { description }]) => [name, description]));
};
const nameOf = ({ method, path }: Placed) => `${method} ${path}`;

test("what is served is what is documented", () => {
  expect(servedOperations(service.app).toSorted()).toEqual(operations.map(nameOf).toSorted());
});

test("a documented path supports only the documented methods", async () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of ["get", "post", "put", "patch", "delete"].filter((name) => !(name in methods))) {
      const answer = await call(`${service.url}${path}`, method.toUpperCase(), service.keys.review);
      expect({ path, method, ...answer }).toMatchObject({ path, method, status: 405 });
    }
  }
});

test("every registered error that an operation can answer has an example, with its status", () => {
  const examples = Object.values(document.components.examples).map(({ value }) => [
    value.error,
    value.statusCode,
  ]);
  const registered = Object.entries(ERRORS).map(([code, [status]]) => [code, status]);
  // These answer requests that match no operation, that never became one, that reach the demo under another name,
  // that come with the cookie of a session, or that are for GraphQL.
  const outside = [
    "not_found",
    "method_not_allowed",
    "request_timeout",
    "headers_too_large",
    "document_not_found",
    "document_not_registered",
    "host_not_allowed",
    "invalid_session",
    "session_not_allowed",
    "sign_in_refused",
  ];
  expect(Object.fromEntries(examples)).toEqual(
    Object.fromEntries(registered.filter(([code]) => !outside.includes(String(code)))),
  );
  expect(document.components.examples["validation_failed"]!.value).toMatchObject({
    ...{ error: "validation_failed", statusCode: 400, message: "limit must be at most 200." },
    details: [{ path: "limit", message: "must be at most 200" }],
  });
});

test("every operation tells of the headers of a refusal that say what to do", () => {
  for (const placed of operations) {
    for (const [status, header] of [
      ["401", "www-authenticate"],
      ["429", "retry-after"],
      ["503", "retry-after"],
    ] as const) {
      const headers = Object.keys(placed.operation.responses[status]?.headers ?? {});
      expect({ name: nameOf(placed), status, headers }).toEqual({
        ...{ name: nameOf(placed), status, headers: expect.arrayContaining([header]) },
      });
    }
  }
});

test("every operation names what anybody may be refused with", () => {
  const always = [
    ...["missing_api_key", "invalid_api_key", "invalid_token", "key_not_for_address", "rate_limited"],
    ...["service_busy", "internal_error", "database_unavailable", "identity_provider_unavailable"],
  ];
  for (const placed of operations) {
    const named = Object.keys(placed.operation.responses).flatMap((status) =>
      codesOf(placed.operation, Number(status)),
    );
    expect({ name: nameOf(placed), named }).toEqual({
      ...{ name: nameOf(placed), named: expect.arrayContaining(always) },
    });
  }
});

test.each([
  ["the graph", "sparql", ["querySparqlByGet", "querySparql"]],
  ["the tool endpoint", "mcp", ["callTool"]],
])("the operations of %s name every error that is raised there", async (_, folder, ids) => {
  const files = globSync(`server/${folder}/*.ts`, { cwd: ROOT });
  const source = (await Promise.all(files.map((file) => readFile(join(ROOT, file), "utf8")))).join("\n");
  const raised = [...source.matchAll(/new ApiError\(\s*"(\w+)"/g)].map(([, code]) => code!);
  // A message has no type that is sent with a GET, and no method is documented that is not there.
  const elsewhere = (id: string) => [
    "method_not_allowed",
    ...(id.endsWith("ByGet") ? ["unsupported_media_type"] : []),
    // Inputs that the tool refuses are told in its result, which is a 200.
    ...(id === "callTool" ? ["validation_failed"] : []),
  ];
  expect(raised.length).toBeGreaterThan(2);
  for (const id of ids) {
    const { operation } = operations.find((placed) => placed.operation.operationId === id)!;
    const named = Object.keys(operation.responses).flatMap((status) => codesOf(operation, Number(status)));
    const wanted = [...new Set(raised)].filter((code) => !elsewhere(id).includes(code));
    expect({ id, lacking: wanted.filter((code) => !named.includes(code)) }).toEqual({ id, lacking: [] });
  }
});

test("every refusal is told in both of its forms", () => {
  for (const placed of operations) {
    for (const [status, { content = {} }] of Object.entries(placed.operation.responses)) {
      // What JSON-RPC refuses has the form of JSON-RPC.
      const isRpc = placed.operation.operationId === "callTool" && ["400", "404"].includes(status);
      if (Number(status) < 400 || isRpc) continue;
      const types = Object.keys(content).toSorted();
      expect({ name: nameOf(placed), status, types }).toEqual({
        ...{ name: nameOf(placed), status, types: ["application/json", "application/problem+json"] },
      });
    }
  }
});

test("whatever is asked for by a name is described", () => {
  const bare = operations.flatMap(({ operation }) =>
    (operation.parameters ?? [])
      .filter(({ description, schema }) => !description && !schema?.description)
      .map(({ name }) => `${operation.operationId}: ${name}`),
  );
  expect(bare).toEqual([]);
});

test("a record's fields are told in the words of its description, and its statuses in those of the ontology", () => {
  for (const [name, record, path] of [
    ["Need", RECORDS.need, "/v0/needs"],
    ["Commitment", RECORDS.commitment, "/v0/commitments"],
    ["EngagementClaim", RECORDS.engagement_claim, "/v0/engagement-claims/submit"],
  ] as const) {
    const created = operations.find((placed) => nameOf(placed) === `post ${path}`)!;
    const { schema: given } = created.operation.requestBody!.content["application/json"]!;
    const shown = propertiesOf(document.components.schemas[name]!);
    for (const field of fieldsOf(record).filter(({ type }) => type !== "status")) {
      expect([field.name, shown[field.name]]).toEqual([field.name, field.description]);
      const wanted = field.input ? field.description : undefined;
      expect([field.name, propertiesOf(given)[field.name]]).toEqual([field.name, wanted]);
    }
    const statuses = codeDefinitions(record.fields.status.graph);
    const told = Array.from(statuses, ([status, definition]) => `${status}: ${definition}`);
    expect(told.length).toBeGreaterThan(2);
    expect([name, shown["status"]!.split(/ (?=[a-z_]+: )/).toSorted()]).toEqual([name, told.toSorted()]);
  }
});

test("answers may gain fields, and requests may have no others", () => {
  /** Every schema of objects that a schema leads to. */
  const objectsIn = (schema: unknown, seen = new Set<unknown>()): Record<string, unknown>[] => {
    if (typeof schema !== "object" || schema === null || seen.has(schema)) return [];
    seen.add(schema);
    const { $ref } = schema as { $ref?: string };
    if ($ref) return objectsIn(document.components.schemas[$ref.split("/").at(-1)!], seen);
    const within = Object.values(schema).flatMap((part) => objectsIn(part, seen));
    return "properties" in schema ? [schema, ...within] : within;
  };
  let count = 0;
  for (const { operation, path, method } of operations) {
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      const closed = Object.values(content)
        .flatMap((media) => objectsIn(media.schema))
        .filter(({ additionalProperties }) => additionalProperties === false);
      expect({ path, method, status, closed }).toEqual({ path, method, status, closed: [] });
      count += 1;
    }
    const body = operation.requestBody?.content["application/json"]?.schema;
    if (!body || operation.operationId === "callTool") continue;
    expect({ path, body }).toMatchObject({ path, body: { additionalProperties: false } });
  }
  expect(count).toBeGreaterThan(100);
});

test("a key stands in the header; for the tool endpoint in the address too", () => {
  const { apiKeyInQuery } = document.components.securitySchemes;
  expect(apiKeyInQuery).toMatchObject({ type: "apiKey", in: "query", name: "apiKey" });
  expect(document.security).toEqual([{ apiKey: [] }, { person: [] }]);
  const own = operations.filter(({ operation }) => operation.security);
  expect(own.map(({ operation }) => [operation.operationId, operation.security])).toEqual([
    ["callTool", [...document.security, { apiKeyInQuery: [] }]],
  ]);
});

test("the service's public address is told where it has one", () => {
  const described = (platformUrl?: string) => {
    const config = { graphDataUrl: "https://data.example", namespaceUrl: "https://data.example/core#" };
    const { document: text } = withOpenApi([], { ...config, platformUrl });
    return JSON.parse(text) as { servers: { url: string }[]; info: { contact: { url?: string } } };
  };
  const at = "https://graph.example";
  expect(described().servers.map(({ url }) => url)).toEqual(["/"]);
  expect(described(at).servers.map(({ url }) => url)).toEqual(["/", at]);
  expect([described().info.contact.url, described(at).info.contact.url]).toEqual([undefined, at]);
});

test("every operation has a group that is described, and examples of its input and output", () => {
  const tags = document.tags.map(({ name }) => name);
  for (const placed of operations) {
    const { operation, path } = placed;
    expect(tags).toEqual(expect.arrayContaining(operation.tags));
    const required = (operation.parameters ?? []).filter((parameter) => parameter.required);
    const bare = required.filter((parameter) => parameter.example === undefined);
    expect({ path, bare }).toEqual({ path, bare: [] });
    if (operation.requestBody) expect(exampleRequest(placed).bodies).not.toEqual([]);
    const [success] = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
    const shown = Object.values(success![1].content!).some((media) => media.example ?? media.examples);
    expect({ path, shown }).toEqual({ path, shown: true });
  }
  expect(new Set(operations.flatMap(({ operation }) => operation.tags))).toEqual(new Set(tags));
});

test("what makes something takes an Idempotency-Key and says so; what takes a body requires it", () => {
  const taking = operations.filter(({ operation }) =>
    (operation.parameters ?? []).some(({ name }) => name === "Idempotency-Key"),
  );
  expect(taking.map(({ operation }) => operation.operationId).toSorted()).toEqual([
    "claimOrganization",
    "declareCommitment",
    "declareNeed",
    "submitEngagementClaim",
  ]);
  for (const { operation, path } of operations.filter(({ operation }) => operation.requestBody))
    expect({ path, required: operation.requestBody!.required }).toEqual({ path, required: true });
});

describe("an example", () => {
  // Readers first: a writer's example may change what they name.
  const inOrder = () =>
    operations.toSorted((a, b) => Number(a.method !== "get") - Number(b.method !== "get"));

  test("of each operation works on the demo, with the least key, and is answered as documented", async () => {
    await isUpToDate();
    for (const placed of inOrder()) {
      const { operation, method } = placed;
      const { path, headers, bodies } = exampleRequest(placed);
      const [[status, success]] = Object.entries(operation.responses) as [
        [string, Placed["operation"]["responses"][string]],
      ];
      for (const body of bodies.length > 0 ? bodies : [undefined]) {
        const answer = await call(
          `${service.url}${path}`,
          method.toUpperCase(),
          keyOf(operation["x-required-scope"]),
          body && encode(body),
          { ...headers, ...(body && { "content-type": body.type }) },
        );
        expect({ name: nameOf(placed), body: answer.body, status: answer.status }).toEqual({
          name: nameOf(placed),
          body: expect.anything(),
          status: Number(status),
        });
        // JSON-RPC and GraphQL tell of errors with status 200 too, and a tool within its result.
        const { error, errors, result } = answer.body;
        expect({ name: nameOf(placed), body, error, errors, isError: result?.isError || undefined }).toEqual({
          name: nameOf(placed),
          body,
        });
        for (const [header, { required }] of Object.entries(success.headers ?? {})) {
          if (required === false) continue;
          expect({ header, sent: answer.headers.has(header) }).toEqual({ header, sent: true });
        }
        for (const header of ["etag", "location", "link", "x-data-source", "x-limit", "x-next-cursor"]) {
          if (!answer.headers.has(header)) continue;
          expect({ header, told: Object.keys(success.headers ?? {}) }).toEqual({
            header,
            told: expect.arrayContaining([header]),
          });
        }
        expect({ name: nameOf(placed), unchanged: "304" in operation.responses }).toEqual({
          name: nameOf(placed),
          unchanged: answer.headers.has("etag"),
        });
        const type = answer.headers.get("content-type")!.split(";")[0]!;
        const media = success.content![type]!;
        if (PROTOCOLS.includes(operation.operationId)) continue;
        const checked = checkOf(document, media.schema).safeParse(answer.body);
        expect({ name: nameOf(placed), error: checked.error?.issues }).toEqual({ name: nameOf(placed) });
        expect(differences(answer.body, media.example)).toEqual([]);
        if (OTHERWISE_IN_THE_DEMO.includes(operation.operationId)) continue;
        const untrue = untrueIn(media.example, answer.body);
        expect({ name: nameOf(placed), untrue }).toEqual({ name: nameOf(placed), untrue: [] });
      }
    }
  });

  test("of an answer of the tool endpoint is what it answers", async () => {
    const { operation, path } = operations.find((placed) => placed.operation.operationId === "callTool")!;
    const withAnyId = (answer: unknown) =>
      JSON.parse(
        JSON.stringify(answer).replace(/"requestId":"[-\da-f]{36}"/, '"requestId":"its own"'),
      ) as unknown;
    const shown = (status: number, name?: string) => {
      const media = operation.responses[status]!.content!["application/json"]!;
      return withAnyId(name === undefined ? media.example : media.examples![name]!.value);
    };
    const ask = async (message: unknown, headers: Record<string, string> = {}) => {
      const { status, body } = await call(
        `${service.url}${path}`,
        "POST",
        service.keys.read,
        message,
        headers,
      );
      return [status, withAnyId(body)];
    };
    const unknown = { jsonrpc: "2.0", id: 4, method: "tools/run" };
    expect(await ask({ ...unknown, id: 3, method: "ping" })).toEqual([200, shown(200, "ping")]);
    expect(await ask(unknown)).toEqual([200, shown(200, "unknownMethod")]);
    expect(await ask("{")).toEqual([400, shown(400, "parseError")]);
    const ofRevision = { ...unknown, params: { _meta: MODERN_META } };
    expect(await ask(ofRevision, modernHeaders(unknown.method))).toEqual([404, shown(404)]);
  });
});

/** Their answers have schemas from another standard. */
const PROTOCOLS = ["getOpenApi", "querySparql", "querySparqlByGet", "callTool"];

/** Where an answer has names that its example lacks, or vice versa; empty lists and null say nothing. */
function differences(answer: unknown, example: unknown, at = ""): string[] {
  if (Array.isArray(answer) && Array.isArray(example)) {
    return answer.length > 0 && example.length > 0 ? differences(answer[0], example[0], `${at}[0]`) : [];
  }
  if (typeof answer !== "object" || typeof example !== "object" || !answer || !example) return [];
  const [given, shown] = [new Map(Object.entries(answer)), new Map(Object.entries(example))];
  return [...new Set([...given.keys(), ...shown.keys()])].flatMap((name) =>
    given.has(name) && shown.has(name)
      ? differences(given.get(name), shown.get(name), `${at}.${name}`)
      : [`${at}.${name}`],
  );
}

/** The demo has no registry of people groups. */
const OTHERWISE_IN_THE_DEMO = ["listPeopleGroups"];
/** What is another one each time: cursors, positions in a feed, and how much there is in the graph. */
const PASSING = ["position", "next_cursor", "tripleCount"];
const FORMS = [
  /^\d{4}-\d\d-\d\d(T[\d:.]+\+00:00)?$/,
  // A place in a feed.
  /^\d+-\d{16}$/,
  // But those of the demo's own records.
  /^(?!00000000-0000-4000-8)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
];

/** Where an example shows what the service does not answer; of a list some items may do, but each of them as it is. */
function untrueIn(example: unknown, answer: unknown, at = ""): string[] {
  if (Array.isArray(example) && Array.isArray(answer)) {
    return example.flatMap((shown: unknown, place) => {
      const problems = answer.map((item) => untrueIn(shown, item, `${at}[${place}]`));
      // Those of the item that is meant, or else of the one that is most like it.
      return problems.toSorted((one, other) => one.length - other.length)[0] ?? [`${at}[${place}]`];
    });
  }
  if (typeof example === "object" && typeof answer === "object" && example && answer) {
    const given = answer as Record<string, unknown>;
    return Object.entries(example).flatMap(([name, shown]) =>
      PASSING.includes(name) ? [] : untrueIn(shown, given[name], `${at}.${name}`),
    );
  }
  const hasForm = FORMS.some((form) => form.test(String(example)) && form.test(String(answer)));
  return example === answer || hasForm
    ? []
    : [`${at}: ${JSON.stringify(example)} for ${JSON.stringify(answer)}`];
}

describe("each operation answers as documented", () => {
  const send = (placed: Placed, key: string | undefined, headers: Record<string, string> = {}) => {
    const request = exampleRequest(placed);
    const [body] = request.bodies;
    return call(`${service.url}${request.path}`, placed.method.toUpperCase(), key, body && encode(body), {
      ...request.headers,
      ...(body && { "content-type": body.type }),
      ...headers,
    });
  };

  test("without a key, and with a wrong one", async () => {
    for (const placed of operations) {
      expect(codesOf(placed.operation, 401)).toEqual(["missing_api_key", "invalid_api_key", "invalid_token"]);
      expect((await send(placed, undefined)).body).toMatchObject({ error: "missing_api_key" });
      const wrong = await send(placed, "ek_wrong");
      expect(wrong).toMatchObject({ status: 401, body: { error: "invalid_api_key" } });
      expect(wrong.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    }
  });

  test("with a key whose scope is too low", async () => {
    for (const placed of operations) {
      const scope = placed.operation["x-required-scope"];
      const less = { api_read: undefined, api_write: "api_read", api_review: "api_write" }[scope];
      expect({ scope, documented: codesOf(placed.operation, 403).includes("insufficient_scope") }).toEqual({
        scope,
        documented: less !== undefined,
      });
      if (less === undefined) continue;
      const answer = await send(placed, keyOf(less));
      expect({ name: nameOf(placed), ...answer }).toMatchObject({
        status: 403,
        body: { error: "insufficient_scope" },
      });
    }
  });

  test("when asked for another media type, and when sent one", async () => {
    for (const placed of operations.filter(({ operation }) => operation.operationId !== "callTool")) {
      const refused = await send(placed, service.keys.review, { accept: "image/png" });
      expect({ name: nameOf(placed), ...refused }).toMatchObject({
        status: 406,
        body: { error: "not_acceptable" },
      });
      expect(codesOf(placed.operation, 406)).toEqual(["not_acceptable"]);
    }
    for (const placed of operations.filter(({ operation }) => operation.requestBody)) {
      const refused = await send(placed, service.keys.review, { "content-type": "text/plain" });
      expect({ name: nameOf(placed), ...refused }).toMatchObject({
        status: 415,
        body: { error: "unsupported_media_type" },
      });
      expect(codesOf(placed.operation, 415)).toEqual(["unsupported_media_type"]);
    }
  });

  test("when the body is too large, or has an unknown field", async () => {
    for (const placed of operations.filter(({ operation }) => operation.requestBody)) {
      const url = `${service.url}${placed.path}`;
      expect(codesOf(placed.operation, 413)).toEqual(["payload_too_large"]);
      const large = await call(url, "POST", service.keys.review, { text: "x".repeat(300_000) });
      expect({ name: nameOf(placed), ...large }).toMatchObject({
        status: 413,
        body: { error: "payload_too_large" },
      });
      if (placed.operation.operationId === "callTool") continue;
      const unknown = await call(url, "POST", service.keys.review, { noSuchField: 1 });
      expect(unknown).toMatchObject({ status: 400, body: { error: "validation_failed" } });
      expect(codesOf(placed.operation, 400)).toContain("validation_failed");
    }
  });
});
