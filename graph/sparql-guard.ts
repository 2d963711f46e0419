// What a query from outside may be: a single query (no update), with nothing that makes the store call another host.
import { Parser } from "@traqula/parser-sparql-1-2";
import { LRUCache } from "lru-cache";

/** Why a text may not be run. */
export type RefusalReason = "malformed" | "update" | "federation" | "too_deep";

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

/** A query that may be run. `text` is what to send: escapes that engines read differently have been resolved in it. */
export interface GuardedQuery {
  form: QueryForm;
  text: string;
}

// Engines evaluate a tree by recursion; beyond this depth some of them crash instead of answering.
const MAX_TREE_DEPTH = 1_000;

// The parser passes `errorHandler` on to its builder, which its types leave out.
const parserOptions: ConstructorParameters<typeof Parser>[0] & { errorHandler: typeof throwSyntaxError } = {
  lexerConfig: {
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
};
const parser = new Parser(parserOptions);

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
 * @param text may take long, with the square of its length
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
 * SPARQL resolves \u escapes before it reads the text, many engines only inside strings and IRIs. Both readings
 * must be harmless, or a text could be one thing to this guard and another to the store.
 */
function decide(text: string): GuardedQuery {
  const resolved = resolveCodepointEscapes(text);
  if (resolved === text) return { form: inspect(text), text };
  let form: QueryForm | undefined;
  try {
    form = inspect(resolved);
  } catch (error) {
    if (!(error instanceof QueryRefused) || error.reason !== "malformed") throw error;
  }
  try {
    return { form: inspect(text), text };
  } catch (error) {
    if (form && error instanceof QueryRefused && error.reason === "malformed")
      return { form, text: resolved };
    throw error;
  }
}

function inspect(text: string): QueryForm {
  const tree = parse(text);
  if (tree.type !== "query") {
    if (Array.isArray(tree.updates) && tree.updates.every(isPrologueOnly)) {
      throw new QueryRefused("malformed", "The query is empty.", positionAt(text, text.length));
    }
    throw new QueryRefused("update", "Updates are not accepted here; this endpoint only answers queries.");
  }
  walk(tree);
  return tree.subType as QueryForm;
}

/** A text with nothing but comments and prefixes parses as an update without an operation. */
function isPrologueOnly(update: unknown): boolean {
  return typeof update === "object" && update !== null && !("operation" in update && update.operation);
}

function parse(text: string): Record<string, unknown> {
  try {
    return parser.parse(text) as unknown as Record<string, unknown>;
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

/** Visits every node without recursion, so that no text can exhaust the stack here. */
function walk(root: object): void {
  const stack: { node: object; depth: number }[] = [{ node: root, depth: 1 }];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { node, depth } = entry;
    if (depth > MAX_TREE_DEPTH) throw tooDeep();
    if ("subType" in node && node.subType === "service") {
      throw new QueryRefused("federation", "SERVICE is not available here; query one endpoint at a time.");
    }
    for (const child of Object.values(node)) {
      if (typeof child === "object" && child !== null)
        stack.push({ node: child as object, depth: depth + 1 });
    }
  }
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
