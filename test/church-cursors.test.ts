// Cursors that nobody was given: whatever one says, it costs no more than a page that could have been asked for.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertChurches } from "./support/churches.ts";
import { ask } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

/** More than a page may have to be ranked among, twice over. */
const MANY = 2_100;
const FEW = 300;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const churches = (word: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      church_id: `${word}${String(i).padStart(5, "0")}`,
      // So that some have it as their whole name.
      name: i % 7 === 0 ? `${word} Chapel` : `${word} Chapel ${i % 7}`,
      // Not along a line: the index of places takes minutes over points between which there is no room.
      latitude: 30 + i / 10_000,
      longitude: 40 + (i % 60) / 1_000,
    }));
  await insertChurches(service.database.owner, [...churches("Common", MANY), ...churches("Rare", FEW)]);
  await service.database.owner.query("analyze app_public.churches");
});
afterAll(() => service.stop());

type Page = { items: { church_id: string }[]; next_cursor: string | null };

async function search(filters: Record<string, string>): Promise<{ status: number; body: Page }> {
  const query = new URLSearchParams({ fields: "church_id", ...filters }).toString();
  return call(`${service.url}/v0/orgs/search?${query}`, "GET", service.keys.read);
}

const encode = (place: unknown) => Buffer.from(JSON.stringify(place)).toString("base64url");

const places = new Map<object, unknown[]>();

/** A cursor as the search itself would write it, but for what is changed. */
async function forged(filters: Record<string, string>, changed: (place: unknown[]) => unknown) {
  if (!places.has(filters)) {
    const { body } = await search({ ...filters, limit: "1" });
    places.set(filters, JSON.parse(Buffer.from(body.next_cursor!, "base64url").toString()) as unknown[]);
  }
  return encode(changed(places.get(filters)!));
}

const RADIUS = { center_lat: "30", center_lng: "40", radius_km: "50" };
const BOX = { min_lat: "29", max_lat: "31", min_lng: "39", max_lng: "41" };
const OF: [string, Record<string, string>, string[]][] = [
  ["all", {}, ["id"]],
  ["a radius", RADIUS, ["distance"]],
  ["a box", BOX, ["distance"]],
  ["few words", { q: "rare" }, ["rank", "rank~", "name", "name~"]],
  ["few words in a radius", { q: "rare", ...RADIUS }, ["distance", "distance~"]],
  ["few words in a box", { q: "rare", ...BOX }, ["rank", "rank~", "name", "name~"]],
];
const ORDERINGS = ["id", "distance", "rank", "name"].flatMap((name) => [name, `${name}~`]);

describe.each(OF)("a cursor of %s", (_, filters, possible) => {
  test.each(ORDERINGS)("in the order %s counts if the search could have it", async (ordering) => {
    const cursor = await forged(filters, ([search_, , ...place]) => [search_, ordering, ...place]);
    const { status, body } = await search({ ...filters, cursor });
    expect([status, (body as unknown as { error?: string }).error]).toEqual(
      possible.includes(ordering) ? [200, undefined] : [400, "validation_failed"],
    );
  });
});

describe("a cursor", () => {
  const filters = { q: "rare" };
  test.each([
    ["a place beyond all numbers", ([a, b, , d]: unknown[]) => [a, b, 1e300, d]],
    ["a place below all numbers", ([a, b, , d]: unknown[]) => [a, b, -1e300, d]],
    ["no number", ([a, b, , d]: unknown[]) => [a, b, "1", d]],
    ["no id", ([a, b, c]: unknown[]) => [a, b, c, null]],
    ["an id that no text can hold", ([a, b, c]: unknown[]) => [a, b, c, "\0"]],
    ["more than it has", (place: unknown[]) => [...place, 1]],
    ["another search", ([, ...place]: unknown[]) => ["00000000", ...place]],
    ["no search", ([, ...place]: unknown[]) => [null, ...place]],
    ["no order", ([a, , ...place]: unknown[]) => [a, null, ...place]],
    ["no list", () => ({})],
  ])("with %s is refused", async (_what, changed) => {
    const { status, body } = await search({ ...filters, cursor: await forged(filters, changed) });
    expect([status, body]).toEqual([400, expect.objectContaining({ error: "validation_failed" })]);
  });
});

test("a cursor may say any place up to a thousand, on either side, and none beyond", async () => {
  const status = async (place: number) =>
    (await search({ q: "rare", cursor: await forged({ q: "rare" }, ([a, b, , d]) => [a, b, place, d]) }))
      .status;
  expect(await Promise.all([1000, -1000].map(status))).toEqual([200, 200]);
  expect(await Promise.all([1000.5, -1000.5].map(status))).toEqual([400, 400]);
});

describe("words that too many churches have to be ranked", () => {
  test("are not ranked because a cursor says so", async () => {
    const cursor = await forged({ q: "common" }, ([search_]) => [search_, "rank", 2, ""]);
    const { status, body } = await search({ q: "common", cursor });
    expect([status, body]).toEqual([400, expect.objectContaining({ error: "validation_failed" })]);
  });

  test("are those of more than a thousand", async () => {
    const insert = (from: number, count: number) =>
      insertChurches(
        service.database.owner,
        Array.from({ length: count }, (_, i) => ({ church_id: `border${from + i}`, name: "Border Chapel" })),
      );
    const ordering = async () => {
      const { body } = await search({ q: "border", limit: "1" });
      return (JSON.parse(Buffer.from(body.next_cursor!, "base64url").toString()) as unknown[])[1];
    };
    await insert(0, 1_000);
    expect(await ordering()).toBe("rank");
    await insert(1_000, 1);
    expect(await ordering()).toBe("name");
    await service.database.owner.query("delete from app_public.churches where church_id like 'border%'");
  });

  test("as parts of more than a thousand programs find each church that has one", async () => {
    await insertChurches(
      service.database.owner,
      Array.from({ length: 1_002 }, (_, i) => ({
        church_id: `program${i}`,
        ministry_names: [`Outreach ${i}`],
      })),
    );
    const ids = new Set<string>();
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: { body: Page } = await search({ programs: "outreach", limit: "1000", cursor });
      for (const { church_id } of page.body.items) ids.add(church_id);
      cursor = page.body.next_cursor;
    }
    await service.database.owner.query("delete from app_public.churches where church_id like 'program%'");
    expect(ids.size).toBe(1_002);
  });

  test.each<[string, Record<string, string>, number]>([
    ["as they are", { q: "common" }, MANY],
    ["misspelt", { q: "comon" }, MANY],
    ["by few alone", { q: "rare" }, FEW],
    ["misspelt, within a radius", { q: "raree", ...RADIUS }, FEW],
  ])("can be paged through to the end, %s", async (_, filters, count) => {
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: { body: Page } = await search({ ...filters, limit: "200", cursor });
      ids.push(...page.body.items.map(({ church_id }) => church_id));
      cursor = page.body.next_cursor;
    }
    expect([ids.length, new Set(ids).size]).toEqual([count, count]);
  });

  test("are found by name: first page after page of those with exactly that name, then the others", async () => {
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: { body: Page } = await search({ q: "Common CHAPEL", limit: "130", cursor });
      ids.push(...page.body.items.map(({ church_id }) => church_id));
      cursor = page.body.next_cursor;
    }
    const all = Array.from({ length: MANY }, (_, i) => `Common${String(i).padStart(5, "0")}`);
    const isSo = (_: string, i: number) => i % 7 === 0;
    expect(ids).toEqual([...all.filter(isSo), ...all.filter((id, i) => !isSo(id, i))]);
  });

  test("go on being ranked when some more have them since the first page", async () => {
    const { body } = await search({ q: "rare", limit: "200" });
    await insertChurches(
      service.database.owner,
      Array.from({ length: 50 }, (_, i) => ({ church_id: `later${i}`, name: "Rare Chapel" })),
    );
    const rest = await search({ q: "rare", limit: "1000", cursor: body.next_cursor! });
    await service.database.owner.query("delete from app_public.churches where church_id like 'later%'");
    expect(rest.status).toBe(200);
    expect(rest.body.items.length).toBeGreaterThanOrEqual(FEW - 200);
  });

  test("go on being ranked, each of them, when by now there are more than are ranked at first", async () => {
    const { body } = await search({ q: "rare", limit: "200" });
    const later = Array.from({ length: 800 }, (_, i) => ({
      church_id: `later${i}`,
      // Like it less than any that was there, so that the first page would have none of them.
      name: "Rare Chapel of all the villages on the other side of the river",
    }));
    await insertChurches(service.database.owner, later);
    const rest = await search({ q: "rare", limit: "2000", cursor: body.next_cursor! });
    await service.database.owner.query("delete from app_public.churches where church_id like 'later%'");
    expect([rest.status, rest.body.items?.length]).toEqual([200, FEW - 200 + later.length]);
  });
});

test("no more are found by name than were asked for, whichever of them have exactly that name", async () => {
  const { rows } = await service.database.owner.query<{ exact: number }>(
    "select count(*)::integer as exact from app_public.churches where lower(name) = 'common chapel'",
  );
  const limit = rows[0]!.exact + 7;
  const { rows: found } = await service.database.owner.query<{ n: number }>(
    `select count(*)::integer as n from app_public.search_churches(q => 'common chapel', "limit" => $1)`,
    [limit],
  );
  expect(found[0]!.n).toBe(limit);
});

test("twenty are found where nobody says how many, through REST and through GraphQL", async () => {
  const { churches, again } = await ask(
    service,
    `query ($n: Int) { churches(q: "common") { cursor } again: churches(q: "common", limit: $n) { cursor } }`,
    { n: null },
  );
  expect(again).toEqual(churches);
  expect([(await search({ q: "common" })).body.items.length, churches.length]).toEqual([20, 20]);
});
