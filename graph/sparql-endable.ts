// A query in words in which Fuseki can end it. While Jena builds the plan of a query, it computes operands of joins and of MINUS
// up to their first solution, and until the plan is there no time limit ends that query; nor any other, for all limits wait for
// each other in one thread. An operand of UNION is begun only behind the plan, and one that is empty adds nothing to the other.
// Nor does a limit end a DESCRIBE that has begun to describe what it found.
type Node = Readonly<Record<string, unknown>>;

/** Where something stands in the text. */
type Span = { start: number; end: number };
type Edit = Span & { put: string };

/** In a second or some, all of which is in memory at once. */
export const MOST_DESCRIBED = 10_000;

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
 * @returns endable: the same query; its lines are those of the text, and their columns but on the line where the pattern begins
 *   without a space. excess, for a DESCRIBE that may find more than can be described: a SELECT that finds something if it does
 */
export function endable(text: string, query: Node): { endable: string; excess?: string } {
  const edits = patternEdits(text, query);
  const most = mostFound(query);
  if (most === undefined) return { endable: edited(text, edits) };
  const { offset = 0 } = limitOf(query);
  return {
    // What is random may find more than before.
    endable: edited(text, [...edits, page(text, query, most, offset)]),
    excess: edited(text, [...edits, asSelect(text, query), page(text, query, 1, offset + most)]),
  };
}

function patternEdits(text: string, query: Node): Edit[] {
  const where = spanOf(query["where"]);
  // A pattern of triples alone, or none.
  if (!where) return [];
  const pattern = text.slice(where.start + 1, where.end - 1).replace(/^ /, "");
  const values = spanOf(query["values"]);
  const joined = values ? `{${pattern}} ${text.slice(values.start, values.end)}` : pattern;
  return [
    { ...where, put: `{{${joined}} UNION { FILTER(false) }}` },
    ...(values ? [{ ...values, put: "" }] : []),
  ];
}

/** How many solutions a DESCRIBE may have; undefined where it has no more, or is none. */
function mostFound(query: Node): number | undefined {
  if (query["subType"] !== "describe") return undefined;
  const described = query["variables"] as readonly Node[];
  const names = described.some(isWildcard)
    ? namesIn(query["where"]).size
    : new Set(described.filter(isVariable).map(({ value }) => value)).size;
  const most = Math.floor(MOST_DESCRIBED / Math.max(names, 1));
  const { limit = Infinity } = limitOf(query);
  return names > 0 && limit > most ? most : undefined;
}

function limitOf({ solutionModifiers }: Node): { limit?: number; offset?: number } {
  return (solutionModifiers as { limitOffset?: object }).limitOffset ?? {};
}

/** A part of its solutions in place of what the text says of that. */
function page(text: string, { solutionModifiers }: Node, limit: number, offset: number): Edit {
  const said = spanOf((solutionModifiers as Node)["limitOffset"]);
  const put = `LIMIT ${limit} OFFSET ${offset}`;
  // The text may end with a comment.
  return said ? { ...said, put } : { start: text.length, end: text.length, put: `\n${put}` };
}

/** Behind the prologue, of which only the last part is before DESCRIBE, and comments. */
function asSelect(text: string, { context, variables }: Node): Edit {
  const prologue = spanOf((context as readonly Node[]).at(-1))?.end ?? 0;
  const [head] = /^(?:\s|#[^\r\n]*)*DESCRIBE/i.exec(text.slice(prologue))!;
  const start = prologue + head.length - "DESCRIBE".length;
  const described = variables as readonly Node[];
  const names = described.some(isWildcard)
    ? ["*"]
    : described.filter(isVariable).map(({ value }) => `?${String(value)}`);
  return { start, end: spanOf(described.at(-1))!.end, put: `SELECT DISTINCT ${names.join(" ")} ` };
}

function edited(text: string, edits: readonly Edit[]): string {
  const fromTheEnd = edits.toSorted((one, other) => other.start - one.start);
  return fromTheEnd.reduce((made, { start, end, put }) => made.slice(0, start) + put + made.slice(end), text);
}

const isWildcard = ({ type }: Node) => type === "wildcard";
const isVariable = ({ subType }: Node) => subType === "variable";

function spanOf(node: unknown): Span | undefined {
  const { loc } = (node ?? {}) as { loc?: Span & { sourceLocationType: string } };
  return loc?.sourceLocationType === "source" ? { start: loc.start, end: loc.end } : undefined;
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

function namesIn(node: unknown, found = new Set<unknown>()): ReadonlySet<unknown> {
  if (typeof node !== "object" || node === null) return found;
  if (isVariable(node as Node)) found.add((node as Node)["value"]);
  for (const part of Object.values(node)) namesIn(part, found);
  return found;
}
