// A replica that is behind, gone, frozen or none at all: it is passed over, and nobody is told anything that is not so any more.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { migrate } from "../db/migrate.ts";
import type { Position } from "../server/postgres/positions.ts";
import { eventually } from "./support/eventually.ts";
import { ask } from "./support/graphql.ts";
import { declare, readsOf, serveBeside, startReplicated } from "./support/replica.ts";
import type { Replicated, ServerOnReplica } from "./support/replica.ts";
import { call } from "./support/service.ts";

const USED = "database_replica_used";
const PASSED_OVER = "the replica is passed over: reads stay on the primary";
const BACK = "reads go to the replica";

let both: Replicated;
beforeAll(async () => {
  both = await startReplicated();
});
afterAll(() => both.remove());

const isUsed = (server: ServerOnReplica, used: 0 | 1) =>
  eventually(async () => expect(await server.metric(USED)).toBe(used));

/** What the replica has not replayed, or nobody could tell it, is read all the same. */
async function expectReads(server: ServerOnReplica, { keys }: Replicated = both): Promise<void> {
  const needId = await declare(server, keys.write, `Need ${Math.random()}`);
  const [item, { need }] = await Promise.all([
    call(`${server.url}/v0/needs/${needId}`, "GET", keys.read),
    ask({ url: server.url, keys }, "query ($id: UUID!) { need(needId: $id) { status } }", { id: needId }),
  ]);
  expect([item.status, need]).toEqual([200, { status: "open" }]);
}

const pause = async () => {
  await both.onReplica("select pg_wal_replay_pause()");
  await eventually(async () =>
    expect(await both.onReplica("select pg_get_wal_replay_pause_state() as state")).toEqual([
      { state: "paused" },
    ]),
  );
};
const resume = () => both.onReplica("select pg_wal_replay_resume()");

describe("a replica that", () => {
  let server: ServerOnReplica;
  beforeAll(async () => {
    server = await both.serve();
    await isUsed(server, 1);
  });

  test.each<[string, fall: () => Promise<unknown>, recover: () => unknown]>([
    ["does not replay", pause, resume],
    ["is gone", () => both.down(), () => both.up()],
    ["is frozen", () => both.freeze(), () => both.thaw()],
  ])("%s is passed over until it is back, and nothing is missing", async (_, fall, recover) => {
    // Whatever another test has done to it is over.
    await isUsed(server, 1);
    const logged = server.logged().length;
    await fall();
    try {
      for (let round = 0; round < 3; round++) await expectReads(server);
      await isUsed(server, 0);
      const before = await readsOf(server);
      for (let round = 0; round < 3; round++) await expectReads(server);
      expect((await readsOf(server)).replica).toBe(before.replica);
      await eventually(async () => {
        expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
        expect(await server.metric("database_up")).toBe(1);
      });
      const warned = server.logged().slice(logged);
      expect(warned[0]).toMatchObject({ level: 40, msg: PASSED_OVER });
      // Once for each reason: one that is frozen is first late, and then does not answer.
      for (const [place, { reason }] of warned.entries()) expect(reason).not.toBe(warned[place - 1]?.reason);
    } finally {
      await Promise.resolve(recover());
    }
    await isUsed(server, 1);
    await eventually(async () => {
      const { replica } = await readsOf(server);
      await expectReads(server);
      expect((await readsOf(server)).replica).toBeGreaterThan(replica);
    });
    // A machine that stands still may have it passed over once more.
    await eventually(() => expect(server.logged().at(-1)).toMatchObject({ level: 30, msg: BACK }));
  });

  test("is behind says by how much", async () => {
    await pause();
    await expectReads(server);
    await eventually(async () =>
      expect(await server.metric("database_replica_lag_bytes")).toBeGreaterThan(0),
    );
    await resume();
    await eventually(async () => expect(await server.metric("database_replica_lag_bytes")).toBe(0));
  });
});

describe("a read URL that leads", () => {
  const elsewhere = (url: string, changes: Partial<URL>) => Object.assign(new URL(url), changes).href;

  beforeAll(async () => {
    await both.owner.query(
      `create role other login password 'other'; grant usage on schema app_private to other;
       grant execute on all functions in schema app_private to other`,
    );
    await both.owner.query("create database twin");
    await migrate(elsewhere(both.url, { pathname: "/twin" }));
    await eventually(async () =>
      expect(await both.onReplica("select from pg_database where datname = 'twin'")).toHaveLength(1),
    );
  });

  const SILENT = "it does not answer";
  test.each<[string, (replicated: Replicated) => string, RegExp]>([
    ["to the primary", ({ serverUrl }) => serverUrl, /^it is no replica$/],
    [
      "to a replica of another database like it",
      ({ readUrl }) => elsewhere(readUrl, { pathname: "/twin" }),
      /^it is a replica of another database$/,
    ],
    [
      "to a database of something else",
      ({ readUrl }) => elsewhere(readUrl, { pathname: "/postgres" }),
      /^it is not a database of this service and version$/,
    ],
    [
      "in with a login that may not become a caller",
      ({ readUrl }) => elsewhere(readUrl, { username: "other", password: "other" }),
      /^its login may not become api_person, api_read, api_review, api_write$/,
    ],
    [
      "in with another setting than the rules need",
      ({ readUrl }) => elsewhere(readUrl, { search: "?options=-c%20lock_timeout%3D5000" }),
      /^it has lock_timeout = 5000; it must be 0 for this login$/,
    ],
    ["nowhere", ({ readUrl }) => elsewhere(readUrl, { port: "9" }), /^it does not answer$/],
    [
      "in with a wrong password",
      ({ readUrl }) => elsewhere(readUrl, { password: "wrong" }),
      /^it does not answer$/,
    ],
  ])("%s changes nothing, and is told of in one line", async (_, urlOf, reason) => {
    const server = await both.serve({ DATABASE_READ_URL: urlOf(both) });
    await expectReads(server);
    expect(await server.metric(USED)).toBe(0);
    expect((await readsOf(server)).replica).toBe(0);
    // A busy machine may have it not answer in time as well.
    const told = server.logged().filter((line) => reason.test(SILENT) || line["reason"] !== SILENT);
    expect(told).toMatchObject([{ level: 40, msg: PASSED_OVER, reason: expect.stringMatching(reason) }]);
    expect(JSON.stringify(server.logged())).not.toContain("wrong");
    await server.stop();
  });
});

test("where policies are switched off for a login they decide all the same, on the primary and on a replica", async () => {
  const without = (url: string) => `${url}?options=-c%20row_security%3Doff`;
  const server = await serveBeside(without(both.serverUrl), { DATABASE_READ_URL: without(both.readUrl) });
  try {
    await expectReads(server);
    await isUsed(server, 1);
    await eventually(async () => {
      const { replica } = await readsOf(server);
      await expectReads(server);
      expect((await readsOf(server)).replica).toBeGreaterThan(replica);
    });
  } finally {
    await server.stop();
  }
});

test("a replica says which position it cannot have: one of another timeline, or of another database", async () => {
  const {
    rows: [primary],
  } = await both.owner.query<{ position: Position }>("select app_private.log_position() as position");
  const { position } = primary!;
  const replicaAt = async (asked: Position) => {
    const literal = `'${JSON.stringify({ position: asked, settings: ["as asked"] })}'`;
    try {
      return await both.onReplica(`select app_private.at_position(${literal}) as settings`);
    } catch (error) {
      const { code, message } = error as pg.DatabaseError;
      return [code, message];
    }
  };
  await eventually(async () => expect(await replicaAt(position)).toEqual([{ settings: ["as asked"] }]));
  expect(await replicaAt({ ...position, timeline: "0000000A" })).toEqual([
    "EG001",
    "it follows another timeline of the log, or has not checkpointed since the primary changed",
  ]);
  expect(await replicaAt({ ...position, database: `${position.database}0` })).toEqual([
    "EG001",
    "it is a replica of another database",
  ]);
  expect(await replicaAt({ ...position, at: position.at + 1e12 })).toEqual([
    "EG002",
    "This replica is behind.",
  ]);

  // It is known to have had as much as the primary had afterwards; or more, which the primary has lost.
  const { at } = position;
  expect(await replicaAt({ ...position, replayed: at })).toEqual([{ settings: ["as asked"] }]);
  const lost = { ...position, replayed: at + 1 };
  const AHEAD = "it is ahead of the primary, which was set back";
  expect(await replicaAt(lost)).toEqual(["EG001", AHEAD]);
  expect(await replicaAt({ ...lost, at: 0 })).toEqual(["EG001", AHEAD]);
  // Of another one it says nothing.
  expect(await replicaAt({ ...lost, timeline: "0000000A" })).toMatchObject([
    "EG001",
    expect.stringMatching(/another timeline/),
  ]);

  // To the byte: while it replays nothing, it has what it has replayed and not one more.
  await pause();
  try {
    const [replayed] = await both.onReplica<{ at: string }>("select app_private.replayed_position() as at");
    const last = Number(replayed!.at);
    expect(await replicaAt({ ...position, at: last })).toEqual([{ settings: ["as asked"] }]);
    expect(await replicaAt({ ...position, at: last + 1 })).toMatchObject(["EG002", expect.any(String)]);
  } finally {
    await resume();
  }
});

test("a replica of a primary that was set back is read no more, neither by who has read there nor by who begins", async () => {
  const own = await startReplicated();
  try {
    const running = await own.serve();
    await isUsed(running, 1);
    let lost: string | undefined;
    await own.setBack(async () => {
      lost = await eventually(() => declare(running, own.keys.write, "Of another world"));
      // More than is written to the earlier one meanwhile.
      await own.owner.query("select pg_logical_emit_message(false, 'test', repeat('x', 10000000))");
      await eventually(async () => expect(await running.metric("database_replica_lag_bytes")).toBe(0));
    });
    for (const server of [running, await own.serve()]) {
      await eventually(() => expectReads(server, own));
      const { replica } = await readsOf(server);
      await expectReads(server, own);
      expect((await call(`${server.url}/v0/needs/${lost}`, "GET", own.keys.read)).status).toBe(404);
      expect([await server.metric(USED), (await readsOf(server)).replica]).toEqual([0, replica]);
      const told = { msg: PASSED_OVER, reason: "it is ahead of the primary, which was set back" };
      await eventually(() => expect(server.logged().at(-1)).toMatchObject(told));
      expect(await server.metric("database_replica_lag_bytes")).toBeLessThan(0);
    }
  } finally {
    await own.remove();
  }
});

test("a replica that has become a primary of its own is read no more", async () => {
  // It is of no use to any other test.
  const own = await startReplicated();
  try {
    const server = await own.serve();
    await isUsed(server, 1);
    for (let needs = 0; needs < 6; needs++) await expectReads(server, own);
    await eventually(async () => expect(await own.onReplica("select from app_public.needs")).toHaveLength(6));
    await own.onReplica("select pg_promote()");
    await own.onReplica("update app_public.needs set need_description = 'Of another world'");
    await expectReads(server, own);
    const list = await call(`${server.url}/v0/needs?limit=100`, "GET", own.keys.read);
    expect(list.body.needs.length).toBeGreaterThan(5);
    expect(JSON.stringify(list.body)).not.toContain("Of another world");
    await eventually(() =>
      expect(server.logged().at(-1)).toMatchObject({ msg: PASSED_OVER, reason: "it is no replica" }),
    );
  } finally {
    await own.remove();
  }
});
