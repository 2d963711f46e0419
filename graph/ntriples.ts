import type { Quad, Term } from "@rdfjs/types";
import { XSD } from "./namespaces.ts";
import { canonicalDecimal, literal } from "./terms.ts";

const XSD_STRING = `${XSD}string`;
const XSD_DECIMAL = `${XSD}decimal`;

// eslint-disable-next-line no-control-regex -- control characters are what is escaped here
const ESCAPED_IN_LITERAL = /["\\\u0000-\u001f\u007f]/g;
// eslint-disable-next-line no-control-regex -- as above
const FORBIDDEN_IN_IRI = /[\u0000-\u0020<>"{}|^`\\]/g;

const SHORT: Record<string, string> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\f": "\\f",
  "\r": "\\r",
};

const hex = (char: string) => `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/**
 * Canonical N-Triples form of a term: the same text for the same term, whoever wrote it, and safe to
 * put into Turtle and SPARQL unchanged.
 */
export function termText(term: Term): string {
  switch (term.termType) {
    case "NamedNode":
      // Characters that an IRI may not contain stay escaped, so that no value can end the IRI early.
      return `<${term.value.replace(FORBIDDEN_IN_IRI, hex)}>`;
    case "Literal": {
      const text = `"${term.value.replace(ESCAPED_IN_LITERAL, (char) => SHORT[char] ?? hex(char))}"`;
      if (term.language) {
        const direction = term.direction ? `--${term.direction}` : "";
        return `${text}@${term.language.toLowerCase()}${direction}`;
      }
      return term.datatype.value === XSD_STRING ? text : `${text}^^${termText(term.datatype)}`;
    }
    case "BlankNode":
      return `_:${term.value}`;
    default:
      throw new TypeError(`a ${term.termType} has no N-Triples form`);
  }
}

/**
 * One canonical N-Triples line without its newline; the graph of a quad is left out. A decimal is
 * in its canonical form, because stores return whole ones differently: "12" from one is "12.0" from another.
 */
export function tripleText(quad: Quad): string {
  const { object } = quad;
  const text =
    object.termType === "Literal" && object.datatype.value === XSD_DECIMAL
      ? termText(literal(canonicalDecimal(object.value), object.datatype))
      : termText(object);
  return `${termText(quad.subject)} ${termText(quad.predicate)} ${text} .`;
}

/**
 * Reads an IRI as N-Triples and TSV write it, whatever characters it has;
 * undefined if the text is not an IRI.
 */
export function readIri(text: string): string | undefined {
  const written = /^<(?!<)(.*)>$/s.exec(text)?.[1];
  return written?.replace(
    /\\u([0-9A-Fa-f]{4})|\\U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})/g,
    (_, short?: string, long?: string) => String.fromCodePoint(Number.parseInt(short ?? long!, 16)),
  );
}
