// What a SPARQL endpoint must know about a query before running it.

// IRIs, then strings, then comments: the first alternative that matches at a position decides. An IRI may
// contain a space that is not ASCII.
const OPAQUE =
  /<(?:[^ \t\r\n<>"{}|^`\\]|\\u[\da-f]{4})*>|"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n\r]*/gi;
const PROLOGUE = /\b(?:prefix\s+[^\s:]*:|base)\s*<>/gi;

export interface QueryShape {
  /** whether the answer is a graph (CONSTRUCT, DESCRIBE) rather than bindings or a boolean */
  answersGraph: boolean;
  /** whether the query names its own dataset with FROM */
  namesDataset: boolean;
  /** whether the query is `ASK {}`, to which the answer is always yes */
  asksNothing: boolean;
}

/** Looks at a query that may be malformed; if it is, the engine will say so. */
export function shapeOf(sparql: string): QueryShape {
  const plain = sparql
    .replace(OPAQUE, (token) => (token.startsWith("<") ? "<>" : token.startsWith("#") ? " " : '""'))
    .replace(PROLOGUE, " ");
  const asksNothing = /^\s*ask\s*\{\s*\}\s*(?:values\s*\?\w+\s*\{\s*""\s*\}\s*)?$/i.test(plain);
  const form = /\b(?:select|ask|construct|describe)\b/i.exec(plain)?.[0].toLowerCase();
  return {
    asksNothing,
    answersGraph: form === "construct" || form === "describe",
    namesDataset: /(?<!\\.|[\p{L}\p{M}\p{N}_?$:.@-])from\s*(?:named\s*)?(?:<>|(?<=\s)[^\s:{}<>]*:)/iu.test(
      plain,
    ),
  };
}
