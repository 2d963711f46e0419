// The types that a literal of a query may have. Jena makes an object of each type that it meets and forgets none, so that a query
// with three thousand names of its own leaves all of them behind.
import { RDF, XSD } from "./namespaces.ts";
import type { Names } from "./sparql-extensions.ts";
import { quoted, written } from "./sparql-wording.ts";
import type { Named } from "./sparql-wording.ts";

const TYPES: ReadonlySet<string> = new Set([
  ..."string boolean decimal integer double float date time dateTime dateTimeStamp gYear gMonth gDay gYearMonth gMonthDay"
    .concat(
      " duration yearMonthDuration dayTimeDuration byte short int long unsignedByte unsignedShort unsignedInt",
    )
    .concat(
      " unsignedLong positiveInteger nonNegativeInteger negativeInteger nonPositiveInteger hexBinary base64Binary",
    )
    .concat(" anyURI language normalizedString token NMTOKEN Name NCName QName ID IDREF ENTITY")
    .split(" ")
    .map((name) => XSD + name),
  ...["langString", "dirLangString", "HTML", "XMLLiteral", "JSON"].map((name) => RDF + name),
]);

/** Why nothing may have this type; undefined also for a language, and for what is no name at all. */
export function faultOfUnknown(type: unknown, names: Names): string | undefined {
  const { subType, ...named } = (type ?? {}) as { subType?: string } & Named;
  if (subType !== "namedNode" || names.all(named.value, named.prefix).every((iri) => TYPES.has(iri)))
    return undefined;
  return (
    `The type ${quoted(written(named))} is not available here: a literal may have those of XML Schema and RDF, under their whole names ` +
    'or a prefix; to find values of another, compare as in STR(DATATYPE(?x)) = "…" and STR(?x) = "…".'
  );
}
