// Counting over GraphQL: by status, accelerator, country, organization and month.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually } from "./support/eventually.ts";
import { ask, refusal } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG, OTHER_ORG } from "./support/world.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await service.database.owner.query(`
    insert into app_public.needs
      (org_uri, org_name, declared_by_email, need_description, accelerators, concerns_country_code, status, created_at)
    values
      ('${ORG}', 'River Mission', '${admin}', 'a', '{PRA,PRA-INT}', '{KE,UG}', 'open', '2026-01-31 23:59:59Z'),
      ('${ORG}', 'River Mission', '${admin}', 'b', '{PRA}', '{KE}', 'met', '2026-02-01 00:00:00Z'),
      ('${OTHER_ORG}', 'Harbor Trust', '${admin}', 'c', '{PRA-INT}', '{}', 'open', '2026-02-28 12:00:00Z');
    insert into app_public.engagement_claims
      (org_uri, org_name, claimed_by_email, engagement_accelerators, country_code, status, created_at)
    values
      ('${ORG}', 'River Mission', '${admin}', '{PRA}', 'KE', 'active', '2026-03-01Z'),
      ('${ORG}', 'River Mission', '${admin}', '{PRA}', 'FJ', 'completed', '2026-03-02Z'),
      ('${OTHER_ORG}', 'Harbor Trust', '${admin}', '{PRA,PRA-INT}', null, 'active', '2026-03-03Z');
    insert into app_public.commitments
      (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, created_at)
    select '${ORG}', 'River Mission', '${admin}', 'old', '{PRA}', timestamptz '2000-01-01Z' + n * interval '1 day'
    from generate_series(1, 120) as n;
  `);
});
afterAll(() => service.stop());

type Group = { keys: string[]; count: number };

const groups = (found: Group[]): Record<string, number> =>
  Object.fromEntries(
    found
      .toSorted((a, b) => (a.keys.join() < b.keys.join() ? -1 : 1))
      .map(({ keys, count }) => [keys.join(" "), count]),
  );

const grouped = async (list: string, groupBy: string) => {
  const data = await ask(
    service,
    `{ list: ${list} { groupedAggregates(groupBy: [${groupBy}]) { keys count } } }`,
  );
  return groups(data.list.groupedAggregates);
};

test.each<[string, string, string, Record<string, number>]>([
  ["by status", "needs", "STATUS", { met: 1, open: 2 }],
  ["by organization", "needs", "ORG_URI", { [OTHER_ORG]: 1, [ORG]: 2 }],
  ["by accelerator, each code on its own", "needs", "ACCELERATORS", { PRA: 2, "PRA-INT": 2 }],
  ["by country, each code on its own", "needs", "CONCERNS_COUNTRY_CODE", { KE: 2, UG: 1 }],
  ["by the country of a claim, or none", "engagementClaims", "COUNTRY_CODE", { "": 1, FJ: 1, KE: 1 }],
  [
    "by accelerator and country, in every combination",
    "needs",
    "ACCELERATORS, CONCERNS_COUNTRY_CODE",
    { "PRA KE": 2, "PRA UG": 1, "PRA-INT KE": 1, "PRA-INT UG": 1 },
  ],
  [
    "by accelerator and status",
    "needs",
    "ACCELERATORS, STATUS",
    {
      "PRA met": 1,
      "PRA open": 1,
      "PRA-INT open": 2,
    },
  ],
  [
    "of what passes a filter",
    'needs(filter: { accelerators: { contains: ["PRA"] } })',
    "STATUS",
    { met: 1, open: 1 },
  ],
  [
    "by the accelerators of the records that have changed",
    "statusChanges",
    "ACCELERATORS",
    { PRA: 125, "PRA-INT": 3 },
  ],
  [
    "by the accelerators of the needs that have changed",
    "statusChanges(filter: { needId: { isNull: false } })",
    "ACCELERATORS",
    { PRA: 2, "PRA-INT": 2 },
  ],
])("%s", async (_name, list, groupBy, expected) => {
  expect(await grouped(list, groupBy)).toEqual(expected);
});

test("what is read from totals is what a count gives, folded or not", async () => {
  // A filter that leaves all.
  const all = `filter: { orgUri: { notEqualTo: "https://data.example.org/org/none" } }`;
  const lists: Record<string, string[][]> = {
    needs: [["STATUS"], ["ACCELERATORS"], ["CONCERNS_COUNTRY_CODE"], ["ORG_URI"], ["ORG_URI", "STATUS"]],
    engagementClaims: [
      ["COUNTRY_CODE"],
      ["STATUS", "COUNTRY_CODE"],
      ["COUNTRY_CODE", "ENGAGEMENT_ACCELERATORS"],
      ["COUNTRY_CODE", "ORG_URI"],
    ],
  };
  lists["needs"]!.push(["ACCELERATORS", "ORG_URI"], ["CONCERNS_COUNTRY_CODE", "STATUS", "ACCELERATORS"]);
  lists["needs"]!.push(["CONCERNS_COUNTRY_CODE", "ORG_URI"]);
  for (const turn of ["noted", "folded"]) {
    for (const [list, groupings] of Object.entries(lists)) {
      for (const groupBy of groupings) {
        const counts = `totalCount aggregates { count distinctCount { orgUri } }
          groups: groupedAggregates(groupBy: [${groupBy.join(", ")}]) { keys count }
          more: groupedAggregates(groupBy: [${groupBy.join(", ")}]) { keys count distinctCount { orgUri } }
          named: groupedAggregates(groupBy: [${groupBy.join(", ")}]) { keys count group { status orgUri organization { name } } }
          dated: groupedAggregates(groupBy: [${groupBy.join(", ")}], orderBy: NEWEST) { keys count }`;
        const { kept, counted } = await ask(
          service,
          `query ($none: ${list === "needs" ? "NeedFilter" : "EngagementClaimFilter"}) {
            kept: ${list}(filter: $none) { ${counts} } counted: ${list}(${all}) { ${counts} }
          }`,
        );
        const inOrder = (found: Group[]) =>
          found.toSorted((a, b) => (a.keys.join() < b.keys.join() ? -1 : 1));
        type Counted = Record<"groups" | "more" | "named", Group[]>;
        const comparable = ({ groups: all, more, named, ...others }: Counted) => ({
          ...others,
          groups: inOrder(all),
          more: inOrder(more),
          named: inOrder(named),
        });
        expect({ turn, groupBy, ...comparable(kept) }).toEqual({ turn, groupBy, ...comparable(counted) });
      }
    }
    await service.database.owner.query("select app_private.fold_record_totals()");
  }
});

test("by month, in UTC whatever the database's time zone", async () => {
  await service.database.owner.query(
    "do $$ begin execute format('alter database %I set timezone = ''Pacific/Auckland''', current_database()); end $$",
  );
  // Connections keep the time zone that they began with. They are gone before anybody else asks anything over one of them.
  await service.database.owner.query(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
     where datname = current_database() and usename = 'engagement_server'`,
  );
  const months = await eventually(() => grouped("needs", "CREATED_AT_TRUNCATED_TO_MONTH"));
  // Not the instant alone: it is the text of a key that readers take the month from.
  expect(Object.entries(months).map(([key, count]) => [key.slice(0, 19), Date.parse(key), count])).toEqual([
    ["2026-01-01T00:00:00", Date.parse("2026-01-01T00:00:00Z"), 1],
    ["2026-02-01T00:00:00", Date.parse("2026-02-01T00:00:00Z"), 2],
  ]);
  const { body } = await call(`${service.url}/v0/needs`, "GET", service.keys.read);
  expect(body.needs[0].createdAt).toMatch(/^2026-02-.*\+00:00$/);
});

test("within an organization", async () => {
  const { organization } = await ask(
    service,
    `query ($orgUri: String!) {
      organization(orgUri: $orgUri) { needs { aggregates { count distinctCount { orgName } } groupedAggregates(groupBy: [STATUS]) { keys count } } }
    }`,
    { orgUri: ORG },
  );
  expect(organization.needs.aggregates).toEqual({ count: 2, distinctCount: { orgName: 1 } });
  expect(groups(organization.needs.groupedAggregates)).toEqual({ met: 1, open: 1 });
});

test("aggregates cover all matches, not just the page", async () => {
  const { needs } = await ask(service, "{ needs(first: 1) { nodes { needId } aggregates { count } } }");
  expect(needs.aggregates.count).toBe(3);
});

test("free texts and keys cannot be grouped by", async () => {
  for (const column of ["NEED_DESCRIPTION", "NEED_ID", "DECLARED_BY_EMAIL", "UPDATED_AT"]) {
    expect(await refusal(service, `{ needs { groupedAggregates(groupBy: [${column}]) { keys } } }`)).toEqual([
      "validation_failed",
      400,
    ]);
  }
});

test.each<[string, string, string[][]]>([
  ["the largest first, unless something else is asked for", "", [["open"], ["met"]]],
  ["the largest first, where no order is asked for", "orderBy: null", [["open"], ["met"]]],
  ["the smallest first", "orderBy: COUNT_ASC", [["met"], ["open"]]],
  ["as many as are asked for", "first: 1", [["open"]]],
  ["the smallest one", "first: 1, orderBy: COUNT_ASC", [["met"]]],
  ["none", "first: 0", []],
])("groups: %s", async (_name, args, keys) => {
  const { needs } = await ask(service, `{ needs { groupedAggregates(groupBy: [STATUS] ${args}) { keys } } }`);
  expect(needs.groupedAggregates.map((group: Group) => group.keys)).toEqual(keys);
});

describe("groups of so many records", () => {
  const SOME = "filter: { status: { in: [open, met] } }";
  test.each<[string, string[]]>([
    ["null", ["open", "met"]],
    ["{}", ["open", "met"]],
    ["{ count: null }", ["open", "met"]],
    ["{ count: { equalTo: 1 } }", ["met"]],
    ["{ count: { equalTo: 0 } }", []],
    ["{ count: { greaterThan: 0 } }", ["open", "met"]],
    ["{ count: { greaterThan: 1 } }", ["open"]],
    ["{ count: { greaterThan: 2 } }", []],
    ["{ count: { greaterThanOrEqualTo: 1 } }", ["open", "met"]],
    ["{ count: { greaterThanOrEqualTo: 2 } }", ["open"]],
    ["{ count: { greaterThanOrEqualTo: 3 } }", []],
    ["{ count: { lessThan: 1 } }", []],
    ["{ count: { lessThan: 2 } }", ["met"]],
    ["{ count: { lessThan: 3 } }", ["open", "met"]],
    ["{ count: { lessThanOrEqualTo: 1 } }", ["met"]],
    ["{ count: { lessThanOrEqualTo: 2 } }", ["open", "met"]],
    ["{ count: { greaterThan: 1, lessThan: 3, equalTo: null } }", ["open"]],
  ])("%s", async (having, statuses) => {
    const { needs } = await ask(
      service,
      `{ needs(${SOME}) { groupedAggregates(groupBy: [STATUS], having: ${having}) { keys } } }`,
    );
    expect(needs.groupedAggregates.map((group: Group) => group.keys[0])).toEqual(statuses);
  });

  test("also where they are read from totals", async () => {
    const { needs } = await ask(
      service,
      "{ needs { groupedAggregates(groupBy: [STATUS], having: { count: { equalTo: 1 } }) { keys count } } }",
    );
    expect(needs.groupedAggregates).toEqual([{ keys: ["met"], count: 1 }]);
  });
});

test("groups follow one another in time, whichever way", async () => {
  const months = async (orderBy: string) => {
    const { needs } = await ask(
      service,
      `query ($order: NeedGroupOrderBy) {
        needs { groupedAggregates(groupBy: [CREATED_AT_TRUNCATED_TO_MONTH], orderBy: $order) { keys } }
      }`,
      { order: orderBy },
    );
    return needs.groupedAggregates.map((group: Group) => Date.parse(group.keys[0]!));
  };
  const [january, february] = ["2026-01-01", "2026-02-01"].map((day) => Date.parse(`${day}T00:00:00Z`));
  expect(await months("OLDEST")).toEqual([january, february]);
  expect(await months("NEWEST")).toEqual([february, january]);
});

test("of groups that overlap in time the one with the oldest record comes first, or with the newest", async () => {
  const { needs } = await ask(
    service,
    `{ needs { oldest: groupedAggregates(groupBy: [STATUS], orderBy: OLDEST) { keys }
               newest: groupedAggregates(groupBy: [STATUS], orderBy: NEWEST) { keys } } }`,
  );
  const open = [{ keys: ["open"] }, { keys: ["met"] }];
  expect(needs).toEqual({ oldest: open, newest: open });
});

test("a hundred groups are returned where nothing is said, and a thousand at most", async () => {
  const days = async (args: string) => {
    const { commitments } = await ask(
      service,
      `{ commitments { groupedAggregates(groupBy: [CREATED_AT_TRUNCATED_TO_DAY] ${args}) { keys } } }`,
    );
    return commitments.groupedAggregates.length as number;
  };
  expect([await days(""), await days("first: null"), await days("first: 1000")]).toEqual([100, 100, 120]);
  const { __type: type } = await ask(
    service,
    '{ __type(name: "CommitmentConnection") { fields { name args { name description } } } }',
  );
  type Named = { name: string };
  const groups = type.fields.find(({ name }: Named) => name === "groupedAggregates");
  expect(groups.args.find(({ name }: Named) => name === "first").description).toBe(
    "Number of groups, 0 to 1000; 100 when it is not given.",
  );
});

test("how many are in some statuses, and which part they are; of none there is no part", async () => {
  const COUNTS = "count met: count(status: [met]) share(status: [met])";
  const { few, every, none } = await ask(
    service,
    `{ few: needs(filter: { status: { in: [open, met] } }) { aggregates { ${COUNTS} } }
       every: needs { aggregates { met: count(status: [met]) nobody: count(status: []) } }
       none: needs(filter: { needDescription: { equalTo: "nothing" } }) { aggregates { ${COUNTS} } } }`,
  );
  expect(few.aggregates).toEqual({ count: 3, met: 1, share: 1 / 3 });
  expect(every.aggregates).toEqual({ met: 1, nobody: 0 });
  expect(none.aggregates).toEqual({ count: 0, met: 0, share: null });
});

test("statuses that are null are left out, also those of a variable: all records count", async () => {
  const counts = "count none: count(status: null) variable: count(status: $statuses)";
  const { few, every } = await ask(
    service,
    `query ($statuses: [NeedStatus!]) {
       few: needs(filter: { status: { in: [open, met] } }) { aggregates { ${counts} } }
       every: needs { aggregates { ${counts} sent: count(status: [met]) } } }`,
    { statuses: null },
  );
  expect(few.aggregates).toEqual({ count: 3, none: 3, variable: 3 });
  expect(every.aggregates).toEqual({ ...few.aggregates, sent: 1 });
});

test("groups of changes follow one another by when something changed", async () => {
  await service.database.owner.query(
    `update app_public.status_history set changed_at = created_at from app_public.engagement_claims
     where engagement_claim_id = claim_id`,
  );
  const inOrder = (order: string) =>
    `${order.toLowerCase()}: groupedAggregates(groupBy: [ENGAGEMENT_CLAIM_ID], orderBy: ${order}) {
       group { engagementClaim { createdAt } } }`;
  const { statusChanges } = await ask(
    service,
    `{ statusChanges(filter: { engagementClaimId: { isNull: false } }) { ${inOrder("OLDEST")} ${inOrder("NEWEST")} } }`,
  );
  type Found = { group: { engagementClaim: { createdAt: string } } }[];
  const days = (found: Found) =>
    found.map(({ group }) => new Date(group.engagementClaim.createdAt).getUTCDate());
  expect([days(statusChanges.oldest), days(statusChanges.newest)]).toEqual([
    [1, 2, 3],
    [3, 2, 1],
  ]);
});

const AGGREGATED = [
  ["needs", "Need"],
  ["commitments", "Commitment"],
  ["engagementClaims", "EngagementClaim"],
  ["organizations", "Organization"],
  ["accelerators", "Accelerator"],
  ["statusChanges", "StatusChange"],
];

test.each(AGGREGATED)(
  "of %s the different values of each column are counted, and nothing is added up",
  async (list, type) => {
    const { all, counted } = await ask(
      service,
      `{ all: __type(name: "${type}Aggregates") { fields { name } }
       counted: __type(name: "${type}DistinctCountAggregates") { fields { name } } }`,
    );
    const namesOf = ({ fields }: { fields: { name: string }[] }) => fields.map(({ name }) => name);
    const ADDED_UP = /^(sum|average|min|max|stddev|variance)/;
    expect(namesOf(all).filter((name) => ADDED_UP.test(name))).toEqual([]);
    const asked = `distinctCount { ${namesOf(counted).join(" ")} }`;
    // What the histories remember of keys and programs is for reviewers.
    const data = await ask(service, `{ list: ${list} { totalCount aggregates { ${asked} } } }`, {}, "review");
    const { totalCount, aggregates } = data.list;
    for (const [name, found] of Object.entries<number>(aggregates.distinctCount))
      expect([name, Number.isInteger(found) && found <= totalCount]).toEqual([name, true]);
  },
);

test.each(AGGREGATED)(
  "%s are grouped by each that is offered, in each order that is offered",
  async (list, type) => {
    const { keys, orders } = await ask(
      service,
      `{ keys: __type(name: "${type}GroupBy") { enumValues { name } }
       orders: __type(name: "${type}GroupOrderBy") { enumValues { name } } }`,
    );
    const namesOf = ({ enumValues }: { enumValues: { name: string }[] }) =>
      enumValues.map(({ name }) => name);
    expect(namesOf(orders)).toContain("COUNT_DESC");
    for (const key of namesOf(keys)) {
      const asked = namesOf(orders).map(
        (order) => `${order}: groupedAggregates(groupBy: [${key}], orderBy: ${order}) { count }`,
      );
      const data = await ask(service, `{ list: ${list} { ${asked.join(" ")} } }`);
      const numbers = Object.values<unknown[]>(data.list).map(({ length }) => length);
      // The same groups, however they are ordered.
      expect([key, numbers]).toEqual([key, namesOf(orders).map(() => numbers[0])]);
    }
  },
);

test("different statuses in the graph can be counted", async () => {
  const { needs } = await ask(service, "{ needs { aggregates { distinctCount { graphStatus status } } } }");
  expect(needs.aggregates.distinctCount.graphStatus).toBe(1);
});
