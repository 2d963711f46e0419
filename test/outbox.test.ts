// In which order mails go out, and what a mail leaves behind that did not.
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { pino } from "pino";
import { createPool } from "../db/pool.ts";
import { MailRefused, MailServerSilent, MailServerUnavailable } from "../worker/mailer.ts";
import type { Mailer } from "../worker/mailer.ts";
import { Reached, sendMails } from "../worker/outbox.ts";
import type { MailOptions } from "../worker/outbox.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
const db = () => database.owner;
beforeEach(() => db().query("delete from app_private.mails; delete from graphile_worker._private_jobs"));

/** Mails that have been composed, by name, each due so many seconds from now and written so many ago. */
async function wait(
  mails: Record<string, { due?: number; age?: number; attempts?: number; to?: string; kind?: string }>,
): Promise<void> {
  const rows = Object.entries(mails).map(([name, times]) => ({
    name,
    to: "b.example",
    due: 0,
    age: 0,
    attempts: 0,
    kind: "claim_queue",
    ...times,
  }));
  await db().query(
    `insert into app_private.mails
       (unique_key, kind, recipient, data, subject, text_body, html_body, next_attempt_at, created_at, attempts)
     select name, kind, name || '@' || "to", '{}', name, name, name,
       now() + make_interval(secs => due), now() - make_interval(secs => age), attempts
     from jsonb_to_recordset($1) as m (name text, "to" text, due integer, age integer, attempts integer, kind text)`,
    [JSON.stringify(rows)],
  );
}

async function send(
  answer: (name: string) => Error | undefined = () => undefined,
  more: Pick<MailOptions, "reached" | "isForReached" | "stopping"> = {},
  logger = pino({ level: "silent" }),
  handedOver: () => Promise<unknown> | undefined = () => undefined,
) {
  const tried: string[] = [];
  const mailer: Mailer = {
    send: async ({ subject }) => {
      tried.push(subject);
      const error = answer(subject);
      await handedOver();
      if (error) throw error;
    },
  };
  const result = await sendMails({ pool: db(), mailer, platformUrl: "https://a.example", logger, ...more });
  return { tried, ...result };
}

/** Of each mail: how often it was refused, whether it was given up, and in how many seconds from when it was put off it is due. */
async function left() {
  const { rows } = await db().query<{ name: string; attempts: number; failed: boolean; due: number }>(
    `select unique_key as name, attempts, failed_at is not null as failed,
       floor(extract(epoch from next_attempt_at - coalesce(delayed_since, now())))::integer as due
     from app_private.mails where sent_at is null order by 1`,
  );
  return Object.fromEntries(rows.map(({ name, ...row }) => [name, row]));
}

test("the mail that has been due for longest is the first, of several the one that was written first; what is not due stays", async () => {
  await wait({ b: { due: -10, age: 60 }, a: { due: -10, age: 70 }, c: { due: -20 }, later: { due: 60 } });
  expect(await send()).toMatchObject({ tried: ["c", "a", "b"], delayedSeconds: undefined });
  expect(Object.keys(await left())).toEqual(["later"]);
});

test("a refused mail waits a minute, then twice as long each time, at most four hours", async () => {
  await wait({ a: {}, b: { attempts: 1 }, c: { attempts: 7 }, d: { attempts: 8 }, e: { attempts: 24 } });
  expect(await send(() => new MailRefused("450 later", false))).toMatchObject({ refused: 5 });
  const all = await left();
  expect(Object.values(all).map(({ attempts }) => attempts)).toEqual([1, 2, 8, 9, 25]);
  const minutes = Object.values(all).map(({ due }) => Math.round(due / 60));
  expect(minutes).toEqual([1, 2, 128, 240, 240]);
  expect(Object.values(all).some(({ failed }) => failed)).toBe(false);
});

test("an operator is told of each mail which one it is, and whether it was sent, refused for now, or for good", async () => {
  await wait({ a: { due: -3 }, b: { due: -2 }, c: { due: -1 }, d: {} });
  const lines: Record<string, unknown>[] = [];
  const logger = pino(
    {},
    { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
  );
  const answers: Record<string, Error> = {
    ...{ b: new MailRefused("450 later", false), c: new MailRefused("550 no", true) },
    d: new MailServerUnavailable("away"),
  };
  await send((name) => answers[name], {}, logger);
  const { rows } = await db().query<{ id: string }>(
    "select mail_id as id from app_private.mails order by unique_key",
  );
  const [a, b, c] = rows.map(({ id }) => ({ mailId: id, kind: "claim_queue" }));
  const [INFO, WARN] = [30, 40];
  expect(lines).toMatchObject([
    { ...a, level: INFO, msg: "mail sent" },
    { ...b, level: WARN, msg: "the mail server refused a mail", forGood: false },
    { ...c, level: WARN, msg: "the mail server refused a mail", forGood: true },
    { level: WARN, msg: "mail postponed: no mail server", seconds: 1 },
  ]);
});

test("a mail that is refused for three days is given up, not before, however long it had waited until then", async () => {
  await wait({ a: { age: 10 * 86_400 } });
  let waitedMinutes = 0;
  for (;;) {
    await db().query("update app_private.mails set next_attempt_at = now()");
    expect(await send(() => new MailRefused("450 later", false))).toMatchObject({ refused: 1 });
    const { failed, due } = (await left())["a"]!;
    if (failed) break;
    waitedMinutes += due / 60;
  }
  // A fourth of an hour more or less.
  expect(Math.abs(waitedMinutes - 3 * 24 * 60)).toBeLessThanOrEqual(15);
});

test("a refusal holds up no other mail; a server that is away holds up all that are due, and is asked once", async () => {
  await wait({ a: { due: -3 }, b: { due: -2 }, c: { due: -1, to: "c.example" }, later: { due: 600 } });
  const first = await send((name) =>
    name === "a" ? new MailRefused("550 no", true) : new MailServerUnavailable("x"),
  );
  expect(first).toMatchObject({ tried: ["a", "b"], refused: 1, delayedSeconds: 1 });
  expect(await left()).toMatchObject({
    a: { attempts: 1, failed: true },
    b: { attempts: 0, failed: false, due: 1 },
    c: { attempts: 0, failed: false, due: 1 },
    later: { attempts: 0, failed: false },
  });
  // Nothing is put off by more than a minute.
  expect((await left())["later"]!.due).toBeGreaterThan(60);
  const { rows } = await db().query(
    `select task_identifier as task, floor(extract(epoch from run_at - since))::integer as due
     from graphile_worker.jobs cross join (select min(delayed_since) as since from app_private.mails) as put_off
     where run_at > since`,
  );
  expect(rows).toEqual([{ task: "send_mails", due: 1 }]);
  // It finds all of them due, the last as well.
  const { rows: early } = await db().query(
    `select from graphile_worker.jobs, app_private.mails
     where sent_at is null and delayed_since is not null and run_at > delayed_since and next_attempt_at > run_at`,
  );
  expect(early).toEqual([]);
});

describe("a worker without a mail server", () => {
  const keep = async (more: Pick<MailOptions, "showKept" | "isForReached"> = {}) => {
    const { kept, sent, left } = await sendMails({
      ...{
        pool: db(),
        mailer: undefined,
        platformUrl: "https://a.example",
        logger: pino({ level: "silent" }),
      },
      ...more,
    });
    const { rows } = await db().query<{ runIn: number }>(
      `select extract(epoch from run_at - now())::float8 as "runIn" from graphile_worker.jobs where task_identifier = 'send_mails'
         and run_at > now()`,
    );
    return { kept, sent, left, again: rows.map(({ runIn }) => runIn > 0 && runIn <= 5) };
  };
  test("leaves mails to one that has one and is at work, and keeps them when there is none", async () => {
    const other = await db().connect();
    try {
      await other.query("select app_private.note_mail_server()");
      expect(await keep()).toEqual({ kept: 0, sent: 0, left: 0, again: [] });
      await wait({ a: {}, b: {}, later: { due: 60 } });
      // However often it looks, one job is enough.
      for (const _ of [1, 2]) expect(await keep()).toEqual({ kept: 0, sent: 0, left: 2, again: [true] });
      // Somebody may be waiting for a link on the screen.
      expect(await keep({ showKept: true })).toMatchObject({ kept: 2, left: 0 });
    } finally {
      other.release(true);
    }
    await wait({ c: {} });
    await eventually(async () => expect(await keep()).toMatchObject({ kept: 1, left: 0 }));
  });

  test("leaves to nobody what is just being sent, and what it does not know", async () => {
    const other = await db().connect();
    try {
      await other.query("select app_private.note_mail_server()");
      await wait({ a: {}, b: {}, later: {} });
      await db().query("alter table app_private.mails drop constraint mails_kind_check");
      await db().query("update app_private.mails set kind = 'of_tomorrow' where unique_key = 'later'");
      await other.query("begin");
      await other.query("select from app_private.mails where unique_key = 'a' for update");
      expect(await keep()).toMatchObject({ kept: 0, left: 1, again: [true] });
      // The second that looks has nothing to add.
      expect(await keep({ isForReached: true })).toMatchObject({ kept: 0, left: 0 });
    } finally {
      other.release(true);
    }
  });

  test("keeps none of those that another such worker is just counting", async () => {
    const other = await db().connect();
    try {
      await other.query("select app_private.note_mail_server()");
      await wait({ a: {} });
      await other.query("begin");
      await other.query("select from app_private.mails for update");
      const client = await db().connect();
      const query = client.query.bind(client) as (...parts: unknown[]) => Promise<unknown>;
      const answer: unknown = async (...parts: unknown[]) => {
        const found = await query(...parts);
        if (String(parts[0]).includes("leave_mails")) await other.query("rollback");
        return found;
      };
      const asked = jest.spyOn(client, "query").mockImplementation(answer as never);
      const lent = () => Promise.resolve(client);
      const connect = jest.spyOn(db(), "connect").mockImplementation(lent as never);
      const result = await sendMails({
        ...{
          pool: db(),
          mailer: undefined,
          platformUrl: "https://a.example",
          logger: pino({ level: "silent" }),
        },
      });
      asked.mockRestore();
      connect.mockRestore();
      expect(result).toMatchObject({ kept: 0, left: 0 });
    } finally {
      other.release(true);
    }
  });

  test("takes one that has sent a mail within the last hour for one that is being restarted", async () => {
    await wait({ sent: {}, a: {} });
    const sentAgo = (minutes: number) =>
      db().query(
        `update app_private.mails set sent_at = now() - make_interval(mins => $1) where unique_key = 'sent'`,
        [minutes],
      );
    await sentAgo(59);
    expect(await keep()).toMatchObject({ kept: 0, left: 1 });
    await sentAgo(61);
    expect(await keep()).toMatchObject({ kept: 1, left: 0 });
  });
});

test("mails wait while the database is being migrated: one that is being handed over would be in its way", async () => {
  await wait({ a: { due: -2 }, b: {} });
  const [migration, elsewhere] = [await db().connect(), new pg.Client(process.env["TEST_POSTGRES_URL"])];
  try {
    const lock = "pg_advisory_lock(7203544)";
    // Another lock, and that of a migration of another database.
    await migration.query("select pg_advisory_lock(7203544::bigint << 32)");
    await elsewhere.connect();
    await elsewhere.query(`select ${lock}`);
    // It begins while the first is being handed over.
    const begins = (name: string) => {
      if (name === "a") migrating = migration.query(`select ${lock}`);
      return undefined;
    };
    let migrating: Promise<unknown> | undefined;
    expect((await send(begins, {}, undefined, () => migrating)).tried).toEqual(["a"]);
    expect((await send()).tried).toEqual([]);
    await migration.query("select pg_advisory_unlock_all()");
    expect((await send()).tried).toEqual(["b"]);
  } finally {
    migration.release(true);
    await elsewhere.end();
  }
});

test("a server that is away changes nothing of what was sent, kept or refused before", async () => {
  await wait({ sent: {}, kept: {}, refused: {}, waiting: {} });
  for (const done of ["sent", "kept", "failed"])
    await db().query(
      `update app_private.mails set ${done}_at = now() where unique_key = replace($1, 'failed', 'refused')`,
      [done],
    );
  const over = async () => {
    const { rows } = await db().query(
      `select unique_key, sent_at, kept_at, failed_at, next_attempt_at, delayed_since, last_error
       from app_private.mails where unique_key <> 'waiting' order by 1`,
    );
    return rows as object[];
  };
  const before = await over();
  expect(before).toHaveLength(3);
  expect((await send(() => new MailServerUnavailable("x"))).tried).toEqual(["waiting"]);
  expect(await over()).toEqual(before);
});

test("of what somebody is sent only mails about claims of others count against these", async () => {
  const left = async () => {
    const { rows } = await db().query<{ left: number }>(
      "select app_private.claim_mails_left('a@b.example') as left",
    );
    return rows[0]!.left;
  };
  const before = await left();
  await wait({ a: { kind: "sign_in" } });
  expect(await left()).toBe(before);
  await db().query("delete from app_private.mails");
  await wait({ a: {} });
  expect(await left()).toBe(before - 1);
});

test("one connection is enough to send with, also for what asks first where mails get through", async () => {
  await wait({ earlier: { due: -1 }, first: {} });
  await db().query("update app_private.mails set sent_at = now() where unique_key = 'earlier'");
  // Whoever wants a second one is told that there is none.
  const pool = new pg.Pool({ connectionString: database.url, max: 1, connectionTimeoutMillis: 10_000 });
  const tried: string[] = [];
  const mailer: Mailer = { send: async ({ subject }) => void tried.push(subject) };
  const known = { reached: new Reached(), isForReached: true };
  const logger = pino({ level: "silent" });
  try {
    await sendMails({ pool, mailer, platformUrl: "https://a.example", logger, ...known });
  } finally {
    await pool.end();
  }
  expect(tried).toEqual(["first"]);
});

test("nobody who finds the server away waits for a mail that another is just handing over", async () => {
  await wait({ slow: { due: -2 }, b: { due: -1 }, c: {} });
  const { promise: handedOver, resolve: handOver } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const mailer: Mailer = {
    send: ({ subject }) => {
      if (subject !== "slow") return Promise.reject(new MailServerUnavailable("away"));
      begin();
      return handedOver;
    },
  };
  const logger = pino({ level: "silent" });
  const options = { pool: db(), mailer, platformUrl: "https://a.example", logger };
  // Whoever waited would be told so.
  const pool = createPool(database.url, { options: "-c lock_timeout=1s" });
  const first = sendMails(options);
  await begun;
  try {
    expect(await sendMails({ ...options, pool })).toMatchObject({ sent: 0, delayedSeconds: 1 });
  } finally {
    handOver();
    await pool.end();
  }
  expect(await first).toMatchObject({ sent: 1, delayedSeconds: undefined });
  expect(await left()).toMatchObject({ b: { due: 1 }, c: { due: 1 } });
});

test("a mail at which the server falls silent keeps no other waiting for ever, and no new one at all", async () => {
  await wait({ silent: { age: 60 }, old: { age: 30 } });
  const away = (name: string) => (name === "silent" ? new MailServerUnavailable("x") : undefined);
  const dueNow = "update app_private.mails set next_attempt_at = next_attempt_at - interval '1 hour'";
  expect(await send(away)).toMatchObject({ tried: ["silent"], delayedSeconds: 1 });
  await db().query(dueNow);
  await wait({ fresh: {} });
  expect(await send(away)).toMatchObject({ tried: ["fresh", "old", "silent"], sent: 2 });
});

test("nor does one of a link to sign in, for which somebody waits", async () => {
  await wait({ silent: { age: 60, kind: "sign_in" }, old: { age: 30 } });
  const away = (name: string) => (name === "silent" ? new MailServerUnavailable("x") : undefined);
  const dueNow = "update app_private.mails set next_attempt_at = next_attempt_at - interval '1 hour'";
  expect(await send(away)).toMatchObject({ tried: ["silent"], delayedSeconds: 1 });
  await db().query(dueNow);
  expect(await send(away)).toMatchObject({ tried: ["old", "silent"], sent: 1 });
});

test("where a server falls silent at one mail, only those of the same domain wait; a job that is due at once sends the others", async () => {
  const silent = { to: "Silent.example" };
  await wait({ a: { ...silent, age: 60 }, b: { age: 50 }, c: { to: "silent.example", age: 40 } });
  await wait({ d: { to: "not-silent.example", age: 30 } });
  await db().query("delete from graphile_worker._private_jobs");
  const silence = () => new MailServerSilent("x");
  expect(await send(silence)).toMatchObject({ tried: ["a"], delayedSeconds: 1 });
  const { rows } = await db().query(
    "select from graphile_worker.jobs where run_at <= (select max(delayed_since) from app_private.mails)",
  );
  expect(rows).toHaveLength(1);
  const later = "update app_private.mails set next_attempt_at = next_attempt_at + interval '1 hour'";
  const { rowCount } = await db().query(`${later} where delayed_since is not null`);
  expect(rowCount).toBe(2);
  expect(await send()).toMatchObject({ tried: ["b", "d"], sent: 2, delayedSeconds: undefined });
  expect(await left()).toMatchObject({ c: { attempts: 0, due: 3_601 } });
});

test("a mail at which a server fell silent, which may have taken it, comes again as seldom as a refused one, and not for ever", async () => {
  await wait({ a: { age: 60 }, b: { age: 50 } });
  await wait({ c: { attempts: 7, to: "c.example" }, d: { attempts: 25, to: "d.example" } });
  // Of those that go to other places another job takes care.
  for (let time = 0; time < 3; time++) await send(() => new MailServerSilent("x"));
  expect(await left()).toMatchObject({
    a: { attempts: 1, failed: false, due: 60 },
    b: { attempts: 0, failed: false, due: 1 },
    c: { attempts: 8, failed: false, due: 7_680 },
    d: { attempts: 26, failed: true },
  });
});

test("a worker that is stopped sends what it has begun to, and leaves the rest to the next", async () => {
  await wait({ a: { due: -2 }, b: { due: -1 } });
  await db().query("delete from graphile_worker._private_jobs");
  const stopping = new AbortController();
  const stop = () => {
    stopping.abort();
    return undefined;
  };
  expect(await send(stop, { stopping: stopping.signal })).toMatchObject({ tried: ["a"], sent: 1 });
  expect(await send(stop, { stopping: stopping.signal })).toMatchObject({ tried: [] });
  expect(Object.keys(await left())).toEqual(["b"]);
  const { rows } = await db().query(
    "select task_identifier as task from graphile_worker.jobs where run_at <= now()",
  );
  expect(rows).toContainEqual({ task: "send_mails" });
});

test("what could not be sent waits from when that was known, however long the mail server was asked before", async () => {
  let known: string | undefined;
  const mailer: Mailer = {
    async send() {
      const { rows } = await db().query<{ now: string }>("select clock_timestamp()::text as now");
      known = rows[0]!.now;
      throw new MailServerUnavailable("away");
    },
  };
  await wait({ a: {} });
  await sendMails({
    pool: db(),
    mailer,
    platformUrl: "https://a.example",
    logger: pino({ level: "silent" }),
  });
  const { rows } = await db().query(
    `select next_attempt_at >= $1::timestamptz + interval '1 second' as "isAfterThat" from app_private.mails`,
    [known],
  );
  expect(rows).toEqual([{ isAfterThat: true }]);
});

test("mails are known to get through where one was taken or refused, until the server falls silent at one", async () => {
  const reached = new Reached();
  const dueNow = "update app_private.mails set next_attempt_at = now() where failed_at is null";
  const known = { reached, isForReached: true };
  await wait({ taken: {}, refused: { to: "c.example" }, silent: { to: "d.example", due: 600 } });
  expect(await send(undefined, known)).toMatchObject({ tried: [] });
  const refusal = (name: string) => (name === "refused" ? new MailRefused("450 later", false) : undefined);
  expect(await send(refusal, { reached })).toMatchObject({ sent: 1, refused: 1 });
  await db().query(dueNow);
  await wait({ again: { to: "B.example" } });
  expect((await send(undefined, known)).tried.toSorted()).toEqual(["again", "refused"]);
  await wait({ held: {} });
  expect((await send(() => new MailServerSilent("x"), known)).tried).toEqual(["held"]);
  await db().query(dueNow);
  expect((await send(undefined, known)).tried).toEqual([]);
  expect((await send(undefined, { reached })).tried.toSorted()).toEqual(["held", "silent"]);
  await wait({ last: {} });
  expect((await send(undefined, known)).tried).toEqual(["last"]);
});

test("mails are known to get through where one was taken within thirty days before the worker began", async () => {
  await wait({ within: { to: "within.example" }, before: { to: "before.example" }, never: {} });
  await db().query(
    `update app_private.mails set sent_at = now() - case unique_key when 'within' then 29 else 31 end * interval '1 day'
     where unique_key <> 'never'`,
  );
  expect(await new Reached().list(db())).toEqual(["within.example"]);
});

test("where mails get through is asked again once the database could not tell", async () => {
  const reached = new Reached();
  const broken = { query: () => Promise.reject(new Error("away")) } as unknown as pg.Pool;
  await expect(reached.list(broken)).rejects.toThrow("away");
  expect(await reached.list(db())).toEqual([]);
});

test("nor do several such mails, one after the other", async () => {
  await wait({ first: { age: 60 }, second: { age: 50 }, a: { age: 40 }, b: { age: 30 } });
  const away = (name: string) => (name.length > 1 ? new MailServerUnavailable("x") : undefined);
  const dueNow = "update app_private.mails set next_attempt_at = next_attempt_at - interval '1 hour'";
  expect((await send(away)).tried).toEqual(["first"]);
  await db().query(dueNow);
  expect((await send(away)).tried).toEqual(["second"]);
  await db().query(dueNow);
  expect((await send(away)).tried).toEqual(["a", "b", "first"]);
  await db().query(dueNow);
  expect((await send(away)).tried).toEqual(["second"]);
});

test("who waits for a link to sign in does not wait for all that was to be mailed before", async () => {
  await wait({
    a: { age: 50 },
    b: { age: 40 },
    link: { kind: "sign_in" },
    later: { kind: "sign_in", due: 60 },
  });
  expect((await send()).tried).toEqual(["link", "a", "b"]);
  await wait({ c: { age: 50 }, other: { age: 40, kind: "sign_in" } });
  expect((await send(() => new MailServerUnavailable("away"))).tried).toEqual(["other"]);
  await db().query("update app_private.mails set next_attempt_at = now() - interval '1 hour'");
  await wait({ d: {} });
  // Nor does anything new wait for one that the server may have fallen silent at.
  expect((await send()).tried).toEqual(["later", "d", "c", "other"]);
});

test("the longer a server is away the longer mails wait, half of the time so far, up to a minute", async () => {
  for (const [seconds, half] of [
    [1, 1],
    [40, 20],
    [119, 59.5],
    [10_000, 60],
  ] as const) {
    await db().query("delete from app_private.mails");
    // One has been waiting for as long as the server is away, one has just begun to, and one is new.
    await wait({ a: {}, b: {}, c: {} });
    const { rows: before } = await db().query<{ since: string }>(
      `update app_private.mails set delayed_since =
         now() - make_interval(secs => case unique_key when 'a' then $1::float8 else 0 end)
       where unique_key <> 'c' returning delayed_since as since`,
      [seconds],
    );
    const { delayedSeconds } = await send(() => new MailServerUnavailable("away"));
    const { rows } = await db().query<{ since: string; seconds: number }>(
      `select delayed_since as since, extract(epoch from now() - delayed_since)::float8 as seconds
       from app_private.mails where unique_key <> 'c' order by delayed_since`,
    );
    expect(delayedSeconds).toBeGreaterThanOrEqual(half);
    expect(delayedSeconds).toBeLessThanOrEqual(Math.min(60, Math.max(1, rows[0]!.seconds / 2)));
    // Counted from the first time on.
    expect(rows.map(({ since }) => since)).toEqual(before.map(({ since }) => since).toSorted());
  }
});

test("a failure that is nobody's answer is told, and leaves no transaction open and no mail held", async () => {
  await wait({ a: {} });
  await expect(send(() => new TypeError("a mistake"))).rejects.toThrow("a mistake");
  // Not on a connection of the pool, which may be the one.
  const other = new pg.Client(database.url);
  await other.connect();
  // PostgreSQL may take a moment to notice that a connection is closed.
  await eventually(async () => {
    const { rows } = await other.query(
      "select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
    );
    expect(rows).toEqual([]);
  });
  await other.end();
  expect(await send()).toMatchObject({ tried: ["a"] });
});
