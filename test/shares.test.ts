// What one caller can take from the others: statements end in time, or when their caller leaves; and however much one
// key asks for, there are connections left.
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call, startTestService, untilServed } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";

const POOL = 8;

let service: TestService;
let blocker: pg.Client | undefined;

beforeAll(async () => {
  service = await startTestService({ config: { databasePoolSize: POOL, statementTimeoutMs: 600_000 } });
});
afterEach(() => unblock());
afterAll(() => service.stop());

/** Makes everything that reads a table wait. */
async function block(table: string, database = service.database.url): Promise<void> {
  blocker = new pg.Client(database);
  await blocker.connect();
  await blocker.query(`begin; lock table ${table} in access exclusive mode`);
}

async function unblock(): Promise<void> {
  await blocker?.end();
  blocker = undefined;
}

/** A key that has not had a connection yet: one that keeps them for long gets fewer. */
const someKey = () => issueTestKey(service.database.owner, "api_read");

const get = (path: string, key = service.keys.read) => call(`${service.url}${path}`, "GET", key);

/** So many requests of one key, each of which is answered, while others keep what they have until the test takes it from them. */
async function servesOthers(count: number): Promise<void> {
  const ask = () => untilServed(() => get("/v0/accelerators", service.keys.write));
  const others = await Promise.all(Array.from({ length: count }, ask));
  expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
}

/** Statements of the server that wait for the lock. */
async function waiting(): Promise<number> {
  const { rows } = await service.database.owner.query<{ n: number }>(
    `select count(*)::integer as n from pg_stat_activity
     where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
  );
  return rows[0]!.n;
}

const untilWaiting = (n: number) => eventually(async () => expect(await waiting()).toBe(n));

/** A request whose caller can hang up. */
function caller(path: string, key: string): { hangUp: () => void } {
  const sent = request(`${service.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  sent.on("error", () => undefined).end();
  return { hangUp: () => sent.destroy() };
}

describe("a caller who hangs up", () => {
  test("has its statement cancelled, and nobody else's; its share is free again", async () => {
    await block("app_public.needs");
    for (let round = 0; round < 5; round++) {
      const key = await someKey();
      const callers = Array.from({ length: 2 }, () => caller("/v0/needs", key));
      await untilWaiting(2);
      for (const { hangUp } of callers) hangUp();
      // On connections that have just been given back, while cancels are still on their way.
      await servesOthers(20);
      await untilWaiting(0);
      expect((await get("/v0/accelerators", key)).status).toBe(200);
    }
  });

  test("waits no longer for a connection", async () => {
    await block("app_public.needs");
    const key = await someKey();
    const first = [caller("/v0/needs", key), caller("/v0/needs", key)];
    await untilWaiting(2);
    const queued = Array.from({ length: 30 }, () => caller("/v0/needs", key));
    for (const { hangUp } of [...queued, ...first]) hangUp();
    await untilWaiting(0);
    expect((await get("/v0/accelerators", key)).status).toBe(200);
  });
});

test("one key gets a quarter of the connections, whoever waits for it; the others are served", async () => {
  await block("app_public.needs");
  const key = await someKey();
  const hostile = Array.from({ length: 300 }, () => get("/v0/needs", key));
  await untilWaiting(POOL / 4);
  await servesOthers(10);
  expect(await waiting()).toBe(POOL / 4);

  // Those that wait are told so in the end.
  const told: Answer[] = [];
  const all = hostile.map(async (answer) => told.push(await answer));
  await eventually(() => {
    expect(told).toHaveLength(300 - POOL / 4);
    return Promise.resolve();
  });
  for (const { status, body, headers } of told) {
    expect({ status, error: body.error }).toEqual({ status: 503, error: "service_busy" });
    expect(headers.get("retry-after")).toBe("1");
  }
  await unblock();
  await Promise.all(all);
  expect(told.filter(({ status }) => status === 200)).toHaveLength(POOL / 4);
});

test("keys that wait take turns", async () => {
  await eventually(async () => {
    await unblock();
    const keys = await Promise.all(Array.from({ length: 5 }, someKey));
    await block("app_public.needs");
    const order: number[] = [];
    const ask = (key: number) =>
      get("/v0/needs", keys[key]).then((answer: Answer) => answer.status === 200 && order.push(key));
    // Four keys fill the pool, the first with a long queue of its own behind it; then comes a fifth.
    const asked = Array.from({ length: 40 }, () => ask(0));
    for (const key of [1, 2, 3]) asked.push(ask(key), ask(key));
    await untilWaiting(POOL);
    asked.push(ask(4));
    await unblock();
    await Promise.all(asked);
    // On a slow machine they may have waited for too long before the last came: that tells nothing.
    expect(order).toHaveLength(asked.length);
    expect(order.indexOf(4)).toBeLessThan(order.length / 2);
  });
});

test("a statement that takes too long ends with 504, and its connection is as good as before", async () => {
  const impatient = await startTestService({ config: { databasePoolSize: 1, statementTimeoutMs: 200 } });
  const needs = () => call(`${impatient.url}/v0/needs`, "GET", impatient.keys.read);
  const pid = async () =>
    (
      await impatient.database.owner.query<{ pids: number[] }>(
        `select array_agg(pid order by pid) as pids from pg_stat_activity
         where datname = current_database() and usename = 'engagement_server' and query like '%run_as%'`,
      )
    ).rows[0]!.pids;
  try {
    // Again where this machine stood still for longer than PostgreSQL has to say that the time is over.
    await eventually(async () => {
      await unblock();
      expect((await needs()).status).toBe(200);
      const before = await pid();
      await block("app_public.needs", impatient.database.url);
      const late = await needs();
      await unblock();
      expect(late).toMatchObject({ status: 504, body: { error: "query_timeout" } });
      // The limit ended with its statement: it is nobody's setting.
      expect((await needs()).status).toBe(200);
      expect(await pid()).toEqual(before);
    });
  } finally {
    await unblock();
    await impatient.stop();
  }
});

test("a refusal of a rule costs no connection", async () => {
  const pids = async () => {
    const { rows } = await service.database.owner.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and usename = 'engagement_server' and query like '%run_as%'`,
    );
    return rows.map(({ pid }) => pid);
  };
  const refused = async () => {
    const path = "/v0/needs/00000000-0000-4000-8000-000000000000/nothing";
    expect((await get(path)).status).toBe(404);
    const answer = await call(`${service.url}/v0/needs/status`, "POST", service.keys.write, {
      ...{ needId: "00000000-0000-4000-8000-000000000000", status: "met" },
      actorEmail: "contributor@river.example",
    });
    expect(answer).toMatchObject({ status: 404, body: { error: "need_not_found" } });
  };
  await refused();
  const before = await pids();
  // More often than there are connections.
  for (let i = 0; i < POOL + 2; i++) await refused();
  const after = await pids();
  expect(after.length).toBeGreaterThan(0);
  // None of them is new. Those that nobody has used for ten seconds are closed.
  expect(before).toEqual(expect.arrayContaining(after));
});

describe("unknown keys", () => {
  const unknown = () => `ek_${randomBytes(32).toString("base64url")}`;

  test("are looked up many at a time, on connections of their own", async () => {
    // A slow machine has some of them wait for too long before all have come.
    await eventually(async () => {
      await unblock();
      await block("app_private.api_keys");
      const tried = Array.from({ length: 200 }, () => get("/v0/needs", unknown()));
      await untilWaiting(2);
      expect(await waiting()).toBe(2);
      await unblock();
      expect((await Promise.all(tried)).map(({ status }) => status)).toEqual(tried.map(() => 401));
    });
  });

  test("are remembered, so that trying again costs nothing", async () => {
    const key = unknown();
    await eventually(async () => {
      expect((await get("/v0/needs", key)).status).toBe(401);
      await block("app_private.api_keys");
      let isAnswered = false;
      const answer = get("/v0/needs", key).finally(() => (isAnswered = true));
      await eventually(async () => expect(isAnswered || (await waiting()) === 1).toBe(true));
      const wasRemembered = isAnswered;
      await unblock();
      expect((await answer).status).toBe(401);
      expect(wasRemembered).toBe(true);
    });
  });

  test("work as soon as they are issued", async () => {
    const key = unknown();
    expect((await get("/v0/needs", key)).status).toBe(401);
    await service.database.owner.query(
      `insert into app_private.api_keys (label, key_hash, scope)
       values ('test', sha256(convert_to($1, 'utf8')), 'api_read')`,
      [key],
    );
    // Less than the time for which it is remembered without an announcement.
    await eventually(async () => expect((await get("/v0/needs", key)).status).toBe(200));
  });
});
