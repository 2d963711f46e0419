// The two things a SPARQL endpoint must know of a query before it runs it.

// IRIs, then strings, then comments: the first that matches at a place is what the place is.
const OPAQUE =
  /<[^<>"{}|^`\\\s]*>|"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n\r]*/g;
const PROLOGUE = /\b(?:prefix\s+[^\s:]*:|base)\s*<>/gi;

export interface QueryShape {
  /** whether the answer is a graph (CONSTRUCT, DESCRIBE) rather than bindings or a boolean */
  answersGraph: boolean;
  /** whether the query names its own dataset with FROM */
  namesDataset: boolean;
}

/** A look at a query that may be malformed: the engine will say so. */
export function shapeOf(sparql: string): QueryShape {
  const plain = sparql
    .replace(OPAQUE, (token) => (token.startsWith("<") ? "<>" : token.startsWith("#") ? " " : '""'))
    .replace(PROLOGUE, " ");
  const form = /\b(?:select|ask|construct|describe)\b/i.exec(plain)?.[0].toLowerCase();
  return {
    answersGraph: form === "construct" || form === "describe",
    namesDataset: /(?<![\w?$:.-])from\s*(?:named\b\s*)?(?:<>|[^\s:{}<>]*:)/i.test(plain),
  };
}
