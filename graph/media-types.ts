// The result formats of SPARQL 1.1 and RDF, and how an Accept header chooses among them.
import Negotiator from "negotiator";

export const RESULTS_JSON = "application/sparql-results+json";
export const RESULTS_XML = "application/sparql-results+xml";
const CSV = "text/csv";
const TSV = "text/tab-separated-values";
export const TURTLE = "text/turtle";
export const N_TRIPLES = "application/n-triples";
export const JSON_LD = "application/ld+json";
export const RDF_XML = "application/rdf+xml";

// By media type, the format's name in http://www.w3.org/ns/formats/, which service descriptions use.
const BINDING_FORMATS: Readonly<Record<string, string>> = {
  [RESULTS_JSON]: "SPARQL_Results_JSON",
  [RESULTS_XML]: "SPARQL_Results_XML",
  [CSV]: "SPARQL_Results_CSV",
  [TSV]: "SPARQL_Results_TSV",
};
const GRAPH_FORMATS: Readonly<Record<string, string>> = {
  [TURTLE]: "Turtle",
  [N_TRIPLES]: "N-Triples",
  [JSON_LD]: "JSON-LD",
  [RDF_XML]: "RDF_XML",
};

/** The formats of answers to SELECT and ASK; the first is the default. */
export const BINDING_TYPES: readonly string[] = Object.keys(BINDING_FORMATS);

/** The formats of answers to CONSTRUCT, DESCRIBE and requests for whole graphs; the first is the default. */
export const GRAPH_TYPES: readonly string[] = Object.keys(GRAPH_FORMATS);

/** The IRIs of all formats in http://www.w3.org/ns/formats/. */
export const FORMAT_IRIS: readonly string[] = [
  ...Object.values(BINDING_FORMATS),
  ...Object.values(GRAPH_FORMATS),
].map((name) => `http://www.w3.org/ns/formats/${name}`);

/** Plain names that callers use for the SPARQL result formats. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ["application/json", RESULTS_JSON],
  ["application/xml", RESULTS_XML],
  ["text/xml", RESULTS_XML],
]);

/** `type/subtype` of a Content-Type or Accept item, in lower case and without its parameters. */
export function mediaType(header: string | undefined): string {
  return (header ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

// Parameters other than the weight (q) are removed, because an offer stands for its type with any parameters.
const PARAMETERS_BUT_WEIGHT = /;(?!\s*q\s*=)[^;,]*/gi;

/**
 * The offer that an Accept header prefers, as Express would choose it; without a header, the first.
 * @returns undefined if it accepts none of them (HTTP 406)
 */
export function negotiate(accept: string | undefined, offers: readonly string[]): string | undefined {
  const ranges = accept?.replace(PARAMETERS_BUT_WEIGHT, "").trim();
  return new Negotiator({ headers: { accept: ranges || undefined } }).mediaType(offers);
}
