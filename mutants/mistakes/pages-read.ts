// Pages that say something else than what is there, where only who reads them word by word would notice.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

const PAGES = "pages-as-read";
const MANAGED = "shows who manages it";
const STRANGER = "shows a member";
const RECORD = "the page of a record";

export const PAGES_READ: readonly Mistake[] = [
  ...slips(
    PAGES,
    "server/pages/organization/about.ts",
    [
      MANAGED,
      "what somebody is in an organization is said to them",
      '${standing.role === null ? "" : own(standing)}',
      "",
    ],
    [
      STRANGER,
      "only who may change an organization has the form for it",
      'standing.permissions.includes("organization:manage")',
      "standing.role !== null",
    ],
    [
      MANAGED,
      "a website may be as long as an address",
      'name === "website" ? 2_048',
      'name === "domain" ? 2_048',
    ],
    [
      MANAGED,
      "a form knows what was there when it was shown",
      '<input name="${before(name)}" type="hidden" value="${said}" />',
      '<input name="${before(name)}" type="hidden" value="" />',
    ],
    [
      MANAGED,
      "the field of the domain has the domain",
      'input("E-mail domain", "domain", orgDomain,',
      'input("E-mail domain", "domain", orgWebsite,',
    ],
  ),
  ...slips(
    PAGES,
    "server/pages/organization/belonging.ts",
    ["what they are to it", "who belongs to it can leave", "if (role !== null)", 'if (role === "org_admin")'],
    ["what they are to it", "who waits is told since when", "${time(waitingClaim.since)}", ""],
    [
      "what they are to it",
      "who takes a claim back takes back that one",
      'name="claimId" type="hidden" value="${waitingClaim.claimId}"',
      'name="claimId" type="hidden" value=""',
    ],
    [
      STRANGER,
      "the form of a claim has the name that is known",
      'value="${(isAgain ? visit.field(name) : value) ?? ""}"',
      'value="${(isAgain ? visit.field(name) : undefined) ?? ""}"',
    ],
    [
      STRANGER,
      "who says what they do there need not",
      '"duty", null, html`autocomplete="organization-title"`',
      '"duty", null, html`autocomplete="organization-title" required`',
    ],
    ["nobody manages", "an administrator is appointed by an address", 'type="email"\n', 'type="text"\n'],
  ),
  ...slips(
    PAGES,
    "server/pages/organization/members.ts",
    [
      MANAGED,
      "members are all counted, also beyond the page",
      "Members: ${format(total)}",
      "Members: ${format(items.length)}",
    ],
    [
      MANAGED,
      "a member without a name is called by their address",
      'name === "" ? email : begin(name, 80)',
      'name === "" ? "" : begin(name, 80)',
    ],
    [
      MANAGED,
      "a member who is suspended is marked",
      'status === "active" ? "" : html`, <span',
      'status !== "active" ? "" : html`, <span',
    ],
    [
      MANAGED,
      "only who manages members is told how to invite",
      '${manages ? invitation(organization) : ""}',
      '${manages ? "" : invitation(organization)}',
    ],
    [
      MANAGED,
      "the change of a membership names the member",
      'name="email" type="hidden" value="${email}"',
      'name="email" type="hidden" value=""',
    ],
    [
      MANAGED,
      "each status has its own button",
      'suspended: "Suspend",\n  revoked: "End the membership"',
      'suspended: "End the membership",\n  revoked: "Suspend"',
    ],
  ),
  ...slips(
    PAGES,
    "server/pages/organization/records.ts",
    [
      MANAGED,
      "each list of records leads to itself",
      "{ list: path })}#records",
      "{ list: shown.path })}#records",
    ],
    [
      STRANGER,
      "the list that is shown is marked",
      'kind === shown.kind ? "true"',
      'kind !== shown.kind ? "true"',
    ],
    [
      MANAGED,
      "each list has its own number",
      "${format(totals[kind])}</a",
      "${format(totals[shown.kind])}</a",
    ],
    [
      MANAGED,
      "the records of a list are counted for its pages",
      "Math.ceil(totals[shown.kind] / PAGE)",
      "Math.ceil(totals.engagement_claim / PAGE)",
    ],
    [
      MANAGED,
      "a record without a text is called by its kind",
      "text === null ? NAMES[kind].one",
      'text === null ? ""',
    ],
  ),
  ...slips(PAGES, "server/pages/parts/pager.ts", [
    MANAGED,
    "what was done is not said again on the next page",
    "      [DONE]: undefined,\n",
    "",
  ]),
  ...slips(
    PAGES,
    "server/pages/organization/page.ts",
    [
      STRANGER,
      "only who reviews claims to it sees them",
      "standing.reviews ? data.claims(visit) : undefined",
      "data.claims(visit)",
    ],
    ["nobody manages", "only who appoints is asked to", "${standing.appoints ?", "${!standing.appoints ?"],
  ),
  ...slips(
    PAGES,
    "server/pages/record/details.ts",
    [
      RECORD,
      "what is promised is called so",
      'commitmentDescription: "What is promised"',
      'commitmentDescription: "What is needed"',
    ],
    [
      RECORD,
      "who declared it is called so",
      'declaredByEmail: "Declared by"',
      'declaredByEmail: "Attested by"',
    ],
    [RECORD, "a code stands beside its name", "</bdi> `}<code>${String(code)}</code>", "</bdi> `}"],
    [
      RECORD,
      "countries are named as countries",
      "return codes(value, names.countries);",
      "return codes(value, names.accelerators);",
    ],
    [RECORD, "a day is shown without an hour", "return day(text);", "return time(text);"],
    [
      RECORD,
      "the state in the graph is shown",
      'word(String(item["graphStatus"]))',
      'word(String(item["status"]))',
    ],
    [
      RECORD,
      "a record leads to its own organization by its name",
      '<bdi>${item["orgName"]}</bdi></a>`;',
      "<bdi>${text}</bdi></a>`;",
    ],
  ),
  ...slips(
    PAGES,
    "server/pages/record/words.ts",
    [RECORD, "a record in words has what it says", '${isOwn || text === null ? "" : cut(text)}', ""],
    [RECORD, "a commitment in words says until when", '${due ? html`; due ${day(due)}` : ""}', ""],
    [
      RECORD,
      "the statuses of a record come with who set them",
      "<td>${setBy(by)}</td>",
      "<td>${setBy(null)}</td>",
    ],
    [
      RECORD,
      "the statuses in words come with who set them",
      "${day(at)}, by ${setBy(by)}</li>",
      "${day(at)}, by ${setBy(null)}</li>",
    ],
    [
      RECORD,
      "what is not shown is led to where answers are shown too",
      "${hidden > 0 ? html`<li>",
      "${hidden > 0 && answers.length === 0 ? html`<li>",
    ],
    [RECORD, "a status has a day since when", "</b> since ${day(sinceOf(tree))}", "</b> since ${day(at)}"],
  ),
  ...slips(
    PAGES,
    "server/pages/record/drawing.ts",
    [
      RECORD,
      "a box of the chain leads to its record",
      'href="${recordPath(kind, id)}"\n    aria-label',
      'href="${recordPath("need", id)}"\n    aria-label',
    ],
    [
      RECORD,
      "a box of the chain is named with its status",
      "[name, word(status), who, when]",
      "[name, who, when]",
    ],
  ),
  ...slips(
    PAGES,
    "server/pages/record/page.ts",
    [RECORD, "the title of a record's page is what it says", "title: `${one}${description}`", "title: one"],
    [RECORD, "a record's status is in its heading", "</bdi>: ${word(own.status)}</h2>", "</bdi></h2>"],
    [RECORD, "the answers go on at the next page", "String(whole.page + 1)", "String(whole.page)"],
    [
      RECORD,
      "a record's own statuses are listed",
      "${statuses(own.history)}",
      "${statuses(whole.nodes[0]!.history)}",
    ],
  ),
];
