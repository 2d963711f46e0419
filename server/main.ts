import type { Express } from "express";
import type { Logger } from "pino";
import { isLoopback, urlAt } from "../config.ts";
import type { Config } from "../config.ts";
import { demoKeyOpens } from "../db/demo/load.ts";
import { LoginUnfit, requireFitLogin } from "../db/logins.ts";
import { requireSameNames } from "../db/settings.ts";
import { createNames } from "../graph/namespaces.ts";
import type { GraphStore } from "../graph/store.ts";
import { discreet } from "../process/log.ts";
import { Metrics } from "../process/metrics.ts";
import { demoKeyExposed, runPart, StartError } from "../process/part.ts";
import { attended, pulseOf } from "../process/store-pulse.ts";
import { logRefused } from "./access-log.ts";
import { createApp } from "./app.ts";
import { readDocuments } from "./graphql/documents.ts";
import { graphqlOnDemand } from "./graphql/on-demand.ts";
import { NotAnnounced } from "./identity/announcements.ts";
import { HoldBack } from "./identity/hold-back.ts";
import { KeyRing } from "./identity/keys.ts";
import { Sessions } from "./identity/sessions.ts";
import { PersonTokens } from "./identity/tokens.ts";
import { RateLimit } from "./identity/rate-limit.ts";
import { mcpDoor } from "./mcp/door.ts";
import { probes } from "./probes.ts";
import { restDoor } from "./rest/door.ts";
import { addServerMetrics } from "./metrics.ts";
import { withOpenApi } from "./openapi/document.ts";
import { GraphReads } from "./graph-reads.ts";
import { desk } from "./pages/desk.ts";
import { graphState } from "./pages/graph-state.ts";
import { home } from "./pages/home.ts";
import { nowhere } from "./pages/nowhere.ts";
import { graphAddresses } from "./pages/record/address.ts";
import { sparqlPage } from "./pages/sparql.ts";
import { docs, openApiDoor } from "./pages/docs.ts";
import { signInPages } from "./pages/sign-in/door.ts";
import { apart, currentRequest } from "./request-context.ts";
import { ChurchPages } from "./resources/church-pages.ts";
import { allRoutes } from "./resources/index.ts";
import { sparqlDoor } from "./sparql/door.ts";
import { SparqlEndpoint } from "./sparql/endpoint.ts";
import { Listener } from "./listener.ts";
import type { Patience } from "./listener.ts";
import { Database } from "./database.ts";
import { LOOKUPS, Postgres } from "./postgres/postgres.ts";
import { Positions } from "./postgres/positions.ts";
import { Reads } from "./postgres/reads.ts";
import { Replica } from "./postgres/replica.ts";

/** What a server needs to run. */
export type ServerOptions = {
  config: Config;
  /** URL of the database; the login should be engagement_server. */
  databaseUrl: string;
  store: GraphStore;
  logger: Logger;
  /** Time limits for slow callers. */
  patience?: Patience;
  /** The metrics of the process, if other parts run in it as well. */
  metrics?: Metrics;
  /** When the GraphQL schema is built: before the server listens, or on the first request for it. */
  graphql?: "at the start" | "on demand";
  /** Whether what works as the owner of the database runs in the same process, so that this login may be the owner's. */
  isWithOwner?: boolean;
};

/**
 * Under load, the schema should be built before anybody waits for it. Where a quick start counts, it may
 * never be needed, unless registered documents have to be checked against it.
 */
async function makeGraphql(
  options: Parameters<typeof graphqlOnDemand>[0],
  when: ServerOptions["graphql"] = "at the start",
): Promise<ReturnType<typeof graphqlOnDemand>> {
  if (when === "on demand" && (options.documents?.isEmpty ?? true)) return graphqlOnDemand(options);
  const { createGraphql } = await import("./graphql/door.ts");
  return createGraphql(options);
}

/** Loaded only if configured, since its library would slow down the start. */
async function makeProvider({ signIn, oidc }: Config, tokens: PersonTokens | undefined, logger: Logger) {
  if (!signIn || !tokens) return undefined;
  const { SignInProvider } = await import("./pages/sign-in/provider.ts");
  return new SignInProvider({ ...signIn, domains: oidc?.domains }, tokens, logger);
}

/** A server that is listening. */
export type RunningServer = {
  url: string;
  app: Express;
  /** The port that serves the metrics, if METRICS_PORT is set. */
  metricsPort: number | undefined;
  stop: () => Promise<void>;
};

/**
 * Starts the server on config.host and config.port.
 * @throws the error from listen, such as EADDRINUSE; StartError if the demo key would be exposed to a
 * network, or if a manifest of documents cannot be read, or one of its documents not be answered
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const up = new AsyncDisposableStack();
  try {
    return await bringUp(options, up);
  } catch (error) {
    await up.disposeAsync();
    throw error;
  }
}

async function bringUp(
  { config, databaseUrl, store: given, patience, ...options }: ServerOptions,
  up: AsyncDisposableStack,
): Promise<RunningServer> {
  const documents = readDocuments(config.persistedDocuments);
  const logger = discreet(options.logger, () => {
    const request = currentRequest();
    return request ? { requestId: request.id } : {};
  });
  const connecting = {
    poolSize: config.databasePoolSize,
    statementTimeoutMs: config.statementTimeoutMs,
    // The request for which it was opened may be long over.
    onError: (error: Error) => apart(() => logger.warn({ err: error }, "lost a database connection")),
  };
  const postgres = new Postgres({ url: databaseUrl, ...connecting });
  up.defer(() => postgres.end());
  const { pool } = postgres;
  await postgres.start();
  const { url: readUrl, maxLagMs } = config.databaseRead;
  const replica =
    readUrl === undefined
      ? undefined
      : new Replica(new Positions(postgres.positions), { url: readUrl, maxLagMs, logger, ...connecting });
  up.defer(() => replica?.stop());
  await replica?.start();
  const reads = new Reads(postgres.requests, replica);
  const listenUrl = config.databaseListenUrl ?? databaseUrl;
  const keys = new KeyRing({ connections: postgres.lookups, statements: LOOKUPS, listenUrl });
  const tokens = config.oidc && new PersonTokens(config.oidc, logger);
  const database = new Database(postgres.requests, reads);
  const sessions = new Sessions(postgres.requests, config.oidc);
  let ownUrl = config.platformUrl;
  up.defer(() => tokens?.stop());
  const storePulse = pulseOf(given);
  up.defer(() => storePulse.stop());
  up.defer(() => keys.stop());
  const store = attended(given, storePulse);
  const holdBack = new HoldBack();
  const rateLimit = new RateLimit(config.rateLimitPerMinute, databaseUrl, postgres.pulse, holdBack);
  up.defer(() => rateLimit.stop());
  const oddities = await requireFitLogin(pool).catch((error: unknown) => {
    throw error instanceof LoginUnfit
      ? new StartError(`DATABASE_URL: ${error.message}`, { cause: error })
      : error;
  });
  if (!options.isWithOwner) for (const problem of oddities) logger.warn(problem);
  await requireSameNames(pool, config);
  const isDemo = await demoKeyOpens(pool);
  if (isDemo && !isLoopback(config.host)) throw demoKeyExposed(config.host);
  await keys.start().catch((error: unknown) => {
    if (!(error instanceof NotAnnounced)) throw error;
    throw new StartError(
      `DATABASE_LISTEN_URL: ${error.message}, so a revoked key would go on working; set it to a URL that leads ` +
        "directly to PostgreSQL, past any pooler in transaction mode",
    );
  });

  tokens?.start();

  const { answerMaxBytes, maxConnections, metricsPort } = config;
  const names = createNames(config);
  const graph = new GraphReads(store, config.sparqlConcurrency);
  const churchPages = new ChurchPages(database);
  const ownRoutes = allRoutes({ database, churchPages, store, graph, names, answerMaxBytes });
  const graphql = await makeGraphql(
    {
      ...{ postgres, reads, logger, answerMaxBytes, maxConnections, routes: ownRoutes, documents },
      msPerRequest: config.graphqlMsPerRequest,
    },
    options.graphql,
  );
  up.defer(() => graphql.release());

  const sparql = new SparqlEndpoint({
    store,
    namedGraphs: names.namedGraphs,
    timeoutMs: config.sparqlTimeoutMs,
    concurrency: config.sparqlConcurrency,
    warn: (message) => logger.warn(message),
  });

  const metrics = options.metrics ?? (metricsPort === undefined ? undefined : new Metrics());
  const told = metrics && addServerMetrics(metrics, { postgres, reads, replica, sparql });
  const metricsServer =
    metricsPort === undefined ? undefined : await metrics?.serve(config.host, metricsPort);
  up.defer(() => metricsServer?.stop());

  let isReady = () => postgres.pulse.beat();
  const { routes, document } = withOpenApi(ownRoutes, config);
  const app = await createApp({
    ...(told && { measure: told.measure }),
    config,
    credentials: { keys, tokens, sessions },
    rateLimit,
    holdBack,
    logger,
    local: isDemo,
    doors: [
      probes(() => isReady()),
      graphAddresses(names),
      desk(database, [home(graphql.ask), graphState(store), docs(document), sparqlPage(sparql, names)]),
      graphql.explorerDoor,
      signInPages({
        ...{ sessions, database, holdBack },
        provider: await makeProvider(config, tokens, logger),
        ownUrl: () => ownUrl ?? urlAt(config.host, config.port),
      }),
      openApiDoor(document),
      graphql.door,
      sparqlDoor({ endpoint: sparql, logger }),
      mcpDoor({ churchPages, logger, corsOrigins: config.corsOrigins, answerMaxBytes }),
      restDoor(routes, database),
      nowhere(database),
    ],
  });

  if (config.platformUrl?.startsWith("https:") && config.trustProxy === 0) {
    logger.warn(
      "PLATFORM_URL is https, which a proxy must end, and TRUST_PROXY trusts none: sign-in is refused, and all callers " +
        "count as one address; set TRUST_PROXY to the number of proxies",
    );
  }
  const listener = new Listener(app, {
    ...{ keepAliveMs: config.keepAliveTimeoutMs, maxConnections, patience },
    onRefused: (refusal, requestId) => {
      logRefused(logger, refusal, requestId);
      told?.refused(refusal.code);
    },
  });
  const url = urlAt(config.host, await listener.listen(config.port, config.host));
  ownUrl ??= url;
  return {
    app,
    metricsPort: metricsServer?.port,
    url,
    stop: async () => {
      isReady = () => Promise.resolve(false);
      graphql.hangUp();
      holdBack.end();
      await listener.drain(config.shutdown);
      await up.disposeAsync();
    },
  };
}

if (import.meta.main) {
  await runPart("npm run server", async (options) => {
    const server = await startServer(options);
    options.logger.info({ url: server.url }, "listening");
    return server;
  });
}
