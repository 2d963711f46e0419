// What each role in an organization and on the platform may and may not do, and what goes with managing people.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { enums } from "../db/catalog.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { buildWorld } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ world: false });
  await buildWorld(service.database.owner);
  await m.addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

const db = () => service.database.owner;
const ROLES = enums.organization_role;

describe.each(m.DOORS)("through %s", (name) => {
  const door = m.membershipDoor(name, () => service);
  const everyRole = () => m.addOrganization(db(), Object.fromEntries(ROLES.map((role) => [role, role])));
  const outcome = (reply: m.Reply) => reply.refusal ?? "allowed";

  test("who became known with capitals in their address acts in any case of it", async () => {
    const org = await m.addOrganization(db(), { Writer: "org_contributor" });
    for (const who of ["Writer", "writer", "WRITER"]) {
      const declaredByEmail = `${who}@${org.domain}`;
      const common = { orgUri: org.uri, orgName: org.name, needDescription: "x", accelerators: ["PRA"] };
      expect([who, outcome(await door.declareNeed({ ...common, declaredByEmail }))]).toEqual([
        who,
        "allowed",
      ]);
    }
  });

  describe("what a role in an organization may do", () => {
    const writes = (who: string, org: m.TestOrganization) => {
      const common = { orgUri: org.uri, orgName: org.name };
      const email = `${who}@${org.domain}`;
      return {
        "declare needs": () =>
          door.declareNeed({
            ...common,
            declaredByEmail: email,
            needDescription: "x",
            accelerators: ["PRA"],
          }),
        "declare commitments": () =>
          door.declareCommitment({
            ...common,
            declaredByEmail: email,
            commitmentDescription: "x",
            acceleratorScope: ["PRA"],
          }),
        "submit attestations": () =>
          door.submitEngagementClaim({ ...common, claimedByEmail: email, engagementAccelerators: ["PRA"] }),
        "approve members": async () => {
          const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
          return door.review({ claimId: value.claimId, action: "approve", adminEmail: email });
        },
        "list members": () => door.members(org.uri, email),
        "change a member's role": () =>
          door.setMemberRole({
            orgUri: org.uri,
            userEmail: `org_member@${org.domain}`,
            role: "org_member",
            adminEmail: email,
          }),
        "suspend a member": () =>
          door.setMemberStatus({
            orgUri: org.uri,
            userEmail: `org_contributor@${org.domain}`,
            status: "suspended",
            adminEmail: email,
          }),
        "manage organization metadata": () =>
          door.updateOrganization({ orgUri: org.uri, type: "network", adminEmail: email }),
      };
    };
    const submitting = ["declare needs", "declare commitments", "submit attestations"];
    const managing = ["approve members", "list members", "change a member's role", "suspend a member"];
    const MAY: Record<(typeof ROLES)[number], string[]> = {
      org_admin: [...submitting, ...managing, "manage organization metadata"],
      org_contributor: [...submitting, "list members"],
      org_member: ["list members"],
    };

    test("is listed here for each role", () => expect(Object.keys(MAY).toSorted()).toEqual(ROLES.toSorted()));

    test.each(
      ROLES.flatMap((role) =>
        Object.keys(writes(role, { uri: "", name: "", domain: "" })).map((what) => [role, what] as const),
      ),
    )("%s: %s", async (role, what) => {
      const org = await everyRole();
      const reply = await writes(role, org)[what as keyof ReturnType<typeof writes>]();
      const refusal = what === "approve members" ? "403 permission_required" : "403 insufficient_role";
      expect(outcome(reply)).toBe(MAY[role].includes(what) ? "allowed" : refusal);
    });

    test("an org_admin of another organization, a suspended org_admin and a stranger may do none of it", async () => {
      const org = await m.addOrganization(db(), {
        org_admin: "org_admin",
        gone: "org_admin",
        org_member: "org_member",
      });
      await door.setMemberStatus({
        orgUri: org.uri,
        userEmail: `gone@${org.domain}`,
        status: "suspended",
        adminEmail: `org_admin@${org.domain}`,
      });
      for (const person of ["gone", "unknown"]) {
        for (const [what, attempt] of Object.entries(writes(person, org))) {
          if (what === "approve members") continue;
          expect([person, what, outcome(await attempt())]).toEqual([person, what, "403 membership_required"]);
        }
      }
      const other = await everyRole();
      const adminEmail = `org_admin@${other.domain}`;
      const member = { orgUri: org.uri, userEmail: `org_member@${org.domain}`, adminEmail };
      const refused = { refusal: "403 membership_required" };
      expect(await door.setMemberRole({ ...member, role: "org_admin" })).toEqual(refused);
      expect(await door.setMemberStatus({ ...member, status: "revoked" })).toEqual(refused);
      expect(await door.updateOrganization({ orgUri: org.uri, name: "Taken", adminEmail })).toEqual(refused);
      expect(await door.members(org.uri, adminEmail)).toEqual(refused);
    });
  });

  describe("what a role on the platform may do", () => {
    const actions = {
      "review organization claims": async (adminEmail: string) => {
        const org = await m.addOrganization(db());
        const { value } = await door.claim(m.claimOf(org, "ana@elsewhere.example"));
        return door.review({ claimId: value.claimId, action: "approve", adminEmail });
      },
      "see all organization claims": (adminEmail: string) => door.claims(adminEmail),
      "manage user roles": (adminEmail: string) =>
        door.setPlatformRole({ userEmail: m.support, role: "support", adminEmail }),
      "view all users": (adminEmail: string) => door.users(adminEmail),
    };
    const who = {
      admin: m.platformAdmin,
      support: m.support,
      "no platform role": "contributor@river.example",
    };

    test.each(Object.keys(who).flatMap((role) => Object.keys(actions).map((what) => [role, what] as const)))(
      "%s: %s",
      async (role, what) => {
        const reply = await actions[what as keyof typeof actions](who[role as keyof typeof who]);
        const allowed = role === "admin" || (role === "support" && what !== "manage user roles");
        expect(outcome(reply)).toBe(allowed ? "allowed" : "403 permission_required");
      },
    );
  });

  test("an org_admin gives roles, suspends and readmits, and sees it in the list", async () => {
    const some = {
      org_admin: "org_admin",
      org_contributor: "org_contributor",
      org_member: "org_member",
    } as const;
    const org = await m.addOrganization(db(), some);
    const adminEmail = `org_admin@${org.domain}`;
    const change = { orgUri: org.uri, userEmail: `ORG_member@${org.domain}`, adminEmail };
    expect((await door.setMemberRole({ ...change, role: "org_contributor" })).value).toMatchObject({
      orgUri: org.uri,
      userEmail: `org_member@${org.domain}`,
      role: "org_contributor",
      status: "active",
    });
    expect((await door.setMemberStatus({ ...change, status: "suspended" })).value.status).toBe("suspended");
    const { value } = await door.members(org.uri, adminEmail);
    expect(value.total).toBe(3);
    expect(
      value.members.map((member: { userEmail: string; role: string; status: string }) => [
        member.userEmail.split("@")[0],
        member.role,
        member.status,
      ]),
    ).toEqual([
      ["org_admin", "org_admin", "active"],
      ["org_contributor", "org_contributor", "active"],
      ["org_member", "org_contributor", "suspended"],
    ]);
    const { rows } = await db().query(
      `select role, status, changed_by_email from app_private.role_history join app_public.users using (user_id)
       where org_uri = $1 and email = $2 order by role_history_id`,
      [org.uri, `org_member@${org.domain}`],
    );
    expect(rows).toEqual([
      { role: "org_member", status: "active", changed_by_email: null },
      { role: "org_contributor", status: "active", changed_by_email: adminEmail },
      { role: "org_contributor", status: "suspended", changed_by_email: adminEmail },
    ]);
    const nobody = { ...change, userEmail: "nobody@nowhere.example" };
    expect(await door.setMemberRole({ ...nobody, role: "org_admin" })).toEqual({
      refusal: "404 member_not_found",
    });
  });

  test("who manages the members is told who claims to be one: their address and their names", async () => {
    const org = await everyRole();
    const claim = m.claimOf(org, `${crypto.randomUUID()}@elsewhere.example`);
    await door.claim(claim);
    const { value } = await door.claims(`org_admin@${org.domain}`);
    const { userEmail, firstName: userFirstName, lastName: userLastName } = claim;
    expect(value.claims).toMatchObject([{ userEmail, userFirstName, userLastName }]);
  });

  test("a role and a status change each by itself, and what is so already leaves no trace", async () => {
    const org = await everyRole();
    const email = `org_member@${org.domain}`;
    const change = { orgUri: org.uri, userEmail: email, adminEmail: `org_admin@${org.domain}` };
    await door.setMemberStatus({ ...change, status: "suspended" });
    const times: string[] = [];
    for (const _ of ["once", "again"]) {
      const { value } = await door.setMemberRole({ ...change, role: "org_contributor" });
      expect(value).toMatchObject({ role: "org_contributor", status: "suspended" });
      times.push(value.updatedAt);
    }
    expect(times).toEqual([expect.any(String), times[0]]);
    await door.setMemberStatus({ ...change, status: "suspended" });
    const { rows } = await db().query(
      `select h.role || ' ' || h.status as standing from app_private.role_history as h
       join app_public.users as u using (user_id) where h.org_uri = $1 and u.email = $2 order by role_history_id`,
      [org.uri, email],
    );
    expect(rows.map(({ standing }) => standing)).toEqual([
      "org_member active",
      "org_member suspended",
      "org_contributor suspended",
    ]);
  });

  test("the last org_admin cannot be demoted, suspended or revoked", async () => {
    const org = await everyRole();
    const email = `org_admin@${org.domain}`;
    const change = { orgUri: org.uri, userEmail: email, adminEmail: email };
    const refused = { refusal: "409 last_admin" };
    expect(await door.setMemberRole({ ...change, role: "org_contributor" })).toEqual(refused);
    expect(await door.setMemberStatus({ ...change, status: "suspended" })).toEqual(refused);
    expect(await door.setMemberStatus({ ...change, status: "revoked" })).toEqual(refused);
    // A suspended org_admin does not count.
    await door.setMemberRole({ ...change, userEmail: `org_member@${org.domain}`, role: "org_admin" });
    await door.setMemberStatus({ ...change, userEmail: `org_member@${org.domain}`, status: "suspended" });
    expect(await door.setMemberRole({ ...change, role: "org_contributor" })).toEqual(refused);
    await door.setMemberStatus({ ...change, userEmail: `org_member@${org.domain}`, status: "active" });
    expect((await door.setMemberRole({ ...change, role: "org_contributor" })).value.role).toBe(
      "org_contributor",
    );
  });

  test("the last platform admin cannot be dismissed; another one can", async () => {
    const role = { userEmail: m.platformAdmin, role: "admin", adminEmail: m.platformAdmin };
    expect(await door.setPlatformRole({ ...role, action: "revoke" })).toEqual({ refusal: "409 last_admin" });
    const second = { ...role, userEmail: m.support };
    expect((await door.setPlatformRole({ ...second, action: "grant" })).value.platformRoles).toEqual([
      "admin",
      "support",
    ]);
    expect((await door.setPlatformRole({ ...second, action: "revoke" })).value.platformRoles).toEqual([
      "support",
    ]);
    // What says nothing else gives it.
    expect((await door.setPlatformRole(second)).value.platformRoles).toEqual(["admin", "support"]);
    // Given once more it stays given.
    expect((await door.setPlatformRole(second)).value.platformRoles).toEqual(["admin", "support"]);
    await door.setPlatformRole({ ...second, action: "revoke" });
    const unknown = { ...role, userEmail: "nobody@nowhere.example" };
    expect(await door.setPlatformRole({ ...unknown, action: "grant" })).toEqual({
      refusal: "404 user_not_found",
    });
  });

  test("platform roles that are given and taken away are in the history, by whom", async () => {
    const role = { userEmail: m.support, role: "admin", adminEmail: m.platformAdmin };
    await door.setPlatformRole({ ...role, action: "grant" });
    await door.setPlatformRole({ ...role, action: "revoke" });
    const { rows } = await db().query<{ role: string; status: string; changed_by_email: string }>(
      `select role, status, changed_by_email from app_private.role_history join app_public.users using (user_id)
       where org_uri is null and email = $1 order by role_history_id desc limit 2`,
      [m.support],
    );
    expect(rows).toEqual(
      ["revoked", "active"].map((status) => ({ role: "admin", status, changed_by_email: m.platformAdmin })),
    );
  });

  test("an org_admin changes name, type, website and domain; what is left out stays unchanged", async () => {
    const org = await everyRole();
    const adminEmail = `org_admin@${org.domain}`;
    const update = (fields: object) => door.updateOrganization({ orgUri: org.uri, adminEmail, ...fields });
    expect(
      (await update({ name: " River  ", type: "network", website: "https://river.example" })).value,
    ).toMatchObject({
      orgUri: org.uri,
      name: "River",
      type: "network",
      website: "https://river.example",
      domain: org.domain,
    });
    expect((await update({ name: "Rivers" })).value).toMatchObject({
      name: "Rivers",
      type: "network",
      website: "https://river.example",
      domain: org.domain,
    });
    expect((await update({ domain: "BÜCHER.example.", type: "", website: "" })).value).toMatchObject({
      name: "Rivers",
      type: null,
      website: null,
      domain: "xn--bcher-kva.example",
    });
    const refused = { refusal: "400 validation_failed" };
    expect(await update({})).toEqual(refused);
    expect(await update({ name: " " })).toEqual(refused);
    expect(await update({ website: "javascript:alert(1)" })).toEqual(refused);
    expect(await update({ domain: "not a domain" })).toEqual(refused);
    expect(await update({ domain: "gmail.com" })).toEqual(refused);
    expect(await update({ domain: "GMail.com." })).toEqual(refused);
  });

  test("names and times stand under their own names, wherever a person is listed", async () => {
    const org = await everyRole();
    const [userEmail, adminEmail] = [`org_member@${org.domain}`, `org_admin@${org.domain}`];
    await db().query("update app_public.users set first_name = 'Ana', last_name = 'Silva' where email = $1", [
      userEmail,
    ]);
    await db().query("update app_public.memberships set created_at = '2020-01-01Z' where org_uri = $1", [
      org.uri,
    ]);
    await door.updateOrganization({ orgUri: org.uri, type: "network", adminEmail });
    const { value: changed } = await door.setMemberRole({
      ...{ orgUri: org.uri, userEmail, adminEmail, role: "org_contributor" },
    });
    const { value: listed } = await door.members(org.uri, adminEmail);
    const member = listed.members.find((each: { userEmail: string }) => each.userEmail === userEmail);
    const { value: everybody } = await door.users(m.support);
    const user = everybody.users.find((each: { email: string }) => each.email === userEmail);
    const { value: known } = await door.checkUser(userEmail);
    for (const person of [changed, member, user, known])
      expect(person).toMatchObject({ firstName: "Ana", lastName: "Silva" });
    const of = { orgUri: org.uri, orgName: org.name, orgType: "network" };
    expect(known).toMatchObject({ ...of, memberships: [{ ...of, role: "org_contributor" }] });
    for (const { createdAt, updatedAt } of [changed, member]) {
      expect(createdAt).toMatch(/^2020-01-01T/);
      expect(updatedAt).not.toMatch(/^2020-/);
    }
  });

  test("of which nobody says how many are to be listed, fifty are", async () => {
    const email = `many-${name.toLowerCase()}@elsewhere.example`;
    const client = await db().connect();
    try {
      // As many organizations, which are not looked at here, would take long to make.
      await client.query("begin; set local session_replication_role = replica");
      await client.query(
        `with people as (
           insert into app_public.users (email) select $1 union all select n || $1 from generate_series(2, 51) as n
           returning user_id, email)
         insert into app_public.organization_claims (user_id, org_uri, org_name, email_domain, status)
         select p.user_id, 'https://many.example/' || n, 'Number ' || n, 'elsewhere.example', 'pending_review'
         from people as p, generate_series(1, 51) as n where p.email = $1`,
        [email],
      );
      await client.query("commit");
    } finally {
      client.release();
    }
    // A form that leaves the number empty says null, which REST has no place for.
    const unsaid = name === "GraphQL" ? { limit: null, offset: null } : {};
    const lists = [
      await door.ownClaims(email),
      await door.ownClaims(email, unsaid),
      await door.claims(m.support, unsaid),
      await door.users(m.support),
    ];
    expect(lists.map(({ value }) => (value.claims ?? value.users).length)).toEqual([50, 50, 50, 50]);
    const { rows } = await db().query(
      "select cardinality((app_public.platform_users($1, null, null)).users) as listed",
      [m.support],
    );
    expect(rows).toEqual([{ listed: 50 }]);
    for (const { value } of lists) expect(value.total).toBeGreaterThan(50);
    await db().query(
      "delete from app_public.organization_claims where org_uri like 'https://many.example/%'",
    );
    await db().query("delete from app_public.users where email like $1", [`%${email}`]);
  });

  test("a person's organizations are listed in the order of their URIs, to whoever sees everybody", async () => {
    const orgs: m.TestOrganization[] = [];
    for (let one = 0; one < 4; one++) orgs.push(await m.addOrganization(db()));
    const uris = orgs.map(({ uri }) => uri).toSorted();
    const email = `everywhere@${orgs[0]!.domain}`;
    const roles = ["org_member", "org_contributor", "org_admin", "org_member"];
    for (const [place, uri] of [...uris.entries()].toReversed()) {
      await db().query("select app_private.add_member($1, $2, $3)", [uri, email, roles[place]]);
    }
    const { value } = await door.users(m.support);
    const person = value.users.find((user: { email: string }) => user.email === email);
    expect(person.memberships.map(({ orgUri }: { orgUri: string }) => orgUri)).toEqual(uris);
  });

  test("members are listed in the order of their addresses, whatever their roles", async () => {
    const org = await m.addOrganization(db(), {
      ...{ carl: "org_admin", anna: "org_member", dora: "org_contributor", ben: "org_admin" },
    });
    const { value } = await door.members(org.uri, `carl@${org.domain}`);
    const listed = value.members.map((each: { userEmail: string }) => each.userEmail.split("@")[0]);
    expect(listed).toEqual(["anna", "ben", "carl", "dora"]);
  });

  test("a support user sees everybody, with roles and memberships", async () => {
    const org = await everyRole();
    const suspended = `org_member@${org.domain}`;
    await door.setMemberStatus({
      ...{
        orgUri: org.uri,
        userEmail: suspended,
        adminEmail: `org_admin@${org.domain}`,
        status: "suspended",
      },
    });
    const { value } = await door.users(m.support);
    expect(value.total).toBeGreaterThan(10);
    const times = value.users.map((user: { createdAt: string }) => user.createdAt);
    expect(new Set(times).size).toBeGreaterThan(3);
    expect(times).toEqual(times.toSorted().toReversed());
    const person = value.users.find((user: { email: string }) => user.email === `org_admin@${org.domain}`);
    expect(person).toEqual({
      userId: expect.any(String),
      email: `org_admin@${org.domain}`,
      firstName: null,
      lastName: null,
      platformRoles: [],
      memberships: [{ orgUri: org.uri, orgName: org.name, role: "org_admin", status: "active" }],
      createdAt: expect.any(String),
    });
    expect(value.users.find((user: { email: string }) => user.email === suspended).memberships).toMatchObject(
      [{ role: "org_member", status: "suspended" }],
    );
  });
});

test("in SQL too the last org_admin stays; whoever else is deleted is revoked in the history", async () => {
  const org = await m.addOrganization(db(), { one: "org_admin", two: "org_admin" });
  const remove = (person: string) =>
    db().query(
      `delete from app_public.memberships where org_uri = $1
       and user_id = (select user_id from app_public.users where email = $2)`,
      [org.uri, `${person}@${org.domain}`],
    );
  await remove("one");
  await expect(remove("two")).rejects.toMatchObject({ code: "PT409", detail: "last_admin" });
  const { rows } = await db().query(
    "select role, status from app_private.role_history where org_uri = $1 order by role_history_id desc limit 1",
    [org.uri],
  );
  expect(rows).toEqual([{ role: "org_admin", status: "revoked" }]);
});

test("in SQL too whoever is suspended may be let go where nobody manages the organization", async () => {
  const org = await m.addOrganization(db());
  const email = `gone@${org.domain}`;
  await db().query("select app_private.remember_user($1, null, null)", [email]);
  await db().query(
    `insert into app_public.memberships (org_uri, user_id, role, status)
     select $1, user_id, 'org_admin', 'suspended' from app_public.users where email = $2`,
    [org.uri, email],
  );
  await db().query("select app_private.change_member($1, $2, null, 'revoked')", [org.uri, email]);
  expect(await m.membershipOf(db(), org.uri, email)).toBe("org_admin revoked");
});

test("in SQL too whoever changes a membership says to what", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin", member: "org_member" });
  for (const [what, path] of [
    ["role", "role"],
    ["status", "status"],
  ]) {
    const change = db().query(`select app_public.set_member_${what}($1, $2, null, $3)`, [
      ...[org.uri, `member@${org.domain}`, `head@${org.domain}`],
    ]);
    await expect(change).rejects.toMatchObject({ code: "PT400", hint: expect.stringContaining(`"${path}"`) });
  }
});

test("in SQL too the last platform admin's role is neither deleted nor changed into another", async () => {
  const admins = "user_id = (select user_id from app_public.users where email = $1) and role = 'admin'";
  for (const change of [
    "delete from app_public.platform_roles",
    "update app_public.platform_roles set role = 'support'",
  ])
    await expect(db().query(`${change} where ${admins}`, [m.platformAdmin])).rejects.toMatchObject({
      code: "PT409",
      detail: "last_admin",
    });
});

test("a platform role is given where nobody says that it is to be taken away", async () => {
  const email = "given@roles.example";
  await db().query("select app_private.remember_user($1, null, null)", [email]);
  const { rows } = await db().query<{ roles: string }>(
    "select (app_public.set_platform_role($1, 'support', $2, null)).platform_roles::text as roles",
    [email, m.platformAdmin],
  );
  expect(rows).toEqual([{ roles: "{support}" }]);
  await db().query("select app_public.set_platform_role($1, 'support', $2, 'revoke')", [
    email,
    m.platformAdmin,
  ]);
});

test("a platform role that is changed into another in SQL, or handed on, is lost and given in the history", async () => {
  const [one, other] = ["one@roles.example", "other@roles.example"];
  const idOf = "(select user_id from app_public.users where email = $1)";
  for (const email of [one, other]) {
    await db().query("select app_private.remember_user($1, null, null)", [email]);
  }
  const change = (set: string) =>
    db().query(`update app_public.platform_roles set ${set} where user_id = ${idOf}`, [one]);
  await db().query(`insert into app_public.platform_roles (user_id, role) values (${idOf}, 'support')`, [
    one,
  ]);
  await change("granted_at = now()");
  await change("role = 'admin'");
  await change(`user_id = ${idOf.replace("$1", `'${other}'`)}`);
  const { rows } = await db().query<{ email: string; role: string; status: string }>(
    `select email, role, status from app_private.role_history join app_public.users using (user_id)
     where email = any ($1) order by role_history_id`,
    [[one, other]],
  );
  expect(rows.map(({ email, role, status }) => `${email} ${role} ${status}`)).toEqual([
    ...[`${one} support active`, `${one} support revoked`, `${one} admin active`],
    ...[`${one} admin revoked`, `${other} admin active`],
  ]);
  await db().query(`delete from app_public.platform_roles where user_id = ${idOf}`, [other]);
});

test("a membership that is handed on in SQL is lost and given in the history", async () => {
  const org = await m.addOrganization(db(), { admin: "org_admin" });
  const [one, other] = ["one@handed.example", "other@handed.example"];
  for (const email of [one, other]) {
    await db().query("select app_private.remember_user($1, null, null)", [email]);
  }
  const idOf = (email: string) => `(select user_id from app_public.users where email = '${email}')`;
  await db().query(
    `insert into app_public.memberships (user_id, org_uri, role, status) values (${idOf(one)}, $1, 'org_member', 'suspended')`,
    [org.uri],
  );
  await db().query(
    `update app_public.memberships set user_id = ${idOf(other)} where user_id = ${idOf(one)} and org_uri = $1`,
    [org.uri],
  );
  await db().query(`delete from app_public.memberships where user_id = ${idOf(other)} and org_uri = $1`, [
    org.uri,
  ]);
  const { rows } = await db().query<{ email: string; role: string; status: string }>(
    `select email, role, status from app_private.role_history join app_public.users using (user_id)
     where email = any ($1) order by role_history_id`,
    [[one, other]],
  );
  expect(rows.map(({ email, role, status }) => `${email} ${role} ${status}`)).toEqual([
    ...[`${one} org_member suspended`, `${one} org_member revoked`],
    ...[`${other} org_member suspended`, `${other} org_member revoked`],
  ]);
});

test("people, memberships, claims and their history are out of reach of every API role", async () => {
  const tables = [
    ...["app_public.users", "app_public.memberships", "app_public.platform_roles"],
    ...["app_public.organization_claims", "app_public.organization_claim_history"],
    ...[
      "app_private.role_history",
      "app_private.mails",
      "app_private.free_mail_domains",
      "app_private.settings",
    ],
  ];
  const client = await db().connect();
  try {
    for (const role of ["api_read", "api_write", "api_review"]) {
      for (const table of tables) {
        for (const statement of [`select 1 from ${table}`, `delete from ${table}`]) {
          await client.query("begin");
          await client.query(`set local role ${role}`);
          await expect(client.query(statement)).rejects.toMatchObject({ code: "42501" });
          await client.query("rollback");
        }
      }
    }
  } finally {
    client.release();
  }
});
