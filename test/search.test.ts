// Records found by the words of their texts, over GraphQL and REST.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ask, send } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
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
  test.each(["!?", "'", "\\"])("%j has no word and is refused by its path", async (search) => {
    const { errors } = await send(
      service,
      "query ($search: String) { needs(search: $search) { totalCount } }",
      {
        search,
      },
    );
    expect(errors?.[0]?.extensions).toMatchObject({
      code: "validation_failed",
      details: [{ path: "search", message: "must contain a word" }],
    });
  });

  test.each(["", "  ", "\t\u00a0\n"])("%j counts as left out", async (search) => {
    const query = `query ($search: String, $orgUri: String!) {
      needs(search: $search, first: 3) { nodes { needId } pageInfo { hasNextPage } }
      commitments(search: $search) { totalCount nodes { commitmentId } }
      engagementClaims(search: $search) { totalCount nodes { engagementClaimId } }
      organization(orgUri: $orgUri) { needs(search: $search, orderBy: [CREATED_AT_ASC]) { totalCount nodes { needId } } }
    }`;
    const all = await ask(service, query, { orgUri: ORG });
    expect(all.needs.pageInfo).toEqual({ hasNextPage: true });
    expect(all.commitments.totalCount).toBe(2);
    expect(await ask(service, query, { orgUri: ORG, search })).toEqual(all);
  });

  test("null is left out", async () => {
    const { needs } = await ask(service, "{ needs(search: null) { totalCount } }");
    expect(needs.totalCount).toBe(5);
  });

  test.each(["x".repeat(2_049), "a\0b"])("what nobody types is refused", async (search) => {
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

describe("over REST", () => {
  const list = (path: string, query: Record<string, string>) =>
    call(`${service.url}/v0/${path}?${new URLSearchParams(query).toString()}`, "GET", service.keys.read);

  test.each<[string, Record<string, string>, string[]]>([
    ["needs", { q: "áudio, NOMAD" }, ["Nomadic herders", "Audio Scripture"]],
    ["needs", { q: "audio", status: "open" }, ["Solar players", "Audio Scripture"]],
    ["needs", { q: "audio", accelerator: "PRA", limit: "1" }, ["Solar players"]],
    ["needs", { q: "audio", orgUri: OTHER_ORG }, []],
    ["commitments", { q: "river audio" }, ["Recording audio"]],
    ["engagement-claims", { q: "ivoire rendille" }, ["Rendille"]],
    ["engagement-claims", { q: "rendille", status: "paused" }, []],
  ])("%s, by %j, newest first", async (path, query, expected) => {
    const { status, body } = await list(path, query);
    expect(status).toBe(200);
    const items = Object.values(body as Record<string, Record<string, string>[]>)[0]!;
    const texts = items.map(
      (item) => item["needDescription"] ?? item["commitmentDescription"] ?? item["peopleGroupName"]!,
    );
    expect(texts.map((text) => text.split(" ").slice(0, 2).join(" "))).toEqual(expected);
    if (query["limit"] === undefined) expect(body.total).toBe(expected.length);
  });

  test("page by page, by the header Link", async () => {
    const seen: string[] = [];
    let path: string | undefined = "/v0/needs?q=audio&limit=1";
    while (path !== undefined && seen.length < 10) {
      const { body, headers }: Answer = await call(`${service.url}${path}`, "GET", service.keys.read);
      expect(body.total).toBe(3);
      seen.push(...body.needs.map(({ needId }: { needId: string }) => needId));
      path = /<([^>]*)>; rel="next"/.exec(headers.get("link") ?? "")?.[1];
    }
    expect(seen).toHaveLength(3);
    expect(new Set(seen).size).toBe(3);
  });

  test.each(["needs", "commitments", "engagement-claims"])(
    "%s: white space counts as left out",
    async (path) => {
      const answer = async (query: Record<string, string>) => {
        const { status, body, headers } = await list(path, { limit: "1", ...query });
        return { status, body: body as unknown, link: headers.get("link") };
      };
      const all = await answer({});
      expect(all.status).toBe(200);
      for (const q of ["", " ", "\t\u00a0"]) expect([q, await answer({ q })]).toEqual([q, all]);
    },
  );

  test.each([
    ["!?", "must contain a word"],
    ["x".repeat(201), "must have at most 200 characters"],
    ["a\0b", "must not contain a NUL character"],
  ])("%j is refused", async (q, message) => {
    const { status, body } = await list("needs", { q });
    expect([status, body.details]).toEqual([400, [{ path: "q", message }]]);
  });
});

let many: Promise<unknown> | undefined;
/** @returns a connection as the owner, once there are five thousand more needs */
async function withManyNeeds() {
  const { owner } = service.database;
  many ??= owner.query(`
    alter table app_public.needs disable trigger user;
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
      select '${ORG}', 'River Mission', '${admin}', 'Many ' || md5(n::text), '{PRA}' from generate_series(1, 5000) as n;
    alter table app_public.needs enable trigger user;
    analyze app_public.needs`);
  await many;
  return owner.connect();
}

test("words are found in an index, also where a policy stands before the rows", async () => {
  const client = await withManyNeeds();
  try {
    await client.query("begin; set local role api_read");
    const { rowCount } = await client.query(
      "select from app_private.needs_with_words('many c4ca4238a0b923820dcc', 'search', true)",
    );
    const { rows } = await client.query(
      "select sum(seq_tup_read)::integer as read from pg_stat_xact_user_tables where relname = 'needs'",
    );
    expect({ found: rowCount, read: rows[0].read }).toEqual({ found: 1, read: 0 });
  } finally {
    client.release(true);
  }
});

test("of a word that is in every text only the newest thousand are ranked, and none is left out", async () => {
  const client = await withManyNeeds();
  const textsRead = async () => {
    const { rows } = await client.query<{ calls: string }>(
      "select coalesce(sum(calls), 0) as calls from pg_stat_xact_user_functions where funcname = 'words_of'",
    );
    return Number(rows[0]!.calls);
  };
  try {
    await client.query("begin; set local track_functions = 'pl'");
    const { rowCount } = await client.query("select from app_private.needs_with_words('m', 'q', false)");
    expect(rowCount).toBeGreaterThanOrEqual(5000);
    const unranked = await textsRead();
    expect(unranked).toBeLessThanOrEqual(10);
    const { rows: found } = await client.query<{ rank: number }>(
      `select f.rank from app_private.needs_with_words('m', 'search', true) as f
       join app_public.needs as n on n.need_id = f.id order by n.created_at desc, n.need_id desc`,
    );
    expect((await textsRead()) - unranked).toBeLessThanOrEqual(1010);
    expect(found).toHaveLength(rowCount!);
    expect(found.map(({ rank }) => rank > 0)).toEqual(found.map((_, place) => place < 1000));
  } finally {
    client.release(true);
  }
});
