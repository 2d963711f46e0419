// Limits on what one request may ask for, and on a text before it is validated. Every refusal is a 400
// validation_failed that names the bound.
import { Kind, parse, visit } from "postgraphile/graphql";
import type { DocumentNode, SelectionSetNode } from "postgraphile/graphql";
import { ApiError } from "../errors.ts";

/** The bounds of one request. */
export const BOUNDS = {
  /** Characters in the text. */
  textLength: 32_768,
  /** Tokens in the text, a measure of what parsing and validating it costs. */
  tokens: 4_000,
  /** Operations in the text, of which one is run. */
  operations: 10,
  /** Fields in the text, counting every fragment wherever it is spread. */
  fields: 1_000,
  /** Fields of Query or Mutation in one operation. */
  rootFields: 20,
  /** Fields with an alias. */
  aliases: 50,
  /** Records and groups that could come back if every list were full. */
  records: 25_000,
  /** Values of those records and groups. */
  values: 100_000,
  /** Values that introspection returns; the query that the usual tools send has some 13,000. */
  introspection: 30_000,
  /** Orderings or groupings of one list. */
  orderings: 5,
  /** Individual values in the arguments of one field, including those in variables. */
  argumentValues: 500,
  /** How deep the arguments of one field may nest. */
  argumentDepth: 16,
  /** Conditions on linked records in one filter, each of which becomes a subquery. */
  links: 10,
  /** Characters of a text in the argument of a query: as many as a URI may have. */
  argumentLength: 2_048,
  /** Characters of an answer stored for an Idempotency-Key; every request of a day may have one. */
  keptLength: 100_000,
} as const;

const number = new Intl.NumberFormat("en");

/**
 * @param advice how to stay within it, as a sentence
 * @throws ApiError 400 that names the bound
 */
export function refuse(what: string, bound: number, found?: number, advice?: string): never {
  const counted = found === undefined ? "" : ` This one has ${number.format(found)}.`;
  const advised = advice === undefined ? "" : ` ${advice}`;
  throw new ApiError("validation_failed", {
    message: `${what} ${number.format(bound)}.${counted}${advised}`,
  });
}

/**
 * Parses a text, unless it is too long to parse or too large to validate.
 * @throws GraphQLError for its syntax, ApiError 400 for its size
 */
export function parseWithin(text: string): DocumentNode {
  if (text.length > BOUNDS.textLength) {
    refuse("The number of characters in a GraphQL text must not exceed", BOUNDS.textLength, text.length);
  }
  try {
    const document = parse(text, { maxTokens: BOUNDS.tokens });
    checkSize(document);
    forgetTokens(document);
    return document;
  } catch (error) {
    // The parser is recursive: a text nested too deeply for it is the caller's fault.
    if (error instanceof RangeError) {
      throw new ApiError("validation_failed", {
        message: "The GraphQL text is nested too deeply.",
        cause: error,
      });
    }
    throw error;
  }
}

/**
 * Drops the list of tokens that the parser links to every node. It includes those of comments, whose number
 * is not limited: 32,768 characters took 1.5 MB for as long as a subscription lasted. Errors find their line
 * and column without it.
 */
function forgetTokens(document: DocumentNode): void {
  visit(document, {
    enter: ({ loc }) => void (loc && Object.assign(loc, { startToken: undefined, endToken: undefined })),
  });
}

// Validation compares fields in pairs, so their number is limited first.
function checkSize(document: DocumentNode): void {
  const fragments = new Map(
    document.definitions
      .filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
      .map((node) => [node.name.value, node.selectionSet]),
  );
  let fields = 0;
  // A spread counts as a field: fragments that spread other fragments must not be free, nor recurse for ever.
  const count = (selections: SelectionSetNode): void => {
    for (const node of selections.selections) {
      if (++fields > BOUNDS.fields) {
        refuse("The number of fields in a GraphQL text must not exceed", BOUNDS.fields);
      }
      const within = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node.selectionSet;
      if (within) count(within);
    }
  };
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  if (operations.length > BOUNDS.operations) {
    refuse("The number of operations in a GraphQL text must not exceed", BOUNDS.operations);
  }
  for (const { selectionSet } of operations) count(selectionSet);
}
