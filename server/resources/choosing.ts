// The lists that people choose from: organizations, people groups, countries. Fields are named as in records.
import { z } from "zod";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

const organization = z
  .object({
    orgUri: s.httpUri,
    orgName: z.string(),
    orgType: z.string().nullable(),
    orgWebsite: z.string().nullable(),
    orgDomain: z.string().nullable(),
  })
  .meta({ id: "ListedOrganization", description: "An organization that is public. Null means unknown." });

const peopleGroup = z
  .object({ peopleGroupRop3: s.rop3, peopleGroupName: z.string() })
  .meta({ id: "PeopleGroup", description: "A people group of the registry that was imported." });

const country = z
  .object({ countryCode: s.countryCode, countryCodeAlpha3: z.string(), countryName: z.string() })
  .meta({ id: "Country", description: "A country of ISO 3166-1." });

const q = (of: string) => {
  const typed = s.partsOf(of);
  return typed.meta({ description: `${typed.description} Names that begin with them come first.` });
};

/** The statement for a list by name; with a search text, names that begin with it come first. */
function pageOf(
  items: string,
  { from, name, id, typed }: { from: string; name: string; id: string; typed: unknown },
): string {
  const byName = `app_private.fold(item."${name}"), item."${id}"`;
  const order = typed === undefined ? byName : `${BEGINS_OTHERWISE(name)}, ${byName}`;
  // A search finds few rows; the whole list is read in the order of an index.
  return `
    with found as ${typed === undefined ? "not materialized" : "materialized"} (${from}),
    shown as materialized (select * from found as item order by ${order}
      limit ($1 ->> 'limit')::integer offset ($1 ->> 'offset')::bigint)
    select json_build_object(
      '${items}', coalesce((select json_agg(item order by ${order}) from shown as item), '[]'),
      'total', (select count(*) from found))::text`;
}

const BEGINS_OTHERWISE = (name: string) =>
  `not starts_with(app_private.fold(item."${name}"), app_private.fold(btrim($1 ->> 'q')))`;

export const choosingRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/organizations",
    operationId: "listOrganizations",
    tag: "Organizations",
    summary: "List and search the public organizations, by name",
    description:
      "The organizations that a person can claim to belong to. A new one is listed once its first claim is approved.",
    query: z.object({
      q: q("its name, domain or website"),
      orgUri: s.filterText.describe("One organization, by its URI."),
      ...s.paging,
    }),
    answer: {
      status: 200,
      schema: z.object({ organizations: z.array(organization), total: z.int() }),
      description: "The page, and how many organizations match in all.",
    },
    errors: [],
    statement: ({ q: typed, orgUri }) => {
      const conditions = [
        ...(typed === undefined
          ? []
          : [`item."orgUri" in (select org_uri from app_private.organizations_named($1 ->> 'q'))`]),
        ...(orgUri === undefined ? [] : [`item."orgUri" = $1 ->> 'orgUri'`]),
      ];
      const where = conditions.length > 0 ? `where ${conditions.join(" and ")}` : "";
      const from = `select item.* from rest.organizations as item ${where}`;
      return pageOf("organizations", { from, name: "orgName", id: "orgUri", typed });
    },
  },
  {
    method: "get",
    path: "/v0/organizations/{orgUri}",
    operationId: "getOrganization",
    tag: "Organizations",
    summary: "Read one organization",
    description:
      "Percent-encode the URI, slashes included. If a proxy undoes that, use GET /v0/organizations?orgUri= instead.",
    params: z.object({ orgUri: s.httpUri.describe("The organization's URI.") }),
    answer: { status: 200, schema: organization, description: "The organization." },
    errors: ["organization_not_found"],
    statement: `select row_to_json(item)::text from rest.organizations as item where item."orgUri" = $1 ->> 'orgUri'`,
    missing: "organization_not_found",
  },
  {
    method: "get",
    path: "/v0/people-groups",
    operationId: "listPeopleGroups",
    tag: "Vocabulary",
    summary: "List and search the people groups, by name",
    description:
      "Empty until a registry is imported; from then on a people group that a record names is looked up in it.",
    query: z.object({ q: q("its name or ROP3 code"), ...s.paging }),
    answer: {
      status: 200,
      schema: z.object({ peopleGroups: z.array(peopleGroup), total: z.int() }),
      description: "The page, and how many people groups match in all.",
    },
    errors: [],
    statement: ({ q: typed }) => {
      const found =
        typed === undefined ? "app_public.people_groups" : "app_private.people_groups_named($1 ->> 'q')";
      const from = `select rop3 as "peopleGroupRop3", name as "peopleGroupName" from ${found}`;
      return pageOf("peopleGroups", { from, name: "peopleGroupName", id: "peopleGroupRop3", typed });
    },
  },
  {
    method: "get",
    path: "/v0/countries",
    operationId: "listCountries",
    tag: "Vocabulary",
    summary: "List and search the countries, by name",
    query: z.object({ q: q("its codes or one of its names") }),
    answer: {
      status: 200,
      schema: z.object({ countries: z.array(country), total: z.int() }),
      description: "All that match.",
    },
    errors: [],
    statement: `
      with asked as materialized (
        select app_private.country_of($1 ->> 'q') as exactly, app_private.parts_of($1 ->> 'q') as parts
      ),
      matching as materialized (
        select exactly as alpha2 from asked
        union
        select alpha2 from app_private.names_of_countries where name like all (array(select unnest(parts) from asked))
      )
      select json_build_object(
        'countries', coalesce(
          json_agg(item order by item."countryCode" is distinct from (select exactly from asked),
            app_private.fold(item."countryName")), '[]'),
        'total', count(*))::text
      from (
        select alpha2 as "countryCode", alpha3 as "countryCodeAlpha3", name as "countryName"
        from app_public.countries where alpha2 in (select alpha2 from matching)
      ) as item`,
  },
];
