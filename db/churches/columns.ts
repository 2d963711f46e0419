// The columns of a church, each described once. What the API returns (server/resources/church-schemas.ts), what a
// file may contain (conversions.ts) and what GraphQL says about them (server/graphql/descriptions.ts) follow from
// this table; test/church-columns.test.ts checks that it matches the table in the database.

type ChurchKind =
  | "id"
  | "text"
  | "longText"
  | "number"
  | "ratio"
  | "size"
  | "boolean"
  | "list"
  | "minutes"
  | "json"
  | "belief"
  | "country"
  | "time";

export type ChurchColumn = {
  kind: ChurchKind;
  /** What it means, where its name does not say it. */
  description?: string;
  /** The least and the greatest value, for a number. */
  range?: readonly [least: number, most: number];
  /** Set if every church has a value; in any other column null means unknown. */
  always?: true;
  deprecated?: true;
};

export const CHURCH_COLUMNS: Readonly<Record<string, ChurchColumn>> = {
  church_id: { kind: "id", always: true },
  gers_id: { kind: "text", description: "The identifier of the place in the Overture Maps GERS." },
  name: { kind: "text", always: true },
  latitude: { kind: "number", range: [-90, 90], description: "Degrees, WGS 84." },
  longitude: { kind: "number", range: [-180, 180], description: "Degrees, WGS 84." },
  address: { kind: "text" },
  locality: { kind: "text", description: "City or town." },
  region: { kind: "text", description: "State, province or region, usually its code." },
  postal_code: { kind: "text" },
  country: { kind: "country", description: "ISO 3166-1 alpha-2." },
  website: { kind: "text" },
  phone: { kind: "text" },
  belief_type: { kind: "belief", always: true },
  denomination: { kind: "text" },
  trinitarian: { kind: "boolean", description: "Use the belief type instead.", deprecated: true },
  church_summary: { kind: "longText" },
  ministry_names: { kind: "list", description: "Programs and ministries, as the church names them." },
  ministries_json: {
    kind: "json",
    description: "Programs and ministries in detail, as the source gives them.",
  },
  service_times: {
    kind: "minutes",
    description: "When services begin, in minutes of the week, 0 to 10079, counted as the source does.",
  },
  service_languages: { kind: "list" },
  service_source_urls: { kind: "list" },
  contact_emails: { kind: "list" },
  contact_phones: { kind: "list" },
  url_giving: { kind: "text" },
  url_beliefs: { kind: "text" },
  url_youtube: { kind: "text" },
  url_facebook: { kind: "text" },
  url_instagram: { kind: "text" },
  url_tiktok: { kind: "text" },
  url_campus: { kind: "text" },
  url_live: { kind: "text" },
  logo_url: { kind: "text" },
  logo_width: { kind: "size" },
  logo_height: { kind: "size" },
  logo_aspect_ratio: { kind: "ratio" },
  banner_url: { kind: "text" },
  banner_width: { kind: "size" },
  banner_height: { kind: "size" },
  banner_aspect_ratio: { kind: "ratio" },
  is_weekly_church: { kind: "boolean", description: "Whether it meets every week." },
  campus_name: { kind: "text" },
  overarching_name: { kind: "text", description: "The church that a campus belongs to." },
  is_multi_campus: { kind: "boolean" },
  extraction_confidence: {
    kind: "number",
    range: [0, 1],
    description: "How sure the source is of this record, 0 to 1.",
  },
  pipeline_status: { kind: "text" },
  created_at: { kind: "time", always: true },
  updated_at: { kind: "time", always: true },
};
