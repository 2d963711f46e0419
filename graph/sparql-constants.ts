// What an engine reckons before it has found anything. Jena makes a constant of each operation on constants while it plans a query, holding
// the lock that its one thread for time limits waits for: meanwhile no query of anybody is ended.
import { isNode } from "./sparql-survey.ts";
import type { Node } from "./sparql-survey.ts";

/** The largest parts of an expression in which no name stands. */
export function constantsIn(expression: Node): readonly Node[] {
  const found: Node[] = [];
  // Whether it is one; those in what is none have been found then.
  const isConstant = (node: Node): boolean => {
    const { type, subType } = node;
    if (subType === "variable" || subType === "patternOperation") return false;
    if (type === "term") return true;
    // NOW and RAND are asked for each time.
    if (partsOf(node).length === 0) return false;
    const parts = partsOf(node).map((part) => ({ part, isOne: isConstant(part) }));
    if (parts.every(({ isOne }) => isOne)) return true;
    found.push(...parts.filter(({ isOne }) => isOne).map(({ part }) => part));
    return false;
  };
  return isConstant(expression) ? [expression] : found;
}

/** What an operation, a function, an aggregate or a triple is given. */
export function partsOf(node: Node): readonly Node[] {
  return [node["args"], node["expression"], node["subject"], node["predicate"], node["object"]]
    .flat()
    .filter(isNode);
}
