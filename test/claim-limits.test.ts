// How many organization claims a person, and a key, may submit within a day: each is mailed to administrators.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const db = () => service.database.owner;

async function allow(perPerson: number, perKey: number): Promise<void> {
  await db().query("truncate app_private.rate_limits");
  const set = "update app_private.settings set value = to_jsonb($2::integer) where name = $1";
  await db().query(set, ["claims_per_person_per_day", perPerson]);
  await db().query(set, ["claims_per_key_per_day", perKey]);
}

let people = 0;
const somebody = () => `person-${people++}@elsewhere.example`;

/** Claims another organization each time; the answer with its headers. */
async function claimOverHttp(email: string) {
  const claim = m.claimOf(await m.addOrganization(db()), email);
  return call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, claim);
}

describe.each(m.DOORS)("through %s", (name) => {
  const door = m.membershipDoor(name, () => service);
  const claim = async (email: string, scope: "write" | "review" = "write") =>
    door.claim(m.claimOf(await m.addOrganization(db()), email), scope);

  beforeEach(() => allow(2, 5));

  test("a person may submit so many and no more, whichever key carries them", async () => {
    const email = somebody();
    expect((await claim(email)).refusal).toBeUndefined();
    expect((await claim(email.toUpperCase())).refusal).toBeUndefined();
    expect(await claim(email)).toEqual({ refusal: "429 rate_limited" });
    expect(await claim(email, "review")).toEqual({ refusal: "429 rate_limited" });
    expect((await claim(somebody())).refusal).toBeUndefined();
  });

  test("a key may carry so many and no more, whoever submits them", async () => {
    for (let i = 0; i < 5; i++) expect((await claim(somebody())).refusal).toBeUndefined();
    expect(await claim(somebody())).toEqual({ refusal: "429 rate_limited" });
    expect((await claim(somebody(), "review")).refusal).toBeUndefined();
  });

  test("what is refused for another reason does not count", async () => {
    const email = somebody();
    const org = await m.addOrganization(db());
    expect((await door.claim(m.claimOf(org, email))).refusal).toBeUndefined();
    for (let i = 0; i < 4; i++) {
      expect(await door.claim(m.claimOf(org, email))).toEqual({ refusal: "409 claim_pending" });
    }
    expect((await claim(email)).refusal).toBeUndefined();
  });

  test("claims that come at the same time are counted one by one", async () => {
    const email = somebody();
    const replies = await Promise.all(Array.from({ length: 5 }, () => claim(email)));
    expect(replies.filter(({ refusal }) => refusal === undefined)).toHaveLength(2);
  });
});

test("the refusal says when the day is over, and then the person may claim again", async () => {
  await allow(1, 1000);
  const email = somebody();
  const send = () => claimOverHttp(email);
  expect((await send()).status).toBe(200);
  const { status, headers, body } = await send();
  expect([status, body]).toEqual([429, expect.objectContaining({ error: "rate_limited", statusCode: 429 })]);
  expect(body.details).toBeUndefined();
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(86_000);
  expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(86_400);
  await db().query("update app_private.rate_limits set expire = 1");
  expect((await send()).status).toBe(200);
  // The new day is no longer than the old one was.
  expect((await send()).status).toBe(429);
});

test("who comes again as many seconds later as the refusal says is let in", async () => {
  await allow(1, 1000);
  const email = somebody();
  const send = () => claimOverHttp(email);
  expect((await send()).status).toBe(200);
  const { status, headers } = await send();
  expect(status).toBe(429);
  // As if they had passed.
  await db().query("update app_private.rate_limits set expire = expire - 1000 * $1::bigint", [
    headers.get("retry-after"),
  ]);
  expect((await send()).status).toBe(200);
});

test("a second use does not put off the end of the day", async () => {
  await allow(2, 1000);
  const email = somebody();
  const door = m.membershipDoor("REST", () => service);
  const send = async () => door.claim(m.claimOf(await m.addOrganization(db()), email));
  await send();
  const end = async () => {
    const { rows } = await db().query<{ expire: string }>(
      `select expire from app_private.rate_limits
       where key = 'claims:user:' || (select user_id from app_public.users where email = $1)`,
      [email],
    );
    return rows[0]!.expire;
  };
  await db().query("update app_private.rate_limits set expire = expire - 60000");
  const before = await end();
  expect((await send()).refusal).toBeUndefined();
  expect(await end()).toBe(before);
});

test("nobody is kept out by a day that a clock has begun that was ahead; by less than a minute it counts as today", async () => {
  await allow(1, 1000);
  const email = somebody();
  const door = m.membershipDoor("REST", () => service);
  const send = async () => (await door.claim(m.claimOf(await m.addOrganization(db()), email))).refusal;
  const clockWasAheadBy = (ms: number) =>
    db().query(`update app_private.rate_limits set expire = expire + ${ms}`);
  expect(await send()).toBeUndefined();
  await clockWasAheadBy(50_000);
  expect(await send()).toBe("429 rate_limited");
  await clockWasAheadBy(3_600_000);
  expect(await send()).toBeUndefined();
  expect(await send()).toBe("429 rate_limited");
});

test("nothing is without a limit because its setting is missing", async () => {
  await expect(
    db().query("select app_private.use_up('something', 'no_such_setting', 'Too much.')"),
  ).rejects.toMatchObject({ code: "22004" });
});

test("a refused claim leaves neither a claim nor a mail behind", async () => {
  await allow(1, 1000);
  const email = somebody();
  const left = async () => {
    const { rows } = await db().query<{ claims: string; mails: string }>(
      "select (select count(*) from app_public.organization_claims) as claims, (select count(*) from app_private.mails) as mails",
    );
    return rows[0];
  };
  const door = m.membershipDoor("REST", () => service);
  await door.claim(m.claimOf(await m.addOrganization(db(), { head: "org_admin" }), email));
  const before = await left();
  await door.claim(m.claimOf(await m.addOrganization(db(), { head: "org_admin" }), email));
  expect(await left()).toEqual(before);
});
