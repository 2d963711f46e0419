// The demo's people, records and key, as a fresh database gets them.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { loadConfig } from "../config.ts";
import { DEMO_KEY_ID, demoKeyIsLive, demoKeyOpens, isUntouched, loadDemo } from "../db/demo/load.ts";
import { createNames } from "../graph/namespaces.ts";
import { readStarterVocabulary } from "../graph/skos.ts";
import { importVocabulary } from "../worker/imports.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

const { graphDataUrl, ...config } = loadConfig({});

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  await importVocabulary(database.owner, readStarterVocabulary(), createNames({ graphDataUrl, ...config }));
});
afterEach(() => database.drop());

const one = async (query: string) => Object.values((await database.owner.query(query)).rows[0] as object);

test("is for a database with neither an organization nor a key", async () => {
  const { owner } = database;
  expect(await isUntouched(owner)).toBe(true);
  await issueTestKey(owner, "api_read");
  expect(await isUntouched(owner)).toBe(false);
  await owner.query("delete from app_private.api_keys");
  expect(await isUntouched(owner)).toBe(true);
  await owner.query(
    "insert into app_public.organizations (org_uri, name) values ('https://x.example/o', 'O')",
  );
  expect(await isUntouched(owner)).toBe(false);
});

test("has a key that opens until it is revoked or has expired, which is when the service may be reached from elsewhere", async () => {
  const { owner } = database;
  const opens = async () => [await demoKeyIsLive(owner), await demoKeyOpens(owner)];
  expect(await opens()).toEqual([false, false]);
  await issueTestKey(owner, "api_review");
  expect(await demoKeyIsLive(owner)).toBe(false);
  await loadDemo(owner, graphDataUrl);
  expect(await opens()).toEqual([true, true]);
  const set = (change: string) =>
    owner.query(`update app_private.api_keys set ${change} where key_id = $1`, [DEMO_KEY_ID]);
  await set("expires_at = now() + interval '1 hour'");
  expect(await opens()).toEqual([true, true]);
  await set("expires_at = now()");
  expect(await opens()).toEqual([false, false]);
  await set("expires_at = null, revoked_at = now()");
  expect(await opens()).toEqual([false, false]);
});

test("has records of several months, each with a history as old as itself, and the graph knows them by their ids", async () => {
  await loadDemo(database.owner, graphDataUrl);
  for (const [table, id, inHistory] of [
    ["needs", "need_id", "need_id"],
    ["commitments", "commitment_id", "commitment_id"],
    ["engagement_claims", "claim_id", "engagement_claim_id"],
  ]) {
    const [count, months, unlike] = await one(
      `select count(*)::integer as count, count(distinct date_trunc('month', r.created_at))::integer as months,
         count(*) filter (where r.created_at is distinct from h.changed_at)::integer as unlike
       from app_public.${table} as r
       left join app_public.status_history as h on h.${inHistory} = r.${id} and h.from_status is null`,
    );
    expect([table, count, unlike]).toEqual([table, expect.any(Number), 0]);
    expect(Number(months)).toBeGreaterThan(1);
    expect(Number(count)).toBeGreaterThan(2);
  }
  const [strange, fixed] = await one(
    `select count(*) filter (where r.id is null)::integer as strange,
       count(*) filter (where g.record_id::text like '00000000-0000-4000-8%')::integer as fixed
     from app_private.graph_records as g
     left join (select need_id as id from app_public.needs union all
       select commitment_id from app_public.commitments union all
       select claim_id from app_public.engagement_claims) as r on r.id = g.record_id`,
  );
  expect(strange).toBe(0);
  expect(Number(fixed)).toBeGreaterThan(0);
});

test("has claims that wait, and mails about them, by their fixed ids", async () => {
  await loadDemo(database.owner, graphDataUrl);
  const { rows } = await database.owner.query(
    `select c.claim_id::text as id,
       (select count(*)::integer from app_public.organization_claim_history as h where h.claim_id = c.claim_id) as steps,
       (select count(*)::integer from app_private.mails as m
        where m.data ->> 'claimId' = c.claim_id::text and m.unique_key like '%' || c.claim_id || '%') as mails
     from app_public.organization_claims as c order by claim_id`,
  );
  expect(rows.map(({ id }) => id)).toEqual(
    [1, 2, 3].map((place) => `00000000-0000-4000-8004-00000000000${place}`),
  );
  expect(rows.map(({ steps }) => steps > 0)).toEqual([true, true, true]);
  const [unknown] = await one(
    `select count(*)::integer from app_private.mails
     where data ? 'claimId' and data ->> 'claimId' not in (select claim_id::text from app_public.organization_claims)`,
  );
  expect(unknown).toBe(0);
});

test("is there as a whole or, but for the churches, not at all", async () => {
  const { owner } = database;
  await owner.query(`
    create function app_private.full_disk() returns trigger language plpgsql as $$
    begin raise 'no more room' using errcode = '53100'; end $$;
    create trigger full_disk before insert on app_private.api_keys execute function app_private.full_disk()`);
  await expect(loadDemo(owner, graphDataUrl)).rejects.toThrow("no more room");
  expect(await isUntouched(owner)).toBe(true);
  await owner.query("drop function app_private.full_disk() cascade");
  await loadDemo(owner, graphDataUrl);
  expect(await isUntouched(owner)).toBe(false);
  expect(await one("select count(*)::integer from app_public.churches")).toEqual([82]);
});
