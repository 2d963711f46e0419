import type { AddressInfo } from "node:net";
import { createServer } from "node:http";
import type { Express } from "express";
import type { Pool } from "pg";
import type { Logger } from "pino";
import { isLoopback } from "../config.ts";
import type { Config } from "../config.ts";
import { demoKeyOpens } from "../db/demo/load.ts";
import { createNames } from "../graph/namespaces.ts";
import type { GraphStore } from "../graph/store.ts";
import { demoKeyExposed, runPart } from "../process/part.ts";
import { createApp } from "./app.ts";
import { createGraphql } from "./graphql/door.ts";
import { createServerPool, KeyRing } from "./identity/keys.ts";
import { mcpDoor } from "./mcp/door.ts";
import { probes } from "./probes.ts";
import { restDoor } from "./rest/door.ts";
import { createMetrics, serveMetrics } from "./metrics.ts";
import { withOpenApi } from "./openapi/document.ts";
import { claimsPage } from "./pages/claims/door.ts";
import { docsPage } from "./pages/docs/door.ts";
import { homePage } from "./pages/home/door.ts";
import { allRoutes } from "./resources/index.ts";
import { sparqlDoor } from "./sparql/door.ts";
import { Database } from "./database.ts";

/** What a server needs to run. */
export type ServerOptions = {
  config: Config;
  /** URL of the database; the login should be engagement_server. */
  databaseUrl: string;
  store: GraphStore;
  logger: Logger;
};

/** A server that is listening. */
export type RunningServer = {
  url: string;
  app: Express;
  /** The port that serves the metrics, if METRICS_PORT is set. */
  metricsPort: number | undefined;
  stop: () => Promise<void>;
};

// So that a query in an address may be as long as in a body, and one that is too long is refused in words.
const MAX_HEADER_BYTES = 128 * 1024;

/**
 * Starts the server on config.host and config.port.
 * @throws the error from listen, such as EADDRINUSE; StartError if the demo key would be exposed to a network
 */
export async function startServer({
  config,
  databaseUrl,
  store,
  logger,
}: ServerOptions): Promise<RunningServer> {
  const pool = createServerPool(databaseUrl, (error) =>
    logger.warn({ err: error }, "lost a database connection"),
  );
  const keys = new KeyRing(pool);
  const database = new Database(pool);
  const isDemo = await demoKeyOpens(pool);
  if (isDemo && !isLoopback(config.host)) throw demoKeyExposed(config.host);
  await keys.start();

  const graphql = await createGraphql({ pool, logger });

  const metrics = config.metricsPort === undefined ? undefined : createMetrics(pool);
  const metricsServer =
    metrics && (await serveMetrics(metrics.registry, config.host, config.metricsPort ?? 0));

  const names = createNames(config);
  const { routes, document } = withOpenApi(allRoutes({ database, store, names }), config);
  const app = await createApp({
    ...(metrics && { measure: metrics.middleware }),
    config,
    keys,
    logger,
    local: isDemo,
    doors: [
      probes(() => answers(pool)),
      homePage,
      graphql.explorerDoor,
      claimsPage,
      docsPage(document),
      graphql.door,
      sparqlDoor({ store, namedGraphs: names.namedGraphs, timeoutMs: config.sparqlTimeoutMs }),
      mcpDoor({ database, logger, corsOrigins: config.corsOrigins }),
      restDoor(routes, database),
    ],
  });

  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: config.keepAliveTimeoutMs },
    app,
  );
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(config.port, config.host, listening);
  });
  const { port } = server.address() as AddressInfo;
  return {
    app,
    metricsPort: metricsServer?.port,
    url: `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`,
    stop: async () => {
      const closed = new Promise<void>((done) => void server.close(() => done()));
      server.closeIdleConnections();
      const impatience = setTimeout(() => server.closeAllConnections(), 5_000);
      await closed;
      clearTimeout(impatience);
      await graphql.release();
      await metricsServer?.stop();
      await keys.stop();
      await pool.end();
    },
  };
}

async function answers(pool: Pool): Promise<boolean> {
  try {
    await pool.query("select");
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  await runPart("npm run server", async (options) => {
    const server = await startServer(options);
    options.logger.info({ url: server.url }, "listening");
    return server;
  });
}
