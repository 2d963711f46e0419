// What things are called in the graph, and what it says of the lists and documents beside the records.
import { expect, test } from "@jest/globals";
import { Parser } from "n3";
import { documentTriples, readDocuments } from "../graph/documents.ts";
import { createNames, DEFAULT_NAMESPACE, rebase } from "../graph/namespaces.ts";
import { tripleText } from "../graph/ntriples.ts";
import {
  acceleratorTriples,
  countryTriples,
  organizationTriples,
  peopleGroupTriples,
} from "../graph/reference-triples.ts";

const names = createNames({
  graphDataUrl: "https://data.example.org/graph",
  namespaceUrl: "https://own.example.org/ns#",
});
const NS = "https://own.example.org/ns#";
const DATA = "https://data.example.org/graph";
const RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
const skos = (local: string) => `<http://www.w3.org/2004/02/skos/core#${local}>`;
const textOf = (quads: Iterable<Parameters<typeof tripleText>[0]>) => [...quads].map(tripleText);

test("the graph's own names are made of the two settings", () => {
  expect(names.record("need", "1")).toBe(`${names.graphs.need}1`);
  expect(names.graphs.need.startsWith(`${DATA}/`) && names.graphs.need.endsWith("/")).toBe(true);
  expect(new Set(Object.values(names.contents)).size).toBe(Object.keys(names.contents).length);
  expect(names.lists.people_groups).toBe(`${DATA}/his/`);
  expect(names.lists.countries).toBe(`${DATA}/iso3166/`);
  expect(names.turnsGraph).toBe(`${DATA}/projection/`);
  expect(names.namedGraphs.toSorted()).toEqual(
    [...Object.values(names.contents), names.turnsGraph].toSorted(),
  );
  expect(names.scheme).toBe(`${NS}EngagementAcceleratorScheme`);
  expect(names.peopleGroup("1/2")).toBe(`${DATA}/his/rop3/1%2F2`);
  expect(names.country("K E")).toBe(`${DATA}/iso3166/K%20E`);
  // A well-known path stands right behind the host.
  expect(names.skolem("ontology", 7)).toBe("https://data.example.org/.well-known/genid/graph/ontology/7");
});

test("a prefix stands for its namespace, and one that nobody knows for none", () => {
  expect(["ns:Need", "prov:Entity", "dct:title"].map(names.iri)).toEqual([
    `${NS}Need`,
    "http://www.w3.org/ns/prov#Entity",
    "http://purl.org/dc/terms/title",
  ]);
  expect(() => names.iri("foaf:name")).toThrow("foaf:name has no known prefix");
});

test("terms of one namespace are moved to another wherever they stand, and no others", () => {
  const quads = new Parser().parse(
    `<https://a/x> <https://a/y> <https://a/z> . <https://b/x> <https://b/y> "https://a/z" .`,
  );
  expect(textOf(rebase(quads, "https://a/", "https://c/"))).toEqual([
    "<https://c/x> <https://c/y> <https://c/z> .",
    `<https://b/x> <https://b/y> "https://a/z" .`,
  ]);
  expect(rebase(quads, "https://a/", "https://a/")).toEqual(quads);
});

test("a blank node of a document has one name, the same each time, and another has another", () => {
  const turtle = `@prefix ns: <${DEFAULT_NAMESPACE}> . _:a ns:p [ ns:q 1 ] . ns:s ns:p _:a .`;
  const texts = textOf(documentTriples(turtle, "shapes", names));
  const node = (place: number) => `<${names.skolem("shapes", place)}>`;
  const one = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>';
  // The parser comes to the end of an inner node first.
  expect(texts).toEqual([
    `${node(1)} <${NS}q> ${one} .`,
    `${node(2)} <${NS}p> ${node(1)} .`,
    `<${NS}s> <${NS}p> ${node(2)} .`,
  ]);
  expect(textOf(documentTriples(turtle, "shapes", names))).toEqual(texts);
  for (const [name, text] of Object.entries(readDocuments())) {
    const triples = textOf(documentTriples(text, name as "shapes", names));
    expect(triples.length).toBeGreaterThan(50);
    expect(triples.filter((line) => line.includes("_:") || line.includes(DEFAULT_NAMESPACE))).toEqual([]);
  }
  expect(Object.keys(readDocuments()).toSorted()).toEqual(["ontology", "shapes"]);
});

test("an accelerator is a concept of the scheme, below another or at its top, and stays when it is deprecated", () => {
  const base = { kind: "accelerator" as const, definition: null, broaderCode: null, deprecated: false };
  const upper = { ...base, code: "A", conceptUri: "urn:a", prefLabel: "Upper", definition: "What it is" };
  const lower = {
    ...base,
    code: "A1",
    conceptUri: "urn:a1",
    prefLabel: "Lower",
    broaderCode: "A",
    deprecated: true,
  };
  const scheme = `<${names.scheme}>`;
  expect(textOf(acceleratorTriples([lower, upper], names))).toEqual([
    `${scheme} ${RDF_TYPE} ${skos("ConceptScheme")} .`,
    `${scheme} ${skos("prefLabel")} "Engagement accelerators"@en .`,
    `<urn:a1> ${skos("notation")} "A1" .`,
    `<urn:a1> ${RDF_TYPE} ${skos("Concept")} .`,
    `<urn:a1> ${RDF_TYPE} <${NS}EngagementAccelerator> .`,
    `<urn:a1> ${skos("inScheme")} ${scheme} .`,
    `<urn:a1> ${skos("prefLabel")} "Lower"@en .`,
    `<urn:a1> ${skos("broader")} <urn:a> .`,
    '<urn:a1> <http://www.w3.org/2002/07/owl#deprecated> "true"^^<http://www.w3.org/2001/XMLSchema#boolean> .',
    `<urn:a> ${skos("notation")} "A" .`,
    `<urn:a> ${RDF_TYPE} ${skos("Concept")} .`,
    `<urn:a> ${RDF_TYPE} <${NS}EngagementAccelerator> .`,
    `<urn:a> ${skos("inScheme")} ${scheme} .`,
    `<urn:a> ${skos("prefLabel")} "Upper"@en .`,
    `<urn:a> ${skos("definition")} "What it is"@en .`,
    `<urn:a> ${skos("topConceptOf")} ${scheme} .`,
  ]);
});

test("people groups and countries are concepts of their kind, with code and name", () => {
  const group = `<${names.peopleGroup("100001")}>`;
  expect(textOf(peopleGroupTriples([{ rop3: "100001", name: "Some" }], names))).toEqual([
    `${group} ${RDF_TYPE} ${skos("Concept")} .`,
    `${group} ${RDF_TYPE} <${NS}PeopleGroup> .`,
    `${group} ${skos("notation")} "100001" .`,
    `${group} ${skos("prefLabel")} "Some" .`,
  ]);
  const country = `<${names.country("KE")}>`;
  expect(textOf(countryTriples([{ alpha2: "KE", name: "Kenya" }], names))).toEqual([
    `${country} ${RDF_TYPE} ${skos("Concept")} .`,
    `${country} ${RDF_TYPE} <http://purl.org/dc/terms/Location> .`,
    `${country} ${skos("notation")} "KE" .`,
    `${country} ${skos("prefLabel")} "Kenya" .`,
  ]);
});

test("of an organization the graph says its name, and its kind and website if it has them", () => {
  const bare = { orgUri: "urn:o", name: "River", type: null, website: null };
  const always = [
    `<urn:o> ${RDF_TYPE} <http://www.w3.org/ns/org#Organization> .`,
    `<urn:o> ${RDF_TYPE} <${NS}Organization> .`,
    `<urn:o> ${skos("prefLabel")} "River" .`,
  ];
  expect(textOf(organizationTriples([bare], names))).toEqual(always);
  expect(
    textOf(organizationTriples([{ ...bare, type: "agency", website: "https://river.example.org" }], names)),
  ).toEqual([
    ...always,
    `<urn:o> <${NS}orgType> "agency" .`,
    "<urn:o> <http://xmlns.com/foaf/0.1/homepage> <https://river.example.org> .",
  ]);
});
