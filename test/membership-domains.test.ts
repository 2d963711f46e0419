// When an e-mail address speaks for an organization: exactly the same domain, and not a mail provider's.
import { domainToASCII } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { freeMailDomains } from "../db/generate-free-mail-domains.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ world: false });
});
afterAll(() => service.stop());

const db = () => service.database.owner;
let number = 0;

describe.each(m.DOORS)("a first claim through %s", (name) => {
  const door = m.membershipDoor(name, () => service);
  const variant = async (registered: string | null, email: string) => {
    const org = await m.addOrganization(db(), {}, { domain: registered ?? undefined });
    if (registered === null) {
      await db().query("update app_public.organizations set domain = null where org_uri = $1", [org.uri]);
    }
    return (await door.claim(m.claimOf(org, email))).value.resultVariant as string;
  };
  const someone = () => `someone${number++}`;

  test.each([
    ["example.org", "example.org"],
    ["example.org", "EXAMPLE.Org"],
    ["Example.ORG", "example.org"],
    ["example.org.", "example.org"],
    ["example.org。", "example.org"],
    ["münchen-mission.example", "xn--mnchen-mission-gsb.example"],
    ["MÜNCHEN-mission.example", "xn--mnchen-mission-gsb.example"],
    ["xn--mnchen-mission-gsb.example", "XN--MNCHEN-MISSION-GSB.example"],
  ])("registered %s, e-mail at %s: the same domain, approved at once", async (registered, domain) => {
    expect(await variant(registered, `${someone()}@${domain}`)).toBe("claimed");
  });

  test.each([
    ["example.org", "mail.example.org"],
    ["mail.example.org", "example.org"],
    ["example.org", "evil-example.org"],
    ["example.org", "EVIL-EXAMPLE.ORG"],
    ["example.org", "example.org.evil.com"],
    ["example.org", "exampleXorg.com"],
    ["example.org", "example.com"],
    ["example.org", "example.or"],
    ["example.org", "examp1e.org"],
    // The same letters in Cyrillic.
    ["example.org", domainToASCII("ехаmрlе.org")],
    ["ехаmрlе.org", "example.org"],
    ["münchen-mission.example", "munchen-mission.example"],
    [null, "example.org"],
  ])("registered %s, e-mail at %s: no match", async (registered, domain) => {
    expect(await variant(registered, `${someone()}@${domain}`)).toBe("manual-review");
  });

  test.each([
    "gmail.com",
    "GMail.com",
    "googlemail.com",
    "outlook.com",
    "yahoo.co.uk",
    "proton.me",
    "tutanota.com",
    "fastmail.com",
    "xn--mll-hoa.email",
  ])("registered and e-mail at %s, a mail provider's domain: no match", async (domain) => {
    expect(await variant(domain, `${someone()}@${domain}`)).toBe("manual-review");
  });

  test.each(["a@example.org.", "a@example..org", "a@münchen.example", "a@b@example.org", "a@example.org\n"])(
    "%j is not an e-mail address",
    async (email) => {
      const org = await m.addOrganization(db(), {}, { domain: "example.org" });
      expect(await door.claim(m.claimOf(org, email))).toEqual({ refusal: "400 validation_failed" });
    },
  );

  test("what a claimant says about an existing organization's domain has no effect", async () => {
    const org = await m.addOrganization(db());
    const claim = { ...m.claimOf(org, "someone@evil.example"), orgDomain: "evil.example" };
    expect((await door.claim(claim)).value.resultVariant).toBe("manual-review");
  });
});

test("the database knows every mail provider of the list, and no more", async () => {
  const { rows } = await db().query<{ domain: string }>("select domain from app_private.free_mail_domains");
  const known = rows.map((row) => row.domain).toSorted();
  expect(known).toEqual(freeMailDomains());
  expect(known.length).toBeGreaterThan(5000);
  expect(known).toEqual(expect.arrayContaining(["gmail.com", "gmx.de", "qq.com", "icloud.com"]));
});

test("domains are brought into the form that the URL standard gives them", async () => {
  const names = [
    "bücher.example",
    "BÜCHER.example",
    "faß.example",
    "例え.テスト",
    "пример.испытание",
    "παράδειγμα.δοκιμή",
    "مثال.إختبار",
    "उदाहरण.परीक्षा",
    "実例。com",
    "ｅｘａｍｐｌｅ.org",
    "xn--bcher-kva.example",
    "a-ü-b.ñandú.cl",
    "🕊.example",
    "ليهمابتكلموشعربي؟.example".replace("؟", ""),
    "他们为什么不说中文.example",
    "Pročprostěnemluvíčesky.example",
    "ひとつ屋根の下2.example",
    "MajiでKoiする5秒前.example",
    // How far apart their letters are is 455, the most for which a step is as long as it was, and 456.
    "mission-üłnßł.example",
    "mission-öłßł.example",
  ];
  const { rows } = await db().query<{ name: string; normal: string }>(
    "select name, app_private.normal_domain(name) as normal from unnest($1::text[]) as name",
    [names],
  );
  expect(Object.fromEntries(rows.map((row) => [row.name, row.normal]))).toEqual(
    Object.fromEntries(names.map((name) => [name, domainToASCII(name)])),
  );
});

test("what is too long for a part of a domain name is not encoded, which would take long and lead to none either", async () => {
  const { rows } = await db().query<{ normal: string }>(
    "select app_private.normal_domain(repeat('字', n) || '.org') as normal from unnest('{63,64}'::integer[]) as n",
  );
  expect(rows.map(({ normal }) => normal)).toEqual([
    expect.stringMatching(/^xn--[a-z0-9]+\.org$/),
    `${"字".repeat(64)}.org`,
  ]);
});

test.each([
  "example",
  "exa mple.org",
  "https://example.org",
  "@example.org",
  "-a.example",
  "a..example",
  `${"a".repeat(64)}.org`,
  `${"ü".repeat(60)}.org`,
  `${"ü".repeat(64)}.org`,
  `a.${"b".repeat(64)}`,
  `${"a.".repeat(126)}bc`,
])("%j cannot be registered as a domain", async (domain) => {
  const refused = { code: "PT400", detail: "validation_failed" };
  await expect(m.addOrganization(db(), {}, { domain })).rejects.toMatchObject(refused);
  const { uri } = await m.addOrganization(db());
  await expect(
    db().query("update app_public.organizations set domain = $2 where org_uri = $1", [uri, domain]),
  ).rejects.toMatchObject(refused);
});

test("what is longer than a thousand characters is not looked at for a domain, were it spaces around one", async () => {
  const padded = (length: number) => "example.org".padEnd(length);
  const { uri } = await m.addOrganization(db(), {}, { domain: padded(1_000) });
  const { rows } = await db().query("select domain from app_public.organizations where org_uri = $1", [uri]);
  expect(rows).toEqual([{ domain: "example.org" }]);
  const refused = { code: "PT400", detail: "validation_failed" };
  await expect(m.addOrganization(db(), {}, { domain: padded(1_001) })).rejects.toMatchObject(refused);
});

test.each(["example.org", "a.b", `${"a".repeat(63)}.org`, `a.${"b".repeat(63)}`, `${"a.".repeat(126)}b`])(
  "%j can be registered as a domain",
  async (domain) => {
    const org = await m.addOrganization(db(), {}, { domain });
    const { rows } = await db().query("select domain from app_public.organizations where org_uri = $1", [
      org.uri,
    ]);
    expect(rows).toEqual([{ domain }]);
  },
);
