// The result formats of SPARQL 1.1 and RDF, and the choice among them by an Accept header.

export const RESULTS_JSON = "application/sparql-results+json";
export const RESULTS_XML = "application/sparql-results+xml";
export const CSV = "text/csv";
export const TSV = "text/tab-separated-values";
export const TURTLE = "text/turtle";
export const N_TRIPLES = "application/n-triples";
export const JSON_LD = "application/ld+json";
export const RDF_XML = "application/rdf+xml";

/** What SELECT and ASK can answer; the first is the default. */
export const BINDING_TYPES: readonly string[] = [RESULTS_JSON, RESULTS_XML, CSV, TSV];

/** What CONSTRUCT, DESCRIBE and whole graphs can answer; the first is the default. */
export const GRAPH_TYPES: readonly string[] = [TURTLE, N_TRIPLES, JSON_LD, RDF_XML];

/** Plain names that callers use for the SPARQL result formats. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ["application/json", RESULTS_JSON],
  ["application/xml", RESULTS_XML],
  ["text/xml", RESULTS_XML],
]);

interface Range {
  type: string;
  quality: number;
}

/** `type/subtype` of a Content-Type or Accept item, in lower case and without its parameters. */
export function mediaType(header: string | undefined): string {
  return (header ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/**
 * The offer that an Accept header likes best; among equals the earlier offer.
 * No header means anything goes.
 * @returns undefined when it accepts none of them (HTTP 406)
 */
export function negotiate(accept: string | undefined, offers: readonly string[]): string | undefined {
  const ranges = parseAccept(accept ?? "");
  if (ranges.length === 0) return offers[0];
  let best: string | undefined;
  let bestQuality = 0;
  for (const offer of offers) {
    const quality = qualityOf(offer, ranges);
    if (quality > bestQuality) {
      best = offer;
      bestQuality = quality;
    }
  }
  return best;
}

function parseAccept(header: string): Range[] {
  return header
    .split(",")
    .map((item) => {
      const weight = /;\s*q\s*=\s*([0-9.]+)/i.exec(item)?.[1];
      const quality = weight === undefined ? 1 : Number(weight);
      return { type: mediaType(item), quality: Number.isNaN(quality) ? 0 : Math.min(quality, 1) };
    })
    .filter((range) => range.type.includes("/"));
}

// The most specific range that matches decides, as in RFC 9110, section 12.5.1.
function qualityOf(offer: string, ranges: readonly Range[]): number {
  const family = `${offer.slice(0, offer.indexOf("/"))}/*`;
  for (const pattern of [offer, family, "*/*"]) {
    const range = ranges.find((candidate) => candidate.type === pattern);
    if (range) return range.quality;
  }
  return 0;
}
