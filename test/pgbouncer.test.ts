// Behind a real PgBouncer in transaction mode, which gives every transaction another connection of few.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createPool } from "../db/pool.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { startServer } from "../server/main.ts";
import type { RunningServer } from "../server/main.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { describeWithPgbouncer, startPgbouncer } from "./support/pgbouncer.ts";
import type { Pgbouncer } from "./support/pgbouncer.ts";
import { admin, freePort, refusal, run } from "./support/process.ts";
import { call, untilServed } from "./support/service.ts";
import { forwardTo } from "./support/sick-postgres.ts";
import { buildWorld, contributor, ORG } from "./support/world.ts";

function startServerThrough(databaseUrl: string, environment: NodeJS.ProcessEnv): Promise<RunningServer> {
  const common = { PORT: "0", RATE_LIMIT_PER_MINUTE: "1000000", DATABASE_URL: databaseUrl };
  return startServer({
    ...{ config: loadConfig({ ...common, ...environment }), databaseUrl },
    store: createGraphStore(storeUrls("http://127.0.0.1:9")),
    logger: pino({ level: "silent" }),
  });
}

describeWithPgbouncer("behind PgBouncer in transaction mode", () => {
  let database: TestDatabase;
  let pgbouncer: Pgbouncer;
  let listening: Awaited<ReturnType<typeof forwardTo>>;
  let serve: (environment?: NodeJS.ProcessEnv) => Promise<RunningServer>;
  let server: RunningServer;
  let keys: string[];

  beforeAll(async () => {
    database = await createTestDatabase();
    await buildWorld(database.owner);
    // So few connections that each serves many clients.
    pgbouncer = await startPgbouncer(database.serverUrl, { default_pool_size: "3" });
    const direct = new URL(database.serverUrl);
    listening = await forwardTo(() => Number(direct.port));
    const listenUrl = new URL(direct);
    listenUrl.port = String(listening.port);
    serve = (environment = {}) =>
      startServerThrough(pgbouncer.through(database.serverUrl), {
        DATABASE_LISTEN_URL: listenUrl.href,
        ...environment,
      });
    // No statement here takes as long, however busy the machine is.
    server = await serve({ STATEMENT_TIMEOUT_MS: "60000" });
    keys = await Promise.all(Array.from({ length: 8 }, () => issueTestKey(database.owner, "api_write")));
  });
  afterAll(async () => {
    await server.stop();
    listening.close();
    await pgbouncer.stop();
    await database.drop();
  });

  const get = (path: string, key: string) => untilServed(() => call(`${server.url}${path}`, "GET", key));

  test("everybody is answered, each in the key's own role", async () => {
    const readOnly = await issueTestKey(database.owner, "api_read");
    const need = {
      ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor },
      ...{ needDescription: "Audio Scripture", accelerators: ["PRA"] },
    };
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        keys.flatMap((key) => [
          get("/v0/needs", key),
          get("/v0/health", key),
          ...[key, readOnly].map((each) =>
            untilServed(() => call(`${server.url}/v0/needs`, "POST", each, need)),
          ),
        ]),
      );
      expect(answers.map(({ status }) => status)).toEqual(keys.flatMap(() => [200, 200, 201, 403]));
    }
  });

  test("the time limit of one statement is not the next one's", async () => {
    const hasty = await serve({ STATEMENT_TIMEOUT_MS: "300" });
    const blocker = await database.owner.connect();
    try {
      await blocker.query("begin; lock table app_public.needs in access exclusive mode");
      // Again where this machine stood still for longer than PostgreSQL has to say that the time is over.
      await eventually(async () => {
        const late = await call(`${hasty.url}/v0/needs`, "GET", keys[0]);
        expect(late).toMatchObject({ status: 504, body: { error: "query_timeout" } });
      });
    } finally {
      await blocker.query("rollback");
      blocker.release();
      await hasty.stop();
    }
    // Of each of the few connections, which are given to whoever comes.
    const pool = createPool(pgbouncer.through(database.serverUrl), { max: 3 });
    try {
      const limits = await Promise.all(
        keys.map(() =>
          pool.query("select current_setting('statement_timeout') as limit from pg_sleep(0.05)"),
        ),
      );
      expect(limits.map(({ rows }) => rows)).toEqual(keys.map(() => [{ limit: "0" }]));
    } finally {
      await pool.end();
    }
    const answers = await Promise.all(keys.map((key) => get("/v0/needs", key)));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
  });

  const revoke = (key: string) =>
    database.owner.query(
      "update app_private.api_keys set revoked_at = now() where key_hash = sha256(convert_to($1, 'utf8'))",
      [key],
    );

  test("a revoked key stops working, even where announcements stopped arriving without a word", async () => {
    const [announced, unannounced] = [
      await issueTestKey(database.owner, "api_read"),
      await issueTestKey(database.owner, "api_read"),
    ];
    for (const key of [announced, unannounced]) expect((await get("/v0/needs", key)).status).toBe(200);
    await revoke(announced);
    await eventually(async () => expect((await get("/v0/needs", announced)).status).toBe(401));
    listening.muffle();
    expect((await get("/v0/needs", unannounced)).status).toBe(200);
    await revoke(unannounced);
    await eventually(async () => expect((await get("/v0/needs", unannounced)).status).toBe(401));
  });

  test.each([
    ["server", "serverUrl", "DATABASE_LISTEN_URL"],
    ["worker", "url", "DATABASE_URL"],
  ] as const)(
    "a %s whose session it would lose does not start, and says why in one line",
    async (part, login, variable) => {
      const another = login === "url" ? await startPgbouncer(database.url) : pgbouncer;
      const refused = await refusal(`${part}/main.ts`, {
        ...{ DATABASE_URL: another.through(database[login]), FUSEKI_URL: "http://127.0.0.1:9/engagement" },
        PORT: String(await freePort()),
      });
      if (another !== pgbouncer) await another.stop();
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(
        // It depends on whom the pooler gives the same connection again, by what a session is found to be lost.
        new RegExp(`^npm run ${part}: ${variable}: .+ a(ny)? pooler in transaction mode.*\\n$`),
      );
    },
  );

  test("the worker is told which of two URLs leads through it", async () => {
    const another = await startPgbouncer(database.url);
    const refused = await refusal("worker/main.ts", {
      ...{ DATABASE_URL: database.url, DATABASE_LISTEN_URL: another.through(database.url) },
      FUSEKI_URL: "http://127.0.0.1:9/engagement",
    });
    await another.stop();
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^npm run worker: DATABASE_LISTEN_URL: .+ a pooler in transaction mode.*\n$/,
    );
  });

  test("migrations, plans of them and the operator's tool are refused in one line before they do anything", async () => {
    const empty = await createTestDatabase({ template: false });
    const another = await startPgbouncer(empty.url);
    try {
      const settings = { DATABASE_URL: another.through(empty.url) };
      const commands = [["migrate.ts"], ["migrate.ts", "--plan"], ["main.ts", "keys", "list"]];
      const refused = await Promise.all(
        commands.map(([file, ...args]) => run(process.execPath, [`admin/${file}`, ...args], settings)),
      );
      const why =
        "DATABASE_URL: .+: a pooler in transaction mode stands before it, where a direct connection .*";
      expect(refused).toEqual(
        ["migrate", "migrate", "error"].map((name) => ({
          ...{ code: 2, stdout: "", stderr: expect.stringMatching(new RegExp(`^${name}: ${why}\\n$`)) },
        })),
      );
      const { rows } = await empty.owner.query(
        `select (select count(*)::integer from pg_namespace where nspname like 'app%') as schemas,
           (select count(*)::integer from pg_locks where locktype = 'advisory'
              and database = (select oid from pg_database where datname = current_database())) as locks`,
      );
      expect(rows).toEqual([{ schemas: 0, locks: 0 }]);
    } finally {
      await another.stop();
      await empty.drop();
    }
  });

  test("a database is migrated through one that leaves sessions alone", async () => {
    const empty = await createTestDatabase({ template: false });
    const another = await startPgbouncer(empty.url, { pool_mode: "session" });
    try {
      const settings = { DATABASE_URL: another.through(empty.url) };
      expect(await run(process.execPath, ["admin/migrate.ts"], settings)).toMatchObject({
        code: 0,
        stderr: "",
      });
      expect(await admin(["keys", "list"], settings)).toMatchObject({ code: 0, stderr: "" });
    } finally {
      await another.stop();
      await empty.drop();
    }
  });
});
