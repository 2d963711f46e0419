// Everything in a query's tree that shows how much an engine computes for it, and keeps: collected in one
// walk for all cost estimates.

export type Node = Readonly<Record<string, unknown>>;

/** A variable, and one of the expressions that it is bound to: by BIND, SELECT, GROUP BY or VALUES. */
type Binding = { name: string; expression: Node };

export type Survey = {
  bindings: readonly Binding[];
  /** the outermost expressions, and how many EXISTS each is in */
  expressions: readonly { expression: Node; exists: number }[];
  /** expressions without a name that solutions are grouped by */
  groupings: readonly Node[];
  /** expressions that solutions are sorted by */
  orders: readonly Node[];
  /**
   * by variable, the predicates of the triples that it is the object of; undefined if it
   * is also elsewhere in a triple
   */
  predicates: ReadonlyMap<string, readonly Node[] | undefined>;
  /** terms that an engine may look up in its table of all terms, and may remember as missing */
  sought: readonly Node[];
  longestIri: number;
  /** whether a replacement may contain the whole match, as $0 */
  mayRefer: boolean;
  /** whether an engine keeps any number of solutions, instead of passing each on as it finds it */
  isKeeping: boolean;
  /** whether a subquery is joined with other patterns, so that one result of it can be in many solutions */
  isSpread: boolean;
};

/**
 * Patterns that an engine applies to one solution after the other. To join other patterns, it may have to
 * keep the solutions of one side.
 */
const PASSING: readonly unknown[] = ["bgp", "bind", "filter"];

export function survey(root: Node): Survey {
  const bindings: Binding[] = [];
  const expressions: { expression: Node; exists: number }[] = [];
  const orders: Node[] = [];
  const groupings: Node[] = [];
  const predicates = new Map<string, Node[] | undefined>();
  const sought: Node[] = [];
  const equated: (readonly Node[])[] = [];
  // One BASE may be relative to another.
  let [longestIri, bases] = [0, 0];
  // Values of the graph are assumed to have no $, or rarely.
  let mayRefer = false;
  // The result of CONSTRUCT is built as a graph before it is sent.
  let isKeeping = root["subType"] !== "select" && root["subType"] !== "ask";
  let isSpread = false;
  const patterns = new Set<Node | undefined>();
  /** patterns that are joined with nothing */
  const whole = new Set<unknown>();
  const stack: { node: Node; isPart: boolean; exists: number }[] = [{ node: root, isPart: false, exists: 0 }];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { node, isPart, exists } = entry;
    // BIND and SELECT have it as expression, GROUP BY as value.
    const { type, subType, variable, expression = node["value"] } = node;
    if (isNode(variable) && isNode(expression))
      bindings.push({ name: String(variable["value"]), expression });
    else if ("descending" in node) orders.push(expression as Node);
    if (subType === "values") bindings.push(...valuesOf(node));
    const isExpression = type === "expression" && subType !== "patternOperation";
    if (isExpression && !isPart) expressions.push({ expression: node, exists });
    if (subType === "base") bases += String((node["value"] as Node)["value"]).length;
    const { groupings: by = [] } = node as { groupings?: readonly Node[] };
    groupings.push(...by.filter((each) => each["type"] === "expression"));
    if (subType === "namedNode") longestIri = Math.max(longestIri, String(node["value"]).length);
    if (isMatching(node["operator"])) patterns.add((node["args"] as readonly Node[])[1]);
    if ((subType === "namedNode" || subType === "literal") && !patterns.has(node))
      mayRefer ||= String(node["value"]).includes("$");
    if (type === "triple" || subType === "triple") notePlaces(node, predicates);
    sought.push(...termsIn(node));
    if (isEquating(node["operator"]))
      equated.push((node["args"] as readonly (Node | readonly Node[])[]).flat());

    if (type === "query") whole.add(node["where"]);
    const joined = (subType === "group" && node["patterns"]) as readonly Node[] | undefined | false;
    const mains = (joined || []).filter((each) => each["subType"] !== "bind" && each["subType"] !== "filter");
    // Before Fuseki continues with a solution in the graph, it looks up all its values, and
    // remembers which are missing.
    const bound = (joined || []).findIndex((each) => each["subType"] === "bind");
    const last = (joined || []).indexOf(mains.at(-1)!);
    isKeeping ||= bound >= 0 && bound < last;
    if (whole.has(node) && mains.length === 1) whole.add(mains[0]);
    isKeeping ||= type === "pattern" && !PASSING.includes(subType) && !whole.has(node);
    isKeeping ||= subType === "aggregate" || (type === "solutionModifier" && subType !== "limitOffset");
    isKeeping ||= node["distinct"] === true || node["reduced"] === true;
    isSpread ||= type === "query" && node !== root && !whole.has(node);

    const isPartToo = isExpression || (isPart && Array.isArray(node));
    for (const [key, child] of Object.entries(node)) {
      // The template of CONSTRUCT is not looked up in the graph.
      if (isNode(child) && key !== "template")
        stack.push({
          node: child,
          isPart: isPartToo,
          exists: exists + (subType === "patternOperation" ? 1 : 0),
        });
    }
  }
  // For an equality, an engine may look up the other side, instead of comparing it
  // with each value of the variable.
  for (const [name, ...others] of equated)
    for (const [one, other] of others.flatMap(
      (each) =>
        [
          [name!, each],
          [each, name!],
        ] as const,
    ))
      if (one["subType"] === "variable" && predicates.has(String(one["value"]))) sought.push(other);
  return {
    // The last bindings were found first; most are made from earlier ones.
    bindings: bindings.toReversed(),
    ...{ expressions, groupings, orders, predicates, sought },
    longestIri: bases + longestIri,
    ...{ mayRefer, isKeeping, isSpread },
  };
}

function valuesOf({ values }: Node): Binding[] {
  return (values as readonly Record<string, Node | undefined>[]).flatMap((row) =>
    Object.entries(row).flatMap(([name, expression]) => (expression ? [{ name, expression }] : [])),
  );
}

/** The terms that a part of a query looks up: in triples, paths, GRAPH, FROM and DESCRIBE. */
function termsIn(part: Node): readonly Node[] {
  const { type, subType, subject, predicate, object, items, name, value, variables } = part;
  const terms = () => {
    // A triple term counts as one term, as long as its parts together.
    if (type === "triple") return [subject, predicate, object];
    if (type === "path") return items;
    if (subType === "graph") return name;
    if ("clauseType" in part) return value;
    return subType === "describe" ? variables : [];
  };
  return [terms()].flat(2).filter(isNode);
}

function notePlaces(
  { type, subject, predicate, object }: Node,
  predicates: Map<string, Node[] | undefined>,
): void {
  for (const place of [subject, predicate, object] as readonly Node[]) {
    if (place["subType"] !== "variable") continue;
    const name = String(place["value"]);
    if (!predicates.has(name)) predicates.set(name, []);
    if (place === object && type === "triple") predicates.get(name)?.push(predicate as Node);
    else predicates.set(name, undefined);
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

/** Whether an engine may substitute one operand for another. */
const isEquating = (operator: unknown) => operator === "=" || operator === "sameterm" || operator === "in";

export const isMatching = (operator: unknown): operator is string =>
  operator === "regex" || operator === "replace";
