// What a server's connections are for, and how it hears that a key has changed.
import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { closeClient, closePool } from "../db/close.ts";
import { createPool } from "../db/pool.ts";
import { Announcements, NotAnnounced } from "../server/identity/announcements.ts";
import type { Connections } from "../server/postgres/connections.ts";
import { Postgres } from "../server/postgres/postgres.ts";
import { DatabaseUnavailable } from "../server/postgres/unavailable.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { forwardTo } from "./support/sick-postgres.ts";
import { givenUpAfter } from "./support/silent-database.ts";

jest.setTimeout(60_000);

let database: TestDatabase;
let postgres: Postgres;
beforeAll(async () => {
  database = await createTestDatabase();
  postgres = new Postgres({
    ...{ url: database.serverUrl, poolSize: 5, statementTimeoutMs: 7_000, onError: () => undefined },
  });
  await postgres.start();
});
afterAll(async () => {
  await postgres.end();
  await database.drop();
});

describe("connections", () => {
  test("for requests are a quarter for each key, rounded up, and the others take none of them", async () => {
    const { requests, lookups, probes, positions } = postgres;
    const taken = await Promise.all([requests.take({ caller: "a" }), requests.take({ caller: "a" })]);
    let isLent = false;
    const third = requests.take({ caller: "a" }).then((lent) => {
      isLent = true;
      return lent;
    });
    const others = await Promise.all(["b", "b", "c"].map((caller) => requests.take({ caller })));
    expect([isLent, requests.usage]).toEqual([false, { used: 5, waiting: 1 }]);
    // All of them for one: the service itself.
    const own = await Promise.all(
      [lookups, lookups, probes, positions].map((each) => each.take({ caller: "" })),
    );
    expect([lookups, probes, positions].map(({ usage }) => usage.used)).toEqual([2, 1, 1]);
    for (const lent of [...taken, ...others, ...own]) lent.release();
    (await third).release();
    expect(requests.usage).toEqual({ used: 0, waiting: 0 });
  });

  test("for requests have the time that is configured, the service's own five seconds", async () => {
    const { requests, lookups, probes, positions } = postgres;
    expect([requests, lookups, probes, positions].map(({ timeoutMs }) => timeoutMs)).toEqual([
      ...[7_000, 5_000, 5_000, 5_000],
    ]);
    const limitOf = (connections: typeof requests) =>
      connections.borrow({ caller: "" }, async (lent) => {
        const { rows } = await lent.run<{ limit: string; program: string }>({
          text: "select current_setting('statement_timeout') as limit, current_setting('application_name') as program",
        });
        return rows[0];
      });
    expect(await limitOf(requests)).toEqual({ limit: "7s", program: "engagement-server" });
    expect(await limitOf(lookups)).toEqual({ limit: "5s", program: "engagement-server" });
  });
});

describe("a connection that is given back", () => {
  const own = (work: Parameters<typeof postgres.probes.borrow<number>>[1]) =>
    postgres.probes.borrow({ caller: "" }, work);
  // There is one of them.
  const backend = () =>
    own(
      async (lent) =>
        (await lent.run<{ pid: number }>({ text: "select pg_backend_pid() as pid" })).rows[0]!.pid,
    );

  test("is lent again, unless it is in the middle of a transaction, or in one that has failed", async () => {
    for (const statements of [["begin"], ["begin", "select 1 / 0"]]) {
      const before = await backend();
      expect(await backend()).toBe(before);
      await own(async (lent) => {
        for (const text of statements) await lent.run({ text }, null).catch(() => undefined);
        return 0;
      });
      expect(await backend()).not.toBe(before);
    }
  });

  test("or that never came, is of nobody's share any more", async () => {
    const nobody = Object.assign(new URL(database.serverUrl), { port: "9" }).href;
    const away = new Postgres({
      ...{ url: nobody, poolSize: 1, statementTimeoutMs: 7_000, onError: () => undefined },
    });
    try {
      for (const _ of [1, 2])
        await expect(away.requests.take({ caller: "a" })).rejects.toThrow(DatabaseUnavailable);
      expect(away.requests.usage).toEqual({ used: 0, waiting: 0 });
    } finally {
      await away.end();
    }
  });
});

test("a connection that the database never gives is given up after ten seconds, and is in nobody's way any more", async () => {
  const connect = async (url: string) => {
    const silent = new Postgres({ url, poolSize: 1, statementTimeoutMs: 7_000, onError: () => undefined });
    try {
      await silent.pool.connect();
    } finally {
      await silent.end();
    }
  };
  expect(await givenUpAfter(10, connect)).toMatch(/timeout/);
});

test("each connection is asked by the system whether its other side is still there", async () => {
  const asked = jest.spyOn(Socket.prototype, "setKeepAlive");
  const another = new Postgres({
    ...{ url: database.serverUrl, poolSize: 1, statementTimeoutMs: 7_000, onError: () => undefined },
  });
  try {
    // That on which it is checked whether the database answers, and that of a request.
    await another.start();
    expect(asked.mock.calls.map(([isAsked]) => isAsked)).toEqual([true]);
    (await another.requests.take({ caller: "a" })).release();
    expect(asked.mock.calls.map(([isAsked]) => isAsked)).toEqual([true, true]);
  } finally {
    asked.mockRestore();
    await another.end();
  }
});

describe("announcements", () => {
  const heard: string[] = [];
  let announcements: Announcements | undefined;
  let line: Awaited<ReturnType<typeof forwardTo>> | undefined;
  afterEach(async () => {
    await announcements?.stop();
    line?.close();
    heard.length = 0;
  });
  const listen = (url: string) =>
    (announcements = new Announcements(url, {
      changed: (keyId) => heard.push(keyId),
      listening: (isListening) => heard.push(isListening ? "listening" : "deaf"),
    }));
  const announce = (keyId: string) => database.owner.query("select pg_notify('api_keys', $1)", [keyId]);

  test("arrive, and when the connection is cut without a word that is noticed, and others arrive again", async () => {
    const { port } = new URL(database.serverUrl);
    line = await forwardTo(() => Number(port));
    const url = Object.assign(new URL(database.serverUrl), { port: String(line.port) });
    await listen(url.href).start(postgres.probes);
    // The first is its own.
    expect(heard).toEqual(["listening", expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    await announce("one");
    await eventually(() => expect(heard.at(-1)).toBe("one"));
    line.muffle();
    await eventually(() => expect(heard.slice(3)).toEqual(["deaf", "listening"]));
    await announce("two");
    await eventually(() => expect(heard.at(-1)).toBe("two"));
    line.sever();
    await eventually(() => expect(heard.slice(6)).toEqual(["deaf", "listening"]));
  });

  test("are waited for five seconds where the database says nothing, and then it is another connection's turn", async () => {
    const start = (url: string) => listen(url).start(postgres.probes);
    expect(await givenUpAfter(5, start)).toMatch("cannot be reached");
  });

  test("have to arrive by themselves: a pooler may have them for whoever asks just then", async () => {
    const asked = pg.Client.prototype as unknown as { query: (text: unknown) => Promise<unknown> };
    const query = jest.spyOn(asked, "query");
    const times = () => query.mock.calls.filter(([text]) => text === "listen api_keys").length;
    let before: number | undefined;
    const borrow: Connections["borrow"] = (borrower, work) => {
      before = times();
      return postgres.probes.borrow(borrower, work);
    };
    await listen(database.serverUrl).start({ borrow } as Connections);
    expect(before).toBe(1);
    await eventually(() => expect(times()).toBeGreaterThan(1));
    query.mockRestore();
  });

  test("keep no connection on which nothing is answered, at the start or later", async () => {
    const { port } = new URL(database.serverUrl);
    line = await forwardTo(() => Number(port));
    const url = Object.assign(new URL(database.serverUrl), { port: String(line.port) });
    const connect = jest.spyOn(pg.Client.prototype, "connect");
    const asked = pg.Client.prototype as unknown as { query: () => Promise<unknown> };
    const query = jest.spyOn(asked, "query");
    const isClosed = () =>
      connect.mock.contexts.map((client) => (client as pg.Client).connection.stream.destroyed);
    try {
      query.mockReturnValueOnce(new Promise(() => undefined));
      await expect(listen(url.href).start(postgres.probes)).rejects.toThrow(NotAnnounced);
      expect(isClosed()).toEqual([true]);
      await eventually(() => expect(heard).toEqual(["deaf", "listening"]));
      line.muffle();
      await eventually(() => expect(heard.slice(2)).toEqual(["deaf", "listening"]));
      expect(isClosed()).toEqual([true, true, false]);
    } finally {
      jest.restoreAllMocks();
    }
  });

  test("may begin late where the service starts on a busy machine", async () => {
    type Query = (this: pg.Client, text: unknown) => Promise<unknown>;
    const asked = pg.Client.prototype as unknown as { query: Query };
    const { query } = asked;
    jest.spyOn(asked, "query").mockImplementationOnce(async function (this: pg.Client, text) {
      // Later on, that is too long.
      await sleep(2_000);
      return query.call(this, text);
    });
    try {
      await listen(database.serverUrl).start(postgres.probes);
      expect(heard[0]).toBe("listening");
    } finally {
      jest.restoreAllMocks();
    }
  });

  test("keep the service from starting as soon as the connection is lost on which they are to arrive", async () => {
    const { port } = new URL(database.serverUrl);
    const way = (line = await forwardTo(() => Number(port)));
    const url = Object.assign(new URL(database.serverUrl), { port: String(way.port) });
    const borrow = async () => {
      way.sever();
      await eventually(() => expect(heard).toContain("deaf"));
    };
    const starting = listen(url.href).start({ borrow } as unknown as Connections);
    await expect(starting).rejects.toThrow("the connection for LISTEN was lost");
  });

  test("that cannot be listened for keep the service from starting", async () => {
    const nobody = Object.assign(new URL(database.serverUrl), { port: "9" });
    await expect(listen(nobody.href).start(postgres.probes)).rejects.toThrow(NotAnnounced);
    expect(heard).toEqual(["deaf"]);
  });

  test("count as arriving when its own has come, and not when another's has", async () => {
    const sent = Promise.withResolvers<string>();
    const elsewhere = {
      borrow: (_: unknown, work: (connection: unknown) => unknown) =>
        work({ run: ({ values }: { values: [string] }) => Promise.resolve(sent.resolve(values[0])) }),
    } as unknown as Connections;
    let isStarted = false;
    const starting = listen(database.serverUrl)
      .start(elsewhere)
      .then(() => (isStarted = true));
    const own = await sent.promise;
    await announce("another");
    await eventually(() => expect(heard).toContain("another"));
    await setImmediate();
    expect(isStarted).toBe(false);
    await announce(own);
    await starting;
  });

  test("are not listened for again by who has stopped, whether or not it was listening", async () => {
    const retries = new Set<unknown>();
    const { setTimeout: set, clearTimeout: clear } = globalThis;
    jest.spyOn(globalThis, "setTimeout").mockImplementation((work: () => void, ms?: number) => {
      const timer = set(work, ms);
      if (ms === 500) retries.add(timer);
      return timer;
    });
    jest.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
      retries.delete(timer);
      clear(timer);
    });
    try {
      await listen(database.serverUrl).start(postgres.probes);
      await announcements!.stop();
      expect(retries.size).toBe(0);
      const { port } = new URL(database.serverUrl);
      line = await forwardTo(() => Number(port));
      const url = Object.assign(new URL(database.serverUrl), { port: String(line.port) });
      await listen(url.href).start(postgres.probes);
      line.sever();
      await eventually(() => expect(retries.size).toBe(1));
      await announcements!.stop();
      expect(retries.size).toBe(0);
    } finally {
      jest.restoreAllMocks();
    }
  });

  test("are not listened for any more by who has stopped", async () => {
    await listen(database.serverUrl).start(postgres.probes);
    await announcements!.stop();
    expect(heard.slice(2)).toEqual(["deaf"]);
    // A server that is busy ends a session after its client has left.
    await eventually(async () => {
      const { rows } = await database.owner.query(
        "select from pg_stat_activity where datname = current_database() and query = 'listen api_keys' and application_name = ''",
      );
      expect(rows).toEqual([]);
    });
  });
});

describe("a pool", () => {
  test("gives dates and times as PostgreSQL prints them, with microseconds", async () => {
    const { rows } = await database.owner.query(
      `select date '2026-05-01' as day, timestamp '2026-05-01 12:00:00.123456' as here,
         timestamptz '2026-05-01 12:00:00.123456+00' as there`,
    );
    expect(rows).toEqual([
      {
        ...{ day: "2026-05-01", here: "2026-05-01 12:00:00.123456" },
        there: expect.stringMatching(/^2026-05-0\d \d\d:\d\d:00\.123456[+-]/),
      },
    ]);
  });

  test("tells of connections that break, lent or not, and goes on", async () => {
    const { port } = new URL(database.url);
    const line = await forwardTo(() => Number(port));
    const errors: Error[] = [];
    const pool = createPool(Object.assign(new URL(database.url), { port: String(line.port) }).href, {
      onError: (error) => void errors.push(error),
    });
    try {
      await pool.query("select");
      line.sever();
      await eventually(() => expect([errors.length > 0, pool.totalCount]).toEqual([true, 0]));
      const lent = await pool.connect();
      try {
        errors.length = 0;
        line.sever();
        await eventually(() => expect(errors.length).toBeGreaterThan(0), 20_000);
      } finally {
        lent.release(true);
      }
      await pool.query("select");
    } finally {
      await pool.end();
      line.close();
    }
  });
});

describe("what is closed", () => {
  test("is over within a second or so, also when nothing comes back any more, and keeps no connection", async () => {
    const { port } = new URL(database.url);
    const line = await forwardTo(() => Number(port));
    const url = Object.assign(new URL(database.url), { port: String(line.port) }).href;
    const client = new pg.Client(url);
    const pool = createPool(url);
    try {
      await client.connect();
      await pool.query("select");
      line.muffle();
      const closing = Promise.all([closeClient(client), closePool(pool)]);
      const outcome = await Promise.race([
        closing.then(() => "closed"),
        sleep(20_000, "open", { ref: false }),
      ]);
      expect(outcome).toBe("closed");
      expect(client.connection.stream.destroyed).toBe(true);
    } finally {
      line.close();
    }
  });

  test("has ended, each connection of it, also those that are lent, when it counts as closed", async () => {
    // A real one is too quick to be caught between the end of the pool and that of its connections.
    const counts = { totalCount: 2, idleCount: 1, waitingCount: 0 };
    const pool = Object.assign(new EventEmitter(), { ...counts, end: () => Promise.resolve() });
    const order: string[] = [];
    const closing = closePool(pool as unknown as pg.Pool).then(() => order.push("closed"));
    for (const each of ["one has ended", "both have ended"]) {
      await setImmediate();
      order.push(each);
      pool.emit("remove");
    }
    await closing;
    expect(order).toEqual(["one has ended", "both have ended", "closed"]);
  });

  test("of a pool that has none waits for nothing", async () => {
    const counts = { totalCount: 0, idleCount: 0, waitingCount: 0 };
    const pool = Object.assign(new EventEmitter(), { ...counts, end: () => Promise.resolve() });
    let isClosed = false;
    void closePool(pool as unknown as pg.Pool).then(() => (isClosed = true));
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect(isClosed).toBe(true);
  });
});
