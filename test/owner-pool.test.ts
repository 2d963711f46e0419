// An operator may limit what requests may take. What the owner's programs do takes as long as it takes.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { admin } from "./support/process.ts";
import { startTestServiceWithGraph } from "./support/service.ts";

const LIMITS = [
  "idle_in_transaction_session_timeout",
  "idle_session_timeout",
  "statement_timeout",
  "transaction_timeout",
];

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  await database.owner.query(`
    create table public.seen (program text, settings jsonb);
    create function public.note_settings() returns trigger language plpgsql as $$
    begin
      insert into public.seen select current_setting('application_name'), jsonb_object_agg(name, setting) from pg_settings
      where name = 'TimeZone' or name = any ('{${LIMITS.join()}}');
      return null;
    end $$;
    create trigger note_settings after insert on app_public.churches
      for each statement execute function public.note_settings();
    create trigger note_settings after insert or update on app_private.graph_records
      for each statement execute function public.note_settings();
    do $$
    declare
      setting record;
    begin
      -- Not every release has all of them.
      for setting in select name, case name when 'TimeZone' then 'Asia/Kolkata' else '1min' end as value from pg_settings
        where name = 'TimeZone' or name = any ('{${LIMITS.join()}}')
      loop
        execute format('alter database %I set %I = %L', current_database(), setting.name, setting.value);
      end loop;
    end $$`);
});

/** What statements of a program were limited to. */
async function seenBy(program: string): Promise<Record<string, string>[]> {
  const { rows } = await database.owner.query<{ settings: Record<string, string> }>(
    "select distinct settings from public.seen where program = $1",
    [program],
  );
  return rows.map(({ settings }) => settings);
}

async function unhurried(): Promise<Record<string, string>> {
  const { rows } = await database.owner.query<{ name: string }>(
    "select name from pg_settings where name = any ($1)",
    [LIMITS],
  );
  return { TimeZone: "UTC", ...Object.fromEntries(rows.map(({ name }) => [name, "0"])) };
}

test("an import is not limited, and times without an offset are in UTC", async () => {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-limits-"));
  const file = join(dir, "churches.csv");
  const lines = [
    "church_id,name,created_at",
    "c1,One,2026-05-01",
    "c2,Two,2026-05-01T12:00",
    "c3,Three,2026-05-01T12:00+02:00",
  ];
  await writeFile(file, lines.join("\n"));
  const { code } = await admin(["churches", "import", file], { DATABASE_URL: database.url });
  await rm(dir, { recursive: true });
  expect(code).toBe(0);
  const { rows } = await database.owner.query<{ at: string }>(
    "select to_char(created_at at time zone 'UTC', 'HH24:MI') as at from app_public.churches order by church_id",
  );
  expect(rows.map(({ at }) => at)).toEqual(["00:00", "12:00", "10:00"]);
  expect(await seenBy("engagement-admin")).toEqual([await unhurried()]);
  await database.drop();
});

test("nor is a worker", async () => {
  const service = await startTestServiceWithGraph({ database });
  try {
    await database.owner.query(
      "insert into app_private.graph_records (kind, record_id) select 'need', gen_random_uuid()",
    );
    await eventually(async () => expect(await seenBy("engagement-worker")).not.toEqual([]));
    expect(await seenBy("engagement-worker")).toEqual([await unhurried()]);
  } finally {
    // The database goes with it.
    await service.stop();
  }
});
