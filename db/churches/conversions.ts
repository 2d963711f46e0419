// How a value from a file becomes one for the database, by the kind of its column.
import { enums } from "../catalog.ts";

import type { ChurchColumn } from "./columns.ts";

const MINUTES_OF_A_WEEK = 7 * 24 * 60;

/** A value that cannot be accepted; the message says why. */
export class ValueError extends Error {
  override name = "ValueError";
}

/** Turns a value from a file into the text form that PostgreSQL reads; null where nothing is given. */
export type Conversion = (value: unknown) => string | null;

/**
 * The conversion of a column.
 * @param countries alpha-2 codes by each code that is accepted for them
 */
export function conversionOf(column: ChurchColumn, countries: ReadonlyMap<string, string>): Conversion {
  const convert = conversions(column, countries)[column.kind];
  return (value) => (isBlank(value) ? null : convert(value));
}

/** Spaces alone count as blank too: JavaScript would convert them to the number 0. */
export function isBlank(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === "string" && value.trim() === "");
}

function conversions(
  { range: [least, most] = [-Infinity, Infinity] }: ChurchColumn,
  countries: ReadonlyMap<string, string>,
): Record<ChurchColumn["kind"], Conversion> {
  return {
    id: (value) => {
      const id = textOf(value, 128);
      if (id !== null && /[\s\p{Cc}]/u.test(id)) throw new ValueError("must not contain spaces");
      return id;
    },
    text: (value) => textOf(value, 2_000),
    longText: (value) => textOf(value, 100_000),
    number: (value) => {
      const number = numberOf(value);
      if (!(number >= least && number <= most)) throw new ValueError(`must be from ${least} to ${most}`);
      return String(number);
    },
    ratio: (value) => {
      const number = numberOf(value);
      if (number <= 0) throw new ValueError("must be greater than 0");
      return String(number);
    },
    size: (value) => {
      const number = numberOf(value);
      if (!Number.isInteger(number) || number < 1 || number > 2_147_483_647)
        throw new ValueError("must be a whole number of at least 1");
      return String(number);
    },
    boolean: (value) => {
      if (/^(true|t|yes|y|1)$/i.test(wordOf(value))) return "t";
      if (/^(false|f|no|n|0)$/i.test(wordOf(value))) return "f";
      throw new ValueError("must be true or false");
    },
    list: arrayLiteral,
    minutes: (value) => {
      const items = listOf(value).map((item) => (typeof item === "string" ? item.trim() : item));
      const given = items.filter((item) => item !== "" && item !== null).map(numberOf);
      if (given.some((minute) => !Number.isInteger(minute) || minute < 0 || minute >= MINUTES_OF_A_WEEK))
        throw new ValueError(`must be minutes of the week, whole numbers from 0 to ${MINUTES_OF_A_WEEK - 1}`);
      return given.length === 0 ? null : `{${given.join(",")}}`;
    },
    json: (value) => writtenJson(typeof value === "string" ? parsedJson(value) : value),
    belief: (value) => {
      const belief = wordOf(value)
        .toLowerCase()
        .replaceAll(/[\s-]+/g, "_");
      if (!(enums.church_belief as readonly string[]).includes(belief))
        throw new ValueError(`must be one of ${enums.church_belief.join(", ")}`);
      return belief;
    },
    country: (value) => {
      const alpha2 = countries.get(wordOf(value).toUpperCase());
      if (alpha2 === undefined) throw new ValueError("must be an ISO 3166-1 country code");
      return alpha2;
    },
    time: (value) => {
      const text = wordOf(value);
      if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d|$)/.test(text) || Number.isNaN(Date.parse(text))) {
        throw new ValueError("must be a date and time such as 2026-05-01T12:00:00Z");
      }
      return text;
    },
  };
}

/** A scalar value as text. Lists and objects are refused: JavaScript would convert them oddly, or fail to. */
function wordOf(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw new ValueError("must be text");
  }
  // It may have been a different number in the file, and so the id of a different church.
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new ValueError("is a number too large to be read exactly; write it as text");
  }
  return String(value).trim();
}

function textOf(value: unknown, longest: number): string | null {
  const text = wordOf(value);
  if (text.includes("\0")) throw new ValueError("must not contain a NUL character");
  if (text.length > longest) throw new ValueError(`must have at most ${longest} characters`);
  return text === "" ? null : text;
}

function numberOf(value: unknown): number {
  const number =
    typeof value === "number"
      ? value
      : /^[\d.+-]+(e[+-]?\d+)?$/i.test(wordOf(value))
        ? Number(value)
        : Number.NaN;
  if (!Number.isFinite(number)) throw new ValueError("must be a number");
  return number;
}

/** A list: a JSON array, or a cell with `["one","two"]` or `one; two`. */
function listOf(value: unknown): unknown[] {
  const given =
    typeof value !== "string"
      ? value
      : value.trimStart().startsWith("[")
        ? parsedJson(value)
        : value.split(";");
  if (!Array.isArray(given)) throw new ValueError("must be a list");
  return given;
}

function arrayLiteral(value: unknown): string | null {
  const items = listOf(value)
    .map((item) => textOf(item ?? "", 2_000))
    .filter((item) => item !== null);
  if (items.length === 0) return null;
  return `{${items.map((item) => `"${item.replaceAll(/[\\"]/g, String.raw`\$&`)}"`).join(",")}}`;
}

function writtenJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) throw new ValueError("is nested too deeply");
    throw error;
  }
}

function parsedJson(text: string): unknown {
  // PostgreSQL cannot store a NUL, however it is written.
  if (/\\u0000/.test(text)) throw new ValueError("must not contain a NUL character");
  try {
    return JSON.parse(text);
  } catch {
    throw new ValueError("must be JSON");
  }
}
