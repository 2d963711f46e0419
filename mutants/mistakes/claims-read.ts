// The pages of claims, where only who reads them word by word would notice that they say something else than what is there.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

const CLAIMS = "claims-as-read";
const WAITS = "that waits is told";
const DECIDED = "that is decided is told";

export const CLAIMS_READ: readonly Mistake[] = [
  ...slips(
    CLAIMS,
    "server/pages/claims/claim.ts",
    [WAITS, "who goes back to the list comes to the claim they left", "more: { from: claim.id }", "more: {}"],
    [
      WAITS,
      "a proven address is a good sign",
      "isProven\n        ? says(true,",
      "isProven\n        ? says(false,",
    ],
    [WAITS, "a new organization is something to look into", "${isNewOrg ? says(", "${!isNewOrg ? says("],
    [WAITS, "organizations like it are counted", "similar.length === 1 ?", "similar.length <= 2 ?"],
    [
      WAITS,
      "other claims to it are all counted",
      "Other claims to it: ${othersTotal}",
      "Other claims to it: ${claim.others.length}",
    ],
    [
      WAITS,
      "a domain that is stated is said to be stated",
      "const which = isDomainStated",
      "const which = !isDomainStated",
    ],
    [
      "little is known",
      "a domain that nobody named is not said to be registered",
      '${isDomainStated ? "named" : "registered"}',
      '${isDomainStated ? "registered" : "named"}',
    ],
    [
      DECIDED,
      "the role that an approval gave is said",
      '${status === "approved" && role !== null',
      '${status === "rejected" && role !== null',
    ],
    [
      "one's own",
      "who looks at their own claim is told why there is no form",
      "${isOpen && isOwn ?",
      "${!isOpen && isOwn ?",
    ],
    [
      DECIDED,
      "the notes of a decision are shown with it",
      '${notes === null ? "" : html`<blockquote>${cut(notes)}</blockquote>`}',
      "",
    ],
    [
      WAITS,
      "a decision is sent to the claim that it is about",
      'method="post" action="${addressOf(filter, { claim: id })}"',
      'method="post" action="${addressOf(filter)}"',
    ],
    [
      DECIDED,
      "an address that an application stated is not called proven",
      '</bdi>, ${isProven ? "proven" : "stated by an application"}',
      '</bdi>, ${isProven ? "stated by an application" : "proven"}',
    ],
    [
      WAITS,
      "what somebody says they do there is told",
      "cut(statedRoles.join",
      "cut(statedRoles.slice(1).join",
    ],
    [
      WAITS,
      "the person's other claims are named by their organizations",
      "({ orgName }) => orgName)}",
      "personOf)}",
    ],
    [
      WAITS,
      "others who claim the organization are named by their persons",
      "claimsBeside(others, filter, personOf)",
      "claimsBeside(others, filter, ({ orgName }) => orgName)",
    ],
    [
      WAITS,
      "a step is told with its time",
      "html`<bdi>${by}</bdi>`}, ${time(at)}</li>`",
      "html`<bdi>${by}</bdi>`}</li>`",
    ],
    [
      WAITS,
      "what became of an earlier claim is told",
      "          ${outcome(claim)}\n          ${claim.notes",
      "          ${claim.notes",
    ],
  ),
  ...slips(
    CLAIMS,
    "server/pages/claims/organization.ts",
    [
      WAITS,
      "an organization's needs are counted as needs",
      "needs: ${it.needs}, commitments: ${it.commitments}",
      "needs: ${it.commitments}, commitments: ${it.needs}",
    ],
    [
      WAITS,
      "attestations are counted as attestations",
      "attestations: ${it.engagementClaims}",
      "attestations: ${it.commitments}",
    ],
    [
      WAITS,
      "an organization's own website is shown before what a claimant says",
      "it.website ?? newOrgWebsite",
      "newOrgWebsite ?? it.website",
    ],
    [
      WAITS,
      "an organization's own type is shown before what a claimant says",
      "it.type ?? newOrgType",
      "newOrgType ?? it.type",
    ],
    [
      WAITS,
      "the name at the time of the claim is shown where it was another",
      "it.name === orgName ?",
      "it.name !== orgName ?",
    ],
    [
      WAITS,
      "members and administrators are counted apart",
      "${it.members}, of these administrators: ${it.administrators}",
      "${it.administrators}, of these administrators: ${it.members}",
    ],
    [WAITS, "an administrator is told with their address", "one.name === null ?", "one.name !== null ?"],
    [
      WAITS,
      "a public organization is called public",
      "<dd>${STATUS[it.status]}</dd>",
      "<dd>${STATUS.proposed}</dd>",
    ],
  ),
  ...slips(
    CLAIMS,
    "server/pages/claims/similar.ts",
    [
      WAITS,
      "an organization like it that is not public is marked",
      '${status === "active" ? "" : html` <span',
      '${status !== "active" ? "" : html` <span',
    ],
    [WAITS, "by what an organization is like it is said", 'alike.join(", ")', "alike[0]"],
    [
      WAITS,
      "claims that wait for an organization like it are led to with those that wait",
      'q: "", status: "pending", org: uri',
      'q: "", status: "all", org: uri',
    ],
    [WAITS, "the website of an organization like it is shown", '${site === null ? "" : website(site)}', ""],
  ),
  ...slips(
    CLAIMS,
    "server/pages/claims/queue.ts",
    [
      "in its form",
      "each status has its own number",
      "=> ` (${number(status)})`",
      "=> ` (${number(filter.status)})`",
    ],
    [
      "in its form",
      "what is chosen stays chosen",
      'value === filter[name] ? "selected"',
      'value !== filter[name] ? "selected"',
    ],
    [
      "in its form",
      "who leaves one organization keeps the other filters",
      '"${addressOf({ ...filter, org: "" })}">all',
      '"${addressOf({ ...filter, org: "", q: "" })}">all',
    ],
    [
      "of each claim",
      "a claim in the list says that its organization is new",
      'isNewOrg ? "new organization"',
      '!isNewOrg ? "new organization"',
    ],
    [
      "of each claim",
      "a claim that is one's own is marked in the list",
      'claim.isOwn ? "your own"',
      '!claim.isOwn ? "your own"',
    ],
    [
      "of each claim",
      "what was decided is marked in the list",
      'status === "pending"\n      ? undefined',
      'status !== "rejected"\n      ? undefined',
    ],
    ["of each claim", "the claim that is open is marked in the list", "id === open ?", "id !== open ?"],
    [
      "begins with the oldest",
      "nothing is offered to be decided where nothing can be",
      "claims.some(isDecidable)",
      "claims.length > 0",
    ],
  ),
  ...slips(
    CLAIMS,
    "server/pages/claims/filter.ts",
    [
      "begins with the oldest",
      "the list of claims begins with the oldest, unless another order is chosen",
      'order: chosen("order", "")',
      'order: chosen("order", "newest")',
    ],
    [
      "of each claim",
      "what is looked for stays in the address of each claim",
      "more = {} }: Place = {}): string {\n  const { status, ...others } = filter;",
      "more = {} }: Place = {}): string {\n  const { status, q, ...others } = filter;",
    ],
  ),
];
