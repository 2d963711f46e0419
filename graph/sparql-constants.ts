// Operations that an engine computes before it has found anything. Jena folds operations on
// constants while it plans a query, holding the lock that its one thread for time limits waits for:
// meanwhile nobody's query is ended.
import { isNode } from "./sparql-survey.ts";
import type { Node } from "./sparql-survey.ts";

/** The largest parts of an expression without variables. */
export function constantsIn(expression: Node): readonly Node[] {
  const found: Node[] = [];
  // Whether a node is constant. If it is not, its constant parts have been added to `found`.
  const isConstant = (node: Node): boolean => {
    const { type, subType } = node;
    if (subType === "variable" || subType === "patternOperation") return false;
    if (type === "term") return true;
    // NOW and RAND are not folded.
    if (partsOf(node).length === 0) return false;
    const parts = partsOf(node).map((part) => ({ part, isOne: isConstant(part) }));
    if (parts.every(({ isOne }) => isOne)) return true;
    found.push(...parts.filter(({ isOne }) => isOne).map(({ part }) => part));
    return false;
  };
  return isConstant(expression) ? [expression] : found;
}

/** The arguments of an operation, a function or an aggregate, or the parts of a triple. */
export function partsOf(node: Node): readonly Node[] {
  return [node["args"], node["expression"], node["subject"], node["predicate"], node["object"]]
    .flat()
    .filter(isNode);
}
