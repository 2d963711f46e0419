// Whether a dependency is there, by a clock that the test sets: when it is asked, what its silence means, who is told.
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import {
  GraphFailed,
  GraphRejected,
  GraphTimeout,
  GraphUnavailable,
  GraphUnreachable,
} from "../graph/store.ts";
import type { CallOptions, GraphStore, StoreResponse } from "../graph/store.ts";
import { within } from "../process/patience.ts";
import { Pulse, SilentWay } from "../process/pulse.ts";
import { attended, pulseOf } from "../process/store-pulse.ts";
import { whileAlive } from "../server/postgres/heartbeat.ts";
import { DatabaseUnavailable } from "../server/postgres/unavailable.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(30_000);

const turn = () => new Promise(setImmediate);

let now: number;
let timers: Map<object, { work: () => void; ms: number }>;
beforeEach(() => {
  now = 1_000_000;
  timers = new Map();
  const begin = ((work: () => void, ms: number) => {
    const handle = { unref: () => handle };
    timers.set(handle, { work, ms });
    return handle;
  }) as unknown as typeof setTimeout;
  const end = (handle: unknown) => void timers.delete(handle as object);
  jest.spyOn(performance, "now").mockImplementation(() => now);
  jest.spyOn(globalThis, "setInterval").mockImplementation(begin);
  jest.spyOn(globalThis, "clearInterval").mockImplementation(end);
  jest.spyOn(globalThis, "setTimeout").mockImplementation(begin);
  jest.spyOn(globalThis, "clearTimeout").mockImplementation(end);
});
afterEach(async () => {
  for (const finish of unfinished.splice(0)) await finish();
  jest.restoreAllMocks();
});
const unfinished: (() => Promise<void>)[] = [];

/** What happens every so many milliseconds, or once after so many. */
const due = (ms: number) =>
  [...timers.values()].filter((timer) => timer.ms === ms).forEach(({ work }) => work());

/** A dependency of which the test answers each question, and its pulse. */
function patient({ askAfterMs = 500 } = {}) {
  const asked: PromiseWithResolvers<boolean>[] = [];
  const late: AbortSignal[] = [];
  const pulse = new Pulse({
    ask: (signal) => {
      const answer = Promise.withResolvers<boolean>();
      asked.push(answer);
      late.push(signal);
      return answer.promise;
    },
    ...{ askAfterMs, patienceMs: 1_000 },
  });
  unfinished.push(() => {
    for (const answer of asked) answer.resolve(true);
    return pulse.stop();
  });
  const heard: boolean[] = [];
  pulse.onChange((isDown) => heard.push(isDown));
  const fail = async (number: number) => {
    asked[number]!.reject(new Error("nobody"));
    await turn();
  };
  return { asked, late, pulse, heard, fail };
}

describe("a pulse", () => {
  test("is felt once somebody has waited for as long as allowed, and while anybody waits", async () => {
    const { asked, pulse } = patient();
    const waiting = pulse.attend(() => undefined);
    now += 499;
    due(250);
    expect(asked).toHaveLength(0);
    now += 1;
    due(250);
    expect(asked).toHaveLength(1);
    // Who asks meanwhile shares the answer.
    due(250);
    expect(asked).toHaveLength(1);
    asked[0]!.resolve(true);
    await turn();
    due(250);
    expect(asked).toHaveLength(2);
    asked[1]!.resolve(true);
    await turn();
    waiting.end();
    due(250);
    expect(asked).toHaveLength(2);
    expect(timers.size).toBe(0);
    // Nor is who comes later forgotten.
    pulse.attend(() => undefined);
    now += 500;
    due(250);
    expect(asked).toHaveLength(3);
  });

  test("goes by whoever has waited longest, not by who came last", () => {
    const { asked, pulse } = patient();
    pulse.attend(() => undefined);
    now += 400;
    pulse.attend(() => undefined);
    // One clock is enough for all who wait: another for each would go on for good.
    expect(timers.size).toBe(1);
    now += 100;
    due(250);
    expect(asked).toHaveLength(1);
  });

  test("that is not there fails all who wait, is told once, and looked for until it is back, which is told as well", async () => {
    const { asked, late, pulse, heard, fail } = patient();
    const failed: string[] = [];
    for (const name of ["a", "b"]) pulse.attend((cause) => failed.push(`${name} ${cause.message}`));
    const beat = pulse.beat();
    await fail(0);
    expect(await beat).toBe(false);
    expect(late[0]!.aborted).toBe(true);
    expect([failed, heard, pulse.isDown, pulse.outages]).toEqual([["a nobody", "b nobody"], [true], true, 1]);
    due(200);
    expect(asked).toHaveLength(2);
    await fail(1);
    expect([heard, pulse.outages]).toEqual([[true], 1]);
    due(200);
    asked[2]!.resolve(true);
    await turn();
    expect([heard, pulse.isDown, pulse.outages]).toEqual([[true, false], false, 1]);
    await Promise.all([pulse.beat(), fail(3)]);
    expect([heard, pulse.outages]).toEqual([[true, false, true], 2]);
  });

  test("of somebody who answers and cannot be used is one, and that is said", async () => {
    const { asked, pulse, heard } = patient();
    const beat = pulse.beat();
    asked[0]!.resolve(false);
    expect(await beat).toBe(false);
    expect([pulse.isDown, heard]).toEqual([false, []]);
  });

  test("of somebody busy with others is theirs: an answer to them since the question is a sign of life, one before is none", async () => {
    const { pulse, fail } = patient();
    const waiting = pulse.attend(() => undefined);
    const beat = pulse.beat();
    now += 1;
    waiting.answered();
    await fail(0);
    expect([await beat, pulse.isDown]).toEqual([true, false]);
    now += 1;
    const next = pulse.beat();
    await fail(1);
    expect([await next, pulse.isDown]).toEqual([false, true]);
  });

  test.each([
    ["was there before the question that nobody answered is a sign of life for the next one", 0, true],
    ["is newer than the question that nobody answered is none", 1, false],
  ])("felt on a way that is silent: an answer on another one that %s", async (_, later, isThere) => {
    const { asked, pulse, fail } = patient();
    const busy = pulse.attend(() => undefined);
    const beat = pulse.beat();
    const other = pulse.attend(() => undefined, now + later);
    now += 1;
    busy.answered();
    await fail(0);
    expect(await beat).toBe(true);
    // The next question is under way by the time that the answer comes.
    now += 1;
    const next = pulse.beat();
    other.answered();
    asked[1]!.reject(new SilentWay());
    expect([await next, pulse.isDown]).toEqual([isThere, !isThere]);
  });

  test("that is not there is looked for once at a time, whoever asks for it meanwhile, and no more when nobody wants it", async () => {
    const { pulse, fail } = patient();
    for (const number of [0, 1]) {
      const beat = pulse.beat();
      await fail(number);
      expect(await beat).toBe(false);
    }
    const retries = () => [...timers.values()].filter(({ ms }) => ms === 200);
    expect(retries()).toHaveLength(1);
    await pulse.stop();
    expect(retries()).toEqual([]);
  });

  test("that nobody wants any more is not felt again", async () => {
    const { asked, pulse, fail } = patient();
    pulse.attend(() => undefined);
    void pulse.beat();
    let stopped = false;
    const stopping = pulse.stop().then(() => (stopped = true));
    await turn();
    // What is under way ends first.
    expect(stopped).toBe(false);
    await fail(0);
    await stopping;
    expect(timers.size).toBe(0);
    expect(asked).toHaveLength(1);
  });
});

describe("where somebody answers who is asked anew, and a question from before has no answer still", () => {
  const silent = async (asked: PromiseWithResolvers<boolean>[], number: number) => {
    asked[number]!.reject(new SilentWay("Nothing gets through."));
    await turn();
  };
  /** A question that has no answer in time, while somebody else is answered on a way that was made when it is said. */
  async function unanswered(madeAt: number) {
    const felt = patient();
    void felt.pulse.beat();
    now += 1;
    felt.pulse.attend(() => undefined, madeAt).answered();
    await felt.fail(0);
    expect(felt.heard).toEqual([]);
    void felt.pulse.beat();
    return felt;
  }

  test("that one way is lost, and no other, if others from before the question are answered", async () => {
    const { asked, heard } = await unanswered(now);
    await silent(asked, 1);
    expect(heard).toEqual([]);
  });

  test("all ways from before may be lost if only those made since are answered", async () => {
    const { asked, heard } = await unanswered(now + 1);
    await silent(asked, 1);
    expect(heard).toEqual([true]);
  });

  test("an answer that comes while it is asked anew tells as much of the question from before", async () => {
    const before = now;
    const { asked, pulse, heard } = await unanswered(now + 1);
    pulse.attend(() => undefined, before).answered();
    await silent(asked, 1);
    expect(heard).toEqual([]);
  });

  test("what was answered before one way was given up tells nothing of the next", async () => {
    const before = now;
    const { asked, pulse, heard } = await unanswered(before);
    pulse.attend(() => undefined, before).answered();
    await silent(asked, 1);
    void pulse.beat();
    await silent(asked, 2);
    expect(heard).toEqual([true]);
  });

  test("what was known to be lost is back", async () => {
    const { asked, pulse, heard, fail } = patient();
    void pulse.beat();
    await fail(0);
    void pulse.beat();
    await silent(asked, 1);
    expect([heard, pulse.isDown]).toEqual([[true, false], false]);
  });

  test("what was answered before the last sign of life tells nothing of a later question", async () => {
    const { asked, pulse, heard } = await unanswered(now);
    asked[1]!.resolve(true);
    await turn();
    void pulse.beat();
    await silent(asked, 2);
    expect(heard).toEqual([true]);
  });
});

describe("work in the database", () => {
  test("is not begun when there is none", async () => {
    const { pulse, fail } = patient();
    const beat = pulse.beat();
    await fail(0);
    await beat;
    let begun = false;
    const work = () => {
      begun = true;
      return Promise.resolve();
    };
    await expect(whileAlive(pulse, work)).rejects.toMatchObject({ isOutcomeUnknown: false });
    expect(begun).toBe(false);
  });

  test("that is under way when it is lost is given up, and nobody knows what became of it", async () => {
    const { pulse, fail } = patient();
    const never = new Promise<void>(() => undefined);
    const working = whileAlive(pulse, () => never, { isOutcomeUnknown: true });
    void pulse.beat();
    const lost = expect(working).rejects.toMatchObject({
      ...{ name: DatabaseUnavailable.name, isOutcomeUnknown: true, cause: { message: "nobody" } },
    });
    await fail(0);
    await lost;
  });

  test("is attended while it lasts, and no longer, also when it fails", async () => {
    const { asked, pulse } = patient();
    await expect(whileAlive(pulse, () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    expect(await whileAlive(pulse, () => Promise.resolve("done"))).toBe("done");
    now += 10_000;
    due(250);
    expect(asked).toEqual([]);
  });
});

describe("patience", () => {
  beforeEach(() => void jest.restoreAllMocks());

  test("ends with the work, or when the time is over", async () => {
    const late = () => new Error("late");
    expect(await within(1_000, Promise.resolve("done"), late)).toBe("done");
    await expect(within(1_000, Promise.reject(new Error("failed")), late)).rejects.toThrow("failed");
    await expect(within(1, new Promise(() => undefined), late)).rejects.toThrow("late");
  });

  test("is at an end with the work: nothing counts on", async () => {
    const late = jest.fn(() => new Error("late"));
    await within(1, Promise.resolve(), late);
    // Whose time is over after that of the one before it would have been.
    await expect(within(1, new Promise(() => undefined), late)).rejects.toThrow("late");
    expect(late).toHaveBeenCalledTimes(1);
  });
});

describe("a graph store", () => {
  const storeThat = (more: Partial<GraphStore>) => more as GraphStore;
  const answer = (body: Readable): StoreResponse => ({ status: 200, contentType: "text/plain", body });

  test.each<[string, "there" | "away", Error]>([
    ["does not answer in time", "away", new GraphTimeout("late")],
    ["cannot be reached", "away", new GraphUnreachable("nobody")],
    ["answers with an error", "there", new GraphFailed("500")],
    ["refuses", "there", new GraphRejected(400, "no")],
    ["cannot even be asked, for a fault of ours", "away", new TypeError("not a function")],
  ])("that %s is %s", async (_, expected, error) => {
    const pulse = pulseOf(storeThat({ ask: () => Promise.reject(error) }));
    // Neither can be used.
    expect(await pulse.beat()).toBe(false);
    expect(pulse.isDown).toBe(expected === "away");
    await pulse.stop();
  });

  test("is asked after a fifth of a second, with a time limit that is nobody's, until nobody waits for the answer", async () => {
    const calls: CallOptions[] = [];
    const answers: PromiseWithResolvers<boolean>[] = [];
    const ask = (_: string, call: CallOptions = {}) => {
      calls.push(call);
      answers.push(Promise.withResolvers());
      return answers.at(-1)!.promise;
    };
    const pulse = pulseOf(storeThat({ ask }));
    pulse.attend(() => undefined);
    now += 199;
    due(250);
    expect(calls).toEqual([]);
    now += 1;
    due(250);
    // What a query is given would end it before the time in which a sign of life has to come.
    expect([calls[0]!.signal?.aborted, calls[0]!.timeoutMs! > 30_000]).toEqual([false, true]);
    answers[0]!.reject(new GraphTimeout("late"));
    await turn();
    expect([calls[0]!.signal?.aborted, pulse.isDown]).toEqual([true, true]);
    await pulse.stop();
  });

  test("that answers anybody while it is asked is there", async () => {
    for (const isAnswered of [true, false]) {
      const { pulse, fail } = patient();
      const question = Promise.withResolvers<boolean>();
      const store = storeThat({ ask: () => question.promise });
      const asked = attended(store, pulse).ask("x");
      const beat = pulse.beat();
      now += 1;
      if (isAnswered) question.resolve(true);
      await turn();
      await fail(0);
      expect([await beat, pulse.isDown]).toEqual([isAnswered, !isAnswered]);
      question.resolve(true);
      await asked;
    }
  });

  test("is available if it gives a sign of life, which one that is away is not asked for", async () => {
    const { asked, pulse, fail } = patient();
    const store = attended(storeThat({ isAvailable: () => Promise.resolve(true) }), pulse);
    for (const isUsable of [true, false]) {
      const available = store.isAvailable();
      asked.at(-1)!.resolve(isUsable);
      expect(await available).toBe(isUsable);
    }
    const last = store.isAvailable();
    await fail(2);
    expect(await last).toBe(false);
    expect([await store.isAvailable(), asked.length]).toEqual([false, 3]);
  });

  test("that is away is not asked, except by who is patient", async () => {
    const { pulse, fail } = patient();
    const calls: string[] = [];
    const store = storeThat({
      select: () => {
        calls.push("select");
        return Promise.resolve([]);
      },
      isAvailable: () => Promise.resolve(true),
    });
    const beat = pulse.beat();
    await fail(0);
    await beat;
    await expect(attended(store, pulse).select("x")).rejects.toThrow(GraphUnavailable);
    expect(await attended(store, pulse).isAvailable()).toBe(false);
    expect(calls).toEqual([]);
    await attended(store, pulse, true).select("x");
    expect(calls).toEqual(["select"]);
  });

  test("that is lost breaks off what is under way, except for who is patient; a caller's own signal does as well", async () => {
    const { pulse, fail } = patient();
    const signals: AbortSignal[] = [];
    const store = storeThat({
      update: (_sparql, call) => {
        signals.push(call!.signal!);
        return new Promise(() => undefined);
      },
    });
    const caller = new AbortController();
    void attended(store, pulse).update("x");
    void attended(store, pulse, true).update("x");
    void attended(store, pulse).update("x", { signal: caller.signal });
    void attended(store, pulse).update("x", { signal: new AbortController().signal });
    caller.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, true, false]);
    void pulse.beat();
    await fail(0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, true, true]);
    for (const broken of [0, 3]) expect(signals[broken]!.reason).toBeInstanceOf(GraphUnavailable);
  });

  test.each(["query", "getGraph"] as const)(
    "is attended until an answer to %s has been read to its end, and one that is broken off is no sign of life",
    async (name) => {
      for (const isRead of [true, false]) {
        const { asked, pulse, fail } = patient();
        const body = new Readable({ read: () => undefined });
        const store = storeThat({ [name]: () => Promise.resolve(answer(body)) });
        await attended(store, pulse)[name]("x");
        now += 500;
        due(250);
        expect(asked).toHaveLength(1);
        now += 1;
        if (isRead) {
          body.push(null);
          body.resume();
        } else body.destroy();
        await turn();
        await turn();
        await fail(0);
        expect(pulse.isDown).toBe(!isRead);
        due(250);
        // Nobody waits any more, and nothing looks whether somebody does.
        expect([...timers.values()].filter(({ ms }) => ms === 250)).toEqual([]);
        await pulse.stop();
        timers.clear();
      }
    },
  );

  test("is closed by whoever closes it, attended or not", () => {
    const { pulse } = patient();
    const close = jest.fn();
    attended(storeThat({ close }), pulse).close();
    expect(close).toHaveBeenCalledTimes(1);
  });

  test("of which an answer has come that nobody reads any more is not attended", async () => {
    const { asked, pulse } = patient();
    const body = Readable.from(["x"]);
    body.destroy();
    await turn();
    const store = storeThat({ query: () => Promise.resolve(answer(body)) });
    await attended(store, pulse).query("x");
    now += 500;
    due(250);
    expect(asked).toEqual([]);
  });
});
