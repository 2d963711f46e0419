// What is accepted as a query from outside: a single query (no update) that does not make the store call
// another host, and does not keep it at work beyond its time limit, as far as its text shows that.
import { LRUCache } from "lru-cache";
import { insteadOf, isComputing, isFunction, Names } from "./sparql-extensions.ts";
import { excessOf } from "./sparql-cost.ts";
import { endable, faultOfForm, faultOfValues } from "./sparql-endable.ts";
import { Endless, requireEnding } from "./sparql-paths.ts";
import { readPattern } from "./sparql-patterns.ts";
import { faultOfNumber } from "./sparql-numbers.ts";
import { sparqlParser } from "./sparql-parser.ts";
import { faultOfPlan } from "./sparql-plan.ts";
import { faultOfTime, faultOfType } from "./sparql-times.ts";
import { faultOfUnknown } from "./sparql-types.ts";
import { NO_NAMED_BLANKS, quoted, written, writtenPath } from "./sparql-wording.ts";
import type { Named } from "./sparql-wording.ts";

/** Why a text may not be run. */
export type RefusalReason =
  "malformed" | "update" | "federation" | "too_deep" | "too_costly" | "extension" | "pattern" | "path";

/** A position in the text, counted from 1. */
export interface TextPosition {
  line: number;
  column: number;
}

/** A query text that must not reach the store. */
export class QueryRefused extends Error {
  override name = "QueryRefused";
  readonly reason: RefusalReason;
  readonly position: TextPosition | undefined;

  constructor(reason: RefusalReason, message: string, position?: TextPosition) {
    super(message);
    this.reason = reason;
    this.position = position;
  }
}

type QueryForm = "select" | "ask" | "construct" | "describe";

/** A query that may be run. */
export interface GuardedQuery {
  form: QueryForm;
  /** what to send: escapes that engines read differently have been resolved in it */
  text: string;
  /** what to send in its place to an engine that might not end it otherwise (see sparql-endable.ts) */
  endable?: string;
  /** for a DESCRIBE, to be asked before it: if this finds anything, there is too much to describe */
  excess?: string;
}

// Engines evaluate a tree by recursion; beyond this depth some of them crash instead of answering.
const MAX_TREE_DEPTH = 1_000;

/**
 * How deep EXISTS may be nested: at each level Fuseki goes through the inside twice,
 * before it checks its time limit.
 */
const DEEPEST_EXISTS = 8;

const parseText = sparqlParser({
  lexerConfig: {
    positionTracking: "full",
    errorMessageProvider: {
      buildUnexpectedCharactersMessage(text: string, offset: number): string {
        const character = String.fromCodePoint(text.codePointAt(offset) ?? 0);
        throw new QueryRefused(
          "malformed",
          `Unexpected character ${JSON.stringify(character)}.`,
          positionAt(text, offset),
        );
      },
      buildUnableToPopLexerModeMessage: () => "The text ends unexpectedly.",
    },
  },
  errorHandler: throwSyntaxError,
});

function throwSyntaxError(errors: readonly { token: { image: string; startOffset: number } }[]): never {
  const token = errors[0]?.token;
  // A token without an image marks the end of the text.
  if (!token?.image) throw new UnexpectedEnd();
  throw new UnexpectedToken(token.image, token.startOffset);
}

class UnexpectedEnd extends Error {}

class UnexpectedToken extends Error {
  readonly image: string;
  readonly offset: number;

  constructor(image: string, offset: number) {
    super(image);
    this.image = image;
    this.offset = offset;
  }
}

const accepted = new LRUCache<string, GuardedQuery>({
  max: 500,
  maxEntrySize: 10_000,
  sizeCalculation: (_query, text) => text.length,
});

/**
 * Decides whether a query from outside may be run.
 * @param text takes time proportional to the square of its length
 * @throws QueryRefused with the reason, and the position where the text breaks the grammar
 */
export function guardQuery(text: string): GuardedQuery {
  const known = accepted.get(text);
  if (known) return known;
  const query = decide(text);
  accepted.set(text, query);
  return query;
}

/**
 * SPARQL resolves \u escapes before it reads the text, many engines only inside strings and IRIs. Both
 * readings must be harmless, or a text could be one thing to this guard and another to the store.
 */
function decide(text: string): GuardedQuery {
  const resolved = resolveCodepointEscapes(text);
  if (resolved === text) return inspect(text);
  let query: GuardedQuery | undefined;
  try {
    query = inspect(resolved);
  } catch (error) {
    if (!(error instanceof QueryRefused) || error.reason !== "malformed") throw error;
  }
  try {
    return inspect(text);
  } catch (error) {
    if (query && error instanceof QueryRefused && error.reason === "malformed") return query;
    throw error;
  }
}

function inspect(text: string): GuardedQuery {
  const tree = parse(text);
  if (tree.type !== "query") {
    if (Array.isArray(tree.updates) && tree.updates.every(isPrologueOnly)) {
      throw new QueryRefused("malformed", "The query is empty.", positionAt(text, text.length));
    }
    throw new QueryRefused("update", "Updates are not accepted here; this endpoint only answers queries.");
  }
  const names = namesOf(tree);
  walk(tree, names);
  refuseCostly(faultOfPlan(tree) ?? excessOf(tree, names) ?? faultOfForm(tree));
  return { form: tree["subType"] as QueryForm, text, ...endable(text, tree) };
}

/** A text with nothing but comments and prefixes parses as an update without an operation. */
function isPrologueOnly(update: unknown): boolean {
  return typeof update === "object" && update !== null && !("operation" in update && update.operation);
}

function parse(text: string): Record<string, unknown> {
  try {
    return parseText(text);
  } catch (error) {
    throw refusal(error, text);
  }
}

function refusal(error: unknown, text: string): QueryRefused {
  if (error instanceof QueryRefused) return error;
  if (error instanceof RangeError) return tooDeep();
  if (error instanceof UnexpectedToken) {
    return new QueryRefused(
      "malformed",
      `Unexpected ${JSON.stringify(error.image.slice(0, 40))}.`,
      positionAt(text, error.offset),
    );
  }
  if (error instanceof UnexpectedEnd) {
    return new QueryRefused("malformed", "The query ends unexpectedly.", positionAt(text, text.length));
  }
  return new QueryRefused(
    "malformed",
    error instanceof Error ? `${error.message}.` : "The query is malformed.",
  );
}

type Node = Readonly<Record<string, unknown>>;

/** Visits every node without recursion, so that no text can exhaust the stack here. */
function walk(root: Node, names: Names): void {
  const paths: Node[] = [];
  const stack: { node: Node; depth: number; exists: number }[] = [{ node: root, depth: 1, exists: 0 }];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { node, depth } = entry;
    const exists = entry.exists + (node["subType"] === "patternOperation" ? 1 : 0);
    if (depth > MAX_TREE_DEPTH) throw tooDeep();
    if (exists > DEEPEST_EXISTS) {
      throw new QueryRefused(
        "too_deep",
        `EXISTS and NOT EXISTS may stand within each other at most ${DEEPEST_EXISTS} deep.`,
      );
    }
    // An unused prefix does nothing, and many texts begin with more prefixes than they need.
    if (node["type"] === "contextDef" && node["subType"] === "prefix") continue;
    inspectNode(node, names);
    if (node["type"] === "query") refuseCostly(faultOfValues(node));
    if (node["type"] === "triple") paths.push(node["predicate"] as Node);
    for (const child of Object.values(node)) {
      if (typeof child === "object" && child !== null)
        stack.push({ node: child as Node, depth: depth + 1, exists });
    }
  }
  // Paths are read by recursion, so only after all of the tree is known to be flat enough.
  for (const path of paths) requireEndingPath(path);
}

function requireEndingPath(path: Node): void {
  try {
    requireEnding(path);
  } catch (error) {
    if (!(error instanceof Endless)) throw error;
    throw new QueryRefused(
      "path",
      `The property path ${quoted(writtenPath(error.path))} is not accepted: ${error.message}.`,
    );
  }
}

function namesOf({ context }: Node): Names {
  const names = new Names();
  for (const { subType, key, value } of (context ?? []) as { subType: string; key: string; value: Named }[]) {
    if (subType === "base") names.declareBase(value.value);
    if (subType === "prefix") names.declarePrefix(key, value.value);
  }
  return names;
}

function refuseExtension(what: string, readings: readonly string[]): never {
  const advice = insteadOf(readings);
  throw new QueryRefused("extension", `${what} not available here${advice ? `; ${advice}` : ""}.`);
}

function inspectNode(node: Node, names: Names): void {
  switch (node["subType"]) {
    case "service":
      throw new QueryRefused("federation", "SERVICE is not available here; query one endpoint at a time.");
    case "namedNode": {
      const named = node as unknown as Named;
      const readings = names.all(named.value, named.prefix);
      if (isComputing(readings)) refuseExtension(`${written(named)} is an extension that is`, readings);
      return;
    }
    case "literal":
      return refuseCostly(
        faultOfUnknown(node["langOrIri"], names) ?? faultOfTime(node, names) ?? faultOfNumber(node, names),
      );
    case "functionCall": {
      const named = node["function"] as Named;
      const given = node["args"] as readonly Node[];
      const readings = names.all(named.value, named.prefix);
      if (!isFunction(readings, given.length)) refuseExtension(`The function ${written(named)} is`, readings);
      return;
    }
    case "operation": {
      const [first, second] = node["args"] as readonly Node[];
      if (node["operator"] === "strdt")
        refuseCostly(faultOfType(second, names) ?? faultOfUnknown(second, names));
      if (node["operator"] === "bnode" && first) throw new QueryRefused("extension", NO_NAMED_BLANKS);
      if (node["operator"] === "regex") requirePlainPattern("REGEX", node, 2);
      if (node["operator"] === "replace") requirePlainPattern("REPLACE", node, 3);
    }
  }
}

function refuseCostly(fault: string | undefined): void {
  if (fault !== undefined) throw new QueryRefused("too_costly", fault);
}

/** @param at the position of the flags among the arguments */
function requirePlainPattern(name: string, { args }: Node, at: number): void {
  const given = args as readonly Node[];
  const pattern = textOf(given[1]);
  const flags = given.length > at ? textOf(given[at]) : "";
  if (pattern === undefined || flags === undefined) {
    throw new QueryRefused(
      "pattern",
      `The pattern and the flags of ${name} must be written out as strings; to search for a computed value use CONTAINS, as in CONTAINS(LCASE(?x), LCASE(?y)).`,
    );
  }
  // The flag x would change how the pattern is read.
  if (/[^imsq]/.test(flags)) {
    throw new QueryRefused("pattern", `The flags of ${name} may be i, m, s and q.`);
  }
  const read = flags.includes("q") ? undefined : readPattern(pattern);
  if (read && "fault" in read) {
    throw new QueryRefused(
      "pattern",
      `The pattern ${JSON.stringify(quoted(pattern))} of ${name} is not accepted: ${read.fault}.`,
    );
  }
}

function textOf(node: Node | undefined): string | undefined {
  return node?.["subType"] === "literal" ? (node["value"] as string) : undefined;
}

function tooDeep(): QueryRefused {
  return new QueryRefused("too_deep", "The query is nested too deeply.");
}

function resolveCodepointEscapes(text: string): string {
  const escapes = /\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})/g;
  return text.replace(escapes, (escape, short: string | undefined, long: string | undefined, at: number) => {
    const codepoint = Number.parseInt(short ?? long ?? "", 16);
    if (codepoint <= 0x10ffff) return String.fromCodePoint(codepoint);
    throw new QueryRefused("malformed", `${escape} is no character of Unicode.`, positionAt(text, at));
  });
}

function positionAt(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
