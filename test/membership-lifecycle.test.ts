// Each transition of the lifecycle of organization claims (db/rules/organization-claims.sql), at every door.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { loadConfig } from "../config.ts";
import { saveSettings } from "../db/settings.ts";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await m.addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

const db = () => service.database.owner;

describe.each(m.DOORS)("through %s", (name) => {
  const door = m.membershipDoor(name, () => service);

  async function pendingClaim(
    email = "ana@elsewhere.example",
    members: Record<string, string> = { head: "org_admin" },
  ) {
    const org = await m.addOrganization(db(), members);
    const { value } = await door.claim(m.claimOf(org, email));
    return { org, claimId: value.claimId as string };
  }

  /** What a reviewer is told of an approval, whenever that is. */
  async function warningsOf(claimId: string) {
    const { rows } = await db().query(
      "select to_json(app_private.approval_warnings(c)) as warnings from app_public.organization_claims as c where claim_id = $1",
      [claimId],
    );
    return rows[0]?.warnings as unknown;
  }

  describe("the lifecycle", () => {
    test("(start) → Submitted: a person selects an organization, and the auto-approval check runs", async () => {
      const org = await m.addOrganization(db());
      const { value } = await door.claim(m.claimOf(org, `first@${org.domain}`));
      expect(value).toMatchObject({ orgUri: org.uri, orgName: org.name });
      expect((await m.historyOf(db(), value.claimId)).slice(0, 2)).toEqual([
        [null, "submitted", `first@${org.domain}`],
        ["submitted", "approved", null],
      ]);
    });

    test("an application names whom the service does not know yet, and renames nobody", async () => {
      const userEmail = `known-${name.toLowerCase()}@elsewhere.example`;
      const claimAs = async (names: object) => {
        const org = await m.addOrganization(db(), { head: "org_admin" });
        return door.claim({ ...m.claimOf(org, userEmail), ...names });
      };
      await claimAs({ firstName: "Ana", lastName: "Silva" });
      expect((await claimAs({ firstName: "Eva", lastName: "Lima" })).refusal).toBeUndefined();
      const { value } = await door.checkUser(userEmail);
      expect(value).toMatchObject({ firstName: "Ana", lastName: "Silva" });
    });

    test("(start) → Submitted: a person creates an organization, which gets a URI and waits for the platform", async () => {
      const { value } = await door.claim({
        userEmail: "founder@new-mission.example",
        firstName: "Ana",
        lastName: "Silva",
        roles: [],
        orgName: "What was looked for",
        newOrgName: "New Mission",
        isNewOrg: true,
        orgDomain: "New-Mission.example",
        newOrgType: "sending agency",
        newOrgWebsite: "https://new-mission.example",
      });
      expect(value).toEqual({
        claimId: expect.any(String),
        resultVariant: "new-org",
        orgUri: expect.stringMatching(/^https:\/\/data\.example\.org\/org\/[0-9a-f-]{36}$/),
        orgName: "New Mission",
        status: "pending",
      });
      expect(await m.historyOf(db(), value.claimId)).toEqual([
        [null, "submitted", "founder@new-mission.example"],
        ["submitted", "pending_review", null],
      ]);
      const { value: page } = await door.claims(m.support, { limit: 1 });
      expect(page.claims[0]).toMatchObject({
        claimId: value.claimId,
        isNewOrg: true,
        routedTo: "platform",
        domainMatch: true,
        orgDomainStated: true,
        emailVerified: false,
        orgDomain: "new-mission.example",
        newOrgType: "sending agency",
        newOrgWebsite: "https://new-mission.example",
      });
      await door.review({
        claimId: value.claimId,
        action: "reject",
        adminEmail: m.support,
        notes: "A test.",
      });
    });

    test("Submitted → Approved: the domain matches and nobody has claimed before; the person becomes org_admin", async () => {
      const org = await m.addOrganization(db());
      const first = `First.Person@${org.domain.toUpperCase()}`;
      const { value } = await door.claim(m.claimOf(org, first));
      expect(value).toMatchObject({ resultVariant: "claimed", status: "approved" });
      expect(await m.membershipOf(db(), org.uri, first)).toBe("org_admin active");
    });

    test("Submitted → Pending Review: the domain does not match", async () => {
      const org = await m.addOrganization(db());
      const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
      expect(value).toMatchObject({ resultVariant: "manual-review", status: "pending" });
      expect(await m.historyOf(db(), value.claimId)).toContainEqual(["submitted", "pending_review", null]);
      expect(await m.membershipOf(db(), org.uri, "ana@elsewhere.example")).toBeUndefined();
    });

    test("Submitted → Pending Review: the domain matches, but somebody has claimed before", async () => {
      const org = await m.addOrganization(db());
      const stranger = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
      await door.review({
        claimId: stranger.value.claimId,
        action: "reject",
        adminEmail: m.support,
        notes: "Unknown.",
      });
      const { value } = await door.claim(m.claimOf(org, `own@${org.domain}`));
      expect(value).toMatchObject({ resultVariant: "manual-review", status: "pending" });
    });

    test("Submitted → Pending Review: the organization already has an admin", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin" });
      const { value } = await door.claim(m.claimOf(org, `colleague@${org.domain}`));
      expect(value).toMatchObject({ resultVariant: "request-sent", status: "pending" });
    });

    test("Pending Review, routing: the organization has an admin, so the claim goes to that admin", async () => {
      const { org, claimId } = await pendingClaim();
      const own = await door.claims(`head@${org.domain}`, { status: "pending" });
      expect(own.value).toMatchObject({ total: 1, claims: [{ claimId, routedTo: "organization" }] });
    });

    test("what is said of a new organization is nothing of one that there is", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin" });
      const said = { newOrgName: "Better", newOrgType: "church", newOrgWebsite: "https://better.example" };
      await door.claim({ ...m.claimOf(org, "ana@elsewhere.example"), ...said });
      const { claims } = (await door.claims(`head@${org.domain}`)).value;
      expect(claims).toMatchObject([
        { orgName: org.name, isNewOrg: false, newOrgType: null, newOrgWebsite: null },
      ]);
    });

    test("Pending Review, routing: no admin and no match, so the claim goes to platform admins", async () => {
      const { claimId } = await pendingClaim("ana@elsewhere.example", { helper: "org_contributor" });
      for (const reviewer of [m.platformAdmin, m.support]) {
        const { value } = await door.claims(reviewer, { status: "pending", limit: 200 });
        expect(value.claims.find((claim: { claimId: string }) => claim.claimId === claimId)).toMatchObject({
          routedTo: "platform",
          resultVariant: "manual-review",
        });
      }
    });

    test("Pending Review → Reviewed → Approved: the person is added, as org_member unless another role is given", async () => {
      // A form that leaves it empty says null, which REST has no place for.
      const unsaid = name === "GraphQL" ? [undefined, null] : [undefined];
      for (const role of [...unsaid, "org_member", "org_contributor", "org_admin"]) {
        const { org, claimId } = await pendingClaim();
        const reviewer = `head@${org.domain}`;
        const { value } = await door.review({ claimId, action: "approve", adminEmail: reviewer, role });
        expect(value).toMatchObject({ claimId, newStatus: "approved" });
        expect(await m.membershipOf(db(), org.uri, "ana@elsewhere.example")).toBe(
          `${role ?? "org_member"} active`,
        );
        expect((await m.historyOf(db(), claimId)).slice(2)).toEqual([
          ["pending_review", "reviewed", reviewer],
          ["reviewed", "approved", reviewer],
        ]);
      }
    });

    test("Pending Review → Reviewed → Rejected: the claim is archived with its reason", async () => {
      const { org, claimId } = await pendingClaim();
      const reviewer = `head@${org.domain}`;
      const decision = { claimId, action: "reject", adminEmail: reviewer };
      expect(await door.review(decision)).toEqual({ refusal: "400 validation_failed" });
      expect(await door.review({ ...decision, notes: "  " })).toEqual({ refusal: "400 validation_failed" });
      const { value } = await door.review({ ...decision, notes: " We do not know this person.\n" });
      expect(value).toMatchObject({ claimId, newStatus: "rejected" });
      expect(await m.membershipOf(db(), org.uri, "ana@elsewhere.example")).toBeUndefined();
      expect((await m.historyOf(db(), claimId)).at(-1)).toEqual(["reviewed", "rejected", reviewer]);
      const archived = await door.claims(reviewer, { status: "rejected" });
      expect(archived.value.claims[0]).toMatchObject({
        claimId,
        status: "rejected",
        reviewedBy: reviewer,
        reviewedAt: expect.any(String),
        reviewNotes: "We do not know this person.",
      });
      // Somebody who was rejected may ask again.
      expect((await door.claim(m.claimOf(org, "ana@elsewhere.example"))).value.status).toBe("pending");
      const { rows } = await db().query(
        "select reviewed_at > created_at as later from app_public.organization_claims where claim_id = $1",
        [claimId],
      );
      expect(rows).toEqual([{ later: true }]);
    });

    test("an approval leaves alone whoever has become a member meanwhile, or was suspended", async () => {
      for (const status of ["active", "suspended"]) {
        const { org, claimId } = await pendingClaim();
        const ana = { orgUri: org.uri, userEmail: "ana@elsewhere.example", adminEmail: `head@${org.domain}` };
        await db().query("select app_private.add_member($1, $2, 'org_contributor')", [
          org.uri,
          ana.userEmail,
        ]);
        await door.setMemberStatus({ ...ana, status });
        const { value } = await door.review({
          ...{ claimId, action: "approve", role: "org_admin", adminEmail: ana.adminEmail },
        });
        expect(await m.membershipOf(db(), org.uri, ana.userEmail)).toBe(`org_contributor ${status}`);
        // Nor is anybody told that it was otherwise.
        expect(value.warnings).toMatchObject([
          { code: "already_member", message: expect.stringContaining("org_contributor") },
        ]);
        expect(value.warnings[0].message.includes("suspended")).toBe(status === "suspended");
        // Nor later, whatever has become of the membership.
        await door.setMemberStatus({ ...ana, status: "revoked" });
        expect(await warningsOf(claimId)).toEqual(value.warnings);
        const { rows } = await db().query(
          `select data ->> 'role' as role, data ->> 'isSuspended' as suspended
           from app_private.mails where kind = 'claim_approved' and data ->> 'claimId' = $1`,
          [claimId],
        );
        expect(rows).toEqual([
          { role: "org_contributor", suspended: status === "suspended" ? "true" : null },
        ]);
      }
    });

    test("an approval leaves alone whoever has become a member meanwhile by another approved claim", async () => {
      const { org, claimId } = await pendingClaim();
      const [ana, adminEmail] = ["ana@elsewhere.example", `head@${org.domain}`];
      await m.addApprovedClaim(db(), org, ana);
      const { value } = await door.review({ claimId, action: "approve", role: "org_member", adminEmail });
      expect(value.warnings).toMatchObject([
        { code: "already_member", message: expect.stringContaining("org_contributor") },
      ]);
      expect(await m.membershipOf(db(), org.uri, ana)).toBe("org_contributor active");
    });

    test("an approval that gives what somebody has already is made without a warning, and so is any other", async () => {
      const { org, claimId } = await pendingClaim();
      const ana = { orgUri: org.uri, userEmail: "ana@elsewhere.example", adminEmail: `head@${org.domain}` };
      await db().query("select app_private.add_member($1, $2, 'org_contributor')", [org.uri, ana.userEmail]);
      const review = { claimId, action: "approve", role: "org_contributor", adminEmail: ana.adminEmail };
      expect((await door.review(review)).value.warnings).toEqual([]);
      const another = await pendingClaim();
      const adminEmail = `head@${another.org.domain}`;
      expect((await door.review({ ...review, claimId: another.claimId, adminEmail })).value.warnings).toEqual(
        [],
      );
      await door.setMemberStatus({ ...ana, orgUri: another.org.uri, adminEmail, status: "suspended" });
      expect(await warningsOf(another.claimId)).toEqual([]);
    });

    test("after a rejection, and for a former member, nobody is let in without a review", async () => {
      const org = await m.addOrganization(db());
      const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
      await door.review({ claimId: value.claimId, action: "reject", notes: "Who?", adminEmail: m.support });
      const next = await door.claim(m.claimOf(org, `first@${org.domain}`));
      expect(next.value.resultVariant).toBe("manual-review");

      const left = await m.addOrganization(db(), { one: "org_member" });
      await door.leave({ orgUri: left.uri, userEmail: `one@${left.domain}` });
      const back = await door.claim(m.claimOf(left, `one@${left.domain}`));
      expect(back.value.resultVariant).toBe("manual-review");
    });
  });

  test("an administrator's list has what was sent to the organization, newest first, in pages", async () => {
    const org = await m.addOrganization(db());
    const elsewhere = await door.claim(m.claimOf(org, "zero@elsewhere.example"));
    expect(elsewhere.value.resultVariant).toBe("manual-review");
    const head = `head@${org.domain}`;
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [org.uri, head]);
    const ids: string[] = [];
    for (const person of ["one", "two", "three"]) {
      const { value } = await door.claim(m.claimOf(org, `${person}@elsewhere.example`));
      ids.unshift(value.claimId);
    }
    const list = async (filter: object) => {
      const { value } = await door.claims(head, { ...filter });
      return [value.total, value.claims.map(({ claimId }: { claimId: string }) => claimId)];
    };
    expect(await list({})).toEqual([3, ids]);
    expect(await list({ limit: 1, offset: 1 })).toEqual([3, [ids[1]]]);
    await door.review({ claimId: ids[1], action: "approve", adminEmail: head });
    expect(await list({ status: "pending" })).toEqual([2, [ids[0], ids[2]]]);
    expect(await list({ status: "approved" })).toEqual([1, [ids[1]]]);
    expect(await list({ status: "rejected" })).toEqual([0, []]);
  });

  test("claims of one moment are listed by id, the greatest first, each once over all pages", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const ids: string[] = [];
    for (const person of ["one", "two", "three"]) {
      const { value } = await door.claim(m.claimOf(org, `${person}@elsewhere.example`));
      ids.push(value.claimId);
    }
    await db().query(
      "update app_public.organization_claims set created_at = '2026-01-01Z' where claim_id = any ($1)",
      [ids],
    );
    const pages = [];
    for (const offset of [0, 2]) {
      const { value } = await door.claims(`head@${org.domain}`, { limit: 2, offset });
      pages.push(value.claims.map(({ claimId }: { claimId: string }) => claimId));
    }
    const [one, two, three] = ids.toSorted().toReversed();
    expect(pages).toEqual([[one, two], [three]]);
  });

  describe("a new organization", () => {
    const proposal = (userEmail: string, orgName: string) => ({
      userEmail,
      firstName: "Ana",
      lastName: "Silva",
      roles: ["founder"],
      orgName,
      isNewOrg: true,
      orgDomain: userEmail.split("@")[1],
    });
    /** Whether a key with the least scope sees the organization. */
    const isListed = async (orgUri: string) => {
      const { rows } = await db().query<{ found: string }>(
        "select app_private.run_as('api_read', 'select count(*)::text from app_public.organizations where org_uri = $1 ->> ''orgUri''', $1) as found",
        [{ orgUri }],
      );
      return rows[0]!.found === "1";
    };

    test("is public once it is approved", async () => {
      const { value } = await door.claim(proposal(`one@${name.toLowerCase()}-a.example`, "Proposal A"));
      expect(await isListed(value.orgUri)).toBe(false);
      await door.review({
        claimId: value.claimId,
        action: "approve",
        adminEmail: m.platformAdmin,
        role: "org_admin",
      });
      expect(await isListed(value.orgUri)).toBe(true);
      expect(await m.membershipOf(db(), value.orgUri, `one@${name.toLowerCase()}-a.example`)).toBe(
        "org_admin active",
      );
    });

    test("is public once one claim to it is approved, although another one still waits", async () => {
      const first = await door.claim(proposal(`one@${name.toLowerCase()}-f.example`, "Proposal F"));
      const { orgUri } = first.value;
      const second = await door.claim({
        ...proposal("two@elsewhere.example", "Proposal F"),
        ...{ isNewOrg: false, orgUri },
      });
      expect(second.value).toMatchObject({ orgUri, status: "pending" });
      expect(await isListed(orgUri)).toBe(false);
      await door.review({ claimId: first.value.claimId, action: "approve", adminEmail: m.support });
      expect(await isListed(orgUri)).toBe(true);
      expect((await m.historyOf(db(), second.value.claimId)).at(-1)).toEqual([
        ...["submitted", "pending_review", null],
      ]);
    });

    test("disappears when it is rejected, and can no longer be claimed", async () => {
      const { value } = await door.claim(proposal(`one@${name.toLowerCase()}-b.example`, "Proposal B"));
      const notes = "This organization exists already.";
      await door.review({ claimId: value.claimId, action: "reject", adminEmail: m.support, notes });
      expect(await isListed(value.orgUri)).toBe(false);
      const again = {
        ...proposal("two@elsewhere.example", "Proposal B"),
        isNewOrg: false,
        orgUri: value.orgUri,
      };
      expect(await door.claim(again)).toEqual({ refusal: "404 organization_not_found" });
    });

    test("cannot be proposed twice at a time by the same person", async () => {
      const twice = proposal(`one@${name.toLowerCase()}-c.example`, "Proposal C");
      const { value: first } = await door.claim(twice);
      expect(first.resultVariant).toBe("new-org");
      for (const orgName of ["Proposal C", "PROPOSAL C"]) {
        expect(await door.claim({ ...twice, orgName })).toEqual({ refusal: "409 claim_pending" });
      }
      const another = proposal(`two@${name.toLowerCase()}-c.example`, "Proposal C");
      expect((await door.claim(another)).value.resultVariant).toBe("new-org");
      const { claimId } = first;
      await door.review({ claimId, action: "reject", adminEmail: m.support, notes: "Say more." });
      expect((await door.claim(twice)).value.resultVariant).toBe("new-org");
    });

    test("waits for its other claim when one is rejected", async () => {
      const first = await door.claim(proposal(`one@${name.toLowerCase()}-e.example`, "Proposal E"));
      const { orgUri } = first.value;
      const second = await door.claim({
        ...proposal("two@elsewhere.example", "Proposal E"),
        ...{ isNewOrg: false, orgUri },
      });
      const decide = (claimId: string, decision: object) =>
        door.review({ claimId, adminEmail: m.support, ...decision });
      await decide(first.value.claimId, { action: "reject", notes: "Who?" });
      const { rows } = await db().query("select status from app_public.organizations where org_uri = $1", [
        orgUri,
      ]);
      expect(rows).toEqual([{ status: "proposed" }]);
      await decide(second.value.claimId, { action: "approve" });
      expect(await isListed(orgUri)).toBe(true);
    });

    test("does not get a mail provider's domain", async () => {
      const email = `${name.toLowerCase()}.one@gmail.com`;
      const { value } = await door.claim({ ...proposal(email, "Proposal D"), orgDomain: "GMail.com." });
      const { rows } = await db().query("select domain from app_public.organizations where org_uri = $1", [
        value.orgUri,
      ]);
      expect(rows).toEqual([{ domain: null }]);
    });
  });

  test("the fallback: an approved claim without a membership row may write; a suspended membership may not", async () => {
    const { org, claimId } = await pendingClaim();
    const ana = "ana@elsewhere.example";
    const head = `head@${org.domain}`;
    const need = {
      orgUri: org.uri,
      orgName: org.name,
      declaredByEmail: ana,
      needDescription: "Prayer",
      accelerators: ["PRA-INT"],
    };
    const stranger = { refusal: "403 membership_required" };
    expect(await door.declareNeed(need)).toEqual(stranger);
    await door.review({ claimId, action: "approve", adminEmail: head, role: "org_contributor" });
    await db().query(
      "delete from app_public.memberships where org_uri = $1 and user_id = (select user_id from app_public.users where email = $2)",
      [org.uri, ana],
    );
    expect((await door.declareNeed(need)).value.status).toBe("open");
    expect((await door.checkUser(ana)).value).toMatchObject({ exists: true, orgUri: org.uri });

    await db().query("select app_private.add_member($1, $2, 'org_contributor')", [org.uri, ana]);
    expect((await door.declareNeed(need)).value.status).toBe("open");
    for (const status of ["suspended", "revoked"]) {
      await door.setMemberStatus({ orgUri: org.uri, userEmail: ana, status, adminEmail: head });
      expect(await door.declareNeed(need)).toEqual(stranger);
      const { memberships } = (await door.checkUser(ana)).value;
      expect(memberships.map(({ orgUri }: { orgUri: string }) => orgUri)).not.toContain(org.uri);
    }
    await door.setMemberStatus({ orgUri: org.uri, userEmail: ana, status: "active", adminEmail: head });
    expect((await door.declareNeed(need)).value.status).toBe("open");
  });

  test("check-user: who is known, and for which organization they act", async () => {
    const org = await m.addOrganization(db());
    expect((await door.checkUser(`first@${org.domain}`)).value).toEqual({
      exists: false,
      memberships: [],
    });
    await door.claim(m.claimOf(org, `first@${org.domain}`));
    expect((await door.checkUser(`FIRST@${org.domain}`)).value).toEqual({
      exists: true,
      firstName: "Ana",
      lastName: "Silva",
      orgUri: org.uri,
      orgName: org.name,
      memberships: [{ orgUri: org.uri, orgName: org.name, role: "org_admin" }],
    });
    expect(await door.checkUser("not an address")).toEqual({ refusal: "400 validation_failed" });
  });
});

test("whose membership has ended is told that, whatever claim of theirs was approved; a stranger that there is neither", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const door = m.membershipDoor("REST", () => service);
  const adminEmail = `head@${org.domain}`;
  const userEmail = "Ended@elsewhere.example";
  const { claimId } = (await door.claim(m.claimOf(org, userEmail))).value;
  await door.review({ claimId, action: "approve", adminEmail, role: "org_contributor" });
  const told = async (email: string) => {
    const need = { orgUri: org.uri, orgName: org.name, needDescription: "Prayer", accelerators: ["PRA-INT"] };
    const requests = {
      "/v0/needs": { ...need, declaredByEmail: email },
      "/v0/orgs/members/leave": { orgUri: org.uri, userEmail: email },
    };
    return Promise.all(
      Object.entries(requests).map(async ([path, body]) => {
        const answer = await call(`${service.url}${path}`, "POST", service.keys.write, body);
        expect(answer).toMatchObject({ status: 403, body: { error: "membership_required" } });
        return String(answer.body.message);
      }),
    );
  };
  for (const status of ["suspended", "revoked"]) {
    await door.setMemberStatus({ orgUri: org.uri, userEmail, status, adminEmail });
    const said = `The acting user's membership of this organization is ${status}.`;
    expect(await told(userEmail.toUpperCase())).toEqual([said, said]);
  }
  for (const said of await told("nobody@elsewhere.example")) expect(said).toContain("no approved claim");
});

test("the same Idempotency-Key returns the same claim again, and check-user answers POST too", async () => {
  const org = await m.addOrganization(db());
  const claim = () =>
    call(
      `${service.url}/v0/onboarding/claim-org`,
      "POST",
      service.keys.write,
      m.claimOf(org, `x@${org.domain}`),
      {
        "idempotency-key": org.uri,
      },
    );
  const first = await claim();
  expect(first).toMatchObject({ status: 200, body: { resultVariant: "claimed" } });
  expect(await claim()).toMatchObject({ status: 200, body: first.body });
  const check = await call(`${service.url}/v0/onboarding/check-user`, "POST", service.keys.write, {
    email: `x@${org.domain}`,
  });
  expect(check.body).toMatchObject({ exists: true, orgUri: org.uri });
});

test("REST lists a claim by the names that the dashboard expects, and answers a review with success", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const door = m.membershipDoor("REST", () => service);
  const { value } = await door.claim(m.claimOf(org, "Dashboard@elsewhere.example"));
  const headers = { "x-admin-email": `head@${org.domain}` };
  const list = (query = "", given = headers) =>
    call(`${service.url}/v0/admin/claims${query}`, "GET", service.keys.review, undefined, given);
  expect((await list("?status=pending")).body).toEqual({
    claims: [
      {
        id: value.claimId,
        user_email: "Dashboard@elsewhere.example",
        user_first_name: "Ana",
        user_last_name: "Silva",
        org_uri: org.uri,
        org_name: org.name,
        is_new_org: false,
        email_domain: "elsewhere.example",
        org_domain: org.domain,
        domain_match: false,
        status: "pending",
        routed_to: "organization",
        result_variant: "request-sent",
        new_org_website: null,
        new_org_type: null,
        reviewed_by: null,
        reviewed_at: null,
        review_notes: null,
        created_at: expect.any(String),
        email_verified: false,
        org_domain_stated: false,
        roles: ["field coordinator"],
        similar_organizations: expect.any(Array),
        history: [
          {
            from_status: null,
            to_status: "pending",
            changed_by_email: expect.any(String),
            changed_at: expect.any(String),
          },
        ],
      },
    ],
    total: 1,
  });
  expect((await list("?status=rejected")).body).toEqual({ claims: [], total: 0 });
  expect((await list("?status=odd")).body.error).toBe("validation_failed");
  expect((await list("", {} as typeof headers)).body.details).toEqual([
    { path: "x-admin-email", message: "is required" },
  ]);
  const review = { claimId: value.claimId, action: "approve", adminEmail: `head@${org.domain}` };
  const decided = await call(`${service.url}/v0/admin/claims/review`, "POST", service.keys.review, review);
  expect(decided).toMatchObject({
    status: 200,
    body: { success: true, claimId: value.claimId, newStatus: "approved" },
  });
});

test("new organizations get URIs under GRAPH_DATA_URL", async () => {
  const { graphDataUrl, namespaceUrl } = loadConfig({});
  await saveSettings(db(), { graphDataUrl: "https://graph.river.example/data", namespaceUrl });
  try {
    const { value } = await m
      .membershipDoor("REST", () => service)
      .claim({
        ...{ userEmail: "one@elsewhere.example", firstName: "Ana", lastName: "Silva", roles: [] },
        ...{ orgName: "Named elsewhere", isNewOrg: true },
      });
    expect(value.orgUri).toMatch(/^https:\/\/graph\.river\.example\/data\/org\/[0-9a-f-]{36}$/);
  } finally {
    await saveSettings(db(), { graphDataUrl, namespaceUrl });
  }
});
