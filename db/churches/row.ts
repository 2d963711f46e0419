// Converts a row of a file to a line of COPY.
import { CHURCH_COLUMNS } from "./columns.ts";
import { conversionOf, ValueError } from "./conversions.ts";
import type { Conversion } from "./conversions.ts";
import type { Place, SourceRow } from "./read.ts";

/** A row whose values have been converted: which church it is, where it comes from, and its line of COPY. */
export type Converted = { id: string; place: Place; copy: string };

/** Converts the rows of one import. */
export class RowConverter {
  readonly #conversions: ReadonlyMap<string, Conversion>;

  constructor(countries: ReadonlyMap<string, string>) {
    this.#conversions = new Map(
      Object.entries(CHURCH_COLUMNS).map(([name, column]) => [name, conversionOf(column, countries)]),
    );
  }

  /** The line for COPY, or what is wrong with the row. */
  row(row: Extract<SourceRow, { values: unknown }>, columns: readonly string[]): Converted | string {
    const { values, place } = row;
    const cells: string[] = [];
    let id: string | null = null;
    let named = false;
    const placed: Record<string, boolean> = {};
    for (const column of columns) {
      let text: string | null;
      try {
        text = this.#conversions.get(column)!(values[column]);
      } catch (error) {
        if (error instanceof ValueError) return `${column} ${error.message}`;
        throw error;
      }
      if (column === "church_id") id = text;
      else if (column === "name") named = text !== null;
      else if (column === "latitude" || column === "longitude") placed[column] = text !== null;
      cells.push(text === null ? "\\N" : escaped(text));
    }
    if (id === null) return "church_id is missing";
    if (!named) return "name is missing";
    if (placed["latitude"] !== placed["longitude"]) return "latitude and longitude must be given together";
    return { id, place, copy: `${cells.join("\t")}\n` };
  }
}

const SPECIAL = /[\\\t\n\r]/;

function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text
    .replaceAll("\\", String.raw`\\`)
    .replaceAll("\t", String.raw`\t`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("\r", String.raw`\r`);
}
