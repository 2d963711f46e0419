// Whose turn it is when several keys want to, and how long the others wait.
import { describe, expect, test } from "@jest/globals";
import { CallerGone, ServiceBusy } from "../server/postgres/unavailable.ts";
import { Shares } from "../server/shares.ts";

const options = { slots: 3, perCaller: 2, queuePerCaller: 2, queue: 10, patienceMs: 60_000 };
const stays = new AbortController().signal;

/** Takes slots and notes, by name, which have been lent. */
function taker(shares: Shares) {
  const lent = new Map<string, () => void>();
  return {
    lent: () => [...lent.keys()],
    take: (name: string, signal = stays) =>
      shares.take(name[0]!, signal).then((giveBack) => void lent.set(name, giveBack)),
    give: async (name: string) => {
      lent.get(name)!();
      lent.delete(name);
      // The next has been let in by now, but its promise has not told yet.
      await new Promise(setImmediate);
    },
  };
}

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

  test("a wait that is too long ends in a refusal", async () => {
    const shares = new Shares({ ...options, slots: 1, patienceMs: 1 });
    const giveBack = await shares.take("a", stays);
    await expect(shares.take("b", stays)).rejects.toThrow(ServiceBusy);
    giveBack();
    await shares.take("b", stays);
    await expect(shares.take("c", stays)).rejects.toThrow(ServiceBusy);
  });
});
