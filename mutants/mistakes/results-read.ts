// The answer to a query of the graph says something else than the graph, and a sign-in leads elsewhere.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: ["results-as-read"], only }));

const ROWS = "of rows has each value";

export const RESULTS_READ: readonly Mistake[] = [
  ...slips(
    "server/pages/sparql/show.ts",
    [
      ROWS,
      "a variable without a value has an empty cell",
      "if (!term) return html`<td></td>`;",
      "if (!term) return html``;",
    ],
    [
      ROWS,
      "an IRI leads to what is known of it",
      "queryLink(`DESCRIBE <${value}>`)",
      "queryLink(`DESCRIBE ${value}`)",
    ],
    [
      ROWS,
      "what has no name of its own is no IRI",
      'if (type === "bnode") return html`<td><bdi>_:${value}</bdi></td>`;',
      "",
    ],
    [ROWS, "a text comes with its language", '<span class="quiet">${language}</span></td>`', "</td>`"],
    [ROWS, "a name is shortened by its own prefix", "iri.slice(base.length)", "iri.slice(base.length - 1)"],
    ["of numbers", "decimals are numbers", "integer|decimal|double|float", "integer|double|float"],
    ["rows is shown as far", "one row is not rows", 'length === 1 ? "" : "s"', 'length <= 1 ? "" : "s"'],
    [
      "rows is shown as far",
      "that there is more than a page shows is said",
      'result.kind !== "truth" && !result.isWhole',
      'result.kind === "triples" && !result.isWhole',
    ],
    [
      "triples is shown as far",
      "triples are counted as triples",
      'result.kind === "rows" ? "row" : "triple"',
      '"row"',
    ],
    ["is said in a word", "what is not so is not said to be so", 'result.isTrue ? "Yes" : "No"', '"Yes"'],
    [
      "that is a refusal",
      "the place that cannot be read is marked by its line and column",
      "const [, line, column] =",
      "const [, column, line] =",
    ],
    [
      "is Turtle with",
      "statements about one thing stand together",
      "({ subject }) => subject.id).values()",
      "({ predicate }) => predicate.id).values()",
    ],
    [
      "is Turtle with",
      "a graph has the prefixes that it needs",
      "...[subject.value, predicate.value, object.value],",
      "...[subject.value, predicate.value],",
    ],
    [
      "is Turtle with",
      "a graph has the prefixes of the types of its values",
      'object.termType === "Literal" ? object.datatype.value : "",',
      "",
    ],
  ),
  ...slips(
    "server/pages/sparql/result.ts",
    [
      "rows is shown as far",
      "a page has five hundred rows and no more",
      "rows.length > MOST",
      "rows.length >= MOST",
    ],
    [
      "triples is shown as far",
      "a page has five hundred triples and no more",
      "triples.push(triple as Quad) > MOST",
      "triples.push(triple as Quad) >= MOST",
    ],
    [
      "a million characters",
      "a page reads a million characters and no more",
      "if (length > CHARACTERS) throw",
      "if (length >= CHARACTERS) throw",
    ],
    [
      "a million characters",
      "a row that is not whole is not shown",
      "depth === 3 && stack[3]",
      "depth >= 3 && stack[3]",
    ],
    [
      ROWS,
      "an answer has all of its columns, whichever a row fills",
      "head?.vars ?? []",
      "Object.keys(rows.at(-1) ?? {})",
    ],
    ["is said in a word", "a no is an answer", "if (boolean !== undefined) return", "if (boolean) return"],
  ),
  ...slips(
    "server/pages/sign-in/own-path.ts",
    [
      "after signing in",
      "a sign-in leads to no other host by two slashes",
      'url.origin === HERE && !path.startsWith("//") ?',
      "url.origin === HERE ?",
    ],
    [
      "after signing in",
      "a sign-in leads to this host alone",
      'url.origin === HERE && !path.startsWith("//") ?',
      '!path.startsWith("//") ?',
    ],
    ["after signing in", "a sign-in leads to a path", '|| !wanted.startsWith("/")', ""],
    [
      "after signing in",
      "a page is led back to with its query and its place",
      "${url.pathname}${url.search}${url.hash}",
      "${url.pathname}${url.search}",
    ],
    [
      "after signing in",
      "the longest address of a page is led back to",
      "wanted.length > LONGEST",
      "wanted.length >= LONGEST",
    ],
  ),
];
