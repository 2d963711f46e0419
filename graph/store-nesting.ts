// Whether a JSON text is complete. Its last bytes alone do not show that: a record may have brackets in its
// text, and an answer that is cut off right after them looks complete.
const [QUOTE, BACKSLASH, SPACE] = [...Buffer.from('"\\ ')] as [number, number, number];
const [OPENING, CLOSING] = [[...Buffer.from("[{")], [...Buffer.from("]}")]];

/** Follows the nesting of a text that arrives in chunks. */
export class Nesting {
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #isWhole = false;

  /** Whether there was exactly one list or object, complete and followed by white space only. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inText) at = this.#endOfText(chunk, at);
      else this.#step(chunk[at]!);
    }
  }

  #step(byte: number): void {
    if (byte <= SPACE) return;
    // A complete value with more text after it: with NaN, the text is never whole again.
    if (this.#isWhole) this.#depth = Number.NaN;
    if (byte === QUOTE) this.#inText = true;
    else if (OPENING.includes(byte)) this.#depth += 1;
    else if (CLOSING.includes(byte)) this.#depth -= 1;
    this.#isWhole = this.#depth === 0 && CLOSING.includes(byte);
  }

  /** The position of the quote that ends the string, or the end of the chunk if it does not end there. */
  #endOfText(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (chunk[at] === BACKSLASH) this.#isEscaped = true;
      else if (chunk[at] === QUOTE) {
        this.#inText = false;
        return at;
      }
    }
    return chunk.length;
  }
}
