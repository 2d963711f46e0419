// What the clients of the earlier service send, and what they read of the answers (docs/compatibility.md).
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertChurches } from "./support/churches.ts";
import { ask } from "./support/graphql.ts";
import { admin } from "./support/process.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { ORG, stranger } from "./support/world.ts";

let service: TestService;
let dir: string;
beforeAll(async () => {
  service = await startTestService();
  dir = await mkdtemp(join(tmpdir(), "engagement-old-clients-"));
  await importChurches([
    {
      church_id: "a",
      name: "Grace Chapel",
      country: "US",
      service_languages: ["English"],
      ministry_names: ["Youth"],
    },
    {
      church_id: "b",
      name: "Iglesia Gracia",
      country: "MX",
      service_languages: ["Spanish"],
      ministry_names: ["Kids"],
    },
    { church_id: "c", name: "Église 50% Vive", country: "CI", service_languages: ["Chinese, Mandarin"] },
    { church_id: "east", name: "East", latitude: -17, longitude: 179.5, service_times: [540, 10079, 0] },
    { church_id: "west", name: "West", latitude: -17, longitude: -179.5 },
    { church_id: "line", name: "Line", latitude: -17, longitude: 180 },
    { church_id: "far", name: "Far", latitude: -17, longitude: 0 },
  ]);
});
afterAll(async () => {
  await service.stop();
  await rm(dir, { recursive: true });
});

async function importChurches(rows: object[]) {
  const file = join(dir, "churches.jsonl");
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  return admin(["churches", "import", file], { DATABASE_URL: service.database.url });
}

const search = (query: string) => call(`${service.url}/v0/orgs/search?${query}`, "GET", service.keys.read);
async function found(query: string): Promise<string[]> {
  const { status, body } = await search(query);
  expect({ query, status, message: body.message }).toEqual({ query, status: 200, message: undefined });
  return (body.items as { church_id: string }[]).map((item) => item.church_id).toSorted();
}

test.each([
  ["languages=eng,spa", ["a", "b"]],
  ["languages=eng, spa ,,", ["a", "b"]],
  ["languages=eng&languages=xx,spa", ["a", "b"]],
  ["languages=Chinese, Mandarin", ["c"]],
  ["programs=youth,kids", ["a", "b"]],
  ["languages=,", ["a", "b", "c", "east", "far", "line", "west"]],
  ["language=spa", ["b"]],
  ["language=spa&languages=eng", ["a", "b"]],
  ["program=YOUTH", ["a"]],
  ["program=youth&language=spanish", []],
  ["church_name=grac", ["a", "b"]],
  ["church_name=eglise 50%25", ["c"]],
  ["church_name=%25", ["c"]],
  ["church_name=chapel&country=US", ["a"]],
  ["church_name=", ["a", "b", "c", "east", "far", "line", "west"]],
  ["country=United States", ["a"]],
  ["country=united states of america", ["a"]],
  ["country=USA", ["a"]],
  ["country=m%C3%A9xico", ["b"]],
  ["country=Ivory Coast", ["c"]],
  ["country=C%C3%B4te d'Ivoire", ["c"]],
])("GET /v0/orgs/search?%s", async (query, ids) => {
  expect(await found(query)).toEqual(ids);
});

test("of a part that more than a thousand languages have, each is found", async () => {
  const { owner } = service.database;
  await importChurches([
    {
      church_id: "rare",
      name: "Rare",
      country: "US",
      service_languages: ["Manytongue 1001", "Other_tongue"],
    },
  ]);
  await owner.query(
    "insert into app_private.church_tags (kind, tag) select 'language', 'manytongue ' || n from generate_series(1, 1000) as n",
  );
  expect(await found("languages=manytongue,nobody's")).toEqual(["rare"]);
  // Nor is an underscore any other letter.
  expect([await found("languages=r_to"), await found("languages=othe__tongue")]).toEqual([["rare"], []]);
  await owner.query(
    "delete from app_private.church_tags where tag like 'manytongue%'; delete from app_public.churches where church_id = 'rare'",
  );
});

test("more parts than a list may have are refused, also with commas between them", async () => {
  const parts = (count: number) => Array.from({ length: count }, (_, n) => n).join(",");
  expect((await search(`languages=${parts(60)}&languages=${parts(40)}`)).status).toBe(200);
  expect(await search(`languages=${parts(60)}&languages=${parts(41)}`)).toMatchObject({
    status: 400,
    body: { message: "languages must have at most 100 items." },
  });
  expect(await search("country=Atlantis")).toMatchObject({
    status: 400,
    body: { details: [{ path: "country" }] },
  });
});

describe("degrees beyond 180", () => {
  const box = (west: number, east: number) => `min_lat=-18&max_lat=-16&min_lng=${west}&max_lng=${east}`;
  test.each([
    [179, -179, ["east", "line", "west"]],
    [179, 181, ["east", "line", "west"]],
    [-181, -179, ["east", "line", "west"]],
    [539, 541, ["east", "line", "west"]],
    [180.2, 181, ["west"]],
    [-180.9, -180.2, ["east"]],
    [179.2, 180, ["east", "line"]],
    [359, 361, ["far"]],
    [-540, 540, ["east", "far", "line", "west"]],
    [-200, 160, ["east", "far", "line", "west"]],
    [35_999, 36_000, ["far"]],
  ])("a box from %d to %d", async (west, east, ids) => {
    expect(await found(box(west, east))).toEqual(ids);
    const { churches } = (await ask(
      service,
      `{ churches(minLat: -18, maxLat: -16, minLng: ${west}, maxLng: ${east}) { church { churchId } } }`,
    )) as { churches: { church: { churchId: string } }[] };
    expect(churches.map(({ church }) => church.churchId).toSorted()).toEqual(ids);
  });

  test("a box across 180 is listed from its own middle outwards", async () => {
    const { body } = await search(box(178.6, -179.4));
    expect(body.items.map((item: { church_id: string }) => item.church_id)).toEqual(["east", "line", "west"]);
    const { body: mirrored } = await search(box(179.4, -178.6));
    expect(mirrored.items.map((item: { church_id: string }) => item.church_id)).toEqual([
      "west",
      "line",
      "east",
    ]);
  });

  test("a radius around a centre on a map that was turned", async () => {
    for (const longitude of [180, -180, 540, -900]) {
      expect(await found(`center_lat=-17&center_lng=${longitude}&radius_km=100`)).toEqual([
        "east",
        "line",
        "west",
      ]);
    }
  });

  test.each([
    ["min_lng", box(-36_001, 0), "min_lat => 0, max_lat => 1, min_lng => -1e300, max_lng => 0"],
    ["max_lng", box(0, 36_001), "min_lat => 0, max_lat => 1, min_lng => 0, max_lng => 1e300"],
    [
      "center_lng",
      "center_lat=0&center_lng=-36001&radius_km=1",
      "center_lat => 0, center_lng => 1e300, radius_km => 1",
    ],
  ])("%s farther than anybody turns a map is refused", async (name, query, args) => {
    expect(await search(query)).toMatchObject({ status: 400, body: { details: [{ path: name }] } });
    // Who comes past the schema is told by the rules.
    await expect(
      service.database.owner.query(`select app_public.search_churches(${args})`),
    ).rejects.toMatchObject({ code: "PT400", message: expect.stringContaining(name) });
  });
});

test("an item always has its church_id, and headers repeat where the page ended", async () => {
  for (const [fields, names] of [
    ["name", ["church_id", "name"]],
    ["name,church_id", ["name", "church_id"]],
    ["geojson", ["church_id", "geojson"]],
    [" name ,", ["church_id", "name"]],
  ] as const) {
    const { body, headers } = await search(`fields=${fields}&limit=2`);
    expect(Object.keys(body.items[0])).toEqual(names);
    expect(headers.get("x-limit")).toBe("2");
    expect(headers.get("x-next-cursor")).toBe(body.next_cursor);
    expect(body.next_cursor).toEqual(expect.any(String));
  }
  const last = await search("id=a&format=geojson&fields=name");
  expect(last.body.features[0].properties).toEqual({ church_id: "a", name: "Grace Chapel" });
  expect([last.headers.get("x-limit"), last.headers.get("x-next-cursor")]).toEqual(["20", null]);
});

test("a cursor is in the header however long it is", async () => {
  const { owner } = service.database;
  const ids = ["堂", "会"].map((letter) => letter.repeat(128));
  await insertChurches(
    owner,
    ids.map((church_id) => ({ church_id, name: "Llanfairpwll" })),
  );
  try {
    const { body, headers } = await search("church_name=llanfairpwll&limit=1");
    expect(body.next_cursor.length).toBeGreaterThan(500);
    expect(headers.get("x-next-cursor")).toBe(body.next_cursor);
  } finally {
    await owner.query("delete from app_public.churches where church_id = any ($1)", [ids]);
  }
});

test("service times are minutes of the week, in what is imported, kept and answered", async () => {
  expect((await search("id=east&fields=service_times")).body.items).toEqual([
    { church_id: "east", service_times: [540, 10079, 0] },
  ]);
  const { owner } = service.database;
  try {
    const refused = await importChurches([
      { church_id: "t1", name: "Text", service_times: ["Sunday 9:00"] },
      { church_id: "t2", name: "Late", service_times: [10080] },
      { church_id: "t3", name: "Early", service_times: [-1] },
      { church_id: "t4", name: "Half", service_times: [1.5] },
      { church_id: "t5", name: "Cell", service_times: "540; 1080" },
      { church_id: "t6", name: "Texts", service_times: ["540", " 60 "] },
      { church_id: "t7", name: "None", service_times: [] },
    ]);
    expect(refused.code).toBe(1);
    const { rows } = await owner.query(
      "select church_id, service_times from app_public.churches where church_id like 't_' order by 1",
    );
    expect(rows).toEqual([
      { church_id: "t5", service_times: [540, 1080] },
      { church_id: "t6", service_times: [540, 60] },
      { church_id: "t7", service_times: null },
    ]);
  } finally {
    await owner.query("delete from app_public.churches where church_id like 't_'");
  }
  await expect(
    service.database.owner.query(
      "update app_public.churches set service_times = '{10080}' where church_id = 'a'",
    ),
  ).rejects.toMatchObject({ code: "23514" });
});

test.each([["a-token"], [null], [{ proof: ["of", "something"] }]])(
  "claim-org takes web3authVerifier as %j and does not use it",
  async (web3authVerifier) => {
    const { status, body } = await call(
      `${service.url}/v0/onboarding/claim-org`,
      "POST",
      service.keys.write,
      {
        userEmail: `${JSON.stringify(web3authVerifier).length}-${stranger}`,
        firstName: "Ana",
        lastName: "Lima",
        roles: [],
        orgName: "River Mission",
        isNewOrg: false,
        orgUri: ORG,
        web3authVerifier,
      },
    );
    expect({ status, body }).toMatchObject({ status: 200, body: { status: expect.any(String) } });
  },
);
