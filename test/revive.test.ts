// An embedded PostgreSQL that ends is started again, but not for ever, not elsewhere, and not once nobody needs it.
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from "@jest/globals";
import pg from "pg";
import type { EmbeddedPostgres } from "../db/embedded.ts";
import { revive } from "../process/revive.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";

let database: TestDatabase;
let warnings: string[];
let failures: string[];
let starts: number;
let answer: () => Promise<Partial<EmbeddedPostgres>>;
let end: (() => Promise<void>) | undefined;
let now: number;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  now = 1_900_000_000_000;
  [warnings, failures, starts] = [[], [], 0];
  answer = () => Promise.resolve({ wasRunning: false });
});
afterEach(async () => {
  await end?.();
  jest.restoreAllMocks();
});

// Idle: one that is still connecting would be no connection yet that ends.
const watching = () =>
  `from pg_stat_activity where datname = current_database() and application_name = 'engagement-watch' and state = 'idle'`;
const watches = async () => (await database.owner.query(`select ${watching()}`)).rowCount;

/** Watches a server that is started as the test says. */
async function begin(): Promise<void> {
  watch();
  await eventually(async () => expect(await watches()).toBe(1));
}

function watch(): void {
  const postgres = { url: database.url } as EmbeddedPostgres;
  end = revive(
    postgres,
    async () => {
      starts += 1;
      return { url: database.url, ...(await answer()) } as EmbeddedPostgres;
    },
    {
      onWarning: (message) => warnings.push(message),
      onFailure: (error) => failures.push(error.message),
    },
  );
}

/** Ends the connection that watches, as the end of the server would. */
const cut = () => database.owner.query(`select pg_terminate_backend(pid) ${watching()}`);

test("it is started again, which is said, and watched as before", async () => {
  await begin();
  for (const times of [1, 2]) {
    await cut();
    await eventually(async () => {
      expect(warnings).toHaveLength(times);
      expect(await watches()).toBe(1);
    });
  }
  expect([starts, failures]).toEqual([2, []]);
  expect(warnings[0]).toContain("was started again");
});

test("a connection that watches is lost without a fault that would end the process", async () => {
  const connected = jest.spyOn(pg.Client.prototype, "connect");
  await begin();
  const client = connected.mock.contexts[0] as pg.Client;
  expect(() => client.emit("error", new Error("gone"))).not.toThrow();
});

test("one that cannot be watched from the first is started, and then is", async () => {
  const refuse: unknown = () => Promise.reject(new Error("not yet"));
  jest.spyOn(pg.Client.prototype, "connect").mockImplementationOnce(refuse as () => void);
  watch();
  await new Promise(setImmediate);
  expect(starts).toBe(1);
  await eventually(async () => expect(await watches()).toBe(1));
  expect(failures).toEqual([]);
});

test("one that another process has started again is joined without a word", async () => {
  answer = () => Promise.resolve({ wasRunning: true });
  await begin();
  await cut();
  await eventually(async () => {
    expect(starts).toBe(1);
    expect(await watches()).toBe(1);
  });
  expect([warnings, failures]).toEqual([[], []]);
});

test("it is tried until it answers, for a minute", async () => {
  jest.spyOn(performance, "now").mockImplementation(() => now);
  answer = () =>
    starts < 3 ? Promise.reject(new Error("not ready")) : Promise.resolve({ wasRunning: false });
  await begin();
  await cut();
  await eventually(() => expect(warnings).toHaveLength(1));
  expect([starts, failures]).toEqual([3, []]);
  await eventually(async () => expect(await watches()).toBe(1));
  answer = () => {
    now += 60_000;
    return Promise.reject(new Error("still not ready"));
  };
  await cut();
  await eventually(() => expect(failures).toEqual(["still not ready"]));
});

test("it comes back at the same port, or not at all", async () => {
  answer = () => Promise.resolve({ url: "postgres://elsewhere", wasRunning: false });
  await begin();
  await cut();
  await eventually(() => expect(failures).toEqual([expect.stringContaining("at another port")]));
  expect(starts).toBe(1);
});

test("one that ends more than ten times within an hour is given up; what was longer ago does not count", async () => {
  jest.spyOn(performance, "now").mockImplementation(() => now);
  await begin();
  const again = async (times: number) => {
    await cut();
    await eventually(async () => {
      expect(warnings.length + failures.length).toBe(times);
      if (failures.length === 0) expect(await watches()).toBe(1);
    });
  };
  await again(1);
  now += 3_600_000;
  for (let times = 2; times <= 11; times++) await again(times);
  expect(failures).toEqual([]);
  now += 3_599_999;
  await again(12);
  expect(failures).toEqual([expect.stringContaining("again and again")]);
});

test("once nobody needs it, it is neither watched nor started, and what is under way ends first", async () => {
  const gate = Promise.withResolvers<Partial<EmbeddedPostgres>>();
  answer = () => gate.promise;
  await begin();
  await cut();
  await eventually(() => expect(starts).toBe(1));
  let ended = false;
  const ending = end!().then(() => (ended = true));
  await new Promise(setImmediate);
  expect(ended).toBe(false);
  gate.resolve({ wasRunning: true });
  await ending;
  await eventually(async () => expect(await watches()).toBe(0));
  expect([starts, failures]).toEqual([1, []]);

  answer = () => Promise.resolve({ wasRunning: true });
  await begin();
  await end!();
  await eventually(async () => expect(await watches()).toBe(0));
  expect(starts).toBe(1);
});

test("one that nobody needs any more before it is watched is not watched from then on", async () => {
  const connecting = jest.spyOn(pg.Client.prototype, "connect");
  const postgres = { url: database.url } as EmbeddedPostgres;
  const unwanted = { onWarning: (message: string) => warnings.push(message), onFailure: () => undefined };
  await revive(postgres, () => Promise.reject(new Error("is not started")), unwanted)();
  await (connecting.mock.results[0]!.value as Promise<void>);
  await eventually(async () => expect(await watches()).toBe(0));
  expect(warnings).toEqual([]);
});
