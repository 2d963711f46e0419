import type { Quad } from "@rdfjs/types";
import { DCTERMS, PROV, RDF, SKOS, XSD } from "./namespaces.ts";
import type { Names } from "./namespaces.ts";
import type { RecordKind } from "../records/record.ts";
import { termText } from "./ntriples.ts";
import { namedNode } from "./terms.ts";
import type { RecordTriples } from "./triples.ts";
import type { Numbered } from "./turns.ts";

/** Writes triples in the syntax that Turtle and SPARQL share, with the prefixes of `header`. */
export interface TurtleWriter {
  /** PREFIX lines, in the form that both languages accept */
  header: string;
  /** The statements for triples in which those of one subject are adjacent, with a newline at the end. */
  write: (quads: Iterable<Quad>) => string;
}

/** Makes the writer for one set of names. */
export function createTurtleWriter(names: Names): TurtleWriter {
  const prefixes: Record<string, string> = {
    ns: names.namespaceUrl,
    rdf: RDF,
    xsd: XSD,
    skos: SKOS,
    prov: PROV,
    dct: DCTERMS,
  };
  const header = Object.entries(prefixes)
    .map(([prefix, iri]) => `PREFIX ${prefix}: <${iri}>\n`)
    .join("");
  // A few dozen predicates and datatypes come up millions of times.
  const short = new Map<string, string>();
  const shorten = (iri: string): string => {
    let text = short.get(iri);
    if (text === undefined) {
      const prefix = Object.entries(prefixes).find(
        ([, base]) => iri.startsWith(base) && /^[A-Za-z][A-Za-z0-9]*$/.test(iri.slice(base.length)),
      );
      text = prefix ? `${prefix[0]}:${iri.slice(prefix[1].length)}` : termText(namedNode(iri));
      short.set(iri, text);
    }
    return text;
  };
  const objectText = (object: Quad["object"]): string => {
    if (object.termType !== "Literal" || object.language) return termText(object);
    if (object.datatype.value === `${XSD}string`) return termText(object);
    const text = termText(object);
    return `${text.slice(0, text.lastIndexOf("^^"))}^^${shorten(object.datatype.value)}`;
  };

  return {
    header,
    write(quads) {
      let text = "";
      let subject: string | undefined;
      for (const quad of quads) {
        const part = `${shorten(quad.predicate.value)} ${objectText(quad.object)}`;
        if (quad.subject.value === subject) text += ` ;\n  ${part}`;
        else text += `${subject === undefined ? "" : " .\n"}${termText(quad.subject)} ${part}`;
        subject = quad.subject.value;
      }
      return subject === undefined ? "" : `${text} .\n`;
    },
  };
}

/** A record that is removed from the graph. */
export interface Withdrawal {
  kind: RecordKind;
  iri: string;
}

// An operation costs RDF4J the square of its size, and a stack as deep as it has triples: 1,000
// records in one took four to six times as long as in ten, and could overflow the stack that
// Java gives a thread by default.
const RECORDS_PER_OPERATION = 100;

/** One SPARQL update that replaces what the graph holds of some records and removes others. */
export function replaceRecords(
  writer: TurtleWriter,
  names: Names,
  { note, condition }: Numbered,
  records: readonly RecordTriples[],
  withdrawals: readonly Withdrawal[],
): string {
  const operations = [note];
  for (const [kind, graph] of Object.entries(names.graphs)) {
    const subjects: (Withdrawal & { quads?: Quad[] })[] = [...records, ...withdrawals].filter(
      (subject) => subject.kind === kind,
    );
    for (let start = 0; start < subjects.length; start += RECORDS_PER_OPERATION) {
      const some = subjects.slice(start, start + RECORDS_PER_OPERATION);
      const iris = some.map((subject) => `<${subject.iri}>`).join(" ");
      operations.push(
        `DELETE { GRAPH <${graph}> { ?s ?p ?o } }\nWHERE { ${condition} VALUES ?s { ${iris} } GRAPH <${graph}> { ?s ?p ?o } }`,
      );
      const triples = some.flatMap((subject) => (subject.quads ? [writer.write(subject.quads)] : []));
      if (triples.length > 0) {
        operations.push(`INSERT { GRAPH <${graph}> {\n${triples.join("")}} }\nWHERE { ${condition} }`);
      }
    }
  }
  return `${writer.header}${operations.join(" ;\n")}`;
}
