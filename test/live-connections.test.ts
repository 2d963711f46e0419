// The connections that subscriptions come over: how long one is kept, how much may be said over it, and how it ends.
import { EventEmitter, once } from "node:events";
import { describe, expect, jest, test } from "@jest/globals";
import express from "express";
import type { Request, RequestHandler, Response } from "express";
import { parse } from "graphql";
import type { Server } from "graphql-ws";
import { WebSocket } from "ws";
import { ApiError } from "../server/errors.ts";
import { Conversation } from "../server/graphql/conversation.ts";
import { Documents } from "../server/graphql/documents.ts";
import { readStreamRequest } from "../server/graphql/http.ts";
import { OperationIds } from "../server/graphql/operation-ids.ts";
import { Transports } from "../server/graphql/transports.ts";
import { serveWebSocket } from "../server/graphql/websocket.ts";
import type { Extra } from "../server/graphql/websocket.ts";
import type { Identity } from "../server/identity/identity.ts";
import { Listener } from "../server/listener.ts";
import type { Party } from "../server/live/feed.ts";
import { eventually } from "./support/eventually.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

const turn = () => new Promise(setImmediate);

/** As much of a socket as those who speak over it see. */
class FakeSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  protocol = "graphql-transport-ws";
  bufferedAmount = 0;
  readonly done: string[] = [];
  ping = () => void this.done.push("ping");
  pause = () => void this.done.push("pause");
  resume = () => void this.done.push("resume");
  terminate = () => void this.done.push("terminate");
  close = (code: number) => void this.done.push(`close ${code}`);
  take(): string[] {
    return this.done.splice(0);
  }
}

describe("a WebSocket", () => {
  test("is pinged every twelve seconds, kept as long as each ping is answered, and ended otherwise", () => {
    jest.useFakeTimers({ doNotFake: ["performance"] });
    try {
      const socket = new FakeSocket();
      const server = { opened: () => () => Promise.resolve() } as unknown as Server<Extra>;
      serveWebSocket(server, { socket: socket as unknown as WebSocket, request: {} as Request });
      jest.advanceTimersByTime(11_999);
      expect(socket.take()).toEqual([]);
      for (let n = 0; n < 3; n++) {
        jest.advanceTimersByTime(n === 0 ? 1 : 12_000);
        expect(socket.take()).toEqual(["ping"]);
        socket.emit("pong");
      }
      jest.advanceTimersByTime(12_000);
      expect(socket.take()).toEqual(["ping"]);
      jest.advanceTimersByTime(12_000);
      expect(socket.take()[0]).toBe("terminate");
      socket.emit("close", 1006, Buffer.alloc(0));
      jest.advanceTimersByTime(60_000);
      expect(socket.take()).toEqual([]);
    } finally {
      jest.useRealTimers();
    }
  });

  test("that breaks the rules of its protocol is closed for it", () => {
    const socket = new FakeSocket();
    const server = { opened: () => () => Promise.resolve() } as unknown as Server<Extra>;
    serveWebSocket(server, { socket: socket as unknown as WebSocket, request: {} as Request });
    socket.emit("error", new Error("a frame that is none"));
    expect(socket.take()).toEqual(["close 1002"]);
    socket.emit("close", 1002, Buffer.alloc(0));
  });

  test.each([
    ["what the library refuses as an error of ours", new ApiError("validation_failed"), "close 4400"],
    ["anything else", new Error("no"), "close 4500"],
  ])(
    "on which a message fails later on, by %s, is closed, and the process goes on",
    async (_, error, closed) => {
      const socket = new FakeSocket();
      const opened: Server<Extra>["opened"] = (over) => {
        over.onMessage(() => Promise.reject(error));
        return () => Promise.resolve();
      };
      serveWebSocket(
        { opened },
        {
          ...{ socket: socket as unknown as WebSocket, request: {} as Request },
        },
      );
      socket.emit("message", Buffer.from('{"type":"connection_init"}'));
      await turn();
      expect(socket.take()).toEqual([closed]);
      socket.emit("close", 1006, Buffer.alloc(0));
    },
  );

  test("that closes takes all that goes over it with it, and no failure of that ends the process", () => {
    const socket = new FakeSocket();
    const closed = jest.fn(() => Promise.reject(new Error("a subscription does not end")));
    const server = { opened: () => closed } as unknown as Server<Extra>;
    serveWebSocket(server, { socket: socket as unknown as WebSocket, request: {} as Request });
    expect(closed).not.toHaveBeenCalled();
    socket.emit("close", 1001, Buffer.from("leaving"));
    expect(closed.mock.calls).toEqual([[1001, "leaving"]]);
  });
});

/** A WebSocket of somebody who is known, and what the server has to do with it. */
async function connected(subscribe: () => unknown = () => undefined) {
  const known: RequestHandler = (request, _response, next) => {
    request.identity = { id: "a", keyId: "a", role: "api_read" } as Identity;
    request.countAnother = () => Promise.resolve();
    next();
  };
  const looks: { refusal?: ApiError; number: number } = { number: 0 };
  const again: RequestHandler = (_request, _response, next) => {
    looks.number += 1;
    next(looks.refusal);
  };
  const parties: Party[] = [];
  const subscriptions = {
    prepare: (_asked: unknown, party: Party) => {
      parties.push(party);
      return { schema: {}, document: parse("subscription { a }"), contextValue: {} };
    },
    subscribe,
  };
  const parts = { subscriptions, documents: new Documents(), turns: { take: () => Promise.resolve() } };
  const transports = new Transports(parts as unknown as ConstructorParameters<typeof Transports>[0], {
    ...{ key: [known], again, keyInQuery: [], page: [], openPage: [] },
  });
  const app = express().get("/graphql", transports.socket);
  const listener = new Listener(app, { keepAliveMs: 60_000, onRefused: () => undefined });
  const port = await listener.listen(0, "127.0.0.1");
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, "graphql-transport-ws");
  await once(socket, "open");
  const say = (message: object) => socket.send(JSON.stringify(message));
  say({ type: "connection_init" });
  await once(socket, "message");
  const stop = async () => {
    socket.terminate();
    await listener.drain({ delayMs: 0, timeoutMs: 0 });
  };
  return { socket, say, looks, parties, stop };
}

describe("a WebSocket of somebody who is known", () => {
  test("is ready for more but for what its client leaves where it is, and again once that is taken", async () => {
    const begin = Promise.withResolvers<void>();
    const { socket, say, parties, stop } = await connected(async function* () {
      await begin.promise;
      yield { data: { a: "x".repeat(1_000_000) } };
    });
    try {
      socket.pause();
      const count = 30;
      for (let n = 0; n < count; n++)
        say({ id: `${n}`, type: "subscribe", payload: { query: "subscription { a }" } });
      await eventually(() => expect(parties).toHaveLength(count), 5_000);
      const isReady = () => parties[0]!.isReady();
      expect(isReady()).toBe(true);
      begin.resolve();
      await eventually(() => expect(isReady()).toBe(false), 5_000);
      socket.resume();
      await eventually(() => expect(isReady()).toBe(true), 5_000);
    } finally {
      await stop();
    }
  });

  test("has the next event of a subscription made when the one before is on its way", async () => {
    const count = 30;
    let made = 0;
    const { socket, say, parties, stop } = await connected(async function* () {
      while (made < count) {
        made += 1;
        yield { data: { a: "x".repeat(1_000_000) } };
        await turn();
      }
    });
    try {
      socket.pause();
      say({ id: "x", type: "subscribe", payload: { query: "subscription { a }" } });
      await eventually(() => expect(parties[0]?.isReady()).toBe(false), 5_000);
      for (let n = 0; n < 10 * count; n++) await turn();
      expect(made).toBeLessThan(count);
      socket.resume();
      await eventually(() => expect(made).toBe(count), 5_000);
    } finally {
      await stop();
    }
  });

  test("is told what it was closed for, also by the protocol", async () => {
    const { socket, say, stop } = await connected(async function* () {
      await new Promise(() => undefined);
      yield {};
    });
    try {
      const closed = once(socket, "close").then(([code, reason]) => `${String(code)} ${String(reason)}`);
      for (let n = 0; n < 2; n++)
        say({ id: "x", type: "subscribe", payload: { query: "subscription { a }" } });
      expect(await closed).toMatch(/^4409 Subscriber for \w+ already exists$/);
    } finally {
      await stop();
    }
  });

  /** Takes into its hands what pings, and nothing else. */
  const takePings = () => {
    const others = ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "nextTick"] as const;
    const clocks = ["Date", "hrtime", "performance", "queueMicrotask"] as const;
    jest.useFakeTimers({ doNotFake: [...others, ...clocks] });
  };

  test("has as many answers free as it is pinged", async () => {
    takePings();
    const pinged = jest.spyOn(Conversation.prototype, "pinged");
    const { stop } = await connected();
    try {
      jest.advanceTimersByTime(12_000);
      expect(pinged).toHaveBeenCalledTimes(1);
    } finally {
      await stop();
      pinged.mockRestore();
      jest.useRealTimers();
    }
  });

  test("is kept while nobody can say whether they are still let in, and closed when they are not", async () => {
    takePings();
    try {
      const { socket, say, looks, stop } = await connected();
      try {
        const closed = once(socket, "close").then(([code, reason]) => `${String(code)} ${String(reason)}`);
        for (const code of ["database_unavailable", "internal_error"] as const) {
          looks.refusal = new ApiError(code);
          const [before, pinged] = [looks.number, once(socket, "ping")];
          jest.advanceTimersByTime(12_000);
          expect(looks.number).toBe(before + 1);
          // What answers the ping is there before the answer to this.
          const heard = pinged.then(() => {
            say({ type: "ping" });
            return once(socket, "message").then(([data]) => String(data));
          });
          expect(await Promise.race([closed, heard])).toBe('{"type":"pong"}');
        }
        looks.refusal = new ApiError("invalid_api_key");
        jest.advanceTimersByTime(12_000);
        expect(await closed).toBe("4419 invalid_api_key");
      } finally {
        await stop();
      }
    } finally {
      jest.useRealTimers();
    }
  });
});

describe("a conversation", () => {
  function begun() {
    const socket = new FakeSocket();
    const refusals: unknown[] = [];
    const conversation = new Conversation(socket as unknown as WebSocket, (refusal) =>
      refusals.push(refusal),
    );
    const counted: PromiseWithResolvers<void>[] = [];
    const signals: AbortSignal[] = [];
    conversation.enter((gone) => {
      const count = Promise.withResolvers<void>();
      counted.push(count);
      signals.push(gone);
      return count.promise;
    });
    return { socket, refusals, conversation, counted, signals };
  }

  test("is not read on until all of it that waits to be counted is counted, one after the other", async () => {
    const { socket, conversation, counted } = begun();
    const waiting = [conversation.subscribe(), conversation.subscribe()];
    await turn();
    expect([counted.length, socket.take()]).toEqual([1, ["pause", "pause"]]);
    counted[0]!.resolve();
    await turn();
    expect([counted.length, socket.take()]).toEqual([2, []]);
    counted[1]!.resolve();
    await Promise.all(waiting);
    expect(socket.take()).toEqual(["resume"]);
  });

  test("has the answer to each ping free, and no other", async () => {
    const { socket, conversation, counted } = begun();
    for (let n = 0; n < 30; n++) {
      conversation.pinged();
      socket.emit("pong");
    }
    await turn();
    expect(counted).toHaveLength(0);
    for (let n = 0; n < 11; n++) socket.emit("pong");
    await turn();
    expect(counted).toHaveLength(1);
  });

  test("has ten messages free and two more for each subscription that is begun, and none for one that is refused", async () => {
    const { socket, conversation, counted, refusals } = begun();
    const [good, bad] = [conversation.subscribe(), conversation.subscribe()];
    await turn();
    counted[0]!.resolve();
    await good;
    counted[1]!.reject(new ApiError("rate_limited"));
    await expect(bad).rejects.toMatchObject({ code: "rate_limited" });
    for (let n = 0; n < 12; n++) socket.emit("message");
    await turn();
    expect(counted).toHaveLength(2);
    socket.emit("ping");
    await turn();
    expect(counted).toHaveLength(3);
    counted[2]!.reject(new ApiError("rate_limited"));
    await turn();
    expect(refusals).toMatchObject([{ code: "rate_limited" }]);
  });

  test("that is over is counted no longer", async () => {
    const { socket, conversation, counted, signals } = begun();
    const subscribing = conversation.subscribe();
    await turn();
    expect(signals[0]!.aborted).toBe(false);
    socket.emit("close");
    expect(signals[0]!.aborted).toBe(true);
    counted[0]!.resolve();
    await subscribing;
  });
});

describe("an operation that the library has ended", () => {
  const message = (type: string, id: string) => ({ id, type });

  test.each(["complete", "error"])("by %s is over: its end is about nothing, and its id is free", (last) => {
    const ids = new OperationIds();
    expect(ids.heard(message("subscribe", "x"))).toMatchObject({ id: "1" });
    expect(ids.said('{"id":"1","type":"next","payload":{}}')).toBe('{"id":"x","type":"next","payload":{}}');
    expect(ids.said(`{"id":"1","type":"${last}"}`)).toBe(`{"id":"x","type":"${last}"}`);
    expect(ids.heard(message("complete", "x"))).toBeUndefined();
    expect(ids.said('{"id":"1","type":"next","payload":{}}')).toBeUndefined();
    expect(ids.heard(message("subscribe", "x"))).toMatchObject({ id: "2" });
  });
});

test("a stream that began is ended with the server, and no other begins", async () => {
  const nobody: RequestHandler = () => undefined;
  const subscriptions = { prepare: () => [], subscribe: () => undefined };
  const parts = { subscriptions } as unknown as ConstructorParameters<typeof Transports>[0];
  const transports = new Transports(parts, {
    key: [],
    again: nobody,
    keyInQuery: [],
    page: [],
    openPage: [],
  });
  const begin = () => {
    const request = {
      ...{ method: "POST", body: { query: "subscription { a }" }, socket: {}, identity: {} },
      headers: { accept: "text/event-stream", "content-type": "application/json" },
    };
    const ends: string[] = [];
    // What is written is never taken, so that the stream goes on.
    const response = Object.assign(new EventEmitter(), {
      ...{ writable: true, writeHead: () => undefined, write: () => true, end: () => ends.push("end") },
    });
    const streaming = transports.stream(request as never, response as never, () => undefined);
    return { ends, streaming: Promise.resolve(streaming), response };
  };
  const [open, over] = [begin(), begin()];
  over.response.emit("close");
  transports.close();
  expect([open.ends, over.ends]).toEqual([["end"], []]);
  // What comes after that was for nobody, which is no reason to end the process.
  open.response.emit("error", new Error("write after end"));
  const late = begin().streaming.catch(({ code }: ApiError) => code);
  await turn();
  expect(await Promise.race([late, Promise.resolve("begun")])).toBe("service_busy");
});

test("a stream is ready for more once what was written has been taken, and ends for who is not let in any more", async () => {
  const parties: Party[] = [];
  const subscriptions = {
    prepare: (_asked: unknown, party: Party) => {
      parties.push(party);
      return [];
    },
    subscribe: () => undefined,
  };
  const parts = { subscriptions } as unknown as ConstructorParameters<typeof Transports>[0];
  const { stream } = new Transports(parts, {
    key: [],
    again: () => undefined,
    keyInQuery: [],
    page: [],
    openPage: [],
  });
  const request = {
    ...{ method: "POST", body: { query: "subscription { a }" }, socket: {}, identity: {} },
    headers: { accept: "text/event-stream", "content-type": "application/json" },
  };
  const response = Object.assign(new EventEmitter(), {
    ...{ writable: true, writeHead: () => undefined, write: () => true, end: () => undefined },
    ...{ writableLength: 0, destroy: jest.fn() },
  });
  void stream(request as never, response as never, () => undefined);
  await eventually(() => expect(parties).toHaveLength(1), 5_000);
  const ready: boolean[] = [];
  for (const length of [0, 1, 100, 0]) {
    response.writableLength = length;
    ready.push(parties[0]!.isReady());
  }
  expect(ready).toEqual([true, false, false, true]);
  expect(response.destroy).not.toHaveBeenCalled();
  parties[0]!.cut(new ApiError("invalid_api_key"));
  expect(response.destroy).toHaveBeenCalledTimes(1);
});

test("a subscription is streamed to who takes a stream of events, and to nobody else", async () => {
  const read = readStreamRequest(new Documents());
  const asked = async (accepts: boolean) =>
    read(
      { accepts: () => accepts, is: () => false, get: () => undefined, headers: {} } as never,
      {} as never,
      () => undefined,
    );
  await expect(asked(false)).rejects.toMatchObject({ code: "not_acceptable" });
  await expect(asked(true)).rejects.toMatchObject({ code: "unsupported_media_type" });
});

test.each([true, false])(
  "a stream to who has gone (%s) is no failure, and any other is one",
  async (isGone) => {
    const request = {
      ...{ method: "POST", body: { query: "subscription { a }" }, identity: {} },
      headers: { accept: "text/event-stream", "content-type": "application/json" },
      socket: { destroyed: isGone },
    };
    const response = Object.assign(new EventEmitter(), {
      writable: true,
      writeHead: () => undefined,
      write: (_: string, done: (error: Error) => void) => done(new Error("write EPIPE")),
    });
    const subscriptions = { prepare: () => [], subscribe: () => undefined };
    const parts = { subscriptions } as unknown as ConstructorParameters<typeof Transports>[0];
    const { stream } = new Transports(parts, {
      key: [],
      again: () => undefined,
      keyInQuery: [],
      page: [],
      openPage: [],
    });
    const streaming = stream(request as unknown as Request, response as unknown as Response, () => undefined);
    if (isGone) await streaming;
    else await expect(streaming).rejects.toThrow("EPIPE");
  },
);
