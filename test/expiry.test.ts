// Commitments whose time has run out.
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type pg from "pg";
import { enums } from "../db/catalog.ts";
import { eventually } from "./support/eventually.ts";
import { DATA, NS, startProjection, startSharedStore } from "./support/projection.ts";
import type { Projection, SharedStore } from "./support/projection.ts";
import { testStores } from "./support/stores.ts";
import { contributor, ORG } from "./support/world.ts";

type Database = Pick<pg.ClientBase, "query">;

let store: SharedStore;
let projection: Projection;
beforeAll(async () => {
  store = await startSharedStore(testStores.find((each) => each.name === "embedded")!);
  projection = await startProjection(store);
  await projection.startWorker();
});
afterAll(async () => {
  await projection.stop();
  await store.remove();
});
beforeEach(async () => {
  // What is due today is not to be due tomorrow in the middle of a test.
  await eventually(async () => {
    const { rows } = await projection.database.owner.query(
      "select from (select now() at time zone 'UTC' as now) as n where (now + interval '30 s')::date > now::date",
    );
    expect(rows).toEqual([]);
  });
  await projection.database.owner.query("delete from app_public.commitments");
  await projection.database.owner.query(
    "update app_private.settings set value = 'true' where name = 'expire_commitments'",
  );
});

/** Adds one commitment in each status, with its target date so many days from today, in UTC. */
async function commitments(
  daysAhead: number | null,
  db: Database = projection.database.owner,
): Promise<void> {
  await db.query(
    `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description,
       accelerator_scope, status, target_completion_date)
     select $1, 'River Mission', $2, status, '{PRA}', status::app_public.commitment_status,
       (now() at time zone 'UTC')::date + $4::integer
     from unnest($3::text[]) as status`,
    [ORG, contributor, enums.commitment_status, daysAhead],
  );
}

/** Which commitments, by the status they began with, now have a different one. */
async function changed(db: Database = projection.database.owner): Promise<Record<string, string>> {
  const { rows } = await db.query<{ before: string; after: string }>(
    `select commitment_description as before, status as after from app_public.commitments
     where commitment_description <> status::text order by 1`,
  );
  return Object.fromEntries(rows.map(({ before, after }) => [before, after]));
}

/** Adds the job that the schedule adds, and waits for it to end. */
async function runJob(): Promise<void> {
  const { owner } = projection.database;
  await owner.query("select graphile_worker.add_job('expire_commitments')");
  await eventually(async () => {
    const { rows } = await owner.query(
      "select from graphile_worker.jobs where task_identifier = 'expire_commitments'",
    );
    expect(rows).toEqual([]);
  });
}

test("those past their date expire, unless they are fulfilled, partially fulfilled or abandoned", async () => {
  await commitments(-1);
  await runJob();
  expect(await changed()).toEqual({ declared: "expired", funded: "expired", in_progress: "expired" });
});

test.each([
  ["today is still on time", 0],
  ["tomorrow is on time", 1],
  ["no target date never passes", null],
])("%s", async (_, daysAhead) => {
  await commitments(daysAhead);
  await runJob();
  expect(await changed()).toEqual({});
});

test("however many are due, one run expires all of them, and the oldest are the first", async () => {
  const { owner } = projection.database;
  await owner.query(
    `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description,
       accelerator_scope, target_completion_date)
     select $1, 'River Mission', $2, n::text, '{PRA}', (now() at time zone 'UTC')::date - n
     from generate_series(1, 1002) as n`,
    [ORG, contributor],
  );
  await owner.query("select app_private.expire_commitments(1)");
  expect(await changed()).toEqual(expect.objectContaining({ "1002": "expired", "1": "declared" }));
  await runJob();
  expect(new Set(Object.values(await changed()))).toEqual(new Set(["expired"]));
});

test("at most as many expire as are asked for, and so many are told", async () => {
  const client = await projection.database.owner.connect();
  try {
    // In a transaction, or the schedule could have them expire.
    await client.query("begin");
    await commitments(-1, client);
    // One that somebody called expired before its date has passed.
    await client.query("update app_public.status_history set changed_at = changed_at - interval '3 days'");
    const expire = async () => {
      const { rows } = await client.query<{ expired: string }>(
        "select app_private.expire_commitments(2) as expired",
      );
      return [rows[0]!.expired, Object.keys(await changed(client)).length];
    };
    const switched = (value: string) =>
      client.query("update app_private.settings set value = $1 where name = 'expire_commitments'", [value]);
    await switched("false");
    expect(await expire()).toEqual(["0", 0]);
    await switched("true");
    expect([await expire(), await expire(), await expire()]).toEqual([
      ["2", 2],
      ["1", 3],
      ["0", 3],
    ]);
  } finally {
    client.release(true);
  }
});

test.each(["Pacific/Kiritimati", "Etc/GMT+12"])(
  "days are those of UTC, whatever day it is in %s",
  async (zone) => {
    const client = await projection.database.owner.connect();
    try {
      // One of the two has another date than UTC at any time.
      await client.query("select set_config('TimeZone', $1, false)", [zone]);
      await commitments(0);
      await client.query("select app_private.expire_commitments()");
      expect(await changed()).toEqual({});
      await client.query(
        "update app_public.commitments set target_completion_date = target_completion_date - 1",
      );
      await client.query("select app_private.expire_commitments()");
      expect(Object.keys(await changed())).toEqual(["declared", "funded", "in_progress"]);
    } finally {
      client.release(true);
    }
  },
);

test("it expires once: a status that a person sets after that stands, until another date has passed", async () => {
  const { owner } = projection.database;
  await commitments(-5);
  await runJob();
  const { rows } = await owner.query<{ id: string }>(
    "select commitment_id as id from app_public.commitments where commitment_description = 'funded'",
  );
  const writer = await owner.connect();
  await writer.query("begin; set local role api_write");
  await writer.query("select app_public.update_commitment_status($1, 'in_progress', $2)", [
    rows[0]!.id,
    contributor,
  ]);
  await writer.query("commit");
  writer.release();
  await runJob();
  expect(await changed()).toEqual({ declared: "expired", funded: "in_progress", in_progress: "expired" });
  const move = (daysAhead: number) =>
    owner.query(
      `update app_public.commitments set target_completion_date = (now() at time zone 'UTC')::date + $2::integer
       where commitment_id = $1`,
      [rows[0]!.id, daysAhead],
    );
  await owner.query("update app_public.status_history set changed_at = changed_at - interval '3 days'");
  await move(-4);
  await runJob();
  expect(await changed()).toMatchObject({ funded: "in_progress" });
  // The day on which it expired would have been on time for this date.
  await move(-3);
  await runJob();
  expect(await changed()).toMatchObject({ funded: "expired" });
});

test("the history says what happened and names nobody, and the graph follows", async () => {
  await commitments(-30);
  await runJob();
  const { rows } = await projection.database.owner.query(
    `select h.from_status, h.to_status, h.changed_by_email from app_public.status_history as h
     join app_public.commitments as c using (commitment_id)
     where c.commitment_description = 'funded' order by h.status_history_id`,
  );
  expect(rows).toEqual([
    { from_status: null, to_status: "funded", changed_by_email: contributor },
    { from_status: "funded", to_status: "expired", changed_by_email: null },
  ]);
  await projection.equal();
  const [count] = await projection.running.client.select(
    `select (count(*) as ?n) where { graph <${DATA}/commitments/> { ?c <${NS}commitmentStatus> "expired" } }`,
  );
  expect(count?.["n"]?.value).toBe("4");
});

test("one setting switches it off, and on again", async () => {
  const set = (value: boolean) =>
    projection.database.owner.query(
      "update app_private.settings set value = $1 where name = 'expire_commitments'",
      [String(value)],
    );
  await set(false);
  await commitments(-1);
  await runJob();
  expect(await changed()).toEqual({});
  await set(true);
  await runJob();
  expect(Object.keys(await changed())).toHaveLength(3);
});

test("a commitment that somebody is changing is left for the next run, and holds nobody up", async () => {
  await commitments(-1);
  const client = await projection.database.owner.connect();
  const other = await projection.database.owner.connect();
  try {
    await client.query("begin");
    await client.query(
      "select from app_public.commitments where commitment_description = 'funded' for update",
    );
    // Who would wait for that change, which stays open, is refused. The worker holds what it locks only for a moment.
    await other.query("begin; set local lock_timeout = '5s'");
    await other.query("select app_private.expire_commitments()");
    await other.query("rollback");
    await runJob();
    expect(Object.keys(await changed())).toEqual(["declared", "in_progress"]);
  } finally {
    client.release(true);
    other.release(true);
  }
  await runJob();
  expect(Object.keys(await changed())).toEqual(["declared", "funded", "in_progress"]);
});
