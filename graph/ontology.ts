// The definitions of codes. graph/ontology.ttl is the only place that says what a status means.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Parser } from "n3";
import { DEFAULT_NAMESPACE, SKOS } from "./namespaces.ts";

/** Text of graph/ontology.ttl, in the default namespace. */
export function readOntology(): string {
  return readFileSync(join(import.meta.dirname, "ontology.ttl"), "utf8");
}

/**
 * The definitions of the codes that a property takes, by code; empty if no scheme defines them.
 * @param property prefixed, such as ns:needStatus; its codes are the notations of ns:NeedStatusScheme
 */
export function codeDefinitions(property: string): ReadonlyMap<string, string> {
  const local = property.slice("ns:".length);
  const scheme = `${DEFAULT_NAMESPACE}${local.charAt(0).toUpperCase()}${local.slice(1)}Scheme`;
  const concepts = new Map<string, Record<string, string>>();
  for (const { subject, predicate, object } of new Parser().parse(readOntology())) {
    const said = concepts.get(subject.value) ?? {};
    said[predicate.value] = object.value;
    concepts.set(subject.value, said);
  }
  return new Map(
    [...concepts.values()]
      .filter((said) => said[`${SKOS}inScheme`] === scheme)
      .map((said) => [said[`${SKOS}notation`] ?? "", said[`${SKOS}definition`] ?? ""]),
  );
}
