// How parts of a query are written in a message to whoever sent it.
import { RDF } from "./namespaces.ts";

type Node = Readonly<Record<string, unknown>>;
export type Named = { value: string; prefix?: string };

const LONGEST_QUOTED = 100;

export const quoted = (text: string) =>
  text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text;

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
