// Pages of every list in every order that it can be asked for: each record once, and where PostgreSQL itself has it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ask } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  // Of each column that may be null: nulls, values that occur twice, and one that occurs once.
  await service.database.owner.query(`
    insert into app_public.accelerators (code, concept_uri, kind, pref_label, definition, broader_code, deprecated_at)
    select 'Z' || n, 'https://example.org/z' || n, case n % 2 when 0 then 'function' else 'accelerator' end::app_public.accelerator_kind,
      'Z', case when n % 3 > 0 then 'd' || n % 3 end, case when n > 3 then 'PRA' end, case n % 2 when 0 then now() end
    from generate_series(1, 5) as n;
    insert into app_public.people_groups (rop3, name) select '10000' || n, 'People ' || n % 3 from generate_series(1, 7) as n;
    insert into app_public.organizations (org_uri, name, type, website, domain)
    select 'https://data.example.org/org/z' || n, 'Z' || n % 2, case when n % 3 > 0 then 't' || n % 3 end,
      case n % 2 when 0 then 'https://z.example' end, case when n > 3 then 'z' || n || '.example' end
    from generate_series(1, 5) as n;
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators, created_at)
    select '${ORG}', 'River', '${admin}', 'n' || n % 3, '{PRA}', timestamptz '2020-01-01' + n / 2 * interval '1 microsecond'
    from generate_series(1, 7) as n;
    insert into app_public.commitments
      (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id, target_completion_date)
    select '${ORG}', 'River', '${admin}', 'c' || n % 3, '{PRA}',
      case when n % 3 > 0 then (select need_id from app_public.needs order by need_id limit 1 offset n % 3) end,
      case when n > 4 then date '2030-01-01' + n / 2 end
    from generate_series(1, 7) as n;
    insert into app_public.engagement_claims
      (org_uri, org_name, claimed_by_email, engagement_accelerators, people_group_rop3, people_group_name, people_group_rog3,
       country_code, country_name, description, fulfills_commitment_id)
    select '${ORG}', 'River', '${admin}', '{PRA}', case when n > 3 then '10000' || n / 2 end, case n when 4 then 'P' end,
      case when n % 2 = 0 then 'KE' end, case n % 3 when 0 then 'KE' when 1 then 'UG' end, case when n < 6 then 'K' || n % 2 end,
      case when n > 1 then 'd' || n end,
      case when n % 3 > 0 then (select commitment_id from app_public.commitments order by 1 limit 1 offset n % 3) end
    from generate_series(1, 7) as n;
    insert into app_public.status_history (commitment_id, from_status, to_status, changed_by_email)
    select (select commitment_id from app_public.commitments order by 1 limit 1), case n % 2 when 0 then 'declared' end,
      'funded', case when n > 2 then 'a' || n % 2 end
    from generate_series(1, 6) as n;`);
});
afterAll(() => service.stop());

type List = {
  field: string;
  ordering: string;
  /** field and column of the primary key */
  id: [field: string, column: string];
  table: string;
  /** the same condition for both */
  filter?: string;
  where?: string;
  /** around the list: a selection with a hole, and which rows are meant */
  within?: (list: string) => string;
};

const COMMITMENT = "(select commitment_id from app_public.commitments order by 1 limit 1)";
const ID = { commitment: ["commitmentId", "commitment_id"], claim: ["claimId", "claim_id"] } as const;
const LISTS: Record<string, List> = {
  accelerators: {
    field: "accelerators",
    ordering: "Accelerator",
    id: ["code", "code"],
    table: "accelerators",
  },
  peopleGroups: {
    field: "peopleGroups",
    ordering: "PeopleGroup",
    id: ["rop3", "rop3"],
    table: "people_groups",
  },
  organizations: {
    field: "organizations",
    ordering: "Organization",
    id: ["orgUri", "org_uri"],
    table: "organizations",
  },
  needs: { field: "needs", ordering: "Need", id: ["needId", "need_id"], table: "needs" },
  commitments: { field: "commitments", ordering: "Commitment", id: [...ID.commitment], table: "commitments" },
  "commitments that a filter leaves": {
    field: "commitments",
    ordering: "Commitment",
    id: [...ID.commitment],
    table: "commitments",
    filter:
      "filter: { or: [{ targetCompletionDate: { isNull: true } }, { concernsNeedId: { isNull: true } }] }",
    where: "target_completion_date is null or concerns_need_id is null",
  },
  countries: {
    field: "countries",
    ordering: "Country",
    id: ["alpha2", "alpha2"],
    table: "countries",
    filter: 'filter: { name: { startsWith: "Ma" } }',
    where: "name like 'Ma%'",
  },
  engagementClaims: {
    field: "engagementClaims",
    ordering: "EngagementClaim",
    id: [...ID.claim],
    table: "engagement_claims",
  },
  "engagementClaims of an organization": {
    field: "engagementClaims",
    ordering: "EngagementClaim",
    id: [...ID.claim],
    table: "engagement_claims",
    within: (list) => `organization(orgUri: "${ORG}") { ${list} }`,
  },
  "the statusHistory of a commitment": {
    field: "statusHistory",
    ordering: "StatusChange",
    id: ["statusHistoryId", "status_history_id"],
    table: "status_history",
    where: `commitment_id = ${COMMITMENT}`,
    within: (list) => `commitments(first: 1, orderBy: [PRIMARY_KEY_ASC]) { nodes { ${list} } }`,
  },
};

/** The orderings that the schema offers for a list. */
async function orderingsOf({ ordering }: List): Promise<string[]> {
  const { __type } = await ask(service, `{ __type(name: "${ordering}OrderBy") { enumValues { name } } }`);
  return __type.enumValues.map(({ name }: { name: string }) => name);
}

/** How PostgreSQL orders the rows, if the orderings are columns; ties by the key, in the direction of the first; newest first of none. */
async function truth({ table, id: [, key], where }: List, orderBy: string[]): Promise<string[] | undefined> {
  const known = await service.database.owner.query<{ attname: string }>(
    "select attname from pg_attribute where attrelid = $1::regclass and attnum > 0",
    [`app_public.${table}`],
  );
  const columns = known.rows.map(({ attname }) => attname);
  const terms = (orderBy.length > 0 ? orderBy : ["CREATED_AT_DESC"])
    .filter((name) => name !== "NATURAL")
    .map((name) => {
      const [, column, direction] = /^(\w+)_(ASC|DESC)$/.exec(name)!;
      return { column: column === "PRIMARY_KEY" ? key : column!.toLowerCase(), direction };
    });
  if (terms.some(({ column }) => !columns.includes(column))) return undefined;
  const order = [...terms, { column: key, direction: terms[0]?.direction ?? "ASC" }];
  const { rows } = await service.database.owner.query<{ id: string }>(
    `select ${key}::text as id from app_public.${table} where ${where ?? "true"}
     order by ${order.map(({ column, direction }) => `${column} ${direction}`).join()}`,
  );
  return rows.map(({ id }) => id);
}

type Edge = { cursor: string; node: Record<string, string> };
type Page = { part: string; cursor?: string };

/** Asks for pages of a list; the texts are few, so that plans are made once. */
async function pagesOf(list: List, orderBy: string[], pages: Page[]): Promise<Edge[][]> {
  const { field, filter = "", id, within = (text) => text } = list;
  const lists = pages.map(
    ({ part }, n) =>
      `p${n}: ${field}(orderBy: $orderBy ${part}: $c${n} ${filter}) { edges { cursor node { ${id[0]} } } }`,
  );
  const cursors = pages.map(({ cursor = null }, n) => [`c${n}`, cursor] as const);
  const data = await ask(
    service,
    `query ($orderBy: [${list.ordering}OrderBy!] ${cursors.map(([name]) => `$${name}: Cursor`).join(" ")}) {
      ${within(lists.join(" "))}
    }`,
    { orderBy, ...Object.fromEntries(cursors) },
    // What the histories remember of keys and programs is for reviewers, who can order by it.
    "review",
  );
  const [parent] = Object.values<{ nodes?: object[] }>(data);
  const found = "p0" in data ? data : (parent!.nodes?.[0] ?? parent);
  return pages.map((_, n) => found[`p${n}`].edges);
}

/** Every page of up to three, forwards and backwards from every record, is what the whole list has there. */
async function expectPagesOf(list: List, orderBy: string[]): Promise<void> {
  const ids = (edges: Edge[]) => edges.map(({ node }) => String(node[list.id[0]]));
  const [whole = []] = await pagesOf(list, orderBy, [{ part: "first: 200 after" }]);
  const expected = ids(whole);
  expect(expected.length).toBeGreaterThan(3);
  expect(new Set(expected).size).toBe(expected.length);
  const independent = await truth(list, orderBy);
  if (independent) expect({ orderBy, ids: expected }).toEqual({ orderBy, ids: independent });

  // Another size at every record; 14 pages of 7 records are one request.
  const pages = whole.flatMap(({ cursor }, at) => {
    const size = 1 + (at % 3);
    return [
      { part: `first: ${size} after`, cursor, ids: expected.slice(at + 1, at + 1 + size) },
      { part: `last: ${size} before`, cursor, ids: expected.slice(Math.max(0, at - size), at) },
    ];
  });
  for (let from = 0; from < pages.length; from += 20) {
    const some = pages.slice(from, from + 20);
    const found = await pagesOf(list, orderBy, some);
    for (const [n, { part, cursor, ids: wanted }] of some.entries()) {
      const place = `${orderBy.join()} ${part} record ${whole.findIndex((edge) => edge.cursor === cursor)}`;
      expect([place, ids(found[n]!)]).toEqual([place, wanted]);
    }
  }
}

describe.each(Object.entries(LISTS))("%s", (_name, list) => {
  test("in every order", async () => {
    const orderings = await orderingsOf(list);
    expect(orderings.length).toBeGreaterThan(4);
    for (const ordering of orderings) await expectPagesOf(list, [ordering]);
  });

  test("in no order, and in every order within another", async () => {
    const orderings = await orderingsOf(list);
    await expectPagesOf(list, []);
    for (const [n, ordering] of orderings.entries())
      await expectPagesOf(list, [ordering, orderings[(n * 7 + 3) % orderings.length]!]);
  });
});

test("a list goes on after the longest texts that it is ordered by", async () => {
  const { owner } = service.database;
  await owner.query(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     select $1, 'Wordy', $2, n || repeat('x', 9999), '{PRA}' from generate_series(1, 4) as n`,
    [ORG, admin],
  );
  try {
    const list: List = {
      ...LISTS["needs"]!,
      filter: 'filter: { orgName: { equalTo: "Wordy" } }',
      where: "org_name = 'Wordy'",
    };
    for (const direction of ["ASC", "DESC"]) await expectPagesOf(list, [`NEED_DESCRIPTION_${direction}`]);
  } finally {
    await owner.query("delete from app_public.needs where org_name = 'Wordy'");
  }
});

test("a list has fifty records where nothing is said, and one within something else twenty", async () => {
  const { owner } = service.database;
  const uri = "https://data.example.org/org/many";
  await owner.query("insert into app_public.organizations (org_uri, name) values ($1, 'Many')", [uri]);
  try {
    await owner.query(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       select $1, 'Many', $2, 'Wells', '{PRA}' from generate_series(1, 60)`,
      [uri, admin],
    );
    const few = "nodes { needId }";
    const { needs, organization } = await ask(
      service,
      `query ($uri: String!) { needs(filter: { orgUri: { equalTo: $uri } }) { ${few} totalCount }
         organization(orgUri: $uri) { needs { ${few} } last: needs(last: 30) { ${few} } } }`,
      { uri },
    );
    const lengths = [needs, organization.needs, organization.last].map(({ nodes }) => nodes.length as number);
    expect([needs.totalCount, ...lengths]).toEqual([60, 50, 20, 30]);
  } finally {
    await owner.query("delete from app_public.needs where org_uri = $1", [uri]);
    await owner.query("delete from app_public.organizations where org_uri = $1", [uri]);
  }
});
