// How many digits numbers can have. Jena keeps a number as text and parses it each time it is used, which
// takes time proportional to the square of its digits: with ten thousand digits a comparison takes a
// millisecond, and a sort makes half a million of those.
import type { Names } from "./sparql-extensions.ts";
import { isShort, mostOf } from "./sparql-lengths.ts";
import type { Node } from "./sparql-survey.ts";
import { FLOATING, isAmong, NUMBERS } from "./sparql-types.ts";

const MOST_WRITTEN = 100;
/** The most digits of a computed number: parsing it takes a few hundred microseconds each time. */
const MOST = 4_000;
/** The most digits of a sort key, which is parsed twice for each comparison. */
const MOST_SORTED = 300;
/** The assumed digits of a number from the graph, and of a text from it that is read as a number. */
const OF_DATA = 30;
/**
 * The digits of an integer or a decimal that is made from a double: 1e308, and 1e-308 with its own digits.
 */
const OF_DOUBLE = 400;
/** The digits that a division adds after the decimal point. */
const BEHIND_POINT = 24;

/** Functions that return one of their arguments, or something no longer. */
const PASSING_ON: readonly unknown[] = [
  ...["if", "coalesce", "min", "max", "sample", "uminus", "uplus", "abs", "ceil", "floor", "round"],
  ...["triple", "subject", "predicate", "object"],
];
/** Functions that return a part of their first argument, and nothing else. */
const PART_TAKING: readonly unknown[] = ["str", "substr", "strbefore", "strafter", "lcase", "ucase"];

/**
 * How many digits a value has as a number, how many it would have if it were read as one,
 * and whether it may be a double.
 */
export type Digits = { digits: number; cast: number; isDouble: boolean };

export const NO_NUMBER: Digits = { digits: 0, cast: 0, isDouble: false };
export const NUMBER_OF_DATA: Digits = { digits: OF_DATA, cast: OF_DATA, isDouble: false };

/** The maximum over two values. */
export function eitherNumber(one: Digits, other: Digits): Digits {
  return {
    digits: Math.max(one.digits, other.digits),
    cast: Math.max(one.cast, other.cast),
    isDouble: one.isDouble || other.isDouble,
  };
}

/** Why a number literal may not be used; undefined if it may, and for any other literal. */
export function faultOfNumber({ value, langOrIri }: Node, names: Names): string | undefined {
  return isAmong(NUMBERS, langOrIri, names) && String(value).length > MOST_WRITTEN
    ? `A number may be written with at most ${MOST_WRITTEN} digits.`
    : undefined;
}

/** The digits of a term that is written out. */
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
 * The most digits that the result of an operation may have; 0 if it is not a number.
 * @param parts the arguments, and `of` what is known about them
 * @param length how many characters the result may have
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

/** Why numbers of so many digits may not be sort keys. */
export function faultOfSorted(digits: number): string | undefined {
  return digits > MOST_SORTED
    ? `What the query sorts by could be numbers of more than ${MOST_SORTED} digits, as far as its text shows; make them of shorter texts, ` +
        "as with SUBSTR, and of fewer products."
    : undefined;
}
