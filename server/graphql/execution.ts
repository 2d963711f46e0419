// Between HTTP and Grafast: texts are measured before they are validated, operations before they are run, and
// every error leaves with its public code.
import { execute } from "postgraphile/grafast";
import { getOperationAST, OperationTypeNode } from "postgraphile/graphql";
import type { DocumentNode, GraphQLError, GraphQLSchema } from "postgraphile/graphql";
import { ApiError } from "../errors.ts";
import type { RequestConnections } from "./connections.ts";
import type { Bodies } from "./forms.ts";
import { measure } from "./measure.ts";
import { TextCache } from "./texts.ts";

// The plan of an operation takes some 9 kB a field, and Grafast would keep 500 of them, each in 50 variants: what one
// caller can have it keep must be bounded, without the few large operations displacing the many small ones.
export const SMALL = { fields: 50, operations: 100, variants: 3 };
const LARGE = { operations: 10, variants: 2 };

/** The plugin that adds the bounds and the public errors to Grafserv. */
export function boundedExecution(
  publicError: (error: unknown) => GraphQLError,
  connections: RequestConnections,
  bodies: Bodies,
): GraphileConfig.Plugin {
  return {
    name: "BoundedExecutionPlugin",
    grafserv: {
      middleware: {
        setPreset(next, event) {
          const { getExecutionConfig } = event;
          let texts: TextCache | undefined;
          let plans: Record<"small" | "large", GraphQLSchema> | undefined;
          event.getExecutionConfig = async function (context) {
            const config = await getExecutionConfig.call(this, context);
            const { schema } = config;
            if (texts?.schema !== schema || !plans) {
              texts = new TextCache(schema, publicError);
              plans = { small: keeping(schema, SMALL), large: keeping(schema, LARGE) };
            }
            const { small, large } = plans;
            return {
              ...config,
              parseAndValidate: texts.parse,
              execute: (args) => {
                try {
                  refuseSubscription(args.document, args.operationName);
                  const { copies, fields } = measure(
                    schema,
                    args.document,
                    args.operationName ?? undefined,
                    args.variableValues ?? {},
                    bodies,
                  );
                  connections.of((args.contextValue as Grafast.Context).pgSettings!).repeats(copies);
                  return execute({ ...args, schema: fields > SMALL.fields ? large : small });
                } catch (error) {
                  return { errors: [publicError(error)] };
                }
              },
            };
          };
          return next();
        },
      },
    },
  };
}

/** An answer has one result. */
function refuseSubscription(document: DocumentNode, operationName: string | null | undefined): void {
  if (getOperationAST(document, operationName)?.operation !== OperationTypeNode.SUBSCRIPTION) return;
  throw new ApiError("validation_failed", {
    message: "Subscribe over WebSocket at /graphql, or with server-sent events at /graphql/stream.",
  });
}

/** The same schema, for which Grafast keeps its own few plans. */
/** The schema, of whose operations only so many plans are kept. */
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
