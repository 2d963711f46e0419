// Files of churches as streams of rows with their line numbers: CSV, JSON Lines, GeoJSON.
import type { Readable } from "node:stream";
import { csvRecords } from "./csv.ts";

export type ChurchFormat = "csv" | "jsonl" | "geojson";

/** A row of a file: values by column, or what is wrong with the row as a whole. */
export type SourceRow =
  { line: number; values: Readonly<Record<string, unknown>> } | { line: number; problem: string };

/** A file that cannot be read as what it should be; the message says why. */
export class SourceError extends Error {
  override name = "SourceError";
}

/**
 * Reads rows as they come.
 * @param onColumns told the columns of a CSV before its first row
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
  for await (const { line, cells } of csvRecords(source)) {
    if (!columns) {
      columns = (cells ?? []).map((name) => name.trim().toLowerCase());
      onColumns(columns);
    } else if (!cells) {
      yield { line, problem: "quotes do not fit" };
    } else if (cells.length > columns.length) {
      yield { line, problem: `has ${cells.length} cells under ${columns.length} columns` };
    } else {
      const values: Record<string, string> = {};
      for (let i = 0; i < cells.length; i++) values[columns[i]!] = cells[i]!;
      yield { line, values };
    }
  }
  if (!columns) throw new SourceError("it is empty; a CSV begins with a line of column names");
}

async function* readJsonLines(source: Readable): AsyncIterable<SourceRow> {
  let line = 0;
  for await (const text of linesOf(source)) {
    line += 1;
    if (text.trim() === "") continue;
    yield rowOf(line, text, (value) => value);
  }
}

async function* linesOf(source: Readable): AsyncIterable<string> {
  let rest = "";
  for await (const chunk of source.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function rowOf(line: number, text: string, columnsOf: (value: object) => object | undefined): SourceRow {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    const columns =
      typeof value === "object" && value !== null && !Array.isArray(value) ? columnsOf(value) : undefined;
    return columns
      ? { line, values: columns as Record<string, unknown> }
      : { line, problem: "is not a church" };
  } catch {
    return { line, problem: "is not well-formed JSON" };
  }
}

/** Features of a FeatureCollection, or one after another, without holding more than one of them. */
async function* readGeoJson(source: Readable): AsyncIterable<SourceRow> {
  const scanner = new FeatureScanner();
  for await (const chunk of source.setEncoding("utf8") as AsyncIterable<string>) {
    for (const { line, text } of scanner.scan(chunk)) yield rowOf(line, text, churchOfFeature);
  }
  if (!scanner.complete) throw new SourceError("it ends in the middle of a feature or is no GeoJSON");
}

type Feature = {
  type?: unknown;
  id?: unknown;
  geometry?: { type?: unknown; coordinates?: unknown } | null;
  properties?: object | null;
};

function churchOfFeature(feature: Feature): object | undefined {
  if (feature.type !== "Feature") return undefined;
  const { geometry, properties, id } = feature;
  const [longitude, latitude] =
    geometry?.type === "Point" && Array.isArray(geometry.coordinates)
      ? (geometry.coordinates as unknown[])
      : [];
  return {
    ...(id !== undefined && { church_id: id }),
    ...(longitude !== undefined && { longitude, latitude }),
    ...properties,
  };
}

/** Finds the objects of `"features": [...]`, or objects at the top level, in text that comes in pieces. */
class FeatureScanner {
  #line = 1;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #text = "";
  #started = 0;
  /** Depth at which features are objects: 0 until "features" is met. */
  #level = 0;
  #met = false;

  /** Whether the text so far ended where a text of JSON may end. */
  get complete(): boolean {
    return this.#depth === 0 && !this.#inString && this.#met;
  }

  *scan(chunk: string): Iterable<{ line: number; text: string }> {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const character = chunk[i];
      if (character === "\n") this.#line += 1;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (character === "\\") this.#escaped = true;
        else if (character === '"') this.#inString = false;
        continue;
      }
      if (character === '"') this.#inString = true;
      else if (character === "{" || character === "[") {
        if (
          character === "[" &&
          this.#level === 0 &&
          this.#depth === 1 &&
          /"features"\s*:\s*$/.test(this.#text + chunk.slice(from, i))
        ) {
          this.#level = 2;
          this.#met = true;
        }
        if (character === "{" && this.#depth === this.#level) {
          [this.#text, from, this.#started] = ["", i, this.#line];
        }
        this.#depth += 1;
      } else if (character === "}" || character === "]") {
        this.#depth -= 1;
        if (character === "}" && this.#depth === this.#level) {
          yield { line: this.#started, text: this.#text + chunk.slice(from, i + 1) };
          this.#met = true;
          [this.#text, from] = ["", i + 1];
        }
      }
    }
    this.#text += chunk.slice(from);
    // Between features there is nothing to keep.
    if (this.#depth <= this.#level && this.#level > 0) this.#text = "";
  }
}
