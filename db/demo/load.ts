// Fills a fresh database with something to look at. Records go through the same functions as everybody else's, on
// behalf of the people they name, so that no demo record can break a rule.
import { hash } from "node:crypto";
import type pg from "pg";
import { loadDemoChurches } from "./churches.ts";
import {
  applicants,
  commitments,
  demoId,
  engagementClaims,
  needs,
  organizations,
  people,
  platformPeople,
} from "./records.ts";

/**
 * The key of the demo, the same in every installation so that printed examples work unchanged. Everybody
 * knows it, which is why a database that holds it is served on loopback only.
 */
export const DEMO_KEY = "ek_demo-key-for-the-loopback-address-only-0000";
export const DEMO_KEY_ID = "00000000-0000-4000-8000-00000000de30";
const DEMO_KEY_HASH = hash("sha256", DEMO_KEY, "buffer");

/** Whether nothing has been put into the database yet: no organization, no key. */
export async function isUntouched(db: pg.Pool): Promise<boolean> {
  const { rows } = await db.query<{ untouched: boolean }>(
    `select not exists (select from app_public.organizations)
       and not exists (select from app_private.api_keys) as untouched`,
  );
  return rows[0]!.untouched;
}

/** Whether a demo key opens this database: the service may then listen on loopback only. */
export async function demoKeyIsLive(db: pg.Pool): Promise<boolean> {
  const { rows } = await db.query<{ live: boolean }>(
    `select exists (
       select from app_private.api_keys as k where k.is_demo and app_private.key_state(k) = 'live'
     ) as live`,
  );
  return rows[0]!.live;
}

/** The same for the server's login, which can only ask whether this one key works. */
export async function demoKeyOpens(db: pg.Pool): Promise<boolean> {
  const { rowCount } = await db.query("select from app_private.authenticate($1)", [DEMO_KEY_HASH]);
  return rowCount !== 0;
}

/**
 * Loads the demo: churches, organizations with a member in each role, linked records, the demo key. All or nothing,
 * except for the churches.
 * The accelerator vocabulary must have been loaded.
 * @param db of the role that owns the schema
 * @param graphDataUrl what organization URIs begin with
 */
export async function loadDemo(db: pg.Pool, graphDataUrl: string): Promise<void> {
  // Repeating it does no harm, and a start that was interrupted here begins again.
  await loadDemoChurches(db);
  const client = await db.connect();
  try {
    await client.query("begin");
    await insertPeople(client, graphDataUrl);
    await insertRecords(client, graphDataUrl);
    for (const index of applicants.keys()) await insertApplicant(client, graphDataUrl, index);
    for (const [table, column] of Object.entries(KEYS)) await nextId(client, table, column);
    await nextId(client, "organization_claims", "claim_id");
    await client.query(
      `insert into app_private.api_keys (key_id, label, key_hash, scope, is_demo)
       values ($1, 'demo', $2, 'api_review', true)`,
      [DEMO_KEY_ID, DEMO_KEY_HASH],
    );
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

/** URI of a demo organization. */
export function demoOrgUri(graphDataUrl: string, slug: string): string {
  return `${graphDataUrl}/org/${slug}`;
}

const KINDS = { needs: "need", commitments: "commitment", engagement_claims: "engagement claim" } as const;
const KEYS = { needs: "need_id", commitments: "commitment_id", engagement_claims: "claim_id" } as const;
const emailOf = (person: string, slug: string) => `${person}@${slug}.example`;

async function insertPeople(client: pg.PoolClient, graphDataUrl: string): Promise<void> {
  for (const { slug, name, type, members } of organizations) {
    const uri = demoOrgUri(graphDataUrl, slug);
    await client.query(
      "insert into app_public.organizations (org_uri, name, type, domain, website) values ($1, $2, $3, $4, $5)",
      [uri, name, type, `${slug}.example`, `https://${slug}.example`],
    );
    if (!members) continue;
    for (const person of people) {
      await client.query(
        `with made as (
           insert into app_public.users (email, first_name, last_name) values ($1, $2, $3) returning user_id
         )
         insert into app_public.memberships (org_uri, user_id, role) select $4, user_id, $5 from made`,
        [emailOf(person.name, slug), person.firstName, person.lastName, uri, person.role],
      );
    }
  }
  for (const { email, role, firstName, lastName } of platformPeople) {
    await client.query(
      `with made as (
         insert into app_public.users (email, first_name, last_name) values ($1, $2, $3) returning user_id
       )
       insert into app_public.platform_roles (user_id, role) select user_id, $4 from made`,
      [email, firstName, lastName, role],
    );
  }
}

async function insertRecords(client: pg.PoolClient, graphDataUrl: string): Promise<void> {
  const nameOf = new Map(organizations.map(({ slug, name }) => [slug, name]));
  const signature = (slug: string, person: string) => [
    demoOrgUri(graphDataUrl, slug),
    nameOf.get(slug),
    emailOf(person, slug),
  ];
  const ids = { needs: [] as string[], commitments: [] as string[], engagement_claims: [] as string[] };
  const keep = async (kind: keyof typeof ids, statement: string, values: unknown[]) => {
    const id = demoId(KINDS[kind], ids[kind].length);
    await nextId(client, kind, KEYS[kind], id);
    await client.query("set local role api_write");
    await client.query(statement, values);
    await client.query("reset role");
    ids[kind].push(id);
  };
  for (const need of needs) {
    await keep(
      "needs",
      `select from app_public.declare_need($1, $2, $3, $4, $5::text[], $6::text[], $7::text[])`,
      [...signature(need.org, "admin"), need.description, need.accelerators, need.rop3, need.countries],
    );
  }
  for (const commitment of commitments) {
    await keep(
      "commitments",
      `select from app_public.declare_commitment(
         $1, $2, $3, $4, $5::text[], $6::uuid, $7::text[], $8::text[], current_date + $9::integer)`,
      [
        ...signature(commitment.org, "contributor"),
        ...[commitment.description, commitment.accelerators],
        commitment.need === null ? null : ids.needs[commitment.need],
        ...[commitment.rop3, commitment.countries, commitment.dueInDays],
      ],
    );
  }
  for (const claim of engagementClaims) {
    await keep(
      "engagement_claims",
      `select from app_public.submit_engagement_claim(
         $1, $2, $3, $4::text[], $5, null, $6, $7, $8, $9, $10::uuid)`,
      [
        ...signature(claim.org, "contributor"),
        ...[claim.accelerators, claim.rop3, claim.rog3, claim.country, claim.countryName, claim.description],
        claim.commitment === null ? null : ids.commitments[claim.commitment],
      ],
    );
  }
  await client.query("set local role api_write");
  for (const [place, { org, status }] of commitments.entries()) {
    if (!status) continue;
    await client.query("select from app_public.update_commitment_status($1, $2, $3)", [
      ...[ids.commitments[place], status],
      emailOf("contributor", org),
    ]);
  }
  for (const [place, { org, status }] of engagementClaims.entries()) {
    if (!status) continue;
    await client.query("select from app_public.update_engagement_claim_status($1, $2, $3)", [
      ...[ids.engagement_claims[place], status],
      emailOf("contributor", org),
    ]);
  }
  await client.query("reset role");
  // Spread over several months, so that lists have an order and monthly figures have more than one bar.
  const spread = [
    ["needs", "need_id", "need_id", needs],
    ["commitments", "commitment_id", "commitment_id", commitments],
    ["engagement_claims", "claim_id", "engagement_claim_id", engagementClaims],
  ] as const;
  for (const [kind, id, historyId, records] of spread) {
    for (const [place, { daysAgo }] of records.entries()) {
      const values = [ids[kind][place], daysAgo];
      await client.query(
        `update app_public.${kind} set created_at = now() - $2 * interval '1 day' where ${id} = $1`,
        values,
      );
      await client.query(
        `update app_public.status_history set changed_at = now() - $2 * interval '1 day'
         where ${historyId} = $1 and from_status is null`,
        values,
      );
    }
  }
}

/** Gives the next record of a table this id, or, without one, a random id again. */
async function nextId(client: pg.PoolClient, table: string, column: string, id?: string): Promise<void> {
  const value = id === undefined ? "gen_random_uuid()" : `'${id}'`;
  // A table with triggers that are still to fire cannot be altered.
  await client.query(
    `set constraints all immediate; alter table app_public.${table} alter column ${column} set default ${value}`,
  );
}

async function insertApplicant(client: pg.PoolClient, graphDataUrl: string, index: number): Promise<void> {
  const applicant = applicants[index]!;
  await nextId(client, "organization_claims", "claim_id", demoId("organization claim", index));
  await client.query(
    `select from app_public.claim_organization(
       $1, $2, $3, $4::text[], org_name => $5, is_new_org => $6::text is null, org_uri => $6, new_org_website => $7)`,
    [
      ...[applicant.email, applicant.firstName, applicant.lastName, applicant.roles],
      ...("newOrg" in applicant
        ? [applicant.newOrg.name, null, applicant.newOrg.website]
        : [
            organizations.find(({ slug }) => slug === applicant.org)!.name,
            demoOrgUri(graphDataUrl, applicant.org),
            null,
          ]),
    ],
  );
}
