// The cost of a query, as far as its text shows: how long its computed values become, and what it takes to
// search them. Forty doublings of one letter fit into a line, and an engine that makes a terabyte of it ends
// only when its memory is full, while other queries wait. To an engine, searching a long value is a single
// step, which no time limit ends.
import { isDeepStrictEqual } from "node:util";
import { constantsIn, partsOf } from "./sparql-constants.ts";
import type { Names } from "./sparql-extensions.ts";
import {
  isShort,
  lengthOf,
  LONGEST_KEPT,
  mostOf,
  OF_DATA,
  sumOf,
  WRITTEN_KEPT,
  writtenLength,
} from "./sparql-lengths.ts";
import type { Within } from "./sparql-lengths.ts";
import {
  eitherNumber,
  faultOfDigits,
  faultOfSorted,
  NO_NUMBER,
  NUMBER_OF_DATA,
  numberOf,
  numberOfTerm,
} from "./sparql-numbers.ts";
import type { Digits } from "./sparql-numbers.ts";
import { aggregatesIn, COMPARISONS, stepsToCompare } from "./sparql-sorting.ts";
import { faultOfDepth, helpOf, nameOf, SLACK, stepsOf } from "./sparql-steps.ts";
import { survey } from "./sparql-survey.ts";
import type { Node } from "./sparql-survey.ts";
import { Times } from "./sparql-times.ts";
import { Excess, excessIn } from "./sparql-wording.ts";

/** The longest value: room for many values at once, and for one GROUP_CONCAT of all solutions. */
const LONGEST = 2_000_000;
/**
 * The length of all values that a query makes of one solution, which are in memory together,
 * as a multiple of the longest.
 */
const OF_A_SOLUTION = 3;
/**
 * The same for what all GROUP_CONCATs take from a solution: ten plain lists, or
 * half as many of two values each.
 */
const OF_GROUP_CONCATS = 2;
/** A few minutes of an engine's time. */
const MOST_STEPS = 2e11;
/**
 * The same for dates and durations: some seconds, since an engine computes these to the end even for a
 * query that should have ended.
 */
const MOST_STEPS_OF_TIMES = MOST_STEPS / 10;
/**
 * The limit for expressions that depend on no solution, some tens of milliseconds: they are computed while
 * the query is planned, when no time limit is checked.
 */
const MOST_STEPS_OF_CONSTANTS = MOST_STEPS / 200;
/** How many comparisons are counted for sorting by a duration: others may be as long. */
const COMPARISONS_OF_TIMES = 10;
/** Going through a value once, such as to hash it, takes this many times as long as comparing a letter. */
const LINEAR = 100;
/** Aggregates and operators that return one of their arguments; the condition of IF is short. */
const CHOOSING: readonly unknown[] = ["if", "coalesce", "str", "min", "max", "sample"];
/** Aggregates that keep none of their values, unless they are DISTINCT. */
const COUNTING: readonly unknown[] = ["count", "sum", "avg"];
/**
 * The least length counted for a result, which its arguments do not show: that of a number
 * with all the digits it can have.
 */
const OF_NOTHING = 400;

/**
 * A value: its length for one solution, what it is as a number, whether it is or contains a GROUP_CONCAT,
 * which is as long as all of its solutions together, and if so, whether it has been given a name since, under
 * which it can be in many other solutions.
 */
type Value = { length: number; number: Digits; isJoined: boolean; isNamed: boolean };
type Known = Within & {
  ofName: (name: string) => Value;
  longest: number;
  isSpread: boolean;
  times: Times;
  names: Names;
  spent: Spent;
};
/**
 * All steps so far, with those for dates and durations counted separately; the characters that all
 * GROUP_CONCATs take from a solution, and those made from their results; and the characters that other
 * aggregates and groups keep of a solution without a name.
 */
type Spent = { steps: number; times: number; joined: number; kept: number };

/**
 * What a query makes too much of, if anything: a value of too many characters or digits, or an operation that
 * would take more than some minutes.
 * @param root the tree of the query, as the parser makes it, of no more than some thousand levels,
 *   with patterns that may be used
 * @param names what its prologue declares
 */
export function excessOf(root: object, names: Names): string | undefined {
  return excessIn(() => {
    measure(root as Node, names);
    return undefined;
  });
}

function measure(root: Node, names: Names): void {
  const found = survey(root);
  const { bindings, expressions, orders, longestIri, mayRefer, isSpread } = found;
  const times = new Times(found, names);
  const longest = found.isKeeping ? LONGEST_KEPT : LONGEST;
  const nothing = () => ({ steps: 0, times: 0, joined: 0, kept: 0 });
  /** Measures all values, given the length of those from the graph in characters or bytes. */
  const measuring = (ofGraph: number, isInBytes: boolean) => {
    const known = new Map<string, Value>();
    const replaced: Within["replaced"] = new Map();
    const ofData = { length: ofGraph, number: NUMBER_OF_DATA, isJoined: false, isNamed: true };
    const ofName = (name: string) => known.get(name) ?? ofData;
    for (const { name } of bindings)
      if (!found.predicates.has(name))
        known.set(name, { length: 0, number: NO_NUMBER, isJoined: false, isNamed: true });
    const within = { ofName, longest, longestIri, mayRefer, isSpread, replaced, isInBytes, times, names };
    const measured = (node: Node, spent: Spent = nothing()) => valueBy(node, { ...within, spent });
    // No value is made in more steps than there are bindings. What still grows after as many rounds is a
    // variable that was given several independent values.
    for (let round = 0; round <= bindings.length; round++) {
      let hasGrown = false;
      for (const { name, expression } of bindings) {
        const before = ofName(name);
        const now = eitherOf(before, measured(expression));
        if (isDeepStrictEqual(now, before)) continue;
        known.set(name, now);
        hasGrown = true;
      }
      if (!hasGrown) break;
    }
    const lengthsOf = (names: Iterable<string>) =>
      sumOf([...names].map(ofName).map(({ length, isJoined }) => (isJoined ? 0 : length)));
    // A literal is a single value in memory, however many solutions it is in.
    const made = new Set(
      bindings.filter(({ expression }) => !("value" in expression)).map(({ name }) => name),
    );
    return { measured, all: lengthsOf(known.keys()), made: lengthsOf(made) };
  };
  const { measured, all } = measuring(OF_DATA, false);
  for (const term of found.sought) {
    const { length, isJoined } = measured(term);
    if (isJoined || length > LONGEST_KEPT) throw new Excess(tooLongToSeek(isJoined));
  }
  // An engine checks its time limit between solutions: everything done for one solution is a single step.
  const spent = nothing();
  for (const { expression } of expressions) measured(expression, spent);
  if (all > OF_A_SOLUTION * longest) throw new Excess(tooMuch("the values that it makes", all));
  for (const grouping of found.groupings) spent.kept += measured(grouping).length;
  if (found.isKeeping) {
    const inBytes = measuring(0, true);
    const written = nothing();
    for (const { expression } of expressions) inBytes.measured(expression, written);
    for (const grouping of found.groupings) written.kept += inBytes.measured(grouping).length;
    const most = Math.max(inBytes.made, written.kept);
    if (most > WRITTEN_KEPT) throw new Excess(tooMuchWritten(most));
  }
  if (spent.kept > OF_A_SOLUTION * longest)
    throw new Excess(tooMuch("what it groups and aggregates", spent.kept));
  if (spent.joined > OF_GROUP_CONCATS * LONGEST_KEPT)
    throw new Excess(tooMuch("what it takes for GROUP_CONCAT", spent.joined));
  let planned = 0;
  for (const { expression, exists } of expressions)
    for (const constant of constantsIn(expression)) {
      const own = nothing();
      measured(constant, own);
      // The contents of an EXISTS are planned twice.
      planned += own.steps * 2 ** exists;
      spent.times += own.times * (2 ** exists - 1);
    }
  if (planned > MOST_STEPS_OF_CONSTANTS) throw new Excess(TOO_CONSTANT);
  let comparing = 0;
  for (const order of orders) {
    const own = nothing();
    const { digits } = measured(order, own).number;
    const fault = faultOfSorted(digits);
    if (fault) throw new Excess(fault);
    const before = nothing();
    for (const aggregate of aggregatesIn(order)) measured(aggregate, before);
    comparing += stepsToCompare(order, own.steps - before.steps, digits);
    spent.times += times.stepsToSort(order) * COMPARISONS_OF_TIMES;
  }
  if (comparing * COMPARISONS > MOST_STEPS) throw new Excess(TOO_MUCH_SORTING);
  if (spent.times <= MOST_STEPS_OF_TIMES && spent.steps + spent.times <= MOST_STEPS) return;
  throw new Excess(
    spent.times > MOST_STEPS_OF_TIMES
      ? "All that the query does with durations could take too long together for each solution, as far as its text shows how long they are; take " +
          "dates from a property, as in ?x dct:modified ?date, or compare them as they are, without casts of texts and without durations."
      : "All that the query does with long values, patterns, dates and durations could take hours in total; ask for less of it at once.",
  );
}

const TOO_CONSTANT =
  "An expression of constants alone is evaluated before the query runs, in each place, and could take long; write out its result.";
const TOO_MUCH_SORTING =
  "An ORDER BY expression is evaluated again at each comparison, and could take long; give it a name, as with BIND(… AS ?key) or in SELECT, and sort by that, or by less.";

/** What is known of a variable that may have either of two values. */
function eitherOf(one: Value, other: Value): Value {
  return {
    length: Math.max(one.length, other.length),
    number: eitherNumber(one.number, other.number),
    isJoined: one.isJoined || other.isJoined,
    isNamed: true,
  };
}

/**
 * The most that a value can be. An operation that is not known better counts as all its
 * arguments, one after the other.
 * @throws Excess
 */
function valueBy(node: Node, known: Known): Value {
  const { subType, value, operator, aggregation } = node;
  const ofLength = (length: number) => ({
    ...{ length, number: numberOfTerm(node, known.names), isJoined: false, isNamed: false },
  });
  if (subType === "variable") return known.ofName(String(value));
  if (typeof value === "string") return ofLength(writtenLength(node, known));
  // EXISTS returns a boolean; expressions inside its pattern are measured separately.
  if (subType === "patternOperation") return ofLength(0);
  const parts = partsOf(node);
  const values = parts.map((part) => valueBy(part, known));
  const [first] = values;
  const firstLength = first?.isJoined ? Infinity : (first?.length ?? 0);
  const fault = known.times.faultOf(node, parts) ?? faultOfDepth(node, parts, firstLength);
  if (fault) throw new Excess(fault);
  const looked = values.map(({ length, isJoined }) => (isJoined ? LONGEST : length * SLACK));
  const steps = stepsOf(node, parts, looked);
  known.spent.steps += steps + sumOf(looked) * (LINEAR / SLACK);
  known.spent.times += known.times.stepsOf(node, parts);
  if (steps > MOST_STEPS) {
    const over = first?.isJoined
      ? "over values that a GROUP_CONCAT may make of all that there is"
      : `over values as long as those of this query could become (${first?.length.toLocaleString("en")} characters)`;
    throw new Excess(`${nameOf(node, parts)} could take hours ${over}; ${helpOf(operator)}.`);
  }
  const most = mostOf(node, parts);
  const isOfJoined = !isShort(node) && values.some((each) => each.isJoined);
  const isJoined = aggregation === "group_concat" || (isOfJoined && most === Infinity);
  const isChosen = CHOOSING.includes(operator ?? aggregation);
  // Each solution would have its own copy of a value that is found once.
  const isCopied =
    isJoined &&
    !isChosen &&
    known.isSpread &&
    !aggregation &&
    values.some((each) => each.isJoined && each.isNamed);
  const lengths = values.map(({ length }) => length);
  const whole = lengthOf(node, lengths, known);
  if (aggregation === "group_concat") known.spent.joined += whole;
  else if (isKept(node)) known.spent.kept += sumOf(lengths);
  const made = isOfJoined && most < Infinity ? most : Math.min(whole, most);
  const length = isCopied ? Infinity : Math.max(known.isInBytes ? 0 : OF_NOTHING, made);
  if (length > known.longest) throw new Excess(tooLong(nameOf(node, parts), known.longest, isCopied));
  if (isJoined && !isChosen && aggregation !== "group_concat") known.spent.joined += length;
  const numbers = values.map((each) => each.number);
  const number = numberOf(node, parts, numbers, length, known.names);
  const faultOfNumber = faultOfDigits(number.digits);
  if (faultOfNumber) throw new Excess(faultOfNumber);
  return { length, number, isJoined, isNamed: isChosen && values.some((each) => each.isNamed) };
}

function tooMuch(what: string, length: number): string {
  return (
    `Together ${what} could become too long for each solution of the query (${length.toLocaleString("en")} characters), ` +
    "counting each value of the graph as 1,000 characters; make fewer of them at once."
  );
}

function tooMuchWritten(bytes: number): string {
  return (
    `The query makes a graph, sorts, groups, joins or removes duplicates, so all solutions are kept in memory, and could write ${bytes.toLocaleString("en")} bytes of its own text into each, ` +
    `of ${WRITTEN_KEPT.toLocaleString("en")} that it may; write less into the values, or make fewer of them.`
  );
}

function tooLong(name: string, longest: number, isCopied: boolean): string {
  const where =
    longest === LONGEST
      ? ""
      : ", and the query sorts, groups, joins or removes duplicates, so all solutions are kept in memory";
  const help = isCopied
    ? "do that in the SELECT of the GROUP_CONCAT, or do not join it with other patterns"
    : "join or replace less of what is made so already";
  return `A value of the query could become longer than ${longest.toLocaleString("en")} characters by ${name}${where}; ${help}.`;
}

function tooLongToSeek(isJoined: boolean): string {
  const what = isJoined
    ? "The result of a GROUP_CONCAT may be of any length"
    : `A term could become longer than ${LONGEST_KEPT.toLocaleString("en")} characters`;
  return (
    `${what} where the query looks for it in the graph, in a triple, a path, GRAPH, FROM or DESCRIBE, or by = or IN with a name of a triple, ` +
    "and a store may keep what it does not find; look for something shorter, or compare long texts in another way, as with STRSTARTS or CONTAINS."
  );
}

/** Whether an aggregate keeps values: all distinct ones, or one for each group. */
function isKept({ aggregation, distinct }: Node): boolean {
  if (aggregation === undefined) return false;
  return distinct === true || !COUNTING.includes(aggregation);
}
