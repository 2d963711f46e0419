// Pages and the operator's tool, where what is shown is not what there is.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

const FOLLOWED = "pages-followed";
const TABLES = "operator-tables";
const ORGANIZATION = "server/pages/organization";
const CLAIMS = "server/pages/claims";

export const PAGES_COMPARED: readonly Mistake[] = [
  ...slips(
    FOLLOWED,
    `${ORGANIZATION}/about.ts`,
    [
      "beside a label",
      "an organization's type is shown as its type",
      "${orgType === null ? unknown : html`<bdi>${orgType}</bdi>`}",
      "${orgWebsite === null ? unknown : html`<bdi>${orgWebsite}</bdi>`}",
    ],
    [
      "beside a label",
      "the field of the type changes the type",
      'input("Type", "type", orgType)',
      'input("Type", "website", orgType)',
    ],
    [
      "who manages an organization leads",
      "a website that is linked learns nothing of who comes",
      'rel="noopener noreferrer nofollow"',
      'rel="nofollow"',
    ],
  ),
  ...slips(FOLLOWED, `${ORGANIZATION}/acts.ts`, [
    "asks to belong",
    "who takes a claim back is told so",
    'done: "withdrawn"',
    'done: "claimed"',
  ]),
  ...slips(FOLLOWED, `${ORGANIZATION}/belonging.ts`, [
    "asks to belong",
    "the last name is asked by its own field",
    'input("Last name", "lastName"',
    'input("Last name", "firstName"',
  ]),
  ...slips(FOLLOWED, `${ORGANIZATION}/claims.ts`, [
    "asks to belong",
    "a claim to an organization leads to its own page",
    'href="/admin/claims/${id}"',
    'href="/admin/claims?q=${id}"',
  ]),
  ...slips(
    FOLLOWED,
    `${CLAIMS}/claim.ts`,
    [
      "behind its own term",
      "whom a claim was sent to is said",
      'sentTo === "organization" ? ',
      'sentTo !== "organization" ? ',
    ],
    [
      "to the next and back",
      "a claim leads to the one before it",
      'to(queue.preceding, "prev"',
      'to(queue.following, "prev"',
    ],
  ),
  ...slips(FOLLOWED, `${CLAIMS}/outcomes.ts`, [
    "asks to belong",
    "nobody is told of a mail for a claim that was taken back",
    'status !== "pending" && status !== "withdrawn"',
    'status !== "pending"',
  ]),
  ...slips(FOLLOWED, "server/pages/home.ts", [
    "somebody new",
    "nobody is led to what would be refused to them",
    'visitor === undefined || visitor.permissions.has("claims:review")',
    "visitor !== null",
  ]),
  ...slips(FOLLOWED, "server/pages/navigation.ts", [
    "who runs the platform",
    "the header leads to pages that there are",
    'path: "/admin/users"',
    'path: "/admin/people"',
  ]),
  ...slips("access-log", `${CLAIMS}/decision.ts`, [
    "with which code it was refused",
    "a refused decision is logged with its code",
    "    currentRequest()?.errors.add(refusal.code);\n",
    "",
  ]),
  ...slips(
    TABLES,
    "admin/keys.ts",
    [
      "the demo's",
      "the demo key is called so in the list",
      "row.isDemo ? `${row.label} (demo)` : row.label",
      "row.label",
    ],
    [
      "the demo's",
      "a key without bounds is said to have none",
      'boundsOf(row).join(", ") || "none"',
      'boundsOf(row).join(", ")',
    ],
    [
      "by its own name",
      "a key shows when it was revoked",
      '  revoked           ${key.revokedAt ?? "no"}',
      '  revoked           ${key.expiresAt ?? "no"}',
    ],
  ),
  ...slips(TABLES, "admin/authorization.ts", [
    "nobody may, that is said",
    "that nobody may do something is said",
    "rows.length === 0\n",
    "rows.length === -1\n",
  ]),
];
