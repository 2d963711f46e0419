// docs/graphql.md, "What dashboards ask": each query as it stands there, and how many statements it takes.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { startDemoService } from "./support/demo.ts";
import { call } from "./support/service.ts";

const text = await readFile(join(import.meta.dirname, "../docs/graphql.md"), "utf8");
const [section] = /## What dashboards ask[\s\S]*?\n## /.exec(text)!;
const RECIPES = [...section.matchAll(/\n\*\*(.*?)\*\*[\s\S]*?```graphql\n([\s\S]*?)```/g)].map(
  ([, title, query]) => [title!, query!] as const,
);

let service: Awaited<ReturnType<typeof startDemoService>>;
let spy: { mockRestore: () => void };
let statements: string[] = [];

beforeAll(async () => {
  service = await startDemoService();
  // Some have ended.
  await service.database.owner.query(
    `update app_public.commitments set status = (case when n % 3 = 0 then 'fulfilled' else 'abandoned' end)::app_public.commitment_status
     from (select commitment_id, row_number() over (order by commitment_id) - 1 as n from app_public.commitments) as c
     where commitments.commitment_id = c.commitment_id and n < 3`,
  );
  const { query } = pg.Client.prototype as unknown as {
    query: (this: unknown, ...args: unknown[]) => unknown;
  };
  spy = jest.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: unknown,
    ...args: unknown[]
  ) {
    const [statement] = args;
    if (typeof statement === "object" && statement !== null && "text" in statement)
      statements.push(String(statement.text));
    return query.apply(this, args) as never;
  });
});
afterAll(async () => {
  spy.mockRestore();
  await service.stop();
});

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into it freely
const run = async (query: string): Promise<{ data: any; cost: number }> => {
  statements = [];
  const { body } = await call(`${service.url}/graphql`, "POST", service.demoKey, { query });
  expect(body.errors).toBeUndefined();
  // What PostGraphile asks, without the look-up of the key.
  return {
    data: body.data,
    cost: statements.filter((sent) => /^\s*(select|with)\b[\s\S]*__/i.test(sent)).length,
  };
};

test("there are the ten", () => {
  expect(RECIPES).toHaveLength(10);
});

test.each(RECIPES)("%s", async (title, query) => {
  const { data, cost } = await run(query);
  expect(Object.values(data as object)).not.toContainEqual({ totalCount: 0 });
  expect({ title, cost: cost > 0 && cost <= 14 }).toEqual({ title, cost: true });
});

test("what they find", async () => {
  const find = async (title: RegExp) => (await run(RECIPES.find(([each]) => title.test(each))![1])).data;
  const owner = service.database.owner;
  const feed = await find(/activity/);
  expect(feed.organization.activity.nodes.length).toBeGreaterThan(1);
  const times = feed.organization.activity.nodes.map(({ changedAt }: { changedAt: string }) => changedAt);
  expect(times).toEqual(times.toSorted().toReversed());
  const review = await find(/review/);
  expect(review.organizationClaimsForReview.claims[0].history[0].toStatus).toBe("pending");
  const search = await find(/search/);
  for (const list of ["needs", "commitments"]) expect(search[list].totalCount).toBeGreaterThan(0);
  const chain = await find(/chain/);
  expect(chain.need.statusHistory.nodes[0].toStatus).toBe("open");
  const { rows } = await owner.query(
    `select count(distinct code)::integer as n from app_public.needs, unnest(concerns_country_code) as code`,
  );
  const countries = await find(/country.*them|Counts/);
  expect(countries.needs.groupedAggregates).toHaveLength(rows[0].n);
  for (const { count, group, open } of countries.needs.groupedAggregates) {
    expect(group.country.name).toEqual(expect.any(String));
    expect(open).toBeLessThanOrEqual(count);
  }
  const busiest = await find(/busiest/);
  for (const { count } of busiest.commitments.groupedAggregates) expect(count).toBeGreaterThanOrEqual(2);
  const due = await find(/due/);
  for (const { group } of due.commitments.groupedAggregates)
    expect(group.targetCompletionDateTruncatedToMonth).toMatch(/-01$/);
});

test("the rate of fulfilment is that of what has ended", async () => {
  const { owner } = service.database;
  const { data } = await run(
    `{ statusChanges(filter: { toStatus: { in: [fulfilled, abandoned] } }) {
         aggregates { count rate: share(toStatus: [fulfilled]) none: share(toStatus: [open]) fulfilled: count(toStatus: [fulfilled]) }
         groupedAggregates(groupBy: [TO_STATUS]) { group { toStatus } rate: share(toStatus: [fulfilled]) } } }`,
  );
  const { rows } = await owner.query(
    `select count(*)::integer as count, count(*) filter (where to_status = 'fulfilled')::integer as fulfilled
     from app_public.status_history where to_status in ('fulfilled', 'abandoned')`,
  );
  const [{ count, fulfilled }] = rows;
  expect(fulfilled).toBeGreaterThan(0);
  expect(data.statusChanges.aggregates).toEqual({ count, fulfilled, rate: fulfilled / count, none: 0 });
  for (const { group, rate } of data.statusChanges.groupedAggregates)
    expect(rate).toBe(group.toStatus === "fulfilled" ? 1 : 0);
});

const grow = async () => {
  const { owner } = service.database;
  await owner.query(`
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators, concerns_country_code)
      select org_uri, org_name, declared_by_email, need_description, accelerators, concerns_country_code
      from app_public.needs, generate_series(1, 2);
    insert into app_public.commitments
        (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id, target_completion_date)
      select org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id, target_completion_date
      from app_public.commitments, generate_series(1, 2);
    insert into app_public.engagement_claims
        (org_uri, org_name, claimed_by_email, engagement_accelerators, description, fulfills_commitment_id)
      select org_uri, org_name, claimed_by_email, engagement_accelerators, description, fulfills_commitment_id
      from app_public.engagement_claims, generate_series(1, 2)`);
};

test("with three times as many records they take as many statements", async () => {
  // On the demo alone some find nothing to look up.
  await grow();
  const costs = new Map<string, number>();
  for (const [title, query] of RECIPES) costs.set(title, (await run(query)).cost);
  await grow();
  for (const [title, query] of RECIPES) {
    expect({ title, cost: (await run(query)).cost }).toEqual({ title, cost: costs.get(title) });
  }
});
