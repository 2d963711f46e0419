// The demo's people, records and key, as a fresh database gets them.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { loadConfig } from "../config.ts";
import { columns } from "../db/catalog.ts";
import { DEMO_KEY_ID, demoKeyIsLive, demoKeyOpens, isUntouched, loadDemo } from "../db/demo/load.ts";
import {
  applicants,
  commitments,
  engagementClaims,
  needs,
  organizations,
  people,
} from "../db/demo/records.ts";
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

test("is in the feed of changes by its fixed ids, each record created once", async () => {
  const { owner } = database;
  await loadDemo(owner, graphDataUrl);
  const { rows: there } = await owner.query<{ id: string; needs: (string | null)[] }>(
    `select need_id as id, array[need_id] as needs from app_public.needs
     union all select commitment_id, array[concerns_need_id] from app_public.commitments
     union all select e.claim_id, array[c.concerns_need_id] from app_public.engagement_claims as e
       left join app_public.commitments as c on c.commitment_id = e.fulfills_commitment_id
     union all select claim_id, array[null::uuid] from app_public.organization_claims order by id`,
  );
  const told = async (change: string) =>
    (
      await owner.query<{ id: string; needs: (string | null)[] }>(
        `select record_id as id, array_agg(need_id) as needs from app_private.changes
         where kind is not null and change = $1 group by record_id order by record_id`,
        [change],
      )
    ).rows;
  expect(there.length).toBeGreaterThan(12);
  expect(await told("created")).toEqual(there);
  const ids = there.map(({ id }) => id);
  for (const { id } of await told("updated")) expect(ids).toContain(id);
  expect(await told("deleted")).toEqual([]);
});

test("leaves the tables as they were: later records have random ids", async () => {
  const { owner } = database;
  const made = () =>
    one(
      `select array_agg(pg_get_expr(d.adbin, d.adrelid) order by d.adrelid, d.adnum) from pg_attrdef as d
       where d.adrelid = any (array['app_public.needs', 'app_public.commitments', 'app_public.engagement_claims',
         'app_public.organization_claims']::regclass[])`,
    );
  const before = await made();
  await loadDemo(owner, graphDataUrl);
  expect(await made()).toEqual(before);
});

test("has the people of the README, at the domains of their organizations, and two that nobody belongs to", async () => {
  await loadDemo(database.owner, graphDataUrl);
  const { rows: there } = await database.owner.query<
    Record<"slug" | "domain" | "website", string> & { people: string[] }
  >(
    `select substring(o.org_uri from '[^/]+$') as slug, o.domain, o.website,
       array(select u.email || ' ' || m.role from app_public.memberships as m join app_public.users as u using (user_id)
         where m.org_uri = o.org_uri order by 1) as people
     from app_public.organizations as o where o.domain is not null order by 1`,
  );
  const of = (slug: string, ...names: string[]) => ({
    ...{ slug, domain: `${slug}.example`, website: `https://${slug}.example` },
    people: names.map((name) => `${name}@${slug}.example org_${name}`),
  });
  expect(there).toEqual([
    of("cedar-gate"),
    ...["harbor-scripture", "northern-light", "open-well", "sahel-prayer"].map((slug) =>
      of(slug, "admin", "contributor", "member"),
    ),
    of("stone-bridge"),
  ]);
  const { rows: platform } = await database.owner.query(
    `select email, role, first_name as first, last_name as last
     from app_public.platform_roles join app_public.users using (user_id) order by 1`,
  );
  expect(platform).toEqual([
    { email: "admin@platform.example", role: "admin", first: "Ruth", last: "Alvarez" },
    { email: "support@platform.example", role: "support", first: "Samuel", last: "Park" },
  ]);
});

test("calls organizations and people as they are called, and has each record say all that is written down for it", async () => {
  await loadDemo(database.owner, graphDataUrl);
  const all = async (query: string) => (await database.owner.query<Record<string, unknown>>(query)).rows;
  const bySlug = <T extends { slug: string }>(list: readonly T[]) =>
    list.toSorted((one, other) => (one.slug < other.slug ? -1 : 1));
  expect(
    await all(
      `select substring(org_uri from '[^/]+$') as slug, name, type from app_public.organizations where domain is not null and status = 'active' order by 1`,
    ),
  ).toEqual(bySlug(organizations).map(({ slug, name, type }) => ({ slug, name, type })));
  expect(
    await all(
      `select distinct split_part(email, '@', 1) as name, first_name as "firstName", last_name as "lastName"
       from app_public.memberships join app_public.users using (user_id) order by 1`,
    ),
  ).toEqual(people.map(({ name, firstName, lastName }) => ({ name, firstName, lastName })));
  expect(
    await all(
      `select first_name as "firstName", last_name as "lastName"
       from app_public.organization_claims join app_public.users using (user_id) order by claim_id`,
    ),
  ).toEqual(applicants.map(({ firstName, lastName }) => ({ firstName, lastName })));
  const whose = (slug: string, person: string) => ({
    ...{ slug, org: organizations.find((each) => each.slug === slug)!.name, by: `${person}@${slug}.example` },
  });
  const WHOSE = "substring(org_uri from '[^/]+$') as slug, org_name as org";
  expect(
    await all(
      `select ${WHOSE}, declared_by_email as by, need_description as description, accelerators,
         concerns_people_group_rop3 as rop3, concerns_country_code as countries from app_public.needs order by need_id`,
    ),
  ).toEqual(
    needs.map(({ org, description, accelerators, rop3, countries }) => ({
      ...{ ...whose(org, "admin"), description, accelerators, rop3, countries },
    })),
  );
  expect(
    await all(
      `select ${WHOSE}, declared_by_email as by, accelerator_scope as accelerators, concerns_people_group_rop3 as rop3,
         concerns_country_code as countries from app_public.commitments order by commitment_id`,
    ),
  ).toEqual(
    commitments.map(({ org, accelerators, rop3, countries }) => ({
      ...{ ...whose(org, "contributor"), accelerators, rop3, countries },
    })),
  );
  expect(
    await all(
      `select ${WHOSE}, claimed_by_email as by, engagement_accelerators as accelerators, people_group_rop3 as rop3,
         people_group_rog3 as rog3 from app_public.engagement_claims order by claim_id`,
    ),
  ).toEqual(
    engagementClaims.map(({ org, accelerators, rop3, rog3 }) => ({
      ...{ ...whose(org, "contributor"), accelerators, rop3, rog3 },
    })),
  );
});

test("has a chain from needs to what was done, with the statuses and the days that are written down for it", async () => {
  await loadDemo(database.owner, graphDataUrl);
  const { rows: promised } = await database.owner.query(
    `select c.commitment_description as description, n.need_description as need, c.status::text,
       c.target_completion_date - current_date as days
     from app_public.commitments as c left join app_public.needs as n on n.need_id = c.concerns_need_id
     order by c.commitment_id`,
  );
  expect(promised).toEqual(
    commitments.map(({ description, need, status, dueInDays }) => ({
      ...{ description, need: need === null ? null : needs[need]!.description },
      ...{ status: status ?? columns.commitments.status.initially, days: dueInDays },
    })),
  );
  const { rows: done } = await database.owner.query(
    `select e.description, c.commitment_description as commitment, e.status::text, e.country_code as country,
       e.country_name as "countryName"
     from app_public.engagement_claims as e
     left join app_public.commitments as c on c.commitment_id = e.fulfills_commitment_id order by e.claim_id`,
  );
  expect(done).toEqual(
    engagementClaims.map(({ description, commitment, status, country, countryName }) => ({
      ...{ description, commitment: commitment === null ? null : commitments[commitment]!.description },
      ...{ status: status ?? columns.engagement_claims.status.initially, country, countryName },
    })),
  );
  // What has come to be after that is not as old as the record.
  const [later] = await one(
    `select count(*)::integer from app_public.status_history
     where from_status is not null and changed_at > now() - interval '1 hour'`,
  );
  expect(later).toBe([...commitments, ...engagementClaims].filter(({ status }) => status).length);
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
  expect(rows.map(({ mails }) => mails > 0)).toEqual([true, true, true]);
  const { rows: asked } = await database.owner.query(
    "select stated_roles as roles, new_org_website as website from app_public.organization_claims order by claim_id",
  );
  expect(asked).toEqual(
    applicants.map((applicant) => ({
      ...{ roles: applicant.roles, website: "newOrg" in applicant ? applicant.newOrg.website : null },
    })),
  );
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
