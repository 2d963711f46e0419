// What the worker reads of records that change meanwhile.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { noteOutcomes } from "../worker/projection.ts";
import { readDirty } from "../worker/records.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { buildWorld, contributor, ORG } from "./support/world.ts";

const GATE = 4711;

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
  await database.owner.query("update app_private.graph_records set synced_revision = revision");
  // Between the moment at which a statement looks at the tables and the one at which it locks a row, there is a gate.
  await database.owner.query(`
    create function app_private.pass_gate() returns boolean language plpgsql volatile as $$
    begin perform pg_advisory_xact_lock_shared(${GATE}); return true; end $$;
    create or replace view app_private.dirty_records with (security_invoker = true) as
    select r.kind, r.record_id, r.revision, r.dirty_since from app_private.graph_records as r
    where r.revision <> r.synced_revision and app_private.pass_gate()`);
});

afterAll(() => database.drop());

test.each([false, true])(
  "a record that changes while it is being read: a revision comes with its own content (only what is free: %s)",
  async (onlyFree) => {
    const { owner } = database;
    const { rows } = await owner.query<{ id: string; revision: string }>(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       values ($1, 'River', $2, 'Wells', '{PRA}') returning need_id as id`,
      [ORG, contributor],
    );
    const { id } = rows[0]!;
    const revision = async () =>
      (
        await owner.query<{ revision: string }>(
          "select revision from app_private.graph_records where record_id = $1",
          [id],
        )
      ).rows[0]!.revision;
    const before = await revision();
    const holder = new pg.Client(database.url);
    await holder.connect();
    try {
      await holder.query("select pg_advisory_lock($1)", [GATE]);
      const reading = readDirty(owner, 10, onlyFree);
      await eventually(async () =>
        expect(
          (
            await holder.query(
              `select from pg_locks where locktype = 'advisory' and objid = $1 and not granted
                 and database = (select oid from pg_database where datname = current_database())`,
              [GATE],
            )
          ).rowCount,
        ).toBe(1),
      );
      await holder.query("update app_public.needs set status = 'met' where need_id = $1", [id]);
      const after = await revision();
      expect(after).not.toBe(before);
      await holder.query("select pg_advisory_unlock($1)", [GATE]);

      const found = (await reading).find((each) => each.id === id)!;
      const status = { [before]: "open", [after]: "met" }[found.revision];
      expect(found.record!.row["status"]).toBe(status);
    } finally {
      await holder.end();
      await owner.query("delete from app_public.needs where need_id = $1", [id]);
    }
  },
);

test("a record that has changed since it was written goes on waiting for the graph", async () => {
  const { owner } = database;
  const { rows } = await owner.query<{ id: string }>(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, 'River', $2, 'Wells', '{PRA}') returning need_id as id`,
    [ORG, contributor],
  );
  const [{ id } = { id: "" }] = rows;
  const known = async () =>
    (
      await owner.query<{ revision: string; waits: boolean }>(
        "select revision, dirty_since is not null as waits from app_private.graph_records where record_id = $1",
        [id],
      )
    ).rows[0]!;
  const { revision: written } = await known();
  await owner.query("update app_public.needs set status = 'met' where need_id = $1", [id]);
  const note = (revision: string) =>
    noteOutcomes(owner, [
      { kind: "need", id, revision, state: "synced", errors: [], byStore: false, turn: 1n },
    ]);
  expect([await note(written), (await known()).waits]).toEqual([0, true]);
  expect([await note((await known()).revision), (await known()).waits]).toEqual([1, false]);
});
