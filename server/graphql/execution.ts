// Between HTTP and Grafast: texts are measured before they are validated, operations before they are run, and
// every error leaves with its public code.
import { execute } from "postgraphile/grafast";
import { getOperationAST, OperationTypeNode } from "postgraphile/graphql";
import type { GraphQLError, GraphQLSchema, OperationDefinitionNode } from "postgraphile/graphql";
import { ApiError } from "../errors.ts";
import type { RequestConnections } from "./connections.ts";
import type { Bodies } from "./forms.ts";
import { measure } from "./measure.ts";
import type { Measured } from "./measure.ts";
import { asOneMutation, once } from "./once.ts";
import { TextCache } from "./texts.ts";

// The plan of an operation takes some 9 kB per field, and Grafast would keep 500 of them, each in 50
// variants. What one caller can make it keep must be bounded, without the few large operations evicting the
// many small ones.
export const SMALL = { fields: 50, operations: 100, variants: 3 };
const LARGE = { operations: 10, variants: 2 };

/** Parses and runs operations within their bounds. */
export class Execution {
  readonly publicError: (error: unknown) => GraphQLError;
  readonly #connections: RequestConnections;
  readonly #bodies: Bodies;
  readonly #msPerRequest: number | undefined;
  /** The measurement, or the refusal, of operations without variables, which is the same each time. */
  readonly #constant = new WeakMap<OperationDefinitionNode, Measured | ApiError>();
  #made: { texts: TextCache; small: GraphQLSchema; large: GraphQLSchema } | undefined;

  /** @param msPerRequest milliseconds of database time that count as one request; not counted by default */
  constructor(
    publicError: (error: unknown) => GraphQLError,
    connections: RequestConnections,
    bodies: Bodies = new Map(),
    msPerRequest?: number,
  ) {
    this.publicError = publicError;
    this.#connections = connections;
    this.#bodies = bodies;
    this.#msPerRequest = msPerRequest;
  }

  /** How texts of a schema are parsed. */
  parserOf(schema: GraphQLSchema): TextCache["parse"] {
    return this.#of(schema).texts.parse;
  }

  /** Runs an operation; a refusal becomes an error in its result. */
  run(args: Grafast.ExecutionArgs): ReturnType<typeof execute> {
    const { small, large } = this.#of(args.schema);
    try {
      const operation = getOperationAST(args.document, args.operationName);
      const { document, variableValues } = args;
      const { repeatable, countAs, countAfterwards } = args.contextValue;
      const asked =
        repeatable &&
        operation &&
        asOneMutation(repeatable, { document, operation, variables: variableValues ?? {} });
      refuseSubscription(operation);
      const { copies, fields, requests } = this.#measure(args, operation);
      const settings = args.contextValue.pgSettings!;
      const connection = this.#connections.of(settings);
      connection.repeats(copies);
      if (this.#msPerRequest && countAfterwards)
        connection.countTime(this.#msPerRequest, requests, countAfterwards);
      if (operation?.operation === OperationTypeNode.QUERY) this.#connections.readsOnly(settings);
      const run = () => execute({ ...args, schema: fields > SMALL.fields ? large : small });
      // The request itself has already been counted as one.
      const counted = requests > 1 ? countAs?.(requests - 1) : undefined;
      if (!counted && !asked) return run();
      const runOnce = () => (asked ? once(connection, asked, run) : run());
      return Promise.resolve(counted).then(runOnce).catch(this.#refusal);
    } catch (error) {
      return this.#refusal(error);
    }
  }

  #measure(
    { schema, document, operationName, variableValues }: Grafast.ExecutionArgs,
    operation: OperationDefinitionNode | null | undefined,
  ): Measured {
    const made = () =>
      measure(schema, document, operationName ?? undefined, variableValues ?? {}, this.#bodies);
    if (!operation || operation.variableDefinitions?.length) return made();
    const known = this.#constant.get(operation) ?? orRefusal(made);
    this.#constant.set(operation, known);
    if (known instanceof ApiError) throw known;
    return known;
  }

  readonly #refusal = (error: unknown) => ({ errors: [this.publicError(error)] });

  #of(schema: GraphQLSchema) {
    if (this.#made?.texts.schema !== schema) {
      const texts = new TextCache(schema, this.publicError);
      this.#made = { texts, small: keeping(schema, SMALL), large: keeping(schema, LARGE) };
    }
    return this.#made;
  }
}

function orRefusal(made: () => Measured): Measured | ApiError {
  try {
    return made();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** The plugin that adds the bounds and the public errors to Grafserv. */
export function boundedExecution(execution: Execution): GraphileConfig.Plugin {
  return {
    name: "BoundedExecutionPlugin",
    grafserv: {
      middleware: {
        setPreset(next, event) {
          const { getExecutionConfig } = event;
          event.getExecutionConfig = async function (context) {
            const config = await getExecutionConfig.call(this, context);
            return {
              ...config,
              parseAndValidate: execution.parserOf(config.schema),
              execute: (args) => execution.run(args as Grafast.ExecutionArgs),
            };
          };
          return next();
        },
      },
    },
  };
}

/** Refuses subscriptions, since an answer to a query or mutation has a single result. */
function refuseSubscription(operation: OperationDefinitionNode | null | undefined): void {
  if (operation?.operation !== OperationTypeNode.SUBSCRIPTION) return;
  throw new ApiError("validation_failed", {
    message:
      "Subscribe at /graphql over WebSocket, or with POST for server-sent events (Accept: text/event-stream).",
  });
}

/** The schema with limits on the plans that Grafast keeps for it. */
export function keeping(schema: GraphQLSchema, { operations, variants }: typeof LARGE): GraphQLSchema {
  const grafast = {
    ...schema.extensions.grafast,
    operationsCacheMaxLength: operations,
    operationOperationPlansCacheMaxLength: variants,
  };
  return Object.create(schema, {
    extensions: { value: { ...schema.extensions, grafast } },
  }) as GraphQLSchema;
}
