// The search at /search: organizations by parts of their names, records by words of their texts, each also
// by its id or URI.
import { html } from "hono/html";
import { RECORDS } from "../../records/index.ts";
import { columnOf, idOf } from "../../records/record.ts";
import type { RecordKind } from "../../records/record.ts";
import { textColumn } from "./organization/data.ts";
import type { Listed, Organization, Some } from "./organization/data.ts";
import { recordList } from "./organization/records.ts";
import { findOrganizations, organizationList } from "./organizations.ts";
import { format } from "./overview/numbers.ts";
import type { Content, Page, Visit } from "./page.ts";
import { pageOf, pager, withQuery } from "./parts/pager.ts";
import { searchForm, wordsOf } from "./parts/search-form.ts";
import { atMost } from "./parts/text.ts";
import { NAMES, organizationPath, recordPath } from "./record/kinds.ts";

/** Of each kind in an overview, and on a page of one kind. */
const FIRST = 8;
const PAGE = 25;
/** If more records have a word, only so many of the newest are ranked (db/rules/search.sql) and listed. */
const RANKED = 1_000;
/** Long enough for a URI, which is longer than any words. */
export const LONGEST = 2_048;

const UUID_AT_END = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

type Found = Some<Listed & { orgName: string }>;

export const search: Page = {
  path: "/search",
  show: async (visit) => {
    const q = wordsOf(visit, LONGEST);
    const form = searchForm({
      ...{ action: "/search", label: "Words, names, an id or a URI", value: q },
      ...{ hint: "All of the words, in any order; the beginning of a word is enough.", most: LONGEST },
    });
    if (!q) return { title: "Search", content: form };
    const exactly = await named(visit, q);
    if (exactly !== undefined) return exactly;
    return { title: "Search", content: html`${form} ${await results(visit, q)}` };
  },
};

/** The path of the page of the record or organization with exactly this id or URI. */
async function named({ ask }: Visit, q: string): Promise<string | undefined> {
  const [id] = UUID_AT_END.exec(q) ?? [];
  const kinds = Object.values(RECORDS).map(
    (record) =>
      `select '${record.kind}' as kind, 1 as place from app_public.${record.table}
       where ${columnOf(idOf(record))} = ($1 ->> 'id')::uuid`,
  );
  const found = await ask<RecordKind | "organization" | null>(
    `select to_json(kind)::text from (
       select 'organization' as kind, 0 as place from rest.organizations where "orgUri" = $1 ->> 'q'
       union all ${kinds.join(" union all ")}) as found order by place limit 1`,
    { q, ...(id !== undefined && { id }) },
  );
  if (found === "organization") return organizationPath(q);
  return found === null || id === undefined ? undefined : recordPath(found, id);
}

async function results(visit: Visit, q: string): Promise<Content> {
  const only = visit.query("in");
  const wanted = Object.values(RECORDS).filter(({ path }) => only === undefined || path === only);
  const kinds = (wanted.length > 0 ? wanted : Object.values(RECORDS)).map(({ kind }) => kind);
  const isOne = kinds.length === 1;
  const most = isOne ? PAGE : FIRST;
  const input = { q: atMost(q, 200), most, page: isOne ? pageOf(visit) : 1 };
  const [organizations, ...found] = await Promise.all([
    isOne ? undefined : findOrganizations(visit, input),
    ...kinds.map((kind) => visit.ask<Found>(recordsOf(kind), input)),
  ]);
  return html`${organizations ? organizationsFound(organizations, q) : ""}
  ${kinds.map((kind, place) => recordsFound(visit, kind, found[place]!, isOne))}`;
}

function organizationsFound({ items, total }: Some<Organization>, q: string): Content {
  return html`<section class="card" aria-labelledby="organizations">
    <h2 id="organizations">Organizations: ${format(total)}</h2>
    ${organizationList(items)}
    ${
      total > items.length
        ? html`<p>
            <a href="/organizations?${new URLSearchParams({ q }).toString()}">All organizations found</a>
          </p>`
        : ""
    }
  </section>`;
}

function recordsFound(visit: Visit, kind: RecordKind, { items, total }: Found, isOne: boolean): Content {
  const { many, title } = NAMES[kind];
  const all = withQuery(visit.address, { in: RECORDS[kind].path, page: undefined });
  const pages = Math.ceil(Math.min(total, RANKED) / PAGE);
  return html`<section class="card" aria-labelledby="${many}">
    <h2 id="${many}">${title}: ${format(total)}</h2>
    ${recordList(kind, items)} ${isOne ? pager(visit, { page: pageOf(visit), pages }, many) : ""}
    ${isOne ? html`<p><a href="${withQuery(visit.address, { in: undefined, page: undefined })}">Search in all</a></p>` : ""}
    ${!isOne && total > items.length ? html`<p><a href="${all}">All ${many} found</a></p>` : ""}
  </section>`;
}

const SOME = `limit ($1 ->> 'most')::integer offset (($1 ->> 'page')::bigint - 1) * ($1 ->> 'most')::integer`;

function recordsOf(kind: RecordKind): string {
  const record = RECORDS[kind];
  const id = columnOf(idOf(record));
  return `
    with found as materialized (
      select f.id, f.rank
      -- What has no word in it finds nothing; a list would refuse it.
      from (select $1 ->> 'q' as q where app_private.words_of($1 ->> 'q') <> ''::tsvector) as asked
      cross join lateral app_private.${record.table}_with_words(asked.q, 'q', true) as f
    ),
    shown as (
      select r.${id} as id, left(r.${textColumn(kind)}, 300) as text, r.status, r.created_at as at, r.org_name as "orgName"
      from found as f join app_public.${record.table} as r on r.${id} = f.id
      where f.rank > 0
      order by f.rank desc, r.created_at desc, r.${id} desc ${SOME}
    )
    select json_build_object(
      'items', coalesce((select json_agg(shown) from shown), '[]'), 'total', (select count(*) from found))::text`;
}
