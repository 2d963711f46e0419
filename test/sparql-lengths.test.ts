// How long the values of a query may become, how many digits its numbers have, how many walks its paths, and what its
// patterns repeat, operation by operation: each that makes them more counts, and none that does not.
import { describe, expect, test } from "@jest/globals";
import { guardQuery } from "../graph/sparql-guard.ts";

const PREFIXES = "PREFIX x: <http://www.w3.org/2001/XMLSchema#> ";
const ACCEPTED = "accepted";
/** Why a query is refused. */
function verdict(text: string): string {
  try {
    guardQuery(PREFIXES + text);
    return ACCEPTED;
  } catch (error) {
    return (error as Error).message;
  }
}
const times = <T>(n: number, make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i));
/** Names of which each is made of the one before. */
const followed = (n: number, first: string, make: (name: string) => string) =>
  `SELECT ?v${n} { ?s ?p ?o BIND(${first} AS ?v0) ${times(n, (i) => `BIND(${make(`?v${i}`)} AS ?v${i + 1})`).join(" ")} }`;
const TOO_LONG = "longer than 2,000,000 characters by";

describe("values", () => {
  // Two dozen of values of the graph would be longer than what is kept may be.
  test.each([
    ...["=", "!=", "<", ">", "<=", ">=", "&&", "||"].map((operator) => `?o ${operator} ?p`),
    ...["!?o", "?o IN (?p, ?s)", "?o NOT IN (?p, ?s)", 'CONTAINS(?o, "a")', 'REGEX(?o, "a")', "BOUND(?o)"],
    ...["STRSTARTS", "STRENDS", "LANGMATCHES", "SAMETERM"].map((name) => `${name}(?o, ?p)`),
    ...["ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "STRLEN", "COUNT", "TZ", "TIMEZONE"]
      .concat(
        "YEAR",
        "MONTH",
        "DAY",
        "HOURS",
        "MINUTES",
        "SECONDS",
        "MD5",
        "SHA1",
        "SHA256",
        "SHA384",
        "SHA512",
      )
      .map((name) => `${name}(?o)`),
  ])("are short, whatever they are of: %s", (value) => {
    const sorted = (of: string) =>
      verdict(`SELECT (CONCAT(${times(24, () => `STR(${of})`).join()}) AS ?key) { ?s ?p ?o } ORDER BY ?key`);
    expect(sorted(value)).toBe(ACCEPTED);
    expect(sorted("?o")).toContain("longer than 10,000 characters by CONCAT");
  });

  test.each([
    ["SUBJECT", (name: string) => `<<( ${name} <urn:p> 1 )>>`],
    ["PREDICATE", (name: string) => `<<( <urn:s> ${name} 1 )>>`],
    ["OBJECT", (name: string) => `<<( <urn:s> <urn:p> ${name} )>>`],
  ])("are as long as what they are taken out of: %s of a triple", (part, triple) => {
    const twice = (name: string) =>
      `IRI(CONCAT(STR(${part}(${triple(name)})), STR(${part}(${triple(name)}))))`;
    expect(verdict(followed(3, "<urn:a>", twice))).toBe(ACCEPTED);
    expect(verdict(followed(14, "<urn:a>", twice))).toContain(`${TOO_LONG} CONCAT`);
  });

  const letter = (i: number) => String.fromCharCode(97 + i);
  const replaced = (n: number, given: (i: number) => string) =>
    verdict(
      `SELECT (${"REPLACE(".repeat(n)}?o${times(n, (i) => `, ${given(i)})`).join("")} AS ?r) { ?s ?p ?o }`,
    );
  test.each<[string, number, (i: number) => string]>([
    ["by what nobody has written out", 3, (i) => `"${letter(i)}", ?p`],
    ["by themselves, as often as they are there", 24, () => '"a", "$0$0"'],
    [
      "whether they are capital or not",
      24,
      (i) => `"${letter(i).toUpperCase()}", "${letter(i + 1).repeat(2)}", "i"`,
    ],
    ["of any of several letters, with a flag", 24, () => '"[a-z]", "xx", "i"'],
    ["of nothing, by a pattern that matches as few as it can", 24, () => '"a??", "x"'],
    ["by themselves, where an IRI says so", 24, () => '".{400}.*", STR(<u:$0$0>)'],
  ])("grow with each replacement of letters: %s", (_, n, given) => {
    expect(replaced(n, given)).toContain(`${TOO_LONG} REPLACE`);
    // As many take their place.
    expect(replaced(24, () => '"(((", "xxx", "q"')).toBe(ACCEPTED);
    // Letters that no replacement has made are replaced once.
    expect(replaced(24, (i) => `"${letter(i).toUpperCase()}", "${letter(i + 1).repeat(2)}"`)).toBe(ACCEPTED);
  });

  test("grow by no replacement of as many letters or more", () => {
    const sorted = (pattern: string) =>
      verdict(
        `SELECT (${"REPLACE(".repeat(8)}?o${`, "${pattern}", "x")`.repeat(8)} AS ?key) { ?s ?p ?o } ORDER BY ?key`,
      );
    // A pattern may end with a sign that would refer to all of a match in what stands for it.
    for (const pattern of ["[a-z]+", "[a-z]+$"])
      expect([pattern, sorted(pattern)]).toEqual([pattern, ACCEPTED]);
    expect(sorted("[a-z]*")).toContain("longer than 10,000 characters by REPLACE");
  });

  test.each(["SUM", "AVG"])("that are added up are not kept: %s", (of) => {
    const sums = times(40, () => `${of}(STRLEN(?o) + ?p)`).join(" + ");
    expect(verdict(`SELECT (${sums} AS ?n) { ?s ?p ?o }`)).toBe(ACCEPTED);
  });

  test.each(["MIN", "MAX", "SAMPLE"])("that are chosen of lists are made with them: %s", (of) => {
    const chosen = times(25, (i) => `(${of}(?all) AS ?c${i})`).join(" ");
    const lists = "SELECT (GROUP_CONCAT(?o) AS ?all) { ?s ?p ?o } GROUP BY ?s";
    expect(verdict(`SELECT ${chosen} { ${lists} }`)).toBe(ACCEPTED);
  });
});

describe("numbers", () => {
  const DIGITS = "more than 4,000 digits";
  test.each([
    ...["-", "+", "ABS", "CEIL", "FLOOR", "ROUND"].map(
      (name) => [name, (of: string) => `${name}(${of})`] as const,
    ),
    ["COALESCE", (of: string) => `COALESCE(${of}, 1)`] as const,
    ["IF", (of: string) => `IF(?p, ${of}, 1)`] as const,
    ["a sum", (of: string) => `(${of} + 1)`] as const,
    ["a difference", (of: string) => `(${of} - 1)`] as const,
  ])("have the digits of what they are made of: %s", (_, make) => {
    const squared = (name: string) => `${make(name)} * ${make(name)}`;
    expect(verdict(followed(4, "x:integer(?o)", squared))).toBe(ACCEPTED);
    expect(verdict(followed(9, "x:integer(?o)", squared))).toContain(DIGITS);
  });

  test.each([
    ...["STR", "LCASE", "UCASE"].map((name) => `${name}(?o)`),
    ...["SUBSTR(?o, 2)", 'STRBEFORE(?o, "a")', 'STRAFTER(?o, "a")', 'REPLACE(?o, "a", "")'],
  ])("may be sorted by where they are read of a part of a value, which is no longer: %s", (part) => {
    expect(verdict(`SELECT * { ?s ?p ?o BIND(x:integer(${part}) AS ?key) } ORDER BY ?key`)).toBe(ACCEPTED);
  });
});

describe("times", () => {
  const longest = '"P9999D"^^x:dayTimeDuration';
  const TOO_FAR = "All that the query does with durations could take too long together";
  test.each([
    "?d = ?e",
    "?d != ?e",
    "?d < ?e",
    "?d > ?e",
    "?d <= ?e",
    "?d >= ?e",
    "?d IN (1, ?e)",
    "?d NOT IN (1, ?e)",
  ])("are reckoned with however they are compared: %s", (compared) => {
    const filter = compared.replace("?d", "?v30").replace("?e", "?v29");
    const doubled = followed(30, longest, (name) => `(${name} + ${name})`).replace("SELECT ?v30", "SELECT *");
    expect(verdict(doubled)).toBe(ACCEPTED);
    expect(verdict(doubled.replace(/\}$/, `FILTER(${filter}) }`))).toContain(TOO_FAR);
  });

  test.each(["ns:targetCompletionDate", "dct:modified", "prov:generatedAtTime"])(
    "are those of the graph, by whichever of its properties: %s",
    (property) => {
      const compared = (n: number) =>
        verdict(`PREFIX ns: <https://ontology.example.org/core#> PREFIX dct: <http://purl.org/dc/terms/>
          PREFIX prov: <http://www.w3.org/ns/prov#>
          SELECT * { ?s ${property} ?t FILTER(${'NOW() - ?t > "P30D"^^x:dayTimeDuration || '.repeat(n)} false) }`);
      expect(compared(49)).toBe(ACCEPTED);
      expect(compared(50)).toContain(TOO_FAR);
    },
  );
});

describe("what is looked for in the graph", () => {
  test.each(["?s", "?p", "?o"])("is what %s of a triple is to be the same as", (name) => {
    for (const triple of ["?s ?p ?o", "?a ?b <<( ?s ?p ?o )>>"]) {
      const sought = (n: number) =>
        verdict(
          `SELECT * { ${triple} BIND(IRI(CONCAT(${times(n, () => "?x").join()})) AS ?long) FILTER(${name} = ?long) }`,
        );
      expect(sought(9)).toBe(ACCEPTED);
      expect(sought(12)).toContain("A term could become longer than 10,000 characters");
    }
  });
});

describe("paths", () => {
  test.each([
    ["of one property", "<urn:a>", 5],
    ["of alternatives", "(<urn:a>|<urn:b>)", 4],
    ["of whatever is none of two", "!(<urn:a>|<urn:b>)", 4],
  ])("have as many walks as the steps in them together: %s", (_, step, most) => {
    const asked = (n: number) => verdict(`ASK { ?s (${times(n, () => step).join("/")})? ?o }`);
    expect(asked(most)).toBe(ACCEPTED);
    expect(asked(most + 1)).toContain("reaches too much of the graph at once");
  });
});

describe("patterns", () => {
  const asked = (pattern: string) => verdict(`ASK { ?s ?p ?o FILTER(REGEX(?o, "${pattern}")) }`);
  test("of what stands in a set nothing is repeated", () => {
    for (const set of [String.raw`[(a+)+]`, String.raw`[\\](a+)+]`, String.raw`[\\]]+[^\\](b|c)*]`])
      expect([set, asked(set)]).toEqual([set, ACCEPTED]);
    expect(asked(String.raw`[\\]](a+)+`)).toContain("in several ways");
  });

  test("a letter by its number or its kind is one, and a class is none that has a name behind it", () => {
    for (const one of [String.raw`\\u0041+b`, String.raw`\\p{L}+\\d{2}`])
      expect([one, asked(one)]).toEqual([one, ACCEPTED]);
    expect(asked(String.raw`(\\d{0,99}){0,99}b`)).toContain("in too many ways");
  });

  test("a group that is repeated is as deep wherever it stands", () => {
    for (const [behind, before] of [
      ["", ""],
      ["b){2}", "(?:"],
      ["|b)", "(?:"],
    ] as const) {
      expect([behind, asked(`${before}(?:(?:(?:a)))*${behind}`)]).toEqual([behind, ACCEPTED]);
      expect(asked(`${before}(?:(?:(?:(?:(?:(?:a))))))*${behind}`)).toContain("repeats groups");
    }
  });

  test("begin at each line with the flag m, in REPLACE as in REGEX", () => {
    const of = (call: string) =>
      verdict(
        followed(5, '"abcdefgh"', (name) => `CONCAT(${name}, ${name})`).replace("?v5 {", `(${call} AS ?r) {`),
      );
    expect(of('REPLACE(?v5, "^x*y*z", "m")')).toBe(ACCEPTED);
    expect(of('REPLACE(?v5, "^x*y*z", "", "m")')).toContain("could take hours");
    expect(of('REGEX(?v5, "^x*y*z", "m")')).toContain("could take hours");
  });

  test("alternatives are as long as the longest of them", () => {
    expect(asked("(?:a|b{100}){90}")).toBe(ACCEPTED);
    expect(asked("(?:a|b{100}){200}")).toContain("it repeats something too often");
  });
});
