import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { enums } from "../db/catalog.ts";
import type { Quad } from "@rdfjs/types";
import { Parser } from "n3";
import { DEFAULT_NAMESPACE, RDF, SKOS, rebase } from "./namespaces.ts";
import type { Names } from "./namespaces.ts";

/** A concept of the accelerator scheme, as stored in the table `accelerators`. */
export interface Accelerator {
  code: string;
  conceptUri: string;
  kind: (typeof enums.accelerator_kind)[number];
  prefLabel: string;
  definition: string | null;
  broaderCode: string | null;
}

/** A people group, as stored in the table `people_groups`. */
export interface PeopleGroup {
  rop3: string;
  name: string;
}

/** A country, as stored in the table `countries`. */
export interface Country {
  alpha2: string;
  name: string;
}

/** A concept that could not be imported, and why. */
export interface VocabularyProblem {
  concept: string;
  message: string;
}

/** A Turtle file that cannot be read as a vocabulary; the message names the line if there is one. */
class VocabularyError extends Error {
  override name = "VocabularyError";
}

/** The starter list as shipped: Turtle text of graph/vocabulary/accelerators.ttl. */
export function readStarterVocabulary(): string {
  return readFileSync(join(import.meta.dirname, "vocabulary", "accelerators.ttl"), "utf8");
}

/**
 * Reads the accelerator scheme from SKOS Turtle. Concepts with a problem are left out and reported.
 * @throws VocabularyError when the text is not Turtle, or contains no concept with a notation
 */
export function parseAccelerators(
  turtle: string,
  names: Names,
): {
  accelerators: Accelerator[];
  problems: VocabularyProblem[];
  /** of every concept, including those that were left out */
  notations: ReadonlyMap<string, readonly string[]>;
} {
  const graph = readConcepts(turtle, names);
  const members = [...graph.entries()].filter(([iri, concept]) => inScheme(iri, concept, graph, names));
  const problems: VocabularyProblem[] = [];
  const codes = new Map<string, string>();
  const notations = new Map<string, string[]>();
  for (const [iri, concept] of members) {
    const own = (concept.get(`${SKOS}notation`) ?? []).map(({ value }) => value.trim());
    notations.set(iri, own);
    const code = own[0] ?? "";
    const refuse = (message: string) => problems.push({ concept: iri, message });
    if (own.length !== 1) refuse(`has ${own.length} notations instead of one`);
    else if (!/^[A-Z0-9]+(-[A-Z0-9]+)*$/.test(code)) refuse(`its notation "${code}" is not a code`);
    else if ([...codes.values()].includes(code)) refuse(`its notation "${code}" is already taken`);
    else codes.set(iri, code);
  }
  const accelerators: Accelerator[] = [];
  for (const [iri, concept] of members) {
    const code = codes.get(iri);
    if (code === undefined) continue;
    const prefLabel = inEnglish(concept.get(`${SKOS}prefLabel`));
    const broader = concept.get(`${SKOS}broader`)?.[0]?.value;
    const broaderCode = broader === undefined ? null : (codes.get(broader) ?? null);
    if (prefLabel === null) problems.push({ concept: iri, message: "has no prefLabel" });
    else if (broader !== undefined && broaderCode === null) {
      problems.push({ concept: iri, message: `its broader concept ${broader} is not in the scheme` });
    } else {
      accelerators.push({
        code,
        conceptUri: iri,
        kind: broaderCode === null ? "accelerator" : "function",
        prefLabel,
        definition: inEnglish(concept.get(`${SKOS}definition`)),
        broaderCode,
      });
    }
  }
  const usable = withBroader(withoutCircles(accelerators, problems), problems);
  if (usable.length === 0) {
    const [first] = problems;
    throw new VocabularyError(
      first
        ? `The file contains no usable concept of the accelerator scheme: ${first.concept} ${first.message}.`
        : "The file contains no concept of the accelerator scheme with a skos:notation.",
    );
  }
  return { accelerators: usable, problems, notations };
}

/**
 * Reads people groups from SKOS Turtle: the notation is the ROP3 code, the prefLabel the name.
 * @throws VocabularyError when the text is not Turtle
 */
export function parsePeopleGroups(
  turtle: string,
  names: Names,
): { peopleGroups: PeopleGroup[]; problems: VocabularyProblem[] } {
  const peopleGroups: PeopleGroup[] = [];
  const problems: VocabularyProblem[] = [];
  for (const [iri, concept] of readConcepts(turtle, names)) {
    const notations = concept.get(`${SKOS}notation`) ?? [];
    if (notations.length === 0) continue;
    const rop3 = notations.map((notation) => notation.value.trim()).find((code) => /^\d{6}$/.test(code));
    const name = inEnglish(concept.get(`${SKOS}prefLabel`));
    if (rop3 === undefined)
      problems.push({ concept: iri, message: "has no ROP3 code of six digits as its notation" });
    else if (name === null) problems.push({ concept: iri, message: "has no prefLabel" });
    else peopleGroups.push({ rop3, name });
  }
  return { peopleGroups, problems };
}

type Concept = Map<string, Quad["object"][]>;

function readConcepts(turtle: string, names: Names): Map<string, Concept> {
  let quads: Quad[];
  try {
    quads = rebase(new Parser().parse(turtle), DEFAULT_NAMESPACE, names.namespaceUrl);
  } catch (error) {
    throw new VocabularyError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const concepts = new Map<string, Concept>();
  for (const { subject, predicate, object } of quads) {
    if (subject.termType !== "NamedNode") continue;
    const properties = concepts.get(subject.value) ?? new Map<string, Quad["object"][]>();
    concepts.set(subject.value, properties);
    properties.set(predicate.value, [...(properties.get(predicate.value) ?? []), object]);
  }
  return concepts;
}

/** A file may contain other schemes as well. If it does not name ours, all its concepts count. */
function inScheme(iri: string, concept: Concept, graph: Map<string, Concept>, names: Names): boolean {
  const isConcept = concept.get(`${RDF}type`)?.some((type) => type.value === `${SKOS}Concept`);
  if (!isConcept && !concept.has(`${SKOS}notation`)) return false;
  if (concept.get(`${RDF}type`)?.some((type) => type.value === `${SKOS}ConceptScheme`)) return false;
  if (!graph.has(names.scheme)) return true;
  const isMember = (property: string) =>
    concept.get(SKOS + property)?.some((scheme) => scheme.value === names.scheme) ?? false;
  const isTop = graph
    .get(names.scheme)
    ?.get(`${SKOS}hasTopConcept`)
    ?.some((top) => top.value === iri);
  return isMember("inScheme") || isMember("topConceptOf") || isTop === true;
}

function inEnglish(values: Quad["object"][] | undefined): string | null {
  const literals = (values ?? []).filter((value) => value.termType === "Literal");
  const best =
    literals.find((value) => value.language === "en") ??
    literals.find((value) => value.language.startsWith("en-") || value.language === "") ??
    literals[0];
  return best?.value.trim() || null;
}

/**
 * Leaves out concepts that are, directly or indirectly, broader than themselves: they
 * would be below no accelerator.
 */
function withoutCircles(accelerators: Accelerator[], problems: VocabularyProblem[]): Accelerator[] {
  const above = new Map(accelerators.map(({ code, broaderCode }) => [code, broaderCode]));
  const leadsBack = (code: string): boolean => {
    let at = above.get(code);
    // Behind as many steps as there are concepts it goes round in a circle that this one is not in.
    for (const _ of above) if (at && at !== code) at = above.get(at);
    return at === code;
  };
  return accelerators.filter(({ code, conceptUri, broaderCode }) => {
    if (!leadsBack(code)) return true;
    problems.push({ concept: conceptUri, message: `its broader concept ${broaderCode} leads back to it` });
    return false;
  });
}

/** Leaves out concepts whose broader concept was left out, until none refers to a missing one. */
export function withBroader(accelerators: Accelerator[], problems: VocabularyProblem[]): Accelerator[] {
  const codes = new Set(accelerators.map((accelerator) => accelerator.code));
  const orphans = accelerators.filter(({ broaderCode }) => broaderCode !== null && !codes.has(broaderCode));
  if (orphans.length === 0) return accelerators;
  for (const { conceptUri, broaderCode } of orphans) {
    problems.push({ concept: conceptUri, message: `its broader concept ${broaderCode} was left out` });
  }
  return withBroader(
    accelerators.filter((accelerator) => !orphans.includes(accelerator)),
    problems,
  );
}
