// The window of a rate limit by a clock that the test sets: what is left over at its end, and what a batch takes.
import { EventEmitter } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Request, Response } from "express";
import type { Pulse } from "../process/pulse.ts";
import { HoldBack } from "../server/identity/hold-back.ts";
import { RateLimit } from "../server/identity/rate-limit.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { forwardTo } from "./support/sick-postgres.ts";
import { givenUpAfter } from "./support/silent-database.ts";

let database: TestDatabase;
let limits: RateLimit[];
let holdBack: HoldBack;
let now: number;
let passed: number;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  now = 1_900_000_000_000;
  passed = 1_000_000;
  jest.spyOn(Date, "now").mockImplementation(() => now);
  jest.spyOn(performance, "now").mockImplementation(() => passed);
  limits = [];
  holdBack = new HoldBack();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(limits.map((limit) => limit.stop()));
  await database.owner.query("delete from app_private.rate_limits");
});

/** Time passes, which is more than that the clock is set. */
function pass(ms: number): void {
  now += ms;
  passed += ms;
}

const process = (
  pulse: { isDown: boolean; attend?: Pulse["attend"] } = { isDown: false },
  patienceMs = 60_000,
  url = database.serverUrl,
) => {
  const alive = Object.assign(pulse, {
    attend: () => ({ answered: () => undefined, end: () => undefined }),
    ...pulse,
  });
  // However busy the machine is, it is the database that counts.
  const limit = new RateLimit(100, url, alive as unknown as Pulse, holdBack, patienceMs);
  limits.push(limit);
  return limit;
};

function answer(headers = new Map<string, string>()): Response & EventEmitter {
  const setHeader = (name: string, value: string) => headers.set(name, value);
  return Object.assign(new EventEmitter(), { setHeader }) as unknown as Response & EventEmitter;
}

/** A request of a caller who may send so many a minute, as this process counts it. */
async function ask(limit: RateLimit, ratePerMinute: number | null, batch = 0) {
  const headers = new Map<string, string>();
  const request = { identity: { id: "a", ratePerMinute } } as unknown as Request;
  const response = answer(headers);
  let code = "";
  try {
    await limit.count(request, response, () => undefined);
    if (batch > 0) await request.countAs(batch);
  } catch (error) {
    code = (error as { code: string }).code;
  }
  const [, left, seconds] = /r=(\d+); t=(\d+)/.exec([...headers.values()].join()) ?? [];
  return { code, left: Number(left), seconds: Number(seconds) };
}
const admitted = async (limit: RateLimit, ratePerMinute: number, requests: number) => {
  let count = 0;
  for (let i = 0; i < requests; i += 1) if ((await ask(limit, ratePerMinute)).code === "") count += 1;
  return count;
};

test("lasts sixty seconds: its last millisecond counts, and then there is a new one", async () => {
  const limit = process();
  expect(await admitted(limit, 20, 25)).toBe(20);
  expect((await ask(limit, 20)).seconds).toBe(60);
  pass(59_001);
  expect(await ask(limit, 20)).toEqual({ code: "rate_limited", left: 0, seconds: 1 });
  pass(998);
  expect((await ask(limit, 20)).code).toBe("rate_limited");
  pass(1);
  expect(await ask(limit, 20)).toEqual({ code: "", left: 19, seconds: 60 });
});

test("what the database has answered while the process stood still is what it counts by", async () => {
  const limit = process(undefined, 1_000);
  expect(await ask(limit, 20)).toMatchObject({ left: 19 });
  expect(await ask(process(), 20, 17)).toMatchObject({ code: "", left: 1 });
  const asked = ask(limit, 20);
  // It is asked by then, and waited for within a second.
  await new Promise(setImmediate);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
  expect(await asked).toMatchObject({ code: "", left: 0 });
});

test("what is left of a part at its end is not added to the next", async () => {
  const limit = process();
  // Takes twenty at a time, of which one is used.
  expect(await ask(limit, 400)).toMatchObject({ left: 399 });
  pass(60_000);
  expect(await ask(limit, 400)).toMatchObject({ left: 399 });
  expect(await admitted(limit, 400, 420)).toBe(399);
});

test("a batch takes what is left of a part and what it lacks, and is refused whole where that is not there", async () => {
  const limit = process();
  expect(await ask(limit, 40, 35)).toMatchObject({ code: "", left: 4 });
  expect(await ask(limit, 40, 9)).toMatchObject({ code: "rate_limited" });
  expect(await ask(process(), 40)).toMatchObject({ code: "rate_limited" });
});

describe("what a request turned out to be", () => {
  const turnsOut = async (
    limit: RateLimit,
    ratePerMinute: number,
    requests: number,
    { answered = false, meanwhile = () => {} } = {},
  ) => {
    const headers = new Map<string, string>();
    const request = { identity: { id: "a", ratePerMinute } } as unknown as Request;
    const response = Object.assign(answer(headers), { headersSent: answered });
    await limit.count(request, response, () => undefined);
    headers.clear();
    meanwhile();
    request.countAfterwards(requests);
    return headers;
  };

  const taken = async () => {
    const { rows } = await database.owner.query<{ points: number }>(
      "select points from app_private.rate_limits where key = 'requests:a'",
    );
    return rows[0]?.points ?? 0;
  };

  test("is taken from what is left, and what is not there keeps out until the window ends, and no longer", async () => {
    const limit = process();
    expect((await turnsOut(limit, 20, 4)).get("ratelimit")).toBe('"20-in-1min"; r=15; t=60');
    expect(await ask(limit, 20)).toEqual({ code: "", left: 14, seconds: 60 });
    await turnsOut(limit, 20, 100);
    expect(await ask(limit, 20)).toMatchObject({ code: "rate_limited", left: 0 });
    expect(await ask(process(), 20)).toMatchObject({ code: "rate_limited", left: 0 });
    pass(60_000);
    expect(await ask(limit, 20)).toEqual({ code: "", left: 19, seconds: 60 });
  });

  test.each([
    ["little", 1, 18],
    ["much", 15, 4],
  ])("counts in the window in which it turned out, if it is %s", async (_, requests, left) => {
    const limit = process();
    const told = await turnsOut(limit, 20, requests, { meanwhile: () => pass(60_000) });
    expect(told.get("ratelimit")).toBe(`"20-in-1min"; r=${left + 1}; t=60`);
    expect(await ask(limit, 20)).toMatchObject({ code: "", left });
  });

  test("is taken of all processes, also where it turned out while another was", async () => {
    const limit = process();
    await turnsOut(limit, 40, 10);
    // Of the first nothing has been answered yet.
    const request = { identity: { id: "a", ratePerMinute: 40 } } as unknown as Request;
    await limit.count(request, answer(), () => undefined);
    for (const requests of [8, 8]) request.countAfterwards(requests);
    await eventually(async () => expect(await taken()).toBeGreaterThanOrEqual(28));
    // Two at a time are taken, which may be left.
    expect(await admitted(process(), 40, 40)).toBeGreaterThanOrEqual(40 - 28 - 2 * 4);
    expect(await taken()).toBeLessThanOrEqual(28 + 40);
  });

  test("is taken once, however much of it there is", async () => {
    const limit = process();
    for (const requests of [100, 1, 1, 1, 1, 1]) {
      const request = { identity: { id: "a", ratePerMinute: 10 } } as unknown as Request;
      await Promise.resolve(limit.count(request, answer(), () => undefined)).catch(() => undefined);
      request.countAfterwards(requests);
    }
    await eventually(async () => expect(await taken()).toBeGreaterThanOrEqual(106));
    expect(await taken()).toBeLessThan(120);
  });

  test("is part of the limit that a caller has by then", async () => {
    const limit = process();
    const request = { identity: { id: "a", ratePerMinute: 100 } } as unknown as Request;
    const headers = new Map<string, string>();
    await limit.count(request, answer(headers), () => undefined);
    await ask(limit, 50);
    request.countAfterwards(7);
    expect(headers.get("ratelimit")).toMatch(/^"50-in-1min"; r=/);
    expect((await ask(limit, 50)).left).toBeLessThanOrEqual(50 - 1 - 1 - 7 - 1);
  });

  test("is not told in an answer that has begun", async () => {
    expect((await turnsOut(process(), 20, 4, { answered: true })).size).toBe(0);
  });
});

test("a batch takes no more of the limit than it lacks: the rest is there for another process", async () => {
  expect(await ask(process(), 40, 35)).toMatchObject({ code: "", left: 4 });
  expect(await admitted(process(), 40, 6)).toBe(4);
});

test("a process takes a twentieth of a limit at a time, rounded up: the rest is there for others", async () => {
  expect(await ask(process(), 400)).toMatchObject({ code: "", left: 399 });
  expect(await admitted(process(), 400, 400)).toBe(380);
  pass(60_000);
  expect(await ask(process(), 30)).toMatchObject({ code: "", left: 29 });
  expect(await admitted(process(), 30, 30)).toBe(28);
});

test("each caller is told of a partition of its own, which is not its name", async () => {
  const partition = async (id: string) => {
    const headers = new Map<string, string>();
    const request = { identity: { id, ratePerMinute: 10 } } as unknown as Request;
    await process().count(request, answer(headers), () => undefined);
    return /^"10-in-1min"; q=10; w=60; pk=:([\w+/]{16}):$/.exec(headers.get("ratelimit-policy") ?? "")?.[1];
  };
  const [one, again, other] = [await partition("one"), await partition("one"), await partition("other")];
  expect(one).toBeDefined();
  expect([again, other === one]).toEqual([one, false]);
});

test("a clock that was set back makes a window no longer than a minute", async () => {
  await ask(process(), 40);
  now -= 60_000;
  expect((await ask(process(), 40)).seconds).toBe(60);
});

test("nobody is kept out by a window of a clock that was ahead, in the process that had it and in others", async () => {
  const limit = process();
  expect(await admitted(limit, 10, 15)).toBe(10);
  now -= 3_600_000;
  expect(await admitted(limit, 10, 15)).toBe(0);
  pass(60_000);
  expect(await admitted(limit, 10, 15)).toBe(10);
  now -= 3_600_000;
  expect(await admitted(process(), 10, 15)).toBe(10);
});

test("a clock that is ahead by less than a minute counts in the same window", async () => {
  now += 60_000;
  expect(await admitted(process(), 10, 15)).toBe(10);
  now -= 60_000;
  expect(await admitted(process(), 10, 15)).toBe(0);
});

test("a batch with the request itself is as large as the limit, or refused for good", async () => {
  expect(await ask(process(), 10, 9)).toMatchObject({ code: "", left: 0 });
  pass(60_000);
  expect((await ask(process(), 10, 10)).code).toBe("validation_failed");
});

test("what is asked later over a connection counts each minute by itself, however much it is in all", async () => {
  const limit = process();
  const request = { identity: { id: "a", ratePerMinute: 10 } } as unknown as Request;
  await limit.count(request, answer(), () => undefined);
  const gone = new AbortController().signal;
  let counted = 1;
  for (let minute = 0; minute < 3; minute += 1) {
    for (; counted < 10; counted += 1) await request.countAnother(gone);
    await expect(request.countAnother(gone)).rejects.toMatchObject({ code: "rate_limited" });
    pass(60_000);
    counted = 0;
  }
});

test("who has no limit of their own has the service's", async () => {
  const limit = process();
  expect((await ask(limit, null)).left).toBe(99);
});

test("a process whose database is down counts by itself, and does not ask it", async () => {
  const limit = process({ isDown: true });
  expect(await admitted(limit, 10, 15)).toBe(10);
  const { rows } = await database.owner.query("select from app_private.rate_limits");
  expect(rows).toEqual([]);
  pass(60_000);
  expect(await admitted(limit, 10, 15)).toBe(10);
});

test("who waits for a database that falls silent waits no longer than until that is known", async () => {
  const attended: ((cause: Error) => void)[] = [];
  const attend = (fail: (cause: Error) => void) => {
    attended.push(fail);
    return { answered: () => undefined, end: () => undefined };
  };
  const limit = process({ isDown: false, attend });
  const silent = await database.owner.connect();
  let asked: ReturnType<typeof ask> | undefined;
  try {
    await silent.query("begin; lock table app_private.rate_limits");
    asked = ask(limit, 10);
    await new Promise(setImmediate);
    expect(attended).toHaveLength(1);
    attended[0]!(new Error("nothing is heard of it"));
    expect(await asked).toMatchObject({ code: "", seconds: 60 });
  } finally {
    await silent.query("rollback");
    silent.release();
    await asked;
  }
});

test("a process that begins to count by itself goes on with the window that it knows", async () => {
  const pulse = { isDown: false };
  const limit = process(pulse);
  expect(await admitted(limit, 20, 15)).toBe(15);
  pass(20_000);
  pulse.isDown = true;
  expect(await admitted(limit, 20, 10)).toBe(5);
  expect(await ask(limit, 20)).toMatchObject({ code: "rate_limited", seconds: 40 });
  pass(40_000);
  expect(await ask(limit, 20)).toEqual({ code: "", left: 19, seconds: 60 });
});

test("a database that fails is not asked for two seconds, one that was down as soon as it is back", async () => {
  const counted = async () => {
    const { rows } = await database.owner.query<{ points: number }>(
      "select points from app_private.rate_limits",
    );
    return rows[0]?.points ?? 0;
  };
  const pulse = { isDown: true };
  const limit = process(pulse);
  expect((await ask(limit, 10)).code).toBe("");
  pulse.isDown = false;
  expect((await ask(limit, 10)).code).toBe("");
  expect(await counted()).toBe(1);
  await database.owner.query("alter table app_private.rate_limits rename to elsewhere");
  try {
    expect((await ask(limit, 10)).code).toBe("");
  } finally {
    await database.owner.query("alter table app_private.elsewhere rename to rate_limits");
  }
  pass(1_999);
  expect((await ask(limit, 10)).code).toBe("");
  expect(await counted()).toBe(1);
  pass(1);
  expect((await ask(limit, 10)).code).toBe("");
  expect(await counted()).toBe(2);
});

test("a connection on which the database does not answer in time is given up for another", async () => {
  const line = await forwardTo(() => Number(new URL(database.serverUrl).port));
  const url = Object.assign(new URL(database.serverUrl), { port: String(line.port) });
  const limit = process(undefined, 500, url.href);
  const counted = async () => {
    pass(2_000);
    await ask(limit, 10);
    return (await database.owner.query("delete from app_private.rate_limits")).rowCount;
  };
  try {
    // More often than there are connections. A busy machine may not have opened one in time.
    for (let i = 0; i < 4; i += 1) {
      let isCounted = false;
      for (let tries = 0; tries < 10 && !isCounted; tries += 1) isCounted = (await counted()) === 1;
      expect(isCounted).toBe(true);
      line.muffle();
      expect(await counted()).toBe(0);
    }
  } finally {
    line.close();
  }
});

test("a connection that the database never gives is waited for no longer than an answer, and the process counts by itself", async () => {
  const count = async (url: string) => {
    const { code, seconds } = await ask(process(undefined, 1_000, url), 10);
    throw new Error(`counted all the same: ${code === "" ? seconds : code}`);
  };
  expect(await givenUpAfter(1, count)).toBe("counted all the same: 60");
});

test("a process has no more than two connections to count by, however many ask", async () => {
  const limit = process();
  const count = (id: string) => {
    const request = { identity: { id, ratePerMinute: 10 } } as unknown as Request;
    return limit.count(request, answer(), () => undefined);
  };
  const connections = async () => {
    const { rows } = await database.owner.query<{ connections: number }>(
      `select count(*)::integer as connections from pg_stat_activity
        where datname = current_database() and query like '%rate_limits%' and pid <> pg_backend_pid()`,
    );
    return rows[0]!.connections;
  };
  // Of those of other processes, PostgreSQL notices the end a moment later.
  await eventually(async () => expect(await connections()).toBe(0), 30_000);
  await Promise.all(["a", "b", "c", "d", "e"].map(count));
  expect(await connections()).toBe(2);
});

test("a process that counts by itself does so no longer when the clock is set back", async () => {
  const limit = process();
  await database.owner.query("alter table app_private.rate_limits rename to elsewhere");
  try {
    expect((await ask(limit, 10)).code).toBe("");
  } finally {
    await database.owner.query("alter table app_private.elsewhere rename to rate_limits");
  }
  now -= 3_600_000;
  pass(2_000);
  expect((await ask(limit, 10)).code).toBe("");
  const { rows } = await database.owner.query("select points from app_private.rate_limits");
  expect(rows).toEqual([{ points: 1 }]);
});

test("who goes on after fifty refusals waits for each further one, until the window ends", async () => {
  const limit = process();
  const waits = jest.spyOn(holdBack, "wait").mockImplementation(() => new Promise(() => undefined));
  const codes: string[] = [];
  const refuse = async (requests: number) => {
    for (let i = 0; i < requests; i += 1) void ask(limit, 1).then(({ code }) => codes.push(code));
    await new Promise(setImmediate);
    return [waits.mock.calls.length, codes.length];
  };
  expect((await ask(limit, 1)).code).toBe("");
  expect(await refuse(50)).toEqual([0, 50]);
  expect(await refuse(3)).toEqual([3, 50]);
  expect(waits.mock.calls.map(([caller]) => caller)).toEqual(["a", "a", "a"]);
  pass(60_000);
  expect((await ask(limit, 1)).code).toBe("");
  expect(await refuse(50)).toEqual([3, 100]);
  expect(new Set(codes)).toEqual(new Set(["rate_limited"]));
});

test("who hangs up is not waited for; over a connection that lasts, who closes it", async () => {
  const limit = process();
  jest.spyOn(holdBack, "wait").mockImplementation(async (_, gone) => {
    await new Promise((end) => gone.addEventListener("abort", end));
  });
  for (let i = 0; i < 51; i += 1) await ask(limit, 1);
  const request = { identity: { id: "a", ratePerMinute: 1 } } as unknown as Request;
  const response = answer();
  const counting = Promise.resolve(limit.count(request, response, () => undefined));
  const refused = expect(counting).rejects.toMatchObject({ code: "rate_limited" });
  await new Promise(setImmediate);
  response.emit("close");
  await refused;
  const gone = new AbortController();
  const another = expect(request.countAnother(gone.signal)).rejects.toMatchObject({ code: "rate_limited" });
  await new Promise(setImmediate);
  gone.abort();
  await another;
}, 20_000);
