// What a query can cost, as far as its text shows: how long the values become that it makes of others, and what it takes to look
// through them. Forty doublings of one letter fit into a line, and an engine ends what makes a terabyte of it only when its memory is full:
// what others ask waits meanwhile. To look through a long value for another is a single step to an engine, which no time limit ends.
import type { Names } from "./sparql-extensions.ts";
import { readPattern } from "./sparql-patterns.ts";
import { timesOf } from "./sparql-times.ts";

/** What a value of the graph is taken to have; most have less. */
const OF_DATA = 1_000;
/** How much longer the longest may be; what takes steps with each is not to take hours with that one. */
const SLACK = 10;
/** How many values are taken to be in a group. */
const IN_GROUP = 10;
/** Room for the lists of lists, and for many solutions to be sorted by it. */
const LONGEST = 2_000_000;
/** Some minutes of an engine. */
const MOST_STEPS = 2e11;
const LONGEST_QUOTED = 100;
/** To go once through a value, such as to hash it: this often as long as to compare a letter. */
const LINEAR = 100;
/** A letter becomes three bytes, and each of them three characters. */
const ENCODED = 9;

/** What takes as many steps as its first argument is long, times its second: engines compare by the letter and multiply by the digit. */
const BY_EACH: readonly unknown[] = ["contains", "strbefore", "strafter", "*", "/"];
/** What is short, whatever it is of. */
const SHORT: readonly unknown[] = [
  "strlen",
  "contains",
  "regex",
  "=",
  "!=",
  "<",
  ">",
  "<=",
  ">=",
  "in",
  "notin",
  ...["md5", "sha1", "sha256", "sha384", "sha512"],
];
/** The longest that anything has of which the arguments do not tell: a number of all digits that it can have. */
const OF_NOTHING = 400;

type Node = Readonly<Record<string, unknown>>;
type Known = {
  ofName: (name: string) => number;
  longestIri: number;
  mayRefer: boolean;
  replaced: Map<Node, Replaced>;
  /** what an operation takes if its operands are dates or durations */
  ofTimes: (node: Node, parts: readonly Node[]) => number;
  /** all steps so far */
  spent: { steps: number };
};
/** What comes of replacing single letters, none of which stands in what others were replaced by: each is replaced but once. */
type Replaced = { base: number; growth: number; made: string };
type Binding = { name: string; expression: Node };

class Excess extends Error {}

/**
 * What a query makes too much of, if it does: a value of more than LONGEST characters, or digits, or something that takes
 * more than some minutes to find in it.
 * @param root the tree of the query, as the parser makes it, of no more than some thousand levels, with patterns that may be used
 * @param names what its prologue declares
 */
export function excessOf(root: object, names: Names): string | undefined {
  try {
    measure(root as Node, names);
    return undefined;
  } catch (error) {
    if (error instanceof Excess) return error.message;
    throw error;
  }
}

function measure(root: Node, names: Names): void {
  const { bindings, expressions, longest, longestIri, mayRefer } = look(root);
  const ofData = Math.max(OF_DATA, longest);
  const known = new Map<string, number>();
  const replaced = new Map<Node, Replaced>();
  const ofTimes = timesOf(root, names);
  const measured = (node: Node, spent = { steps: 0 }) =>
    lengthBy(node, {
      ...{ ofName: (name) => known.get(name) ?? ofData, longestIri, mayRefer, replaced },
      ...{ ofTimes, spent },
    });
  // No value is made in more steps than there are bindings. What grows after as many rounds is a name that was given to
  // several values, none of which sees the others.
  for (let round = 0; round <= bindings.length; round++) {
    let hasGrown = false;
    for (const { name, expression } of bindings) {
      const length = measured(expression);
      if (length <= (known.get(name) ?? ofData)) continue;
      known.set(name, length);
      hasGrown = true;
    }
    if (!hasGrown) break;
  }
  // An engine looks at its clock between solutions: all that one of them takes is a single step.
  const spent = { steps: 0 };
  for (const expression of expressions) measured(expression, spent);
  if (spent.steps > MOST_STEPS) {
    throw new Excess(
      "All that the query does with long values, patterns, dates and durations could take hours together; ask for less of it at once.",
    );
  }
}

/** What a query binds to names, the expressions that are in no other, and how long its longest literal and IRI are. */
function look(root: Node) {
  const bindings: Binding[] = [];
  const expressions: Node[] = [];
  let [longest, longestIri] = [0, 0];
  // Of what stands in the graph it is taken not to be there, or rarely.
  let mayRefer = false;
  const patterns = new Set<Node | undefined>();
  const stack: { node: Node; isPart: boolean }[] = [{ node: root, isPart: false }];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { node, isPart } = entry;
    // BIND and SELECT have it as expression, GROUP BY as value.
    const { type, subType, variable, expression = node["value"] } = node;
    if (isNode(variable) && isNode(expression))
      bindings.push({ name: String(variable["value"]), expression });
    const isExpression = type === "expression" && subType !== "patternOperation";
    if (isExpression && !isPart) expressions.push(node);
    if (subType === "namedNode") longestIri = Math.max(longestIri, String(node["value"]).length);
    if (subType === "literal") longest = Math.max(longest, String(node["value"]).length);
    if (isMatching(node["operator"])) patterns.add((node["args"] as readonly Node[])[1]);
    if ((subType === "namedNode" || subType === "literal") && !patterns.has(node))
      mayRefer ||= String(node["value"]).includes("$");
    const isPartToo = isExpression || (isPart && Array.isArray(node));
    for (const child of Object.values(node))
      if (isNode(child)) stack.push({ node: child, isPart: isPartToo });
  }
  return { bindings, expressions, longest, longestIri, mayRefer };
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

/**
 * At most, whatever the arguments are: of what is not known better, all of them one after the other.
 * @throws Excess
 */
function lengthBy(node: Node, known: Known): number {
  const { subType, value, operator } = node;
  if (subType === "variable") return known.ofName(String(value));
  // It may stand behind a prefix, or be relative.
  if (typeof value === "string") return value.length + (subType === "namedNode" ? known.longestIri : 0);
  // Whether a pattern exists is a word; what it binds has been looked at by itself.
  if (subType === "patternOperation") return 0;
  const parts = [node["args"], node["expression"], node["subject"], node["predicate"], node["object"]]
    .flat()
    .filter(isNode);
  const lengths = parts.map((part) => lengthBy(part, known));
  const steps = stepsOf(node, parts, lengths);
  const linear = lengths.reduce((total, each) => total + each, 0) * LINEAR;
  known.spent.steps += steps + linear + known.ofTimes(node, parts);
  if (steps > MOST_STEPS) {
    const over = `over values as long as those of this query could become (${lengths[0]?.toLocaleString("en")} characters)`;
    throw new Excess(`${nameOf(node, parts)} could take hours ${over}; ${helpOf(operator)}.`);
  }
  const made = Math.min(lengthOf(node, lengths, known.mayRefer), lengthByLetters(node, lengths, known));
  const length = Math.max(OF_NOTHING, made);
  if (length > LONGEST) {
    throw new Excess(
      `A value of the query could become longer than ${LONGEST.toLocaleString("en")} characters by ${nameOf(node, parts)}; ` +
        "join or replace less of what is made so already.",
    );
  }
  return length;
}

const isMatching = (operator: unknown): operator is string => operator === "regex" || operator === "replace";

function nameOf({ operator, aggregation }: Node, parts: readonly Node[]): string {
  if (isMatching(operator)) {
    const pattern = String(parts[1]?.["value"]);
    const quoted = pattern.length > LONGEST_QUOTED ? `${pattern.slice(0, LONGEST_QUOTED)}…` : pattern;
    return `${operator.toUpperCase()} with the pattern ${JSON.stringify(quoted)}`;
  }
  const name = operator ?? aggregation;
  return typeof name === "string" ? name.toUpperCase() : "A function";
}

function helpOf(operator: unknown): string {
  return isMatching(operator)
    ? "begin the pattern with ^, use fewer of *, + and {n,} or of the alternatives between them, or look for its words one by one with CONTAINS"
    : "look through what stands in the graph, instead of what is made of it";
}

/**
 * How long what is made of values of these lengths is.
 * @param mayRefer whether what stands for a match may have all of it in it, as $0
 */
function lengthOf(node: Node, lengths: readonly number[], mayRefer: boolean): number {
  const { operator, aggregation, separator = "" } = node as { separator?: string } & Node;
  const [first = 0, , third = 0] = lengths;
  if (SHORT.includes(operator)) return 0;
  if (operator === "if" || operator === "coalesce") return Math.max(...lengths);
  if (operator === "replace") {
    const least = leastOf(node["args"] as readonly Node[]);
    // Between all letters, and in the place of each.
    if (least === 0 || mayRefer) return (first + 1) * (third + 1);
    return first + (first / least) * Math.max(0, third - least);
  }
  if (operator === "encode_for_uri") return first * ENCODED;
  const sum = lengths.reduce((total, length) => total + length, 0);
  return aggregation === "group_concat" ? (sum + separator.length) * IN_GROUP : sum;
}

function lengthByLetters(node: Node, [first = 0]: readonly number[], { replaced, mayRefer }: Known): number {
  if (node["operator"] !== "replace" || mayRefer) return Infinity;
  const [of, pattern, by, flags] = node["args"] as readonly Node[];
  const letter = String(pattern?.["value"]);
  if (!/^[^\\^$.|?*+()[\]{}]$/.test(letter) || by?.["subType"] !== "literal" || flags) return Infinity;
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

/** How many steps an engine takes with values of these lengths. */
function stepsOf({ operator, subType }: Node, parts: readonly Node[], lengths: readonly number[]): number {
  const [first = 0, second = 0] = lengths.map((length) => length * SLACK);
  // A number is read digit by digit, with a multiplication each time; those that may be called are casts to numbers and the like.
  if (subType === "functionCall") return (SLACK * lengths.reduce((total, length) => total + length, 0)) ** 2;
  if (operator === "strdt") return first * first;
  if (BY_EACH.includes(operator)) return first * second;
  if (!isMatching(operator)) return 0;
  const flags = parts[operator === "regex" ? 2 : 3]?.["value"];
  const read = readPattern(String(parts[1]?.["value"]), String(flags).includes("m"));
  // What is no pattern is looked for as it is.
  const { open, ways } = "fault" in read ? { open: 2, ways: 1 } : read;
  let steps = ways;
  for (let places = 1; places <= open; places++) steps *= first / places;
  return steps;
}
