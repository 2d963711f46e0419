// What the operator's tool takes, does and says to a person, and what the demo is made of.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

const WORDS = "operator-words";
const KEYS = "key-words";

export const OPERATOR_WORDS: readonly Mistake[] = [
  ...slips(
    KEYS,
    "admin/keys.ts",
    [
      "its text alone",
      "a key is revoked by its id in capitals too",
      "coalesce(revoked_at, now()) where key_id::text = lower($1)",
      "coalesce(revoked_at, now()) where key_id::text = $1",
    ],
    [
      "its text alone",
      "who revokes a key is told which one that was",
      "`Key ${revoked.keyId} (${revoked.label}) is revoked.`",
      "`Key ${revoked.label} (${revoked.keyId}) is revoked.`",
    ],
    [
      "its text alone",
      "who is given a key is told until when it works",
      "      ...(expiresAt === null ? [] : [`It works until ${expiresAt}.`]),\n",
      "",
    ],
    [
      "its text alone",
      "the last line of what is said of a new key is its text",
      "It is not shown again:`,\n      key,",
      "It is not shown again:`,\n      keyId,",
    ],
    [
      "its text alone",
      "who rotates a key is told until when the old one works",
      "`Key ${replaces.keyId} works until ${replaces.expiresAt}.`",
      "`Key ${replaces.keyId} works until ${expiresAt}.`",
    ],
    [
      "is not said again",
      "a key's text that is given for its id is in no log",
      'keyId.startsWith("ek_")',
      'keyId.startsWith("eg_")',
    ],
  ),
  ...slips(
    KEYS,
    "admin/key-options.ts",
    ["number of hours", "an overlap of keys has an end", " || value > 100_000", ""],
    [
      "number of hours",
      "an overlap of keys is not negative",
      "!/^\\d+(\\.\\d+)?$/.test(text) || value",
      "Number.isNaN(value) || value",
    ],
    [
      "what it may be",
      "a key's limit is no more than the table takes",
      "value < 1 || value > 2_147_483_647",
      "value < 1",
    ],
    [
      "what it may be",
      "a key's limit is written in digits",
      "!/^\\d+$/.test(text) || value < 1",
      "!Number.isInteger(value) || value < 1",
    ],
    ["what it may be", "a key may end at a time of the day", "))?$/;", ")){0}$/;"],
    ["what it may be", "the zone of an address is no part of a network", 'text.includes("%") || ', ""],
  ),
  ...slips(
    KEYS,
    "forms.ts",
    ["what it may be", "part of an address is no network", "isIP(address) > 0 && ", ""],
    ["what it may be", "a network has one number of bits", "(\\d{1,3}))?$/", "(\\d{1,3}))?/"],
  ),
  {
    rule: "who adds an organization cannot give it a mail provider's domain",
    file: "admin/orgs.ts",
    before: "app_private.own_domain_problems('--domain', $3)",
    after: "app_private.domain_problems('--domain', $3)",
    tests: ["cli"],
  },
  ...slips(WORDS, "admin/orgs.ts", [
    "as they are now",
    "an organization is told by the name that it has got",
    "`Added ${added.name}, ${added.orgUri}`",
    "`Added ${name}, ${added.orgUri}`",
  ]),
  ...slips(
    WORDS,
    "admin/members.ts",
    [
      "as they are now",
      "who adds a member is told the role",
      "`${added.email} is ${added.role} of ${added.orgUri}.`",
      "`${added.email} is ${added.status} of ${added.orgUri}.`",
    ],
    [
      "as they are now",
      "who suspends a member is told of which organization",
      "of ${changed.email} in ${changed.orgUri} is ${changed.status}.`",
      "of ${changed.orgUri} in ${changed.email} is ${changed.status}.`",
    ],
  ),
  ...slips(
    WORDS,
    "admin/users.ts",
    [
      "all of them",
      "who gives a role is told of all that there are",
      'is ${user.platformRoles.join(" and ")} on the platform.`',
      "is ${role} on the platform.`",
    ],
    [
      "all of them",
      "who takes a role away is told of those that are left",
      'is ${user.platformRoles.join(" and ") || "without a role"} on the platform.`',
      'is ${user.platformRoles.at(1) || "without a role"} on the platform.`',
    ],
  ),
  ...slips(
    WORDS,
    "admin/sessions.ts",
    [
      "how many have ended",
      "one session is not called several",
      'ended === 1 ? "session has"',
      'ended <= 1 ? "session has"',
    ],
    [
      "how many have ended",
      "programs are told whose sessions have ended",
      "{ email, id, issuer, ended }",
      "{ email, issuer, ended }",
    ],
  ),
  ...slips(
    WORDS,
    "admin/authorization.ts",
    [
      "yes or no",
      "whoever may do something is told of with what it is, and where",
      "`Yes: ${email} has ${permission} for ${org}.`",
      "`Yes: ${email} has ${org} for ${permission}.`",
    ],
    ["yes or no", "a reason that holds is called so", 'holds ? "yes" : "no"', 'holds ? "no" : "yes"'],
    ["yes or no", "a reason is told with its place", "place ? `${place.file}:${place.line}` : rule", "rule"],
  ),
  ...slips(
    WORDS,
    "admin/people.ts",
    [
      "in how many rows",
      "an erasure tells in how many rows it has changed something",
      "reduce((sum, count) => sum + count, 0)",
      "reduce((sum) => sum + 1, 0)",
    ],
    [
      "in how many rows",
      "an erasure tells what nobody administers any more",
      "      ...bereft.map((place) => `Nobody administers ${place} any more.`),\n",
      "",
    ],
    [
      "in how many rows",
      "an erasure of nobody is told as one",
      "pseudonym === null\n",
      "pseudonym !== null\n",
    ],
    [
      "in how many rows",
      "what is kept on a person is printed with whom it is about",
      "JSON.stringify({ email, kept }, null, 2)",
      "JSON.stringify({ kept }, null, 2)",
    ],
  ),
  ...slips(
    WORDS,
    "admin/vocabulary.ts",
    [
      "each by its own number",
      "an edition tells how many codes it has deprecated",
      "${result.deprecated} deprecated;",
      "${result.changed} deprecated;",
    ],
    [
      "each by its own number",
      "an edition of the vocabulary is UTF-8",
      "bytes.toString()",
      'bytes.toString("latin1")',
    ],
  ),
  ...slips(WORDS, "admin/people-groups.ts", [
    "each by its own number",
    "an import of people groups tells how many were renamed",
    "${result.changed} renamed",
    "${result.added} renamed",
  ]),
  ...slips(WORDS, "admin/config.ts", [
    "stands for one that is not set",
    "a mail server that is not set is said to be none",
    'SMTP_URL: "(unset: mail is logged and kept)"',
    'SMTP_HOST: "(unset: mail is logged and kept)"',
  ]),
  ...slips(
    WORDS,
    "admin/graph.ts",
    [
      "its state and why",
      "records that wait are not told as those that are in the graph",
      "each.synced,\n              each.pending,",
      "each.pending,\n              each.synced,",
    ],
    [
      "its state and why",
      "a single list that waits is told of",
      "status.pendingLists.length > 0",
      "status.pendingLists.length > 1",
    ],
    [
      "its state and why",
      "what was refused is done, for a rebuild",
      "replacing.written + replacing.rejected} of",
      "replacing.written} of",
    ],
    [
      "its state and why",
      "differences that are left are counted",
      "${verifiedAt}, ${drift} differences left",
      "${verifiedAt}, ${status.oldestPendingSeconds} differences left",
    ],
    [
      "its state and why",
      "of a record that was refused it is told where and why",
      "`rejected ${kind} ${id}: ${path} ${message}`",
      "`rejected ${kind} ${id}: ${path}`",
    ],
    [
      "its state and why",
      "why the graph is as it is stands behind its state",
      'reason === null ? "" : `: ${reason}`',
      'reason === null ? ": " : ""',
    ],
  ),
  ...slips("church-import", "db/churches/import.ts", [
    "one clear line",
    "a CSV that names a column twice does not choose one of them",
    "    if (twice) throw new SourceError(`it has the column ${twice} twice`);\n",
    "",
  ]),
  ...slips(
    "demo-data",
    "db/demo/load.ts",
    [
      "a chain from needs",
      "a commitment of the demo is due in as many days as it says",
      "current_date + $9::integer",
      "current_date + $9::integer + 1",
    ],
    [
      "people of the README",
      "the website of a demo organization is at its domain",
      "`${slug}.example`, `https://${slug}.example`]",
      "`${slug}.example`, `http://${slug}.example`]",
    ],
    [
      "people of the README",
      "the domain of a demo organization is that of its people",
      "[uri, name, type, `${slug}.example`,",
      "[uri, name, type, `${slug}.example.org`,",
    ],
    [
      "a chain from needs",
      "what was done for a commitment of the demo hangs on it",
      "claim.commitment === null ? null : ids.commitments[claim.commitment]",
      "null",
    ],
    [
      "a chain from needs",
      "a commitment of the demo answers its need",
      "commitment.need === null ? null : ids.needs[commitment.need]",
      "commitment.need === null ? null : ids.needs[0]",
    ],
    [
      "people of the README",
      "who runs the demo's platform has a first and a last name",
      "[email, firstName, lastName, role]",
      "[email, lastName, firstName, role]",
    ],
    [
      "claims that wait",
      "who asks to belong to the demo's organizations says as whom",
      "applicant.lastName, applicant.roles]",
      "applicant.lastName, []]",
    ],
    [
      "claims that wait",
      "a new organization of the demo has its website",
      "[applicant.newOrg.name, null, applicant.newOrg.website]",
      "[applicant.newOrg.name, null, null]",
    ],
    [
      "a chain from needs",
      "each commitment of the demo has come as far as it says",
      "for (const [place, { org, status }] of commitments.entries()) {\n    if (!status) continue;",
      "for (const [place, { org, status }] of commitments.entries()) {\n    if (!status || place) continue;",
    ],
    [
      "a chain from needs",
      "what has become of a demo's record is not as old as itself",
      "where ${historyId} = $1 and from_status is null`",
      "where ${historyId} = $1`",
    ],
  ),
  ...slips(
    "demo-data",
    "db/demo/records.ts",
    [
      "people of the README",
      "nobody belongs to two of the demo's organizations",
      'name: "Stone Bridge Assembly", type: "church network", members: false',
      'name: "Stone Bridge Assembly", type: "church network", members: true',
    ],
    [
      "people of the README",
      "each role of the demo has its person",
      '{ name: "contributor", role: "org_contributor"',
      '{ name: "contributor", role: "org_admin"',
    ],
  ),
];
