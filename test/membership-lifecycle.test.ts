// Each row of the specification's "Organization claim lifecycle", and what the lifecycle refuses, at every door.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { otherAdmin } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await m.addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

const db = () => service.database.owner;

async function historyOf(claimId: string): Promise<unknown[]> {
  const { rows } = await db().query<{ from: string; to: string; by: string; dated: boolean }>(
    `select from_status as from, to_status as to, changed_by_email as by, changed_at is not null as dated
     from app_public.organization_claim_history where claim_id = $1 order by claim_history_id`,
    [claimId],
  );
  expect(rows.every((row) => row.dated)).toBe(true);
  return rows.map(({ from, to, by }) => [from, to, by]);
}

async function membershipOf(orgUri: string, email: string): Promise<string | undefined> {
  const { rows } = await db().query<{ standing: string }>(
    `select role || ' ' || status as standing from app_public.memberships join app_public.users using (user_id)
     where org_uri = $1 and lower(email) = lower($2)`,
    [orgUri, email],
  );
  return rows[0]?.standing;
}

async function countClaims(): Promise<number> {
  const { rows } = await db().query<{ n: number }>(
    "select count(*)::integer as n from app_public.organization_claims",
  );
  return rows[0]!.n;
}

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

  describe("the lifecycle", () => {
    test("(start) → Submitted: a person selects an organization, and the auto-approval check runs", async () => {
      const org = await m.addOrganization(db());
      const { value } = await door.claim(m.claimOf(org, `first@${org.domain}`));
      expect(value).toMatchObject({ orgUri: org.uri, orgName: org.name });
      expect((await historyOf(value.claimId)).slice(0, 2)).toEqual([
        [null, "submitted", `first@${org.domain}`],
        ["submitted", "approved", null],
      ]);
    });

    test("(start) → Submitted: a person creates an organization, which gets a URI and waits for the platform", async () => {
      const { value } = await door.claim({
        userEmail: "founder@new-mission.example",
        firstName: "Ana",
        lastName: "Silva",
        roles: [],
        orgName: "New Mission",
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
      expect(await historyOf(value.claimId)).toEqual([
        [null, "submitted", "founder@new-mission.example"],
        ["submitted", "pending_review", null],
      ]);
      const { value: page } = await door.claims(m.support, { limit: 1 });
      expect(page.claims[0]).toMatchObject({
        claimId: value.claimId,
        isNewOrg: true,
        routedTo: "platform",
        domainMatch: true,
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
      expect(await membershipOf(org.uri, first)).toBe("org_admin active");
    });

    test("Submitted → Pending Review: the domain does not match", async () => {
      const org = await m.addOrganization(db());
      const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
      expect(value).toMatchObject({ resultVariant: "manual-review", status: "pending" });
      expect(await historyOf(value.claimId)).toContainEqual(["submitted", "pending_review", null]);
      expect(await membershipOf(org.uri, "ana@elsewhere.example")).toBeUndefined();
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
      for (const role of [undefined, "org_member", "org_contributor", "org_admin"]) {
        const { org, claimId } = await pendingClaim();
        const reviewer = `head@${org.domain}`;
        const { value } = await door.review({ claimId, action: "approve", adminEmail: reviewer, role });
        expect(value).toMatchObject({ claimId, newStatus: "approved" });
        expect(await membershipOf(org.uri, "ana@elsewhere.example")).toBe(`${role ?? "org_member"} active`);
        expect((await historyOf(claimId)).slice(2)).toEqual([
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
      const { value } = await door.review({ ...decision, notes: "We do not know this person." });
      expect(value).toMatchObject({ claimId, newStatus: "rejected" });
      expect(await membershipOf(org.uri, "ana@elsewhere.example")).toBeUndefined();
      expect((await historyOf(claimId)).at(-1)).toEqual(["reviewed", "rejected", reviewer]);
      const archived = await door.claims(reviewer, { status: "rejected" });
      expect(archived.value.claims[0]).toMatchObject({
        claimId,
        status: "rejected",
        reviewedBy: reviewer,
        reviewedAt: expect.any(String),
        reviewNotes: "We do not know this person.",
      });
      // Who was rejected may ask again.
      expect((await door.claim(m.claimOf(org, "ana@elsewhere.example"))).value.status).toBe("pending");
    });
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
    /** Whether a key of the least scope sees the organization. */
    const isListed = async (orgUri: string) => {
      const { rows } = await db().query<{ found: string }>(
        "select app_private.run_as('api_read', 'select count(*)::text from app_public.organizations where org_uri = $1 ->> ''orgUri''', $1) as found",
        [{ orgUri }],
      );
      return rows[0]!.found === "1";
    };

    test("is public from its approval on", async () => {
      const { value } = await door.claim(proposal(`one@${name.toLowerCase()}-a.example`, "Proposal A"));
      expect(await isListed(value.orgUri)).toBe(false);
      await door.review({
        claimId: value.claimId,
        action: "approve",
        adminEmail: m.platformAdmin,
        role: "org_admin",
      });
      expect(await isListed(value.orgUri)).toBe(true);
      expect(await membershipOf(value.orgUri, `one@${name.toLowerCase()}-a.example`)).toBe(
        "org_admin active",
      );
    });

    test("vanishes with its rejection, and cannot be claimed any more", async () => {
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

    test("is not proposed twice by the same person at a time", async () => {
      const twice = proposal(`one@${name.toLowerCase()}-c.example`, "Proposal C");
      expect((await door.claim(twice)).value.resultVariant).toBe("new-org");
      expect(await door.claim(twice)).toEqual({ refusal: "409 claim_pending" });
    });

    test("does not get a mail provider's domain", async () => {
      const email = `${name.toLowerCase()}.one@gmail.com`;
      const { value } = await door.claim(proposal(email, "Proposal D"));
      const { rows } = await db().query("select domain from app_public.organizations where org_uri = $1", [
        value.orgUri,
      ]);
      expect(rows).toEqual([{ domain: null }]);
    });
  });

  describe("refused", () => {
    test("self-review, by an org_admin-to-be as by a platform admin", async () => {
      const org = await m.addOrganization(db());
      const { value } = await door.claim(m.claimOf(org, m.platformAdmin));
      const own = { claimId: value.claimId, action: "approve", adminEmail: m.platformAdmin };
      expect(await door.review(own)).toEqual({ refusal: "403 permission_required" });
      expect(await door.review({ ...own, adminEmail: m.platformAdmin.toUpperCase() })).toEqual({
        refusal: "403 permission_required",
      });
      expect((await door.review({ ...own, adminEmail: m.support })).value.newStatus).toBe("approved");
      await db().query("delete from app_public.memberships where org_uri = $1", [org.uri]);
    });

    test("review by the claimant, a stranger, members without the right, and admins of other organizations", async () => {
      const { org, claimId } = await pendingClaim("ana@elsewhere.example", {
        head: "org_admin",
        helper: "org_contributor",
        reader: "org_member",
      });
      for (const adminEmail of [
        "ana@elsewhere.example",
        "nobody@nowhere.example",
        `helper@${org.domain}`,
        `reader@${org.domain}`,
        otherAdmin,
      ]) {
        expect(await door.review({ claimId, action: "approve", adminEmail })).toEqual({
          refusal: "403 permission_required",
        });
      }
      expect(await membershipOf(org.uri, "ana@elsewhere.example")).toBeUndefined();
      expect((await historyOf(claimId)).length).toBe(2);
    });

    test("review by an org_admin of what was sent to the platform", async () => {
      const org = await m.addOrganization(db());
      const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
      await db().query("select app_private.add_member($1, $2, 'org_admin')", [org.uri, `late@${org.domain}`]);
      const review = { claimId: value.claimId, action: "approve", adminEmail: `late@${org.domain}` };
      expect(await door.review(review)).toEqual({ refusal: "403 permission_required" });
    });

    test("review by support of what needs roles:assign: to make somebody org_admin", async () => {
      const { org, claimId } = await pendingClaim();
      const review = { claimId, action: "approve", role: "org_admin" };
      expect(await door.review({ ...review, adminEmail: m.support })).toEqual({
        refusal: "403 permission_required",
      });
      expect((await door.review({ ...review, adminEmail: m.platformAdmin })).value.newStatus).toBe(
        "approved",
      );
      expect(await membershipOf(org.uri, "ana@elsewhere.example")).toBe("org_admin active");
    });

    test("an api_write or api_read key on review, and an api_read key on onboarding", async () => {
      const { org, claimId } = await pendingClaim();
      const insufficient = { refusal: "403 insufficient_scope" };
      for (const scope of ["read", "write"] as const) {
        const review = { claimId, action: "approve", adminEmail: m.platformAdmin };
        expect(await door.review(review, scope)).toEqual(insufficient);
        expect(await door.claims(m.platformAdmin, {}, scope)).toEqual(insufficient);
        expect(await door.users(m.platformAdmin, scope)).toEqual(insufficient);
        const role = { userEmail: m.support, role: "admin", adminEmail: m.platformAdmin };
        expect(await door.setPlatformRole(role, scope)).toEqual(insufficient);
        expect(await door.members(org.uri, `head@${org.domain}`, scope)).toEqual(insufficient);
      }
      expect(await door.claim(m.claimOf(org, "else@elsewhere.example"), "read")).toEqual(insufficient);
      expect(await door.checkUser(m.support, "read")).toEqual(insufficient);
    });

    test("a second review", async () => {
      const { org, claimId } = await pendingClaim();
      const review = { claimId, action: "approve", adminEmail: `head@${org.domain}` };
      await door.review(review);
      expect(await door.review(review)).toEqual({ refusal: "409 already_reviewed" });
      const otherwise = {
        ...review,
        action: "reject",
        notes: "On second thought.",
        adminEmail: m.platformAdmin,
      };
      expect(await door.review(otherwise)).toEqual({ refusal: "409 already_reviewed" });
      expect(await membershipOf(org.uri, "ana@elsewhere.example")).toBe("org_member active");
    });

    test("a claim on an organization that one belongs to, by membership or by an approved claim", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin", reader: "org_member" });
      const refused = { refusal: "409 already_member" };
      expect(await door.claim(m.claimOf(org, `reader@${org.domain}`))).toEqual(refused);
      expect(await door.claim(m.claimOf(org, `Reader@${org.domain}`))).toEqual(refused);
      const change = { orgUri: org.uri, userEmail: `reader@${org.domain}`, adminEmail: `head@${org.domain}` };
      await door.setMemberStatus({ ...change, status: "suspended" });
      expect(await door.claim(m.claimOf(org, `reader@${org.domain}`))).toEqual(refused);
      // Who is no member any more may ask again, and is never let in without a review.
      await door.setMemberStatus({ ...change, status: "revoked" });
      expect((await door.claim(m.claimOf(org, `reader@${org.domain}`))).value.status).toBe("pending");
    });

    test("a second open claim", async () => {
      const { org } = await pendingClaim();
      const before = await countClaims();
      expect(await door.claim(m.claimOf(org, "ana@elsewhere.example"))).toEqual({
        refusal: "409 claim_pending",
      });
      expect(await door.claim(m.claimOf(org, "ANA@elsewhere.example"))).toEqual({
        refusal: "409 claim_pending",
      });
      expect(await countClaims()).toBe(before);
    });

    test("a claim on no organization, or on two", async () => {
      const org = await m.addOrganization(db());
      const claim = m.claimOf(org, "ana@elsewhere.example");
      expect(await door.claim({ ...claim, orgUri: `${org.uri}-not` })).toEqual({
        refusal: "404 organization_not_found",
      });
      expect(await door.claim({ ...claim, orgUri: undefined })).toEqual({ refusal: "400 validation_failed" });
      expect(await door.claim({ ...claim, isNewOrg: true })).toEqual({ refusal: "400 validation_failed" });
      expect(await door.claim({ ...claim, userEmail: "ana@example.org." })).toEqual({
        refusal: "400 validation_failed",
      });
    });

    test("to look for, review or list without being anybody", async () => {
      const nowhere = "00000000-0000-4000-8000-000000000000";
      const review = { claimId: nowhere, action: "approve" };
      expect(await door.review({ ...review, adminEmail: "nobody@nowhere.example" })).toEqual({
        refusal: "403 permission_required",
      });
      expect(await door.review({ ...review, adminEmail: otherAdmin })).toEqual({
        refusal: "403 permission_required",
      });
      expect(await door.review({ ...review, adminEmail: m.support })).toEqual({
        refusal: "404 claim_not_found",
      });
      expect(await door.claims("nobody@nowhere.example")).toEqual({ refusal: "403 permission_required" });
      expect(await door.claims("not an address")).toEqual({ refusal: "400 validation_failed" });
      expect(await door.claims(m.support, { limit: 201 })).toEqual({ refusal: "400 validation_failed" });
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
    }
    await door.setMemberStatus({ orgUri: org.uri, userEmail: ana, status: "active", adminEmail: head });
    expect((await door.declareNeed(need)).value.status).toBe("open");
  });

  test("check-user: who is known, and for which organization they act", async () => {
    const org = await m.addOrganization(db());
    expect((await door.checkUser(`first@${org.domain}`)).value).toEqual({ exists: false });
    await door.claim(m.claimOf(org, `first@${org.domain}`));
    expect((await door.checkUser(`FIRST@${org.domain}`)).value).toEqual({
      exists: true,
      firstName: "Ana",
      lastName: "Silva",
      orgUri: org.uri,
      orgName: org.name,
    });
    expect(await door.checkUser("not an address")).toEqual({ refusal: "400 validation_failed" });
  });
});

test("the history can be written by nobody, and a claim goes only where the lifecycle goes", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const door = m.membershipDoor("REST", () => service);
  const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
  const move = (status: string) =>
    db().query(
      "update app_public.organization_claims set status = $2::app_public.organization_claim_status, review_notes = 'x' where claim_id = $1",
      [value.claimId, status],
    );
  for (const status of ["submitted", "approved", "rejected"]) {
    await expect(move(status)).rejects.toMatchObject({ code: "23514" });
  }
  await move("reviewed");
  await move("rejected");
  for (const status of ["submitted", "pending_review", "reviewed", "approved"]) {
    await expect(move(status)).rejects.toMatchObject({ code: "PT409", detail: "already_reviewed" });
  }
});

test("the same Idempotency-Key answers the same claim again, and check-user answers POST too", async () => {
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
      },
    ],
    total: 1,
  });
  expect((await list("?status=rejected")).body).toEqual({ claims: [], total: 0 });
  expect((await list("?status=odd")).body.error).toBe("validation_failed");
  expect((await list("", {} as typeof headers)).body.details).toEqual([
    { path: "x-admin-email", message: "must be an e-mail address" },
  ]);
  const review = { claimId: value.claimId, action: "approve", adminEmail: `head@${org.domain}` };
  const decided = await call(`${service.url}/v0/admin/claims/review`, "POST", service.keys.review, review);
  expect(decided).toMatchObject({
    status: 200,
    body: { success: true, claimId: value.claimId, newStatus: "approved" },
  });
});
