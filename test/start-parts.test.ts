// What npm start hands on to its parts of what it was told, and what it says when they end.
import { existsSync } from "node:fs";
import { access, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { findEmbeddedStore } from "../graph/embedded/index.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { joinEmbeddedStore } from "../process/embedded.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { startFaultyProxy } from "./support/faulty-proxy.ts";
import { freePort, launch, processesNaming, refusal, temporaryDataDir } from "./support/process.ts";
import type { Running } from "./support/process.ts";
import { holdRoles } from "./support/roles.ts";
import { call } from "./support/service.ts";
import { testStores } from "./support/stores.ts";

const READY = "Ctrl-C stops it";
// Where nothing can be written.
const FULL = "/dev/full";
// A store that is never asked.
const FUSEKI_URL = "http://127.0.0.1:9/engagement";
const DIGITS = Array.from({ length: 100 }, (_, i) => i).join(" ");
const ENDLESS = `SELECT (COUNT(*) AS ?n) { ${["a", "b", "c", "d", "e", "f"].map((name) => `VALUES ?${name} { ${DIGITS} }`).join(" ")} }`;

type Attribute = { key: string; value: { stringValue?: string } };
type Export = { resourceSpans: { resource: { attributes: Attribute[] } }[] };

let database: TestDatabase;
let data: Awaited<ReturnType<typeof temporaryDataDir>>;
let service: Running | undefined;

/** A database of the operator's, and a folder for the store. */
async function prepare(): Promise<Record<string, string>> {
  [database, data] = await Promise.all([createTestDatabase(), temporaryDataDir()]);
  service = undefined;
  return { DATABASE_URL: database.url, DATA_DIR: data.dir, PORT: String(await freePort()) };
}
async function clear(): Promise<void> {
  await service?.end("SIGKILL");
  await database.drop();
  await data.remove();
}
async function start(settings: Record<string, string>): Promise<Running> {
  service = launch(process.execPath, ["start.ts"], settings);
  await service.prints(READY);
  return service;
}

describe("npm start", () => {
  let metricsPort: number;
  beforeAll(async () => {
    const settings = await prepare();
    await database.owner.query(
      `insert into app_public.accelerators (code, concept_uri, kind, pref_label)
       values ('PRA', 'https://ontology.example.org/core#accelerator-PRA', 'accelerator', 'Our own word')`,
    );
    metricsPort = await freePort();
    await start({ ...settings, METRICS_PORT: String(metricsPort), SPARQL_TIMEOUT_MS: "1000" });
  });
  afterAll(clear);

  test("tells of server and worker at one place", async () => {
    // Some of it is left out where the database takes longer than a scrape waits.
    await eventually(async () => {
      const told = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      for (const series of ['jobs_due{task="send_mails"}', 'database_pool_waiting{pool="server"}'])
        expect(told).toContain(`\n${series} `);
    });
  });

  test("leaves a vocabulary as it is that is there already", async () => {
    const { rows } = await database.owner.query("select code, pref_label from app_public.accelerators");
    expect(rows).toEqual([{ code: "PRA", pref_label: "Our own word" }]);
  });

  test("has its own store give up a query after SPARQL_TIMEOUT_MS", async () => {
    const url = await findEmbeddedStore(join(data.dir, "graph"));
    const client = createGraphStore({ ...storeUrls(url!), timeoutMs: 120_000 });
    try {
      await expect(client.query(ENDLESS)).rejects.toThrow("at its own time limit");
    } finally {
      client.close();
    }
  });
});

describe("npm start", () => {
  let settings: Record<string, string>;
  beforeEach(async () => {
    settings = await prepare();
  });
  afterEach(clear);

  test("has a store of its own: it waits until another process has left its folder", async () => {
    const other = await joinEmbeddedStore(data.dir, { queryTimeoutMs: 30_000 });
    try {
      service = launch(process.execPath, ["start.ts"], settings);
      // While the database is made ready, the store would be.
      await service.prints("  starter vocabulary\n");
    } finally {
      await other.leave();
    }
    await service.prints(READY);
    expect(await findEmbeddedStore(join(data.dir, "graph"))).toBeDefined();
  });

  test("says in its log what was damaged in its own store, and where that is now", async () => {
    const before = await joinEmbeddedStore(data.dir, { queryTimeoutMs: 30_000 });
    const client = createGraphStore(storeUrls(before.url));
    await client.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 1 } }");
    client.close();
    await before.leave();
    const folder = join(data.dir, "graph");
    const journal = join(
      folder,
      (await readdir(folder)).find((name) => /^journal-.*\.log$/.test(name))!,
    );
    // Of its last line, which nothing follows.
    const bytes = await readFile(journal);
    bytes[bytes.length - 1]! ^= 0x10;
    await writeFile(journal, bytes);
    await start(settings);
    expect(service!.output().stderr).toMatch(/"level":40.*journal-.*\.damaged-/);
  });

  test("takes the place of a query back as soon as its caller has left, whom its own store answers no more", async () => {
    const port = await freePort();
    await start({ ...settings, METRICS_PORT: String(port), SPARQL_TIMEOUT_MS: "600000" });
    const key = await issueTestKey(database.owner, "api_read");
    const running = async (many: number) => {
      const told = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(told).toContain(`\nsparql_queries{state="running"} ${many}\n`);
    };
    const caller = new AbortController();
    const asked = fetch(
      `http://127.0.0.1:${settings["PORT"]}/v0/sparql?${new URLSearchParams({ query: ENDLESS }).toString()}`,
      { headers: { authorization: `Bearer ${key}` }, signal: caller.signal },
    ).catch(() => undefined);
    await eventually(() => running(1), 30_000);
    caller.abort();
    await asked;
    await eventually(() => running(0), 15_000);
  });

  test("serves callers by a login that owns the tables and is no superuser", async () => {
    const letGo = await holdRoles();
    const { owner } = database;
    const url = new URL(settings["DATABASE_URL"]!);
    const name = url.pathname.slice(1);
    Object.assign(url, { username: `owner_of_${name}`, password: "owner" });
    const { rows } = await owner.query<{ release: number }>(
      "select current_setting('server_version_num')::integer / 10000 as release",
    );
    // As a role has those that it has made itself.
    const only = rows[0]!.release >= 16 ? "admin true, inherit false, set false" : "admin option";
    const empty = await createTestDatabase({ template: false });
    const emptyName = new URL(empty.url).pathname.slice(1);
    url.pathname = `/${emptyName}`;
    try {
      await empty.owner.query(`
        create role ${url.username} login createrole password 'owner';
        alter database ${emptyName} owner to ${url.username};
        grant api_read, api_write, api_review, api_person, engagement_server to ${url.username} with ${only}`);
      await start({ ...settings, DATABASE_URL: url.href });
      const key = await issueTestKey(empty.owner, "api_read");
      const answer = await call(`http://127.0.0.1:${settings["PORT"]}/v0/needs`, "GET", key);
      expect(answer.status).toBe(200);
      // So would who signs in, or brings a token.
      const login = new pg.Client(url.href);
      await login.connect();
      try {
        await login.query("set role api_person");
      } finally {
        await login.end();
      }
    } finally {
      await service?.end("SIGKILL");
      await empty.owner.query(`reassign owned by ${url.username} to current_user`);
      await empty.owner.query(`drop owned by ${url.username}`);
      await empty.drop();
      await owner.query(`drop role ${url.username}`);
      await letGo();
    }
  });

  (existsSync(FULL) ? test : test.skip)("serves though nobody can write what it prints", async () => {
    service = launch("sh", ["-c", `exec "${process.execPath}" start.ts > ${FULL}`], settings);
    const answers = eventually(() => fetch(`http://127.0.0.1:${settings["PORT"]}/readyz`));
    answers.catch(() => undefined);
    expect(await Promise.race([answers, service.ended])).toMatchObject({ status: 200 });
    expect(await service.end("SIGTERM")).toBe(0);
  });

  test("does not say that it has stopped where a part could not, and stops the others all the same", async () => {
    const { child, ended, output } = await start(settings);
    // Nobody can remove it as a file.
    await rm(join(data.dir, "service.json"));
    await mkdir(join(data.dir, "service.json"));
    child.kill("SIGINT");
    expect(await ended).toBe(1);
    expect(output().stderr).toContain("npm start: stopping announcement: ");
    expect(output().stdout).not.toContain("Stopped.");
    await expect(access(join(data.dir, "graph/server.json"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("brings no demo to where a network could use its key", async () => {
    const { DATA_DIR, PORT } = settings as { DATA_DIR: string; PORT: string };
    const refused = await refusal("start.ts", { DATA_DIR, PORT, HOST: "0.0.0.0" }, new RegExp(READY));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^npm start: HOST: .*demo.*\n$/);
    expect(refused.stdout).not.toContain("demo data");
    // One that has put everything in order is there for a moment still.
    await eventually(async () => expect(await processesNaming(DATA_DIR)).toEqual([]));
  });
});

describe.each([
  ["npm start", "start.ts", READY, "engagement-start"],
  ["npm run worker", "worker/main.ts", "working", "engagement-worker"],
])("%s", (name, program, begun, traced) => {
  let settings: Record<string, string>;
  beforeEach(async () => {
    settings = await prepare();
  });
  afterEach(clear);

  test("needs what DATABASE_LISTEN_URL leads to where that is set", async () => {
    const nobody = { DATABASE_LISTEN_URL: "postgres://nobody@127.0.0.1:1/x" };
    const refused = await refusal(program, { ...settings, FUSEKI_URL, ...nobody }, new RegExp(begun));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(new RegExp(`^${name}: DATABASE_LISTEN_URL: .*127\\.0\\.0\\.1:1.*\\n$`));
  });

  test("waits SPARQL_TIMEOUT_MS for a store that answers no update", async () => {
    const store = await testStores[0]!.start({ dir: join(data.dir, "graph") });
    const proxy = await startFaultyProxy(store.urls, store.headers);
    proxy.mode = "silent";
    try {
      service = launch(process.execPath, [program], {
        ...settings,
        ...{ FUSEKI_URL: proxy.url, SPARQL_TIMEOUT_MS: "1700" },
      });
      // Other requests, which have other limits, may run into theirs while this machine stands still.
      await eventually(async () => {
        const { rows } = await database.owner.query("select reason from app_private.graph_store");
        expect(rows).toEqual([{ reason: "The graph store gave no answer within 1700 ms." }]);
      });
    } finally {
      await service?.end("SIGKILL");
      await proxy.stop();
      await store.stop();
    }
  });

  test("sends what it traces under its own name", async () => {
    const names = new Set<string | undefined>();
    const collector = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        for (const { resource } of (JSON.parse(body) as Export).resourceSpans)
          names.add(resource.attributes.find(({ key }) => key === "service.name")?.value.stringValue);
        response.setHeader("content-type", "application/json").end("{}");
      });
    });
    await new Promise<void>((listening) => collector.listen(0, "127.0.0.1", listening));
    try {
      const { port } = collector.address() as AddressInfo;
      const sending = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
      service = launch(process.execPath, [program], { ...settings, FUSEKI_URL, ...sending });
      await service.prints(begun);
      // The last of it goes out by then.
      expect(await service.end("SIGTERM")).toBe(0);
      expect([...names]).toEqual([traced]);
    } finally {
      collector.closeAllConnections();
      await new Promise((closed) => collector.close(closed));
    }
  });
});
