// Which spans are made and what they say, part by part; what a whole service makes of them is in tracing.test.ts.
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Request, Response } from "express";
import type { JobHelpers } from "graphile-worker";
import type pg from "pg";
import {
  inSpan,
  isTracing,
  startTracing,
  traceJobs,
  traceParent,
  traceRequests,
  traceStatement,
  traceStatements,
} from "../process/tracing.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

type Attribute = { key: string; value: { stringValue?: string; intValue?: number } };
type Span = {
  name: string;
  kind: number;
  traceId: string;
  parentSpanId?: string;
  attributes: Attribute[];
  status: { code?: number };
};
type Export = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[];
};

const ERROR = 2;
// As OTLP numbers them.
const KIND = { internal: 1, server: 2, client: 3, consumer: 5 } as const;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const parent = (isSampled: boolean) => `00-${TRACE}-${PARENT}-0${isSampled ? 1 : 0}`;

const NAMES = ["ENDPOINT", "TRACES_ENDPOINT"].map((name) => `OTEL_EXPORTER_OTLP_${name}`);
const OTHERS = [
  ...["OTEL_SERVICE_NAME", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_SDK_DISABLED"],
  ...["OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY"],
];
const before = [...NAMES, ...OTHERS].map((name) => [name, process.env[name]] as const);

let collector: Server;
let bodies: string[] = [];
let paths: string[] = [];
let stop: (() => Promise<void>) | undefined;
beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks).toString());
      paths.push(request.url!);
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
});
afterEach(async () => {
  await stop?.();
  stop = undefined;
  bodies = [];
  paths = [];
  for (const [name] of before) delete process.env[name];
});
afterAll(() => {
  collector.close();
  for (const [name, value] of before) if (value !== undefined) process.env[name] = value;
});

const collectorUrl = () => `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

async function begin(settings: NodeJS.ProcessEnv = {}): Promise<void> {
  // The libraries read the environment of the process.
  Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl(), ...settings });
  stop = await startTracing("engagement-test");
}

/** All that was made since the beginning: what is left is sent at the end. */
async function made() {
  await stop!();
  stop = undefined;
  const resources = bodies.flatMap((body) => (JSON.parse(body) as Export).resourceSpans);
  return {
    services: resources.map(({ resource }) => textOf(resource, "service.name")),
    spans: resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  };
}

function textOf({ attributes }: { attributes: Attribute[] }, key: string): string | undefined {
  return attributes.find((each) => each.key === key)?.value.stringValue;
}

describe("traces", () => {
  test("are sent to the last when a process ends, of a process that may be named", async () => {
    await begin();
    await inSpan("work", () => Promise.resolve());
    expect(await made()).toMatchObject({ services: ["engagement-test"], spans: [{ name: "work" }] });
    expect(isTracing()).toBe(false);
    bodies = [];
    await begin({ OTEL_SERVICE_NAME: "mine" });
    await inSpan("work", () => Promise.resolve());
    expect((await made()).services).toEqual(["mine"]);
  });

  test.each<[string, (url: string) => NodeJS.ProcessEnv, string[]]>([
    ["nowhere, unless it is said where", () => ({}), []],
    ["where everything is sent", (url) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url }), ["/v1/traces"]],
    [
      "where traces alone are sent",
      (url) => ({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/own` }),
      ["/own"],
    ],
    [
      "where traces are sent, if the rest is sent elsewhere",
      (url) => ({
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/own`,
      }),
      ["/own"],
    ],
    [
      "nowhere, if that is switched off",
      (url) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: "true" }),
      [],
    ],
    [
      "on, if it is not",
      (url) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: "false" }),
      ["/v1/traces"],
    ],
  ])("are sent %s", async (_, settings, sentTo) => {
    Object.assign(process.env, settings(collectorUrl()));
    stop = await startTracing("engagement-test");
    expect(isTracing()).toBe(sentTo.length > 0);
    let passedOn: string | undefined;
    await inSpan("work", async () => (passedOn = traceParent()));
    expect(passedOn !== undefined).toBe(sentTo.length > 0);
    await made();
    expect(paths).toEqual(sentTo);
  });

  test.each([
    [undefined, 5_000],
    ["", 5_000],
    ["700", 700],
  ])("are sent together, where every %s milliseconds is said every %i", async (said, sent) => {
    await begin(said === undefined ? {} : { OTEL_BSP_SCHEDULE_DELAY: said });
    const timer = jest.spyOn(globalThis, "setTimeout");
    await inSpan("work", () => Promise.resolve());
    const delays = timer.mock.calls.map(([, ms]) => ms);
    timer.mockRestore();
    expect(delays).toEqual([sent]);
  });

  test("whose collector is away keep no process from ending", async () => {
    // By default it is tried for ten seconds.
    await begin({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT: "100" });
    await inSpan("work", () => Promise.resolve());
    const ending = stop!();
    stop = undefined;
    await expect(ending).resolves.toBeUndefined();
  });

  test.each([
    [{}, true, true],
    [{}, false, false],
    [{ OTEL_TRACES_SAMPLER: "parentbased_always_on" }, false, false],
    [{ OTEL_TRACES_SAMPLER: "always_on" }, false, true],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, true, false],
    [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, true, true],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, true, false],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "1" }, false, true],
    [{ OTEL_TRACES_SAMPLER: "traceidratio" }, false, true],
    [{ OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, true, true],
  ])("under %j of a caller who has sampled theirs (%s): %s", async (settings, isSampled, isMade) => {
    await begin(settings);
    await inSpan("work", () => Promise.resolve(), { carrier: { traceparent: parent(isSampled) } });
    expect((await made()).spans).toHaveLength(isMade ? 1 : 0);
  });

  test("of one part are not begun by another of the same process", async () => {
    await begin();
    const end = await startTracing("engagement-other");
    await end();
    expect(isTracing()).toBe(true);
  });
});

describe("a span", () => {
  test.each([
    [404, undefined],
    [499, undefined],
    [500, ERROR],
  ])("of a request that was answered %i has the error %s", async (statusCode, code) => {
    await begin();
    const response = Object.assign(new EventEmitter(), { statusCode });
    let passedOn: string | undefined;
    traceRequests(() => ({ "http.route": "/v0/needs" }))(
      { method: "GET", headers: { traceparent: parent(true) } } as unknown as Request,
      response as unknown as Response,
      () => (passedOn = traceParent()),
    );
    expect(passedOn).toMatch(new RegExp(`^00-${TRACE}-`));
    response.emit("close");
    const [span] = (await made()).spans;
    expect(span).toMatchObject({ name: "GET /v0/needs", traceId: TRACE, parentSpanId: PARENT });
    expect(span!.status.code || undefined).toBe(code);
    expect(span!.kind).toBe(KIND.server);
    expect(span!.attributes).toEqual([
      { key: "http.route", value: { stringValue: "/v0/needs" } },
      { key: "http.response.status_code", value: { intValue: statusCode } },
    ]);
  });

  test.each<[string, Error, string]>([
    ["a code", Object.assign(new Error("Quendelwurz"), { code: "22012" }), "22012"],
    ["no code", new Error("Quendelwurz"), "error"],
    ["a code that is a number", Object.assign(new Error("Quendelwurz"), { code: 7 }), "error"],
  ])("of what failed with %s names the kind of failure, and nothing of its words", async (_, error, kind) => {
    await begin();
    const failing = () => Promise.reject(error);
    await inSpan("work", async () => {
      await expect(traceStatement({ text: "select 1" }, failing)).rejects.toBe(error);
      await expect(inSpan("step", failing)).rejects.toBe(error);
    });
    const { spans } = await made();
    expect(spans.map((span) => [span.name, textOf(span, "error.type"), span.status.code])).toEqual([
      ["select", kind, ERROR],
      ["step", kind, ERROR],
      ["work", undefined, spans[2]!.status.code],
    ]);
    expect(spans[2]!.status.code).not.toBe(ERROR);
    expect(bodies.join("")).not.toContain("Quendelwurz");
  });

  test("of a statement has its text, of one that carries another that one's; what nobody asked for has none", async () => {
    await begin();
    const done = () => Promise.resolve(1);
    expect(await traceStatement({ text: "select nobody" }, done)).toBe(1);
    await inSpan("work", async () => {
      await traceStatement({ text: "  update needs" }, done);
      await traceStatement({ name: "run_as", text: "select run_as", values: ["role", "insert it"] }, done);
    });
    const { spans } = await made();
    expect(spans.map((span) => [span.name, span.kind, textOf(span, "db.query.text")])).toEqual([
      ["update", KIND.client, "  update needs"],
      ["insert", KIND.client, "insert it"],
      ["work", KIND.internal, undefined],
    ]);
    expect(spans.map((span) => textOf(span, "db.system.name"))).toEqual([
      ...["postgresql", "postgresql", undefined],
    ]);
  });

  test("of a statement of a pool ends with it, and what is called back belongs to the trace that asked", async () => {
    await begin();
    const pool = new EventEmitter();
    traceStatements(pool as unknown as pg.Pool);
    type Done = (error: unknown, result?: unknown) => void;
    const held: Done[] = [];
    const client = {
      query: (text: string, done?: Done) => {
        if (done) held.push(done);
        else if (text === "select failing") return Promise.reject(new Error("no"));
        return Promise.resolve(text);
      },
    };
    pool.emit("connect", client);
    const told: unknown[] = [];
    await inSpan("work", async () => {
      expect(await client.query("select one")).toBe("select one");
      await expect(client.query("select failing")).rejects.toThrow("no");
      void client.query("delete it", (error, result) => told.push(error, result, traceParent()));
    });
    // By the connection, which nobody's trace is at.
    held[0]!(undefined, "done");
    expect(told).toEqual([undefined, "done", expect.any(String)]);
    const { spans } = await made();
    const [work] = spans.filter(({ name }) => name === "work");
    expect(told[2]).toContain(work!.traceId);
    expect(
      spans.filter(({ name }) => name !== "work").map((span) => [span.name, textOf(span, "error.type")]),
    ).toEqual([
      ["select", undefined],
      ["select", "error"],
      ["delete", undefined],
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  });

  test("of a job is of the trace of whoever asked for it", async () => {
    await begin();
    const tasks = traceJobs({ tidy: () => Promise.resolve() });
    await tasks["tidy"]!({ traceparent: parent(true) }, {} as JobHelpers);
    await tasks["tidy"]!(null, {} as JobHelpers);
    const { spans } = await made();
    expect(spans.map(({ name }) => name)).toEqual(["job tidy", "job tidy"]);
    expect(spans[0]).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
    expect(spans[1]!.traceId).not.toBe(TRACE);
    expect(spans.map(({ kind }) => kind)).toEqual([KIND.consumer, KIND.consumer]);
  });
});
