// Church search by words and names, its columns and formats, and what it refuses; through REST, GraphQL and SQL.
// By place: church-places.test.ts. The tool endpoint: mcp.test.ts.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { churchSearch, ids } from "./support/church-search.ts";
import { insertChurches } from "./support/churches.ts";
import { ask, refusal } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ world: false });
});
afterAll(() => service.stop());

const { search, found, graphql } = churchSearch(() => service);

test("a misspelt word is found in what a church is called since a change", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [{ church_id: "renamed", name: "Before" }]);
  await owner.query("update app_public.churches set name = 'Tabernacle' where church_id = 'renamed'");
  expect(ids(await found("q=tabernackle"))).toEqual(["renamed"]);
  await owner.query("delete from app_public.churches where church_id = 'renamed'");
});

test("of many words that are like a misspelt one the likest fifty are looked for", async () => {
  const { owner } = service.database;
  const letters = "abcdefghijklmnopqrstuvwxyz".split("");
  const names = letters.flatMap((letter) => [`phil${letter}qdelphos`, `phil${letter}delphos`]);
  await insertChurches(owner, [
    ...names.filter((name) => name !== "philadelphos").map((name, n) => ({ church_id: `like-${n}`, name })),
    { church_id: "likest", name: "xphiladelphos" },
  ]);
  const all = ids(await found("q=philadelphos&limit=100"));
  expect(all).toContain("likest");
  expect(all).toHaveLength(50);
  await owner.query("delete from app_public.churches where church_id ~ '^like'");
});

test("a word as it is spelt finds no church with one that is only like it", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "spelt", name: "Bethel" },
    { church_id: "alike", name: "Bethal" },
  ]);
  expect(ids(await found("q=bethel"))).toEqual(["spelt"]);
  expect(ids(await found("q=bethl")).toSorted()).toEqual(["alike", "spelt"]);
  await owner.query("delete from app_public.churches where church_id in ('spelt', 'alike')");
});

test("a word of four letters may be misspelt, and one of three may not", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [{ church_id: "short", name: "Zub Zube" }]);
  for (const [q, expected] of [
    ["zobe", ["short"]],
    ["zob", []],
  ] as const)
    expect([q, ids(await found({ q }))]).toEqual([q, expected]);
  await owner.query("delete from app_public.churches where church_id = 'short'");
});

test("a program is found that is called as a language was before it, and a language as a program", async () => {
  const { owner } = service.database;
  const [twi, signing] = [["Twi"], ["Signing"]];
  await insertChurches(owner, [
    { church_id: "first", name: "Hall", service_languages: twi, ministry_names: signing },
  ]);
  await insertChurches(owner, [
    { church_id: "second", name: "Hall", service_languages: signing, ministry_names: twi },
  ]);
  expect(ids(await found("programs=twi"))).toEqual(["second"]);
  expect(ids(await found("languages=signing"))).toEqual(["second"]);
  await owner.query("delete from app_public.churches where church_id in ('first', 'second')");
});

test("a word with an apostrophe is one word", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "one", name: "Luke's Hall" },
    { church_id: "other", name: "Luke Hall" },
  ]);
  for (const q of ["lukes hall", "luke's hall"]) expect([q, ids(await found({ q }))]).toEqual([q, ["one"]]);
  await owner.query("delete from app_public.churches where church_id in ('one', 'other')");
});

test("the words of a church's names count for more than those of its place", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "a-town", name: "Harvest", locality: "Kenosha" },
    { church_id: "b-campus", name: "Harvest" },
  ]);
  await owner.query("update app_public.churches set campus_name = 'Kenosha' where church_id = 'b-campus'");
  expect(ids(await found("q=harvest kenosha"))).toEqual(["b-campus", "a-town"]);
  await owner.query("delete from app_public.churches where church_id in ('a-town', 'b-campus')");
});

test("within a radius the nearest comes first, whatever words are asked for", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "b-near", name: "Siloam Tabernacle of the Hills", latitude: 10, longitude: 10 },
    { church_id: "a-far", name: "Siloam", latitude: 10.1, longitude: 10 },
  ]);
  expect(ids(await found("q=siloam"))).toEqual(["a-far", "b-near"]);
  expect(ids(await found("q=siloam&center_lat=10&center_lng=10&radius_km=50"))).toEqual(["b-near", "a-far"]);
  await owner.query("delete from app_public.churches where church_id in ('b-near', 'a-far')");
});

test("a number may be written in each way in which programs write it, such as Java its exponent in capitals", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "within", name: "Gilead", latitude: -10, longitude: -20 },
    { church_id: "beyond", name: "Gilead", latitude: -10.2, longitude: -20 },
  ]);
  for (const [lat, km] of [
    ["-10", "10"],
    ["-1.0E1", "1E1"],
    ["-1.0e1", "1e+1"],
    ["-10.", "+10"],
    ["-.1e2", ".1e2"],
  ]) {
    const around = { q: "gilead", center_lat: lat!, center_lng: "-20", radius_km: km! };
    expect([km, ids(await found(around))]).toEqual([km, ["within"]]);
  }
  await owner.query("delete from app_public.churches where church_id in ('within', 'beyond')");
});

test("what is called so comes before what is called much else besides", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "a-much", name: "Ebenezer Valley Community" },
    // Its document is the longer one.
    { church_id: "b-so", name: "Ebenezer", denomination: "First Second Third Fourth Fifth Sixth Seventh" },
  ]);
  for (const q of ["ebenezer", "ebenezr"])
    expect([q, ids(await found({ q }))]).toEqual([q, ["b-so", "a-much"]]);
  await owner.query("delete from app_public.churches where church_id in ('a-much', 'b-so')");
});

test("of those that are called the same the one with fewer other words comes first", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "a-more", name: "Zion Hill", denomination: "First Second Third Fourth Fifth Sixth Seventh" },
    { church_id: "b-fewer", name: "Zion Hill" },
  ]);
  expect(ids(await found("q=zion"))).toEqual(["b-fewer", "a-more"]);
  await owner.query("delete from app_public.churches where church_id in ('a-more', 'b-fewer')");
});

test("what is called so but for its accents comes before what is called much else besides", async () => {
  const { owner } = service.database;
  const denomination = "First Second Third Fourth Fifth Sixth Seventh";
  await insertChurches(owner, [
    { church_id: "a-much", name: "Eglise Evangelique Benediction Ouest" },
    { church_id: "b-so", name: "Église Évangélique Bénédiction", denomination },
  ]);
  expect(ids(await found("q=eglise evangelique benediction"))).toEqual(["b-so", "a-much"]);
  await owner.query("delete from app_public.churches where church_id in ('a-much', 'b-so')");
});

test("after the last church that has the words as they are spelt comes none that is only like it", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "salem1", name: "Salem" },
    { church_id: "salem2", name: "Salem" },
    { church_id: "salem3", name: "Salam" },
  ]);
  const { next_cursor: cursor } = await found("q=salem&limit=1");
  await owner.query("delete from app_public.churches where church_id = 'salem2'");
  expect(ids(await found({ q: "salem", limit: 1, cursor: cursor! }))).toEqual([]);
  await owner.query("delete from app_public.churches where church_id like 'salem%'");
});

test("a backslash in a name, a language or a program is one, and takes no other sign its meaning", async () => {
  const { owner } = service.database;
  await insertChurches(owner, [
    { church_id: "slash", name: "AC\\DC Chapel", service_languages: ["A\\B"], ministry_names: ["C\\%D"] },
    { church_id: "plain", name: "ACDC Chapel", service_languages: ["AB"], ministry_names: ["C%D"] },
  ]);
  const cases: [Record<string, string>, string[]][] = [
    [{ church_name: "c\\d" }, ["slash"]],
    [{ church_name: "cd" }, ["plain"]],
    [{ church_name: "\\" }, ["slash"]],
    [{ languages: "a\\b" }, ["slash"]],
    [{ languages: "ab" }, ["plain"]],
    [{ languages: "\\" }, ["slash"]],
    [{ programs: "\\%" }, ["slash"]],
    [{ programs: "c%" }, ["plain"]],
  ];
  for (const [query, expected] of cases) expect([query, ids(await found(query))]).toEqual([query, expected]);
  await owner.query("delete from app_public.churches where church_id in ('slash', 'plain')");
});

describe("by words and names", () => {
  beforeAll(() =>
    insertChurches(service.database.owner, [
      {
        church_id: "w1",
        name: "Grace Chapel",
        locality: "Denver",
        region: "CO",
        country: "US",
        postal_code: "80202",
        belief_type: "protestant",
        denomination: "Presbyterian",
        service_languages: ["English", "Spanish"],
        ministry_names: ["Youth Group", "ESL"],
        latitude: 39.7,
        longitude: -105,
      },
      {
        church_id: "w2",
        name: "Grace Chapel of the Valley",
        locality: "Denver",
        region: "CO",
        country: "US",
        postal_code: "80203",
        belief_type: "protestant",
        service_languages: ["Español"],
      },
      {
        church_id: "w3",
        name: "Église Évangélique de Québec",
        locality: "Québec",
        region: "Côte-Nord",
        country: "CA",
        postal_code: "G1R 4P5",
        belief_type: "protestant",
        service_languages: ["Français"],
        ministry_names: ["École du dimanche"],
      },
      {
        church_id: "w4",
        name: "St. Mary's Cathedral",
        locality: "Sydney",
        region: "NSW",
        country: "AU",
        postal_code: "2000",
        belief_type: "roman_catholic",
        trinitarian: true,
      },
      {
        church_id: "w5",
        name: "Собор Святой Софии",
        locality: "Київ",
        country: "UA",
        belief_type: "orthodox",
      },
      {
        church_id: "w6",
        name: "Chapel of Grace",
        locality: "Golden",
        region: "CO",
        country: "US",
        belief_type: "anglican",
        trinitarian: false,
      },
    ]),
  );

  test.each([
    ["the exact name first", "q=grace chapel", ["w1", "w6", "w2"]],
    ["a word and a place", "q=grace denver&limit=2", ["w1", "w2"]],
    ["misspelt words", "q=grce chapl denvre&limit=1", ["w1"]],
    ["swapped letters", "q=chaple of garce golden", ["w6"]],
    ["no word that is much less like it", "q=presbutolian", []],
    ["the beginning of a word", "q=evangeli queb", ["w3"]],
    ["the beginning of a word, three letters of it", "q=pre denver", ["w1"]],
    ["no word by two of its letters", "q=pr denver", []],
    ["without accents", "q=eglise evangelique quebec", ["w3"]],
    ["with other accents and case", "q=ÈGLISE ÉVANGÉLIQUE QUEBEC", ["w3"]],
    ["without the apostrophe", "q=st marys cathedral", ["w4"]],
    ["another script", "q=собор софии", ["w5"]],
    ["a denomination", "q=presbyterian denver", ["w1"]],
    ["a misspelt denomination", "q=presbitarian", ["w1"]],
    ["locality and region without case and accents", "locality=QUÉBEC&region=CÔTE-nord", ["w3"]],
    ["belief, locality and region together", "belief=protestant&locality=denver&region=CO", ["w1", "w2"]],
    ["any of several beliefs", "belief=orthodox&belief=roman_catholic", ["w4", "w5"]],
    ["a country of three letters", "country=aus", ["w4"]],
    ["a country of two letters", "country=ca", ["w3"]],
    ["the beginning of a postal code, unspaced", "postal_code=g1r4", ["w3"]],
    ["a postal code with other marks", "postal_code=G.1R-4p", ["w3"]],
    ["the beginning of a postal code", "postal_code=8020", ["w1", "w2"]],
    ["part of a language", "languages=spani", ["w1"]],
    ["any of several languages, without accents", "languages=espanol&languages=FRANC", ["w2", "w3"]],
    ["part of a program", "programs=ecole", ["w3"]],
    ["a program's wildcard taken literally", "programs=%25", []],
    ["trinitarian", "trinitarian=true", ["w4"]],
    ["not trinitarian", "trinitarian=false", ["w6"]],
    ["one id", "id=w5", ["w5"]],
    ["nothing", "q=zzzzqqqq", []],
    [
      "an empty text as none",
      "id=w5&q=&country=&region=&locality=&postal_code=&church_name=&languages=&programs=,",
      ["w5"],
    ],
    [
      "a blank text as none, and an empty cursor",
      "id=w5&q=%20&country=%20&region=%20&locality=%20&postal_code=%20&church_name=%20&languages=%20&programs=%20&cursor=",
      ["w5"],
    ],
    [
      "other white space as none",
      ["q", "country", "region", "locality", "postal_code", "church_name"]
        .map((name) => `${name}=%09%C2%A0`)
        .join("&") + "&id=w5",
      ["w5"],
    ],
    ["an empty id as none", "id=&programs=ecole", ["w3"]],
    ["an empty part as none", "languages=spani,&programs= ,esl", ["w1"]],
  ])("%s", async (_, query, expected) => {
    const page = await found(query);
    expect(ids(page).filter((id) => id.startsWith("w"))).toEqual(expected);
  });

  test.each([
    ["q", "grace denver"],
    ["country", "US"],
    ["region", "CO"],
    ["locality", "Denver"],
    ["postal_code", "8020"],
    ["church_name", "ace cha"],
    ["languages", "spani"],
    ["programs", "ecole"],
  ])("blanks around %s are no part of it", async (name, value) => {
    const plain = ids(await found({ [name]: value }));
    expect(plain.length).toBeGreaterThan(0);
    expect(ids(await found({ [name]: `  ${value} ` }))).toEqual(plain);
  });

  test("the columns asked for, and no others", async () => {
    const { body } = await search("id=w1&fields=name,geojson,country");
    expect(body).toEqual({
      items: [
        {
          church_id: "w1",
          name: "Grace Chapel",
          geojson: { type: "Point", coordinates: [-105, 39.7] },
          country: "US",
        },
      ],
      limit: 20,
      has_more: false,
      next_cursor: null,
    });
  });

  test("a column that is asked for twice is there once", async () => {
    const { rows } = await service.database.owner.query<{ page: string }>(
      `select app_private.church_page('{"id": "w1", "fields": ["name", "country", "name"]}') as page`,
    );
    // Parsed, a name that stands there twice is one.
    expect(rows[0]!.page).toContain('[{"church_id":"w1","name":"Grace Chapel","country":"US"}]');
    const { rows: named } = await service.database.owner.query<{ page: string }>(
      `select app_private.church_page('{"id": "w1", "fields": ["name", "church_id"]}') as page`,
    );
    expect(named[0]!.page).toContain('[{"name":"Grace Chapel","church_id":"w1"}]');
  });

  test("GeoJSON", async () => {
    const { headers, body } = await search("locality=denver&format=geojson&fields=name,geojson&limit=1");
    expect(headers.get("content-type")).toMatch("application/geo+json");
    expect(body).toEqual({
      type: "FeatureCollection",
      features: [
        {
          type: "Feature",
          id: "w1",
          geometry: { type: "Point", coordinates: [-105, 39.7] },
          properties: { church_id: "w1", name: "Grace Chapel" },
        },
      ],
      limit: 1,
      has_more: true,
      next_cursor: expect.any(String),
    });
  });

  test("a church of which no place is known has none, and no geometry", async () => {
    const { body } = await search("id=w2&format=geojson&fields=name");
    expect(body.features).toEqual([
      {
        ...{ type: "Feature", id: "w2", geometry: null },
        properties: { church_id: "w2", name: "Grace Chapel of the Valley" },
      },
    ]);
    expect((await search("id=w2&fields=geojson")).body.items).toEqual([{ church_id: "w2", geojson: null }]);
  });

  test("a church where the equator meets the meridian of Greenwich has its place", async () => {
    const { owner } = service.database;
    await insertChurches(owner, [{ church_id: "nought", name: "Hall", latitude: 0, longitude: 0 }]);
    const { body } = await search("id=nought&fields=latitude,longitude,geojson");
    await owner.query("delete from app_public.churches where church_id = 'nought'");
    const geojson = { type: "Point", coordinates: [0, 0] };
    expect(body.items).toEqual([{ church_id: "nought", latitude: 0, longitude: 0, geojson }]);
  });

  test("one church by its id, or 404", async () => {
    const one = await call(`${service.url}/v0/orgs/w1`, "GET", service.keys.read);
    expect(one).toMatchObject({
      status: 200,
      body: { church_id: "w1", name: "Grace Chapel", website: null },
    });
    const { rows } = await service.database.owner.query<{ name: string }>(
      `select column_name as name from information_schema.columns
       where table_schema = 'app_public' and table_name = 'churches' and column_name not in ('position', 'document')`,
    );
    expect(Object.keys(one.body).toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
    expect(await call(`${service.url}/v0/orgs/nobody`, "GET", service.keys.read)).toMatchObject({
      status: 404,
      body: { error: "church_not_found" },
    });
  });

  test.each([
    ["half a radius", "center_lat=1&radius_km=5", ["center_lng"]],
    ["half a box", "min_lat=1&max_lng=5", ["max_lat", "min_lng"]],
    ["a box upside down", "min_lat=2&max_lat=1&min_lng=0&max_lng=5", ["min_lat"]],
    ["a radius too large", "center_lat=1&center_lng=1&radius_km=201", ["radius_km"]],
    ["a radius too small", "center_lat=1&center_lng=1&radius_km=0.09", ["radius_km"]],
    ["a latitude off the earth", "center_lat=91&center_lng=1&radius_km=1", ["center_lat"]],
    ["a longitude that no map sends", "center_lat=1&center_lng=-36001&radius_km=1", ["center_lng"]],
    ["something that is not a number", "center_lat=north&center_lng=1&radius_km=1", ["center_lat"]],
    ["something that is neither true nor false", "trinitarian=yes", ["trinitarian"]],
    ["no limit at all", "limit=", ["limit"]],
    ["a radius just too large", "center_lat=1&center_lng=1&radius_km=200.1", ["radius_km"]],
    ["a limit of 0", "limit=0", ["limit"]],
    ["a limit too large", "limit=10001", ["limit"]],
    ["an unknown country", "country=zz", ["country"]],
    ["what is no country's name", "country=Atlantis", ["country"]],
    ["an unknown belief", "belief=stoic", ["belief[0]"]],
    ["a text without a word", "q=!!!", ["q"]],
    ["something that is not a cursor", "cursor=abc", ["cursor"]],
    ["an unknown format", "format=xml", ["format"]],
    ["a NUL", "q=a%00b", ["q"]],
  ])("%s gets a 400 naming it", async (_, query, paths) => {
    const { status, body } = await search(query);
    expect({
      status,
      error: body.error,
      paths: body.details.map((detail: { path: string }) => detail.path),
    }).toEqual({
      status: 400,
      error: "validation_failed",
      paths,
    });
  });

  test.each([[["center_lat", "center_lng", "radius_km"]], [["min_lat", "max_lat", "min_lng", "max_lng"]]])(
    "of %j, each that is missing is named, whichever of them are there",
    async (parts) => {
      for (let some = 1; some < 2 ** parts.length - 1; some++) {
        const isGiven = (_: string, place: number) => (some & (1 << place)) > 0;
        const given = parts.filter(isGiven);
        const { status, body } = await search(Object.fromEntries(given.map((part) => [part, 1])));
        expect([given, status, body.details?.map(({ path }: { path: string }) => path)]).toEqual([
          ...[given, 400, parts.filter((part) => !given.includes(part))],
        ]);
      }
    },
  );

  test.each([
    "center_lat=90&center_lng=-36000&radius_km=0.1",
    "center_lat=-90&center_lng=36000&radius_km=200",
    "limit=1",
    "limit=10000",
    `q=grace&region=${"x".repeat(200)}`,
  ])("%s is within the bounds", async (query) => {
    expect((await search(query)).status).toBe(200);
  });

  test("an unknown column gets a 400 listing the valid ones", async () => {
    const { status, body } = await search("fields=name,nome");
    expect(status).toBe(400);
    expect(body.message).toMatch(/nome.*church_id, gers_id, name,.*distance_m, geojson/);
  });

  test("a cursor from another search gets a 400", async () => {
    const { next_cursor: cursor } = await found("country=us&limit=1");
    expect(await search({ country: "us", cursor: cursor! })).toMatchObject({ status: 200 });
    expect(await search({ country: "ca", cursor: cursor! })).toMatchObject({
      status: 400,
      body: { details: [{ path: "cursor" }] },
    });
  });

  test("SQL on its own refuses what it must", async () => {
    const ask = (args: string) =>
      service.database.owner.query(`select * from app_public.search_churches(${args})`);
    for (const args of [
      "center_lat => 1",
      "min_lng => 4",
      '"limit" => 0',
      "center_lat => 'NaN', center_lng => 1, radius_km => 1",
    ]) {
      await expect(ask(args)).rejects.toMatchObject({ code: "PT400", detail: "validation_failed" });
    }
  });

  test.each([
    ["a radius", (km: number) => `center_lat => 0, center_lng => 0, radius_km => ${km}`, 200, 201],
    ["a small radius", (km: number) => `center_lat => 0, center_lng => 0, radius_km => ${km}`, 0.1, 0.09],
    ...(["center_lat", "center_lng"] as const).flatMap((name) => {
      const other = name === "center_lat" ? "center_lng" : "center_lat";
      const around = (degrees: number) => `${name} => ${degrees}, ${other} => 0, radius_km => 1`;
      const [bound, beyond] = name === "center_lat" ? [90, 90.001] : [36_000, 36_000.001];
      return [
        [name, around, bound, beyond],
        [`${name} to the other side`, around, -bound, -beyond],
      ] as [string, (degrees: number) => string, number, number][];
    }),
    ...(
      [
        ["min_lat", -90, -90.001],
        ["max_lat", 90, 90.001],
        ["min_lng", -36_000, -36_000.001],
        ["max_lng", 36_000, 36_000.001],
      ] as const
    ).map(([side, bound, beyond]): [string, (degrees: number) => string, number, number] => {
      const box = (degrees: number) => ({
        min_lat: -1,
        max_lat: 1,
        min_lng: -1,
        max_lng: 1,
        [side]: degrees,
      });
      const args = (degrees: number) =>
        Object.entries(box(degrees))
          .map(([name, value]) => `${name} => ${value}`)
          .join();
      return [`the ${side} of a box`, args, bound, beyond];
    }),
    ["a limit", (count: number) => `"limit" => ${count}`, 10_000, 10_001],
  ])("SQL on its own takes %s up to its bound, and none beyond", async (_, args, bound, beyond) => {
    const ask = (args: string) =>
      service.database.owner.query(`select * from app_public.search_churches(${args})`);
    await ask(args(bound));
    await expect(ask(args(beyond))).rejects.toMatchObject({ code: "PT400", detail: "validation_failed" });
  });

  test("SQL on its own takes 200 characters in each text, 100 items in each list, and none beyond", async () => {
    const { owner } = service.database;
    const { rows: inputs } = await owner.query<{ name: string; is_list: boolean }>(
      `select a.attname as name, t.typcategory = 'A' as is_list
       from pg_attribute as a join pg_type as t on t.oid = a.atttypid
       where a.attrelid = 'app_private.church_query'::regclass and a.attname <> 'cursor'
         and (t.typcategory = 'S' or t.typcategory = 'A') order by a.attnum`,
    );
    expect(inputs.map(({ name }) => name)).toEqual(expect.arrayContaining(["id", "church_name", "programs"]));
    const problems = async (query: object) => {
      const { rows } = await owner.query<{ found: { path: string; message: string }[] }>(
        "select app_private.church_query_problems(jsonb_populate_record(null::app_private.church_query, $1)) as found",
        [JSON.stringify(query)],
      );
      // A country of 200 letters is none, which is another problem.
      return rows[0]!.found.filter(({ message }) => /at most/.test(message)).map(({ path }) => path);
    };
    for (const { name, is_list: isList } of inputs) {
      const cases = isList
        ? [
            Array(100).fill(name === "belief" ? "other" : "a"),
            Array(101).fill(name === "belief" ? "other" : "a"),
          ]
        : ["a".repeat(200), "a".repeat(201)];
      const [within, beyond] = await Promise.all(cases.map((value) => problems({ [name]: value })));
      expect([name, within, beyond]).toEqual([name, [], [name]]);
      if (!isList || name === "belief") continue;
      expect([name, await problems({ [name]: ["a", "a".repeat(200)] })]).toEqual([name, []]);
      expect([name, await problems({ [name]: ["a", "a".repeat(201)] })]).toEqual([name, [name]]);
    }
  });

  test.each([0, 10_001])("a page in SQL on its own has no %d churches either", async (limit) => {
    await expect(
      service.database.owner.query("select app_private.church_page($1)", [JSON.stringify({ limit })]),
    ).rejects.toMatchObject({ code: "PT400", hint: expect.stringContaining('"limit"') });
  });

  test("a read-only key searches and changes nothing", async () => {
    const client = await service.database.owner.connect();
    try {
      await client.query("set role api_review");
      for (const change of [
        "insert into app_public.churches (church_id, name) values ('x', 'X')",
        "update app_public.churches set name = 'X'",
        "delete from app_public.churches",
        "insert into app_private.church_words values ('x')",
      ]) {
        await expect(client.query(change)).rejects.toMatchObject({ code: "42501" });
      }
    } finally {
      client.release(true);
    }
  });

  test("each argument of GraphQL asks for what the parameter of its name does", async () => {
    const asked: [argument: string, parameter: string][] = [
      ['q: "grace denver"', "q=grace denver"],
      ['country: "AU"', "country=AU"],
      ["belief: [orthodox]", "belief=orthodox"],
      ["trinitarian: false", "trinitarian=false"],
      ['region: "CO"', "region=CO"],
      ['locality: "Denver"', "locality=Denver"],
      ['postalCode: "8020"', "postal_code=8020"],
      ['languages: ["spani"]', "languages=spani"],
      ['programs: ["ecole"]', "programs=ecole"],
      ['id: "w5"', "id=w5"],
    ];
    for (const [argument, parameter] of asked) {
      const rows = (await graphql(argument, "church { churchId }")) as { church: { churchId: string } }[];
      const expected = ids(await found(parameter));
      expect(expected.length).toBeGreaterThan(0);
      expect([argument, rows.map(({ church }) => church.churchId)]).toEqual([argument, expected]);
    }
  });

  test("a box says of no church how far it is, and a radius does", async () => {
    const distances = async (place: string) =>
      (await graphql(`id: "w1", ${place}`, "distanceM")) as { distanceM: number | null }[];
    expect(await distances("minLat: 39, maxLat: 40, minLng: -106, maxLng: -104")).toEqual([
      { distanceM: null },
    ]);
    expect(await distances("centerLat: 39.7, centerLng: -105, radiusKm: 1")).toEqual([{ distanceM: 0 }]);
  });

  test("GraphQL returns records with their location, and refuses with the same codes", async () => {
    // A list with nothing in it asks for nothing.
    expect(await graphql('id: "w5", belief: [], languages: [], programs: []', "cursor")).toHaveLength(1);
    const [row] = await graphql('id: "w1"', "cursor church { name beliefType geojson serviceLanguages }");
    expect(row).toEqual({
      cursor: expect.any(String),
      church: {
        name: "Grace Chapel",
        beliefType: "protestant",
        geojson: { type: "Point", coordinates: [-105, 39.7] },
        serviceLanguages: ["English", "Spanish"],
      },
    });
    const beliefs = (count: number) =>
      `{ churches(id: "w5", belief: [${"orthodox ".repeat(count)}]) { cursor } }`;
    expect((await ask(service, beliefs(100))).churches).toHaveLength(1);
    expect(await refusal(service, beliefs(101))).toEqual(["validation_failed", 400]);
    expect(await refusal(service, "{ churches(centerLat: 1) { cursor } }")).toEqual([
      "validation_failed",
      400,
    ]);
  });
});
