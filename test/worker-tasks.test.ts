// What each kind of job does, how often it asks, and when it runs by itself.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { JobHelpers } from "graphile-worker";
import type { Pool } from "pg";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { crontab, taskList } from "../worker/tasks/index.ts";
import { createTestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import type { TestDatabase } from "./support/database.ts";

/** The tasks, with a database that answers the statements that contain a text with one number after another. */
function tasksWith(answers: Record<string, string[]> = {}) {
  const asked: string[] = [];
  const query = (text: string, values: unknown[] = []) => {
    asked.push([text, ...values.map((value) => JSON.stringify(value))].join(" "));
    const [name, numbers] = Object.entries(answers).find(([part]) => text.includes(part)) ?? ["", []];
    const [, column] = / as (\w+)$/.exec(text) ?? [];
    if (name && numbers.length === 0) throw new Error(`${name} is asked again`);
    return Promise.resolve({ rows: column ? [{ [column]: numbers.shift() }] : [] });
  };
  let woken = 0;
  const drainer = {
    wake: () => {
      woken += 1;
      return new Promise<void>(() => undefined);
    },
    stop: () => Promise.resolve(),
  };
  const tasks = taskList({
    ...{ pool: { query } as unknown as Pool, config: loadConfig({}), drainer },
    logger: pino({ level: "silent" }),
  });
  const run = async (name: string, payload: unknown = {}) =>
    tasks[name]!(payload, {} as JobHelpers) as Promise<unknown>;
  return { run, asked, woken: () => woken };
}

test("totals are folded until there is nothing left to fold", async () => {
  const { run, asked } = tasksWith({ fold_record_totals: ["700", "1", "0"] });
  await run("fold_record_totals");
  expect(asked).toHaveLength(3);
});

test("changes get their numbers, and old ones are forgotten, until nothing is left of either", async () => {
  const { run, asked } = tasksWith({ number_changes: ["9", "0"], forget_changes: ["9", "9", "0"] });
  await run("tend_changes");
  expect(asked.map((text) => /app_private\.(\w+)/.exec(text)![1])).toEqual([
    ...["number_changes", "number_changes", "forget_changes", "forget_changes", "forget_changes"],
  ]);
});

test("commitments expire a thousand at a time, until fewer do", async () => {
  const { run, asked } = tasksWith({ expire_commitments: ["1000", "999"] });
  await run("expire_commitments");
  expect(asked).toEqual(Array(2).fill("select app_private.expire_commitments($1) as expired 1000"));
});

test("old answers and old sessions are forgotten", async () => {
  const { run, asked } = tasksWith();
  await run("forget_answers");
  expect(asked).toEqual([
    "select app_private.forget_old_answers()",
    "select app_private.forget_old_sessions()",
  ]);
});

test("records whose concepts have moved are checked again, by the concepts", async () => {
  const { run, asked } = tasksWith();
  await run("recheck_records", { moved: ["urn:a", "urn:b"] });
  expect(asked).toEqual(['select app_private.recheck_records($1) ["urn:a","urn:b"]']);
});

test.each([
  "fold_record_totals",
  "tend_changes",
  "expire_commitments",
  "forget_answers",
  "recheck_records",
  "send_mails",
])("%s fails where the database does, and so comes again", async (name) => {
  const away = () => Promise.reject(new Error("away"));
  const tasks = taskList({
    ...{ pool: { query: away, connect: away } as unknown as Pool, config: loadConfig({}) },
    drainer: { wake: () => Promise.resolve(), stop: () => Promise.resolve() },
    logger: pino({ level: "silent" }),
  });
  const run = async () => tasks[name]!({ moved: [] }, {} as JobHelpers) as Promise<unknown>;
  await expect(run()).rejects.toThrow("away");
});

test("a drain that never ends keeps no job waiting", async () => {
  const { run, woken } = tasksWith();
  let isDone = false;
  void run("project_records").then(() => (isDone = true));
  await new Promise(setImmediate);
  expect([woken(), isDone]).toEqual([1, true]);
});

test("what runs by itself, and when; nothing is queued twice", () => {
  const lines = crontab().trimEnd().split("\n");
  expect(lines.toSorted()).toEqual(
    [
      "* * * * * fold_record_totals ?jobKey=fold_record_totals&max=1",
      "* * * * * send_mails ?jobKey=send_mails&max=1",
      "* * * * * tend_changes ?jobKey=tend_changes&max=1",
      "*/10 * * * * expire_commitments ?jobKey=expire_commitments&max=1",
      "17 * * * * forget_answers ?jobKey=forget_answers&max=1",
    ].toSorted(),
  );
});

test("two look for mails at a time, and whoever would be the third has them look again", async () => {
  const connecting: (() => void)[] = [];
  const query = (text: string) =>
    Promise.resolve({ rows: text.includes("is_held") ? [{ held: false }] : [] });
  const connect = () =>
    new Promise((connected) => {
      const client = { query, release: () => undefined };
      connecting.push(() => connected(client));
    });
  const { wake, stop } = { wake: () => Promise.resolve(), stop: () => Promise.resolve() };
  const tasks = taskList({
    ...{ pool: { connect, query } as unknown as Pool, config: loadConfig({}), drainer: { wake, stop } },
    logger: pino({ level: "silent" }),
  });
  const run = () => tasks["send_mails"]!({}, {} as JobHelpers) as Promise<unknown>;
  const first = run();
  let done = 0;
  for (let more = 0; more < 3; more += 1) void run().then(() => (done += 1));
  await new Promise(setImmediate);
  expect([done, connecting.length]).toEqual([3, 2]);
  connecting[0]!();
  await eventually(() => expect(connecting).toHaveLength(3));
  connecting[1]!();
  await eventually(() => expect(connecting).toHaveLength(4));
  connecting[2]!();
  connecting[3]!();
  await first;
  const later = run();
  await eventually(() => expect(connecting).toHaveLength(6));
  connecting[4]!();
  connecting[5]!();
  await later;
});

describe("a mail that nobody is to get", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  test("is not looked at by a worker that has been stopped", async () => {
    const { owner: pool } = database;
    await pool.query(
      `delete from app_private.mails;
       insert into app_private.mails (unique_key, kind, recipient, data) values ('a', 'confirm_claim', 'a@b.example', '{"link": "/confirm"}')`,
    );
    // There mails get through, so both looks would find it.
    await pool.query(
      `insert into app_private.mails (unique_key, kind, recipient, data, sent_at)
       values ('sent', 'confirm_claim', 'c@b.example', '{}', now())`,
    );
    const drainer = { wake: () => Promise.resolve(), stop: () => Promise.resolve() };
    const logger = pino({ level: "silent" }, { write: () => undefined });
    const tasks = taskList({ pool, config: loadConfig({}), drainer, logger });
    const run = (helpers: Partial<JobHelpers>) =>
      tasks["send_mails"]!({}, helpers as JobHelpers) as Promise<unknown>;
    const kept = async () =>
      (await pool.query("select from app_private.mails where kept_at is not null")).rowCount;
    await run({ abortSignal: AbortSignal.abort() });
    expect(await kept()).toBe(0);
    await run({ abortSignal: new AbortController().signal });
    expect(await kept()).toBe(1);
  });

  test("waits for a migration, which is said once as long as it lasts, and only after some seconds", async () => {
    const { owner: pool } = database;
    const other = await pool.connect();
    const said: object[] = [];
    const logger = pino(
      { level: "warn" },
      { write: (line: string) => void said.push(JSON.parse(line) as (typeof said)[number]) },
    );
    const config = loadConfig({ DATABASE_URL: database.url, PLATFORM_URL: "https://a.example" });
    const { wake, stop } = { wake: () => Promise.resolve(), stop: () => Promise.resolve() };
    const tasks = taskList({ pool, config, drainer: { wake, stop }, logger });
    const run = () => tasks["send_mails"]!({}, {} as JobHelpers) as Promise<unknown>;
    const write = (name: string, due: string) =>
      pool.query(
        `insert into app_private.mails (unique_key, kind, recipient, data, next_attempt_at)
         values ($1, 'confirm_claim', 'a@b.example', '{}', now() + $2::interval)`,
        [name, due],
      );
    const line = {
      ...{ level: 40, mails: 1 },
      msg: "mails wait: the database is being migrated, or the lock of its migrations is held",
    };
    try {
      await pool.query("delete from app_private.mails");
      await other.query("select pg_advisory_lock(7203544)");
      await write("later", "1 hour");
      await write("now", "0");
      await run();
      expect(said).toEqual([]);
      await pool.query(
        "update app_private.mails set next_attempt_at = now() - interval '11 seconds' where unique_key = 'now'",
      );
      await run();
      await run();
      expect(said).toMatchObject([line]);
      await other.query("select pg_advisory_unlock(7203544)");
      await run();
      await other.query("select pg_advisory_lock(7203544)");
      await write("again", "-11 seconds");
      await run();
      expect(said).toMatchObject([line, line]);
    } finally {
      other.release(true);
      await pool.query("delete from app_private.mails");
    }
  });

  test("is left to a worker that has a mail server, which one that has none says once as long as it lasts", async () => {
    const { owner: pool } = database;
    const other = await pool.connect();
    const said: object[] = [];
    const logger = pino(
      {},
      { write: (line: string) => void said.push(JSON.parse(line) as (typeof said)[number]) },
    );
    const config = loadConfig({ DATABASE_URL: database.url, PLATFORM_URL: "https://a.example" });
    const { wake, stop } = { wake: () => Promise.resolve(), stop: () => Promise.resolve() };
    const tasks = taskList({ pool, config, drainer: { wake, stop }, logger });
    const run = () => tasks["send_mails"]!({}, {} as JobHelpers) as Promise<unknown>;
    const write = (name: string) =>
      pool.query(
        "insert into app_private.mails (unique_key, kind, recipient, data) values ($1, 'confirm_claim', 'a@b.example', '{}')",
        [name],
      );
    try {
      await other.query("select app_private.note_mail_server()");
      await pool.query("delete from app_private.mails");
      await run();
      expect(said).toEqual([]);
      await write("a");
      await run();
      await write("b");
      await run();
      const LEFT = "mails left to another worker, which has a mail server: SMTP_URL is not set here";
      expect(said).toMatchObject([{ level: 40, mails: 1, msg: LEFT }]);
      await pool.query("update app_private.mails set sent_at = now()");
      await run();
      await write("c");
      await run();
      expect(said).toMatchObject([{ msg: LEFT }, { msg: LEFT }]);
    } finally {
      other.release(true);
      await pool.query("delete from app_private.mails");
    }
  });

  /** What the log says of a mail, and where its link leads. */
  async function kept(environment: NodeJS.ProcessEnv) {
    const { owner: pool } = database;
    await pool.query(
      `delete from app_private.mails;
       insert into app_private.mails (unique_key, kind, recipient, data) values ('a', 'confirm_claim', 'a@b.example', '{"link": "/confirm"}')`,
    );
    const lines: string[] = [];
    const config = loadConfig(environment);
    const logger = pino({ level: config.logLevel }, { write: (line) => void lines.push(line) });
    const { wake, stop } = { wake: () => Promise.resolve(), stop: () => Promise.resolve() };
    const tasks = taskList({ pool, config, drainer: { wake, stop }, logger });
    await (tasks["send_mails"]!({}, {} as JobHelpers) as Promise<unknown>);
    const { rows } = await pool.query<{ text_body: string }>("select text_body from app_private.mails");
    return {
      isShown: lines.join("").includes("Was it you?"),
      link: /^http\S+/m.exec(rows[0]!.text_body)![0],
    };
  }

  type Kept = [string, NodeJS.ProcessEnv, { isShown: boolean; link: string }];
  test.each<Kept>([
    ["on a laptop", {}, { isShown: true, link: "http://127.0.0.1:3000/confirm" }],
    // Who has asked for a link to sign in would wait for it in vain.
    ...["trace", "warn", "fatal", "silent"].map((LOG_LEVEL): Kept => [
      `on a laptop that logs at ${LOG_LEVEL}`,
      { LOG_LEVEL },
      { isShown: true, link: "http://127.0.0.1:3000/confirm" },
    ]),
    [
      "at an address with colons",
      { HOST: "::1", PORT: "4000" },
      { isShown: true, link: "http://[::1]:4000/confirm" },
    ],
    ["that others reach", { HOST: "0.0.0.0" }, { isShown: false, link: "http://0.0.0.0:3000/confirm" }],
    [
      "with a database of its own",
      { DATABASE_URL: "postgres://a@b/c", PLATFORM_URL: "https://platform.example/" },
      { isShown: false, link: "https://platform.example/confirm" },
    ],
  ])("%s: whether it is shown in the log, and where its link leads", async (_, environment, expected) => {
    expect(await kept(environment)).toEqual(expected);
  });
});
