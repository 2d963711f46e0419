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

/**
 * Characters of the texts whose documents are cached, which take about a hundred times as many bytes. It
 * applies to each of two caches, for texts seen once and for texts seen again: a caller who sends a different
 * text with each request evicts none that are in use.
 */
const KEPT_TEXTS = 500_000;
/** A few longer ones would evict all others. */
const LONGEST_IN_USE = 50_000;

type Parsed =
  { document: DocumentNode; errors?: undefined } | { errors: GraphQLError[]; document?: undefined };

/** Texts that have already been parsed and validated; applications send the same few again and again. */
export class TextCache {
  readonly schema: GraphQLSchema;
  readonly #publicError: (error: unknown) => GraphQLError;
  readonly #once = keptByLength();
  readonly #inUse = keptByLength();

  constructor(schema: GraphQLSchema, publicError: (error: unknown) => GraphQLError) {
    this.schema = schema;
    this.#publicError = publicError;
  }

  parse = (text: string): Parsed => {
    const known = this.#inUse.get(text);
    if (known) return { document: known };
    const before = this.#once.get(text);
    const parsed = before ? { document: before } : this.#parse(text);
    if (before && text.length <= LONGEST_IN_USE) {
      this.#once.delete(text);
      this.#inUse.set(text, before);
    } else if (parsed.document) this.#once.set(text, parsed.document);
    return parsed;
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

function keptByLength(): LRUCache<string, DocumentNode> {
  return new LRUCache({ maxSize: KEPT_TEXTS, sizeCalculation: (_document, text) => text.length });
}
