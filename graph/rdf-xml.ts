// RDF/XML, for replacing whole graphs: the one format in which a document that is cut off cannot be taken for
// the whole, because its root element must be closed. (Engines behind Jetty, Fuseki among them, take a broken
// connection for the end of the body, and half a body of Turtle or N-Triples can be well-formed.)
import type { Quad } from "@rdfjs/types";
import { RDF } from "./namespaces.ts";

const HEADER = `<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF xmlns:rdf="${RDF}">\n`;
const FOOTER = "</rdf:RDF>\n";

const ESCAPED = /[&<>"\r\n\t]/g;
const PREDICATE = /^(.*[#/:])([A-Za-z_][\w.-]*)$/;
// XML 1.0 has no way to write most control characters, not even as references.
const NOT_IN_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
// An engine's reader of RDF/XML may refuse the whole document for an IRI that is not ASCII, or whose host or
// scheme has further rules. Jena's does, although it takes the same IRI from an update.
const LABEL = "(?!..--)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const NAME = `(?:${LABEL}\\.)*(?=[A-Za-z])${LABEL}`;
const IPV4 = "(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(?:\\.(?=\\d)|(?=[:/?#]|$))){4}";
const CHARACTERS = "(?:[\\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*";
const PLAIN_IRI = new RegExp(
  `^https?://(?:${NAME}|${IPV4})(?::\\d{1,5})?(?:[/?]${CHARACTERS})?(?:#${CHARACTERS})?$`,
);

/** Whether these triples can be sent as XML to any engine. */
export function fitsXml(quads: readonly Quad[]): boolean {
  return quads.every(
    ({ subject, predicate, object }) =>
      PREDICATE.test(predicate.value) &&
      [subject, object].every(({ termType, value }) =>
        termType === "Literal" ? !NOT_IN_XML.test(value) : PLAIN_IRI.test(value),
      ),
  );
}

/** A document of groups of triples, each group about one subject that is an IRI. All must fit. */
export async function* rdfXml(
  groups: AsyncIterable<readonly (readonly Quad[])[]>,
): AsyncGenerator<string, void, undefined> {
  yield HEADER;
  for await (const group of groups) yield group.map(description).join("");
  yield FOOTER;
}

function description(quads: readonly Quad[]): string {
  const [first] = quads;
  if (!first) return "";
  return `<rdf:Description rdf:about="${escape(first.subject.value)}">\n${quads.map(property).join("")}</rdf:Description>\n`;
}

function property({ predicate, object }: Quad): string {
  const [, namespace = "", local = ""] = PREDICATE.exec(predicate.value) ?? [];
  const open = `<p:${local} xmlns:p="${escape(namespace)}"`;
  if (object.termType !== "Literal") return `${open} rdf:resource="${escape(object.value)}"/>\n`;
  const kind = object.language
    ? ` xml:lang="${object.language}"`
    : ` rdf:datatype="${escape(object.datatype.value)}"`;
  return `${open}${kind}>${escape(object.value)}</p:${local}>\n`;
}

function escape(text: string): string {
  return text.replace(ESCAPED, (char) => `&#${char.charCodeAt(0)};`);
}
