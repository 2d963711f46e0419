import { existsSync } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { DEMO_KEY, DEMO_KEY_ID } from "../db/demo/load.ts";
import { commitments, demoId, engagementClaims, needs, platformPeople } from "../db/demo/records.ts";
import { migrate } from "../db/migrate.ts";
import { joinEmbeddedPostgres } from "../process/embedded.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call } from "./support/service.ts";
import {
  admin,
  freePort,
  launch,
  nothingNames,
  refusal,
  ROOT,
  run,
  temporaryDataDir,
} from "./support/process.ts";
import type { Running } from "./support/process.ts";

const READY = "Ctrl-C stops it";
const ORG = "https://data.example.org/org/northern-light";
// Where nothing can be written.
const FULL = "/dev/full";

/** As `npm start` runs it, without npm. */
function start(settings: Record<string, string>): Running {
  return launch(process.execPath, ["start.ts"], settings);
}

/** The code blocks of the README in one language. */
async function readmeBlocks(language: string): Promise<string[]> {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(
    (match) => match[1]!,
  );
}

describe("npm start on a fresh directory", () => {
  let data: Awaited<ReturnType<typeof temporaryDataDir>>;
  let port: number;
  let settings: Record<string, string>;
  let url: string;
  let service: Running;
  /** What the first start printed. */
  let printed: ReturnType<Running["output"]>;

  const startWithNpm = async () => {
    service = launch("npm", ["start"], settings);
    await service.prints(READY);
  };
  beforeAll(async () => {
    data = await temporaryDataDir();
    port = await freePort();
    settings = { DATA_DIR: data.dir, PORT: String(port) };
    url = `http://127.0.0.1:${port}`;
    await startWithNpm();
    printed = service.output();
  });
  beforeEach(async () => {
    if (service.child.exitCode !== null || service.child.signalCode !== null) await startWithNpm();
  });
  afterAll(async () => {
    await service.end("SIGKILL");
    await data.remove();
  });

  const post = (path: string, body: unknown) => call(url + path, "POST", DEMO_KEY, body);

  test("prints where it is, the demo key, and nothing to worry about", () => {
    const { stdout, stderr } = printed;
    // The log is not mixed with what a person reads.
    expect(stdout).not.toMatch(/^\{/m);
    const pages = ["/", "/docs", "/graphiql", "/admin/claims"].map((path) => url + path);
    for (const text of [...pages, DEMO_KEY]) expect(stdout).toContain(text);
    // npm talks about its own configuration, and the log about normal events, at level 30.
    const worrying = (line: string) =>
      line && !line.startsWith("npm warn") && !line.startsWith('{"level":30');
    expect(stderr.split("\n").filter(worrying)).toEqual([]);
  });

  test("prints no address at which there is nothing", async () => {
    const addresses = [...printed.stdout.matchAll(/^ {2}\S.*? {2,}(http\S+)/gm)].map(
      ([, address]) => address!,
    );
    expect(new Set(addresses).size).toBeGreaterThan(10);
    const statuses = await Promise.all(
      addresses.map(async (address) => {
        // What all of REST begins with is nothing by itself.
        const asked = address.endsWith("/v0") ? `${address}/needs` : address;
        return [asked, (await call(asked, "GET", DEMO_KEY)).status] as const;
      }),
    );
    expect(statuses.filter(([, status]) => status === 404)).toEqual([]);
  });

  test("prints a line for each step of the start, with the seconds it took", () => {
    const told = printed.stdout.split("\n");
    const [ready] = told.filter((line) => /^Ready after \d+\.\d s\.$/.test(line));
    const steps = told
      .slice(0, told.indexOf(ready!))
      .flatMap((line) => /^ *\d+\.\d s {2}(.+)$/.exec(line)?.[1] ?? []);
    expect(steps.toSorted()).toEqual(
      [
        "PostgreSQL",
        "demo data",
        "graph store",
        "server",
        "starter vocabulary",
        "tables and rules",
        "worker",
      ].toSorted(),
    );
  });

  test("has connections of the owner for what owns the tables, and of a login that owns nothing for callers", async () => {
    // The server keeps one once it was asked something.
    expect((await call(`${url}/v0/needs`, "GET", DEMO_KEY)).status).toBe(200);
    const postgres = await joinEmbeddedPostgres(data.dir);
    const owner = new pg.Client(postgres.url);
    try {
      await owner.connect();
      const { rows } = await owner.query<{ application_name: string; is_owner: boolean }>(
        `select distinct application_name, usename = current_user as is_owner from pg_stat_activity
         where application_name in ('engagement-worker', 'engagement-server') order by 1`,
      );
      expect(rows).toEqual([
        { application_name: "engagement-server", is_owner: false },
        { application_name: "engagement-worker", is_owner: true },
      ]);
    } finally {
      await owner.end();
      await postgres.leave();
    }
  });

  test("prints a command for each step of the lifecycle, and each works as printed", async () => {
    const commands = printed.stdout.split("\n").filter((line) => line.startsWith("curl "));
    expect(commands).toHaveLength(4);
    const answerTo = async (command: string) => {
      const { code, stdout } = await run("sh", ["-c", command]);
      expect({ command, code }).toEqual({ command, code: 0 });
      return JSON.parse(stdout) as { results?: { bindings: unknown[] } };
    };
    const [need, commitment, attestation, chain] = commands;
    expect(await answerTo(need!)).toEqual({ needId: expect.any(String), status: "open" });
    expect(await answerTo(commitment!)).toEqual({ commitmentId: expect.any(String), status: "declared" });
    expect(await answerTo(attestation!)).toEqual({ claimId: expect.any(String), status: "active" });
    // Whoever types it gives the graph the moment that it needs.
    await eventually(async () => {
      const { results } = await answerTo(chain!);
      expect(results!.bindings.length).toBeGreaterThan(0);
    });
  });

  test("serves the README's commands exactly as printed, and answers its request from JavaScript", async () => {
    const lifecycle = (await readmeBlocks("sh")).find((block) => block.includes("/engagement-claims/submit"));
    expect(lifecycle).toBeDefined();
    const script = `${lifecycle!.replace("http://127.0.0.1:3000", url)}
      echo; echo "$NEED $COMMITMENT $CLAIM"`;
    const { code, stdout, stderr } = await run("bash", ["--norc", "-euo", "pipefail", "-c", script]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trim().split(/[\r\n]+/);
    const [need, commitment, claim] = lines.at(-1)!.split(" ") as [string, string, string];
    const [answer] = await readmeBlocks("csv");
    const ids = [need, commitment, claim];
    expect(lines.slice(0, -1)).toEqual([answer!.trim().replaceAll(/\w+…/g, () => ids.shift()!)]);

    const [request] = await readmeBlocks("js");
    const asked = await run(process.execPath, [
      ...["--input-type=module", "-e", request!.replace("http://127.0.0.1:3000", url)],
    ]);
    expect({ code: asked.code, stderr: asked.stderr }).toEqual({ code: 0, stderr: "" });
    const { data, errors } = JSON.parse(asked.stdout) as {
      data?: { needs: { nodes: object[] } };
      errors?: unknown;
    };
    expect(errors).toBeUndefined();
    // The newest is what was declared just now by the commands above.
    expect(data!.needs.nodes).toHaveLength(3);
    expect(data!.needs.nodes[0]).toMatchObject({
      commitments: { nodes: [{ engagementClaims: { aggregates: { count: 1 } } }] },
    });
  });

  test("has the people that the README names, each in the role that it says", async () => {
    const readme = await readFile(join(ROOT, "README.md"), "utf8");
    expect(readme).toContain("`admin@northern-light.example` manages the organization");
    const roles = await Promise.all(
      ["admin", "contributor", "member"].map(async (name) => {
        const email = `${name}@northern-light.example`;
        const { body } = await call(`${url}/v0/onboarding/check-user?email=${email}`, "GET", DEMO_KEY);
        return [name, body.memberships[0].role];
      }),
    );
    expect(roles).toEqual([
      ["admin", "org_admin"],
      ["contributor", "org_contributor"],
      ["member", "org_member"],
    ]);
    for (const { email } of platformPeople) expect(readme).toContain(`\`${email}\``);
  });

  test("loads demo data that follows the rules: members of each role, linked records, all in the graph", async () => {
    // It may have been started just now, and the lists of the graph are as old as the graph.
    await eventually(async () => {
      // Those that are active are listed where no status is asked for.
      const active = engagementClaims.filter(({ status }) => status === undefined);
      const lists = { needs, commitments, "engagement-claims": active };
      for (const [path, made] of Object.entries(lists)) {
        const { status, body } = await call(`${url}/v0/${path}`, "GET", DEMO_KEY);
        expect(status).toBe(200);
        expect(body.total).toBeGreaterThanOrEqual(made.length);
      }
    });
    const asMember = await post("/v0/needs", {
      ...{ orgUri: ORG, orgName: "N", needDescription: "x", accelerators: ["PRA"] },
      declaredByEmail: "member@northern-light.example",
    });
    expect(asMember).toMatchObject({ status: 403, body: { error: "insufficient_role" } });
    await eventually(async () => {
      const health = await call(`${url}/v0/health`, "GET", DEMO_KEY);
      expect(health.body).toMatchObject({ status: "ok", rejected: 0 });
    });
    // A record may be there before the organization and the classes that it points to. No registry
    // of people groups comes with the demo.
    await eventually(async () => {
      const deadEnds = await post("/v0/sparql", {
        query: `SELECT ?link WHERE { ?record <http://purl.org/dc/terms/identifier> ?id ; ?property ?link
          FILTER(isIRI(?link) && !CONTAINS(STR(?link), "/his/rop3/")) FILTER NOT EXISTS { ?link ?p ?o } }`,
      });
      expect(deadEnds.body.results.bindings).toEqual([]);
    });
  });

  test("tells of each record of the demo in the feed of changes as created once, and of none that is not there", async () => {
    const { body } = await call(`${url}/v0/changes?limit=200`, "GET", DEMO_KEY);
    const changes = body.changes as { id: string; change: string; item: object | null }[];
    expect(changes.filter(({ item }) => item === null)).toEqual([]);
    const created = changes.flatMap(({ id, change }) => (change === "created" ? [id] : []));
    const ids = [
      ...needs.map((_, place) => demoId("need", place)),
      ...commitments.map((_, place) => demoId("commitment", place)),
      ...engagementClaims.map((_, place) => demoId("engagement claim", place)),
    ];
    expect(created.slice(0, ids.length)).toEqual(ids);
    expect(new Set(created).size).toBe(created.length);
  });

  test("lets the operator's tool join it, and keeps running", async () => {
    const listed = await admin(["keys", "list", "--json"], settings);
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(listed.stdout)).toMatchObject([{ keyId: DEMO_KEY_ID, isDemo: true, state: "live" }]);
    const status = await admin(["graph", "status", "--json"], settings);
    expect(status).toMatchObject({ code: 0, stderr: "" });
    expect((await call(`${url}/v0/needs`, "GET", DEMO_KEY)).status).toBe(200);
  });

  test("refuses a second one on the same directory in one line", async () => {
    const second = await refusal("start.ts", {
      ...settings,
      PORT: String(await freePort()),
    });
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toMatch(/^npm start: DATA_DIR: .*another npm start.*\n$/);
  });

  test("refuses a port in use in one line that names PORT", async () => {
    const other = await temporaryDataDir();
    const refused = await refusal("start.ts", { ...settings, DATA_DIR: other.dir });
    await other.remove();
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(new RegExp(`^npm start: PORT: ${port} is in use.*\\n$`));
  });

  /** But for how far each has come in the graph, which goes on meanwhile. */
  async function allNeeds() {
    const { body } = await call(`${url}/v0/needs?limit=200`, "GET", DEMO_KEY);
    const items = (body.needs as Record<string, unknown>[]).map((need) => ({
      ...need,
      graphStatus: undefined,
      graphError: undefined,
    }));
    return { ...body, needs: items } as { total: number };
  }

  test("stops on Ctrl-C without leaving a process, and starts again with all data", async () => {
    const before = await allNeeds();
    expect(before.total).toBeGreaterThanOrEqual(needs.length);
    expect(await service.end("SIGINT")).toBe(0);
    expect(service.output().stdout).toContain("Stopped.");
    await nothingNames(data.dir);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();

    await startWithNpm();
    expect(await allNeeds()).toEqual(before);
    // What had not come to the graph yet is written now.
    const fulfilling = engagementClaims.filter(({ commitment }) => commitment !== null);
    await eventually(async () => {
      const chain = await post("/v0/sparql", {
        query: `PREFIX ns: <https://ontology.example.org/core#>
          SELECT ?n WHERE { ?c ns:concernsNeed ?n . ?a ns:fulfillsCommitment ?c }`,
      });
      expect(chain.body.results.bindings.length).toBeGreaterThanOrEqual(fulfilling.length);
    });
  });

  test("starts again after it was killed, and the demo stays as it was left", async () => {
    const before = await allNeeds();
    await service.end("SIGKILL");
    await startWithNpm();
    expect(await allNeeds()).toEqual(before);
  });

  test.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)("stops when only npm gets %s", async (signal) => {
    service.child.kill(signal);
    await service.ended;
    expect(service.output().stdout).toContain("Stopped.");
    await nothingNames(data.dir);
  });
});

test("npm start names its demo under GRAPH_DATA_URL, and listens on other addresses only after the demo key is revoked", async () => {
  const data = await temporaryDataDir();
  const port = await freePort();
  const graphDataUrl = "https://own.example";
  const settings = { DATA_DIR: data.dir, PORT: String(port), GRAPH_DATA_URL: graphDataUrl };
  let service = start(settings);
  try {
    await service.prints(READY);
    const { body } = await call(`http://127.0.0.1:${port}/v0/needs`, "GET", DEMO_KEY);
    const uris = (body.needs as { orgUri: string }[]).map(({ orgUri }) => orgUri);
    expect(uris.length).toBeGreaterThan(0);
    expect(uris.filter((uri) => !uri.startsWith(`${graphDataUrl}/org/`))).toEqual([]);
    expect(await service.end("SIGTERM")).toBe(0);
    const open = { ...settings, HOST: "0.0.0.0" };
    const refused = await refusal("start.ts", open, new RegExp(READY));
    expect(refused.code).toBe(1);
    expect(refused.stdout).not.toContain(READY);
    expect(refused.stderr).toMatch(/^npm start: HOST: .*\n$/);
    expect(refused.stderr).toContain(`keys revoke ${DEMO_KEY_ID}`);
    await nothingNames(data.dir);

    expect((await admin(["keys", "revoke", DEMO_KEY_ID], settings)).code).toBe(0);
    service = start(open);
    await service.prints(READY);
    expect(service.output().stdout).not.toContain(DEMO_KEY);
    expect((await call(`http://127.0.0.1:${port}/v0/needs`, "GET", DEMO_KEY)).status).toBe(401);
    expect(await service.end("SIGTERM")).toBe(0);
  } finally {
    await service.end("SIGKILL");
    await data.remove();
  }
});

describe("npm start interrupted while it starts", () => {
  test.each([0, 150, 400, 700, 1000, 1400, 2000])(
    "after %i ms leaves no process and a directory that starts",
    async (ms) => {
      const data = await temporaryDataDir();
      try {
        const settings = { DATA_DIR: data.dir, PORT: String(await freePort()) };
        const first = start(settings);
        // Before Node runs the first line, a signal has its default meaning, and nothing is up.
        await sleep(300 + ms);
        await first.end("SIGINT");
        // It may have come so far that it logs what it does.
        const complaints = first
          .output()
          .stderr.split("\n")
          .filter((line) => !line.startsWith('{"level":30,'));
        expect(complaints).toEqual([""]);
        await nothingNames(data.dir);
        if (ms !== 700) return;
        const second = start(settings);
        await second.prints(READY);
        expect(await second.end("SIGINT")).toBe(0);
      } finally {
        await data.remove();
      }
    },
  );
});

describe("npm start on a database of the operator's, with a store of its own", () => {
  let database: TestDatabase;
  let data: Awaited<ReturnType<typeof temporaryDataDir>>;
  let settings: Record<string, string>;
  let url: string;
  let service: Running;
  beforeEach(async () => {
    [database, data] = await Promise.all([createTestDatabase(), temporaryDataDir()]);
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    // Long enough for a test to have its say.
    const ending = { SHUTDOWN_DELAY_MS: "600000" };
    // Under npm a second signal within a second would be npm's copy of the first.
    const withoutNpm = { npm_lifecycle_event: "" };
    settings = {
      DATABASE_URL: database.url,
      DATA_DIR: data.dir,
      PORT: String(port),
      ...ending,
      ...withoutNpm,
    };
  });
  afterEach(async () => {
    await service.end("SIGKILL");
    await database.drop();
    await data.remove();
  });

  const count = async (table: string) =>
    (await database.owner.query<{ n: number }>(`select count(*)::integer as n from ${table}`)).rows[0]!.n;
  const isThere = (name: string) =>
    access(join(data.dir, name)).then(
      () => true,
      () => false,
    );

  test("writes no demo into it, keeps its folder to itself, and stops the last part first, the store in good order", async () => {
    service = start(settings);
    await service.prints(READY);
    expect(service.output().stdout).not.toContain(DEMO_KEY);
    expect(service.output().stdout).toContain("npm run admin -- keys issue");
    expect(await Promise.all(["app_public.organizations", "app_private.api_keys"].map(count))).toEqual([
      0, 0,
    ]);
    // Whoever comes second is told whom to stop.
    const told = JSON.parse(await readFile(join(data.dir, "service.json"), "utf8")) as object;
    expect(told).toEqual({ pid: service.child.pid, url });
    const second = await refusal("start.ts", { ...settings, PORT: String(await freePort()) });
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toContain(`(process ${service.child.pid}, ${url})`);

    service.child.kill("SIGINT");
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(503));
    expect(await Promise.all(["service.json", "graph/server.json"].map(isThere))).toEqual([false, true]);
    // In a hurry nothing is waited for, but for what keeps what it holds.
    service.child.kill("SIGINT");
    expect(await service.ended).toBe(0);
    expect(await isThere("graph/server.json")).toBe(false);
    expect(service.output().stdout).toContain("Stopped.");
  });

  test("gives it the names of this installation, and the documents of this release", async () => {
    const graphDataUrl = "https://own.example";
    await database.owner.query(
      "update app_private.graph_references set document = 'of another release' where document is not null",
    );
    service = start({ ...settings, GRAPH_DATA_URL: graphDataUrl, SHUTDOWN_DELAY_MS: "0" });
    await service.prints(READY);
    const { rows } = await database.owner.query(
      "select value #>> '{}' as value from app_private.settings where name = 'graph_data_url'",
    );
    expect(rows).toEqual([{ value: graphDataUrl }]);
    expect(await count("app_private.graph_references where document = 'of another release'")).toBe(0);
    service.child.kill("SIGINT");
    expect(await service.ended).toBe(0);
  });

  test("brings nothing up any more once it has been told to stop, and that is no failure", async () => {
    const migration = new pg.Client(database.url);
    await migration.connect();
    // As any migration does.
    await migration.query("select pg_advisory_lock(7203544)");
    service = start({ ...settings, SHUTDOWN_DELAY_MS: "0" });
    await eventually(() => expect(service.output().stderr).toContain("npm start: "));
    service.child.kill("SIGINT");
    await migration.end();
    expect(await service.ended).toBe(0);
    const { stdout } = service.output();
    expect(stdout).toContain("Stopped.");
    expect(stdout).not.toMatch(/ {2}(worker|server|starter vocabulary)\n|Ready/);
    expect(await isThere("graph/server.json")).toBe(false);
  });
});

describe("npm start with settings that cannot be used", () => {
  let data: Awaited<ReturnType<typeof temporaryDataDir>>;
  beforeAll(async () => {
    data = await temporaryDataDir();
  });
  afterAll(() => data.remove());
  afterEach(async () => {
    await nothingNames(data.dir);
  });

  test.each([
    ["PORT", { PORT: "http" }],
    ["HOST", { HOST: "203.0.113.7" }],
    ["DATABASE_URL", { DATABASE_URL: "postgres://owner:s3cret@127.0.0.1:1/engagement" }],
    ["DATABASE_URL", { DATABASE_URL: "mysql://127.0.0.1/engagement" }],
    ["GRAPH_DATA_URL", { GRAPH_DATA_URL: "https://data.example.org/" }],
    ["SPARQL_TIMEOUT_MS", { SPARQL_TIMEOUT_MS: "-1" }],
  ])("ends in one line that names %s", async (name, settings) => {
    const port = String(await freePort());
    const refused = await refusal("start.ts", {
      DATA_DIR: data.dir,
      PORT: port,
      ...settings,
    });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(new RegExp(`^(npm start: )?${name}: .+\\n$`));
    expect(refused.stderr).not.toContain("s3cret");
  });

  test("renames nothing in a graph that has been written", async () => {
    const database = await createTestDatabase();
    try {
      await database.owner.query("update app_private.graph_store set turn = 1");
      const refused = await refusal("start.ts", {
        ...{ DATA_DIR: data.dir, PORT: String(await freePort()), DATABASE_URL: database.url },
        GRAPH_DATA_URL: "https://elsewhere.example",
      });
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(
        /^npm start: GRAPH_DATA_URL is https:\/\/elsewhere\.example here, .+\n$/,
      );
    } finally {
      await database.drop();
    }
  });

  test("names a wrong password as such, and does not print it", async () => {
    const url = new URL(process.env["TEST_POSTGRES_URL"]!);
    url.password = "s3cret";
    const refused = await refusal("start.ts", {
      ...{ DATA_DIR: data.dir, PORT: String(await freePort()), DATABASE_URL: url.href },
    });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^npm start: DATABASE_URL: .*password.*\n$/);
    expect(refused.stderr).not.toContain("s3cret");
  });
});

describe.each(["server", "worker"])("npm run %s", (part) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const settings = async () => ({
    DATABASE_URL: part === "server" ? database.serverUrl : database.url,
    FUSEKI_URL: "http://127.0.0.1:9/engagement",
    PORT: String(await freePort()),
    LOG_LEVEL: "info",
  });

  test("works until it is told to stop, without its graph store", async () => {
    const process = launch("npm", ["run", part], await settings());
    await process.prints(part === "server" ? "listening" : "working");
    process.child.kill("SIGTERM");
    expect(await process.ended).toBe(0);
  });

  test.each([
    ["PORT", { PORT: "http" }],
    ["DATABASE_URL", { DATABASE_URL: "" }],
    ["DATABASE_URL", { DATABASE_URL: "postgres://owner:s3cret@127.0.0.1:1/engagement" }],
    ["FUSEKI_URL", { FUSEKI_URL: "" }],
  ])("ends in one line that names %s if it cannot be used", async (name, changed) => {
    const refused = await refusal(`${part}/main.ts`, { ...(await settings()), ...changed });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(new RegExp(`^(npm run ${part}: )?${name}: .+\\n$`));
    expect(refused.stderr).not.toContain("s3cret");
  });
});

describe.each(["server", "worker"])("npm run %s on a database of another version", (part) => {
  let database: TestDatabase;
  let port: number;
  beforeEach(async () => {
    database = await createTestDatabase({ template: false });
    port = await freePort();
  });
  afterEach(() => database.drop());

  const program = `${part}/main.ts`;
  const settings = (changed: Record<string, string> = {}) => ({
    DATABASE_URL: part === "server" ? database.serverUrl : database.url,
    FUSEKI_URL: "http://127.0.0.1:9/engagement",
    ...{ PORT: String(port), LOG_LEVEL: "info", ...changed },
  });
  const working = part === "server" ? "listening" : "working";
  const waits = (running: Running) =>
    eventually(() =>
      expect(running.output().stderr).toMatch(/^npm run \w+: waiting: the database lacks .+\n$/),
    );
  const edition = (text: string) =>
    database.owner.query("insert into app_migrations.editions (edition) values ($1)", [text]);

  test("waits for its migration, whose rules come last, and then works", async () => {
    const running = launch(process.execPath, [program], settings({ MIGRATION_WAIT_MS: "86400000" }));
    await waits(running);
    expect(running.output().stdout).not.toContain(working);
    await expect(fetch(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow();
    await migrate(database.url);
    await running.prints(working);
    expect(running.output().stderr).toMatch(
      /^npm run \w+: waiting: the database lacks db\/rules of this version; .+\n$/,
    );
    await running.end("SIGTERM");
    expect(await running.ended).toBe(0);
  });

  test("ends in one line that says what to run when its time is over", async () => {
    await migrate(database.url);
    const ending = async () => {
      const { code, stdout, stderr } = await refusal(program, settings({ MIGRATION_WAIT_MS: "0" }));
      expect([code, stdout]).toEqual([1, ""]);
      return stderr;
    };
    await database.owner.query("update app_migrations.editions set edition = 'of a version before'");
    expect(await ending()).toBe(
      `npm run ${part}: the database lacks db/rules of this version; run npm run migrate\n`,
    );
    await database.owner.query(
      "delete from app_migrations.applied where version = (select max(version) from app_migrations.applied)",
    );
    expect(await ending()).toMatch(
      /^npm run \w+: the database lacks db\/migrations\/\d{4}_\w+\.sql of this version; run npm run migrate\n$/,
    );
  });

  test("ends without an error when it is told to while it waits", async () => {
    const running = launch(process.execPath, [program], settings({ MIGRATION_WAIT_MS: "86400000" }));
    await waits(running);
    await running.end("SIGTERM");
    expect(await running.ended).toBe(0);
    expect(running.output().stdout).not.toContain(working);
  });

  test("works on with a later version, and starts on it again", async () => {
    await migrate(database.url);
    const before = launch(process.execPath, [program], settings());
    await before.prints(working);
    await database.owner.query(
      "insert into app_migrations.applied (version, checksum) values ('9999_later', 'x')",
    );
    await edition("of a later version");
    if (part === "server") expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    const again = launch(process.execPath, [program], settings({ PORT: String(await freePort()) }));
    await again.prints(working);
    for (const running of [before, again]) {
      await running.end("SIGTERM");
      expect(await running.ended).toBe(0);
    }
  });
});

describe.each(["server", "worker"])("npm run %s", (part) => {
  test.each([
    ["GRAPH_DATA_URL", "https://elsewhere.example"],
    ["NAMESPACE_URL", "https://elsewhere.example/ns#"],
  ])(
    "does not take the graph to have other names than the service was migrated with: %s",
    async (name, value) => {
      const database = await createTestDatabase();
      try {
        const refused = await refusal(`${part}/main.ts`, {
          ...{ DATABASE_URL: part === "server" ? database.serverUrl : database.url, PORT: "0" },
          ...{ FUSEKI_URL: "http://127.0.0.1:9/engagement", [name]: value },
        });
        expect(refused).toMatchObject({ code: 1, stdout: "" });
        expect(refused.stderr).toMatch(new RegExp(`^npm run ${part}: ${name} is ${value} here, .+\\n$`));
      } finally {
        await database.drop();
      }
    },
  );
});

describe("npm run server", () => {
  test("waits until its login is let in, as during the first migration, and says so of one that never is", async () => {
    const database = await createTestDatabase();
    const settings = async (wait: string) => ({
      ...{ DATABASE_URL: database.serverUrl, FUSEKI_URL: "http://127.0.0.1:9/engagement" },
      ...{ PORT: String(await freePort()), MIGRATION_WAIT_MS: wait },
    });
    try {
      await database.owner.query("revoke usage on schema app_private from engagement_server");
      const refused = await refusal("server/main.ts", await settings("0"));
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(
        /^npm run server: The database role of DATABASE_URL may not do this: .+\n$/,
      );
      const server = launch(process.execPath, ["server/main.ts"], await settings("86400000"));
      await eventually(() =>
        expect(server.output().stderr).toMatch(/^npm run server: waiting: permission denied .+\n$/),
      );
      await migrate(database.url);
      await server.prints("listening");
      await server.end("SIGTERM");
    } finally {
      await database.drop();
    }
  });

  (existsSync(FULL) ? test : test.skip)("waits though nobody can write down that it does", async () => {
    const database = await createTestDatabase();
    const { owner } = database;
    await owner.query("update app_migrations.editions set edition = 'before ' || edition");
    const server = launch("sh", ["-c", `exec "${process.execPath}" server/main.ts 2> ${FULL}`], {
      ...{ DATABASE_URL: database.serverUrl, FUSEKI_URL: "http://127.0.0.1:9/engagement" },
      ...{ PORT: String(await freePort()), MIGRATION_WAIT_MS: "86400000" },
    });
    try {
      await eventually(async () => {
        const { rows } = await owner.query(
          `select from pg_stat_activity
           where datname = current_database() and query like 'select app\\_private.lacking(%' and state = 'idle'`,
        );
        expect(rows).toHaveLength(1);
      });
      await owner.query("update app_migrations.editions set edition = replace(edition, 'before ', '')");
      await server.prints("listening");
    } finally {
      await server.end("SIGTERM");
      await database.drop();
    }
  });

  test("does not expose the demo key to a network", async () => {
    const database = await createTestDatabase();
    try {
      await database.owner.query(
        `insert into app_private.api_keys (label, key_hash, scope, is_demo)
         values ('demo', sha256(convert_to($1, 'utf8')), 'api_review', true)`,
        [DEMO_KEY],
      );
      const refused = await refusal("server/main.ts", {
        ...{ DATABASE_URL: database.serverUrl, FUSEKI_URL: "http://127.0.0.1:9/engagement" },
        ...{ HOST: "0.0.0.0", PORT: String(await freePort()) },
      });
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(/^npm run server: HOST: .+\n$/);
    } finally {
      await database.drop();
    }
  });
});
