import type { Command } from "commander";
import type { AdminContext } from "./context.ts";

const MASK = "********";

/** config: the effective configuration. */
export function registerConfig(program: Command, context: AdminContext): void {
  program
    .command("config")
    .description("Show the effective configuration, with secrets masked")
    .action(() => {
      const { config } = context;
      const shown = {
        PORT: config.port,
        HOST: config.host,
        DATABASE_URL: config.databaseUrl ? maskedUrl(config.databaseUrl) : null,
        DATABASE_LISTEN_URL: config.databaseListenUrl ? maskedUrl(config.databaseListenUrl) : null,
        DATABASE_READ_URL: config.databaseRead.url ? maskedUrl(config.databaseRead.url) : null,
        DATABASE_READ_MAX_LAG_MS: config.databaseRead.maxLagMs,
        DATABASE_POOL_SIZE: config.databasePoolSize,
        STATEMENT_TIMEOUT_MS: config.statementTimeoutMs,
        MIGRATION_WAIT_MS: config.migrationWaitMs,
        SPARQL_QUERY_URL: config.graphStore ? maskedUrl(config.graphStore.queryUrl) : null,
        SPARQL_UPDATE_URL: config.graphStore ? maskedUrl(config.graphStore.updateUrl) : null,
        SPARQL_GRAPH_STORE_URL: config.graphStore ? maskedUrl(config.graphStore.graphStoreUrl) : null,
        FUSEKI_USER: config.graphStore?.user ?? null,
        FUSEKI_PASSWORD: config.graphStore?.password ? MASK : null,
        GRAPH_DATA_URL: config.graphDataUrl,
        NAMESPACE_URL: config.namespaceUrl,
        PLATFORM_URL: config.platformUrl ?? null,
        SMTP_URL: config.smtpUrl ? maskedUrl(config.smtpUrl) : null,
        MAIL_FROM: config.mailFrom,
        CORS_ORIGINS: config.corsOrigins.join(","),
        OIDC_ISSUER:
          config.oidc?.issuers
            .map((issuer) => [issuer, ...(config.oidc?.domains?.[issuer] ?? [])].join(" "))
            .join(",") ?? null,
        OIDC_AUDIENCE: config.oidc?.audience ?? null,
        OIDC_CLIENT_ID: config.signIn?.clientId ?? null,
        OIDC_CLIENT_SECRET: config.signIn?.clientSecret === undefined ? null : MASK,
        RATE_LIMIT_PER_MINUTE: config.rateLimitPerMinute,
        UNKNOWN_KEYS_PER_MINUTE: config.unknownKeysPerMinute,
        TRUST_PROXY: [config.trustProxy].flat().join(","),
        ANSWER_MAX_BYTES: config.answerMaxBytes,
        GRAPHQL_MS_PER_REQUEST: config.graphqlMsPerRequest,
        PERSISTED_DOCUMENTS: config.persistedDocuments.path ?? null,
        PERSISTED_DOCUMENTS_ONLY: config.persistedDocuments.isOnly,
        SPARQL_TIMEOUT_MS: config.sparqlTimeoutMs,
        SHUTDOWN_DELAY_MS: config.shutdown.delayMs,
        SHUTDOWN_TIMEOUT_MS: config.shutdown.timeoutMs,
        SPARQL_CONCURRENCY: config.sparqlConcurrency,
        MAX_CONNECTIONS: config.maxConnections,
        KEEP_ALIVE_TIMEOUT_MS: config.keepAliveTimeoutMs,
        GRAPH_VERIFY: config.graphVerification.repair ? "repair" : "report",
        GRAPH_VERIFY_SHARE: config.graphVerification.share,
        GRAPH_VERIFY_DAYS: config.graphVerification.days,
        LOG_LEVEL: config.logLevel,
        METRICS_PORT: config.metricsPort ?? null,
        DATA_DIR: config.dataDir,
        ...config.secretFiles,
      };
      context.print(
        shown,
        Object.entries(shown).map(([name, value]) => `${name}=${value ?? UNSET[name] ?? "(unset)"}`),
      );
    });
}

const UNSET: Record<string, string> = {
  DATABASE_URL: "(unset: embedded PostgreSQL)",
  DATABASE_LISTEN_URL: "(unset: as DATABASE_URL)",
  DATABASE_READ_URL: "(unset: no replica)",
  SPARQL_QUERY_URL: "(unset: embedded graph store)",
  SPARQL_UPDATE_URL: "(unset: embedded graph store)",
  SPARQL_GRAPH_STORE_URL: "(unset: embedded graph store)",
  PLATFORM_URL: "(unset: the service's own URL)",
  SMTP_URL: "(unset: mail is logged and kept)",
  OIDC_CLIENT_ID: "(unset: links by mail sign in)",
  METRICS_PORT: "(unset: off)",
};

// A password can be in the user part and, for PostgreSQL, in the query string.
function maskedUrl(text: string): string {
  const url = new URL(text);
  if (url.password) url.password = MASK;
  for (const name of url.searchParams.keys()) {
    if (/pass|pwd|secret|token|key|auth|cred|sig/i.test(name)) url.searchParams.set(name, MASK);
  }
  return url.href;
}
