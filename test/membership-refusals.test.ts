// What the claim lifecycle refuses, by code, at every door.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { otherAdmin } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await m.addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

const db = () => service.database.owner;

async function countClaims(): Promise<number> {
  const { rows } = await db().query<{ n: number }>(
    "select count(*)::integer as n from app_public.organization_claims",
  );
  return rows[0]!.n;
}

describe.each(m.DOORS)("refused through %s:", (name) => {
  const door = m.membershipDoor(name, () => service);

  async function pendingClaim(
    email = "ana@elsewhere.example",
    members: Record<string, string> = { head: "org_admin" },
  ) {
    const org = await m.addOrganization(db(), members);
    const { value } = await door.claim(m.claimOf(org, email));
    return { org, claimId: value.claimId as string };
  }

  test("self-review, by a future org_admin as well as by a platform admin", async () => {
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
    expect(await m.membershipOf(db(), org.uri, "ana@elsewhere.example")).toBeUndefined();
    expect((await m.historyOf(db(), claimId)).length).toBe(2);
  });

  test("review by an org_admin of what was sent to the platform", async () => {
    const org = await m.addOrganization(db());
    const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [org.uri, `late@${org.domain}`]);
    const review = { claimId: value.claimId, action: "approve", adminEmail: `late@${org.domain}` };
    expect(await door.review(review)).toEqual({ refusal: "403 permission_required" });
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
    expect(await m.membershipOf(db(), org.uri, "ana@elsewhere.example")).toBe("org_member active");
  });

  test("a claim to an organization that the person belongs to, by membership or by an approved claim", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin", reader: "org_member" });
    const refused = { refusal: "409 already_member" };
    expect(await door.claim(m.claimOf(org, `reader@${org.domain}`))).toEqual(refused);
    expect(await door.claim(m.claimOf(org, `Reader@${org.domain}`))).toEqual(refused);
    const change = { orgUri: org.uri, userEmail: `reader@${org.domain}`, adminEmail: `head@${org.domain}` };
    await door.setMemberStatus({ ...change, status: "suspended" });
    expect(await door.claim(m.claimOf(org, `reader@${org.domain}`))).toEqual(refused);
    // Somebody who is no longer a member may ask again, and is never let in without a review.
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

  test("a claim to no organization, or to two", async () => {
    const org = await m.addOrganization(db());
    const claim = m.claimOf(org, "ana@elsewhere.example");
    expect(await door.claim({ ...claim, orgUri: `${org.uri}-not` })).toEqual({
      refusal: "404 organization_not_found",
    });
    expect(await door.claim({ ...claim, orgUri: undefined })).toEqual({ refusal: "400 validation_failed" });
    expect(await door.claim({ ...claim, isNewOrg: true })).toEqual({ refusal: "400 validation_failed" });
    for (const wrong of [{ userEmail: "ana@example.org." }, { orgDomain: "no domain" }]) {
      expect([wrong, await door.claim({ ...claim, ...wrong })]).toEqual([
        wrong,
        { refusal: "400 validation_failed" },
      ]);
    }
  });

  test("a claim of which something is missing, too much or malformed", async () => {
    const claim = m.claimOf(await m.addOrganization(db()), "ana@elsewhere.example");
    const proposal = { ...claim, isNewOrg: true, orgUri: undefined };
    const before = await countClaims();
    for (const wrong of [
      { ...claim, firstName: " " },
      { ...claim, lastName: " " },
      { ...claim, roles: Array.from({ length: 101 }, (_, n) => `role ${n}`) },
      { ...proposal, newOrgName: "a\nb" },
      { ...proposal, newOrgType: "a\nb" },
    ]) {
      expect([wrong, await door.claim(wrong)]).toEqual([wrong, { refusal: "400 validation_failed" }]);
    }
    expect(await countClaims()).toBe(before);
  });

  test("looking up, reviewing or listing without being anybody", async () => {
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
    for (const page of [{ limit: 201 }, { limit: 0 }, { offset: -1 }]) {
      expect(await door.claims(m.support, page)).toEqual({ refusal: "400 validation_failed" });
    }
    expect((await door.claims(m.support, { limit: 200, offset: 0 })).refusal).toBeUndefined();
    // PostgreSQL would refuse it as well, and not say which input is at fault.
    await expect(
      db().query('select app_public.organization_claims_for_review(admin_email => $1, "offset" => -1)', [
        m.support,
      ]),
    ).rejects.toMatchObject({ code: "PT400", hint: expect.stringContaining('"offset"') });
  });
});

test.each<[string, string, string[]]>([
  ["set_member_role", "'nowhere', 'nobody', null, 'nobody'", ["orgUri", "userEmail", "role", "adminEmail"]],
  [
    "set_member_status",
    "'nowhere', 'nobody', null, 'nobody'",
    ["orgUri", "userEmail", "status", "adminEmail"],
  ],
  ["organization_members", "'nowhere', 'nobody'", ["orgUri", "adminEmail"]],
  ["update_organization", "'nowhere', 'nobody', ' '", ["orgUri", "adminEmail", "name"]],
  ["update_organization", "'nowhere', 'nobody'", ["orgUri", "adminEmail", "name"]],
  ["update_organization", "'nowhere', 'nobody', domain => 'gmail.com'", ["orgUri", "adminEmail", "domain"]],
  [
    "appoint_administrator",
    "'nowhere', 'nobody', 'nobody', 'org_member'",
    ["orgUri", "userEmail", "role", "adminEmail"],
  ],
  ["set_platform_role", "'nobody', null, 'nobody'", ["userEmail", "role", "adminEmail"]],
  ["platform_users", "'nobody', 0, -1", ["adminEmail", "limit", "offset"]],
  ["review_organization_claim", "null, null, 'nobody'", ["claimId", "action", "adminEmail"]],
  ["organization_claims_for_review", "'nobody', null, 0, -1", ["adminEmail", "limit", "offset"]],
  ["own_organization_claims", "'nobody', 0, -1", ["userEmail", "limit", "offset"]],
  ["withdraw_organization_claim", "null, 'nobody'", ["claimId", "userEmail"]],
  ["leave_organization", "'nowhere', 'nobody'", ["orgUri", "userEmail"]],
  [
    "claim_organization",
    "'nobody', 'Ana', 'Silva', array[repeat('x', 65)], ' ', null, 'nowhere', 'no domain', new_org_website => 'ftp://x.example'",
    ["userEmail", "roles[0]", "orgName", "isNewOrg", "orgDomain", "newOrgWebsite"],
  ],
])("%s names at once all that is malformed, for the database alone", async (name, given, paths) => {
  const { hint = "[]" } = await db()
    .query(`select app_public.${name}(${given})`)
    .then(() => ({ hint: "[]" }))
    .catch((error: { hint?: string }) => error);
  expect((JSON.parse(hint) as { path: string }[]).map(({ path }) => path)).toEqual(paths);
});

test("nobody can write the history, and a claim moves only along the lifecycle", async () => {
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
  for (const status of ["submitted", "pending_review", "withdrawn"]) {
    await expect(move(status)).rejects.toMatchObject({ code: "23514" });
  }
  await move("rejected");
  for (const status of ["submitted", "pending_review", "reviewed", "approved"]) {
    await expect(move(status)).rejects.toMatchObject({ code: "PT409", detail: "already_reviewed" });
  }
  const begun = db().query(
    `insert into app_public.organization_claims (user_id, org_uri, org_name, email_domain, status, result_variant, routed_to)
     select user_id, org_uri, org_name, email_domain, 'pending_review', 'request-sent', 'organization'
     from app_public.organization_claims where claim_id = $1`,
    [value.claimId],
  );
  await expect(begun).rejects.toMatchObject({
    code: "23514",
    message: "an organization claim cannot go  → pending_review",
  });
  const again = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
  const { claimId } = again.value;
  await door.withdraw({ claimId, userEmail: "ana@elsewhere.example" });
  await expect(
    db().query("update app_public.organization_claims set status = 'reviewed' where claim_id = $1", [
      claimId,
    ]),
  ).rejects.toMatchObject({ code: "PT409", detail: "already_reviewed" });
  // Before it has been seen to whether it needs a review.
  const { rows } = await db().query<{ id: string }>(
    `insert into app_public.organization_claims (user_id, org_uri, org_name, email_domain, status)
     select user_id, org_uri, org_name, email_domain, 'submitted'
     from app_public.organization_claims where claim_id = $1 returning claim_id as id`,
    [claimId],
  );
  for (const status of ["reviewed", "rejected", "withdrawn"]) {
    const moved = db().query(
      "update app_public.organization_claims set status = $2::app_public.organization_claim_status, review_notes = 'x' where claim_id = $1",
      [rows[0]!.id, status],
    );
    await expect(moved).rejects.toMatchObject({
      code: "23514",
      message: `an organization claim cannot go submitted → ${status}`,
    });
  }
});

test("what is wrong with a claim is said of the field that was sent, also where a row would be refused for it later", async () => {
  const { uri } = await m.addOrganization(db());
  const claim = (wrong: { first?: null; last?: string; roles?: string[] } = {}) =>
    db().query(
      `select app_public.claim_organization('ana@elsewhere.example', $1, $2, $3, 'River', false, org_uri => $4)`,
      [wrong.first === null ? null : "Ana", wrong.last ?? "Silva", wrong.roles ?? [], uri],
    );
  await expect(claim({ first: null })).rejects.toThrow("firstName is required and must not be empty.");
  await expect(claim({ last: " " })).rejects.toThrow("lastName is required and must not be empty.");
  await expect(claim({ roles: Array(101).fill("x") })).rejects.toThrow("roles must have at most 100 items.");
  for (const [name, argument] of [
    ["newOrgName", "new_org_name"],
    ["newOrgType", "new_org_type"],
  ])
    await expect(
      db().query(
        `select app_public.claim_organization('ana@elsewhere.example', 'Ana', 'Silva', '{}', 'River', true, ${argument} => E'a\nb')`,
      ),
    ).rejects.toThrow(`${name} must be one line without tabs.`);
});
