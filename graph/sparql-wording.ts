// How parts of a query are written in a message to its sender.
import { RDF } from "./namespaces.ts";

type Node = Readonly<Record<string, unknown>>;
export type Named = { value: string; prefix?: string };

const LONGEST_QUOTED = 100;

export const quoted = (text: string) =>
  text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text;

/** What a query has too much of, in words for its sender: thrown from anywhere within a check of its tree. */
export class Excess extends Error {}

/** What a check finds too much, if anything. */
export function excessIn(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof Excess) return error.message;
    throw error;
  }
}

/**
 * For BNODE with a text, Jena keeps each solution and the text until the query ends: no limit on
 * the text would be small enough.
 */
export const NO_NAMED_BLANKS =
  "BNODE with a text is not available here, since a store may keep all that it was given: BNODE() makes a blank node for each solution, " +
  "and BIND(BNODE() AS ?b) one that may be named several times in it; or make an IRI of the text.";

/** A name as it stands in the text. */
export const written = ({ value, prefix }: Named) =>
  prefix === undefined ? `<${value}>` : `${prefix}:${value}`;

/** @param given a property path as the parser makes it */
export function writtenPath(given: object): string {
  const path = given as Node;
  if (path["type"] !== "path")
    return path["value"] === `${RDF}type` ? "a" : written(path as unknown as Named);
  const subType = path["subType"] as string;
  const items = (path["items"] as readonly Node[]).map(writtenPath);
  if (subType === "|" || subType === "/") return `(${items.join(subType)})`;
  const [inner = ""] = items;
  if (subType === "^" || subType === "!") return subType + inner;
  return (/^\^|[*+?]$/.test(inner) ? `(${inner})` : inner) + subType;
}
