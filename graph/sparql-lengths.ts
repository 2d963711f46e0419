// How long the values are that a query makes of others, as far as its text shows: each function and operator by itself.
import { readPattern } from "./sparql-patterns.ts";
import type { Node } from "./sparql-survey.ts";

/** What a value of the graph is taken to have; most have less. */
export const OF_DATA = 1_000;
/** Where solutions are kept: of the 20,000 that Fuseki sorts in memory 200 MB, which several queries may take at once. */
export const LONGEST_KEPT = 10_000;
/**
 * What a query may write of its own into each solution, in bytes, where all are kept: a CONSTRUCT that wrote 9,000 letters into each of
 * 242,000 ended a Fuseki of 2 GB. What the graph has is for who writes it to bound.
 */
export const WRITTEN_KEPT = 1_000;
/** Letters of Latin-1, of which one takes one byte in Java. */
const LATIN = /^[\0-\xff]*$/;
/** A letter becomes three bytes, and each of them three characters. */
const ENCODED = 9;
/** Of what has a thousand letters in the reckoning, but rarely otherwise. */
const ENCODED_OF_DATA = 3;

/** A pattern that is a single letter, or a sign with a backslash. */
const ONE_LETTER = /^(?:\\(?=\W)|(?![\\^$.|?*+()[\]{}]))([\s\S])$/;

/** What makes something short, whatever it is given. */
const SHORT: readonly unknown[] = [
  ...["=", "!=", "<", ">", "<=", ">=", "in", "notin", "&&", "||", "!"],
  ...["contains", "strstarts", "strends", "regex", "langmatches", "bound", "sameterm"],
  ...["isiri", "isuri", "isblank", "isliteral", "isnumeric"],
  ...["strlen", "count", "year", "month", "day", "hours", "minutes", "seconds", "tz", "timezone"],
  ...["md5", "sha1", "sha256", "sha384", "sha512"],
];

/** What comes of replacing single letters, none of which stands in what others were replaced by: each is replaced but once. */
type Replaced = { base: number; growth: number; made: string };

/** What a query is known to have beside the values, and what has been found out of its replacements; whether bytes are counted. */
export type Within = {
  longestIri: number;
  mayRefer: boolean;
  replaced: Map<Node, Replaced>;
  isInBytes: boolean;
};

export const sumOf = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** The longest that comes of a term by itself: its text, its language, or an IRI, which may stand behind a prefix or be relative. */
export function writtenLength(
  { subType, value, langOrIri }: Node,
  { longestIri, isInBytes }: Within,
): number {
  const text = String(value);
  const length = isInBytes && !LATIN.test(text) ? 2 * text.length : text.length;
  if (subType === "namedNode") return length + longestIri;
  return typeof langOrIri === "string" ? Math.max(length, langOrIri.length) : length;
}

/** How many characters SUBSTR takes at most, where that is written out. */
export function mostOf({ operator }: Node, parts: readonly Node[]): number {
  const most = operator === "substr" && parts[2]?.["subType"] === "literal" ? Number(parts[2]["value"]) : NaN;
  return Number.isNaN(most) ? Infinity : most;
}

/** Whether what this makes is short, whatever it is of. */
export function isShort({ operator, aggregation }: Node): boolean {
  return SHORT.includes(operator ?? aggregation);
}

/** How long what is made of values of these lengths is. */
export function lengthOf(node: Node, lengths: readonly number[], within: Within): number {
  return Math.min(lengthByArguments(node, lengths, within), lengthByLetters(node, lengths, within));
}

function lengthByArguments(node: Node, lengths: readonly number[], { mayRefer, longestIri }: Within): number {
  const { operator, aggregation, separator = "" } = node as { separator?: string } & Node;
  const [first = 0, , third = 0] = lengths;
  if (isShort(node)) return 0;
  // A sum has no more digits before its point than one of what it is of, and one, and no more behind it than one.
  if (operator === "+" || operator === "-") return Math.max(...lengths) + 1;
  if (operator === "if" || operator === "coalesce") return Math.max(...lengths);
  if (operator === "replace") {
    const least = leastOf(node["args"] as readonly Node[]);
    // Between all letters, and in the place of each.
    if (least === 0 || mayRefer) return (first + 1) * (third + 1);
    return first + (first / least) * Math.max(0, third - least);
  }
  if (operator === "strbefore" || operator === "strafter") return first;
  if (operator === "encode_for_uri") return first * (first === OF_DATA ? ENCODED_OF_DATA : ENCODED);
  if (operator === "iri" || operator === "uri") return first + longestIri;
  return sumOf(lengths) + (aggregation === "group_concat" ? separator.length : 0);
}

function lengthByLetters(node: Node, [first = 0]: readonly number[], { replaced, mayRefer }: Within): number {
  if (node["operator"] !== "replace" || mayRefer) return Infinity;
  const [of, pattern, by, flags] = node["args"] as readonly Node[];
  const [, letter = ""] = ONE_LETTER.exec(String(pattern?.["value"])) ?? [];
  if (letter === "" || by?.["subType"] !== "literal" || flags) return Infinity;
  const within = replaced.get(of!);
  const { base, growth, made } =
    within?.made.includes(letter) === false ? within : { base: first, growth: 0, made: "" };
  const text = String(by["value"]);
  const all = { base, growth: Math.max(growth, text.length - 1), made: made + text };
  replaced.set(node, all);
  return all.base * (1 + all.growth);
}

/** How many characters the pattern of a REPLACE takes away each time at least. */
function leastOf(args: readonly Node[]): number {
  const pattern = String(args[1]?.["value"]);
  if (args[3] && String(args[3]["value"]).includes("q")) return pattern.length;
  const read = readPattern(pattern);
  return "fault" in read ? 0 : read.least;
}
