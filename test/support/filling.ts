// So many records at once: as the rules would leave them, but without waiting for the rules.
import type pg from "pg";
import { contributor, ORG } from "./world.ts";

/** Organizations besides ORG, which has a tenth of all records. */
const ORGANIZATIONS = 1_000;
/** One in so many needs is withdrawn, commitments are funded, claims paused. */
const RARE = 97;

// Shares fall off as they do in life: the first code has a tenth of the records, the last ones a hundredth of that.
const CODE = "codes[1 + floor(cardinality(codes) * r1 ^ 2)::integer]";
const SECOND_CODE = "codes[1 + floor(cardinality(codes) * r2 ^ 2)::integer]";
const COUNTRY = "countries[1 + floor(cardinality(countries) * r3 ^ 3)::integer]";
const MADE = `
  select n, case when n % 10 = 0 then $1 else $1 || '-' || 1 + n % ${ORGANIZATIONS} end as org_uri,
    array(select distinct code from unnest(array[${CODE}, ${SECOND_CODE}]) as code) as accelerators,
    ${COUNTRY} as country, now() - n * interval '1 second' as created_at, n % ${RARE} = 7 as is_rare
  from (select n, random() as r1, random() as r2, random() as r3 from generate_series(1, $3::bigint) as n) as made,
    (select array_agg('ACC-' || code) as codes from generate_series(1, 60) as code) as c,
    (select array_agg(alpha2 order by alpha2) as countries from app_public.countries) as k`;

const INSERTS = {
  needs: `insert into app_public.needs
      (org_uri, org_name, declared_by_email, need_description, accelerators, concerns_people_group_rop3,
       concerns_country_code, status, created_at)
    select org_uri, 'An organization', $2, 'Audio Scriptures for village ' || n, accelerators,
      array[lpad((n % 17000)::text, 6, '0')], array[country],
      (case when is_rare then 'withdrawn' else 'open' end)::app_public.need_status, created_at
    from (${MADE}) as made`,
  commitments: `insert into app_public.commitments
      (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id,
       concerns_country_code, target_completion_date, status, created_at)
    select made.org_uri, 'An organization', $2, 'Recording ' || n, made.accelerators, need_id,
      array[country], '2099-12-31',
      (case when is_rare then 'funded' else 'declared' end)::app_public.commitment_status, made.created_at
    from (${MADE}) as made
      left join (select row_number() over () as n, need_id from app_public.needs) as answered using (n)`,
  engagement_claims: `insert into app_public.engagement_claims
      (org_uri, org_name, claimed_by_email, engagement_accelerators, people_group_rop3, country_code,
       fulfills_commitment_id, status, created_at)
    select made.org_uri, 'An organization', $2, made.accelerators, lpad((n % 17000)::text, 6, '0'), country,
      commitment_id, (case when is_rare then 'paused' else 'active' end)::app_public.engagement_claim_status,
      made.created_at
    from (${MADE}) as made
      left join (select row_number() over () as n, commitment_id from app_public.commitments) as done using (n)`,
};

/**
 * Fills the tables of records, each with so many rows that the graph is noted to have. Triggers are off, for
 * validating a million rows takes longer than all the rest, and indexes are built at the end.
 */
export async function fillRecords(owner: pg.Pool, each: number): Promise<void> {
  const client = await owner.connect();
  try {
    await client.query("set session_replication_role = replica");
    await client.query("set maintenance_work_mem = '512MB'");
    // Vacuum takes no page for visible to all whose commit is not in the log yet.
    await client.query("set synchronous_commit = on");
    await client.query(
      `insert into app_public.organizations (org_uri, name)
       select $1 || '-' || n, 'Organization ' || n from generate_series(1, $2::integer) as n`,
      [ORG, ORGANIZATIONS],
    );
    for (const [table, insert] of Object.entries(INSERTS)) {
      const build = await dropIndexes(client, `app_public.${table}`);
      await client.query(insert, [ORG, contributor, each]);
      for (const index of build) await client.query(index);
    }
    const build = await dropIndexes(client, "app_private.graph_records");
    await client.query(
      `insert into app_private.graph_records (kind, record_id, synced_revision, state, dirty_since, synced_at)
       select kind::app_public.record_kind, id, 1, 'synced', null, now() - interval '1 day'
       from (
         select 'need', need_id from app_public.needs
         union all select 'commitment', commitment_id from app_public.commitments
         union all select 'engagement_claim', claim_id from app_public.engagement_claims
       ) as r (kind, id)`,
    );
    for (const index of build) await client.query(index);
    await client.query("select app_private.recount_records(kind) from app_private.record_tables");
    await client.query("select app_private.fold_record_totals(1000000000)");
  } finally {
    // Ends the session and, with it, its settings.
    client.release(true);
  }
  await owner.query("vacuum analyze");
}

/** Drops the indexes of a table but for its keys, and returns the statements that build them again. */
async function dropIndexes(client: pg.PoolClient, table: string): Promise<string[]> {
  const { rows } = await client.query<{ index: string; build: string }>(
    `select indexrelid::regclass::text as index, pg_get_indexdef(indexrelid) as build
     from pg_index where indrelid = $1::regclass and not indisunique`,
    [table],
  );
  for (const { index } of rows) await client.query(`drop index ${index}`);
  return rows.map(({ build }) => build);
}
