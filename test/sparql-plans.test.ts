// How large a plan an engine may have to make of a query before it begins, when no time limit ends it.
import { describe, expect, test } from "@jest/globals";
import { guardQuery } from "../graph/sparql-guard.ts";

const ACCEPTED = "accepted";
/** Why a pattern is refused. */
function verdict(pattern: string, form = "SELECT *", behind = ""): string {
  try {
    guardQuery(`${form} { ${pattern} } ${behind}`);
    return ACCEPTED;
  } catch (error) {
    return (error as Error).message;
  }
}
const many = (n: number, part: (i: number) => string, between = " ") =>
  Array.from({ length: n }, (_, i) => part(i)).join(between);

describe("a group joins at most a thousand triples and patterns", () => {
  test.each<[kind: string, most: number, pattern: (n: number) => string]>([
    ["triples", 1_000, (n) => many(n, (i) => `?a ?b ?v${i} .`)],
    ["objects of a triple", 1_000, (n) => `?a ?b ${many(n, (i) => `?v${i}`, ", ")}`],
    ["blank nodes with triples", 500, (n) => `?a ?b ${many(n, (i) => `[ ?c ?v${i} ]`, ", ")}`],
    ["triples and what is between them", 500, (n) => many(n, (i) => `?a ?b ?v${i} MINUS { ?a ?d ?e }`)],
    ["items of a list, with the triple that it stands in", 499, (n) => `?s ?p (${"1 ".repeat(n)})`],
    ["properties of paths", 200, (n) => many(n, (i) => `?a <a>/(<b>|<c>*)/^<d>/<e> ?v${i} .`)],
    ["groups", 1_000, (n) => many(n, (i) => `{ ?a ?b ?v${i} }`)],
    ["triples of groups", 500, (n) => `{ ${many(n, (i) => `{ ?a ?b ?v${i} . ?a ?c ?d }`)} }`],
    ["groups that may be missing", 999, (n) => `?a ?b ?c ${many(n, (i) => `OPTIONAL { ?a ?b ?v${i} }`)}`],
    ["groups that are taken away", 999, (n) => `?a ?b ?c ${many(n, (i) => `MINUS { ?a ?b ?v${i} }`)}`],
    ["reifiers of a triple", 999, (n) => `?a ?b ?c ${"~ ".repeat(n)}`],
    ["annotations", 499, (n) => `?a ?b ?c ${many(n, (i) => `{| ?x ?v${i} |}`)} . ?d ?e ?f`],
    ["triples of subqueries", 500, (n) => many(n, () => "{ SELECT * { ?a ?b ?c . ?a ?d ?e } }")],
    ["subqueries", 1_000, (n) => many(n, (i) => `{ SELECT (1 AS ?v${i}) {} }`)],
    ["names that are made", 1_000, (n) => many(n, (i) => `BIND(1 AS ?v${i})`)],
    ["graphs, which are four each", 250, (n) => many(n, (i) => `GRAPH ?g { ?a ?b ?v${i} }`)],
    ["triples of a graph", 1_000, (n) => `GRAPH ?g { ${many(n, (i) => `?a ?b ?v${i} .`)} }`],
    ["triples of several graphs", 100, (n) => many(n, () => `GRAPH ?g { ${"?a ?b ?c . ".repeat(10)} }`)],
    ["lists of values, which are ten each", 100, (n) => many(n, (i) => `VALUES ?v${i} { 1 2 }`)],
  ])("%s", (_, most, pattern) => {
    expect(verdict(pattern(most))).toBe(ACCEPTED);
    const why =
      /^A group has 1,0\d\d triples and other patterns, .* and may have at most 1,000\. .* with VALUES/;
    expect(verdict(pattern(most + 1))).toMatch(why);
  });

  test.each([
    ["a subquery", (group: string) => verdict(`{ SELECT * { ${group} } }`)],
    ["what may be missing", (group: string) => verdict(`OPTIONAL { ${group} }`)],
    ["an arm of a UNION", (group: string) => verdict(`{} UNION { ${group} }`)],
    ["EXISTS", (group: string) => verdict(`FILTER EXISTS { ${group} }`)],
    ["EXISTS of a SELECT", (group: string) => verdict("", `SELECT (EXISTS { ${group} } AS ?e)`)],
    [
      "EXISTS that is sorted by",
      (group: string) => verdict("", "SELECT *", `ORDER BY (EXISTS { ${group} })`),
    ],
  ])("also in %s", (_, verdictOf) => {
    expect(verdictOf(many(100, (i) => `VALUES ?v${i} { 1 }`))).toBe(ACCEPTED);
    expect(verdictOf(many(101, (i) => `VALUES ?v${i} { 1 }`))).toMatch(/^A group has 1,010 /);
  });

  test.each([
    ["arms of a UNION", many(3_000, (i) => `{ ?a ?b ?v${i} }`, "UNION")],
    ["rows of values", `VALUES ?v { ${"1 ".repeat(5_000)} }`],
    ["items of an IN", `?s ?p ?o FILTER(?o IN (${many(5_000, String, ",")}))`],
    ["triples of groups that may be missing", many(4, () => `OPTIONAL { ${"?a ?b ?c . ".repeat(900)} }`)],
  ])("while there may be more of others: %s", (_, pattern) => {
    expect(verdict(pattern)).toBe(ACCEPTED);
  });

  test("what CONSTRUCT makes is joined with nothing, and CONSTRUCT WHERE joins it", () => {
    const triples = many(1_001, (i) => `?a ?b ?v${i} .`);
    expect(verdict("?a ?b ?v1", `CONSTRUCT { ${triples} }`)).toBe(ACCEPTED);
    expect(verdict(triples, "CONSTRUCT WHERE")).toMatch(/^A group has 1,001 /);
  });
});

describe("filters make no plan of more than a hundred thousand parts", () => {
  const any = (n: number, name = "?b", by = (i: number) => `${name} = <urn:${i}>`) => many(n, by, " || ");
  const list = (n: number) => many(n, (i) => `<urn:${i}>`, ", ");
  const triples = (n: number) => many(n, (i) => `?a ?b ?v${i} .`);
  const nested = (n: number): string =>
    n === 0 ? "?s ?p ?o" : `?s ?p ?o FILTER EXISTS { ${nested(n - 1)} }`;

  const arms = (n: number) => many(n, () => "{ ?a ?b ?c }", " UNION ");

  test.each<[kind: string, most: number, pattern: (n: number) => string]>([
    ["a pattern for each alternative of ||", 249, (n) => `${triples(400)} FILTER(${any(n)})`],
    [
      "of = from the other side",
      249,
      (n) => `${triples(400)} FILTER(${any(n, "", (i) => `<urn:${i}> = ?b`)})`,
    ],
    ["of sameTerm", 249, (n) => `${triples(400)} FILTER(${any(n, "", (i) => `sameTerm(?b, <urn:${i}>)`)})`],
    ["of IN", 124, (n) => `${triples(800)} FILTER(?b IN (${list(n + (n > 124 ? 1 : 0))}))`],
    ["of IN within ||", 62, (n) => `${triples(800)} FILTER(?a IN (${list(n)}) || ?b IN (${list(n)}))`],
    ["of || within &&", 71, (n) => `${triples(400)} FILTER(?a > 1 && (${any(n)}))`],
    ["of || with others, which are one more", 70, (n) => `${triples(400)} FILTER(?a > 1 || (${any(n)}))`],
    ["of filters together", 15, (n) => `${triples(400)} FILTER(${any(n)}) FILTER(?a IN (${list(n)}))`],
    ["of one behind another", 15, (n) => `{ ${triples(400)} FILTER(${any(n)}) } FILTER(${any(n, "?a")})`],
    ["of what may be missing", 249, (n) => `OPTIONAL { ${triples(400)} FILTER(${any(n)}) }`],
    ["of a subquery", 247, (n) => `{ SELECT (?a AS ?c) { ${triples(400)} } } FILTER(${any(n)})`],
    ["of groups", 249, (n) => `{ SELECT ?b { ${triples(399)} } GROUP BY ?b HAVING(${any(n)}) }`],
    [
      "with what EXISTS has in it, twice",
      124,
      (n) => `{ ?s ?p ?o FILTER EXISTS { ${triples(397)} } } FILTER(${any(n)})`,
    ],
    [
      "and with what is compared",
      125,
      (n) => `{ ?s ?p ?o FILTER(?s = EXISTS { ${triples(397)} }) } FILTER(${any(n)})`,
    ],
    [
      "and what is made",
      283,
      (n) => `{ SELECT ${many(n, (i) => `(1 + 1 AS ?w${i})`)} { ?a ?b ?c } } FILTER(${any(200)})`,
    ],
    ["and bound", 198, (n) => `{ ?a ?b ?c ${many(n, (i) => `BIND(1 + 1 AS ?w${i})`)} } FILTER(${any(200)})`],
    [
      "and sorted by",
      1_979,
      (n) => `{ SELECT ?b { ?a ?b ?c } ORDER BY CONCAT(${many(n, () => '""', ", ")}) } FILTER(${any(200)})`,
    ],
    ["a filter in each triple", 799, (n) => `${triples(100)} ${"FILTER(?a) ".repeat(n)}`],
    ["in each copy", 79, (n) => `{ ${triples(10)} FILTER(${any(100)}) } ${"FILTER(?a) ".repeat(n)}`],
    ["in each arm of a UNION", 396, (n) => `${arms(n)} ${"FILTER(?a) ".repeat(200)}`],
    ["where nothing is asked of the graph", 399, (n) => `{ FILTER(${any(200)}) } ${"FILTER(?a) ".repeat(n)}`],
    ["with a long IN", 198, (n) => `${arms(n)} FILTER(?a IN (${list(2_000)}))`],
    ["for each value of NOT IN", 196, (n) => `${triples(400)} FILTER(?a NOT IN (${list(n)}))`],
    [
      "for each value of NOT IN on two lines",
      196,
      (n) => `${triples(400)} FILTER(?a not#\n\tin (${list(n)}))`,
    ],
  ])("%s", (_, most, pattern) => {
    expect(verdict(pattern(most))).toBe(ACCEPTED);
    expect(verdict(pattern(most + 1))).toMatch(
      /^The filters of this query could .* plan of 1\d\d,\d{3} parts .*EXISTS\.$/,
    );
  });

  // Nothing times what cannot be counted is no number, and not more than any.
  test.each([
    ["once", (filters: string) => `{ ${triples(1)} ${filters} }`],
    ["beside others", (filters: string) => `{ { ${triples(1)} ${filters} } UNION { ?a ?b ?c } }`],
    ["in a subquery", (filters: string) => `{ SELECT ?a { { ${triples(1)} ${filters} } } }`],
  ])("however many parts that would be: %s", (_, pattern) => {
    expect(verdict(pattern("FILTER(?a IN (<a>, <b>, <c>, <d>)) ".repeat(600)))).toMatch(
      /plan of a million million or more parts/,
    );
  });

  test.each([
    ["EXISTS eight deep", nested(8)],
    ["filters of single kinds", `${triples(100)} ${"FILTER(?a = ?b && (?c > 1 || ?d < 2)) ".repeat(100)}`],
    ["alternatives as values", `${triples(400)} VALUES ?b { ${many(3_000, (i) => `<urn:${i}>`)} }`],
    ["a long IN", `${triples(20)} FILTER(?b IN (${list(3_000)}))`],
  ])("which these do not: %s", (_, pattern) => {
    expect(verdict(pattern)).toBe(ACCEPTED);
  });

  test("whatever the number is", () => {
    const pattern = many(9, () => `FILTER(${any(90)})`);
    expect(verdict(`?a ?b ?c ${pattern}`)).toContain("a plan of a million million or more parts");
  });
});
