// Files of churches as streams of rows, each with its place in the file: CSV, JSON Lines, GeoJSON.
import { pipeline } from "node:stream";
import type { Readable } from "node:stream";
import { Assembler } from "stream-json/assembler.js";
import { withParser } from "stream-json/utils/with-parser.js";
import type { Token, TokenConsumer } from "stream-json/parser.js";
import { isBlank } from "./conversions.ts";
import { csvRecords } from "./csv.ts";
import { TOO_LONG, wholeLines } from "./lines.ts";

export type ChurchFormat = "csv" | "jsonl" | "geojson";

/** Where a row is in its file. In GeoJSON features are counted, not lines. */
export type Place = { line: number } | { feature: number };

/** A row of a file: its values by column, or what is wrong with the row as a whole. */
export type SourceRow =
  { place: Place; values: Readonly<Record<string, unknown>> } | { place: Place; problem: string };

/** A file that cannot be read in its format; the message says why. */
export class SourceError extends Error {
  override name = "SourceError";
}

/**
 * Reads rows as they arrive.
 * @param onColumns called with the columns of a CSV file before its first row
 * @throws SourceError when the file as a whole cannot be read
 */
export function readChurches(
  source: Readable,
  format: ChurchFormat,
  onColumns: (columns: string[]) => void,
): AsyncIterable<SourceRow> {
  if (format === "csv") return readCsv(source, onColumns);
  return format === "jsonl" ? readJsonLines(source) : readGeoJson(source);
}

async function* readCsv(source: Readable, onColumns: (columns: string[]) => void): AsyncIterable<SourceRow> {
  let columns: string[] | undefined;
  for await (const record of csvRecords(source)) {
    const { line, cells } = record;
    if (!columns) {
      columns = (cells ?? []).map((name) => name.trim().toLowerCase());
      onColumns(columns);
    } else if (!cells) {
      yield { place: { line }, problem: record.problem };
    } else if (cells.length > columns.length) {
      yield { place: { line }, problem: `has ${cells.length} cells under ${columns.length} columns` };
    } else {
      const values: Record<string, string> = {};
      for (let i = 0; i < cells.length; i++) values[columns[i]!] = cells[i]!;
      yield { place: { line }, values };
    }
  }
  if (!columns) throw new SourceError("it is empty; a CSV file begins with a line of column names");
}

async function* readJsonLines(source: Readable): AsyncIterable<SourceRow> {
  let line = 0;
  for await (const text of linesOf(source)) {
    line += 1;
    const place = { line };
    if (text === undefined) yield { place, problem: TOO_LONG };
    if (text === undefined || text.trim() === "") continue;
    try {
      yield rowOf(place, JSON.parse(text.replace(/^\uFEFF/, "")));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      yield { place, problem: "is not well-formed JSON" };
    }
  }
}

/** Undefined for each line that is too long. */
async function* linesOf(source: Readable): AsyncIterable<string | undefined> {
  for await (const block of wholeLines(source)) {
    if (block) yield* block.toString().replace(/\n$/, "").split("\n");
    else yield undefined;
  }
}

function rowOf(place: Place, value: unknown): SourceRow {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { place, values: value as Record<string, unknown> }
    : { place, problem: "is not a church" };
}

/** In bytes: a geometry may have many points. */
const LONGEST_FEATURE = 2 ** 24;

/** The features of a FeatureCollection, or of a sequence of features, with no more than one held in memory. */
async function* readGeoJson(source: Readable): AsyncIterable<SourceRow> {
  const json = new Assembler();
  let feature = 0;
  let whole = false;
  let sinceFeature = 0;
  const rowAfter = (token: Token): SourceRow | undefined => {
    json.consume(token);
    const { current, depth, done, stack } = json;
    whole = done;
    const isFeature = done
      ? !isCollection(current)
      : depth === 2 && stack[1] === "features" && Array.isArray(current) && current.length > 0;
    if (!isFeature) return undefined;
    feature += 1;
    sinceFeature = 0;
    return rowOfFeature({ feature }, done ? current : (current as unknown[]).pop());
  };
  // The type requires a flush method, which only components that hold something back until the end need.
  const rows = withParser.asStream(() => rowAfter as TokenConsumer, {
    jsonStreaming: true,
    streamValues: false,
  });
  // The pipeline destroys the source with the parser's error, so it is noted here which of them failed first.
  let sourceFailed = false;
  source.once("error", () => (sourceFailed = !rows.errored));
  // The parser keeps a feature in memory, so one that never ends must be stopped.
  const within = async function* (bytes: AsyncIterable<Buffer>) {
    for await (const chunk of withoutSeparators(bytes)) {
      sinceFeature += chunk.length;
      if (sinceFeature > LONGEST_FEATURE)
        throw new SourceError(`what follows feature ${feature} has more than ${LONGEST_FEATURE} bytes`);
      yield chunk;
    }
  };
  // When either stream ends or fails, the pipeline ends the other, and the loop below gets the error.
  pipeline(source, within, rows, () => undefined);
  try {
    yield* rows as AsyncIterable<SourceRow>;
  } catch (error) {
    if (sourceFailed || error instanceof SourceError) throw error;
    // The parser reads ahead, so this is not the exact place.
    const place = feature === 0 ? "" : ` somewhere after feature ${feature}`;
    throw new SourceError(`it is not well-formed GeoJSON${place}`, { cause: error });
  }
  if (!whole) throw new SourceError("it is empty; a GeoJSON file contains a FeatureCollection");
}

/** Turns record separators of a GeoJSON text sequence (RFC 8142), which JSON does not allow, into spaces. */
async function* withoutSeparators(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  for await (const chunk of source) {
    const text = Buffer.from(chunk);
    for (let at = text.indexOf(0x1e); at !== -1; at = text.indexOf(0x1e, at + 1)) text[at] = 0x20;
    yield text;
  }
}

type Feature = {
  type?: unknown;
  id?: unknown;
  geometry?: { type?: unknown; coordinates?: unknown } | null;
  properties?: object | null;
};

function rowOfFeature(place: Place, value: unknown): SourceRow {
  const { type, id, geometry, properties } = (value ?? {}) as Feature;
  if (type !== "Feature") return { place, problem: "is not a church" };
  const given: Readonly<Record<string, unknown>> = {
    ...(id !== undefined && { church_id: id }),
    ...properties,
  };
  // Where properties say the place, they decide.
  const saysPlace = ["latitude", "longitude"].some((name) => !isBlank(given[name]));
  if (saysPlace || (geometry ?? null) === null) return rowOf(place, given);
  const [longitude, latitude] = Array.isArray(geometry?.coordinates)
    ? (geometry.coordinates as unknown[])
    : [];
  if (geometry?.type !== "Point" || typeof longitude !== "number" || typeof latitude !== "number")
    return { place, problem: "geometry must be a Point with a longitude and a latitude" };
  return rowOf(place, { ...given, longitude, latitude });
}

function isCollection(value: unknown): boolean {
  return (value as { type?: unknown } | null)?.type === "FeatureCollection";
}
