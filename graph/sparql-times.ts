// What dates and durations cost. Engines written in Java add a duration month by month, and add two of them to dates to compare
// them: with some thousand million days that is ten seconds in a single step, which no time limit ends.
import { XSD } from "./namespaces.ts";
import type { Names } from "./sparql-extensions.ts";

const DURATIONS = ["duration", "dayTimeDuration", "yearMonthDuration"].map((name) => XSD + name);
const DATES = "dateTime dateTimeStamp date time gYear gYearMonth gMonthDay gMonth gDay"
  .split(" ")
  .map((name) => XSD + name);
const NUMBERS = ["integer", "decimal", "double", "float", "int", "long"].map((name) => XSD + name);

/** Of years, days and whatever else is counted: ten thousand years have less than four million days. */
const MOST_DIGITS = 4;
/** To add, or to compare, what comes of dates of four digits: some hundredths of a second. */
const SMALL_STEPS = 1e9;
/** The same of dates that a query makes itself, and of what is multiplied: up to half a minute. */
const LARGE_STEPS = 5e10;

const COMPARING: readonly unknown[] = ["=", "!=", "<", ">", "<=", ">=", "in", "notin"];
/** Operators of which a number or a text comes, whatever it is of. */
const TIMELESS: readonly unknown[] = (
  "strlen year month day hours minutes seconds abs ceil floor round rand " +
  "str lang datatype concat substr ucase lcase iri replace"
).split(" ");

type Node = Readonly<Record<string, unknown>>;

/** Why a literal of a date or a duration may not be used; undefined for any other. */
export function faultOfTime({ value, langOrIri }: Node, names: Names): string | undefined {
  if (!isAmong([...DURATIONS, ...DATES], langOrIri, names)) return undefined;
  // A fraction of a second may have more.
  const isLong = new RegExp(`\\d{${MOST_DIGITS + 1}}`).test(String(value).replaceAll(/\.\d+/g, ""));
  return isLong ? `In dates and durations a number has at most ${MOST_DIGITS} digits.` : undefined;
}

/** Why a text may not be given this type. */
export function faultOfType(type: unknown, names: Names): string | undefined {
  if ((type as Node | undefined)?.["subType"] !== "namedNode")
    return "The type of STRDT must be written out.";
  return isAmong(DURATIONS, type, names)
    ? 'STRDT makes no durations here; write them out, as in "P30D"^^xsd:dayTimeDuration.'
    : undefined;
}

/**
 * @param root the tree of a query whose literals and types are without a fault
 * @returns how many steps an operation takes at most because of dates or durations
 */
export function timesOf(root: Node, names: Names): (node: Node, parts: readonly Node[]) => number {
  let [hasDurations, isMade, isMultiplied] = [false, false, false];
  const mayBeTime = (node: Node) => !isTimeless(node, names);
  const stack: Node[] = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    const { subType, operator, args } = node;
    if (subType === "literal") hasDurations ||= isAmong(DURATIONS, node["langOrIri"], names);
    if (operator === "-") hasDurations ||= (args as Node[]).every(mayBeTime);
    if (operator === "strdt") isMade ||= isAmong(DATES, (args as Node[])[1], names);
    if (subType === "functionCall") isMade ||= isAmong(DATES, node["function"], names);
    isMultiplied ||= operator === "*" || operator === "/";
    for (const child of Object.values(node))
      if (typeof child === "object" && child !== null) stack.push(child as Node);
  }
  if (!hasDurations) return () => 0;
  const steps = isMade || isMultiplied ? LARGE_STEPS : SMALL_STEPS;
  return ({ operator }, parts) => {
    const isComparing = COMPARING.includes(operator);
    if (!isComparing && operator !== "+" && operator !== "-") return 0;
    const [first, ...others] = parts;
    if (!first || !mayBeTime(first)) return 0;
    return others.filter(mayBeTime).length * steps;
  };
}

/** Whether a value is surely neither a date nor a duration. */
function isTimeless(node: Node, names: Names): boolean {
  const { subType, operator, aggregation } = node;
  if (subType === "literal") return !isAmong([...DURATIONS, ...DATES], node["langOrIri"], names);
  if (subType === "functionCall") return isAmong(NUMBERS, node["function"], names);
  return subType === "namedNode" || aggregation === "count" || TIMELESS.includes(operator);
}

function isAmong(types: readonly string[], term: unknown, names: Names): boolean {
  const { subType, value, prefix } = (term ?? {}) as { subType?: string; value?: string; prefix?: string };
  return subType === "namedNode" && names.all(String(value), prefix).some((iri) => types.includes(iri));
}
