// Refusals that wait, by a clock that the test sets, and at the doors where nobody knows yet who is refused.
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Request, RequestHandler, Response } from "express";
import { ApiError } from "../server/errors.ts";
import { SESSION } from "../server/identity/cookies.ts";
import { HoldBack } from "../server/identity/hold-back.ts";
import { orNobody } from "../server/identity/unknown-keys.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { Visitor } from "./support/visitor.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";

describe("a refusal", () => {
  const never = new AbortController().signal;
  let holdBack: HoldBack;
  let answered: string[];
  beforeEach(() => {
    jest.useFakeTimers();
    holdBack = new HoldBack();
    answered = [];
  });
  afterEach(() => void jest.useRealTimers());

  const refuse = (caller: string, gone = never) =>
    void holdBack.wait(caller, gone).then(() => answered.push(caller));
  const after = async (ms: number) => {
    await jest.advanceTimersByTimeAsync(ms);
    return answered.length;
  };

  test("waits for half a second", async () => {
    refuse("a");
    expect(await after(499)).toBe(0);
    expect(await after(1)).toBe(1);
  });

  test("waits for longer where a hundred of the same caller wait, and nobody else's does", async () => {
    for (let i = 0; i < 200; i += 1) refuse("a");
    refuse("b");
    expect(await after(500)).toBe(101);
    expect(await after(499)).toBe(101);
    expect(await after(1)).toBe(201);
    refuse("a");
    expect(await after(500)).toBe(202);
  });

  test("waits for ten seconds at most", async () => {
    for (let i = 0; i < 5_000; i += 1) refuse("a");
    expect(await after(10_000)).toBe(5_000);
  });

  test("of a caller who hangs up is over at once, and the next ones wait as if it were not", async () => {
    const gone = new AbortController();
    for (let i = 0; i < 100; i += 1) refuse("a", gone.signal);
    gone.abort();
    expect(await after(0)).toBe(100);
    refuse("a");
    refuse("b", gone.signal);
    expect(await after(0)).toBe(101);
    expect(await after(500)).toBe(101);
    expect(await after(500)).toBe(102);
  });

  test("that is over is no longer there for the end", async () => {
    const listening = new AbortController().signal;
    const forget = jest.spyOn(listening, "removeEventListener");
    for (let i = 0; i < 3; i += 1) refuse("a", listening);
    await after(500);
    forget.mockClear();
    holdBack.end();
    expect(forget).not.toHaveBeenCalled();
  });

  const failure = new ApiError("missing_api_key");
  test.each<[string, RequestHandler]>([
    [
      "throws",
      () => {
        throw failure;
      },
    ],
    ["rejects", () => Promise.reject(failure)],
    ["hands on", (_request, _response, next) => next(failure)],
    ["hands on later", (_request, _response, next) => void setImmediate(() => next(failure))],
  ])(
    "that a guard %s is one, whoever asks the guard",
    async (_, guard) => {
      jest.useRealTimers();
      const request = { ip: "10.0.0.1" } as Request;
      let passed = 0;
      for (const asked of [holdBack.slowly(guard), holdBack.slowly(holdBack.slowly(guard))])
        await expect(asked(request, {} as Response, () => (passed += 1))).rejects.toBe(failure);
      expect(passed).toBe(0);
      await orNobody(guard)(request, {} as Response, () => (passed += 1));
      await holdBack.slowly((_request, _response, next) => next())(
        request,
        {} as Response,
        () => (passed += 1),
      );
      expect(passed).toBe(2);
    },
    30_000,
  );

  test("is what a caller has brought about: what fails in the service is told at once, however often", async () => {
    jest.useRealTimers();
    const waits = jest.spyOn(holdBack, "wait").mockResolvedValue();
    const response = new EventEmitter() as unknown as Response;
    const meets = async (wrong: Error) => {
      const guard = holdBack.slowly(() => {
        throw wrong;
      });
      try {
        await guard({ ip: "10.0.0.2" } as Request, response, () => undefined);
      } catch {
        // It is told to Express.
      }
    };
    for (let i = 0; i < 60; i += 1) await meets(new Error("broken"));
    for (let i = 0; i < 50; i += 1) await meets(failure);
    expect(waits).not.toHaveBeenCalled();
    await meets(failure);
    expect(waits).toHaveBeenCalledTimes(1);
  });

  test("of one of many that hangs up is over at once as well, whichever guard refuses", async () => {
    const guard = holdBack.slowly(() => {
      throw failure;
    });
    const request = { ip: "10.0.0.3" } as Request;
    const refused = (response: EventEmitter) => {
      const told = Promise.resolve(guard(request, response as unknown as Response, () => undefined));
      told.catch(() => answered.push("refused"));
    };
    for (let i = 0; i < 51; i += 1) refused(new EventEmitter());
    const leaving = new EventEmitter();
    refused(leaving);
    expect(await after(0)).toBe(50);
    leaving.emit("close");
    expect(await after(0)).toBe(51);
    expect(await after(500)).toBe(52);
  });

  test("waits no more once the service ends", async () => {
    refuse("a");
    holdBack.end();
    refuse("b");
    expect(await after(0)).toBe(2);
  });
});

/** Many at once: a machine that is busy takes them within the minute for which they count. */
const fiftyTimes = <T>(send: () => Promise<T>, times = 50) =>
  Promise.all(Array.from({ length: times }, send));

test("who is not known waits as well, at every door, and those who are do not", async () => {
  const service = await startTestService({ world: false });
  // Building it on demand would take a good part of the minute in which refusals are counted.
  const options = { graphql: "at the start" } as const;
  const server = await startAnotherServer(service, { UNKNOWN_KEYS_PER_MINUTE: "10" }, options);
  const waits = jest.spyOn(HoldBack.prototype, "wait").mockResolvedValue();
  const ends = jest.spyOn(HoldBack.prototype, "end");
  try {
    const known = () => call(`${server.url}/v0/accelerators`, "GET", service.keys.read);
    expect((await known()).status).toBe(200);
    const wrong = (path = "/v0/needs", key?: string) => call(`${server.url}${path}`, "POST", key, {});
    for (let i = 0; i < 50; i += 1)
      expect([401, 429]).toContain((await wrong("/v0/needs", `ek_${i}`)).status);
    expect(waits).not.toHaveBeenCalled();
    for (const path of ["/graphql", "/graphql/stream", "/v0/sparql", "/v0/mcp", "/v0/needs"]) {
      waits.mockClear();
      expect([path, (await wrong(path)).status]).toEqual([path, 401]);
      expect([path, waits.mock.calls.map(([caller]) => caller)]).toEqual([path, ["network 127.0.0.1"]]);
    }
    waits.mockClear();
    expect((await known()).status).toBe(200);
    expect((await call(`${server.url}/docs`, "GET", undefined)).status).toBe(200);
    expect((await call(`${server.url}/healthz`, "GET", undefined)).status).toBe(200);
    expect(waits).not.toHaveBeenCalled();
    for (let i = 0; i < 7; i += 1)
      await fiftyTimes(() => call(`${server.url}/sign-in`, "GET", undefined), i === 6 ? 1 : 50);
    expect(waits).toHaveBeenCalledTimes(1);
  } finally {
    waits.mockRestore();
    await server.stop();
    await service.stop();
  }
  // Who waits for a refusal keeps neither of them from stopping.
  expect(ends).toHaveBeenCalledTimes(2);
  ends.mockRestore();
});

test("a session that is made up for a page counts among the keys that nobody knows, and its refusals wait like theirs", async () => {
  const service = await startTestService({ world: false });
  const server = await startAnotherServer(service, { UNKNOWN_KEYS_PER_MINUTE: "10" });
  const waits = jest.spyOn(HoldBack.prototype, "wait").mockResolvedValue();
  try {
    let made = 0;
    const open = async () => {
      const cookie = `${SESSION}=${String((made += 1)).padStart(43, "x")}`;
      return (await fetch(`${server.url}/docs`, { headers: { cookie } })).status;
    };
    const wrong = async (n: number) => (await call(`${server.url}/v0/needs`, "GET", `ek_${n}`)).status;
    for (let n = 0; n < 5; n += 1) expect([await open(), await wrong(n)]).toEqual([200, 401]);
    expect([await open(), await wrong(5)]).toEqual([429, 429]);
    // The fifty that are refused at once are those of all doors.
    for (let n = 0; n < 43; n += 1) expect(await open()).toBe(429);
    expect(waits).not.toHaveBeenCalled();
    expect(await open()).toBe(429);
    expect(waits.mock.calls.map(([caller]) => caller)).toEqual(["network 127.0.0.1"]);
  } finally {
    waits.mockRestore();
    await server.stop();
    await service.stop();
  }
});

test("who is not signed in sees so many pages a minute, and who is sees them all the same", async () => {
  const service = await startTestService({ world: false });
  const waits = jest.spyOn(HoldBack.prototype, "wait").mockResolvedValue();
  try {
    const visitor = await new Visitor(service).signIn("ana@river.example");
    const path = "/organizations";
    const stranger = async () => (await fetch(`${service.url}${path}`, { redirect: "manual" })).status;
    const statuses: number[] = [];
    for (let i = 0; i < 14; i += 1) statuses.push(...(await fiftyTimes(stranger)));
    const seen = statuses.filter((status) => status === 303).length;
    // The sign-in has taken some.
    expect(seen).toBeGreaterThan(590);
    expect(seen).toBeLessThanOrEqual(600);
    // Fifty of those who are refused are so at once.
    expect(waits).toHaveBeenCalledTimes(statuses.length - seen - 50);
    expect(await stranger()).toBe(429);
    expect((await visitor.open(path)).status).toBe(200);
  } finally {
    waits.mockRestore();
    await service.stop();
  }
});

test("who waits for a refusal is answered before the service ends, whatever has refused", async () => {
  const service = await startTestService({ world: false });
  const server = await startAnotherServer(service);
  const limited = await issueTestKey(service.database.owner, "api_read", { ratePerMinute: 1 });
  const waits = jest.spyOn(HoldBack.prototype, "wait");
  const { setTimeout: later } = globalThis;
  // Nobody has waited for long enough.
  const clock = jest
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((told: () => void, ms?: number, ...given: []) =>
      later(told, ms === 500 ? 600_000 : ms, ...given),
    );
  let stopped: Promise<void> | undefined;
  try {
    const ask = async (key?: string) => (await call(`${server.url}/v0/accelerators`, "GET", key)).status;
    const known = Array.from({ length: 52 }, () => ask(limited));
    const unknown = Array.from({ length: 51 }, () => ask());
    await eventually(() => expect(waits).toHaveBeenCalledTimes(2));
    await (stopped = server.stop());
    const refused = (status: number, times: number) => Array<number>(times).fill(status);
    expect((await Promise.all(known)).toSorted((a, b) => a - b)).toEqual([200, ...refused(429, 51)]);
    expect(await Promise.all(unknown)).toEqual(refused(401, 51));
  } finally {
    clock.mockRestore();
    waits.mockRestore();
    await (stopped ?? server.stop());
    await service.stop();
  }
});
