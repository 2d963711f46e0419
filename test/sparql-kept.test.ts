// What a store keeps of a query after its end, or for as long as that runs: what it looked for and did not find, types that it did
// not know, texts that blank nodes were made of.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Fuseki } from "../graph/fuseki/launch.ts";
import { guardQuery } from "../graph/sparql-guard.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { fusekiIsAvailable, startFuseki } from "./support/fuseki.ts";

const ACCEPTED = "accepted";
/** Why a query is refused. */
function verdict(text: string): string {
  try {
    guardQuery(text);
    return ACCEPTED;
  } catch (error) {
    return (error as Error).message;
  }
}
const titled = <T extends readonly [string, ...unknown[]]>(rows: readonly T[]) =>
  rows.map((row) => [row[0].slice(0, 100), ...row] as const);

/** Makes of 600 characters of ?o, doubled so often, another for each ?s. */
const big = (doubled: number) =>
  `BIND(SUBSTR(STR(?o), 1, 600) AS ?v0) ${Array.from({ length: doubled }, (_, i) => `BIND(CONCAT(?v${i}, ?v${i}) AS ?v${i + 1})`).join(" ")} BIND(CONCAT(?v${doubled}, STR(?s)) AS ?big)`;

describe("what a query looks for in the graph", () => {
  test.each(
    titled([
      ["ASK { BIG FILTER EXISTS { ?x ?y ?big } }"],
      ["ASK { BIG FILTER NOT EXISTS { ?big ?y ?z } }"],
      ["SELECT (EXISTS { ?x ?big ?z } AS ?e) { BIG }"],
      ["ASK { BIG FILTER EXISTS { GRAPH ?big { ?x ?y ?z } } }"],
      ["ASK { BIG FILTER EXISTS { ?big <urn:p>/<urn:q> ?z } }"],
      ["ASK { BIG FILTER EXISTS { ?x ?y <<( ?s ?p ?big )>> } }"],
      ["ASK { BIG FILTER EXISTS { { SELECT * { ?x ?y ?big } } } }"],
      ["ASK { BIG FILTER EXISTS { BIND(?big AS ?other) ?x ?y ?other } }"],
      ["ASK { BIG FILTER EXISTS { VALUES ?z { 1 } OPTIONAL { ?big ?y ?z } } }"],
      ["ASK { BIG FILTER(?n = STRLEN(?big)) OPTIONAL { ?x ?y ?big } }"],
      ["ASK { BIG MINUS { ?x ?y ?big } }"],
      ["SELECT * { BIG ?x ?y ?big }"],
      ["SELECT * { { SELECT ?big { BIG } } ?x ?y ?big }"],
      // It may be put in the place of the name.
      ["ASK { BIG FILTER(sameTerm(?o, ?big)) }"],
      ["ASK { BIG FILTER(sameTerm(?big, ?o)) }"],
      ["ASK { BIG FILTER(?o = ?big) }"],
      ['ASK { BIG FILTER(?o IN ("a", CONCAT(?big, "a"))) }'],
      [`ASK { ?s ?p ?o BIND(1 AS ?big) FILTER(sameTerm(?o, REPLACE("${"x".repeat(100)}", "x", "LONG"))) }`],
      ["DESCRIBE ?iri { BIG BIND(IRI(?big) AS ?iri) }"],
    ]),
  )("has at most 10,000 characters: %s", (_title, text) => {
    const of = (doubled: number, long: number) =>
      text.replace("BIG", `?s ?p ?o ${big(doubled)}`).replace("LONG", "y".repeat(long));
    expect(verdict(of(3, 90))).toBe(ACCEPTED);
    expect(verdict(of(4, 101))).toMatch(/could become longer than 10,000 characters .*; /);
  });

  test.each(
    titled([
      ['ASK { ?s ?p "LONG" }'],
      ["ASK { <urn:LONG> ?p ?o }"],
      ["ASK { ?s <urn:p>|^<urn:LONG> ?o }"],
      ["ASK { ?s !(<urn:p>|<urn:LONG>) ?o }"],
      ['ASK { ?s ?p <<( <urn:s> <urn:p> "LONG" )>> }'],
      ["ASK { GRAPH <urn:LONG> { ?s ?p ?o } }"],
      ["ASK FROM <urn:LONG> { ?s ?p ?o }"],
      ["ASK FROM NAMED <urn:LONG> { ?s ?p ?o }"],
      ["DESCRIBE <urn:LONG>"],
      ['ASK { VALUES ?o { 1 "LONG" } ?s ?p ?o }'],
      ['ASK { ?s ?p ?o } VALUES ?o { "LONG" }'],
      ['ASK { ?s ?p ?o FILTER(sameTerm(?o, "LONG")) }'],
      ['ASK { ?s ?p ?o FILTER("LONG" = ?o) }'],
      ["PREFIX p: <urn:LONG> ASK { ?s p: ?o }"],
    ]),
  )("also where that is written out: %s", (_title, text) => {
    expect(verdict(text.replace("LONG", "x".repeat(4_900)))).toBe(ACCEPTED);
    expect(verdict(text.replace("LONG", "x".repeat(10_001)))).toMatch(
      /^A term could become longer than 10,000 characters where the query looks for it in the graph/,
    );
  });

  test("is no GROUP_CONCAT, which may be of any length", () => {
    const grouped = "{ SELECT (GROUP_CONCAT(?l) AS ?all) { ?a ?b ?l } }";
    expect(verdict(`SELECT * { ${grouped} ?s ?p ?o }`)).toBe(ACCEPTED);
    expect(verdict(`SELECT * { ${grouped} ?s ?p ?all }`)).toMatch(
      /^The result of a GROUP_CONCAT may be of any/,
    );
  });

  test("may be told from what is longer, which is not looked for", () => {
    const long = `?s ?p ?o ${big(4)}`;
    for (const text of [
      `ASK { ${long} FILTER(?v4 = ?big || CONTAINS(?big, ?o)) }`,
      `ASK { ${long} FILTER(?o < ?big) }`,
    ])
      expect(verdict(text)).toBe(ACCEPTED);
  });
});

describe("a type of which a literal is", () => {
  const XSD = "http://www.w3.org/2001/XMLSchema#";
  const PREFIXES = `PREFIX xsd: <${XSD}> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX : <urn:> `;
  test.each([
    'ASK { ?s ?p "a"^^<urn:x> }',
    'ASK { ?s ?p "a"^^:x }',
    'ASK { ?s ?p "a"^^xsd:none }',
    'ASK { VALUES ?o { "a"^^:x } ?s ?p ?o }',
    'ASK { ?s ?p <<( :s :p "a"^^:x )>> }',
    'CONSTRUCT { ?s ?p "a"^^:x } { ?s ?p ?o }',
    'SELECT (STRDT("a", :x) AS ?x) {}',
    // Jena leaves it as it is.
    'ASK { ?s ?p "1"^^<HTTP://www.w3.org/2001/XMLSchema#integer> }',
    'ASK { ?s ?p "1"^^<http://www.w3.org/2001/./XMLSchema#integer> }',
  ])("is one that stores know: %s", (text) => {
    expect(verdict(PREFIXES + text)).toMatch(/^The type \S+ is not available here: .*DATATYPE/);
  });
  test.each([
    `ASK { ?s ?p "1"^^<${XSD}integer>, "a"^^xsd:string, "a", 1, 1.5, 1e3, true, "a"@en, "a"@en--ltr }`,
    'ASK { ?s ?p "2026-01-01"^^xsd:date, "{}"^^rdf:JSON, "<a/>"^^rdf:HTML, "a"^^xsd:anyURI }',
    'SELECT (STRDT("1", xsd:unsignedByte) AS ?x) {}',
    "ASK { ?s ?p ?o FILTER(DATATYPE(?o) = :x) }",
  ])("and may be: %s", (text) => {
    expect(verdict(PREFIXES + text)).toBe(ACCEPTED);
  });
  test("and may be each of XML Schema and RDF", () => {
    const xsd =
      "double float decimal integer byte short int long unsignedByte unsignedShort unsignedInt unsignedLong positiveInteger " +
      "nonNegativeInteger negativeInteger nonPositiveInteger dateTime dateTimeStamp date time gYear gYearMonth gMonthDay gMonth " +
      "gDay duration dayTimeDuration yearMonthDuration string boolean hexBinary base64Binary anyURI language normalizedString " +
      "token NMTOKEN Name NCName QName ID IDREF ENTITY";
    const types = [
      ...xsd.split(" ").map((name) => `xsd:${name}`),
      ...["langString", "dirLangString", "HTML", "XMLLiteral", "JSON"].map((name) => `rdf:${name}`),
    ];
    const refused = types.filter((type) => verdict(`${PREFIXES}ASK { ?s ?p "1"^^${type} }`) !== ACCEPTED);
    expect(refused).toEqual([]);
  });
  test("is quoted by its beginning", () => {
    expect(verdict(`ASK { ?s ?p "a"^^<urn:${"x".repeat(60_000)}> }`).length).toBeLessThan(400);
  });
});

test("no text is made a blank node, as all of its solution is kept for that", () => {
  expect(verdict("SELECT (BNODE(STR(?s)) AS ?b) { ?s ?p ?o }")).toMatch(
    /^BNODE with a text is not .* BNODE\(\)/,
  );
  expect(verdict("ASK { ?s ?p ?o FILTER(isBlank(bnode('a'))) }")).toMatch(/^BNODE with a text is not/);
  expect(verdict("CONSTRUCT { ?s ?p ?b } { ?s ?p ?o BIND(BNODE() AS ?b) }")).toBe(ACCEPTED);
});

(fusekiIsAvailable ? describe : describe.skip)("in Fuseki", () => {
  let dir: string;
  let fuseki: Fuseki;
  let store: GraphStore;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "engagement-kept-"));
    fuseki = await startFuseki({
      dir,
      queryTimeoutMs: 600_000,
      javaOptions: "-Xmx192m -XX:+ExitOnOutOfMemoryError",
    });
    const { url, user, password } = fuseki;
    store = createGraphStore({ ...storeUrls(url), user, password, takesTimeout: true });
    const rows = Array.from(
      { length: 3_000 },
      (_, i) => `<urn:s${i}> <urn:p> "${"x".repeat(600)}${i}" .`,
    ).join("\n");
    await store.putGraph("urn:many", rows, "application/n-triples");
  });
  afterAll(async () => {
    store.close();
    await fuseki.stop();
    await rm(dir, { recursive: true });
  });

  const ask = async (text: string) => {
    expect(verdict(text)).toBe(ACCEPTED);
    return store.ask(text, { timeoutMs: 300_000 });
  };

  test("a small memory has room for all that it keeps of what it did not find", async () => {
    for (const sought of [
      "FILTER EXISTS { ?x ?y ?big }",
      "FILTER EXISTS { ?big ?y ?z }",
      "FILTER(sameTerm(?o, ?big))",
    ])
      expect(await ask(`ASK { ?s ?p ?o ${big(3)} ${sought} }`)).toBe(false);
    expect(await ask("ASK { ?s ?p ?o }")).toBe(true);
  });
});
