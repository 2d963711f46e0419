// How many digits numbers can have. Jena keeps a number as it is written and reads it anew each time that something is done with it, in
// the square of its digits: of some ten thousand, a comparison takes a millisecond, and a sort of them half a million of those.
import type { Names } from "./sparql-extensions.ts";
import type { Node } from "./sparql-survey.ts";
import { isAmong, NUMBERS } from "./sparql-types.ts";

const MOST_WRITTEN = 100;
/** Some hundred microseconds, each time. */
const MOST = 4_000;
/** What is sorted by is read twice for each comparison. */
const MOST_SORTED = 300;
/** Of a number of the graph, and of what is read from no more than one of its texts. */
export const DIGITS_OF_DATA = 30;
const TEXT_OF_DATA = 1_000;
/** What a division adds behind the point. */
const BEHIND_POINT = 24;

const PASSING_ON: readonly unknown[] = [
  ...["if", "coalesce", "min", "max", "sample", "uminus", "uplus", "abs", "ceil", "floor", "round"],
  ...["triple", "subject", "predicate", "object"],
];

/** What a value is made of: its length, and the digits that it has as a number. */
type Part = { length: number; digits: number };

/** Why a literal may not be used; undefined for any that is no number. */
export function faultOfNumber({ value, langOrIri }: Node, names: Names): string | undefined {
  return isAmong(NUMBERS, langOrIri, names) && String(value).length > MOST_WRITTEN
    ? `A number may be written with at most ${MOST_WRITTEN} digits.`
    : undefined;
}

/** How many digits a term that is written out has as a number. */
export function digitsOfTerm({ subType, value }: Node): number {
  return subType === "literal" ? Math.min(String(value).length, MOST_WRITTEN) : 0;
}

/**
 * How many digits the result of an operation has at most as a number; 0 where it is none.
 * @param parts what it is given, and `of` what is known of them
 */
export function digitsOf(
  { subType, operator, aggregation, function: called }: Node,
  parts: readonly Node[],
  of: readonly Part[],
  names: Names,
): number {
  const digits = of.map((part) => part.digits);
  const most = Math.max(0, ...digits);
  const type = subType === "functionCall" ? called : operator === "strdt" ? parts[1] : undefined;
  if (isAmong(NUMBERS, type, names)) {
    const { length } = of[0]!;
    return Math.max(most, length > TEXT_OF_DATA ? length : DIGITS_OF_DATA);
  }
  if (operator === "+" || operator === "-") return most + 1;
  if (aggregation === "sum" || aggregation === "avg") return most + BEHIND_POINT;
  if (operator === "*" || operator === "/")
    return digits.reduce((sum, each) => sum + each, operator === "/" ? BEHIND_POINT : 0);
  return subType === "functionCall" || PASSING_ON.includes(operator ?? aggregation) ? most : 0;
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
