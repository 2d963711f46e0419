// What must hold when people act at the same moment.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { createTestDatabase } from "./support/database.ts";
import * as m from "./support/membership.ts";
import { onConnections, overlap } from "./support/overlap.ts";
import type { Deed } from "./support/overlap.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let pool: pg.Pool;
beforeAll(async () => {
  service = await startTestService({ world: false });
  await m.addPlatformPeople(service.database.owner);
  pool = new pg.Pool({ connectionString: service.database.url, max: 50 });
});
afterAll(async () => {
  await pool.end();
  await service.stop();
});

const db = () => service.database.owner;
const ROUNDS = 20;
const CLAIMS = 50;

async function activeAdmins(orgUri: string): Promise<number> {
  const { rows } = await db().query<{ n: number }>(
    `select count(*)::integer as n from app_public.memberships
     where org_uri = $1 and role = 'org_admin' and status = 'active'`,
    [orgUri],
  );
  return rows[0]!.n;
}

function tally(answers: string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(answers, (answer) => answer)].map(([answer, given]) => [answer, given.length]),
  );
}

/** All of them come with one key: a machine that is slow refuses some for the time being, and they come again. */
async function untilTaken(send: () => Promise<m.Reply>): Promise<m.Reply> {
  const reply = await send();
  return reply.refusal === "503 service_busy" ? untilTaken(send) : reply;
}

test(`${CLAIMS} simultaneous first claims from the matching domain end in one auto-approval, ${ROUNDS} times over`, async () => {
  const rest = m.membershipDoor("REST", () => service);
  // Half of the rounds go over HTTP, half use separate connections, where nothing comes between the claims.
  const inSql = async (organization: m.TestOrganization, email: string) => {
    const { rows } = await pool.query<{ variant: string }>(
      `select result_variant as variant
         from app_public.claim_organization($1, 'Ana', 'Silva', '{}', $2, false, $3)`,
      [email, organization.name, organization.uri],
    );
    return rows[0]!.variant;
  };
  const overHttp = async (organization: m.TestOrganization, email: string): Promise<string> => {
    const { value, refusal } = await untilTaken(() => rest.claim(m.claimOf(organization, email)));
    return value?.resultVariant ?? refusal;
  };
  for (let round = 0; round < ROUNDS; round++) {
    const organization = await m.addOrganization(db());
    const answers = await Promise.all(
      Array.from({ length: CLAIMS }, async (_, place) => {
        const email = `person${place}@${organization.domain}`;
        if (round % 2) return inSql(organization, email);
        return overHttp(organization, email);
      }),
    );
    expect(tally(answers)).toEqual({ claimed: 1, "request-sent": CLAIMS - 1 });
    expect(await activeAdmins(organization.uri)).toBe(1);
  }
});

test("the same person claiming at once from many places ends up with one claim", async () => {
  const door = m.membershipDoor("REST", () => service);
  for (let round = 0; round < 5; round++) {
    const organization = await m.addOrganization(db(), { head: "org_admin" });
    const claim = m.claimOf(organization, `same${round}@elsewhere.example`);
    const replies = await Promise.all(Array.from({ length: 10 }, () => untilTaken(() => door.claim(claim))));
    expect(tally(replies.map((reply) => reply.refusal ?? "taken"))).toEqual({
      taken: 1,
      "409 claim_pending": 9,
    });
  }
});

test("a first claim from the domain waits while the only other claim is being taken back, and is approved then", async () => {
  const { name, uri, domain } = await m.addOrganization(db());
  const other = "hasty@elsewhere.example";
  const { value } = await m
    .membershipDoor("REST", () => service)
    .claim(m.claimOf({ name, uri, domain }, other));
  const claim = (client: Pick<pg.ClientBase, "query">) =>
    client.query(
      "select result_variant as variant from app_public.claim_organization($1, 'Ana', 'Silva', '{}', $2, false, $3)",
      [`first@${domain}`, name, uri],
    );
  await onConnections(service.database, 2, async (ahead, behind) => {
    await ahead.query("begin");
    await ahead.query("select app_public.withdraw_organization_claim($1, $2)", [value.claimId, other]);
    // Nothing lets go of it before the commit: to wait for a moment is to wait for that.
    await behind.query("set lock_timeout = 200");
    expect(await claim(behind).catch(({ code }: { code: string }) => code)).toBe("55P03");
    await ahead.query("commit");
    expect((await claim(behind)).rows).toEqual([{ variant: "claimed" }]);
  });
});

test("two claims at the same time send a reviewer no more mails than the limit has left", async () => {
  const limit = (mails: number) =>
    db().query(
      "update app_private.settings set value = to_jsonb($1::integer) where name = 'claim_mails_per_person_per_day'",
      [mails],
    );
  const told = async () => {
    const { rows } = await db().query<{ mails: number }>(
      `select count(*)::integer as mails from app_private.mails
       where kind = 'claim_queue' and recipient = $1 and created_at > now() - interval '1 day'`,
      [m.support],
    );
    return rows[0]!.mails;
  };
  const claim = async (email: string): Promise<Deed> => {
    const { name, uri } = await m.addOrganization(db());
    return (client) =>
      client.query("select from app_public.claim_organization($1, 'Ana', 'Silva', '{}', $2, false, $3)", [
        email,
        name,
        uri,
      ]);
  };
  // Whoever asks for the first job of a kind has others wait, which would hide that nobody waits here.
  const first = m.claimOf(await m.addOrganization(db()), "race0@elsewhere.example");
  expect((await m.membershipDoor("REST", () => service).claim(first)).refusal).toBeUndefined();
  const before = await told();
  await limit(before + 1);
  try {
    await overlap(
      service.database,
      await claim("race1@elsewhere.example"),
      await claim("race2@elsewhere.example"),
    );
  } finally {
    await limit(100);
  }
  expect(await told()).toBe(before + 1);
});

test.each(m.DOORS)(
  "two reviewers deciding at once through %s: one decides, the other gets 409",
  async (name) => {
    const door = m.membershipDoor(name, () => service);
    for (let round = 0; round < 20; round++) {
      const organization = await m.addOrganization(db(), { head: "org_admin" });
      const { value } = await door.claim(m.claimOf(organization, "ana@elsewhere.example"));
      const replies = await Promise.all([
        door.review({ claimId: value.claimId, action: "approve", adminEmail: `head@${organization.domain}` }),
        door.review({ claimId: value.claimId, action: "reject", notes: "No.", adminEmail: m.support }),
      ]);
      expect(replies.map((reply) => reply.refusal ?? "decided").toSorted()).toEqual([
        "409 already_reviewed",
        "decided",
      ]);
      const decided = replies.find((reply) => reply.value)!.value.newStatus as string;
      const { rows } = await db().query(
        `select c.status::text, (select count(*)::integer from app_public.memberships as m
         where m.org_uri = c.org_uri and m.user_id = c.user_id) as memberships,
         (select count(*)::integer from app_public.organization_claim_history as h where h.claim_id = c.claim_id) as steps
       from app_public.organization_claims as c where claim_id = $1`,
        [value.claimId],
      );
      expect(rows).toEqual([{ status: decided, memberships: decided === "approved" ? 1 : 0, steps: 4 }]);
    }
  },
);

test.each(m.DOORS)("two org_admins stepping down at once through %s leave one", async (name) => {
  const door = m.membershipDoor(name, () => service);
  for (let round = 0; round < 20; round++) {
    const organization = await m.addOrganization(db(), { one: "org_admin", two: "org_admin" });
    const replies = await Promise.all(
      ["one", "two"].map((person, place) => {
        const email = `${person}@${organization.domain}`;
        const change = { orgUri: organization.uri, userEmail: email, adminEmail: email };
        return place
          ? door.setMemberRole({ ...change, role: "org_member" })
          : door.setMemberStatus({ ...change, status: "revoked" });
      }),
    );
    expect(replies.map((reply) => reply.refusal ?? "done").toSorted()).toEqual(["409 last_admin", "done"]);
    expect(await activeAdmins(organization.uri)).toBe(1);
  }
});

test("two platform admins dismissing each other at once leave one", async () => {
  const door = m.membershipDoor("REST", () => service);
  await db().query("insert into app_public.users (email) values ('second@platform.example')");
  for (let round = 0; round < 10; round++) {
    await db().query(
      "insert into app_public.platform_roles (user_id, role) select user_id, 'admin' from app_public.users where email in ($1, $2) on conflict do nothing",
      [m.platformAdmin, "second@platform.example"],
    );
    const revoke = (userEmail: string, adminEmail: string) =>
      door.setPlatformRole({ userEmail, role: "admin", action: "revoke", adminEmail });
    const replies = await Promise.all([
      revoke(m.platformAdmin, "second@platform.example"),
      revoke("second@platform.example", m.platformAdmin),
    ]);
    // Whoever was dismissed first may no longer dismiss others, or would dismiss the last admin.
    expect(replies.filter((reply) => reply.value).length).toBe(1);
    expect(replies.find((reply) => reply.refusal)!.refusal).toMatch(
      /^(409 last_admin|403 permission_required)$/,
    );
    const { rows } = await db().query("select from app_public.platform_roles where role = 'admin'");
    expect(rows.length).toBe(1);
  }
});

test("a transaction with an old snapshot cannot take the last admin away either", async () => {
  const organization = await m.addOrganization(db(), { one: "org_admin", two: "org_admin" });
  const demote = (client: pg.ClientBase, person: string) =>
    client.query(
      `update app_public.memberships set role = 'org_member' where org_uri = $1
       and user_id = (select user_id from app_public.users where email = $2)`,
      [organization.uri, `${person}@${organization.domain}`],
    );
  const late = await pool.connect();
  try {
    await late.query("begin isolation level repeatable read");
    await late.query("select count(*) from app_public.memberships");
    const early = await pool.connect();
    await demote(early, "two");
    early.release();
    await expect(demote(late, "one")).rejects.toMatchObject({ code: "40001" });
    await late.query("rollback");
  } finally {
    late.release();
  }
  expect(await activeAdmins(organization.uri)).toBe(1);
});

test("nor can it take the last away who assigns roles on the platform", async () => {
  // The platform's admins are these two alone.
  const database = await createTestDatabase();
  try {
    await m.addOrganization(
      database.owner,
      { one: "org_admin", two: "org_admin" },
      { domain: "two.example" },
    );
    await database.owner.query(
      `insert into app_public.platform_roles (user_id, role)
       select user_id, 'admin' from app_public.users where email like '%@two.example'`,
    );
    const dismiss = (client: Pick<pg.ClientBase, "query">, person: string) =>
      client.query(
        `delete from app_public.platform_roles
         where user_id = (select user_id from app_public.users where email = $1)`,
        [`${person}@two.example`],
      );
    const late = await database.owner.connect();
    try {
      await late.query("begin isolation level repeatable read");
      await late.query("select count(*) from app_public.platform_roles");
      await dismiss(database.owner, "two");
      await expect(dismiss(late, "one")).rejects.toMatchObject({ code: "40001" });
    } finally {
      late.release(true);
    }
  } finally {
    await database.drop();
  }
});

test.each([
  [
    "an organization's two admins are demoted",
    `update app_public.memberships set role = 'org_member' where org_uri = $1
     and user_id = (select user_id from app_public.users where email = $2)`,
  ],
  [
    "the platform's two admins are dismissed",
    `delete from app_public.platform_roles where role = 'admin' and $1 <> ''
     and user_id = (select user_id from app_public.users where email = $2)`,
  ],
])("when %s in overlapping transactions, the second is refused", async (_, statement) => {
  // The platform's admins are these two alone.
  const database = await createTestDatabase();
  try {
    const organization = await m.addOrganization(database.owner, { one: "org_admin", two: "org_admin" });
    const people = ["one", "two"].map((person) => `${person}@${organization.domain}`);
    await database.owner.query(
      `insert into app_public.platform_roles (user_id, role)
       select user_id, 'admin' from app_public.users where email = any ($1)`,
      [people],
    );
    const [first, second] = people.map(
      (person): Deed =>
        (client) =>
          client.query(statement, [organization.uri, person]),
    );
    expect(await overlap(database, first!, second!)).toMatchObject({ code: "PT409", detail: "last_admin" });
  } finally {
    await database.drop();
  }
});

test("when the platform's two admins are erased in overlapping transactions, the second is refused", async () => {
  // The platform's admins are these two alone, who have no organization in common.
  const database = await createTestDatabase();
  try {
    const people = ["one@first.example", "two@second.example"];
    await database.owner.query(
      `with person as (insert into app_public.users (email) select unnest($1::text[]) returning user_id)
       insert into app_public.platform_roles (user_id, role) select user_id, 'admin' from person`,
      [people],
    );
    const erasureOf =
      (person: string): Deed =>
      (client) =>
        client.query("select app_private.begin_erasure($1, false)", [person]);
    await onConnections(database, 2, async (ahead, behind) => {
      await ahead.query("begin");
      await erasureOf(people[0]!)(ahead);
      // Nothing lets go of it before the commit: to wait for a moment is to wait for that.
      await behind.query("set lock_timeout = 200");
      await expect(erasureOf(people[1]!)(behind)).rejects.toMatchObject({ code: "55P03" });
      await ahead.query("commit");
      await expect(erasureOf(people[1]!)(behind)).rejects.toMatchObject({ detail: "last_admin" });
    });
    const { rows } = await database.owner.query(
      "select from app_private.platform_powers where permission = 'roles:assign'",
    );
    expect(rows).toHaveLength(1);
  } finally {
    await database.drop();
  }
});
