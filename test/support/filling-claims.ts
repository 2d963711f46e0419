// So many claims and organizations at once, as the rules would leave them, but without waiting for the rules and without mails.
import type pg from "pg";

const WORDS =
  "river,harbor,light,grace,hope,cedar,stone,bridge,open,well,northern,sahel,scripture,prayer,relief,mercy,word,living,water,nations,frontier,gospel,valley,mountain,island,desert,coast,faith,peace,star";
const KINDS = "Mission,Fellowship,Partners,Network,Trust,Ministries,International,Society,Alliance,Church";

/**
 * Fills in claims that wait for the platform, each to an organization of its own, every second a minute apart.
 * @param size how many organizations, people and claims
 */
export async function fillClaims(db: pg.Pool, size: number): Promise<void> {
  const client = await db.connect();
  try {
    await client.query("begin");
    await client.query("set local session_replication_role = replica");
    await client.query(
      `insert into app_public.organizations (org_uri, name, type, website, domain)
       select 'https://data.example.org/org/filled-' || n,
         initcap(words[1 + n % 30]) || ' ' || initcap(words[1 + n / 30 % 30]) || ' ' || kinds[1 + n / 900 % 10] || ' ' || n / 9000,
         'network', 'https://www.filled-' || n || '.example/about', 'filled-' || n || '.example'
       from generate_series(1, $1::integer) as n, string_to_array($2, ',') as words, string_to_array($3, ',') as kinds`,
      [size, WORDS, KINDS],
    );
    await client.query(
      `insert into app_public.users (email, first_name, last_name)
       select 'person-' || n || '@filled-' || n || '.example', 'Given ' || n % 97, 'Family ' || n
       from generate_series(1, $1::integer) as n`,
      [size],
    );
    await client.query(
      `insert into app_public.organization_claims
         (user_id, org_uri, org_name, email_domain, org_domain, status, routed_to, result_variant, stated_roles, created_at, email_verified)
       select u.user_id, o.org_uri, o.name, o.domain, o.domain, 'pending_review', 'platform', 'manual-review',
         array['field coordinator'], now() - n * interval '1 minute', n % 2 = 0
       from generate_series(1, $1::integer) as n
       join app_public.users as u on u.email = 'person-' || n || '@filled-' || n || '.example'
       join app_public.organizations as o on o.org_uri = 'https://data.example.org/org/filled-' || n`,
      [size],
    );
    await client.query("commit");
    await client.query("analyze app_public.organizations, app_public.users, app_public.organization_claims");
  } finally {
    client.release();
  }
}
