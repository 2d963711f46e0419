// A job runner that cannot end must not keep the worker from having another one, or from stopping.
import { EventEmitter } from "node:events";
import { expect, jest, test } from "@jest/globals";
import type { Runner, WorkerEvents } from "graphile-worker";
import pg from "pg";
import type { Pool, PoolClient } from "pg";
import { pino } from "pino";
import type { Logger } from "pino";
import { forgiving, graphileLogger, runJobs, superviseJobs } from "../worker/jobs.ts";
import { createTestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(30_000);

const logger = pino({ level: "silent" });
const patience = { restartMs: 5, endingMs: 20 };

type Connected = (error: Error | undefined, client: PoolClient | undefined, release: Release) => void;
type Release = (broken?: Error | boolean) => void;

/** A runner that, once it has begun to end, says so and never comes to it. */
function endless(events: WorkerEvents): Runner {
  const begin = () => void events.emit("stop", { ctx: undefined as never });
  return {
    events,
    promise: new Promise<void>(() => undefined),
    stop: () => {
      begin();
      return new Promise<void>(() => undefined);
    },
  } as unknown as Runner;
}

/** The supervisor of such runners, with the events of each one that it has started: so far the first. */
async function superviseEndless() {
  const started: WorkerEvents[] = [];
  const jobs = superviseJobs(
    async (events) => {
      started.push(events);
      return endless(events);
    },
    logger,
    patience,
  );
  await eventually(() => Promise.resolve(expect(started).toHaveLength(1)));
  return { jobs, started };
}

test("a job that ends as its connection breaks is in a batch, whose failures somebody handles", async () => {
  const database = await createTestDatabase();
  const events = new EventEmitter() as WorkerEvents;
  let settings: object = {};
  events.once("pool:create", ({ ctx }) => (settings = ctx.resolvedPreset.worker));
  try {
    const runner = await runJobs(database.owner, { nothing: () => undefined }, events, logger);
    await runner.stop();
  } finally {
    await database.drop();
  }
  // Without a delay of its own, be it none, each would be completed alone, and its failure be nobody's: that ends the process.
  expect(settings).toMatchObject({ completeJobBatchDelay: 0, failJobBatchDelay: 0 });
});

test("what a runner listens with goes back once, also if it is lost while it is given back", async () => {
  const database = await createTestDatabase();
  const lend = database.owner.connect.bind(database.owner);
  const { promise: listening, reject: lose } = Promise.withResolvers<never>();
  let isAsked = false;
  let returned = 0;
  const listen = (connected?: Connected): unknown => {
    if (!connected) return lend();
    return lend((error, client, release) => {
      // It tries again once its pool has ended.
      if (!client) return connected(error, client, release);
      const ask = client.query.bind(client) as (...asked: unknown[]) => unknown;
      let isListening = false;
      client.query = ((...asked: unknown[]) => {
        if (!String(asked[0]).startsWith("LISTEN")) return ask(...asked);
        isAsked = true;
        isListening = true;
        return listening;
      }) as PoolClient["query"];
      connected(error, client, (broken) => {
        if (isListening) returned += 1;
        if (!isListening || returned === 1) release(broken);
      });
    });
  };
  Object.assign(database.owner, { connect: listen });
  try {
    const events = new EventEmitter() as WorkerEvents;
    const runner = await runJobs(database.owner, { nothing: () => undefined }, events, logger);
    await eventually(() => expect(isAsked).toBe(true));
    await runner.stop();
    expect(returned).toBe(1);
    lose(new Error("lost"));
    // Whoever listened hears of it, and gives back what it gives back in turn.
    for (let i = 0; i < 5; i += 1) await database.owner.query("select");
    expect(returned).toBe(1);
  } finally {
    await database.drop();
  }
});

test("a runner that has begun to end and does not is replaced", async () => {
  const { jobs, started } = await superviseEndless();
  started[0]!.emit("pool:gracefulShutdown", { ctx: undefined, workerPool: undefined, message: "" } as never);
  await eventually(() => Promise.resolve(expect(started).toHaveLength(2)));
  await jobs.stop();
  expect(started).toHaveLength(2);
});

test("a runner that is ending is left to finish the job that it is at", async () => {
  const { jobs, started } = await superviseEndless();
  const [events] = started;
  const timers = jest.spyOn(globalThis, "setTimeout");
  const waits = () => timers.mock.calls.filter(([, ms]) => ms === patience.endingMs).length;
  try {
    events!.emit("job:start", {} as never);
    events!.emit("pool:gracefulShutdown", {} as never);
    expect(waits()).toBe(0);
    events!.emit("job:complete", {} as never);
    expect(waits()).toBe(1);
  } finally {
    timers.mockRestore();
  }
  await eventually(() => Promise.resolve(expect(started).toHaveLength(2)));
  await jobs.stop();
});

test("a runner that fails is replaced, and one that cannot be started is tried again", async () => {
  let attempts = 0;
  const jobs = superviseJobs(
    (events) => {
      attempts += 1;
      if (attempts === 1) return Promise.reject(new Error("no database"));
      if (attempts === 2) {
        return Promise.resolve({ ...endless(events), promise: Promise.reject(new Error("lost")) });
      }
      return Promise.resolve(endless(events));
    },
    logger,
    patience,
  );
  await eventually(() => Promise.resolve(expect(attempts).toBe(3)));
  await jobs.stop();
});

test("a runner that comes when the worker has been stopped already is stopped as well", async () => {
  const starting = Promise.withResolvers<Runner>();
  let began = false;
  const jobs = superviseJobs(
    () => {
      began = true;
      return starting.promise;
    },
    logger,
    { restartMs: 60_000, endingMs: 20 },
  );
  await eventually(() => Promise.resolve(expect(began).toBe(true)));
  const stopping = jobs.stop();
  let stops = 0;
  const ended = Promise.withResolvers<void>();
  const stop = () => {
    stops += 1;
    ended.resolve();
    return Promise.resolve();
  };
  starting.resolve({ promise: ended.promise, stop } as unknown as Runner);
  // Without waiting for the pause that comes before another one.
  await stopping;
  expect(stops).toBe(1);
});

const FAILURE = { code: "57P01" };
const JOB = { id: "7", task_identifier: "send_mails", payload: { quoted: true } };
const ABOUT = { task: "send_mails", jobId: "7" };
test.each<["error" | "warn" | "info" | "debug", Record<string, unknown>, unknown[]]>([
  ["error", { job: JOB, error: FAILURE }, ["warn", { ...ABOUT, err: FAILURE }]],
  ["error", { fatalError: FAILURE }, ["warn", { err: FAILURE }]],
  ["warn", { error: FAILURE }, ["warn", { err: FAILURE }]],
  ["info", { job: JOB, duration: 1.5 }, ["debug", { ...ABOUT, durationMs: 1.5 }]],
  ["info", {}, []],
])("of what a runner says as %s with %j the log has no message, which quotes", (level, meta, expected) => {
  const said: unknown[] = [];
  const say =
    (as: string) =>
    (about: object, text: string): void => {
      expect(text).not.toContain("quotes");
      said.push(as, about);
    };
  graphileLogger({ warn: say("warn"), debug: say("debug") } as unknown as Logger)[level]("it quotes", meta);
  expect(said).toEqual(expected);
});

test("a connection that a runner gives back twice goes back once, also as a broken one", async () => {
  const released: unknown[] = [];
  const given = {
    connect: (connected: (error: undefined, client: object, release: (broken?: unknown) => void) => void) =>
      connected(undefined, {}, (broken) => {
        if (released.length > 0) throw new Error("Release called on client which has already been released.");
        released.push(broken);
      }),
  };
  forgiving(given as unknown as Pool).connect((_error, _client, release) => {
    release(true);
    release();
  });
  expect(released).toEqual([true]);
  const lent = { connect: () => Promise.resolve("a client") };
  expect(await forgiving(lent as unknown as Pool).connect()).toBe("a client");
});

test("whoever asks a pool that has ended is told so, and gives nothing back", async () => {
  const pool = new pg.Pool();
  await pool.end();
  const answered = jest.fn<Connected>((_error, _client, release?: Release) => release?.());
  forgiving(pool).connect(answered);
  expect(answered.mock.calls).toEqual([[expect.any(Error), undefined, undefined]]);
});
