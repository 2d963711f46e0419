// Keys with bounds: for whom, as whom and from where they may be used. The lifecycle's cells are in authorization.test.ts.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { RunningServer } from "../server/main.ts";
import { issueTestKey, keyIdOf } from "./support/database.ts";
import type { KeyBounds } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { addPlatformPeople, DOORS, membershipDoor, platformAdmin } from "./support/membership.ts";
import type { MembershipDoor, Reply } from "./support/membership.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, contributor, member, ORG, OTHER_ORG, otherAdmin, stranger } from "./support/world.ts";

let service: TestService;
let second: RunningServer;
beforeAll(async () => {
  service = await startTestService({ config: { trustProxy: 1 } });
  second = await startAnotherServer(service, { TRUST_PROXY: "1", RATE_LIMIT_PER_MINUTE: "1000000" });
  await addPlatformPeople(service.database.owner);
});
afterAll(async () => {
  await second.stop();
  await service.stop();
});

const issue = (bounds: KeyBounds, scope: "api_read" | "api_write" | "api_review" = "api_review") =>
  issueTestKey(service.database.owner, scope, bounds);
const bind = async (key: string, bounds: KeyBounds) =>
  service.database.owner.query(
    "update app_private.api_keys set organizations = $2, persons = $3, networks = $4 where key_id = $1",
    [
      await keyIdOf(service.database.owner, key),
      bounds.organizations ?? null,
      bounds.persons ?? null,
      bounds.networks ?? null,
    ],
  );

const claimOf = (userEmail: string, orgUri: string) => ({
  ...{ userEmail, orgUri, firstName: "New", lastName: "Comer", roles: [], orgName: "x", isNewOrg: false },
});

describe.each(DOORS)("through %s", (name) => {
  let key = "";
  const door = membershipDoor(name, () => ({ ...service, keys: { read: key, write: key, review: key } }));
  const unbound = membershipDoor(name, () => service);
  const newcomer = (orgUri: string) => unbound.claim(claimOf(`${randomUUID()}@elsewhere.example`, orgUri));

  describe("a key for one organization", () => {
    beforeAll(async () => {
      key = await issue({ organizations: [ORG] });
    });

    const OTHERS: [string, (door: MembershipDoor, org: string, who: string) => Promise<Reply>][] = [
      ["claims it", (on, org) => on.claim(claimOf(`${randomUUID()}@elsewhere.example`, org))],
      ["reads who belongs to it", (on, org, who) => on.members(org, who)],
      [
        "gives roles",
        (on, orgUri, adminEmail) =>
          on.setMemberRole({ orgUri, adminEmail, userEmail: adminEmail, role: "org_admin" }),
      ],
      [
        "suspends",
        (on, orgUri, adminEmail) =>
          on.setMemberStatus({ orgUri, adminEmail, userEmail: adminEmail, status: "active" }),
      ],
      ["renames it", (on, orgUri, adminEmail) => on.updateOrganization({ orgUri, adminEmail, type: "m" })],
    ];
    test.each(OTHERS)("%s, and no other", async (_what, act) => {
      expect((await act(door, ORG, admin)).refusal).toBeUndefined();
      // Nor does it learn which others there are, and who manages them.
      for (const org of [OTHER_ORG, "https://data.example.org/org/none"]) {
        for (const who of [otherAdmin, stranger]) {
          expect(await act(door, org, who)).toEqual({ refusal: "403 key_not_for_organization" });
        }
      }
      expect((await act(unbound, OTHER_ORG, otherAdmin)).refusal).toBeUndefined();
    });

    test("proposes no new one", async () => {
      const { orgUri: _, ...claim } = claimOf(stranger, ORG);
      expect(await door.claim({ ...claim, orgName: "Another", isNewOrg: true })).toEqual({
        refusal: "403 key_not_for_organization",
      });
    });

    test("does nothing for the whole platform", async () => {
      expect(await door.users(platformAdmin)).toEqual({ refusal: "403 key_not_for_organization" });
      const role = { userEmail: member, role: "support", adminEmail: platformAdmin };
      expect(await door.setPlatformRole(role)).toEqual({ refusal: "403 key_not_for_organization" });
    });

    test("sees and decides its claims, and of others not that they are", async () => {
      const mine = (await newcomer(ORG)).value.claimId;
      const theirs = (await newcomer(OTHER_ORG)).value.claimId;
      for (const reviewer of [platformAdmin, admin]) {
        const { claims, total } = (await door.claims(reviewer, { limit: 200 })).value;
        expect(new Set(claims.map(({ orgUri }: { orgUri: string }) => orgUri))).toEqual(new Set([ORG]));
        expect(claims.map(({ claimId }: { claimId: string }) => claimId)).toContain(mine);
        expect(claims).toHaveLength(total);
      }
      expect(await door.claims(otherAdmin)).toEqual({ refusal: "403 permission_required" });
      const decide = (claimId: string, adminEmail: string) =>
        door.review({ claimId, adminEmail, action: "reject", notes: "No." });
      expect(await decide(theirs, platformAdmin)).toEqual({ refusal: "404 claim_not_found" });
      expect(await decide(theirs, otherAdmin)).toEqual({ refusal: "403 permission_required" });
      expect(await decide(randomUUID(), platformAdmin)).toEqual({ refusal: "404 claim_not_found" });
      expect(await decide(randomUUID(), otherAdmin)).toEqual({ refusal: "403 permission_required" });
      expect((await decide(mine, platformAdmin)).value).toMatchObject({ newStatus: "rejected" });
    });

    test("lists and takes back a person's claims to it, and to no other", async () => {
      const email = `${randomUUID()}@elsewhere.example`;
      const mine = (await unbound.claim(claimOf(email, ORG))).value.claimId;
      const theirs = (await unbound.claim(claimOf(email, OTHER_ORG))).value.claimId;
      expect((await unbound.ownClaims(email)).value.total).toBe(2);
      const { claims, total } = (await door.ownClaims(email)).value;
      expect([total, claims.map(({ claimId }: { claimId: string }) => claimId)]).toEqual([1, [mine]]);
      const take = (claimId: string) => door.withdraw({ claimId, userEmail: email });
      expect(await take(theirs)).toEqual({ refusal: "404 claim_not_found" });
      expect((await take(mine)).value).toMatchObject({ status: "withdrawn" });
    });

    test("leaves it in a person's name, and no other; of people who belong to both it tells of it alone", async () => {
      const email = `${randomUUID()}@elsewhere.example`;
      for (const org of [OTHER_ORG, ORG])
        await service.database.owner.query("select app_private.add_member($1, $2, 'org_member')", [
          org,
          email,
        ]);
      const belonging = async () => {
        const { value } = await door.checkUser(email);
        return value.memberships.map(({ orgUri }: { orgUri: string }) => orgUri);
      };
      expect(await belonging()).toEqual([ORG]);
      expect(await door.leave({ orgUri: OTHER_ORG, userEmail: email })).toEqual({
        refusal: "403 key_not_for_organization",
      });
      expect((await door.leave({ orgUri: ORG, userEmail: email })).value).toMatchObject({
        status: "revoked",
      });
      expect(await belonging()).toEqual([]);
    });

    test("knows of people who belong to it, and of their other organizations nothing", async () => {
      expect((await door.checkUser(contributor)).value).toMatchObject({ exists: true, orgUri: ORG });
      for (const unknown of [otherAdmin, "nobody@nowhere.example"]) {
        expect((await door.checkUser(unknown)).value).toEqual({ exists: false, memberships: [] });
      }
      expect((await unbound.checkUser(otherAdmin)).value).toMatchObject({ exists: true, orgUri: OTHER_ORG });
      const email = `${randomUUID()}@elsewhere.example`;
      await unbound.claim(claimOf(email, OTHER_ORG));
      await service.database.owner.query(
        `insert into app_public.memberships (org_uri, user_id)
         select $1, user_id from app_public.users where email = $2`,
        [OTHER_ORG, email],
      );
      expect((await door.checkUser(email)).value).toEqual({ exists: false, memberships: [] });
      await door.claim(claimOf(email, ORG));
      // It could claim that of anybody, to learn what they are called.
      expect((await door.checkUser(email)).value).toEqual({ exists: false, memberships: [] });
      // Who is suspended acts for it no more.
      const stopped = `${randomUUID()}@elsewhere.example`;
      const { owner } = service.database;
      await owner.query("select app_private.add_member($1, $2, 'org_member')", [ORG, stopped]);
      expect((await door.checkUser(stopped)).value).toMatchObject({ exists: true, orgUri: ORG });
      await owner.query("select app_private.change_member($1, $2, null, 'suspended')", [ORG, stopped]);
      expect((await door.checkUser(stopped)).value).toEqual({ exists: false, memberships: [] });
    });
  });

  describe("a key for one person", () => {
    beforeAll(async () => {
      key = await issue({ persons: [admin.toUpperCase(), platformAdmin] });
    });

    const NAMED: [string, (email: string) => Promise<Reply>][] = [
      ["claims", (email) => door.claims(email)],
      ["members", (email) => door.members(ORG, email)],
      ["users", (email) => door.users(email)],
      ["review", (adminEmail) => door.review({ claimId: randomUUID(), action: "approve", adminEmail })],
      ["claim", (email) => door.claim(claimOf(email, OTHER_ORG))],
      [
        "setPlatformRole",
        (adminEmail) => door.setPlatformRole({ userEmail: member, role: "admin", adminEmail }),
      ],
      ["checkUser", (email) => door.checkUser(email)],
    ];
    test.each(NAMED)("names nobody else: %s", async (_operation, act) => {
      for (const other of [contributor, otherAdmin, "nobody@nowhere.example"]) {
        expect(await act(other)).toEqual({ refusal: "403 key_not_for_person" });
      }
    });

    test("acts in the person's name, in any case of the address, for and about others", async () => {
      expect((await door.members(ORG, admin)).value.total).toBeGreaterThan(1);
      expect((await door.users(platformAdmin.toUpperCase())).value.total).toBeGreaterThan(1);
      const role = { orgUri: ORG, userEmail: member, role: "org_member", adminEmail: admin };
      expect((await door.setMemberRole(role)).value).toMatchObject({ userEmail: member });
      expect((await door.checkUser(admin)).value).toMatchObject({ exists: true });
    });
  });
});

test("a key with bounds reads what everybody reads", async () => {
  const key = await issue({ organizations: [OTHER_ORG], persons: [otherAdmin] }, "api_read");
  const open = (path: string, given: string) => call(`${service.url}${path}`, "GET", given);
  for (const path of ["/v0/needs", "/v0/engagement-claims", "/v0/orgs/search?q=x"]) {
    const [bound, unbound] = [await open(path, key), await open(path, service.keys.read)];
    expect([bound.status, bound.body]).toEqual([200, unbound.body]);
  }
});

describe("a key for certain networks", () => {
  const from = (address: string) => ({ "x-forwarded-for": address });
  const needs = async (key: string, address: string, url = service.url) => {
    const { status, body } = await call(`${url}/v0/needs`, "GET", key, undefined, from(address));
    return status === 200 ? "open" : `${status} ${body.error}`;
  };
  const CLOSED = "403 key_not_for_address";

  test.each([
    ["203.0.113.7", "open"],
    ["203.0.113.255", "open"],
    ["::ffff:203.0.113.7", "open"],
    ["::ffff:cb00:7107", "open"],
    ["203.0.114.1", CLOSED],
    ["::ffff:203.0.114.1", CLOSED],
    ["::cb00:7107", CLOSED],
    ["2001:db8:1::5", "open"],
    ["2001:DB8:1:0:0:0:0:5", "open"],
    ["2001:db8:2::5", CLOSED],
    ["127.0.0.1", CLOSED],
    // What a proxy may pass on: an address with a port, and what is none.
    ["203.0.113.7:4711", "open"],
    ["198.51.100.1:4711", CLOSED],
    ["unknown", CLOSED],
    ["fe80::1%eth0", CLOSED],
  ])("from %s is %s", async (address, expected) => {
    const key = await issue({ networks: ["203.0.113.0/24", "2001:db8:1::/48"] }, "api_read");
    expect(await needs(key, address)).toBe(expected);
    // What is remembered of one address says nothing of another.
    expect(await needs(key, "203.0.113.1")).toBe("open");
    expect(await needs(key, "198.51.100.1")).toBe(CLOSED);
    expect(await needs(key, address)).toBe(expected);
  });

  test.each([
    ["REST", "GET", "/v0/needs", undefined],
    ["GraphQL", "POST", "/graphql", { query: "{ needs { totalCount } }" }],
    ["SPARQL", "GET", "/v0/sparql?query=ASK%20%7B%7D", undefined],
    ["MCP", "POST", "/v0/mcp", { jsonrpc: "2.0", id: 1, method: "ping" }],
  ])("is for no other at the door of %s", async (_door, method, path, body) => {
    const key = await issue({ networks: ["203.0.113.0/24"] }, "api_read");
    const send = (address: string) => call(`${service.url}${path}`, method, key, body, from(address));
    const refused = await send("198.51.100.1");
    expect(refused.status).toBe(403);
    expect(JSON.stringify(refused.body)).toContain("key_not_for_address");
    expect((await send("203.0.113.7")).status).not.toBe(403);
  });

  test("answers each of those who come at the same time as their address deserves", async () => {
    const key = await issue({ networks: ["203.0.113.0/24"] }, "api_read");
    const addresses = Array.from({ length: 20 }, (_, i) => (i % 2 ? "203.0.113.7" : "198.51.100.1"));
    const insist = (address: string): Promise<string> =>
      needs(key, address).then((answer) => (answer === "503 service_busy" ? insist(address) : answer));
    const answers = await Promise.all(addresses.map(insist));
    expect(answers).toEqual(addresses.map((address) => (address === "203.0.113.7" ? "open" : CLOSED)));
  });

  test("does not believe an address that no proxy vouches for", async () => {
    const direct = await startAnotherServer(service, { TRUST_PROXY: "0" });
    try {
      const key = await issue({ networks: ["203.0.113.0/24"] }, "api_read");
      expect(await needs(key, "203.0.113.7", direct.url)).toBe(CLOSED);
      const own = await issue({ networks: ["127.0.0.1/32"] }, "api_read");
      expect(await needs(own, "203.0.113.7", direct.url)).toBe("open");
    } finally {
      await direct.stop();
    }
  });

  test("is unknown to a server that does not say where it is used, as one of before does", async () => {
    const key = await issue({ networks: ["0.0.0.0/0", "::/0"] }, "api_read");
    const ask = (...address: string[]) =>
      service.database.owner.query(
        `select from app_private.authenticate(sha256(convert_to($1, 'utf8'))${address.length > 0 ? ", $2" : ""})`,
        [key, ...address],
      );
    expect((await ask()).rowCount).toBe(0);
    expect((await ask("192.0.2.1")).rowCount).toBe(1);
  });

  test("is not one with host bits, nor IPv4 in the guise of IPv6, nor a list without networks", async () => {
    const insert = (networks: string[]) => issue({ networks }, "api_read");
    await expect(insert(["192.0.2.7/24"])).rejects.toMatchObject({ code: "22P02" });
    await expect(insert(["::ffff:192.0.2.0/120"])).rejects.toMatchObject({ detail: "validation_failed" });
    await expect(insert([])).rejects.toMatchObject({ code: "23514" });
    const key = await insert(["192.0.2.0/24"]);
    await expect(bind(key, { networks: ["::ffff:192.0.2.0/120"] })).rejects.toMatchObject({
      detail: "validation_failed",
    });
  });
});

test("a key is for organizations that there are, and for addresses", async () => {
  for (const bounds of [{ organizations: [ORG, `${ORG}-not`] }, { persons: [admin, "nobody"] }]) {
    await expect(issue(bounds)).rejects.toMatchObject({ code: "PT400", detail: "validation_failed" });
  }
  await expect(
    service.database.owner.query("update app_private.api_keys set persons = array[null]"),
  ).rejects.toThrow("persons must be an e-mail address");
});

test("a change of bounds takes effect at once in every process", async () => {
  const key = await issue({}, "api_write");
  const declare = async (url: string) => {
    const need = {
      ...{ orgUri: ORG, orgName: "River", declaredByEmail: contributor },
      ...{ needDescription: "Prayer", accelerators: ["PRA-INT"] },
    };
    const { status, body } = await call(`${url}/v0/needs`, "POST", key, need);
    return status === 201 ? "declared" : body.error;
  };
  const both = async (expected: string) => {
    for (const { url } of [service, second]) {
      await eventually(async () => expect(await declare(url)).toBe(expected));
    }
  };
  await both("declared");
  await bind(key, { organizations: [OTHER_ORG] });
  // No announcement is needed for what the database is asked each time.
  for (const { url } of [service, second]) expect(await declare(url)).toBe("key_not_for_organization");
  await bind(key, { persons: [admin] });
  for (const { url } of [service, second]) expect(await declare(url)).toBe("key_not_for_person");
  await bind(key, { networks: ["203.0.113.0/24"] });
  await both("key_not_for_address");
  await bind(key, {});
  await both("declared");
});

test.each([
  ["revoked", "update app_private.api_keys set revoked_at = now() where key_id = $1"],
  ["expired", "update app_private.api_keys set expires_at = now() where key_id = $1"],
  ["deleted", "delete from app_private.api_keys where key_id = $1"],
])("a key that was %s while its request waited acts for nobody", async (_how, statement) => {
  const { owner } = service.database;
  const keyId = await keyIdOf(owner, await issueTestKey(owner, "api_write"));
  await owner.query(statement, [keyId]);
  const client = await owner.connect();
  try {
    await client.query("begin; set local role api_write");
    await client.query("select set_config('app.key_id', $1, true)", [keyId]);
    await expect(
      client.query("select app_public.update_need_status($1, 'met', $2)", [randomUUID(), admin]),
    ).rejects.toMatchObject({ code: "PT401", detail: "invalid_api_key" });
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("a key for a person who is erased is for nobody, and no longer has their address", async () => {
  const email = "leaver@river.example";
  const { owner } = service.database;
  await owner.query("insert into app_public.users (email) values ($1)", [email]);
  const key = await issue({ persons: [email] });
  await owner.query("select app_private.begin_erasure($1, false)", [email]);
  await owner.query("select app_private.finish_erasure($1)", [email]);
  const { rows } = await owner.query<{ persons: string[] }>(
    "select persons from app_private.api_keys where key_id = $1",
    [await keyIdOf(owner, key)],
  );
  expect(rows[0]!.persons).toEqual([expect.stringMatching(/@erased\.invalid$/)]);
});

describe("the last use of a key", () => {
  const lastUse = async (key: string): Promise<string | undefined> => {
    const { rows } = await service.database.owner.query<{ last_used_at: string }>(
      "select last_used_at from app_private.key_uses where key_id = $1",
      [await keyIdOf(service.database.owner, key)],
    );
    return rows[0]?.last_used_at;
  };
  const use = async (key: string, url: string) =>
    expect((await call(`${url}/v0/accelerators`, "GET", key)).status).toBe(200);
  const noted = (key: string) => eventually(async () => expect(await lastUse(key)).toBeDefined());
  const setLastUse = async (key: string, ago: string) => {
    const { rows } = await service.database.owner.query<{ last_used_at: string }>(
      `update app_private.key_uses set last_used_at = now() - $2::interval where key_id = $1 returning last_used_at`,
      [await keyIdOf(service.database.owner, key), ago],
    );
    return rows[0]!.last_used_at;
  };

  test("is noted, once a minute, by however many processes", async () => {
    const [recent, old] = [await issue({}, "api_read"), await issue({}, "api_read")];
    expect(await lastUse(recent)).toBeUndefined();
    await use(recent, service.url);
    await use(old, service.url);
    await noted(recent);
    await noted(old);
    // As another process would have noted them. However slow this test is, the first was less than a minute ago.
    const before = await setLastUse(recent, "-10 minutes");
    const longBefore = await setLastUse(old, "61 seconds");
    const together = await startAnotherServer(service, {});
    await use(recent, together.url);
    await use(old, together.url);
    // What there is to tell is told in the end.
    await together.stop();
    expect(await lastUse(recent)).toEqual(before);
    expect(Date.parse((await lastUse(old))!)).toBeGreaterThan(Date.parse(longBefore));
  });

  test("that could not be noted is noted with the next one", async () => {
    const key = await issue({}, "api_read");
    const { owner } = service.database;
    // The minute for which a process says nothing more of a key does not pass.
    const clock = jest.spyOn(performance, "now").mockReturnValue(performance.now());
    // What a sequence counts stays counted when the statement fails.
    await owner.query(`
      create sequence app_private.failures;
      alter function app_private.note_key_uses(uuid[]) rename to note_key_uses_later;
      create function app_private.note_key_uses(key_ids uuid[]) returns void language plpgsql security definer as $$
      begin perform nextval('app_private.failures'); raise exception 'Not now'; end $$;
      grant execute on function app_private.note_key_uses to engagement_server`);
    try {
      await use(key, service.url);
      await eventually(async () => {
        const { rows } = await owner.query("select is_called from app_private.failures");
        expect(rows).toEqual([{ is_called: true }]);
      });
    } finally {
      await owner.query(`
        drop function app_private.note_key_uses(uuid[]);
        alter function app_private.note_key_uses_later(uuid[]) rename to note_key_uses;
        drop sequence app_private.failures`);
    }
    try {
      expect(await lastUse(key)).toBeUndefined();
      await eventually(async () => {
        await use(key, service.url);
        expect(await lastUse(key)).toBeDefined();
      });
    } finally {
      clock.mockRestore();
    }
  });

  test("is no change of the key, and not one where the key was refused", async () => {
    const [used, refused] = [await issue({}, "api_read"), await issue({ networks: ["203.0.113.0/24"] })];
    const marker = await issue({}, "api_read");
    const other = await startAnotherServer(service, { TRUST_PROXY: "1" });
    await use(used, other.url);
    expect((await call(`${other.url}/v0/needs`, "GET", refused)).body.error).toBe("key_not_for_address");
    await use(marker, other.url);
    await other.stop();
    await noted(marker);
    expect(await lastUse(refused)).toBeUndefined();
    const { rows } = await service.database.owner.query(
      "select count(*)::integer as changes from app_private.administration_history where name = $1",
      [await keyIdOf(service.database.owner, used)],
    );
    expect(rows).toEqual([{ changes: 1 }]);
  });
});
