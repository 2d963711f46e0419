// Triples → item: from what triples.ts wrote back to the fields of a record as the doors return them.
import { fieldsOf } from "../records/record.ts";
import type { Field, RecordDescription } from "../records/record.ts";
import type { Names } from "./namespaces.ts";

/** What a store says about one resource: values by property. */
export type Properties = ReadonlyMap<string, readonly string[]>;

/**
 * Makes the reader for one kind of record. Fields that are withheld from the graph are not in an item; lists
 * of codes, whose order a graph does not keep, come in alphabetical order. A single-valued field with several
 * values in the store is undefined, because nothing shows which of them was meant.
 */
export function itemReader(
  description: RecordDescription,
  names: Names,
): (properties: Properties) => Record<string, unknown> {
  const readers = fieldsOf(description).flatMap((field): [string, (properties: Properties) => unknown][] => {
    const read = readerOf(field, names);
    return read ? [[field.name, read]] : [];
  });
  return (properties) => Object.fromEntries(readers.map(([name, read]) => [name, read(properties)]));
}

function readerOf({ type, graph }: Field, names: Names): ((properties: Properties) => unknown) | undefined {
  if (typeof graph === "string") return single(names.iri(graph), CONVERSIONS[type]);
  if ("withheld" in graph) return undefined;
  if ("to" in graph) {
    const prefix = names.graphs[graph.to];
    return single(names.iri(graph.link), (value) => value.slice(prefix.length));
  }
  const property = names.iri(graph.code);
  return type.endsWith("s") ? (properties) => (properties.get(property) ?? []).toSorted() : single(property);
}

function single(property: string, convert: (value: string) => unknown = (value) => value) {
  return (properties: Properties): unknown => {
    const [value, another] = properties.get(property) ?? [];
    if (value === undefined) return null;
    return another === undefined ? convert(value) : undefined;
  };
}

const CONVERSIONS: Partial<Record<Field["type"], (value: string) => unknown>> = {
  // From canonical form into the form in which PostgreSQL writes times in JSON.
  timestamp: (value) => value.replace(/Z$/, "+00:00"),
  integer: Number,
  number: Number,
  boolean: (value) => value === "true",
};
