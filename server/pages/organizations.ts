// The organizations at /organizations, found by parts of their names, domains and websites.
import { html } from "hono/html";
import type { Organization, Some } from "./organization/data.ts";
import { format } from "./overview/numbers.ts";
import type { Content, Page, Visit } from "./page.ts";
import { pageOf, pager } from "./parts/pager.ts";
import { searchForm, wordsOf } from "./parts/search-form.ts";
import { begin } from "./parts/text.ts";
import { organizationPath } from "./record/kinds.ts";

const PAGE = 50;
/** As in GET /v0/organizations. */
const LONGEST = 200;

export const organizations: Page = {
  path: "/organizations",
  show: async (visit) => {
    const q = wordsOf(visit, LONGEST);
    const page = pageOf(visit);
    const { items, total } = await findOrganizations(visit, { q, page, most: PAGE });
    return {
      title: "Organizations",
      content: html`${searchForm({
          ...{ action: "/organizations", label: "Name, domain or website", value: q },
        })}
        <p role="status">
          ${q ? html`${format(total)} found for “<bdi>${q}</bdi>”` : html`${format(total)} in all`}
        </p>
        ${organizationList(items)}
        ${pager(visit, { page, pages: Math.ceil(total / PAGE) }, "the organizations")}`,
    };
  },
};

/** A page of the public organizations: by name, or those that match the search, best first. */
export function findOrganizations(
  { ask }: Visit,
  { q, ...place }: { q: string | undefined; page: number; most: number },
): Promise<Some<Organization>> {
  return ask(q ? FOUND : ALL, { q, ...place });
}

export function organizationList(items: readonly Organization[]): Content {
  return html`<ul class="rows">
    ${items.map(item)}
  </ul>`;
}

function item({ orgUri, orgName, orgType, orgDomain, orgWebsite }: Organization): Content {
  const more = [orgType, orgDomain, orgWebsite].filter((text) => text !== null);
  return html`<li>
    <a href="${organizationPath(orgUri)}"><bdi>${begin(orgName, 120)}</bdi></a>
    <span class="quiet"
      >${more.map((text, place) => html`${place > 0 ? " · " : ""}<bdi>${begin(text, 80)}</bdi>`)}</span
    >
  </li>`;
}

const ORDER = `app_private.fold(item."orgName"), item."orgUri"`;
const LIMIT = `limit ($1 ->> 'most')::integer offset (($1 ->> 'page')::bigint - 1) * ($1 ->> 'most')::integer`;

// In the order of an index.
const ALL = `
  with shown as materialized (select item.* from rest.organizations as item order by ${ORDER} ${LIMIT})
  select json_build_object(
    'items', coalesce((select json_agg(item order by ${ORDER}) from shown as item), '[]'),
    'total', (select count(*) from rest.organizations))::text`;

// Names that begin with the search text come first, as in GET /v0/organizations.
const BEST = `not starts_with(app_private.fold(item."orgName"), app_private.fold(btrim($1 ->> 'q'))), ${ORDER}`;

const FOUND = `
  with found as materialized (
    select item.* from rest.organizations as item
    where item."orgUri" in (select org_uri from app_private.organizations_named($1 ->> 'q'))
  ),
  shown as materialized (select item.* from found as item order by ${BEST} ${LIMIT})
  select json_build_object(
    'items', coalesce((select json_agg(item order by ${BEST}) from shown as item), '[]'),
    'total', (select count(*) from found))::text`;
