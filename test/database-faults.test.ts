// A sick PostgreSQL, at every door: 503 database_unavailable while it is, and service as before once it is well.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { migrate } from "../db/migrate.ts";
import { createPool } from "../db/pool.ts";
import { createGraphStore } from "../graph/store.ts";
import { startServer } from "../server/main.ts";
import type { RunningServer } from "../server/main.ts";
import { issueTestKey } from "./support/database.ts";
import { AS_A_BROWSER } from "./support/desk.ts";
import { eventually } from "./support/eventually.ts";
import { call } from "./support/service.ts";
import type { Answer } from "./support/service.ts";
import { startSickPostgres } from "./support/sick-postgres.ts";
import type { SickPostgres } from "./support/sick-postgres.ts";
import { Visitor } from "./support/visitor.ts";
import { buildWorld, contributor, ORG } from "./support/world.ts";

const CONNECTIONS = 30;
let postgres: SickPostgres;
let owner: pg.Pool;
let server: RunningServer;
let key: string;
/** Keys that the server has not seen. */
let fresh: string[];

beforeAll(async () => {
  postgres = await startSickPostgres({ max_connections: String(CONNECTIONS) });
  await migrate(postgres.url);
  owner = createPool(postgres.url, { max: 2 });
  await buildWorld(owner);
  await owner.query("alter role engagement_server login password 'of-the-tests'");
  const url = new URL(postgres.url);
  [url.username, url.password] = ["engagement_server", "of-the-tests"];
  server = await startServer({
    // Statements may take so long that no answer here can come from their time limit.
    config: loadConfig({
      PORT: "0",
      METRICS_PORT: "0",
      STATEMENT_TIMEOUT_MS: "600000",
      RATE_LIMIT_PER_MINUTE: "1000000",
    }),
    databaseUrl: url.href,
    store: createGraphStore({
      queryUrl: "http://127.0.0.1:9/query",
      updateUrl: "http://127.0.0.1:9/update",
      graphStoreUrl: "http://127.0.0.1:9/data",
    }),
    logger: pino({ level: "silent" }),
  });
  key = await issueTestKey(owner, "api_write");
  fresh = await Promise.all(Array.from({ length: 40 }, () => issueTestKey(owner, "api_write")));
});

afterEach(async () => {
  await postgres.mend();
  await recovered();
});

afterAll(async () => {
  await server.stop();
  await owner.end();
  await postgres.remove();
});

const NEED = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scripture",
  accelerators: ["PRA"],
};

const get = (path: string, as: string | undefined = key) => call(`${server.url}${path}`, "GET", as);
const declare = () => call(`${server.url}/v0/needs`, "POST", key, NEED);
const search = (as: string) =>
  call(`${server.url}/v0/mcp`, "POST", as, {
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name: "churches_search_v1", arguments: { queryParams: { locality: "El Cajon" } } },
  });
const metrics = () => call(`http://127.0.0.1:${server.metricsPort}/metrics`, "GET", undefined);

/** Everything that needs the database works. */
function recovered(): Promise<void> {
  return eventually(async () => {
    const answers = await Promise.all([get("/v0/needs"), get("/readyz"), metrics(), declare()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 201]);
    expect(answers[2].body).toMatch(/^database_up 1$/m);
  });
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, body }).toMatchObject({ status: 503, body: { error: "database_unavailable" } });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
}

async function everyDoorIsUnavailable(): Promise<void> {
  const unseen = () => fresh.pop()!;
  const [rest, write, health, unseenRest, sparql, mcp, graphql, search_, readyz, metric, healthz] =
    await Promise.all([
      get("/v0/needs"),
      declare(),
      get("/v0/health"),
      get("/v0/needs", unseen()),
      get("/v0/sparql?query=ASK%7B%7D", unseen()),
      search(unseen()),
      call(`${server.url}/graphql`, "POST", unseen(), { query: "{ needs { totalCount } }" }),
      search(key),
      get("/readyz", undefined),
      metrics(),
      get("/healthz", undefined),
    ]);
  for (const answer of [rest, write, health, unseenRest, sparql, mcp]) expectUnavailable(answer);
  expect(graphql).toMatchObject({
    status: 503,
    body: { errors: [{ extensions: { code: "database_unavailable", statusCode: 503 } }] },
  });
  expect(graphql.headers.get("retry-after")).not.toBeNull();
  // With a key that is still remembered the tool itself fails; by and by the key is not remembered any more.
  if (search_.status === 200) expect(search_.body).toMatchObject({ result: { isError: true } });
  else expectUnavailable(search_);
  expect(readyz).toMatchObject({ status: 503, body: { status: "not_ready" } });
  expect(readyz.headers.get("retry-after")).toBe("1");
  expect(metric.status).toBe(200);
  expect(metric.body).toMatch(/^database_up 0$/m);
  expect(healthz.status).toBe(200);
}

test("frozen, with requests under way, with those that come then, and with keys never seen", async () => {
  await recovered();
  await postgres.freeze();
  await everyDoorIsUnavailable();
  await everyDoorIsUnavailable();
  await postgres.thaw();
  await recovered();
});

test("stopped and started", async () => {
  await recovered();
  await postgres.down();
  await everyDoorIsUnavailable();
  await postgres.up();
  await recovered();
});

test("on pages, which give back what somebody wrote, and open as far as they need nobody's session", async () => {
  const visitor = await new Visitor({ url: server.url, database: { owner } }).signIn(contributor);
  await postgres.down();
  const notes = "Nobody <here> knows them.";
  const headers = { "x-request-id": "of-a-page" };
  const refused = await visitor.submit({ text: "" }, "/admin/claims?status=pending", { notes }, { headers });
  const away = [
    await visitor.open("/organizations?q=a"),
    refused,
    await visitor.open("/"),
    await visitor.open("/sign-in"),
  ];
  for (const { status, headers: said, text } of away) {
    expect([status, said.get("content-type"), said.get("retry-after")]).toEqual([
      503,
      "text/html; charset=utf-8",
      "1",
    ]);
    expect(text).toMatch(/<h1>That did not work<.*The database is not available; try again in a moment\./s);
  }
  expect(away[0]!.text).toContain('<a href="/organizations?q=a">Try again</a>');
  expect(refused.text).toContain("Nobody &lt;here&gt; knows them.");
  expect(refused.text).toMatch(/Nothing was changed\. <a href="\/admin\/claims\?status=pending">/);
  expect(refused.text).toContain("<code>of-a-page</code>");
  // Another site could make a browser send anything.
  const elsewhere = { headers: { "sec-fetch-site": "cross-site" } };
  const from = await visitor.submit({ text: "" }, "/admin/claims", { notes }, elsewhere);
  expect([from.status, from.text.includes("knows them")]).toEqual([503, false]);
  for (const [path, status] of [
    ["/docs", 200],
    ["/sparql", 200],
    ["/graphiql", 200],
    ["/nowhere", 404],
  ] as const)
    expect([path, (await visitor.open(path, AS_A_BROWSER)).status]).toEqual([path, status]);
});

test("behind connections that nothing passes through any more, and new ones that work", async () => {
  const several = () => Promise.all(Array.from({ length: 5 }, () => get("/v0/needs")));
  expect((await several()).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  postgres.muffle();
  // One request finds out, for all.
  const [first] = await Promise.all([get("/v0/needs"), get("/readyz")]);
  expectUnavailable(first);
  await eventually(async () => expect((await get("/readyz")).status).toBe(200));
  expect((await several()).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  postgres.sever();
});

describe("with a statement under way", () => {
  let blocker: pg.Client;
  afterEach(async () => {
    await postgres.mend();
    await blocker.end();
  });

  /** Lets requests for needs wait for a lock, and one of them begin. */
  async function blocked(request: () => Promise<Answer>): Promise<{ answer: Promise<Answer> }> {
    blocker = new pg.Client(postgres.url);
    blocker.on("error", () => undefined);
    await blocker.connect();
    await blocker.query("begin; lock table app_public.needs in access exclusive mode");
    const answer = request();
    await eventually(async () => {
      const { rows } = await owner.query(
        `select from pg_stat_activity where usename = 'engagement_server' and wait_event_type = 'Lock'`,
      );
      expect(rows.length).toBeGreaterThan(0);
    });
    return { answer };
  }

  test.each([
    ["its connection is closed by an administrator", "terminate"],
    ["its connection breaks", "sever"],
    ["the server freezes", "freeze"],
  ] as const)("nobody knows what became of a write when %s, and the caller is told so", async (_, fault) => {
    const { answer } = await blocked(declare);
    if (fault === "sever") postgres.sever();
    else if (fault === "freeze") await postgres.freeze();
    else {
      await owner.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'",
      );
    }
    const told = await answer;
    await postgres.thaw();
    expectUnavailable(told);
    expect(told.body.message).toMatch(/Idempotency-Key/);
  });
});

test("without room for another connection", async () => {
  const room: pg.Client[] = [];
  const fill = async () => {
    for (;;) {
      const client = new pg.Client(postgres.url);
      client.on("error", () => undefined);
      try {
        await client.connect();
      } catch (error) {
        expect((error as pg.DatabaseError).code).toBe("53300");
        return;
      }
      room.push(client);
    }
  };
  try {
    await fill();
    await eventually(async () => {
      await room[0]!.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'engagement_server'",
      );
      await fill();
      expectUnavailable(await get("/v0/needs"));
    });
    expect((await get("/readyz")).status).toBe(503);
  } finally {
    await Promise.all(room.map((client) => client.end()));
  }
});

test("read-only, as after a failover: what reads is answered, what writes is not", async () => {
  await owner.query("alter system set default_transaction_read_only = on");
  await owner.query("select pg_reload_conf()");
  try {
    await eventually(async () => expectUnavailable(await declare()));
    expect((await get("/v0/needs")).status).toBe(200);
  } finally {
    await owner.query("alter system reset default_transaction_read_only");
    await owner.query("select pg_reload_conf()");
  }
});
