import type { NamedNode, Quad, Term } from "@rdfjs/types";
import { DataFactory } from "n3";
import { choices } from "../db/catalog.ts";
import { RECORDS } from "../records/index.ts";
import type { RecordKind } from "../records/record.ts";

/** The namespace used in the files in this folder; NAMESPACE_URL replaces it when they are read. */
export const DEFAULT_NAMESPACE = "https://ontology.example.org/core#";

export const RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
export const RDFS = "http://www.w3.org/2000/01/rdf-schema#";
export const XSD = "http://www.w3.org/2001/XMLSchema#";
export const SKOS = "http://www.w3.org/2004/02/skos/core#";
export const PROV = "http://www.w3.org/ns/prov#";
export const DCTERMS = "http://purl.org/dc/terms/";
export const SHACL = "http://www.w3.org/ns/shacl#";
export const FOAF = "http://xmlns.com/foaf/0.1/";
export const ORG = "http://www.w3.org/ns/org#";

/** A list with a named graph of its own, as the database names it. */
export type ListName = (typeof LIST_NAMES)[number];

export const LIST_NAMES = choices["graph_references.name"];

/** A named graph that is written from the tables, by what it holds. */
export type GraphName = RecordKind | ListName;

/** The paths of lists whose graphs existed under these IRIs before the service did. */
const LIST_PATHS: Partial<Record<ListName, string>> = { people_groups: "his", countries: "iso3166" };

/** The two settings that every IRI of the graph depends on (GRAPH_DATA_URL, NAMESPACE_URL). */
export interface NamesConfig {
  /** {graph_data_url}, without a trailing slash */
  graphDataUrl: string;
  /** what `ns:` stands for, with its trailing # or / */
  namespaceUrl: string;
}

/** Every IRI that the service mints, derived from the two settings. */
export interface Names extends NamesConfig {
  /** named graph of each kind of record */
  graphs: Readonly<Record<RecordKind, string>>;
  /** named graph of each list */
  lists: Readonly<Record<ListName, string>>;
  /** graphs and lists together */
  contents: Readonly<Record<GraphName, string>>;
  /** named graph, and the resource in it, with the mark of the whole graph (see graph/turns.ts) */
  turnsGraph: string;
  /** all named graphs of the service */
  namedGraphs: readonly string[];
  /** `ns:EngagementAcceleratorScheme` */
  scheme: string;
  ns: (local: string) => string;
  /** of a prefixed name: `ns:`, `prov:` or `dct:` */
  iri: (prefixed: string) => string;
  record: (kind: RecordKind, id: string) => string;
  peopleGroup: (rop3: string) => string;
  country: (alpha2: string) => string;
  /** the IRI that replaces a blank node of a document (RDF 1.1, section 3.5), by the node's number in it */
  skolem: (document: ListName, place: number) => string;
}

/** Derives all IRIs from the two settings. */
export function createNames({ graphDataUrl, namespaceUrl }: NamesConfig): Names {
  const graphs = Object.fromEntries(
    Object.entries(RECORDS).map(([kind, { path }]) => [kind, `${graphDataUrl}/${path}/`]),
  ) as Record<RecordKind, string>;
  const lists = Object.fromEntries(
    LIST_NAMES.map((name) => [name, `${graphDataUrl}/${LIST_PATHS[name] ?? name}/`]),
  ) as Record<ListName, string>;
  const contents = { ...graphs, ...lists };
  const turnsGraph = `${graphDataUrl}/projection/`;
  const prefixes: Readonly<Record<string, string>> = { ns: namespaceUrl, prov: PROV, dct: DCTERMS };
  // "/.well-known" must come right after the host.
  const [, host = "", path = ""] = /^(\w+:\/\/[^/]*)?(.*)$/.exec(graphDataUrl) ?? [];
  return {
    graphDataUrl,
    namespaceUrl,
    graphs,
    lists,
    contents,
    turnsGraph,
    namedGraphs: [...Object.values(contents), turnsGraph],
    scheme: `${namespaceUrl}EngagementAcceleratorScheme`,
    ns: (local) => namespaceUrl + local,
    iri: (prefixed) => {
      const [prefix = "", local = ""] = prefixed.split(":");
      const base = prefixes[prefix];
      if (base === undefined) throw new TypeError(`${prefixed} has no known prefix`);
      return base + local;
    },
    record: (kind, id) => graphs[kind] + id,
    peopleGroup: (rop3) => `${lists.people_groups}rop3/${encodeURIComponent(rop3)}`,
    country: (alpha2) => lists.countries + encodeURIComponent(alpha2),
    skolem: (document, place) => `${host}/.well-known/genid${path}/${document}/${place}`,
  };
}

/** Moves those terms of `quads` that are in one namespace to another. */
export function rebase(quads: readonly Quad[], from: string, to: string): Quad[] {
  if (from === to) return [...quads];
  const move = <T extends Term>(term: T): T | NamedNode =>
    term.termType === "NamedNode" && term.value.startsWith(from)
      ? DataFactory.namedNode(to + term.value.slice(from.length))
      : term;
  return quads.map((quad) => DataFactory.quad(move(quad.subject), move(quad.predicate), move(quad.object)));
}
