// What the database knows of records, drains and marks, asked as the worker asks.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { loadConfig } from "../config.ts";
import { createNames } from "../graph/namespaces.ts";
import { drawRun, noteTurns, readKnownTurns, readOwn, readRuns } from "../worker/marks.ts";
import { noteOutcomes } from "../worker/projection.ts";
import type { Confirmed } from "../worker/projection.ts";
import { existingIds, readDirty, readLists, readPage, readRecords } from "../worker/records.ts";
import { referenceTriples } from "../worker/references.ts";
import { differ } from "../worker/compare.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { buildWorld, contributor, ORG } from "./support/world.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
});
afterAll(() => database.drop());
const db = () => database.owner;
const NEVER = "11111111-1111-4111-8111-111111111111";

async function declare(count: number): Promise<string[]> {
  const { rows } = await db().query<{ id: string }>(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     select $1, 'River', $2, 'Wells', '{PRA}' from generate_series(1, $3) returning need_id as id`,
    [ORG, contributor, count],
  );
  return rows.map(({ id }) => id).toSorted();
}

beforeEach(() =>
  db().query(
    "update app_private.graph_store set drain = 0, turn = 0; delete from app_private.graph_runs; delete from app_private.graph_marks",
  ),
);

describe("records", () => {
  let ids: string[];
  beforeEach(async () => {
    await db().query("delete from app_public.needs");
    await db().query("delete from app_private.graph_records");
    ids = await declare(3);
    await db().query(
      "update app_private.graph_records set dirty_since = now() - case record_id when $1 then interval '3 s' when $2 then interval '2 s' else interval '1 s' end",
      [ids[2], ids[0]],
    );
  });

  test.each([false, true])(
    "that have waited longest come first (only what is free: %s)",
    async (onlyFree) => {
      const two = await readDirty(db(), 2, onlyFree);
      expect(new Set(two.map(({ id }) => id))).toEqual(new Set([ids[2], ids[0]]));
      expect((await readDirty(db(), 1, onlyFree)).map(({ id }) => id)).toEqual([ids[2]]);
    },
  );

  test("that a writer holds are left out where only what is free is asked for, and nobody waits", async () => {
    const writer = new pg.Client(database.url);
    await writer.connect();
    try {
      await writer.query("begin");
      await writer.query("select from app_private.graph_records where record_id = $1 for update", [ids[2]]);
      expect((await readDirty(db(), 9, true)).map(({ id }) => id).toSorted()).toEqual([ids[0], ids[1]]);
      expect(await readDirty(db(), 9, false)).toHaveLength(3);
    } finally {
      await writer.end();
    }
  });

  test("have their times in UTC, whatever the time zone of whoever reads them", async () => {
    const reader = new pg.Client(database.url);
    await reader.connect();
    try {
      await reader.query("set time zone 'Asia/Kathmandu'");
      await reader.query(
        "update app_public.needs set created_at = '2026-01-02T03:04:05.678901Z' where need_id = $1",
        [ids[0]],
      );
      const [read] = await readRecords(reader, "need", [ids[0]!]);
      expect(read!.record!.row["created_at"]).toBe("2026-01-02T03:04:05.678901");
    } finally {
      await reader.end();
    }
  });

  test("that were deleted have a revision and no content", async () => {
    await db().query("delete from app_public.needs where need_id = $1", [ids[1]]);
    const gone = (await readDirty(db(), 9, false)).find(({ id }) => id === ids[1])!;
    expect(gone.record).toBeUndefined();
    expect(Number(gone.revision)).toBeGreaterThan(1);
  });

  test("come page by page in order of their ids, each once; one that no trigger has seen is pending at revision 0", async () => {
    await db().query("delete from app_private.graph_records where record_id = $1", [ids[1]]);
    const first = await readPage(db(), "need", undefined, 2);
    expect(first.map(({ id, revision, state }) => [id, revision === "0", state])).toEqual([
      [ids[0], false, "pending"],
      [ids[1], true, "pending"],
    ]);
    const rest = await readPage(db(), "need", ids[1], 2);
    expect(rest.map(({ id }) => id)).toEqual([ids[2]]);
    expect(await readPage(db(), "need", ids[2], 2)).toEqual([]);
    expect((await readRecords(db(), "need", [ids[2]!, NEVER])).map(({ id }) => id)).toEqual([ids[2]]);
  });

  test("that the graph may hold are those that exist, and those that are yet to be removed", async () => {
    await db().query("delete from app_public.needs where need_id = any ($1)", [[ids[1], ids[2]]]);
    await db().query(
      "update app_private.graph_records set synced_revision = revision, state = 'synced' where record_id = any ($1)",
      [[ids[0], ids[2]]],
    );
    expect(await existingIds(db(), "need", [...ids, NEVER])).toEqual(
      new Map([
        [ids[0], "synced"],
        [ids[1], "pending"],
      ]),
    );
    expect(await existingIds(db(), "commitment", ids)).toEqual(new Map());
    // Like one that no trigger has seen.
    await db().query("delete from app_private.graph_records where record_id = $1", [ids[0]]);
    expect(await existingIds(db(), "need", [ids[0]!])).toEqual(new Map([[ids[0], "pending"]]));
  });

  const outcomeOf = (id: string, revision: string, more: Partial<Confirmed> = {}): Confirmed => ({
    ...{ kind: "need", id, revision, state: "synced", errors: [], byStore: false, turn: 7n },
    ...more,
  });

  test("that a writer holds, or that have another revision by now, are not noted as written; the others are counted", async () => {
    const found = new Map((await readDirty(db(), 9, false)).map(({ id, revision }) => [id, revision]));
    const writer = new pg.Client(database.url);
    await writer.connect();
    try {
      await db().query("update app_public.needs set status = 'met' where need_id = $1", [ids[1]]);
      await writer.query("begin");
      await writer.query("select from app_private.graph_records where record_id = $1 for update", [ids[2]]);
      const outcomes = ids.map((id) => outcomeOf(id, found.get(id)!));
      expect(await noteOutcomes(db(), outcomes)).toBe(1);
      expect((await readDirty(db(), 9, false)).map(({ id }) => id).toSorted()).toEqual([ids[1], ids[2]]);
    } finally {
      await writer.end();
    }
    const { rows } = await db().query(
      `select state, turn::integer, dirty_since is null as clean, synced_at is not null as dated, refusals::integer, retry_at
       from app_private.graph_records where record_id = $1`,
      [ids[0]],
    );
    expect(rows).toEqual([
      { state: "synced", turn: 7, clean: true, dated: true, refusals: 0, retry_at: null },
    ]);
  });

  test("of several updates of one kind the last one is what the graph is known to say", async () => {
    const [one, two] = await readDirty(db(), 2, false);
    await noteOutcomes(db(), [
      outcomeOf(one!.id, one!.revision, { turn: 20n }),
      outcomeOf(two!.id, two!.revision, { turn: 21n }),
    ]);
    expect((await readKnownTurns(db())).get("need")).toBe(21n);
    const { rows } = await db().query("select turn::integer from app_private.graph_store");
    expect(rows).toEqual([{ turn: 21 }]);
  });

  test("that were removed count as written, and those that were refused keep the reason", async () => {
    const [one, two] = await readDirty(db(), 2, false);
    const errors = [{ path: "accelerators", message: "no" }];
    await noteOutcomes(db(), [
      outcomeOf(one!.id, one!.revision, { state: "removed" }),
      outcomeOf(two!.id, two!.revision, { state: "rejected", errors }),
    ]);
    const { rows } = await db().query<{ id: string }>(
      "select record_id as id, state, errors, retry_at from app_private.graph_records where state <> 'pending'",
    );
    expect(rows.toSorted((a) => (a.id === one!.id ? -1 : 1))).toEqual([
      { id: one!.id, state: "synced", errors: [], retry_at: null },
      { id: two!.id, state: "rejected", errors, retry_at: null },
    ]);
  });

  test("that the store has taken have been refused by it no more: the next refusal is a first one", async () => {
    const [one] = await readDirty(db(), 1, false);
    const noted = async (outcome: Partial<Confirmed>) => {
      await noteOutcomes(db(), [outcomeOf(one!.id, one!.revision, outcome)]);
      const { rows } = await db().query(
        `select refusals::integer, extract(epoch from retry_at - synced_at)::integer as wait
         from app_private.graph_records where record_id = $1`,
        [one!.id],
      );
      return rows[0];
    };
    const refused = { state: "rejected", byStore: true } as const;
    expect(await noted(refused)).toEqual({ refusals: 1, wait: 8 });
    expect(await noted(refused)).toEqual({ refusals: 2, wait: 16 });
    expect(await noted({})).toEqual({ refusals: 0, wait: null });
    expect(await noted(refused)).toEqual({ refusals: 1, wait: 8 });
  });

  test("are checked also while there is no vocabulary yet: then no accelerator is known", async () => {
    const client = await db().connect();
    try {
      await client.query("begin; set local session_replication_role = replica");
      await client.query("delete from app_public.accelerators");
      const none = { concepts: new Map(), peopleGroups: undefined, targets: [] };
      expect(await readLists(client, [])).toEqual(none);
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  test("point to what exists: registered people groups, other records, each with its kind", async () => {
    const none = await readLists(db(), []);
    expect([none.peopleGroups, none.targets]).toEqual([undefined, []]);
    expect([...none.concepts.keys()].toSorted()).toEqual(["OLD-ONE", "PRA", "PRA-INT"]);
    await db().query(
      "insert into app_public.people_groups (rop3, name) values ('100001', 'Somali'), ('100002', 'B')",
    );
    const claim = {
      ...{ kind: "commitment" as const, id: NEVER, revision: "1" },
      record: {
        kind: "commitment" as const,
        row: { concerns_need_id: ids[0], concerns_people_group_rop3: null },
      },
    };
    const found = await readLists(db(), [claim as never]);
    expect(found.targets).toEqual([{ kind: "need", id: ids[0] }]);
    const need = { kind: "need" as const, row: { concerns_people_group_rop3: ["100001", "100009"] } };
    const groups = await readLists(db(), [{ kind: "need", id: NEVER, revision: "1", record: need }]);
    expect(groups.peopleGroups).toEqual(new Set(["100001"]));
    await db().query("delete from app_public.people_groups");
  });
});

describe("drains", () => {
  const turn = (drain: number, update = 0) => BigInt(drain) * 1_000_000n + BigInt(update);
  const known = async () => {
    const { rows } = await db().query<{ drain: string }>(
      "select drain from app_private.graph_runs order by drain",
    );
    return rows.map(({ drain }) => Number(drain));
  };
  const remember = (drains: readonly number[]) =>
    db().query("insert into app_private.graph_runs (drain) select unnest($1::bigint[])", [drains]);

  test("have numbers one after another, each with a name of its own, and know what was seen last", async () => {
    await noteTurns(db(), new Map([["need", turn(1, 5)]]));
    const [one, two] = [await drawRun(db()), await drawRun(db())];
    expect([one.drain, two.drain, one.last]).toEqual([1n, 2n, turn(1, 5)]);
    expect(one.run).not.toBe(two.run);
  });

  test("have a new name after somebody set the number back", async () => {
    const one = await drawRun(db());
    await db().query("update app_private.graph_store set drain = 0");
    const again = await drawRun(db());
    expect(again.drain).toBe(one.drain);
    expect(again.run).not.toBe(one.run);
  });

  test("are remembered for 100,000 others, and those that graphs say for ever", async () => {
    await remember([1, 2, 3, 999, 1_000, 1_001]);
    await noteTurns(db(), new Map([["need", turn(2, 1)]]));
    await db().query("update app_private.graph_store set drain = 100998");
    await drawRun(db());
    expect(await known()).toEqual([1, 2, 3, 999, 1_000, 1_001, 100_999]);
    await drawRun(db());
    expect(await known()).toEqual([2, 1_000, 1_001, 100_999, 101_000]);
  });

  test("that a graph may name are those that were seen, the last that was seen, and the hundred latest since", async () => {
    await remember([3, 8, 9, 10, ...Array.from({ length: 150 }, (_, i) => 11 + i)]);
    const { rows } = await db().query<{ drain: string; run: string }>(
      "select drain, run from app_private.graph_runs",
    );
    const drains = new Map(rows.map(({ drain, run }) => [run, Number(drain)]));
    const read = async (last: bigint) => {
      const runs = await readRuns(db(), last, new Map([["need", turn(3, 7)]]));
      return runs.map((run) => drains.get(run)!).toSorted((a, b) => a - b);
    };
    expect(await read(turn(61, 2))).toEqual([3, ...Array.from({ length: 100 }, (_, i) => 61 + i)]);
    expect(await read(turn(159, 2))).toEqual([3, 159, 160]);
    expect(await read(turn(9, 2))).toEqual([3, ...Array.from({ length: 100 }, (_, i) => 61 + i)]);
  });

  test("are this database's by number and name together, as far as it has given them out", async () => {
    await remember([4, 5, 6]);
    await db().query("update app_private.graph_store set drain = 5");
    const { rows } = await db().query<{ run: string }>(
      "select run from app_private.graph_runs order by drain",
    );
    const [four, five, six] = rows.map(({ run }) => run);
    const said = [
      { turn: turn(4, 1), run: four },
      { turn: turn(5), run: five },
      { turn: turn(4, 2), run: five },
      { turn: turn(6), run: six },
      { turn: turn(7), run: undefined },
      { turn: 10n ** 30n, run: four },
    ];
    const own = await readOwn(db(), said);
    expect(said.map((each) => own.has(each))).toEqual([true, true, false, false, false, false]);
  });

  test("leave marks that only grow, of each graph and of the whole", async () => {
    const store = async () => {
      const { rows } = await db().query<{ turn: string }>("select turn from app_private.graph_store");
      return Number(rows[0]!.turn);
    };
    await noteTurns(
      db(),
      new Map([
        ["need", 30n],
        ["countries", 31n],
      ]),
    );
    expect(await store()).toBe(31);
    await noteTurns(db(), new Map(), { last: 40n });
    expect(await store()).toBe(40);
    await noteTurns(db(), new Map([["need", 35n]]), { last: 20n });
    expect(await store()).toBe(40);
    expect(await readKnownTurns(db())).toEqual(
      new Map([
        ["countries", 31n],
        ["need", 35n],
      ]),
    );
  });
});

describe("what a graph says of a subject", () => {
  const MODIFIED = "<urn:s> <http://purl.org/dc/terms/modified>";
  const lines = (...all: string[]) => new Set(all);
  const now = lines(`${MODIFIED} "2" .`, "<urn:s> <urn:p> 1 .");
  test.each([
    ["is the same", lines(...[...now].toReversed()), undefined],
    ["is nothing", undefined, "missing"],
    ["lacks a triple", lines(`${MODIFIED} "2" .`), "altered"],
    ["has one triple more", lines(...now, "<urn:s> <urn:p> 2 ."), "altered"],
    ["has another triple instead", lines(`${MODIFIED} "2" .`, "<urn:s> <urn:p> 9 ."), "altered"],
    ["is of an earlier time", lines(`${MODIFIED} "1" .`, "<urn:s> <urn:p> 1 ."), "stale"],
    ["is of no time", lines("<urn:s> <urn:p> 1 ."), "stale"],
  ])("%s", (_, actual, expected) => {
    expect(differ(now, actual)).toBe(expected);
  });
});

test("of organizations the graph gets those that are active and have a URI, with a website only if it is one", async () => {
  const names = createNames(loadConfig({}));
  // Older rows were not checked as closely.
  await db().query(`set session_replication_role = replica;
    insert into app_public.organizations (org_uri, name, website, status) values
      ('https://data.example.org/org/one', 'One', 'https://one.example', 'active'),
      ('https://data.example.org/org/two', 'Two', 'not <a> website', 'active'),
      ('not <a> uri', 'Three', null, 'active'),
      ('https://data.example.org/org/four', 'Four', 'https://four.example', 'proposed');
    set session_replication_role = default`);
  const quads = await referenceTriples(db(), names, "organizations");
  const said = (property: string) =>
    quads
      .filter(({ predicate }) => predicate.value.endsWith(property))
      .map(({ subject, object }) => `${subject.value.replace(/^.*\//, "")} ${object.value}`)
      .filter((line) => /^(one|two|three|four|.*uri) /.test(line));
  expect(said("prefLabel")).toEqual(["one One", "two Two"]);
  expect(said("homepage")).toEqual(["one https://one.example"]);
});
