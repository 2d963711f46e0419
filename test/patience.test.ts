// How migrations and erasures wait for other sessions, and for whom.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { alone, applyRules } from "../db/migrate.ts";
import { inTurns, inTurnsOf, lockAll, othersToEnd, OutOfPatience, takeAdvisoryLock } from "../db/patience.ts";
import type { Patience } from "../db/patience.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { onConnections, waiting } from "./support/overlap.ts";

const refusal = (code: string) => Object.assign(new pg.DatabaseError("not now", 0, "error"), { code });
const patient = (ms = 60_000) => {
  const lines: string[] = [];
  return { lines, ms, onWait: (line: string) => void lines.push(line) } satisfies Patience & {
    lines: string[];
  };
};

/** A connection that gives one answer after the other, and the last one again and again. */
function answering(...answers: object[][]) {
  const asked: string[] = [];
  const query = (text: string) => {
    asked.push(text);
    return Promise.resolve({ rows: answers.length > 1 ? answers.shift() : answers[0] });
  };
  return { asked, client: { query } as unknown as pg.ClientBase };
}

describe("work that needs locks", () => {
  test("is tried again when a lock does not come or two wait for each other; every fifth turn is a long one", async () => {
    const { client } = answering(
      [{ holder: "process 1" }],
      [{ holder: "process 1" }],
      [{ holder: "process 2" }],
    );
    const patience = patient();
    const turns: number[] = [];
    await inTurnsOf(client, patience, (lockTimeoutMs) => {
      turns.push(lockTimeoutMs);
      return turns.length < 6
        ? Promise.reject(refusal(turns.length % 2 ? "55P03" : "40P01"))
        : Promise.resolve();
    });
    expect(turns).toEqual([500, 500, 500, 500, 2_000, 500]);
    // Said once for as long as it is the same.
    expect(patience.lines).toEqual(["waiting for process 1", "waiting for process 2"]);
  });

  test("is not tried again for any other reason", async () => {
    const { client } = answering([]);
    for (const error of [refusal("40001"), refusal("57014"), new Error("broken")]) {
      let turns = 0;
      const work = () => {
        turns += 1;
        return Promise.reject(error);
      };
      await expect(inTurnsOf(client, patient(), work)).rejects.toBe(error);
      expect(turns).toBe(1);
    }
  });

  test("is a transaction of its own each time, which is undone when it fails", async () => {
    const { client, asked } = answering([]);
    let turns = 0;
    const work = () => {
      turns += 1;
      return turns === 1 ? Promise.reject(refusal("55P03")) : Promise.resolve();
    };
    await inTurns(client, patient(), work);
    const said = asked.filter((text) => !text.includes("pg_stat_activity"));
    const begin = ["begin", "set local lock_timeout = 500"];
    expect(said).toEqual([...begin, "rollback", ...begin, "commit"]);
  });

  test("that is given up says what to run again: npm run migrate, or what it was", async () => {
    const { client } = answering([]);
    const work = () => Promise.reject(refusal("55P03"));
    await expect(inTurnsOf(client, patient(0), work)).rejects.toThrow(
      "gave up waiting for locks on tables that are in use; nothing is left half done. " +
        "End what is in the way, and run npm run migrate again.",
    );
    const own = { ...patient(0), meanwhile: "half of it is done", again: "this" };
    await expect(inTurnsOf(client, own, work)).rejects.toThrow(
      /; half of it is done\. End .*, and run this again\.$/,
    );
  });
});

test("every table is locked before the first of the rules is applied", async () => {
  const { client, asked } = answering([{ relations: "app_public.needs, rest.needs" }], []);
  await applyRules(client, join(import.meta.dirname, "../db"));
  const locked = asked.indexOf("lock table app_public.needs, rest.needs in access exclusive mode");
  const before = asked.slice(0, locked).join("\n");
  expect(before).toContain("pg_class");
  expect(before).not.toMatch(/create|drop|alter/);
  expect(asked.length).toBeGreaterThan(locked + 20);
});

describe("in a database", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const named = (client: pg.Client, name: string) => client.query(`set application_name = '${name}'`);

  test("of several who keep tables, who has for longest is named", async () => {
    await onConnections(database, 3, async (first, second, migrating) => {
      // Connected first, and at it second.
      await named(first, "later");
      await named(second, "earlier");
      for (const client of [second, first]) {
        await client.query("begin; select from app_public.needs");
      }
      const work = () =>
        migrating.query("lock table app_public.needs in access exclusive mode nowait").then(() => undefined);
      await expect(inTurns(migrating, patient(0), work)).rejects.toThrow(
        /waiting for process \d+ .*, earlier,/,
      );
    });
  });

  test("who is waited for is named, with what they do and since when, whatever the clock of the connection", async () => {
    await onConnections(database, 3, async (idle, busy, migrating) => {
      await migrating.query("set timezone to 'Asia/Kolkata'");
      const { rows: migrators } = await migrating.query<{ user: string }>("select current_user as user");
      const begun = async (client: pg.Client, name: string) => {
        await named(client, name);
        await client.query("begin; select from app_public.needs; set local timezone to 'UTC'");
        const { rows } = await client.query<{ pid: number; since: string }>(
          "select pg_backend_pid() as pid, to_char(now(), 'YYYY-MM-DD HH24:MI:SS') as since",
        );
        return rows[0]!;
      };
      const waiting = async (about: RegExp | string) => {
        const work = () =>
          migrating
            .query("lock table app_public.needs in access exclusive mode nowait")
            .then(() => undefined);
        await expect(inTurns(migrating, patient(0), work)).rejects.toThrow(about);
      };
      const { user } = migrators[0]!;
      const one = await begun(idle, "reports");
      await waiting(
        `gave up waiting for process ${one.pid} of PostgreSQL, user ${user}, reports, ` +
          `which does nothing in an open transaction since ${one.since} UTC; `,
      );
      await idle.query("rollback");
      const two = await begun(busy, "");
      const sleeping = busy.query("select pg_sleep(600)").catch(() => undefined);
      await eventually(async () => {
        const { rows } = await idle.query("select state from pg_stat_activity where pid = $1", [two.pid]);
        expect(rows).toEqual([{ state: "active" }]);
      });
      await waiting(
        `gave up waiting for process ${two.pid} of PostgreSQL, user ${user}, ` +
          `which is at work since ${two.since} UTC; `,
      );
      await idle.query("select pg_cancel_backend($1)", [two.pid]);
      await sleeping;
    });
  });

  test("all tables are locked within a turn, or none is; after that a statement may take as long as it takes", async () => {
    await onConnections(database, 2, async (keeper, migrating) => {
      const schemas = ["app_public", "rest"];
      const limits: string[] = [];
      const work = async () => {
        await lockAll(migrating, schemas);
        const { rows } = await migrating.query<{ statement_timeout: string }>("show statement_timeout");
        limits.push(rows[0]!.statement_timeout);
      };
      await keeper.query("begin; select from app_public.needs");
      await expect(inTurns(migrating, patient(0), work)).rejects.toThrow(OutOfPatience);
      const { rows: left } = await keeper.query(
        // Databases made of one template have the same numbers for their tables.
        `select from pg_locks where mode = 'AccessExclusiveLock' and relation = 'app_public.commitments'::regclass
           and database = (select oid from pg_database where datname = current_database())`,
      );
      expect(left).toEqual([]);
      await keeper.query("commit");
      await migrating.query("set statement_timeout = '1h'");
      await inTurns(migrating, patient(), work);
      expect(limits).toEqual(["0"]);
    });
  });

  test("who has a view already gets its tables while that is waited for: nothing is held that they have yet to ask for", async () => {
    await onConnections(database, 2, async (reader, migrating) => {
      await database.owner.query(
        `create schema seen;
         create table seen.kept (a integer);
         create view seen.shown with (security_invoker = true) as select a from seen.kept`,
      );
      // Takes the view, and not yet what it reads.
      await reader.query("begin; comment on view seen.shown is 'in use'; set local lock_timeout = '50ms'");
      const locked = await waiting(database, migrating, () =>
        inTurns(migrating, patient(), () => lockAll(migrating, ["seen"])),
      );
      await reader.query("select from seen.kept");
      await reader.query("commit");
      expect(await locked.outcome).toBeUndefined();
    });
  });

  test("another lock is not taken for another migration's", async () => {
    await onConnections(database, 2, async (other, waiter) => {
      await named(other, "something else");
      await other.query("select pg_advisory_lock(8)");
      await alone(database.url, {}, async ({ client }) => {
        await client.query("set application_name = 'the first'");
        const patience = patient(0);
        await expect(takeAdvisoryLock(waiter, 7_203_544, patience)).rejects.toThrow(
          /waiting for another migration: process \d+ .*, the first,/,
        );
      });
      // The first one's session ends when the server gets to it.
      await takeAdvisoryLock(waiter, 7_203_544, patient());
    });
  });

  test("transactions of other databases, and one's own, are not waited for", async () => {
    const elsewhere = new pg.Client(process.env["TEST_POSTGRES_URL"]);
    await elsewhere.connect();
    try {
      await elsewhere.query("begin; select pg_current_xact_id()");
      await onConnections(database, 2, async (own, other) => {
        await own.query("begin");
        await othersToEnd(own, patient(0));
        await other.query("begin");
        await expect(othersToEnd(own, patient(0))).rejects.toThrow(OutOfPatience);
      });
    } finally {
      await elsewhere.end();
    }
  });
});

test("transactions that begin later are not waited for", async () => {
  const [one, two] = [
    { id: "1/1", holder: "process 1" },
    { id: "2/1", holder: "process 2" },
  ];
  const { client, asked } = answering([one], [one, two], [two], [two], []);
  const patience = patient();
  await othersToEnd(client, patience);
  expect(patience.lines).toEqual(["waiting for process 1"]);
  expect(asked).toHaveLength(3);
});

test("pauses become longer with each turn, up to five seconds, and are not those of others", async () => {
  const pauses: number[] = [];
  jest.unstable_mockModule("node:timers/promises", () => ({
    setTimeout: (ms: number) => Promise.resolve(pauses.push(ms)),
  }));
  // A half more or less, as chance has it.
  const chance = jest.spyOn(Math, "random").mockReturnValue(0.75);
  jest.resetModules();
  try {
    const { default: anew } = await import("pg");
    const { inTurnsOf: inAnyTurns } = await import("../db/patience.ts");
    const { client } = answering([{ holder: "process 1" }]);
    let turns = 0;
    await inAnyTurns(client, patient(), () => {
      turns += 1;
      const busy = Object.assign(new anew.DatabaseError("not now", 0, "error"), { code: "55P03" });
      return turns <= 30 ? Promise.reject(busy) : Promise.resolve();
    });
  } finally {
    chance.mockRestore();
    jest.unmock("node:timers/promises");
  }
  expect(pauses).toEqual(Array.from({ length: 30 }, (_, n) => Math.min((n + 1) * 250, 6_250)));
});
