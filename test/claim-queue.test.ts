// The queue of claims as the server sends it: who sees which of them, what is found, and how it goes with ten thousand.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ClaimQueue, idsIn, NO_CLAIM, personOf, QUEUE, queueWith } from "./support/claim-queue.ts";
import { fillClaims } from "./support/filling-claims.ts";
import * as m from "./support/membership.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

let service: TestService;
let queue: ClaimQueue;
let support: Visitor;
beforeAll(async () => {
  service = await startTestService({ world: false });
  queue = new ClaimQueue(service);
  await queue.prepare();
  support = await queue.signIn(m.support);
});
afterAll(() => service.stop());

const db = () => service.database.owner;

describe("who sees what", () => {
  test("nobody who is not signed in: they are led to the sign-in, and from there to the claim", async () => {
    for (const path of [QUEUE, `${QUEUE}/${NO_CLAIM}?status=all`]) {
      const { status, location } = await new Visitor(service).open(path);
      expect([status, location]).toEqual([303, `/sign-in?returnTo=${encodeURIComponent(path)}`]);
    }
    const headers = { authorization: `Bearer ${service.keys.review}` };
    expect((await new Visitor(service).open(QUEUE, { headers })).status).toBe(303);
  });

  test("who reviews nothing is refused, with the list and each claim", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin", reader: "org_member" });
    const id = await queue.claim(org);
    for (const email of [`reader@${org.domain}`, "nobody@elsewhere.example"]) {
      const visitor = await queue.signIn(email);
      for (const path of [QUEUE, `${QUEUE}/${id}`, `${QUEUE}?done=${id}`]) {
        const { status, text } = await visitor.open(path);
        expect([email, path, status, text.includes(org.name)]).toEqual([email, path, 403, false]);
      }
    }
  });

  test("an administrator what was sent to their organization, the platform's reviewers all of it", async () => {
    const own = await m.addOrganization(db(), { head: "org_admin" });
    const other = await m.addOrganization(db(), { head: "org_admin" });
    const unmanaged = await m.addOrganization(db());
    const [here, there, platform] = [
      await queue.claim(own),
      await queue.claim(other),
      await queue.claim(unmanaged),
    ];
    const head = await queue.signIn(`head@${own.domain}`);
    expect(idsIn((await head.open(QUEUE)).text)).toEqual([here]);
    for (const id of [there, platform]) {
      const refused = await head.open(`${QUEUE}/${id}`);
      const unknown = await head.open(`${QUEUE}/${NO_CLAIM}`);
      expect([refused.status, refused.text]).toEqual([404, unknown.text]);
      expect((await head.open(`${QUEUE}?done=${id}&q=x`)).text).not.toContain(other.name);
    }
    for (const org of [own, other, unmanaged])
      expect(idsIn((await support.open(queueWith({ org: org.uri }))).text)).toHaveLength(1);
    expect((await support.open(`${QUEUE}/not-an-id`)).status).toBe(404);
  });

  test("what was sent to the platform stays with its reviewers, also once the organization has somebody who manages it", async () => {
    const org = await m.addOrganization(db());
    const platform = await queue.claim(org);
    const head = `head@${org.domain}`;
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [org.uri, head]);
    const here = await queue.claim(org);
    const listed = async (email: string) => {
      const { claims } = await queue.told(email, `claim_queue(org_uri => '${org.uri}')`);
      return claims.map(({ id }: { id: string }) => id) as string[];
    };
    expect([await listed(head), await listed(m.support)]).toEqual([[here], [platform, here]]);
    const { value: page } = await queue.door.claims(head);
    expect([page.claims.map(({ claimId }: { claimId: string }) => claimId), page.total]).toEqual([[here], 1]);
    await expect(queue.told(head, `claim_to_review('${platform}')`)).rejects.toMatchObject({
      detail: "claim_not_found",
    });
    expect(await queue.told(head, `claims_in_brief(array['${platform}']::uuid[])`)).toEqual([]);
    const beside = async (email: string) => {
      const { others, othersTotal } = await queue.told(email, `claim_to_review('${here}')`);
      return [others.map(({ id }: { id: string }) => id), othersTotal] as unknown;
    };
    expect([await beside(head), await beside(m.support)]).toEqual([
      [[], 0],
      [[platform], 1],
    ]);
  });

  test("the functions are for persons, and refuse those who review nothing", async () => {
    const org = await m.addOrganization(db(), { head: "org_admin" });
    const id = await queue.claim(org);
    for (const call of [
      "claim_queue()",
      `claim_to_review('${id}')`,
      `claims_in_brief(array['${id}']::uuid[])`,
    ]) {
      expect(await queue.told(`head@${org.domain}`, call)).toBeTruthy();
      // Of a claim they do not learn either that it is none of theirs.
      await expect(queue.told("nobody@elsewhere.example", call)).rejects.toMatchObject({
        ...{ code: "PT403", detail: "permission_required" },
      });
      for (const role of ["api_read", "api_write", "api_review"])
        await expect(queue.told(m.support, call, role)).rejects.toMatchObject({ code: "42501" });
    }
  });

  test("what is told of others keeps to that: claims elsewhere, addresses, what is not public", async () => {
    const own = await m.addOrganization(db(), { head: "org_admin" });
    const other = await m.addOrganization(db(), { head: "org_admin" });
    const userEmail = `${crypto.randomUUID()}@elsewhere.example`;
    const here = await queue.claim(own, { userEmail });
    await queue.claim(other, { userEmail });
    await queue.propose(`${own.name}s`);
    const told = await queue.told(`head@${own.domain}`, `claim_to_review('${here}')`);
    expect([told.earlier, told.similar]).toEqual([[], []]);
    // Whoever has not said how they are called is known by their address.
    expect(told.organization.administratorsNamed).toEqual([{ email: `head@${own.domain}`, name: null }]);
    const toSupport = await queue.told(m.support, `claim_to_review('${here}')`);
    expect(toSupport.earlier).toHaveLength(1);
    expect(toSupport.similar).toMatchObject([{ name: `${own.name}s`, status: "proposed", waiting: 1 }]);
    expect((await support.open(`${QUEUE}/${here}`)).text).toContain("waiting claims: 1</a");
    // Of one that is public it is told, but not how many wait there.
    const namesake = await m.addOrganization(db());
    await db().query("update app_public.organizations set name = $2 where org_uri = $1", [
      namesake.uri,
      own.name,
    ]);
    await queue.claim(namesake);
    const waitingThere = async (email: string) => {
      const { similar } = await queue.told(email, `claim_to_review('${here}')`);
      return similar.find(({ uri }: { uri: string }) => uri === namesake.uri)?.waiting;
    };
    expect([await waitingThere(`head@${own.domain}`), await waitingThere(m.support)]).toEqual([0, 1]);
    const before = "delete from app_public.platform_permissions where permission = 'users:read'";
    await db().query(before);
    try {
      const { organization } = await queue.told(m.support, `claim_to_review('${here}')`);
      expect([organization.administrators, organization.administratorsNamed]).toEqual([1, []]);
    } finally {
      await db().query(
        "insert into app_public.platform_permissions (role, permission) values ('admin', 'users:read'), ('support', 'users:read')",
      );
    }
  });
});

describe("the list", () => {
  let org: m.TestOrganization;
  /** Those that wait, and one among them that was rejected. */
  let ids: string[];
  let rejected: { id: string; place: number };
  const pathOf = (query: Record<string, string>) => queueWith({ org: org.uri, ...query });
  const linkOf = (text: string, rel: string) =>
    new RegExp(`<a rel="${rel}" href="([^"]+)">(?:Page before|Next page)`)
      .exec(text)?.[1]
      ?.replaceAll("&amp;", "&");
  beforeAll(async () => {
    org = await m.addOrganization(db(), { head: "org_admin" });
    ids = [];
    for (let n = 0; n < 46; n++)
      ids.push(
        await queue.claim(org, {
          ...{ firstName: `Ana${n}`, lastName: `Lima${n}`, userEmail: `ana-${n}@p${n}.example` },
        }),
      );
    // All at once, as an import leaves them: the order is still one.
    await db().query(
      "update app_public.organization_claims set created_at = '2026-01-01' where claim_id = any ($1)",
      [ids.slice(10, 20)],
    );
    const { rows } = await db().query<{ id: string }>(
      "select claim_id as id from app_public.organization_claims where org_uri = $1 order by created_at, claim_id",
      [org.uri],
    );
    // One of those that are of the same time.
    const id = ids[15]!;
    const place = rows.findIndex((row) => row.id === id);
    rejected = { id, place };
    ids = rows.map((row) => row.id).toSpliced(place, 1);
    await queue.door.review({ claimId: id, action: "reject", notes: "No.", adminEmail: m.support });
  });

  test.each([
    ["oldest first", "", (all: string[]) => all],
    ["newest first", "newest", (all: string[]) => all.toReversed()],
  ])(
    "%s: each claim once, forwards and backwards, and of each the page that it is on",
    async (name, order, inOrder) => {
      const expected = inOrder(ids);
      const seen: string[] = [];
      const pages: string[][] = [];
      let text = "";
      for (let next: string | undefined = pathOf({ order }); next; next = linkOf(text, "next")) {
        ({ text } = await support.open(next));
        pages.push(idsIn(text));
        expect(text).toContain(`${seen.length + 1}–${seen.length + pages.at(-1)!.length} of 45, ${name}`);
        seen.push(...pages.at(-1)!);
      }
      expect(seen).toEqual(expected);
      const back = (await support.open(linkOf(text, "prev")!)).text;
      expect(idsIn(back)).toEqual(pages[1]);
      expect(idsIn((await support.open(linkOf(back, "prev")!)).text)).toEqual(pages[0]);
      for (const place of [0, 19, 20, 44]) {
        const { preceding, following, claims } = await queue.told(
          m.support,
          `claim_queue(org_uri => '${org.uri}', status => 'pending', newest => ${order === "newest"}, at => '${expected[place]}')`,
        );
        expect([preceding, following]).toEqual([expected[place - 1] ?? null, expected[place + 1] ?? null]);
        expect(claims.map(({ id }: { id: string }) => id)).toEqual(pages[Math.floor(place / 20)]);
      }
    },
  );

  test("a claim that is not in the list stands where it would be", async () => {
    const { id, place } = rejected;
    const told = await queue.told(
      m.support,
      `claim_queue(org_uri => '${org.uri}', status => 'pending', at => '${id}')`,
    );
    expect([told.preceding, told.following, told.total]).toEqual([ids[place - 1] ?? null, ids[place], 45]);
    // Of a claim that one may not see nobody learns where it would be.
    const head = await queue.told(
      `head@${(await m.addOrganization(db(), { head: "org_admin" })).domain}`,
      `claim_queue(at => '${id}')`,
    );
    expect([head.total, head.preceding]).toEqual([0, null]);
  });

  test("counts are of what was searched for, by status, and filters go into every link", async () => {
    const { text } = await support.open(pathOf({ sent: "organization", proof: "stated" }));
    expect([...text.matchAll(/(waiting|approved|rejected|withdrawn|all) \((\d+)\)/g)].map(([, , n]) => n)).toEqual([
      "45", "0", "1", "0", "46",
    ]); // prettier-ignore
    const [, link] = /<li data-claim="[^"]+"[\s\S]*?href="([^"]+)"/.exec(text)!;
    const query = new URL(link!.replaceAll("&amp;", "&"), service.url).searchParams;
    expect(Object.fromEntries(query)).toEqual({ org: org.uri, sent: "organization", proof: "stated" });
    for (const [filter, total] of [
      [{ status: "rejected" }, 1],
      [{ status: "all" }, 46],
      [{ sent: "platform" }, 0],
      [{ proof: "proven" }, 0],
      [{ status: "nonsense", sent: "x", proof: "constructor", order: "toString" }, 45],
      [{ q: "no-such-person" }, 0],
    ] as const) {
      const { text: shown } = await support.open(pathOf(filter));
      const [, number] = / of (\d+), /.exec(shown) ?? [0, "0"];
      expect([filter, Number(number)]).toEqual([filter, total]);
    }
  });

  test("those are found whose address is proven, those whose is only stated, or both", async () => {
    const { rows } = await db().query<{ claim_id: string }>(
      `update app_public.organization_claims set email_verified = true
       where claim_id in (select claim_id from app_public.organization_claims
         where org_uri = $1 and status = 'pending_review' order by claim_id limit 3)
       returning claim_id`,
      [org.uri],
    );
    const totals: string[] = [];
    const filters: Record<string, string>[] = [{ proof: "proven" }, { proof: "stated" }, {}];
    for (const filter of filters)
      totals.push(/ of (\d+), /.exec((await support.open(pathOf(filter))).text)?.[1] ?? "0");
    await db().query(
      "update app_public.organization_claims set email_verified = false where claim_id = any ($1)",
      [rows.map(({ claim_id: id }) => id)],
    );
    expect(totals).toEqual(["3", "42", "45"]);
  });

  test.each([
    ["a first name", "ana17", 1],
    ["a last name", "lima17", 1],
    ["part of an address", "ana-3", 11],
    ["the domain of an address", "p44.example", 1],
    ["the organization and the person", "mission ana44", 1],
    ["in any case, and without accents", "ÁNÄ44", 1],
    ["each of the words", "ana44 ana43", 0],
    ["the six longest of many words", "z mission ana44 ana4 p44 ana an", 1],
    ["none but those with all of these six", "mission ana44 ana4 p44 ana zan", 0],
    ["what means something to like", "100% _", 0],
    ["a character that no text can have", "ana44\0", 1],
    ["nothing but space", "   ", 45],
    ["what cannot be seen and is no space, like any other character", "\u200b", 0],
  ])("search finds %s", async (_, q, total) => {
    const { status, text } = await support.open(pathOf({ q }));
    expect([status, / of (\d+), /.exec(text)?.[1] ?? "0"]).toEqual([200, String(total)]);
  });

  test("search finds an organization by its name as it is now, by its domain, and by a word that its claimant is called by too", async () => {
    const renamed = await m.addOrganization(db(), { head: "org_admin" });
    const id = await queue.claim(renamed, { firstName: "Zanzibar" });
    await db().query("update app_public.organizations set name = 'Zanzibar Straße' where org_uri = $1", [
      renamed.uri,
    ]);
    for (const q of ["zanzibar strasse", renamed.domain])
      expect(idsIn((await support.open(queueWith({ q }))).text)).toEqual([id]);
  });
});

describe("ten thousand claims and organizations", () => {
  beforeAll(() => fillClaims(db(), 10_000));

  test("each page is small, whatever is asked for", async () => {
    const first = idsIn((await support.open(QUEUE)).text)[0]!;
    for (const path of [
      QUEUE,
      `${QUEUE}/${first}`,
      `${QUEUE}?q=river`,
      `${QUEUE}?q=a+b+c+d+e+f+g+h&status=all&order=newest`,
    ]) {
      const { status, text } = await support.open(path);
      // Before it is compressed, at that.
      expect([path, status, text.length < 100_000]).toEqual([path, 200, true]);
    }
  });

  test("what is searched for is found by indexes", async () => {
    const client = await db().connect();
    try {
      await client.query("begin");
      await client.query("select set_config('app.person', $1, true)", [personOf(m.support)]);
      const scanned = async () => {
        const { rows } = await client.query<{ rows: number }>(
          `select sum(seq_tup_read)::integer as rows from pg_stat_xact_user_tables
           where relid in ('app_public.users'::regclass, 'app_public.organizations'::regclass)`,
        );
        return rows[0]!.rows;
      };
      const ask = async (call: string) =>
        (await client.query(`select app_private.${call} as answer`)).rows[0].answer;
      const before = await scanned();
      const { total, claims } = await ask("claim_queue(q => 'person-7777')");
      const { similar } = await ask(`claim_to_review('${claims[0].id}')`);
      expect([total, similar.length]).toEqual([1, 8]);
      expect((await scanned()) - before).toBeLessThan(100);
    } finally {
      await client.query("rollback");
      client.release();
    }
  });
});
