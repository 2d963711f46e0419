// The columns of a church as an import brings them: how a value of a file becomes one of the database.

/** A value that cannot be taken; the message says why. */
export class ValueError extends Error {
  override name = "ValueError";
}

type Kind =
  | "id"
  | "text"
  | "longText"
  | "number"
  | "size"
  | "boolean"
  | "list"
  | "json"
  | "belief"
  | "country"
  | "time";

const KINDS: Readonly<Record<string, Kind>> = {
  church_id: "id",
  gers_id: "text",
  name: "text",
  latitude: "number",
  longitude: "number",
  address: "text",
  locality: "text",
  region: "text",
  postal_code: "text",
  country: "country",
  website: "text",
  phone: "text",
  belief_type: "belief",
  denomination: "text",
  trinitarian: "boolean",
  church_summary: "longText",
  ministry_names: "list",
  ministries_json: "json",
  service_times: "list",
  service_languages: "list",
  service_source_urls: "list",
  contact_emails: "list",
  contact_phones: "list",
  url_giving: "text",
  url_beliefs: "text",
  url_youtube: "text",
  url_facebook: "text",
  url_instagram: "text",
  url_tiktok: "text",
  url_campus: "text",
  url_live: "text",
  logo_url: "text",
  logo_width: "size",
  logo_height: "size",
  logo_aspect_ratio: "number",
  banner_url: "text",
  banner_width: "size",
  banner_height: "size",
  banner_aspect_ratio: "number",
  is_weekly_church: "boolean",
  campus_name: "text",
  overarching_name: "text",
  is_multi_campus: "boolean",
  extraction_confidence: "number",
  pipeline_status: "text",
  created_at: "time",
  updated_at: "time",
};

/** The columns that a file may have. */
export const CHURCH_COLUMNS: readonly string[] = Object.keys(KINDS);

const BELIEFS = new Set(["roman_catholic", "protestant", "orthodox", "anglican", "other", "unknown"]);
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  latitude: [-90, 90],
  longitude: [-180, 180],
  extraction_confidence: [0, 1],
  logo_aspect_ratio: [Number.MIN_VALUE, Number.MAX_VALUE],
  banner_aspect_ratio: [Number.MIN_VALUE, Number.MAX_VALUE],
};

/** Turns a value of a file into the text that PostgreSQL reads it from; null where nothing is given. */
export type Conversion = (value: unknown) => string | null;

/**
 * The conversion of a column.
 * @param countries alpha-2 codes by the codes that stand for them
 */
export function conversionOf(column: string, countries: ReadonlyMap<string, string>): Conversion {
  const convert = conversions(column, countries)[KINDS[column]!];
  return (value) => (value === null || value === undefined || value === "" ? null : convert(value));
}

function conversions(column: string, countries: ReadonlyMap<string, string>): Record<Kind, Conversion> {
  return {
    id: (value) => {
      const id = textOf(value, 128);
      if (id !== null && /[\s\p{Cc}]/u.test(id)) throw new ValueError("must be without spaces");
      return id;
    },
    text: (value) => textOf(value, 2_000),
    longText: (value) => textOf(value, 100_000),
    number: (value) => {
      const number = numberOf(value);
      const [least, most] = RANGES[column] ?? [-Infinity, Infinity];
      if (!(number >= least && number <= most)) throw new ValueError(`must be from ${least} to ${most}`);
      return String(number);
    },
    size: (value) => {
      const number = numberOf(value);
      if (!Number.isInteger(number) || number < 1 || number > 2_147_483_647)
        throw new ValueError("must be a whole number from 1");
      return String(number);
    },
    boolean: (value) => {
      if (/^(true|t|yes|y|1)$/i.test(String(value).trim())) return "t";
      if (/^(false|f|no|n|0)$/i.test(String(value).trim())) return "f";
      throw new ValueError("must be true or false");
    },
    list: arrayLiteral,
    json: (value) => JSON.stringify(typeof value === "string" ? parsedJson(value) : value),
    belief: (value) => {
      const belief = String(value)
        .trim()
        .toLowerCase()
        .replaceAll(/[\s-]+/g, "_");
      if (!BELIEFS.has(belief)) throw new ValueError(`must be one of ${[...BELIEFS].join(", ")}`);
      return belief;
    },
    country: (value) => {
      const alpha2 = countries.get(String(value).trim().toUpperCase());
      if (alpha2 === undefined) throw new ValueError("must be a country code of ISO 3166-1");
      return alpha2;
    },
    time: (value) => {
      const text = String(value).trim();
      if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d|$)/.test(text) || Number.isNaN(Date.parse(text))) {
        throw new ValueError("must be a date and time such as 2026-05-01T12:00:00Z");
      }
      return text;
    },
  };
}

function textOf(value: unknown, longest: number): string | null {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw new ValueError("must be a text");
  }
  const text = String(value).trim();
  if (text.includes("\0")) throw new ValueError("must not contain a NUL character");
  if (text.length > longest) throw new ValueError(`must have at most ${longest} characters`);
  return text === "" ? null : text;
}

function numberOf(value: unknown): number {
  const number =
    typeof value === "number"
      ? value
      : /^[\s\d.+-]+(e[+-]?\d+)?\s*$/i.test(String(value))
        ? Number(value)
        : Number.NaN;
  if (!Number.isFinite(number)) throw new ValueError("must be a number");
  return number;
}

/** A list of texts: of JSON, or in a cell `["one","two"]` or `one; two`. */
function arrayLiteral(value: unknown): string | null {
  const given =
    typeof value !== "string"
      ? value
      : value.trimStart().startsWith("[")
        ? parsedJson(value)
        : value.split(";");
  if (!Array.isArray(given)) throw new ValueError("must be a list");
  const items = given.map((item) => textOf(item ?? "", 2_000)).filter((item) => item !== null);
  if (items.length === 0) return null;
  return `{${items.map((item) => `"${item.replaceAll(/[\\"]/g, String.raw`\$&`)}"`).join(",")}}`;
}

function parsedJson(text: string): unknown {
  // PostgreSQL cannot keep a NUL, however it is written.
  if (/\\u0000/.test(text)) throw new ValueError("must not contain a NUL character");
  try {
    return JSON.parse(text);
  } catch {
    throw new ValueError("must be JSON");
  }
}
