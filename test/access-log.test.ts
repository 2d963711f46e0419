// One line for each request, and an id that leads from an answer to it.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { once } from "node:events";
import { Agent, get, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pino } from "pino";
import { WebSocket } from "ws";
import { loadConfig } from "../config.ts";
import { createGraphStore, GraphUnavailable, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { startServer } from "../server/main.ts";
import { NO_CLAIM } from "./support/claim-queue.ts";
import { eventually } from "./support/eventually.ts";
import { send } from "./support/graphql.ts";
import { addPlatformPeople, platformAdmin } from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import { contributor, ORG } from "./support/world.ts";

type Line = Record<string, unknown>;
const lines: Line[] = [];
const WARN = 40;
const INFO = 30;
const DEBUG = 20;

const logger = pino({ level: "debug" }, { write: (line) => void lines.push(JSON.parse(line) as Line) });

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ logger });
});
afterAll(() => service.stop());

/** The line of a request, which may come a moment after its answer. */
async function lineOf(requestId: string): Promise<Line> {
  return eventually(() => {
    const line = lines.find((each) => each["msg"] === "request" && each["requestId"] === requestId);
    expect(line).toBeDefined();
    return Promise.resolve(line!);
  }, 20_000);
}
const idOf = (answer: { headers: Headers }) => answer.headers.get("x-request-id")!;

describe("each request is one line at info", () => {
  test("with method, route, status, duration, size, key and id", async () => {
    const id = "5f8f0d4e-1111-4222-8333-444455556666";
    const answer = await call(`${service.url}/v0/needs/${id}?email=a@b.example`, "GET", service.keys.read);
    const line = await lineOf(idOf(answer));
    expect(line).toEqual({
      ...{ level: INFO, time: expect.any(Number), pid: expect.any(Number), hostname: expect.any(String) },
      ...{ method: "GET", route: "/v0/needs/:needId", ids: [id], status: 404 },
      ...{ errors: ["need_not_found"], durationMs: expect.any(Number), bytes: expect.any(Number) },
      ...{ keyId: expect.stringMatching(/^[0-9a-f-]{36}$/), requestId: idOf(answer), msg: "request" },
    });
    expect(line["bytes"]).toBeGreaterThan(JSON.stringify(answer.body).length);
  });

  test("with the ids in its path, in whichever case they were written", async () => {
    const id = "5F8F0D4E-aaaa-4BBB-8ccc-444455556666";
    const answer = await call(`${service.url}/v0/needs/${id}`, "GET", service.keys.read);
    expect(await lineOf(idOf(answer))).toMatchObject({ ids: [id], status: 404 });
  });

  test("with no more fields than there is something to say in", async () => {
    const answer = await call(`${service.url}/v0/accelerators`, "GET", undefined);
    const line = await lineOf(idOf(answer));
    expect(Object.keys(line).toSorted()).toEqual([
      ...["bytes", "durationMs", "errors", "hostname", "level", "method", "msg", "pid", "requestId"],
      ...["route", "status", "time"],
    ]);
    const found = await call(`${service.url}/v0/accelerators`, "GET", service.keys.read);
    expect(await lineOf(idOf(found))).not.toHaveProperty("errors");
  });

  test("with the bytes of its own answer, whatever came before on its connection", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { authorization: `Bearer ${service.keys.read}` };
    const bytes: number[] = [];
    try {
      for (const requestId of ["first-of-two", "second-of-two"]) {
        const asked = get(`${service.url}/v0/accelerators`, {
          agent,
          headers: { ...headers, "x-request-id": requestId },
        });
        const [answer] = (await once(asked, "response")) as [IncomingMessage];
        expect(asked.reusedSocket).toBe(bytes.length > 0);
        await answer.resume().toArray();
        bytes.push((await lineOf(requestId))["bytes"] as number);
      }
    } finally {
      agent.destroy();
    }
    expect(bytes[1]).toBeLessThan(1.5 * bytes[0]!);
  });

  test("with how long it took, in milliseconds, until its answer had ended", async () => {
    const now = performance.now();
    const clock = jest.spyOn(performance, "now").mockReturnValue(now);
    try {
      const asked = request(`${service.url}/v0/needs`, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${service.keys.write}`, "content-type": "application/json" },
          ...{ "content-length": "2", expect: "100-continue", "x-request-id": "long-on-its-way" },
        },
      });
      asked.flushHeaders();
      await once(asked, "continue");
      clock.mockReturnValue(now + 1_234.56);
      asked.end("{}");
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      await answer.resume().toArray();
      expect(await lineOf("long-on-its-way")).toMatchObject({ status: 400, durationMs: 1_234.6 });
    } finally {
      clock.mockRestore();
    }
  });

  test.each([
    ["GET", "/v0/needs?orgUri=x", "read", { route: "/v0/needs", status: 200 }],
    ["POST", "/v0/needs", "write", { route: "/v0/needs", status: 400, errors: ["validation_failed"] }],
    ["GET", "/v0/needs", undefined, { status: 401, errors: ["missing_api_key"] }],
    ["POST", "/v0/needs", "read", { route: "/v0/needs", status: 400 }],
    ["GET", "/v0/ana@home.example", "read", { route: "other", status: 404, errors: ["not_found"] }],
    ["POST", "/graphql", "read", { route: "/graphql", status: 400, errors: ["validation_failed"] }],
    ["GET", "/v0/sparql?query=nonsense", "read", { route: "/v0/sparql", errors: ["malformed_query"] }],
    ["GET", "/docs", undefined, { route: "/docs", status: 200 }],
  ] as const)("%s %s", async (method, path, scope, expected) => {
    const key = scope && service.keys[scope];
    const answer = await call(`${service.url}${path}`, method, key, method === "POST" ? {} : undefined);
    const line = await lineOf(idOf(answer));
    expect(line).toMatchObject({ level: INFO, method, ...expected });
    expect(JSON.stringify(line)).not.toContain("@");
  });

  test("a page tells of what it refused as well", async () => {
    const visitor = await new Visitor(service).signIn(contributor);
    for (const [path, code] of [
      ["/admin/claims", "permission_required"],
      ["/organizations/none", "organization_not_found"],
      ["/sparql?query=ASK", "malformed_query"],
    ] as const) {
      const refused = await visitor.open(path);
      const { status, errors } = await lineOf(idOf(refused));
      expect([path, status, errors]).toEqual([path, refused.status, [code]]);
    }
  });

  test("a decision on a page tells with which code it was refused", async () => {
    await addPlatformPeople(service.database.owner);
    const visitor = await new Visitor(service).signIn(platformAdmin);
    const decision = { action: "reject", notes: "Nobody knows them.", claim: NO_CLAIM, confirmed: "yes" };
    const refused = await visitor.submit(await visitor.open("/admin/claims"), "/admin/claims", decision);
    expect(await lineOf(idOf(refused))).toMatchObject({
      ...{ method: "POST", status: 404, errors: ["claim_not_found"] },
    });
  });

  test("a form of a page tells with which code it was refused", async () => {
    const visitor = await new Visitor(service).signIn(contributor);
    const path = `/organizations/${encodeURIComponent(ORG)}`;
    const refused = await visitor.submit(await visitor.open(path), path, { do: "nothing" });
    expect(await lineOf(idOf(refused))).toMatchObject({
      ...{ method: "POST", status: 400, errors: ["validation_failed"] },
    });
  });

  test("a GraphQL request tells of all that it was refused", async () => {
    const { headers } = await send(
      service,
      `{ a: needs { nodes { statusHistory { nodes { changedByKey } } } } b: needs { nodes { needId } } }`,
    );
    const line = await lineOf(headers.get("x-request-id")!);
    expect(line).toMatchObject({ route: "/graphql", errors: ["insufficient_scope"] });
  });

  test("an upgrade that is refused as none", async () => {
    const asked = get(`${service.url}/graphql`, {
      headers: { connection: "upgrade", upgrade: "websocket", "x-request-id": "no-upgrade" },
    });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    expect(answer.resume().statusCode).toBe(400);
    expect(await lineOf("no-upgrade")).toMatchObject({ level: INFO, status: 400 });
  });

  test("an upgrade that is made as one, once it is over", async () => {
    const headers = { authorization: `Bearer ${service.keys.read}`, "x-request-id": "upgrade" };
    const address = `${service.url.replace("http", "ws")}/graphql`;
    const socket = new WebSocket(address, "graphql-transport-ws", { headers });
    await once(socket, "open");
    socket.close();
    expect(await lineOf("upgrade")).toMatchObject({ level: INFO, status: 101 });
  });

  test("a caller who hangs up before the answer is told apart", async () => {
    const client = await service.database.owner.connect();
    const gone = new AbortController();
    try {
      // Nobody can read the needs until this ends.
      await client.query("begin; lock table app_public.needs");
      const request = fetch(`${service.url}/v0/needs`, {
        headers: { authorization: `Bearer ${service.keys.read}`, "x-request-id": "hung-up" },
        signal: gone.signal,
      });
      await eventually(async () => {
        const { rows } = await client.query(
          `select from pg_locks where not granted and relation = 'app_public.needs'::regclass
             and database = (select oid from pg_database where datname = current_database())`,
        );
        expect(rows.length).toBe(1);
      });
      gone.abort();
      await expect(request).rejects.toThrow();
      expect(await lineOf("hung-up")).toMatchObject({ route: "/v0/needs", aborted: true });
      // What was asked for them ends, and is no failure. Whatever is to be said of it is said before this is answered.
      await eventually(async () => {
        const { rows } = await client.query(
          `select from pg_stat_activity where usename = 'engagement_server' and wait_event_type = 'Lock'
             and datname = current_database()`,
        );
        expect(rows).toEqual([]);
      });
      await call(`${service.url}/v0/accelerators`, "GET", service.keys.read);
      expect(lines.filter((line) => line["requestId"] === "hung-up" && line["msg"] !== "request")).toEqual(
        [],
      );
    } finally {
      await client.query("rollback");
      client.release();
    }
  });
});

test("probes are told of at debug only", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    const answer = await call(`${service.url}${path}`, "GET", undefined);
    expect(await lineOf(idOf(answer))).toMatchObject({ level: DEBUG, route: path, status: 200 });
  }
});

describe("the request id", () => {
  const ask = (id: string) =>
    call(`${service.url}/v0/needs`, "GET", undefined, undefined, { "x-request-id": id });

  test.each(["abc", "Root=1-67891233-abcdef012345678912345678", "a/b+c:d_e.f-1", "x".repeat(64)])(
    "is the caller's own: %s",
    async (id) => {
      const answer = await ask(id);
      expect([idOf(answer), answer.body.requestId]).toEqual([id, id]);
    },
  );

  test.each(["", "x".repeat(65), "a b", "a,b", "<script>", "ana@home.example", "ä", "%0a", '"', "$(id)"])(
    "is another than %j",
    async (id) => {
      const answer = await ask(id);
      expect(idOf(answer)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(answer.body.requestId).toBe(idOf(answer));
    },
  );

  test("is in the answer of every door, and a page from elsewhere may read it", async () => {
    for (const path of ["/v0/needs", "/graphql", "/v0/sparql", "/v0/mcp", "/docs", "/healthz", "/nothing"]) {
      const answer = await call(`${service.url}${path}`, "GET", service.keys.read);
      expect({ path, id: idOf(answer) }).toEqual({ path, id: expect.stringMatching(/.{36}/) });
      expect(answer.headers.get("access-control-expose-headers")).toMatch(/\bx-request-id\b/);
    }
    const preflight = await call(`${service.url}/v0/needs`, "OPTIONS", undefined, undefined, {
      origin: "https://app.example.org",
      "access-control-request-method": "POST",
    });
    expect(preflight.headers.get("access-control-allow-headers")).toMatch(/\bx-request-id\b/);
  });

  test("is that of this request in GraphQL, also for a text that was refused before", async () => {
    const ids = [];
    for (let i = 0; i < 2; i++) {
      const { headers, errors } = await send(service, "{ noSuchField }");
      expect(errors!.map(({ extensions }) => extensions["requestId"])).toEqual([headers.get("x-request-id")]);
      ids.push(errors![0]!.extensions["requestId"]);
    }
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("is in what is logged of a failure", async () => {
    await service.database.owner.query(
      `create function app_private.fail() returns trigger language plpgsql as
         $$ begin raise exception 'broken' using errcode = 'XX000'; end $$;
       create trigger a_failure before insert on app_public.needs
         for each row execute function app_private.fail()`,
    );
    const need = {
      ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor },
      ...{ needDescription: "Audio", accelerators: ["PRA-INT"] },
    };
    const answer = await call(`${service.url}/v0/needs`, "POST", service.keys.write, need);
    expect(answer).toMatchObject({ status: 500, body: { requestId: idOf(answer) } });
    expect(lines.filter((line) => line["requestId"] === idOf(answer) && line["level"] === 50)).toMatchObject([
      { err: { code: "XX000" }, method: "POST", route: "/v0/needs" },
    ]);
    const graphql = await send(
      service,
      `mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }`,
      { input: need },
      "write",
    );
    const { requestId } = graphql.errors![0]!.extensions;
    expect(lines.filter((line) => line["requestId"] === requestId && line["level"] === 50)).toMatchObject([
      { err: { code: "XX000" } },
    ]);
  });
});

test("an operator is told of a query's answer that broke off, and of a query that goes on when its time is over", async () => {
  const before = lines.length;
  const { setTimeout: later } = globalThis;
  const overdue = Promise.withResolvers<() => void>();
  const clock = jest
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((told: () => void, ms?: number, ...given: []) => {
      if (ms === 22_345) overdue.resolve(told);
      return later(told, ms, ...given);
    });
  const store = createGraphStore(storeUrls("http://127.0.0.1:9"));
  const broken = Promise.withResolvers<never>();
  const query: GraphStore["query"] = async (_, call) => {
    await call?.place?.(undefined);
    const rows = async function* () {
      yield Buffer.from("s\r\n");
      await broken.promise;
    };
    return { body: Readable.from(rows()), contentType: "text/csv" } as Awaited<
      ReturnType<GraphStore["query"]>
    >;
  };
  const server = await startServer({
    config: loadConfig({ PORT: "0", SPARQL_TIMEOUT_MS: "12345" }),
    ...{ databaseUrl: service.database.serverUrl, store: { ...store, query }, logger, graphql: "on demand" },
  });
  try {
    const headers = { authorization: `Bearer ${service.keys.read}`, accept: "text/csv" };
    const ask = new URLSearchParams({ query: "SELECT ?s { ?s ?p ?o }" });
    const answer = await fetch(`${server.url}/v0/sparql?${ask.toString()}`, { headers });
    (await overdue.promise)();
    broken.reject(new GraphUnavailable("The graph store's answer broke off."));
    await expect(answer.text()).rejects.toThrow();
    const warned = lines.slice(before).filter(({ level }) => level === WARN);
    expect(warned.map(({ msg }) => msg)).toEqual([
      expect.stringContaining("still runs a query past its timeout"),
      "a query's answer broke off",
    ]);
  } finally {
    clock.mockRestore();
    await server.stop();
    store.close();
  }
});
