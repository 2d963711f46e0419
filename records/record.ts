// How a record is described; need.ts is an example. A description names what the tables, the doors and the graph
// have in common; the column of a field is its wire name in snake_case (needId is need_id).
import type { enums } from "../db/catalog.ts";

export type RecordKind = (typeof enums.record_kind)[number];

/** The form of a field's value: on the wire as in server/rest/schemas.ts, in the graph as in graph/triples.ts. */
export type FieldType =
  | "uuid"
  | "name"
  | "text"
  | "email"
  | "httpUri"
  | "date"
  | "timestamp"
  | "integer"
  | "number"
  | "boolean"
  | "status"
  | "rop3"
  | "rog3"
  | "countryCode"
  | "acceleratorCodes"
  | "rop3s"
  | "countryCodes";

/**
 * What a field is in the graph, by prefixed names (`ns:`, `prov:`, `dct:`); graph/ontology.ttl says what they mean.
 * Just a name: a literal, or a link for an httpUri. `code`: the code as a literal, besides the link to what it stands
 * for. `to`: a link to the record of that kind with this id. `withheld`: not in the graph, and why.
 */
type InGraph =
  string | { link: string; code: string } | { link: string; to: RecordKind } | { withheld: string };

export type Field = {
  type: FieldType;
  /** what it means, for readers of the API reference and of the GraphQL schema */
  description: string;
  /**
   * whether the creator of the record must or may give it; "actor": requests with an API key must name it, a
   * person's own may omit it; without this, the service sets the field
   */
  input?: "required" | "optional" | "actor";
  graph: InGraph;
};

export type RecordDescription = {
  kind: RecordKind;
  /** table in app_public, and view of its items in the schema rest */
  table: string;
  /** last part of its named graph's IRI, and of its REST path */
  path: string;
  /** class in the graph */
  class: string;
  /** functions in app_public */
  create: string;
  setStatus: string;
  /** enum in app_public */
  statuses: string;
  /** by wire name, the id first, in the order in which an item lists them */
  fields: Readonly<Record<string, Field>> & { readonly status: Field & { graph: string } };
};

/** The column of a field. */
export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The fields of a record with their names and columns, in order. */
export function fieldsOf({ fields }: RecordDescription): (Field & { name: string; column: string })[] {
  return Object.entries(fields).map(([name, field]) => ({ name, column: columnOf(name), ...field }));
}

/** The wire name of a record's id. */
export function idOf({ fields }: RecordDescription): string {
  return Object.keys(fields)[0]!;
}
