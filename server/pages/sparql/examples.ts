// Queries to begin with: the page at /sparql offers them, and a test runs them on the demo.
import { DCTERMS, PROV, RDF, RDFS, SKOS, XSD } from "../../../graph/namespaces.ts";
import type { Names } from "../../../graph/namespaces.ts";

export type Example = { title: string; query: string };

/** The prefixes of the examples, in which results are shown too. */
export function prefixesOf({ namespaceUrl }: Pick<Names, "namespaceUrl">): Readonly<Record<string, string>> {
  return {
    ns: namespaceUrl,
    skos: SKOS,
    prov: PROV,
    dct: DCTERMS,
    rdf: RDF,
    rdfs: RDFS,
    xsd: XSD,
  };
}

const EXAMPLES: readonly Example[] = [
  {
    title: "From a need to what was done about it",
    query: `SELECT ?need ?asked ?committed ?done WHERE {
  ?need a ns:Need ; ns:needDescription ?asked .
  ?commitment ns:concernsNeed ?need ; ns:commitmentDescription ?committed .
  OPTIONAL {
    ?attestation ns:fulfillsCommitment ?commitment ; ns:attestationDescription ?done
  }
}
ORDER BY ?need
LIMIT 100`,
  },
  {
    title: "Needs that nobody has committed to",
    query: `SELECT ?need ?organization ?asked WHERE {
  ?need a ns:Need ; ns:needStatus "open" ; ns:orgName ?organization ; ns:needDescription ?asked .
  FILTER NOT EXISTS { ?commitment ns:concernsNeed ?need }
}
LIMIT 100`,
  },
  {
    title: "Needs by accelerator, those of its branches included",
    query: `SELECT ?accelerator (COUNT(DISTINCT ?need) AS ?needs) WHERE {
  ?need a ns:Need ; ns:accelerator/skos:broader* ?concept .
  ?concept skos:prefLabel ?accelerator
}
GROUP BY ?accelerator
ORDER BY DESC(?needs) ?accelerator`,
  },
  {
    title: "Needs by country",
    query: `SELECT ?country (COUNT(?need) AS ?needs) (SUM(IF(?status = "open", 1, 0)) AS ?open) WHERE {
  ?need a ns:Need ; ns:needStatus ?status ; ns:concernsCountry/skos:prefLabel ?country
}
GROUP BY ?country
ORDER BY DESC(?needs) ?country`,
  },
  {
    title: "What each organization has put on record",
    query: `SELECT ?organization ?kind (COUNT(?record) AS ?records) (MAX(?at) AS ?latest) WHERE {
  ?record prov:wasAttributedTo/skos:prefLabel ?organization ; a ?class ; prov:generatedAtTime ?at .
  ?class rdfs:label ?kind
}
GROUP BY ?organization ?kind
ORDER BY ?organization ?kind`,
  },
  {
    title: "Attestations that are about work of others",
    query: `SELECT ?attestation ?by ?committed WHERE {
  ?attestation ns:fulfillsCommitment ?commitment ; prov:wasAttributedTo/skos:prefLabel ?by .
  ?commitment prov:wasAttributedTo/skos:prefLabel ?committed
  FILTER(?by != ?committed)
}
LIMIT 100`,
  },
  {
    title: "Is there a need whose whole chain is complete?",
    query: `ASK {
  ?attestation ns:fulfillsCommitment/ns:concernsNeed ?need
}`,
  },
  {
    title: "The chains as a graph of their own",
    query: `CONSTRUCT {
  ?commitment ns:concernsNeed ?need .
  ?attestation ns:fulfillsCommitment ?commitment
} WHERE {
  ?commitment ns:concernsNeed ?need .
  OPTIONAL { ?attestation ns:fulfillsCommitment ?commitment }
}`,
  },
  {
    title: "All that is known of the latest need",
    query: `DESCRIBE ?need {
  ?need a ns:Need ; prov:generatedAtTime ?at
}
ORDER BY DESC(?at)
LIMIT 1`,
  },
  {
    title: "How much is in each named graph",
    query: `SELECT ?graph (COUNT(*) AS ?triples) WHERE {
  GRAPH ?graph { ?subject ?predicate ?object }
}
GROUP BY ?graph
ORDER BY DESC(?triples)`,
  },
];

/** The examples, each with the prefixes that it uses. */
export function examplesFor(names: Pick<Names, "namespaceUrl">): readonly Example[] {
  const prefixes = Object.entries(prefixesOf(names));
  return EXAMPLES.map(({ title, query }) => {
    const used = prefixes.filter(([prefix]) => new RegExp(`\\b${prefix}:`).test(query));
    const header = used.map(([prefix, iri]) => `PREFIX ${prefix}: <${iri}>\n`).join("");
    return { title, query: `${header}\n${query}\n`.trimStart() };
  });
}
