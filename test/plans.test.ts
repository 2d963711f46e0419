// Lists and counts at a size where a wrong plan shows: what they cost must not be the cost of the table. What is
// explained is what the server sends.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { fillRecords } from "./support/filling.ts";
import { ask } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { ORG } from "./support/world.ts";

const SIZE = 100_000;
/** The most rows that a page of 50 may look at to find them: by how many have a code, or by how many lie between. */
const LOOKED_AT = 2 * Math.ceil(Math.sqrt(SIZE * 51));

let service: TestService;
let needId: string;
beforeAll(async () => {
  service = await startTestService();
  await fillRecords(service.database.owner, SIZE);
  await service.database.owner.query(
    `insert into app_public.accelerators (code, concept_uri, kind, pref_label)
     select code, 'https://data.example.org/' || code, 'accelerator', code from unnest('{ACC-1,ACC-60,ACC-99}'::text[]) as code`,
  );
  await service.database.owner.query(
    "insert into app_public.people_groups (rop3, name) values ('000017', 'Some'), ('999999', 'None')",
  );
  const { rows } = await service.database.owner.query<{ id: string }>(
    "select concerns_need_id as id from app_public.commitments limit 1",
  );
  needId = rows[0]!.id;
}, 300_000);
afterAll(() => service.stop());

type Sent = { text: string; values: unknown[]; name?: string };
let sent: Sent[];
let restore: () => void;
beforeEach(() => {
  sent = [];
  const { query } = pg.Client.prototype as unknown as {
    query: (this: unknown, ...args: unknown[]) => unknown;
  };
  const spy = jest.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: unknown,
    ...args: unknown[]
  ) {
    const [statement] = args;
    if (typeof statement === "object" && statement !== null && "text" in statement)
      sent.push(statement as Sent);
    return query.apply(this, args) as never;
  });
  restore = () => spy.mockRestore();
});
afterEach(() => restore());

type Node = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: Node[];
};

/** Every step of the plans by which what was sent is carried out. */
async function stepsOfSent(): Promise<Node[]> {
  const statements = sent.filter(
    ({ text }) => /^\s*select\b.*\bfrom\b|run_as/is.test(text) && !/set_config|authenticate/.test(text),
  );
  expect(statements).not.toEqual([]);
  const client = await service.database.owner.connect();
  try {
    await client.query("begin");
    await client.query("set local role api_read");
    const plans: Node[] = [];
    for (const { text, values } of statements) {
      // As in run_as, the statement is planned for its input.
      const isRunAs = text.includes("run_as");
      const statement = isRunAs
        ? String(values[1]).replaceAll("$1", `${client.escapeLiteral(String(values[2]))}::jsonb`)
        : text;
      const { rows } = await client.query<{ "QUERY PLAN": { Plan: Node }[] }>(
        `explain (analyze, timing off, format json) ${statement}`,
        isRunAs ? [] : values,
      );
      plans.push(rows[0]!["QUERY PLAN"][0]!.Plan);
    }
    const steps = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(steps)];
    return plans.flatMap(steps);
  } finally {
    client.release(true);
  }
}

const RECORD_TABLES = ["needs", "commitments", "engagement_claims", "graph_records"];

function expectNoScanOfATable(steps: readonly Node[]): void {
  const scans = steps.filter((step) => step["Node Type"] === "Seq Scan");
  expect(scans.map((step) => step["Relation Name"]).filter((name) => RECORD_TABLES.includes(name!))).toEqual(
    [],
  );
}

/** What has a code is looked for among those that have it, or among the newest: whichever are fewer. */
function expectFewLookedAt(steps: readonly Node[]): void {
  expectNoScanOfATable(steps);
  for (const step of steps) {
    const isSetOfPlaces = step["Node Type"].startsWith("Bitmap") && step["Node Type"] !== "Bitmap Heap Scan";
    if (isSetOfPlaces) continue;
    const rows = step["Actual Rows"] * step["Actual Loops"] + (step["Rows Removed by Filter"] ?? 0);
    expect(rows).toBeLessThanOrEqual(LOOKED_AT);
  }
}

const get = async (path: string) => {
  const answer = await call(`${service.url}${path}`, "GET", service.keys.read);
  expect(answer.status).toBe(200);
  return answer;
};
const org = `orgUri=${encodeURIComponent(ORG)}`;
const smaller = `orgUri=${encodeURIComponent(`${ORG}-5`)}`;

describe("the page is found in an index", () => {
  test.each([
    ["needs", "", "needs_newest"],
    ["needs", "status=open", "needs_by_status"],
    ["needs", "status=withdrawn", "needs_by_status"],
    ["needs", org, "needs_by_organization"],
    ["needs", `${org}&status=open`, "needs_by_organization"],
    ["commitments", "", "commitments_newest"],
    ["commitments", "status=declared", "commitments_by_status"],
    ["commitments", "status=funded", "commitments_by_status"],
    ["commitments", org, "commitments_by_organization"],
    ["commitments", "concernsNeedId=", "commitments_by_need"],
    ["engagement-claims", "", "engagement_claims_by_status"],
    ["engagement-claims", "status=paused", "engagement_claims_by_status"],
    ["engagement-claims", org, "engagement_claims_by_organization"],
    ["engagement-claims", "countryCode=AD", "engagement_claims_by_country"],
    ["engagement-claims", "rop3=000017", "engagement_claims_by_people_group"],
  ])("%s?%s", async (path, filter, index) => {
    const filters = filter.replace("concernsNeedId=", `concernsNeedId=${needId}`);
    for (const offset of [0, 500]) {
      sent = [];
      await get(`/v0/${path}?${filters}&offset=${offset}`);
      const steps = await stepsOfSent();
      expectNoScanOfATable(steps);
      expect(steps.flatMap((step) => step["Index Name"] ?? [])).toContain(index);
      for (const step of steps) {
        // What is skipped is seen by nothing but the index, those in a rare status included, and by what is above it: the
        // limit, and whether it is looked for from this end.
        const skips = ["Index Only Scan", "Result", "Limit"].includes(step["Node Type"]);
        const rows = step["Actual Rows"] * step["Actual Loops"] + (step["Rows Removed by Filter"] ?? 0);
        expect(rows).toBeLessThanOrEqual(skips ? 1.2 * (51 + offset) : 51);
        if (step["Relation Name"] === "graph_records") expect(step["Actual Loops"]).toBeLessThanOrEqual(50);
      }
    }
  });
});

test.each(["needs", "commitments", "engagement-claims"])(
  "%s: by its cursor, a page far down costs what the first one does",
  async (path) => {
    const first = await get(`/v0/${path}?limit=50`);
    const next = /<(.*)>; rel="next"/.exec(first.headers.get("link")!)![1]!;
    const far = `${next.replace(/after=.*/, "")}offset=${0.9 * SIZE}`;
    const link = /<(.*)>; rel="next"/.exec((await get(far)).headers.get("link")!)![1]!;
    sent = [];
    await get(link);
    const steps = await stepsOfSent();
    expectNoScanOfATable(steps);
    for (const step of steps) expect(step["Actual Rows"] * step["Actual Loops"]).toBeLessThanOrEqual(51);
  },
);

test.each(["needs", "commitments", "engagement-claims"])(
  "%s: the last page is as near as the first",
  async (path) => {
    const { total } = (await get(`/v0/${path}`)).body as { total: number };
    sent = [];
    await get(`/v0/${path}?offset=${total - 60}`);
    for (const step of await stepsOfSent()) {
      expect(step["Actual Rows"] * step["Actual Loops"]).toBeLessThanOrEqual(1.2 * (51 + 60));
    }
  },
);

test.each([
  ["needs", "many have", "accelerator=ACC-1"],
  ["needs", "few have", "accelerator=ACC-60"],
  ["needs", "nothing has", "accelerator=ACC-99"],
  ["needs", "many have, of a country that many have", "accelerator=ACC-1&countryCode=AD"],
  ["needs", "few have, of a country that few have", "accelerator=ACC-60&countryCode=ZW"],
  ["needs", "many have, in a rare status", "accelerator=ACC-1&status=withdrawn"],
  ["needs", "a small organization has", `accelerator=ACC-1&${smaller}`],
  ["needs", "a big organization has", `accelerator=ACC-1&${org}`],
  ["needs", "a big organization has, of a country", `countryCode=AD&${org}`],
  ["engagement-claims", "a big organization has", `countryCode=AD&${org}`],
])("%s with a code that %s", async (path, _, filter) => {
  await get(`/v0/${path}?${filter}`);
  expectFewLookedAt(await stepsOfSent());
});

test.each([
  ["totalCount", "{ needs { totalCount } }"],
  ["the count", "{ commitments { aggregates { count } } }"],
  ["by status", "{ engagementClaims { groupedAggregates(groupBy: [STATUS]) { keys count } } }"],
  [
    "by organization, and what it is called",
    "{ needs { groupedAggregates(groupBy: [ORG_URI]) { count group { orgUri organization { name } } } } }",
  ],
  ["by accelerator", "{ needs { groupedAggregates(groupBy: [ACCELERATORS]) { keys count } } }"],
  ["by country", "{ needs { groupedAggregates(groupBy: [CONCERNS_COUNTRY_CODE]) { keys count } } }"],
  [
    "by the one country",
    "{ engagementClaims { groupedAggregates(groupBy: [COUNTRY_CODE]) { keys count } } }",
  ],
  [
    "by accelerator and status",
    "{ needs { groupedAggregates(groupBy: [ACCELERATORS, STATUS]) { keys count } } }",
  ],
  ["by organization", "{ commitments { groupedAggregates(groupBy: [ORG_URI]) { keys count } } }"],
])("GraphQL, %s: read from the totals", async (_, query) => {
  await ask(service, query);
  const steps = await stepsOfSent();
  for (const step of steps) {
    const rows = step["Actual Rows"] * step["Actual Loops"];
    expect(rows).toBeLessThanOrEqual(RECORD_TABLES.includes(step["Relation Name"] ?? "") ? 0 : 2_000);
  }
});

test.each([
  ["the newest", "{ needs { nodes { needId graphStatus } pageInfo { endCursor } } }"],
  ["in a status", "{ needs(filter: { status: { equalTo: withdrawn } }) { nodes { needId } } }"],
  ["of an organization", `{ needs(filter: { orgUri: { equalTo: "${ORG}" } }) { nodes { needId } } }`],
  ["of commitments", "{ commitments(first: 20) { nodes { commitmentId need: concernsNeed { needId } } } }"],
])("GraphQL, a page: %s", async (_, query) => {
  await ask(service, query);
  const steps = await stepsOfSent();
  expectNoScanOfATable(steps);
  for (const step of steps) expect(step["Actual Rows"] * step["Actual Loops"]).toBeLessThanOrEqual(51);
});

describe("GraphQL, the records of a code by their link", () => {
  const LINKS = [
    ["an accelerator that many have", 'accelerator(code: "ACC-1")'],
    ["an accelerator that few have", 'accelerator(code: "ACC-60")'],
    ["an accelerator that nothing has", 'accelerator(code: "ACC-99")'],
    ["a country that many have", 'country(alpha2: "AD")'],
    ["a country that few have", 'country(alpha2: "ZW")'],
    ["a people group that few have", 'peopleGroup(rop3: "000017")'],
    ["a people group that nothing has", 'peopleGroup(rop3: "999999")'],
  ];
  test.each(
    LINKS.flatMap(([title, link]) =>
      ["needs", "commitments", "engagementClaims"].map((list) => [title!, list, link!] as const),
    ),
  )("%s: %s", async (_, list, link) => {
    const found = await ask(
      service,
      `{ linked: ${link} { ${list}(first: 20) { nodes { id status } pageInfo { hasNextPage } } } }`,
    );
    expect(found).toMatchObject({ linked: { [list]: { nodes: expect.any(Array) } } });
    expectFewLookedAt(await stepsOfSent());
  });
});

test("GraphQL, a code that nothing has is looked for by its index, however often others were", async () => {
  const find = (code: string) =>
    ask(
      service,
      `{ needs(first: 5, filter: { concernsCountryCode: { contains: ["${code}"] } }) { nodes { id } } }`,
    );
  for (let n = 0; n < 10; n++) await find("ZW");
  await find("QQ");
  const statements = sent
    .filter(({ text }) => text.includes(`"app_public"."needs"`))
    .map(({ text, values, name }) => ({ text, values, name }));
  expect(statements).toHaveLength(11);
  const client = await service.database.owner.connect();
  try {
    await client.query("begin");
    await client.query("set local role api_read");
    const read = async () => {
      const { rows } = await client.query<{ read: string }>(
        "select idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'needs'",
      );
      return Number(rows[0]!.read);
    };
    for (const statement of statements.slice(0, -1)) await client.query(statement);
    const before = await read();
    await client.query(statements.at(-1)!);
    expect((await read()) - before).toBeLessThanOrEqual(LOOKED_AT);
  } finally {
    client.release(true);
  }
});

test("health", async () => {
  await get("/v0/health");
  const steps = await stepsOfSent();
  expectNoScanOfATable(steps);
});

test.each(["needs", "commitments", "engagement-claims"])(
  "%s: what was updated lately is found in an index, in that order",
  async (path) => {
    const table = path.replace("-", "_");
    const { rows } = await service.database.owner.query<{ since: string }>(
      "select to_json(clock_timestamp()) #>> '{}' as since",
    );
    const { since } = rows[0]!;
    await service.database.owner.query(
      `update app_public.${table} set org_name = org_name || '.' where ctid in (select ctid from app_public.${table} limit 300)`,
    );
    sent = [];
    const { body } = await get(`/v0/${path}?updatedSince=${encodeURIComponent(since)}`);
    expect(body.total).toBeGreaterThan(200);
    const steps = await stepsOfSent();
    expectNoScanOfATable(steps);
    expect(steps.flatMap((step) => step["Index Name"] ?? [])).toContain(`${table}_by_update`);
    for (const step of steps) expect(step["Actual Rows"] * step["Actual Loops"]).toBeLessThanOrEqual(300);
  },
);

test("a page of changes costs no more for all those before it", async () => {
  const { owner } = service.database;
  await owner.query(
    `insert into app_private.changes (kind, record_id, change, org_uri)
     select 'need', gen_random_uuid(), 'created', $1 from generate_series(1, 50000)`,
    [ORG],
  );
  await owner.query("select app_private.number_changes(1000000)");
  await owner.query("analyze app_private.changes");
  const { body } = await get("/v0/changes?after=now");
  const { rows } = await owner.query<{ "QUERY PLAN": [{ Plan: Node }] }>(
    `explain (format json) select * from app_private.changes_after(${body.next.split("-")[0] - 20_000}, 10000)`,
  );
  expect(rows[0]!["QUERY PLAN"][0].Plan.Plans).toMatchObject([{ "Index Name": "changes_in_order" }]);
});

test("where the owner is no superuser, the rules are applied all the same", async () => {
  const rule = await readFile(join(import.meta.dirname, "../db/rules/leakproof.sql"), "utf8");
  const client = new pg.Client(service.database.url);
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
