// A query in words in which Fuseki can end it. While Jena builds the plan of a query, it computes operands of joins and of MINUS
// up to their first solution, and until the plan is there no time limit ends that query; nor any other, for all limits wait for
// each other in one thread. An operand of UNION is begun only behind the plan, and one that is empty adds nothing to the other.
type Node = Readonly<Record<string, unknown>>;

/** Where something stands in the text. */
type Span = { start: number; end: number };

/** @returns what is wrong with the VALUES behind a query, which is joined as well: behind groups it cannot stand in the UNION */
export function faultOfValues(query: Node): string | undefined {
  const { values, where } = query;
  if (!values || !where || (spanOf(where) && !isGrouped(query))) return undefined;
  return (
    "VALUES may not stand behind a query that groups or aggregates, nor behind CONSTRUCT WHERE: " +
    "put it into the WHERE, or the query into a subquery."
  );
}

/**
 * @param text which was read
 * @param query its tree, in which faultOfValues has found nothing, with the places in the text
 * @returns the same query; its lines are those of the text, and their columns but on the line where the pattern begins without a space
 */
export function endable(text: string, query: Node): string {
  const where = spanOf(query["where"]);
  // A pattern of triples alone, or none.
  if (!where) return text;
  const pattern = text.slice(where.start + 1, where.end - 1).replace(/^ /, "");
  const values = spanOf(query["values"]);
  const behind = values
    ? text.slice(where.end, values.start) + text.slice(values.end)
    : text.slice(where.end);
  const joined = values ? `{${pattern}} ${text.slice(values.start, values.end)}` : pattern;
  return `${text.slice(0, where.start)}{{${joined}} UNION { FILTER(false) }}${behind}`;
}

function spanOf(node: unknown): Span | undefined {
  const { loc } = (node ?? {}) as { loc?: Span & { sourceLocationType: string } };
  return loc?.sourceLocationType === "source" ? loc : undefined;
}

function isGrouped({ solutionModifiers, variables }: Node): boolean {
  const { group, ...others } = solutionModifiers as Node;
  return group !== undefined || aggregates([variables, others]);
}

/** Whether there is an aggregate that is not one of a query within. */
function aggregates(node: unknown): boolean {
  if (typeof node !== "object" || node === null) return false;
  const { type, subType } = node as Node;
  if (subType === "aggregate") return true;
  return type !== "query" && Object.values(node).some(aggregates);
}
