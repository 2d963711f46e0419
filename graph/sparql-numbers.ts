// How many digits numbers can have. Jena keeps a number as it is written and reads it anew each time that something is done with it, in
// the square of its digits: of some ten thousand, a comparison takes a millisecond, and a sort of them half a million of those.
import type { Names } from "./sparql-extensions.ts";
import { isShort, mostOf } from "./sparql-lengths.ts";
import type { Node } from "./sparql-survey.ts";
import { FLOATING, isAmong, NUMBERS } from "./sparql-types.ts";

const MOST_WRITTEN = 100;
/** Some hundred microseconds, each time. */
const MOST = 4_000;
/** What is sorted by is read twice for each comparison. */
const MOST_SORTED = 300;
/** Of a number of the graph, and of one of its texts that is read as one. */
const OF_DATA = 30;
/** What a double has, of which an integer or a decimal is made: 1e308, and 1e-308 with its own digits. */
const OF_DOUBLE = 400;
/** What a division adds behind the point. */
const BEHIND_POINT = 24;

/** Of which comes one of the values that they are given, or something that is no longer. */
const PASSING_ON: readonly unknown[] = [
  ...["if", "coalesce", "min", "max", "sample", "uminus", "uplus", "abs", "ceil", "floor", "round"],
  ...["triple", "subject", "predicate", "object"],
];
/** Of which comes a part of the first, and nothing else. */
const PART_TAKING: readonly unknown[] = ["str", "substr", "strbefore", "strafter", "lcase", "ucase"];

/** How many digits a value has as a number, and how many it would have if it were read as one; whether it may be a double. */
export type Digits = { digits: number; cast: number; isDouble: boolean };

export const NO_NUMBER: Digits = { digits: 0, cast: 0, isDouble: false };
export const NUMBER_OF_DATA: Digits = { digits: OF_DATA, cast: OF_DATA, isDouble: false };

/** What is known of either of two values, at most. */
export function eitherNumber(one: Digits, other: Digits): Digits {
  return {
    digits: Math.max(one.digits, other.digits),
    cast: Math.max(one.cast, other.cast),
    isDouble: one.isDouble || other.isDouble,
  };
}

/** Why a literal may not be used; undefined for any that is no number. */
export function faultOfNumber({ value, langOrIri }: Node, names: Names): string | undefined {
  return isAmong(NUMBERS, langOrIri, names) && String(value).length > MOST_WRITTEN
    ? `A number may be written with at most ${MOST_WRITTEN} digits.`
    : undefined;
}

/** A term that is written out, as a number. */
export function numberOfTerm({ subType, value, langOrIri }: Node, names: Names): Digits {
  if (subType !== "literal") return NO_NUMBER;
  const { length } = String(value);
  return {
    digits: Math.min(length, MOST_WRITTEN),
    cast: length,
    isDouble: isAmong(FLOATING, langOrIri, names),
  };
}

/**
 * The result of an operation as a number, with as many digits as it may have at most; 0 where it is none.
 * @param parts what it is given, and `of` what is known of them
 * @param length how many characters it may have
 */
export function numberOf(
  node: Node,
  parts: readonly Node[],
  of: readonly Digits[],
  length: number,
  names: Names,
): Digits {
  const { subType, operator, aggregation, function: called } = node;
  const all = of.reduce(eitherNumber, NO_NUMBER);
  const ofDigits = (digits: number) => ({ digits, cast: digits, isDouble: all.isDouble });
  const type = subType === "functionCall" ? called : operator === "strdt" ? parts[1] : undefined;
  if (isAmong(NUMBERS, type, names)) {
    const isDouble = isAmong(FLOATING, type, names);
    const { cast, isDouble: wasDouble } = of[0]!;
    return { ...ofDigits(wasDouble && !isDouble ? Math.max(cast, OF_DOUBLE) : cast), isDouble };
  }
  if (operator === "+" || operator === "-") return ofDigits(all.digits + 1);
  if (aggregation === "sum" || aggregation === "avg") return ofDigits(all.digits + BEHIND_POINT);
  if (operator === "*" || operator === "/")
    return ofDigits(of.reduce((sum, { digits }) => sum + digits, operator === "/" ? BEHIND_POINT : 0));
  if (PASSING_ON.includes(operator ?? aggregation)) return all;
  if (subType === "functionCall") return { ...all, cast: Math.max(all.cast, length) };
  if (isShort(node)) return { ...NO_NUMBER, cast: OF_DATA };
  const isPart = PART_TAKING.includes(operator) || (operator === "replace" && parts[2]?.["value"] === "");
  const cast = isPart ? Math.min(of[0]!.cast, mostOf(node, parts)) : length;
  return { ...NO_NUMBER, cast };
}

/** Why a number may not have so many digits. */
export function faultOfDigits(digits: number): string | undefined {
  return digits > MOST
    ? `A number of the query could have more than ${MOST.toLocaleString("en")} digits, as far as its text shows; make it of shorter texts, ` +
        "as with SUBSTR, and of fewer products."
    : undefined;
}

/** Why numbers of so many digits are not sorted by. */
export function faultOfSorted(digits: number): string | undefined {
  return digits > MOST_SORTED
    ? `What the query sorts by could be numbers of more than ${MOST_SORTED} digits, as far as its text shows; make them of shorter texts, ` +
        "as with SUBSTR, and of fewer products."
    : undefined;
}
