// What a server makes of its settings, and what is left of one that could not start.
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { GraphTimeout } from "../graph/store.ts";
import type { GraphStore, QueryOptions } from "../graph/store.ts";
import { startServer } from "../server/main.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call } from "./support/service.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const serve = (
  environment: NodeJS.ProcessEnv,
  { store = {}, log = [] }: { store?: object; log?: string[] } = {},
) =>
  startServer({
    config: loadConfig({ PORT: "0", ...environment }),
    databaseUrl: database.serverUrl,
    store: { close: () => undefined, ...store } as GraphStore,
    logger: pino({ level: "warn" }, { write: (line) => void log.push(line) }),
    graphql: "on demand",
  });
const connections = async (names = "%") => {
  const { rows } = await database.owner.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and usename = 'engagement_server' and application_name like $1`,
    [names],
  );
  return rows.map(({ pid }) => pid);
};

test("as many SPARQL queries run at a time as are configured, each for as long as that is", async () => {
  const running: PromiseWithResolvers<never>[] = [];
  const limits: (number | undefined)[] = [];
  const late = new GraphTimeout("late");
  let isOver = false;
  const query = async (_: string, asked: QueryOptions = {}) => {
    const end = await asked.place?.(asked.signal);
    const answer = Promise.withResolvers<never>();
    if (isOver) answer.reject(late);
    answer.promise.catch(() => end?.());
    running.push(answer);
    limits.push(asked.timeoutMs);
    return answer.promise;
  };
  const server = await serve(
    { SPARQL_CONCURRENCY: "5", SPARQL_TIMEOUT_MS: "600000" },
    {
      // It is there, however long its queries take.
      store: { query, ask: () => Promise.resolve(true) },
    },
  );
  try {
    const keys = await Promise.all(Array.from({ length: 6 }, () => issueTestKey(database.owner, "api_read")));
    const ask = (key: string) => call(`${server.url}/v0/sparql?query=ASK%7B%7D`, "GET", key);
    const asked = keys.slice(1).map(ask);
    await eventually(() => expect(running).toHaveLength(5));
    // Eight of one key wait, and one more is refused at once.
    const others = Array.from({ length: 9 }, () => ask(keys[0]!));
    expect((await Promise.race(others)).body).toMatchObject({ error: "service_busy" });
    expect(running).toHaveLength(5);
    expect(new Set(limits)).toEqual(new Set([600_000]));
    isOver = true;
    for (const each of running) each.reject(late);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([504, 504, 504, 504, 504]);
    await Promise.all(others);
  } finally {
    await server.stop();
  }
});

test("a server that cannot start keeps no connection", async () => {
  const taken = createServer();
  await once(taken.listen(0, "127.0.0.1"), "listening");
  try {
    const { port } = taken.address() as AddressInfo;
    await expect(serve({ PORT: String(port) })).rejects.toThrow("EADDRINUSE");
    // Less than the ten seconds after which a pool closes what nobody uses.
    await eventually(async () => expect(await connections()).toEqual([]), 5_000);
  } finally {
    taken.close();
  }
});

test("a connection that the database breaks off is told of in the log, and by a server that has stopped none is left", async () => {
  const log: string[] = [];
  const server = await serve({}, { log });
  try {
    const key = await issueTestKey(database.owner, "api_read");
    const list = () => call(`${server.url}/v0/accelerators`, "GET", key);
    expect((await list()).status).toBe(200);
    await eventually(async () => {
      for (const pid of await connections("engagement-server"))
        await database.owner.query("select pg_terminate_backend($1)", [pid]);
      expect(log.join("")).toContain("lost a database connection");
    });
    expect(log.join("")).toContain("57P01");
    await eventually(async () => expect((await list()).status).toBe(200));
  } finally {
    await server.stop();
  }
  await eventually(async () => expect(await connections()).toEqual([]));
});
