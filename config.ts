// The environment, checked once. A bad value is a ConfigError whose message is one line that names it.
import { readFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { parseEnv } from "node:util";
import { z } from "zod";
import {
  byDefault,
  decimal,
  host,
  httpUrl,
  issuers,
  milliseconds,
  oneOf,
  optional,
  origins,
  port,
  proxies,
  secret,
  sender,
  url,
  whole,
} from "./forms.ts";
import { storeUrls, type StoreUrls } from "./graph/store-urls.ts";
import { misspelt } from "./misspelt.ts";

/** The configuration of the whole service; frozen. Durations are in milliseconds. */
export type Config = Readonly<{
  port: number;
  host: string;
  /** Undefined: the embedded PostgreSQL under dataDir. */
  databaseUrl: string | undefined;
  /** A direct connection to PostgreSQL, without a pooler, for LISTEN; undefined: databaseUrl is one. */
  databaseListenUrl: string | undefined;
  /** A replica for requests that only read. */
  databaseRead: Readonly<{
    /** Undefined: there is none. */
    url: string | undefined;
    /** how long a read waits for it to have replayed everything acknowledged */
    maxLagMs: number;
  }>;
  /** Connections for requests, of one server process. */
  databasePoolSize: number;
  /** How long a server or worker waits for the database to be migrated to its version, before it ends. */
  migrationWaitMs: number;
  /** For each SQL statement of a request. */
  statementTimeoutMs: number;
  /** Undefined: the embedded graph store under dataDir. */
  graphStore:
    | Readonly<
        StoreUrls & {
          /** see graph/store.ts */
          takesTimeout?: boolean;
          user?: string;
          password?: string;
        }
      >
    | undefined;
  graphDataUrl: string;
  namespaceUrl: string;
  /** Undefined: the service's own URL. */
  platformUrl: string | undefined;
  smtpUrl: string | undefined;
  mailFrom: string;
  corsOrigins: readonly string[];
  /** The providers whose tokens are accepted, and their audience; undefined: none are accepted. */
  oidc:
    | Readonly<{
        issuers: readonly string[];
        audience: string;
        /** By issuer, the domains whose addresses it is trusted for; an issuer without any, for all. */
        domains?: Readonly<Record<string, readonly string[]>> | undefined;
      }>
    | undefined;
  /** The provider for signing in on the pages, the first of the issuers; undefined: links are mailed. */
  signIn: Readonly<{ issuer: string; clientId: string; clientSecret: string | undefined }> | undefined;
  rateLimitPerMinute: number;
  /** Per network address and process. */
  unknownKeysPerMinute: number;
  /** The proxies whose X-Forwarded-* headers are trusted, in the form that Express takes. */
  trustProxy: number | readonly string[];
  /** The longest answer, at doors that can end one early. */
  answerMaxBytes: number;
  /** how much of the database's time counts as one request for the rate limit of GraphQL */
  graphqlMsPerRequest: number;
  /** Persisted GraphQL documents, which callers may name: a manifest, or a folder of manifests. */
  persistedDocuments: Readonly<{
    path: string | undefined;
    /** whether all other documents are refused */
    isOnly: boolean;
  }>;
  sparqlTimeoutMs: number;
  /** How many queries of callers one server process runs at a time, at most half of them for one key. */
  sparqlConcurrency: number;
  /** How many connections callers may have open with one server process. */
  maxConnections: number;
  /** How long a connection without a request stays open. */
  keepAliveTimeoutMs: number;
  shutdown: Readonly<{
    /** how long requests are still taken after SIGTERM */
    delayMs: number;
    /** how long requests that have begun may take to end */
    timeoutMs: number;
  }>;
  /** The background verification of the graph. */
  graphVerification: Readonly<{
    /** the share of the store's time that it may use, from 0 (none) to 1 */
    share: number;
    /** within how many days every record is compared; 0: never */
    days: number;
    /** whether differences are repaired, or only reported */
    repair: boolean;
  }>;
  logLevel: string;
  metricsPort: number | undefined;
  dataDir: string;
  /** The files that secrets were read from, by the variable that names each. */
  secretFiles: Readonly<Record<string, string>>;
}>;

/** An environment variable whose value cannot be used; the message is one line for the operator. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

const ENV_FILE = ".env";
// One of the embedded store's four query threads is left for the service's own queries.
const READERS_FOR_CALLERS = 3;
const DATA = "https://data.example.org";
const NAMESPACE = "https://ontology.example.org/core#";
const http = ["http", "https"];
const PLATFORM = "https://app.example.org";
const STORE = "http://localhost:3030/engagement";
const MAIL_SERVER = "smtp://user@mail.example.org:587";
const postgres = secret(
  url(["postgres", "postgresql"], "postgres://user@localhost:5432/engagement", {
    credentials: true,
    query: true,
  }),
);
const endpoint = secret(url(http, `${STORE}/query`, { query: true }));

const environment = z.object({
  PORT: byDefault(port, 3_000),
  HOST: byDefault(host, "127.0.0.1"),
  DATABASE_URL: postgres,
  DATABASE_LISTEN_URL: postgres,
  DATABASE_READ_URL: postgres,
  DATABASE_READ_MAX_LAG_MS: byDefault(whole(1, 10_000), 500),
  DATABASE_POOL_SIZE: byDefault(whole(1, 1_000), 20),
  STATEMENT_TIMEOUT_MS: byDefault(milliseconds(), 10_000),
  MIGRATION_WAIT_MS: byDefault(milliseconds(0), 60_000),
  FUSEKI_URL: optional(httpUrl(STORE)),
  SPARQL_QUERY_URL: endpoint,
  SPARQL_UPDATE_URL: endpoint,
  SPARQL_GRAPH_STORE_URL: endpoint,
  FUSEKI_USER: optional(
    z.string().refine((user) => !user.includes(":"), "must be a user's name, without a colon"),
  ),
  FUSEKI_PASSWORD: secret(z.string()),
  GRAPH_DATA_URL: byDefault(
    httpUrl(DATA).refine(
      (value) => !value.endsWith("/"),
      `must be a URL that does not end with a slash, such as ${DATA}`,
    ),
    DATA,
  ),
  NAMESPACE_URL: byDefault(
    url(http, NAMESPACE).refine(
      (value) => /^[^#]*[#/]$/.test(value),
      `must be a URL that ends with # or /, such as ${NAMESPACE}`,
    ),
    NAMESPACE,
  ),
  PLATFORM_URL: optional(
    // Pages link to each other from the root, and the cookies of sessions are for all paths.
    httpUrl(PLATFORM)
      .refine(
        (value) => /^[a-z]+:\/\/[^/]*\/?$/.test(value),
        `must be a URL without a path, such as ${PLATFORM}: the service is not served below one`,
      )
      .transform((value) => value.replace(/\/$/, "")),
  ),
  SMTP_URL: secret(
    // URLs of other schemes than http can lack a host, and mails to no host would wait for ever.
    url(["smtp", "smtps"], MAIL_SERVER, { credentials: true, query: true }).refine(
      (value) => !URL.canParse(value) || new URL(value).hostname !== "",
      `must be a URL with a host, such as ${MAIL_SERVER}`,
    ),
  ),
  MAIL_FROM: byDefault(sender, "Engagement Graph <no-reply@localhost>"),
  CORS_ORIGINS: byDefault(origins, ["*"]),
  OIDC_ISSUER: optional(
    issuers.refine(
      (list) => list.every(({ issuer }) => isSafeProvider(issuer)),
      "must begin with https://, or lead to this machine: whoever can answer in the provider's place can sign in as anybody",
    ),
  ),
  OIDC_AUDIENCE: optional(z.string()),
  OIDC_CLIENT_ID: optional(z.string()),
  OIDC_CLIENT_SECRET: secret(z.string()),
  RATE_LIMIT_PER_MINUTE: byDefault(whole(1, 1_000_000_000), 200),
  UNKNOWN_KEYS_PER_MINUTE: byDefault(whole(1, 1_000_000_000), 60),
  TRUST_PROXY: byDefault(proxies, 0),
  ANSWER_MAX_BYTES: byDefault(whole(100_000, 100_000_000), 10_000_000),
  GRAPHQL_MS_PER_REQUEST: byDefault(whole(10, 600_000), 500),
  PERSISTED_DOCUMENTS: optional(z.string()),
  PERSISTED_DOCUMENTS_ONLY: byDefault(
    oneOf("true", "false").transform((word) => word === "true"),
    false,
  ),
  SPARQL_TIMEOUT_MS: byDefault(milliseconds(), 30_000),
  SPARQL_CONCURRENCY: optional(whole(1, 100)),
  MAX_CONNECTIONS: byDefault(whole(1, 1_000_000), 10_000),
  KEEP_ALIVE_TIMEOUT_MS: byDefault(milliseconds(), 75_000),
  SHUTDOWN_DELAY_MS: byDefault(milliseconds(0), 0),
  SHUTDOWN_TIMEOUT_MS: byDefault(milliseconds(0), 30_000),
  GRAPH_VERIFY: byDefault(oneOf("repair", "report"), "repair"),
  GRAPH_VERIFY_SHARE: byDefault(decimal(0, 1), 0.02),
  GRAPH_VERIFY_DAYS: byDefault(decimal(0, 365), 1),
  LOG_LEVEL: byDefault(oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent"), "info"),
  METRICS_PORT: optional(port),
  DATA_DIR: byDefault(z.string(), ".data"),
});

/** Every variable that the service reads. */
export const VARIABLES = Object.keys(environment.shape) as readonly (keyof typeof environment.shape)[];

/** The variables that are secrets: each can also name a file instead, in a variable that ends in _FILE. */
export const SECRETS = VARIABLES.filter((name) => environment.shape[name].meta()?.["secret"] === true);

/** The names of all variables that settings can be given in. */
export const SETTINGS: readonly string[] = [...VARIABLES, ...SECRETS.map((name) => `${name}_FILE`)];

type Settings = z.infer<typeof environment>;

/**
 * Reads the variables of an environment (that of this process, in which processConfig puts those of `.env`), and the
 * files that they name.
 * @returns each variable as it is set, or its default
 * @throws ConfigError that names the first variable that cannot be used, and says what it must be
 */
export function readSettings(env = process.env): { settings: Settings; secretFiles: Config["secretFiles"] } {
  const { values, secretFiles } = readSecretFiles(env);
  const parsed = environment.safeParse({ ...env, ...values });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const name = String(issue?.path[0]);
    const from = name in values ? `${name}_FILE: its content` : `${name}:`;
    throw new ConfigError(`${from} ${issue?.message ?? "is not valid"}`);
  }
  return { settings: parsed.data, secretFiles };
}

/**
 * Reads the configuration from an environment.
 * @throws ConfigError as readSettings, or that names a variable that contradicts another
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const { settings: e, secretFiles } = readSettings(env);
  refuseContradictions(e);
  return Object.freeze({
    port: e.PORT,
    host: e.HOST,
    databaseUrl: e.DATABASE_URL,
    databaseListenUrl: e.DATABASE_LISTEN_URL,
    databaseRead: Object.freeze({
      url: e.DATABASE_READ_URL,
      maxLagMs: e.DATABASE_READ_MAX_LAG_MS,
    }),
    databasePoolSize: e.DATABASE_POOL_SIZE,
    migrationWaitMs: e.MIGRATION_WAIT_MS,
    statementTimeoutMs: e.STATEMENT_TIMEOUT_MS,
    graphStore: graphStore(e),
    graphDataUrl: e.GRAPH_DATA_URL,
    namespaceUrl: e.NAMESPACE_URL,
    platformUrl: e.PLATFORM_URL,
    smtpUrl: e.SMTP_URL,
    mailFrom: e.MAIL_FROM,
    corsOrigins: Object.freeze(e.CORS_ORIGINS),
    oidc:
      e.OIDC_ISSUER && e.OIDC_AUDIENCE !== undefined
        ? Object.freeze({
            issuers: Object.freeze(e.OIDC_ISSUER.map(({ issuer }) => issuer)),
            audience: e.OIDC_AUDIENCE,
            domains: Object.freeze(
              Object.fromEntries(
                e.OIDC_ISSUER.filter(({ domains }) => domains.length > 0).map(({ issuer, domains }) => [
                  issuer,
                  domains,
                ]),
              ),
            ),
          })
        : undefined,
    signIn:
      e.OIDC_ISSUER?.[0] !== undefined && e.OIDC_CLIENT_ID !== undefined
        ? Object.freeze({
            issuer: e.OIDC_ISSUER[0].issuer,
            clientId: e.OIDC_CLIENT_ID,
            clientSecret: e.OIDC_CLIENT_SECRET,
          })
        : undefined,
    rateLimitPerMinute: e.RATE_LIMIT_PER_MINUTE,
    unknownKeysPerMinute: e.UNKNOWN_KEYS_PER_MINUTE,
    trustProxy: e.TRUST_PROXY,
    answerMaxBytes: e.ANSWER_MAX_BYTES,
    graphqlMsPerRequest: e.GRAPHQL_MS_PER_REQUEST,
    persistedDocuments: Object.freeze({
      path: e.PERSISTED_DOCUMENTS,
      isOnly: e.PERSISTED_DOCUMENTS_ONLY,
    }),
    sparqlTimeoutMs: e.SPARQL_TIMEOUT_MS,
    sparqlConcurrency: e.SPARQL_CONCURRENCY ?? (graphStore(e) ? 8 : READERS_FOR_CALLERS),
    maxConnections: e.MAX_CONNECTIONS,
    keepAliveTimeoutMs: e.KEEP_ALIVE_TIMEOUT_MS,
    shutdown: Object.freeze({
      delayMs: e.SHUTDOWN_DELAY_MS,
      timeoutMs: e.SHUTDOWN_TIMEOUT_MS,
    }),
    graphVerification: Object.freeze({
      share: e.GRAPH_VERIFY_SHARE,
      days: e.GRAPH_VERIFY_DAYS,
      repair: e.GRAPH_VERIFY === "repair",
    }),
    logLevel: e.LOG_LEVEL,
    metricsPort: e.METRICS_PORT,
    dataDir: e.DATA_DIR,
    secretFiles: Object.freeze(secretFiles),
  });
}

/** Reads the secrets that are in files; returns them and the files' names. */
function readSecretFiles(env: NodeJS.ProcessEnv) {
  const values: Record<string, string> = {};
  const secretFiles: Record<string, string> = {};
  for (const name of SECRETS) {
    const variable = `${name}_FILE`;
    const file = env[variable];
    if (!file) continue;
    if (env[name]) throw new ConfigError(`${variable}: must not be set together with ${name}`);
    let text: string;
    try {
      text = readText(file);
    } catch (error) {
      throw new ConfigError(`${variable}: must name a file of UTF-8 text: ${reasonOf(error)}`, {
        cause: error,
      });
    }
    // Editors and echo end a file with a line end, which is not part of the secret.
    values[name] = text.replace(/\r?\n$/, "");
    if (values[name] === "")
      throw new ConfigError(`${variable}: must name a file with a secret in it; it is empty`);
    secretFiles[variable] = file;
  }
  return { values, secretFiles };
}

function refuseContradictions(e: Settings): void {
  if (e.METRICS_PORT !== undefined && e.METRICS_PORT !== 0 && e.METRICS_PORT === e.PORT) {
    throw new ConfigError(`METRICS_PORT: must differ from PORT, which is ${e.METRICS_PORT}`);
  }
  for (const [name, other] of [
    ["FUSEKI_USER", "FUSEKI_PASSWORD"],
    ["FUSEKI_PASSWORD", "FUSEKI_USER"],
    ["OIDC_ISSUER", "OIDC_AUDIENCE"],
    ["OIDC_AUDIENCE", "OIDC_ISSUER"],
    ["OIDC_CLIENT_ID", "OIDC_ISSUER"],
    ["OIDC_CLIENT_SECRET", "OIDC_CLIENT_ID"],
    ["DATABASE_READ_URL", "DATABASE_URL"],
    ["DATABASE_LISTEN_URL", "DATABASE_URL"],
  ] as const) {
    if (e[name] !== undefined && e[other] === undefined) {
      throw new ConfigError(`${other}: must be set too, as ${name} is`);
    }
  }
  if (e.PERSISTED_DOCUMENTS_ONLY && e.PERSISTED_DOCUMENTS === undefined) {
    throw new ConfigError("PERSISTED_DOCUMENTS: must be set too, as PERSISTED_DOCUMENTS_ONLY is");
  }
  const leading = (["SMTP_URL", "OIDC_CLIENT_ID"] as const).find((name) => e[name] !== undefined);
  // With a configured database it is a service for others, even if it listens only for a local proxy.
  const serving = isLoopback(e.HOST) ? e.DATABASE_URL && "DATABASE_URL is" : `HOST is ${e.HOST}`;
  if (leading && serving && e.PLATFORM_URL === undefined) {
    throw new ConfigError(
      `PLATFORM_URL: must be set too, as ${leading} is and ${serving}: links would lead to the address that the server listens on, ` +
        "which is that of this machine's network interfaces and not the service's",
    );
  }
  if (e.FUSEKI_USER !== undefined && !graphStore(e)) {
    throw new ConfigError("FUSEKI_URL: must be set too, as FUSEKI_USER is; the embedded store takes no user");
  }
}

function graphStore(e: Settings): Config["graphStore"] {
  const fuseki = e.FUSEKI_URL === undefined ? undefined : storeUrls(e.FUSEKI_URL);
  const queryUrl = e.SPARQL_QUERY_URL ?? fuseki?.queryUrl;
  const updateUrl = e.SPARQL_UPDATE_URL ?? fuseki?.updateUrl;
  const graphStoreUrl = e.SPARQL_GRAPH_STORE_URL ?? fuseki?.graphStoreUrl;
  if (!queryUrl && !updateUrl && !graphStoreUrl) return undefined;
  if (!queryUrl || !updateUrl || !graphStoreUrl) {
    throw new ConfigError(
      "FUSEKI_URL: must be set, or else all of SPARQL_QUERY_URL, SPARQL_UPDATE_URL and SPARQL_GRAPH_STORE_URL",
    );
  }
  return Object.freeze({
    queryUrl,
    updateUrl,
    graphStoreUrl,
    takesTimeout: e.SPARQL_QUERY_URL === undefined,
    user: e.FUSEKI_USER,
    password: e.FUSEKI_PASSWORD,
  });
}

/** The text of a file, without a byte order mark. @throws if it is not UTF-8 */
function readText(file: string): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The variables of a file `.env`, if there is one. Another encoding would make them be missed silently. */
function readEnvFile(): NodeJS.Dict<string> {
  let text: string;
  try {
    text = readText(ENV_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    const isUnread = error instanceof Error && "errno" in error;
    const what = isUnread ? "cannot be read" : "must be a file of UTF-8 text";
    throw new ConfigError(`${ENV_FILE}: ${what}: ${reasonOf(error)}`, { cause: error });
  }
  // ASCII text in UTF-16 is valid UTF-8, with a NUL beside each character.
  if (text.includes("\0"))
    throw new ConfigError(`${ENV_FILE}: must be a file of UTF-8 text: there are NULs in it`);
  return parseEnv(text);
}

/**
 * The configuration of this process, from its environment and, for what is not set there, a file `.env`.
 * @throws ConfigError
 */
export function processConfig(): Config {
  for (const [name, value] of Object.entries(readEnvFile())) process.env[name] ??= value;
  for (const warning of misspelt(Object.keys(process.env), SETTINGS)) process.stderr.write(`${warning}\n`);
  return loadConfig(process.env);
}

/** The address of the service where it listens itself. */
export function urlAt(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Whether an address can be reached only from this machine. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/**
 * Whether mails are shown on the terminal instead of being sent: for the owner of a laptop, where the service
 * listens on loopback only and uses its embedded database.
 */
export function showsMails(config: Pick<Config, "smtpUrl" | "databaseUrl" | "host">): boolean {
  return config.smtpUrl === undefined && config.databaseUrl === undefined && isLoopback(config.host);
}

/** Whether an OpenID provider at this URL can be trusted: nobody in between can change its answers. */
export function isSafeProvider(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname.replace(/^\[|\]$/g, "")));
}
