// The records of an accelerator or a country: whichever of two ways they are found by (db/rules/links.sql), and what is read
// of a list of which only some is asked for.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { ask } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;

/** Of 200 needs so many have a code. A hundred are the most that are looked up: 100 × 100 is 200 × 50. */
const CODES = { few: ["Z1", "FJ", 3], most: ["Z2", "UG", 100], many: ["Z3", "KE", 101] } as const;

beforeAll(async () => {
  service = await startTestService();
  await service.database.owner.query(`
    insert into app_public.accelerators (code, concept_uri, kind, pref_label)
    select 'Z' || n, 'https://example.org/z' || n, 'accelerator', 'Z' from generate_series(1, 3) as n;
    insert into app_public.needs
      (org_uri, org_name, declared_by_email, need_description, accelerators, concerns_country_code, created_at)
    select '${ORG}', 'River', '${admin}', 'n',
      '{PRA}' || array(select code from unnest('{Z1,Z2,Z3}'::text[], '{3,100,101}'::integer[]) as c (code, most)
        where n * 7 % 200 < most),
      array(select code from unnest('{FJ,UG,KE}'::text[], '{3,100,101}'::integer[]) as c (code, most)
        where n * 7 % 200 < most),
      -- Several at a time.
      timestamptz '2026-01-01' + n / 3 * interval '1 second'
    from generate_series(1, 200) as n`);
});
afterAll(() => service.stop());

test.each([
  ["few", true],
  ["most", true],
  ["many", false],
] as const)(
  "a code that %s records have is rare or not, for accelerators and countries",
  async (name, isRare) => {
    const [accelerator, country] = CODES[name];
    const { rows } = await service.database.owner.query(
      `select app_private.is_rare('need', $1, null) as accelerator, app_private.is_rare('need', null, $2) as country`,
      [accelerator, country],
    );
    expect(rows).toEqual([{ accelerator: isRare, country: isRare }]);
  },
);

test.each(["few", "most", "many"] as const)(
  "what %s records have finds the same ones in the same order by its link and by a filter, page by page",
  async (name) => {
    const [accelerator, country, count] = CODES[name];
    type Page = { totalCount: number; nodes: { needId: string }[]; pageInfo: { endCursor: string } };
    const ids = { linked: [] as string[], filtered: [] as string[], ofCountry: [] as string[] };
    const after: Record<string, string | undefined> = {};
    for (let pages = 0; pages < Math.ceil(count / 40); pages++) {
      const data = await ask(
        service,
        `query ($linked: Cursor, $filtered: Cursor, $ofCountry: Cursor) {
          accelerator(code: "${accelerator}") { linked: needs(first: 40, after: $linked) { ...page } }
          filtered: needs(first: 40, after: $filtered, filter: { accelerators: { contains: ["${accelerator}"] } }) { ...page }
          country(alpha2: "${country}") { ofCountry: needs(first: 40, after: $ofCountry) { ...page } }
        }
        fragment page on NeedConnection { totalCount nodes { needId } pageInfo { endCursor } }`,
        after,
      );
      const found: Record<keyof typeof ids, Page> = {
        linked: data.accelerator.linked,
        filtered: data.filtered,
        ofCountry: data.country.ofCountry,
      };
      for (const list of ["linked", "filtered", "ofCountry"] as const) {
        expect(found[list].totalCount).toBe(count);
        ids[list].push(...found[list].nodes.map(({ needId }) => needId));
        after[list] = found[list].pageInfo.endCursor;
      }
    }
    const { rows } = await service.database.owner.query<{ id: string }>(
      `select need_id as id from app_public.needs where $1 = any (accelerators) order by created_at desc, need_id desc`,
      [accelerator],
    );
    const expected = rows.map(({ id }) => id);
    expect(expected).toHaveLength(count);
    expect(ids).toEqual({ linked: expected, filtered: expected, ofCountry: expected });
  },
);

/** The sizes of the pages that are read for an answer. */
async function pagesReadFor(query: string): Promise<{ pages: string[]; statements: number; data: object }> {
  const spy = jest.spyOn(pg.Client.prototype, "query");
  try {
    const data = (await ask(service, query)) as object;
    const texts = spy.mock.calls
      .map(([statement]) => (statement as unknown as { text?: string }).text ?? "")
      .filter((text) => text.includes("__needs"));
    const pages = texts.flatMap((text) => text.match(/(?<=\blimit )[0-9]+/g) ?? []);
    return { pages, statements: texts.length, data };
  } finally {
    spy.mockRestore();
  }
}

test.each([
  ["totals", "totalCount"],
  ["counts", "aggregates { count }"],
])("no page is read where only %s are asked for, whatever the page's size", async (_, totals) => {
  const ofCode = `accelerator(code: "Z1")`;
  for (const lists of [
    `{ needs { ${totals} } ${ofCode} { needs { ${totals} } } }`,
    `{ needs(first: 7) { ${totals} } ${ofCode} { needs(first: 7) { ${totals} } } }`,
    `{ needs(last: 7) { ${totals} } }`,
  ]) {
    const { pages, statements } = await pagesReadFor(lists);
    expect(pages.filter((limit) => limit !== "0")).toEqual([]);
    expect(statements).toBeGreaterThan(0);
  }
});

test("the last of a list are those at its end, however long it is", async () => {
  const of = async (page: string): Promise<string[]> => {
    const { needs } = (await ask(service, `{ needs(${page}) { totalCount nodes { needId } } }`)) as {
      needs: { totalCount: number; nodes: { needId: string }[] };
    };
    // More than a page has.
    expect(needs.totalCount).toBeGreaterThan(100);
    return needs.nodes.map(({ needId }) => needId);
  };
  const first = await of("first: 3, orderBy: [CREATED_AT_ASC, PRIMARY_KEY_ASC]");
  expect(first).toHaveLength(3);
  expect(await of("last: 3")).toEqual(first.toReversed());
});

test.each([
  ["nodes", "nodes { needId }", { nodes: Array.from({ length: 7 }, () => ({ needId: expect.any(String) })) }],
  ["edges", "edges { cursor }", { edges: Array.from({ length: 7 }, () => ({ cursor: expect.any(String) })) }],
  [
    "end",
    "pageInfo { hasNextPage endCursor }",
    { pageInfo: { hasNextPage: true, endCursor: expect.any(String) } },
  ],
])("a page is read where it is asked for its %s, with totals or without", async (_, part, expected) => {
  for (const totals of ["", "totalCount"]) {
    const { pages, data } = await pagesReadFor(`{ needs(first: 7) { ${totals} ${part} } }`);
    expect(pages).toHaveLength(1);
    expect(data).toEqual({ needs: { ...(totals && { totalCount: 200 }), ...expected } });
  }
});
