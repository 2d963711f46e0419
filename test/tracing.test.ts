// Traces that lead from a request to its statements and its jobs, when they are switched on.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isTracing, startTracing } from "../process/tracing.ts";
import { keyIdOf } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { send } from "./support/graphql.ts";
import { call, startTestServiceWithGraph } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import { contributor, ORG } from "./support/world.ts";

type Attribute = { key: string; value: { stringValue?: string; intValue?: number } };
type Span = {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  attributes: Attribute[];
};
type Export = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[];
};

const received: string[] = [];
const spans = () =>
  received
    .flatMap((body) => (JSON.parse(body) as Export).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
const attribute = (span: { attributes: Attribute[] }, key: string) =>
  span.attributes.find((each) => each.key === key)?.value;

let collector: Server;
let service: TestService;
let stopTracing: () => Promise<void>;
const switchedOnBy: boolean[] = [];
const environment = { ...process.env };
beforeAll(async () => {
  collector = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (request.url === "/v1/traces") received.push(body);
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((listening) => collector.listen(0, "127.0.0.1", listening));
  const { port } = collector.address() as AddressInfo;
  // The exporter reads the environment of the process.
  process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = `http://127.0.0.1:${port}`;
  // Instead of five seconds, which each of the tests would wait for.
  process.env["OTEL_BSP_SCHEDULE_DELAY"] = "100";
  for (const env of [{}, { ...process.env, OTEL_SDK_DISABLED: "true" }]) {
    await startTracing("engagement-test", env);
    switchedOnBy.push(isTracing());
  }
  stopTracing = await startTracing("engagement-test", process.env);
  service = await startTestServiceWithGraph();
});
afterAll(async () => {
  await service.stop();
  await stopTracing();
  process.env = environment;
  await new Promise((closed) => collector.close(closed));
});

const need = {
  ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor },
  ...{ needDescription: "Traced Scriptures", accelerators: ["PRA-INT"] },
};
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";

async function traceOf(id: string, complete: (names: string[]) => void): Promise<Span[]> {
  return eventually(() => {
    const found = spans().filter(({ traceId }) => traceId === id);
    complete(found.map(({ name }) => name));
    return Promise.resolve(found);
  });
}

/** The wake-ups of earlier records, and of the worker's own start, have been taken: a request that joins one has no job of its own. */
async function wakeUpTaken(): Promise<void> {
  await eventually(async () => {
    const { rows } = await service.database.owner.query(
      `select state from app_private.graph_store
       where turn > 0 and not exists (select from app_private.graph_wakeups)`,
    );
    expect(rows).toEqual([{ state: "current" }]);
  });
}

test("a request is a span of its caller's trace, with its statement and its job", async () => {
  await wakeUpTaken();
  const answer = await call(`${service.url}/v0/needs?x=secret`, "POST", service.keys.write, need, {
    traceparent: `00-${TRACE}-${CALLER}-01`,
  });
  expect(answer.status).toBe(201);
  const trace = await traceOf(TRACE, (names) => {
    expect(names).toEqual(expect.arrayContaining(["POST /v0/needs", "select", "job project_records"]));
  });
  const request = trace.find(({ name }) => name === "POST /v0/needs")!;
  expect(request.parentSpanId).toBe(CALLER);
  expect(attribute(request, "app.request_id")?.stringValue).toBe(answer.headers.get("x-request-id"));
  expect(attribute(request, "http.response.status_code")?.intValue).toBe(201);
  const statement = trace.find((span) =>
    /declare_need/.test(attribute(span, "db.query.text")?.stringValue ?? ""),
  )!;
  expect(statement.parentSpanId).toBe(request.spanId);
  expect(trace.find(({ name }) => name === "job project_records")!.parentSpanId).toBe(request.spanId);
});

test("a GraphQL mutation too", async () => {
  await wakeUpTaken();
  const { headers } = await send(
    service,
    `mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }`,
    { input: need },
    "write",
  );
  const id = headers.get("x-request-id");
  const request = await eventually(() => {
    const found = spans().find((span) => attribute(span, "app.request_id")?.stringValue === id);
    expect(found).toBeDefined();
    return Promise.resolve(found!);
  });
  expect(request.name).toBe("POST /graphql");
  const trace = await traceOf(request.traceId, (names) => expect(names).toContain("job project_records"));
  expect(trace.find(({ name }) => name === "job project_records")!.parentSpanId).toBe(request.spanId);
  const texts = trace.map((span) => attribute(span, "db.query.text")?.stringValue ?? "");
  expect(texts.join("\n")).toContain("declare_need");
});

test("a request says who has sent it, by no address, what they were refused, and its route without an id", async () => {
  const about = async (id: string | null) => {
    const span = await eventually(() => {
      const found = spans().find((each) => attribute(each, "app.request_id")?.stringValue === id);
      expect(found).toBeDefined();
      return found!;
    }, 15_000);
    const errors = attribute(span, "app.errors") as { arrayValue?: unknown } | undefined;
    return {
      name: span.name,
      route: attribute(span, "http.route")?.stringValue,
      key: attribute(span, "app.key_id")?.stringValue,
      person: attribute(span, "app.person_id")?.stringValue,
      errors: errors?.arrayValue,
    };
  };
  const ask = (headers: Record<string, string>) => fetch(`${service.url}/v0/needs/x`, { headers });
  const byKey = await ask({ authorization: `Bearer ${service.keys.read}` });
  expect(await about(byKey.headers.get("x-request-id"))).toEqual({
    ...{ name: "GET /v0/needs/:needId", route: "/v0/needs/:needId" },
    key: await keyIdOf(service.database.owner, service.keys.read),
    person: undefined,
    errors: { values: [{ stringValue: "validation_failed" }] },
  });
  const visitor = await new Visitor(service).signIn(contributor);
  const byPerson = await visitor.open("/organizations");
  expect(await about(byPerson.headers.get("x-request-id"))).toEqual({
    ...{ name: "GET /organizations", route: "/organizations" },
    key: undefined,
    person: expect.stringMatching(/^[\da-f-]{36}$/),
    errors: { values: [] },
  });
});

test("what a drain does is a trace of its own, with its statements", async () => {
  const drain = await eventually(() => {
    const found = spans().find(({ name }) => name === "drain");
    expect(found).toBeDefined();
    return Promise.resolve(found!);
  });
  expect(drain.parentSpanId ?? "").toBe("");
  const statements = spans().filter(({ parentSpanId }) => parentSpanId === drain.spanId);
  expect(statements.some((span) => attribute(span, "db.query.text"))).toBe(true);
});

test("no span holds what callers wrote", async () => {
  const failed = await call(`${service.url}/v0/needs`, "POST", service.keys.write, {
    ...need,
    accelerators: ["Quendelwurz"],
  });
  expect(failed.status).toBe(422);
  await eventually(() => {
    const id = failed.headers.get("x-request-id");
    expect(spans().some((span) => attribute(span, "app.request_id")?.stringValue === id)).toBe(true);
    return Promise.resolve();
  });
  expect(received.join("\n")).not.toMatch(/Quendelwurz|Traced Scriptures|river\.example|secret|ek_/);
});

test("nothing is traced unless the environment says where to", () => {
  expect(switchedOnBy).toEqual([false, false]);
});
