// What keeps the event loop for long: others have their turn in between, whoever asks for it.
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { LoopTurns } from "../server/loop-turns.ts";
import { CallerGone, ServiceBusy } from "../server/postgres/unavailable.ts";
import { eventually } from "./support/eventually.ts";
import { startTestService } from "./support/service.ts";

describe("turns", () => {
  let now: number;
  let spent: number;
  let turns: LoopTurns;
  let had: string[];
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] });
    now = 0;
    spent = 0;
    jest.spyOn(performance, "now").mockImplementation(() => now);
    jest.spyOn(process, "threadCpuUsage").mockImplementation((before) => ({
      user: spent * 500 - (before?.user ?? 0),
      system: spent * 500 - (before?.system ?? 0),
    }));
    turns = new LoopTurns();
    had = [];
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });
  /** Some turns of the event loop. */
  const pass = async (loops = 20) => {
    for (let n = 0; n < loops; n += 1) await new Promise(setImmediate);
    return had.join("");
  };
  /** A turn that takes the processor so long, after something else that does not wait. */
  const take = async (caller: string, ms = 0) => {
    await turns.take(caller);
    await Promise.resolve();
    now += ms;
    spent += ms;
    had.push(caller);
  };

  test("follow each other in one turn of the event loop until they have taken ten milliseconds", async () => {
    for (let n = 0; n < 9; n += 1) void take("a", 4);
    for (let loops = 1; loops <= 3; loops += 1) {
      expect((await pass(1)).length).toBeLessThanOrEqual(3 * loops);
    }
    expect(await pass(1)).toHaveLength(9);
  });

  test("of the least follow each other at once, also where somebody joins them", async () => {
    for (let n = 0; n < 50; n += 1) void take("a").then(() => (n < 10 ? take("b") : undefined));
    await pass(2);
    expect(had.toSorted().join("")).toBe("a".repeat(50) + "b".repeat(10));
    void take("c");
    expect((await pass(2)).at(-1)).toBe("c");
  });

  test("take the processor's time, not that of a machine that does something else", async () => {
    void take("a").then(() => (now += 1_000));
    await pass();
    void take("a");
    expect(await pass(2)).toBe("aa");
  });

  test("are taken by caller", async () => {
    for (const caller of "aaabbc") void take(caller);
    expect(await pass()).toBe("abcaba");
  });

  test("that were long are followed by a rest as long, and others go on", async () => {
    for (const caller of "aab") void take(caller, 100);
    expect(await pass()).toBe("ab");
    await jest.advanceTimersByTimeAsync(99);
    void take("c");
    expect(await pass()).toBe("abc");
    await jest.advanceTimersByTimeAsync(1);
    expect(await pass()).toBe("abca");
  });

  test("of twenty milliseconds are not long", async () => {
    for (const caller of "aa") void take(caller, 20);
    expect(await pass()).toBe("aa");
  });

  test("are not waited for by who has gone, nor for longer than half a minute", async () => {
    const gone = new AbortController();
    const left = expect(turns.take("a", gone.signal)).rejects.toThrow(CallerGone);
    gone.abort();
    await left;
    await pass();
    const late = expect(turns.take("a")).rejects.toThrow(ServiceBusy);
    now += 30_001;
    await late;
    await pass();
    void take("a");
    now += 30_000;
    expect(await pass()).toBe("a");
  });
});

/** Sends a request over a connection of its own, which is open. */
function post(socket: Socket, key: string, path: string, type: string, body: string): void {
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n` +
      `content-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

test("who hangs up waits no longer for a turn of GraphQL", async () => {
  const service = await startTestService({ world: false });
  const signals: (AbortSignal | undefined)[] = [];
  const take = jest.spyOn(LoopTurns.prototype, "take").mockImplementation((_caller, gone) => {
    signals.push(gone);
    return new Promise((_begin, refuse) => gone?.addEventListener("abort", () => refuse(new CallerGone())));
  });
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  try {
    await once(socket, "connect");
    post(socket, service.keys.read, "/graphql", "application/json", '{"query":"{ __typename }"}');
    await eventually(() => expect(signals).toHaveLength(1));
    expect(signals[0]?.aborted).toBe(false);
    socket.destroy();
    await eventually(() => expect(signals[0]?.aborted).toBe(true), 10_000);
  } finally {
    socket.destroy();
    take.mockRestore();
    await service.stop();
  }
});

test.each<[string, string, string, (n: number) => string]>([
  [
    "GraphQL",
    "/graphql",
    "application/json",
    (n) => {
      const fields = "needs(first: 1) { nodes { needId commitments(first: 1) { nodes { commitmentId } } } }";
      const all = Array.from({ length: 20 }, (_, at) => `a${at}: ${fields}`).join(" ");
      return JSON.stringify({ query: `query q${n} { ${all} }` });
    },
  ],
  [
    "SPARQL",
    "/v0/sparql",
    "application/sparql-query",
    (n) => `ASK { VALUES ?x { <urn:${n}> ${"1 ".repeat(20_000)} } }`,
  ],
])("nobody waits for a hundred texts of %s that one caller sends at once", async (_, path, type, body) => {
  const service = await startTestService({ world: false });
  const { port, hostname } = new URL(service.url);
  const sockets = await Promise.all(
    Array.from({ length: 101 }, async () => {
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      return socket;
    }),
  );
  try {
    const [other, ...many] = sockets as [Socket, ...Socket[]];
    let answered = 0;
    for (const [n, socket] of many.entries()) {
      socket.once("data", () => (answered += 1));
      post(socket, service.keys.read, path, type, body(n));
    }
    other.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await once(other, "data");
    expect(answered).toBeLessThan(50);
  } finally {
    for (const socket of sockets) socket.destroy();
    await service.stop();
  }
});
