// What it takes to sort. Jena makes the keys of ORDER BY anew at each comparison, of which a batch of 20,000 solutions has half a
// million, and looks at no clock until they are in order.
import { partsOf } from "./sparql-constants.ts";
import type { Node } from "./sparql-survey.ts";

/** As if there were so many: not all values are the longest. With a million steps for each a sort takes some ten seconds. */
export const COMPARISONS = 200_000;
/** To compare two values as they are, of which dates take longest: forty keys that are all the same took 10 s. */
const OF_A_KEY = 22_800;
/** To make a value, which may fail: that raises an error, which took 3 s for each such key, and 4 where Jena logs it. */
const OF_MAKING = 275_000;
/** To read a number is to go through its digits for each of them: two hundred took 1.5 s for each key. */
const OF_DIGITS = 2.2;

/**
 * How many steps it takes to compare two solutions by a key.
 * @param steps what it takes to make its values, as long as they may be
 * @param digits how many they have if they are numbers
 */
export function stepsToCompare(key: Node, steps: number, digits: number): number {
  const making = isMade(key) ? OF_MAKING : 0;
  return OF_A_KEY + Math.max(steps, making) + digits ** 2 * OF_DIGITS;
}

/** The aggregates of a key. Each is made once for its group, before the groups are compared. */
export function aggregatesIn(key: Node): readonly Node[] {
  return key["aggregation"] === undefined ? partsOf(key).flatMap(aggregatesIn) : [key];
}

/** Names and terms are there, and so is what was made of a whole group. */
function isMade(key: Node): boolean {
  return key["aggregation"] === undefined && partsOf(key).length > 0;
}
