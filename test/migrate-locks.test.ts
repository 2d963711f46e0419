// npm run migrate beside a service and sessions that use the same tables.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import { migrate } from "../db/migrate.ts";
import { OutOfPatience } from "../db/patience.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { describeWithDistribution } from "./support/distribution.ts";
import { eventually } from "./support/eventually.ts";
import { launch, ROOT, run, temporaryDataDir } from "./support/process.ts";
import { installJobQueue, restoreRelease, rowsOf } from "./support/release.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer } from "./support/service.ts";
import { contributor, ORG } from "./support/world.ts";

const COMMAND = ["admin/migrate.ts"] as const;
const WAITING =
  /^migrate: waiting for process \d+ of PostgreSQL.*, application a long report, which does nothing in an open transaction since .* UTC\n$/;

const codeOf = (body: Answer["body"]): string => body.error ?? body.errors?.[0]?.extensions?.code;

test("requests that are made while the rules are applied again and again are answered as ever", async () => {
  // However long the rules take on a busy machine: what is tried is not how long a statement may wait for them.
  const service = await startTestService({ config: { statementTimeoutMs: 120_000 } });
  const { url, database } = service;
  const work = new AbortController();
  const answers = new Map<string, number>();
  const need = {
    ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor },
    ...{ needDescription: "Wells", accelerators: ["PRA"] },
  };
  const requests: ((key: string) => ReturnType<typeof call>)[] = [
    (key) => call(`${url}/v0/needs`, "GET", key),
    (key) => call(`${url}/v0/engagement-claims`, "GET", key),
    (key) => call(`${url}/v0/needs`, "POST", key, need),
    (key) => call(`${url}/v0/orgs/search?q=a`, "GET", key),
    (key) =>
      call(`${url}/graphql`, "POST", key, {
        query: "{ needs(first: 5) { totalCount nodes { needId statusHistory { totalCount } } } }",
      }),
  ];
  // A key for each: what is tried is not how long one that is slow waits for its others.
  const callers = requests.map(async (request) => {
    const key = await issueTestKey(database.owner, "api_write");
    while (!work.signal.aborted) {
      const began = performance.now();
      const { status, body } = await request(key);
      // Finding out whose it is has a limit of its own, which a busy machine may reach.
      const leastMs = { service_busy: 2_000, query_timeout: 5_000 }[codeOf(body)];
      if (leastMs && performance.now() - began >= leastMs) continue;
      const line =
        status < 400 && body.errors === undefined ? "answered" : `${status} ${JSON.stringify(body)}`;
      answers.set(line, (answers.get(line) ?? 0) + 1);
    }
  });
  try {
    for (let times = 0; times < 3; times += 1) await migrate(database.url);
  } finally {
    work.abort();
    await Promise.all(callers);
    await service.stop();
  }
  expect([...answers.keys()]).toEqual(["answered"]);
  expect(answers.get("answered")).toBeGreaterThan(requests.length);
});

describe("while a session keeps a table", () => {
  let database: TestDatabase;
  let holder: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase({ template: false });
    await restoreRelease(database.url);
    holder = new pg.Client({ connectionString: database.url, application_name: "application a long report" });
    holder.on("error", () => undefined);
    await holder.connect();
  });
  afterEach(async () => {
    await holder.end().catch(() => undefined);
    await database.drop();
  });

  const keep = (table: string) => holder.query(`begin; select from ${table}`);

  test.each([
    ["a migration", "app_private.role_history"],
    ["the rules", "app_public.accelerators"],
  ])("%s has to wait, says for whom, and lets others read", async (_, table) => {
    await keep(table);
    const migration = launch(process.execPath, COMMAND, { DATABASE_URL: database.url });
    await eventually(() => {
      expect(migration.output().stderr).toMatch(WAITING);
      return Promise.resolve();
    });
    // Whoever queued behind a migration that waits for as long as it takes would never be answered here.
    for (let times = 0; times < 20; times += 1) await database.owner.query(`select from ${table}`);
    expect(migration.child.exitCode).toBeNull();
    await holder.query("commit");
    expect(await migration.ended).toBe(0);
    // It is said once, however often it tries.
    expect(migration.output().stderr).toMatch(WAITING);
    expect((await run(process.execPath, COMMAND, { DATABASE_URL: database.url })).stdout).toContain(
      "up to date",
    );
  });

  test("killed half-way, it has changed nothing, and the next one does all of it", async () => {
    const before = await rowsOf(database.owner);
    await keep("app_private.role_history");
    const killed = launch(process.execPath, COMMAND, { DATABASE_URL: database.url });
    await eventually(() => {
      expect(killed.output().stderr).toMatch(WAITING);
      return Promise.resolve();
    });
    await killed.end("SIGKILL");
    await holder.query("commit");
    expect(await rowsOf(database.owner)).toEqual(before);
    const next = await run(process.execPath, COMMAND, { DATABASE_URL: database.url });
    expect(next).toMatchObject({ code: 0 });
    expect(next.stdout).toContain("0030_one_place");
  });

  test("it gives up in the end, and says what to do", async () => {
    const before = await rowsOf(database.owner);
    await keep("app_private.role_history");
    const migration = migrate(database.url, { patienceMs: 0 });
    await expect(migration).rejects.toThrow(OutOfPatience);
    await expect(migration).rejects.toThrow(
      /gave up waiting for process \d+ .*; nothing is left half done\. End/,
    );
    expect(await rowsOf(database.owner)).toEqual(before);
  });

  test("a second migration says that it waits for the first", async () => {
    await keep("app_private.role_history");
    const first = launch(process.execPath, COMMAND, { DATABASE_URL: database.url });
    await eventually(() => {
      expect(first.output().stderr).toMatch(WAITING);
      return Promise.resolve();
    });
    const lines: string[] = [];
    const second = migrate(database.url, { onWait: (line) => lines.push(line) });
    await eventually(() => {
      expect(lines).toEqual([
        expect.stringMatching(/^waiting for another migration: process \d+ of PostgreSQL/),
      ]);
      return Promise.resolve();
    });
    await holder.query("commit");
    expect(await first.ended).toBe(0);
    expect(await second).toEqual([]);
  });
});

test("who has left the lock of a migration behind is said to do nothing", async () => {
  const database = await createTestDatabase({ template: false });
  const holder = new pg.Client(database.url);
  holder.on("error", () => undefined);
  await holder.connect();
  await holder.query("select pg_advisory_lock(7203544)");
  try {
    await eventually(async () =>
      expect(migrate(database.url, { patienceMs: 0 })).rejects.toThrow(
        /^gave up waiting for another migration: process \d+ of PostgreSQL, user \w+, which is idle; nothing/,
      ),
    );
    // At work, as long as it is.
    const working = holder
      .query("select pg_advisory_lock(7203544), pg_sleep(1000000)")
      .catch(() => undefined);
    await eventually(async () =>
      expect(migrate(database.url, { patienceMs: 0 })).rejects.toThrow(
        /, which is at work since .*; nothing/,
      ),
    );
    await database.owner.query("select pg_terminate_backend($1)", [
      (holder as unknown as { processID: number }).processID,
    ]);
    await working;
  } finally {
    await holder.end().catch(() => undefined);
    await database.drop();
  }
});

describe("while a session keeps a table of the job queue, which an earlier release has made", () => {
  let database: TestDatabase;
  let holder: pg.Client;
  beforeEach(async () => {
    database = await createTestDatabase({ template: false });
    await installJobQueue(database.owner, 10);
    holder = new pg.Client({ connectionString: database.url, application_name: "application a long report" });
    await holder.connect();
    await holder.query("begin; select from graphile_worker.jobs");
  });
  afterEach(async () => {
    await holder.end();
    await database.drop();
  });

  test("the migration waits, says for whom, lets others read, and goes on", async () => {
    const lines: string[] = [];
    const migration = migrate(database.url, { onWait: (line) => lines.push(`migrate: ${line}\n`) });
    await eventually(() => expect(lines).toEqual([expect.stringMatching(WAITING)]), 60_000);
    for (let times = 0; times < 20; times += 1)
      await database.owner.query("select from graphile_worker.jobs");
    await holder.query("commit");
    expect((await migration).length).toBeGreaterThan(0);
    expect(lines).toHaveLength(1);
  });

  test("the migration gives up in the end", async () => {
    let outcome: unknown;
    const given = migrate(database.url, { patienceMs: 0 }).catch((error: unknown) => (outcome = error));
    await eventually(() => expect(outcome).toBeInstanceOf(OutOfPatience), 60_000);
    await given;
    await holder.query("commit");
    await migrate(database.url);
  });
});

test("a database of a newer version is refused in one line", async () => {
  const database = await createTestDatabase();
  try {
    await database.owner.query(
      "insert into app_migrations.applied (version, checksum) values ('9999_later', 'x')",
    );
    const refused = await run(process.execPath, COMMAND, { DATABASE_URL: database.url });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/^migrate: The database has migration 9999_later, .*newer version.*\n$/);
  } finally {
    await database.drop();
  }
});

test("limits that the operator has set for all statements of the owner do not end a migration", async () => {
  const database = await createTestDatabase({ template: false });
  try {
    // On both of its connections something takes longer. What lifts the limit has to end within it, on a busy machine too.
    await database.owner.query(`
      create function public.wait() returns event_trigger language plpgsql as $$ begin
        if current_query() ~ 'create schema if not exists' then perform pg_sleep(1.2); end if;
      end $$;
      create event trigger slow on ddl_command_start when tag in ('CREATE SCHEMA') execute function public.wait()`);
    const url = new URL(database.url);
    url.searchParams.set("options", "-c statement_timeout=1s");
    expect((await migrate(url.href)).length).toBeGreaterThan(0);
  } finally {
    await database.drop();
  }
});

// Since release 16 PostgreSQL locks a role that is given to another. Before, who gives it second finds it given.
describeWithDistribution("databases of one cluster that are migrated at the same time", (programs) => {
  test("make the same roles, and give them to each other, in whatever order", async () => {
    const data = await temporaryDataDir();
    const postgres = await startEmbeddedPostgres(join(data.dir, "cluster"), {}, programs);
    const [first, second] = [new pg.Client(postgres.url), new pg.Client(postgres.url)];
    const roles = await readFile(join(ROOT, "db/rules/roles.sql"), "utf8");
    const given = async () => {
      const { rows } = await first.query<{ pair: string }>(
        `select roleid::regrole || ' to ' || member::regrole as pair from pg_auth_members
         where member::regrole::text ~ '^(api|engagement)_' order by 1`,
      );
      return rows.map(({ pair }) => pair);
    };
    /** Applies the roles while somebody else has done a part of it, which is not seen before it is waited for. */
    const applyBehind = async (part: string) => {
      await first.query("begin");
      await first.query(part);
      const applied = expect(second.query(roles)).resolves.toBeDefined();
      await eventually(async () => {
        expect((await first.query("select from pg_locks where not granted")).rowCount).toBeGreaterThan(0);
      });
      await first.query("commit");
      await applied;
    };
    try {
      await Promise.all([first.connect(), second.connect()]);
      await applyBehind(roles);
      const all = await given();
      expect(all).toContain("api_person to engagement_server");
      await first.query("revoke api_person from engagement_server");
      await applyBehind("grant api_person to engagement_server");
      expect(await given()).toEqual(all);
    } finally {
      await Promise.all([first.end(), second.end()]);
      await postgres.stop();
      await data.remove();
    }
  });
});
