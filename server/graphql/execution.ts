// Between HTTP and Grafast: texts are measured before they are validated, operations before they are run, and
// every error leaves with its public code.
import { depthLimit } from "@graphile/depth-limit";
import { execute } from "postgraphile/grafast";
import { GraphQLError, specifiedRules, validate } from "postgraphile/graphql";
import { LRUCache } from "lru-cache";
import type { DocumentNode, GraphQLSchema } from "postgraphile/graphql";
import { parseWithin } from "./bounds.ts";
import type { RequestConnections } from "./connections.ts";
import type { Bodies } from "./forms.ts";
import { measure } from "./measure.ts";

/** How deep an operation may nest. A chain of needs, commitments and claims by edges and nodes takes 11 levels. */
const DEPTH = depthLimit({
  maxDepth: 14,
  maxListDepth: 5,
  maxSelfReferentialDepth: 2,
  // As deep as the introspection query that graphql-js itself provides.
  maxIntrospectionDepth: 14,
  maxDepthByFieldCoordinates: { "__Type.ofType": 9 },
  revealDetails: true,
});

// The plan of an operation takes some 9 kB a field, and Grafast would keep 500 of them, each in 50 variants: what one
// caller can have it keep must be bounded, without the few large operations displacing the many small ones.
const SMALL = { fields: 50, operations: 100, variants: 3 };
const LARGE = { operations: 10, variants: 2 };

/** Characters of the texts whose documents are kept, which take about a hundred times as many bytes. */
const KEPT_TEXTS = 1_000_000;

type Parsed =
  { document: DocumentNode; errors?: undefined } | { errors: GraphQLError[]; document?: undefined };

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

/** The same schema, for which Grafast keeps its own few plans. */
function keeping(schema: GraphQLSchema, { operations, variants }: typeof LARGE): GraphQLSchema {
  const grafast = {
    ...schema.extensions.grafast,
    operationsCacheMaxLength: operations,
    operationOperationPlansCacheMaxLength: variants,
  };
  return Object.create(schema, {
    extensions: { value: { ...schema.extensions, grafast } },
  }) as GraphQLSchema;
}

/** Texts that have already been parsed and validated; applications send the same few again and again. */
class TextCache {
  readonly schema: GraphQLSchema;
  readonly #publicError: (error: unknown) => GraphQLError;
  readonly #known = new LRUCache<string, Parsed>({
    maxSize: KEPT_TEXTS,
    sizeCalculation: (_parsed, text) => text.length,
  });

  constructor(schema: GraphQLSchema, publicError: (error: unknown) => GraphQLError) {
    this.schema = schema;
    this.#publicError = publicError;
  }

  parse = (text: string): Parsed => {
    const parsed = this.#known.get(text) ?? this.#parse(text);
    this.#known.set(text, parsed);
    // Told once more, since each request has a name of its own.
    return parsed.errors ? { errors: parsed.errors.map(this.#publicError) } : parsed;
  };

  #parse(text: string): Parsed {
    try {
      const document = parseWithin(text);
      const errors = validate(this.schema, document, [...specifiedRules, DEPTH], { maxErrors: 20 });
      return errors.length > 0 ? { errors: errors.map(this.#publicError) } : { document };
    } catch (error) {
      return { errors: [this.#publicError(error)] };
    }
  }
}
