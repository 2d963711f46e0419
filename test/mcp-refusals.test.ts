// What the tool endpoint refuses, with codes and in words that a caller can act on.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { pino } from "pino";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { MODERN_META, modernHeaders, post, TOOL, toolCall } from "./support/mcp.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";

const ORIGIN = "https://app.example.org";
const logged: string[] = [];
let service: TestService;
beforeAll(async () => {
  const lines = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      logged.push(chunk.toString());
      done();
    },
  });
  service = await startTestService({
    world: false,
    config: { corsOrigins: [ORIGIN] },
    logger: pino({ level: "trace" }, lines),
  });
});
afterAll(() => service.stop());

// What the service's internals look like if they show.
const INTERNAL = /zod|invalid_type|unrecognized|expected|received|sql|at .*\.ts|node_modules|stack|\n/i;
const DOCS = join(import.meta.dirname, "../docs/mcp.md");
const REVISION = /\d{4}-\d\d-\d\d/g;
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

/** What the log says of a request, which may come a moment after its answer. */
const lineOf = ({ headers }: Pick<Answer, "headers">) =>
  eventually(() => {
    const lines = logged.map((each) => JSON.parse(each) as Record<string, unknown>);
    const requestId = headers.get("x-request-id");
    const line = lines.find((each) => each["msg"] === "request" && each["requestId"] === requestId);
    expect(line).toBeDefined();
    return Promise.resolve(line!);
  });

describe("errors of JSON-RPC", () => {
  const cases: [string, unknown, number, number, string | number | null][] = [
    ["wrong JSON", '{"jsonrpc": "2.0", ', -32700, 400, null],
    ["no body", "", -32700, 400, null],
    ["a body that is not an object", "5", -32600, 400, null],
    ["an empty object", {}, -32600, 400, null],
    ["another version of JSON-RPC", { ...ping, jsonrpc: "1.0" }, -32600, 400, 1],
    ["no method", { jsonrpc: "2.0", id: "a" }, -32600, 400, "a"],
    ["a method that is not a string", { ...ping, method: 5 }, -32600, 400, 1],
    ["an id that is null", { ...ping, id: null }, -32600, 400, null],
    ["an id that is no whole number", { ...ping, id: 1.5 }, -32600, 400, null],
    ["an id that is not counted exactly", { ...ping, id: 2 ** 53 }, -32600, 400, null],
    ["an id that is an object", { ...ping, id: { a: 1 } }, -32600, 400, null],
    ["params that are a list", { ...ping, params: [] }, -32600, 400, 1],
    ["an unknown method", { ...ping, method: "tools/delete" }, -32601, 200, 1],
    ["a method that is not offered", { ...ping, method: "resources/list" }, -32601, 200, 1],
    ["a method of Object", { ...ping, method: "constructor" }, -32601, 200, 1],
    ["a call without a name", { ...ping, method: "tools/call" }, -32602, 200, 1],
    ["a name that is not a string", { ...ping, method: "tools/call", params: { name: 5 } }, -32602, 200, 1],
    ["an unknown tool", { ...ping, method: "tools/call", params: { name: "other" } }, -32602, 200, 1],
    ["a tool of Object", { ...ping, method: "tools/call", params: { name: "toString" } }, -32602, 200, 1],
    ["arguments that are null", toolCall({}, { arguments: null }), -32602, 200, 1],
    ["arguments that are not an object", toolCall({}, { arguments: "x" }), -32602, 200, 1],
    ["a handshake without params", { ...ping, method: "initialize" }, -32602, 200, 1],
    [
      "a page of tools that is not a string",
      { ...ping, method: "tools/list", params: { cursor: 5 } },
      -32602,
      200,
      1,
    ],
    ["a malformed _meta", toolCall({}, { _meta: { progressToken: {} } }), -32602, 400, 1],
  ];

  test.each(cases)("%s", async (_name, body, code, status, id) => {
    const answer = await post(service, body, { "content-type": "application/json" });
    expect(answer.status).toBe(status);
    const data = expect.objectContaining({ requestId: answer.headers.get("x-request-id") });
    expect(answer.body).toEqual({ jsonrpc: "2.0", id, error: { code, message: expect.any(String), data } });
    expect(answer.body.error.message).not.toMatch(INTERNAL);
  });

  test("a message of more than a hundred levels, which the SDK would fail on", async () => {
    const nested = (levels: number) =>
      post(
        service,
        `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":
          {"name":"x","version":"1"},"capabilities":{"experimental":${'{"a":'.repeat(levels)}{}${"}".repeat(levels)}}}}`,
        { "content-type": "application/json" },
      );
    // With the innermost, and around them the message, its params and its capabilities.
    expect(await nested(96)).toMatchObject({ status: 200, body: { result: { serverInfo: {} } } });
    for (const levels of [97, 15_000]) {
      const { status, body } = await nested(levels);
      expect([status, body.error.code]).toEqual([400, -32700]);
      expect(body.error.message).toBe("The body is nested too deeply; 100 levels are the most.");
    }
  });

  test("a message of more than 5,000 values", async () => {
    const counted = (values: number) =>
      post(service, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[0${",0".repeat(values - 6)}]}}`, {
        "content-type": "application/json",
      });
    expect(await counted(5_000)).toMatchObject({ status: 200, body: { result: {} } });
    expect(await counted(5_001)).toMatchObject({
      status: 400,
      body: { error: { code: -32700, message: "The body has too many values; 5000 are the most." } },
    });
  });

  test.each<[string, unknown, string]>([
    [
      "which methods there are",
      { ...ping, method: "x" },
      'There is no method "x"; the methods are initialize, ping, ',
    ],
    [
      "what a handshake needs",
      { ...ping, method: "initialize" },
      "The params of initialize must be protocolVersion, ",
    ],
    [
      "that a list has one page",
      { ...ping, method: "tools/list", params: { cursor: 5 } },
      "tools/list takes no params",
    ],
    [
      "that a name is missing",
      { ...ping, method: "tools/call" },
      `params.name is missing: it names the tool to call, ${TOOL}`,
    ],
    ["that a name is text", toolCall({}, { name: 5 }), "params.name must be a string"],
    ["which tool there is", toolCall({}, { name: "x" }), `There is no tool "x"; the only one is ${TOOL}`],
    [
      "what arguments are, and not null",
      toolCall({}, { arguments: null }),
      "params.arguments must be an object",
    ],
    [
      "what arguments are, and not a list",
      toolCall({}, { arguments: [] }),
      "params.arguments must be an object",
    ],
  ])("say %s", async (_, message, start) => {
    const { body } = await post(service, message);
    expect(body.error.message.slice(0, start.length)).toBe(start);
  });

  test("name the header that disagrees with its message", async () => {
    const list = { ...ping, method: "tools/list", params: { _meta: MODERN_META } };
    const { body } = await post(service, list, modernHeaders("tools/call", TOOL));
    expect(body.error.data).toMatchObject({
      ...{ requestId: expect.any(String), mismatch: { header: "tools/call" } },
    });
    // That of the revision is compared before the others, where the message is told apart from those of 2025.
    const earlier = { ...modernHeaders("tools/list"), "mcp-protocol-version": "2025-11-25" };
    const { body: refused } = await post(service, list, earlier);
    expect(refused.error.data).toMatchObject({
      mismatch: { header: "2025-11-25", body: expect.any(String) },
    });
    const unknown = await post(service, list, { ...earlier, "mcp-protocol-version": "1999-01-01" });
    expect(unknown.body.error).toMatchObject({ code: -32020, data: { mismatch: { header: "1999-01-01" } } });
  });

  test("quotes sixty characters of a name, and no more", async () => {
    const told = async (length: number) => {
      const { body } = await post(service, { ...ping, method: "x".repeat(length) });
      return body.error.message as string;
    };
    expect(await told(60)).toContain(`"${"x".repeat(60)}"`);
    expect(await told(61)).toContain(`"${"x".repeat(60)}…"`);
  });

  test("of revision 2026-07-28", async () => {
    const meta = { _meta: MODERN_META };
    const send = async (body: unknown, headers: Record<string, string>) => {
      const answer = await post(service, body, headers);
      expect(answer.body.error.message).not.toMatch(INTERNAL);
      return [answer.body.error.code, answer.status, answer.body.id];
    };
    const listen = { ...ping, method: "subscriptions/listen", params: meta };
    expect(await send(listen, modernHeaders("subscriptions/listen"))).toEqual([-32601, 404, 1]);
    expect(await send({ ...ping, method: "tools/list" }, modernHeaders("tools/list"))).toEqual([
      -32602, 400, 1,
    ]);
    const odd = { _meta: { ...MODERN_META, "io.modelcontextprotocol/clientInfo": 5 } };
    expect(await send(toolCall({}, odd), modernHeaders("tools/call", TOOL))).toEqual([-32602, 400, 1]);
    const resumed = toolCall({}, { ...meta, requestState: 5 });
    expect(await send(resumed, modernHeaders("tools/call", TOOL))).toEqual([-32602, 200, 1]);
    for (const headers of [
      {},
      modernHeaders("tools/call", "another"),
      modernHeaders("tools/list", TOOL),
      { ...modernHeaders("tools/call", TOOL), "mcp-protocol-version": "2025-11-25" },
    ])
      expect([headers, ...(await send(toolCall({}, meta), headers))]).toEqual([headers, -32020, 400, 1]);
  });

  test("of a revision that nobody knows, with those that are known", async () => {
    const version = "io.modelcontextprotocol/protocolVersion";
    const unknown = {
      ...ping,
      method: "tools/list",
      params: { _meta: { ...MODERN_META, [version]: "2030-01-01" } },
    };
    const modern = await post(service, unknown, {
      ...modernHeaders("tools/list"),
      "mcp-protocol-version": "2030-01-01",
    });
    expect([modern.status, modern.body]).toEqual([
      400,
      {
        ...{ jsonrpc: "2.0", id: 1 },
        error: {
          ...{ code: -32022, message: "Unsupported protocol version: 2030-01-01" },
          data: {
            ...{ supported: ["2026-07-28"], requested: "2030-01-01" },
            requestId: modern.headers.get("x-request-id"),
          },
        },
      },
    ]);
    const legacy = await post(service, ping, { "mcp-protocol-version": "1999-01-01" });
    expect([legacy.status, legacy.body]).toEqual([
      400,
      {
        ...{ jsonrpc: "2.0", id: 1 },
        error: {
          ...{ code: -32000, message: expect.stringMatching(/1999-01-01 .*2025-11-25/) },
          data: { requestId: legacy.headers.get("x-request-id") },
        },
      },
    ]);
    // What sorts after the current revision, and what is no revision, is told in the same way, in a batch too.
    for (const header of ["1999-01-01", "2026-07-27", "2027-01-01", "junk", ""]) {
      const headers = { "mcp-protocol-version": header };
      const alone = await post(service, ping, headers);
      const inBatch = await post(service, [ping, { ...ping, id: 2 }], headers);
      const error = {
        code: -32000,
        message: expect.stringContaining(
          `Unsupported protocol version: ${header} (supported versions: 2026-`,
        ),
      };
      expect([alone.status, alone.body]).toMatchObject([400, { id: 1, error }]);
      expect([inBatch.status, inBatch.body]).toMatchObject([
        200,
        [
          { id: 1, error },
          { id: 2, error },
        ],
      ]);
    }
    for (const named of ["2030-01-01", "1999-01-01", "junk", ""]) {
      const message = { ...ping, params: { _meta: { [version]: named } } };
      for (const headers of [{}, { "mcp-protocol-version": "2025-11-25" }] as Record<string, string>[]) {
        const { body: alone } = await post(service, message, headers);
        const { body: inBatch } = await post(service, [message, ping], headers);
        const data = { supported: ["2026-07-28"], requested: named };
        const refused = { id: 1, error: { code: -32022, data } };
        expect([named, alone, inBatch]).toMatchObject([named, refused, [refused, { result: {} }]]);
      }
    }
    const docs = await readFile(DOCS, "utf8");
    for (const { body } of [modern, legacy]) expect(docs).toContain(`\n| \`${body.error.code}\` | `);
  });

  test("of an earlier revision are those that the documents name, and no others are taken", async () => {
    const docs = await readFile(DOCS, "utf8");
    const spoken = docs.slice(docs.indexOf("It speaks"), docs.indexOf("It can read"));
    const [latest, ...named] = spoken.match(REVISION)!;
    expect(latest).toBe("2026-07-28");
    const refused = await post(service, ping, { "mcp-protocol-version": "1999-01-01" });
    expect((refused.body.error.message as string).match(REVISION)).toEqual([
      ...["1999-01-01", latest],
      ...named,
    ]);
    const answered = [];
    const clientInfo = { name: "test", version: "1" };
    // Which one it is to be is found out by the first message.
    const first = { protocolVersion: "2030-01-01", capabilities: {}, clientInfo };
    const agreed = await post(
      service,
      { ...ping, method: "initialize", params: first },
      { "mcp-protocol-version": "1999-01-01" },
    );
    expect(agreed.body.result.protocolVersion).toBe(named[0]);
    for (const protocolVersion of named) {
      const params = { protocolVersion, capabilities: {}, clientInfo };
      const { body } = await post(service, { ...ping, method: "initialize", params });
      const pong = await post(service, ping, { "mcp-protocol-version": protocolVersion });
      answered.push(pong.status === 200 && body.result.protocolVersion);
    }
    expect(answered).toEqual(named);
  });
});

describe("a search that fails is a result that says so", () => {
  const cases: [string, Record<string, unknown>, RegExp[]][] = [
    ["an unknown input", { queryParams: { city: "Denver" } }, [/no input city/, /locality/, /radius_km/]],
    ["inputs outside queryParams", { country: "US" }, [/country/, /inside/, /queryParams/]],
    ["no queryParams", {}, [/queryParams is missing/]],
    ["queryParams of another type", { queryParams: "US" }, [/queryParams must be an object/]],
    ["a number as text", { queryParams: { limit: "5" } }, [/^limit must be an integer\.$/]],
    ["null", { queryParams: { q: null } }, [/^q must be text\.$/]],
    ["a number out of range", { queryParams: { limit: 0 } }, [/^limit must be at least 1\.$/]],
    ["an unknown belief", { queryParams: { belief: "x" } }, [/^belief must be one of roman_catholic, /]],
    ["one of several", { queryParams: { belief: ["other", "x"] } }, [/^belief\[1\] must be one of/]],
    ["an unknown column", { queryParams: { fields: "zip" } }, [/zip/, /postal_code/]],
    [
      "more unknown inputs than anybody reads",
      { queryParams: Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [name, 1])) },
      [/^There is no input a, b, c, d, e, …\. /],
    ],
    [
      "five of them",
      { queryParams: { a: 1, b: 1, c: 1, d: 1, e: 1 } },
      [/^There is no input a, b, c, d, e\. /],
    ],
    [
      "an unknown input with a long name",
      { queryParams: { ["x".repeat(61)]: 1, ["y".repeat(60)]: 1 } },
      [/ x{60}…, y{60}\. /],
    ],
    [
      "half a radius",
      { queryParams: { radius_km: 5, center_lat: 1 } },
      [/^center_lng is required: a radius/],
    ],
    ["half a box", { queryParams: { min_lat: 5, max_lat: 6 } }, [/min_lng is required: a box/, /max_lng/]],
    [
      "an unknown country",
      { queryParams: { country: "XX" } },
      [/country must be a country: its ISO 3166-1 code/],
    ],
    ["a foreign cursor", { queryParams: { cursor: "abc" } }, [/cursor/, /next_cursor/]],
  ];

  test.each(cases)("%s", async (_name, input, says) => {
    logged.length = 0;
    const { status, body, headers } = await post(service, toolCall({}, { arguments: input }));
    expect(logged.filter((line) => line.includes("a tool call failed"))).toEqual([]);
    expect([status, body.result?.isError]).toEqual([200, true]);
    const requestId = headers.get("x-request-id");
    expect(body.result).toMatchObject({ _meta: { error: { statusCode: 400, requestId } } });
    expect(body.result.structuredContent).toBeUndefined();
    const [{ type, text }] = body.result.content;
    expect(type).toBe("text");
    for (const pattern of says) expect(text).toMatch(pattern);
    expect(text).not.toMatch(INTERNAL);
  });

  test("a failure of the service says nothing about its cause, and is logged", async () => {
    await service.database.owner.query(
      "alter function app_private.church_page_in_pieces rename to church_page_away",
    );
    try {
      const { body, headers } = await post(service, toolCall({}));
      const requestId = headers.get("x-request-id");
      expect(body.result).toEqual({
        isError: true,
        _meta: { error: { code: "internal_error", statusCode: 500, requestId } },
        content: [
          { type: "text", text: expect.stringMatching(/^internal_error: The service failed to answer/) },
        ],
      });
      expect(logged.join("")).toMatch(/church_page.*does not exist/);
      expect(await lineOf({ headers })).toMatchObject({ status: 200, errors: ["internal_error"] });
    } finally {
      await service.database.owner.query(
        "alter function app_private.church_page_away rename to church_page_in_pieces",
      );
    }
  });
});

describe("a failure of what speaks the protocol", () => {
  const failing = (error: object | Error, status = 200) =>
    jest
      .spyOn(WebStandardStreamableHTTPServerTransport.prototype, "handleRequest")
      .mockImplementation(async () => {
        if (error instanceof Error) throw error;
        return Response.json({ jsonrpc: "2.0", id: 1, error }, { status });
      });
  let ended: jest.SpiedFunction<McpServer["close"]>;
  beforeEach(() => {
    logged.length = 0;
    ended = jest.spyOn(McpServer.prototype, "close");
  });
  afterEach(() => void jest.restoreAllMocks());

  test("says nothing about its cause, is logged, and leaves nothing behind", async () => {
    failing({ code: -32603, message: "select of the cause" });
    const answer = await post(service, ping);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        ...{ jsonrpc: "2.0", id: 1 },
        error: { code: -32603, message: "The service failed to answer; the failure has been logged." },
      },
    });
    const told = logged.filter((line) => line.includes("a tool call failed"));
    expect(told).toHaveLength(1);
    // What the library quotes may be a caller's word.
    expect(told.join("")).not.toContain("of the cause");
    expect(await lineOf(answer)).toMatchObject({ status: 200, errors: ["internal_error"] });
    expect(ended).toHaveBeenCalledTimes(1);
  });

  test("leaves nothing behind where it does not even answer", async () => {
    failing(new Error("select of the cause"));
    const { status, body } = await post(service, ping);
    expect([status, body.error]).toEqual([500, "internal_error"]);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  test("to read the params is told in plain words, and is the caller's affair", async () => {
    failing({ code: -32602, message: "[{ expected: string }]" }, 400);
    const { status, body, headers } = await post(service, ping);
    expect([status, body.id]).toEqual([400, 1]);
    expect(body.error).toEqual({
      ...{ code: -32602, message: "The params of ping do not follow the protocol." },
      data: { requestId: headers.get("x-request-id") },
    });
    expect(logged.filter((line) => line.includes("a tool call failed"))).toEqual([]);
  });
});

describe("messages that expect no answer, or several", () => {
  test("a notification is acknowledged without a body", async () => {
    for (const method of ["notifications/initialized", "notifications/cancelled", "tools/call"]) {
      const { status, body } = await post(service, { jsonrpc: "2.0", method });
      expect([status, body]).toEqual([202, ""]);
    }
  });

  test("so is an answer to a question that nobody asked", async () => {
    const error = { code: -32601, message: "Method not found" };
    for (const answer of [{ result: {} }, { error }])
      expect((await post(service, { jsonrpc: "2.0", id: 1, ...answer })).status).toBe(202);
  });

  test("a batch is answered message by message", async () => {
    const { status, body } = await post(service, [
      ping,
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { ...ping, id: "b", method: "nothing" },
      5,
      { ...toolCall({ limit: 1 }), id: 2 },
      { ...toolCall({ limit: 1 }, { _meta: MODERN_META }), id: 3 },
      { ...toolCall({ limit: 1 }, { _meta: { progressToken: {} } }), id: 4 },
      { ...toolCall({ limit: 1 }, { _meta: { "io.modelcontextprotocol/protocolVersion": 7 } }), id: 5 },
    ]);
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { id: 1, result: {} },
      { id: "b", error: { code: -32601 } },
      { id: null, error: { code: -32600 } },
      { id: 2, result: { structuredContent: { items: [] } } },
      { id: 3, error: { code: -32600, message: expect.stringContaining("sent alone") } },
      { id: 4, error: { code: -32602, message: expect.stringContaining("_meta does not follow") } },
      { id: 5, error: { code: -32602, message: expect.stringContaining("_meta does not follow") } },
    ]);
  });

  test("what is of the current revision is to be sent alone, by its headers as by what it says itself", async () => {
    const modern = toolCall({ limit: 1 }, { _meta: MODERN_META });
    for (const [message, version] of [
      [modern, "2025-11-25"],
      [ping, "2026-07-28"],
    ] as const) {
      const { status, body } = await post(service, [message], { "mcp-protocol-version": version });
      expect([version, status, body]).toMatchObject([
        ...[version, 200],
        [{ id: 1, error: { code: -32600, message: expect.stringContaining("sent alone") } }],
      ]);
    }
  });

  test("a batch of notifications is acknowledged; an empty or a long one is refused", async () => {
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect((await post(service, [notification, notification])).status).toBe(202);
    const pings = (count: number) => Array.from({ length: count }, () => ping);
    const ten = await post(service, pings(10));
    expect([ten.status, ten.body.length]).toEqual([200, 10]);
    for (const batch of [[], pings(11)]) {
      const { status, body } = await post(service, batch);
      expect([status, body.id, body.error.code]).toEqual([400, null, -32600]);
    }
  });
});

describe("what HTTP refuses", () => {
  test("methods other than POST", async () => {
    for (const method of ["GET", "DELETE", "PUT"]) {
      const { status, headers, body } = await call(`${service.url}/v0/mcp`, method, service.keys.read);
      expect([method, status, headers.get("allow"), body.error]).toEqual([
        method,
        405,
        "POST, OPTIONS",
        "method_not_allowed",
      ]);
    }
  });

  test("another content type, a body of more than 256 KiB", async () => {
    for (const type of ["text/plain", "application/json; charset=utf-16"]) {
      const other = await post(service, ping, { "content-type": type });
      expect([type, other.status, other.body.error]).toEqual([type, 415, "unsupported_media_type"]);
    }
    for (const charset of ["utf-8", "UTF8", '"utf-8"', "us-ascii"]) {
      const taken = await post(service, ping, { "content-type": `application/json; charset=${charset}` });
      expect([charset, taken.status]).toEqual([charset, 200]);
    }
    const withBytes = (bytes: number, filling = "") => {
      const message = { ...ping, params: { _meta: { filling } } };
      return {
        ...message,
        params: { _meta: { filling: "x".repeat(bytes - JSON.stringify(message).length) } },
      };
    };
    expect((await post(service, withBytes(256 * 1_024))).status).toBe(200);
    const long = await post(service, withBytes(256 * 1_024 + 1));
    expect([long.status, long.body.error]).toEqual([413, "payload_too_large"]);
  });

  test("pages from origins that are not listed", async () => {
    for (const origin of ["https://evil.example", `${ORIGIN}.evil.example`, "null"]) {
      const { status, body } = await post(service, ping, { origin });
      expect([origin, status, body.error]).toEqual([origin, 403, "origin_not_allowed"]);
    }
    expect((await post(service, ping, { origin: ORIGIN })).status).toBe(200);
  });

  test("callers without a key, with a wrong one, with one that is expired", async () => {
    const expired = await issueTestKey(service.database.owner, "api_read", { expiresAt: "2020-01-01" });
    const at = `${service.url}/v0/mcp`;
    const cases: [string, string | undefined, string][] = [
      [at, undefined, "missing_api_key"],
      [`${at}?apiKey=a&apiKey=b`, undefined, "missing_api_key"],
      [`${at}?apiKey=wrong`, undefined, "invalid_api_key"],
      [`${at}?apiKey=${expired}`, undefined, "invalid_api_key"],
      // If there are both, the header counts.
      [`${at}?apiKey=${service.keys.read}`, "wrong", "invalid_api_key"],
    ];
    for (const [url, key, code] of cases) {
      const { status, headers, body } = await call(url, "POST", key, ping);
      const challenge = code === "missing_api_key" ? "Bearer" : 'Bearer error="invalid_token"';
      expect([status, body.error, headers.get("www-authenticate")]).toEqual([401, code, challenge]);
    }
  });

  test("a key that has called too often", async () => {
    const key = await issueTestKey(service.database.owner, "api_read", { ratePerMinute: 2 });
    const at = `${service.url}/v0/mcp?apiKey=${key}`;
    for (const _ of [1, 2]) expect((await call(at, "POST", undefined, ping)).status).toBe(200);
    const { status, headers, body } = await call(at, "POST", undefined, ping);
    expect([status, body.error]).toEqual([429, "rate_limited"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

test("a key in the URL appears in no log line, whatever becomes of the request", async () => {
  logged.length = 0;
  const { read } = service.keys;
  const at = `${service.url}/v0/mcp?apiKey=${read}`;
  await call(at, "POST", undefined, toolCall({ limit: 1 }));
  await call(at, "POST", undefined, "{");
  await call(at, "POST", undefined, toolCall({ radius_km: 1 }));
  await call(at, "POST", undefined, toolCall({}, { _meta: MODERN_META }), modernHeaders("tools/call", TOOL));
  await call(at, "GET", undefined);
  await call(at, "POST", undefined, ping, { origin: "https://evil.example" });
  await call(`${service.url}/v0/mcp?apiKey=wrong-${read}`, "POST", undefined, ping);
  await call(`${service.url}/v0/mcp/?apiKey=${read}`, "POST", undefined, ping);
  await call(`${service.url}/nowhere?apiKey=${read}`, "GET", undefined);
  const { owner } = service.database;
  await owner.query("alter function app_private.church_page_in_pieces rename to church_page_away");
  await call(at, "POST", undefined, toolCall({}));
  await owner.query("alter function app_private.church_page_away rename to church_page_in_pieces");
  await eventually(() =>
    expect(logged.filter((line) => line.includes("/v0/mcp")).length).toBeGreaterThanOrEqual(9),
  );
  expect(logged.filter((line) => line.includes(read))).toEqual([]);
  expect(logged.filter((line) => line.includes("apiKey"))).toEqual([]);
});
