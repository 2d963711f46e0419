// Between HTTP and Grafast: texts are measured before they are validated, operations before they are run, and
// every error leaves with its public code.
import { depthLimit } from "@graphile/depth-limit";
import { execute } from "postgraphile/grafast";
import { GraphQLError, specifiedRules, validate } from "postgraphile/graphql";
import { LRUCache } from "lru-cache";
import type { DocumentNode, GraphQLSchema } from "postgraphile/graphql";
import { measure, parseWithin } from "./bounds.ts";

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

type Parsed =
  { document: DocumentNode; errors?: undefined } | { errors: GraphQLError[]; document?: undefined };

/** The plugin that adds the bounds and the public errors to Grafserv. */
export function boundedExecution(publicError: (error: unknown) => GraphQLError): GraphileConfig.Plugin {
  return {
    name: "BoundedExecutionPlugin",
    grafserv: {
      middleware: {
        setPreset(next, event) {
          const { getExecutionConfig } = event;
          let texts: TextCache | undefined;
          event.getExecutionConfig = async function (context) {
            const config = await getExecutionConfig.call(this, context);
            const { schema } = config;
            if (texts?.schema !== schema) texts = new TextCache(schema, publicError);
            return {
              ...config,
              parseAndValidate: texts.parse,
              execute: (args) => {
                try {
                  measure(schema, args.document, args.operationName ?? undefined, args.variableValues ?? {});
                } catch (error) {
                  return { errors: [publicError(error)] };
                }
                return execute(args);
              },
            };
          };
          return next();
        },
      },
    },
  };
}

/** Texts that have already been parsed and validated; applications send the same few again and again. */
class TextCache {
  readonly schema: GraphQLSchema;
  readonly #publicError: (error: unknown) => GraphQLError;
  readonly #known = new LRUCache<string, Parsed>({ max: 500 });

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
