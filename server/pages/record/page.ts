// The page of a need, a commitment or an engagement claim: what it says, and the whole chain that it belongs to.
import { html } from "hono/html";
import { RECORDS } from "../../../records/index.ts";
import { idOf } from "../../../records/record.ts";
import type { RecordDescription } from "../../../records/record.ts";
import { ApiError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import type { Page, Visit } from "../page.ts";
import { pageOf, pager, withQuery } from "../parts/pager.ts";
import { begin, word } from "../parts/text.ts";
import { treeOf } from "./chain.ts";
import type { Chain } from "./chain.ts";
import { details } from "./details.ts";
import type { CodeNames, Item } from "./details.ts";
import { drawing } from "./drawing.ts";
import { answersTo, NAMES } from "./kinds.ts";
import { statuses, words } from "./words.ts";

type Found = { chain: Chain; item: Item; names: CodeNames };

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** One page for each kind of record, where its URI leads if the service is reached under GRAPH_DATA_URL. */
export const recordPages: readonly Page[] = Object.values(RECORDS).map((record) => ({
  path: `/${record.path}/:id`,
  show: async (visit) => {
    const found = await find(record, visit);
    if (!found) throw new ApiError(`${record.kind}_not_found` satisfies ErrorCode);
    const { item, names, chain: whole } = found;
    const chain = treeOf(whole);
    const { one } = NAMES[record.kind];
    const own = whole.nodes.find(({ id }) => id === whole.id)!;
    const next = withQuery(visit.address, { page: String(whole.page + 1) });
    const description = own.text === null ? "" : `: ${begin(own.text, 60)}`;
    return {
      title: `${one}${description}`,
      content: html`<section class="card" aria-labelledby="says">
          <h2 id="says">${one} of <bdi>${begin(own.orgName, 120)}</bdi>: ${word(own.status)}</h2>
          ${details(record, item, names, new Map(whole.nodes.map(({ id, text }) => [id, text])))}
        </section>
        <section class="card" aria-labelledby="chain">
          <h2 id="chain">From need to attestation</h2>
          ${drawing(chain, next)} ${pager(visit, whole, `the ${answersTo(record.kind, 2)}`)}
        </section>
        <section class="card" aria-labelledby="statuses">
          <h2 id="statuses">Statuses</h2>
          ${statuses(own.history)}
        </section>
        <section class="card" aria-labelledby="words">
          <h2 id="words">The chain in words</h2>
          ${words(chain, next)}
        </section>`,
    };
  },
}));

async function find(record: RecordDescription, visit: Visit): Promise<Found | null> {
  const id = visit.part("id");
  if (!UUID.test(id)) return null;
  return visit.ask<Found | null>(
    `with item as materialized (
       select case when i."graphStatus" = 'rejected'
           then to_jsonb(i) || jsonb_build_object('graphErrors', app_public.record_graph_errors('${record.kind}', i."${idOf(record)}"))
           else to_jsonb(i) end as item
       from rest.${record.table} as i where i."${idOf(record)}" = ($1 ->> 'id')::uuid
     ),
     codes as materialized (select jsonb_path_query(item, '$.*[*]') #>> '{}' as code from item)
     select json_build_object(
       'chain', app_private.chain('${record.kind}', ($1 ->> 'id')::uuid, ($1 ->> 'page')::integer),
       'item', item,
       'names', json_build_object(
         'accelerators', coalesce((
           select json_object_agg(a.code, a.pref_label) from app_public.accelerators as a
           where a.code in (select code from codes)), '{}'),
         'countries', coalesce((
           select json_object_agg(c.alpha2, c.name) from app_public.countries as c
           where c.alpha2 in (select code from codes)), '{}'),
         'peopleGroups', coalesce((
           select json_object_agg(p.rop3, p.name) from app_public.people_groups as p
           where p.rop3 in (select code from codes)), '{}')))::text
     from item`,
    { id, page: pageOf(visit) },
  );
}
