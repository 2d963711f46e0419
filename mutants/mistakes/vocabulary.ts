// What an import of a list takes, leaves as it was, and refuses.
import type { Mistake } from "../mistake.ts";

const IMPORT = { tests: ["vocabulary"] };
const MALFORMED = { ...IMPORT, only: "malformed in it" };
const EARLIER = { ...IMPORT, only: "was taken earlier" };

export const VOCABULARY: readonly Mistake[] = [
  {
    ...IMPORT,
    rule: "an import takes no URI for a concept that a store could not hold",
    file: "worker/imports.ts",
    before: "const message = uri ? `its URI ${uri}` : text;",
    after: "const message = text;",
    only: "is not taken under the URI",
  },
  {
    ...MALFORMED,
    rule: "a concept that is malformed in a file is not missing from it: it is known by its URI",
    file: "worker/imports.ts",
    before: "[concept, ...(notations.get(concept) ?? [])]",
    after: "notations.get(concept) ?? []",
  },
  {
    ...MALFORMED,
    rule: "a concept that is malformed in a file is not missing from it: it is known by its code",
    file: "worker/imports.ts",
    before: "[concept, ...(notations.get(concept) ?? [])]",
    after: "[concept]",
  },
  {
    ...IMPORT,
    rule: "a list in another encoding is refused as a whole",
    file: "admin/vocabulary.ts",
    before: '    if (!isUtf8(bytes)) throw new Error("it is not UTF-8");\n',
    after: "",
    only: "another encoding",
  },
  {
    ...EARLIER,
    rule: "a concept with a URI that is none is left out of the list in the graph, which the others reach",
    file: "worker/references.ts",
    before: "from app_public.accelerators where ${WRITABLE.accelerators} order by code",
    after: "from app_public.accelerators order by code",
  },
  {
    ...EARLIER,
    rule: "a record with a concept whose URI is none is refused by name",
    file: "worker/records.ts",
    before: "\n         where ${WRITABLE.accelerators}) as concepts",
    after: ") as concepts",
  },
  {
    rule: "a concept is taken under a URI of any scheme that stores take as it is",
    file: "db/rules/validation.sql",
    before: "|(?!https?:|file:(?!///))[a-z]",
    after: "|(?!https?:|file:(?!///))[a-z]{99}",
    tests: ["vocabulary"],
    only: "taken under any other",
  },
  {
    rule: "no concept is taken under a URI that stores would resolve",
    file: "db/rules/validation.sql",
    before: "(?!https?:|file:(?!///))",
    after: "(?!https?:)",
    tests: ["vocabulary"],
    only: "is not taken under",
  },
  {
    rule: "what no URI may have no concept's URI has",
    file: "db/rules/validation.sql",
    before:
      "    and app_private.is_http_uri('http://x/' || regexp_replace(value, '^[^:]*:(//)?(?:([^/?#@]*@)?\\[([0-9A-Fa-f:.]+)\\])?', '\\2\\3')));",
    after: ");",
    tests: ["vocabulary"],
    only: "is not taken under",
  },
  {
    rule: "a concept under another code is not deprecated",
    file: "graph/reference-triples.ts",
    before: "if (accelerator.deprecated && current.has(accelerator.conceptUri)) continue;",
    after: "if (accelerator.deprecated && current.has(accelerator.code)) continue;",
    tests: ["vocabulary"],
    only: "gets a different code",
  },
  {
    rule: "no concept is taken under a number that is no address",
    file: "db/rules/validation.sql",
    before: "    and coalesce(app_private.is_host(",
    after: "    and true or coalesce(app_private.is_host(",
    tests: ["vocabulary"],
    only: "is not taken under",
  },
  {
    rule: "what a reader of RDF/XML may refuse goes into the graph another way",
    file: "graph/rdf-xml.ts",
    before: ": PLAIN_IRI.test(value),",
    after: ': termType === "NamedNode",',
    tests: ["vocabulary"],
    only: "under a URI of another scheme",
  },
];
