// A claim in the queue, by what the page is given of it: what it says, and where it leads.
import { describe, expect, test } from "@jest/globals";
import { html } from "hono/html";
import { claimBeside } from "../server/pages/claims/claim.ts";
import { act } from "../server/pages/claims/decision.ts";
import { decisionFields } from "../server/pages/claims/fields.ts";
import { filterOf } from "../server/pages/claims/filter.ts";
import { outcome, outcomes, whose } from "../server/pages/claims/outcomes.ts";
import { list } from "../server/pages/claims/queue.ts";
import type { Claim, Line, Queue, Role } from "../server/pages/claims/told.ts";
import type { Visit } from "../server/pages/page.ts";

const visit = { query: () => undefined, proof: html`` } as unknown as Visit;

describe("a claim", () => {
  const line: Line = {
    ...{ id: "00000000-0000-4000-8000-000000000001", email: "ana@river.example", name: "Ana Silva" },
    ...{ orgName: "River", isNewOrg: false, createdAt: "2026-01-01T00:00:00Z", status: "pending" },
    ...{ isProven: true, domainMatch: true, reviewedBy: null, reviewedAt: null, isOpen: true, isOwn: false },
  };
  const organization: Claim["organization"] = {
    ...{ uri: "https://data.example.org/org/river", name: "River", status: "active", type: "own type" },
    ...{ website: "https://own.example", domain: "river.example", members: 5, administrators: 2 },
    ...{ administratorsNamed: [], needs: 1, commitments: 2, engagementClaims: 3 },
  };
  const claim: Claim = {
    ...{ ...line, sentTo: "organization", newOrgType: "said type", newOrgWebsite: "https://said.example" },
    ...{ statedRoles: [], emailDomain: "river.example", isFreeMail: false, orgDomain: "river.example" },
    ...{
      isAtDomain: true,
      isDomainStated: false,
      notes: null,
      role: null,
      steps: [],
      roles: [],
      reasons: [],
    },
    ...{ organization, similar: [], earlier: [], others: [], othersTotal: 0 },
  };
  const queue: Queue = {
    ...{ total: 1, start: 0, counts: { pending: 1, approved: 0, rejected: 0, withdrawn: 0 }, claims: [line] },
    ...{ roles: [], reasons: [], previousPage: null, nextPage: null, preceding: null, following: null },
  };
  const filter = filterOf(visit);
  // Of what waits for nothing.
  const markup = (content: unknown) => String(content);
  const words = (text: unknown) =>
    markup(text)
      .replaceAll("&#39;", "'")
      .replaceAll(/<[^>]*>/g, " ")
      .replaceAll(/\s+/g, " ");
  const beside = (more: Partial<Claim> = {}, around: Partial<Queue> = {}) =>
    markup(claimBeside(visit, { filter, queue: { ...queue, ...around }, claim: { ...claim, ...more } }));
  const listed = (more: Partial<Line> = {}, around: Partial<Queue> = {}) =>
    markup(
      list(visit, {
        filter,
        queue: { ...queue, claims: [{ ...line, ...more }], ...around },
        open: undefined,
      }),
    );

  test("says to whom it was sent", () => {
    expect(words(beside())).toContain("Sent to the organization's administrators");
    for (const sentTo of ["platform", null] as const)
      expect(words(beside({ sentTo }))).toContain("Sent to the platform");
  });

  test("leads to the one before it and the one after it", () => {
    const text = beside({}, { preceding: "before", following: "after" });
    expect(text).toContain('<a rel="prev" href="/admin/claims/before">Previous claim</a>');
    expect(text).toContain('<a rel="next" href="/admin/claims/after">Next claim</a>');
  });

  test("tells an organization's own type, website and domain, and of a new one what its claimant says", () => {
    const known = words(beside());
    expect(known).toContain("Type own type");
    expect(known).toContain("Domain, registered river.example");
    expect(known).toContain("Members 5, of these administrators: 2");
    expect(known).not.toMatch(/as they say|said type/);
    const proposed = words(
      beside({
        ...{ isNewOrg: true, isDomainStated: true },
        organization: { ...organization, type: null, website: null, status: "proposed" },
      }),
    );
    expect(proposed).toContain("Type, as they say said type");
    expect(proposed).toContain("Website, as they say https://said.example");
    expect(proposed).toContain("Domain, as they say river.example");
    expect(proposed).toContain("Status proposed by this claim or another, not public");
  });

  test("says in the list whether its address is proven, and is at the organization's domain", () => {
    expect(words(listed())).toContain("· proven, at its domain");
    const elsewhere = words(listed({ domainMatch: false }));
    expect([elsewhere.includes("· proven"), elsewhere.includes("at its domain")]).toEqual([true, false]);
    expect(words(listed({ isProven: false, domainMatch: false }))).toContain("· stated");
  });

  test("has pages of its list behind and before it, each by its own link", () => {
    const text = listed({}, { previousPage: "one", nextPage: "two" });
    expect(text).toMatch(/rel="prev" href="\/admin\/claims\?from=one">Page before/);
    expect(text).toMatch(/rel="next" href="\/admin\/claims\?from=two">Next page/);
  });

  test("says what has become of it, and by whom", () => {
    const said = (more: Partial<Line>) => words(outcome({ ...line, ...more })).trim();
    expect(said({})).toBe("still waits.");
    // Who took it back is the claimant, and not who may have reviewed it.
    expect(said({ status: "withdrawn", reviewedBy: "head@river.example" })).toBe(
      "was withdrawn by the claimant.",
    );
    expect(said({ status: "rejected", reviewedBy: "head@river.example" })).toMatch(
      /^rejected by head@river\.example ?\.$/,
    );
    expect(said({ status: "approved" })).toMatch(/^approved without a review\.$/);
    // Where nothing was decided there is no empty box.
    expect(markup(outcomes([]))).toBe("");
  });

  test("shows of whatever is long the beginning, and the rest behind it or not at all", () => {
    const long = "x".repeat(5_000);
    const earlier = { ...line, orgUri: organization.uri, notes: long, role: null };
    const longest = (text: string) =>
      Math.max(
        ...Array.from(
          text.replaceAll(/<p class="text">[^]*?<\/p>|<[^>]*>/g, " ").matchAll(/x{20,}/g),
          ([run]) => run.length,
        ),
      );
    for (const text of [
      markup(whose({ ...line, name: long, orgName: long })),
      beside({ earlier: [earlier] }),
      beside({ organization: { ...organization, type: long } }),
      beside({ organization: { ...organization, website: `https://river.example/${long}` } }),
      markup(decisionFields({ roles: [], reasons: [long], of: "x" })),
    ]) {
      expect(longest(text)).toBeGreaterThan(20);
      expect(longest(text)).toBeLessThan(250);
    }
  });

  test("is decided with the role that is usual, unless another is chosen", () => {
    const role = (name: string, isUsual: boolean): Role => ({ role: name, description: "It may.", isUsual });
    const text = markup(
      decisionFields({
        roles: [role("org_member", false), role("org_admin", true)],
        reasons: ["No."],
        of: "x",
      }),
    );
    expect(text).toMatch(/value="org_admin" selected/);
    expect(text.match(/selected/g)).toHaveLength(1);
    // No earlier reason unless one is chosen, or every rejection would have it.
    expect(text).toMatch(/<select name="reason">\s*<option value="">none<\/option>/);
  });

  test("is shown once more before it is decided, with what was said of it, and a way back to where it was", async () => {
    const asking = async (form: Record<string, string | string[]>) => {
      const ids = [form["claim"] ?? []].flat();
      const fields = (name: string) => [form[name] ?? []].flat();
      const shown = await act({
        ...{ fields, field: (name: string) => fields(name)[0], query: () => undefined, proof: html`` },
        ...{ address: "/admin/claims", ask: () => Promise.resolve(ids.map((id) => ({ ...line, id }))) },
      } as unknown as Visit);
      if (typeof shown === "string") throw new Error(`It leads to ${shown}.`);
      return { title: shown.title, text: String(await shown.content) };
    };
    const one = await asking({ action: "approve", claim: line.id, role: "org_admin", notes: "Welcome." });
    expect(one.title).toBe("Approve this claim?");
    expect(one.text).toContain('name="role" type="hidden" value="org_admin"');
    expect(one.text).toMatch(/<textarea name="notes"[^>]*>\s*Welcome\.</);
    expect(one.text).toContain(`<a href="/admin/claims/${line.id}">Back, without deciding</a>`);
    const other = line.id.replace(/1$/, "2");
    const both = await asking({ action: "reject", claim: [line.id, other], role: "org_admin" });
    expect(both.title).toBe("Reject these 2 claims?");
    for (const id of [line.id, other])
      expect(both.text).toContain(`name="claim" type="hidden" value="${id}"`);
    // Who is rejected gets no role, whatever the form had chosen.
    expect(both.text).not.toContain("org_admin");
    expect(both.text).toMatch(/<textarea[^>]* required/);
    expect(both.text).toContain('<a href="/admin/claims">Back, without deciding</a>');
  });
});
