// Rewrites a query so that Fuseki can end it. While Jena builds the plan of a query, it already computes
// operands of joins and of MINUS up to their first solution, and until the plan is complete no time limit
// ends that query, nor any other, since one thread enforces all limits. An operand of UNION is only started
// after the plan is built, and an empty second operand adds nothing, so the pattern is put into such a UNION.
// Solutions are skipped for an OFFSET while the plan is built as well, so a query with OFFSET is put into the
// operand as a whole. Nor does a limit end a DESCRIBE that has begun to describe what it found.
type Node = Readonly<Record<string, unknown>>;

/** A range of the text. */
type Span = { start: number; end: number };

/** How much a DESCRIBE may describe: this takes a second or a few, and all of it is in memory at once. */
export const MOST_DESCRIBED = 10_000;

/**
 * @returns why a query cannot be rewritten. VALUES behind a query are joined with it as well, and cannot be
 *   put into the UNION if the query groups. For a DESCRIBE or an OFFSET the query becomes a subquery, which
 *   cannot be SELECT * if it groups.
 */
export function faultOfForm(query: Node): string | undefined {
  const { subType, values, where } = query;
  if (subType === "describe" && described(query)[0] === "*" && isGrouped(query))
    return "DESCRIBE * may not group: name what is to be described.";
  if (isPassingOver(query)) {
    if (where && !spanOf(where))
      return (
        "OFFSET may not follow CONSTRUCT WHERE: write out what is to be made as well, " +
        "as in CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } OFFSET 10."
      );
    if (described(query)[0] === undefined && isGrouped(query))
      return "OFFSET may follow groups and aggregates only in a SELECT: put that into a subquery.";
  }
  if (!values || !where || (spanOf(where) && !isGrouped(query))) return undefined;
  return (
    "VALUES may not follow a query that groups or aggregates, nor CONSTRUCT WHERE: " +
    "put it into the WHERE, or the query into a subquery."
  );
}

/**
 * Why VALUES may not follow a query or a subquery: engines do not agree on whether variables that it
 * makes by AS are joined with them.
 */
export function faultOfValues({ variables = [], values }: Node): string | undefined {
  const given = isNode(values) ? (values["variables"] as readonly Node[]).map(({ value }) => value) : [];
  const made = (variables as readonly Node[]).flatMap(({ variable }) =>
    isNode(variable) ? [variable["value"] as string] : [],
  );
  const both = made.find((name) => given.includes(name));
  return both === undefined
    ? undefined
    : `VALUES may not follow a query that makes one of their names by AS (?${both}): put the query into a subquery.`;
}

/**
 * @param text the query
 * @param query its tree, with positions in the text; faultOfForm has found nothing in it
 * @returns endable: the rewritten query; without VALUES or OFFSET behind it, it has the same lines as the
 *   text, and the same columns except on the line where the pattern begins without a space. excess, for a
 *   DESCRIBE that may find more than can be described: a SELECT that finds something if it does
 */
export function endable(text: string, query: Node): { endable: string; excess?: string } {
  const where = spanOf(query["where"]);
  // CONSTRUCT WHERE, or no pattern.
  if (!where) return { endable: text };
  const pattern = text.slice(where.start + 1, where.end - 1).replace(/^ /, "");
  const values = spanOf(query["values"]);
  const joined = values ? `{${pattern}} ${text.slice(values.start, values.end)}` : pattern;
  const behind = values
    ? text.slice(where.end, values.start) + text.slice(values.end)
    : text.slice(where.end);
  const before = text.slice(0, where.start);
  const most = mostFound(query);
  const names = described(query).join(" ") || "*";
  if (most === undefined && !isPassingOver(query)) return { endable: `${before}${late(joined)}${behind}` };
  if (query["subType"] === "select") {
    const { start, end } = headOf(text, query);
    const whole = `${text.slice(start, end)} {${joined}}${behind}\n`;
    return { endable: asSelect(text, query, where) + late(whole) };
  }
  if (most === undefined) return { endable: `${before}${late(`SELECT ${names} {${joined}}${behind}\n`)}` };
  // Duplicates are removed before counting. The line break is there because the text may end with a comment.
  const found = `SELECT DISTINCT ${names} {SELECT ${names} {${joined}}${behind}\n}`;
  return {
    // Limited although `excess` is asked first: a query with RAND may find more the second time.
    endable: `${before}${late(`${found} LIMIT ${most}`)}`,
    excess: asSelect(text, query, where) + late(`${found} LIMIT 1 OFFSET ${most}`),
  };
}

const late = (pattern: string) => `{{${pattern}} UNION { FILTER(false) }}`;

/** How many solutions a DESCRIBE may have; undefined if its own LIMIT is no higher, and for other queries. */
function mostFound(query: Node): number | undefined {
  if (query["subType"] !== "describe") return undefined;
  const names = described(query);
  const count = names[0] === "*" ? namesIn(query["where"]).size : names.length;
  const most = Math.floor(MOST_DESCRIBED / Math.max(count, 1));
  const { limitOffset } = query["solutionModifiers"] as { limitOffset?: { limit?: number } };
  return count > 0 && (limitOffset?.limit ?? Infinity) > most ? most : undefined;
}

/** Whether the query has an OFFSET. */
function isPassingOver({ solutionModifiers }: Node): boolean {
  const { limitOffset } = solutionModifiers as { limitOffset?: { offset?: number } };
  return (limitOffset?.offset ?? 0) > 0;
}

/** The variables of a DESCRIBE or SELECT, without the expressions that make them; none for other forms. */
function described({ variables = [] }: Node): string[] {
  const all = variables as readonly Node[];
  if (all.some(({ type }) => type === "wildcard")) return ["*"];
  const named = all.map((each) => (isNode(each["variable"]) ? each["variable"] : each));
  return [...new Set(named.filter(isVariable).map(({ value }) => `?${String(value)}`))];
}

/**
 * The range from the keyword of a DESCRIBE or SELECT to its last variable; only the
 * prologue and comments are before it.
 */
function headOf(text: string, query: Node): Span {
  const prologue = spanOf((query["context"] as readonly Node[]).at(-1))?.end ?? 0;
  const [before] = /^(?:\s|#[^\r\n]*)*/.exec(text.slice(prologue))!;
  const { end } = spanOf((query["variables"] as readonly Node[]).at(-1))!;
  return { start: prologue + before.length, end };
}

/** The text of a DESCRIBE or SELECT up to its pattern, as a SELECT without expressions. */
function asSelect(text: string, query: Node, where: Span): string {
  const { start, end } = headOf(text, query);
  return `${text.slice(0, start)}SELECT ${described(query).join(" ")} ${text.slice(end, where.start)}`;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

const isVariable = ({ subType }: Node) => subType === "variable";

function spanOf(node: unknown): Span | undefined {
  const { loc } = (node ?? {}) as { loc?: Span & { sourceLocationType: string } };
  return loc?.sourceLocationType === "source" ? { start: loc.start, end: loc.end } : undefined;
}

function isGrouped({ solutionModifiers, variables }: Node): boolean {
  const { group, having, ...others } = solutionModifiers as Node;
  return group !== undefined || having !== undefined || aggregates([variables, others]);
}

/** Whether there is an aggregate outside of subqueries. */
function aggregates(node: unknown): boolean {
  if (!isNode(node)) return false;
  return (
    node["subType"] === "aggregate" || (node["type"] !== "query" && Object.values(node).some(aggregates))
  );
}

/** The variables that a pattern binds, and maybe some more. */
function namesIn(node: unknown, found = new Set<unknown>()): ReadonlySet<unknown> {
  if (!isNode(node)) return found;
  const { type, subType, value, variables } = node;
  if (isVariable(node)) found.add(value);
  const isWhole =
    type === "query" && !(variables as readonly Node[]).some((each) => each["type"] === "wildcard");
  if (subType === "patternOperation") return found;
  for (const part of Object.values(isWhole ? { variables } : node)) namesIn(part, found);
  return found;
}
