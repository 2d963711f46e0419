// A plan that an engine makes of a query is larger than any time allows, or a query is refused that has a small one.
import type { Mistake } from "../mistake.ts";

const PLANS = { file: "graph/sparql-plan.ts", tests: ["sparql-plans"] };
const JOINED = { ...PLANS, only: "thousand triples" };
const FILTERED = { ...PLANS, only: "hundred thousand" };

const JOIN_SLIPS: readonly (readonly [rule: string, before: string, after: string])[] = [
  ["a group may join as much as it may", "joined > MOST_JOINED", "joined >= MOST_JOINED"],
  ["a union joins nothing", 'subType === "union" ? 0 : joinedIn(node)', "joinedIn(node)"],
  [
    "groups in a group are joined with it",
    'if (each["subType"] === "group") return',
    'if (each["subType"] === "none") return',
  ],
  ["a graph is four triples", "graph: OF_GRAPH, ", ""],
  ["what is in a graph is joined", "Math.max(alike, joinedIn(each))", "alike"],
  ["values are ten triples", ", values: OF_VALUES }", " }"],
  ["an annotation is a triple", "triples += (annotations as readonly Node[]).length;\n", ""],
  ["what a subquery joins is joined", 'Math.max(alike, joinedIn(each["where"] as Node))', "alike"],
  [
    "a subquery is one pattern at least",
    'Math.max(alike, joinedIn(each["where"] as Node))',
    'joinedIn(each["where"] as Node)',
  ],
  ["a path is several triples", 'if (type === "path")', 'if (type === "none")'],
  ["a path is no triple by itself", '&& (predicate as Node)["type"] !== "path") triples', ") triples"],
];

const FILTER_SLIPS: typeof JOIN_SLIPS = [
  ["a plan may have as many parts as it may", "parts > MOST_PARTS", "parts > 2 * MOST_PARTS"],
  ["a plan of a query has what it makes", "partsOf(variables) + ", ""],
  ["a plan of a query has what it sorts by", " + partsOf(others)", ""],
  ["HAVING is a filter", "filtered(within, filters)", "filtered(within, [])"],
  ["rows of values are no parts", 'if (subType === "values") return { parts: 1, places: 1 };\n', ""],
  ["filters are no patterns", '.filter((each) => each["subType"] !== "filter").map(planOf)', ".map(planOf)"],
  ["alternatives make copies of each other's", "copies *=", "copies +="],
  ["what is not equal has one copy", "equal > 0 && others.length > 0 ? 1 : 0", "others.length"],
  ["a filter with no other alternatives makes its copies only", "if (others.length > 0) tried", "tried"],
  ["what is compared counts", "each : computedIn(each)", "each : []"],
  ["what is equal needs no filter", "others.includes(each) ? each : computedIn(each)", "each"],
  ["a filter is tried at each place", "parts + tried * places", "parts + tried"],
  ["a filter is tried in each copy", "Math.min(copies * places, INNUMERABLE)", "places"],
  ["filters are parted at &&", 'partedBy("&&", each)', "[each]"],
  ["alternatives are those of ||", 'partedBy("||", filter)', "[filter]"],
  ["sameTerm makes copies", ' || operator === "sameterm"', ""],
  ["IN makes copies", 'operator === "in" ?', "operator === undefined ?"],
  ["a long IN makes none", "values < LONG_LIST ? values : 0", "values"],
  ["NOT IN is many filters", "parts += (args as readonly Node[]).length;", "parts += 1;"],
  ["what an operation is given counts", 'if (type === "term") parts += 1 / OF_AN_OPERATION;\n', ""],
  ["a literal is one part with its type", 'if (subType === "literal") continue;\n', ""],
  ["what is bound counts", 'parts: 1 + partsOf(node["expression"])', "parts: 1"],
  ["what EXISTS has in it counts twice", "1 + 2 * planOf", "1 + planOf"],
  ["what cannot be counted is more than any", "Math.min(copies * places, INNUMERABLE)", "copies * places"],
];

export const SPARQL_PLANS: readonly Mistake[] = [
  ...JOIN_SLIPS.map(([rule, before, after]) => ({ ...JOINED, rule, before, after })),
  ...FILTER_SLIPS.map(([rule, before, after]) => ({ ...FILTERED, rule, before, after })),
  {
    ...FILTERED,
    file: "graph/sparql-guard.ts",
    rule: "a plan is looked at",
    before: "faultOfPlan(tree) ?? ",
    after: "",
  },
];
