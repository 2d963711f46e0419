// Church search by place, against the haversine formula over all rows; through REST and GraphQL.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { churchSearch, ids } from "./support/church-search.ts";
import type { Page } from "./support/church-search.ts";
import { haversine, insertChurches, randomNumbers } from "./support/churches.ts";
import type { Place } from "./support/churches.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ world: false });
});
afterAll(() => service.stop());

const { found, graphql } = churchSearch(() => service);

describe("among 50,000 places", () => {
  const random = randomNumbers(5);
  const places: Place[] = [];

  beforeAll(async () => {
    const at = (latitude: number, longitude: number) =>
      places.push({ church_id: `p${String(places.length).padStart(5, "0")}`, latitude, longitude });
    for (const longitude of [-180, -90, 0, 45, 179.999, 180]) {
      for (const latitude of [-90, -89.99, 0, 89.99, 90]) at(latitude, longitude);
    }
    for (let i = 0; i < 40; i++) at(32.7948, -116.9625);
    for (let i = 0; i < 200; i++) at(-17 + random(), random() < 0.5 ? 180 - random() : random() - 180);
    for (let i = 0; i < 200; i++) at((random() < 0.5 ? 1 : -1) * (90 - random() * 1.5), random() * 360 - 180);
    // Clustered, as churches are.
    const towns = Array.from(
      { length: 400 },
      () => [Math.asin(random() * 2 - 1) * (180 / Math.PI), random() * 360 - 180] as const,
    );
    while (places.length < 50_000) {
      const [latitude, longitude] = towns[Math.floor(random() ** 2 * towns.length)]!;
      at(
        Math.max(-90, Math.min(90, latitude + random() - 0.5)),
        Math.max(-180, Math.min(180, longitude + random() - 0.5)),
      );
    }
    for (let i = 0; i < places.length; i += 10_000) {
      await insertChurches(service.database.owner, places.slice(i, i + 10_000));
    }
    await service.database.owner.query("vacuum analyze app_public.churches");
  });

  const circles: [string, number, number, number][] = [
    ["at the north pole", 90, 0, 150],
    ["at the south pole", -90, 77, 200],
    ["near a pole", 89.9, -120, 60],
    ["on the 180th meridian", -16.5, 180, 100],
    ["west of the 180th meridian", -16.5, -179.9, 80],
    ["where many are in the same place", 32.7948, -116.9625, 0.1],
    ["in the middle of nowhere", -48.9, -123.4, 200],
  ];
  for (let i = 0; i < 25; i++) {
    circles.push([
      `at random (${i})`,
      Math.asin(random() * 2 - 1) * (180 / Math.PI),
      random() * 360 - 180,
      5 + random() * 195,
    ]);
  }

  test.each(circles)(
    "a radius %s finds what the haversine formula finds, nearest first",
    async (_, lat, lng, km) => {
      const center = { latitude: lat, longitude: lng };
      const expected = new Map(
        places
          .map((place) => [place.church_id, haversine(center, place)] as const)
          .filter(([, metres]) => metres <= km * 1000),
      );
      const page = await found({
        center_lat: lat,
        center_lng: lng,
        radius_km: km,
        limit: 10_000,
        fields: "church_id,distance_m",
      });
      expect(ids(page).toSorted()).toEqual([...expected.keys()].toSorted());
      let before = { distance_m: 0, church_id: "" };
      for (const { church_id, distance_m } of page.items as { church_id: string; distance_m: number }[]) {
        expect(Math.abs(distance_m - expected.get(church_id)!)).toBeLessThan(0.02);
        expect(distance_m).toBeGreaterThanOrEqual(before.distance_m);
        before = { distance_m, church_id };
      }
    },
  );

  test("places at the same distance are sorted by church_id", async () => {
    const page = await found({ center_lat: 32.7948, center_lng: -116.9625, radius_km: 0.1 });
    expect(page.items).toHaveLength(20);
    expect(ids(page)).toEqual(ids(page).toSorted());
    expect(page.items[0]).toMatchObject({ distance_m: 0 });
  });

  const boxes: [string, number, number, number, number][] = [
    ["over the 180th meridian", -17, -16, 179.2, -179.3],
    ["up to the 180th meridian", -18, -15, 179, 180],
    ["around a pole", 88, 90, -180, 180],
    ["of the whole world", -90, 90, -180, 180],
    ["of one point", 32.7948, 32.7948, -116.9625, -116.9625],
    ["of one meridian", -90, 90, -116.9625, -116.9625],
    ["of everything but a strip", -90, 90, 10, 5],
  ];
  for (let i = 0; i < 15; i++) {
    const [a, b] = [random() * 180 - 90, random() * 180 - 90];
    boxes.push([
      `at random (${i})`,
      Math.min(a, b),
      Math.max(a, b),
      random() * 360 - 180,
      random() * 360 - 180,
    ]);
  }

  test.each(boxes)("a box %s finds what lies in it", async (_, minLat, maxLat, minLng, maxLng) => {
    const inside = places.filter(
      ({ latitude, longitude }) =>
        latitude >= minLat &&
        latitude <= maxLat &&
        (minLng <= maxLng
          ? longitude >= minLng && longitude <= maxLng
          : longitude >= minLng || longitude <= maxLng),
    );
    const query = { min_lat: minLat, max_lat: maxLat, min_lng: minLng, max_lng: maxLng, fields: "church_id" };
    const listed: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: Page = await found({ ...query, limit: 10_000, ...(cursor && { cursor }) });
      listed.push(...ids(page));
      cursor = page.next_cursor;
    }
    expect(listed.toSorted()).toEqual(inside.map(({ church_id }) => church_id).toSorted());
  });

  test.each([
    ["-190 to 170", -190, 170, true],
    ["0 to 360", 0, 360, true],
    ["-36000 to -35640", -36_000, -35_640, true],
    ["35640 to 36000", 35_640, 36_000, true],
    ["-190 to 171", -190, 171, true],
    ["180.0005 to 539.9985", 180.0005, 539.9985, false],
  ])(
    "a box of a whole turn has all of its latitudes in it, and no smaller one: %s",
    async (_, from, to, isWhole) => {
      const near = places.filter(({ latitude }) => latitude >= 88.5);
      const inside = near.filter(
        ({ longitude }) => isWhole || (longitude >= from - 360 && longitude <= to - 360),
      );
      expect(inside.length < near.length).toBe(!isWhole);
      const box = { min_lat: 88.5, max_lat: 90, min_lng: from, max_lng: to };
      const page = await found({ ...box, fields: "church_id", limit: 10_000 });
      expect(ids(page).toSorted()).toEqual(inside.map(({ church_id }) => church_id).toSorted());
    },
  );

  test.each([
    ["radius", "center_lat => -48.9, center_lng => -123.4, radius_km => 200"],
    ["box", "min_lat => -50, max_lat => -48, min_lng => -125, max_lng => -122"],
  ])("a %s in the middle of nowhere has few churches looked at", async (_, place) => {
    const client = await service.database.owner.connect();
    try {
      await client.query("begin");
      const read = async () => {
        const { rows } = await client.query<{ read: number }>(
          `select (coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0))::integer as read
           from pg_stat_xact_user_tables where relid = 'app_public.churches'::regclass`,
        );
        return rows[0]!.read;
      };
      // What the connection has read before may not have been told yet.
      const before = await read();
      await client.query(`select from app_public.search_churches(${place})`);
      expect((await read()) - before).toBeLessThan(1_000);
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  test("a box has those first that are nearest to its middle", async () => {
    const box = { min_lat: 80, max_lat: 90, min_lng: -180, max_lng: 180 };
    const middle = { latitude: 85, longitude: 0 };
    const page = await found({ ...box, fields: "church_id", limit: 50 });
    const inside = places.filter(({ latitude }) => latitude >= 80);
    const metres = new Map(inside.map((place) => [place.church_id, haversine(middle, place)]));
    const nearest = [...metres.values()].toSorted((one, other) => one - other).slice(0, 50);
    for (const [n, id] of ids(page).entries()) expect(metres.get(id)).toBeCloseTo(nearest[n]!, 1);
  });

  test("GraphQL finds the same, in the same order", async () => {
    const rest = await found({ center_lat: -16.5, center_lng: 180, radius_km: 100, limit: 50 });
    const rows = await graphql(
      "centerLat: -16.5, centerLng: 180, radiusKm: 100, limit: 50",
      "distanceM church { churchId }",
    );
    expect(
      (rows as { distanceM: number; church: { churchId: string } }[]).map((row) => [
        row.church.churchId,
        row.distanceM,
      ]),
    ).toEqual(rest.items.map((item) => [item.church_id, item["distance_m"]]));
    const box = await found({ min_lat: -17, max_lat: -16, min_lng: 179.2, max_lng: -179.3, limit: 50 });
    const boxRows = await graphql(
      "minLat: -17, maxLat: -16, minLng: 179.2, maxLng: -179.3, limit: 50",
      "church { churchId }",
    );
    expect((boxRows as { church: { churchId: string } }[]).map((row) => row.church.churchId)).toEqual(
      ids(box),
    );
  });

  test.each([
    ["all of them", {}, 7_000],
    ["of a radius", { center_lat: 32.8, center_lng: -117, radius_km: 200 }, 7],
    ["of a box", { min_lat: -18, max_lat: -15, min_lng: 179, max_lng: -179 }, 23],
    ["of a common word", { q: "church" }, 7_000],
    ["of a free text", { q: "church p00077" }, 1],
    ["of a misspelt free text", { q: "chruch", min_lat: -18, max_lat: -15, min_lng: 179, max_lng: -179 }, 11],
  ])("paging through %s lists every church once while others are inserted", async (name, query, limit) => {
    const whole = new Set<string>();
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: Page = await found({
        ...query,
        fields: "church_id",
        limit: 10_000,
        ...(cursor && { cursor }),
      });
      ids(page).forEach((id) => whole.add(id));
      cursor = page.next_cursor;
    }
    const met: string[] = [];
    let round = 0;
    for (let cursor: string | null = ""; cursor !== null; round++) {
      const page: Page = await found({ ...query, fields: "church_id", limit, ...(cursor && { cursor }) });
      met.push(...ids(page));
      cursor = page.next_cursor;
      const near = () => ({ latitude: -16.5 + random(), longitude: 180 - random() });
      const added = Array.from({ length: 5 }, (_, i) => ({
        church_id: `new-${name.replaceAll(" ", "-")}-${round}-${i}`,
        ...near(),
      }));
      added.push({
        church_id: `a-new-${name.replaceAll(" ", "-")}-${round}`,
        latitude: 32.8,
        longitude: -117,
      });
      await insertChurches(service.database.owner, added);
    }
    expect(new Set(met).size).toBe(met.length);
    expect([...whole].filter((id) => !met.includes(id))).toEqual([]);
    await service.database.owner.query("delete from app_public.churches where church_id like '%new-%'");
  });
});
