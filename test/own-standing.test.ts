// What people see of their own standing and give up of it, and who appoints where nobody manages: at every door, named by a
// key and by their own token.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DatabaseError } from "pg";
import * as m from "./support/membership.ts";
import { AUDIENCE, TestProvider } from "./support/oidc.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let provider: TestProvider;
let service: TestService;
beforeAll(async () => {
  provider = await TestProvider.start();
  service = await startTestService({
    config: { oidc: { issuers: [provider.issuer], audience: AUDIENCE } },
  });
  await provider.isKnownTo(service.url);
  await m.addPlatformPeople(service.database.owner);
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

const db = () => service.database.owner;
/** Each test has people of its own, since a person may not claim very often. */
const newPerson = () => `ana.${randomBytes(4).toString("hex")}@elsewhere.example`;
const notYours = { refusal: "403 not_your_identity" };

async function eventOf(orgUri: string, email: string): Promise<unknown> {
  const { rows } = await db().query(
    `select h.role, h.status, h.changed_by_email as by from app_private.role_history as h
     join app_public.users as u using (user_id)
     where h.org_uri = $1 and u.email = $2 order by role_history_id desc limit 1`,
    [orgUri, email],
  );
  return rows[0];
}

describe.each(m.DOORS)("through %s", (name) => {
  const byKey = m.membershipDoor(name, () => service);

  async function byToken(email: string): Promise<m.MembershipDoor> {
    const token = await provider.tokenOf(email);
    return m.membershipDoor(name, () => ({ ...service, keys: { read: token, write: token, review: token } }));
  }

  describe.each(["a key that names them", "their own token"])("a person, by %s,", (caller) => {
    const isKey = caller.startsWith("a key");
    /** The door for a person, and how they are named there: not at all with a token. */
    const as = async (email: string) =>
      isKey
        ? { door: byKey, userEmail: email, adminEmail: email }
        : { door: await byToken(email), userEmail: undefined, adminEmail: undefined };

    test("sees their own claims, newest first, what became of each, and nobody else's", async () => {
      const email = newPerson();
      const orgs = [
        await m.addOrganization(db(), { head: "org_admin" }),
        await m.addOrganization(db(), { head: "org_admin" }),
        await m.addOrganization(db()),
      ];
      const [approved, rejected, waiting] = await inTurn(orgs, async (org) => {
        await byKey.claim(m.claimOf(org, newPerson()));
        return (await byKey.claim(m.claimOf(org, email))).value.claimId as string;
      });
      const heads = orgs.map(({ domain }) => `head@${domain}`);
      await byKey.review({ claimId: approved, action: "approve", adminEmail: heads[0] });
      await byKey.review({ claimId: rejected, action: "reject", adminEmail: heads[1], notes: "Who?" });

      const { door, userEmail } = await as(email);
      const common = {
        isNewOrg: false,
        emailVerified: false,
        reviewNotes: null,
        reviewedAt: null,
        role: null,
      };
      const { value } = await door.ownClaims(userEmail);
      expect(value).toEqual({
        total: 3,
        claims: [
          {
            ...common,
            ...{ claimId: waiting, orgUri: orgs[2]!.uri, orgName: orgs[2]!.name, status: "pending" },
            ...{ resultVariant: "manual-review", createdAt: expect.any(String) },
          },
          {
            ...common,
            ...{ claimId: rejected, orgUri: orgs[1]!.uri, orgName: orgs[1]!.name, status: "rejected" },
            ...{ resultVariant: "request-sent", createdAt: expect.any(String) },
            ...{ reviewNotes: "Who?", reviewedAt: expect.any(String) },
          },
          {
            ...common,
            ...{ claimId: approved, orgUri: orgs[0]!.uri, orgName: orgs[0]!.name, status: "approved" },
            ...{ resultVariant: "request-sent", createdAt: expect.any(String) },
            ...{ role: "org_member", reviewedAt: expect.any(String) },
          },
        ],
      });
      const second = await door.ownClaims(userEmail, { limit: 1, offset: 1 });
      expect(second.value).toEqual({ total: 3, claims: [value.claims[1]] });
      expect((await door.ownClaims(userEmail?.toUpperCase())).value).toEqual(value);
      expect(await door.ownClaims(userEmail, { limit: 0 })).toEqual({ refusal: "400 validation_failed" });
      const nobody = newPerson();
      const other = await as(nobody);
      expect((await other.door.ownClaims(other.userEmail)).value).toEqual({ claims: [], total: 0 });
      if (!isKey) expect(await other.door.ownClaims(email)).toEqual(notYours);
    });

    test("withdraws their own claim while it waits, and may claim again", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin" });
      const head = `head@${org.domain}`;
      const email = newPerson();
      const { claimId } = (await byKey.claim(m.claimOf(org, email))).value;
      const { door, userEmail } = await as(email);
      const { value } = await door.withdraw({ claimId, userEmail });
      expect(value).toMatchObject({ claimId, orgUri: org.uri, status: "withdrawn" });
      expect((await m.historyOf(db(), claimId)).at(-1)).toEqual(["pending_review", "withdrawn", email]);
      // Reviewers see that it is gone, and nobody decides on it any more.
      expect((await byKey.claims(head, { status: "pending" })).value.total).toBe(0);
      expect((await byKey.claims(head, { status: "withdrawn" })).value.claims).toMatchObject([{ claimId }]);
      const decided = { refusal: "409 already_reviewed" };
      expect(await byKey.review({ claimId, action: "approve", adminEmail: head })).toEqual(decided);
      for (const named of [userEmail, userEmail?.toUpperCase()])
        expect(await door.withdraw({ claimId, userEmail: named })).toEqual(decided);
      const { rows } = await db().query(
        "select kind from app_private.mails where data ->> 'claimId' = $1 and kind <> 'claim_request'",
        [claimId],
      );
      expect(rows).toEqual([]);

      const again = (await byKey.claim(m.claimOf(org, email))).value.claimId;
      await byKey.review({ claimId: again, action: "approve", adminEmail: head });
      expect(await door.withdraw({ claimId: again, userEmail })).toEqual(decided);
      expect(await m.membershipOf(db(), org.uri, email)).toBe("org_member active");
    });

    test("withdraws nobody else's claim, and does not learn of it", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin" });
      const owner = newPerson();
      const { claimId } = (await byKey.claim(m.claimOf(org, owner))).value;
      for (const person of [newPerson(), `head@${org.domain}`, m.platformAdmin]) {
        const { door, userEmail } = await as(person);
        const none = { refusal: "404 claim_not_found" };
        expect(await door.withdraw({ claimId, userEmail })).toEqual(none);
        if (!isKey) expect(await door.withdraw({ claimId, userEmail: owner })).toEqual(notYours);
      }
      expect((await byKey.ownClaims(owner)).value.claims).toMatchObject([{ claimId, status: "pending" }]);
    });

    test("takes a new organization back with its last claim", async () => {
      const email = newPerson();
      const orgName = `New ${randomBytes(4).toString("hex")}`;
      const proposal = { userEmail: email, firstName: "Ana", lastName: "Silva", roles: [], orgName };
      const { claimId, orgUri } = (await byKey.claim({ ...proposal, isNewOrg: true })).value;
      const other = newPerson();
      const second = (await byKey.claim(m.claimOf({ uri: orgUri, name: orgName, domain: "" }, other))).value;
      const statusOf = async () =>
        (await db().query("select status from app_public.organizations where org_uri = $1", [orgUri])).rows[0]
          .status;
      const { door, userEmail } = await as(email);
      await door.withdraw({ claimId, userEmail });
      expect(await statusOf()).toBe("proposed");
      await byKey.withdraw({ claimId: second.claimId, userEmail: other });
      expect(await statusOf()).toBe("rejected");
    });

    test("what was withdrawn was never claimed: the first claim from the domain is approved by itself", async () => {
      const org = await m.addOrganization(db());
      const email = newPerson();
      const { claimId } = (await byKey.claim(m.claimOf(org, email))).value;
      const { door, userEmail } = await as(email);
      await door.withdraw({ claimId, userEmail });
      const own = await byKey.claim(m.claimOf(org, `own@${org.domain}`));
      expect(own.value.resultVariant).toBe("claimed");
    });

    test("leaves an organization, and acts for it no more", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin", one: "org_contributor" });
      const email = `one@${org.domain}`;
      const { door, userEmail } = await as(email);
      const left = await door.leave({ orgUri: org.uri, userEmail });
      expect(left.value).toMatchObject({ orgUri: org.uri, userEmail: email, status: "revoked" });
      expect(await eventOf(org.uri, email)).toEqual({
        role: "org_contributor",
        status: "revoked",
        by: email,
      });
      const gone = { refusal: "403 membership_required" };
      expect(await door.leave({ orgUri: org.uri, userEmail })).toEqual(gone);
      // Whichever way the address is written.
      const twin = await m.addOrganization(db(), { head: "org_admin", one: "org_contributor" });
      const loud = `one@${twin.domain}`.toUpperCase();
      expect((await byKey.leave({ orgUri: twin.uri, userEmail: loud })).value.status).toBe("revoked");
      expect(await byKey.members(org.uri, email)).toEqual(gone);
      expect((await byKey.claim(m.claimOf(org, email))).value.resultVariant).toBe("request-sent");
    });

    test("leaves what an approved claim stands for", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin" });
      const email = newPerson();
      const { claimId } = (await byKey.claim(m.claimOf(org, email))).value;
      await byKey.review({ claimId, action: "approve", adminEmail: `head@${org.domain}` });
      await db().query(
        `delete from app_public.memberships where org_uri = $1
         and user_id = (select user_id from app_public.users where email = $2)`,
        [org.uri, email],
      );
      expect((await byKey.checkUser(email)).value.memberships).toMatchObject([{ role: "org_contributor" }]);
      const { door, userEmail } = await as(email);
      expect((await door.leave({ orgUri: org.uri, userEmail })).value.status).toBe("revoked");
      expect((await byKey.checkUser(email)).value.memberships).toEqual([]);
    });

    test("cannot leave as the last administrator, as one who is suspended, or where they never were", async () => {
      const org = await m.addOrganization(db(), { head: "org_admin", one: "org_member" });
      const head = await as(`head@${org.domain}`);
      const leaving = { orgUri: org.uri };
      expect(await head.door.leave({ ...leaving, userEmail: head.userEmail })).toEqual({
        refusal: "409 last_admin",
      });
      const one = `one@${org.domain}`;
      const status = { orgUri: org.uri, userEmail: one, adminEmail: `head@${org.domain}` };
      await byKey.setMemberStatus({ ...status, status: "suspended" });
      for (const person of [one, newPerson()]) {
        const { door, userEmail } = await as(person);
        expect(await door.leave({ ...leaving, userEmail })).toEqual({ refusal: "403 membership_required" });
        if (!isKey) expect(await head.door.leave({ ...leaving, userEmail: person })).toEqual(notYours);
      }
      expect(await m.membershipOf(db(), org.uri, one)).toBe("org_member suspended");
    });

    test("reads who belongs to their organization; who no longer does, only those who manage members see", async () => {
      const org = await m.addOrganization(db(), {
        head: "org_admin",
        reader: "org_member",
        gone: "org_member",
        Zoe: "org_member",
      });
      const change = { orgUri: org.uri, userEmail: `gone@${org.domain}`, adminEmail: `head@${org.domain}` };
      await byKey.setMemberStatus({ ...change, status: "suspended" });
      const seenBy = async (person: string) => {
        const { door } = await as(`${person}@${org.domain}`);
        const { value, refusal } = await door.members(org.uri, `${person.toUpperCase()}@${org.domain}`);
        const emails = value?.members.map((one: { userEmail: string }) => one.userEmail.split("@")[0]);
        return refusal ?? emails;
      };
      expect(await seenBy("reader")).toEqual(["head", "reader", "Zoe"]);
      expect(await seenBy("head")).toEqual(["gone", "head", "reader", "Zoe"]);
      expect(await seenBy("gone")).toBe("403 membership_required");
      expect(await seenBy("stranger")).toBe("403 membership_required");
    });

    test("appoints an administrator of an organization that has none, as an administrator of the platform", async () => {
      const org = await m.addOrganization(db(), { one: "org_member" });
      const one = `one@${org.domain}`;
      const { door, adminEmail } = await as(m.platformAdmin);
      const appointment = { orgUri: org.uri, userEmail: one.toUpperCase(), adminEmail };
      const refusals: [object, string][] = [
        [{ role: "org_member" }, "400 validation_failed"],
        [{ userEmail: m.platformAdmin }, "403 permission_required"],
        [{ userEmail: m.platformAdmin.toUpperCase() }, "403 permission_required"],
        [{ userEmail: newPerson() }, "404 user_not_found"],
        [{ orgUri: `${org.uri}-not` }, "404 organization_not_found"],
      ];
      for (const [fields, refusal] of refusals) {
        expect(await door.appoint({ ...appointment, ...fields })).toEqual({ refusal });
      }
      expect((await door.appoint(appointment)).value).toMatchObject({
        ...{ orgUri: org.uri, userEmail: one, role: "org_admin", status: "active" },
      });
      expect(await eventOf(org.uri, one)).toMatchObject({ role: "org_admin", by: m.platformAdmin });
      expect(await door.appoint(appointment)).toEqual({ refusal: "409 has_administrator" });
      // Whoever may not assign roles does not learn whether there is one.
      for (const person of [m.support, one, newPerson()]) {
        const other = await as(person);
        const refused = { refusal: "403 permission_required" };
        expect(await other.door.appoint({ ...appointment, adminEmail: other.adminEmail })).toEqual(refused);
        if (!isKey)
          expect(await other.door.appoint({ ...appointment, adminEmail: m.platformAdmin })).toEqual(notYours);
      }
    });

    test("appoints an org_admin where no role is said, or null, as by a form that leaves it empty", async () => {
      const { door, adminEmail } = await as(m.platformAdmin);
      // REST has no place for null.
      for (const unsaid of name === "GraphQL" ? [{}, { role: null }] : [{}]) {
        const org = await m.addOrganization(db(), { one: "org_member" });
        const appointment = { orgUri: org.uri, userEmail: `one@${org.domain}`, adminEmail, ...unsaid };
        expect((await door.appoint(appointment)).value).toMatchObject({ role: "org_admin" });
        expect(await m.membershipOf(db(), org.uri, `one@${org.domain}`)).toBe("org_admin active");
      }
    });

    test("appoints to another role that includes the management of members, where there is one", async () => {
      const manages = "('org_contributor'::app_public.organization_role, 'members:manage')";
      await db().query(
        `insert into app_public.organization_permissions (role, permission) values ${manages}`,
      );
      try {
        const org = await m.addOrganization(db(), { one: "org_member" });
        const { door, adminEmail } = await as(m.platformAdmin);
        const appointment = {
          orgUri: org.uri,
          userEmail: `one@${org.domain}`,
          role: "org_contributor",
          adminEmail,
        };
        expect((await door.appoint(appointment)).value).toMatchObject({ role: "org_contributor" });
      } finally {
        await db().query(
          `delete from app_public.organization_permissions where (role, permission) = ${manages}`,
        );
      }
    });

    test("nobody is appointed to what is only proposed, or was rejected", async () => {
      const orgName = `New ${randomBytes(4).toString("hex")}`;
      const proposal = { userEmail: newPerson(), firstName: "Ana", lastName: "Silva", roles: [], orgName };
      const { orgUri } = (await byKey.claim({ ...proposal, isNewOrg: true })).value;
      const { door, adminEmail } = await as(m.platformAdmin);
      const appointment = { orgUri, userEmail: proposal.userEmail, adminEmail };
      expect(await door.appoint(appointment)).toEqual({ refusal: "404 organization_not_found" });
      await db().query("update app_public.organizations set status = 'rejected' where org_uri = $1", [
        orgUri,
      ]);
      expect(await door.appoint(appointment)).toEqual({ refusal: "404 organization_not_found" });
    });

    test.each([m.support, m.platformAdmin])(
      "as a reviewer of the platform (%s) approves with any role, and is told where nobody manages members",
      async (reviewer) => {
        const { door, adminEmail } = await as(reviewer);
        const approve = async (role: string, members: Record<string, string> = {}) => {
          const org = await m.addOrganization(db(), members);
          const { claimId } = (await byKey.claim(m.claimOf(org, newPerson()))).value;
          const { value } = await door.review({ claimId, action: "approve", role, adminEmail });
          expect(value.newStatus).toBe("approved");
          return value.warnings.map((warning: { code: string }) => warning.code);
        };
        expect(await approve("org_admin")).toEqual([]);
        expect(await approve("org_contributor")).toEqual(["no_administrator"]);
        expect(await approve("org_member", { one: "org_contributor" })).toEqual(["no_administrator"]);
        expect(await approve("org_member", { head: "org_admin" })).toEqual([]);
        const { claimId } = (await byKey.claim(m.claimOf(await m.addOrganization(db()), newPerson()))).value;
        const rejected = await door.review({ claimId, action: "reject", notes: "Who?", adminEmail });
        expect(rejected.value.warnings).toEqual([]);
      },
    );

    test("is renamed by themself alone", async () => {
      const email = newPerson();
      const claim = async (who: m.MembershipDoor, firstName: string) =>
        who.claim({ ...m.claimOf(await m.addOrganization(db()), email), firstName });
      const nameNow = async () => (await byKey.checkUser(email)).value.firstName;
      await db().query("insert into app_public.users (email) values ($1)", [email]);
      await claim((await as(email)).door, "Ana");
      // Whom the service knows without a name, an application does not name either.
      expect(await nameNow()).toBe(isKey ? undefined : "Ana");
      await claim(await byToken(email), "Anna");
      await claim((await as(email)).door, "Hannah");
      expect(await nameNow()).toBe(isKey ? "Anna" : "Hannah");
    });

    test("has every organization that they act for in check-user, the newest first", async () => {
      const email = newPerson();
      const orgs = await inTurn(["org_member", "org_contributor", "org_admin"], async (role) => {
        const org = await m.addOrganization(db(), { head: "org_admin" });
        await db().query("select app_private.add_member($1, $2, $3)", [org.uri, email, role]);
        return { orgUri: org.uri, orgName: org.name, role };
      });
      const suspension = { orgUri: orgs[2]!.orgUri, userEmail: email, status: "suspended" };
      const org = await db().query("select domain from app_public.organizations where org_uri = $1", [
        orgs[2]!.orgUri,
      ]);
      await byKey.setMemberStatus({ ...suspension, adminEmail: `head@${org.rows[0].domain}` });
      const { door } = await as(email);
      expect((await door.checkUser(email)).value).toEqual({
        exists: true,
        ...{ orgUri: orgs[1]!.orgUri, orgName: orgs[1]!.orgName },
        memberships: [orgs[1], orgs[0]],
      });
    });
  });

  test("a claim is told with when it was made and when it was decided, to who made it and to who reviews it", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const [userEmail, adminEmail] = [newPerson(), `head@${org.domain}`];
    const { claimId } = (await byKey.claim(m.claimOf(org, userEmail))).value;
    await byKey.review({ claimId, action: "approve", adminEmail });
    // Neither of them is when it was last changed.
    await db().query(
      "update app_public.organization_claims set created_at = '2020-06-15Z', reviewed_at = '2021-06-15Z' where claim_id = $1",
      [claimId],
    );
    for (const { value } of [await byKey.ownClaims(userEmail), await byKey.claims(adminEmail)])
      expect(value.claims).toMatchObject([
        {
          ...{ claimId, createdAt: expect.stringMatching(/^2020-06-15/) },
          reviewedAt: expect.stringMatching(/^2021-06-15/),
        },
      ]);
  });

  test("one's own claims of one moment are listed by id, the greatest first, each once over all pages", async () => {
    const userEmail = newPerson();
    const ids = await inTurn([1, 2, 3], async () => {
      const org = await m.addOrganization(db(), { head: "org_admin" });
      return (await byKey.claim(m.claimOf(org, userEmail))).value.claimId as string;
    });
    await db().query(
      "update app_public.organization_claims set created_at = '2026-01-01Z' where claim_id = any ($1)",
      [ids],
    );
    const pages = await inTurn([0, 2], async (offset) => {
      const { value } = await byKey.ownClaims(userEmail, { limit: 2, offset });
      return value.claims.map(({ claimId }: { claimId: string }) => claimId);
    });
    const [one, two, three] = ids.toSorted().toReversed();
    expect(pages).toEqual([[one, two], [three]]);
  });

  test.each(["read", "write"] as const)("a key of scope api_%s gets as far as its scope", async (scope) => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const email = `head@${org.domain}`;
    const claimId = "00000000-0000-4000-8000-000000000000";
    const refused = { refusal: "403 insufficient_scope" };
    const mayWrite = scope === "write";
    expect(await byKey.ownClaims(email, {}, scope)).toEqual(mayWrite ? expect.anything() : refused);
    expect(await byKey.withdraw({ claimId, userEmail: email }, scope)).toEqual(
      mayWrite ? { refusal: "404 claim_not_found" } : refused,
    );
    expect(await byKey.leave({ orgUri: org.uri, userEmail: email }, scope)).toEqual(
      mayWrite ? { refusal: "409 last_admin" } : refused,
    );
    const appointment = { orgUri: org.uri, userEmail: email, adminEmail: m.platformAdmin };
    expect(await byKey.appoint(appointment, scope)).toEqual(refused);
  });
});

test("what several approved claims stand in for is as new as the last of them, and can be left", async () => {
  const email = newPerson();
  const [often, between] = [await m.addOrganization(db()), await m.addOrganization(db())];
  const client = await db().connect();
  try {
    // None of them has led to a membership, as of before there were any.
    await client.query("begin; set local session_replication_role = replica");
    await client.query(
      `with person as (insert into app_public.users (email) values ($1) returning user_id)
       insert into app_public.organization_claims
         (user_id, org_uri, org_name, email_domain, status, created_at, reviewed_at, updated_at)
       select user_id, org_uri, 'x', 'elsewhere.example', 'approved', made, reviewed, reviewed
       from person, (values ($2, '2021-01-01Z'::timestamptz, '2024-01-01Z'::timestamptz),
         ($3, '2022-01-01Z', '2026-01-01Z'), ($2, '2023-01-01Z', '2025-01-01Z')) as c (org_uri, made, reviewed)`,
      [email, often.uri, between.uri],
    );
    await client.query("commit");
  } finally {
    client.release(true);
  }
  const door = m.membershipDoor("REST", () => service);
  const { value } = await door.checkUser(email);
  expect(value.memberships.map(({ orgUri }: { orgUri: string }) => orgUri)).toEqual([often.uri, between.uri]);
  expect((await door.leave({ orgUri: often.uri, userEmail: email })).value).toMatchObject({
    status: "revoked",
  });
});

describe("in psql", () => {
  const CALLS: Record<string, [sql: string, key: string, otherwise: string]> = {
    "see claims": ["select app_public.own_organization_claims($1)", "api_write", "allowed"],
    "withdraw a claim": [
      "select app_public.withdraw_organization_claim('00000000-0000-4000-8000-000000000000', $1)",
      "api_write",
      "404 claim_not_found",
    ],
    leave: [
      "select app_public.leave_organization('https://data.example.org/org/river-mission-not', $1)",
      "api_write",
      "403 membership_required",
    ],
    appoint: [
      "select app_public.appoint_administrator('https://data.example.org/org/x', 'x@x.example', $1)",
      "api_review",
      "403 permission_required",
    ],
  };
  const SCOPES = ["api_read", "api_write", "api_review"];

  async function inSession(role: string, person: string | null, sql: string, named: string | null) {
    const client = await db().connect();
    try {
      await client.query("begin");
      await client.query("select set_config('app.person', $1, true)", [
        person && JSON.stringify({ email: person }),
      ]);
      await client.query(`set local role ${role}`);
      await client.query(sql, [named]);
      return "allowed";
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      return error.code === "42501" ? "403 insufficient_scope" : `${error.code?.slice(2)} ${error.detail}`;
    } finally {
      await client.query("rollback");
      client.release();
    }
  }

  test.each(Object.entries(CALLS))("who may %s", async (_, [sql, least, otherwise]) => {
    const email = newPerson();
    for (const scope of SCOPES) {
      const isEnough = SCOPES.indexOf(scope) >= SCOPES.indexOf(least);
      const outcome = await inSession(scope, null, sql, email);
      expect([scope, outcome]).toEqual([scope, isEnough ? otherwise : "403 insufficient_scope"]);
    }
    expect(await inSession("api_person", email, sql, email)).toBe(otherwise);
    expect(await inSession("api_person", email, sql, null)).toBe(otherwise);
    expect(await inSession("api_person", email, sql, newPerson())).toBe("403 not_your_identity");
    expect(await inSession("api_person", null, sql, email)).toBe("403 not_your_identity");
    // The sign for kelvin is k in lower case.
    const kelvin = email.replace("ana", "\u212aana");
    expect(await inSession("api_person", kelvin, sql, kelvin.replace("\u212a", "k"))).toBe(
      "403 not_your_identity",
    );
  });
});

/** One after the other, so that each is newer than the one before. */
async function inTurn<Item, Result>(items: Item[], make: (item: Item) => Promise<Result>): Promise<Result[]> {
  const made: Result[] = [];
  for (const item of items) made.push(await make(item));
  return made;
}
