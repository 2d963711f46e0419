// Who belongs to an organization by an approved claim alone, without a membership: they are members wherever members are
// listed and counted, and whoever may change members can change and remove them.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { tool } from "./support/tool.ts";
import { buildWorld } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ world: false });
  // For the vocabulary.
  await buildWorld(service.database.owner);
  await m.addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

const db = () => service.database.owner;
const newPerson = () => `Cid.${randomBytes(4).toString("hex")}@elsewhere.example`;
const refused = (refusal: string) => ({ refusal });

/** Roles and statuses that a person had in an organization, in turn, and by whom. */
async function historyOf(orgUri: string, email: string): Promise<string[]> {
  const { rows } = await db().query<{ event: string }>(
    `select concat_ws(' ', h.role, h.status, 'by', h.changed_by_email) as event from app_private.role_history as h
     join app_public.users as u using (user_id) where h.org_uri = $1 and u.email = $2 order by role_history_id`,
    [orgUri, email],
  );
  return rows.map(({ event }) => event);
}

describe.each(m.DOORS)("through %s", (name) => {
  const door = m.membershipDoor(name, () => service);
  const needOf = (org: m.TestOrganization, declaredByEmail: string) =>
    door.declareNeed({
      ...{ orgUri: org.uri, orgName: org.name, needDescription: "x", accelerators: ["PRA"] },
      declaredByEmail,
    });

  test("who belongs by an approved claim alone is listed among the members, once, since the latest such claim", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin", reader: "org_member" });
    const email = newPerson();
    for (const year of ["2021", "2023", "2022"]) await m.addApprovedClaim(db(), org, email, `${year}-01-01Z`);
    const waiting = newPerson();
    await door.claim(m.claimOf(org, waiting));
    const before = await m.addOrganization(db(), { head: "org_admin" });
    await m.addApprovedClaim(db(), before, email);

    for (const reader of ["head", "reader"]) {
      const { value } = await door.members(org.uri, `${reader}@${org.domain}`);
      expect(value.total).toBe(3);
      expect(value.members[0]).toEqual({
        ...{ orgUri: org.uri, userEmail: email, role: "org_contributor", status: "active" },
        ...{ firstName: null, lastName: null },
        createdAt: expect.stringMatching(/^2023-01-01T/),
        updatedAt: expect.not.stringMatching(/^2023-/),
      });
      expect(value.members.map(({ userEmail }: { userEmail: string }) => userEmail)).toEqual([
        ...[email, `head@${org.domain}`, `reader@${org.domain}`],
      ]);
    }
    const { value } = await door.users(m.support);
    const membershipsOf = (person: string) =>
      value.users.find((user: { email: string }) => user.email === person).memberships;
    const standing = { role: "org_contributor", status: "active" };
    expect(membershipsOf(email)).toEqual(
      [org, before]
        .toSorted((one, other) => (one.uri < other.uri ? -1 : 1))
        .map(({ uri, name: orgName }) => ({ orgUri: uri, orgName, ...standing })),
    );
    expect(membershipsOf(waiting)).toEqual([]);
  });

  test.each([
    ["suspended", "setMemberStatus", { status: "suspended" }, ["org_contributor suspended"]],
    ["removed", "setMemberStatus", { status: "revoked" }, ["org_contributor revoked"]],
    ["given a lesser role", "setMemberRole", { role: "org_member" }, ["org_member active"]],
    ["made an administrator", "setMemberRole", { role: "org_admin" }, ["org_admin active"]],
    ["left as they are", "setMemberStatus", { status: "active" }, []],
  ] as const)(
    "who belongs by an approved claim alone is %s by whoever manages the members",
    async (_, operation, fields, changes) => {
      const org = await m.addOrganization(db(), { head: "org_admin", writer: "org_contributor" });
      const elsewhere = await m.addOrganization(db(), { head: "org_admin" });
      const email = newPerson();
      await m.addApprovedClaim(db(), org, email, "2022-01-01Z");
      await m.addApprovedClaim(db(), org, email, "2021-01-01Z");
      await m.addApprovedClaim(db(), elsewhere, email);
      expect((await needOf(org, email)).value).toMatchObject({ status: "open" });

      const adminEmail = `head@${org.domain}`;
      const change = { orgUri: org.uri, userEmail: email.toUpperCase(), ...fields };
      const other = { ...change, adminEmail: `writer@${org.domain}` };
      expect(await door[operation](other)).toEqual(refused("403 insufficient_role"));
      expect(await historyOf(org.uri, email)).toEqual([]);
      const { value } = await door[operation]({ ...change, adminEmail });
      const become = { role: "org_contributor", status: "active", ...fields };
      expect(value).toMatchObject({
        ...{ orgUri: org.uri, userEmail: email, ...become },
        createdAt: expect.stringMatching(/^2022-01-01T/),
        updatedAt: expect.not.stringMatching(/^202[12]-/),
      });
      // Listed as before, with what has changed, and no longer able to do what the claim gave.
      const { value: listed } = await door.members(org.uri, adminEmail);
      expect(listed.members.filter((one: { userEmail: string }) => one.userEmail === email)).toEqual([value]);
      expect(await m.membershipOf(db(), org.uri, email)).toBe(`${become.role} ${become.status}`);
      expect(await historyOf(org.uri, email)).toEqual(
        ["org_contributor active", ...changes].map((event) => `${event} by ${adminEmail}`),
      );
      const refusal = become.status === "active" ? "403 insufficient_role" : "403 membership_required";
      const mayWrite = become.status === "active" && become.role !== "org_member";
      const now = await needOf(org, email);
      expect(mayWrite ? now.value : now).toMatchObject(mayWrite ? { status: "open" } : { refusal });
      // What they are elsewhere is not concerned.
      expect(await historyOf(elsewhere.uri, email)).toEqual([]);
      expect((await needOf(elsewhere, email)).value).toMatchObject({ status: "open" });
    },
  );

  test("who only has a claim that waits or was refused is no member who could be changed", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const adminEmail = `head@${org.domain}`;
    const [waiting, rejected] = [newPerson(), newPerson()];
    await door.claim(m.claimOf(org, waiting));
    const { claimId } = (await door.claim(m.claimOf(org, rejected))).value;
    await door.review({ claimId, action: "reject", notes: "No.", adminEmail });
    for (const userEmail of [waiting, rejected]) {
      const change = { orgUri: org.uri, userEmail, adminEmail };
      const unknown = refused("404 member_not_found");
      expect(await door.setMemberStatus({ ...change, status: "suspended" })).toEqual(unknown);
      expect(await door.setMemberRole({ ...change, role: "org_member" })).toEqual(unknown);
    }
    expect((await door.members(org.uri, adminEmail)).value.total).toBe(1);
  });

  test("who leaves what an approved claim gave leaves the role that it gave, since when it gave it", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const email = newPerson();
    await m.addApprovedClaim(db(), org, email, "2021-01-01Z");
    await m.addApprovedClaim(db(), org, email, "2022-01-01Z");
    expect((await door.leave({ orgUri: org.uri, userEmail: email.toLowerCase() })).value).toMatchObject({
      ...{ role: "org_contributor", status: "revoked" },
      createdAt: expect.stringMatching(/^2022-01-01T/),
    });
    expect(await historyOf(org.uri, email)).toEqual(
      ["active", "revoked"].map((status) => `org_contributor ${status} by ${email.toLowerCase()}`),
    );
  });
});

test("the operator lists who belongs by an approved claim alone, ends that, and appoints them", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const email = newPerson();
  await m.addApprovedClaim(db(), org, email);
  const members = async (command: string, ...options: string[]) => {
    const args = ["members", command, "--org", org.uri, ...options, "--json"];
    const { code, stdout } = await tool(args, { DATABASE_URL: service.database.url });
    expect(code).toBe(0);
    return JSON.parse(stdout);
  };
  const standing = { email, role: "org_contributor", createdAt: expect.stringMatching(/^2024-01-01/) };
  expect(await members("list")).toMatchObject([{ ...standing, status: "active" }, { role: "org_admin" }]);
  const ended = { ...standing, status: "revoked" };
  expect(await members("status", "--email", email, "--status", "revoked")).toMatchObject(ended);
  expect(await members("list")).toMatchObject([ended, { role: "org_admin" }]);
  expect(await historyOf(org.uri, email)).toEqual([
    ...["org_contributor active by", "org_contributor revoked by"],
  ]);
  // Appointed, they have been members for as long as before.
  const other = newPerson();
  await m.addApprovedClaim(db(), org, other);
  const appointed = { ...standing, email: other, role: "org_admin", status: "active" };
  expect(await members("add", "--email", other, "--role", "org_admin")).toMatchObject(appointed);
  expect(await historyOf(org.uri, other)).toEqual([...["org_contributor active by", "org_admin active by"]]);
});

test("who belongs by an approved claim alone is counted, once, as a member of an organization that is like a claimed one", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin", gone: "org_member" });
  await db().query("select app_private.change_member($1, $2, null, 'suspended')", [
    org.uri,
    `gone@${org.domain}`,
  ]);
  const email = newPerson();
  for (const year of ["2021", "2022"]) await m.addApprovedClaim(db(), org, email, `${year}-01-01Z`);
  const { orgUri: _, ...claim } = m.claimOf(org, newPerson());
  await m
    .membershipDoor("REST", () => service)
    .claim({ ...claim, isNewOrg: true, newOrgWebsite: `https://${org.domain}` });
  const { body } = await call(
    `${service.url}/v0/admin/claims?status=pending&limit=1`,
    "GET",
    service.keys.review,
    undefined,
    { "x-admin-email": m.support },
  );
  expect(body.claims[0].similar_organizations).toMatchObject([{ org_uri: org.uri, members: 2 }]);
});
