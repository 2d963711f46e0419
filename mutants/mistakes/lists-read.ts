// Lists and numbers that say something else than what is there, where only who reads them word by word would notice.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

const LISTS = "lists-as-read";

export const LISTS_READ: readonly Mistake[] = [
  ...slips(
    LISTS,
    "server/pages/users.ts",
    [
      "names, roles",
      "a person's organizations are counted beyond those that are shown",
      "format(belongsTo - memberships.length)",
      "format(belongsTo)",
    ],
    [
      "names, roles",
      "a person's role on the platform is shown",
      "roles.length > 0 ? html`; on the platform",
      "roles.length > 1 ? html`; on the platform",
    ],
    [
      "names, roles",
      "a role that is held can be taken away",
      '${isHeld ? "Take away" : "Give"}',
      '${isHeld ? "Give" : "Take away"}',
    ],
    [
      "names, roles",
      "the change of a role names the person",
      'name="email" type="hidden" value="${email}"',
      'name="email" type="hidden" value=""',
    ],
    [
      "only see them",
      "everybody is counted where nothing is searched for",
      "html`${format(total)} in all, newest first`",
      "html`${format(items.length)} in all, newest first`",
    ],
    [
      "names, roles",
      "a role that was given is said to be given",
      'grant: "The role was given.", revoke: "The role was taken away."',
      'revoke: "The role was given.", grant: "The role was taken away."',
    ],
  ),
  ...slips(
    LISTS,
    "server/pages/search.ts",
    [
      "counted by kind",
      "what is found of a kind is all led to",
      "!isOne && total > items.length",
      "!isOne && total >= items.length",
    ],
    [
      "counted by kind",
      "organizations that are found are all led to",
      "total > items.length\n        ? html",
      "total < items.length\n        ? html",
    ],
    [
      "page by page",
      "in one kind no organizations are searched",
      "isOne ? undefined : findOrganizations(visit, input)",
      "findOrganizations(visit, input)",
    ],
    [
      "counted by kind",
      "of several kinds the first are shown, whatever page is asked for",
      "isOne ? pageOf(visit) : 1",
      "pageOf(visit)",
    ],
    [
      "page by page",
      "what is no kind is all of them",
      "(wanted.length > 0 ? wanted : Object.values(RECORDS))",
      "wanted",
    ],
    [
      "counted by kind",
      "who goes on to all of one kind begins at its first page",
      "{ in: RECORDS[kind].path, page: undefined }",
      "{ in: RECORDS[kind].path }",
    ],
    [
      "counted by kind",
      "a URI can be typed into the search as long as it is",
      'is enough.", most: LONGEST }',
      'is enough." }',
    ],
  ),
  ...slips(
    LISTS,
    "server/pages/organizations.ts",
    [
      "organizations are told",
      "an organization in the list is told with type, domain and website",
      "[orgType, orgDomain, orgWebsite]",
      "[orgType, orgDomain]",
    ],
    [
      "organizations are told",
      "how many are found is said",
      "html`${format(total)} found for",
      "html`${format(items.length)} found for",
    ],
  ),
  ...slips(
    LISTS,
    "server/pages/graph-state.ts",
    [
      "fact by fact",
      "a store that does not answer is told",
      '${isThere ? "" : html`<p role="alert">',
      '${!isThere ? "" : html`<p role="alert">',
    ],
    [
      "fact by fact",
      "why the graph is as it is is told",
      '${reason === null ? "" : html`<p><bdi>${reason}</bdi></p>`}',
      "",
    ],
    [
      "fact by fact",
      "when it was last written and last verified are two things",
      '"Last written", lastSyncedAt === null ? "never" : time(lastSyncedAt)',
      '"Last written", verifiedAt === null ? "never" : time(verifiedAt)',
    ],
    ["nothing is known", "no drift is not an unknown one", "drift === null ?", "!drift ?"],
    [
      "fact by fact",
      "records in a state are counted as those in that state",
      "count(counts[state],",
      "count(counts.pending,",
    ],
    [
      "fact by fact",
      "attestations lead to attestations",
      'engagement_claim: "engagementClaims" } as const',
      'engagement_claim: "commitments" } as const',
    ],
    [
      "fact by fact",
      "what the check found is told with its record",
      "html`<li><bdi>${path}</bdi>: <bdi>${message}</bdi></li>`",
      "html`<li><bdi>${path}</bdi></li>`",
    ],
  ),
  ...slips(
    LISTS,
    "server/pages/overview/funnel.ts",
    [
      "how far needs come",
      "needs that somebody committed to are counted as such",
      '"… that somebody committed to", committed,',
      '"… that somebody committed to", attested,',
    ],
    [
      "how far needs come",
      "needs that are met lead to those",
      'listLink("needs", { status: "met" })',
      'listLink("needs")',
    ],
    [
      "how far needs come",
      "commitments are counted as commitments",
      "count(commitments.totalCount, listLink",
      "count(attestations.totalCount, listLink",
    ],
  ),
  ...slips(
    LISTS,
    "server/pages/overview/countries.ts",
    [
      "of each country",
      "a country that is not on the map is named",
      "unknown.length > 0 ?",
      "unknown.length > 1 ?",
    ],
    [
      "of each country",
      "open needs of a country lead to those that are open",
      'listLink("needs", { countryCode: alpha2, status: "open" })',
      'listLink("needs", { countryCode: alpha2 })',
    ],
    [
      "of each country",
      "one need is not needs",
      'needs === 1 ? "need" : "needs"',
      'needs > 1 ? "need" : "needs"',
    ],
    ["of each country", "open needs are told as open", "${format(open)} open`", "${format(needs)} open`"],
  ),
  ...slips(
    LISTS,
    "server/pages/navigation.ts",
    [
      "leads to the doors",
      "who may not review claims is not led to them",
      '"Claims", needs: "claims:review"',
      '"Claims", needs: true',
    ],
    [
      "leads to the doors",
      "who does not run the platform is not led to the graph's state",
      '"Graph", needs: "roles:assign"',
      '"Graph", needs: "users:read"',
    ],
    [
      "leads to the doors",
      "who is not signed in is not led to the search",
      '"/search", label: "Search", needs: true',
      '"/search", label: "Search"',
    ],
  ),
];
