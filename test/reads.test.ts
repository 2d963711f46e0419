// Where a request reads when a replica fails it: on the primary, once, with nothing told or kept twice.
import { describe, expect, jest, test } from "@jest/globals";
import { DatabaseError } from "pg";
import type pg from "pg";
import type { Request, Response } from "express";
import { Pulse } from "../process/pulse.ts";
import { Connections } from "../server/postgres/connections.ts";
import type { BorrowedConnection } from "../server/postgres/connections.ts";
import { Heartbeat } from "../server/postgres/heartbeat.ts";
import type { Position } from "../server/postgres/positions.ts";
import { Reads } from "../server/postgres/reads.ts";
import type { Replica } from "../server/postgres/replica.ts";
import {
  CallerGone,
  DatabaseUnavailable,
  ReplicaUnfit,
  ServiceBusy,
} from "../server/postgres/unavailable.ts";
import { nameRequest } from "../server/request-context.ts";
import { Shares } from "../server/shares.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

function refusal(code: string): DatabaseError {
  const error = new DatabaseError("no", 2, "error");
  error.code = code;
  return error;
}

const POSITION: Position = { database: "a", timeline: "1", at: 5 };
const QUERY = { text: "select 1" };

type Answer = (place: string, onRow?: (bytes: number) => void) => Error | undefined;

/** Reads of which each connection answers as told; everything that happens is noted. */
function standIn({
  position = POSITION,
  take = () => undefined,
  answer = () => undefined,
}: {
  position?: Position | null;
  take?: (place: string) => Error | undefined;
  answer?: Answer;
} = {}) {
  const log: string[] = [];
  const place = (name: string) => ({
    timeoutMs: 1_000,
    take: (borrower: { position?: Position }) => {
      log.push(`${name}: take${borrower.position ? ` at ${borrower.position.at}` : ""}`);
      const failure = take(name);
      if (failure) return Promise.reject(failure);
      return Promise.resolve({
        run: (_query: unknown, settings: unknown, onRow?: (bytes: number) => void) => {
          log.push(`${name}: run ${JSON.stringify(settings)}`);
          const failed = answer(name, onRow);
          return failed ? Promise.reject(failed) : Promise.resolve({ rows: [{ name }] });
        },
        rest: () => {
          log.push(`${name}: rest`);
          return Promise.resolve();
        },
        release: () => void log.push(`${name}: release`),
      } as unknown as BorrowedConnection);
    },
  });
  const replica = {
    connections: place("replica"),
    ready: () => {
      log.push("ready?");
      return Promise.resolve(position ?? undefined);
    },
    forget: () => void log.push("forget"),
    passOver: () => void log.push("pass over"),
  };
  const primary = place("primary") as unknown as Connections;
  const reads = new Reads(primary, replica as unknown as Replica);
  const told: string[] = [];
  reads.onRead((where) => told.push(where));
  return { log, told, reads, primary };
}

describe("a request reads", () => {
  test("on the replica, of which it is found out once how far it must be", async () => {
    const { log, told, reads } = standIn();
    const lender = reads.begin();
    const lent = [await lender.take({ caller: "a" }), await lender.take({ caller: "a" })];
    await lent[0]!.run(QUERY, { role: "api_read" });
    for (const each of lent) each.release();
    expect(log).toEqual([
      ...["ready?", "replica: take at 5", "replica: take at 5", 'replica: run {"role":"api_read"}'],
      ...["replica: release", "replica: release"],
    ]);
    expect(told).toEqual(["replica"]);
  });

  test("on the primary where there is no replica, or none that is ready", async () => {
    for (const without of [true, false]) {
      const { log, told, reads, primary } = standIn({ position: null });
      const asked = without ? new Reads(primary) : reads;
      asked.onRead((where) => told.push(where));
      const lender = asked.begin();
      await (await lender.take({ caller: "a" })).run(QUERY);
      await lender.take({ caller: "a" });
      expect(log.filter((line) => line.includes("take"))).toEqual(["primary: take", "primary: take"]);
      expect(told).toEqual(["primary"]);
    }
  });

  test("where it also rests: on the replica, on the primary instead of it, and on the primary alone", async () => {
    let isSick = false;
    const { log, reads, primary } = standIn({
      answer: (name) => (isSick && name === "replica" ? refusal("55000") : undefined),
    });
    const rests = () => log.filter((line) => line.endsWith("rest"));
    const lent = await reads.begin().take({ caller: "a" });
    await lent.run(QUERY);
    await lent.rest();
    expect(rests()).toEqual(["replica: rest"]);
    isSick = true;
    await lent.run(QUERY);
    await lent.rest();
    expect(rests()).toEqual(["replica: rest", "primary: rest"]);
    const alone = await new Reads(primary).begin().take({ caller: "a" });
    await alone.run(QUERY);
    await alone.rest();
    expect(rests()).toEqual(["replica: rest", "primary: rest", "primary: rest"]);
  });

  test.each([
    ["is behind", new ReplicaUnfit("behind", { isBehind: true }), "forget"],
    ["is none of ours", new ReplicaUnfit("another one"), "pass over"],
    ["does not answer", new DatabaseUnavailable(), "pass over"],
  ])("on the primary from then on when the replica %s", async (_, error, noted) => {
    const { log, reads } = standIn({ take: (name) => (name === "replica" ? error : undefined) });
    const lender = reads.begin();
    await lender.take({ caller: "a" });
    await lender.take({ caller: "a" });
    expect(log).toEqual(["ready?", "replica: take at 5", noted, "primary: take", "primary: take"]);
  });

  test.each([
    ["the caller is gone", new CallerGone()],
    ["others have all connections", new ServiceBusy()],
  ])("nowhere when %s", async (_, error) => {
    const { log, reads } = standIn({ take: () => error });
    await expect(reads.begin().take({ caller: "a" })).rejects.toBe(error);
    expect(log).toEqual(["ready?", "replica: take at 5"]);
  });

  test.each(["55000", "XX000", "53200", "40001"])(
    "again on the primary what fails on the replica with %s; what had come of the answer is taken back",
    async (code) => {
      const { log, told, reads } = standIn({
        answer: (name, onRow) => {
          onRow?.(name === "replica" ? 70 : 9);
          onRow?.(1);
          return name === "replica" ? refusal(code) : undefined;
        },
      });
      const lent = await reads.begin().take({ caller: "a" });
      const bytes: number[] = [];
      const { rows } = await lent.run(QUERY, { role: "api_read" }, (each) => bytes.push(each));
      expect(rows).toEqual([{ name: "primary" }]);
      expect(bytes).toEqual([70, 1, -71, 9, 1]);
      lent.release();
      expect(log.slice(2)).toEqual([
        ...['replica: run {"role":"api_read"}', "replica: release"],
        ...["primary: take", 'primary: run {"role":"api_read"}', "primary: release"],
      ]);
      expect(told).toEqual(["primary"]);
    },
  );

  test.each([
    ["what a rule refuses", "PT403"],
    ["what is malformed", "22P02"],
  ])("once %s", async (_, code) => {
    const { log, reads } = standIn({ answer: () => refusal(code) });
    const lent = await reads.begin().take({ caller: "a" });
    await expect(lent.run(QUERY)).rejects.toMatchObject({ code });
    expect(log.filter((line) => line.startsWith("primary"))).toEqual([]);
  });

  test("once on the primary, whatever comes of it", async () => {
    const { log, reads } = standIn({ answer: () => refusal("40001") });
    const lent = await reads.begin().take({ caller: "a" });
    await expect(lent.run(QUERY)).rejects.toMatchObject({ code: "40001" });
    await expect(lent.run(QUERY)).rejects.toMatchObject({ code: "40001" });
    expect(log.filter((line) => line.includes("take"))).toEqual(["replica: take at 5", "primary: take"]);
  });

  test("nothing more, and gives nothing back twice, where the primary has no connection for it", async () => {
    const { log, reads } = standIn({
      take: (name) => (name === "primary" ? new ServiceBusy() : undefined),
      answer: () => refusal("55000"),
    });
    const lent = await reads.begin().take({ caller: "a" });
    await expect(lent.run(QUERY)).rejects.toThrow(ServiceBusy);
    await expect(lent.run(QUERY)).rejects.toThrow(DatabaseUnavailable);
    lent.release();
    expect(log.filter((line) => line.endsWith("release"))).toEqual(["replica: release"]);
  });
});

describe("a connection", () => {
  function pool() {
    const waiting: PromiseWithResolvers<pg.PoolClient>[] = [];
    const made: ((client: pg.PoolClient) => void)[] = [];
    return {
      waiting,
      pool: {
        ...{ idleCount: 0, waitingCount: 0 },
        on: (_: string, listener: (client: pg.PoolClient) => void) => made.push(listener),
        connect: () => {
          const next = Promise.withResolvers<pg.PoolClient>();
          waiting.push(next);
          return next.promise;
        },
      } as unknown as pg.Pool,
      /** A client that is new now. */
      client: (status: string | null = "I") => {
        const released: unknown[] = [];
        const client = {
          ...{ once: () => undefined, getTransactionStatus: () => status },
          release: (isBroken?: boolean) => void released.push(isBroken ?? false),
        } as unknown as pg.PoolClient;
        for (const listener of made) listener(client);
        return { client, released };
      },
    };
  }
  const pulse = {
    isDown: false,
    outages: 0,
    attend: () => ({ answered: () => undefined, end: () => undefined }),
  };
  const connectionsOf = (given: pg.Pool, more: object = {}) =>
    new Connections({
      pool: given,
      pulse: { ...pulse, ...more } as unknown as Pulse,
      timeoutMs: 1_000,
      shares: new Shares({
        ...{ slots: 1, perCaller: 1, queuePerCaller: 9, queue: 9, patienceMs: 60_000, slowMs: 60_000 },
      }),
    });

  test("that comes when nobody waits for it any more is given back, and its place is free at once", async () => {
    const { pool: given, waiting, client } = pool();
    let lose: (cause: Error) => void = () => undefined;
    const connections = connectionsOf(given, {
      attend: (lost: typeof lose) => {
        lose = lost;
        return pulse.attend();
      },
    });
    const taking = connections.take({ caller: "a" });
    await new Promise(setImmediate);
    const gone = new Error("gone");
    lose(gone);
    await expect(taking).rejects.toThrow(DatabaseUnavailable);
    // It was waited for until then, and not for as long as opening one may take.
    await expect(taking).rejects.toHaveProperty("cause", gone);
    const [late, next] = [client(), client()];
    waiting[0]!.resolve(late.client);
    await new Promise(setImmediate);
    expect(late.released).toEqual([false]);
    const again = connections.take({ caller: "a" });
    await new Promise(setImmediate);
    waiting[1]!.resolve(next.client);
    (await again).release();
    expect(next.released).toEqual([false]);
    expect(connections.usage).toEqual({ used: 0, waiting: 0 });
  });

  test("from before the database was lost is closed, and another one is lent", async () => {
    const { pool: given, waiting, client } = pool();
    const alive = { ...pulse };
    const connections = new Connections({
      ...{ pool: given, pulse: alive as unknown as Pulse, timeoutMs: 1_000 },
      shares: new Shares({
        ...{ slots: 1, perCaller: 1, queuePerCaller: 9, queue: 9, patienceMs: 60_000, slowMs: 60_000 },
      }),
    });
    const old = client();
    alive.outages = 1;
    const fresh = client();
    const taking = connections.take({ caller: "a" });
    await new Promise(setImmediate);
    waiting[0]!.resolve(old.client);
    await new Promise(setImmediate);
    waiting[1]!.resolve(fresh.client);
    const lent = await taking;
    expect([old.released, fresh.released]).toEqual([[true], []]);
    lent.release();
    expect(fresh.released).toEqual([false]);
  });

  test("that a request has had before is asked for ahead of the others of its caller", async () => {
    const { pool: given, client } = pool();
    const asked: unknown[] = [];
    const connections = new Connections({
      pool: Object.assign(given, { connect: () => Promise.resolve(client().client) }),
      ...{ pulse: pulse as unknown as Pulse, timeoutMs: 1_000 },
      shares: {
        take: (_name: string, _gone: unknown, isUnderWay: boolean) => {
          asked.push(isUnderWay);
          return Promise.resolve(() => undefined);
        },
      } as unknown as Shares,
    });
    const take = async () => (await connections.take({ caller: "a" })).release();
    const request = { get: () => undefined } as unknown as Request;
    const response = { set: () => response } as unknown as Response;
    for (let requests = 0; requests < 2; requests += 1) {
      let taken: Promise<void> | undefined;
      const takeTwice = async () => {
        await take();
        await take();
      };
      void nameRequest(request, response, () => {
        taken = takeTwice();
      });
      await taken;
    }
    expect(asked).toEqual([false, true, false, true]);
  });

  test.each(["26000", "42P05"])(
    "whose pooler forgets or mixes up what was prepared (%s) is asked without it from then on",
    async (code) => {
      const { pool: given, client } = pool();
      const sent: unknown[] = [];
      const answers = [refusal(code), undefined];
      const query = (what: { name?: string; handleError?: (error: Error) => void }) => {
        sent.push(what.name);
        // What every statement needs is prepared first.
        if (!what.handleError) return Promise.resolve();
        const failure = answers.shift();
        if (failure) what.handleError(failure);
        else (what as unknown as { handleReadyForQuery: () => void }).handleReadyForQuery();
        return undefined;
      };
      const connections = connectionsOf(
        Object.assign(given, {
          connect: () => Promise.resolve(Object.assign(client().client, { query })),
        }),
      );
      const connection = await connections.take({ caller: "a" });
      await expect(connection.run({ name: "mine", text: "select" })).resolves.toBeDefined();
      connection.release();
      expect(sent).toEqual(["settings", "mine", undefined]);
      expect(connections.mayPrepare).toBe(false);
    },
  );

  test.each([
    ["idle", "I", false],
    ["unknown to the driver", null, false],
    ["in a transaction", "T", true],
    ["in a transaction that failed", "E", true],
  ])("that is %s when it is given back", async (_, status, isClosed) => {
    const { pool: given, waiting, client } = pool();
    const connections = connectionsOf(given);
    const { client: lent, released } = client(status);
    const taking = connections.take({ caller: "a" });
    await new Promise(setImmediate);
    waiting[0]!.resolve(lent);
    (await taking).release();
    expect(released).toEqual([isClosed]);
    expect(connections.usage.used).toBe(0);
  });
});

describe("a database that answers a question about its life", () => {
  /** Clients of which each connects, or fails to. */
  function heartbeat(...failures: (Error | undefined)[]) {
    let opened = 0;
    const dropped: number[] = [];
    const beat = new Heartbeat(() => {
      const number = opened++;
      return {
        on: () => undefined,
        connect: () => (failures[number] ? Promise.reject(failures[number]) : Promise.resolve()),
        query: () => Promise.resolve(),
        connection: { stream: { destroy: () => void dropped.push(number) } },
      } as unknown as pg.Client;
    });
    return { ask: () => beat.ask(new AbortController().signal), dropped };
  }

  test.each(["28P01", "28000", "53300"])("with %s is there and cannot be used", async (code) => {
    const { ask, dropped } = heartbeat(refusal(code), undefined);
    expect(await ask()).toBe(false);
    expect(dropped).toEqual([0]);
    expect(await ask()).toBe(true);
    expect(await ask()).toBe(true);
    expect(dropped).toEqual([0]);
  });

  test.each([
    ["57P03", refusal("57P03")],
    ["3D000", refusal("3D000")],
    ["nobody at its address", new Error("ECONNREFUSED")],
  ])("with %s is not", async (_, error) => {
    const { ask, dropped } = heartbeat(error);
    await expect(ask()).rejects.toBe(error);
    expect(dropped).toEqual([0]);
  });
});
