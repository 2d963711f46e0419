// Threads of the embedded store as those see them who start them: what they are given, and what their end means. Others stand
// in for the threads, which end when the test says so.
import { EventEmitter } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import type { FrontMessage } from "../graph/embedded/front.ts";
import type { Fault, Reply, Task } from "../graph/embedded/tasks.ts";

class StandIn extends EventEmitter {
  static readonly made: StandIn[] = [];
  readonly file: string;
  readonly options: Record<string, unknown>;
  readonly sent: unknown[][] = [];
  terminations = 0;

  constructor(file: string, options: Record<string, unknown>) {
    super();
    this.file = file;
    this.options = options;
    StandIn.made.push(this);
  }

  postMessage(...sent: unknown[]): void {
    this.sent.push(sent);
  }

  terminate(): Promise<number> {
    this.terminations += 1;
    return Promise.resolve(1);
  }
}

jest.unstable_mockModule("node:worker_threads", () => ({ Worker: StandIn }));
const { StoreThread } = await import("../graph/embedded/thread.ts");
const { NotBegun, TaskRefused, TaskTimeout, TaskTooLarge, ThreadGone } =
  await import("../graph/embedded/tasks.ts");
const { startEmbeddedStore, StoreInUse } = await import("../graph/embedded/index.ts");

const MIB = 1024 * 1024;
const DUMP: Task = { kind: "dump" };
const outOfMemory = Object.assign(new Error("heap"), { code: "ERR_WORKER_OUT_OF_MEMORY" });
const failed = (fault: Fault): Reply => ({ ok: false, message: "no", fault });
const last = () => StandIn.made.at(-1)!;

afterEach(() => {
  jest.useRealTimers();
});

describe("a thread", () => {
  function start(options: { background?: boolean; maxBytes?: number } = {}) {
    const gone: unknown[] = [];
    const thread = new StoreThread({ background: false, ...options }, (which) => gone.push(which));
    const worker = last();
    return { thread, worker, gone, reply: (reply: Reply) => worker.emit("message", reply) };
  }
  /** The error that a task fails with, as soon as it does; undefined if nothing has become of it yet. */
  const fails = (task: Promise<unknown>) =>
    Promise.race([
      task.then(
        () => undefined,
        (error: unknown) => error as Error,
      ),
      turn(),
    ]);

  test.each([
    [100 * MIB, { maxOldGenerationSizeMb: 256 }],
    [256 * MIB, { maxOldGenerationSizeMb: 256 }],
    [448 * MIB, { maxOldGenerationSizeMb: 448 }],
    [undefined, undefined],
  ])("whose engine may take %s bytes has as much for JavaScript, but 256 MB at least", (maxBytes, limits) => {
    const { worker } = start({ background: true, maxBytes });
    expect(worker.options["resourceLimits"]).toEqual(limits);
    expect(worker.options["execArgv"]).toEqual([]);
    expect(worker.options["workerData"]).toMatchObject({ background: true, maxBytes });
    expect(worker.file).toMatch(/store-thread\.ts$/);
  });

  test.each<[string, (worker: StandIn) => void, new (message?: string) => Error, RegExp]>([
    ["runs out of memory", (worker) => worker.emit("error", outOfMemory), TaskTooLarge, /out of memory/],
    ["fails", (worker) => worker.emit("error", new Error("it broke")), ThreadGone, /it broke/],
    ["ends", (worker) => worker.emit("exit", 1), ThreadGone, /ended/],
    [
      "has a broken engine",
      (worker) => worker.emit("message", failed("engine")),
      TaskTooLarge,
      /too much for the store \(no\)/,
    ],
    [
      "is not what it should be a copy of",
      (worker) => worker.emit("message", failed("copy")),
      NotBegun,
      /^no$/,
    ],
  ])("that %s fails what it is at, and has begun nothing behind it", async (_, end, kind, message) => {
    const { thread, worker, gone } = start();
    const [first, second] = [thread.ask(DUMP, 1_000), thread.ask(DUMP, 1_000)] as const;
    expect(thread.waiting).toBe(2);
    end(worker);
    worker.emit("exit", 1);
    const errors = await Promise.all([first, second, thread.ask(DUMP, 1_000)].map(fails));
    expect(errors.map((error) => error?.constructor)).toEqual([kind, NotBegun, NotBegun]);
    expect(errors[0]!.message).toMatch(message);
    expect([thread.gone, thread.waiting, worker.terminations, worker.sent.length]).toEqual([true, 0, 1, 2]);
    expect(gone).toEqual([thread]);
    // What was on its way when it ended comes to nobody.
    worker.emit("message", { ok: true, answer: { sequence: 1 } } satisfies Reply);
  });

  test("that refuses a task goes on with the next, and gives each its own answer and pieces", async () => {
    const { thread, worker, reply } = start();
    const pieces: string[] = [];
    const asked = ["a", "b", "c"].map((name) =>
      thread.ask(DUMP, 1_000, [], (bytes) => pieces.push(name + String(bytes[0]))),
    );
    const refused = fails(asked[1]!);
    reply({ piece: Uint8Array.of(1) });
    reply({ ok: true, answer: { sequence: 1 } });
    reply({ piece: Uint8Array.of(2) });
    reply(failed("task"));
    reply({ piece: Uint8Array.of(3) });
    expect(thread.waiting).toBe(1);
    reply({ ok: true, answer: { sequence: 3 } });
    expect(await asked[0]).toEqual({ sequence: 1 });
    expect(await refused).toEqual(new TaskRefused("no"));
    expect((await refused)!.constructor).toBe(TaskRefused);
    expect(await asked[2]).toEqual({ sequence: 3 });
    expect(pieces).toEqual(["a1", "b2", "c3"]);
    expect([thread.gone, thread.waiting, worker.terminations]).toEqual([false, 0, 0]);
    thread.end();
  });

  test("that takes longer than a task may is ended, and no time runs while it has nothing to do", async () => {
    jest.useFakeTimers();
    const { thread, worker, reply } = start();
    const first = thread.ask(DUMP, 1_000);
    jest.advanceTimersByTime(999);
    reply({ ok: true, answer: { sequence: 1 } });
    await first;
    jest.advanceTimersByTime(1_000_000);
    expect(thread.gone).toBe(false);
    const second = fails(thread.ask(DUMP, 1_000));
    jest.advanceTimersByTime(1_000);
    expect((await second)!.constructor).toBe(TaskTimeout);
    expect([worker.terminations, jest.getTimerCount()]).toEqual([1, 0]);
  });

  test("is given what it shall not copy, and sees how much was taken of what it made", () => {
    const { thread, worker } = start();
    const { buffer } = new Uint8Array(3);
    void thread.ask(DUMP, 1_000, [buffer]).catch(() => undefined);
    expect(worker.sent).toEqual([[DUMP, [buffer]]]);
    const { taken } = worker.options["workerData"] as { taken: Int32Array };
    expect(taken.buffer).toBeInstanceOf(SharedArrayBuffer);
    thread.taken();
    thread.taken();
    expect(taken[0]).toBe(2);
    thread.end();
  });
});

describe("the store", () => {
  const told: string[] = [];
  afterEach(() => {
    told.length = 0;
  });

  function start(more: { port?: number; queryTimeoutMs?: number } = {}) {
    const starting = startEmbeddedStore({
      dir: "here",
      ...more,
      onFailure: ({ message }) => told.push(`failed: ${message}`),
      onWarning: (message) => told.push(`warning: ${message}`),
    });
    const worker = last();
    return { starting, worker, say: (message: FrontMessage) => worker.emit("message", message) };
  }
  const LISTENING: FrontMessage = { kind: "listening", port: 4_711, password: "p/w" };

  test("has any free port and half a minute for a query, if nobody says otherwise", () => {
    const data = [start(), start({ port: 1, queryTimeoutMs: 2 })].map(({ starting, worker }) => {
      starting.catch(() => undefined);
      worker.emit("exit", 0);
      return worker.options;
    });
    expect(data).toEqual([
      { execArgv: [], workerData: { dir: "here", port: 0, queryTimeoutMs: 30_000 } },
      { execArgv: [], workerData: { dir: "here", port: 1, queryTimeoutMs: 2 } },
    ]);
  });

  test("says where it is, warns, and is told to stop, for which it has half a minute", async () => {
    const { starting, worker, say } = start();
    say({ kind: "warning", message: "set aside" });
    say(LISTENING);
    const store = await starting;
    expect([store.url, store.port]).toEqual(["http://embedded:p%2Fw@127.0.0.1:4711/engagement", 4_711]);
    jest.useFakeTimers();
    const stopped = store.stop();
    expect(worker.sent).toEqual([["stop", []]]);
    jest.advanceTimersByTime(29_999);
    expect(worker.terminations).toBe(0);
    jest.advanceTimersByTime(1);
    expect(worker.terminations).toBe(1);
    worker.emit("exit", 1);
    await stopped;
    expect(told).toEqual(["warning: set aside"]);
  });

  test("that ends by itself says so once", async () => {
    const { starting, worker, say } = start();
    say(LISTENING);
    await starting;
    worker.emit("error", new Error("it broke"));
    worker.emit("exit", 1);
    expect(told).toEqual(["failed: it broke"]);
    const another = start();
    another.say(LISTENING);
    await another.starting;
    another.worker.emit("exit", 0);
    expect(told.slice(1)).toEqual(["failed: The embedded graph store ended."]);
  });

  test.each<[string, (worker: StandIn) => void, string, boolean]>([
    [
      "cannot start",
      (worker) => worker.emit("message", { kind: "failed", message: "EADDRINUSE" } satisfies FrontMessage),
      "EADDRINUSE",
      false,
    ],
    [
      "is in use",
      (worker) =>
        worker.emit("message", {
          ...{ kind: "failed", message: "in use", inUseAt: "http://there" },
        } satisfies FrontMessage),
      "The graph store is in use by another process, which serves it at http://there.",
      true,
    ],
    ["breaks before it listens", (worker) => worker.emit("error", new Error("it broke")), "it broke", false],
  ])("that %s is an error of whoever starts it, and no failure later", async (_, end, message, isInUse) => {
    const { starting, worker } = start();
    end(worker);
    worker.emit("exit", 1);
    const error = await starting.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ message });
    expect(error instanceof StoreInUse).toBe(isInUse);
    expect(told).toEqual([]);
  });
});
