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
  /** What it means. */
  description: string;
  /** The least and the greatest value, for a number. */
  range?: readonly [least: number, most: number];
  /** Set if every church has a value; in any other column null means unknown. */
  always?: true;
  deprecated?: true;
};

export const CHURCH_COLUMNS: Readonly<Record<string, ChurchColumn>> = {
  church_id: { kind: "id", description: "The church's identifier.", always: true },
  gers_id: { kind: "text", description: "The identifier of the place in the Overture Maps GERS." },
  name: { kind: "text", description: "The church's name.", always: true },
  latitude: { kind: "number", range: [-90, 90], description: "Degrees, WGS 84." },
  longitude: { kind: "number", range: [-180, 180], description: "Degrees, WGS 84." },
  address: { kind: "text", description: "Street and number." },
  locality: { kind: "text", description: "City or town." },
  region: { kind: "text", description: "State, province or region, usually its code." },
  postal_code: { kind: "text", description: "The postal code." },
  country: { kind: "country", description: "ISO 3166-1 alpha-2." },
  website: { kind: "text", description: "The church's own website." },
  phone: { kind: "text", description: "The telephone number that the source gives first." },
  belief_type: { kind: "belief", description: "The tradition.", always: true },
  denomination: { kind: "text", description: "The denomination, as the source names it." },
  trinitarian: { kind: "boolean", description: "Use the belief type instead.", deprecated: true },
  church_summary: { kind: "longText", description: "A short description by the church." },
  ministry_names: { kind: "list", description: "Programs and ministries, as the church names them." },
  ministries_json: {
    kind: "json",
    description: "Programs and ministries in detail, as the source gives them.",
  },
  service_times: {
    kind: "minutes",
    description: "When services begin, in minutes of the week, 0 to 10079, counted as the source does.",
  },
  service_languages: { kind: "list", description: "Languages of services." },
  service_source_urls: { kind: "list", description: "Where the times of services were read." },
  contact_emails: { kind: "list", description: "E-mail addresses of the church." },
  contact_phones: { kind: "list", description: "Telephone numbers of the church." },
  url_giving: { kind: "text", description: "Where to give." },
  url_beliefs: { kind: "text", description: "What the church believes." },
  url_youtube: { kind: "text", description: "On YouTube." },
  url_facebook: { kind: "text", description: "On Facebook." },
  url_instagram: { kind: "text", description: "On Instagram." },
  url_tiktok: { kind: "text", description: "On TikTok." },
  url_campus: { kind: "text", description: "The page of this campus." },
  url_live: { kind: "text", description: "Where services are streamed." },
  logo_url: { kind: "text", description: "The logo." },
  logo_width: { kind: "size", description: "Width of the logo in pixels." },
  logo_height: { kind: "size", description: "Height of the logo in pixels." },
  logo_aspect_ratio: { kind: "ratio", description: "Width of the logo divided by its height." },
  banner_url: { kind: "text", description: "The banner." },
  banner_width: { kind: "size", description: "Width of the banner in pixels." },
  banner_height: { kind: "size", description: "Height of the banner in pixels." },
  banner_aspect_ratio: { kind: "ratio", description: "Width of the banner divided by its height." },
  is_weekly_church: { kind: "boolean", description: "Whether it meets every week." },
  campus_name: { kind: "text", description: "What this campus is called." },
  overarching_name: { kind: "text", description: "The church that a campus belongs to." },
  is_multi_campus: { kind: "boolean", description: "Whether the church has several campuses." },
  extraction_confidence: {
    kind: "number",
    range: [0, 1],
    description: "How sure the source is of this record, 0 to 1.",
  },
  pipeline_status: { kind: "text", description: "How far the source has worked on this record." },
  created_at: { kind: "time", description: "When it was first imported.", always: true },
  updated_at: { kind: "time", description: "When it was last changed.", always: true },
};
