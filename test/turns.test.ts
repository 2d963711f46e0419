// Whose turn it is when several keys want to, and how long the others wait.
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { CallerGone, ServiceBusy } from "../server/postgres/unavailable.ts";
import { halfOf, Shares } from "../server/shares.ts";
import type { GiveBack } from "../server/shares.ts";

const options = {
  ...{ slots: 3, perCaller: 2, queuePerCaller: 2, queue: 10 },
  ...{ patienceMs: 60_000, slowMs: 60_000 },
};
const stays = new AbortController().signal;

/** Takes slots and notes, by name, which have been lent. */
function taker(shares: Shares) {
  const lent = new Map<string, GiveBack>();
  return {
    lent: () => [...lent.keys()],
    take: (name: string, signal = stays, isUnderWay = false) =>
      shares.take(name[0]!, signal, isUnderWay).then((giveBack) => void lent.set(name, giveBack)),
    give: async (name: string, restedMs?: number) => {
      lent.get(name)!(restedMs);
      lent.delete(name);
      // The next has been let in by now, but its promise has not told yet.
      await new Promise(setImmediate);
    },
  };
}

test("one caller may have half of what there is, and one where that is all", () => {
  expect([1, 2, 3, 8].map(halfOf)).toEqual([1, 1, 2, 4]);
});

describe("turns", () => {
  test("one key has no more than its own, and leaves the rest to others", async () => {
    const { take, lent, give } = taker(new Shares(options));
    void take("a1");
    void take("a2");
    void take("a3");
    await take("b1");
    expect(lent()).toEqual(["a1", "a2", "b1"]);
    await give("b1");
    expect(lent()).toEqual(["a1", "a2"]);
    await give("a1");
    expect(lent()).toEqual(["a2", "a3"]);
  });

  test("of those that wait, a key with fewer running comes first, then who waits longer", async () => {
    const { take, lent, give } = taker(new Shares({ ...options, slots: 2 }));
    await take("a1");
    await take("a2");
    void take("a3");
    void take("b1");
    void take("c1");
    await give("a1");
    expect(lent()).toEqual(["a2", "b1"]);
    await give("b1");
    expect(lent()).toEqual(["a2", "c1"]);
    await give("a2");
    expect(lent()).toEqual(["c1", "a3"]);
  });

  test("a request that had a slot before comes first among its key's, and ahead of no other key", async () => {
    const shares = new Shares({ ...options, slots: 1 });
    const { take, lent, give } = taker(shares);
    await take("a1");
    void take("a2");
    void take("b1");
    const again = shares.take("a", stays, true);
    const later = shares.take("a", stays, true);
    await give("a1");
    (await again)();
    await new Promise(setImmediate);
    expect(lent()).toEqual(["b1"]);
    await give("b1");
    (await later)();
    await new Promise(setImmediate);
    expect(lent()).toEqual(["a2"]);
  });

  test("a request that had a slot before is let in also when nothing else of its key waits", async () => {
    const { take, lent, give } = taker(new Shares({ ...options, slots: 1 }));
    await take("a1");
    void take("b1", stays, true);
    await give("a1");
    expect(lent()).toEqual(["b1"]);
  });

  test("who leaves the queue takes nobody's slot", async () => {
    const { take, lent, give } = taker(new Shares({ ...options, slots: 1 }));
    await take("a1");
    const caller = new AbortController();
    const left = take("b1", caller.signal);
    void take("c1");
    caller.abort();
    await expect(left).rejects.toThrow(CallerGone);
    await expect(take("d1", caller.signal)).rejects.toThrow(CallerGone);
    await give("a1");
    expect(lent()).toEqual(["c1"]);
  });

  test("a key with too many waiting is refused, another may wait", async () => {
    const { take, lent, give } = taker(new Shares({ ...options, slots: 1 }));
    await take("a1");
    void take("a2");
    void take("a3");
    await expect(take("a4")).rejects.toThrow(ServiceBusy);
    void take("b1");
    await give("a1");
    expect(lent()).toEqual(["a2"]);
    await give("a2");
    // Neither has any running now, and the other one has just had its turn.
    expect(lent()).toEqual(["b1"]);
    await give("b1");
    expect(lent()).toEqual(["a3"]);
  });

  test("as many as the queue holds wait, whoever they are, and nobody more", async () => {
    const { take, lent, give } = taker(new Shares({ ...options, slots: 1, queue: 2 }));
    await take("a1");
    void take("b1");
    void take("c1");
    await expect(take("d1")).rejects.toThrow(ServiceBusy);
    await give("a1");
    expect(lent()).toEqual(["b1"]);
    void take("d2");
    await expect(take("e1")).rejects.toThrow(ServiceBusy);
    await give("b1");
    await give("c1");
    expect(lent()).toEqual(["d2"]);
  });

  test("who hangs up once it has had its turn was waiting for nothing", async () => {
    const shares = new Shares({ ...options, slots: 1 });
    const giveBack = await shares.take("a", stays);
    const caller = new AbortController();
    const taking = shares.take("b", caller.signal);
    giveBack();
    const taken = await taking;
    caller.abort();
    expect(shares.usage).toEqual({ used: 1, waiting: 0 });
    taken();
    expect(shares.usage).toEqual({ used: 0, waiting: 0 });
  });

  test("a wait that is too long ends in a refusal", async () => {
    const shares = new Shares({ ...options, slots: 1, patienceMs: 1 });
    const giveBack = await shares.take("a", stays);
    await expect(shares.take("b", stays)).rejects.toThrow(ServiceBusy);
    giveBack();
    await shares.take("b", stays);
    await expect(shares.take("c", stays)).rejects.toThrow(ServiceBusy);
  });
});

describe("by the clock", () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] }));
  afterEach(() => void jest.useRealTimers());
  const pass = (ms: number) => jest.advanceTimersByTime(ms);
  const many = { ...options, slots: 8, perCaller: 4, queuePerCaller: 20, queue: 20, slowMs: 100 };

  /** Somebody who keeps its slots for a while, ten times, and rests for a part of it. */
  async function keepsFor(
    ms: number,
    { take, give }: ReturnType<typeof taker>,
    restedMs?: number,
  ): Promise<void> {
    for (let i = 0; i < 10; i += 1) {
      await take("a0");
      pass(ms);
      await give("a0", restedMs);
    }
  }
  const ask = async ({ take }: ReturnType<typeof taker>, name: string) => {
    for (const n of [1, 2, 3, 4, 5]) void take(`${name}${n}`);
    await new Promise(setImmediate);
  };

  test("a key whose requests take long has fewer at a time while others are there", async () => {
    const shares = taker(new Shares(many));
    await keepsFor(200, shares);
    await shares.take("b1");
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["b1", "a1", "a2"]);
    // One comes when one goes, not more.
    await shares.give("a1");
    expect(shares.lent()).toEqual(["b1", "a2", "a3"]);
    await shares.give("b1");
    expect(shares.lent()).toEqual(["a2", "a3"]);
  });

  test("a key is not slow for the time in which its requests rest", async () => {
    const shares = taker(new Shares(many));
    await keepsFor(200, shares, 100);
    await shares.take("b1");
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["b1", "a1", "a2", "a3", "a4"]);
  });

  test("a key of which nothing is known has two, until its first has come back; when it is alone all of its share", async () => {
    const shares = taker(new Shares(many));
    await shares.take("b1");
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["b1", "a1", "a2"]);
    await shares.give("a1");
    expect(shares.lent()).toEqual(["b1", "a2", "a3", "a4", "a5"]);

    const alone = taker(new Shares(many));
    await ask(alone, "a");
    expect(alone.lent()).toEqual(["a1", "a2", "a3", "a4"]);
  });

  test("who waits while others are there gets the rest of its share when they are no longer", async () => {
    const shares = taker(new Shares(many));
    await shares.take("b1");
    await shares.give("b1");
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["a1", "a2"]);
    pass(1_000);
    await new Promise(setImmediate);
    expect(shares.lent()).toEqual(["a1", "a2"]);
    pass(1);
    await new Promise(setImmediate);
    expect(shares.lent()).toEqual(["a1", "a2", "a3", "a4"]);
  });

  test("but two at least, and all of its share when it is alone", async () => {
    const shares = taker(new Shares(many));
    await keepsFor(10_000, shares);
    await shares.take("b1");
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["b1", "a1", "a2"]);
    pass(2_000);
    await shares.give("b1");
    expect(shares.lent()).toEqual(["a1", "a2", "a3", "a4"]);
  });

  test.each([
    ["for a second after they have come", 1_000, ["a1", "a2"]],
    ["and not for longer", 1_001, ["a1", "a2", "a3", "a4"]],
  ])("others are there %s, though they have nothing any more", async (_, ms, lent) => {
    const shares = taker(new Shares(many));
    await keepsFor(10_000, shares);
    await shares.take("b1");
    await shares.give("b1");
    pass(ms);
    await ask(shares, "a");
    expect(shares.lent()).toEqual(lent);
  });

  test("how long a key's requests take is known of the last few of them, and not of one", async () => {
    const shares = taker(new Shares(many));
    await keepsFor(80, shares);
    await shares.take("a0");
    pass(200);
    await shares.give("a0");
    await shares.take("b1");
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["b1", "a1", "a2", "a3"]);
  });

  test("who waited in vain is no longer there", async () => {
    const shares = new Shares({ ...many, slots: 4 });
    const slow = taker(shares);
    await keepsFor(10_000, slow);
    await ask(slow, "a");
    const caller = new AbortController();
    const left = shares.take("b", caller.signal);
    caller.abort();
    await expect(left).rejects.toThrow(CallerGone);
    pass(2_000);
    for (const name of ["a1", "a2", "a3", "a4", "a5"]) await slow.give(name);
    await ask(slow, "a");
    expect(slow.lent()).toEqual(["a1", "a2", "a3", "a4"]);
  });

  test("others are there as long as they have something, however long ago they came", async () => {
    const shares = taker(new Shares(many));
    await keepsFor(10_000, shares);
    await shares.take("b1");
    pass(2_000);
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["b1", "a1", "a2"]);
  });

  test("and is forgiven when they no longer do", async () => {
    const shares = taker(new Shares(many));
    await keepsFor(400, shares);
    await keepsFor(5, shares);
    await shares.take("b1");
    await ask(shares, "a");
    expect(shares.lent()).toEqual(["b1", "a1", "a2", "a3", "a4"]);
  });

  /** Whether each of some was refused by now. */
  const refused = async (takes: Promise<void>[]) => {
    const told: boolean[] = takes.map(() => false);
    takes.forEach((take, i) => void take.catch(() => (told[i] = true)));
    await new Promise(setImmediate);
    return told;
  };

  /** Time in which somebody else's slots come back, one every 50 ms. */
  async function flow(ms: number, { take, give }: ReturnType<typeof taker>): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await take("c1");
      pass(50);
      await give("c1");
    }
  }

  test("of a queue that does not get empty, who has waited for long is refused and who has just come is served", async () => {
    const shares = taker(new Shares({ ...many, slots: 2, perCaller: 1 }));
    await keepsFor(5, shares);
    await shares.take("a0");
    const first = shares.take("a1");
    await flow(300, shares);
    const second = shares.take("a2");
    await flow(450, shares);
    const third = shares.take("a3");
    await shares.give("a0");
    expect(await refused([first, second, third])).toEqual([true, true, false]);
    expect(shares.lent()).toEqual(["a3"]);
  });

  test.each([
    ["that was empty a moment ago", 350, ["a1", "a2"]],
    ["to which nobody comes any more", 1_500, ["a1", "a2"]],
  ])("a queue %s is a burst, and waits", async (_, ms, names) => {
    const shares = taker(new Shares({ ...many, slots: 2, perCaller: 1 }));
    await shares.take("a0");
    const all = names.map((name) => shares.take(name));
    await flow(ms, shares);
    if (ms < 400) all.push(shares.take("a3"));
    await shares.give("a0");
    await shares.give("a1");
    expect(await refused(all)).toEqual(all.map(() => false));
    expect(shares.lent()).toEqual(["a2"]);
  });

  test("a slot that came back while the process stood still is there for who has waited for as long as may be, and waits no more", async () => {
    const own = new Shares({ ...many, slots: 1 });
    const shares = taker(own);
    await shares.take("b1");
    const waiting = shares.take("a1");
    // Timers come before what is to be read.
    pass(many.patienceMs);
    await shares.give("b1");
    await waiting;
    expect(shares.lent()).toEqual(["a1"]);
    expect(own.usage).toEqual({ used: 1, waiting: 0 });
  });

  test("while no slot comes back, nobody has waited for others", async () => {
    const shares = taker(new Shares({ ...many, slots: 1 }));
    await shares.take("b1");
    const first = shares.take("a1");
    pass(5_000);
    const second = shares.take("a2");
    await shares.give("b1");
    expect(await refused([first, second])).toEqual([false, false]);
    expect(shares.lent()).toEqual(["a1"]);
  });

  test.each([
    ["for 400 ms is served", 400, [false, false], ["a1"]],
    ["for longer is refused for those who came later", 401, [true, false], ["a2"]],
  ])("of a queue that does not get empty, who has waited %s", async (_, ms, told, served) => {
    const shares = taker(new Shares({ ...many, slots: 2, perCaller: 1 }));
    await keepsFor(5, shares);
    await shares.take("a0");
    const first = shares.take("a1");
    await flow(400, shares);
    pass(ms - 400);
    const second = shares.take("a2");
    await shares.give("a0");
    expect(await refused([first, second])).toEqual(told);
    expect(shares.lent()).toEqual(served);
  });

  /** A queue that is not empty for so long: who has a slot and who waits in it then, and came at the end of that. */
  async function enduring(ms: number, shares: ReturnType<typeof taker>, holder?: string) {
    let holds = holder ?? "a0";
    if (holder === undefined) await shares.take(holds);
    let n = 1;
    let waiting = shares.take("a1");
    for (let passed = 0; passed < ms; passed += 50) {
      await flow(50, shares);
      waiting = shares.take(`a${n + 1}`);
      await shares.give(holds);
      holds = `a${n++}`;
    }
    return { waiting, holds, waits: `a${n}` };
  }

  test.each([
    ["had somebody for two seconds, for 300 ms, is served", [1_750], 300, true],
    ["had somebody for two seconds, for longer, is refused", [1_700], 301, false],
    ["had somebody for almost two seconds, for longer, is served", [1_650], 301, true],
    ["was empty within two seconds, for longer, is served", [1_650, 50], 301, true],
  ])("who has waited in a queue that %s", async (_, times, ms, isServed) => {
    const shares = taker(new Shares({ ...many, slots: 2, perCaller: 1 }));
    await keepsFor(5, shares);
    let holder: string | undefined;
    for (const time of times.slice(0, -1)) {
      const { holds, waits } = await enduring(time, shares);
      await shares.give(holds);
      holder = waits;
    }
    const { waiting: first, holds, waits } = await enduring(times.at(-1)!, shares, holder);
    await flow(300, shares);
    pass(ms - 300);
    const second = shares.take("a");
    await shares.give(holds);
    expect(await refused([first, second])).toEqual([!isServed, false]);
    expect(shares.lent()).toEqual([isServed ? waits : "a"]);
  });

  test.each([
    ["and no more", 50, [false, false], ["a1"]],
    ["and no less", 51, [true, false], ["a2"]],
  ])("of a time in which no slot comes back 100 ms count, %s", async (_, firstMs, told, served) => {
    const shares = taker(new Shares({ ...many, slots: 1 }));
    const before = ["c1", "d1", "e1", "f1", "g1", "h1"];
    for (const name of [...before, "i1"]) void shares.take(name);
    const first = shares.take("a1");
    await new Promise(setImmediate);
    // Six slots come back in 300 ms, or in 301.
    for (const name of before) {
      pass(name === "c1" ? firstMs : 50);
      await shares.give(name);
    }
    pass(5_000);
    const second = shares.take("a2");
    await shares.give("i1");
    expect(await refused([first, second])).toEqual(told);
    expect(shares.lent()).toEqual(served);
  });

  test.each([
    ["take long", 0],
    ["are slow to end because they rest", 1_990],
  ])("whose requests %s may wait for long", async (_, restedMs) => {
    const shares = taker(new Shares({ ...many, slots: 2, perCaller: 1 }));
    await keepsFor(2_000, shares, restedMs);
    await shares.take("a0");
    const first = shares.take("a1");
    await flow(3_000, shares);
    const second = shares.take("a2");
    await shares.give("a0");
    expect(await refused([first, second])).toEqual([false, false]);
    expect(shares.lent()).toEqual(["a1"]);
  });
});
