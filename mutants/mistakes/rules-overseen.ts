// What nobody had looked at: the order in which chains are told, who else claims an organization, columns of the trail, and
// what pages and the operator's tool say beside what programs are told.
import type { Mistake } from "../mistake.ts";

type Slip = readonly [only: string, rule: string, before: string, after: string];

const slips = (tests: string, file: string, ...found: readonly Slip[]): Mistake[] =>
  found.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

const CHAIN = "comes newest first";
const OTHERS = "claimed the same organization before";
const TRAIL = "each under its own name";
const COMPARED = "told in words what was compared";
const WRITTEN = "tells a person how many";
const TIMES = "when it was made and when it was decided";
const STORED = "each time and number as it is stored";
const DAYS = "each by its own day";
const LONG = "of whatever is long the beginning";
const CAPITALS = "in other capitals";
const FAILED = "of a mail that failed";
const ROOM = "than there is room for";

export const OVERSEEN: readonly Mistake[] = [
  ...slips(
    "record-page",
    "db/rules/chain.sql",
    [
      CHAIN,
      "a page of commitments begins with the newest",
      "order by c.created_at desc, c.commitment_id desc limit own offset passed",
      "order by c.created_at, c.commitment_id limit own offset passed",
    ],
    [
      CHAIN,
      "a page of attestations begins with the newest",
      "order by e.created_at desc, e.claim_id desc limit own offset passed",
      "order by e.created_at, e.claim_id limit own offset passed",
    ],
    [
      CHAIN,
      "beside a commitment stand the newest others",
      "order by c.created_at desc, c.commitment_id desc limit beside",
      "order by c.created_at, c.commitment_id limit beside",
    ],
    [
      CHAIN,
      "beside an attestation stand the newest others",
      "order by e.created_at desc, e.claim_id desc limit beside",
      "order by e.created_at, e.claim_id limit beside",
    ],
    [
      CHAIN,
      "of each commitment the newest attestation comes first",
      "row_number() over (order by e.created_at desc, e.claim_id desc) as turn",
      "row_number() over (order by e.created_at, e.claim_id) as turn",
    ],
  ),
  ...slips(
    "claim-to-review",
    "db/rules/claim-queue.sql",
    [
      OTHERS,
      "others who claim an organization are other people",
      "where c.org_uri = claim.org_uri and c.user_id <> claim.user_id\n        order by",
      "where c.org_uri = claim.org_uri and c.claim_id <> claim.claim_id\n        order by",
    ],
    [
      OTHERS,
      "the number of others who claim an organization is of other people",
      "where c.org_uri = claim.org_uri and c.user_id <> claim.user_id));",
      "where c.org_uri = claim.org_uri and c.claim_id <> claim.claim_id));",
    ],
    [
      "several that are decided at once",
      "several at once get the role of those for an organization that there is",
      "'roles', app_private.roles_to_give(false),",
      "'roles', app_private.roles_to_give(true),",
    ],
  ),
  ...slips("claim-to-review", "db/rules/claim-queue.sql", [
    "each under its own name",
    "a claim in the queue was made when it was made",
    "'createdAt', claim.created_at",
    "'createdAt', claim.updated_at",
  ]),
  ...slips("own-standing", "db/rules/own-standing.sql", [
    TIMES,
    "to its claimant a claim was made when it was made",
    "claim.reviewed_at, claim.created_at\n",
    "claim.reviewed_at, claim.updated_at\n",
  ]),
  ...slips(
    "own-standing",
    "db/rules/claim-review.sql",
    [
      TIMES,
      "to its reviewers a claim was made when it was made",
      "claim.created_at, claim.email_verified",
      "claim.updated_at, claim.email_verified",
    ],
    [
      TIMES,
      "to its reviewers a claim was decided when it was decided",
      "r.email, claim.reviewed_at, claim.review_notes",
      "r.email, claim.updated_at, claim.review_notes",
    ],
  ),
  ...(["needs", "commitments", "engagement-claims"] as const).flatMap((records) =>
    slips("times", `db/rules/${records}.sql`, [
      "createdAt stays",
      "a record was created when it was created, and not when it was changed",
      '.created_at as "createdAt"',
      '.updated_at as "createdAt"',
    ]),
  ),
  ...slips(
    "organization-page",
    "server/pages/organization/data.ts",
    [DAYS, "a membership began when it began", "'since', m.created_at", "'since', m.updated_at"],
    [DAYS, "a record of an organization is as old as it is", "r.created_at as at", "r.updated_at as at"],
    [
      DAYS,
      "a claim to an organization is as old as it is",
      "'status', c.status, 'at', c.created_at",
      "'status', c.status, 'at', c.reviewed_at",
    ],
  ),
  ...slips("search-page", "server/pages/search.ts", [
    "which day it was declared",
    "what is found was declared when it was declared",
    "r.created_at as at",
    "r.updated_at as at",
  ]),
  ...slips("times", "server/resources/orgs-metadata.ts", [
    "whoever changes an organization",
    "an organization was changed when it was changed",
    "'updatedAt', organization.updated_at",
    "'updatedAt', organization.created_at",
  ]),
  ...slips("organization-page", "db/rules/own-standing.sql", [
    "knows of its visitors",
    "a claim has waited since it was made",
    "'since', c.created_at",
    "'since', c.updated_at",
  ]),
  ...slips("expiry", "db/rules/expiry.sql", [
    "as many expire",
    "no more commitments expire at once than are asked for",
    "limit at_most\n",
    "limit at_most + 1\n",
  ]),
  ...slips("claim-queue", "db/rules/platform-users.sql", [
    "a last name",
    "claims are found by the last name of their claimant",
    "coalesce(person.first_name, '') || ' ' || coalesce(person.last_name, ''));",
    "coalesce(person.first_name, ''));",
  ]),
  ...slips("churches", "db/rules/church-answers.sql", [
    "asked for twice",
    "a record has each column once",
    "app_private.distinct_items(array(select jsonb_array_elements_text(body -> 'fields')))",
    "array(select jsonb_array_elements_text(body -> 'fields'))",
  ]),
  ...slips("church-cursors", "db/rules/church-search.sql", [
    "more than a thousand",
    "as many as a thousand churches are ranked",
    "rankable constant bigint := 1000;",
    "rankable constant bigint := 999;",
  ]),
  ...slips(
    "trail",
    "db/rules/trail.sql",
    [TRAIL, "the trail has the label of the key", "k.label as key_label", "k.scope::text as key_label"],
    [
      TRAIL,
      "the trail of a role tells program and request apart",
      "'status', h.status),\n    h.changed_by_email, h.changed_by_key, h.changed_by_identity, h.changed_through, h.request_id",
      "'status', h.status),\n    h.changed_by_email, h.changed_by_key, h.changed_by_identity, h.request_id, h.changed_through",
    ],
    [
      TRAIL,
      "what no other history keeps is told with whose word it was",
      "select h.changed_at, h.subject, h.name, h.change,\n    h.changed_by_email, h.changed_by_key, h.changed_by_identity,",
      "select h.changed_at, h.subject, h.name, h.change,\n    h.changed_by_email, h.changed_by_key, h.changed_by_email,",
    ],
  ),
  ...slips(
    "graph-verification",
    "admin/graph.ts",
    [
      COMPARED,
      "a comparison that finds nothing says so",
      'count === 0 ? "no differences"',
      'count === 1 ? "no differences"',
    ],
    [
      COMPARED,
      "what was dropped counts as repaired in words too",
      "...(repair || options.dropUnlisted ? [",
      "...(repair ? [",
    ],
  ),
  ...slips(
    "graph-rebuild",
    "admin/graph.ts",
    [
      WRITTEN,
      "a rebuild says how many records are written, and not how many there are",
      "`${result.written} records written`",
      "`${result.total} records written`",
    ],
    [
      WRITTEN,
      "one record that a rebuild could not write is told of",
      "(result.rejected > 0 ? `;",
      "(result.rejected > 1 ? `;",
    ],
  ),
  ...slips(
    "operator-tables",
    "admin/keys.ts",
    [
      STORED,
      "a key was revoked when it was revoked, and not when it ends",
      'to_json(revoked_at) as "revokedAt", app_private.key_state',
      'to_json(expires_at) as "revokedAt", app_private.key_state',
    ],
    [
      STORED,
      "a key was issued when it was issued",
      'to_json(created_at) as "createdAt"',
      'to_json(expires_at) as "createdAt"',
    ],
  ),
  ...slips("operator-tables", "admin/members.ts", [
    STORED,
    "a member belongs to it since the membership began",
    'to_json(created_at) as "createdAt"',
    'to_json(updated_at) as "createdAt"',
  ]),
  ...slips("operator-tables", "admin/users.ts", [
    STORED,
    "the organizations of a person are counted, and not their roles on the platform",
    "cardinality(memberships) as organizations",
    "cardinality(platform_roles) as organizations",
  ]),
  ...slips("operator-tables", "admin/sessions.ts", [
    STORED,
    "a session began when somebody signed in",
    'to_json(created_at) as "createdAt"',
    'to_json(last_used_at) as "createdAt"',
  ]),
  ...slips("cli", "admin/migrate.ts", [
    "nothing to apply",
    "what was up to date is not said to be migrated",
    "applied.length > 0\n",
    "applied.length >= 0\n",
  ]),
  ...slips("search-page", "server/pages/search.ts", [
    "what matches best",
    "the page of the search begins with the best match",
    "order by f.rank desc, r",
    "order by f.rank, r",
  ]),
  ...slips("claim-parts", "server/pages/claims/outcomes.ts", [
    LONG,
    "a long name does not fill the list of claims",
    "const LONGEST = 80;",
    "const LONGEST = 800;",
  ]),
  ...slips("claim-parts", "server/pages/claims/claim.ts", [
    LONG,
    "long notes do not fill the list of claims beside one",
    "cut(claim.notes, 120)",
    "cut(claim.notes, 1_200)",
  ]),
  ...slips("claim-parts", "server/pages/claims/fields.ts", [
    LONG,
    "an earlier reason is offered by its beginning",
    "LONGEST_OPTION = 80",
    "LONGEST_OPTION = 800",
  ]),
  ...slips("claim-parts", "server/pages/claims/organization.ts", [
    LONG,
    "a long address of a website is shown by its beginning",
    "LONGEST_LINK = 120",
    "LONGEST_LINK = 1_200",
  ]),
  ...slips("claim-parts", "server/pages/parts/text.ts", [
    LONG,
    "a long text is cut where nobody says how long it may be",
    "cut(text: string, most = 240)",
    "cut(text: string, most = 2_400)",
  ]),
  ...slips("page-parts", "server/pages/record/drawing.ts", [
    ROOM,
    "a box has no more of a name than fits",
    "begin(orgName, 30)",
    "begin(orgName, 300)",
  ]),
  ...slips("page-parts", "server/pages/record/drawing.ts", [
    "room between any two boxes",
    "what follows below how many are not shown does not meet it",
    "y += MORE + GAP;",
    "y += MORE;",
  ]),
  ...slips("page-parts", "server/pages/record/drawing.ts", [
    "room between any two boxes",
    "what follows does not lie over how many are not shown",
    "y += MORE + GAP;",
    "",
  ]),
  ...slips("overview-page", "server/pages/overview/accelerators.ts", [
    "the twenty with the most needs",
    "twenty accelerators are told",
    "first: 20)",
    "first: 10)",
  ]),
  ...slips("overview-page", "server/pages/overview/countries.ts", [
    "every country that a need concerns",
    "no country is left out of the overview",
    "first: 300)",
    "first: 100)",
  ]),
  ...slips(
    "forms",
    "server/graphql/forms.ts",
    ["which eight bytes hold", "a number may be below zero", "/^-?\\d{1,19}$/", "/^\\d{1,19}$/"],
    ["which eight bytes hold", "a number may have nineteen digits", "/^-?\\d{1,19}$/", "/^-?\\d{1,18}$/"],
  ),
  ...slips(
    "confirm-address",
    "db/rules/address-proofs.sql",
    [
      CAPITALS,
      "what waits is found whatever the capitals",
      "where lower(u.email) = lower(proven.email) and c.status",
      "where u.email = proven.email and c.status",
    ],
    [
      CAPITALS,
      "what waits is confirmed whatever the capitals",
      "where lower(u.email) = lower(address) and c.status",
      "where u.email = address and c.status",
    ],
  ),
  ...slips("confirm-address", "db/rules/organization-claims.sql", [
    "past the review without it",
    "a claim that awaits proof is approved with it only",
    "old.awaits_proof and new.email_verified)",
    "old.awaits_proof)",
  ]),
  ...slips("sign-in", "db/rules/sessions.sql", [
    "and no more is sent",
    "no mailbox is filled by way of what stands behind a plus",
    "(app_private.mailbox(email), 'sign_in_links",
    "(lower(email), 'sign_in_links",
  ]),
  ...slips(
    "people",
    "db/rules/people.sql",
    [
      FAILED,
      "of a mail that failed it is kept that it did",
      "and app_private.is_waiting_mail(m);",
      "and m.sent_at is null and m.kept_at is null;",
    ],
    [
      FAILED,
      "no page that was mailed to an erased person is kept",
      "html_body = null\n  where lower(m.recipient)",
      "html_body = html_body\n  where lower(m.recipient)",
    ],
    [
      FAILED,
      "no page that was mailed about an erased person is kept",
      "text_body = null, html_body = null where %s'",
      "text_body = null where %s'",
    ],
  ),
];
