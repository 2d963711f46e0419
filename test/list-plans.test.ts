// Lists at a size where a wrong plan shows: the cost of a page must not be that of the table.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import type { Input, RestRoute } from "../server/rest/route.ts";
import { commitmentList } from "../server/resources/commitments.ts";
import { engagementClaimRoutes } from "../server/resources/engagement-claims.ts";
import { needRoutes } from "../server/resources/needs.ts";
import { listStatement } from "../server/rest/list.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { buildWorld, contributor, ORG } from "./support/world.ts";

const SIZE = 30_000;

let database: TestDatabase;
let needId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
  const client = new pg.Client(database.url);
  await client.connect();
  // Triggers would take most of the time, and say nothing about reading.
  await client.query("set session_replication_role = replica");
  // Vacuum takes no page for visible to all whose commit is not in the log yet, and the tests commit without waiting.
  await client.query("set synchronous_commit = on");
  const org = "case when n % 10 = 0 then $1 else 'https://data.example.org/org/' || n % 100 end";
  await client.query(
    `insert into app_public.needs
       (org_uri, org_name, declared_by_email, need_description, accelerators, status, created_at)
     select ${org}, 'An organization', $2, 'Wells', case when n % 50 = 7 then '{PRA-INT}' else '{PRA}' end::text[],
       (case when n % 50 = 7 then 'met' else 'open' end)::app_public.need_status, now() - n * interval '1 minute'
     from generate_series(1, $3::integer) as n`,
    [ORG, contributor, SIZE],
  );
  await client.query(
    `insert into app_public.commitments
       (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id, status, created_at)
     select n.org_uri, 'An organization', $1, 'Wells', '{PRA}', n.need_id,
       (case n.status when 'met' then 'funded' else 'declared' end)::app_public.commitment_status, n.created_at
     from app_public.needs as n`,
    [contributor],
  );
  await client.query(
    `insert into app_public.engagement_claims
       (org_uri, org_name, claimed_by_email, engagement_accelerators, status, created_at)
     select n.org_uri, 'An organization', $1, '{PRA}',
       (case n.status when 'met' then 'paused' else 'active' end)::app_public.engagement_claim_status, n.created_at
     from app_public.needs as n`,
    [contributor],
  );
  await client.query(
    `insert into app_private.graph_records (kind, record_id)
     select 'need'::app_public.record_kind, need_id from app_public.needs union all select 'commitment', commitment_id from app_public.commitments
     union all select 'engagement_claim', claim_id from app_public.engagement_claims`,
  );
  await client.end();
  await database.owner.query("vacuum analyze");
  needId = (await database.owner.query("select need_id as id from app_public.needs limit 1")).rows[0].id;
});
afterAll(() => database.drop());

const statementOf = (routes: readonly RestRoute[], operationId: string) => {
  const { statement } = routes.find((route) => route.operationId === operationId)!;
  return statement as (input: Input) => string;
};
const LISTS = {
  needs: statementOf(needRoutes, "listNeeds"),
  commitments: (input: Input) => listStatement(commitmentList, input),
  engagement_claims: statementOf(engagementClaimRoutes, "listEngagementClaims"),
};

type Node = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  Plans?: Node[];
};

/** Every step of the plan by which a caller's list is really carried out. */
async function stepsOf(statement: string, input: Input): Promise<Node[]> {
  const client = await database.owner.connect();
  try {
    await client.query("begin");
    await client.query("set local role api_read");
    // As in run_as, the statement is planned for its input.
    const literal = client.escapeLiteral(JSON.stringify(input));
    const { rows } = await client.query<{ "QUERY PLAN": { Plan: Node }[] }>(
      `explain (analyze, timing off, format json) ${statement.replaceAll("$1", `${literal}::jsonb`)}`,
    );
    const steps = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(steps)];
    return steps(rows[0]!["QUERY PLAN"][0]!.Plan);
  } finally {
    client.release(true);
  }
}

const PAGES: [keyof typeof LISTS, string, Input][] = (
  ["needs", "commitments", "engagement_claims"] as const
).flatMap((table) => {
  const [usual, rare] = {
    needs: ["open", "met"],
    commitments: ["declared", "funded"],
    engagement_claims: ["active", "paused"],
  }[table];
  const all = table === "engagement_claims" ? { status: usual } : {};
  return [
    [table, "all", all],
    [table, "a usual status", { status: usual }],
    [table, "a rare status", { status: rare }],
    [table, "an organization", { ...all, orgUri: ORG }],
  ] as [keyof typeof LISTS, string, Input][];
});

test.each(PAGES)("%s, %s: the page is found in an index", async (table, _, filter) => {
  for (const offset of [0, 250]) {
    for (const step of await stepsOf(LISTS[table](filter), { limit: 50, offset, ...filter })) {
      expect(step["Node Type"]).not.toBe("Seq Scan");
      // What is skipped is seen by nothing but the index and the limit above it.
      const skips = ["Index Only Scan", "Limit"].includes(step["Node Type"]);
      const rows = step["Actual Rows"] * step["Actual Loops"];
      expect(rows).toBeLessThanOrEqual(skips ? 50 + offset : 50);
      if (step["Relation Name"] === "graph_records") expect(step["Actual Loops"]).toBeLessThanOrEqual(50);
    }
  }
});

test("needs with a code in a list are counted in an index", async () => {
  const filter = { accelerator: "PRA-INT" };
  const steps = await stepsOf(LISTS.needs(filter), { limit: 50, offset: 0, ...filter });
  const indexes = steps.flatMap((step) => step["Index Name"] ?? []);
  expect(indexes).toContain("needs_by_accelerator");
});

test("where the owner is no superuser, the rules are applied all the same", async () => {
  const rule = await readFile(join(import.meta.dirname, "../db/rules/leakproof.sql"), "utf8");
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    await client.query("begin");
    await client.query("alter function enum_eq(anyenum, anyenum) not leakproof");
    const warnings: (string | undefined)[] = [];
    client.on("notice", ({ message }) => warnings.push(message));
    await client.query(`set local role engagement_server; ${rule}`);
    expect(warnings).toEqual([expect.stringContaining("superuser")]);
  } finally {
    await client.end();
  }
});

test("commitments that answer a need are found, and counted, in an index", async () => {
  const steps = await stepsOf(LISTS.commitments({ concernsNeedId: needId }), {
    limit: 50,
    offset: 0,
    concernsNeedId: needId,
  });
  expect(steps.filter((step) => step["Node Type"] === "Seq Scan")).toEqual([]);
  for (const step of steps) expect(step["Actual Rows"] * step["Actual Loops"]).toBeLessThanOrEqual(50);
});
