// What each metric says, of numbers that are all different, and what is left out while nobody knows it.
import { once } from "node:events";
import { connect, createServer, Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { JobHelpers, TaskList } from "graphile-worker";
import type { Pool } from "pg";
import { Gauge } from "prom-client";
import { Metrics } from "../process/metrics.ts";
import type { GraphHealth } from "../process/metrics.ts";
import { addServerMetrics } from "../server/metrics.ts";
import { addWorkerMetrics } from "../worker/metrics.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";

/** What a scrape says, by series; of these names alone. */
async function scrape(metrics: Metrics, names: RegExp): Promise<Record<string, number>> {
  const server = await metrics.serve("127.0.0.1", 0);
  try {
    const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`);
    expect(answer.headers.get("content-type")).toBe(metrics.registry.contentType);
    const lines = (await answer.text()).split("\n").filter((line) => names.test(line));
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
    );
  } finally {
    await server.stop();
  }
}

describe("of whoever asks", () => {
  const servers: { stop: () => Promise<void> }[] = [];
  const sockets: Socket[] = [];
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(servers.map((server) => server.stop()));
  });
  const serve = async (metrics: Metrics) => {
    const server = await metrics.serve("127.0.0.1", 0);
    servers.push(server);
    return server;
  };

  test("at the same time, all have what was put together once", async () => {
    const metrics = new Metrics();
    let times = 0;
    const gauge: Gauge = new Gauge({
      ...{ name: "asked", help: "x", registers: [metrics.registry] },
      collect: () => gauge.set((times += 1)),
    });
    const { port } = await serve(metrics);
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    // Both are there with one packet.
    const head = "GET / HTTP/1.1\r\nhost: x\r\n";
    socket.write(`${head}\r\n${head}connection: close\r\n\r\n`);
    expect((await text(socket)).match(/^asked \d+/gm)).toEqual(["asked 1", "asked 1"]);
    expect(await scrape(metrics, /^asked/)).toEqual({ asked: 2 });
  });

  test("while one of them cannot be told, all are refused; afterwards they are told again", async () => {
    const metrics = new Metrics();
    let isBroken = true;
    const gauge: Gauge = new Gauge({
      ...{ name: "broken", help: "x", registers: [metrics.registry] },
      collect: () => {
        if (isBroken) throw new Error("no");
        gauge.set(1);
      },
    });
    const { port } = await serve(metrics);
    const ask = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`);
      return [answer.status, (await answer.text()).includes("\nbroken 1\n")];
    };
    expect(await ask()).toEqual([503, false]);
    isBroken = false;
    expect(await ask()).toEqual([200, true]);
  });

  test("a port that is taken is said to be", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    try {
      const { port } = taken.address() as AddressInfo;
      let outcome: unknown;
      new Metrics().serve("127.0.0.1", port).catch((error: unknown) => (outcome = error));
      await eventually(() => expect(outcome).toMatchObject({ code: "EADDRINUSE", port }), 5_000);
    } finally {
      taken.close();
    }
  });

  test("who says nothing for fifteen seconds makes room", async () => {
    const silences = jest.spyOn(Socket.prototype, "setTimeout");
    try {
      const { port } = await serve(new Metrics());
      const silent = connect(port, "127.0.0.1");
      sockets.push(silent);
      silent.resume().write("GET / HTTP/1.1\r\n");
      const theirs = () => silences.mock.calls.findIndex(([ms]) => ms === 15_000);
      await eventually(() => expect(theirs()).toBeGreaterThanOrEqual(0));
      // What it had not been read of yet makes that a reset.
      const closed = new Promise((done) => silent.on("error", () => undefined).once("close", done));
      (silences.mock.contexts[theirs()] as Socket).emit("timeout");
      await closed;
    } finally {
      silences.mockRestore();
    }
  });

  test("who asks nothing, or has not all of its answer, keeps nobody from stopping", async () => {
    const metrics = new Metrics();
    const begun = Promise.withResolvers<void>();
    // What is never told.
    const collect = () => (begun.resolve(), new Promise<void>(() => undefined));
    metrics.registry.registerMetric(new Gauge({ name: "asked", help: "x", registers: [], collect }));
    const { port, stop } = await metrics.serve("127.0.0.1", 0);
    const open = async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      sockets.push(socket.resume());
      await once(socket, "connect");
      return socket;
    };
    const silent = await open();
    (await open()).write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await begun.promise;
    let hasStopped = false;
    void stop().then(() => (hasStopped = true));
    await eventually(() => expect(hasStopped).toBe(true), 5_000);
    await eventually(() => expect(silent.closed).toBe(true), 5_000);
  });

  test("there are fifty connections, and no more", async () => {
    const { port } = await serve(new Metrics());
    const open = async () => {
      const socket = connect(port, "127.0.0.1");
      sockets.push(socket);
      await once(socket, "connect");
      return socket;
    };
    for (let n = 0; n < 49; n += 1) await open();
    const last = await open();
    last.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const came = await Promise.race(["data", "close"].map((name) => once(last, name).then(() => name)));
    expect(came).toBe("data");
    const oneMore = await open();
    await once(oneMore, "close");
    expect(last.destroyed).toBe(false);
  });
});

describe("of the graph", () => {
  const health: GraphHealth = {
    ...{ pending: 3, oldestPendingSeconds: 40, rejected: 5, pendingLists: ["a", "b"], graphState: "behind" },
    ...{ verifiedAt: "2030-01-01T00:00:00Z", drift: 7, verificationFails: true },
  };

  test("each number is told under its own name, and by the first who can", async () => {
    const metrics = new Metrics();
    metrics.watchGraph(() => Promise.resolve(health));
    metrics.watchGraph(() => Promise.reject(new Error("is not asked")));
    const told = await scrape(metrics, /^(graph_|database_up)/);
    expect(told).toMatchObject({
      graph_records_pending: 3,
      graph_oldest_pending_seconds: 40,
      graph_records_rejected: 5,
      graph_lists_pending: 2,
      graph_drift: 7,
      graph_verified_timestamp_seconds: Date.parse("2030-01-01T00:00:00Z") / 1_000,
      graph_verification_failing: 1,
      'graph_state{state="behind"}': 1,
      'graph_state{state="current"}': 0,
      database_up: 1,
    });
  });

  test("before the first verification there is no difference, and no time", async () => {
    const metrics = new Metrics();
    metrics.watchGraph(() => Promise.resolve({ ...health, verifiedAt: null, drift: null }));
    expect(await scrape(metrics, /^graph_(drift|verified)/)).toEqual({
      ...{ graph_drift: 0, graph_verified_timestamp_seconds: 0 },
    });
  });

  test("what the database does not answer is left out, and comes back", async () => {
    const metrics = new Metrics();
    let isDown = false;
    metrics.watchGraph(() => (isDown ? Promise.reject(new Error("down")) : Promise.resolve(health)));
    const other = new Gauge({ name: "other", help: "x", registers: [metrics.registry] });
    metrics.watchDatabase(
      () => Promise.resolve(9),
      (found) => other.set(found),
      [other],
    );
    const before = await scrape(metrics, /^(graph_|other |database_up)/);
    expect(before).toMatchObject({ graph_drift: 7, database_up: 1 });
    isDown = true;
    // One that does answer is told all the same.
    expect(await scrape(metrics, /^(graph_|other |database_up)/)).toEqual({ other: 9, database_up: 0 });
    isDown = false;
    expect(await scrape(metrics, /^(graph_|other |database_up)/)).toEqual(before);
  });
});

test("a database that does not answer is asked once, however often that is scraped, and the rest is told", async () => {
  const metrics = new Metrics();
  const gauge = (name: string) => new Gauge({ name, help: "x", registers: [metrics.registry] });
  const [slow, plain] = [gauge("slow"), gauge("plain")];
  plain.set(3);
  const answer = Promise.withResolvers<number>();
  let asked = 0;
  const read = () => {
    asked += 1;
    return answer.promise;
  };
  metrics.watchDatabase(read, (found) => slow.set(found), [slow]);
  const look = () => scrape(metrics, /^(slow|plain|database_up) /);
  expect(await Promise.all([look(), look()])).toEqual([
    { plain: 3, database_up: 0 },
    { plain: 3, database_up: 0 },
  ]);
  // Those who ask at the same time have one text; who asks afterwards has another, but the question is still the same.
  expect(await look()).toEqual({ plain: 3, database_up: 0 });
  expect(asked).toBe(1);
  answer.resolve(9);
  expect(await look()).toEqual({ plain: 3, slow: 9, database_up: 1 });
  expect(asked).toBe(2);
});

describe("of connections", () => {
  const counts = { totalCount: 7, idleCount: 3, waitingCount: 2 };
  const poolThat = (connect: unknown = () => Promise.resolve("a client")) =>
    ({ ...counts, connect }) as unknown as Pool;

  test("those in use are not idle, and who waits is counted where they wait", async () => {
    const metrics = new Metrics();
    metrics.watchPool("worker", poolThat());
    let told: (seconds: number) => void = () => undefined;
    const queue = { usage: { waiting: 5 }, onWait: (tell: typeof told) => void (told = tell) };
    metrics.watchPool("server", poolThat(), queue);
    told(0.05);
    expect(await scrape(metrics, /^database_pool_(conn|waiting|wait_seconds_(sum|count))/)).toEqual({
      'database_pool_connections{pool="worker",state="idle"}': 3,
      'database_pool_connections{pool="worker",state="used"}': 4,
      'database_pool_connections{pool="server",state="idle"}': 3,
      'database_pool_connections{pool="server",state="used"}': 4,
      'database_pool_waiting{pool="worker"}': 2,
      'database_pool_waiting{pool="server"}': 5,
      'database_pool_wait_seconds_count{pool="server"}': 1,
      'database_pool_wait_seconds_sum{pool="server"}': 0.05,
    });
  });

  test("waiting for one is timed however it is asked for, and one that fails as well", async () => {
    const metrics = new Metrics();
    const waits = () => scrape(metrics, /^database_pool_wait_seconds_count/);
    const series = 'database_pool_wait_seconds_count{pool="worker"}';
    const pool = poolThat((done?: (error: undefined, client: string) => void) =>
      done ? done(undefined, "a client") : Promise.resolve("a client"),
    );
    metrics.watchPool("worker", pool);
    expect(await pool.connect()).toBe("a client");
    expect(await waits()).toEqual({ [series]: 1 });
    const given = await new Promise((done) => pool.connect((_error, client) => done(client)));
    expect([given, await waits()]).toEqual(["a client", { [series]: 2 }]);
    // The alert is raised beyond half a second.
    const buckets = Object.keys(await scrape(metrics, /^database_pool_wait_seconds_bucket/));
    const bounds = buckets.map((each) => /le="([^"]+)"/.exec(each)![1]);
    expect(bounds).toEqual(["0.001", "0.005", "0.02", "0.1", "0.5", "1", "2", "5", "+Inf"]);
    const failing = poolThat(() => Promise.reject(new Error("no room")));
    metrics.watchPool("worker", failing);
    await expect(failing.connect()).rejects.toThrow("no room");
    expect(await waits()).toEqual({ [series]: 3 });
  });
});

describe("of the server", () => {
  const pool = { totalCount: 7, idleCount: 3, waitingCount: 2 };
  const place = (waiting: number, told: ((seconds: number) => void)[] = []) => ({
    usage: { waiting },
    onWait: (tell: (seconds: number) => void) => void told.push(tell),
  });
  const parts = (given: object) =>
    ({
      postgres: { pool, requests: place(5), probes: undefined },
      reads: { onRead: () => undefined },
      sparql: { usage: { used: 3, waiting: 4 } },
      ...given,
    }) as unknown as Parameters<typeof addServerMetrics>[1];

  test("queries of the graph are told by what becomes of them", async () => {
    const metrics = new Metrics();
    addServerMetrics(metrics, parts({}));
    expect(await scrape(metrics, /^sparql_/)).toEqual({
      'sparql_queries{state="running"}': 3,
      'sparql_queries{state="waiting"}': 4,
    });
  });

  test("how the graph is doing is asked over a connection that no request can have", async () => {
    const health = {
      ...{ graphState: "current", pending: 3, oldestPendingSeconds: 0, rejected: 0, pendingLists: [] },
      ...{ verifiedAt: null, drift: null },
    };
    const run = () => Promise.resolve({ rows: [{ answer: JSON.stringify(health) }] });
    const probes = { borrow: (_: unknown, work: (connection: object) => unknown) => work({ run }) };
    const metrics = new Metrics();
    addServerMetrics(metrics, parts({ postgres: { pool, requests: place(5), probes } }));
    expect(await scrape(metrics, /^graph_records_pending/)).toEqual({ graph_records_pending: 3 });
  });

  test("who waits for the primary or the replica is counted where they wait, and not at the pool", async () => {
    const metrics = new Metrics();
    const told: ((seconds: number) => void)[] = [];
    const postgres = { pool, requests: place(5, told), probes: undefined };
    const lag = () => Promise.resolve(8);
    const replica = { pool, connections: place(6, told), isUsed: true, lag };
    addServerMetrics(metrics, parts({ postgres, replica }));
    for (const tell of told) tell(0.5);
    expect(await scrape(metrics, /^database_(pool_(waiting|wait_seconds_sum)|replica)/)).toEqual({
      'database_pool_waiting{pool="server"}': 5,
      'database_pool_waiting{pool="replica"}': 6,
      'database_pool_wait_seconds_sum{pool="server"}': 0.5,
      'database_pool_wait_seconds_sum{pool="replica"}': 0.5,
      ...{ database_replica_used: 1, database_replica_lag_bytes: 8 },
    });
  });
});

describe("of the worker", () => {
  let database: TestDatabase;
  let metrics: Metrics;
  let tasks: TaskList;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(() => {
    metrics = new Metrics();
    tasks = addWorkerMetrics(metrics, database.owner, {
      send_mails: () => undefined,
      forget_answers: () => Promise.reject(new Error("failed")),
    });
  });

  /** Of a database that takes longer than a moment to answer nothing is told. */
  const scrapeUntil = (names: RegExp, assertions: (told: Record<string, number>) => void) =>
    eventually(async () => {
      const told = await scrape(metrics, names);
      assertions(told);
      return told;
    });

  test("a job is due once its time has come, and failed when it has used up its attempts and nobody is at it", async () => {
    const db = database.owner;
    await db.query("delete from graphile_worker._private_jobs");
    await db.query(
      `select graphile_worker.add_job('send_mails', run_at => now() - make_interval(secs => age), job_key => key)
       from (values (300, 'old'), (100, 'new'), (-100, 'later'), (900, 'failed'), (900, 'last attempt')) as j (age, key)`,
    );
    await db.query(
      `update graphile_worker._private_jobs set attempts = max_attempts where key in ('failed', 'last attempt');
       update graphile_worker._private_jobs set locked_at = now() where key = 'last attempt'`,
    );
    const told = await scrapeUntil(/^jobs_/, (told) =>
      expect(told).toEqual({
        'jobs_due{task="send_mails"}': 2,
        'jobs_failed{task="send_mails"}': 1,
        'jobs_oldest_due_seconds{task="send_mails"}': expect.any(Number),
        'jobs_due{task="forget_answers"}': 0,
        'jobs_failed{task="forget_answers"}': 0,
        'jobs_oldest_due_seconds{task="forget_answers"}': 0,
      }),
    );
    const age = told['jobs_oldest_due_seconds{task="send_mails"}']!;
    expect(age >= 300 && age < 900).toBe(true);
    await db.query("delete from graphile_worker._private_jobs");
  });

  test("a mail waits until it is sent, kept or given up, and the oldest of those that wait is told of", async () => {
    const db = database.owner;
    await db.query(
      `insert into app_private.mails (unique_key, kind, recipient, data, created_at, sent_at, kept_at, failed_at)
       select key, 'claim_queue', 'a@b.example', '{}', now() - case key when 'one' then interval '1 hour'
           when 'two' then '2 hours' when 'three' then '1 minute' else '3 hours' end,
         case key when 'sent' then now() end, case key when 'kept' then now() end,
         case when key in ('failed', 'failed too') then now() end
       from unnest(array['one', 'two', 'three', 'sent', 'kept', 'failed', 'failed too']) as key`,
    );
    const told = await scrapeUntil(/^mails_/, (told) =>
      expect(told).toMatchObject({ mails_waiting: 3, mails_failed: 2 }),
    );
    const age = told["mails_oldest_waiting_seconds"]!;
    expect(age >= 7_200 && age < 10_800).toBe(true);
    await db.query("delete from app_private.mails");
    await scrapeUntil(/^mails_/, (told) =>
      expect(told).toEqual({ mails_waiting: 0, mails_failed: 0, mails_oldest_waiting_seconds: 0 }),
    );
  });

  test("its connections are told of as its own, and so is how the graph is doing", async () => {
    expect(Object.keys(await scrape(metrics, /^database_pool_connections/))).toEqual([
      'database_pool_connections{pool="worker",state="idle"}',
      'database_pool_connections{pool="worker",state="used"}',
    ]);
    await scrapeUntil(/^graph_/, (told) => expect(Object.keys(told)).not.toEqual([]));
  });

  test("a job that fails fails, and is counted as one that did", async () => {
    const helpers = {} as JobHelpers;
    await tasks["send_mails"]!(undefined, helpers);
    await expect(async () => tasks["forget_answers"]!(undefined, helpers)).rejects.toThrow("failed");
    expect(await scrape(metrics, /^job_duration_seconds_count/)).toEqual({
      'job_duration_seconds_count{task="send_mails",outcome="done"}': 1,
      'job_duration_seconds_count{task="forget_answers",outcome="failed"}': 1,
    });
    // From what takes a moment to what takes a minute.
    const buckets = Object.keys(await scrape(metrics, /^job_duration_seconds_bucket.*send_mails/));
    const bounds = buckets.map((series) => /le="([^"]+)"/.exec(series)![1]);
    expect(bounds).toEqual(["0.005", "0.02", "0.1", "0.5", "2", "10", "60", "+Inf"]);
  });
});
