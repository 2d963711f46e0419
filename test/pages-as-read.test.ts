// Pages word by word, of things of which no two are alike: each stands behind its own name, and each link leads to its own place.
import { describe, expect, test } from "@jest/globals";
import { html } from "hono/html";
import { organization } from "../server/pages/organization/page.ts";
import type { Page, Shown, Visit } from "../server/pages/page.ts";
import { recordPages } from "../server/pages/record/page.ts";
import { asRead } from "./support/as-read.ts";

const AT = "https://o.example/1";
const ORG = { orgUri: AT, orgName: "River Mission", orgType: "network" };
const KNOWN = { ...ORG, orgWebsite: "https://river.example", orgDomain: "mail.river.example" };

type Query = Record<string, string>;
async function read({ show }: Page, query: Query, more: object): Promise<{ title: string; text: string[] }> {
  const visit = {
    ...{ address: `/x?${new URLSearchParams(query).toString()}`, query: (name: string) => query[name] },
    ...{ field: () => undefined, fields: () => [], proof: html``, part: () => AT, ...more },
  };
  const { title, content } = (await show(visit as unknown as Visit)) as Shown;
  return { title, text: await asRead(content) };
}
const answering = (answer: unknown) => ({ ask: () => Promise.resolve(answer) });

describe("the page of an organization", () => {
  const nobody = {
    ...{ role: null, membership: null, permissions: [], waitingClaim: null, appoints: false, reviews: false },
    ...{ firstName: "Ana", lastName: "Silva" },
  };
  const since = "2026-01-02T03:04:05Z";
  const members = [
    {
      email: "ana@o.example",
      firstName: "Ana",
      lastName: "Silva",
      role: "org_admin",
      status: "active",
      since,
    },
    {
      ...{ email: "ben@o.example", firstName: null, lastName: null, role: "org_member", status: "suspended" },
      since: "2026-02-03T03:04:05Z",
    },
  ];
  const claims = [{ id: "c3", email: "cy@o.example", status: "pending", at: "2026-03-04T03:04:05Z" }];
  const show = (standing: object, more: object = {}, query: Query = {}) => {
    const found = {
      ...{ organization: KNOWN, standing: { ...nobody, ...standing }, records: [] },
      ...{ totals: { need: 26, commitment: 2, engagement_claim: 3 }, ...more },
    };
    const ask = (statement: string) => {
      if (statement.includes("own_standing_in")) return Promise.resolve(found);
      const items = statement.includes("organization_members") ? members : claims;
      return Promise.resolve({ items, total: items === members ? 27 : 28 });
    };
    return read(organization, query, { ask });
  };
  const ABOUT = [
    "About",
    "Type: network",
    "Website: [https://river.example](https://river.example noopener noreferrer nofollow)",
    "E-mail domain: mail.river.example",
    `URI: ${AT}`,
  ];
  const TABS = [
    "Needs, commitments, attestations",
    "[Needs: 26](/x?list=needs#records here)[Commitments: 2](/x?list=commitments#records)" +
      "[Attestations: 3](/x?list=engagement-claims#records)",
  ];
  const ROLES =
    "Role {role=} |org_admin administrator: manages the organization and its members" +
    "|org_contributor contributor: submits for the organization|org_member member: reads";
  const withHeld = (held: string) => ROLES.replace(`|${held} `, `|${held}* `);

  test("shows who manages it and its members all that they may change, and what was done once", async () => {
    const records = [
      { id: "c1", text: "Wells", status: "partially_fulfilled", at: since },
      { id: "c2", text: null, status: "open", at: "2026-01-01T03:04:05Z" },
    ];
    const permissions = ["organization:manage", "members:read", "members:manage"];
    const standing = { role: "org_admin", membership: "active", permissions, reviews: true };
    const { title, text } = await show(standing, { records }, { done: "role" });
    expect(title).toBe("River Mission");
    expect(text).toEqual([
      "The member has another role now.",
      ...ABOUT,
      "You: administrator: manages the organization and its members",
      "Change this",
      "→ /x",
      "Name {name=River Mission ≤200}",
      "{nameBefore=River Mission hidden}",
      "Type {type=network ≤200}",
      "{typeBefore=network hidden}",
      "Website {website=https://river.example ≤2048}",
      "{websiteBefore=https://river.example hidden}",
      "E-mail domain {domain=mail.river.example ≤200} Whoever proves an address there may be taken to belong to it.",
      "{domainBefore=mail.river.example hidden} {Save do=edit}",
      ...TABS,
      "[Wells](/needs/c1) partially fulfilled, 2 Jan 2026",
      "[Need](/needs/c2) open, 1 Jan 2026",
      "Page 1 of 2 [Next](/x?page=2 next)",
      "Members: 27",
      "Ana Silva ana@o.example administrator, since 2 Jan 2026",
      "Change the membership of ana@o.example",
      "→ /x",
      "{email=ana@o.example hidden}",
      withHeld("org_admin"),
      "{Give this role do=role} {Suspend do=suspended}{End the membership do=revoked}",
      "ben@o.example member, suspended, since 3 Feb 2026",
      "Change the membership of ben@o.example",
      "→ /x",
      "{email=ben@o.example hidden}",
      withHeld("org_member"),
      "{Give this role do=role} {Reinstate do=active}{End the membership do=revoked}",
      "Page 1 of 2 [Next](/x?members=2 next)",
      "Invite somebody",
      "Send them the address of this page. They sign in with their own e-mail, ask to belong to the organization below, and " +
        "[their claim](/admin/claims) is yours to approve, with the role that you choose.",
      "[Write a mail](mailto:?subject=Join%20River%20Mission)",
      "Claims to it: 28",
      "[cy@o.example](/admin/claims/c3) pending, 4 Mar 2026",
      "Page 1 of 2 [Next](/x?claims=2 next)",
      "You and this organization",
      "You belong to it.",
      "→ /x",
      "{Leave the organization do=leave}",
    ]);
  });

  test("shows a member who the others are, and a stranger how to come to it", async () => {
    const reads = await show({ role: "org_member", membership: "active", permissions: ["members:read"] });
    expect(reads.text).toContain("Members: 27");
    expect(reads.text.filter((line) => /^(→|Change|Invite|Claims)/.test(line))).toEqual(["→ /x"]);
    const none = { orgType: null, orgWebsite: null, orgDomain: null };
    const stranger = await show({}, { organization: { ...KNOWN, ...none } });
    expect(stranger.text).toEqual([
      ...["About", "Type: not known", "Website: not known", "E-mail domain: not known", `URI: ${AT}`],
      ...[...TABS, "No needs here.", "Page 1 of 2 [Next](/x?page=2 next)"],
      "You and this organization",
      "I belong to it",
      "→ /x",
      "Whoever decides on it sees your name, your address and what you do there.",
      "First name {firstName=Ana ≤200 required}",
      "Last name {lastName=Silva ≤200 required}",
      "What you do there, if you like {duty= ≤200}",
      "{Ask to belong to it do=claim}",
    ]);
  });

  test.each([
    [
      "who has asked to belong to it",
      { waitingClaim: { claimId: "c9", since } },
      [
        "You have asked to belong to it; that has waited for an answer since 2026-01-02 03:04 UTC.",
        ...["→ /x?list=commitments", "{claimId=c9 hidden} {Withdraw the request do=withdraw}"],
      ],
    ],
    [
      "who is suspended",
      { membership: "suspended" },
      ["Your membership is suspended; an administrator of the organization can reinstate it."],
    ],
    [
      "who belongs to it by a claim alone",
      { role: "org_contributor" },
      ["You belong to it.", "→ /x?list=commitments", "{Leave the organization do=leave}"],
    ],
  ])("says to %s what they are to it", async (_, standing, said) => {
    const { text } = await show(standing, {}, { list: "commitments" });
    const [before, after] = [text.slice(0, text.indexOf("You and this organization")), text];
    expect(before.at(-1)).toBe("No commitments here.");
    expect(after.slice(before.length + 1)).toEqual(said);
  });

  test("that nobody manages asks who appoints for whom to appoint", async () => {
    const { text } = await show({ appoints: true });
    const start = text.indexOf("Nobody manages it");
    expect(text.slice(start, start + 4)).toEqual([
      "Nobody manages it",
      "→ /x",
      "E-mail address of the new administrator, whom this service must know {email= email ≤254 required}",
      "{Appoint do=appoint}",
    ]);
  });
});

test("the page of a record tells each of its fields, its statuses, and its chain drawn and in words", async () => {
  const id = "00000000-0000-4000-8000-000000000002";
  const node = (kind: string, n: number, parent: string | null, more: object) => ({
    ...{
      kind,
      id: `r${n}`,
      parent,
      orgUri: `https://o.example/${n}`,
      orgName: `Org ${n}`,
      text: `Text ${n}`,
    },
    ...{ status: "in_progress", by: `p${n}@o.example`, at: `2026-01-0${n}T00:00:00Z`, children: 0 },
    ...{ history: [], ...more },
  });
  const open = { status: "open", at: "2026-01-01T00:00:00Z", by: "p1@o.example" };
  const declared = { status: "declared", at: "2026-01-02T01:02:03Z", by: "p2@o.example" };
  const begun = { status: "in_progress", at: "2026-03-03T04:05:06Z", by: null };
  const nodes = [
    node("need", 1, null, { children: 9, history: [open, { ...open, status: "partly_met", by: null }] }),
    node("commitment", 2, "r1", { id, children: 120, due: "2027-06-30", history: [declared, begun] }),
    node("engagement_claim", 3, id, { text: null, due: null }),
  ];
  const item = {
    ...{ commitmentId: id, orgUri: "https://o.example/2", orgName: "Org 2", declaredByEmail: "p2@o.example" },
    ...{ commitmentDescription: "Text 2", acceleratorScope: ["PRA-INT", "OLD"], concernsNeedId: "r1" },
    ...{ concernsPeopleGroupRop3: ["104425"], concernsCountryCode: ["KE", "XK"], status: "in_progress" },
    ...{ targetCompletionDate: "2027-06-30", createdAt: "2026-01-02T01:02:03Z" },
    ...{ updatedAt: "2026-03-03T04:05:06Z", graphStatus: "rejected" },
    graphErrors: [
      { path: "ns:a", message: "is wrong" },
      { path: "ns:b", message: "is missing" },
    ],
  };
  const names = {
    ...{ accelerators: { "PRA-INT": "Intercession" }, countries: { KE: "Kenya" } },
    peopleGroups: { 104425: "Kurux" },
  };
  const { title, text } = await read(
    recordPages[1]!,
    { page: "2" },
    { part: () => id, ...answering({ chain: { id, page: 2, pages: 3, nodes }, item, names }) },
  );
  expect(title).toBe("Commitment: Text 2");
  const DRAWN = [
    "The chain of this record",
    "From the need to the commitments that answer it and the attestations that answer these; below, the same in words.",
    "[Need in progress Org 1 since 1 Jan 2026](/needs/r1)" +
      `[Commitment in progress Org 2 since 3 Mar 2026](/commitments/${id} here)` +
      "[Attestation in progress Org 3 since 3 Jan 2026](/engagement-claims/r3)" +
      "[69 more attestations](/x?page=3)[8 more commitments](/needs/r1)",
  ];
  expect(text).toEqual([
    "Commitment of Org 2: in progress",
    "Organization: [Org 2](/organizations/https%3A%2F%2Fo.example%2F2)",
    "Declared by: p2@o.example",
    "What is promised: Text 2",
    ...["Accelerators:", "Intercession PRA-INT", "OLD"],
    "Answers the need: [Text 1](/needs/r1)",
    ...["People groups:", "Kurux 104425"],
    ...["Countries:", "Kenya KE", "XK"],
    "Target completion date: 30 Jun 2027",
    "Created at: 2026-01-02 01:02 UTC",
    "Updated at: 2026-03-03 04:05 UTC",
    "In the graph: rejected: ns:a is wrong; ns:b is missing",
    "From need to attestation",
    ...[...DRAWN, ...DRAWN],
    "[Previous](/x prev) Page 2 of 3 [Next](/x?page=3 next)",
    "Statuses",
    "The latest statuses of this record, first to last",
    "Status | Since | Set by |",
    "declared | 2026-01-02 01:02 UTC | p2@o.example |",
    "in progress | 2026-03-03 04:05 UTC | the service itself |",
    "The chain in words",
    "[Need](/needs/r1): in progress since 1 Jan 2026",
    "Text 1",
    "[Org 1](/organizations/https%3A%2F%2Fo.example%2F1), by p1@o.example, 1 Jan 2026",
    "2 latest statuses",
    "open, 1 Jan 2026, by p1@o.example",
    "partly met, 1 Jan 2026, by the service itself",
    "Commitment (this page): in progress since 3 Mar 2026",
    "[Org 2](/organizations/https%3A%2F%2Fo.example%2F2), by p2@o.example, 2 Jan 2026; due 30 Jun 2027",
    "[Attestation](/engagement-claims/r3): in progress since 3 Jan 2026",
    "[Org 3](/organizations/https%3A%2F%2Fo.example%2F3), by p3@o.example, 3 Jan 2026",
    "[69 more attestations](/x?page=3)",
    "[8 more commitments](/needs/r1)",
  ]);
});
