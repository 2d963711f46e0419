// The two files of this folder that are also loaded into the graph: the ontology and the shapes.
import type { Quad, Term } from "@rdfjs/types";
import { DataFactory, Parser } from "n3";
import { readShapes } from "./load-check.ts";
import { DEFAULT_NAMESPACE, rebase } from "./namespaces.ts";
import type { ListName, Names } from "./namespaces.ts";
import { readOntology } from "./ontology.ts";
import { namedNode } from "./terms.ts";

/** Their texts as shipped, by the name of the list whose graph holds them. */
export function readDocuments(): Partial<Record<ListName, string>> {
  return { ontology: readOntology(), shapes: readShapes() };
}

/**
 * The triples of a document in the graph. Blank nodes get IRIs, the same ones for the same text, so that the
 * graph can be compared with the document resource by resource.
 */
export function documentTriples(turtle: string, document: ListName, names: Names): Quad[] {
  const places = new Map<string, number>();
  const skolemize = <T extends Term>(term: T) => {
    if (term.termType !== "BlankNode") return term;
    const place = places.get(term.value) ?? places.size + 1;
    places.set(term.value, place);
    return namedNode(names.skolem(document, place));
  };
  return rebase(new Parser().parse(turtle), DEFAULT_NAMESPACE, names.namespaceUrl).map(
    ({ subject, predicate, object }) => DataFactory.quad(skolemize(subject), predicate, skolemize(object)),
  );
}
