// Mistakes on the pages that show records, an organization and the numbers of all.
import type { Mistake } from "../mistake.ts";

const DETAILS = { file: "server/pages/record/details.ts", tests: ["record-page"] } as const;
const ORGANIZATION = { file: "server/pages/organization/data.ts", tests: ["organization-page"] } as const;
const OVERVIEW = { tests: ["overview-page"] } as const;

export const PAGES_DRAWN: readonly Mistake[] = [
  {
    ...DETAILS,
    rule: "what a record does not say is left out",
    before: " && !isEmpty(item[name])",
    after: "",
  },
  {
    ...DETAILS,
    rule: "an empty list says nothing",
    before: " || (Array.isArray(value) && value.length === 0)",
    after: "",
  },
  {
    ...DETAILS,
    rule: "a code has its name",
    before: "const name = names[String(code)];",
    after: "const name = undefined as string | undefined;",
  },
  {
    ...DETAILS,
    rule: "people groups have their own names",
    before: "return codes(value, names.peopleGroups);",
    after: "return codes(value, names.countries);",
  },
  {
    ...DETAILS,
    rule: "another record is named by its text",
    before: "texts.get(text) ?? text",
    after: "text",
  },
  {
    ...DETAILS,
    rule: "what was found wrong is told with its property",
    before: "<bdi>${path}</bdi> <bdi>${message}</bdi>",
    after: "<bdi>${message}</bdi>",
  },
  {
    ...DETAILS,
    rule: "a name of the wire is told in words",
    before: "LABELS[field.name] ?? labelOf(field.name)",
    after: "LABELS[field.name] ?? field.name",
  },
  {
    ...ORGANIZATION,
    rule: "the newest records of an organization come first",
    before: "order by r.created_at desc, r.${id} desc",
    after: "order by r.created_at, r.${id}",
  },
  {
    ...ORGANIZATION,
    rule: "an organization's page shows its own records",
    before: "where r.org_uri = $1 ->> 'orgUri'\n",
    after: "where true\n",
  },
  {
    ...ORGANIZATION,
    rule: "the second page of records follows the first",
    before: "limit ${PAGE} offset (($1 ->> 'page')::bigint - 1) * ${PAGE}) as listed",
    after: "limit ${PAGE}) as listed",
  },
  {
    ...ORGANIZATION,
    rule: "an organization that is not there is not found",
    before: '  if (!found) throw new ApiError("organization_not_found");\n',
    after: "",
  },
  {
    ...ORGANIZATION,
    rule: "the second page of members follows the first",
    before: "limit ${PAGE} offset (($1 ->> 'page')::bigint - 1) * ${PAGE}) as m",
    after: "limit ${PAGE}) as m",
  },
  {
    ...ORGANIZATION,
    rule: "the second page of claims follows the first",
    before: "${PAGE}, (($1 ->> 'page')::integer - 1) * ${PAGE}) as page",
    after: "${PAGE}, 0) as page",
  },
  {
    ...ORGANIZATION,
    rule: "members have a page of their own in the address",
    before: 'pageOf(visit, "members")',
    after: "pageOf(visit)",
  },
  {
    ...ORGANIZATION,
    rule: "members are sorted by address, capitals or not",
    before: "order by lower(user_email)",
    after: "order by user_email desc",
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/countries.ts",
    rule: "open needs of a country are those that are open",
    before: "count(open, listLink(",
    after: "count(needs, listLink(",
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/countries.ts",
    rule: "one need is not several",
    before: 'needs === 1 ? "need"',
    after: 'needs === 0 ? "need"',
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/countries.ts",
    rule: "a country that is not on the map is told beside it",
    before: "unknown.length > 0 ?",
    after: "unknown.length > 1 ?",
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/countries.ts",
    rule: "the country with the most needs is the darkest",
    before: "(STEPS * Math.log1p(needs)) / Math.log1p(most)",
    after: "(STEPS * Math.log1p(1)) / Math.log1p(most)",
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/funnel.ts",
    rule: "an attestation counts for the need that its commitment answers",
    before: 'const ATTESTED = "{ commitments: { some: { engagementClaimsExist: true } } }";',
    after: 'const ATTESTED = "{ commitmentsExist: true }";',
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/funnel.ts",
    rule: "a bar is a share of the needs that were declared",
    before: "totalCount / declared.totalCount",
    after: "totalCount / committed.totalCount",
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/funnel.ts",
    rule: "where nothing was declared there is no bar",
    before: "declared.totalCount === 0 ? 0 : ",
    after: "",
  },
  {
    ...OVERVIEW,
    file: "server/pages/overview/funnel.ts",
    rule: "a number leads to what it counts",
    before: '["… that are met", met, listLink("needs", { status: "met" })]',
    after: '["… that are met", met, listLink("needs")]',
  },
];
