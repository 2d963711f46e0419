// admin churches import, as an operator runs it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { longestText } from "../db/catalog.ts";
import { BadRow, importChurches } from "../db/churches/import.ts";
import type { ChurchFormat } from "../db/churches/read.ts";
import { createPool } from "../db/pool.ts";
import { loadDemoChurches } from "../db/demo/churches.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { onConnections, whenWaitedFor } from "./support/overlap.ts";
import { admin } from "./support/process.ts";

let database: TestDatabase;
let dir: string;
beforeAll(async () => {
  [database, dir] = await Promise.all([
    createTestDatabase(),
    mkdtemp(join(tmpdir(), "engagement-graph-churches-")),
  ]);
});
afterAll(() => Promise.all([database.drop(), rm(dir, { recursive: true })]));
beforeEach(() => database.owner.query("delete from app_public.churches"));

async function runImport(name: string, text: string, ...options: string[]) {
  const file = join(dir, name);
  await writeFile(file, text);
  return admin(["churches", "import", file, ...options], { DATABASE_URL: database.url });
}

async function churches(columns: string): Promise<Record<string, unknown>[]> {
  const { rows } = await database.owner.query<Record<string, unknown>>(
    `select ${columns} from app_public.churches order by church_id`,
  );
  return rows;
}

test("a CSV: quotes, lists, accents, three-letter countries; a second time nothing changes", async () => {
  const csv = [
    "\uFEFFchurch_id,Name,latitude,longitude,country,belief_type,service_languages,ministry_names,church_summary,is_weekly_church,ministries_json",
    `c1,"Église ""du Centre""",46.8,-71.2,CAN,Roman Catholic,"[""Français"",""English""]",Chorale; École,"Two`,
    `lines\tand a tab \\ and a backslash",yes,"{""a"":[1]}"`,
    "c2,Suva Church,-18.1,178.4,FJ,,,,,,",
    "",
  ].join("\r\n");
  const first = await runImport("churches.csv", csv, "--json");
  expect({ ...first, stdout: JSON.parse(first.stdout) }).toMatchObject({
    code: 0,
    stdout: { read: 2, added: 2, changed: 0, unchanged: 0, refused: 0 },
  });
  expect(
    await churches(
      "church_id, name, country, belief_type, service_languages, ministry_names, church_summary, is_weekly_church, ministries_json",
    ),
  ).toEqual([
    {
      church_id: "c1",
      name: 'Église "du Centre"',
      country: "CA",
      belief_type: "roman_catholic",
      service_languages: ["Français", "English"],
      ministry_names: ["Chorale", "École"],
      church_summary: "Two\r\nlines\tand a tab \\ and a backslash",
      is_weekly_church: true,
      ministries_json: { a: [1] },
    },
    {
      church_id: "c2",
      name: "Suva Church",
      country: "FJ",
      belief_type: "unknown",
      service_languages: null,
      ministry_names: null,
      church_summary: null,
      is_weekly_church: null,
      ministries_json: null,
    },
  ]);
  const [before] = await churches("updated_at");
  const again = await runImport("churches.csv", csv, "--json");
  expect(JSON.parse(again.stdout)).toMatchObject({ added: 0, changed: 0, unchanged: 2 });
  expect(await churches("updated_at")).toContainEqual(before);
});

test("a CSV changes the columns of its header and leaves the others unchanged; the last of two rows wins", async () => {
  await runImport("a.csv", "church_id,name,locality\nc1,Old,Denver\n");
  const { stdout } = await runImport("b.csv", "church_id,name\nc1,Older\nc1,New\n", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ read: 2, added: 0, changed: 1, refused: 0 });
  expect(await churches("name, locality")).toEqual([{ name: "New", locality: "Denver" }]);
});

test("bad rows are reported by line, the rest is imported, and the exit code says so", async () => {
  const { code, stdout, stderr } = await runImport(
    "bad.csv",
    [
      "church_id,name,latitude,longitude,country,extraction_confidence,altitude",
      "good,Good,1,2,US,0.5,7",
      "b1,,1,2,US,,",
      ",Nameless,1,2,US,,",
      "b2,Off the earth,91,2,US,,",
      "b3,Half a place,1,,US,,",
      "b4,Nowhere,1,2,XX,,",
      "b5,Too sure,1,2,US,1.5,",
      "b6,Too many,1,2,US,,,,,",
      "has space,Spaced,1,2,US,,",
      `b7,"unclosed" quote,1,2,US,,`,
      "last,Last,1,2,US,,",
    ].join("\n"),
  );
  expect({ code, ids: (await churches("church_id")).map((row) => row["church_id"]) }).toEqual({
    code: 1,
    ids: ["good", "last"],
  });
  expect(stdout).toMatch("11 rows read: 2 churches added, 0 changed, 0 unchanged, 9 rows left out.");
  const lines = [...stderr.matchAll(/bad\.csv:(\d+): (\w+)/g)].map(([, line, column]) => `${line} ${column}`);
  expect(lines).toEqual([
    "3 name",
    "4 church_id",
    "5 latitude",
    "6 latitude",
    "7 country",
    "8 extraction_confidence",
    "9 has",
    "10 church_id",
    "11 has",
  ]);
  expect(stderr).toMatch("no church has altitude");
});

test("a misplaced quote costs only its own row, however much comes after it", async () => {
  const long = "of the valley ".repeat(15);
  const { stdout, stderr } = await runImport(
    "quotes.csv",
    [
      "church_id,name,church_summary",
      `c1,One,"Two\r\nlines"`,
      `c2,One,"Closed too "early"`,
      `c3,One,A "nickname"`,
      "",
      "c4,Good,",
      `c5,One,"Never closed`,
      ...Array.from({ length: 6_000 }, (_, i) => `p${i},One,Church ${long}`),
      ...Array.from({ length: 500 }, (_, i) => `q${i},One,"Church, ${long}\r\nof two lines"`),
      `last,One,"Never closed`,
    ].join("\r\n"),
    "--json",
  );
  expect(JSON.parse(stdout)).toMatchObject({
    read: 6_506,
    added: 6_502,
    problems: [4, 5, 8, 7_009].map((line) => ({ line, message: "has misplaced quotes" })),
  });
  expect(stderr).toMatch("quotes.csv:7009: has misplaced quotes; left out");
});

test("--strict changes nothing when a row is bad", async () => {
  const good = Array.from({ length: 6_000 }, (_, i) => `g${i},Church ${i}`).join("\n");
  const { code, stderr } = await runImport("strict.csv", `church_id,name\n${good}\nbad,\n`, "--strict");
  expect({ code, churches: await churches("church_id") }).toEqual({ code: 2, churches: [] });
  // How far it came has an end of its own, or a bar would keep the terminal.
  expect(stderr).toMatch(
    /churches \(kB read\): \d+ of \d+, done\nerror: .*strict\.csv:6002: .*nothing was changed/,
  );
});

test.each(["a", "b"])(
  "a strict import changes nothing, whichever of its rows it is that only the database refuses: %s",
  async (refused) => {
    const rows = ["a", "b"].map((id) => `${id},Church,${id === refused ? "javascript:x" : ""}\n`);
    const source = Readable.from([`church_id,name,website\n${rows.join("")}`]);
    await expect(importChurches(database.owner, source, { format: "csv", strict: true })).rejects.toThrow(
      BadRow,
    );
    expect(await churches("church_id")).toEqual([]);
  },
);

test("JSON Lines: a byte order mark is no part of the first record, and the file's ending may be in capitals", async () => {
  const { code } = await runImport("A.JSONL", '\uFEFF{"church_id":"j0","name":"Marked"}\n');
  expect([code, await churches("church_id, name")]).toEqual([0, [{ church_id: "j0", name: "Marked" }]]);
  const other = await runImport("b.ndjson", '{"church_id":"j1","name":"Another"}\n');
  // Where it takes more than five seconds it says more.
  const done = expect.stringMatching(
    /^(churches \(kB read\): \d of 1\n)*churches \(kB read\): 1 of 1, done\n$/,
  );
  expect(other).toMatchObject({ code: 0, stderr: done });
  expect((await runImport("a.txt", "x")).code).toBe(2);
});

test("JSON Lines: a record is the whole church", async () => {
  await runImport("a.jsonl", '{"church_id":"j1","name":"One","locality":"Lagos","service_times":[540]}\n');
  const { code, stderr } = await runImport(
    "b.jsonl",
    '{"church_id":"j1","name":"One","postal_code":101233}\n\n[1]\nno json\n',
  );
  expect({ code, rows: await churches("name, locality, postal_code, service_times") }).toEqual({
    code: 1,
    rows: [{ name: "One", locality: null, postal_code: "101233", service_times: null }],
  });
  expect(stderr).toMatch(/b\.jsonl:3: is not a church[^]*b\.jsonl:4: is not well-formed JSON/);
});

test("GeoJSON: places from the geometry, ids from the features, whatever the file's layout", async () => {
  const feature = (id: string, name: string, coordinates: number[]) => ({
    type: "Feature",
    id,
    geometry: { type: "Point", coordinates },
    properties: { name, service_languages: ["Yoruba"], note: '{"features":[' },
  });
  const collection = {
    type: "FeatureCollection",
    crs: { type: "name", properties: { name: "urn:ogc:def:crs:OGC:1.3:CRS84" } },
    features: [
      feature("f1", "A } in a name", [3.4, 6.5]),
      feature("f2", "Two", [178.4, -18.1]),
      feature("f3", "Three", [0, 0]),
    ],
  };
  for (const text of [
    JSON.stringify(collection),
    JSON.stringify(collection, undefined, 2),
    collection.features.map((one) => JSON.stringify(one)).join("\n"),
    // A text sequence, RFC 8142.
    collection.features.map((one) => `\x1e${JSON.stringify(one)}\n`).join(""),
  ]) {
    await database.owner.query("delete from app_public.churches");
    const source = Readable.from([Buffer.from(text)]);
    const imported = await importChurches(database.owner, source, { format: "geojson" });
    expect(imported).toMatchObject({ read: 3, added: 3, refused: 0 });
    expect(await churches("church_id, name, latitude, longitude, service_languages")).toEqual([
      {
        church_id: "f1",
        name: "A } in a name",
        latitude: 6.5,
        longitude: 3.4,
        service_languages: ["Yoruba"],
      },
      { church_id: "f2", name: "Two", latitude: -18.1, longitude: 178.4, service_languages: ["Yoruba"] },
      { church_id: "f3", name: "Three", latitude: 0, longitude: 0, service_languages: ["Yoruba"] },
    ]);
  }
});

test("a link that would run as a script is refused; text that names one is not", async () => {
  const rows = [
    { website: "javascript:alert(1)" },
    { url_live: " VBScript :x" },
    { banner_url: "JAVASCRIPT:x" },
    { service_source_urls: ["https://a.example", "javascript:x"] },
    { website: "https://a.example/javascript:x", church_summary: "javascript: what is it?" },
    { website: "www.a.example" },
  ].map((row, i) => ({ church_id: `s${i}`, name: "Links", ...row }));
  const told: string[] = [];
  await importChurches(database.owner, Readable.from([rows.map((row) => JSON.stringify(row)).join("\n")]), {
    format: "jsonl",
    onProblem: (_, problem) => told.push(problem),
  });
  expect(told.toSorted()).toEqual([
    "banner_url must not be a script",
    "service_source_urls must not be a script",
    "url_live must not be a script",
    "website must not be a script",
  ]);
  expect(await churches("church_id")).toEqual([{ church_id: "s4" }, { church_id: "s5" }]);
});

test("GeoJSON: a bad feature is reported by its number, the rest is imported", async () => {
  const point = { type: "Point", coordinates: [3.4, 6.5] };
  const features = [
    { type: "Feature", id: "f1", geometry: point, properties: { name: "One" } },
    { type: "Feature", id: "f2", geometry: point, properties: {} },
    null,
    { type: "Polygon" },
    { type: "Feature", id: "f5", geometry: null, properties: { name: "Five" } },
    {
      type: "Feature",
      id: "f6",
      geometry: { type: "Polygon", coordinates: [] },
      properties: { name: "Six" },
    },
  ];
  const text = JSON.stringify({ features, type: "FeatureCollection" });
  const { code, stdout, stderr } = await runImport("bad.geojson", text, "--json");
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 1,
    read: 6,
    added: 2,
    problems: [
      { feature: 2, message: "name is missing" },
      { feature: 3, message: "is not a church" },
      { feature: 4, message: "is not a church" },
      { feature: 6, message: "geometry must be a Point with a longitude and a latitude" },
    ],
  });
  expect(stderr).toMatch("bad.geojson: feature 2: name is missing; left out");
  const strict = await runImport("bad.geojson", text, "--strict");
  expect(strict).toMatchObject({ code: 2 });
  expect(strict.stderr).toMatch("bad.geojson: feature 2: name is missing; nothing was changed.");
});

test.each([
  ["no file", "missing.csv", undefined, /missing\.csv cannot be read: ENOENT/],
  ["no format", "churches.xlsx", "", /churches\.xlsx/],
  ["an empty CSV", "empty.csv", "", /empty\.csv cannot be read: it is empty/],
  ["a CSV without church_id", "idless.csv", "name\nx\n", /idless\.csv.*church_id/],
  [
    "a CSV without name",
    "nameless.csv",
    "church_id\nx\n",
    /nameless\.csv cannot be read: it has no column name/,
  ],
  [
    "a CSV with a column twice, however it is written",
    "twice.csv",
    "church_id,name,locality, NAME\nx,X,,Y\n",
    /twice\.csv cannot be read: it has the column name twice/,
  ],
  ["an empty GeoJSON", "empty.geojson", " \n", /empty\.geojson cannot be read: it is empty/],
  [
    "a file that is not GeoJSON",
    "other.geojson",
    "church_id,name\nx,X\n",
    /other\.geojson cannot be read: it is not well-formed/,
  ],
  [
    "half a GeoJSON",
    "half.geojson",
    '{"type":"FeatureCollection","features":[{"type":"Feature"',
    /half\.geojson cannot be read: it is not well-formed GeoJSON\.$/,
  ],
  [
    "a GeoJSON that breaks off being one",
    "bad.geojson",
    `{"type":"Feature","id":"ok","properties":{"name":"N"}}\n{bad}\n`,
    /bad\.geojson cannot be read: it is not well-formed/,
  ],
])("%s is one clear line and exit code 2", async (_, name, text, message) => {
  const { code, stderr } = await (text === undefined
    ? admin(["churches", "import", join(dir, name)], { DATABASE_URL: database.url })
    : runImport(name, text));
  expect(code).toBe(2);
  const errors = stderr.split("\n").filter((line) => line.startsWith("error: "));
  expect(errors).toEqual([expect.stringMatching(message)]);
});

test("two simultaneous imports of the same churches end with each church once", async () => {
  const lines = Array.from({ length: 12_000 }, (_, i) => `t${i},Church number${i} of town${i % 977}`);
  const csv = (rows: string[]) => `church_id,name\n${rows.join("\n")}\n`;
  const results = await Promise.all([
    runImport("one.csv", csv(lines), "--json"),
    runImport("other.csv", csv(lines.toReversed()), "--json"),
  ]);
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  for (const { stderr } of results) expect(stderr).toMatch(/churches \(kB read\): (\d{3}) of \1, done\n$/);
  expect(results.reduce((sum, { stdout }) => sum + (JSON.parse(stdout) as { added: number }).added, 0)).toBe(
    12_000,
  );
  expect(await churches("church_id")).toHaveLength(12_000);
});

test("the demo churches are complete, and loading them again changes nothing", async () => {
  expect(await loadDemoChurches(database.owner)).toMatchObject({ read: 82, added: 82 });
  expect(await loadDemoChurches(database.owner)).toMatchObject({ added: 0, changed: 0, unchanged: 82 });
  const places = (await churches("locality")).map((row) => row["locality"]);
  expect(places).toEqual(
    expect.arrayContaining(["El Cajon", "San Diego", "Denver", "Toronto", "Lagos", "Suva"]),
  );
});

const importText = (text: string, strict = false) =>
  importChurches(database.owner, Readable.from([Buffer.from(text)]), { format: "csv", strict });

test("times that a file gives are kept; but a church stays as old as it was", async () => {
  const times =
    "extract(year from created_at)::integer as made, extract(year from updated_at)::integer as changed";
  await importText("church_id,name,created_at,updated_at\nt1,One,2019-05-01,2020-05-01\n");
  await importText("church_id,name,created_at,updated_at\nt1,Two,2021-05-01,2022-05-01\n");
  expect(await churches(times)).toEqual([{ made: 2019, changed: 2022 }]);
  await importText("church_id,name\nt1,Three\n");
  const now = await churches("extract(year from now())::integer as year");
  expect(await churches(times)).toEqual([{ made: 2019, changed: now[0]!["year"] }]);
});

test("churches are written in the order of their ids, so that two imports never wait for each other", async () => {
  await importText("church_id,name\na1,Old\nc1,Old\n");
  const locked = (id: string) =>
    `select from app_public.churches where church_id = '${id}' for update nowait`;
  await onConnections(database, 1, async (other) => {
    await other.query(`begin; ${locked("a1")}`);
    const importing = importText("church_id,name\nc1,New\na1,New\n");
    await whenWaitedFor(database, other);
    const { rowCount } = await other.query(locked("c1"));
    expect(rowCount).toBe(1);
    await other.query("commit");
    expect(await importing).toMatchObject({ changed: 2 });
  });
});

test.each([
  ["words", "name", "church_words (word)", (word: string) => `('${word}')`],
  ["programs", "ministry_names", "church_tags (kind, tag)", (tag: string) => `('program', '${tag}')`],
])(
  "%s are learnt in their order, so that two imports never wait for each other",
  async (_, column, table, row) => {
    const learnt = Array.from(
      { length: 20 },
      (__, i) => `${column.slice(0, 4)}${String.fromCharCode(97 + i)}x`,
    );
    const learn = (word: string) =>
      `insert into app_private.${table} values ${row(word)} on conflict do nothing`;
    await onConnections(database, 2, async (first, other) => {
      await first.query(`begin; ${learn(learnt[9]!)}`);
      const separator = column === "name" ? " " : ";";
      const text = learnt.toReversed().join(separator);
      const importing = importText(
        column === "name" ? `church_id,name\ny1,${text}\n` : `church_id,name,ministry_names\ny1,Y,${text}\n`,
      );
      await whenWaitedFor(database, first);
      await other.query("begin; set local lock_timeout = '50ms'");
      // Whoever came to these first would be waited for.
      for (const word of learnt.slice(10)) await other.query(learn(word));
      await other.query("rollback");
      await first.query("commit");
      expect(await importing).toMatchObject({ added: 1 });
    });
  },
);

test("of a church that a long file names again, what it says last is kept", async () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `l${i},Church ${i}\n`);
  const result = await importText(`church_id,name\n${names.join("")}l0,Last\n`, true);
  expect(result).toEqual({ read: 10_001, added: 10_000, changed: 1, unchanged: 0, refused: 0 });
  const [first] = await churches("church_id, name");
  expect(first).toEqual({ church_id: "l0", name: "Last" });
});

test("progress is told in rows, also of a church that a later one names again", async () => {
  const progress: number[] = [];
  const source = Readable.from([Buffer.from("church_id,name\np1,One\np1,Two\np2,Three\n")]);
  await importChurches(database.owner, source, {
    ...{ format: "csv", onProgress: (done) => void progress.push(done) },
  });
  expect(progress.reduce((sum, done) => sum + done, 0)).toBe(3);
});

/** Has every statement that inserts churches do something first. */
async function whileInserting<T>(
  level: "row" | "statement",
  body: string,
  work: () => Promise<T>,
): Promise<T> {
  await database.owner.query(`
    create sequence app_private.attempts;
    create function app_private.disturb() returns trigger language plpgsql as $$ begin ${body}; return new; end $$;
    create trigger aa_disturb before insert on app_public.churches for each ${level} execute function app_private.disturb()`);
  try {
    return await work();
  } finally {
    await database.owner.query(
      "drop function app_private.disturb() cascade; drop sequence app_private.attempts",
    );
  }
}

test.each([false, true])("what PostgreSQL breaks off is tried four times; strict: %s", async (strict) => {
  const failing = (times: number) =>
    `if nextval('app_private.attempts') <= ${times} then raise 'circle' using errcode = '40P01'; end if`;
  const file = "church_id,name\nd1,One\n";
  await whileInserting("statement", failing(3), async () => {
    expect(await importText(file, strict)).toMatchObject({ read: 1, added: 1, refused: 0 });
  });
  await database.owner.query("delete from app_public.churches");
  await whileInserting("statement", failing(4), async () => {
    await expect(importText(file, strict)).rejects.toThrow("circle");
  });
  expect(await churches("church_id")).toEqual([]);
});

// A value that cannot be, and one that breaks a constraint.
test.each(["22023", "23514"])(
  "of rows that the database refuses, each is named, and all others are imported: %s",
  async (state) => {
    const bad = `if new.name = 'Bad' then raise 'not this one' using errcode = '${state}'; end if`;
    await whileInserting("row", bad, async () => {
      const places: unknown[] = [];
      const names = ["A", "Bad", "C", "D", "E", "F", "Bad"];
      const text = `church_id,name\n${names.map((name, i) => `e${i * 2},${name}\n`).join("")}`;
      const source = Readable.from([Buffer.from(text)]);
      const result = await importChurches(database.owner, source, {
        ...{ format: "csv", onProblem: (place, message) => void places.push([place, message]) },
      });
      expect(result).toEqual({ read: 7, added: 5, changed: 0, unchanged: 0, refused: 2 });
      expect(places).toHaveLength(2);
      expect(places).toEqual(expect.arrayContaining([3, 8].map((line) => [{ line }, "not this one"])));
      const there = (await churches("name")).map(({ name }) => name);
      expect(new Set(there)).toEqual(new Set(["A", "C", "D", "E", "F"]));
      await expect(importText(text, true)).rejects.toThrow(BadRow);
    });
  },
);

test("texts that no church may have are refused, each with its row, and count as nothing else", async () => {
  const rows = [
    `f1,${"n".repeat(longestText.name)},,`,
    `f2,${"n".repeat(longestText.name + 1)},,`,
    "f3,Good,a\u0007b,",
    'f4,Good,,"{""a"":""two\\nlines""}"',
    `f5,${"n".repeat(longestText.name + 1)},a\u0007b,`,
  ];
  const problems: unknown[] = [];
  const source = Readable.from([
    Buffer.from(`church_id,name,locality,ministries_json\n${rows.join("\n")}\n`),
  ]);
  const result = await importChurches(database.owner, source, {
    ...{ format: "csv", onProblem: (place, message) => void problems.push({ place, message }) },
  });
  expect(result).toEqual({ read: 5, added: 2, changed: 0, unchanged: 0, refused: 3 });
  expect(problems).toHaveLength(3);
  expect(problems).toEqual(
    expect.arrayContaining([
      { place: { line: 3 }, message: expect.stringMatching(/^name /) },
      { place: { line: 4 }, message: expect.stringMatching(/^locality /) },
      { place: { line: 6 }, message: expect.stringMatching(/^(?=.*locality must)(?=.*name must).*; /) },
    ]),
  );
  expect(await churches("church_id")).toEqual([{ church_id: "f1" }, { church_id: "f4" }]);
});

test("what is not UTF-8 is refused, each row by itself, and a name that two columns without a church share is none", async () => {
  const source = Readable.from([
    Buffer.from("church_id,name,,\nu1,Good,x,y\nu2,Caf"),
    Buffer.from([0xe9]),
    Buffer.from("\nu3,Café\n"),
  ]);
  const problems: unknown[] = [];
  const result = await importChurches(database.owner, source, {
    ...{ format: "csv", onProblem: (place) => void problems.push(place) },
  });
  expect([result, problems]).toEqual([
    { read: 3, added: 2, changed: 0, unchanged: 0, refused: 1 },
    [{ line: 3 }],
  ]);
  expect(await churches("name")).toEqual([{ name: "Good" }, { name: "Café" }]);
});

test("of columns that no church has some are named, and none gives a terminal orders", async () => {
  const many = Array.from({ length: 1_000 }, (_, i) => `more_${i}`);
  const { stdout, stderr } = await runImport(
    "many.csv",
    `church_id,name,\u001b[2J,${many.join(",")}\nm1,M\n`,
    "--json",
  );
  expect(JSON.parse(stdout)).toMatchObject({ added: 1 });
  expect(stderr).toContain("no church has \ufffd[2j, more_0, ");
  expect(stderr).toContain("more_18 and 981 more; left out\n");
  const twenty = await runImport("twenty.csv", `church_id,name,${many.slice(0, 20).join(",")}\nm1,M\n`);
  expect(twenty.stderr).toContain("more_18, more_19; left out\n");
});

test("a value that is too long for an index, or nested too deeply, costs its own row, and a long word is none to learn", async () => {
  // Chinese characters, which do not repeat: three bytes each, and no page of an index has room for them.
  const many = Array.from({ length: 2_000 }, (_, i) =>
    String.fromCharCode(0x4e00 + ((i * 7919) % 20_000)),
  ).join("");
  const word = Array.from({ length: 100 }, (_, i) => String.fromCharCode(97 + ((i * 7) % 26))).join("");
  const deep = "[".repeat(7_000) + "]".repeat(7_000);
  const rows = [
    ...["g1,Good,,", `g2,Long,${many},`, `g3,Deep,,"${deep}"`],
    ...[`g4,Word,${word},`, `g5,Shorter,${word.slice(0, 64)},`],
  ];
  const problems: unknown[] = [];
  const source = Readable.from([
    Buffer.from(`church_id,name,locality,ministries_json\n${rows.join("\n")}\n`),
  ]);
  const result = await importChurches(database.owner, source, {
    ...{ format: "csv", onProblem: (place) => void problems.push(place) },
  });
  expect(result).toMatchObject({ read: 5, added: 3, refused: 2 });
  expect(problems).toEqual(expect.arrayContaining([{ line: 3 }, { line: 4 }]));
  const { rows: learnt } = await database.owner.query<{ word: string }>(
    "select word from app_private.church_words where char_length(word) > 20",
  );
  expect(learnt).toEqual([{ word: word.slice(0, 64) }]);
});

test("long rows are written before they have filled the memory", async () => {
  const summary = "s".repeat(100_000);
  const progress: number[] = [];
  const rows = Array.from({ length: 200 }, (_, i) => `w${i},W,${summary}\n`);
  const source = Readable.from([
    Buffer.from("church_id,name,church_summary\n"),
    ...rows.map((row) => Buffer.from(row)),
  ]);
  await importChurches(database.owner, source, {
    ...{ format: "csv", onProgress: (done) => void progress.push(done) },
  });
  // 16 MiB of them at a time.
  expect(Math.max(...progress)).toBeLessThanOrEqual(168);
  expect(progress.reduce((sum, done) => sum + done, 0)).toBe(200);
});

test("of long rows those behind the first 16 MiB are written together as well", async () => {
  const rows = Array.from({ length: 200 }, (_, i) => `v${i},V,${"s".repeat(100_000)}\n`);
  const progress: number[] = [];
  const source = Readable.from(["church_id,name,church_summary\n", ...rows].map((row) => Buffer.from(row)));
  await importChurches(database.owner, source, {
    ...{ format: "csv", strict: true, onProgress: (done) => void progress.push(done) },
  });
  expect(progress).toEqual([168, 32]);
});

test.each<[ChurchFormat, string]>([
  ["csv", "church_id,name\ni1,\n"],
  ["jsonl", '{"church_id":"i1"}\n'],
  ["geojson", '{"type":"Feature","id":"i1","properties":{}}\n'],
])("a file of %s is let go of where its import ends early", async (format, text) => {
  const source = Readable.from(
    (function* () {
      for (;;) yield Buffer.from(text);
    })(),
  );
  await expect(importChurches(database.owner, source, { format, strict: true })).rejects.toThrow(BadRow);
  expect(source.destroyed).toBe(true);
});

test("an import that fails says so, and leaves nothing open", async () => {
  const noted = "select from app_private.administration_history where subject = 'churches'";
  const before = await database.owner.query(noted);
  await whileInserting("row", "raise 'no more room' using errcode = '53100'", async () => {
    await expect(importText("church_id,name\nh1,One\n")).rejects.toThrow("no more room");
  });
  await expect(importText("church_id,name\nh1,One\nh2,\n", true)).rejects.toThrow(BadRow);
  const all = await Promise.all(Array.from({ length: 4 }, () => database.owner.connect()));
  const open = await Promise.all(
    all.map((client) => client.query("select now() <> statement_timestamp() as old")),
  );
  for (const client of all) client.release();
  expect(open.map(({ rows }) => rows[0])).toEqual(all.map(() => ({ old: false })));
  expect((await database.owner.query(noted)).rowCount).toBe(before.rowCount);
  // The next one begins with nothing of it.
  expect(await importText("church_id,name\nh1,One\n", true)).toMatchObject({ read: 1, added: 1 });
  expect((await database.owner.query(noted)).rowCount).toBe(before.rowCount! + 1);
});

test("an import that fails, or cannot begin, gives its connection to nobody; one that is done leaves no table with it", async () => {
  const pool = createPool(database.url, { max: 1 });
  // A strict import has one connection.
  const read = (rows: string) =>
    importChurches(pool, Readable.from([Buffer.from(`church_id,name\n${rows}`)]), {
      format: "csv",
      strict: true,
    });
  try {
    const pid = async () => (await pool.query<{ pid: number }>("select pg_backend_pid() as pid")).rows;
    const before = await pid();
    await read("i1,One\n");
    await read("i1,One\n");
    expect(await pid()).toEqual(before);
    await expect(read("i1,One\ni2,\n")).rejects.toThrow(BadRow);
    expect(pool.totalCount).toBe(0);
    await pool.query("create temporary table incoming_churches ()");
    await expect(read("i1,One\n")).rejects.toThrow("already exists");
    expect(pool.totalCount).toBe(0);
  } finally {
    // Not awaited: what is still lent would never come back.
    void pool.end();
  }
});
