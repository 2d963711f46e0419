// A body on its way to a graph store, which cannot be taken for complete before it is.
import { Transform, type TransformCallback } from "node:stream";

const DOT = ".".charCodeAt(0);

/**
 * Holds back the last full stop so far, and what follows it, until more comes or the source has ended properly.
 * Engines behind Jetty (Fuseki 5.6 is one) take a broken connection for the end of the body, and would replace a
 * whole graph with half of one; without its full stop, half a body of Turtle or N-Triples is a syntax error.
 */
export class WithheldEnd extends Transform {
  #held: Buffer = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const end = chunk.lastIndexOf(DOT);
    if (end === -1) {
      this.#held = Buffer.concat([this.#held, chunk]);
    } else {
      this.push(this.#held);
      this.push(chunk.subarray(0, end));
      this.#held = chunk.subarray(end);
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#held);
  }
}
