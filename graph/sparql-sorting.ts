// The cost of sorting. Jena computes the keys of ORDER BY again at each comparison, half a million times for
// a batch of 20,000 solutions, and does not check its time limit until the batch is sorted.
import { partsOf } from "./sparql-constants.ts";
import type { Node } from "./sparql-survey.ts";

/**
 * How many comparisons are counted; fewer than there are, since not all values are the longest. With a
 * million steps for each, a sort takes about ten seconds.
 */
export const COMPARISONS = 200_000;
/**
 * Steps to compare two values as they are, of which dates take longest: forty keys
 * that are all equal took 10 s.
 */
const OF_A_KEY = 22_800;
/**
 * Steps to compute a value, which may fail: a sort spent 3 s on the exceptions for each such key,
 * and 4 s where Jena logs them.
 */
const OF_MAKING = 275_000;
/** Steps to parse a number, for the square of its digits: two hundred digits took 1.5 s for each key. */
const OF_DIGITS = 2.2;

/**
 * How many steps it takes to compare two solutions by a key.
 * @param steps to compute its longest values
 * @param digits of its values, if they are numbers
 */
export function stepsToCompare(key: Node, steps: number, digits: number): number {
  const making = isMade(key) ? OF_MAKING : 0;
  return OF_A_KEY + Math.max(steps, making) + digits ** 2 * OF_DIGITS;
}

/** The aggregates of a key. Each is computed once for its group, before the groups are compared. */
export function aggregatesIn(key: Node): readonly Node[] {
  return key["aggregation"] === undefined ? partsOf(key).flatMap(aggregatesIn) : [key];
}

/** Whether a key is computed at each comparison, unlike variables, terms and aggregates. */
function isMade(key: Node): boolean {
  return key["aggregation"] === undefined && partsOf(key).length > 0;
}
