// A body from a graph store, made to end either complete or with an error.
import { Transform, type TransformCallback } from "node:stream";
import { GraphFailed, GraphTimeout, GraphUnavailable } from "./store-errors.ts";
import { Lines } from "./store-lines.ts";
import { Nesting } from "./store-nesting.ts";
import { JSON_LD, N_TRIPLES, RDF_XML, RESULTS_JSON, RESULTS_XML, TURTLE } from "./media-types.ts";

// When a query reaches its time limit, Fuseki has already sent its 200; it then ends the body with a two-line
// notice. The embedded store writes only the first line of it.
export const CANCELLED_NOTICE = "##  Query cancelled due to timeout";
const CSV = "text/csv";
const TSV = "text/tab-separated-values";
const NESTED = new Set([RESULTS_JSON, JSON_LD, "application/json"]);
const TAIL_BYTES = 256;
// A record may quote the notice, but in no format can the last line of complete data begin with it, except in
// CSV, where that line follows the "\r\n" of a row.
const ENDS_CANCELLED = new RegExp(
  `(?:(?:^|[^\\r])\\n${CANCELLED_NOTICE}|\\n${CANCELLED_NOTICE}[^"<\\n]*\\n##[^"<\\n]*)\\s*$`,
);

// RDF4J ends an answer that it cannot finish like any other: in line-based formats, only a last
// line that is cut off shows it.
const WHOLE_ENDINGS: ReadonlyMap<string, RegExp> = new Map([
  [RESULTS_XML, /<\/(\w+:)?sparql>\s*$/],
  [N_TRIPLES, /(^|\.)\s*$/],
  // A document without triples may end with a comment or a prefix.
  [TURTLE, /(^|\.)\s*$|(^|\n)\s*(#|prefix\s|base\s)[^\n]*\s*$/i],
  [CSV, /(^|\n|^true|^false)$/],
  [TSV, /(^|\n|^true|^false)$/],
  [RDF_XML, /<\/(\w+:)?RDF>\s*$/],
]);

/**
 * Passes a body on as it arrives, but holds back its last bytes until it has ended the way a complete body of
 * its media type ends. If it has not, the stream fails with GraphTimeout, GraphFailed or GraphUnavailable, so
 * that no reader takes half an answer for a whole one.
 */
export class WholeBody extends Transform {
  #type: string;
  readonly #isFuseki: boolean;
  #lines: Lines | undefined;
  #nesting: Nesting | undefined;
  #tail: Buffer = Buffer.alloc(0);

  /**
   * @param isFuseki whether the answer is known to come from Fuseki, which reports its time limit: any other
   *   answer that it does not finish is a failure
   */
  constructor(type: string, isFuseki = false) {
    super();
    this.#isFuseki = isFuseki;
    this.#type = type;
    if (type === CSV || type === TSV) this.#lines = new Lines(isFuseki);
    if (NESTED.has(type)) this.#nesting = new Nesting();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#lines?.add(chunk);
    this.#nesting?.add(chunk);
    if (chunk.length >= TAIL_BYTES) {
      if (this.#tail.length > 0) this.push(this.#tail);
      this.push(chunk.subarray(0, chunk.length - TAIL_BYTES));
      this.#tail = chunk.subarray(chunk.length - TAIL_BYTES);
    } else {
      const joined = Buffer.concat([this.#tail, chunk]);
      const cut = Math.max(0, joined.length - TAIL_BYTES);
      if (cut > 0) this.push(joined.subarray(0, cut));
      this.#tail = joined.subarray(cut);
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    const text = this.#tail.toString("utf8");
    if (ENDS_CANCELLED.test(text)) {
      done(new GraphTimeout("The graph store ended the query at its own time limit."));
      return;
    }
    const ending = WHOLE_ENDINGS.get(this.#type);
    if (ending?.test(text) === false || this.#nesting?.isWhole === false) {
      const Failure = this.#isFuseki ? GraphFailed : GraphUnavailable;
      done(new Failure("The graph store's answer ends in the middle."));
      return;
    }
    if (this.#lines?.endsWithRow(this.#type, text) === false) {
      done(new GraphFailed("The graph store's answer does not end with a row."));
      return;
    }
    done(null, this.#tail);
  }
}
