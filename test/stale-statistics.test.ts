// What is asked for is found before PostgreSQL has made statistics of what came in all at once: until then the planner
// takes thousands of rows for one.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ask } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

/** Each compared with each takes minutes, where the others take a part of a second: a busy machine is told from that. */
const MANY = 40_000;
const STATEMENT_TIMEOUT_MS = 30_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ config: { statementTimeoutMs: STATEMENT_TIMEOUT_MS } });
  const { owner } = service.database;
  const answer = await call(`${service.url}/v0/engagement-claims/submit`, "POST", service.keys.write, {
    ...{ orgUri: ORG, orgName: "River Mission", claimedByEmail: admin, engagementAccelerators: ["PRA"] },
  });
  expect(answer.status).toBe(201);
  for (const table of ["organizations", "engagement_claims"])
    await owner.query(`alter table app_public.${table} set (autovacuum_enabled = false)`);
  await owner.query("vacuum analyze app_public.organizations, app_public.engagement_claims");
  const client = await owner.connect();
  await client.query("set session_replication_role = replica");
  await client.query(
    `insert into app_public.organizations (org_uri, name, type)
     select 'https://data.example.org/org/' || n, 'Organization ' || n, 'network' from generate_series(1, $1::integer) as n`,
    [MANY],
  );
  await client.query(
    `insert into app_public.engagement_claims
       (org_uri, org_name, claimed_by_email, engagement_accelerators, people_group_name, description)
     select 'https://data.example.org/org/' || n, 'Organization ' || n, $2, '{PRA}', 'A people', 'Heard'
     from generate_series(1, $1::integer) as n`,
    [MANY, admin],
  );
  client.release(true);
});
afterAll(() => service.stop());

test.each([
  ["none of them is such", 'engagementClaims: { none: { description: { notEqualTo: "Read" } } }'],
  ["each of them is such", 'engagementClaims: { every: { description: { equalTo: "Read" } } }'],
  [
    "it is not so that one is such",
    'not: { engagementClaims: { some: { description: { notEqualTo: "Read" } } } }',
  ],
  [
    "it is not so that all of these are so",
    'not: { and: [{ engagementClaims: { some: { description: { notEqualTo: "Read" } } } }] }',
  ],
])("those are found that have many linked records, of which %s", async (_, filter) => {
  expect(await ask(service, `{ organizations(filter: { ${filter} }) { totalCount } }`)).toEqual({
    organizations: { totalCount: 2 },
  });
});
