// Requests with an Idempotency-Key: one mutation each; its answer is stored in the transaction that makes it.
import { isAsyncIterable } from "postgraphile/grafast";
import type { execute } from "postgraphile/grafast";
import {
  getDirectiveValues,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  Kind,
  OperationTypeNode,
} from "postgraphile/graphql";
import type {
  DocumentNode,
  ExecutionResult,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from "postgraphile/graphql";
import { ApiError } from "../errors.ts";
import { notRepeatable } from "../repeatable.ts";
import type { Repeatable } from "../repeatable.ts";
import { BOUNDS, refuse } from "./bounds.ts";
import type { RequestConnection } from "./connection.ts";
import { withDefaults } from "./measure.ts";

type Variables = Readonly<Record<string, unknown>>;

/** An operation and its variables, however they were sent. */
type Asked = { document: DocumentNode; operation: OperationDefinitionNode; variables: Variables };

/**
 * The part of a repeatable request by which its repetitions are recognized.
 * @throws ApiError 400 unless it asks for exactly one mutation
 */
export function asOneMutation(
  { key, request }: Repeatable,
  { document, operation, variables: given }: Asked,
): Repeatable {
  const variables = withDefaults(operation, given);
  const isMutation = operation.operation === OperationTypeNode.MUTATION;
  const number = isMutation ? mutationsOf(document, operation.selectionSet, variables).size : undefined;
  if (number !== 1) {
    const found = number === undefined ? `is a ${operation.operation}` : `has ${number}`;
    throw notRepeatable(`goes with a request that has exactly one mutation; this one ${found}`);
  }
  const { query, operationName } = request.body as Variables;
  // With defaults: the comparison treats null as left out, but a variable given as null gets no default.
  return { key, request: { ...request, body: { query, operationName, variables } } };
}

/**
 * The mutations that would run, by the names of their results: those with the same name are merged into one.
 */
function mutationsOf(
  document: DocumentNode,
  { selections }: SelectionSetNode,
  variables: Variables,
): Set<string> {
  const names = selections
    .filter((node) => isAskedFor(node, variables))
    .flatMap((node) => {
      if (node.kind !== Kind.FIELD) {
        return [...mutationsOf(document, selectionOf(document, node), variables)];
      }
      return node.name.value === "__typename" ? [] : [(node.alias ?? node.name).value];
    });
  return new Set(names);
}

function isAskedFor(node: SelectionNode, variables: Variables): boolean {
  const isSkipped = getDirectiveValues(GraphQLSkipDirective, node, variables)?.["if"] === true;
  return !isSkipped && getDirectiveValues(GraphQLIncludeDirective, node, variables)?.["if"] !== false;
}

function selectionOf(
  { definitions }: DocumentNode,
  node: Exclude<SelectionNode, { kind: Kind.FIELD }>,
): SelectionSetNode {
  if (node.kind === Kind.INLINE_FRAGMENT) return node.selectionSet;
  const named = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  // The document is valid, so there is one.
  return named.find(({ name }) => name.value === node.name.value)!.selectionSet;
}

/** Rolls the transaction back because the result has an error: nothing is done, and no answer is stored. */
class Undone extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super("The answer has an error.");
    this.result = result;
  }
}

/**
 * Runs an operation, or returns the answer stored for its key.
 * @throws what the database or the bounds refuse
 */
export async function once(
  connection: RequestConnection,
  repeatable: Repeatable,
  run: () => ReturnType<typeof execute>,
): Promise<ExecutionResult> {
  try {
    const answer = await connection.once(repeatable, async () => {
      const result = await run();
      if (isAsyncIterable(result)) throw new Error("An answer that is kept has one part.");
      if (result.errors) throw new Undone(result);
      const text = JSON.stringify({ data: result.data });
      if (text.length > BOUNDS.keptLength) {
        refuse(
          "The number of characters in an answer that is kept for an Idempotency-Key must not exceed",
          BOUNDS.keptLength,
          text.length,
          "Ask for less with the mutation.",
        );
      }
      return text;
    });
    const kept = JSON.parse(answer) as ExecutionResult;
    // For a day after an upgrade there are stored answers that do not say which request they belong to; all
    // of those are answers of REST.
    if (!("data" in kept)) throw new ApiError("idempotency_key_reused");
    return kept;
  } catch (error) {
    if (error instanceof Undone) return withoutResults(error.result);
    throw error;
  }
}

/** Leaves out what the mutation returned before it was rolled back, which is no longer true. */
function withoutResults(result: ExecutionResult): ExecutionResult {
  if (!result.data) return result;
  const left = Object.entries(result.data).map(([name, value]) => [
    name,
    typeof value === "object" ? null : value,
  ]);
  return { ...result, data: Object.fromEntries(left) as ExecutionResult["data"] };
}
