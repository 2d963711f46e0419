// From page to page while others write: each page is what a model of the list says that follows the one before it, by the
// cursors of REST and of GraphQL alike. Whatever was there all the time is in one page and no other.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { RECORDS } from "../records/index.ts";
import { columnOf, idOf } from "../records/record.ts";
import type { RecordDescription } from "../records/record.ts";
import { ask } from "./support/graphql.ts";
import { chance } from "./support/random.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, ORG, OTHER_ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

/** A record of the model. */
type Row = { id: string; at: number; own: boolean };
/** What somebody does between two pages. */
type Write = { add: Row[] } | { remove: number } | { touch: number };

// Few moments, so that many records share one, as those of one transaction do.
const row = fc.record<Row>({ id: fc.uuid(), at: fc.nat(6), own: fc.boolean() });
const write = fc.oneof<fc.Arbitrary<Write>[]>(
  fc.record({ add: fc.array(row, { minLength: 1, maxLength: 3 }) }),
  fc.record({ remove: fc.nat(40) }),
  fc.record({ touch: fc.nat(40) }),
);
const walk = fc.record({
  rows: fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 20 }),
  between: fc.array(fc.array(write, { maxLength: 3 }), { maxLength: 8 }),
  limit: fc.integer({ min: 1, max: 7 }),
  filter: fc.constantFrom("none", "organization", "code", "both"),
});

/** Newest first, ties by id. */
const inOrder = (rows: readonly Row[]) =>
  rows.toSorted((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1));

const REQUIRED: Readonly<Record<string, Record<string, string>>> = {
  need: { declared_by_email: contributor, need_description: "Wells", accelerators: "{PRA}" },
  commitment: { declared_by_email: contributor, commitment_description: "Wells", accelerator_scope: "{PRA}" },
  engagement_claim: { claimed_by_email: contributor, engagement_accelerators: "{PRA}", country_code: "KE" },
};
/** The list that looks for a code, and the same in GraphQL. */
const CODE: Readonly<Record<string, { rest: Record<string, string>; graphql: object }>> = {
  need: { rest: { accelerator: "PRA" }, graphql: { accelerators: { contains: ["PRA"] } } },
  commitment: { rest: { status: "declared" }, graphql: { status: { equalTo: "declared" } } },
  engagement_claim: { rest: { countryCode: "KE" }, graphql: { countryCode: { equalTo: "KE" } } },
};

async function add(record: RecordDescription, rows: readonly Row[]): Promise<void> {
  const columns = Object.entries(REQUIRED[record.kind]!);
  for (const { id, at, own } of rows)
    await service.database.owner.query(
      `insert into app_public.${record.table}
         (${columnOf(idOf(record))}, org_uri, org_name, created_at, ${columns.map(([name]) => name).join()})
       values ($1, $2, 'An organization', timestamptz '2026-01-01' + $3 * interval '1 microsecond',
         ${columns.map((_, n) => `$${n + 4}`).join()})`,
      [id, own ? ORG : OTHER_ORG, at, ...columns.map(([, value]) => value)],
    );
}

type Page = { ids: string[]; total: number; next: string | undefined };
type Asked = { limit: number; filter: string; after: string | undefined };

const DOORS: Record<string, (record: RecordDescription, asked: Asked) => Promise<Page>> = {
  REST: async (record, { limit, filter, after }) => {
    const query = new URLSearchParams({
      limit: String(limit),
      ...(filter !== "none" && filter !== "code" && { orgUri: ORG }),
      ...(filter !== "none" && filter !== "organization" && CODE[record.kind]!.rest),
    });
    const { body, headers } = await call(
      `${service.url}${after ?? `/v0/${record.path}?${query.toString()}`}`,
      "GET",
      service.keys.read,
    );
    const { total, ...lists } = body;
    const [items] = Object.values<Record<string, string>[]>(lists);
    const [, next] = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "") ?? [];
    return { ids: items!.map((item) => item[idOf(record)]!), total, next };
  },
  GraphQL: async (record, { limit, filter, after = null }) => {
    const list = record.table.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const type = list[0]!.toUpperCase() + list.slice(1, -1);
    const data = await ask(
      service,
      `query ($first: Int, $after: Cursor, $filter: ${type}Filter) {
        ${list}(first: $first, after: $after, filter: $filter) {
          totalCount pageInfo { hasNextPage endCursor } nodes { ${idOf(record)} } } }`,
      {
        first: limit,
        after,
        filter: {
          ...(filter !== "none" && filter !== "code" && { orgUri: { equalTo: ORG } }),
          ...(filter !== "none" && filter !== "organization" && CODE[record.kind]!.graphql),
        },
      },
    );
    const { nodes, totalCount: total, pageInfo } = data[list];
    return {
      ids: (nodes as Record<string, string>[]).map((node) => node[idOf(record)]!),
      total,
      next: pageInfo.hasNextPage ? pageInfo.endCursor : undefined,
    };
  },
};

test.each(
  Object.values(RECORDS).flatMap((record) =>
    Object.keys(DOORS).map((door) => [door, record.table, record] as const),
  ),
)("by the cursors of %s, %s", async (door, table, record) => {
  const { owner } = service.database;
  const id = columnOf(idOf(record));
  await fc.assert(
    fc.asyncProperty(walk, async ({ rows, between, limit, filter }) => {
      await owner.query("truncate app_public.needs, app_public.commitments cascade");
      await add(record, rows);
      let there: readonly Row[] = rows;
      let last: Row | undefined;
      let next: string | undefined;
      for (let turn = 0; turn === 0 || next; turn++) {
        const page = await DOORS[door]!(record, { limit, filter, after: next });
        const listed = inOrder(there.filter(({ own }) => own || filter === "none" || filter === "code"));
        const follow = listed.filter((each) => !last || (each !== last && inOrder([last, each])[1] === each));
        expect({ turn, ...page, next: page.next !== undefined }).toEqual({
          turn,
          ids: follow.slice(0, limit).map((each) => each.id),
          total: listed.length,
          next: follow.length > limit,
        });
        next = page.next;
        last = follow[limit - 1];
        for (const step of between[turn] ?? []) {
          if ("add" in step) {
            const fresh = step.add.filter((each, at) =>
              [...there, ...step.add.slice(0, at), ...(last ? [last] : [])].every(
                (other) => other.id !== each.id,
              ),
            );
            await add(record, fresh);
            there = [...there, ...fresh];
            continue;
          }
          const chosen = there["remove" in step ? step.remove : step.touch];
          if (!chosen) continue;
          if ("remove" in step) {
            await owner.query(`delete from app_public.${table} where ${id} = $1`, [chosen.id]);
            there = there.filter((each) => each !== chosen);
          } else {
            await owner.query(`update app_public.${table} set org_name = 'Another' where ${id} = $1`, [
              chosen.id,
            ]);
          }
        }
      }
    }),
    chance(30),
  );
});
