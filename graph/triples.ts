// Row → triples. What each field becomes is described in records/; how each form of
// value is written is decided here.
import type { Literal, NamedNode, Quad } from "@rdfjs/types";
import { RECORDS, RECORD_KINDS } from "../records/index.ts";
import { columnOf, fieldsOf, idOf } from "../records/record.ts";
import type { Field, FieldType, RecordDescription, RecordKind } from "../records/record.ts";
import { RDF, XSD } from "./namespaces.ts";
import type { Names } from "./namespaces.ts";
import { canonicalDecimal, literal, namedNode, triple, withoutTrailingZeros } from "./terms.ts";

/** A column's value in JSON. */
type ColumnValue = string | number | boolean | null | readonly string[];

/**
 * A record as the projection reads it: its columns that reach the graph, times as UTC text, decimals as text.
 */
export interface ProjectedRecord {
  kind: RecordKind;
  row: Readonly<Record<string, ColumnValue>>;
}

/** IRIs of the SKOS concepts in the vocabulary, by accelerator code. */
export type ConceptIris = ReadonlyMap<string, string>;

/** The resource of a record and everything the graph says about it. */
export interface RecordTriples {
  kind: RecordKind;
  id: string;
  iri: string;
  quads: Quad[];
}

/** Builds the triples of records; see graph/ontology.ttl for what each property means. */
export type TripleBuilder = (record: ProjectedRecord, concepts: ConceptIris) => RecordTriples;

type Add = (predicate: NamedNode, object: NamedNode | Literal) => void;
/** Writes a value that is not null. */
type FieldWriter = (add: Add, value: NonNullable<ColumnValue>, concepts: ConceptIris) => void;

/** Makes the builder for one set of names, so that the constant terms are made only once. */
export function createTripleBuilder(names: Names): TripleBuilder {
  const type = namedNode(`${RDF}type`);
  const plans = new Map(
    RECORD_KINDS.map((kind) => {
      const description: RecordDescription = RECORDS[kind];
      const writers = fieldsOf(description).map((field): [string, FieldWriter] => [
        field.column,
        writerOf(field, names),
      ]);
      const plan = {
        id: columnOf(idOf(description)),
        class: namedNode(names.iri(description.class)),
        writers,
      };
      return [kind, plan];
    }),
  );

  return ({ kind, row }, concepts) => {
    const plan = plans.get(kind)!;
    const id = String(row[plan.id]);
    const iri = names.record(kind, id);
    const subject = namedNode(iri);
    const quads: Quad[] = [triple(subject, type, plan.class)];
    const add: Add = (predicate, object) => void quads.push(triple(subject, predicate, object));
    for (const [column, write] of plan.writers) {
      const value = row[column];
      if (value !== null && value !== undefined) write(add, value, concepts);
    }
    return { kind, id, iri, quads };
  };
}

function writerOf({ type, graph }: Field, names: Names): FieldWriter {
  if (typeof graph === "string") {
    const predicate = namedNode(names.iri(graph));
    if (type === "httpUri") return (add, value) => add(predicate, namedNode(String(value)));
    const write = LITERALS[type] ?? plain;
    return (add, value) => add(predicate, write(String(value)));
  }
  if ("withheld" in graph) return () => undefined;
  const link = namedNode(names.iri(graph.link));
  if ("to" in graph) return (add, value) => add(link, namedNode(names.record(graph.to, String(value))));
  const code = namedNode(names.iri(graph.code));
  const target = targetOf(type, names);
  return (add, value, concepts) => {
    for (const item of new Set([value].flat().map(String))) {
      add(link, namedNode(target(item, concepts)));
      add(code, plain(item));
    }
  };
}

/** The IRI that a code stands for. */
function targetOf(type: FieldType, names: Names): (code: string, concepts: ConceptIris) => string {
  switch (type) {
    case "acceleratorCodes":
      // A code that is missing from the vocabulary still gets a link, so that the load
      // check can refuse it by name.
      return (code, concepts) => concepts.get(code) ?? names.ns(encodeURIComponent(code));
    case "rop3":
    case "rop3s":
      return names.peopleGroup;
    case "countryCode":
    case "countryCodes":
      return names.country;
    default:
      throw new TypeError(`a ${type} is not a code that links to anything`);
  }
}

const plain = (value: string) => literal(value);
const typed = (datatype: string, canonical = (value: string) => value) => {
  const node = namedNode(XSD + datatype);
  return (value: string) => literal(canonical(value), node);
};

// Stores keep typed values as numbers and return them in a form of their own, so only that form comes back as written, and can be
// removed again.
export const LITERALS: Partial<Record<FieldType, (value: string) => Literal>> = {
  date: typed("date"),
  timestamp: typed("dateTime", (utc) => `${withoutTrailingZeros(utc)}Z`),
  integer: typed("integer"),
  number: typed("decimal", canonicalDecimal),
  boolean: typed("boolean"),
};
