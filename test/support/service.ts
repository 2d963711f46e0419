import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import type { Express } from "express";
import { pino } from "pino";
import type { Logger } from "pino";
import { loadConfig } from "../../config.ts";
import type { Config } from "../../config.ts";
import { startEmbeddedStore } from "../../graph/embedded/index.ts";
import { createGraphStore, storeUrls } from "../../graph/store.ts";
import type { GraphStore } from "../../graph/store.ts";
import type { Metrics } from "../../process/metrics.ts";
import type { Patience } from "../../server/listener.ts";
import { startServer } from "../../server/main.ts";
import type { RunningServer, ServerOptions } from "../../server/main.ts";
import { startWorker } from "../../worker/main.ts";
import { createTestDatabase, issueTestKey } from "./database.ts";
import type { TestDatabase } from "./database.ts";
import { buildWorld } from "./world.ts";

/** A server with its own database, and a key for each scope. */
export type TestService = {
  url: string;
  app: Express;
  database: TestDatabase;
  store: GraphStore;
  keys: { read: string; write: string; review: string };
  stop: () => Promise<void>;
};

/** A graph store and the worker that fills it, for tests that follow a record into the graph. */
export async function startTestServiceWithGraph(
  options: { config?: Partial<Config>; world?: boolean; logger?: Logger; database?: TestDatabase } = {},
): Promise<TestService> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-store-"));
  const embedded = await startEmbeddedStore({ dir, port: 0 });
  const store = createGraphStore(storeUrls(embedded.url));
  const service = await startTestService({ ...options, store });
  const worker = await startWorker({
    databaseUrl: service.database.url,
    store,
    // With a database of the operator's, mails that are kept are not shown beside what the tests say.
    config: { ...testConfig(options.config), databaseUrl: service.database.url },
    logger: options.logger ?? pino({ level: process.env["TEST_LOG_LEVEL"] ?? "silent" }),
  });
  return {
    ...service,
    stop: async () => {
      await worker.stop();
      await service.stop();
      store.close();
      await embedded.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function testConfig(differences: Partial<Config> = {}): Config {
  return {
    ...loadConfig({
      PORT: "0",
      LOG_LEVEL: "silent",
      RATE_LIMIT_PER_MINUTE: "1000000",
      UNKNOWN_KEYS_PER_MINUTE: "1000000",
    }),
    ...differences,
  };
}

/** An address where nothing is listening: for tests that need no graph. */
const NO_STORE = "http://127.0.0.1:9";

/**
 * Starts a server for one test file.
 * @param options.database what it serves, and drops in the end; a new one by default
 * @param options.store where the graph is; without it the graph store is down
 * @param options.config differences from the default configuration
 * @param options.logger where the server logs; nowhere by default
 * @param options.patience with callers who are slow
 * @param options.metrics what it counts
 * @param options.graphql when its schema is built; at the start for test files that speak of it
 */
export async function startTestService(
  options: {
    database?: TestDatabase;
    store?: GraphStore;
    config?: Partial<Config>;
    world?: boolean;
    logger?: Logger;
    patience?: Patience;
    metrics?: Metrics;
    graphql?: ServerOptions["graphql"];
  } = {},
): Promise<TestService> {
  const database = options.database ?? (await createTestDatabase());
  if (options.world !== false) await buildWorld(database.owner);
  const store =
    options.store ??
    createGraphStore({
      queryUrl: `${NO_STORE}/query`,
      updateUrl: `${NO_STORE}/update`,
      graphStoreUrl: `${NO_STORE}/data`,
    });
  const config = testConfig(options.config);
  const server = await startServer({
    config,
    databaseUrl: database.serverUrl,
    store,
    ...(options.patience && { patience: options.patience }),
    ...(options.metrics && { metrics: options.metrics }),
    graphql: options.graphql ?? (await whenGraphqlIsBuilt()),
    logger: options.logger ?? pino({ level: process.env["TEST_LOG_LEVEL"] ?? "silent" }),
  });
  const [read, write, review] = await Promise.all(
    (["api_read", "api_write", "api_review"] as const).map((scope) => issueTestKey(database.owner, scope)),
  );
  return {
    url: server.url,
    app: server.app,
    database,
    store,
    keys: { read: read!, write: write!, review: review! },
    stop: async () => {
      await server.stop();
      await database.drop();
    },
  };
}

/** An answer with its body parsed if it is JSON. */
export type Answer = { status: number; headers: Headers; body: any }; // oxlint-disable-line typescript/no-explicit-any -- whatever the wire says

/** Sends a request with a JSON body, as a caller would. */
export async function call(
  url: string,
  method: string,
  key: string | undefined,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text ? JSON.parse(text) : text,
  };
}

/** Asks again while there is no connection for a caller: of many requests at once a slow machine has the last wait in vain. */
export async function untilServed(ask: () => Promise<Answer>): Promise<Answer> {
  const answer = await ask();
  const code: unknown = answer.body.error ?? answer.body.errors?.[0]?.extensions?.code;
  return code === "service_busy" ? untilServed(ask) : answer;
}

/**
 * Another server on the database of a service, with settings as its environment would give them.
 * @param options.graphql when its schema is built; with the first request for it by default, which most never see
 */
export async function startAnotherServer(
  { database, store }: Pick<TestService, "database" | "store">,
  environment: NodeJS.ProcessEnv = {},
  options: Pick<ServerOptions, "graphql"> = {},
): Promise<RunningServer> {
  return startServer({
    config: loadConfig({ PORT: "0", ...environment }),
    databaseUrl: database.serverUrl,
    store,
    graphql: options.graphql ?? "on demand",
    logger: pino({ level: "silent" }),
  });
}

/** To load and to build it takes longer than all the rest, and most test files have nothing to say about it. */
async function whenGraphqlIsBuilt(): Promise<ServerOptions["graphql"]> {
  const { testPath } = expect.getState();
  return /graphql/i.test(await readFile(testPath!, "utf8")) ? "at the start" : "on demand";
}
