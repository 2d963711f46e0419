// The cost of dates and durations. Engines written in Java add a duration to a date month by month, and
// compare two durations by adding each to four dates: with some thousand million days that takes minutes, in
// a single step that no time limit ends.
import { RECORD_KINDS, RECORDS } from "../records/index.ts";
import { fieldsOf } from "../records/record.ts";
import { XSD } from "./namespaces.ts";
import { isTimezone } from "./sparql-extensions.ts";
import type { Names } from "./sparql-extensions.ts";
import { isNode } from "./sparql-survey.ts";
import type { Node, Survey } from "./sparql-survey.ts";
import { DATES, DURATIONS, isAmong } from "./sparql-types.ts";

const STRING = [`${XSD}string`];

/** The most digits of a count of years, days and so on. */
const MOST_DIGITS = 4;
const isLong = (text: string) => new RegExp(`\\d{${MOST_DIGITS + 1}}`).test(text);
/**
 * The days in so many years. The graph has no later dates either: the tables take years of four digits,
 * and the lists have no dates.
 */
const DAYS = 4e6;
/** The most days in each unit of a duration; M may also mean minutes. */
const DAYS_OF: Readonly<Record<string, number>> = { Y: 366, M: 31, D: 1, H: 1 / 24, S: 1 / 86_400 };
/** The days between the farthest dates that Java can subtract. */
const FARTHEST = 1e11;
/**
 * The steps for each day. Java took 1.6 to 2.3 ns on an idle machine, where a step takes about 1 ns; a busy
 * machine may be several times slower.
 */
const STEPS_OF_A_DAY = 20;
/** Two durations are compared by adding each to this many dates. */
const COMPARED_FROM = 4;

const COMPARING: readonly unknown[] = ["=", "!=", "<", ">", "<=", ">=", "in", "notin"];
/** Functions whose result is one of their arguments, or contains it. */
const PASSING_ON: readonly unknown[] = [
  "if",
  "coalesce",
  "triple",
  "subject",
  "predicate",
  "object",
  "uminus",
];
/**
 * Functions that return a text or the beginning of one: read as a date, it has no more digits in
 * its year than the whole text.
 */
const BEGINNING: readonly unknown[] = ["str", "strbefore", "strlang", "strlangdir", "strdt"];

/**
 * The most days that a value counts as a date, as a duration (0: it is not one), and as a date that it is
 * cast to; and 1 if it may be a duration that counts months or years.
 */
type Span = { date: number; duration: number; cast: number; months: number };

const NEITHER: Span = { date: 0, duration: 0, cast: FARTHEST, months: 0 };
const DATE: Span = { ...NEITHER, date: DAYS, cast: DAYS };
/** True for the next seven hundred years. */
const NOW: Span = { ...DATE, date: DAYS / 4 };
/** TIMEZONE returns fourteen hours at most. */
const ZONE: Span = { ...NEITHER, duration: 1 };

/**
 * Whether the values of a record's property are dates, by the last part of its
 * IRI; the namespace is a setting.
 */
const PROPERTIES: ReadonlyMap<string, boolean> = new Map(
  RECORD_KINDS.flatMap((kind) => fieldsOf(RECORDS[kind])).flatMap(({ type, graph }) =>
    typeof graph === "string" ? [[lastOf(graph), type === "date" || type === "timestamp"] as const] : [],
  ),
);

/** Why a date or duration literal may not be used; undefined if it may, and for any other literal. */
export function faultOfTime({ value, langOrIri }: Node, names: Names): string | undefined {
  if (!isAmong([...DURATIONS, ...DATES], langOrIri, names)) return undefined;
  // A fraction of a second may have more digits.
  return isLong(String(value).replaceAll(/\.\d+/g, ""))
    ? `In dates and durations a number has at most ${MOST_DIGITS} digits.`
    : undefined;
}

/** Why STRDT may not be used with this type. */
export function faultOfType(type: unknown, names: Names): string | undefined {
  if ((type as Node | undefined)?.["subType"] !== "namedNode")
    return "The type of STRDT must be written out.";
  return isAmong(DURATIONS, type, names)
    ? 'STRDT makes no durations here; write them out, as in "P30D"^^xsd:dayTimeDuration.'
    : undefined;
}

/** The dates and durations of a query, and the cost of its operations on them. */
export class Times {
  readonly #names: Names;
  readonly #ofNames = new Map<string, Span>();
  #spans = new Map<Node, Span>();

  /** @param found the survey of a query whose literals and types have passed */
  constructor({ bindings, predicates }: Survey, names: Names) {
    this.#names = names;
    const bound = new Set(bindings.map(({ name }) => name));
    for (const [name, of] of predicates) this.#ofNames.set(name, ofData(of, names));
    for (const name of bound) if (!predicates.has(name)) this.#ofNames.set(name, { ...NEITHER, cast: 0 });
    // At most one round for each binding: what still grows after that is a variable
    // with several independent values.
    for (let round = 0, hasGrown = true; hasGrown && round <= bindings.length; round++) {
      hasGrown = false;
      for (const { name, expression } of bindings) {
        const before = this.#ofNames.get(name)!;
        const after = either([before, this.#spanOf(expression)]);
        if (Object.entries(after).every(([key, days]) => days <= before[key as keyof Span])) continue;
        this.#ofNames.set(name, after);
        hasGrown = true;
      }
      this.#spans = new Map();
    }
  }

  /** Why an operation may not be used with these arguments. */
  faultOf({ operator, aggregation }: Node, parts: readonly Node[]): string | undefined {
    const durations = parts.map((part) => this.#spanOf(part)).filter(({ duration }) => duration > 0);
    // To subtract an hour from a month is an error in Java, without a message: in CSV and TSV, Fuseki then
    // ends the answer as if there were no more rows.
    if (isSum(aggregation) || ((operator === "+" || operator === "-") && durations.length > 1))
      return durations.some(({ months }) => months > 0)
        ? "Durations that count months or years are not added to others here or taken from them; add one after the other to a date."
        : undefined;
    if (operator !== "*" && operator !== "/") return undefined;
    return durations.length > 0
      ? `A value that may be a duration, such as the difference of two dates, cannot be multiplied or divided here (${operator}); ` +
          "take its parts, as with fn:days-from-duration, or compare it with another duration; say of numbers that they are, " +
          "as in xsd:decimal(?x)."
      : undefined;
  }

  /** How many steps an operation takes at most because of dates or durations. */
  stepsOf({ operator, aggregation }: Node, parts: readonly Node[]): number {
    const [first, ...others] = parts.map((part) => this.#spanOf(part));
    if (!first) return 0;
    if (aggregation === "min" || aggregation === "max") return compared(first, first);
    let steps = 0;
    for (const other of others) {
      if (COMPARING.includes(operator)) steps += compared(first, other);
      if (operator === "+" || operator === "-") steps += added(first, other) + added(other, first);
    }
    return steps;
  }

  /** How many steps it takes to compare a value with that of another solution. */
  stepsToSort(by: Node): number {
    const span = this.#spanOf(by);
    return compared(span, span);
  }

  #spanOf(node: Node): Span {
    const known = this.#spans.get(node);
    if (known) return known;
    const span = this.#spanBy(node);
    this.#spans.set(node, span);
    return span;
  }

  #spanBy(node: Node): Span {
    const { subType, value, langOrIri } = node;
    if (subType === "variable") return this.#ofNames.get(String(value)) ?? ofData(undefined, this.#names);
    if (subType === "literal") {
      const cast = isLong(String(value)) ? FARTHEST : DAYS;
      if (isAmong(DURATIONS, langOrIri, this.#names)) return durationOf(String(value));
      return { ...NEITHER, date: isAmong(DATES, langOrIri, this.#names) ? DAYS : 0, cast };
    }
    if (subType === "triple")
      return either(
        [node["subject"], node["predicate"], node["object"]].map((part) => this.#spanOf(part as Node)),
      );
    const parts = [node["args"], node["expression"]].flat().filter(isNode);
    if (subType === "functionCall") return this.#spanOfCall(node["function"] as Node, parts);
    if (subType === "aggregate") return this.#spanOfGroup(node["aggregation"], parts);
    return subType === "operation" ? this.#spanOfOperation(node["operator"], parts) : NEITHER;
  }

  #spanOfCall(named: Node, parts: readonly Node[]): Span {
    if (isTimezone(this.#names.all(String(named["value"]), named["prefix"] as string | undefined)))
      return ZONE;
    const cast = parts[0] ? this.#spanOf(parts[0]).cast : 0;
    if (isAmong(DATES, named, this.#names)) return { ...NEITHER, date: cast, cast };
    return isAmong(STRING, named, this.#names) ? { ...NEITHER, cast } : NEITHER;
  }

  #spanOfGroup(aggregation: unknown, parts: readonly Node[]): Span {
    if (aggregation === "count" || aggregation === "group_concat") return NEITHER;
    const span = either(parts.map((part) => this.#spanOf(part)));
    // The size of a group is not known.
    return isSum(aggregation) && span.duration > 0 ? { ...span, duration: Infinity } : span;
  }

  #spanOfOperation(operator: unknown, parts: readonly Node[]): Span {
    if (operator === "now") return NOW;
    if (operator === "timezone") return ZONE;
    const spans = (operator === "if" ? parts.slice(1) : parts).map((part) => this.#spanOf(part));
    const [first = NEITHER, second = NEITHER] = spans;
    if (PASSING_ON.includes(operator)) return either(spans);
    if (operator === "strdt" && isAmong(DATES, parts[1], this.#names))
      return { ...NEITHER, date: first.cast, cast: first.cast };
    const isBeginning =
      operator === "substr" && parts[1]?.["value"] === "1" && parts[1]["subType"] === "literal";
    if (BEGINNING.includes(operator) || isBeginning) return { ...NEITHER, cast: first.cast };
    if (operator !== "+" && operator !== "-") return NEITHER;
    const both = (one: number, other: number) => (one > 0 && other > 0 ? one + other : 0);
    const date = Math.max(both(first.date, second.duration), both(first.duration, second.date));
    const between = operator === "-" ? both(first.date, second.date) : 0;
    const duration = Math.max(both(first.duration, second.duration), between);
    // If this is not a date, it is a number, which cannot be cast to a date.
    return { date, duration, cast: date || FARTHEST, months: 0 };
  }
}

/** The values of a variable that only triples bind. The graph holds no durations. */
function ofData(predicates: readonly Node[] | undefined, names: Names): Span {
  const areDates = predicates?.map((predicate) => givesDates(predicate, names)) ?? [undefined];
  if (areDates.every((isDate) => isDate === true)) return DATE;
  // The graph's texts can be anything, also dates of any length.
  return areDates.every((isDate) => isDate === false) ? NEITHER : { ...NEITHER, date: DAYS };
}

/**
 * Whether everything that a predicate or path leads to is a date (true), nothing is (false), or
 * that is not known (undefined).
 */
function givesDates({ type, subType, value, prefix, items }: Node, names: Names): boolean | undefined {
  const of = (each: Node) => givesDates(each, names);
  if (type === "path" && subType === "/") return of((items as readonly Node[]).at(-1)!);
  const each =
    type === "path" && subType === "|"
      ? (items as readonly Node[]).map(of)
      : subType === "namedNode"
        ? names.all(String(value), prefix as string | undefined).map((iri) => PROPERTIES.get(lastOf(iri)))
        : [undefined];
  return each.every((is) => is === each[0]) ? each[0] : undefined;
}

function isSum(aggregation: unknown): boolean {
  return aggregation === "sum" || aggregation === "avg";
}

function lastOf(iri: string): string {
  return iri.split(/[#/:]/).at(-1)!;
}

function either(spans: readonly Span[]): Span {
  const most = (key: keyof Span) => Math.max(0, ...spans.map((span) => span[key]));
  return { date: most("date"), duration: most("duration"), cast: most("cast"), months: most("months") };
}

/** The days of a duration literal. */
function durationOf(text: string): Span {
  const parts = [...text.matchAll(/(\d+)[.\d]*([YMDHS])/g)];
  const duration = parts.reduce((days, [, count, unit]) => days + Number(count) * DAYS_OF[unit!]!, 1);
  // After the T, M means minutes.
  return { ...NEITHER, duration, months: /^[^T]*[YM]/.test(text) ? 1 : 0 };
}

function compared(one: Span, other: Span): number {
  if (one.duration === 0 || other.duration === 0) return 0;
  return COMPARED_FROM * (one.duration + other.duration) * STEPS_OF_A_DAY;
}

function added(to: Span, what: Span): number {
  return to.date > 0 ? what.duration * STEPS_OF_A_DAY : 0;
}
