// How long a server takes what it knows of a key for granted, by a clock that the test sets.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from "@jest/globals";
import { KeyRing } from "../server/identity/keys.ts";
import { KeyLookup } from "../server/identity/lookup.ts";
import { Postgres } from "../server/postgres/postgres.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";

jest.setTimeout(60_000);

let database: TestDatabase;
let postgres: Postgres;
let issued: string;
let good: string;
let keys: KeyRing;
let now: number;
let lookups: jest.Spied<KeyLookup["find"]>;
beforeAll(async () => {
  database = await createTestDatabase();
  postgres = new Postgres({
    ...{ url: database.serverUrl, poolSize: 2, statementTimeoutMs: 7_000, onError: () => undefined },
  });
  await postgres.start();
  // Before anybody listens: what is announced of a key is a reason to look it up again, whenever it arrives.
  [issued, good] = [
    await issueTestKey(database.owner, "api_read"),
    await issueTestKey(database.owner, "api_read"),
  ];
});
afterAll(async () => {
  await postgres.end();
  await database.drop();
});
beforeEach(async () => {
  now = 1_000_000;
  jest.spyOn(performance, "now").mockImplementation(() => now);
  lookups = jest.spyOn(KeyLookup.prototype, "find");
  keys = new KeyRing({ connections: postgres.lookups, statements: 2, listenUrl: database.serverUrl });
  await keys.start();
});
afterEach(async () => {
  await keys.stop();
  jest.restoreAllMocks();
});

const isKnown = (key: string) =>
  keys.identify(key, "::1").then(
    () => true,
    () => false,
  );
const later = async (ms: number) => {
  now += ms;
  // The cache reads its clock once in a millisecond.
  await pause(5);
};

test.each([true, false])(
  "a key (valid: %s) is remembered for five seconds, and no longer",
  async (isValid) => {
    const key = isValid ? issued : "ek_guessed";
    expect([await isKnown(key), lookups.mock.calls.length]).toEqual([isValid, 1]);
    lookups.mockClear();
    await later(4_999);
    expect([await isKnown(key), lookups.mock.calls.length]).toEqual([isValid, 0]);
    await later(2);
    expect([await isKnown(key), lookups.mock.calls.length]).toEqual([isValid, 1]);
  },
);

test("a key that nobody knew is known as soon as it is issued", async () => {
  const key = "ek_from-a-file";
  await eventually(async () => {
    expect(await isKnown(key)).toBe(false);
    lookups.mockClear();
    expect([await isKnown(key), lookups.mock.calls]).toEqual([false, []]);
  });
  await database.owner.query(
    `insert into app_private.api_keys (label, key_hash, scope) values ('late', sha256(convert_to($1, 'utf8')), 'api_read')`,
    [key],
  );
  await eventually(async () => expect(await isKnown(key)).toBe(true));
});

test("once nobody listens, nothing counts that was known before: neither that a key is good nor that nobody knows it", async () => {
  const key = "ek_while-nobody-listened";
  await eventually(async () => {
    expect([await isKnown(good), await isKnown(key)]).toEqual([true, false]);
    lookups.mockClear();
    expect([await isKnown(good), await isKnown(key), lookups.mock.calls]).toEqual([true, false, []]);
  });
  const client = await database.owner.connect();
  try {
    // Of neither is anything announced.
    await client.query("begin");
    await client.query("set local session_replication_role = replica");
    await client.query(
      `insert into app_private.api_keys (label, key_hash, scope)
       values ('unannounced', sha256(convert_to($1, 'utf8')), 'api_read')`,
      [key],
    );
    await client.query(
      "update app_private.api_keys set revoked_at = now() where key_hash = sha256(convert_to($1, 'utf8'))",
      [good],
    );
    await client.query("commit");
  } finally {
    client.release();
  }
  expect([await isKnown(good), await isKnown(key)]).toEqual([true, false]);
  await database.owner.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = 'listen api_keys'",
  );
  await eventually(
    async () => expect([await isKnown(good), await isKnown(key)]).toEqual([false, true]),
    10_000,
  );
});
