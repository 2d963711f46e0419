import type { Quad } from "@rdfjs/types";
import { DCTERMS, FOAF, ORG, RDF, SKOS, XSD } from "./namespaces.ts";
import type { Names } from "./namespaces.ts";
import { literal, namedNode, triple } from "./terms.ts";
import type { Accelerator, Country, PeopleGroup } from "./skos.ts";

/** What the graph says about the accelerators; deprecated ones stay, marked with owl:deprecated. */
export function* acceleratorTriples(
  accelerators: Iterable<Accelerator & { deprecated: boolean }>,
  names: Names,
): Generator<Quad> {
  const scheme = namedNode(names.scheme);
  yield triple(scheme, namedNode(`${RDF}type`), namedNode(`${SKOS}ConceptScheme`));
  yield triple(scheme, namedNode(`${SKOS}prefLabel`), literal("Engagement accelerators", "en"));
  const all = [...accelerators];
  const iris = new Map(all.map((accelerator) => [accelerator.code, accelerator.conceptUri]));
  const current = new Set(all.filter(({ deprecated }) => !deprecated).map(({ conceptUri }) => conceptUri));
  for (const accelerator of all) {
    const concept = namedNode(accelerator.conceptUri);
    yield triple(concept, namedNode(`${SKOS}notation`), literal(accelerator.code));
    // A new edition may give a concept another code. Records keep the old code, so its notation stays;
    // everything else is stated with the new one.
    if (accelerator.deprecated && current.has(accelerator.conceptUri)) continue;
    yield triple(concept, namedNode(`${RDF}type`), namedNode(`${SKOS}Concept`));
    yield triple(concept, namedNode(`${RDF}type`), namedNode(names.ns("EngagementAccelerator")));
    yield triple(concept, namedNode(`${SKOS}inScheme`), scheme);
    yield triple(concept, namedNode(`${SKOS}prefLabel`), literal(accelerator.prefLabel, "en"));
    if (accelerator.definition !== null) {
      yield triple(concept, namedNode(`${SKOS}definition`), literal(accelerator.definition, "en"));
    }
    const broader = accelerator.broaderCode === null ? undefined : iris.get(accelerator.broaderCode);
    if (broader === undefined) yield triple(concept, namedNode(`${SKOS}topConceptOf`), scheme);
    else yield triple(concept, namedNode(`${SKOS}broader`), namedNode(broader));
    if (accelerator.deprecated) {
      const boolean = namedNode(`${XSD}boolean`);
      yield triple(concept, namedNode("http://www.w3.org/2002/07/owl#deprecated"), literal("true", boolean));
    }
  }
}

/** What the graph says about the registered people groups. */
export function* peopleGroupTriples(groups: Iterable<PeopleGroup>, names: Names): Generator<Quad> {
  for (const { rop3, name } of groups) {
    yield* describe(names.peopleGroup(rop3), names.ns("PeopleGroup"), rop3, name);
  }
}

/** What the graph says about the countries of ISO 3166-1. */
export function* countryTriples(countries: Iterable<Country>, names: Names): Generator<Quad> {
  for (const { alpha2, name } of countries) {
    yield* describe(names.country(alpha2), `${DCTERMS}Location`, alpha2, name);
  }
}

/** An organization, as far as the graph shows it. */
export interface Organization {
  orgUri: string;
  name: string;
  type: string | null;
  website: string | null;
}

/** What the graph says about the organizations, which is nothing about the people who act for them. */
export function* organizationTriples(organizations: Iterable<Organization>, names: Names): Generator<Quad> {
  for (const { orgUri, name, type, website } of organizations) {
    const subject = namedNode(orgUri);
    yield triple(subject, namedNode(`${RDF}type`), namedNode(`${ORG}Organization`));
    yield triple(subject, namedNode(`${RDF}type`), namedNode(names.ns("Organization")));
    yield triple(subject, namedNode(`${SKOS}prefLabel`), literal(name));
    if (type !== null) yield triple(subject, namedNode(names.ns("orgType")), literal(type));
    if (website !== null) yield triple(subject, namedNode(`${FOAF}homepage`), namedNode(website));
  }
}

function* describe(iri: string, type: string, notation: string, label: string): Generator<Quad> {
  const subject = namedNode(iri);
  yield triple(subject, namedNode(`${RDF}type`), namedNode(`${SKOS}Concept`));
  yield triple(subject, namedNode(`${RDF}type`), namedNode(type));
  yield triple(subject, namedNode(`${SKOS}notation`), literal(notation));
  yield triple(subject, namedNode(`${SKOS}prefLabel`), literal(label));
}
