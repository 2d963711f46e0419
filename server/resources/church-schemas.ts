// Church search on the wire: what may be asked and what is returned. REST validation, the OpenAPI document and the
// tool endpoint's input all come from here; db/rules/church-inputs.sql decides which inputs are valid in combination,
// and db/churches/columns.ts lists the columns of a church.
import { z } from "zod";
import { enums } from "../../db/catalog.ts";
import { CHURCH_COLUMNS } from "../../db/churches/columns.ts";
import type { ChurchColumn } from "../../db/churches/columns.ts";
import { quotedNames } from "../quoted.ts";
import { list, wholeNumber } from "../rest/schemas.ts";

const MAX_TEXT = 200;

// A map that is turned round and round keeps counting degrees; within a hundred turns they stay exact.
const FARTHEST = 36_000;

const churchBelief = z.enum(enums.church_belief, {
  error: `must be one of ${enums.church_belief.join(", ")}`,
});

const textUpTo = (longest: number) =>
  z
    .string({ error: "must be text" })
    .max(longest, `must have at most ${longest} characters`)
    .refine((value) => !value.includes("\0"), "must not contain a NUL character");

const text = (description: string, ...examples: string[]) =>
  textUpTo(MAX_TEXT)
    .optional()
    .meta({ description, ...(examples.length > 0 && { examples }) });

const texts = (description: string, ...examples: string[][]) =>
  list(textUpTo(MAX_TEXT)).optional().meta({ description, examples });

const degrees = (limit: number, description: string, example: number) =>
  z
    .number({ error: "must be a number" })
    .min(-limit, `must be from -${limit} to ${limit}`)
    .max(limit, `must be from -${limit} to ${limit}`)
    .optional()
    .meta({ description, examples: [example] });

const kinds: Record<ChurchColumn["kind"], (column: ChurchColumn) => z.ZodType> = {
  id: () => z.string(),
  text: () => z.string(),
  longText: () => z.string(),
  number: ({ range }) => (range ? z.number().min(range[0]).max(range[1]) : z.number()),
  ratio: () => z.number(),
  size: () => z.int(),
  boolean: () => z.boolean(),
  list: () => z.array(z.string()),
  minutes: () => z.array(z.int()),
  json: () => z.unknown(),
  belief: () => churchBelief,
  country: () => z.string(),
  time: () => z.iso.datetime({ offset: true }),
};

function schemaOf(column: ChurchColumn): z.ZodType {
  const { kind, always, description, deprecated } = column;
  const value = kinds[kind](column);
  // The schema of any JSON allows null already.
  return (always || kind === "json" ? value : value.nullable()).meta({
    description,
    ...(deprecated && { deprecated }),
  });
}

/** The record of a church; null means unknown. */
export const church = z
  .object(
    Object.fromEntries(Object.entries(CHURCH_COLUMNS).map(([name, column]) => [name, schemaOf(column)])),
  )
  .meta({ id: "Church", description: "A church. Null means unknown." });

const point = z.object({
  type: z.literal("Point"),
  coordinates: z.array(z.number()).length(2).meta({ description: "Longitude, latitude." }),
});

/** The columns that `fields` may name. */
const CHURCH_FIELDS = [...Object.keys(CHURCH_COLUMNS), "distance_m", "geojson"];

const fields = z
  .string({ error: "must be text" })
  .transform((value) =>
    value
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  )
  .superRefine((names, context) => {
    const unknown = names.filter((name) => !CHURCH_FIELDS.includes(name));
    if (unknown.length > 0) {
      context.addIssue(
        `contains the unknown column ${quotedNames(unknown)}; the columns are ${CHURCH_FIELDS.join(", ")}`,
      );
    }
  })
  .optional()
  .meta({
    description:
      "Columns to return, separated by commas; all of them if left out. church_id is always there. geojson is the location as a GeoJSON Point.",
    examples: ["church_id,name,locality,region,country,website"],
  });

/** The inputs of GET /v0/orgs/search. */
export const churchQuery = z.object({
  q: text(
    "Words from the church's name, denomination or place, best match first. Case and accents are ignored, and a misspelt word finds the words most like it.",
    "grace chapel denver",
  ),
  country: text(
    "Country: its code, ISO 3166-1 alpha-2 or alpha-3, or its name; case and accents are ignored.",
    "US",
    "CAN",
  ),
  belief: list(churchBelief)
    .optional()
    .meta({ description: "Tradition; any of those given.", examples: [["protestant"]] }),
  trinitarian: z
    .boolean({ error: "must be true or false" })
    .optional()
    .meta({ description: "Use belief instead.", deprecated: true }),
  region: text(
    "State, province or region as written in the record, usually its code; matched in full.",
    "CA",
  ),
  locality: text("City or town, matched in full; case and accents are ignored.", "El Cajon"),
  postal_code: text("Beginning of the postal code.", "920"),
  languages: texts(
    "Languages of services; any of those given, also with commas between them, and part of a name is enough.",
    ["spanish"],
  ),
  programs: texts(
    "Programs or ministries; any of those given, also with commas between them, and part of a name is enough.",
    ["youth"],
  ),
  id: text("The church_id of a single church."),
  min_lat: degrees(90, "South side of a box. A box needs all four sides.", 32.5),
  max_lat: degrees(90, "North side of a box.", 33.1),
  min_lng: degrees(
    FARTHEST,
    "West side of a box; greater than max_lng if the box crosses the 180th meridian. Degrees beyond 180 are brought into range.",
    -117.3,
  ),
  max_lng: degrees(FARTHEST, "East side of a box.", -116.8),
  center_lat: degrees(
    90,
    "Latitude of the centre of a radius search, which needs center_lat, center_lng and radius_km.",
    32.7948,
  ),
  center_lng: degrees(FARTHEST, "Longitude of the centre of a radius search.", -116.9625),
  radius_km: z
    .number({ error: "must be a number" })
    .min(0.1, "must be from 0.1 to 200 kilometres")
    .max(200, "must be from 0.1 to 200 kilometres")
    .optional()
    .meta({
      description: "Radius in kilometres. Results are sorted by distance and include distance_m.",
      examples: [25],
    }),
  limit: wholeNumber(1, 10_000).default(20).meta({ description: "How many churches to return at most." }),
  cursor: textUpTo(2_000)
    .optional()
    .meta({ description: "The next_cursor of the previous page; send it with the same filters." }),
  fields,
  format: z
    .enum(["json", "geojson"], { error: "must be json or geojson" })
    .default("json")
    .meta({ description: "geojson returns a FeatureCollection." }),
});

/** Inputs of the earlier service that are still accepted under their old names: each is one more filter. */
export const olderChurchQuery = {
  church_name: text("Part of the church's name; case and accents are ignored. Use q.").meta({
    deprecated: true,
  }),
  language: text("Use languages.").meta({ deprecated: true }),
  program: text("Use programs.").meta({ deprecated: true }),
};

const found = church
  .partial()
  .required({ church_id: true })
  .extend({
    distance_m: z
      .number()
      .nullable()
      .optional()
      .meta({ description: "Great-circle distance from the centre of a radius search, in metres." }),
    geojson: point.nullable().optional(),
  })
  .meta({ id: "FoundChurch", description: "The columns of a church that the search asked for." });

const page = {
  limit: z.int(),
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: "The cursor of the next page; null on the last one." }),
};

/** The answer to a search as JSON. */
export const churchPage = z.object({ items: z.array(found), ...page }).meta({ id: "ChurchPage" });

/** The answer to a search as GeoJSON. */
export const churchFeatures = z
  .object({
    type: z.literal("FeatureCollection"),
    features: z.array(
      z.object({
        type: z.literal("Feature"),
        id: z.string(),
        geometry: point.nullable(),
        properties: found,
      }),
    ),
    ...page,
  })
  .meta({ id: "ChurchFeatures" });
