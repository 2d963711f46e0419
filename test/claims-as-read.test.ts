// The pages of claims, word by word, of claims in which no two things are alike: each stands behind its own name.
import { describe, expect, test } from "@jest/globals";
import { html } from "hono/html";
import { claimBeside } from "../server/pages/claims/claim.ts";
import { filterOf } from "../server/pages/claims/filter.ts";
import { filters, list } from "../server/pages/claims/queue.ts";
import type { Claim, Line, Queue } from "../server/pages/claims/told.ts";
import type { Visit } from "../server/pages/page.ts";
import { asRead } from "./support/as-read.ts";

const visiting = (query: Record<string, string>) =>
  ({ query: (name: string) => query[name], proof: html`` }) as unknown as Visit;
const visit = visiting({});
const filter = filterOf(visiting({ q: "river", order: "newest" }));

const line: Line = {
  ...{ id: "c1", email: "ana@river.example", name: "Ana Silva", orgName: "River", isNewOrg: true },
  ...{ createdAt: "2026-01-02T03:04:05Z", status: "pending", isProven: true, domainMatch: true },
  ...{ reviewedBy: null, reviewedAt: null, isOpen: true, isOwn: false },
};
const role = (name: string, isUsual: boolean) => ({ role: name, description: `May ${name}.`, isUsual });
const like: Claim["similar"][number] = {
  ...{ uri: "https://o.example/2", name: "Rivers", status: "active", type: "network", members: 7 },
  ...{ website: "https://rivers.example", domain: "rivers.example", alike: ["name", "domain"], waiting: 6 },
};
const organization: Claim["organization"] = {
  ...{ uri: "https://o.example/1", name: "River Mission", status: "active", type: "own type" },
  ...{ website: "https://own.example", domain: "river.example", members: 5, administrators: 3 },
  administratorsNamed: [
    { email: "head@river.example", name: "Head" },
    { email: "hand@river.example", name: null },
  ],
  ...{ needs: 1, commitments: 2, engagementClaims: 4 },
};
const claim: Claim = {
  ...{ ...line, sentTo: "platform", newOrgType: "said type", newOrgWebsite: "https://said.example" },
  ...{ statedRoles: ["digs", "prays"], emailDomain: "river.example", isFreeMail: true },
  ...{ orgDomain: "river.example", isAtDomain: false, isDomainStated: true, notes: null, role: null },
  steps: [
    { to: "pending", by: "ana@river.example", at: "2026-01-02T03:04:05Z" },
    { to: "approved", by: null, at: "2026-02-03T04:05:06Z" },
  ],
  ...{ roles: [role("read", false), role("write", true)], reasons: ["Too early."], organization },
  similar: [
    like,
    {
      ...{ ...like, uri: "https://o.example/3", name: "Riverside", status: "proposed", type: null },
      ...{ website: null, domain: null, members: 0, alike: ["website"], waiting: 0 },
    },
  ],
  earlier: [
    {
      ...{
        ...line,
        id: "c2",
        orgUri: "https://o.example/4",
        orgName: "Lake",
        status: "rejected",
        role: null,
      },
      ...{ reviewedBy: "head@lake.example", reviewedAt: "2025-12-11T10:09:08Z", notes: "Not with us." },
    },
  ],
  others: [
    {
      ...{ ...line, id: "c3", email: "ben@sea.example", name: null, orgUri: "https://o.example/1" },
      ...{ status: "withdrawn", notes: null, role: null },
    },
  ],
  othersTotal: 12,
};
const queue: Queue = {
  ...{ total: 60, start: 25, counts: { pending: 1, approved: 20, rejected: 300, withdrawn: 4000 } },
  claims: [
    line,
    { ...line, id: "c4", name: null, isOwn: true, isNewOrg: false, domainMatch: false },
    { ...line, id: "c5", isProven: false, isNewOrg: false, status: "approved", isOpen: false },
    { ...line, id: "c6", isNewOrg: false, status: "rejected", isOpen: false },
  ],
  ...{ roles: [role("read", true)], reasons: ["No."], previousPage: "c7", nextPage: "c8" },
  ...{ preceding: "c9", following: null },
};

const beside = (more: Partial<Claim> = {}) =>
  asRead(claimBeside(visit, { filter, queue, claim: { ...claim, ...more } }));

const ORGANIZATION = [
  "Organization",
  "Name: [River Mission](/organizations/https%3A%2F%2Fo.example%2F1), when it was claimed River",
  "Website, as they say: [https://own.example](https://own.example noopener noreferrer nofollow _blank)",
  "Type, as they say: own type",
  "Domain, as they say: river.example",
  "Members: 5, of these administrators: 3",
  "Head, head@river.example",
  "hand@river.example",
  "and 1 more",
  "Records: needs: 1, commitments: 2, attestations: 4",
  "Status: public",
  "URI: https://o.example/1",
];
const AROUND =
  "[Back to the list](/admin/claims?order=newest&q=river&from=c1) [Previous claim](/admin/claims/c9?order=newest&q=river prev)";

describe("a claim", () => {
  test("that waits is told with all that a decision hangs on, the form, and every step", async () => {
    expect(await beside()).toEqual([
      AROUND,
      "Ana Silva → River",
      "✓ They have proven that the address is theirs.",
      "✓ The address is not at the domain that they say is the organization's. Anybody can get an address like theirs.",
      "! The organization is new: does it exist, under this name, and only once?",
      "! [2 organizations look like it.](#similar)",
      "[Other claims to it: 12.](#others)",
      "→ /admin/claims/c1?order=newest&q=river",
      "{claim=c1 hidden}",
      "Role if approved {role=} |read read: May read.|write* write: May write.",
      "Notes, which the person will read; required to reject {notes= ≤10000}",
      "Or one of your earlier reasons {reason=} | none |Too early. Too early.",
      "{Approve action=approve} {Reject action=reject}",
      "Person",
      "Name: Ana Silva",
      "E-mail: ana@river.example, proven",
      "Role, as they put it: digs, prays",
      "Claimed: 2026-01-02 03:04 UTC",
      "Sent to: the platform",
      "Other claims:",
      "[Lake](/admin/claims/c2?order=newest&q=river) rejected by head@lake.example, 2025-12-11 10:09 UTC.",
      "Not with us.",
      ...ORGANIZATION,
      "Organizations like it",
      "[Rivers](/organizations/https%3A%2F%2Fo.example%2F2), alike by name, domain network · rivers.example · members: 7 " +
        "[https://rivers.example](https://rivers.example noopener noreferrer nofollow _blank) " +
        "[waiting claims: 6](/admin/claims?order=newest&org=https%3A%2F%2Fo.example%2F2)",
      "Riverside proposed, alike by website no domain · members: 0",
      "Other claims to this organization",
      "[ben@sea.example](/admin/claims/c3?order=newest&q=river) was withdrawn by the claimant.",
      "[All 13 claims to it](/admin/claims?order=newest&org=https%3A%2F%2Fo.example%2F1&status=all)",
      "Steps",
      "pending, ana@river.example, 2026-01-02 03:04 UTC",
      "approved, the service, 2026-02-03 04:05 UTC",
    ]);
  });

  test("that is decided is told by whom and with which role and notes, and has no form any more", async () => {
    const decided = await beside({
      ...{ roles: [], isOpen: false, status: "approved", role: "org_admin", notes: "Welcome." },
      ...{ reviewedBy: "head@river.example", reviewedAt: "2026-03-04T05:06:07Z", isDomainStated: false },
      ...{ isProven: false, isNewOrg: false, isAtDomain: true, isFreeMail: false, name: null },
      ...{ statedRoles: [], earlier: [], others: [], othersTotal: 0, similar: [], steps: [] },
    });
    expect(decided).toEqual([
      AROUND,
      "ana@river.example → River",
      "! An application says that the address is theirs.",
      "! The address is at the organization's registered domain.",
      "This claim approved by head@river.example, 2026-03-04 05:06 UTC. As org_admin.",
      "Welcome.",
      "Person",
      "Name: not given",
      "E-mail: ana@river.example, stated by an application",
      "Role, as they put it: not given",
      "Claimed: 2026-01-02 03:04 UTC",
      "Sent to: the platform",
      "Other claims: none",
      ...ORGANIZATION.map((line) =>
        line
          .replace(/^(Website|Type), as they say/, "$1")
          .replace("Domain, as they say", "Domain, registered"),
      ),
      "Steps",
    ]);
    const rejected = await beside({ roles: [], isOpen: false, status: "rejected", role: "org_admin" });
    expect(rejected).toContain("This claim rejected without a review.");
  });

  test("that is one's own is somebody else's to decide, while it waits", async () => {
    const own = { roles: [], isOwn: true };
    expect(await beside(own)).toContain("This is your own claim: somebody else decides about it.");
    const decided = await beside({ ...own, isOpen: false, status: "rejected" });
    expect(decided).toContain("This claim rejected without a review.");
  });

  test("to an organization of which little is known says so", async () => {
    const none = { type: null, website: null, domain: null, administratorsNamed: [], administrators: 0 };
    const text = await beside({
      ...{ organization: { ...organization, ...none, name: "River", status: "rejected" }, orgDomain: null },
      ...{ newOrgType: null, newOrgWebsite: null, similar: [like], others: [], othersTotal: 0 },
    });
    for (const said of [
      "✓ The organization has named no domain to compare the address with. Anybody can get an address like theirs.",
      "! [One organization looks like it.](#similar)",
      "Name: River",
      "Website, as they say: none",
      "Type, as they say: none",
      "Domain, as they say: none",
      "Members: 5, of these administrators: 0",
      "Status: rejected",
    ])
      expect(text).toContain(said);
    expect(text.filter((line) => line.includes("more") || line.includes("laims to it"))).toEqual([]);
  });
});

describe("the list of claims", () => {
  test("says in its form what is looked for, and of how many of each status", async () => {
    const chosen = { q: "river", status: "rejected", sent: "platform", proof: "stated", order: "newest" };
    const form = filters(filterOf(visiting({ ...chosen, org: "https://o.example/1" })), queue);
    expect(await asRead(form)).toEqual([
      "→ /admin/claims",
      "Person, address, organization or domain {q=river search ≤100}",
      "Status {status=} |pending waiting (1)|approved approved (20)|rejected* rejected (300)|withdrawn withdrawn (4000)|all all (4321)",
      "Sent to {sent=} | anybody|organization an organization's administrators|platform* the platform",
      "Address {proof=} | proven or stated|proven proven|stated* stated by an application",
      "Order {order=} | oldest first|newest* newest first",
      "{org=https://o.example/1 hidden} Only claims to https://o.example/1 " +
        "[all organizations](/admin/claims?sent=platform&proof=stated&order=newest&q=river&status=rejected)",
      "{Show}",
    ]);
  });

  test("tells of each claim what it is, which one is open, and which can be chosen to be decided", async () => {
    expect(await asRead(list(visit, { filter, queue, open: "c4" }))).toEqual([
      "26–29 of 60, newest first",
      "→ /admin/claims?order=newest&q=river",
      "Choose Ana Silva {claim=c1 checkbox}",
      "[Ana Silva → River 2 Jan 2026 · new organization · proven, at its domain](/admin/claims/c1?order=newest&q=river)",
      "[ana@river.example → River 2 Jan 2026 · your own · proven](/admin/claims/c4?order=newest&q=river here)",
      "[Ana Silva → River 2 Jan 2026 · approved · stated](/admin/claims/c5?order=newest&q=river)",
      "[Ana Silva → River 2 Jan 2026 · rejected · proven, at its domain](/admin/claims/c6?order=newest&q=river)",
      "[Page before](/admin/claims?order=newest&q=river&from=c7 prev) [Next page](/admin/claims?order=newest&q=river&from=c8 next)",
      "Decide several at once",
      "Role if approved {role=} |read* read: May read.",
      "Notes, which the person will read; required to reject {notes= ≤10000}",
      "Or one of your earlier reasons {reason=} | none |No. No.",
      "{Approve all chosen action=approve} {Reject all chosen action=reject}",
    ]);
  });

  test("begins with the oldest, says where it finds none, and offers nothing to decide that cannot be", async () => {
    const none = { ...queue, claims: [], total: 0, previousPage: null, nextPage: null };
    const empty = list(visit, { filter: filterOf(visit), queue: none, open: undefined });
    expect(await asRead(empty)).toEqual(["There are none", "→ /admin/claims"]);
    const usual = await asRead(list(visit, { filter: filterOf(visit), queue, open: undefined }));
    expect(usual[0]).toBe("26–29 of 60, oldest first");
    for (const only of queue.claims.slice(1)) {
      const text = await asRead(
        list(visit, { filter, queue: { ...queue, claims: [only] }, open: undefined }),
      );
      expect(text.filter((said) => /Choose|several|Approve/.test(said))).toEqual([]);
    }
  });
});
