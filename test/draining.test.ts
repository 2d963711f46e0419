// How a server ends: what it has begun it finishes, and those who send requests learn of it first.
import { once } from "node:events";
import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { freePort, launch } from "./support/process.ts";
import type { Running } from "./support/process.ts";
import { buildWorld } from "./support/world.ts";

let database: TestDatabase;
let key: string;
let blocker: pg.Client;
let server: Running;
let port: number;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
  key = await issueTestKey(database.owner, "api_read");
});
afterAll(() => database.drop());
beforeEach(async () => {
  blocker = new pg.Client(database.url);
  await blocker.connect();
});
afterEach(async () => {
  await server.end("SIGKILL");
  await blocker.end();
});

async function start(settings: Record<string, string>): Promise<void> {
  port = await freePort();
  server = launch(process.execPath, ["server/main.ts"], {
    ...{ DATABASE_URL: database.serverUrl, FUSEKI_URL: "http://127.0.0.1:9/engagement", PORT: String(port) },
    // Not by way of npm, which passes on what this process is sent as well: a second signal is one.
    npm_lifecycle_event: "",
    ...settings,
  });
  await server.prints("listening");
}

async function get(path: string): Promise<{ status: number; connection: string | undefined; body: string }> {
  const sent = request({
    host: "127.0.0.1",
    port,
    path,
    agent,
    headers: { authorization: `Bearer ${key}` },
  }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return {
    status: response.statusCode!,
    connection: response.headers.connection,
    body: await text(response),
  };
}

/** A request that is under way, and waits for a lock. */
async function begin(): Promise<{ answer: ReturnType<typeof get> }> {
  await blocker.query("begin; lock table app_public.needs in access exclusive mode");
  const answer = get("/v0/needs");
  answer.catch(() => undefined);
  await eventually(async () => {
    const { rowCount } = await database.owner.query(
      `select from pg_stat_activity
       where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
    );
    expect(rowCount).toBe(1);
  });
  return { answer };
}

async function isRefused(): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isOpen = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return !isOpen;
}

test("what has begun is finished, also on a connection that is kept alive; nothing new is taken", async () => {
  await start({});
  expect(await get("/readyz")).toMatchObject({ status: 200, connection: "keep-alive" });
  const { answer } = await begin();
  server.child.kill("SIGTERM");
  await eventually(async () => expect(await isRefused()).toBe(true));
  await blocker.query("rollback");
  expect(await answer).toMatchObject({ status: 200, connection: "close" });
  expect(await server.ended).toBe(0);
});

test("a connection on which nothing was ever sent keeps nobody waiting", async () => {
  await start({ SHUTDOWN_TIMEOUT_MS: "86400000" });
  const silent = connect(port, "127.0.0.1");
  await once(silent, "connect");
  // Taken by now, since what comes after it has been answered.
  expect((await get("/readyz")).status).toBe(200);
  server.child.kill("SIGTERM");
  // After a minute without a byte any connection is closed.
  await eventually(() => Promise.resolve(expect(server.child.exitCode).toBe(0)), 40_000);
  silent.destroy();
});

test("a body of which nothing comes any more keeps nobody waiting, one that still comes is waited for", async () => {
  const writing = await issueTestKey(database.owner, "api_write");
  const LENGTH = 100_000;
  const post = () => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    socket.write(
      `POST /v0/needs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${writing}\r\n` +
        `content-type: application/json\r\ncontent-length: ${LENGTH}\r\nexpect: 100-continue\r\n\r\n{`,
    );
    return socket;
  };
  // Again where this process stood still for a second, in which it said nothing.
  await eventually(async () => {
    await start({ SHUTDOWN_TIMEOUT_MS: "86400000" });
    const [silent, speaking] = [post(), post()];
    let said = 1;
    const going = setInterval(() => (speaking.write(" "), (said += 1)), 20);
    try {
      await Promise.all([once(silent, "data"), once(speaking, "data")]);
      server.child.kill("SIGTERM");
      const answer = text(speaking);
      answer.catch(() => undefined);
      expect(await text(silent)).toMatch(/^HTTP\/1\.1 408 [^]*request_timeout/);
      clearInterval(going);
      speaking.write("}".padStart(LENGTH - said));
      expect(await answer).toMatch(/^HTTP\/1\.1 400 [^]*validation_failed/);
      expect(await server.ended).toBe(0);
    } finally {
      clearInterval(going);
      await server.end("SIGKILL");
    }
  });
});

test("requests are taken for SHUTDOWN_DELAY_MS, while /readyz says that it ends", async () => {
  await start({ SHUTDOWN_DELAY_MS: "86400000" });
  expect((await get("/readyz")).status).toBe(200);
  server.child.kill("SIGTERM");
  await eventually(
    async () =>
      expect(await get("/readyz")).toEqual({
        status: 503,
        connection: "close",
        body: '{"status":"not_ready"}',
      }),
    15_000,
  );
  expect(await get("/v0/needs")).toMatchObject({ status: 200, connection: "close" });
  expect(await isRefused()).toBe(false);
  expect(server.child.exitCode).toBeNull();
});

test("who wants a WebSocket meanwhile is refused, and not left waiting", async () => {
  await start({ SHUTDOWN_DELAY_MS: "86400000" });
  server.child.kill("SIGTERM");
  await eventually(async () => expect((await get("/readyz")).status).toBe(503), 15_000);
  const socket = connect(port, "127.0.0.1");
  // Who is taken on is told nothing.
  socket.setTimeout(15_000, () => socket.destroy());
  socket.write(
    "GET /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
      "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 503 [^]*\nconnection: close\r\n[^]*service_busy/i);
});

test("what has begun lasts no longer than SHUTDOWN_TIMEOUT_MS", async () => {
  await start({ SHUTDOWN_TIMEOUT_MS: "100", STATEMENT_TIMEOUT_MS: "86400000" });
  const { answer } = await begin();
  server.child.kill("SIGTERM");
  await expect(answer).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(await server.ended).toBe(0);
});

test("a second signal ends it at once", async () => {
  await start({ SHUTDOWN_TIMEOUT_MS: "86400000", STATEMENT_TIMEOUT_MS: "86400000" });
  const { answer } = await begin();
  server.child.kill("SIGTERM");
  await eventually(async () => expect(await isRefused()).toBe(true));
  server.child.kill("SIGINT");
  // Not waited for where it goes on: it has a day.
  await eventually(() => expect(server.child.exitCode).toBe(1), 30_000);
  await expect(answer).rejects.toMatchObject({ code: "ECONNRESET" });
});
