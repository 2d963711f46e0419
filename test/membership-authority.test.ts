// Authority is a permission: what a role is called decides nothing, what it includes decides everything.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ world: false });
  await m.addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

const db = () => service.database.owner;
const door = m.membershipDoor("REST", () => service);
const lastAdmin = { refusal: "409 last_admin" };

describe("when contributors manage members and administrators do not", () => {
  let org: m.TestOrganization;
  let manager: string;

  beforeAll(async () => {
    await db().query(`
      delete from app_public.organization_permissions where permission = 'members:manage';
      insert into app_public.organization_permissions values ('org_contributor', 'members:manage')`);
  });
  beforeEach(async () => {
    org = await m.addOrganization(db(), { manager: "org_contributor", admin: "org_admin" });
    manager = `manager@${org.domain}`;
  });

  test("the last contributor is protected, and an administrator does not make up for one", async () => {
    const change = { orgUri: org.uri, userEmail: manager, adminEmail: manager };
    expect(await door.setMemberRole({ ...change, role: "org_admin" })).toEqual(lastAdmin);
    expect(await door.setMemberStatus({ ...change, status: "suspended" })).toEqual(lastAdmin);
    await expect(
      db().query("delete from app_public.memberships where org_uri = $1", [org.uri]),
    ).rejects.toMatchObject({ detail: "last_admin" });
    const other = { ...change, userEmail: `admin@${org.domain}` };
    expect((await door.setMemberRole({ ...other, role: "org_contributor" })).value.role).toBe(
      "org_contributor",
    );
    expect((await door.setMemberRole({ ...change, role: "org_member" })).value.role).toBe("org_member");
  });

  test("an administrator may leave, since nothing depends on them", async () => {
    const leaving = { orgUri: org.uri, userEmail: `admin@${org.domain}`, adminEmail: manager };
    expect((await door.setMemberStatus({ ...leaving, status: "revoked" })).value.status).toBe("revoked");
  });

  test("a claim goes to the contributor, who is told of it and decides", async () => {
    const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
    expect(value.resultVariant).toBe("request-sent");
    const { rows } = await db().query(
      "select kind, recipient from app_private.mails where data ->> 'claimId' = $1",
      [value.claimId],
    );
    expect(rows).toEqual([{ kind: "claim_request", recipient: manager }]);
    const review = { claimId: value.claimId, action: "approve" };
    expect(await door.review({ ...review, adminEmail: `admin@${org.domain}` })).toEqual({
      refusal: "403 permission_required",
    });
    expect((await door.review({ ...review, adminEmail: manager })).value.newStatus).toBe("approved");
  });

  test("a claim to an organization with only an administrator goes to the platform", async () => {
    const bereft = await m.addOrganization(db(), { admin: "org_admin" });
    const { value } = await door.claim(m.claimOf(bereft, "ana@elsewhere.example"));
    expect(value.resultVariant).toBe("manual-review");
  });
});

test("the platform keeps somebody who may assign roles, whatever their role is called", async () => {
  await db().query(`
    delete from app_public.platform_permissions where permission = 'roles:assign';
    insert into app_public.platform_permissions values ('support', 'roles:assign')`);
  const role = { action: "revoke", adminEmail: m.support };
  expect(await door.setPlatformRole({ ...role, userEmail: m.support, role: "support" })).toEqual(lastAdmin);
  expect(
    (await door.setPlatformRole({ ...role, userEmail: m.platformAdmin, role: "admin" })).value.platformRoles,
  ).toEqual([]);
});
