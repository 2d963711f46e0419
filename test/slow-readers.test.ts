// Callers who take slowly, or not at all, what they have asked of the graph.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { GraphStore } from "../graph/store.ts";
import { currentRequest, nameRequest } from "../server/request-context.ts";
import { Shares } from "../server/shares.ts";
import { breakOffIfSlow } from "../server/sparql/slow-readers.ts";
import { eventually } from "./support/eventually.ts";
import { startSparqlDoor } from "./support/sparql-door.ts";

describe("an answer", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** How many half seconds it lasts, of twenty, if so many bytes of it are taken in each. */
  async function lasts(
    bytes: number | ((halfSecond: number) => number),
    isWaitedFor: (halfSecond: number) => boolean,
    writableNeedDrain = true,
  ) {
    const destroy = jest.fn();
    const socket = { bytesWritten: 0 };
    const body = new Readable({ read: () => undefined });
    let passed = 0;
    breakOffIfSlow({ socket, writableNeedDrain, destroy } as unknown as ServerResponse, body, () =>
      isWaitedFor(passed),
    );
    while (passed < 20 && !body.destroyed) {
      passed += 1;
      socket.bytesWritten += typeof bytes === "number" ? bytes : bytes(passed);
      await jest.advanceTimersByTimeAsync(500);
    }
    expect(destroy).toHaveBeenCalledTimes(body.destroyed ? 1 : 0);
    body.destroy();
    await jest.advanceTimersByTimeAsync(0);
    expect(jest.getTimerCount()).toBe(0);
    return passed;
  }

  test("of which nothing is taken, or little, is broken off while others wait", async () => {
    expect(await lasts(0, () => true)).toBe(6);
    expect(await lasts(32_767, () => true)).toBe(6);
    expect(await lasts(32_768, () => true)).toBe(20);
    expect(await lasts(0, (halfSecond) => halfSecond > 5)).toBe(11);
  });

  test("that is broken off ends, in the log, with the service being busy", async () => {
    const response = { destroy: () => undefined, set: () => undefined, writableNeedDrain: true };
    let context: ReturnType<typeof currentRequest>;
    const remember = () => (context = currentRequest());
    nameRequest({ get: () => undefined } as never, response as never, remember);
    const body = new Readable({ read: () => undefined });
    breakOffIfSlow(response as unknown as ServerResponse, body, () => true);
    await jest.advanceTimersByTimeAsync(2_500);
    expect([...context!.errors]).toEqual([]);
    await jest.advanceTimersByTimeAsync(500);
    expect([...context!.errors]).toEqual(["service_busy"]);
  });

  test("is not, if it is taken a megabyte every three seconds", async () => {
    const megabytes = (halfSecond: number) => (halfSecond % 6 === 0 ? 2 ** 20 : 0);
    expect(await lasts(megabytes, () => true)).toBe(20);
  });

  test("is not, while nobody waits, nobody waits for long, or all of it has been taken so far", async () => {
    expect(await lasts(0, () => false)).toBe(20);
    expect(await lasts(0, (halfSecond) => halfSecond % 6 !== 0)).toBe(20);
    expect(await lasts(0, () => true, false)).toBe(20);
  });
});

test("who does not read makes room for who waits", async () => {
  const endless = new Readable({ read: () => void endless.push("x".repeat(65_536)) });
  const answers = [endless, Readable.from(["here it is"])];
  const query: GraphStore["query"] = async (_text, { place, signal } = {}) => {
    const giveBack = await place!(signal);
    const body = answers.shift()!;
    body.once("close", giveBack);
    return { status: 200, body, contentType: "text/csv" };
  };
  const door = await startSparqlDoor({
    ...{ store: { query }, timeoutMs: 60_000, concurrency: 1, waitMs: 60_000 },
  });
  const { hostname, port, pathname } = new URL(door.url);
  const deaf = connect(Number(port), hostname);
  try {
    const path = `${pathname}?query=${encodeURIComponent("select * {?s ?p ?o}")}`;
    deaf.on("error", () => undefined).write(`GET ${path} HTTP/1.1\r\nhost: x\r\naccept: text/csv\r\n\r\n`);
    await once(deaf, "readable");
    const answer = await fetch(`http://${hostname}:${port}${path}`, {
      headers: { accept: "text/csv", "x-key": "another" },
    });
    expect([answer.status, await answer.text()]).toEqual([200, "here it is"]);
  } finally {
    deaf.destroy();
    await door.stop();
  }
});

test("an answer that breaks off is told of, unless its caller has left it", async () => {
  const told: string[] = [];
  const bodies: Readable[] = [];
  const query = (_text: string, { signal }: { signal?: AbortSignal } = {}) => {
    const body = new Readable({ read: () => undefined });
    body.push("the beginning");
    signal?.addEventListener("abort", () => body.destroy(new Error("left")));
    bodies.push(body);
    return Promise.resolve({ status: 200, body, contentType: "text/csv" });
  };
  const door = await startSparqlDoor(
    { store: { query }, timeoutMs: 60_000 },
    { warn: (about: object) => void told.push((about as { err: Error }).err.message) },
  );
  const leaving = new AbortController();
  const ask = (key: string) =>
    fetch(`${door.url}?query=${encodeURIComponent("select * {?s ?p ?o}")}`, {
      headers: { accept: "text/csv", "x-key": key },
      signal: leaving.signal,
    });
  try {
    const broken = await ask("one");
    bodies[0]!.destroy(new Error("broken off"));
    await expect(broken.text()).rejects.toThrow();
    await ask("another");
    const left = new Promise((closed) => void bodies[1]!.once("close", closed));
    leaving.abort();
    await left;
  } finally {
    await door.stop();
  }
  expect(told).toEqual(["broken off"]);
});

test("a query that ends because its caller has left is no failure, any other that ends is one", async () => {
  const told: string[] = [];
  const asked: { signal: AbortSignal; fail: (error: unknown) => void }[] = [];
  const query = (_text: string, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise<never>((_, fail) => asked.push({ signal: signal!, fail }));
  const failures = { error: (about: { err: Error }) => void told.push(about.err.message) };
  const door = await startSparqlDoor({ store: { query }, timeoutMs: 60_000 }, undefined, failures);
  const ask = async (signal?: AbortSignal) =>
    (await fetch(`${door.url}?query=ASK%7B%7D`, signal && { signal })).status;
  try {
    const leaving = new AbortController();
    const left = ask(leaving.signal);
    await eventually(() => expect(asked).toHaveLength(1));
    leaving.abort();
    await expect(left).rejects.toThrow();
    await eventually(() => expect(asked[0]!.signal.aborted).toBe(true));
    asked[0]!.fail(asked[0]!.signal.reason);
    const failed = ask();
    await eventually(() => expect(asked).toHaveLength(2));
    asked[1]!.fail(new Error("a mistake"));
    expect(await failed).toBe(500);
  } finally {
    await door.stop();
  }
  expect(told).toEqual(["a mistake"]);
});

test("who asks for more meanwhile is not in the own way, nor is who keeps what others may not have", async () => {
  const shares = new Shares({
    ...{ slots: 3, perCaller: 2, slowMs: 60_000, patienceMs: 60_000, queuePerCaller: 8, queue: 8 },
  });
  const gone = new AbortController();
  const take = (name: string) => shares.take(name, gone.signal);
  const back = await Promise.all([take("a"), take("a")]);
  const waiting = [take("a")];
  expect(["a", "b"].map((name) => shares.isWantedBesides(name))).toEqual([false, false]);
  back.push(await take("b"));
  waiting.push(take("c"));
  expect(["a", "b", "c"].map((name) => shares.isWantedBesides(name))).toEqual([true, true, false]);
  gone.abort();
  await Promise.allSettled(waiting);
  for (const give of back) give();
});
