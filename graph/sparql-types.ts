// The datatypes of XML Schema and RDF, the only ones that a literal in a query may have. Jena creates an
// object for every datatype that it meets and never frees it, so a query with three thousand made-up
// datatypes would leave all of them in memory.
import { RDF, XSD } from "./namespaces.ts";
import type { Names } from "./sparql-extensions.ts";
import { quoted, written } from "./sparql-wording.ts";
import type { Named } from "./sparql-wording.ts";

const ofXsd = (names: string) => names.split(" ").map((name) => XSD + name);

export const FLOATING: readonly string[] = ofXsd("double float");
export const NUMBERS: readonly string[] = [
  ...FLOATING,
  ...ofXsd(
    "decimal integer byte short int long unsignedByte unsignedShort unsignedInt unsignedLong positiveInteger " +
      "nonNegativeInteger negativeInteger nonPositiveInteger",
  ),
];
export const DATES: readonly string[] = ofXsd(
  "dateTime dateTimeStamp date time gYear gYearMonth gMonthDay gMonth gDay",
);
export const DURATIONS: readonly string[] = ofXsd("duration dayTimeDuration yearMonthDuration");

const TYPES: ReadonlySet<string> = new Set([
  ...NUMBERS,
  ...DATES,
  ...DURATIONS,
  ...ofXsd(
    "string boolean hexBinary base64Binary anyURI language normalizedString token NMTOKEN Name NCName QName ID IDREF ENTITY",
  ),
  ...["langString", "dirLangString", "HTML", "XMLLiteral", "JSON"].map((name) => RDF + name),
]);

/** Whether any reading of a term's IRI is one of these types. */
export function isAmong(types: readonly string[], term: unknown, names: Names): boolean {
  const { subType, value, prefix } = (term ?? {}) as { subType?: string; value?: string; prefix?: string };
  return subType === "namedNode" && names.all(String(value), prefix).some((iri) => types.includes(iri));
}

/**
 * Why a literal may not have this type; undefined if it may, and for a language tag or
 * anything else that is not an IRI.
 */
export function faultOfUnknown(type: unknown, names: Names): string | undefined {
  const { subType, ...named } = (type ?? {}) as { subType?: string } & Named;
  if (subType !== "namedNode" || names.all(named.value, named.prefix).every((iri) => TYPES.has(iri)))
    return undefined;
  return (
    `The type ${quoted(written(named))} is not available here: a literal may have those of XML Schema and RDF, under their whole names ` +
    'or a prefix; to find values of another, compare as in STR(DATATYPE(?x)) = "…" and STR(?x) = "…".'
  );
}
