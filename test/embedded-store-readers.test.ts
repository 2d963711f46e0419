// That no copy of the embedded store answers without a change, or with one taken twice, and when copies are made.
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { Copy } from "../graph/embedded/copy.ts";
import type { Entry } from "../graph/embedded/format.ts";
import { Pace } from "../graph/embedded/pace.ts";
import { ReaderPool } from "../graph/embedded/readers.ts";
import { NotBegun, TaskRefused, TaskTooLarge } from "../graph/embedded/tasks.ts";
import type { Image } from "../graph/embedded/tasks.ts";
import { StoreThread } from "../graph/embedded/thread.ts";
import { eventually } from "./support/eventually.ts";
import { question } from "./support/store-question.ts";

const HOW_MANY = question("SELECT ?n { <urn:changes> <urn:are> ?n }");
/** Of all changes, so that one that is missed or taken twice shows. */
const COUNT = `DELETE { GRAPH <urn:g> { ?s ?p ?n } } INSERT { GRAPH <urn:g> { ?s ?p ?next } }
  WHERE { GRAPH <urn:g> { ?s ?p ?n } BIND(?n + 1 AS ?next) }`;
const counting = (sequence: number, comment = ""): Entry => ({
  sequence,
  change: { kind: "update", sparql: `${COUNT} # ${comment}` },
});
const refused = (sequence: number): Entry => ({ sequence, change: { kind: "update", sparql: "INSERT" } });
const imageAt = (sequence: number): Image => ({
  sequence,
  quads: new TextEncoder().encode(
    `<urn:changes> <urn:are> "${sequence}"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:g> .`,
  ),
});

describe("a thread", () => {
  let thread: StoreThread;
  beforeEach(() => {
    thread = new StoreThread({ background: false }, () => undefined);
  });
  afterEach(() => thread.end());

  const change = (sequence?: number) =>
    thread.ask({ kind: "change", change: counting(0).change, checked: false, sequence }, 60_000);

  test.each([
    ["once more", 2],
    ["without the one before it", 4],
  ])("that is given a change %s ends", async (_, sequence) => {
    await thread.ask({ kind: "fill", image: imageAt(1) }, 60_000);
    expect(await change(2)).toMatchObject({ sequence: 2 });
    await expect(change(sequence)).rejects.toThrow(NotBegun);
    expect(thread.gone).toBe(true);
  });

  test("that lacks a change gives no answer, and ends", async () => {
    await thread.ask({ kind: "fill", image: imageAt(1) }, 60_000);
    const answer = await thread.ask({ ...HOW_MANY, after: 1 }, 60_000);
    expect(new TextDecoder().decode(answer.bytes)).toBe("n\r\n1\r\n");
    await expect(thread.ask({ ...HOW_MANY, after: 2 }, 60_000)).rejects.toThrow(NotBegun);
    expect(thread.gone).toBe(true);
  });

  test("takes no more memory than it may, and says how much it has", async () => {
    const MIB = 1024 * 1024;
    const fill = async (maxBytes: number) => {
      const limited = new StoreThread({ background: true, maxBytes }, () => undefined);
      try {
        return await limited.ask({ kind: "fill", image: imageAt(1) }, 60_000);
      } finally {
        limited.end();
      }
    };
    // Loading alone takes as much as that.
    const { memoryBytes } = await fill(256 * MIB);
    expect(memoryBytes).toBeGreaterThan(128 * MIB);
    expect(memoryBytes).toBeLessThanOrEqual(256 * MIB);
    await expect(fill(128 * MIB)).rejects.toThrow(TaskTooLarge);
  });

  test("that refuses a change has not taken it, and that is the change's fault", async () => {
    const task = { kind: "change", change: refused(1).change, checked: false } as const;
    await expect(thread.ask(task, 60_000)).rejects.toThrow(TaskRefused);
    expect(await change(1)).toMatchObject({ sequence: 1 });
  });
});

describe("readers", () => {
  let pace: { isCalm: boolean };
  let images: number;
  let image: () => Promise<Image>;
  let pool: ReaderPool;
  let fill: jest.SpiedFunction<Copy["fill"]>;
  beforeEach(() => {
    fill = jest.spyOn(Copy.prototype, "fill");
    pace = { isCalm: true };
    images = 0;
    image = () => Promise.resolve(imageAt(0));
  });
  afterEach(() => {
    jest.restoreAllMocks();
    pool.stop();
  });

  function start(minimum: number, maximum: number): void {
    pool = new ReaderPool({
      minimum,
      minimumAtRest: minimum,
      maximum,
      queryTimeoutMs: 60_000,
      changeTimeoutMs: 60_000,
      image: () => {
        images += 1;
        return image();
      },
      pace,
    });
    pool.start();
  }

  /** Resolves when so many copies have been made in all. */
  async function made(count: number): Promise<void> {
    await eventually(() => expect(fill).toHaveBeenCalledTimes(count));
    await Promise.all(fill.mock.results.map(({ value }) => value as Promise<void>));
    await turn();
  }

  async function ask(): Promise<number> {
    const answer = await pool.ask(HOW_MANY);
    return Number(new TextDecoder().decode(answer as Uint8Array).split("\r\n")[1]);
  }

  test("take what is announced while they are made once, whether it is in the image or not", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    image = () => promise.then(() => imageAt(3));
    start(1, 1);
    pool.push(counting(1));
    resolve();
    await promise;
    await Promise.resolve();
    for (const sequence of [2, 3, 4]) pool.push(counting(sequence));
    const asked = ask();
    pool.push(counting(5));
    expect(await asked).toBeGreaterThanOrEqual(4);
    expect(await ask()).toBe(5);
    expect(images).toBe(1);
  });

  test("are made anew when the store goes back to an earlier state", async () => {
    start(1, 1);
    pool.push(counting(1));
    pool.push(counting(2));
    expect(await ask()).toBe(2);
    image = () => Promise.resolve(imageAt(1));
    pool.renew();
    expect(await ask()).toBe(1);
    pool.push(counting(2));
    expect(await ask()).toBe(2);
  });

  test("are made anew, and the question is answered, when a copy cannot take a change", async () => {
    start(1, 1);
    expect(await ask()).toBe(0);
    image = () => Promise.resolve(imageAt(1));
    pool.push(refused(1));
    expect(await ask()).toBe(1);
    expect(images).toBe(2);
  });

  test("are made anew, and the question is answered, when a copy was not told of a change", async () => {
    start(1, 1);
    expect(await ask()).toBe(0);
    image = () => Promise.resolve(imageAt(2));
    pool.push(counting(2));
    expect(await ask()).toBe(2);
    expect(images).toBe(2);
  });

  test("give up on a question whose readers all end before they come to it", async () => {
    image = () => Promise.resolve(imageAt(images > 10 ? 1 : 0));
    start(1, 1);
    pool.push(refused(1));
    await expect(ask()).rejects.toThrow(NotBegun);
  });

  test("are idle as long as there is next to nothing to catch up with", async () => {
    start(1, 1);
    expect(pool.idle).toBe(false);
    await ask();
    expect(pool.idle).toBe(true);
    pool.push(counting(1, "x".repeat(1_000)));
    expect(pool.idle).toBe(true);
    pool.push(counting(2, "x".repeat(40_000)));
    expect(pool.idle).toBe(false);
    pool.tick();
    await eventually(() => expect(pool.idle).toBe(true));
    expect(await ask()).toBe(2);
  });

  test("answer who has waited longest first", async () => {
    start(1, 1);
    const order: number[] = [];
    await Promise.all([1, 2, 3, 4].map((place) => ask().then(() => order.push(place))));
    expect(order).toEqual([1, 2, 3, 4]);
  });

  test("are asked where there is the least to catch up with", async () => {
    start(2, 2);
    await made(2);
    pool.push(counting(1, "x".repeat(1_000_000)));
    const asked = jest.spyOn(Copy.prototype, "ask");
    for (let i = 0; i < 3; i += 1) expect(await ask()).toBe(1);
    expect(new Set(asked.mock.contexts).size).toBe(1);
  });

  test("that a short change has filled are used up", async () => {
    start(1, 2);
    await made(1);
    const digits = (name: string) => `VALUES ?${name} { 0 1 2 3 4 5 6 7 8 9 }`;
    const sparql = `INSERT { GRAPH <urn:many> { ?s <urn:p> ?f } } WHERE { ${["a", "b", "c", "d", "e"].map(digits).join(" ")}
      VALUES ?f { 1 2 3 4 } BIND(IRI(CONCAT("urn:s:", STR(?a), STR(?b), STR(?c), STR(?d), STR(?e))) AS ?s) }`;
    pool.push({ sequence: 1, change: { kind: "update", sparql } });
    image = () => Promise.resolve(imageAt(1));
    expect(await ask()).toBe(0);
    await made(2);
    expect(await ask()).toBe(1);
  });

  const megabyte = "x".repeat(1_000_000);

  test("catch up one after another, but in a bulk of changes only one does, until the others are far behind", async () => {
    // A large copy has room for as many changes.
    const large = `<urn:x> <urn:p> "${"x".repeat(45_000_000)}" <urn:h> .\n`;
    const first = imageAt(0).quads;
    image = () =>
      Promise.resolve({ sequence: 0, quads: Buffer.concat([new TextEncoder().encode(large), first]) });
    start(3, 3);
    await made(3);
    const asked = jest.spyOn(StoreThread.prototype, "ask");
    const working = () => new Set(asked.mock.contexts).size;
    const settled = () => Promise.all(asked.mock.results.map(({ value }) => value as Promise<unknown>));
    pace.isCalm = false;
    for (let sequence = 1; sequence <= 4; sequence++) pool.push(counting(sequence, megabyte));
    for (let i = 0; i < 5; i++) pool.tick();
    expect(working()).toBe(1);
    await settled();
    await turn();
    pool.tick();
    expect(working()).toBe(1);
    for (let sequence = 5; sequence <= 18; sequence++) pool.push(counting(sequence, megabyte));
    for (let i = 0; i < 5; i++) pool.tick();
    expect(working()).toBe(2);
    pace.isCalm = true;
    await settled();
    await turn();
    for (let i = 0; i < 5; i++) pool.tick();
    expect(working()).toBe(3);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([18, 18, 18]);
  });

  test("that have used up their room have successors one at a time, but in a bulk of changes only if none is left", async () => {
    start(3, 4);
    await made(3);
    pace.isCalm = false;
    let sequence = 0;
    const push = (count: number) => {
      for (let i = 0; i < count; i++) pool.push(counting((sequence += 1), megabyte));
    };
    image = () => Promise.resolve(imageAt(sequence));
    push(10);
    pool.tick();
    expect(images).toBe(3);
    push(2);
    pool.tick();
    pool.tick();
    expect(images).toBe(4);
    await made(4);
    // One of the others is superfluous now.
    const ended = jest.spyOn(Copy.prototype, "end");
    for (let i = 0; i < 5; i++) pool.tick();
    expect(ended).toHaveBeenCalledTimes(1);
    expect(images).toBe(4);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([12, 12, 12]);
    // Those that are left of the first are used up, and the fourth is not.
    push(6);
    expect(ended).toHaveBeenCalledTimes(3);
    for (let i = 0; i < 5; i++) pool.tick();
    expect(images).toBe(4);
    expect(await ask()).toBe(18);
    pace.isCalm = true;
    for (const count of [5, 6, 6]) {
      for (let i = 0; i < 5; i++) pool.tick();
      expect(images).toBe(count);
      await made(count);
    }
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([18, 18, 18]);
  });
});

test("a copy that is used up keeps no more changes, but goes on with what it was asked", async () => {
  const copy = new Copy(60_000);
  await copy.fill(imageAt(0), () => undefined);
  try {
    const asked = jest.spyOn(StoreThread.prototype, "ask");
    const asking = copy.ask({ ...HOW_MANY, after: 0 }, 60_000, () => undefined);
    for (let sequence = 1; copy.usedRoom < 1; sequence++)
      copy.push(counting(sequence, "x".repeat(1_000_000)));
    copy.catchUp();
    expect(new TextDecoder().decode((await asking).bytes)).toBe("n\r\n0\r\n");
    expect(asked).toHaveBeenCalledTimes(1);
  } finally {
    jest.restoreAllMocks();
    copy.end();
  }
});

test("changes come in bulk until they have been few for a while", () => {
  let now = 0;
  const pace = new Pace(() => now);
  expect(pace.isCalm).toBe(true);
  for (let i = 0; i < 100; i++) {
    pace.push(10_000);
    pace.push(10_000);
    pace.tick();
    now += 250;
  }
  expect(pace.isCalm).toBe(true);
  pace.push(1_000_000);
  expect(pace.isCalm).toBe(false);
  pace.tick();
  now += 4_750;
  pace.push(10_000);
  expect(pace.isCalm).toBe(false);
  now += 250;
  expect(pace.isCalm).toBe(true);
});
