// Small parts of the server by themselves: what each error becomes, where a caller is, what is read from the graph, and what
// the HTTP server does before anything is a request.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import express from "express";
import type { Request, Response } from "express";
import { DatabaseError } from "pg";
import type { Logger } from "pino";
import { GraphRejected, GraphTimeout } from "../graph/store.ts";
import type { CallOptions, Row } from "../graph/store.ts";
import { ApiError, apiErrorFrom, errorHandler } from "../server/errors.ts";
import { GraphReads } from "../server/graph-reads.ts";
import { requireIdentity } from "../server/identity/identify.ts";
import type { Credentials } from "../server/identity/identify.ts";
import { networkOf } from "../server/identity/network.ts";
import { orNobody } from "../server/identity/unknown-keys.ts";
import { Listener, takeOver } from "../server/listener.ts";
import { currentRequest, nameRequest } from "../server/request-context.ts";
import { sendAnswer } from "../server/rest/answer.ts";
import type { Packed } from "../server/rest/answer.ts";
import {
  CallerGone,
  DatabaseUnavailable,
  ServiceBusy,
  StatementTimeout,
} from "../server/postgres/unavailable.ts";
import { isLocalOrigin, onlyThisMachine } from "../server/this-machine.ts";
import { eventually } from "./support/eventually.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

const databaseError = (code: string, more: object = {}) =>
  Object.assign(new DatabaseError("what it says", 0, "error"), { code, ...more });
const httpError = (status: number, type?: string) => Object.assign(new Error("no"), { status, type });

describe("an error is told as", () => {
  test.each<[string, unknown, object]>([
    ["a value that its type refuses", databaseError("22P02"), { code: "validation_failed" }],
    ["a value out of range", databaseError("22003"), { code: "validation_failed" }],
    ["a constraint", databaseError("23514"), { code: "validation_failed" }],
    ["a missing permission", databaseError("42501"), { code: "insufficient_scope" }],
    ["a time limit of the database", databaseError("57014"), { code: "query_timeout" }],
    ["a shutdown", databaseError("57P01"), { code: "database_unavailable" }],
    ["a fault of ours", databaseError("42703"), { code: "internal_error" }],
    ["a rule's refusal", databaseError("PT404", { detail: "need_not_found" }), { code: "need_not_found" }],
    [
      "a refusal of rules that are newer than the server",
      databaseError("PT409", { detail: "enough" }),
      { code: "enough", statusCode: 409 },
    ],
    ["a refusal without a code", databaseError("PT404", { detail: "No such." }), { code: "internal_error" }],
    [
      "a refusal with a status of no refusal",
      databaseError("PT200", { detail: "fine" }),
      { code: "internal_error" },
    ],
    ["what is no refusal", databaseError("P0001", { detail: "need_not_found" }), { code: "internal_error" }],
    ["a time limit of ours", new StatementTimeout(), { code: "query_timeout" }],
    ["a caller who has gone", new CallerGone(), { code: "query_timeout" }],
    ["no connection", new ServiceBusy(), { code: "service_busy" }],
    ["no database", new DatabaseUnavailable(), { message: "The database is not available; try again." }],
    [
      "no database after something was sent",
      new DatabaseUnavailable({ isOutcomeUnknown: true }),
      { code: "database_unavailable", message: expect.stringContaining("it may have") },
    ],
    ["a body that is too large", httpError(413), { code: "payload_too_large" }],
    ["a body of another type", httpError(415), { code: "unsupported_media_type" }],
    [
      "a body that is no JSON",
      httpError(400, "entity.parse.failed"),
      { code: "validation_failed", message: "The body is not well-formed JSON." },
    ],
    [
      "a request that is none",
      httpError(400),
      { code: "validation_failed", message: "The request is not well-formed." },
    ],
    ["a failure with a status", httpError(500), { code: "internal_error" }],
    ["what is no error at all", "no", { code: "internal_error" }],
  ])("%s", (_, error, told) => {
    const answer = apiErrorFrom(error);
    expect(answer).toMatchObject({ ...told, cause: error });
    // What PostgreSQL itself says of a value names tables, and quotes it.
    if (!/need_not_found|enough/.test(answer.code)) expect(answer.message).not.toContain("what it says");
  });

  test("a fault of ours, where the rules have raised a thousand codes", async () => {
    jest.resetModules();
    const afresh = await import("../server/errors.ts");
    const { DatabaseError: Raised } = await import("pg");
    const codeOf = (detail: string) =>
      afresh.apiErrorFrom(Object.assign(new Raised("what it says", 0, "error"), { code: "PT409", detail }))
        .code;
    const left = 1_000 - Object.keys(afresh.ERRORS).length;
    const codes = Array.from({ length: left }, (_, n) => `enough_${n}`);
    expect(codes.map(codeOf)).toEqual(codes);
    expect([codeOf("one_more"), codeOf(codes.at(-1)!), codeOf("need_not_found")]).toEqual([
      "internal_error",
      codes.at(-1),
      "need_not_found",
    ]);
  });

  test("what it is already, with what is at fault and when to try again", () => {
    const known = new ApiError("rate_limited", { headers: { "retry-after": "7" } });
    expect(apiErrorFrom(known)).toBe(known);
    const hint = (text: string) =>
      apiErrorFrom(databaseError("PT422", { detail: "validation_failed", hint: text }));
    expect(hint('[{"path":"a","message":"b"}]').details).toEqual([{ path: "a", message: "b" }]);
    expect(hint("[]").toJSON()).not.toHaveProperty("details");
    expect(hint("7").headers).toMatchObject({ "retry-after": "7" });
    expect(hint("as a person would say it")).toMatchObject({ details: undefined, headers: {} });
    expect(apiErrorFrom(new ServiceBusy()).headers).toEqual({ "retry-after": "1" });
  });
});

test("what never changes is packed once", async () => {
  const sent: unknown[] = [];
  const response = Object.fromEntries(
    ["get", "type", "vary", "set", "status"].map((name) => [name, () => undefined]),
  );
  const request = { method: "GET", headers: { "accept-encoding": "gzip" }, get: () => "gzip" };
  const packed = new Map([["gzip", Promise.resolve(Buffer.from("as it was packed"))]]);
  await sendAnswer(
    request as unknown as Request,
    { ...response, send: (body: unknown) => sent.push(body) } as unknown as Response,
    "x".repeat(2_000),
    { packed },
  );
  expect(sent.map(String)).toEqual(["as it was packed"]);
});

test("what never changes is in memory once, for however many do not unpack it and do not read it", async () => {
  const app = express();
  const packed: Packed = new Map();
  const sent: unknown[] = [];
  app.get("/", async (request, response) => {
    const send = response.send.bind(response);
    response.send = (body: unknown) => (sent.push(body), send(body));
    await sendAnswer(request, response, "é".repeat(2_000), { packed });
  });
  const server = app.listen(0);
  try {
    await once(server, "listening");
    for (const _ of [1, 2]) {
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
        headers: { "accept-encoding": "identity" },
      });
      expect(await answer.text()).toBe("é".repeat(2_000));
    }
    expect(sent[0]).toBeInstanceOf(Buffer);
    expect(sent[1]).toBe(sent[0]);
  } finally {
    server.close();
  }
});

test.each<[string, Error, string]>([
  [
    "that the service is busy, which one caller can be told thousands of times, is a warning",
    new ServiceBusy(),
    "warn",
  ],
  ["that a statement took too long is a warning", new StatementTimeout(), "warn"],
  ["that a text took too long to read is a warning", new ApiError("query_timeout"), "warn"],
  ["that a query needs too much memory is a warning", new ApiError("query_too_expensive"), "warn"],
  ["that the database is away is an error", new DatabaseUnavailable(), "error"],
  ["that the graph is away is an error", new ApiError("graph_unavailable"), "error"],
  ["what nobody expected is an error", new Error("no"), "error"],
])("of what a log tells, %s", (_, error, level) => {
  const logged: string[] = [];
  const logger = { error: () => logged.push("error"), warn: () => logged.push("warn") };
  errorHandler(logger as unknown as Logger)(
    error,
    { method: "GET" } as unknown as Request,
    { headersSent: true, destroy: () => undefined } as unknown as Response,
    () => undefined,
  );
  expect(logged).toEqual([level]);
});

describe("what goes wrong once an answer has begun", () => {
  const answering = (state: { headersSent: boolean; writableEnded: boolean }) => {
    const done: string[] = [];
    const logger = { error: () => done.push("logged") } as unknown as Logger;
    const response = { ...state, destroy: () => done.push("cut"), status: () => done.push("answered") };
    errorHandler(logger)(
      ...[new Error("no"), { method: "GET" } as unknown as Request, response as unknown as Response],
      () => done.push("handed on"),
    );
    return done;
  };

  test("cuts the connection, so that nobody takes half of it for the whole", () => {
    expect(answering({ headersSent: true, writableEnded: false })).toEqual(["logged", "cut"]);
  });

  test("is nobody's affair any more when it has ended", () => {
    expect(answering({ headersSent: true, writableEnded: true })).toEqual([]);
  });
});

describe("a caller is", () => {
  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["::ffff:10.0.0.2", "::ffff:10.0.0.2"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8::6", "2001:db8:0:0"],
    ["2001:db8:1:2::", "2001:db8:1:2"],
    ["::1", "0:0:0:0"],
    ["1::2:3:4:5:6:7", "1:0:2:3"],
    // As some proxies pass them on: whoever opens another connection is where they were.
    ["10.0.0.1:5678", "10.0.0.1"],
    ["[2001:db8::6]:443", "2001:db8:0:0"],
    ["[2001:db8::6]", "2001:db8:0:0"],
    // However they are written.
    ["2001:0DB8:0001::6", "2001:db8:1:0"],
    ["::FFFF:10.0.0.1", "::ffff:10.0.0.1"],
    ["0:0:0:0:0:ffff:a00:2", "::ffff:10.0.0.2"],
    ["unknown", ""],
    ["10.0.0.1, 10.0.0.2", ""],
  ])("%s in the network %s", (ip, network) => {
    expect(networkOf({ ip } as Request)).toBe(network);
  });

  test.each([
    ["10.0.0.1", "10.0.0.1"],
    ["fe80::1%eth0", "fe80::1"],
    ["unknown", "::"],
    ["10.0.0.1:4711", "10.0.0.1"],
    ["[2001:DB8::1]:4711", "2001:db8::1"],
    [undefined, "::"],
  ])("%s, which a key is for or not as %s", async (ip, address) => {
    const asked: unknown[] = [];
    const identify = (...given: unknown[]) => {
      asked.push(given);
      return Promise.resolve({ keyId: "k", scope: "api_read", ratePerMinute: null });
    };
    const request = { ip, get: () => "bearer ek_a" } as unknown as Request;
    const response = { once: () => undefined } as unknown as Response;
    const credentials = { keys: { identify } } as unknown as Credentials;
    await requireIdentity(credentials, {})(request, response, () => undefined);
    expect(asked).toEqual([["ek_a", address]]);
    expect(request.identity).toMatchObject({ id: "k", role: "api_read" });
  });

  test("nobody whose session is no good, and not whoever could not be asked about", async () => {
    const passing = async (failure: Error) => {
      let passed = 0;
      // As Express takes what a middleware throws.
      const refuse = async () => Promise.reject(failure);
      const identify = orNobody(refuse);
      await identify({} as Request, {} as Response, () => (passed += 1));
      return passed;
    };
    expect(await passing(new ApiError("invalid_session"))).toBe(1);
    expect(await passing(new ApiError("missing_api_key"))).toBe(1);
    for (const error of [new DatabaseUnavailable(), new ApiError("rate_limited")])
      await expect(passing(error)).rejects.toBe(error);
  });
});

describe("this machine alone is answered by the name in Host", () => {
  test.each([
    ["127.0.0.1:3000", true],
    ["localhost", true],
    ["[::1]:3000", true],
    ["page.example:3000", false],
    ["127.0.0.1.page.example", false],
    [undefined, false],
  ])("%s: %s, whatever a proxy is said to have been asked for", (host, isAnswered) => {
    const headers: Record<string, string | undefined> = { host };
    const request = {
      get: (name: string) => headers[name],
      hostname: isAnswered ? "page.example" : "localhost",
    };
    let passed = 0;
    const ask = () => onlyThisMachine([])(request as unknown as Request, {} as Response, () => (passed += 1));
    if (isAnswered) void ask();
    else expect(ask).toThrow(expect.objectContaining({ code: "host_not_allowed" }));
    expect(passed).toBe(isAnswered ? 1 : 0);
  });
});

test.each([
  ["http://localhost:5173", true],
  ["https://127.0.0.1", true],
  ["http://[::1]:3000", true],
  ["http://localhost.page.example", false],
  // What is installed in a browser is no page of this machine, whatever it calls itself.
  ["chrome-extension://localhost", false],
  ["ftp://localhost", false],
  ["null", false],
])("a page of the origin %s comes from this machine: %s", (origin, isLocal) => {
  expect(isLocalOrigin(origin)).toBe(isLocal);
});

describe("what is read from the graph beside the tables", () => {
  const identity = { id: "a", role: "api_read", ratePerMinute: null, keyId: "a" } as const;

  test("has five seconds, ends with its caller, and is none where the store does not answer", async () => {
    const calls: CallOptions[] = [];
    let answer: () => Promise<Row[]> = () => Promise.resolve([]);
    const reads = new GraphReads(
      { select: (_, call) => (calls.push(call ?? {}), answer()) },
      // One at a time: what is not given back keeps the next one waiting.
      1,
    );
    const gone = new AbortController();
    expect(await reads.select("SELECT", { ...identity, gone: gone.signal })).toEqual([]);
    expect(calls).toEqual([{ timeoutMs: 5_000, signal: gone.signal }]);
    for (const error of [new GraphTimeout("no"), new GraphRejected(400, "no")]) {
      answer = () => Promise.reject(error);
      expect(await reads.select("SELECT", identity)).toBeUndefined();
    }
    answer = () => Promise.reject(new TypeError("a fault of ours"));
    await expect(reads.select("SELECT", identity)).rejects.toThrow(TypeError);
    gone.abort();
    await expect(reads.select("SELECT", { ...identity, gone: gone.signal })).rejects.toThrow(CallerGone);
    answer = () => Promise.resolve([{}]);
    expect(await reads.select("SELECT", identity)).toEqual([{}]);
  });
});

describe("a listener", () => {
  const sockets: Socket[] = [];
  let listener: Listener | undefined;
  afterEach(async () => {
    jest.useRealTimers();
    for (const socket of sockets.splice(0)) socket.destroy();
    await listener?.drain({ delayMs: 0, timeoutMs: 0 });
    listener = undefined;
  });

  async function listen(app: RequestListener) {
    listener = new Listener(app, { keepAliveMs: 600_000, onRefused: () => undefined });
    return listener.listen(0, "127.0.0.1");
  }
  async function dial(port: number): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket.on("error", () => undefined));
    await once(socket, "connect");
    return socket;
  }

  test.each([
    ["/graphql", "GET", "websocket", true],
    ["/graphql?a", "GET", "WebSocket", true],
    ["/GraphQL/?a", "GET", "websocket", true],
    ["http://service.example/graphql", "GET", "websocket", true],
    ["/graphqlx", "GET", "websocket", false],
    ["/graphql/x", "GET", "websocket", false],
    ["/v0/graphql", "GET", "websocket", false],
    ["/graphql", "POST", "websocket", false],
    ["/graphql", "GET", "h2c", false],
  ])("has %s by %s go on as %s: %s", async (path, method, upgrade, isTaken) => {
    const taken: boolean[] = [];
    const port = await listen((request: IncomingMessage, response) => {
      const connection = takeOver(request, response);
      taken.push(connection !== undefined);
      if (connection) connection.socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n");
      else response.end("an ordinary answer");
    });
    const headers = { connection: "upgrade", upgrade };
    const sent = httpRequest({ port, host: "127.0.0.1", path, method, headers }).end();
    const status = await new Promise((told) => {
      sent.on("response", (answer) => (answer.resume(), told(answer.statusCode)));
      sent.on("upgrade", (answer, socket) => (socket.destroy(), told(answer.statusCode)));
    });
    expect({ status, taken }).toEqual({ status: isTaken ? 101 : 200, taken: [isTaken] });
  });

  test.each([
    ["/a?b=1", "/a?b=1"],
    ["http://elsewhere.example/a?b=1", "/a?b=1"],
    ["http://elsewhere.example", "/"],
    ["http://[", "*"],
    ["*", "*"],
  ])("takes what is asked for as %s to be %s", async (target, path) => {
    const port = await listen(({ url }, response) => void response.end(url));
    const socket = await dial(port);
    socket.write(`GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
    expect((await text(socket)).split("\r\n\r\n")[1]).toBe(path);
  });

  test("outlives a connection that breaks while it is looked at whether it may go on in another protocol", async () => {
    const taken = Promise.withResolvers<IncomingMessage>();
    const port = await listen((request: IncomingMessage) => taken.resolve(request));
    const socket = await dial(port);
    socket.write("GET /graphql HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    const { socket: held } = await taken.promise;
    expect(() => held.emit("error", new Error("read ECONNRESET"))).not.toThrow();
    expect(held.destroyed).toBe(true);
  });

  test("keeps nothing of the answers that have ended, nor of their connections", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const ended: WeakRef<ServerResponse>[] = [];
    const connections: WeakRef<Socket>[] = [];
    const port = await listen((request, response) => {
      ended.push(new WeakRef(response));
      connections.push(new WeakRef(request.socket));
      response.end();
    });
    for (let n = 0; n < 50; n += 1) {
      const socket = await dial(port);
      socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
      await text(socket);
    }
    // Node itself keeps some for what comes next.
    await eventually(() => {
      collect();
      for (const each of [ended, connections])
        expect(each.filter((kept) => kept.deref() !== undefined).length).toBeLessThan(25);
    }, 5_000);
  });

  test("that drains closes the connection of an answer that had begun before, once it has ended", async () => {
    const begun = Promise.withResolvers<() => void>();
    const port = await listen((_request, response) => {
      response.write("half");
      begun.resolve(() => void response.end(" and half"));
    });
    const socket = await dial(port);
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    const end = await begun.promise;
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask", "performance"] });
    const closed = once(socket, "close");
    const drained = listener!.drain({ delayMs: 0, timeoutMs: 600_000 });
    // Those that say nothing have been closed by then.
    jest.advanceTimersByTime(2_000);
    jest.useRealTimers();
    let answer = "";
    socket.on("data", (bytes) => (answer += bytes.toString()));
    end();
    await drained;
    await closed;
    expect(answer).toContain(" and half");
  });

  test("that drains refuses a body of which nothing comes for a second, and none that comes while it stands still itself", async () => {
    const begun: ServerResponse[] = [];
    const port = await listen((request, response) => (request.resume(), begun.push(response)));
    const [speaking, silent] = [await dial(port), await dial(port)];
    for (const socket of [speaking, silent])
      socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n");
    await eventually(() => expect(begun).toHaveLength(2));
    const refusal = text(silent);
    const answer = text(speaking);
    const { setTimeout: later } = globalThis;
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask", "performance"] });
    const drained = listener!.drain({ delayMs: 0, timeoutMs: 600_000 });
    for (const byte of "12345") {
      await new Promise((begin) => later(begin));
      speaking.write(byte);
      // The system has it by then, and the server has not looked.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      jest.advanceTimersByTime(1_000);
      await new Promise(setImmediate);
    }
    jest.useRealTimers();
    expect(await refusal).toMatch(/^HTTP\/1\.1 408 /);
    begun.find(({ writableEnded }) => !writableEnded)?.end("all of it");
    expect(await answer).toContain("all of it");
    await drained;
  });
});

test("a caller is told when to try again as long as there is nothing yet of the answer", () => {
  const told: unknown[] = [];
  const response = {
    headersSent: false,
    set: (name: string, value: string) => void (name === "retry-after" && told.push(value)),
  };
  const request = { get: () => undefined } as unknown as Request;
  void nameRequest(request, response as unknown as Response, () => {
    currentRequest()!.retryAfter(2);
    response.headersSent = true;
    currentRequest()!.retryAfter(3);
  });
  expect(told).toEqual(["2"]);
});
