// What an engine takes to look through a value, which is a single step to it that no time limit ends.
import { OF_DATA, sumOf } from "./sparql-lengths.ts";
import { readPattern } from "./sparql-patterns.ts";
import { isMatching } from "./sparql-survey.ts";
import type { Node } from "./sparql-survey.ts";
import { quoted } from "./sparql-wording.ts";

/** How much longer the longest may be; what takes steps with each is not to take hours with that one. */
export const SLACK = 10;
/**
 * Calls in one another, of a stack of 16 MB (graph/fuseki/start.sh): with 9,400 characters 20 calls for each were possible, and 24 too many.
 */
const DEEPEST = 100_000;
/** What takes as many steps as its first argument is long, times its second: engines compare by the letter. */
const BY_EACH: readonly unknown[] = ["contains", "strbefore", "strafter"];

/**
 * What may fail for its value: Jena raises an error each time, which takes as long as some hundred thousand letters. A sort of
 * 20,000 casts that fail took 12 s of a processor.
 */
const FAILING: readonly unknown[] = ["iri", "uri"];
const OF_FAILURE = 2_000_000;

/** How many steps an engine takes with values of these lengths. */
export function stepsOf(
  { operator, subType }: Node,
  parts: readonly Node[],
  lengths: readonly number[],
): number {
  const [first = 0, second = 0] = lengths;
  // A number is read digit by digit, with a multiplication each time; those that may be called are casts to numbers and the like.
  if (subType === "functionCall") {
    const all = sumOf(lengths);
    return OF_FAILURE + (all > OF_DATA * SLACK ? all * all : all);
  }
  if (operator === "strdt") return OF_FAILURE + first * first;
  if (FAILING.includes(operator)) return OF_FAILURE;
  // What is written out is as long as it is.
  if (BY_EACH.includes(operator))
    return first * (parts[1]?.["subType"] === "literal" ? second / SLACK : second);
  if (!isMatching(operator)) return 0;
  const flags = parts[operator === "regex" ? 2 : 3]?.["value"];
  const read = readPattern(String(parts[1]?.["value"]), String(flags).includes("m"));
  // What is no pattern is looked for as it is.
  const { open, ways } = "fault" in read ? { open: 2, ways: 1 } : read;
  let steps = ways;
  for (let places = 1; places <= open; places++) steps *= first / places;
  return steps;
}

/** Why a pattern is not matched with a value as long as this, for which Java would need more of a stack than it has. */
export function faultOfDepth(node: Node, parts: readonly Node[], length: number): string | undefined {
  if (!isMatching(node["operator"])) return undefined;
  const read = readPattern(String(parts[1]?.["value"]));
  if ("fault" in read) return undefined;
  const { depth, depthOfEach } = read;
  // A value of the graph may be longer than most.
  const longest = Math.max(length, OF_DATA * SLACK);
  if (depth + (depthOfEach > 0 ? longest * depthOfEach : 0) <= DEEPEST) return undefined;
  const text = longest === Infinity ? "any length" : `${longest.toLocaleString("en")} characters`;
  return (
    `${nameOf(node, parts)} repeats groups, which have too many parts for a text of ${text}, as values of the graph may have; ` +
    "repeat a set of characters, as in [ab]*, or groups of fewer parts, or match something shorter."
  );
}

/** What a refusal calls an operation. */
export function nameOf({ operator, aggregation }: Node, parts: readonly Node[]): string {
  if (isMatching(operator)) {
    return `${operator.toUpperCase()} with the pattern ${JSON.stringify(quoted(String(parts[1]?.["value"])))}`;
  }
  const name = operator ?? aggregation;
  return typeof name === "string" ? name.toUpperCase() : "A function";
}

/** How to ask for something that takes fewer steps. */
export function helpOf(operator: unknown): string {
  return isMatching(operator)
    ? "begin the pattern with ^, use fewer of *, + and {n,} or of the alternatives between them, or look for its words one by one with CONTAINS"
    : "look through what stands in the graph, instead of what is made of it";
}
