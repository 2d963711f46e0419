// From page to page of the lists of records: by links, without losing or repeating what was there.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, ORG, OTHER_ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const LISTS = [
  { path: "needs", items: "needs", id: "needId" },
  { path: "commitments", items: "commitments", id: "commitmentId" },
  { path: "engagement-claims", items: "claims", id: "claimId" },
] as const;

/** Many of one moment, as of one transaction, and some that are a microsecond apart. */
const insert = (count: number, at = "2026-01-01T00:00:00Z") =>
  service.database.owner.query(
    `with moments as (
       select timestamptz '${at}' + (n / 7) * interval '1 microsecond' as created_at, n,
         case when n % 13 = 0 then '{PRA,PRA-INT}'::text[] else '{PRA}' end as codes,
         case when n % 3 = 0 then '${OTHER_ORG}' else '${ORG}' end as org_uri
       from generate_series(1, ${count}) as n
     ), need as (
       insert into app_public.needs
         (org_uri, org_name, declared_by_email, need_description, accelerators, concerns_country_code, created_at)
       select org_uri, 'An organization', '${contributor}', 'Wells', codes, '{KE}', created_at from moments
     ), commitment as (
       insert into app_public.commitments
         (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, created_at)
       select org_uri, 'An organization', '${contributor}', 'Wells', '{PRA}', created_at from moments
     )
     insert into app_public.engagement_claims
       (org_uri, org_name, claimed_by_email, engagement_accelerators, country_code, created_at)
     select org_uri, 'An organization', '${contributor}', '{PRA}', 'KE', created_at from moments`,
  );
beforeEach(async () => {
  await service.database.owner.query("truncate app_public.needs, app_public.commitments cascade");
  await insert(40);
});

type Page = { ids: string[]; total: number; next: string | undefined };

async function read({ items, id }: (typeof LISTS)[number], path: string): Promise<Page> {
  const { status, body, headers } = await call(`${service.url}${path}`, "GET", service.keys.read);
  expect(status).toBe(200);
  const next = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
  expect(next === undefined).toBe(headers.get("link") === null);
  return { ids: (body[items] as Record<string, string>[]).map((item) => item[id]!), total: body.total, next };
}

const refusal = async (path: string) => {
  const { status, body } = await call(`${service.url}${path}`, "GET", service.keys.read);
  return {
    status,
    code: body.error,
    at: (body.details as { path: string }[] | undefined)?.map((d) => d.path),
  };
};

describe.each(LISTS)("$path", (list) => {
  const path = `/v0/${list.path}`;

  test.each([
    ["all", ""],
    ["of an organization", `orgUri=${encodeURIComponent(ORG)}`],
    ["since an update", "updatedSince=2026-01-01T00:00:00Z"],
    ["with a code, since an update", "accelerator=PRA&updatedSince=2026-01-01T00:00:00Z"],
    ["with a code", "accelerator=PRA&countryCode=KE"],
    ["with a code that few have", "accelerator=PRA-INT"],
    ["with a code, of an organization", `accelerator=PRA&countryCode=KE&orgUri=${encodeURIComponent(ORG)}`],
  ])("%s: links lead through all of it once, in order", async (_, filter) => {
    const whole = await read(list, `${path}?limit=200&${filter}`);
    expect(whole.next).toBeUndefined();
    expect(whole.ids).toHaveLength(whole.total);
    for (const limit of [1, 7, whole.total - 1, whole.total]) {
      const found: string[] = [];
      for (let next: string | undefined = `${path}?limit=${limit}&${filter}`; next;) {
        const page: Page = await read(list, next);
        expect(page.total).toBe(whole.total);
        expect(page.ids.length).toBeGreaterThan(0);
        found.push(...page.ids);
        // Or it would go on for ever.
        expect(found.length).toBeLessThanOrEqual(whole.total);
        next = page.next;
      }
      expect(found).toEqual(whole.ids);
    }
  });

  test("a page has fifty where nothing is said", async () => {
    await insert(15, "2027-01-01T00:00:00Z");
    const page = await read(list, path);
    expect([page.ids.length, page.total]).toEqual([50, 55]);
  });

  test("what is added or deleted meanwhile moves nothing", async () => {
    const before = await read(list, `${path}?limit=200`);
    const first = await read(list, `${path}?limit=10`);
    await insert(5, "2027-01-01T00:00:00Z");
    const table = list.path.replace("-", "_");
    // The very record at which the page ended, too.
    await service.database.owner.query(
      `delete from app_public.${table} where ${list.id.replace("Id", "_id")} = $1`,
      [first.ids.at(-1)],
    );
    const rest = await read(list, first.next!.replace("limit=10", "limit=200"));
    expect(rest.ids).toEqual(before.ids.slice(10));
  });

  test.each([
    ["all", ""],
    ["of an organization", `orgUri=${encodeURIComponent(ORG)}&`],
    ["since an update", "updatedSince=2026-01-01T00:00:00Z&"],
  ])("%s: a page begins where its offset says, from either end", async (_, filter) => {
    const whole = await read(list, `${path}?${filter}limit=200`);
    for (let offset = 0; offset <= whole.total + 2; offset++) {
      const page = await read(list, `${path}?${filter}limit=3&offset=${offset}`);
      expect({ offset, ids: page.ids, total: page.total, hasNext: page.next !== undefined }).toEqual({
        ...{ offset, ids: whole.ids.slice(offset, offset + 3), total: whole.total },
        hasNext: offset + 3 < whole.total,
      });
    }
  });

  test("where a policy hides some, late pages repeat none", async () => {
    const table = `app_public.${list.path.replace("-", "_")}`;
    const key = list.id.replace("Id", "_id");
    const { owner } = service.database;
    await owner.query(
      `create policy hidden on ${table} as restrictive for select to api_read using (${key}::text !~ '[0-7]$')`,
    );
    try {
      const found: string[] = [];
      for (let offset = 0; offset < 60; offset += 3)
        found.push(...(await read(list, `${path}?limit=3&offset=${offset}`)).ids);
      expect(found).toEqual([...new Set(found)]);
      expect(found.length).toBeGreaterThan(0);
    } finally {
      await owner.query(`drop policy hidden on ${table}`);
    }
  });

  test("a page that an offset begins leads on by cursor", async () => {
    const whole = await read(list, `${path}?limit=200`);
    const { next } = await read(list, `${path}?limit=5&offset=12`);
    expect(next).not.toContain("offset");
    expect((await read(list, next!)).ids).toEqual(whole.ids.slice(17, 22));
  });

  test("a cursor is of its list, its filters and nothing else", async () => {
    const { next } = await read(list, `${path}?limit=5&orgUri=${encodeURIComponent(ORG)}`);
    const url = new URL(next!, service.url);
    const changed = (changes: Record<string, string>) => {
      const query = new URLSearchParams(url.searchParams);
      for (const [name, value] of Object.entries(changes)) query.set(name, value);
      return `${url.pathname}?${query.toString()}`;
    };
    const refused = { status: 400, code: "validation_failed", at: ["after"] };
    expect(await refusal(changed({ orgUri: OTHER_ORG }))).toEqual(refused);
    expect(await refusal(changed({ q: "wells" }))).toEqual(refused);
    expect(await refusal(changed({ updatedSince: "2026-01-01T00:00:00Z" }))).toEqual(refused);
    for (const other of LISTS.filter((each) => each !== list)) {
      // Without the status, which the others may not know.
      const { orgUri, after } = Object.fromEntries(url.searchParams);
      const query = new URLSearchParams({ orgUri: orgUri!, after: after! });
      expect(await refusal(`/v0/${other.path}?${query.toString()}`)).toEqual(refused);
    }
    for (const offset of ["1", "2"]) {
      expect(await refusal(changed({ offset }))).toEqual({ ...refused, at: ["offset"] });
    }
    expect((await read(list, changed({ offset: "0", limit: "3" }))).ids).toHaveLength(3);

    const cursor = url.searchParams.get("after")!;
    const values = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [string, number, string];
    const [mark, at, id] = values;
    const forged: unknown[] = [
      [],
      {},
      null,
      "text",
      [mark, at],
      [mark, at, id, 1],
      ["", at, id],
      [mark, "2026-01-01", id],
      [mark, String(at), id],
      [mark, at + 0.5, id],
      [mark, 9e15, id],
      [mark, -9e15, id],
      [mark, 1e300, id],
      [mark, at, "x"],
      [mark, at, `${id}'; select 1; --`],
      [mark, at, id.toUpperCase()],
      [mark, at, null],
    ];
    const texts = forged.map((value) => Buffer.from(JSON.stringify(value)).toString("base64url"));
    texts.push(Buffer.from("[".repeat(5_000) + "]".repeat(5_000)).toString("base64url"));
    texts.push(
      "",
      "!",
      "%00",
      `${cursor}=`,
      ` ${cursor}`,
      cursor.slice(0, -1),
      `${cursor}AA`,
      "a".repeat(5_000),
    );
    for (const after of texts)
      expect({ after, ...(await refusal(changed({ after }))) }).toEqual({ after, ...refused });
  });
});

test.each(LISTS)("$path: updated since, the earliest first", async (list) => {
  const { ids } = await read(list, `/v0/${list.path}?limit=3`);
  const table = list.path.replace("-", "_");
  const id = list.id.replace("Id", "_id");
  const { rows } = await service.database.owner.query<{ since: string }>(
    "select to_json(clock_timestamp()) #>> '{}' as since",
  );
  const since = encodeURIComponent(rows[0]!.since);
  for (const each of [ids[1], ids[0], ids[2]])
    await service.database.owner.query(`update app_public.${table} set org_name = 'Other' where ${id} = $1`, [
      each,
    ]);
  const found = await read(list, `/v0/${list.path}?updatedSince=${since}`);
  expect(found).toMatchObject({ ids: [ids[1], ids[0], ids[2]], total: 3 });
  for (const wrong of ["yesterday", "2026-01-01", "2026-13-01T00:00:00Z", "infinity"]) {
    const refused = { status: 400, code: "validation_failed", at: ["updatedSince"] };
    expect(await refusal(`/v0/${list.path}?updatedSince=${wrong}`)).toEqual(refused);
  }
});

test.each(LISTS)("$path: updated at the very time, and no earlier; page by page", async (list) => {
  const table = list.path.replace("-", "_");
  const { rows } = await service.database.owner.query<{ at: string; since: string }>(
    `select to_json(updated_at) #>> '{}' as at, to_json(updated_at + interval '1 microsecond') #>> '{}' as since
     from app_public.${table} order by updated_at desc limit 1`,
  );
  const { at, since } = rows[0]!;
  const from = (time: string) => read(list, `/v0/${list.path}?updatedSince=${encodeURIComponent(time)}`);
  expect((await from(at)).total).toBeGreaterThan(0);
  expect((await from(since)).total).toBe(0);
  const every = await read(list, `/v0/${list.path}?updatedSince=2000-01-01T00:00:00Z&limit=200`);
  const found: string[] = [];
  let next: string | undefined = `/v0/${list.path}?updatedSince=2000-01-01T00:00:00Z&limit=15`;
  while (next) {
    const page: Page = await read(list, next);
    found.push(...page.ids);
    next = page.next;
    expect(found.length).toBeLessThanOrEqual(every.ids.length);
  }
  expect(found).toEqual(every.ids);
});

test("a browser's page from elsewhere may read the link", async () => {
  const answer = await fetch(`${service.url}/v0/needs?limit=1`, {
    headers: { authorization: `Bearer ${service.keys.read}`, origin: "https://elsewhere.example" },
  });
  expect(answer.headers.get("access-control-expose-headers")?.toLowerCase().split(",")).toContain("link");
});
