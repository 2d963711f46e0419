// Why somebody may do something, or may not: the words of the operator's tool against what the rules decide.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { createTestDatabase, issueTestKey, keyIdOf } from "./support/database.ts";
import type { KeyBounds, TestDatabase } from "./support/database.ts";
import { addPlatformPeople, platformAdmin, support } from "./support/membership.ts";
import { admin as tool, ROOT } from "./support/process.ts";
import * as world from "./support/world.ts";

// Each call of the tool is a process, which takes a while on a machine that is busy.
jest.setTimeout(600_000);

const { ORG } = world;
/** What the organization is called in the documentation. */
const RIVER = "https://data.example.org/org/river";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await world.buildWorld(database.owner);
  await addPlatformPeople(database.owner);
});
afterAll(() => database.drop());

async function json(...args: string[]): Promise<any> /* oxlint-disable-line typescript/no-explicit-any */ {
  const { stdout } = await tool([...args, "--json"], { DATABASE_URL: database.url });
  return JSON.parse(stdout);
}

const explain = (email: string, permission: string, ...more: string[]) =>
  json("authorization", "explain", "--email", email, "--org", ORG, "--permission", permission, ...more);

/** The line that a reason points to. */
async function lineAt({ file, line }: { file: string; line: number }): Promise<string> {
  return (await readFile(join(ROOT, file), "utf8")).split("\n")[line - 1]!;
}

test("who is refused, and with what, is told as the rules decide it: everybody, every permission", async () => {
  const { rows } = await database.owner.query<Record<"email" | "org_uri" | "permission" | "told", string>>(
    `select u.email, o.org_uri, p.permission,
       (select r.refusal from app_private.authorization_reasons(o.org_uri, u.email, p.permission) as r
        where not r.holds limit 1) as told
     from (select email from app_public.users union all select 'nobody@nowhere.example') as u
     cross join (select org_uri from app_public.organizations union all select 'https://data.example.org/none') as o
     cross join (select permission from app_public.organization_permissions
       union select permission from app_public.platform_permissions) as p`,
  );
  expect(rows.length).toBeGreaterThan(100);
  const { rows: platform } = await database.owner.query<{ permission: string }>(
    "select distinct permission from app_public.platform_permissions",
  );
  for (const { email, org_uri, permission, told } of rows) {
    const asked = platform.some((row) => row.permission === permission)
      ? database.owner.query("select app_private.require_platform_permission($1, $2)", [email, permission])
      : database.owner.query("select app_private.authorize($1, $2, $3)", [org_uri, email, permission]);
    const decided = await asked.then(
      () => null,
      (error: { detail: string }) => error.detail,
    );
    expect([email, org_uri, permission, told]).toEqual([email, org_uri, permission, decided]);
  }
});

test("who is refused for their role is told which role it is, and which permission it lacks", async () => {
  await expect(
    database.owner.query("select app_private.authorize($1, $2, 'members:manage')", [ORG, world.contributor]),
  ).rejects.toMatchObject({
    detail: "insufficient_role",
    message: "In this organization the role org_contributor does not include the permission members:manage.",
  });
});

test("who-can names exactly those whom the rules let through", async () => {
  const { rows } = await database.owner.query<Record<"org_uri" | "permission", string>>(
    `select o.org_uri, p.permission from app_public.organizations as o
     cross join (select permission from app_public.organization_permissions
       union select permission from app_public.platform_permissions) as p`,
  );
  for (const { org_uri, permission } of rows) {
    const { rows: found } = await database.owner.query<{ listed: string[]; allowed: string[] }>(
      `select array(select email from app_private.holders_of($1, $2) order by 1) as listed,
         array(select u.email from app_public.users as u where not exists (
           select from app_private.authorization_reasons($1, u.email, $2) as r where not r.holds) order by 1) as allowed`,
      [org_uri, permission],
    );
    expect([org_uri, permission, found[0]!.listed]).toEqual([org_uri, permission, found[0]!.allowed]);
  }
  expect(
    await json("authorization", "who-can", "--org", ORG, "--permission", "commitments:write"),
  ).toMatchObject([
    { email: world.admin, reason: expect.stringContaining("org_admin") },
    { email: world.claimant, reason: expect.stringContaining("claim") },
    { email: world.contributor, reason: expect.stringContaining("org_contributor") },
  ]);
  expect(await json("authorization", "who-can", "--org", ORG, "--permission", "users:read")).toMatchObject([
    { email: platformAdmin },
    { email: support },
  ]);
  expect(
    await json("authorization", "who-can", "--org", `${ORG}-not`, "--permission", "needs:write"),
  ).toMatchObject({ error: "organization_not_found" });
});

test("who-can names them by their addresses, whatever case these have and whoever was first", async () => {
  const added = { "Zoe@platform.example": "0".repeat(8), "ada@platform.example": "f".repeat(8) };
  for (const [email, begin] of Object.entries(added))
    await database.owner.query(
      `with person as (insert into app_public.users (user_id, email) values ($1, $2) returning user_id)
       insert into app_public.platform_roles (user_id, role) select user_id, 'support' from person`,
      [`${begin}-0000-4000-8000-000000000000`, email],
    );
  const { rows } = await database.owner.query<{ email: string }>(
    "select email from app_private.holders_of($1, 'users:read')",
    [ORG],
  );
  expect(rows.map(({ email }) => email)).toEqual([
    "ada@platform.example",
    platformAdmin,
    support,
    "Zoe@platform.example",
  ]);
  const whose = "user_id in (select user_id from app_public.users where email = any ($1))";
  await database.owner.query(`delete from app_public.platform_roles where ${whose}`, [Object.keys(added)]);
});

test.each([
  ["for an organization", world.contributor, "needs:write"],
  ["on the platform", support, "users:read"],
])("who-can tells who they are who may do something %s", async (_, email, permission) => {
  const name = (first: string | null, last: string | null) =>
    database.owner.query("update app_public.users set first_name = $2, last_name = $3 where email = $1", [
      ...[email, first, last],
    ]);
  await name("Ben", "Ode");
  const { rows } = await database.owner.query(
    "select first_name, last_name from app_private.holders_of($1, $2) where email = $3",
    [ORG, permission, email],
  );
  await name(null, null);
  expect(rows).toEqual([{ first_name: "Ben", last_name: "Ode" }]);
});

test("who may do something by two roles is named once, with both", async () => {
  const added = `with person as (insert into app_public.users (email) values ('both@platform.example') returning user_id)
    insert into app_public.platform_roles (user_id, role) select user_id, unnest(array['support', 'admin']::app_public.platform_role[])
    from person`;
  await database.owner.query(added);
  const { rows } = await database.owner.query(
    "select reason from app_private.holders_of($1, 'users:read') where email = 'both@platform.example'",
    [ORG],
  );
  expect(rows).toEqual([{ reason: "On the platform: admin. On the platform: support." }]);
  const whose = "user_id = (select user_id from app_public.users where email = 'both@platform.example')";
  await database.owner.query(`delete from app_public.platform_roles where ${whose}`);
});

test("each reason has the file and line of its rule", async () => {
  const yes = await explain(world.contributor.toUpperCase(), "needs:write");
  expect(yes).toMatchObject({ allowed: true, refusal: null });
  const [standing, role] = yes.reasons;
  expect(standing.reason).toContain("org_contributor");
  expect(await lineAt(standing.place)).toMatch(/^create view app_private\.standings /);
  expect(await lineAt(role.place)).toContain("('org_contributor', 'needs:write')");

  const no = await explain(world.contributor, "members:manage");
  expect(no).toMatchObject({ allowed: false, refusal: "insufficient_role" });
  // That they act for it is not what is wrong.
  expect(no.reasons).toMatchObject([{ holds: true }, { holds: false }]);
  expect(await lineAt(no.reasons[1].place)).toMatch(/^insert into app_public\.organization_permissions /);

  const platform = await explain(support.toUpperCase(), "roles:assign");
  expect(platform).toMatchObject({ allowed: false, refusal: "permission_required" });
  expect(await lineAt(platform.reasons[0].place)).toMatch(/^insert into app_public\.platform_permissions /);

  // Of two roles the one that is enough is told.
  const both =
    "insert into app_public.platform_roles (user_id, role) select user_id, 'support' from app_public.users where email = $1";
  await database.owner.query(both, [platformAdmin]);
  try {
    const enough = await explain(platformAdmin, "roles:assign");
    expect(enough).toMatchObject({ allowed: true, reasons: [{ rule: "platform admin roles:assign" }] });
    expect((await explain(platformAdmin, "users:read")).reasons).toMatchObject([
      { rule: "platform admin users:read" },
      { rule: "platform support users:read" },
    ]);
  } finally {
    await database.owner.query(
      "delete from app_public.platform_roles where role = 'support' and user_id = (select user_id from app_public.users where email = $1)",
      [platformAdmin],
    );
  }

  const { code, stdout } = await tool(
    [
      ...["authorization", "explain", "--email", world.suspendedClaimant, "--org", ORG],
      ...["--permission", "needs:write"],
    ],
    { DATABASE_URL: database.url },
  );
  expect(code).toBe(0);
  expect(stdout).toMatch(/^No: .* membership_required\.\n/);
  expect(stdout).toMatch(
    /\nno +The membership \(org_contributor\) is suspended.* db\/rules\/membership\.sql:\d+\n/,
  );
});

test("the key comes first: what it is, and what its scope gets to", async () => {
  const keyOf = async (scope: "api_read" | "api_write") => {
    const key = await issueTestKey(database.owner, scope);
    return { key, id: await keyIdOf(database.owner, key) };
  };
  const read = await keyOf("api_read");
  const write = await keyOf("api_write");

  const refused = await explain(world.contributor, "needs:write", "--key", read.id);
  expect(refused).toMatchObject({ allowed: false, refusal: "insufficient_scope" });
  expect(refused.reasons.map((reason: { holds: boolean }) => reason.holds)).toEqual([
    true,
    false,
    true,
    true,
  ]);

  expect(refused.reasons[1].reason).toBe(
    "Its scope api_read gives access to nothing that requires needs:write.",
  );

  // Of several that refuse, the first is what a caller is told.
  expect(await explain(world.member, "needs:write", "--key", read.id)).toMatchObject({
    refusal: "insufficient_scope",
    reasons: [{ holds: true }, { holds: false }, { holds: true }, { holds: false }],
  });

  const allowed = await explain(world.contributor, "needs:write", "--key", write.id.toUpperCase());
  expect(allowed).toMatchObject({
    allowed: true,
    reasons: [{}, { place: { file: "db/rules/needs.sql" } }, {}, {}],
  });
  expect(allowed.reasons[1].reason).toMatch(/^Its scope api_write can reach: .*needs/);
  // A rule that holds refuses with nothing.
  expect(allowed.reasons.map((reason: { refusal: string | null }) => reason.refusal)).toEqual(
    allowed.reasons.map(() => null),
  );
  expect(await lineAt(allowed.reasons[0].place)).toMatch(/^create function app_private\.key_state/);
  expect(await lineAt(allowed.reasons[1].place)).toMatch(/^create policy \w+ on app_public\.needs /);

  const manage = await explain(world.admin, "members:manage", "--key", write.id);
  expect(manage).toMatchObject({ refusal: "insufficient_scope" });
  expect(await lineAt(manage.reasons[1].place)).toContain("app_public.set_member_role");

  // Expired since, too: what somebody has done says more than that time has passed.
  await database.owner.query(
    "update app_private.api_keys set revoked_at = now(), expires_at = now() where key_id = $1",
    [write.id],
  );
  expect(await explain(world.contributor, "needs:write", "--key", write.id)).toMatchObject({
    refusal: "invalid_api_key",
    reasons: [{ reason: expect.stringContaining("revoked") }, {}, {}, {}],
  });
  const expired = await issueTestKey(database.owner, "api_write", { expiresAt: "2020-01-01" });
  expect(
    await explain(world.contributor, "needs:write", "--key", await keyIdOf(database.owner, expired)),
  ).toMatchObject({
    refusal: "invalid_api_key",
    reasons: [{ reason: expect.stringContaining("expired") }, {}, {}, {}],
  });
  expect(await explain(world.contributor, "needs:write", "--key", "no-such-key")).toMatchObject({
    refusal: "invalid_api_key",
    // Of a key that there is not nothing else is said.
    reasons: [{ reason: "There is no key no-such-key." }, { holds: true }, { holds: true }],
  });
  expect(await explain(world.contributor, "needs:write", "--key", read.key)).toMatchObject({
    error: "failed",
  });
});

test("the example on the page is what the tool says", async () => {
  const id = await keyIdOf(database.owner, await issueTestKey(database.owner, "api_review"));
  await database.owner.query("update app_private.api_keys set label = 'Dashboard' where key_id = $1", [id]);
  const { stdout } = await tool(
    [
      ...["authorization", "explain", "--email", world.contributor, "--org", ORG],
      ...["--permission", "members:manage", "--key", id],
    ],
    { DATABASE_URL: database.url },
  );
  const page = await readFile(join(ROOT, "docs/authorization.md"), "utf8");
  const [, example] = /```\n(No: [^`]+)```/.exec(page)!;
  // Lines, which any change moves, are left out there; columns are as wide as what is in them.
  const plain = (text: string) => text.replaceAll(/ {2,}/g, "  ").replaceAll(/(?<=\.sql:)\d+/g, "…");
  expect(plain(stdout).replaceAll(world.contributor, "ana@river.example").replaceAll(ORG, RIVER)).toBe(
    plain(example!),
  );
});

test("a key is shown a check that its scope gets to, not one that only a wider scope does", async () => {
  const id = await keyIdOf(database.owner, await issueTestKey(database.owner, "api_write"));
  const shown = async () => (await explain(world.contributor, "needs:write", "--key", id)).reasons[1];
  const before = await shown();
  expect(before.holds).toBe(true);
  // By its name it comes before all others.
  await database.owner.query(
    `create function app_public.a_review() returns text language sql return 'needs:write';
     revoke all on function app_public.a_review() from public;
     grant execute on function app_public.a_review() to api_review`,
  );
  expect(await shown()).toEqual(before);
  await database.owner.query("drop function app_public.a_review()");
});

test("of a key with bounds it is told what they have to do with it", async () => {
  const bounded = async (bounds: KeyBounds) =>
    keyIdOf(database.owner, await issueTestKey(database.owner, "api_review", bounds));
  const asked = async (bounds: KeyBounds, permission = "members:manage") => {
    const { refusal, reasons } = await explain(
      world.admin.toUpperCase(),
      permission,
      "--key",
      await bounded(bounds),
    );
    for (const { place } of reasons) expect(place).not.toBeNull();
    return { refusal, told: reasons.length };
  };
  expect(await asked({})).toEqual({ refusal: null, told: 4 });
  const within = { organizations: [ORG], persons: [world.admin.toUpperCase()], networks: ["192.0.2.0/24"] };
  expect(await asked(within)).toEqual({ refusal: null, told: 7 });
  expect(await asked({ persons: [world.member] })).toMatchObject({ refusal: "key_not_for_person" });
  expect(await asked({ organizations: [world.OTHER_ORG] })).toMatchObject({
    refusal: "key_not_for_organization",
  });
  // What is for all of the platform is for no key of certain organizations, this one or not.
  expect(await asked({ organizations: [ORG] }, "users:read")).toMatchObject({
    refusal: "key_not_for_organization",
  });
  expect(await asked({ organizations: [ORG] }, "claims:review")).toMatchObject({
    refusal: "permission_required",
  });
});

test.each([
  ["https://data.example.org/none", world.member, "No organization has this URI."],
  [ORG, "nobody@nowhere.example", "Nobody with this e-mail address is known."],
  [ORG, support.toUpperCase(), "They have no membership of the organization, and no approved claim to it."],
])("why who has nothing to do with %s cannot act for it: %s", async (org, email, expected) => {
  const { rows } = await database.owner.query<{ reason: string }>(
    "select reason from app_private.authorization_reasons($1, $2, 'needs:write')",
    [org, email],
  );
  expect(rows).toEqual([{ reason: expected }]);
});

test("a permission that nobody ever has is answered with those there are", async () => {
  expect(await explain(world.admin, "needs:dream")).toMatchObject({
    error: "validation_failed",
    message: expect.stringContaining("needs:write"),
  });
  const { message } = await explain(world.admin, "needs:dream");
  const named = /there are: (.*)\./.exec(message as string)![1]!.split(", ");
  // Each once, however many roles have it.
  expect(named).toEqual([...new Set(named)].toSorted());
});
