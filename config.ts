// The environment, checked once. A bad value is a ConfigError whose message is one line that names it.
import { isIP } from "node:net";
import { z } from "zod";

/** The configuration of the whole service; frozen. Durations are in milliseconds. */
export type Config = Readonly<{
  port: number;
  host: string;
  /** Undefined: the embedded PostgreSQL under dataDir. */
  databaseUrl: string | undefined;
  /** Leads directly to PostgreSQL, for LISTEN; undefined: as databaseUrl does. */
  databaseListenUrl: string | undefined;
  /** Of one server process, for requests. */
  databasePoolSize: number;
  /** For each statement of a request. */
  statementTimeoutMs: number;
  /** Undefined: the embedded graph store under dataDir. */
  graphStore:
    | Readonly<{
        queryUrl: string;
        updateUrl: string;
        graphStoreUrl: string;
        user?: string;
        password?: string;
      }>
    | undefined;
  graphDataUrl: string;
  namespaceUrl: string;
  /** Undefined: the service's own URL. */
  platformUrl: string | undefined;
  smtpUrl: string | undefined;
  mailFrom: string;
  corsOrigins: readonly string[];
  rateLimitPerMinute: number;
  /** of one address, in one process */
  unknownKeysPerMinute: number;
  /** which proxies' X-Forwarded-* headers are believed, as Express takes it */
  trustProxy: number | readonly string[];
  /** of one answer, of the doors that can end one early */
  answerMaxBytes: number;
  sparqlTimeoutMs: number;
  shutdown: Readonly<{
    /** how long requests are still taken after SIGTERM */
    delayMs: number;
    /** how long those that have begun may last */
    timeoutMs: number;
  }>;
  /** queries of callers that a server process has running at the same time, half of them of one key */
  sparqlConcurrency: number;
  /** The background verification of the graph. */
  graphVerification: Readonly<{
    /** of the store's time, from 0 (never) to 1 */
    share: number;
    /** in which every record is looked at; 0: never */
    days: number;
    /** whether what differs is put right, or only reported */
    repair: boolean;
  }>;
  logLevel: string;
  metricsPort: number | undefined;
  dataDir: string;
}>;

// Of the embedded store's four threads that answer, one is left for the service's own questions.
const READERS_FOR_CALLERS = 3;

/** A value of the environment that cannot be used; the message is one line for the operator. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

const port = z.coerce.number().int().min(0).max(65535);
const httpUrl = z.url({ protocol: /^https?$/ });
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/ });
const optional = <T extends z.ZodType>(type: T) =>
  z.preprocess((value) => (value === "" ? undefined : value), type.optional());

// A day. Timers of Node hold no more than 24 of them.
const MAX_TIMEOUT_MS = 86_400_000;

const environment = z.object({
  PORT: optional(port),
  HOST: optional(z.string().min(1)),
  DATABASE_URL: optional(postgresUrl),
  DATABASE_LISTEN_URL: optional(postgresUrl),
  DATABASE_POOL_SIZE: optional(z.coerce.number().int().min(1).max(1000)),
  STATEMENT_TIMEOUT_MS: optional(z.coerce.number().int().min(1).max(MAX_TIMEOUT_MS)),
  FUSEKI_URL: optional(httpUrl),
  SPARQL_QUERY_URL: optional(httpUrl),
  SPARQL_UPDATE_URL: optional(httpUrl),
  SPARQL_GRAPH_STORE_URL: optional(httpUrl),
  FUSEKI_USER: optional(z.string()),
  FUSEKI_PASSWORD: optional(z.string()),
  GRAPH_DATA_URL: optional(httpUrl.refine((url) => !url.endsWith("/"), "must not end with a slash")),
  NAMESPACE_URL: optional(httpUrl.refine((url) => /[#/]$/.test(url), "must end with # or /")),
  PLATFORM_URL: optional(httpUrl),
  SMTP_URL: optional(z.url({ protocol: /^smtps?$/ })),
  MAIL_FROM: optional(z.string()),
  CORS_ORIGINS: optional(z.string()),
  RATE_LIMIT_PER_MINUTE: optional(z.coerce.number().int().min(1)),
  UNKNOWN_KEYS_PER_MINUTE: optional(z.coerce.number().int().min(1)),
  TRUST_PROXY: optional(z.string()),
  ANSWER_MAX_BYTES: optional(z.coerce.number().int().min(100_000).max(100_000_000)),
  SPARQL_TIMEOUT_MS: optional(z.coerce.number().int().min(1)),
  SHUTDOWN_DELAY_MS: optional(z.coerce.number().int().min(0).max(MAX_TIMEOUT_MS)),
  SHUTDOWN_TIMEOUT_MS: optional(z.coerce.number().int().min(0).max(MAX_TIMEOUT_MS)),
  SPARQL_CONCURRENCY: optional(z.coerce.number().int().min(1).max(100)),
  GRAPH_VERIFY: optional(z.enum(["repair", "report"])),
  GRAPH_VERIFY_SHARE: optional(z.coerce.number().min(0).max(1)),
  GRAPH_VERIFY_DAYS: optional(z.coerce.number().min(0).max(365)),
  LOG_LEVEL: optional(z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"])),
  METRICS_PORT: optional(port),
  DATA_DIR: optional(z.string()),
});

/** Every variable that the service reads. */
export const VARIABLES: readonly string[] = Object.keys(environment.shape);

/**
 * Reads the configuration from an environment.
 * @throws ConfigError that names the first variable that cannot be used, and why
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const parsed = environment.safeParse(env);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ConfigError(`${String(issue?.path[0])}: ${issue?.message ?? "is not valid"}`);
  }
  const e = parsed.data;
  const platformUrl = e.PLATFORM_URL?.replace(/\/$/, "");
  return Object.freeze({
    port: e.PORT ?? 3000,
    host: e.HOST ?? "127.0.0.1",
    databaseUrl: e.DATABASE_URL,
    databaseListenUrl: e.DATABASE_LISTEN_URL,
    databasePoolSize: e.DATABASE_POOL_SIZE ?? 20,
    statementTimeoutMs: e.STATEMENT_TIMEOUT_MS ?? 10_000,
    graphStore: graphStore(e),
    graphDataUrl: e.GRAPH_DATA_URL ?? "https://data.example.org",
    namespaceUrl: e.NAMESPACE_URL ?? "https://ontology.example.org/core#",
    platformUrl,
    smtpUrl: e.SMTP_URL,
    mailFrom: e.MAIL_FROM ?? "Engagement Graph <no-reply@localhost>",
    corsOrigins: (e.CORS_ORIGINS ?? "*").split(",").map((origin) => origin.trim()),
    rateLimitPerMinute: e.RATE_LIMIT_PER_MINUTE ?? 200,
    unknownKeysPerMinute: e.UNKNOWN_KEYS_PER_MINUTE ?? 60,
    trustProxy: trustProxy(e.TRUST_PROXY),
    answerMaxBytes: e.ANSWER_MAX_BYTES ?? 10_000_000,
    sparqlTimeoutMs: e.SPARQL_TIMEOUT_MS ?? 30_000,
    shutdown: Object.freeze({
      delayMs: e.SHUTDOWN_DELAY_MS ?? 0,
      timeoutMs: e.SHUTDOWN_TIMEOUT_MS ?? 30_000,
    }),
    sparqlConcurrency: e.SPARQL_CONCURRENCY ?? (graphStore(e) ? 8 : READERS_FOR_CALLERS),
    graphVerification: Object.freeze({
      share: e.GRAPH_VERIFY_SHARE ?? 0.02,
      days: e.GRAPH_VERIFY_DAYS ?? 1,
      repair: e.GRAPH_VERIFY !== "report",
    }),
    logLevel: e.LOG_LEVEL ?? "info",
    metricsPort: e.METRICS_PORT,
    dataDir: e.DATA_DIR ?? ".data",
  });
}

function graphStore(e: z.infer<typeof environment>): Config["graphStore"] {
  const base = e.FUSEKI_URL?.replace(/\/$/, "");
  const queryUrl = e.SPARQL_QUERY_URL ?? (base && `${base}/query`);
  const updateUrl = e.SPARQL_UPDATE_URL ?? (base && `${base}/update`);
  const graphStoreUrl = e.SPARQL_GRAPH_STORE_URL ?? (base && `${base}/data`);
  if (!queryUrl && !updateUrl && !graphStoreUrl) return undefined;
  if (!queryUrl || !updateUrl || !graphStoreUrl) {
    throw new ConfigError(
      "FUSEKI_URL: is unset, so SPARQL_QUERY_URL, SPARQL_UPDATE_URL and SPARQL_GRAPH_STORE_URL must all be given",
    );
  }
  return Object.freeze({
    queryUrl,
    updateUrl,
    graphStoreUrl,
    user: e.FUSEKI_USER,
    password: e.FUSEKI_PASSWORD,
  });
}

function trustProxy(value = "0"): Config["trustProxy"] {
  if (/^\d$/.test(value)) return Number(value);
  const networks = value.split(",").map((network) => network.trim());
  if (!networks.every(isNetwork)) {
    throw new ConfigError(
      "TRUST_PROXY: must be the number of proxies before the service, or their addresses or networks, comma-separated",
    );
  }
  return networks;
}

function isNetwork(text: string): boolean {
  if (["loopback", "linklocal", "uniquelocal"].includes(text)) return true;
  const [, address = "", bits = "0"] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) > 0 && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
}

/** The configuration of this process, from its environment and a `.env` file if there is one. */
export function processConfig(): Config {
  try {
    process.loadEnvFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return loadConfig(process.env);
}

/** Whether an address can be reached only from this machine. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
