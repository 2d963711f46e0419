// A query in words in which Fuseki can end it. While Jena builds the plan of a query, it computes operands of joins and of MINUS
// up to their first solution, and until the plan is there no time limit ends that query; nor any other, for all limits wait for
// each other in one thread. An operand of UNION is begun only behind the plan, and one that is empty adds nothing to the other.
// Solutions are passed over for an OFFSET while the plan is built as well, so what has one stands in the operand as a whole.
// Nor does a limit end a DESCRIBE that has begun to describe what it found.
type Node = Readonly<Record<string, unknown>>;

/** Where something stands in the text. */
type Span = { start: number; end: number };

/** In a second or some, all of which is in memory at once. */
export const MOST_DESCRIBED = 10_000;

/**
 * @returns what keeps a query from being sent so: VALUES behind it are joined as well, and behind groups they cannot stand in the
 *   UNION; and who is given all names of what was grouped, for a DESCRIBE or behind an OFFSET, has none
 */
export function faultOfForm(query: Node): string | undefined {
  const { subType, values, where } = query;
  if (subType === "describe" && described(query)[0] === "*" && isGrouped(query))
    return "DESCRIBE * may not group: name what is to be described.";
  if (isPassingOver(query)) {
    if (where && !spanOf(where))
      return (
        "OFFSET may not stand behind CONSTRUCT WHERE: write out what is to be made as well, " +
        "as in CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } OFFSET 10."
      );
    if (described(query)[0] === undefined && isGrouped(query))
      return "OFFSET may not stand behind groups and aggregates but in a SELECT: put that into a subquery.";
  }
  if (!values || !where || (spanOf(where) && !isGrouped(query))) return undefined;
  return (
    "VALUES may not stand behind a query that groups or aggregates, nor behind CONSTRUCT WHERE: " +
    "put it into the WHERE, or the query into a subquery."
  );
}

/** Why VALUES may not stand behind a query, or a subquery: engines do not agree on whether what it makes is joined with them. */
export function faultOfValues({ variables = [], values }: Node): string | undefined {
  const given = isNode(values) ? (values["variables"] as readonly Node[]).map(({ value }) => value) : [];
  const made = (variables as readonly Node[]).flatMap(({ variable }) =>
    isNode(variable) ? [variable["value"] as string] : [],
  );
  const both = made.find((name) => given.includes(name));
  return both === undefined
    ? undefined
    : `VALUES may not stand behind a query that makes one of their names by AS (?${both}): put the query into a subquery.`;
}

/**
 * @param text which was read
 * @param query its tree, in which faultOfForm has found nothing, with the places in the text
 * @returns endable: the same query; without VALUES or OFFSET behind it its lines are those of the text, and their columns but on the
 *   line where the pattern begins without a space. excess, for a DESCRIBE that may find more than can be described: a SELECT that finds something if it does
 */
export function endable(text: string, query: Node): { endable: string; excess?: string } {
  const where = spanOf(query["where"]);
  // A pattern of triples alone, or none.
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
  // What is found is told apart before it is counted. The text may end with a comment.
  const found = `SELECT DISTINCT ${names} {SELECT ${names} {${joined}}${behind}\n}`;
  return {
    // What is random may find more than before.
    endable: `${before}${late(`${found} LIMIT ${most}`)}`,
    excess: asSelect(text, query, where) + late(`${found} LIMIT 1 OFFSET ${most}`),
  };
}

const late = (pattern: string) => `{{${pattern}} UNION { FILTER(false) }}`;

/** How many solutions a DESCRIBE may have; undefined where it has no more, or is none. */
function mostFound(query: Node): number | undefined {
  if (query["subType"] !== "describe") return undefined;
  const names = described(query);
  const count = names[0] === "*" ? namesIn(query["where"]).size : names.length;
  const most = Math.floor(MOST_DESCRIBED / Math.max(count, 1));
  const { limitOffset } = query["solutionModifiers"] as { limitOffset?: { limit?: number } };
  return count > 0 && (limitOffset?.limit ?? Infinity) > most ? most : undefined;
}

/** Whether solutions are passed over. */
function isPassingOver({ solutionModifiers }: Node): boolean {
  const { limitOffset } = solutionModifiers as { limitOffset?: { offset?: number } };
  return (limitOffset?.offset ?? 0) > 0;
}

/** The names of a DESCRIBE or SELECT, as a SELECT has them that makes none; other forms have none. */
function described({ variables = [] }: Node): string[] {
  const all = variables as readonly Node[];
  if (all.some(({ type }) => type === "wildcard")) return ["*"];
  const named = all.map((each) => (isNode(each["variable"]) ? each["variable"] : each));
  return [...new Set(named.filter(isVariable).map(({ value }) => `?${String(value)}`))];
}

/** Where a DESCRIBE or SELECT stands with its names: before it are only the prologue and comments. */
function headOf(text: string, query: Node): Span {
  const prologue = spanOf((query["context"] as readonly Node[]).at(-1))?.end ?? 0;
  const [before] = /^(?:\s|#[^\r\n]*)*/.exec(text.slice(prologue))!;
  const { end } = spanOf((query["variables"] as readonly Node[]).at(-1))!;
  return { start: prologue + before.length, end };
}

/** The beginning of a DESCRIBE or SELECT up to its pattern as that of a SELECT that makes nothing. */
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

/** Whether there is an aggregate that is not one of a query within. */
function aggregates(node: unknown): boolean {
  if (!isNode(node)) return false;
  return (
    node["subType"] === "aggregate" || (node["type"] !== "query" && Object.values(node).some(aggregates))
  );
}

/** The names that a pattern binds, and maybe some more. */
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
