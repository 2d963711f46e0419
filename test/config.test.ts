import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  ConfigError,
  isLoopback,
  isSafeProvider,
  loadConfig,
  readSettings,
  SECRETS,
  SETTINGS,
  VARIABLES,
} from "../config.ts";
import { misspelt } from "../misspelt.ts";
import { admin, ROOT, run } from "./support/process.ts";

/** What loadConfig says against an environment, which must be one line; undefined if it says nothing. */
function refusalOf(env: NodeJS.ProcessEnv): string | undefined {
  try {
    loadConfig(env);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    const { message } = error as ConfigError;
    expect(message).not.toContain("\n");
    return message;
  }
}

describe("the configuration", () => {
  test("has the documented defaults", () => {
    expect(loadConfig({})).toEqual({
      port: 3000,
      host: "127.0.0.1",
      databaseUrl: undefined,
      databaseListenUrl: undefined,
      databaseRead: { url: undefined, maxLagMs: 500 },
      databasePoolSize: 20,
      statementTimeoutMs: 10_000,
      migrationWaitMs: 60_000,
      graphVerification: { share: 0.02, days: 1, repair: true },
      graphStore: undefined,
      graphDataUrl: "https://data.example.org",
      namespaceUrl: "https://ontology.example.org/core#",
      platformUrl: undefined,
      smtpUrl: undefined,
      mailFrom: "Engagement Graph <no-reply@localhost>",
      corsOrigins: ["*"],
      oidc: undefined,
      signIn: undefined,
      rateLimitPerMinute: 200,
      unknownKeysPerMinute: 60,
      trustProxy: 0,
      answerMaxBytes: 10_000_000,
      graphqlMsPerRequest: 500,
      persistedDocuments: { path: undefined, isOnly: false },
      sparqlTimeoutMs: 30_000,
      shutdown: { delayMs: 0, timeoutMs: 30_000 },
      sparqlConcurrency: 3,
      maxConnections: 10_000,
      keepAliveTimeoutMs: 75_000,
      logLevel: "info",
      metricsPort: undefined,
      dataDir: ".data",
      secretFiles: {},
    });
  });

  test("treats an empty value as unset", () => {
    const empty = Object.fromEntries(
      ["PORT", "HOST", "DATABASE_URL", "FUSEKI_URL", "SMTP_URL", "LOG_LEVEL", "METRICS_PORT"].map((name) => [
        name,
        "",
      ]),
    );
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });

  test("derives the endpoints of the graph store, which individual variables override", () => {
    const FUSEKI_URL = "http://store.example:3030/engagement/";
    expect(loadConfig({ FUSEKI_URL, FUSEKI_USER: "u", FUSEKI_PASSWORD: "p" }).graphStore).toEqual({
      queryUrl: "http://store.example:3030/engagement/query",
      updateUrl: "http://store.example:3030/engagement/update",
      graphStoreUrl: "http://store.example:3030/engagement/data",
      takesTimeout: true,
      user: "u",
      password: "p",
    });
    const SPARQL_QUERY_URL = "http://replica.example/sparql";
    expect(loadConfig({ FUSEKI_URL, SPARQL_QUERY_URL }).graphStore).toMatchObject({
      queryUrl: SPARQL_QUERY_URL,
      updateUrl: "http://store.example:3030/engagement/update",
      // To some engines `timeout` means something else.
      takesTimeout: false,
    });
  });

  test.each([
    ["SPARQL_QUERY_URL", "queryUrl"],
    ["SPARQL_UPDATE_URL", "updateUrl"],
    ["SPARQL_GRAPH_STORE_URL", "graphStoreUrl"],
  ] as const)(
    "goes by %s, which leaves the other endpoints of the graph store where they are",
    (name, its) => {
      const FUSEKI_URL = "http://store.example:3030/engagement";
      const elsewhere = "http://writer.example/door";
      expect(loadConfig({ FUSEKI_URL, [name]: elsewhere }).graphStore).toEqual({
        ...loadConfig({ FUSEKI_URL }).graphStore,
        ...{ [its]: elsewhere, takesTimeout: its !== "queryUrl" },
      });
    },
  );

  test("splits the providers, and lets one of this machine speak plain http", () => {
    const OIDC_ISSUER = "https://a.example/, http://localhost:9/x,http://[::1]:9";
    expect(loadConfig({ OIDC_ISSUER, OIDC_AUDIENCE: "us" }).oidc).toEqual({
      issuers: ["https://a.example/", "http://localhost:9/x", "http://[::1]:9"],
      audience: "us",
      domains: {},
    });
    const bounded = {
      OIDC_ISSUER: "https://a.example A.example  b.example ,https://b.example",
      OIDC_AUDIENCE: "us",
    };
    expect(loadConfig(bounded).oidc).toEqual({
      issuers: ["https://a.example", "https://b.example"],
      audience: "us",
      domains: { "https://a.example": ["a.example", "b.example"] },
    });
  });

  test("has persons sign in at the first of the providers, with a secret or without", () => {
    const oidc = { OIDC_ISSUER: "https://a.example,https://b.example", OIDC_AUDIENCE: "us" };
    const signIn = { issuer: "https://a.example", clientId: "pages", clientSecret: undefined };
    expect(loadConfig({ ...oidc, OIDC_CLIENT_ID: "pages" }).signIn).toEqual(signIn);
    const OIDC_CLIENT_SECRET = "of the pages";
    expect(loadConfig({ ...oidc, OIDC_CLIENT_ID: "pages", OIDC_CLIENT_SECRET }).signIn?.clientSecret).toBe(
      OIDC_CLIENT_SECRET,
    );
    expect(() => loadConfig({ OIDC_CLIENT_ID: "pages" })).toThrow("OIDC_ISSUER: must be set too");
    expect(() => loadConfig({ ...oidc, OIDC_CLIENT_SECRET })).toThrow("OIDC_CLIENT_ID: must be set too");
  });

  test.each([["SMTP_URL"], ["OIDC_CLIENT_ID"]])(
    "with %s, for others than who sits at this machine, wants to be told where links lead",
    (name) => {
      const all: NodeJS.ProcessEnv = {
        SMTP_URL: "smtp://mail.example",
        ...{ OIDC_CLIENT_ID: "pages", OIDC_ISSUER: "https://id.example", OIDC_AUDIENCE: "graph" },
      };
      const env = name === "SMTP_URL" ? { SMTP_URL: all["SMTP_URL"] } : { ...all, SMTP_URL: "" };
      for (const HOST of ["0.0.0.0", "::", "192.0.2.7"]) {
        expect(refusalOf({ ...env, HOST })).toMatch(
          new RegExp(`^PLATFORM_URL: must be set too, as ${name} is and HOST is ${HOST}: `),
        );
        expect(refusalOf({ ...env, HOST, PLATFORM_URL: "https://app.example.org" })).toBeUndefined();
      }
      for (const HOST of ["", "127.0.0.1", "::1", "localhost"]) {
        expect(refusalOf({ ...env, HOST })).toBeUndefined();
        // Behind a proxy on this machine, or a worker.
        const serving = { ...env, HOST, DATABASE_URL: "postgres://db.example/graph" };
        expect(refusalOf(serving)).toMatch(
          new RegExp(`^PLATFORM_URL: must be set too, as ${name} is and DATABASE_URL is: `),
        );
        expect(refusalOf({ ...serving, PLATFORM_URL: "https://app.example.org" })).toBeUndefined();
      }
    },
  );

  test("splits the allowed origins", () => {
    expect(loadConfig({ CORS_ORIGINS: "https://a.example, https://b.example" }).corsOrigins).toEqual([
      "https://a.example",
      "https://b.example",
    ]);
  });

  const TWO_LINES = "a\r\nb";
  test.each([
    ["PORT", "http", "a whole number from 0 to 65,535"],
    ["PORT", "65536", "a whole number"],
    ["PORT", "-1", "a whole number"],
    ["PORT", "0x10", "a whole number"],
    ["PORT", "3e3", "a whole number"],
    ["PORT", "3000.5", "a whole number"],
    ["PORT", " ", "not be blank"],
    ["PORT", "\t", "not be blank"],
    ["PORT", "3000 ", "not begin or end with white space"],
    ["HOST", "0.0.0.0:3000", "a host name or an address"],
    ["HOST", "[::1]", "a host name or an address"],
    ["HOST", "http://localhost", "a host name or an address"],
    ["DATABASE_URL", "mysql://localhost/x", "postgres://"],
    ["DATABASE_URL", "not a url", "postgres://"],
    ["DATABASE_URL", "postgres://u:p@h/a b", "postgres://"],
    ["DATABASE_URL", " ", "not be blank"],
    ["FUSEKI_URL", "localhost:3030", "http:// or https://"],
    ["FUSEKI_URL", "http://u:p@store.example/x", "without user and password"],
    ["FUSEKI_URL", "http://store.example/x?a=b", "without a query"],
    ["FUSEKI_URL", "http://store.example/x#a", "without a fragment"],
    ["SPARQL_UPDATE_URL", "ftp://localhost/update", "http:// or https://"],
    ["FUSEKI_USER", "a:b", "without a colon"],
    ["GRAPH_DATA_URL", "https://data.example.org/", "not end with a slash"],
    ["GRAPH_DATA_URL", "https://data.example.org/a>b", "http:// or https://"],
    ["GRAPH_DATA_URL", "https:data.example.org", "http:// or https://"],
    ["NAMESPACE_URL", "https://ontology.example.org/core", "ends with # or /"],
    ["NAMESPACE_URL", "https://ontology.example.org/a#b#", "ends with # or /"],
    ["NAMESPACE_URL", "https://ontology.example.org/a b#", "http:// or https://"],
    ["NAMESPACE_URL", 'https://ontology.example.org/"#', "http:// or https://"],
    ["PLATFORM_URL", "dashboard", "http:// or https://"],
    ["PLATFORM_URL", "javascript:alert(1)", "http:// or https://"],
    ["PLATFORM_URL", "https://app.example.org/eg", "without a path, such as https://app.example.org:"],
    ["PLATFORM_URL", "https://app.example.org/eg/", "without a path"],
    ["PLATFORM_URL", "https://app.example.org//", "without a path"],
    ["PLATFORM_URL", "https://app.example.org/.", "without a path"],
    ["SMTP_URL", "http://mail.example", "smtp:// or smtps://"],
    ["SMTP_URL", `smtp://mail.example\r\nRCPT TO:<a@b.example>`, "one line"],
    ["SMTP_URL", "smtp://mail.example\u007f", "one line"],
    ["SMTP_URL", "smtp://", "a URL with a host, such as smtp://"],
    ["SMTP_URL", "smtps:///x", "a URL with a host, such as smtp://"],
    ["SMTP_URL", "smtp://?pool=true", "a URL with a host, such as smtp://"],
    ["SMTP_URL", "smtp://a%0d%0ab@mail.example", "encoded control characters"],
    ["SMTP_URL", "smtp://a%1Fb@mail.example", "encoded control characters"],
    ["SMTP_URL", "smtp://a%7fb@mail.example", "encoded control characters"],
    ["MAIL_FROM", "nobody", "an address"],
    ["MAIL_FROM", "a@b.example, c@d.example", "an address"],
    ["MAIL_FROM", "A <a@b.example> <c@d.example>", "an address"],
    ["MAIL_FROM", `${TWO_LINES}@c.example`, "one line"],
    ["CORS_ORIGINS", "https://a.example/app", "a list of origins"],
    ["CORS_ORIGINS", "https://a.example/", "a list of origins"],
    ["CORS_ORIGINS", "a.example", "a list of origins"],
    ["CORS_ORIGINS", "*, https://a.example", "a list of origins"],
    ["CORS_ORIGINS", "https://*.example", "a list of origins"],
    ["CORS_ORIGINS", "https://a.example,,https://b.example", "a list of origins"],
    ["CORS_ORIGINS", "null", "a list of origins"],
    ["OIDC_ISSUER", "accounts.example", "http:// or https://"],
    ["OIDC_ISSUER", "http://accounts.example", "begin with https://"],
    ["OIDC_ISSUER", "https://a.example,http://127.0.0.1.evil.example", "begin with https://"],
    ["OIDC_ISSUER", "https://a.example,,https://b.example", "http:// or https://"],
    ["OIDC_ISSUER", "https://a.example https://b.example", "with domains of e-mail addresses"],
    ["OIDC_ISSUER", "https://a.example @a.example", "with domains of e-mail addresses"],
    ["OIDC_ISSUER", "https://a.example localhost", "with domains of e-mail addresses"],
    ["OIDC_ISSUER", "https://u:p@accounts.example", "without user and password"],
    ["OIDC_ISSUER", "https://accounts.example/?a=b", "without a query"],
    ["OIDC_AUDIENCE", " ", "not be blank"],
    ["RATE_LIMIT_PER_MINUTE", "0", "a whole number"],
    ["RATE_LIMIT_PER_MINUTE", "1e99", "a whole number"],
    ["RATE_LIMIT_PER_MINUTE", "9".repeat(400), "a whole number"],
    ["SPARQL_TIMEOUT_MS", "soon", "a whole number of milliseconds"],
    ["SPARQL_TIMEOUT_MS", "1000000000000", "from 1 to 2,147,483,647"],
    ["SPARQL_TIMEOUT_MS", "Infinity", "a whole number of milliseconds"],
    ["DATABASE_LISTEN_URL", "db.example", "postgres://"],
    ["DATABASE_READ_URL", "db.example", "postgres://"],
    ["DATABASE_READ_MAX_LAG_MS", "0", "a whole number from 1 to 10,000"],
    ["DATABASE_READ_MAX_LAG_MS", "10001", "a whole number from 1 to 10,000"],
    ["DATABASE_POOL_SIZE", "0", "a whole number from 1 to 1,000"],
    ["DATABASE_POOL_SIZE", "1001", "a whole number from 1 to 1,000"],
    ["STATEMENT_TIMEOUT_MS", "1e12", "a whole number of milliseconds"],
    ["STATEMENT_TIMEOUT_MS", "0", "from 1 to"],
    ["SHUTDOWN_DELAY_MS", "-1", "a whole number of milliseconds"],
    ["SHUTDOWN_TIMEOUT_MS", "soon", "a whole number of milliseconds"],
    ["PERSISTED_DOCUMENTS_ONLY", "yes", "true, false"],
    ["SPARQL_CONCURRENCY", "0", "from 1 to 100"],
    ["UNKNOWN_KEYS_PER_MINUTE", "0", "a whole number from 1"],
    ["TRUST_PROXY", "yes", "the number of proxies"],
    ["TRUST_PROXY", "10.0.0.0/33", "the number of proxies"],
    ["ANSWER_MAX_BYTES", "10", "from 100,000 to"],
    ["GRAPH_VERIFY", "yes", "repair, report"],
    ["GRAPH_VERIFY_SHARE", "2", "a number from 0 to 1"],
    ["GRAPH_VERIFY_SHARE", "NaN", "a number from 0 to 1"],
    ["GRAPH_VERIFY_DAYS", "-1", "a number from 0 to 365"],
    ["LOG_LEVEL", "loud", "fatal, error, warn"],
    ["LOG_LEVEL", "INFO", "in lower case"],
    ["METRICS_PORT", "x", "a whole number"],
    ["DATA_DIR", "  ", "not be blank"],
    ["DATA_DIR", "x".repeat(10_000), "at most 8,192 characters"],
  ])("refuses %s=%j in one line that says what it must be", (name, value, form) => {
    const refusal = refusalOf({ [name]: value });
    expect(refusal).toMatch(new RegExp(`^${name}: must `));
    expect(refusal).toContain(form);
  });

  test.each<[string, Record<string, string>, string]>([
    ["the port of the metrics", { PORT: "4000", METRICS_PORT: "4000" }, "METRICS_PORT"],
    ["the default port for metrics", { METRICS_PORT: "3000" }, "METRICS_PORT"],
    ["a provider without an audience", { OIDC_ISSUER: "https://a.example" }, "OIDC_AUDIENCE"],
    ["only documents that nobody registered", { PERSISTED_DOCUMENTS_ONLY: "true" }, "PERSISTED_DOCUMENTS"],
    ["an audience without a provider", { OIDC_AUDIENCE: "us" }, "OIDC_ISSUER"],
    ["a password without a user", { FUSEKI_URL: "http://s.example/x", FUSEKI_PASSWORD: "p" }, "FUSEKI_USER"],
    ["a user without a password", { FUSEKI_URL: "http://s.example/x", FUSEKI_USER: "u" }, "FUSEKI_PASSWORD"],
    ["a user for the embedded store", { FUSEKI_USER: "u", FUSEKI_PASSWORD: "p" }, "FUSEKI_URL"],
    ["a way around no pooler", { DATABASE_LISTEN_URL: "postgres://u:p@db.example/x" }, "DATABASE_URL"],
    ["a replica of no database", { DATABASE_READ_URL: "postgres://u:p@db.example/x" }, "DATABASE_URL"],
    ["a client without a provider", { OIDC_CLIENT_ID: "pages" }, "OIDC_ISSUER"],
    ["a client's secret without a client", { OIDC_CLIENT_SECRET: "s" }, "OIDC_CLIENT_ID"],
    ...[
      ["SPARQL_QUERY_URL"],
      ["SPARQL_UPDATE_URL"],
      ["SPARQL_GRAPH_STORE_URL"],
      ["SPARQL_QUERY_URL", "SPARQL_UPDATE_URL"],
      ["SPARQL_QUERY_URL", "SPARQL_GRAPH_STORE_URL"],
      ["SPARQL_UPDATE_URL", "SPARQL_GRAPH_STORE_URL"],
    ].map((names): [string, Record<string, string>, string] => [
      `of a graph store only ${names.join(" and ")}`,
      Object.fromEntries(names.map((name) => [name, "http://localhost/door"])),
      "FUSEKI_URL",
    ]),
  ])("refuses what contradicts itself: %s", (_, env, name) => {
    expect(refusalOf(env)).toMatch(new RegExp(`^${name}: must `));
  });

  test("takes the same ports twice where the system chooses them", () => {
    expect(loadConfig({ PORT: "0", METRICS_PORT: "0" })).toMatchObject({ port: 0, metricsPort: 0 });
  });

  test.each([
    ["HOST", "::"],
    ["HOST", "my-host.example"],
    ["DATABASE_URL", "postgresql://u:p%40ss@db.example:5432/x?sslmode=verify-full&sslrootcert=/etc/ca.pem"],
    ["DATABASE_URL", "postgres:///engagement?host=/var/run/postgresql"],
    ["MAIL_FROM", "Ångström Graph <no-reply@example.org>"],
    ["MAIL_FROM", "no-reply@localhost"],
    ["CORS_ORIGINS", "http://localhost:5173, https://b.example"],
    ["GRAPH_VERIFY_SHARE", "0.02"],
    ["GRAPH_VERIFY_DAYS", "365"],
    ["SPARQL_TIMEOUT_MS", "2147483647"],
    ["SMTP_URL", "smtps://mailer:s%20cret@mail.example:465?requireTLS=true"],
    ["DATA_DIR", "x".repeat(8_192)],
    ["NAMESPACE_URL", "http://ontology.example.org/core/"],
    ["TRUST_PROXY", "9"],
    ["TRUST_PROXY", "loopback, linklocal,uniquelocal, 10.0.0.0/32,2001:db8::/128 , 192.0.2.1"],
    ["OIDC_CLIENT_ID", ""],
  ])("takes %s=%s", (name, value) => {
    expect(() => loadConfig({ [name]: value })).not.toThrow();
  });

  test.each([
    ["PORT", 0, 65_535],
    ["METRICS_PORT", 0, 65_535],
    ["DATABASE_READ_MAX_LAG_MS", 1, 10_000],
    ["DATABASE_POOL_SIZE", 1, 1_000],
    ["STATEMENT_TIMEOUT_MS", 1, 2_147_483_647],
    ["RATE_LIMIT_PER_MINUTE", 1, 1_000_000_000],
    ["UNKNOWN_KEYS_PER_MINUTE", 1, 1_000_000_000],
    ["ANSWER_MAX_BYTES", 100_000, 100_000_000],
    ["GRAPHQL_MS_PER_REQUEST", 10, 600_000],
    ["SPARQL_TIMEOUT_MS", 1, 2_147_483_647],
    ["SPARQL_CONCURRENCY", 1, 100],
    ["MAX_CONNECTIONS", 1, 1_000_000],
    ["KEEP_ALIVE_TIMEOUT_MS", 1, 2_147_483_647],
    ["MIGRATION_WAIT_MS", 0, 2_147_483_647],
    ["SHUTDOWN_DELAY_MS", 0, 2_147_483_647],
    ["SHUTDOWN_TIMEOUT_MS", 0, 2_147_483_647],
    ["GRAPH_VERIFY_SHARE", 0, 1],
    ["GRAPH_VERIFY_DAYS", 0, 365],
  ])("takes %s from %i to %i, and nothing beyond", (name, least, most) => {
    for (const value of [least, most]) expect(refusalOf({ [name]: String(value) })).toBeUndefined();
    for (const value of [least - 1, most + 1]) {
      expect(refusalOf({ [name]: String(value) })).toMatch(new RegExp(`^${name}: must `));
    }
  });

  test("reads each setting into its own place", () => {
    const numbers = {
      ...{ DATABASE_READ_MAX_LAG_MS: "11", DATABASE_POOL_SIZE: "12", STATEMENT_TIMEOUT_MS: "13" },
      ...{ RATE_LIMIT_PER_MINUTE: "14", UNKNOWN_KEYS_PER_MINUTE: "15", TRUST_PROXY: "2" },
      ...{ ANSWER_MAX_BYTES: "100016", SPARQL_TIMEOUT_MS: "17", SPARQL_CONCURRENCY: "18" },
      ...{ KEEP_ALIVE_TIMEOUT_MS: "19", SHUTDOWN_DELAY_MS: "20", SHUTDOWN_TIMEOUT_MS: "21" },
      ...{ GRAPH_VERIFY_SHARE: "0.22", GRAPH_VERIFY_DAYS: "2.3", METRICS_PORT: "24" },
      ...{ MAX_CONNECTIONS: "25", MIGRATION_WAIT_MS: "26", GRAPHQL_MS_PER_REQUEST: "27" },
    };
    expect(loadConfig(numbers)).toMatchObject({
      graphqlMsPerRequest: 27,
      databaseRead: { maxLagMs: 11 },
      ...{ databasePoolSize: 12, statementTimeoutMs: 13, rateLimitPerMinute: 14, unknownKeysPerMinute: 15 },
      ...{ trustProxy: 2, answerMaxBytes: 100_016, sparqlTimeoutMs: 17, sparqlConcurrency: 18 },
      ...{
        keepAliveTimeoutMs: 19,
        shutdown: { delayMs: 20, timeoutMs: 21 },
        metricsPort: 24,
        maxConnections: 25,
        migrationWaitMs: 26,
      },
      graphVerification: { share: 0.22, days: 2.3 },
    });
    expect(loadConfig({ GRAPH_VERIFY: "report" }).graphVerification.repair).toBe(false);
    const PERSISTED_DOCUMENTS = "documents";
    expect(loadConfig({ PERSISTED_DOCUMENTS, PERSISTED_DOCUMENTS_ONLY: "true" }).persistedDocuments).toEqual({
      ...{ path: "documents", isOnly: true },
    });
    expect(
      loadConfig({ PERSISTED_DOCUMENTS, PERSISTED_DOCUMENTS_ONLY: "false" }).persistedDocuments.isOnly,
    ).toBe(false);
    for (const own of ["https://app.example.org", "http://127.0.0.1:3000", "http://[::1]:3000"]) {
      expect(loadConfig({ PLATFORM_URL: own }).platformUrl).toBe(own);
      expect(loadConfig({ PLATFORM_URL: `${own}/` }).platformUrl).toBe(own);
    }
    expect(loadConfig({ TRUST_PROXY: "10.0.0.1, loopback" }).trustProxy).toEqual(["10.0.0.1", "loopback"]);
  });

  test("lets more queries at a graph store of one's own than at the embedded one", () => {
    expect(loadConfig({ FUSEKI_URL: "http://store.example/x" }).sparqlConcurrency).toBe(8);
  });

  test.each([
    ["TRUST_PROXY", "10"],
    ["TRUST_PROXY", "2001:db8::/129"],
    ["TRUST_PROXY", "10.0.0.1,"],
    ["TRUST_PROXY", "10.0.0.0/"],
    ["DATA_DIR", "x".repeat(8_193)],
    ["SMTP_URL", "smtp://a%7Fb@mail.example"],
    ["GRAPH_VERIFY_SHARE", ".5"],
    ["GRAPH_VERIFY_SHARE", "1.0000001"],
    ["CORS_ORIGINS", "ftp://a.example"],
    ["OIDC_ISSUER", "https://a.example#x"],
    ["OIDC_ISSUER", "https://a.example localhost"],
    ["MAIL_FROM", "A <a b@c.example>"],
  ])("does not take %s=%s", (name, value) => {
    expect(refusalOf({ [name]: value })).toMatch(new RegExp(`^${name}: must `));
  });

  test("believes a provider by https, or on this machine", () => {
    for (const url of ["https://a.example", "http://localhost:9", "http://127.0.0.1", "http://[::1]:9/x"]) {
      expect([url, isSafeProvider(url)]).toEqual([url, true]);
    }
    for (const url of ["http://a.example", "http://[::2]", "ftp://localhost", "localhost", ""]) {
      expect([url, isSafeProvider(url)]).toEqual([url, false]);
    }
  });

  test("cannot be changed, in any part", () => {
    const config = loadConfig({
      ...{ OIDC_ISSUER: "https://a.example a.example", OIDC_AUDIENCE: "us", OIDC_CLIENT_ID: "pages" },
      FUSEKI_URL: "http://store.example/x",
    });
    const parts = Object.entries(config).filter(([, part]) => typeof part === "object" && part !== null);
    expect(parts.length).toBeGreaterThan(7);
    expect([["itself", config] as const, ...parts].filter(([, part]) => !Object.isFrozen(part))).toEqual([]);
  });

  test("a refusal does not show the value, which may be a secret", () => {
    for (const name of VARIABLES) {
      for (const value of ["s3cret s3cret\u0007", " s3cret", "http://s3cret:s3cret@x y/?s3cret#s3cret"]) {
        expect(refusalOf({ [name]: value }) ?? "").not.toContain("s3cret");
      }
    }
  });

  test("knows which addresses only this machine can reach", () => {
    expect(["127.0.0.1", "127.1.2.3", "::1", "localhost"].every(isLoopback)).toBe(true);
    expect(
      ["0.0.0.0", "::", "192.168.0.1", "127.example.org", "1127.0.0.1", "127.0.0.256"].some(isLoopback),
    ).toBe(false);
  });
});

describe("secrets in files", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "engagement-graph-config-"));
  });
  afterAll(() => rm(dir, { recursive: true }));

  const file = async (content: string | Buffer) => {
    const path = join(dir, randomUUID());
    await writeFile(path, content);
    return path;
  };
  const VALUES: Record<string, string> = {
    DATABASE_URL: "postgres://u:p@db.example/x",
    DATABASE_LISTEN_URL: "postgres://u:p@listen.example/x",
    DATABASE_READ_URL: "postgres://u:p@read.example/x",
    SMTP_URL: "smtp://u:p@mail.example",
    FUSEKI_PASSWORD: "p",
    OIDC_CLIENT_SECRET: "p",
    SPARQL_QUERY_URL: "http://s.example/query?access-token=t",
    SPARQL_UPDATE_URL: "http://s.example/update?access-token=t",
    SPARQL_GRAPH_STORE_URL: "http://s.example/data?access-token=t",
  };
  const rest = {
    DATABASE_URL: "postgres://u:p@db.example/x",
    ...{ FUSEKI_URL: "http://s.example/x", FUSEKI_USER: "u", FUSEKI_PASSWORD: "p" },
    PLATFORM_URL: "https://app.example.org",
    ...{ OIDC_ISSUER: "https://p.example", OIDC_AUDIENCE: "us", OIDC_CLIENT_ID: "pages" },
  };

  test("every secret can be given so, with or without a line end", async () => {
    expect(Object.keys(VALUES).toSorted()).toEqual([...SECRETS].toSorted());
    for (const name of SECRETS) {
      const { [name as "FUSEKI_USER"]: _, ...others } = rest;
      const given = loadConfig({ ...others, [name]: VALUES[name] });
      for (const end of ["", "\n", "\r\n"]) {
        const path = await file(`${VALUES[name]!}${end}`);
        const { secretFiles, ...config } = loadConfig({ ...others, [name]: "", [`${name}_FILE`]: path });
        expect({ ...config, secretFiles: {} }).toEqual(given);
        expect(secretFiles).toEqual({ [`${name}_FILE`]: path });
      }
    }
  });

  test("the README names every one of them", async () => {
    const readme = await readFile(join(ROOT, "README.md"), "utf8");
    const [, listed = ""] = /What may hold a secret \(([^)]*)\)/.exec(readme) ?? [];
    const names = [...listed.matchAll(/`([^`]+)`/g)].map(
      ([, name]) => new RegExp(`^${name!.replace("…", ".*")}$`),
    );
    expect(SECRETS.filter((name) => !names.some((each) => each.test(name)))).toEqual([]);
  });

  test("a file that cannot be used is refused in one line that names the variable and no secret", async () => {
    const refused = async (content: string | Buffer) => refusalOf({ DATABASE_URL_FILE: await file(content) });
    expect(refusalOf({ DATABASE_URL_FILE: join(dir, "none") })).toMatch(
      /^DATABASE_URL_FILE: must name a file/,
    );
    expect(refusalOf({ DATABASE_URL_FILE: dir })).toMatch(/^DATABASE_URL_FILE: must name a file/);
    expect(await refused("\n")).toMatch(/^DATABASE_URL_FILE: must name a file with a secret in it/);
    expect(await refused(Buffer.from([0x70, 0xff]))).toMatch(/^DATABASE_URL_FILE: must name a file of UTF-8/);
    expect(await refused("s3cret")).toMatch(/^DATABASE_URL_FILE: its content must be a URL/);
    expect(await refused("postgres://s3cret@h/x\npostgres://s3cret@h/y")).toMatch(
      /^DATABASE_URL_FILE: its content must be one line/,
    );
    expect(await refused("postgres://s3cret@h/x\n\n")).not.toContain("s3cret");
  });

  test("a secret is given once", async () => {
    const both = {
      DATABASE_URL: VALUES["DATABASE_URL"],
      DATABASE_URL_FILE: await file(VALUES["DATABASE_URL"]!),
    };
    expect(refusalOf(both)).toBe("DATABASE_URL_FILE: must not be set together with DATABASE_URL");
  });

  test("what is no secret is not read from a file", async () => {
    expect(loadConfig({ PORT_FILE: await file("4000") })).toEqual(loadConfig({}));
  });

  test("are shown by the name of the file, and masked", async () => {
    const path = await file("postgres://owner:s3cret@db.example/x?password=s3cret&sslmode=require");
    const { stdout } = await admin(["config"], { DATABASE_URL_FILE: path });
    expect(stdout).toContain(`DATABASE_URL_FILE=${path}`);
    expect(stdout).toContain(
      "DATABASE_URL=postgres://owner:********@db.example/x?password=********&sslmode=require",
    );
    expect(stdout).not.toContain("s3cret");
  });
});

test("names that look like a setting and are none are pointed out, those of others are not", async () => {
  const slips = {
    FUSEKI_URI: "FUSEKI_URL",
    RATE_LIMIT: "RATE_LIMIT_PER_MINUTE",
    LOG_LEVLE: "LOG_LEVEL",
    SMTP_URLS: "SMTP_URL",
    SMTP_RUL: "SMTP_URL",
    MTP_URL: "SMTP_URL",
    SMMTP_URL: "SMTP_URL",
    DATA_DUR: "DATA_DIR",
    DATA_DRI: "DATA_DIR",
    PLATFROM_URL: "PLATFORM_URL",
    MAIL_FROMM: "MAIL_FROM",
  };
  expect(misspelt(Object.keys(slips), SETTINGS)).toEqual(
    Object.entries(slips).map(([name, meant]) => expect.stringMatching(`^${name}: .*; ${meant} is$`)),
  );
  const others = [
    "PATH",
    "POSTS",
    "HOSTNAME",
    "FUSEKI_PORT",
    "FUSEKI_SERVICE_HOST",
    "DATABASE_SERVICE_PORT",
    "PGHOST",
    "DATA_DRUX",
    "XDATA_DIRX",
    "POTR",
  ];
  expect(misspelt([...others, ...VARIABLES, "DATABASE_URL_FILE"], SETTINGS)).toEqual([]);
  const { code, stderr } = await admin(["config", "--json"], { FUSEKI_URI: "http://s.example" });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^FUSEKI_URI: .+\n$/)]);
});

describe("admin config", () => {
  const settings = {
    DATABASE_URL: "postgres://owner:s3cret-a@db.example/engagement?sslmode=require",
    FUSEKI_URL: "http://store.example:3030/engagement",
    FUSEKI_USER: "engagement",
    FUSEKI_PASSWORD: "s3cret-b",
    SMTP_URL: "smtps://mailer:s3cret-c@mail.example",
    DATABASE_READ_URL: "postgres://reader:s3cret-d@replica.example/engagement",
    DATABASE_LISTEN_URL: "postgres://listener:s3cret-e@db.example/engagement",
    OIDC_ISSUER: "https://id.example",
    OIDC_AUDIENCE: "engagement",
    OIDC_CLIENT_ID: "engagement",
    OIDC_CLIENT_SECRET: "urn:s3cret-f",
    PLATFORM_URL: "https://app.example.org",
  };

  test("shows what is in effect and no secrets", async () => {
    const shown = await admin(["config"], settings);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toContain(
      "DATABASE_URL=postgres://owner:********@db.example/engagement?sslmode=require",
    );
    expect(shown.stdout).toContain("SPARQL_UPDATE_URL=http://store.example:3030/engagement/update");
    expect(shown.stdout).not.toContain("s3cret");
  });

  test("masks secrets in the query of an address, however their names are written", async () => {
    const { stdout } = await admin(["config"], {
      DATABASE_URL: "postgres://owner@db.example/x?PASSWORD=s3cret-d&sslmode=require",
      ...{ SMTP_URL: "smtp://mail.example?Token=s3cret-e", PLATFORM_URL: "https://app.example.org" },
      DATABASE_LISTEN_URL: "postgres://owner@db.example/x?password=s3cret-f",
      DATABASE_READ_URL: "postgres://owner@db.example/x?password=s3cret-g",
      SPARQL_QUERY_URL: "http://store.example/query?access-token=s3cret-h",
      SPARQL_UPDATE_URL: "http://store.example/update?access-token=s3cret-i",
      SPARQL_GRAPH_STORE_URL: "http://store.example/data?access-token=s3cret-j",
    });
    expect(stdout).not.toContain("s3cret");
    expect(stdout).toContain("sslmode=require");
    expect(stdout).toContain("SPARQL_GRAPH_STORE_URL=http://store.example/data?access-token=********\n");
  });

  test("is one JSON value with --json", async () => {
    const { stdout } = await admin(["config", "--json"], settings);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ PORT: 3000, FUSEKI_PASSWORD: "********", OIDC_CLIENT_SECRET: "********", METRICS_PORT: null },
    });
    expect(stdout).not.toContain("s3cret");
  });

  test("shows each setting under its own name", async () => {
    const given = {
      ...{ PORT: 3011, HOST: "127.0.0.2", DATABASE_POOL_SIZE: 12, STATEMENT_TIMEOUT_MS: 1_301 },
      ...{ DATABASE_URL: "postgres://a.example/x", DATABASE_LISTEN_URL: "postgres://b.example/x" },
      ...{ DATABASE_READ_URL: "postgres://c.example/x", DATABASE_READ_MAX_LAG_MS: 1_302 },
      ...{ SPARQL_QUERY_URL: "http://s.example/q", SPARQL_UPDATE_URL: "http://s.example/u" },
      ...{ SPARQL_GRAPH_STORE_URL: "http://s.example/g", FUSEKI_USER: "me" },
      ...{ GRAPH_DATA_URL: "https://data.example", NAMESPACE_URL: "https://names.example/ns#" },
      ...{ PLATFORM_URL: "https://platform.example", SMTP_URL: "smtp://mail.example" },
      ...{ MAIL_FROM: "from@mail.example", CORS_ORIGINS: "https://x.example,https://y.example" },
      ...{
        OIDC_ISSUER: "https://id.example a.example b.example",
        OIDC_AUDIENCE: "us",
        OIDC_CLIENT_ID: "client",
      },
      ...{ RATE_LIMIT_PER_MINUTE: 1_303, UNKNOWN_KEYS_PER_MINUTE: 1_304, TRUST_PROXY: "loopback,10.0.0.1" },
      ...{ ANSWER_MAX_BYTES: 1_300_005, PERSISTED_DOCUMENTS_ONLY: false, SPARQL_TIMEOUT_MS: 1_306 },
      ...{ SHUTDOWN_DELAY_MS: 1_307, SHUTDOWN_TIMEOUT_MS: 1_308, SPARQL_CONCURRENCY: 9 },
      ...{ MAX_CONNECTIONS: 1_310, MIGRATION_WAIT_MS: 1_311, GRAPHQL_MS_PER_REQUEST: 1_312 },
      ...{
        KEEP_ALIVE_TIMEOUT_MS: 1_309,
        GRAPH_VERIFY: "report",
        GRAPH_VERIFY_SHARE: 0.5,
        GRAPH_VERIFY_DAYS: 3,
      },
      ...{ LOG_LEVEL: "warn", METRICS_PORT: 3012, DATA_DIR: "elsewhere" },
    };
    // The address of a whole store, what is masked, and a file that has to be there.
    expect(VARIABLES.filter((name) => !(name in given))).toEqual([
      ...["FUSEKI_URL", "FUSEKI_PASSWORD", "OIDC_CLIENT_SECRET", "PERSISTED_DOCUMENTS"],
    ]);
    const texts = Object.entries(given).map(([name, value]) => [name, String(value)]);
    const shown = await admin(["config", "--json"], {
      ...Object.fromEntries(texts),
      FUSEKI_PASSWORD: "s3cret",
    });
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(shown.stdout)).toMatchObject(given);
  });

  test("ends with 2 and one line on a bad value", async () => {
    const refused = await admin(["config", "--json"], { PORT: "http" });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^error: PORT: .+\n$/);
    expect(JSON.parse(refused.stdout)).toMatchObject({ message: expect.stringMatching(/^PORT: /) });
  });
});

// In /proc nothing can be made, and the system says so in a way that has misled more than one program.
test.each(["start.ts", "admin/main.ts"])(
  "%s ends with one line where DATA_DIR cannot be made",
  async (file) => {
    const { code, stderr } = await run(
      process.execPath,
      [file, ...(file === "start.ts" ? [] : ["keys", "list"])],
      {
        DATA_DIR: "/proc/engagement/data",
      },
    );
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^[^\n]*DATA_DIR: [^\n]+\n$/);
  },
);

test("the README's table, the operator's tool and the schema name the same variables", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const table = readme.slice(readme.indexOf("## Configuration"), readme.indexOf("## Reading the source"));
  const explained = [...table.matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+)/gm)].flatMap(([, names]) =>
    names!.match(/[A-Z_]+/g)!,
  );
  expect(explained.toSorted()).toEqual([...VARIABLES].toSorted());
  const { stdout } = await admin(["config", "--json"], {});
  const shown = Object.keys(JSON.parse(stdout) as object);
  // Shown as the three URLs that follow from it.
  expect(shown.toSorted()).toEqual(VARIABLES.filter((name) => name !== "FUSEKI_URL").toSorted());

  const cells = [...table.matchAll(/^\| (`[A-Z_`, ]+?) +\| (.+?) +\|/gm)].map((row) =>
    row.slice(1).map((cell) => cell.replaceAll("`", "").split(", ")),
  );
  const said = cells.flatMap(([names, texts]) => names!.map((name, place) => [name, texts![place]]));
  const defaults: Record<string, unknown> = readSettings({}).settings;
  const known = said.filter(([name]) => defaults[name!] !== undefined);
  expect(known).toEqual(known.map(([name]) => [name, String(defaults[name!])]));
});

describe("a file .env", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "engagement-graph-env-"));
  });
  afterAll(() => rm(dir, { recursive: true }));

  /** The configuration of a process in a folder with this file, or the line that refuses it. */
  async function configured(content?: string | Buffer, settings: NodeJS.ProcessEnv = {}) {
    const cwd = await mkdtemp(join(dir, "in-"));
    if (content !== undefined) await writeFile(join(cwd, ".env"), content);
    return started(cwd, settings);
  }
  async function started(cwd: string, settings: NodeJS.ProcessEnv = {}) {
    const child = spawn(process.execPath, [join(ROOT, "admin/main.ts"), "config", "--json"], {
      ...{ cwd, env: { PATH: process.env["PATH"], ...settings }, stdio: "pipe" },
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return stderr === "" ? (JSON.parse(stdout) as Record<string, unknown>) : stderr;
  }

  test("sets what the environment does not, an empty value included, and may be missing", async () => {
    expect(await configured()).toMatchObject({
      PORT: 3000,
      LOG_LEVEL: "info",
      MAIL_FROM: expect.any(String),
    });
    const content =
      "PORT=4001\r\nLOG_LEVEL='warn' # as it is\nexport DATA_DIR=here\nRATE_LIMIT_PER_MINUTE=7\n";
    const settings = { PORT: "4002", RATE_LIMIT_PER_MINUTE: "" };
    expect(await configured(content, settings)).toMatchObject({
      ...{ PORT: 4002, LOG_LEVEL: "warn", DATA_DIR: "here", RATE_LIMIT_PER_MINUTE: 200 },
    });
  });

  test("has its first setting, too, where an editor has put a mark before it", async () => {
    expect(await configured("\u{feff}PORT=4001\nMAIL_FROM=Zoë <a@b.example>\n")).toMatchObject({
      ...{ PORT: 4001, MAIL_FROM: "Zoë <a@b.example>" },
    });
  });

  test.each([
    ["in UTF-16, with a mark", Buffer.from("\u{feff}PORT=4001\n", "utf16le")],
    ["in UTF-16, without a mark", Buffer.from("PORT=4001\n", "utf16le")],
    ["in UTF-16 of the other order", Buffer.from("PORT=4001\n", "utf16le").swap16()],
    ["in Latin-1", Buffer.from("MAIL_FROM=Zoë <a@b.example>\n", "latin1")],
  ])("%s is refused in one line", async (_what, content) => {
    expect(await configured(content)).toMatch(/^error: \.env: must be a file of UTF-8 text: [^\n]+\n$/);
  });

  test("that is a folder is refused in one line", async () => {
    const cwd = await mkdtemp(join(dir, "in-"));
    await mkdir(join(cwd, ".env"));
    expect(await started(cwd)).toMatch(/^error: \.env: cannot be read: EISDIR[^\n]+\n$/);
  });
});

test("the environment is read in one place", async () => {
  // What is not a setting of the service: where Maven keeps its files, what started the process, and what goes
  // on to a process or a library.
  const elsewhere = [
    "config.ts: process.env",
    "graph/java/maven.ts: process.env.MAVEN_REPOSITORY",
    "graph/java/server.ts: process.env",
    "mutants/copy.ts: process.env",
    'process/compiled.ts: process.env["NODE_COMPILE_CACHE"]',
    'process/part.ts: process.env["npm_lifecycle_event"]',
    "process/tracing.ts: process.env",
    'server/graphql/environment.ts: process.env["GRAPHILE_ENV"]',
  ];
  const exclude = ["node_modules/**", "test/**", "bench/**", "mutants/mistakes/**"];
  const files = globSync("**/*.ts", { cwd: ROOT, exclude });
  const reads = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(ROOT, file), "utf8");
      return [...text.matchAll(/\bprocess\.env\b(?:\.\w+|\["\w+"\])?/g)].map(([read]) => `${file}: ${read}`);
    }),
  );
  expect([...new Set(reads.flat())].toSorted()).toEqual(elsewhere);
});
