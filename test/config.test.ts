import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ConfigError, isLoopback, loadConfig, VARIABLES } from "../config.ts";
import { admin, ROOT } from "./support/process.ts";

describe("the configuration", () => {
  test("has the documented defaults", () => {
    expect(loadConfig({})).toEqual({
      port: 3000,
      host: "127.0.0.1",
      databaseUrl: undefined,
      databaseListenUrl: undefined,
      databasePoolSize: 20,
      statementTimeoutMs: 10_000,
      graphVerification: { share: 0.02, days: 1, repair: true },
      graphStore: undefined,
      graphDataUrl: "https://data.example.org",
      namespaceUrl: "https://ontology.example.org/core#",
      platformUrl: undefined,
      smtpUrl: undefined,
      mailFrom: "Engagement Graph <no-reply@localhost>",
      corsOrigins: ["*"],
      rateLimitPerMinute: 200,
      unknownKeysPerMinute: 60,
      trustProxy: 0,
      answerMaxBytes: 10_000_000,
      sparqlTimeoutMs: 30_000,
      shutdown: { delayMs: 0, timeoutMs: 30_000 },
      sparqlConcurrency: 3,
      logLevel: "info",
      metricsPort: undefined,
      dataDir: ".data",
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
      user: "u",
      password: "p",
    });
    const SPARQL_QUERY_URL = "http://replica.example/sparql";
    expect(loadConfig({ FUSEKI_URL, SPARQL_QUERY_URL }).graphStore).toMatchObject({
      queryUrl: SPARQL_QUERY_URL,
      updateUrl: "http://store.example:3030/engagement/update",
    });
  });

  test("splits the allowed origins", () => {
    expect(loadConfig({ CORS_ORIGINS: "https://a.example, https://b.example" }).corsOrigins).toEqual([
      "https://a.example",
      "https://b.example",
    ]);
  });

  test.each([
    ["PORT", "http"],
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["DATABASE_URL", "mysql://localhost/x"],
    ["DATABASE_URL", "not a url"],
    ["FUSEKI_URL", "localhost:3030"],
    ["SPARQL_UPDATE_URL", "ftp://localhost/update"],
    ["GRAPH_DATA_URL", "https://data.example.org/"],
    ["NAMESPACE_URL", "https://ontology.example.org/core"],
    ["PLATFORM_URL", "dashboard"],
    ["SMTP_URL", "http://mail.example"],
    ["RATE_LIMIT_PER_MINUTE", "0"],
    ["SPARQL_TIMEOUT_MS", "soon"],
    ["DATABASE_LISTEN_URL", "db.example"],
    ["DATABASE_POOL_SIZE", "0"],
    ["STATEMENT_TIMEOUT_MS", "1e12"],
    ["SHUTDOWN_DELAY_MS", "-1"],
    ["SHUTDOWN_TIMEOUT_MS", "soon"],
    ["SPARQL_CONCURRENCY", "0"],
    ["UNKNOWN_KEYS_PER_MINUTE", "0"],
    ["TRUST_PROXY", "yes"],
    ["TRUST_PROXY", "10.0.0.0/33"],
    ["ANSWER_MAX_BYTES", "10"],
    ["LOG_LEVEL", "loud"],
    ["METRICS_PORT", "x"],
  ])("refuses %s=%s in one line that names it", (name, value) => {
    let refusal: unknown;
    try {
      loadConfig({ [name]: value });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(ConfigError);
    const { message } = refusal as ConfigError;
    expect(message).toMatch(new RegExp(`^${name}: .`));
    expect(message).not.toContain("\n");
  });

  test("refuses half a graph store", () => {
    expect(() => loadConfig({ SPARQL_QUERY_URL: "http://localhost/query" })).toThrow(ConfigError);
  });

  test("knows which addresses only this machine can reach", () => {
    expect(["127.0.0.1", "127.1.2.3", "::1", "localhost"].every(isLoopback)).toBe(true);
    expect(["0.0.0.0", "::", "192.168.0.1", "127.example.org", "1127.0.0.1"].some(isLoopback)).toBe(false);
  });
});

describe("admin config", () => {
  const settings = {
    DATABASE_URL: "postgres://owner:s3cret-a@db.example/engagement?sslmode=require",
    FUSEKI_URL: "http://store.example:3030/engagement",
    FUSEKI_USER: "engagement",
    FUSEKI_PASSWORD: "s3cret-b",
    SMTP_URL: "smtps://mailer:s3cret-c@mail.example",
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

  test("is one JSON value with --json", async () => {
    const { stdout } = await admin(["config", "--json"], settings);
    expect(JSON.parse(stdout)).toMatchObject({ PORT: 3000, FUSEKI_PASSWORD: "********", METRICS_PORT: null });
    expect(stdout).not.toContain("s3cret");
  });

  test("ends with 2 and one line on a bad value", async () => {
    const refused = await admin(["config", "--json"], { PORT: "http" });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^error: PORT: .+\n$/);
    expect(JSON.parse(refused.stdout)).toMatchObject({ message: expect.stringMatching(/^PORT: /) });
  });
});

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
});

test("the environment is read in one place", async () => {
  // What is not a setting of the service: where Maven keeps its files, what started the process, and what goes
  // on to a process or a library.
  const elsewhere = [
    "config.ts: process.env",
    "graph/java/maven.ts: process.env.MAVEN_REPOSITORY",
    "graph/java/server.ts: process.env",
    'process/part.ts: process.env["npm_lifecycle_event"]',
    "process/tracing.ts: process.env",
    'server/graphql/environment.ts: process.env["GRAPHILE_ENV"]',
  ];
  const files = globSync("**/*.ts", { cwd: ROOT, exclude: ["node_modules/**", "test/**", "bench/**"] });
  const reads = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(ROOT, file), "utf8");
      return [...text.matchAll(/\bprocess\.env\b(?:\.\w+|\["\w+"\])?/g)].map(([read]) => `${file}: ${read}`);
    }),
  );
  expect([...new Set(reads.flat())].toSorted()).toEqual(elsewhere);
});
