// A query has an engine take long over what it does in a single step, which no time limit ends.
import type { Mistake } from "../mistake.ts";

const COSTS = { tests: ["sparql-costs"] };
const CONSTANTS = { ...COSTS, file: "graph/sparql-constants.ts", only: "nothing but constants" };
const PLANNED = { ...CONSTANTS, file: "graph/sparql-cost.ts" };
const SORTED = { ...COSTS, file: "graph/sparql-cost.ts", only: "what is sorted by" };
const NUMBERS = { ...COSTS, file: "graph/sparql-numbers.ts", only: "numbers of many digits" };
const DIGITS = { ...NUMBERS, file: "graph/sparql-cost.ts" };
const DEEP = { ...COSTS, only: "repeats a group" };

const slips = (
  of: Omit<Mistake, "rule" | "before" | "after">,
  all: readonly (readonly [rule: string, before: string, after: string])[],
): Mistake[] => all.map(([rule, before, after]) => ({ ...of, rule, before, after }));

export const SPARQL_AT_ONCE: readonly Mistake[] = [
  ...slips(PLANNED, [
    ["constants are made while a query is planned", "if (planned > MOST_STEPS_OF_CONSTANTS)", "if (false)"],
    ["constants may take as long as they may", "MOST_STEPS / 200", "MOST_STEPS / 300"],
    ["constants may take no longer", "MOST_STEPS / 200", "MOST_STEPS / 150"],
    ["constants are made again in each EXISTS", "own.steps * 2 ** exists", "own.steps"],
    ["so are durations", "own.times * (2 ** exists - 1)", "0"],
  ]),
  ...slips(CONSTANTS, [
    ["a name is no constant", 'if (subType === "variable" || ', "if ("],
    ["NOW is no constant", "if (partsOf(node).length === 0) return false;\n", ""],
    [
      "a part may be a constant",
      "found.push(...parts.filter(({ isOne }) => isOne).map(({ part }) => part));\n",
      "",
    ],
    ["all that is given is constant, or it is none", "parts.every(", "parts.some("],
  ]),
  {
    ...CONSTANTS,
    file: "graph/sparql-survey.ts",
    rule: "an EXISTS is known by those around it",
    before: 'exists + (subType === "patternOperation" ? 1 : 0)',
    after: "exists",
  },
  ...slips(SORTED, [
    [
      "what is sorted by is made at each comparison",
      "if (comparing * COMPARISONS > MOST_STEPS)",
      "if (false)",
    ],
    ["aggregates are made once for their groups", "own.steps - before.steps", "own.steps"],
    [
      "durations are compared more often",
      "const COMPARISONS_OF_TIMES = 10;",
      "const COMPARISONS_OF_TIMES = 5;",
    ],
  ]),
  ...slips({ ...SORTED, file: "graph/sparql-sorting.ts" }, [
    ["forty keys may be", "const OF_A_KEY = 22_800;", "const OF_A_KEY = 24_000;"],
    ["and no more", "const OF_A_KEY = 22_800;", "const OF_A_KEY = 22_000;"],
    ["three that are made may be", "const OF_MAKING = 275_000;", "const OF_MAKING = 320_000;"],
    ["what is made may fail", "const OF_MAKING = 275_000;", "const OF_MAKING = 225_000;"],
    ["what takes longer counts as that", "Math.max(steps, making)", "making"],
    ["a number is read in the square of its digits", "const OF_DIGITS = 2.2;", "const OF_DIGITS = 1.5;"],
    ["some numbers of many digits may be sorted by", "const OF_DIGITS = 2.2;", "const OF_DIGITS = 3;"],
    ["names are there", " && partsOf(key).length > 0", ""],
    ["so is what was made of a group", 'key["aggregation"] === undefined && partsOf', "partsOf"],
    ["what is made of aggregates counts", "? partsOf(key).flatMap(aggregatesIn) : [key]", "? [key] : [key]"],
    ["a sort has half a million comparisons", "COMPARISONS = 200_000;", "COMPARISONS = 150_000;"],
    ["not all values are the longest", "COMPARISONS = 200_000;", "COMPARISONS = 2_000_000;"],
  ]),
  ...slips({ ...SORTED, file: "graph/sparql-steps.ts" }, [
    ["a cast may fail", "return OF_FAILURE + (all >", "return (all >"],
    ["so may STRDT", "return OF_FAILURE + first * first;", "return first * first;"],
    ["so may IRI", "if (FAILING.includes(operator)) return OF_FAILURE;\n", ""],
    ["URI is IRI", '["iri", "uri"];', '["iri"];'],
  ]),
  ...slips(NUMBERS, [
    ["a number is written with a hundred digits", "const MOST_WRITTEN = 100;", "const MOST_WRITTEN = 99;"],
    ["a number is written with no more", "const MOST_WRITTEN = 100;", "const MOST_WRITTEN = 101;"],
    ["a text may be longer", "isAmong(NUMBERS, langOrIri, names) && ", ""],
    ["a number may have 4,000 digits", "const MOST = 4_000;", "const MOST = 3_999;"],
    ["a number has no more", "const MOST = 4_000;", "const MOST = 4_001;"],
    ["numbers of 300 digits may be sorted by", "const MOST_SORTED = 300;", "const MOST_SORTED = 100;"],
    ["longer ones are not", "digits > MOST_SORTED", "false"],
    ["a cast reads all of a text", ": cast), isDouble }", ": OF_DATA), isDouble }"],
    [
      "a text of the graph is a short number",
      "digits: OF_DATA, cast: OF_DATA,",
      "digits: OF_DATA, cast: 1_000,",
    ],
    ["a part of a text is no longer than the text", "PART_TAKING.includes(operator) ||", "false ||"],
    ["what loses a part is not longer", ' || (operator === "replace" && parts[2]?.["value"] === "")', ""],
    [
      "what is replaced may be longer",
      '(operator === "replace" && parts[2]?.["value"] === "")',
      'operator === "replace"',
    ],
    [
      "a part of a text is as long as is written out",
      "Math.min(of[0]!.cast, mostOf(node, parts))",
      "of[0]!.cast",
    ],
    ["what is short is a short number", "if (isShort(node)) return { ...NO_NUMBER, cast: OF_DATA };\n", ""],
    ["what is written out is as long as it is", "cast: length,\n", "cast: OF_DATA,\n"],
    ["a double is many digits as an integer", "wasDouble && !isDouble ?", "false ?"],
    ["a double of a double is short", "wasDouble && !isDouble ?", "wasDouble ?"],
    [
      "a double has a type that says so",
      "isDouble: isAmong(FLOATING, langOrIri, names),",
      "isDouble: false,",
    ],
    ["what is reckoned with doubles is a double", "isDouble: all.isDouble }", "isDouble: false }"],
    ["either may be a double", "isDouble: one.isDouble || other.isDouble,", "isDouble: one.isDouble,"],
    ["either may have more digits", "digits: Math.max(one.digits, other.digits),", "digits: one.digits,"],
    ["either may be read as more digits", "cast: Math.max(one.cast, other.cast),", "cast: one.cast,"],
    ["a function may make a long text", "cast: Math.max(all.cast, length) }", "cast: all.cast }"],
    ["STRDT makes numbers", 'operator === "strdt" ? parts[1] : undefined', "undefined"],
    ["a sum has a digit more", "ofDigits(all.digits + 1)", "ofDigits(all.digits)"],
    ["a product has the digits of both", "sum + digits", "Math.max(sum, digits)"],
    ["a division has more digits", 'operator === "/" ? BEHIND_POINT : 0', "0"],
    ["an average is of numbers", 'aggregation === "sum" || aggregation === "avg"', "false"],
    ["what is negative is a number", '"uminus", "uplus", ', ""],
    ["one of a choice is a number", '"if", "coalesce", "min", "max", "sample", ', ""],
    ["a part of a triple may be a number", '...["triple", "subject", "predicate", "object"],', ""],
    [
      "what is made of a number by a function is one",
      'if (subType === "functionCall") return',
      "if (false) return",
    ],
  ]),
  ...slips(DIGITS, [
    ["a name has its digits", "number: eitherNumber(one.number, other.number),", "number: one.number,"],
    ["no operation makes more digits", "if (faultOfNumber) throw new Excess(faultOfNumber);\n", ""],
  ]),
  ...slips({ ...DEEP, file: "graph/sparql-cost.ts" }, [
    ["a repeated group takes a stack", " ?? faultOfDepth(node, parts, firstLength)", ""],
    ["a GROUP_CONCAT may be long", "first?.isJoined ? Infinity : ", ""],
  ]),
  ...slips({ ...DEEP, file: "graph/sparql-steps.ts" }, [
    [
      "what is repeated without a group takes none",
      "depthOfEach > 0 ? longest * depthOfEach : 0",
      "longest * depthOfEach",
    ],
    ["a value of the graph may be longer than most", "Math.max(length, OF_DATA * SLACK)", "length"],
    ["a stack has room", "const DEEPEST = 100_000;", "const DEEPEST = 99_999;"],
    ["it has no more", "const DEEPEST = 100_000;", "const DEEPEST = 100_004;"],
  ]),
  ...slips({ ...DEEP, file: "graph/sparql-patterns.ts" }, [
    ["a group has a beginning and an end", "const OF_GROUP = 2;", "const OF_GROUP = 1;"],
    [
      "a set that is repeated takes none",
      "isGroup ? depth / Math.max(1, cost.least) : 0",
      "depth / Math.max(1, cost.least)",
    ],
    ["what is repeated passes as many characters as it has", "depth / Math.max(1, cost.least)", "depth"],
    [
      "what may be nothing is passed for each character",
      "depth / Math.max(1, cost.least)",
      "depth / cost.least",
    ],
    ["a group that is repeated some times is passed as often", "isGroup ? depth * most : depth", "depth"],
    ["a set that is repeated some times is passed once", "isGroup ? depth * most : depth", "depth * most"],
    ["one behind another goes deeper", "depth: all.depth + depth }", "depth }"],
    [
      "what one has passed the other does not",
      "depthOfEach: Math.max(all.depthOfEach, depthOfEach),",
      "depthOfEach: all.depthOfEach + depthOfEach,",
    ],
    [
      "what follows a repeated group may be anything",
      "depthOfEach: Math.max(all.depthOfEach, depthOfEach),",
      "depthOfEach,",
    ],
    [
      "a choice is a part",
      "depth: 1 + Math.max(...costs.map(({ depth }) => depth)),",
      "depth: Math.max(...costs.map(({ depth }) => depth)),",
    ],
    [
      "any of some alternatives may repeat a group",
      "depthOfEach: Math.max(...costs.map(({ depthOfEach }) => depthOfEach)),",
      "depthOfEach: 0,",
    ],
  ]),
  {
    ...NUMBERS,
    file: "graph/sparql-types.ts",
    rule: "bytes are numbers",
    before: "unsignedByte ",
    after: "",
  },
];
