// What partners read about the graph: the ontology, the messages of the shapes, and the starter list.
import type { Mistake } from "../mistake.ts";

const ONTOLOGY = { tests: ["ontology"], file: "graph/ontology.ttl" };

export const ONTOLOGY_TEXTS: readonly Mistake[] = [
  {
    ...ONTOLOGY,
    rule: "a link goes from the kind of record that has it",
    before: "rdfs:domain ns:FulfillmentCommitment ; rdfs:range ns:Need ;",
    after: "rdfs:domain ns:Need ; rdfs:range ns:Need ;",
  },
  {
    ...ONTOLOGY,
    rule: "a property has the range of what is written: a date is no time",
    before: "rdfs:domain ns:FulfillmentCommitment ; rdfs:range xsd:date ;",
    after: "rdfs:domain ns:FulfillmentCommitment ; rdfs:range xsd:dateTime ;",
  },
  {
    ...ONTOLOGY,
    rule: "what several kinds of record have is of no kind alone",
    before: "ns:orgName a owl:DatatypeProperty ;",
    after: "ns:orgName a owl:DatatypeProperty ; rdfs:domain ns:Need ;",
  },
  {
    ...ONTOLOGY,
    rule: "a link is said to be one",
    before: "ns:concernsCountry a owl:ObjectProperty ;",
    after: "ns:concernsCountry a owl:DatatypeProperty ;",
  },
  {
    ...ONTOLOGY,
    rule: "each status has a meaning of its own",
    before: '"Interrupted."@en',
    after: '"Over."@en',
  },
  {
    ...ONTOLOGY,
    rule: "each class has a name of its own",
    before: 'rdfs:label "Commitment"',
    after: 'rdfs:label "Need"',
  },
  {
    ...ONTOLOGY,
    rule: "how often a property is there is said as it is",
    before: '"targetCompletionDate. At most one."',
    after: '"targetCompletionDate. Exactly one."',
  },
  {
    ...ONTOLOGY,
    rule: "a property is explained by the field that it is made of",
    before: '"createdAt, in UTC. Exactly one."',
    after: '"updatedAt, in UTC. Exactly one."',
  },
  {
    ...ONTOLOGY,
    rule: "a status is named by its scheme and its notation",
    before: "ns:attestationStatus-paused a",
    after: "ns:commitmentStatus-paused a",
  },
  {
    ...ONTOLOGY,
    rule: "the named graphs are listed where they are",
    before: "{GRAPH_DATA_URL}/engagement-claims/   engagement",
    after: "{GRAPH_DATA_URL}/attestations/   engagement",
  },
  {
    ...ONTOLOGY,
    rule: "the example is what the service writes",
    before: '#     dct:identifier "00000000-0000-4000-8000-000000000002" ;',
    after: '#     ns:commitmentId "00000000-0000-4000-8000-000000000002" ;',
  },
  {
    ...ONTOLOGY,
    rule: "the sender of a refused need reads of needs",
    file: "graph/shapes.ttl",
    before: '"A need must have one status, which must be one of the need statuses."',
    after: '"A commitment must have one status, which must be one of the commitment statuses."',
  },
  {
    ...ONTOLOGY,
    rule: "the starter list names all that is at its top",
    file: "graph/vocabulary/accelerators.ttl",
    before: "skos:hasTopConcept ns:PRA, ns:VIS, ns:MOB,",
    after: "skos:hasTopConcept ns:PRA, ns:VIS,",
  },
  {
    ...ONTOLOGY,
    rule: "two concepts of the starter list have two names",
    file: "graph/vocabulary/accelerators.ttl",
    before: 'skos:prefLabel "Prayer networks"@en',
    after: 'skos:prefLabel "Prayer mobilization"@en',
  },
  {
    rule: "an id is a UUID with nothing behind it",
    file: "graph/shapes.ttl",
    before: '-[0-9a-f]{12}$"',
    after: '-[0-9a-f]{12}"',
    tests: ["load-check"],
    only: "need.id is refused in another form",
  },
  {
    rule: "an id is a UUID with nothing before it",
    file: "graph/shapes.ttl",
    before: '"^[0-9a-f]{8}-',
    after: '"[0-9a-f]{8}-',
    tests: ["load-check"],
    only: "need.id is refused in another form",
  },
  {
    rule: "the URI of an organization begins with its scheme",
    file: "graph/shapes.ttl",
    before: 'sh:pattern "^https?://',
    after: 'sh:pattern "https?://',
    tests: ["load-check"],
    only: "need.orgUri is refused",
  },
  {
    rule: "the URI of an organization is one to its end",
    file: "graph/shapes.ttl",
    before: '|\\\\\\\\^`]*$" ;',
    after: '|\\\\\\\\^`]*" ;',
    tests: ["load-check"],
    only: "need.orgUri is refused",
  },
];
