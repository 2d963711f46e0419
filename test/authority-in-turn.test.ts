// Who has to wait for their turn is asked what they may do when it has come: until then it may have been taken away.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import * as m from "./support/membership.ts";
import { overlap } from "./support/overlap.ts";
import type { Deed } from "./support/overlap.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await m.addPlatformPeople(database.owner);
});
afterAll(() => database.drop());

const db = () => database.owner;

type Place = { org: m.TestOrganization; one: string; two: string; three: string; claimId: string };

/** An organization with three who manage it, and a claim that they are to decide. */
async function place(): Promise<Place> {
  const org = await m.addOrganization(db(), { one: "org_admin", two: "org_admin", three: "org_admin" });
  const { rows } = await db().query<{ claim_id: string }>(
    `select claim_id from app_public.claim_organization('ana@elsewhere.example', 'Ana', 'Silva', '{}', $1, false, $2)`,
    [org.name, org.uri],
  );
  const at = (name: string) => `${name}@${org.domain}`;
  return { org, one: at("one"), two: at("two"), three: at("three"), claimId: rows[0]!.claim_id };
}

const setStatus =
  (orgUri: string, whom: string, by: string): Deed =>
  (client) =>
    client.query("select app_public.set_member_status($1, $2, 'revoked', $3)", [orgUri, whom, by]);
const setPlatformRole =
  (whom: string, action: string, by: string): Deed =>
  (client) =>
    client.query("select app_public.set_platform_role($1, 'admin', $2, $3)", [whom, by, action]);
const review =
  (claimId: string, by: string): Deed =>
  (client) =>
    client.query("select app_public.review_organization_claim($1, 'approve', $2, null, 'org_admin')", [
      claimId,
      by,
    ]);

const refusal = (code: string) => ({ code: "PT403", detail: code });

describe("whose membership is being revoked", () => {
  test.each<[string, string, (where: Place) => Deed]>([
    [
      "revokes nobody's, not even theirs who revokes it",
      "membership_required",
      ({ org, one, two }) => setStatus(org.uri, one, two),
    ],
    [
      "gives nobody a role",
      "membership_required",
      ({ org, three, two }) =>
        (client) =>
          client.query("select app_public.set_member_role($1, $2, 'org_member', $3)", [org.uri, three, two]),
    ],
    [
      "changes nothing of the organization",
      "membership_required",
      ({ org, two }) =>
        (client) =>
          client.query("select app_public.update_organization($1, $2, domain => 'mine.example')", [
            org.uri,
            two,
          ]),
    ],
    ["decides no claim", "permission_required", ({ claimId, two }) => review(claimId, two)],
  ])("%s", async (_, code, act) => {
    const where = await place();
    const { org, one, two, three } = where;
    const outcome = await overlap(database, setStatus(org.uri, two, one), act(where));
    expect(outcome).toMatchObject(refusal(code));
    expect(await m.membershipOf(db(), org.uri, one)).toBe("org_admin active");
    expect(await m.membershipOf(db(), org.uri, two)).toBe("org_admin revoked");
    expect(await m.membershipOf(db(), org.uri, three)).toBe("org_admin active");
    expect(await m.membershipOf(db(), org.uri, "ana@elsewhere.example")).toBeUndefined();
    const { rows } = await db().query("select domain from app_public.organizations where org_uri = $1", [
      org.uri,
    ]);
    expect(rows).toEqual([{ domain: org.domain }]);
  });
});

describe("whose role on the platform is being taken away", () => {
  const second = "second@platform.example";
  const third = "third@platform.example";

  test.each<[string, (where: Place) => Deed]>([
    [
      "takes nobody's, not even theirs who takes it",
      () => setPlatformRole(m.platformAdmin, "revoke", second),
    ],
    ["gives nobody one", () => setPlatformRole(third, "grant", second)],
    [
      "appoints nobody",
      ({ org, one }) =>
        (client) =>
          client.query("select app_public.appoint_administrator($1, $2, $3)", [org.uri, one, second]),
    ],
    ["decides no claim", ({ claimId }) => review(claimId, second)],
  ])("%s", async (_, act) => {
    await db().query("insert into app_public.users (email) values ($1), ($2) on conflict do nothing", [
      second,
      third,
    ]);
    await db().query(
      `insert into app_public.platform_roles (user_id, role)
       select user_id, 'admin' from app_public.users where email in ($1, $2) on conflict do nothing`,
      [m.platformAdmin, second],
    );
    const where = await place();
    const takeAway: Deed = async (client) => {
      await client.query("select app_private.lock_organization($1)", [where.org.uri]);
      await setPlatformRole(second, "revoke", m.platformAdmin)(client);
    };
    expect(await overlap(database, takeAway, act(where))).toMatchObject(refusal("permission_required"));
    const { rows } = await db().query(
      "select email from app_public.platform_roles join app_public.users using (user_id) where role = 'admin'",
    );
    expect(rows).toEqual([{ email: m.platformAdmin }]);
    expect(await m.membershipOf(db(), where.org.uri, "ana@elsewhere.example")).toBeUndefined();
  });
});
