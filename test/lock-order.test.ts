// Whoever needs several things at once takes them in the same order: claim, organization, person. Otherwise two who meet wait for
// one another, until PostgreSQL ends one of them.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import * as m from "./support/membership.ts";
import { gateAfterInsert, onConnections, overlap, waiting } from "./support/overlap.ts";
import type { Deed } from "./support/overlap.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await m.addPlatformPeople(database.owner);
});
afterAll(() => database.drop());

const db = () => database.owner;

const claimBy =
  (email: string, org: m.TestOrganization): Deed =>
  async (client) =>
    (
      await client.query<{ claim_id: string }>(
        "select claim_id from app_public.claim_organization($1, 'Ana', 'Silva', '{}', $2, false, $3)",
        [email, org.name, org.uri],
      )
    ).rows;
const approve =
  (claimId: string): Deed =>
  async (client) =>
    (
      await client.query("select new_status from app_public.review_organization_claim($1, 'approve', $2)", [
        claimId,
        m.support,
      ])
    ).rows;

const finishErasure =
  (email: string): Deed =>
  async (client) => {
    await client.query("select app_private.close_claims($1)", [email]);
    const { rows } = await client.query<{ erasure: { pseudonym: string | null } }>(
      "select app_private.finish_erasure($1) as erasure",
      [email],
    );
    return rows[0]?.erasure.pseudonym;
  };

/** What comes of a review of Ana's claim, and of something else that begins when the review has locked what it needs. */
async function besideReview(
  deedOf: (org: m.TestOrganization, email: string) => Deed | Promise<Deed>,
): Promise<{ org: m.TestOrganization; email: string; review: unknown; other: unknown }> {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const email = `ana@${org.domain.replace(".example", ".test.example")}`;
  const [claim] = (await claimBy(email, org)(db())) as { claim_id: string }[];
  const deed = await deedOf(org, email);
  const outcomes = await gateAfterInsert(database, "app_public.organization_claim_history", (gate) =>
    onConnections(database, 2, async (one, two) => {
      await gate.shut();
      const review = await waiting(database, one, approve(claim!.claim_id));
      const other = await waiting(database, two, deed);
      await gate.open();
      return { review: await review.outcome, other: await other.outcome };
    }),
  );
  return { org, email, ...outcomes };
}

test("who claims once more while their claim is being approved is told that they are a member", async () => {
  const { org, email, review, other } = await besideReview((at, who) => claimBy(who, at));
  expect(review).toEqual([{ new_status: "approved" }]);
  expect(other).toMatchObject({ code: "PT409", detail: "already_member" });
  expect(await m.membershipOf(db(), org.uri, email)).toBe("org_member active");
});

test.each(["taken back", "approved"])(
  "of two who take a claim back and approve it at once, one does it and the other hears so: %s first",
  async (first) => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const email = `ana@${org.domain.replace(".example", ".test.example")}`;
    const [claim] = (await claimBy(email, org)(db())) as { claim_id: string }[];
    const withdraw: Deed = async (client) =>
      (
        await client.query("select status from app_public.withdraw_organization_claim($1, $2)", [
          ...[claim!.claim_id, email],
        ])
      ).rows;
    const deeds = [withdraw, approve(claim!.claim_id)];
    if (first === "approved") deeds.reverse();
    // Both have begun, and hold what they took before the organization, by the time that they can have that.
    const outcomes = await onConnections(database, 3, async (keeper, one, two) => {
      await keeper.query("begin");
      await keeper.query("select app_private.lock_organization($1)", [org.uri]);
      const ahead = await waiting(database, one, deeds[0]!);
      const behind = await waiting(database, two, deeds[1]!);
      await keeper.query("commit");
      return [await ahead.outcome, await behind.outcome];
    });
    const done = first === "approved" ? { new_status: "approved" } : { status: "withdrawn" };
    expect(outcomes).toEqual([
      [done],
      expect.objectContaining({ code: "PT409", detail: "already_reviewed" }),
    ]);
    const isMember = first === "approved" ? "org_member active" : undefined;
    expect(await m.membershipOf(db(), org.uri, email)).toBe(isMember);
  },
);

test("who is erased while their claim is being approved becomes no member, and is erased", async () => {
  const { org, email, review, other } = await besideReview(async (_, who) => {
    await db().query("select app_private.begin_erasure($1, false)", [who]);
    return finishErasure(who);
  });
  expect(review).toMatchObject({ code: "PT404", detail: "member_not_found" });
  expect(other).toMatch(/@erased\.invalid$/);
  expect(await m.membershipOf(db(), org.uri, email)).toBeUndefined();
  expect(await m.membershipOf(db(), org.uri, String(other))).toBeUndefined();
});

test("who is let in while they are being erased is let in nowhere: the erasure waits for what it would not see", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const email = `late@${org.domain}`;
  await db().query("insert into app_public.users (email) values ($1)", [email]);
  await overlap(
    database,
    (client) =>
      client.query(
        "insert into app_public.memberships (org_uri, user_id) select $1, user_id from app_public.users where email = $2",
        [org.uri, email],
      ),
    (client) => client.query("select app_private.begin_erasure($1, false)", [email]),
  );
  expect(await m.membershipOf(db(), org.uri, email)).toBe("org_member revoked");
});

test("of two who reject a claim and erase its claimant at once, neither waits for the other", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const email = `ana@${org.domain.replace(".example", ".test.example")}`;
  const [claim] = (await claimBy(email, org)(db())) as { claim_id: string }[];
  await db().query("select app_private.begin_erasure($1, false)", [email]);
  const reject: Deed = (client) =>
    client.query("select app_public.review_organization_claim($1, 'reject', $2, 'No.')", [
      ...[claim!.claim_id, m.support],
    ]);
  const [erased, rejected] = await onConnections(database, 3, async (keeper, one, two) => {
    await keeper.query("begin");
    await keeper.query("select app_private.lock_organization($1)", [org.uri]);
    const ahead = await waiting(database, one, finishErasure(email));
    const behind = await waiting(database, two, reject);
    await keeper.query("commit");
    return [await ahead.outcome, await behind.outcome];
  });
  expect(erased).toMatch(/@erased\.invalid$/);
  expect(rejected).toMatchObject({ code: "PT409", detail: "already_reviewed" });
});

test("an organization that is proposed by two is rejected when one takes it back while the other is being erased", async () => {
  const org = await m.addOrganization(db());
  await db().query("update app_public.organizations set status = 'proposed' where org_uri = $1", [org.uri]);
  const [ana, ben] = ["ana", "ben"].map(
    (name) => `${name}@${org.domain.replace(".example", ".test.example")}`,
  );
  await claimBy(ana!, org)(db());
  const [claim] = (await claimBy(ben!, org)(db())) as { claim_id: string }[];
  await db().query("select app_private.begin_erasure($1, false)", [ana]);
  await onConnections(database, 2, async (withdrawing, erasing) => {
    await withdrawing.query("begin");
    await withdrawing.query("select app_public.withdraw_organization_claim($1, $2)", [claim!.claim_id, ben]);
    // Or each would still see the claim of the other.
    await erasing.query("set lock_timeout = '50ms'");
    await expect(finishErasure(ana!)(erasing)).rejects.toMatchObject({ code: "55P03" });
    await withdrawing.query("commit");
    expect(await finishErasure(ana!)(erasing)).toMatch(/@erased\.invalid$/);
  });
  const { rows } = await db().query("select status from app_public.organizations where org_uri = $1", [
    org.uri,
  ]);
  expect(rows).toEqual([{ status: "rejected" }]);
});

test("an organization that is proposed by two is rejected when both claims are rejected at once", async () => {
  const org = await m.addOrganization(db());
  await db().query("update app_public.organizations set status = 'proposed' where org_uri = $1", [org.uri]);
  const claimIds: string[] = [];
  for (const name of ["ana", "ben"]) {
    const [claim] = (await claimBy(`${name}@elsewhere.example`, org)(db())) as { claim_id: string }[];
    claimIds.push(claim!.claim_id);
  }
  const reject =
    (claimId: string): Deed =>
    (client) =>
      client.query("select app_public.review_organization_claim($1, 'reject', $2, 'No.')", [
        ...[claimId, m.support],
      ]);
  await onConnections(database, 2, async (first, second) => {
    await first.query("begin");
    await reject(claimIds[0]!)(first);
    // Or each would still see the claim of the other.
    await second.query("set lock_timeout = '50ms'");
    await expect(reject(claimIds[1]!)(second)).rejects.toMatchObject({ code: "55P03" });
    await first.query("commit");
    await reject(claimIds[1]!)(second);
  });
  const { rows } = await db().query("select status from app_public.organizations where org_uri = $1", [
    org.uri,
  ]);
  expect(rows).toEqual([{ status: "rejected" }]);
});

test("two who have claimed the same organizations, each in another order, are erased at once", async () => {
  const orgs = await Promise.all([1, 2].map(() => m.addOrganization(db(), { head: "org_admin" })));
  orgs.sort((one, other) => (one.uri < other.uri ? -1 : 1));
  const [inOrder, other] = ["first", "second"].map(
    (name) => `${name}@${orgs[0]!.domain.replace(".", ".test.")}`,
  );
  for (const org of orgs) await claimBy(inOrder!, org)(db());
  for (const org of orgs.toReversed()) await claimBy(other!, org)(db());
  for (const email of [inOrder, other])
    await db().query("select app_private.begin_erasure($1, false)", [email]);
  const outcomes = await onConnections(database, 3, async (keeper, one, two) => {
    await keeper.query("begin");
    await keeper.query("select app_private.lock_organization($1)", [orgs[0]!.uri]);
    const ahead = await waiting(database, one, finishErasure(inOrder!));
    const behind = await waiting(database, two, finishErasure(other!));
    await keeper.query("commit");
    return [await ahead.outcome, await behind.outcome];
  });
  expect(outcomes).toEqual(outcomes.map(() => expect.stringMatching(/@erased\.invalid$/)));
});

test("whose membership is made active while they are erased, in an organization that is named after them, has none, and is erased", async () => {
  const org = await m.addOrganization(db(), { ana: "org_contributor" });
  const email = `ana@${org.domain}`;
  await db().query("update app_public.organizations set name = 'Team of ' || $2 where org_uri = $1", [
    ...[org.uri, email],
  ]);
  await db().query("select app_private.begin_erasure($1, false)", [email]);
  await onConnections(database, 2, async (adding, erasing) => {
    await adding.query("begin");
    await adding.query("select app_private.lock_organization($1)", [org.uri]);
    const erased = await waiting(database, erasing, finishErasure(email));
    await expect(
      adding.query("select app_private.change_member($1, $2, null, 'active')", [org.uri, email]),
    ).rejects.toMatchObject({ code: "PT404", detail: "member_not_found" });
    await adding.query("rollback");
    expect(await erased.outcome).toMatch(/@erased\.invalid$/);
  });
  const { rows } = await db().query("select name from app_public.organizations where org_uri = $1", [
    org.uri,
  ]);
  expect(rows).toEqual([{ name: expect.stringMatching(/^Team of erased-.*@erased\.invalid$/) }]);
});

test("of two who erase a person at once, the second finds nobody any more", async () => {
  const { domain } = await m.addOrganization(db(), { head: "org_admin", ana: "org_member" });
  const email = `ana@${domain}`;
  await db().query("select app_private.begin_erasure($1, false)", [email]);
  let pseudonym: unknown;
  const second = await overlap(
    database,
    async (client) => (pseudonym = await finishErasure(email)(client)),
    finishErasure(email),
  );
  expect(second).toBeNull();
  const { rows } = await db().query("select from app_public.users where email = $1", [pseudonym]);
  expect(rows).toHaveLength(1);
});

test("who claims an organization once more while they confirm their claims hears what has become of them", async () => {
  await db().query(
    "update app_private.settings set value = 'true' where name = 'auto_approval_needs_verified_email'",
  );
  const orgs = await Promise.all(
    ["a", "b"].map(() => m.addOrganization(db(), {}, { domain: "both.example" })),
  );
  orgs.sort((one, other) => (one.uri < other.uri ? -1 : 1));
  const email = "ana@both.example";
  const claimIds: string[] = [];
  for (const org of orgs) {
    const [claim] = (await claimBy(email, org)(db())) as { claim_id: string }[];
    claimIds.push(claim!.claim_id);
  }
  await db().query("select app_private.begin_session(sha256('here'), sha256('before'), $1)", [email]);
  const confirm: Deed = async (client) =>
    (
      await client.query<{ outcomes: { status: string }[] }>(
        "select app_private.confirm_claims(sha256('here'), $1) as outcomes",
        [claimIds],
      )
    ).rows[0]?.outcomes.map(({ status }) => status);
  const outcomes = await gateAfterInsert(database, "app_public.organization_claim_history", (gate) =>
    onConnections(database, 2, async (one, two) => {
      await gate.shut();
      const confirmed = await waiting(database, one, confirm);
      const claimed = await waiting(database, two, claimBy(email, orgs[1]!));
      await gate.open();
      return [await confirmed.outcome, await claimed.outcome];
    }),
  );
  expect(outcomes).toEqual([
    ["approved", "approved"],
    expect.objectContaining({ code: "PT409", detail: "already_member" }),
  ]);
});

const confirmAll =
  (secret: string, claimIds: readonly string[]): Deed =>
  async (client) =>
    (
      await client.query<{ outcomes: { status: string }[] }>(
        "select app_private.confirm_claims(sha256(convert_to($1, 'utf8')), $2) as outcomes",
        [secret, claimIds],
      )
    ).rows[0]?.outcomes.map(({ status }) => status);
const signIn = (secret: string, email: string) =>
  db().query(
    "select app_private.begin_session(sha256(convert_to($1, 'utf8')), sha256(convert_to($1 || '.', 'utf8')), $2)",
    [secret, email],
  );

test("who confirms a claim while it is being rejected has confirmed nothing", async () => {
  const org = await m.addOrganization(db(), { head: "org_admin" });
  const email = `ana@${org.domain.replace(".example", ".test.example")}`;
  const [claim] = (await claimBy(email, org)(db())) as { claim_id: string }[];
  await signIn("rejected", email);
  const outcomes = await overlap(
    database,
    (client) =>
      client.query("select app_public.review_organization_claim($1, 'reject', $2, 'No.')", [
        ...[claim!.claim_id, m.support],
      ]),
    confirmAll("rejected", [claim!.claim_id]),
  );
  expect(outcomes).toEqual([]);
  const { rows } = await db().query(
    "select status, email_verified as proven from app_public.organization_claims where claim_id = $1",
    [claim!.claim_id],
  );
  expect(rows).toEqual([{ status: "rejected", proven: false }]);
});

test("who confirms several claims takes them in their order, and after all of them their organizations in theirs", async () => {
  const orgs = await Promise.all([1, 2, 3].map(() => m.addOrganization(db(), { head: "org_admin" })));
  const uris = orgs.map(({ uri }) => uri).toSorted();
  const ids = uris.map((_, place) => `00000000-0000-4000-8000-00000000c1a${place}`);
  const email = "several@elsewhere.example";
  await db().query("insert into app_public.users (email) values ($1)", [email]);
  // The other way round: who takes them as they come upon them takes the last of them first.
  for (const place of [2, 1, 0]) {
    await db().query(
      `insert into app_public.organization_claims (claim_id, user_id, org_uri, org_name, email_domain, created_at)
       select $1, user_id, $2, 'Several', 'elsewhere.example', now() + $4 * interval '1 hour'
       from app_public.users where email = $3`,
      [ids[place], uris[place], email, place],
    );
    await db().query(
      `update app_public.organization_claims
       set status = 'pending_review', routed_to = 'platform', result_variant = 'manual-review' where claim_id = $1`,
      [ids[place]],
    );
  }
  await signIn("several", email);
  const claims = "app_public.organization_claims where claim_id = any ($1) order by claim_id";
  const organizations = "app_public.organizations where org_uri = any ($1) order by org_uri";
  await onConnections(database, 3, async (keeper, confirming, looking) => {
    await keeper.query("begin");
    await keeper.query(`select from ${claims} limit 1 for no key update`, [ids]);
    const { outcome } = await waiting(database, confirming, confirmAll("several", ids));
    const free = async (which: string, among: string[]) =>
      (await looking.query(`select from ${which} for no key update skip locked`, [among])).rowCount;
    expect([await free(claims, ids), await free(organizations, uris)]).toEqual([2, 3]);
    await keeper.query("rollback; begin");
    expect(await outcome).toEqual(["pending", "pending", "pending"]);
    // Once more, now that nothing of it is confirmed.
    await db().query(
      "update app_public.organization_claims set email_verified = false where claim_id = any ($1)",
      [ids],
    );
    await keeper.query(`select from ${organizations} limit 1 for no key update`, [uris]);
    const again = await waiting(database, confirming, confirmAll("several", ids));
    expect([await free(claims, ids), await free(organizations, uris)]).toEqual([0, 2]);
    await keeper.query("rollback");
    expect(await again.outcome).toEqual(["pending", "pending", "pending"]);
  });
});

test("one statement that takes managers from several organizations takes these in order", async () => {
  for (let n = 0; n < 8; n++) await m.addOrganization(db(), { head: "org_admin", other: "org_admin" });
  const { rows } = await db().query<{ uri: string }>(
    "select org_uri as uri from app_private.organization_managers group by org_uri having count(*) = 2 order by org_uri",
  );
  const uris = rows.map(({ uri }) => uri);
  await onConnections(database, 3, async (keeper, changing, looking) => {
    await keeper.query("begin");
    await keeper.query("select from app_public.organizations where org_uri = $1 for no key update", [
      uris[4],
    ]);
    // By itself a plan may come upon them in this order.
    await changing.query("set enable_sort = off");
    const { outcome } = await waiting(database, changing, (client) =>
      client.query(
        `update app_public.memberships set role = 'org_member' where org_uri = any ($1)
           and user_id in (select user_id from app_public.users where email like 'other@%')`,
        [uris],
      ),
    );
    const { rows: free } = await looking.query<{ uri: string }>(
      `select org_uri as uri from app_public.organizations where org_uri = any ($1)
       order by org_uri for no key update skip locked`,
      [uris],
    );
    expect(free.map(({ uri }) => uri)).toEqual(uris.slice(5));
    await keeper.query("commit");
    expect(await outcome).toMatchObject({ rowCount: uris.length });
  });
});
