// What is made of files of churches, value by value and row by row, before any of it reaches the database.
import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { CHURCH_COLUMNS } from "../db/churches/columns.ts";
import { conversionOf, ValueError } from "../db/churches/conversions.ts";
import { wholeLines } from "../db/churches/lines.ts";
import { readChurches } from "../db/churches/read.ts";
import type { ChurchFormat, SourceRow } from "../db/churches/read.ts";
import { RowConverter } from "../db/churches/row.ts";

const COUNTRIES = new Map([
  ["KE", "KE"],
  ["KEN", "KE"],
]);
/** A list in a list in a list. */
const nested = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as unknown;
const converted = (column: string, value: unknown) => conversionOf(CHURCH_COLUMNS[column]!, COUNTRIES)(value);

test.each<[string, string, unknown, string | null]>([
  ["an id of 128 characters", "church_id", "i".repeat(128), "i".repeat(128)],
  ["a text of 2,000 characters", "name", "n".repeat(2_000), "n".repeat(2_000)],
  ["a long text of 100,000 characters", "church_summary", "s".repeat(100_000), "s".repeat(100_000)],
  ["a text without what surrounds it", "name", " Grace\n", "Grace"],
  ["a number for a text", "postal_code", 101_233, "101233"],
  ["the largest number for an id", "church_id", Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ["the North Pole", "latitude", 90, "90"],
  ["the South Pole, as text", "latitude", "-90", "-90"],
  ["the 180th meridian from the east", "longitude", "180", "180"],
  ["the 180th meridian from the west", "longitude", -180, "-180"],
  ["no confidence at all", "extraction_confidence", 0, "0"],
  ["full confidence", "extraction_confidence", "1", "1"],
  ["a narrow logo", "logo_aspect_ratio", 0.01, "0.01"],
  ["the smallest logo", "logo_width", 1, "1"],
  ["the largest logo", "logo_width", "2147483647", "2147483647"],
  ["the first and the last minute of a week", "service_times", [0, 10_079], "{0,10079}"],
  ["minutes in a cell", "service_times", " 0; 10079;", "{0,10079}"],
  ["minutes in a cell with nothing among them", "service_times", "0; ;5", "{0,5}"],
  ["no minutes in a cell", "service_times", ";", null],
  ["minutes with null among them", "service_times", [null, 540], "{540}"],
  ["no minutes in a list", "service_times", [], null],
  ...["true", "T", " yes ", "y", 1, true].map((value): [string, string, unknown, string] => [
    `${JSON.stringify(value)} for true`,
    "is_weekly_church",
    value,
    "t",
  ]),
  ...["False", "f", "NO", "n", 0, "0", false].map((value): [string, string, unknown, string] => [
    `${JSON.stringify(value)} for false`,
    "is_weekly_church",
    value,
    "f",
  ]),
  ["quotes and backslashes within a list", "contact_phones", ['a "b" \\ c'], '{"a \\"b\\" \\\\ c"}'],
  ["a list in a cell, without what is empty", "contact_phones", "one; ;two;", '{"one","two"}'],
  ["a list of JSON in a cell", "contact_phones", ' ["one; two"]', '{"one; two"}'],
  ["commas in a list in a cell", "contact_phones", "one, two; three", '{"one, two","three"}'],
  [
    "a list with a text of 2,000 characters",
    "contact_phones",
    ["p".repeat(2_000)],
    `{"${"p".repeat(2_000)}"}`,
  ],
  ["a list with null", "contact_phones", [null, "two"], '{"two"}'],
  ...[[], [null, " "], " ; ", "[]"].map((value): [string, string, unknown, null] => [
    `a list of nothing, as ${JSON.stringify(value)}`,
    ...(["contact_phones", value, null] as const),
  ]),
  ["JSON in a cell", "ministries_json", '{"a": [1]}', '{"a":[1]}'],
  ["JSON as it is", "ministries_json", [{ a: 1 }], '[{"a":1}]'],
  ["a belief with spaces and capitals", "belief_type", " Roman Catholic ", "roman_catholic"],
  ["a belief with a hyphen", "belief_type", "roman-catholic", "roman_catholic"],
  ["a country by two letters", "country", "ke", "KE"],
  ["a country by three letters", "country", " Ken ", "KE"],
  ["a time", "created_at", "2026-05-01T12:00:00Z", "2026-05-01T12:00:00Z"],
  ["a time with a space", "created_at", "2026-05-01 12:00", "2026-05-01 12:00"],
  ["a day", "created_at", "2026-05-01", "2026-05-01"],
  ...[null, undefined, "", " \t"].flatMap((value) =>
    ["name", "latitude", "service_times", "is_weekly_church", "belief_type", "ministries_json"].map(
      (column): [string, string, unknown, null] => [
        `nothing for ${column}, as ${JSON.stringify(value)}`,
        column,
        value,
        null,
      ],
    ),
  ),
])("a file may have %s", (_, column, value, text) => {
  expect(converted(column, value)).toBe(text);
});

test.each<[string, string, unknown, string]>([
  ["an id of 129 characters", "church_id", "i".repeat(129), "at most 128"],
  ["an id with a space", "church_id", "a b", "spaces"],
  ["an id with a control character", "church_id", "a\u0085b", "spaces"],
  ["a text of 2,001 characters", "name", "n".repeat(2_001), "at most 2000"],
  ["a long text of 100,001 characters", "church_summary", "s".repeat(100_001), "at most 100000"],
  ["a NUL in a text", "name", "a\0b", "NUL"],
  ["a number for an id that was another one in the file", "church_id", 2 ** 53, "write it as text"],
  ["a list for a text", "name", ["Grace"], "text"],
  ["what is north of the North Pole", "latitude", 90.001, "from -90 to 90"],
  ["what is south of the South Pole", "latitude", "-90.001", "from -90 to 90"],
  ["what is beyond the 180th meridian", "longitude", 180.001, "from -180 to 180"],
  ["more than full confidence", "extraction_confidence", 1.001, "from 0 to 1"],
  ["less than no confidence", "extraction_confidence", -0.001, "from 0 to 1"],
  ["a word for a number", "latitude", "north", "a number"],
  ["a number with more behind it", "latitude", "12.5 N", "a number"],
  ["a number in hexadecimal", "latitude", "0x10", "a number"],
  ["no number", "latitude", Number.POSITIVE_INFINITY, "a number"],
  ["a ratio of 0", "logo_aspect_ratio", 0, "greater than 0"],
  ["a size of 0", "logo_width", 0, "at least 1"],
  ["half a pixel", "logo_width", 1.5, "whole number"],
  ["more pixels than the table takes", "logo_width", 2_147_483_648, "whole number"],
  ["a minute before the week", "service_times", [-1], "from 0 to 10079"],
  ["a minute after the week", "service_times", [10_080], "from 0 to 10079"],
  ["half a minute", "service_times", [0.5], "from 0 to 10079"],
  ...["perhaps", "yesterday", "true or false", "not known", "10", "01", "untrue"].map(
    (value): [string, string, unknown, string] => [value, "is_weekly_church", value, "true or false"],
  ),
  ["one value for a list", "contact_phones", 1, "a list"],
  ["a list of objects", "contact_phones", [{}], "text"],
  ["a list with a text of 2,001 characters", "contact_phones", ["p".repeat(2_001)], "at most 2000"],
  ["half a JSON", "ministries_json", '{"a":', "JSON"],
  ["a NUL in JSON", "ministries_json", '{"a":"\\u0000"}', "NUL"],
  ["a belief that there is not", "belief_type", "sunny", "one of"],
  ["a country that there is not", "country", "XX", "ISO 3166-1"],
  ["a time without its day", "created_at", "12:00", "a date and time"],
  ["a month that there is not", "created_at", "2026-13-01", "a date and time"],
  ...["latitude", "is_weekly_church", "belief_type", "country", "created_at"].map(
    (column): [string, string, unknown, string] => [
      `an object for ${column}`,
      column,
      // Nor is JavaScript asked what text it would make of it.
      JSON.parse('{ "toString": 1 }'),
      "must be text",
    ],
  ),
  ["a list without an end in itself", "country", nested(100_000), "must be text"],
  ["JSON that is nested without an end", "ministries_json", nested(100_000), "nested too deeply"],
  ["spaces without an end for a number", "latitude", `1${" ".repeat(1_000_000)}x`, "a number"],
])("a file may not have %s", (_, column, value, why) => {
  expect(() => converted(column, value)).toThrow(ValueError);
  expect(() => converted(column, value)).toThrow(why);
});

const rowsOf = async (format: ChurchFormat, ...chunks: string[]) => {
  const columns: string[] = [];
  const rows: SourceRow[] = [];
  const source = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  for await (const row of readChurches(source, format, (found) => void columns.push(...found)))
    rows.push(row);
  return { columns, rows };
};

describe("a CSV", () => {
  test("has rows with fewer cells than columns, and none with more", async () => {
    expect(await rowsOf("csv", '\uFEFF"Church_ID", name ,\n', "a\r\nb,B,,\n", "\nc,C,\n")).toEqual({
      columns: ["church_id", "name", ""],
      rows: [
        { place: { line: 2 }, values: { church_id: "a" } },
        { place: { line: 3 }, problem: "has 4 cells under 3 columns" },
        { place: { line: 5 }, values: { church_id: "c", name: "C", "": "" } },
      ],
    });
  });

  test("counts every line of a record, and goes on after misplaced quotes", async () => {
    const { rows } = await rowsOf("csv", 'church_id,name\na,"A\r\n\r\nB"\nb,"B"x\nc,C\nd,"D');
    expect(rows).toEqual([
      { place: { line: 2 }, values: { church_id: "a", name: "A\r\n\r\nB" } },
      { place: { line: 5 }, problem: "has misplaced quotes" },
      { place: { line: 6 }, values: { church_id: "c", name: "C" } },
      { place: { line: 7 }, problem: "has misplaced quotes" },
    ]);
  });

  test("is not kept in memory for a quote that is never closed", async () => {
    let seen = 0;
    const seenAtEnd = new Promise<number>((found) => {
      const source = Readable.from(
        (async function* () {
          yield Buffer.from('church_id,name\na,"A\n');
          for (let chunk = 0; chunk < 40; chunk += 1) {
            yield Buffer.from(`b${chunk},${"B".repeat(2 ** 16)}\n`);
            // Whoever reads it gets to what it has been given.
            await new Promise((soon) => setImmediate(soon));
          }
          found(seen);
        })(),
        { highWaterMark: 1 },
      );
      void (async () => {
        for await (const row of readChurches(source, "csv", () => undefined)) seen += row ? 1 : 0;
      })();
    });
    expect(await seenAtEnd).toBeGreaterThan(10);
  });
});

describe("a line without an end", () => {
  const longest = 2 ** 20;
  const tooLong = "has more than 1048576 bytes";
  /** A text in chunks as a file has them. */
  const chunked = (text: string) => text.match(/[^]{1,65536}/g)!;

  test("of a CSV is left out, with what a quote before it has opened", async () => {
    const filler = (length: number) => "x".repeat(length);
    const text = `church_id,name\na,A\nb,"B\n${filler(3 * longest)}\nc,C\nd,${filler(longest - 2)}\ne,E\n`;
    const { rows } = await rowsOf("csv", ...chunked(text));
    expect(rows.map((row) => [row.place, "problem" in row ? row.problem : row.values["church_id"]])).toEqual([
      [{ line: 2 }, "a"],
      [{ line: 3 }, "has misplaced quotes"],
      [{ line: 4 }, tooLong],
      [{ line: 5 }, "c"],
      [{ line: 6 }, "d"],
      [{ line: 7 }, "e"],
    ]);
    await expect(rowsOf("csv", ...chunked(filler(2 * longest)))).resolves.toEqual({ columns: [], rows: [] });
  });

  test("of JSON Lines is left out", async () => {
    const text = `{"church_id":"a"}\n"${"x".repeat(3 * longest)}"\n{"church_id":"c"}`;
    expect((await rowsOf("jsonl", ...chunked(text))).rows).toEqual([
      { place: { line: 1 }, values: { church_id: "a" } },
      { place: { line: 2 }, problem: tooLong },
      { place: { line: 3 }, values: { church_id: "c" } },
    ]);
  });

  test("is none of many that are long, wherever they are cut", async () => {
    const rows = Array.from({ length: 100 }, (_, i) => `r${i},${"x".repeat(40_000)}\n`);
    const { rows: read } = await rowsOf("csv", ...chunked(`church_id,name\n${rows.join("")}`));
    expect([read.length, read.filter((row) => "problem" in row)]).toEqual([100, []]);
  });

  test("is given up as soon as it is too long", async () => {
    let given = 0;
    const source = async function* () {
      for (; given < 100; given += 1) yield Buffer.alloc(2 ** 16, "x");
    };
    for await (const block of wholeLines(source())) {
      expect(block).toBeUndefined();
      expect(given).toBe(16);
    }
    expect(given).toBe(100);
  });
});

describe("JSON Lines", () => {
  test("count empty lines, and the last one needs no end", async () => {
    const { rows } = await rowsOf("jsonl", '\n{"church_id"', ':"a"}\n  \n{"church_id":"é"}');
    expect(rows).toEqual([
      { place: { line: 2 }, values: { church_id: "a" } },
      { place: { line: 4 }, values: { church_id: "é" } },
    ]);
  });
});

describe("GeoJSON", () => {
  const feature = (more: object) => ({ type: "Feature", id: "f", properties: { name: "F" }, ...more });
  const valuesOf = async (more: object) => (await rowsOf("geojson", JSON.stringify(feature(more)))).rows;

  test("has the place of a point, unless the church says another one", async () => {
    const geometry = { type: "Point", coordinates: [3.4, 6.5] };
    expect(await valuesOf({ geometry })).toEqual([
      { place: { feature: 1 }, values: { church_id: "f", name: "F", longitude: 3.4, latitude: 6.5 } },
    ]);
    const properties = { church_id: "own", name: "F", longitude: 1, latitude: 2 };
    expect(await valuesOf({ geometry, properties })).toEqual([{ place: { feature: 1 }, values: properties }]);
    for (const none of [null, "", " "]) {
      const unplaced = { ...properties, longitude: none, latitude: none };
      expect(await valuesOf({ geometry, properties: unplaced })).toEqual([
        { place: { feature: 1 }, values: { ...properties, longitude: 3.4, latitude: 6.5 } },
      ]);
    }
    // Half of a place is not made whole by the geometry: the import refuses it.
    for (const half of [{ longitude: 1 }, { latitude: 2 }]) {
      expect(await valuesOf({ geometry, properties: half })).toEqual([
        { place: { feature: 1 }, values: { church_id: "f", ...half } },
      ]);
    }
  });

  test("has no features in its other lists", async () => {
    const more = { bbox: [3, 6, 4, 7], links: [feature({ id: "link" })] };
    const text = JSON.stringify({ type: "FeatureCollection", ...more, features: [feature({})], also: [1] });
    expect((await rowsOf("geojson", text)).rows).toEqual([
      { place: { feature: 1 }, values: { church_id: "f", name: "F" } },
    ]);
  });

  test("has features that are called 0", async () => {
    expect(await valuesOf({ id: 0 })).toEqual([
      { place: { feature: 1 }, values: { church_id: 0, name: "F" } },
    ]);
  });

  test("that is no point is refused, unless the church says where it is", async () => {
    const line = { type: "LineString", coordinates: [3.4, 6.5] };
    const properties = { name: "F", longitude: 1, latitude: 2 };
    const points = [undefined, [], [null, null], ["3.4", "6.5"]].map((coordinates) => ({
      ...{ type: "Point", coordinates },
    }));
    for (const geometry of ["", line, ...points]) {
      expect(await valuesOf({ geometry })).toEqual([
        { place: { feature: 1 }, problem: "geometry must be a Point with a longitude and a latitude" },
      ]);
      expect(await valuesOf({ geometry, properties })).toEqual([
        { place: { feature: 1 }, values: { church_id: "f", ...properties } },
      ]);
    }
    expect(await valuesOf({ geometry: null })).toEqual([
      { place: { feature: 1 }, values: { church_id: "f", name: "F" } },
    ]);
  });

  test("may be a sequence of features, with or without separators", async () => {
    for (const separator of ["", "\x1e"]) {
      const text = [feature({ id: "a" }), feature({ id: "b" })].map(
        (one) => `${separator}${JSON.stringify(one)}\n`,
      );
      expect((await rowsOf("geojson", ...text)).rows).toEqual([
        { place: { feature: 1 }, values: { church_id: "a", name: "F" } },
        { place: { feature: 2 }, values: { church_id: "b", name: "F" } },
      ]);
    }
  });

  test("ends where whatever follows a feature has no end, however many features there are", async () => {
    const long = "x".repeat(2 ** 16 - 100);
    const features = Array.from({ length: 300 }, (_, id) =>
      JSON.stringify(feature({ id: String(id), properties: { name: "F", church_summary: long } })),
    );
    expect((await rowsOf("geojson", ...features)).rows).toHaveLength(300);
    const endless = ['{"type":"Feature","id":"', ...Array<string>(300).fill(long)];
    await expect(rowsOf("geojson", ...features.slice(0, 2), ...endless)).rejects.toThrow(
      "what follows feature 2 has more than 16777216 bytes",
    );
  });

  test("that is badly written is refused with the feature that was read last, if one was", async () => {
    const good = `${JSON.stringify(feature({}))}\n`;
    const refused = (...chunks: string[]) => expect(rowsOf("geojson", ...chunks)).rejects;
    await refused("{bad}").toThrow(/^it is not well-formed GeoJSON$/);
    await refused(good, good, "{bad}").toThrow(/^it is not well-formed GeoJSON somewhere after feature 2$/);
  });

  test("that is cut off after a feature is refused as a whole", async () => {
    const text = JSON.stringify({ type: "FeatureCollection", features: [feature({}), feature({})] });
    for (const end of [text.lastIndexOf(",{") + 1, text.length - 2, text.length - 1]) {
      await expect(rowsOf("geojson", text.slice(0, end))).rejects.toThrow("well-formed GeoJSON");
    }
  });
});

test.each<[ChurchFormat, string]>([
  ["csv", "church_id,name\na,A\n"],
  ["jsonl", '{"church_id":"a"}\n'],
  ["geojson", '{"type":"Feature","id":"a","properties":{}}\n'],
])("a file of %s that cannot be read on is not said to be badly written", async (format, text) => {
  const source = Readable.from(
    (async function* () {
      yield Buffer.from(text);
      await new Promise((soon) => setImmediate(soon));
      throw new Error("the disk is gone");
    })(),
  );
  const read = async () => {
    for await (const row of readChurches(source, format, () => undefined))
      expect(row).toHaveProperty("values");
  };
  await expect(read()).rejects.toThrow(/^the disk is gone$/);
});

describe("a row", () => {
  const rows = new RowConverter(COUNTRIES);
  const row = (values: Record<string, unknown>) =>
    rows.row({ place: { line: 1 }, values }, ["church_id", "name", "latitude", "longitude"]);

  test("keeps every character of a text, and says that there is none", () => {
    expect(row({ church_id: "a", name: "\\N\tb\nc\rd" })).toMatchObject({
      ...{ id: "a", copy: "a\t\\\\N\\tb\\nc\\rd\t\\N\t\\N\n" },
    });
    expect(row({ church_id: "a", name: "b\rc" })).toMatchObject({ copy: "a\tb\\rc\t\\N\t\\N\n" });
  });

  test.each([
    ["without an id", { name: "N" }, "church_id is missing"],
    ["without a name", { church_id: "a", name: " " }, "name is missing"],
    ["with a latitude alone", { church_id: "a", name: "N", latitude: 0 }, "given together"],
    ["with a longitude alone", { church_id: "a", name: "N", longitude: 0 }, "given together"],
    ["with a value that cannot be", { church_id: "a", name: "N", latitude: 91 }, "latitude must be from"],
  ])("%s is refused", (_, values, why) => {
    expect(row(values)).toContain(why);
  });
});
