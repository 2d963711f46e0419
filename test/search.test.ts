// Records found by the words of their texts, over GraphQL.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ask, send } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG, OTHER_ORG } from "./support/world.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await service.database.owner.query(`
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators, status, created_at)
    select org, name, '${admin}', description, '{PRA}', status::app_public.need_status, at::timestamptz
    from (values
      ('${ORG}', 'River Mission', 'Audio Scripture for nomads', 'open', '2026-01-01Z'),
      ('${ORG}', 'River Mission', 'Nomadic herders of the north need a guide who reads audio books', 'met', '2026-01-02Z'),
      ('${ORG}', 'River Mission', 'Solar players for audio', 'open', '2026-01-03Z'),
      ('${OTHER_ORG}', 'Harbor Trust', 'Église à São Tomé, 100% d''écoute', 'open', '2026-01-04Z'),
      ('${OTHER_ORG}', 'Harbor Trust', 'A back\\slash and a ''quote'' & an | ! ( sign', 'open', '2026-01-05Z')
    ) as n (org, name, description, status, at);
    insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope)
    values ('${ORG}', 'River Mission', '${admin}', 'Recording audio', '{PRA}'),
      ('${ORG}', 'River Mission', '${admin}', 'Training', '{PRA}');
    insert into app_public.engagement_claims
      (org_uri, org_name, claimed_by_email, engagement_accelerators, description, people_group_name, country_name)
    values ('${ORG}', 'River Mission', '${admin}', '{PRA}', null, 'Rendille', 'Côte d''Ivoire'),
      ('${ORG}', 'River Mission', '${admin}', '{PRA}', 'Storytelling', null, null);`);
});
afterAll(() => service.stop());

const found = async (search: string, rest = "") => {
  const { needs } = await ask(
    service,
    `query ($search: String) { needs(search: $search ${rest}) { totalCount nodes { needDescription } } }`,
    { search },
  );
  const words = needs.nodes.map((need: { needDescription: string }) => need.needDescription.split(" ")[0]);
  if (!rest.includes("first")) expect(needs.totalCount).toBe(words.length);
  return words;
};

test.each([
  ["audio nomad", ["Audio", "Nomadic"]],
  ["NOMAD, Audio!", ["Audio", "Nomadic"]],
  ["áudio nômad", ["Audio", "Nomadic"]],
  ["eglise sao", ["Église"]],
  ["100% d'ecoute", ["Église"]],
  ["harbor écoute", ["Église"]],
  ["harb", ["A", "Église"]],
  ["audio church", []],
  ["udio", []],
  ["back\\slash 'quote'", ["A"]],
  ["| & ! ( quote", ["A"]],
])("%j is found in any order, case and accents aside", async (search, words) => {
  expect((await found(search)).toSorted()).toEqual(words);
});

test("the best match comes first, unless another order is asked for", async () => {
  expect(await found("audio nomad")).toEqual(["Audio", "Nomadic"]);
  expect(await found("audio nomad", "orderBy: [CREATED_AT_DESC]")).toEqual(["Nomadic", "Audio"]);
});

test("with a filter, in pages that neither lose nor repeat, and counted in groups", async () => {
  expect(await found("audio", "filter: { status: { equalTo: open } }")).toHaveLength(2);
  const seen: string[] = [];
  let after: string | null = null;
  do {
    const { needs } = await ask(
      service,
      `query ($after: Cursor) { needs(search: "audio", first: 1, after: $after) {
         totalCount nodes { needId } pageInfo { endCursor hasNextPage } } }`,
      { after },
    );
    expect(needs.totalCount).toBe(3);
    seen.push(...needs.nodes.map(({ needId }: { needId: string }) => needId));
    after = needs.pageInfo.hasNextPage ? needs.pageInfo.endCursor : null;
  } while (after !== null && seen.length < 10);
  expect(new Set(seen).size).toBe(3);
  expect(seen).toHaveLength(3);
  const { needs } = await ask(
    service,
    '{ needs(search: "audio") { aggregates { count } groupedAggregates(groupBy: [STATUS]) { keys count } } }',
  );
  expect(needs).toEqual({
    aggregates: { count: 3 },
    groupedAggregates: [
      { keys: ["open"], count: 2 },
      { keys: ["met"], count: 1 },
    ],
  });
});

test("commitments and attestations, and those of one organization", async () => {
  const { commitments, engagementClaims, organization } = await ask(
    service,
    `query ($orgUri: String!) {
       commitments(search: "river audio") { nodes { commitmentDescription } }
       engagementClaims(search: "ivoire rendille") { nodes { peopleGroupName } }
       organization(orgUri: $orgUri) { needs(search: "audio") { totalCount } }
     }`,
    { orgUri: OTHER_ORG },
  );
  expect(commitments.nodes).toEqual([{ commitmentDescription: "Recording audio" }]);
  expect(engagementClaims.nodes).toEqual([{ peopleGroupName: "Rendille" }]);
  expect(organization.needs.totalCount).toBe(0);
});

describe("what is no search", () => {
  test.each(["", "  ", "!?", "'", "\\"])("%j has no word and is refused by its path", async (search) => {
    const { errors } = await send(
      service,
      "query ($search: String) { needs(search: $search) { totalCount } }",
      {
        search,
      },
    );
    expect(errors?.[0]?.extensions).toMatchObject({
      code: "validation_failed",
      details: [{ path: "search", message: "must have a word in it" }],
    });
  });

  test("null is left out", async () => {
    const { needs } = await ask(service, "{ needs(search: null) { totalCount } }");
    expect(needs.totalCount).toBe(5);
  });

  test.each(["x".repeat(2_001), "a\0b"])("what nobody types is refused", async (search) => {
    const { errors } = await send(
      service,
      "query ($search: String) { needs(search: $search) { totalCount } }",
      {
        search,
      },
    );
    expect(errors?.[0]?.extensions["code"]).toBe("validation_failed");
  });
});

test("words are found in an index, also where a policy stands before the rows", async () => {
  const { owner } = service.database;
  await owner.query(`
    alter table app_public.needs disable trigger user;
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
      select '${ORG}', 'River Mission', '${admin}', 'Many ' || md5(n::text), '{PRA}' from generate_series(1, 5000) as n;
    alter table app_public.needs enable trigger user;
    analyze app_public.needs`);
  const client = await owner.connect();
  try {
    await client.query("begin; set local role api_read");
    const { rowCount } = await client.query(
      "select from app_private.needs_with_words('many c4ca4238a0b923820dcc')",
    );
    const { rows } = await client.query(
      "select sum(seq_tup_read)::integer as read from pg_stat_xact_user_tables where relname = 'needs'",
    );
    expect({ found: rowCount, read: rows[0].read }).toEqual({ found: 1, read: 0 });
  } finally {
    client.release(true);
  }
});
