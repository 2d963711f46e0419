// Texts of operations: parsed and validated once, within their bounds.
import { depthLimit } from "@graphile/depth-limit";
import { LRUCache } from "lru-cache";
import { specifiedRules, validate } from "postgraphile/graphql";
import type { DocumentNode, GraphQLError, GraphQLSchema } from "postgraphile/graphql";
import { parseWithin } from "./bounds.ts";

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

/** Characters of the texts whose documents are kept, which take about a hundred times as many bytes. */
const KEPT_TEXTS = 1_000_000;

type Parsed =
  { document: DocumentNode; errors?: undefined } | { errors: GraphQLError[]; document?: undefined };

/** Texts that have already been parsed and validated; applications send the same few again and again. */
export class TextCache {
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
