import type { Literal, NamedNode, Quad } from "@rdfjs/types";
import { DataFactory } from "n3";

export function namedNode(iri: string): NamedNode {
  return DataFactory.namedNode(iri);
}

/** A literal: plain, with a language tag, or with a datatype. */
export function literal(value: string, languageOrDatatype?: string | NamedNode): Literal {
  return DataFactory.literal(value, languageOrDatatype);
}

/** A triple, as a quad of the default graph. */
export function triple(subject: NamedNode, predicate: NamedNode, object: NamedNode | Literal): Quad {
  return DataFactory.quad(subject, predicate, object);
}

/**
 * The one form of a decimal: without zeros that add nothing, but with one digit behind the point. TDB2 keeps "12" as it is, reads it back
 * as "12.0", and then does not find it to remove it.
 */
export function canonicalDecimal(value: string): string {
  const digits = withoutTrailingZeros(value);
  return digits.includes(".") ? digits : `${digits}.0`;
}

/** A decimal, or a time with its fraction, without the zeros that add nothing. */
export function withoutTrailingZeros(value: string): string {
  return value.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}
