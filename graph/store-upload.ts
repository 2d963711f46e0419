// A body on its way to a graph store that cannot be taken for whole before it is.
import { Transform, type TransformCallback } from "node:stream";

const DOT = ".".charCodeAt(0);

/**
 * Holds back the last full stop of what has passed, and what follows it, until more comes or the source has ended
 * well. Engines behind Jetty (Fuseki 5.6 is one) take a connection that breaks off for the end of the body, and
 * would put half a graph in the place of a whole one; without its full stop, half a body of Turtle or N-Triples is
 * a syntax error.
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
