// New editions of the controlled lists, from Turtle into the tables. The database decides what they
// may contain and what they mean for records (db/rules/graph-references.sql).
import type { longestText } from "../db/catalog.ts";
import { requireSameNames } from "../db/settings.ts";
import type { Names } from "../graph/namespaces.ts";
import { parseAccelerators, withBroader } from "../graph/skos.ts";
import type { PeopleGroup, VocabularyProblem } from "../graph/skos.ts";
import type { Queryable } from "./records.ts";

/** The result of importing an edition of the vocabulary, in numbers of codes; `rechecked` counts records. */
export interface VocabularyImport {
  added: number;
  changed: number;
  deprecated: number;
  rechecked: number;
  /** concepts that were left out */
  problems: readonly VocabularyProblem[];
}

/**
 * Imports an edition of the accelerator scheme.
 * @param turtle SKOS; in the default namespace or the configured one
 * @throws VocabularyError when the text cannot be read or contains no usable concept, and OtherNames
 */
export async function importVocabulary(
  db: Queryable,
  turtle: string,
  names: Names,
): Promise<VocabularyImport> {
  await requireSameNames(db, names);
  const { accelerators, problems, notations } = await readVocabulary(db, turtle, names);
  // By the URI as well, since the code may be what is wrong.
  const leftOut = problems.flatMap(({ concept }) => [concept, ...(notations.get(concept) ?? [])]);
  const { rows } = await db.query<{ result: Omit<VocabularyImport, "problems"> }>(
    "select app_private.import_accelerators($1, $2) as result",
    [JSON.stringify(accelerators), leftOut],
  );
  return { ...rows[0]!.result, problems };
}

/**
 * Checks an edition as an import would: returns the concepts that it would take, and
 * what is wrong with the others.
 * @throws VocabularyError when the text cannot be read or contains no usable concept
 */
export async function readVocabulary(
  db: Queryable,
  turtle: string,
  names: Names,
): Promise<ReturnType<typeof parseAccelerators>> {
  const { accelerators, problems, notations } = parseAccelerators(turtle, names);
  const [uris, labels, definitions] = await Promise.all([
    problemsOf(
      db,
      "uri",
      accelerators.map(({ conceptUri }) => conceptUri),
    ),
    problemsOf(
      db,
      "name",
      accelerators.map(({ prefLabel }) => prefLabel),
    ),
    problemsOf(
      db,
      "text",
      accelerators.map(({ definition }) => definition),
    ),
  ]);
  const malformed = accelerators.flatMap(({ conceptUri }, place) => {
    const [uri, label, definition] = [uris.get(place), labels.get(place), definitions.get(place)];
    const text = label ? `its prefLabel ${label}` : definition && `its definition ${definition}`;
    const message = uri ? `its URI ${uri}` : text;
    return message ? [{ concept: conceptUri, message }] : [];
  });
  problems.push(...malformed);
  const refused = new Set(malformed.map(({ concept }) => concept));
  const wellFormed = accelerators.filter(({ conceptUri }) => !refused.has(conceptUri));
  return { accelerators: withBroader(wellFormed, problems), problems, notations };
}

/** What is wrong with the texts of a list, by their index. */
export async function problemsOf(
  db: Queryable,
  kind: keyof typeof longestText | "uri",
  texts: readonly (string | null)[],
): Promise<Map<number, string>> {
  const { rows } = await db.query<{ place: number; problem: string }>(
    "select place, problem from app_private.problems_by_place($1, $2)",
    // PostgreSQL has no text with NUL: one such text would make the query fail for all the others.
    [kind, texts.map((text) => text?.replaceAll("\0", "") ?? null)],
  );
  const problems = new Map(rows.map(({ place, problem }) => [place, problem]));
  for (const [place, text] of texts.entries())
    if (text?.includes("\0")) problems.set(place, "must not contain the character U+0000");
  return problems;
}

/** The result of importing people groups, in numbers of groups; `rechecked` counts records. */
export interface PeopleGroupImport {
  added: number;
  changed: number;
  rechecked: number;
}

/** Adds people groups to the registry. Once there is a registry, records may only refer to groups in it. */
export async function importPeopleGroups(
  db: Queryable,
  peopleGroups: readonly PeopleGroup[],
): Promise<PeopleGroupImport> {
  const { rows } = await db.query<{ result: PeopleGroupImport }>(
    "select app_private.import_people_groups($1) as result",
    [JSON.stringify(peopleGroups)],
  );
  return rows[0]!.result;
}
