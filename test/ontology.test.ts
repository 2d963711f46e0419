// What partners read about the graph, in the ontology and in the shapes: it says of each property what the service writes.
import { describe, expect, test } from "@jest/globals";
import { Parser } from "n3";
import { readShapes } from "../graph/load-check.ts";
import { createNames, DCTERMS, DEFAULT_NAMESPACE, RDF, RDFS, SHACL, SKOS, XSD } from "../graph/namespaces.ts";
import { tripleText } from "../graph/ntriples.ts";
import { readOntology } from "../graph/ontology.ts";
import { readStarterVocabulary } from "../graph/skos.ts";
import { createTripleBuilder } from "../graph/triples.ts";
import { RECORDS } from "../records/index.ts";
import { fieldsOf } from "../records/record.ts";
import type { Field, RecordDescription } from "../records/record.ts";

const OWL = "http://www.w3.org/2002/07/owl#";
const DATA = "https://data.example.org";
const names = createNames({ graphDataUrl: DATA, namespaceUrl: DEFAULT_NAMESPACE });
const ontology = reader(readOntology());
const shapes = reader(readShapes());

/** What a text says of a subject, and of which subjects it says something. */
function reader(turtle: string) {
  const quads = new Parser().parse(turtle);
  const all = (subject: string, predicate: string) =>
    quads
      .filter((quad) => quad.subject.value === subject && quad.predicate.value === predicate)
      .map(({ object }) => object.value);
  const subjects = (predicate: string, object?: string) =>
    quads
      .filter((quad) => quad.predicate.value === predicate && (!object || quad.object.value === object))
      .map(({ subject }) => subject.value);
  return { all, subjects };
}

const LISTED: Partial<Record<Field["type"], string>> = {
  acceleratorCodes: names.ns("EngagementAccelerator"),
  rop3: names.ns("PeopleGroup"),
  rop3s: names.ns("PeopleGroup"),
  countryCode: `${DCTERMS}Location`,
  countryCodes: `${DCTERMS}Location`,
};
const TYPED: Partial<Record<Field["type"], string>> = { date: `${XSD}date`, timestamp: `${XSD}dateTime` };

/** What a field has in the graph: its properties, whether each is a link, and to what. */
function propertiesOf({ type, graph }: Field): { property: string; isLink: boolean; range: string }[] {
  const text = `${XSD}string`;
  if (typeof graph === "string")
    return [{ property: names.iri(graph), isLink: type === "httpUri", range: TYPED[type] ?? text }];
  if ("withheld" in graph) return [];
  const property = names.iri(graph.link);
  if ("to" in graph) return [{ property, isLink: true, range: names.iri(RECORDS[graph.to].class) }];
  return [
    { property, isLink: true, range: LISTED[type]! },
    { property: names.iri(graph.code), isLink: false, range: text },
  ];
}

type Use = { record: RecordDescription; field: ReturnType<typeof fieldsOf>[number] } & ReturnType<
  typeof propertiesOf
>[number];
const uses = Object.values<RecordDescription>(RECORDS).flatMap((record) =>
  fieldsOf(record).flatMap((field) => propertiesOf(field).map((said): Use => ({ record, field, ...said }))),
);
const byProperty = [...Map.groupBy(uses, ({ property }) => property)];

const ours = byProperty.filter(([property]) => property.startsWith(DEFAULT_NAMESPACE));

test.each(ours)("%s has the kind, the domain and the range of what is written", (property, all) => {
  const [{ isLink, range }] = all as [Use];
  const classes = new Set(all.map(({ record }) => names.iri(record.class)));
  expect({
    kind: ontology.all(property, `${RDF}type`),
    domain: ontology.all(property, `${RDFS}domain`),
    range: ontology.all(property, `${RDFS}range`),
  }).toEqual({
    kind: [`${OWL}${isLink ? "Object" : "Datatype"}Property`],
    domain: classes.size === 1 ? [...classes] : [],
    range: [range],
  });
});

describe.each(byProperty)("%s", (property, all) => {
  const [{ isLink, range }] = all as [Use];

  test("is explained by the fields that it is made of, and by how often it is there", () => {
    const [comment] = ontology.all(property, `${RDFS}comment`) as [string];
    // A code is explained by the link beside it.
    if (isLink || all.every(({ field }) => typeof field.graph === "string")) {
      const named = comment.split(/[:.]|, in /)[0]!.split(/, | or /);
      expect(new Set(named)).toEqual(new Set(all.map(({ field }) => field.name)));
    }
    const often = new Set(
      all.map(({ field: { type, input } }) =>
        type.endsWith("s") && type !== "status"
          ? input === "required" && "At least one."
          : `${input === "optional" ? "At most" : "Exactly"} one.`,
      ),
    );
    const [expected] = often.size === 1 ? often : [false];
    const said = /(At least|At most|Exactly) one\.$/.exec(comment)?.[0] ?? false;
    expect(said).toBe(property === names.ns("acceleratorCode") ? false : expected);
  });

  test("is checked for what the ontology says of it", () => {
    for (const shape of shapes.subjects(`${SHACL}path`, property)) {
      for (const checked of ["class", "datatype"])
        for (const value of shapes.all(shape, SHACL + checked)) expect(value).toBe(range);
    }
  });
});

test("what a domain or a range speaks of is explained, and nothing is explained like another", () => {
  const kinds = [`${OWL}Class`, `${SKOS}ConceptScheme`];
  const explained = kinds.flatMap((kind) => ontology.subjects(`${RDF}type`, kind));
  const properties = ["Object", "Datatype"].flatMap((kind) =>
    ontology.subjects(`${RDF}type`, `${OWL}${kind}Property`),
  );
  const named = properties.flatMap((property) =>
    [...ontology.all(property, `${RDFS}domain`), ...ontology.all(property, `${RDFS}range`)].filter((term) =>
      term.startsWith(DEFAULT_NAMESPACE),
    ),
  );
  expect(named.filter((term) => !explained.includes(term))).toEqual([]);
  const texts = (terms: readonly string[], predicate: string) =>
    terms.flatMap((term) => ontology.all(term, predicate));
  const classes = ontology.subjects(`${RDF}type`, `${OWL}Class`);
  const concepts = ontology.subjects(`${RDF}type`, `${SKOS}Concept`);
  for (const [terms, predicate] of [
    [classes, `${RDFS}label`],
    [classes, `${RDFS}comment`],
    [properties, `${RDFS}comment`],
    [ontology.subjects(`${RDF}type`, `${SKOS}ConceptScheme`), `${SKOS}prefLabel`],
    [concepts, `${SKOS}definition`],
  ] as const) {
    const said = texts(terms, predicate);
    expect(said).toHaveLength(terms.length);
    expect(new Set(said).size).toBe(terms.length);
  }
});

test("a status is named by its scheme and its notation", () => {
  const schemes = ontology.subjects(`${RDF}type`, `${SKOS}ConceptScheme`);
  expect(schemes).toHaveLength(Object.keys(RECORDS).length);
  for (const concept of ontology.subjects(`${RDF}type`, `${SKOS}Concept`)) {
    const [scheme] = ontology.all(concept, `${SKOS}inScheme`) as [string];
    const [notation] = ontology.all(concept, `${SKOS}notation`);
    expect(schemes).toContain(scheme);
    const local = scheme.slice(DEFAULT_NAMESPACE.length).replace(/Scheme$/, "");
    expect(concept).toBe(names.ns(`${local[0]!.toLowerCase()}${local.slice(1)}-${notation}`));
  }
});

test("the ontology lists the named graphs that there are", () => {
  const listed = readOntology().match(/^# {3}\{GRAPH_DATA_URL\}\/\S+/gm) ?? [];
  expect(listed.map((line) => line.replace(/^# +\{GRAPH_DATA_URL\}/, DATA)).toSorted()).toEqual(
    names.namedGraphs.toSorted(),
  );
});

test("the ontology's example is what the service writes", () => {
  const text = readOntology();
  const prefixes = text.match(/^@prefix .*$/gm)!.join("\n");
  const example = text.slice(text.indexOf("# data:commitments")).replaceAll(/^# ?/gm, "");
  const quads = new Parser().parse(`${prefixes}\n@prefix data: <${DATA}/> .\n${example}`);
  const id = "00000000-0000-4000-8000-000000000002";
  const moment = "2026-01-02T03:04:05.123456";
  const row = {
    ...{ commitment_id: id, org_uri: `${DATA}/org/river-mission`, org_name: "River Mission" },
    ...{ commitment_description: "We record the Gospel of Luke.", status: "declared" },
    ...{ accelerator_scope: ["SRA-AUD"], concerns_need_id: "00000000-0000-4000-8000-000000000001" },
    ...{ concerns_people_group_rop3: ["104425"], concerns_country_code: ["KE"] },
    ...{ target_completion_date: "2031-02-28", created_at: moment, updated_at: moment },
  };
  const concepts = new Map([["SRA-AUD", names.ns("SRA-AUD")]]);
  const written = createTripleBuilder(names)({ kind: "commitment", row }, concepts).quads;
  expect(quads.map(tripleText).toSorted()).toEqual(written.map(tripleText).toSorted());
});

describe("what the sender of a refused record is shown", () => {
  const KINDS = { Need: "need", Commitment: "commitment", Attestation: "attestation" };
  test.each(Object.entries(KINDS))("of a record of kind %s speaks of that", (shape, kind) => {
    const rules = shapes.all(`${DEFAULT_NAMESPACE}shape/${shape}`, `${SHACL}property`);
    expect(rules.length).toBeGreaterThan(9);
    const messages = rules.map((rule) => {
      const [message, another] = shapes.all(rule, `${SHACL}message`);
      expect(another).toBeUndefined();
      return message!;
    });
    const others = Object.values(KINDS).filter((other) => other !== kind);
    const beginnings = new RegExp(`^An? (${others.join("|")})\\b|the (${others.join("|")}) statuses`);
    expect(messages.filter((message) => beginnings.test(message))).toEqual([]);
  });
});

test("the starter list names at its top the concepts that are below none, and no others", () => {
  const { all, subjects } = reader(readStarterVocabulary());
  const concepts = subjects(`${RDF}type`, `${SKOS}Concept`);
  const tops = concepts.filter((concept) => all(concept, `${SKOS}broader`).length === 0).toSorted();
  expect(all(names.scheme, `${SKOS}hasTopConcept`).toSorted()).toEqual(tops);
  expect(subjects(`${SKOS}topConceptOf`, names.scheme).toSorted()).toEqual(tops);
  expect(subjects(`${SKOS}inScheme`, names.scheme).toSorted()).toEqual(concepts.toSorted());
  for (const label of ["prefLabel", "definition"]) {
    const texts = concepts.flatMap((concept) => all(concept, SKOS + label));
    expect([texts.length, new Set(texts).size]).toEqual([concepts.length, concepts.length]);
  }
  for (const concept of concepts) expect(all(concept, `${SKOS}notation`).map(names.ns)).toEqual([concept]);
});
