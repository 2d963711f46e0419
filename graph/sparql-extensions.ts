// The extensions that engines add within the grammar of SPARQL: functions, aggregates and properties that
// compute. Some of them do more than compute: they wait, load a class, or take as long as their caller likes,
// and no time limit ends them.
import { XSD } from "./namespaces.ts";
import { DURATIONS, NUMBERS } from "./sparql-types.ts";

const XPATH = "http://www.w3.org/2005/xpath-functions#";
const ARQ = "http://jena.apache.org/ARQ/";
const GEOSPARQL = "http://www.opengis.net/ont/geosparql#";
const parts = (of: string, ...names: string[]) => names.map((name) => `${XPATH}${name}-from-${of}`);

/**
 * The functions that a query may call by their IRI, all known to be quick whatever their arguments. Left out
 * are functions that call others (fn:apply), match patterns (fn:matches, fn:replace), or make numbers of any
 * length (math:pow; fn:round with its second argument) or durations of any length (their casts).
 */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...NUMBERS,
  ...[
    "boolean",
    "string",
    "anyURI",
    "dateTime",
    "date",
    "time",
    "gYear",
    "gYearMonth",
    "gMonth",
    "gMonthDay",
    "gDay",
  ].map((type) => XSD + type),
  ...["string-length", "upper-case", "lower-case", "normalize-space", "contains", "starts-with", "ends-with"]
    .concat("substring-before", "substring-after", "abs", "ceiling", "floor", "not", "concat")
    .map((name) => XPATH + name),
  ...parts("date", "year", "month", "day", "timezone"),
  ...parts("dateTime", "year", "month", "day", "hours", "minutes", "seconds", "timezone"),
  ...parts("time", "hours", "minutes", "seconds", "timezone"),
  ...parts("duration", "years", "months", "days", "hours", "minutes", "seconds"),
  ...["pi", "exp", "exp10", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"].map(
    (name) => `${XPATH.replace("#", "/math#")}${name}`,
  ),
]);

/**
 * The beginnings of IRIs for which Jena computes something instead of matching a triple, or loads a class.
 * rdfs:member is computed too, but is left out: it is a word of RDF and only reads.
 */
const COMPUTING = [
  "java:",
  ARQ,
  "http://jena.hpl.hp.com/ARQ",
  "http://jena.apache.org/text#",
  "http://jena.apache.org/spatial#",
  GEOSPARQL,
  "http://www.dotnetrdf.org/leviathan#",
];

/** The base IRI of a query without BASE: some address of the store. */
const STORE = "http://store.invalid/engagement/query";

/** Resolves the IRIs of a query by its prologue. */
export class Names {
  #base = STORE;
  readonly #prefixes = new Map<string, { iri: string; resolved: string }>();

  declareBase(iri: string): void {
    this.#base = this.#resolved(iri);
  }

  declarePrefix(prefix: string, iri: string): void {
    // Resolved by the base at that line, since another one may follow.
    this.#prefixes.set(prefix, { iri, resolved: this.#resolved(iri) });
  }

  /**
   * Every IRI that an engine may read here: some engines remove dot segments from an
   * absolute IRI, others do not.
   */
  all(iri: string, prefix: string | undefined): readonly string[] {
    if (prefix === undefined) return [iri, this.#resolved(iri)];
    const { iri: namespace, resolved } = this.#prefixes.get(prefix) ?? { iri: "", resolved: "" };
    const local = iri.replaceAll(/\\(.)/g, "$1");
    return [namespace, this.#resolved(namespace), resolved].flatMap((start) => [
      start + local,
      this.#resolved(start + local),
    ]);
  }

  #resolved(iri: string): string {
    return URL.parse(iri, this.#base)?.href ?? iri;
  }
}

/** Whether all readings of a name are functions that may be called with so many arguments. */
export function isFunction(readings: readonly string[], given: number): boolean {
  return readings.every((iri) => FUNCTIONS.has(iri) || (iri === `${XPATH}round` && given === 1));
}

/** Replacements for some names that are not allowed. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ...DURATIONS.map(
    (type) =>
      [
        type,
        'write a duration out, as in "P30D"^^xsd:dayTimeDuration or "P1M"^^xsd:yearMonthDuration',
      ] as const,
  ),
  [`${XPATH}matches`, "use REGEX"],
  [`${XPATH}replace`, "use REPLACE"],
  [`${XPATH}round`, "give it one argument, as in fn:round(100 * ?x) / 100"],
  [`${XPATH.replace("#", "/math#")}pow`, "use a product, as in ?x * ?x"],
  [`${ARQ}function#localname`, 'use REPLACE, as in REPLACE(STR(?x), "^.*[/#]", "")'],
  ...["wkt", "gml", "geoJSON", "kml"].map(
    (format) =>
      [
        `${GEOSPARQL}${format}Literal`,
        'to find values of this type, compare as in STR(DATATYPE(?x)) = "…"',
      ] as const,
  ),
]);

/** What to write instead of a name that is not allowed in a query. */
export function insteadOf(readings: readonly string[]): string | undefined {
  return readings.map((iri) => INSTEAD.get(iri)).find((advice) => advice !== undefined);
}

/** Whether any reading of a name is a function that returns a duration. */
export function isTimezone(readings: readonly string[]): boolean {
  return readings.some((iri) => iri.startsWith(`${XPATH}timezone-from-`));
}

/** Whether any reading of a name makes an engine compute. */
export function isComputing(readings: readonly string[]): boolean {
  // One reading has its scheme and host in lower case; the rest of an IRI is case-sensitive.
  return readings.some((iri) => COMPUTING.some((start) => iri.startsWith(start)));
}
