// The cost of searching a value: to an engine that is a single step, which no time limit ends.
import { OF_DATA, sumOf } from "./sparql-lengths.ts";
import { readPattern } from "./sparql-patterns.ts";
import { isMatching } from "./sparql-survey.ts";
import type { Node } from "./sparql-survey.ts";
import { quoted } from "./sparql-wording.ts";

/**
 * How many times longer than OF_DATA the longest value may be: an operation must not take hours on that one.
 */
export const SLACK = 10;
/**
 * How deep calls may be nested on a stack of 16 MB (graph/fuseki/start.sh): with 9,400 characters, 20 calls
 * for each were possible, and 24 too many.
 */
const DEEPEST = 100_000;
/**
 * Functions that take as many steps as the lengths of their two arguments multiplied:
 * engines compare letter by letter.
 */
const BY_EACH: readonly unknown[] = ["contains", "strbefore", "strafter"];

/**
 * Functions that fail on some values: Jena throws an exception each time, which takes as long as reading some
 * hundred thousand letters. A sort by 20,000 casts that fail took 12 s of CPU time.
 */
const FAILING: readonly unknown[] = ["iri", "uri"];
const OF_FAILURE = 2_000_000;

/** How many steps an engine takes for an operation on values of these lengths. */
export function stepsOf(
  { operator, subType }: Node,
  parts: readonly Node[],
  lengths: readonly number[],
): number {
  const [first = 0, second = 0] = lengths;
  // The functions that may be called are casts to numbers and the like. A number is read digit by digit,
  // with a multiplication each time.
  if (subType === "functionCall") {
    const all = sumOf(lengths);
    return OF_FAILURE + (all > OF_DATA * SLACK ? all * all : all);
  }
  if (operator === "strdt") return OF_FAILURE + first * first;
  if (FAILING.includes(operator)) return OF_FAILURE;
  // The length of a literal is exact.
  if (BY_EACH.includes(operator))
    return first * (parts[1]?.["subType"] === "literal" ? second / SLACK : second);
  if (!isMatching(operator)) return 0;
  const flags = parts[operator === "regex" ? 2 : 3]?.["value"];
  const read = readPattern(String(parts[1]?.["value"]), String(flags).includes("m"));
  // A text that is not a pattern (flag q) is searched for as it is.
  const { open, ways } = "fault" in read ? { open: 2, ways: 1 } : read;
  let steps = ways;
  for (let places = 1; places <= open; places++) steps *= first / places;
  return steps;
}

/** Why a pattern may not be matched with a value of this length: Java would need more stack than it has. */
export function faultOfDepth(node: Node, parts: readonly Node[], length: number): string | undefined {
  if (!isMatching(node["operator"])) return undefined;
  const read = readPattern(String(parts[1]?.["value"]));
  if ("fault" in read) return undefined;
  const { depth, depthOfEach } = read;
  // Some values of the graph are longer than OF_DATA.
  const longest = Math.max(length, OF_DATA * SLACK);
  if (depth + (depthOfEach > 0 ? longest * depthOfEach : 0) <= DEEPEST) return undefined;
  const text = longest === Infinity ? "any length" : `${longest.toLocaleString("en")} characters`;
  return (
    `${nameOf(node, parts)} repeats groups with too many parts for a text of ${text}, as values of the graph may have; ` +
    "repeat a set of characters, as in [ab]*, or groups of fewer parts, or match something shorter."
  );
}

/** The name of an operation in an error message. */
export function nameOf({ operator, aggregation }: Node, parts: readonly Node[]): string {
  if (isMatching(operator)) {
    return `${operator.toUpperCase()} with the pattern ${JSON.stringify(quoted(String(parts[1]?.["value"])))}`;
  }
  const name = operator ?? aggregation;
  return typeof name === "string" ? name.toUpperCase() : "A function";
}

/** Advice for a query that takes fewer steps. */
export function helpOf(operator: unknown): string {
  return isMatching(operator)
    ? "begin the pattern with ^, use fewer of *, + and {n,} or of the alternatives between them, or look for its words one by one with CONTAINS"
    : "look through what stands in the graph, instead of what is made of it";
}
