// Connections that are lent where the server goes on with those that it has and answers on no new one.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg, { DatabaseError } from "pg";
import { createPool } from "../db/pool.ts";
import { Connections } from "../server/postgres/connections.ts";
import { Pulse } from "../process/pulse.ts";
import { Heartbeat } from "../server/postgres/heartbeat.ts";
import { DatabaseUnavailable, isLost, isSick } from "../server/postgres/unavailable.ts";
import { Shares } from "../server/shares.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { forwardTo } from "./support/sick-postgres.ts";

let database: TestDatabase;
let line: Awaited<ReturnType<typeof forwardTo>>;
let pool: pg.Pool;
let heartbeat: Heartbeat;
let pulse: Pulse;
let connections: Connections;

/** A heartbeat by a line of its own, and the connections that it makes. */
async function heartbeatThrough() {
  const own = await forwardTo(() => Number(new URL(database.serverUrl).port));
  const url = new URL(database.serverUrl);
  url.port = String(own.port);
  const clients: pg.Client[] = [];
  const asking = new Heartbeat(() => {
    const client = new pg.Client(url.href);
    clients.push(client);
    return client;
  });
  await asking.start();
  return { own, clients, asking };
}
beforeAll(async () => {
  database = await createTestDatabase();
  const url = new URL(database.serverUrl);
  const { port } = url;
  line = await forwardTo(() => Number(port));
  url.port = String(line.port);
  // The pool itself would wait for as long as it takes.
  pool = createPool(url.href, { max: 5 });
  heartbeat = new Heartbeat(() => new pg.Client(database.serverUrl));
  pulse = new Pulse(heartbeat);
  await heartbeat.start();
  const limits = { slots: 5, perCaller: 5, queuePerCaller: 0, queue: 0, patienceMs: 60_000, slowMs: 60_000 };
  connections = new Connections({ pool, shares: new Shares(limits), pulse, timeoutMs: 60_000 });
});
afterAll(async () => {
  await pulse.stop();
  await heartbeat.stop();
  line.close();
  await pool.end();
  await database.drop();
});

test("those who ask at once for more than are open: who gets one works, the others are told in time", async () => {
  const borrower = { caller: "a" };
  (await connections.take(borrower)).release();
  line.deafen();
  // All in one turn, before any of them has taken what is open.
  const asked = await Promise.allSettled(Array.from({ length: 3 }, () => connections.take(borrower)));
  expect(asked.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  const [first, ...others] = asked;
  if (first?.status !== "fulfilled") throw new Error("not lent");
  await expect(first.value.run({ text: "select" })).resolves.toMatchObject({ rowCount: 1 });
  first.value.release();
  for (const other of others) {
    expect(other).toMatchObject({ reason: expect.any(DatabaseUnavailable) });
  }
  // Those that nobody has waited for take no slot.
  expect(connections.usage).toEqual({ used: 0, waiting: 0 });
});

test("the one connection that is asked for a sign of life may be lost by itself: those who wait on others from before, which answer, go on", async () => {
  const own = await forwardTo(() => Number(new URL(database.serverUrl).port));
  const url = new URL(database.serverUrl);
  url.port = String(own.port);
  const seen = { asked: 0, isLost: false };
  const asking = new Heartbeat(() => {
    seen.asked += 1;
    return new pg.Client(url.href);
  });
  const felt = new Pulse(asking);
  await asking.start();
  const [old, holder] = [createPool(database.serverUrl, { max: 2 }), new pg.Client(database.serverUrl)];
  await holder.connect();
  const limits = { slots: 2, perCaller: 2, queuePerCaller: 0, queue: 0, patienceMs: 60_000, slowMs: 60_000 };
  const lent = new Connections({ pool: old, shares: new Shares(limits), pulse: felt, timeoutMs: 60_000 });
  const [waiting, answered] = await Promise.all([lent.take({ caller: "a" }), lent.take({ caller: "b" })]);
  try {
    own.muffle();
    await holder.query("select pg_advisory_lock(4711)");
    const long = waiting.run({ text: "select pg_advisory_lock(4711)" }).catch(() => (seen.isLost = true));
    // Until a new one is asked in its place.
    while (seen.asked < 2 && !seen.isLost) await answered.run({ text: "select" });
    expect(await felt.beat()).toBe(true);
    await holder.query("select pg_advisory_unlock(4711)");
    await long;
    expect(seen.isLost).toBe(false);
    expect(felt.outages).toBe(0);
  } finally {
    waiting.release();
    answered.release();
    own.close();
    await felt.stop();
    await asking.stop();
    await Promise.all([old.end(), holder.end()]);
  }
});

test("a connection that nothing passes through any more is given up, though others are answered on new ones", async () => {
  const own = await forwardTo(() => Number(new URL(database.serverUrl).port));
  const url = new URL(database.serverUrl);
  url.port = String(own.port);
  const [asking, old] = [new Heartbeat(() => new pg.Client(url.href)), createPool(url.href, { max: 2 })];
  const felt = new Pulse(asking);
  await asking.start();
  const limits = { slots: 2, perCaller: 2, queuePerCaller: 0, queue: 0, patienceMs: 60_000, slowMs: 60_000 };
  const lent = new Connections({ pool: old, shares: new Shares(limits), pulse: felt, timeoutMs: 20_000 });
  const taken = await lent.take({ caller: "a" });
  const over = new AbortController();
  // Somebody who has connected since, and is answered all the time.
  const answered = async () => {
    while (!over.signal.aborted) {
      const attendance = felt.attend(() => undefined);
      attendance.answered();
      attendance.end();
      await sleep(20);
    }
  };
  try {
    own.muffle();
    const others = answered();
    const stuck = taken.run({ text: "select" }).finally(() => taken.release());
    await expect(stuck).rejects.toThrow(DatabaseUnavailable);
    await eventually(() => expect(felt.isDown).toBe(false));
    expect(felt.outages).toBe(1);
    over.abort();
    await others;
    await expect(lent.borrow({ caller: "a" }, (one) => one.run({ text: "select" }))).resolves.toBeDefined();
  } finally {
    over.abort();
    own.close();
    await felt.stop();
    await asking.stop();
    await old.end();
  }
});

test("a connection that ends while it is asked is not one that is silent: a new one is a sign of life by itself", async () => {
  const { own, clients, asking } = await heartbeatThrough();
  try {
    own.muffle();
    const late = new AbortController();
    const asked = expect(asking.ask(late.signal)).rejects.toThrow();
    clients[0]!.connection.stream.destroy();
    await asked;
    // As whoever asked does after any failure.
    late.abort();
    expect(await asking.ask(new AbortController().signal)).toBe(true);
  } finally {
    await asking.stop();
    own.close();
  }
});

test("a connection that has fallen silent is given up when nobody asks any more", async () => {
  const { own, clients, asking } = await heartbeatThrough();
  try {
    own.muffle();
    const late = new AbortController();
    const asked = expect(asking.ask(late.signal)).rejects.toThrow();
    late.abort();
    await asking.stop();
    expect(clients.map(({ connection }) => connection.stream.destroyed)).toEqual([true]);
    await asked;
  } finally {
    own.close();
  }
});

test("a server that has no room for one more connection is there, and one without the database is not", async () => {
  const limit = (n: number) =>
    database.owner.query(
      `do $$ begin execute format('alter database %I connection limit ${n}', current_database()); end $$`,
    );
  const ask = async (url: string) => {
    const asking = new Heartbeat(() => new pg.Client(url));
    try {
      return await asking.ask(new AbortController().signal);
    } finally {
      await asking.stop();
    }
  };
  await limit(0);
  // Nothing is wrong with it, but nobody was answered either.
  expect(await ask(database.serverUrl)).toBe(false);
  await limit(-1);
  expect(await ask(database.serverUrl)).toBe(true);
  const other = new URL(database.serverUrl);
  other.pathname = "/there_is_no_such_database";
  await expect(ask(other.href)).rejects.toMatchObject({ code: "3D000" });
});

test.each<[string, string, { sick: boolean; lost: boolean }]>([
  ["a connection that failed", "08006", { sick: true, lost: true }],
  ["too many connections", "53300", { sick: true, lost: false }],
  ["a full disk", "53100", { sick: true, lost: false }],
  ["a shutdown", "57P01", { sick: true, lost: true }],
  ["a server that only reads", "25006", { sick: true, lost: false }],
  ["a serialization failure", "40001", { sick: true, lost: false }],
  ["a deadlock", "40P01", { sick: true, lost: false }],
  ["a statement that was cancelled", "57014", { sick: false, lost: false }],
  ["a transaction that is in the way", "25001", { sick: false, lost: false }],
  ["a value that exists", "23505", { sick: false, lost: false }],
  ["a missing permission", "42501", { sick: false, lost: false }],
])("%s (%s): whether it can be tried again, and on the same connection", (_, code, expected) => {
  const error = Object.assign(new DatabaseError("", 0, "error"), { code });
  expect({ sick: isSick(error), lost: isLost(error) }).toEqual(expected);
  expect(isLost(Object.assign(error, { severity: "FATAL" }))).toBe(true);
});
