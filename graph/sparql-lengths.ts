// Upper bounds on the length of computed values, as far as a query's text shows them: one
// function or operator at a time.
import { readPattern } from "./sparql-patterns.ts";
import type { Node } from "./sparql-survey.ts";

/** The assumed length of a value from the graph, in characters; most are shorter. */
export const OF_DATA = 1_000;
/**
 * The longest value where solutions are kept: Fuseki sorts 20,000 of them in memory, which then takes 200 MB,
 * and several queries may do so at once.
 */
export const LONGEST_KEPT = 10_000;
/**
 * How many bytes of its own text a query may write into each solution where all solutions are kept: a
 * CONSTRUCT that wrote 9,000 letters into each of 242,000 solutions brought down a Fuseki with 2 GB. Values
 * from the graph are not counted: they are limited when they are written.
 */
export const WRITTEN_KEPT = 1_000;
/** Latin-1 text, of which Java stores one byte per character. */
const LATIN = /^[\0-\xff]*$/;
/**
 * How many times ENCODE_FOR_URI can lengthen a text: a letter becomes three bytes,
 * and each byte three characters.
 */
const ENCODED = 9;
/** The same for a value of OF_DATA characters, which is a generous estimate already. */
const ENCODED_OF_DATA = 3;

/** A pattern that is a single character, escaped with a backslash if it is punctuation. */
const ONE_LETTER = /^(?:\\(?=\W)|(?![\\^$.|?*+()[\]{}]))([\s\S])$/;

/** Functions, operators and aggregates with a short result, whatever their arguments. */
const SHORT: readonly unknown[] = [
  ...["=", "!=", "<", ">", "<=", ">=", "in", "notin", "&&", "||", "!"],
  ...["contains", "strstarts", "strends", "regex", "langmatches", "bound", "sameterm"],
  ...["isiri", "isuri", "isblank", "isliteral", "isnumeric"],
  ...["strlen", "count", "year", "month", "day", "hours", "minutes", "seconds", "tz", "timezone"],
  ...["md5", "sha1", "sha256", "sha384", "sha512"],
];

/**
 * The result of nested REPLACEs of single letters, none of which occurs in the texts that were put in, so
 * that each character is replaced at most once.
 */
type Replaced = { base: number; growth: number; made: string };

/**
 * What else is known while values are measured: the longest IRI, whether a replacement may refer to its
 * match, the nested REPLACEs so far, and whether bytes are counted instead of characters.
 */
export type Within = {
  longestIri: number;
  mayRefer: boolean;
  replaced: Map<Node, Replaced>;
  isInBytes: boolean;
};

export const sumOf = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/**
 * The greatest length of a term: of its text, its language tag, or its IRI, which may
 * have a prefix or be relative.
 */
export function writtenLength(
  { subType, value, langOrIri }: Node,
  { longestIri, isInBytes }: Within,
): number {
  const text = String(value);
  const length = isInBytes && !LATIN.test(text) ? 2 * text.length : text.length;
  if (subType === "namedNode") return length + longestIri;
  return typeof langOrIri === "string" ? Math.max(length, langOrIri.length) : length;
}

/** The most characters that SUBSTR can return, if its length is a literal; Infinity for everything else. */
export function mostOf({ operator }: Node, parts: readonly Node[]): number {
  const most = operator === "substr" && parts[2]?.["subType"] === "literal" ? Number(parts[2]["value"]) : NaN;
  return Number.isNaN(most) ? Infinity : most;
}

/** Whether the result is short, whatever the arguments are. */
export function isShort({ operator, aggregation }: Node): boolean {
  return SHORT.includes(operator ?? aggregation);
}

/** The greatest length of a result, given the lengths of the arguments. */
export function lengthOf(node: Node, lengths: readonly number[], within: Within): number {
  return Math.min(lengthByArguments(node, lengths, within), lengthByLetters(node, lengths, within));
}

function lengthByArguments(node: Node, lengths: readonly number[], { mayRefer, longestIri }: Within): number {
  const { operator, aggregation, separator = "" } = node as { separator?: string } & Node;
  const [first = 0, , third = 0] = lengths;
  if (isShort(node)) return 0;
  // A sum has at most one digit more before the point than its operands, and no more behind it.
  if (operator === "+" || operator === "-") return Math.max(...lengths) + 1;
  if (operator === "if" || operator === "coalesce") return Math.max(...lengths);
  if (operator === "replace") {
    const least = leastOf(node["args"] as readonly Node[]);
    // The replacement may come between all letters, and in place of each.
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

/** The fewest characters that the pattern of a REPLACE matches. */
function leastOf(args: readonly Node[]): number {
  const pattern = String(args[1]?.["value"]);
  if (args[3] && String(args[3]["value"]).includes("q")) return pattern.length;
  const read = readPattern(pattern);
  return "fault" in read ? 0 : read.least;
}
