// How rows are found that have changed: a session plans that once, when there are few of them, and there may be thousands the
// next time.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

let database: TestDatabase;
let client: pg.Client;
const plans: { "Query Text": string; Plan: object }[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client(database.url);
  client.on("notice", ({ message = "" }) => {
    const [, plan] = /^duration: .*? plan:\s*([^]*)$/.exec(message) ?? [];
    if (plan) plans.push(JSON.parse(plan) as (typeof plans)[number]);
  });
  await client.connect();
  await client.query(`
    set session_replication_role = replica;
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
    values ('https://a.example/o', 'O', 'a@a.example', 'Wells', '{PRA}');
    insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope)
    values ('https://a.example/o', 'O', 'a@a.example', 'Wells', '{PRA}');
    insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators)
    values ('https://a.example/o', 'O', 'a@a.example', '{PRA}');
    reset session_replication_role;
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_nested_statements = on;
    set auto_explain.log_format = json;
    set auto_explain.log_level = notice;
  `);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const plansOf = (text: string) => plans.filter((plan) => plan["Query Text"].includes(text));

test.each([
  ["needs", "met"],
  ["commitments", "fulfilled"],
  ["engagement_claims", "paused"],
])(
  "each row of an update of %s is not compared with each, though the first update was of one",
  async (table, status) => {
    plans.length = 0;
    await client.query(`update app_public.${table} set status = '${status}'`);
    for (const target of ["app_public.status_history", "app_private.changes"]) {
      const found = plansOf(`insert into ${target} `);
      expect([target, found.length]).toEqual([target, 1]);
      expect(JSON.stringify(found)).not.toContain("Nested Loop");
    }
  },
);

test("changes that wait for their places are found without those that have one", async () => {
  await client.query("update app_public.needs set org_name = org_name || '.'");
  // A table of so few would be read as a whole, and by this session still when there are many.
  await client.query("analyze app_private.changes");
  plans.length = 0;
  const { rows } = await client.query<{ numbered: number }>(
    "select app_private.number_changes()::integer as numbered",
  );
  expect(rows[0]!.numbered).toBeGreaterThan(0);
  const waiting = plansOf("where c.position is null");
  expect(waiting).toHaveLength(1);
  for (const plan of waiting) expect(JSON.stringify(plan)).not.toContain("Seq Scan");
});
