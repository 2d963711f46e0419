// Whether a text in JSON has come to its end. Its last bytes alone do not tell: a record may have brackets in its text, and
// an answer that breaks off behind them looks like a whole one.
const [QUOTE, BACKSLASH, SPACE] = [...Buffer.from('"\\ ')] as [number, number, number];
const [OPENING, CLOSING] = [[...Buffer.from("[{")], [...Buffer.from("]}")]];

/** The nesting of a text that comes in pieces. */
export class Nesting {
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #isWhole = false;

  /** Whether there was one list or object, all of it, and nothing but white space behind it. */
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
    // No end is one where there is more behind it.
    if (this.#isWhole) this.#depth = Number.NaN;
    if (byte === QUOTE) this.#inText = true;
    else if (OPENING.includes(byte)) this.#depth += 1;
    else if (CLOSING.includes(byte)) this.#depth -= 1;
    this.#isWhole = this.#depth === 0 && CLOSING.includes(byte);
  }

  /** Where the text ends, or the last byte of the piece. */
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
