// When readers of the embedded store are started, ended and given up, and whose turn it is: with a clock of the test's.
import { performance } from "node:perf_hooks";
import type { Readable } from "node:stream";
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { Copy, sizeOf } from "../graph/embedded/copy.ts";
import type { Entry } from "../graph/embedded/format.ts";
import { Pace } from "../graph/embedded/pace.ts";
import { ReaderPool } from "../graph/embedded/readers.ts";
import { TaskTimeout, ThreadGone } from "../graph/embedded/tasks.ts";
import type { Answer, Image } from "../graph/embedded/tasks.ts";
import { StoreThread } from "../graph/embedded/thread.ts";
import { readAll } from "../graph/store-http.ts";
import { eventually } from "./support/eventually.ts";
import { question } from "./support/store-question.ts";

const STATE = question("SELECT ?n { <urn:s> <urn:p> ?n }");
const imageOf = (value: number, sequence = 0): Image => ({
  sequence,
  quads: new TextEncoder().encode(`<urn:s> <urn:p> "${value}" <urn:g> .\n`),
});
const imageOfSize = (bytes: number): Image => ({ sequence: 1, quads: new Uint8Array(bytes) });
const comment = (sequence: number, length: number): Entry => ({
  sequence,
  change: { kind: "update", sparql: `INSERT DATA { } #${"x".repeat(length - 17)}` },
});
const NUMBERS = Array.from({ length: 100 }, (_, i) => i).join(" ");
/** More than may be on its way at once. */
const LONG = question(
  `SELECT * { VALUES ?a { ${NUMBERS} } VALUES ?b { ${NUMBERS} } VALUES ?c { "${"x".repeat(300)}" } }`,
);
/** Holds a thread until it is ended. */
const ENDLESS = question(
  `SELECT (COUNT(*) AS ?n) { ${["a", "b", "c", "d", "e", "f"].map((name) => `VALUES ?${name} { ${NUMBERS} }`).join(" ")} }`,
);

describe("a pool of readers", () => {
  let now: number;
  let images: number;
  let image: () => Promise<Image>;
  let pool: ReaderPool;
  let fill: jest.SpiedFunction<Copy["fill"]>;
  beforeEach(() => {
    now = 1_000_000;
    jest.spyOn(performance, "now").mockImplementation(() => now);
    fill = jest.spyOn(Copy.prototype, "fill");
    images = 0;
    image = () => Promise.resolve(imageOf(1));
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    pool.stop();
  });

  function start(minimum: number, maximum: number, minimumAtRest = minimum, isCalm = true): void {
    pool = new ReaderPool({
      minimum,
      minimumAtRest,
      maximum,
      queryTimeoutMs: 60_000,
      changeTimeoutMs: 60_000,
      image: () => {
        images += 1;
        return image();
      },
      pace: { isCalm },
    });
    pool.start();
  }
  async function made(count: number): Promise<void> {
    await eventually(() => expect(fill).toHaveBeenCalledTimes(count));
    await Promise.all(fill.mock.results.map(({ value }) => value as Promise<void>));
    await turn();
  }
  async function ask(signal?: AbortSignal): Promise<number> {
    const answer = await pool.ask(STATE, signal);
    return Number(new TextDecoder().decode(answer as Uint8Array).split("\r\n")[1]);
  }
  /** Keeps a reader busy until what it has answered is thrown away. */
  const hold = async () => (await pool.ask(LONG)) as Readable;

  test("has one more when all have been busy for a while, and ends it when it has had nothing to do for long", async () => {
    start(1, 2);
    await made(1);
    const held = await hold();
    now += 200;
    pool.tick();
    expect(images).toBe(1);
    now += 1;
    pool.tick();
    expect(images).toBe(2);
    await made(2);
    now += 100_000;
    const another = await hold();
    pool.tick();
    // There are as many as there may be.
    expect(images).toBe(2);
    const ended = jest.spyOn(Copy.prototype, "end");
    await Promise.all([readAll(held), readAll(another)]);
    await turn();
    now += 30_000;
    pool.tick();
    expect(ended).not.toHaveBeenCalled();
    now += 1;
    pool.tick();
    expect(ended).toHaveBeenCalledTimes(1);
    now += 100_000;
    pool.tick();
    expect(ended).toHaveBeenCalledTimes(1);
    expect(images).toBe(2);
  });

  test("has one more in a bulk of changes only when all are worn, and that they are busy wears none of them", async () => {
    start(1, 2, 1, false);
    await made(1);
    const held = await hold();
    pool.tick();
    expect(images).toBe(1);
    jest.spyOn(Copy.prototype, "usedRoom", "get").mockReturnValue(2 / 3);
    pool.tick();
    expect(images).toBe(2);
    held.destroy();
  });

  test("has as many ready as callers need once one has asked, and fewer when none has for long", async () => {
    start(3, 4, 1);
    await made(1);
    now += 1_000;
    pool.tick();
    await pool.ask(question("ASK {}", true));
    pool.tick();
    // The service's own questions are none of theirs.
    expect(images).toBe(1);
    expect(await ask()).toBe(1);
    pool.tick();
    await made(3);
    const ended = jest.spyOn(Copy.prototype, "end");
    now += 300_000;
    pool.tick();
    expect(ended).not.toHaveBeenCalled();
    now += 1;
    pool.tick();
    expect(ended).toHaveBeenCalledTimes(2);
    pool.tick();
    expect(ended).toHaveBeenCalledTimes(2);
    expect(images).toBe(3);
    expect(await ask()).toBe(1);
    pool.tick();
    await made(5);
  });

  test("has one more at once for a question that would wait, up to as many as there may be", async () => {
    start(1, 2);
    await made(1);
    const held = await hold();
    const asked = ask();
    await turn();
    expect(images).toBe(2);
    expect(await asked).toBe(1);
    const another = await hold();
    const waiting = [ask(), ask()];
    await turn();
    expect(images).toBe(2);
    held.destroy();
    another.destroy();
    expect(await Promise.all(waiting)).toEqual([1, 1]);
  });

  test("gives no reader to a caller who has left the line", async () => {
    start(1, 1);
    await made(1);
    const held = await hold();
    const caller = new AbortController();
    const left = ask(caller.signal);
    caller.abort(new Error("I have left."));
    await expect(left).rejects.toThrow("I have left.");
    held.destroy();
    expect(await ask()).toBe(1);
    expect(images).toBe(1);
  });

  test("asks a reader nothing for a caller who leaves when it is given to them, and has it for the next", async () => {
    start(1, 1);
    await made(1);
    const asked = jest.spyOn(Copy.prototype, "ask");
    const held = await hold();
    const caller = new AbortController();
    // As soon as there is a reader it is waited for no more.
    jest.spyOn(caller.signal, "removeEventListener").mockImplementationOnce(() => {
      caller.abort(new Error("I have left."));
    });
    const left = ask(caller.signal);
    held.destroy();
    await expect(left).rejects.toThrow("I have left.");
    expect(asked).toHaveBeenCalledTimes(1);
    expect(await ask()).toBe(1);
    expect(images).toBe(1);
  });

  test("gives nobody who waits a reader that has ended", async () => {
    start(1, 1);
    await made(1);
    const asked = jest.spyOn(Copy.prototype, "ask");
    const failure = pool.ask(ENDLESS).catch((error: unknown) => error);
    await turn();
    const waiting = [ask(), ask(), ask(), ask()];
    await turn();
    (fill.mock.contexts[0] as Copy).end();
    expect(await failure).toBeInstanceOf(ThreadGone);
    // Whoever asks it in vain may do so three times only, and each would hand it on to the next.
    expect(await Promise.all(waiting)).toEqual([1, 1, 1, 1]);
    expect(asked).toHaveBeenCalledTimes(5);
  });

  test("ends a reader half a second after its caller has left", async () => {
    start(1, 1);
    await made(1);
    jest.useFakeTimers({ doNotFake: ["setImmediate", "performance", "nextTick", "queueMicrotask"] });
    const ended = jest.spyOn(Copy.prototype, "end");
    const caller = new AbortController();
    const asking = pool.ask(ENDLESS, caller.signal);
    const failure = asking.catch((error: unknown) => error);
    await turn();
    caller.abort();
    jest.advanceTimersByTime(499);
    expect(ended).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(ended).toHaveBeenCalledTimes(1);
    expect(await failure).toBeInstanceOf(ThreadGone);
    expect(images).toBe(2);
  });

  test.each([
    ["half a second later", true],
    ["when its caller left", false],
  ])("leaves a reader alone that was done %s", async (_, isEarly) => {
    start(1, 1);
    await made(1);
    jest.useFakeTimers({ doNotFake: ["setImmediate", "performance", "nextTick", "queueMicrotask"] });
    const ended = jest.spyOn(Copy.prototype, "end");
    const { promise, resolve } = Promise.withResolvers<Answer>();
    jest.spyOn(Copy.prototype, "ask").mockReturnValueOnce(promise);
    const caller = new AbortController();
    const asking = pool.ask(STATE, caller.signal);
    await turn();
    if (isEarly) caller.abort();
    resolve({ sequence: 0, bytes: new Uint8Array() });
    await asking;
    await turn();
    // Of whoever has been answered the connection is closed as well, when the next one may be at it.
    caller.abort();
    jest.advanceTimersByTime(10_000);
    expect(ended).not.toHaveBeenCalled();
  });

  test("breaks off an answer that has begun when its reader ends, so that nobody waits for the rest", async () => {
    start(1, 1);
    await made(1);
    const begun = await hold();
    pool.stop();
    await eventually(() => expect(begun.destroyed).toBe(true), 30_000);
    expect(begun.errored).toBeInstanceOf(ThreadGone);
  });

  test("that is stopped tells those who wait", async () => {
    image = () => new Promise(() => undefined);
    start(1, 1);
    const asking = ask();
    pool.stop();
    await expect(asking).rejects.toThrow(ThreadGone);
    await expect(ask()).rejects.toThrow(ThreadGone);
  });

  test("asks for an image again when there was none, a second later", async () => {
    const times: bigint[] = [];
    image = () => {
      times.push(process.hrtime.bigint());
      return images > 1 ? Promise.resolve(imageOf(1)) : Promise.reject(new ThreadGone("It is gone."));
    };
    start(1, 1);
    expect(await ask()).toBe(1);
    expect(images).toBe(2);
    // A timer may be a millisecond early.
    expect(Number(times[1]! - times[0]!) / 1e6).toBeGreaterThan(990);
  });

  test("that is renewed uses no image that it has asked for before", async () => {
    const { promise, resolve } = Promise.withResolvers<Image>();
    image = () => (images === 1 ? promise : Promise.resolve(imageOf(2)));
    start(1, 1);
    pool.renew();
    resolve(imageOf(1));
    expect(await ask()).toBe(2);
    expect(fill).toHaveBeenCalledTimes(1);
  });

  test("that is renewed uses no copy that was being filled", async () => {
    fill.mockRestore();
    // oxlint-disable-next-line typescript/unbound-method -- it is applied to each copy below
    const filling = Copy.prototype.fill;
    let isFirst = true;
    fill = jest.spyOn(Copy.prototype, "fill").mockImplementation(async function (this: Copy, ...args) {
      await filling.apply(this, args);
      if (isFirst) {
        isFirst = false;
        image = () => Promise.resolve(imageOf(2));
        pool.renew();
      }
    });
    start(1, 1);
    expect(await ask()).toBe(2);
    // Nor does it take the place of another one.
    image = () => Promise.resolve(imageOf(3, 1));
    pool.push({ sequence: 1, change: { kind: "update", sparql: "INSERT" } });
    const asking = ask().catch((error: unknown) => error);
    await eventually(() => expect(images).toBe(3));
    expect(await asking).toBe(3);
  });
});

describe("a copy", () => {
  let copy: Copy;
  beforeEach(() => {
    copy = new Copy(60_000);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    copy.end();
  });

  test("is behind by what it has not applied yet, and by nothing that its image has", async () => {
    copy.push(comment(1, 10_000_000));
    copy.push(comment(2, 12_000_000));
    expect(copy.behindBytes).toBe(22_000_000);
    await copy.fill(imageOf(1, 2), () => undefined);
    expect(copy.behindBytes).toBe(0);
    expect(copy.usedRoom).toBe(0);
    copy.push(comment(3, 1_000));
    expect(copy.behindBytes).toBe(1_000);
    expect(copy.isWorking).toBe(false);
    copy.catchUp();
    expect(copy.isWorking).toBe(true);
    expect(copy.behindBytes).toBe(1_000);
    await eventually(() => expect(copy.behindBytes).toBe(0), 20_000);
    expect(copy.isWorking).toBe(false);
    expect(copy.usedRoom).toBeGreaterThan(0);
  });

  test("has room for 16 MiB of changes, and a query has 256 MiB beside them", async () => {
    await copy.fill(imageOf(1), () => undefined);
    copy.push(comment(1, 16 * 1024 * 1024 - 1));
    expect(copy.usedRoom).toBeLessThan(1);
    const doublings = Array.from({ length: 23 }, (_, i) => `BIND(CONCAT(?v${i}, ?v${i}) AS ?v${i + 1})`);
    const sparql = `SELECT (STRLEN(?v23) AS ?n) { BIND("0123456789" AS ?v0) ${doublings.join(" ")} }`;
    const { bytes } = await copy.ask({ ...question(sparql), after: 1 }, 60_000, () => undefined);
    expect(new TextDecoder().decode(bytes)).toContain(String(10 * 2 ** 23));
  });

  // In MiB: what its image has, what its thread took and has free of it, and for how much there is room.
  test.each([
    [0, 192, 0, 16],
    [0, 72, 0, 16],
    [0, 72, 240, 30],
    [40, undefined, 0, 20],
    [100, 0, 0, 1_792 / 12],
  ])("of %i MiB that took %s, of which %i are free, has room for %f", async (size, taken, free, room) => {
    const MIB = 1024 * 1024;
    const memoryBytes = taken === undefined ? undefined : taken * MIB;
    const answer = { sequence: 1, memoryBytes, freeBytes: free * MIB };
    jest.spyOn(StoreThread.prototype, "ask").mockResolvedValue(answer);
    await copy.fill(imageOfSize(size * MIB), () => undefined);
    copy.push(comment(2, MIB));
    expect(1 / copy.usedRoom).toBeCloseTo(room, 6);
  });

  test.each([
    [192, 16],
    [72, 120],
  ])("that took %i MiB is used up when changes took %i more", async (taken, growth) => {
    const MIB = 1024 * 1024;
    const ask = jest.spyOn(StoreThread.prototype, "ask");
    ask.mockResolvedValue({ sequence: 1, memoryBytes: taken * MIB, freeBytes: 0 });
    await copy.fill(imageOfSize(0), () => undefined);
    copy.push(comment(2, 100));
    ask.mockResolvedValue({ sequence: 2, grownBytes: growth * MIB });
    copy.catchUp();
    await eventually(() => expect(copy.behindBytes).toBe(0), 10_000);
    expect(copy.usedRoom).toBe(1);
  });

  test("counts a graph that is loaded by its bytes, and one that is removed for nothing", () => {
    const load = {
      kind: "load",
      graph: null,
      type: "text/turtle",
      data: new Uint8Array(7),
      replace: true,
    } as const;
    expect([load, { kind: "drop", graph: null } as const].map(sizeOf)).toEqual([7, 0]);
  });
});

test("128 KiB between two ticks are few, and a byte more is a bulk", () => {
  const pace = new Pace(() => 0);
  pace.push(100 * 1024);
  pace.push(28 * 1024);
  expect(pace.isCalm).toBe(true);
  pace.tick();
  pace.push(100 * 1024);
  pace.push(28 * 1024 + 1);
  expect(pace.isCalm).toBe(false);
});

test("a thread has the time that a task is given from when it begins, and none is left from the one before", async () => {
  const thread = new StoreThread({ background: false }, () => undefined);
  try {
    await thread.ask({ ...STATE, after: 0 }, 60_000);
    jest.useFakeTimers({ doNotFake: ["setImmediate", "performance", "nextTick", "queueMicrotask"] });
    const first = thread.ask({ ...STATE, after: 0 }, 1_000);
    const second = thread.ask({ ...ENDLESS, after: 0 }, 3_000);
    const failure = second.catch((error: unknown) => error);
    await first;
    jest.advanceTimersByTime(2_999);
    expect(thread.gone).toBe(false);
    jest.advanceTimersByTime(1);
    expect(thread.gone).toBe(true);
    expect(await failure).toBeInstanceOf(TaskTimeout);
  } finally {
    jest.useRealTimers();
    thread.end();
  }
});

test("a thread makes no more of an answer than sixteen pieces beyond what was taken", async () => {
  const thread = new StoreThread({ background: false }, () => undefined);
  try {
    let made = 0;
    let taken = 0;
    let most = 0;
    const onPiece = () => {
      made += 1;
      most = Math.max(most, made - taken);
    };
    const state = { isDone: false };
    const asking = thread.ask({ ...LONG, after: 0 }, 60_000, [], onPiece).then(() => (state.isDone = true));
    while (!state.isDone) {
      if (taken === 0) {
        await eventually(() => expect(made).toBeGreaterThanOrEqual(16));
        // Longer than all of it would take.
        await pause(500);
      }
      const before = taken;
      await eventually(() => expect(state.isDone || made > before).toBe(true));
      for (; taken < made; taken++) thread.taken();
    }
    await asking;
    expect(made).toBeGreaterThan(16);
    expect(most).toBe(16);
  } finally {
    thread.end();
  }
});
