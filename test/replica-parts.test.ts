// What a server makes of a replica: when it asks it, how long it waits for it, why it passes it over. The replica is a database
// that says of itself what the test tells it to.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Request, Response } from "express";
import type pg from "pg";
import type { Connections } from "../server/postgres/connections.ts";
import { Positions } from "../server/postgres/positions.ts";
import type { Position } from "../server/postgres/positions.ts";
import { makeRoom } from "../server/postgres/prepared.ts";
import { Replica } from "../server/postgres/replica.ts";
import { ReplicaUnfit } from "../server/postgres/unavailable.ts";
import { currentRequest, nameRequest } from "../server/request-context.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";

// What hangs is to be seen soon.
jest.setTimeout(60_000);

const turn = () => new Promise(setImmediate);
const at = (place: number): Position => ({ database: "a", timeline: "1", at: place });

test("where commits are told before they are flushed, the log of the primary is as far as it is written", async () => {
  const { owner, drop } = await createTestDatabase();
  const client = await owner.connect();
  try {
    await client.query("begin; set local synchronous_commit = off");
    const { rows } = await client.query<{ is_before: boolean }>(
      `with said as materialized (select pg_logical_emit_message(false, 'test', repeat('x', 10000)) - pg_lsn '0/0' as at)
       select said.at <= (app_private.log_position() ->> 'at')::numeric as is_before from said`,
    );
    expect(rows).toEqual([{ is_before: true }]);
  } finally {
    client.release(true);
    await drop();
  }
});

describe("a replica", () => {
  let database: TestDatabase;
  let primary: () => Promise<Position>;
  let said: string[];
  /** The request that each of these lines is about. */
  let about: (string | undefined)[];
  let replica: Replica;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.owner.query(`
      create table app_private.simulated (at bigint, code text);
      -- Counts those that fail as well.
      create sequence app_private.questions;
      grant all on app_private.questions to public;
      insert into app_private.simulated (at) values (10);
      grant select on app_private.simulated to public;
      create or replace function app_private.at_position(asked json) returns json language plpgsql as $$
      declare replayed bigint := (select s.at from app_private.simulated as s);
      begin
        if asked -> 'position' is null then return asked -> 'settings'; end if;
        if replayed is null then raise exception 'it is no replica' using errcode = 'EG001'; end if;
        if (asked -> 'position' ->> 'replayed')::bigint > (asked -> 'position' ->> 'at')::bigint then
          raise exception 'ahead' using errcode = 'EG001';
        end if;
        if (asked -> 'position' ->> 'at')::bigint > replayed then
          raise exception 'behind' using errcode = 'EG002';
        end if;
        return asked -> 'settings';
      end $$;
      create or replace function app_private.replayed_position() returns bigint language plpgsql as $$
      declare now app_private.simulated;
      begin
        perform nextval('app_private.questions');
        select * into now from app_private.simulated;
        if now.code is not null then raise exception 'no' using errcode = now.code; end if;
        return now.at;
      end $$`);
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    primary = () => Promise.resolve(at(10));
    said = [];
    about = [];
    await set({ at: 10, code: null });
  });
  afterEach(() => replica.stop());

  async function set(change: { at?: number | null; code?: string | null }): Promise<void> {
    for (const [name, value] of Object.entries(change)) {
      await database.owner.query(`update app_private.simulated set ${name} = $1`, [value]);
    }
    await database.owner.query("select setval('app_private.questions', 1, false)");
  }
  const asked = async () => {
    const { rows } = await database.owner.query<{ asked: number }>(
      "select case when is_called then last_value else 0 end::integer as asked from app_private.questions",
    );
    return rows[0]!.asked;
  };
  async function begin(maxLagMs = 60_000): Promise<void> {
    const positions = { current: () => primary() } as unknown as Positions;
    const say = (level: string) => (fields: unknown) => {
      about.push(currentRequest()?.id);
      said.push(`${level} ${typeof fields === "string" ? "back" : (fields as { reason: string }).reason}`);
    };
    replica = new Replica(positions, {
      ...{ url: database.serverUrl, poolSize: 2, statementTimeoutMs: 60_000, onError: () => undefined },
      ...{ maxLagMs, logger: { info: say("info"), warn: say("warn") } as never },
    });
    await replica.start();
  }

  test("that has everything is asked, at the position that the primary has told, and not about it twice", async () => {
    await begin();
    expect([replica.isUsed, said]).toEqual([true, ["info back"]]);
    await set({});
    expect(await replica.ready()).toMatchObject(at(10));
    expect(await asked()).toBe(0);
    // Behind its address there may be another.
    replica.forget();
    expect(await replica.ready()).toMatchObject(at(10));
    expect(await asked()).toBe(1);
  });

  test("that is behind is waited for, by each until it has what they need", async () => {
    await begin();
    primary = () => Promise.resolve(at(20));
    const first = replica.ready();
    primary = () => Promise.resolve(at(30));
    let isThere = false;
    const second = replica.ready().then((position) => {
      isThere = true;
      return position;
    });
    await eventually(async () => expect(await asked()).toBeGreaterThan(2));
    await set({ at: 20 });
    expect(await first).toMatchObject(at(20));
    await eventually(async () => expect(await asked()).toBeGreaterThan(1));
    expect(isThere).toBe(false);
    await set({ at: 30 });
    expect(await second).toMatchObject(at(30));
    expect(said).toEqual(["info back"]);
  });

  test("is asked once how far it is for all who have come until then", async () => {
    await begin();
    replica.forget();
    await set({});
    const reads = await Promise.all(Array.from({ length: 20 }, () => replica.ready()));
    expect(reads).toMatchObject(reads.map(() => at(10)));
    // Which is asked behind whatever they have asked.
    await replica.lag();
    expect(await asked()).toBe(2);
  });

  test("that does not get there in time is passed over, and looked at again", async () => {
    await begin(500);
    // A busy machine may not have opened its connections within that.
    await eventually(() => expect(replica.isUsed).toBe(true));
    said.length = 0;
    primary = () => Promise.resolve(at(11));
    expect(await replica.ready()).toBeUndefined();
    expect(replica.isUsed).toBe(false);
    // Not even about the position of the primary.
    let isAsked = false;
    primary = () => {
      isAsked = true;
      return Promise.resolve(at(11));
    };
    expect([await replica.ready(), isAsked]).toEqual([undefined, false]);
    primary = () => Promise.resolve(at(11));
    await set({ at: 11 });
    await eventually(() => expect(replica.isUsed).toBe(true));
    expect(said).toEqual([
      "warn it has not replayed within 500 ms what was acknowledged before",
      "info back",
    ]);
    expect(await replica.ready()).toMatchObject(at(11));
  });

  test("that is in the way of what it replays is asked again", async () => {
    await begin();
    primary = () => Promise.resolve(at(11));
    await set({ code: "40001" });
    const reading = replica.ready();
    await eventually(async () => expect(await asked()).toBeGreaterThan(2));
    expect(replica.isUsed).toBe(true);
    await set({ code: null, at: 11 });
    expect(await reading).toMatchObject(at(11));
    expect(said).toEqual(["info back"]);
  });

  test("that fails is passed over at once, for all who wait, and waited for as before once it is back", async () => {
    await begin();
    primary = () => Promise.resolve(at(11));
    const reading = [replica.ready(), replica.ready()];
    await eventually(async () => expect(await asked()).toBeGreaterThan(0));
    await set({ code: "XX000" });
    expect(await Promise.all(reading)).toEqual([undefined, undefined]);
    expect(said).toEqual(["info back", "warn it does not answer"]);
    await set({ code: null, at: 11 });
    await eventually(() => expect(replica.isUsed).toBe(true));
    primary = () => Promise.resolve(at(12));
    const again = replica.ready();
    await set({ at: 12 });
    expect(await again).toMatchObject(at(12));
  });

  test("is passed over because of a request, and looked at again on behalf of none", async () => {
    await begin();
    const request = { get: () => "one" } as unknown as Request;
    const response = { set: () => response } as unknown as Response;
    void nameRequest(request, response, () => replica.passOver(new Error("x")));
    await eventually(() => expect(said).toEqual(["info back", "warn it does not answer", "info back"]));
    expect(about).toEqual([undefined, "one", undefined]);
  });

  test("that is none is said so once, however often it is looked at", async () => {
    await set({ at: null });
    await begin();
    expect([replica.isUsed, said]).toEqual([false, ["warn it is no replica"]]);
    // Until it has been looked at twice more.
    await set({});
    await eventually(async () => expect(await asked()).toBeGreaterThan(1));
    await set({ at: 10 });
    await eventually(() => expect(replica.isUsed).toBe(true));
    expect(said).toEqual(["warn it is no replica", "info back"]);
  });

  test("of a primary that does not say how far it is is left in peace, and not begun with", async () => {
    await begin();
    primary = () => Promise.reject(new Error("down"));
    expect(await replica.ready()).toBeUndefined();
    expect([replica.isUsed, said]).toEqual([true, ["info back"]]);
    expect(await replica.lag()).toBeUndefined();
    await replica.stop();
    said = [];
    await begin();
    expect([replica.isUsed, said]).toEqual([false, ["warn the primary does not say how far it is"]]);
  });

  test("is behind by what it has not replayed, and by less than nothing behind a primary that was set back", async () => {
    await begin();
    primary = () => Promise.resolve(at(17));
    expect(await replica.lag()).toBe(7);
    primary = () => Promise.resolve(at(3));
    expect(await replica.lag()).toBe(-7);
    // What it has replayed since the primary was asked does not count.
    primary = async () => {
      await set({ at: 12 });
      return at(11);
    };
    expect(await replica.lag()).toBe(1);
    await set({ at: 10 });
    // Nor is it behind if it is none any more.
    await set({ at: null });
    expect(await replica.lag()).toBeUndefined();
  });

  test("that is ahead of the primary is not begun with, and what it has replayed meanwhile is no reason", async () => {
    primary = () => Promise.resolve(at(9));
    await begin();
    expect([replica.isUsed, said]).toEqual([false, ["warn ahead"]]);
    primary = async () => {
      await set({ at: 12 });
      return at(10);
    };
    await eventually(() => expect(replica.isUsed).toBe(true));
    expect(said).toEqual(["warn ahead", "info back"]);
  });

  test("is asked with what it was known to have before the primary told its position, at each read", async () => {
    await begin();
    primary = () => Promise.resolve(at(4));
    expect(await replica.ready()).toEqual({ ...at(4), replayed: 10 });
    await set({ at: 20 });
    expect(await replica.lag()).toBe(-16);
    expect(await replica.ready()).toEqual({ ...at(4), replayed: 20 });
    // Meanwhile another read has found out more.
    primary = async () => {
      primary = () => Promise.resolve(at(30));
      await set({ at: 30 });
      await replica.lag();
      return at(25);
    };
    expect(await replica.ready()).toEqual({ ...at(25), replayed: 20 });
  });

  test("is passed over once, and not at all once the server stops, which keeps nobody waiting", async () => {
    await begin();
    replica.passOver(new Error("first"));
    replica.passOver(new ReplicaUnfit("what somebody else has found out since"));
    expect(said).toEqual(["info back", "warn it does not answer"]);
    await eventually(() => expect(replica.isUsed).toBe(true));
    said = [];
    // For the same reason as before, but another time.
    replica.passOver(new Error("third"));
    expect(said).toEqual(["warn it does not answer"]);
    await eventually(() => expect(replica.isUsed).toBe(true));
    said = [];
    primary = () => Promise.resolve(at(99));
    const reading = replica.ready();
    await turn();
    await replica.stop();
    expect(await reading).toBeUndefined();
    expect(said).toEqual([]);
  });
});

describe("the position of the primary", () => {
  function primary() {
    const asked: PromiseWithResolvers<number>[] = [];
    const connections = {
      borrow: async () => {
        const answer = Promise.withResolvers<number>();
        asked.push(answer);
        return { rows: [{ position: at(await answer.promise) }] };
      },
    } as unknown as Connections;
    return { asked, positions: new Positions(connections) };
  }

  test("is asked for all who come before the question, and again for who comes while it is under way", async () => {
    const { asked, positions } = primary();
    const first = [positions.current(), positions.current()];
    await turn();
    expect(asked).toHaveLength(1);
    const later = [positions.current(), positions.current()];
    await turn();
    expect(asked).toHaveLength(1);
    asked[0]!.resolve(5);
    expect(await Promise.all(first)).toEqual([at(5), at(5)]);
    await eventually(() => expect(asked).toHaveLength(2), 10_000);
    asked[1]!.resolve(6);
    expect(await Promise.all(later)).toEqual([at(6), at(6)]);
  });

  test("that could not be had is asked for again", async () => {
    const { asked, positions } = primary();
    const failed = positions.current();
    await turn();
    asked[0]!.reject(new Error("down"));
    await expect(failed).rejects.toThrow("down");
    const next = positions.current();
    await eventually(() => expect(asked).toHaveLength(2), 10_000);
    asked[1]!.resolve(7);
    expect(await next).toEqual(at(7));
  });
});

test("a connection has a hundred statements prepared, and lets go of the one that was not used for longest", () => {
  const client = {} as pg.ClientBase;
  for (let i = 0; i < 100; i++) expect(makeRoom(client, `s${i}`)).toBeUndefined();
  expect(makeRoom(client, "s0")).toBeUndefined();
  expect(makeRoom(client, undefined)).toBeUndefined();
  expect(makeRoom(client, "s100")).toBe("s1");
  expect(makeRoom(client, "s1")).toBe("s2");
  expect(makeRoom({} as pg.ClientBase, "s1")).toBeUndefined();
});
