// Whether an answer in CSV or TSV ends with a row. When an expression fails in a way that
// Jena does not expect, Fuseki writes the message on a line of its own after the last row,
// and ends the answer like any other.
const LONGEST = 4_096;
const TEXT = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/.source;
const TERM = new RegExp(
  `^(?:|<[^<> ]*>|<<.*>>|_:\\S+|(?:${TEXT})(?:@[\\w-]+|\\^\\^[^ ]+)?|[-+]?[\\d.]+(?:[eE][-+]?\\d+)?|true|false|[-+]?INF|NaN)$`,
);

/** The first and the last line of a text that arrives in chunks. */
export class Lines {
  #first: string | undefined;
  #last: string | undefined;
  #begun = "";
  readonly #hasTerms: boolean;

  /**
   * @param hasTerms whether values in TSV are written in SPARQL syntax; RDF4J leaves out quotes, and
   *   breaks off without a message
   */
  constructor(hasTerms: boolean) {
    this.#hasTerms = hasTerms;
  }

  add(chunk: Buffer): void {
    const end = chunk.lastIndexOf("\n");
    let from = 0;
    if (this.#first === undefined && end >= 0) {
      const first = chunk.indexOf("\n");
      this.#first = this.#begunAnd(chunk, 0, first);
      this.#begun = "";
      from = first + 1;
    }
    if (end < from) {
      this.#begun = this.#begunAnd(chunk, from, chunk.length);
      return;
    }
    const before = end > from ? chunk.lastIndexOf("\n", end - 1) + 1 : 0;
    if (before > from) this.#begun = "";
    this.#last = this.#begunAnd(chunk, Math.max(before, from), end);
    this.#begun = beginning(chunk, end + 1, chunk.length);
  }

  /** @param ending the end of the text, with all of its last line break */
  endsWithRow(type: string, ending: string): boolean {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined) return true;
    // A value in CSV may contain line breaks, but rows end with the same line break as the header.
    if (type === "text/csv") return !first.endsWith("\r") || ending.endsWith("\r\n");
    if (!this.#hasTerms) return true;
    const cells = last.replace(/\r$/, "").split("\t");
    // A line that is cut off does not show how many cells it has.
    if (last.length >= LONGEST || first.length >= LONGEST)
      return /^$|^[<"'_+\-.\d]|^(?:true|false)$/.test(cells[0]!);
    return cells.length === first.split("\t").length && cells.every((cell) => TERM.test(cell));
  }

  #begunAnd(chunk: Buffer, start: number, end: number): string {
    return (this.#begun + beginning(chunk, start, end)).slice(0, LONGEST);
  }
}

/** Each byte becomes one character, so some letters contain a space that is not ASCII. */
const beginning = (chunk: Buffer, start: number, end: number) =>
  chunk.toString("latin1", start, Math.min(end, start + LONGEST));
