// Fuseki ends what a caller asks when its time is over, whatever its plan begins with; and what it answers is what was asked.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Fuseki } from "../graph/fuseki/launch.ts";
import { guardQuery, QueryRefused } from "../graph/sparql-guard.ts";
import { createGraphStore, GraphTimeout, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { readAll } from "../graph/store-http.ts";
import { SparqlEndpoint } from "../server/sparql/endpoint.ts";
import { eventually } from "./support/eventually.ts";
import { fusekiIsAvailable, startFuseki } from "./support/fuseki.ts";

describe("a pattern stands in a UNION", () => {
  test.each([
    ["SELECT * { ?s ?p ?o }", "SELECT * {{?s ?p ?o } UNION { FILTER(false) }}"],
    ["ASK {}", "ASK {{} UNION { FILTER(false) }}"],
    ["ASK WHERE # }\n{\n?s ?p ?o # }\n}", "ASK WHERE # }\n{{\n?s ?p ?o # }\n} UNION { FILTER(false) }}"],
    [
      "SELECT (EXISTS { ?a ?b ?c } AS ?e) FROM <urn:g> { ?s ?p ?o } GROUP BY ?s HAVING(COUNT(*) > 1) LIMIT 2",
      "SELECT (EXISTS { ?a ?b ?c } AS ?e) FROM <urn:g> {{?s ?p ?o } UNION { FILTER(false) }} GROUP BY ?s HAVING(COUNT(*) > 1) LIMIT 2",
    ],
    [
      "CONSTRUCT { ?s ?p 1 } WHERE { ?s ?p ?o }",
      "CONSTRUCT { ?s ?p 1 } WHERE {{?s ?p ?o } UNION { FILTER(false) }}",
    ],
    ["DESCRIBE ?s { ?s ?p ?o } LIMIT 10000", "DESCRIBE ?s {{?s ?p ?o } UNION { FILTER(false) }} LIMIT 10000"],
    // Whatever it finds.
    ["DESCRIBE <urn:s> { ?s ?p ?o }", "DESCRIBE <urn:s> {{?s ?p ?o } UNION { FILTER(false) }}"],
    // The subquery is not grouped here.
    [
      "SELECT * { { SELECT (COUNT(*) AS ?n) {} } } ORDER BY ?n # a\nVALUES ?n { 1 } # b",
      "SELECT * {{{{ SELECT (COUNT(*) AS ?n) {} } } VALUES ?n { 1 }} UNION { FILTER(false) }} ORDER BY ?n # a\n # b",
    ],
    [
      "SELECT * {} ORDER BY (EXISTS { SELECT (COUNT(*) AS ?n) {} }) VALUES (?a ?b) { (1 2) }",
      "SELECT * {{{} VALUES (?a ?b) { (1 2) }} UNION { FILTER(false) }} ORDER BY (EXISTS { SELECT (COUNT(*) AS ?n) {} }) ",
    ],
    // Solutions are passed over before the plan is there, so the operand is all of it.
    [
      "SELECT * { ?s ?p ?o } OFFSET 9000000000000",
      "SELECT *  {{SELECT * {?s ?p ?o } OFFSET 9000000000000\n} UNION { FILTER(false) }}",
    ],
    [
      "select# SELECT\nDISTINCT ?s(STR(?o) AS ?t)FROM <urn:g># }\nWHERE{?s ?p ?o}ORDER BY ?p LIMIT 4 OFFSET 3 # a",
      "SELECT ?s ?t FROM <urn:g># }\nWHERE{{select# SELECT\nDISTINCT ?s(STR(?o) AS ?t) {?s ?p ?o}ORDER BY ?p LIMIT 4 OFFSET 3 # a\n} UNION { FILTER(false) }}",
    ],
    [
      "SELECT REDUCED ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING(?n > 1) OFFSET 1",
      "SELECT ?s ?n  {{SELECT REDUCED ?s (COUNT(*) AS ?n) {?s ?p ?o } GROUP BY ?s HAVING(?n > 1) OFFSET 1\n} UNION { FILTER(false) }}",
    ],
    [
      "SELECT ?s { ?s ?p ?o } OFFSET 1 VALUES ?p { 1 } # a",
      "SELECT ?s  {{SELECT ?s {{?s ?p ?o } VALUES ?p { 1 }} OFFSET 1  # a\n} UNION { FILTER(false) }}",
    ],
    [
      "CONSTRUCT { [] ?p 1 } FROM <urn:g> WHERE { ?s ?p [] } ORDER BY ?s OFFSET 3",
      "CONSTRUCT { [] ?p 1 } FROM <urn:g> WHERE {{SELECT * {?s ?p [] } ORDER BY ?s OFFSET 3\n} UNION { FILTER(false) }}",
    ],
    ["ASK { ?s ?p ?o } OFFSET 3", "ASK {{SELECT * {?s ?p ?o } OFFSET 3\n} UNION { FILTER(false) }}"],
    [
      "DESCRIBE ?s <urn:s> { ?s ?p ?o } GROUP BY ?s LIMIT 4 OFFSET 3",
      "DESCRIBE ?s <urn:s> {{SELECT ?s {?s ?p ?o } GROUP BY ?s LIMIT 4 OFFSET 3\n} UNION { FILTER(false) }}",
    ],
    [
      "DESCRIBE <urn:s> { ?s ?p ?o } OFFSET 3",
      "DESCRIBE <urn:s> {{SELECT * {?s ?p ?o } OFFSET 3\n} UNION { FILTER(false) }}",
    ],
    ["ASK {} OFFSET 0", "ASK {{} UNION { FILTER(false) }} OFFSET 0"],
    // In a subquery it is in the operand already.
    [
      "SELECT * { { SELECT * { ?s ?p ?o } OFFSET 3 } } LIMIT 2",
      "SELECT * {{{ SELECT * { ?s ?p ?o } OFFSET 3 } } UNION { FILTER(false) }} LIMIT 2",
    ],
    // Nothing in these is joined before the plan is there.
    ["CONSTRUCT WHERE { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }"],
    ["DESCRIBE <urn:s>", "DESCRIBE <urn:s>"],
    ["DESCRIBE <urn:s> ?x VALUES ?x { 1 }", "DESCRIBE <urn:s> ?x VALUES ?x { 1 }"],
  ])("%s", (text, endable) => {
    const { form, ...query } = guardQuery(text);
    expect([query, form]).toEqual([{ text, endable }, /\w+/.exec(text)![0].toLowerCase()]);
  });

  const found = (names: string, pattern: string, behind: string, page: string) =>
    `{{SELECT DISTINCT ${names} {SELECT ${names} {${pattern}}${behind}\n} ${page}} UNION { FILTER(false) }}`;

  test.each([
    [
      "DESCRIBE ?s { ?s ?p ?o }",
      `DESCRIBE ?s ${found("?s", "?s ?p ?o ", "", "LIMIT 10000")}`,
      `SELECT ?s  ${found("?s", "?s ?p ?o ", "", "LIMIT 1 OFFSET 10000")}`,
    ],
    [
      "PREFIX describe: <urn:d>\n# describe\ndescribe#x\n?s FROM <urn:g>{ ?s ?p ?o } GROUP BY ?s LIMIT 10001 # none",
      `PREFIX describe: <urn:d>\n# describe\ndescribe#x\n?s FROM <urn:g>${found("?s", "?s ?p ?o ", " GROUP BY ?s LIMIT 10001 # none", "LIMIT 10000")}`,
      `PREFIX describe: <urn:d>\n# describe\nSELECT ?s  FROM <urn:g>${found("?s", "?s ?p ?o ", " GROUP BY ?s LIMIT 10001 # none", "LIMIT 1 OFFSET 10000")}`,
    ],
    [
      "DESCRIBE ?s <urn:s> ?o ?s { ?s ?p ?o } ORDER BY ?p OFFSET 7 # a\n LIMIT 5001 VALUES ?p { 1 }",
      `DESCRIBE ?s <urn:s> ?o ?s ${found("?s ?o", "{?s ?p ?o } VALUES ?p { 1 }", " ORDER BY ?p OFFSET 7 # a\n LIMIT 5001 ", "LIMIT 5000")}`,
      `SELECT ?s ?o  ${found("?s ?o", "{?s ?p ?o } VALUES ?p { 1 }", " ORDER BY ?p OFFSET 7 # a\n LIMIT 5001 ", "LIMIT 1 OFFSET 5000")}`,
    ],
    // What is within a subquery or EXISTS has no name outside.
    [
      "DESCRIBE * { ?s ?p ?o { SELECT ?s ?x { ?s ?x ?y } } FILTER EXISTS { ?s ?z 1 } } # all",
      `DESCRIBE * ${found("*", "?s ?p ?o { SELECT ?s ?x { ?s ?x ?y } } FILTER EXISTS { ?s ?z 1 } ", " # all", "LIMIT 2500")}`,
      `SELECT *  ${found("*", "?s ?p ?o { SELECT ?s ?x { ?s ?x ?y } } FILTER EXISTS { ?s ?z 1 } ", " # all", "LIMIT 1 OFFSET 2500")}`,
    ],
    [
      "DESCRIBE * { { SELECT * { ?s ?p ?o } } }",
      `DESCRIBE * ${found("*", "{ SELECT * { ?s ?p ?o } } ", "", "LIMIT 3333")}`,
      `SELECT *  ${found("*", "{ SELECT * { ?s ?p ?o } } ", "", "LIMIT 1 OFFSET 3333")}`,
    ],
  ])("and what is described has an end: %s", (text, endable, excess) => {
    expect(guardQuery(text)).toEqual({ form: "describe", text, endable, excess });
    // They are queries themselves.
    expect([guardQuery(endable).form, guardQuery(excess).form]).toEqual(["describe", "select"]);
  });

  test("which cannot be said of groups without their names", () => {
    expect(() => guardQuery("DESCRIBE * { ?s ?p ?o } GROUP BY ?s")).toThrow(/^DESCRIBE \* may not group: /);
  });

  test.each([
    ["CONSTRUCT WHERE { ?s ?p ?o } OFFSET 3", /^OFFSET may not follow CONSTRUCT WHERE: .* OFFSET 10\.$/],
    ...[
      "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o } GROUP BY ?s OFFSET 3",
      "ASK { ?s ?p ?o } HAVING(COUNT(*) > 1) OFFSET 3",
      "DESCRIBE <urn:s> { ?s ?p ?o } ORDER BY COUNT(*) OFFSET 3",
    ].map((text) => [text, /^OFFSET may follow groups and aggregates only .* into a subquery\.$/] as const),
  ])("nor of what is passed over: %s", (text, why) => {
    expect(() => guardQuery(text)).toThrow(why);
    expect(guardQuery(text.replace(/OFFSET.*/, "")).endable).toBeDefined();
  });

  test.each([
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o } VALUES ?s { 1 }",
    "SELECT ?s { ?s ?p ?o } GROUP BY ?s VALUES ?s { 1 }",
    "SELECT (1 AS ?n) { ?s ?p ?o } HAVING(COUNT(*) > 1) VALUES ?s { 1 }",
    "SELECT ?s { ?s ?p ?o } HAVING(BOUND(?q)) VALUES ?q { 1 }",
    "SELECT (1 AS ?n) { ?s ?p ?o } ORDER BY COUNT(*) VALUES ?s { 1 }",
    "CONSTRUCT WHERE { ?s ?p ?o } VALUES ?s { 1 }",
  ])("which what is behind it cannot: %s", (text) => {
    expect(() => guardQuery(text)).toThrow(QueryRefused);
    expect(() => guardQuery(text)).toThrow(/^VALUES may not follow .* subquery\.$/);
  });

  test.each([
    ["SELECT ?s (STR(?o) AS ?t) { ?s ?p ?o } VALUES ?t { 1 }", false],
    ["SELECT ?s (STR(?o) AS ?t) (1 AS ?u) { ?s ?p ?o } VALUES (?s ?u) { (1 2) }", false],
    ["SELECT * { { SELECT (STR(?o) AS ?t) { ?s ?p ?o } VALUES ?t { 1 } } }", false],
    ["SELECT * { { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } VALUES ?n { 1 } } }", false],
    ["ASK { FILTER EXISTS { SELECT (1 AS ?n) {} VALUES ?n { 1 } } }", false],
    ["SELECT * { { SELECT (STR(?o) AS ?t) { ?s ?p ?o } } } VALUES ?t { 1 }", true],
    ["SELECT (EXISTS { ?s ?p ?z } AS ?e) { ?s ?p ?o } VALUES ?z { 1 }", true],
    ["SELECT (STR(?o) AS ?t) ?s { ?s ?p ?o BIND(1 AS ?b) } VALUES (?o ?s ?b) { (1 2 3) }", true],
  ])("nor are what the query makes and VALUES one name: %s", (text, isAccepted) => {
    const why =
      /^VALUES may not follow a query that makes one of their names by AS \(\?[ntu]\): .* subquery\.$/;
    if (isAccepted) expect(guardQuery(text).endable).toBeDefined();
    else expect(() => guardQuery(text)).toThrow(why);
  });
});

(fusekiIsAvailable ? describe : describe.skip)("in Fuseki", () => {
  let dir: string;
  let fuseki: Fuseki;
  let store: GraphStore;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "engagement-endable-"));
    fuseki = await startFuseki({ dir, queryTimeoutMs: 600_000 });
    const { url, user, password } = fuseki;
    store = createGraphStore({ ...storeUrls(url), user, password, takesTimeout: true });
    const rows = Array.from({ length: 20_000 }, (_, i) => `<urn:s${i}> <urn:p${i % 3}> "${i}" .`).join("\n");
    await store.putGraph("urn:many", rows, "application/n-triples");
    const few = `<urn:a> <urn:is> "1" . <urn:b> <urn:is> "2" . <urn:a> <urn:has> <urn:b> .`;
    await store.putGraph("urn:few", few, "application/n-triples");
  });
  afterAll(async () => {
    store.close();
    await fuseki.stop();
    await rm(dir, { recursive: true });
  });

  /** @returns when the store has ended with a query, however it ended */
  async function ended(text: string, timeoutMs: number): Promise<() => boolean> {
    let isOver = false;
    const { endable } = guardQuery(text);
    const place = () => Promise.resolve(() => void (isOver = true));
    const asked = store.query(text, { endable, timeoutMs, place });
    await expect(asked).rejects.toThrow(GraphTimeout);
    return () => isOver;
  }

  const ENDLESS = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i";
  const COUNT = `SELECT (COUNT(*) AS ?n) { ${ENDLESS} }`;
  const JOIN = `{ ${COUNT} } { SELECT ?s { ?s ?p ?o } LIMIT 1 }`;

  test.each([
    `SELECT * { ${ENDLESS} } OFFSET 9000000000000`,
    `SELECT ?a ?f { ${ENDLESS} } ORDER BY ?c LIMIT 10 OFFSET 10`,
    `SELECT DISTINCT ?b (COUNT(*) AS ?n) { ${ENDLESS} } GROUP BY ?b ORDER BY ?n LIMIT 1 OFFSET 1`,
    `SELECT * { ${ENDLESS} } OFFSET 9000000000000 VALUES ?a { <urn:s1> <urn:s2> }`,
    `CONSTRUCT { ?a ?b ?c } { ${ENDLESS} } OFFSET 9000000000000`,
    `DESCRIBE ?a { ${ENDLESS} } LIMIT 10 OFFSET 9000000000000`,
    `DESCRIBE <urn:s1> { ${ENDLESS} } OFFSET 9000000000000`,
    `ASK { ${ENDLESS} } OFFSET 9000000000000`,
    `SELECT * { ?s ?p ?o OPTIONAL { SELECT * { ${ENDLESS} } OFFSET 9000000000000 } }`,
    `SELECT * { ?a ?p ?o MINUS { SELECT * { ${ENDLESS} } OFFSET 9000000000000 } }`,
    `SELECT ?s { ?s ?p ?o } ORDER BY (EXISTS { SELECT * { ${ENDLESS} } OFFSET 9000000000000 })`,
    `SELECT * { ${JOIN} }`,
    `ASK { ${JOIN} }`,
    `SELECT (COUNT(*) AS ?m) { ${JOIN} } GROUP BY ?n ORDER BY ?m`,
    `SELECT DISTINCT ?n { ${JOIN} } LIMIT 3`,
    `SELECT * { ${JOIN} } VALUES ?n { 1 }`,
    `CONSTRUCT { ?s ?s ?n } { ${JOIN} }`,
    `DESCRIBE ?s { ${JOIN} }`,
    `SELECT * { ?s ?p ?o FILTER EXISTS { ${JOIN} } }`,
    `SELECT * { ?s ?p ?o } ORDER BY (EXISTS { ${JOIN} })`,
    `SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING(EXISTS { ${JOIN} })`,
    `SELECT * { ?s ?p ?o OPTIONAL { SELECT ?s (COUNT(*) AS ?n) { ?s ?b ?c . ?d ?e ?f . ?g ?h ?i } GROUP BY ?s } }`,
    `SELECT * { ?a ?b ?c MINUS { ?a ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(STR(?f) = CONCAT(STR(?i), STR(?l), "x")) } }`,
  ])("a query ends soon after its time, and so do others: %s", async (text) => {
    const [isOver, others] = await Promise.all([ended(text, 1_000), ended(COUNT, 1_000)]);
    await eventually(() => expect([isOver(), others()]).toEqual([true, true]));
  });

  const DATE_TIME = "<http://www.w3.org/2001/XMLSchema#dateTime>";
  const many = (n: number, part: (i: number) => string, between = " ") =>
    Array.from({ length: n }, (_, i) => part(i)).join(between);

  test.each([
    ["triples", many(1_000, (i) => `?a ?b ?v${i} .`)],
    ["items of a list", `?s ?p (${"1 ".repeat(499)})`],
    ["groups", many(1_000, (i) => `{ ?a ?b ?v${i} }`)],
    ["groups that may be missing", `?a ?b ?c ${many(999, (i) => `OPTIONAL { ?a ?b ?v${i} }`)}`],
    ["graphs", many(250, (i) => `GRAPH ?g { ?a ?b ?v${i} }`)],
    ["lists of values", many(100, (i) => `VALUES ?v${i} { 1 }`)],
    [
      "alternatives",
      `{ ?a ?p ?b FILTER EXISTS { ?a ?q ?b } } FILTER(?b IN (${many(249, (i) => `<urn:${i}>`, ", ")}))`,
    ],
    [
      "comparisons of durations",
      `FILTER(${`NOW() - "-9999-01-01T00:00:00Z"^^${DATE_TIME} < NOW() - "-9998-01-01T00:00:00Z"^^${DATE_TIME} || `.repeat(25)} false)`,
    ],
    ["filters of a UNION", `${many(220, () => "{ ?a ?b ?c }", " UNION ")} ${"FILTER(?a) ".repeat(200)}`],
  ])("the largest plan or step is done before others are late: %s", async (_, pattern) => {
    const text = `SELECT * { ${pattern} } LIMIT 3`;
    const { endable } = guardQuery(text);
    let isOver = false;
    const place = () => Promise.resolve(() => void (isOver = true));
    const asked = store.query(text, { endable, timeoutMs: 2_000, place }).then(({ body }) => readAll(body));
    const [, others] = await Promise.all([
      asked.catch((error: unknown) => expect(error).toBeInstanceOf(GraphTimeout)),
      ended(COUNT, 1_000),
    ]);
    await eventually(() => expect([isOver, others()]).toEqual([true, true]));
  });

  test.each([
    "SELECT * FROM <urn:few> { ?s ?p ?o } ORDER BY ?s ?p",
    "SELECT ?s (COUNT(*) AS ?n) FROM <urn:few> { ?s ?p ?o OPTIONAL { ?o <urn:is> ?x } } GROUP BY ?s HAVING(COUNT(*) > 0) ORDER BY ?s",
    "SELECT * { GRAPH <urn:few> { ?s ?p ?o MINUS { ?s <urn:has> ?b } } }",
    "SELECT ?s ?x { GRAPH <urn:few> { ?s <urn:is> ?x } } ORDER BY DESC(?x) LIMIT 1 OFFSET 1",
    // Pages, whose order is that of what the operand yields.
    "SELECT (STR(?o) AS ?x) ?s FROM <urn:many> { ?s ?p ?o } ORDER BY DESC(?p) ?o LIMIT 3000 OFFSET 1000",
    "SELECT * FROM <urn:many> { ?s ?p ?o } ORDER BY DESC(?o) OFFSET 10000",
    "SELECT DISTINCT ?p ?never FROM <urn:many> { ?s ?p ?o } ORDER BY DESC(?p) OFFSET 1",
    "SELECT ?p (COUNT(*) AS ?n) (SAMPLE(1) AS ?one) FROM <urn:many> { ?s ?p ?o } GROUP BY ?p HAVING(COUNT(*) > 1) ORDER BY ?n ?p LIMIT 1 OFFSET 1",
    'SELECT ?s (STR(?o) AS ?t) { GRAPH <urn:few> { ?s <urn:is> ?o } } VALUES (?o ?z) { ("1" 3) (UNDEF 4) }',
    "SELECT * FROM NAMED <urn:few> { GRAPH ?g { _:a ?p ?x . _:a <urn:is> [] } } ORDER BY ?p ?x OFFSET 1",
    'SELECT * { GRAPH <urn:few> { ?s <urn:is> ?x } } ORDER BY DESC(?x) OFFSET 1 VALUES ?x { "1" "2" "3" }',
    "SELECT * { GRAPH <urn:few> { ?s ?p ?o } } OFFSET 3",
    "ASK { GRAPH <urn:few> { ?s <urn:is> ?x } } OFFSET 1",
    "ASK { GRAPH <urn:few> { ?s <urn:is> ?x } } OFFSET 2",
    "SELECT DISTINCT ?never ?s { GRAPH <urn:few> { ?s ?p ?o } } ORDER BY ?s",
    'SELECT ?x ?s (CONCAT(?x, "!") AS ?y) { GRAPH <urn:few> { ?s <urn:is> ?x } } VALUES (?x) { ("2") (UNDEF) ("3") }',
    'SELECT * { GRAPH <urn:few> { ?s <urn:has> ?b } } VALUES ?z { "1" "2" }',
    "SELECT * FROM NAMED <urn:few> { GRAPH ?g { ?s <urn:has>/<urn:is> ?x } }",
    "SELECT * { SELECT ?s { GRAPH <urn:few> { ?s <urn:is> ?x } } ORDER BY ?x LIMIT 1 }",
    "ASK FROM <urn:few> { ?s <urn:has> ?s }",
    "ASK {}",
  ])("the answer is the same: %s", async (text) => {
    const { endable } = guardQuery(text);
    expect(endable).not.toBe(text);
    const answers = await Promise.all(
      [text, endable!].map(async (sent) => JSON.parse(await readAll((await store.query(sent)).body))),
    );
    expect(answers[1]).toEqual(answers[0]);
  });

  test("what is found for a DESCRIBE is described if that is not too much", async () => {
    const parts = { store, namedGraphs: [], timeoutMs: 60_000, concurrency: 2 };
    const asking = { type: "application/n-triples", caller: "a", gone: new AbortController().signal };
    const described = async (text: string) => {
      const told = await readAll(await new SparqlEndpoint(parts).run(guardQuery(text), asking));
      return told.trim().split("\n").length;
    };
    expect(await described("DESCRIBE ?s { ?s <urn:p1> ?o }")).toBe(6_667);
    expect(await described("DESCRIBE ?s { ?s ?p ?o } LIMIT 10000 OFFSET 10003")).toBe(10_000);
    // In forty thousand solutions there are two.
    const many = "DESCRIBE ?a { ?s ?p ?o GRAPH <urn:few> { ?a <urn:is> ?x } }";
    expect(await described(many)).toBe(3);
    expect(await described(`${many} ORDER BY ?x LIMIT 30000`)).toBe(3);
    for (const limit of ["", "LIMIT 10001"])
      await expect(described(`DESCRIBE ?s { ?s ?p ?o } ${limit}`)).rejects.toMatchObject({
        code: "query_too_expensive",
        message:
          "This DESCRIBE finds more than can be described at once, 10,000 resources; give it a smaller LIMIT.",
      });
  });

  test.each([
    "CONSTRUCT { ?s <urn:said> ?x } FROM <urn:few> { ?s <urn:is> ?x }",
    "DESCRIBE ?s FROM <urn:few> { ?s <urn:has> ?b }",
    "CONSTRUCT { ?s ?p ?o } FROM <urn:few> { ?s ?p ?o } ORDER BY ?s ?p OFFSET 1",
    "DESCRIBE ?s FROM <urn:few> { ?s <urn:is> ?x } ORDER BY ?x LIMIT 1 OFFSET 1",
    "DESCRIBE * FROM <urn:few> { ?s <urn:is> ?x } ORDER BY ?x LIMIT 1 OFFSET 1",
    "DESCRIBE <urn:a> FROM <urn:few> { ?s <urn:is> ?x } OFFSET 5",
  ])("and the triples are: %s", async (text) => {
    const accept = "application/n-triples";
    const lines = async (sent: string) =>
      (await readAll((await store.query(sent, { accept })).body)).split("\n").toSorted();
    expect(await lines(guardQuery(text).endable!)).toEqual(await lines(text));
    expect(await lines(text)).toContainEqual(expect.stringContaining("<urn:"));
  });

  test("and so is what is made of each solution on a page", async () => {
    const text = "CONSTRUCT { [] <urn:of> ?p } { GRAPH <urn:few> { ?s ?p ?o } } ORDER BY ?p OFFSET 1";
    const { body } = await store.query(guardQuery(text).endable!, { accept: "application/n-triples" });
    expect((await readAll(body)).match(/<urn:is>/g)).toHaveLength(2);
  });
});
