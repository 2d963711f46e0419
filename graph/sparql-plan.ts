// The size of a query's plan. While Jena builds it, no time limit ends that query, nor any other
// (see sparql-endable.ts). Jena copies a pattern for each alternative of a filter on it, tries each
// filter at each place of its pattern, doubles the contents of EXISTS, and orders joined parts by
// comparing each with each other.
import { isNode } from "./sparql-survey.ts";
import type { Node } from "./sparql-survey.ts";
import { Excess, excessIn } from "./sparql-wording.ts";

/** The most joined parts: TDB2 orders this many in a fifth of a second. */
const MOST_JOINED = 1_000;
/** The most triples, patterns and operations, counting all copies: planning takes a second or less. */
const MOST_PARTS = 100_000;
/**
 * A bound for `places`, so that they never become Infinity: 0 times Infinity is NaN, which exceeds no limit.
 */
const INNUMERABLE = 1e15;
/** An IN with this many values is not expanded into alternatives. */
const LONG_LIST = 250;
/** How many arguments count as much as one operation. */
const OF_AN_OPERATION = 4;
/**
 * How many triples take as long to order as one GRAPH or one VALUES: 1,000 GRAPH took 5 s, 1,000 VALUES 9
 * s, and 2,500 never finished.
 */
const OF_GRAPH = 4;
const OF_VALUES = 10;
const LIKE_TRIPLES: Readonly<Record<string, number>> = { graph: OF_GRAPH, values: OF_VALUES };

/** How many parts a plan has, and at how many of them filters are tried. */
type Plan = { parts: number; places: number };

/** @param query the tree, of no more than some thousand levels */
export function faultOfPlan(query: Node): string | undefined {
  return excessIn(() => {
    const { parts } = planOfQuery(query);
    return parts > MOST_PARTS
      ? `The filters of this query could make an engine expand it into a plan of ${written(parts)} parts before it starts: ` +
          "give alternatives and long lists with VALUES in place of || and IN, put filters into the groups that they are for, and use less EXISTS."
      : undefined;
  });
}

const written = (parts: number) =>
  parts < 1e12 ? Math.ceil(parts).toLocaleString("en") : "a million million or more";

function planOfQuery({ where, solutionModifiers, variables }: Node): Plan {
  const { having, ...others } = solutionModifiers as Node;
  const filters = isNode(having) ? (having["having"] as readonly Node[]) : [];
  const within = isNode(where) ? planOf(where) : { parts: 1, places: 1 };
  const { parts, places } = filtered(within, filters);
  return { parts: parts + partsOf(variables) + partsOf(others), places };
}

function planOf(node: Node): Plan {
  const { type, subType } = node;
  if (type === "query") return planOfQuery(node);
  if (subType === "values") return { parts: 1, places: 1 };
  if (subType === "bind") return { parts: 1 + partsOf(node["expression"]), places: 1 };
  if (subType === "bgp") {
    const triples = triplesOf(node);
    return { parts: triples, places: triples };
  }
  const joined = subType === "union" ? 0 : joinedIn(node);
  if (joined > MOST_JOINED)
    throw new Excess(
      `A group has ${written(joined)} triples and other patterns, with those of the groups in it, and may have at most ${written(MOST_JOINED)}. ` +
        `An item of a list counts as 2, each property of a path as 1, a GRAPH as ${OF_GRAPH} and a VALUES as ${OF_VALUES}: give many values with VALUES, or ask for less at once.`,
    );
  const patterns = node["patterns"] as readonly Node[];
  const of = patterns.filter((each) => each["subType"] !== "filter").map(planOf);
  const filters = patterns.filter((each) => each["subType"] === "filter").map(({ expression }) => expression);
  const all = { parts: 1 + sumOf(of, "parts"), places: Math.max(1, sumOf(of, "places")) };
  return filtered(all, filters as readonly Node[]);
}

const sumOf = (plans: readonly Plan[], key: keyof Plan) => plans.reduce((sum, plan) => sum + plan[key], 0);

function filtered({ parts, places }: Plan, filters: readonly Node[]): Plan {
  let [copies, tried] = [1, 0];
  for (const filter of filters.flatMap((each) => partedBy("&&", each))) {
    const alternatives = partedBy("||", filter);
    const equal = alternatives.reduce((sum, each) => sum + equalitiesOf(each), 0);
    const others = equal > 0 ? alternatives.filter((each) => equalitiesOf(each) === 0) : alternatives;
    copies *= Math.max(1, equal + (equal > 0 && others.length > 0 ? 1 : 0));
    // An equality that makes a copy is no filter in that copy.
    if (others.length > 0) tried += 1;
    tried += alternatives.reduce(
      (sum, each) => sum + partsOf(others.includes(each) ? each : computedIn(each)),
      0,
    );
  }
  return { parts: copies * (parts + tried * places), places: Math.min(copies * places, INNUMERABLE) };
}

function partedBy(operator: string, expression: Node): readonly Node[] {
  const parts: Node[] = [];
  const stack = [expression];
  for (let part = stack.pop(); part; part = stack.pop()) {
    if (part["operator"] === operator) stack.push(...(part["args"] as readonly Node[]));
    else parts.push(part);
  }
  return parts;
}

/** How many values an alternative gives a variable; there is a copy for each of them. */
function equalitiesOf({ operator, args }: Node): number {
  if (operator === "=" || operator === "sameterm") return 1;
  const values = operator === "in" ? (args as readonly Node[]).length - 1 : 0;
  return values < LONG_LIST ? values : 0;
}

const computedIn = ({ args }: Node) => (args as readonly Node[]).filter(({ type }) => type !== "term");

/** The operations in an expression, and the contents of EXISTS. */
function partsOf(node: unknown): number {
  let parts = 0;
  const stack = [node];
  while (stack.length > 0) {
    const each = stack.pop();
    if (!isNode(each)) continue;
    const { type, subType, operator, args } = each;
    // Each value of a NOT IN becomes a filter.
    if (operator === "notin") parts += (args as readonly Node[]).length;
    if (type === "term") parts += 1 / OF_AN_OPERATION;
    if (subType === "literal") continue;
    if (subType === "patternOperation") parts += 1 + 2 * planOf(args as Node).parts;
    else {
      if (type === "expression") parts += 1;
      for (const value of Object.values(each)) if (isNode(value)) stack.push(value);
    }
  }
  return parts;
}

/** How many parts are joined in a group, with the parts of nested groups. */
function joinedIn({ patterns }: Node): number {
  return (patterns as readonly Node[]).reduce((sum, each) => {
    if (each["subType"] === "bgp") return sum + triplesOf(each);
    const { [String(each["subType"])]: alike = 1 } = LIKE_TRIPLES;
    if (each["subType"] === "group") return sum + joinedIn(each);
    // Jena treats a subquery that selects everything as a part of the group.
    if (each["type"] === "query") return sum + Math.max(alike, joinedIn(each["where"] as Node));
    return sum + (each["subType"] === "graph" ? Math.max(alike, joinedIn(each)) : alike);
  }, 0);
}

/** The triples that are written out, and those that lists and paths expand to. */
function triplesOf(bgp: Node): number {
  let triples = 0;
  const stack = [bgp];
  for (let node = stack.pop(); node; node = stack.pop()) {
    const { type, predicate, annotations = [] } = node;
    if (type === "triple" && (predicate as Node)["type"] !== "path") triples += 1;
    // Each annotation adds a triple, which says that a name reifies this one.
    triples += (annotations as readonly Node[]).length;
    if (type === "path")
      triples += (node["items"] as readonly Node[]).filter((item) => item["type"] !== "path").length;
    for (const value of Object.values(node)) if (isNode(value)) stack.push(value);
  }
  return triples;
}
