// /v0/sparql against every engine: what it answers, in which form, and what it refuses. What the protocol asks for is in
// sparql-protocol.test.ts.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { eventually } from "./support/eventually.ts";
import { startSparqlDoor } from "./support/sparql-door.ts";
import type { RunningDoor } from "./support/sparql-door.ts";
import { testStores } from "./support/stores.ts";
import type { RunningStore } from "./support/stores.ts";

const A = "https://data.example.org/a/";
const B = "https://data.example.org/b/";
const RUNAWAY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
// So long that no answer runs into it, however busy the machine is.
const TIMEOUT_MS = 60_000;
const STORE_TIMEOUT_MS = 2 * TIMEOUT_MS;
// No whole second: Fuseki is told its own limit in whole ones, and is to be the later of the two.
const SOON_MS = 1_100;
const MANY_ROWS = 40_000;

describe.each(testStores)("$name", ({ name, available, peculiarities, start }) => {
  const inEngine = available ? test : test.skip;
  const inEmbedded = name === "embedded" ? test : test.skip;
  let dir: string;
  let store: RunningStore;
  let door: RunningDoor;
  let hastyDoor: RunningDoor;
  /** Why what was asked at the hasty door came to nothing. */
  const failures: string[] = [];

  beforeAll(async () => {
    if (!available) return;
    dir = await mkdtemp(join(tmpdir(), "sparql-door-"));
    store = await start({ dir, queryTimeoutMs: STORE_TIMEOUT_MS });
    await store.client.update(`INSERT DATA {
      GRAPH <${A}> { <https://example.org/s> <https://example.org/p> "in A" }
      GRAPH <${B}> { <https://example.org/s> <https://example.org/p> "in B" } }`);
    const rows = Array.from({ length: MANY_ROWS }, (_, i) => `<urn:s${i}> <urn:p> "${i}" .`).join("\n");
    await store.client.putGraph("https://data.example.org/many/", rows, "application/n-triples");
    door = await startSparqlDoor({ store: store.client, timeoutMs: TIMEOUT_MS });
    // What nobody waits for any more is not to keep a core of the engine for all the time that it has.
    const hasty = store.clientWithin((10 * SOON_MS) / 1_000);
    const query: typeof hasty.query = async (...args) => {
      try {
        return await hasty.query(...args);
      } catch (error) {
        failures.push((error as Error).message);
        throw error;
      }
    };
    hastyDoor = await startSparqlDoor({ store: { ...hasty, query }, timeoutMs: SOON_MS });
  });
  afterAll(async () => {
    if (!available) return;
    await door.stop();
    await hastyDoor.stop();
    await store.stop();
    await rm(dir, { recursive: true });
  });

  const post = (
    body: string | URLSearchParams,
    headers: Record<string, string> = {},
    search = "",
    to = door,
  ) =>
    fetch(to.url + search, {
      method: "POST",
      body,
      headers: {
        ...(typeof body === "string" && { "content-type": "application/sparql-query" }),
        ...headers,
      },
    });
  const refusal = async (answer: Response) => ({
    status: answer.status,
    body: (await answer.json()) as { error: string },
  });
  const some = `SELECT ?o FROM <${A}> { ?s ?p ?o }`;
  const valuesOf = async (answer: Response) => {
    expect(answer.status).toBe(200);
    const { results } = (await answer.json()) as { results: { bindings: { o: { value: string } }[] } };
    return results.bindings.map((row) => row.o.value).toSorted();
  };

  describe("the three bodies", () => {
    inEngine("application/sparql-query", async () =>
      expect(await valuesOf(await post(some))).toEqual(["in A"]),
    );
    inEngine("application/x-www-form-urlencoded", async () =>
      expect(await valuesOf(await post(new URLSearchParams({ query: some })))).toEqual(["in A"]),
    );
    inEngine("application/json", async () => {
      const body = JSON.stringify({ query: some });
      expect(await valuesOf(await post(body, { "content-type": "application/json; charset=utf-8" }))).toEqual(
        ["in A"],
      );
    });
  });

  describe("datasets", () => {
    const query = `SELECT ?o { <https://example.org/s> ?p ?o }`;
    const inB = `default-graph-uri=${encodeURIComponent(B)}`;
    inEngine("the union of all graphs", async () =>
      expect(await valuesOf(await post(query))).toEqual(["in A", "in B"]),
    );
    inEngine("default-graph-uri in the address", async () =>
      expect(await valuesOf(await post(query, {}, `?${inB}`))).toEqual(["in B"]),
    );
    inEngine("default-graph-uri in a form", async () =>
      expect(await valuesOf(await post(new URLSearchParams({ query, "default-graph-uri": B })))).toEqual([
        "in B",
      ]),
    );
    inEngine("default-graph-uri in JSON, several", async () => {
      const body = JSON.stringify({ query, "default-graph-uri": [A, B] });
      expect(await valuesOf(await post(body, { "content-type": "application/json" }))).toEqual([
        "in A",
        "in B",
      ]);
    });
    inEngine("default-graph-uri before FROM", async () =>
      expect(await valuesOf(await post(some, {}, `?${inB}`))).toEqual(["in B"]),
    );
    inEngine("named-graph-uri", async () => {
      const inNamed = `SELECT ?o { GRAPH ?g { ?s ?p ?o } }`;
      const search = `?named-graph-uri=${encodeURIComponent(A)}`;
      expect(await valuesOf(await post(inNamed, {}, search))).toEqual(["in A"]);
      expect(await valuesOf(await post(query, {}, search))).toEqual([]);
    });
    inEngine("something that is not an absolute IRI is refused", async () => {
      expect(await refusal(await post(query, {}, "?default-graph-uri=x%3E%20y"))).toMatchObject({
        status: 400,
        body: { error: "validation_failed", details: [{ path: "default-graph-uri" }] },
      });
    });
  });

  describe("formats", () => {
    const construct = `CONSTRUCT { ?s ?p ?o } FROM <${A}> WHERE { ?s ?p ?o }`;
    const tsv = peculiarities.has("strings without quotes in TSV") ? /^\?o\nin A/ : /^\?o\n"in A"/;
    inEngine.each([
      [some, undefined, "application/sparql-results+json", /"in A"/],
      [some, "*/*", "application/sparql-results+json", /"in A"/],
      [some, "application/json", "application/json; charset=utf-8", /"in A"/],
      [some, "application/sparql-results+xml", "application/sparql-results+xml", /<literal>in A</],
      [some, "text/xml", "text/xml; charset=utf-8", /<literal>in A</],
      [some, "application/xml", "application/xml", /<literal>in A</],
      [
        some,
        "text/csv;Q=0.5, application/sparql-results+xml;Q=0.9",
        "application/sparql-results+xml",
        /<sparql/,
      ],
      [some, "text/csv", "text/csv; charset=utf-8", /^o\r?\nin A/],
      [some, "text/tab-separated-values", "text/tab-separated-values; charset=utf-8", tsv],
      [
        some,
        "text/csv;q=0.5, application/sparql-results+xml;q=0.9, text/html",
        "application/sparql-results+xml",
        /<sparql/,
      ],
      [some, "text/*", "text/csv; charset=utf-8", /in A/],
      [some, "text/csv;charset=utf-8;q=0.5, text/html", "text/csv; charset=utf-8", /in A/],
      [some, "text/html, */*;q=0.8", "application/sparql-results+json", /"in A"/],
      [some, "application/sparql-results+json;q=0, */*", "application/sparql-results+xml", /<sparql/],
      [`ASK { ?s ?p "in A" }`, undefined, "application/sparql-results+json", /"boolean"\s*:\s*true/],
      [`ASK { ?s ?p "in A" }`, "text/csv", "text/csv; charset=utf-8", /true/],
      [construct, undefined, "text/turtle; charset=utf-8", /"in A"/],
      [
        construct,
        "application/n-triples",
        "application/n-triples",
        /^<https:\/\/example.org\/s> <[^>]+> "in A" \.$/m,
      ],
      [construct, "application/ld+json", "application/ld+json", /"in A"/],
      [construct, "application/rdf+xml", "application/rdf+xml", />in A</],
      ["DESCRIBE <https://example.org/s>", "text/turtle", "text/turtle; charset=utf-8", /"in B"/],
    ])("%s, Accept: %s", async (query, accept, type, text) => {
      // fetch sends */* by default.
      const answer = await post(query, accept === undefined ? {} : { accept });
      if (query.startsWith("ASK") && accept === "text/csv" && peculiarities.has("no ASK as CSV or TSV")) {
        expect(answer.status).toBe(406);
        return;
      }
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe(type);
      expect(await answer.text()).toMatch(text);
    });
    inEngine.each([
      [some, "text/turtle"],
      [some, "text/html"],
      [some, "application/sparql-results+json;q=0"],
      [construct, "application/sparql-results+json"],
      [construct, "text/csv"],
    ])("%s is not available as %s", async (query, accept) => {
      expect(await refusal(await post(query, { accept }))).toMatchObject({
        status: 406,
        body: { error: "not_acceptable" },
      });
    });
  });

  describe("an answer that is longer than memory should hold", () => {
    const all = "SELECT * { ?s <urn:p> ?o }";
    inEngine("streams whole", async () => {
      const lines = (await (await post(all, { accept: "text/csv" })).text()).trim().split(/\r?\n/);
      expect(lines).toHaveLength(MANY_ROWS + 1);
    });
    inEngine("waits for a caller who reads slowly", async () => {
      const answer = await post(all);
      let length = 0;
      let pauses = 0;
      for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
        length += chunk.length;
        if (pauses++ < 5) await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(length).toBeGreaterThan(MANY_ROWS * 50);
    });
    inEngine(
      "that breaks off at the time limit breaks the connection, so nobody takes it for complete",
      async () => {
        const endless = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
        const answer = await post(endless, { accept: "text/csv" }, "", hastyDoor);
        if (answer.status === 504) expect(await answer.json()).toMatchObject({ error: "query_timeout" });
        else await expect(answer.text()).rejects.toThrow();
      },
    );
  });

  describe("a query that takes too long", () => {
    inEngine("is 504 at the limit", async () => {
      const before = failures.length;
      expect(await refusal(await post(RUNAWAY, {}, "", hastyDoor))).toMatchObject({
        status: 504,
        body: { error: "query_timeout", statusCode: 504 },
      });
      // It was the door that ended it, and not the store.
      expect(failures.slice(before)).toEqual([`The graph store gave no answer within ${SOON_MS} ms.`]);
    });
    // The others end them no sooner than their time is over, which abandoned-queries.test.ts has them wait for.
    inEmbedded("takes one of the places of its key, and of no other", async () => {
      let taken = 0;
      const query: typeof store.client.query = (text, options) =>
        store.client.query(text, {
          ...options,
          place: async (gone) => {
            const giveBack = await options!.place!(gone);
            taken += 1;
            return giveBack;
          },
        });
      const strict = await startSparqlDoor({
        ...{ store: { query }, timeoutMs: TIMEOUT_MS, waitMs: 100 },
      });
      const callers = new AbortController();
      const send = (body: string, key: string, signal?: AbortSignal) =>
        fetch(strict.url, {
          method: "POST",
          body,
          headers: { "content-type": "application/sparql-query", "x-key": key },
          signal,
        });
      try {
        const running = [1, 2].map(() => send(RUNAWAY, "busy", callers.signal).catch(() => undefined));
        // Or the third could have the place of one of them, which would not wait for it for long.
        await eventually(() => expect(taken).toBe(2));
        const third = await send("ASK {}", "busy");
        expect(third.headers.get("retry-after")).toMatch(/^\d+$/);
        expect(await refusal(third)).toMatchObject({ status: 503, body: { error: "service_busy" } });
        expect((await send("ASK { FILTER(true) }", "other")).status).toBe(200);
        callers.abort();
        await Promise.all(running);
        await eventually(async () => expect((await send("ASK {}", "busy")).status).toBe(200));
      } finally {
        await strict.stop();
      }
    });
    inEngine("frees its place when its caller has hung up and the engine has ended it", async () => {
      const seconds = 3;
      const left = await startSparqlDoor({
        ...{ store: store.clientWithin(seconds), timeoutMs: seconds * 1_000, waitMs: TIMEOUT_MS },
      });
      try {
        for (let i = 0; i < 4; i++) {
          const caller = new AbortController();
          const answer = fetch(left.url, {
            method: "POST",
            body: RUNAWAY,
            headers: { "content-type": "application/sparql-query" },
            signal: caller.signal,
          });
          setTimeout(() => caller.abort(), 100);
          await expect(answer).rejects.toThrow();
        }
        // A machine that stands still may take longer for it than a query has here.
        await eventually(async () =>
          expect((await post("ASK { FILTER(true) }", {}, "", left)).status).toBe(200),
        );
      } finally {
        await left.stop();
      }
    });
  });

  inEngine("a number without a digit before its point, and a name with colons", async () => {
    const text = `PREFIX : <urn:a:> SELECT (CONCAT(STR(?s), STR(?x * -.5 + +.5 = .25)) AS ?o)
      { VALUES (?s ?x) { (:b:c .5) } }`;
    expect(await valuesOf(await post(text))).toEqual(["urn:a:b:ctrue"]);
  });

  describe("malformed queries", () => {
    inEngine.each([
      ["SELECT *\n{ ?s ?p ", "line 2, column 9"],
      ["SELEC * {}", "line 1, column 1"],
      ["SELECT * {} ; DROP ALL", "line 1, column 13"],
      ["", "line 1, column 1"],
      ["# nothing", "line 1, column 10"],
    ])("%j", async (query, where) => {
      expect(await refusal(await post(query))).toMatchObject({
        status: 400,
        body: { error: "malformed_query", details: [{ path: "query", message: where }] },
      });
    });
    inEngine.each([
      ["an unknown prefix", "SELECT * { ex:s ?p ?o }"],
      ["a variable selected twice", "SELECT ?s (1 AS ?s) { ?s ?p ?o }"],
      ["a variable that is not grouped", "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p"],
      ["groups without end", `SELECT * ${"{".repeat(10_000)}${"}".repeat(10_000)}`],
      ["brackets without end", `SELECT * { FILTER(${"(".repeat(10_000)}1${")".repeat(10_000)}) }`],
      ["a sum without end", `SELECT * { FILTER(${"1+".repeat(10_000)}1) }`],
      ["a NUL", "SELECT * { ?s ?p \u0000 }"],
    ])("%s", async (_name, query) => {
      expect(await refusal(await post(query))).toMatchObject({
        status: 400,
        body: { error: "malformed_query" },
      });
    });
    inEngine("the door still answers afterwards", async () =>
      expect(await valuesOf(await post(some))).toEqual(["in A"]),
    );
  });
});

describe("without a store", () => {
  const NOWHERE = "http://127.0.0.1:9/ds";
  let door: RunningDoor;
  beforeAll(async () => {
    const { createGraphStore, storeUrls } = await import("../graph/store.ts");
    door = await startSparqlDoor({ store: createGraphStore(storeUrls(NOWHERE)), timeoutMs: TIMEOUT_MS });
  });
  afterAll(() => door.stop());

  const send = async (init: RequestInit) => {
    const answer = await fetch(door.url, init);
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };
  const query = (text: string) =>
    send({ method: "POST", body: text, headers: { "content-type": "application/sparql-query" } });

  test("503 graph_unavailable, and nothing about the cause", async () => {
    const answer = await query("ASK {}");
    expect(answer).toMatchObject({ status: 503, body: { error: "graph_unavailable", statusCode: 503 } });
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(JSON.stringify(answer.body)).not.toContain("127.0.0.1");
  });

  test.each([
    ["default-graph-uri=urn:g", "query", "is required"],
    ["named-graph-uri=urn:g", "query", "is required"],
    ["query=ASK{}&default-graph-uri=g", "default-graph-uri", "must be an absolute IRI"],
    ["query=ASK{}&named-graph-uri=g", "named-graph-uri", "must be an absolute IRI"],
  ])("an address that lacks something is refused: %s", async (parameters, path, message) => {
    const answer = await fetch(`${door.url}?${parameters}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { details: [{ path, message }] }]);
  });

  test("of JSON that is refused the member is named", async () => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ query: "ASK {}", "named-graph-uri": 1 });
    const answer = await send({ method: "POST", body, headers });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: "named-graph-uri" }] } });
  });

  describe("updates are 403 read_only", () => {
    test.each([
      "INSERT DATA { <urn:s> <urn:p> 1 }",
      "insert data { graph <urn:g> { <urn:s> <urn:p> 1 } }",
      "DELETE DATA { <urn:s> <urn:p> 1 }",
      "DELETE WHERE { ?s ?p ?o }",
      "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
      "INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
      "DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
      "WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
      "DELETE { ?s ?p ?o } USING <urn:g> WHERE { ?s ?p ?o }",
      "LOAD <http://127.0.0.1:9/x>",
      "LOAD SILENT <http://127.0.0.1:9/x> INTO GRAPH <urn:g>",
      "CLEAR ALL",
      "CLEAR SILENT GRAPH <urn:g>",
      "CREATE GRAPH <urn:g>",
      "DROP DEFAULT",
      "DROP NAMED",
      "COPY <urn:a> TO <urn:b>",
      "MOVE DEFAULT TO <urn:b>",
      "ADD SILENT <urn:a> TO <urn:b>",
      "PREFIX s: <urn:> # SELECT\nCLEAR ALL",
      "CLEAR ALL ;",
      "CLEAR ALL ; INSERT DATA { <urn:s> <urn:p> 1 }",
      "\\u0043LEAR ALL",
      "\\U00000043LEAR \\u0041LL",
    ])("%s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 403, body: { error: "read_only" } });
      const json = JSON.stringify({ query: text });
      expect(
        await send({ method: "POST", body: json, headers: { "content-type": "application/json" } }),
      ).toMatchObject({ status: 403, body: { error: "read_only" } });
      expect(await send({ method: "POST", body: new URLSearchParams({ query: text }) })).toMatchObject({
        status: 403,
        body: { error: "read_only" },
      });
    });
    test("sent as updates", async () => {
      const update = "INSERT DATA { <urn:s> <urn:p> 1 }";
      const direct = {
        method: "POST",
        body: update,
        headers: { "content-type": "application/sparql-update" },
      };
      expect(await send(direct)).toMatchObject({ status: 403, body: { error: "read_only" } });
      const byGet = await fetch(`${door.url}?${new URLSearchParams({ update }).toString()}`);
      expect([byGet.status, await byGet.json()]).toMatchObject([403, { error: "read_only" }]);
      for (const form of [`update=${update}`, `query=ASK+{}&update=${update}`]) {
        expect(await send({ method: "POST", body: new URLSearchParams(form) })).toMatchObject({
          status: 403,
          body: { error: "read_only" },
        });
      }
    });
  });

  describe("SERVICE is 403 federation_disabled", () => {
    const service = "SERVICE <http://127.0.0.1:9/> { ?s ?p ?o }";
    test.each([
      `SELECT * { ${service} }`,
      `SELECT * { service <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { sErViCe SiLeNt <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { SERVICE ?where { ?s ?p ?o } }`,
      `PREFIX x: <http://127.0.0.1:9/> SELECT * { SERVICE x: { ?s ?p ?o } }`,
      `SELECT * { { SELECT * { { SELECT ?s { ${service} } } } } }`,
      `SELECT * { ?s ?p ?o FILTER EXISTS { ${service} } }`,
      `SELECT * { ?s ?p ?o FILTER NOT EXISTS { ${service} } }`,
      `SELECT (EXISTS { ${service} } AS ?e) {}`,
      `SELECT * { ?s ?p ?o BIND(EXISTS { ${service} } AS ?e) }`,
      `SELECT * { { ?s ?p 1 } UNION { ${service} } UNION { ?s ?p 2 } }`,
      `SELECT * { OPTIONAL { ${service} } }`,
      `SELECT * { ?s ?p ?o MINUS { ${service} } }`,
      `SELECT * { GRAPH ?g { ${service} } }`,
      `SELECT * FROM <urn:g> { VALUES ?x { 1 } ${service} }`,
      `ASK { ${service} }`,
      `CONSTRUCT { ?s ?p ?o } WHERE { ${service} }`,
      `DESCRIBE ?s { ${service} }`,
      `SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (EXISTS { ${service} })`,
      `SELECT ?s { ?s ?p ?o } ORDER BY (EXISTS { ${service} })`,
      `SELECT * { # a comment }\nSERVICE # another\n <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { ?s ?p "}" . ?s ?p '''#''' . ${service} }`,
      `SELECT * { \\u0053ERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { \\u0053\\u0045\\u0052\\u0056\\u0049\\u0043\\u0045 <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { S\\U00000045RVICE <http://127.0.0.1:9/> \\u007b ?s ?p ?o \\u007D }`,
      `SELECT * { ?s ?p "\\u0022 . SERVICE <http://127.0.0.1:9/> { ?a ?b "x" } }`,
      // In a comment, unless the escape in it ends the line; in a text, unless an escape is read within it.
      `SELECT * { # \\u000ASERVICE <http://127.0.0.1:9/> { ?s ?p ?o }\n}`,
      `SELECT * { ?s ?p "\\u0022" . SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } # """\n}`,
      // A carriage return alone ends a line, and the comment on it.
      `SELECT * { # a comment\r${service}\n}`,
      `SELECT * { # \\u000D${service}\n}`,
    ])("%s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 403, body: { error: "federation_disabled" } });
    });
    test.each([
      `SELECT * { ?s ?p "SERVICE <http://127.0.0.1:9/> {}" }`,
      `SELECT * { ?s ?p ?service } # SERVICE <http://127.0.0.1:9/> {}`,
      `PREFIX service: <urn:> SELECT * { ?s service:service <urn:SERVICE> }`,
      `SELECT * { ?s ?p "\\u0053ERVICE" }`,
    ])("but not the mere word: %s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 503 });
    });
  });

  describe("what an engine adds to SPARQL is refused by its name", () => {
    const AFN = "http://jena.apache.org/ARQ/function#";
    test.each([
      [`ASK { FILTER(<${AFN}wait>(1)) }`, `<${AFN}wait>`],
      [`PREFIX f: <java:org.apache.jena.sparql.function.library.> ASK { FILTER(f:wait(1)) }`, "f:wait"],
      [`PREFIX f: <${AFN}> ASK { BIND(\\u0066:wait(1) AS ?x) }`, "f:wait"],
      [`BASE <http://jena.apache.org/> ASK { FILTER(<ARQ/function#wait>(1)) }`, "<ARQ/function#wait>"],
      [`SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (<urn:f>(?s))`, "<urn:f>"],
      [
        `SELECT (<http://jena.apache.org/ARQ/function/aggregate#median>(DISTINCT ?o) AS ?m) { ?s ?p ?o }`,
        "median",
      ],
      [`SELECT ?s { ?s ?p ?o } ORDER BY <urn:f>(?s)`, "<urn:f>"],
      [`SELECT ?t { ?s ?p ?o } GROUP BY (<urn:f>(?s) AS ?t)`, "<urn:f>"],
      [
        `ASK { FILTER(<http://www.w3.org/ns/sparql#regex>("a", "(a+)+")) }`,
        "<http://www.w3.org/ns/sparql#regex>",
      ],
      [
        `PREFIX fn: <http://www.w3.org/2005/xpath-functions#> ASK { FILTER(fn:apply(fn:not, true)) }`,
        "fn:apply",
      ],
      [
        `PREFIX fn: <http://www.w3.org/2005/xpath-functions#> ASK { FILTER(fn:round(9, 999999999)) }`,
        "fn:round",
      ],
      [
        `PREFIX math: <http://www.w3.org/2005/xpath-functions/math#> ASK { FILTER(math:pow(9, 999999999)) }`,
        "math:pow",
      ],
      // By one reading of the name it is a function that may be called, and by another nobody knows.
      [
        `ASK { FILTER(<http://www.w3.org/2005/x/../xpath-functions#abs>(1)) }`,
        "<http://www.w3.org/2005/x/../xpath-functions#abs>",
      ],
      [
        `BASE <http://www.w3.org/2005/> PREFIX f: <xpath-functions#> BASE <http://example.org/> ASK { FILTER(f:abs(1)) }`,
        "f:abs",
      ],
    ])("a function: %s", async (text, name) => {
      const { status, body } = await query(text);
      expect({ status, body }).toMatchObject({ status: 400, body: { error: "malformed_query" } });
      expect((body as { message: string }).message).toMatch(
        /^The function \S+ is not available here(; (give it one argument|use a product), .*)?\.$/,
      );
      expect((body as { message: string }).message).toContain(name);
    });
    test.each([
      ...["duration", "dayTimeDuration", "yearMonthDuration"].map((type) => [
        `xsd:${type}(?o)`,
        'write a duration out, as in "P30D"^^xsd:dayTimeDuration or "P1M"^^xsd:yearMonthDuration',
      ]),
      ['fn:matches(?o, "a")', "use REGEX"],
      ['fn:replace(?o, "a", "b")', "use REPLACE"],
      ["fn:round(?o, 2)", "give it one argument, as in fn:round(100 * ?x) / 100"],
      ["math:pow(?o, 2)", "use a product, as in ?x * ?x"],
      ["arq:localname(?o)", 'use REPLACE, as in REPLACE(STR(?x), "^.*[/#]", "")'],
    ])("a function, with what does the same: %s", async (call, advice) => {
      const prefixes = `PREFIX fn: <http://www.w3.org/2005/xpath-functions#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        PREFIX math: <http://www.w3.org/2005/xpath-functions/math#> PREFIX arq: <http://jena.apache.org/ARQ/function#>`;
      const { body } = await query(`${prefixes} SELECT (${call} AS ?x) { ?s ?p ?o }`);
      expect((body as { message: string }).message).toBe(
        `The function ${call.split("(")[0]} is not available here; ${advice}.`,
      );
    });
    test.each(["wkt", "gml", "geoJSON", "kml"])(
      "a type with functions of its own: %sLiteral",
      async (format) => {
        const { body } = await query(
          `PREFIX geo: <http://www.opengis.net/ont/geosparql#> ASK { ?x ?y ?z FILTER(DATATYPE(?z) = geo:${format}Literal) }`,
        );
        expect((body as { message: string }).message).toBe(
          `geo:${format}Literal is an extension that is not available here; to find values of this type, compare as in STR(DATATYPE(?x)) = "…".`,
        );
      },
    );
    test.each([
      `SELECT * { ?x <http://jena.apache.org/ARQ/property#splitIRI> (?a ?b) }`,
      `SELECT * { ?x <java:org.apache.jena.sparql.pfunction.library.strSplit> ("a,b" ",") }`,
      `BASE <java:org.apache.jena.sparql.pfunction.library.> SELECT * { ?x ?y ?z }`,
      `SELECT * { ?x <http://jena.hpl.hp.com/ARQ/property#strSplit> ("a,b" ",") }`,
      `SELECT * { ?x <http://jena.apache.org/ARQ/procedure#debug> 1 }`,
      `SELECT * { ?x <http://jena.apache.org/ARQ/list#member> 1 }`,
      `SELECT * { ?x <http://jena.apache.org/text#query> "a" }`,
      `SELECT * { ?x <http://jena.apache.org/spatial#nearby> (1 2 3) }`,
      `SELECT * { ?x <http://www.opengis.net/ont/geosparql#sfContains> ?y }`,
      `SELECT * { ?x <urn:p>/^<http://jena.apache.org/ARQ/property#str> ?y }`,
      `SELECT * { ?x <http://www.dotnetrdf.org/leviathan#sin> ?y }`,
      `SELECT * { << ?x <java:a> ?y >> ?p ?o }`,
      // Scheme and host are the same in capitals.
      `SELECT * { ?x <JAVA:a> ?y }`,
      `PREFIX p: <HTTP://Jena.Apache.ORG/ARQ/property#> SELECT * { ?x p:str ?y }`,
      // Jena takes an IRI to begin with the scheme of its own address, and leaves out its dots.
      `SELECT * { ?x <//jena.apache.org/ARQ/property#str> ?y }`,
      `SELECT * { ?x <http://jena.apache.org/a/../ARQ/property#str> ?y }`,
      `BASE <http://jena.apache.org/ARQ/a/> SELECT * { ?x <../property#str> ?y }`,
      `BASE <http://jena.apache.org/> PREFIX p: <ARQ/property#> SELECT * { ?x p:str ?y }`,
      `BASE <http://jena.apache.org/> PREFIX p: <ARQ/property#> BASE <http://example.org/> SELECT * { ?x p:str ?y }`,
      `PREFIX p: <http://jena.apache.org/a/..> SELECT * { ?x p:\\/ARQ\\/property\\#str ?y }`,
      `PREFIX p: <http://jena.apache.or> SELECT * { ?x p:g\\/ARQ\\/property\\#str ?y }`,
      // All that follows the first colon is the name, further colons too.
      `PREFIX p: <http://jena.apache.org/> SELECT * { ?x p:a:b\\/..\\/ARQ\\/property\\#str ?y }`,
      `PREFIX : <http://jena.apache.org/> SELECT * { ?x ::\\/..\\/ARQ\\/property\\#str ?y }`,
    ])("a property that computes: %s", async (text) => {
      const { status, body } = await query(text);
      expect({ status, body }).toMatchObject({ status: 400, body: { error: "malformed_query" } });
      expect((body as { message: string }).message).toMatch(
        /^\S+ is an extension that is not available here\.$/,
      );
    });
    test.each([
      "SELECT (CALL(<urn:f>, 1) AS ?x) {}",
      "SELECT * { LET(?x := 1) }",
      "SELECT (AGG <urn:f>(?x) AS ?y) {}",
      "SELECT * { ?s ?p ?o LATERAL { ?s ?q ?r } }",
      "SELECT * { ?s <urn:p>{2,3} ?o }",
    ])("what is no SPARQL: %s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 400, body: { error: "malformed_query" } });
    });
    test.each([
      `PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT (xsd:integer(?o) AS ?n) { ?s ?p ?o }`,
      `PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT (xsd:unsignedInt(?o) AS ?n) (xsd:gDay(?o) AS ?d) { ?s ?p ?o }`,
      `PREFIX fn: <http://www.w3.org/2005/xpath-functions#> SELECT (fn:concat(?s, fn:round(1.5)) AS ?n) { ?s ?p ?o }`,
      `SELECT (<http://www.w3.org/2005/xpath-functions#year-from-date>(?o) AS ?y) { ?s ?p ?o }`,
      `PREFIX math: <http://www.w3.org/2005/xpath-functions/math#> ASK { FILTER(math:sqrt(2) < math:pi()) }`,
      `PREFIX afn: <${AFN}> ASK { ?s <http://jena.apache.org/> <http://jena.apache.org/documentation/> }`,
      `ASK { ?s <http://www.w3.org/2000/01/rdf-schema#member> "java:x" }`,
      `ASK { ?s <http://jena.apache.org/arq/property#str> ?o }`,
    ])("but not: %s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 503 });
    });
    test("but no function that is quick whatever it is given", async () => {
      const namespaces = {
        "http://www.w3.org/2001/XMLSchema#":
          "double float decimal integer byte short int long unsignedByte unsignedShort unsignedInt unsignedLong positiveInteger " +
          "nonNegativeInteger negativeInteger nonPositiveInteger boolean string anyURI dateTime date time gYear gYearMonth gMonth " +
          "gMonthDay gDay",
        "http://www.w3.org/2005/xpath-functions#":
          "string-length upper-case lower-case normalize-space contains starts-with ends-with substring-before substring-after abs " +
          "ceiling floor round not concat year-from-date month-from-date day-from-date timezone-from-date year-from-dateTime " +
          "month-from-dateTime day-from-dateTime hours-from-dateTime minutes-from-dateTime seconds-from-dateTime " +
          "timezone-from-dateTime hours-from-time minutes-from-time seconds-from-time timezone-from-time years-from-duration " +
          "months-from-duration days-from-duration hours-from-duration minutes-from-duration seconds-from-duration",
        "http://www.w3.org/2005/xpath-functions/math#":
          "pi exp exp10 log log10 sqrt sin cos tan asin acos atan atan2",
      };
      const functions = Object.entries(namespaces).flatMap(([start, names]) =>
        names.split(" ").map((name) => start + name),
      );
      const refused: string[] = [];
      for (const iri of functions) {
        const { status } = await query(`SELECT (<${iri}>(?o) AS ?x) { ?s ?p ?o }`);
        if (status !== 503) refused.push(iri);
      }
      expect(refused).toEqual([]);
    });
  });

  describe("a pattern that may be tried without end is refused", () => {
    const literal = (pattern: string) => JSON.stringify(pattern);
    test.each([
      ["^(a+)+\\1$", "in several ways"],
      ["(a*)*b", "in several ways"],
      ["(a|a)*b", "in several ways"],
      ["(a|A)*b", "in several ways"],
      ["(.|b)+c", "in several ways"],
      ["(a?b?)+c", "in several ways"],
      ["([a-z]+,)*;", "in several ways"],
      ["(ab|a)*c", "in several ways"],
      ["(ab{2}c|abbc)*d", "in several ways"],
      ["(aa?b|aab)*d", "in several ways"],
      ["((?:a[ab])b|aab)*d", "in several ways"],
      ["(a{0}b|b)*d", "in several ways"],
      ["(a|aa){50}b", "in too many ways"],
      ["(a?){40}a", "in too many ways"],
      ["(a{0,99}){0,99}b", "in too many ways"],
      ["a*a*a*a*$", "more than 3 unbounded quantifiers"],
      ["^(?:i|İ){60}x", "in too many ways"],
      ["^(?:s|ſ){60}x", "in too many ways"],
      ["(a*b){4}$", "more than 3 unbounded quantifiers"],
      ["((){9999}){9999}", "too often"],
      ["(a)\\1", "refers to what a group has matched"],
      ["(?=a)a", "(?:…)"],
      ["(?<n>a)", "(?:…)"],
      ["(?:".repeat(51) + "a" + ")".repeat(51), "too deeply"],
      ["a++", "not understood"],
      ["\\Qa\\E", "not understood"],
      ["[[a]]", "not understood"],
      ["(", "not understood"],
    ])("%s", async (pattern, why) => {
      for (const [name, call] of [
        ["REGEX", `regex(STR(?o), ${literal(pattern)})`],
        ["REPLACE", `Replace(?o, ${literal(pattern)}, "", "i") = ""`],
      ]) {
        const { status, body } = await query(`ASK { ?s ?p ?o FILTER(${call}) }`);
        expect({ status, body }).toMatchObject({ status: 400, body: { error: "malformed_query" } });
        expect((body as { message: string }).message).toContain(`of ${name} is not accepted: `);
        expect((body as { message: string }).message).toContain(why);
      }
    });
    test.each([
      [
        `REGEX(?o, ?p)`,
        expect.stringMatching(
          /^The pattern and the flags of REGEX must be written out as strings; .* CONTAINS/,
        ),
      ],
      [
        `REGEX(?o, CONCAT("(a+", ")+b"))`,
        expect.stringMatching(
          /^The pattern and the flags of REGEX must be written out as strings; .* CONTAINS/,
        ),
      ],
      [
        `REGEX(?o, "a", ?p)`,
        expect.stringMatching(
          /^The pattern and the flags of REGEX must be written out as strings; .* CONTAINS/,
        ),
      ],
      [
        `REPLACE(?o, "a", "b", ?p)`,
        expect.stringMatching(
          /^The pattern and the flags of REPLACE must be written out as strings; .* CONTAINS/,
        ),
      ],
      [
        `REGEX(?o, "(?i)a")`,
        'The pattern "(?i)a" of REGEX is not accepted: it is not understood, or by some engines only; its flags are an argument of their own, behind it.',
      ],
      [`REGEX(?o, "(a+) +b", "x")`, "The flags of REGEX may be i, m, s and q."],
    ])("as one of which nothing is known: %s", async (call, message) => {
      const answer = await query(`ASK { ?s ?p ?o FILTER(${call}) }`);
      expect(answer).toMatchObject({ status: 400, body: { error: "malformed_query", message } });
    });
    test.each([
      "^foo.*bar$",
      ".*foo.*bar.*",
      "@|Wilhelmina|Featherstone",
      "^(?:Grace|Hope)+$",
      "^(?:need|name)+$",
      "[\\w.+\\-]+\\@[a-z]+\\.org",
      "[a-z]+\\-[0-9]",
      "^[0-9]{1,3}(\\.[0-9]{1,3}){3}$",
      "colou?r|\\p{Lu}{2,}|[^\\]a-c]",
      "(?:".repeat(50) + "a" + ")".repeat(50),
      "",
    ])("but not: %s", async (pattern) => {
      for (const flags of ["", "i", "ims"]) {
        const text = `ASK { ?s ?p ?o FILTER(REGEX(STR(?o), ${literal(pattern)}, "${flags}")) }`;
        expect(await query(text)).toMatchObject({ status: 503 });
      }
    });
    test("but not one that is no pattern, but a text", async () => {
      expect(await query(`ASK { ?s ?p ?o FILTER(REGEX(?o, "(a+)+(", "q")) }`)).toMatchObject({ status: 503 });
      expect(await query(`ASK { ?s ?p ?o FILTER(REPLACE(?o, "a", ?p) = "") }`)).toMatchObject({
        status: 503,
      });
    });
  });

  describe("a property path that an engine could follow in a single step without end is refused", () => {
    const any = "(!<x:a>|^!<x:a>)*";
    const twice = "repeated without bound already";
    const turns = "a step forward and then back";
    const wide = "it reaches too much of the graph at once";
    test.each([
      ["(<p:a>*)*", "(<p:a>*)*", twice],
      [`(${any})*`, "(((!<x:a>|^!<x:a>)*)*)*", twice],
      ["((<p:a>|^<p:a>)+/(<p:a>|^<p:a>)+)+", "<p:b>/((<p:a>|^<p:a>)+/(<p:a>|^<p:a>)+)+", twice],
      ["(<p:b>|^(<p:c>/<p:a>*))+", "^((<p:b>|^(<p:c>/<p:a>*))+)", twice],
      ...["(<p:a>*|<p:b>)+", "(<p:b>|<p:a>*)+", "(<p:a>+/<p:b>)*", "(<p:b>/<p:a>+)*"].map((both) => [
        both,
        both,
        twice,
      ]),
      ["(a/^a)+", "(a/^a)+", turns],
      ["((<p:a>|^<p:a>)/(<p:b>|^<p:b>))*", "((<p:a>|^<p:a>)/(<p:b>|^<p:b>))*", turns],
      ["(a/<p:b>?/^a)*", "(a/<p:b>?/^a)*", turns],
      ["(a/^(<p:a>/<p:b>))*", "(a/^(<p:a>/<p:b>))*", turns],
      [`((${any}/${any})|<p:b>)`, `((${any}/${any})|<p:b>)`, wide],
      [`(${any}/${any})?`, `<p:b>/(${any}/${any})?`, wide],
      ["((a/^a/a/^a)|<p:b>)", "(a/^a/a/^a)|<p:b>", wide],
      ["(^a/<p:a>/^a)?", "(^a/<p:a>/^a)?", wide],
      ["(a/^a/<p:a>)?", "(a/^a/<p:a>)?", wide],
      ["(<p:c>/^(^<p:a>/<p:b>))*", "(<p:c>/^(^<p:a>/<p:b>))*", turns],
      [`(^a/${any})?`, `(^a/${any})?`, wide],
      [`(${"!<p:a>/".repeat(9)}!<p:a>)?`, `(${"!<p:a>/".repeat(9)}!<p:a>)?`, wide],
      [`(${"<p:a>/".repeat(5)}<p:a>)*`, `(${"<p:a>/".repeat(5)}<p:a>)*`, "too long a sequence"],
      ["(<p:a>*/<p:b>*)?", "(<p:a>*/<p:b>*)?", wide],
      ["((^<p:a>)*/<p:b>*)?", "((^<p:a>)*/<p:b>*)?", wide],
      ["((^<p:a>)?/<p:b>*/<p:c>*)?", "((^<p:a>)?/<p:b>*/<p:c>*)?", wide],
      // Between two of its rounds it goes forth and then back.
      ["((^a/<p:b>)*/<p:c>)?", "((^a/<p:b>)*/<p:c>)?", wide],
    ])("%s", async (part, path, why) => {
      const { status, body } = await query(`ASK { <urn:o:1> ${path} <x:none> }`);
      expect({ status, body }).toMatchObject({ status: 400, body: { error: "malformed_query" } });
      const { message } = body as { message: string };
      expect(message).toMatch(/^The property path .* is not accepted: /);
      expect(message).toContain(why);
      expect(message).toContain(` ${part} `);
    });
    test.each(["/", "|"])("with more than 500 properties, joined by %s", async (joined) => {
      const ofLength = (number: number) =>
        query(`ASK { ?s ${Array.from({ length: number }, (_, i) => `<p:${i}>`).join(joined)} ?o }`);
      const { status, body } = await ofLength(501);
      expect({ status, body }).toMatchObject({ status: 400, body: { error: "malformed_query" } });
      expect((body as { message: string }).message).toMatch(/ it has more than 500 properties\.$/);
      expect(await ofLength(500)).toMatchObject({ status: 503 });
    });
    test("in the words of the query, and no more than a hundred letters of it", async () => {
      const path = (text: string) => query(`PREFIX p: <urn:p> ASK { ?s ${text} ?o }`);
      expect(await path("(p:a/p:b+)+")).toMatchObject({
        body: { message: expect.stringContaining("The property path (p:a/p:b+)+ is not accepted") },
      });
      expect(await path(`(p:${"a".repeat(200)}+)+`)).toMatchObject({
        body: { message: expect.stringContaining(`path (p:${"a".repeat(97)}… is`) },
      });
    });
    test.each([
      "(<p:fulfillsCommitment>/<p:concernsNeed>)+",
      "a/<p:subClassOf>*",
      any,
      `${any}/${any}/${any}`,
      `^(${any}/${any})`,
      `(a|${any})`,
      "a/^a/a/^a",
      "(^<p:a>/<p:b>)+",
      "(<p:a>/^<p:b>)?",
      "(^<p:a>/^<p:b>)+",
      "((<p:a>|^<p:a>)/<p:b>)+",
      "(<p:a>?/<p:b>)*",
      "(<p:a>/<p:b>*)?",
      "(<p:a>*|<p:b>*)",
      "(<p:a>/(<p:b>/<p:c>*/<p:d>)?)",
      "(<p:a>/<p:b>/<p:c>/<p:d>/<p:e>)|(a/<p:subClassOf>*)",
    ])("but not: %s", async (path) => {
      expect(await query(`ASK { ?s ${path} ?o }`)).toMatchObject({ status: 503 });
    });
  });

  describe("whatever SPARQL can be written in is read", () => {
    const P = "PREFIX : <urn:> PREFIX e.f-1: <urn:>";
    const STRING = "<http://www.w3.org/2001/XMLSchema#string>";
    test.each([
      ...[".5", "+.5", "-.5", "1.5", "+01.50", "-1.5", "1", "+1", "-1", "1e3", "+1.E-3", "-.5e+3"].flatMap(
        (number) => [
          `ASK { ?s ?p ${number}, ${number}.}`,
          `ASK { VALUES ?o { ${number} } FILTER(?o=${number}) }`,
        ],
      ),
      "ASK { ?a ?b 1.?c ?d .5.}",
      "SELECT (1-.5*.5/.5 AS ?o) {}",
      ...["a:b", "::", "a.b", "%41:%42", "1\\.\\~", "日\u00b7", "_"].map(
        (name) => `${P} ASK { :${name} :${name}/e.f-1:${name}+ e.f-1:${name}.}`,
      ),
      `${P} ASK { _:1.a-b ?p _:_, _:日, [ ], [\t], ( ), [ :p () ] }`,
      `${P} ASK { : a e.f-1: }`,
      ...[
        `''''a'''`,
        `"""a"b""c\\""""`,
        `'\\t\\b\\n\\r\\f\\"\\'\\\\'`,
        `'''\n\r'''@en-US-1a`,
        `""^^${STRING}`,
      ].map((text) => `ASK { ?s ?p ${text} }`),
      ...["ASK #\r{}", "ASK #a\r\n{}#", "#\n#\rASK{}# }", "ASK { ?s <urn:#a> '#' #}\r}"],
      ...["NOT IN (1)", "not\tin(1)", "NOT#c\r IN ()", "NOT # IN\n\r\n#\nIN (1)"].map(
        (test) => `ASK { FILTER(1 ${test}) }`,
      ),
      ...["NOT EXISTS {}", "not  exists{}", "NOT\nEXISTS {}", "NOT#EXISTS\n#\rEXISTS {}"].map(
        (test) => `ASK { FILTER ${test} FILTER(${test}) }`,
      ),
    ])("%j", async (text) => {
      expect(await query(text)).toMatchObject({ status: 503 });
    });
    test.each([
      "ASK { x:y ?p ?o }",
      "ASK { FILTER(1 NOT ?x IN (1)) }",
      "ASK { FILTER NOT }",
      "ASK { ?s ?p 1..5 ?o }",
      "ASK # {}",
    ])("and nothing else: %j", async (text) =>
      expect(await query(text)).toMatchObject({ status: 400, body: { error: "malformed_query" } }),
    );
  });

  describe("a text that is refused says where", () => {
    test.each([
      ["after a line that ends as on Windows", "SELECT *\r\n{ ?s ?p ", 2, 9],
      ["after one that ends as on old Macs", "SELECT *\r{ ?s ?p ", 2, 9],
      ["after an empty line", "SELECT *\n\n{ ?s ?p ", 3, 9],
      ["at an escape of what is no character of Unicode", "ASK { ?s ?p '\\U00110000' }", 1, 14],
    ])("%s", async (_, text, line, column) => {
      expect(await query(text)).toMatchObject({
        status: 400,
        body: {
          error: "malformed_query",
          details: [{ path: "query", message: `line ${line}, column ${column}` }],
        },
      });
    });

    test.each([
      ["The query is empty.", "PREFIX a: <urn:a>\n# nothing", 2, 10],
      ['Unexpected character "😀".', "ASK {}\n 😀", 2, 2],
    ])("and what: %s", async (message, text, line, column) => {
      const details = [{ path: "query", message: `line ${line}, column ${column}` }];
      expect(await query(text)).toMatchObject({ status: 400, body: { message, details } });
    });

    test("and quotes no more of it than forty characters", async () => {
      const { body } = await query(`ASK {} <urn:${"x".repeat(80)}>`);
      expect((body as { message: string }).message).toBe(`Unexpected "<urn:${"x".repeat(35)}".`);
    });
  });

  describe("a text that the parser would read for minutes", () => {
    const ENDLESS = `${"a.".repeat(22_000)}:a`;
    const LONG = `ASK { ${"<urn:s> <urn:p> <urn:o> .".repeat(100)} }`;
    const READING_MS = 30_000;
    /** What ends the time of each text that a patient door is reading. */
    const clocks = new Map<NodeJS.Timeout, () => void>();
    const expire = () => {
      for (const end of clocks.values()) end();
    };
    let patient: RunningDoor;
    let usual: RunningDoor;
    beforeEach(() => {
      const { setTimeout: set, clearTimeout: clear } = globalThis;
      jest
        .spyOn(globalThis, "setTimeout")
        .mockImplementation((work: () => void, ms?: number, ...given: []) => {
          const timer = set(work, ms, ...given);
          if (ms === READING_MS) clocks.set(timer, work);
          return timer;
        });
      jest.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
        clocks.delete(timer as NodeJS.Timeout);
        clear(timer);
      });
    });
    afterEach(() => {
      jest.restoreAllMocks();
      clocks.clear();
    });
    beforeAll(async () => {
      const { createGraphStore, storeUrls } = await import("../graph/store.ts");
      const store = createGraphStore(storeUrls(NOWHERE));
      patient = await startSparqlDoor({ store, timeoutMs: 60_000, readingMs: READING_MS, waitMs: 60_000 });
      usual = await startSparqlDoor({ store, timeoutMs: 60_000, readingMs: undefined });
    });
    afterAll(() => Promise.all([patient.stop(), usual.stop()]));

    const ask = async (key: string, body: string, signal?: AbortSignal, { url } = patient) => {
      const headers = { "content-type": "application/sparql-query", "x-key": key };
      const answer = await fetch(url, { method: "POST", body, headers, ...(signal && { signal }) });
      return [answer.status, ((await answer.json()) as { error: string }).error];
    };
    const READ = [503, "graph_unavailable"];

    test("is read for longer than its time by nobody, and meanwhile others are answered", async () => {
      let ended = 0;
      const endless = [ENDLESS, ENDLESS].map(async (text) => {
        const answer = await ask("one", text);
        ended += 1;
        return answer;
      });
      expect(await ask("another", "ASK {}")).toEqual(READ);
      expect(await ask("another", LONG)).toEqual(READ);
      expect(ended).toBe(0);
      const late = [504, "query_timeout"];
      // The second is read when the first has been given up.
      for (const number of [1, 2]) {
        await eventually(() => expect(clocks.size).toBe(1));
        expire();
        await eventually(() => expect(ended).toBe(number));
      }
      expect(await Promise.all(endless)).toEqual([late, late]);
      expect(await ask("one", LONG)).toEqual(READ);
    });

    test("takes the time of a caller who hangs up as of one who stays, and of nobody else", async () => {
      const leaving = new AbortController();
      let isNext = false;
      const left = ask("two", ENDLESS, leaving.signal);
      await eventually(() => expect(clocks.size).toBe(1));
      const [clock] = clocks.keys();
      leaving.abort();
      await expect(left).rejects.toThrow();
      const next = ask("two", LONG).then((answer) => {
        isNext = true;
        return answer;
      });
      expect(await ask("three", LONG)).toEqual(READ);
      expect([isNext, clocks.has(clock!)]).toEqual([false, true]);
      expire();
      expect(await next).toEqual(READ);
    });

    test("has all of its time, however long a thread takes that has to start first", async () => {
      const { createGraphStore, storeUrls } = await import("../graph/store.ts");
      const store = createGraphStore(storeUrls(NOWHERE));
      await eventually(async () => {
        // No thread starts in this time.
        const hasty = await startSparqlDoor({ store, timeoutMs: 60_000, readingMs: 50 });
        try {
          expect(await ask("four", LONG, undefined, hasty)).toEqual(READ);
        } finally {
          await hasty.stop();
        }
      });
    });

    test("is given up before others are refused, even if several callers send such texts", async () => {
      await Promise.all(["one", "two"].map((key) => ask(key, LONG, undefined, usual)));
      const endless = Promise.all(["one", "two"].map((key) => ask(key, ENDLESS, undefined, usual)));
      await ask("three", "ASK {}", undefined, usual);
      const third = await ask("three", LONG, undefined, usual);
      const late = [504, "query_timeout"];
      expect(await endless).toEqual([late, late]);
      // Read, or on a machine that is busy for seconds given up in its turn.
      expect([READ, late]).toContainEqual(third);
    });
  });

  test("a text is read alike however long it is", async () => {
    const long = "a".repeat(3_000);
    const name = "a".repeat(300);
    for (const text of [
      `PREFIX ${name}: <urn:${long}> ASK { ?s ${name}:${long} ?${long} . _:${long} ?p "${long}" }`,
      `ASK { ?s ?p """${long}"\\"""${long}""", '''${long}'${long}'''@${"a".repeat(60)} } # ${long}`,
    ])
      expect(await query(text)).toMatchObject({ status: 503 });
    const after = (text: string) => query(`# ${long}\n${text}`);
    expect(await after("ASK {} <urn:s>")).toMatchObject({
      status: 400,
      body: {
        error: "malformed_query",
        message: 'Unexpected "<urn:s>".',
        details: [{ message: "line 2, column 8" }],
      },
    });
    expect(await after("CLEAR ALL")).toMatchObject({ status: 403, body: { error: "read_only" } });
    expect(await after("ASK { SERVICE <urn:s> {} }")).toMatchObject({
      status: 403,
      body: { error: "federation_disabled" },
    });
  });

  test("a query has so many levels as any store answers, and no more", async () => {
    const sum = (terms: number) => `ASK { FILTER(${"1+".repeat(terms)}1) }`;
    expect(await query(sum(496))).toMatchObject({ status: 503 });
    // The last is too deep to be read at all.
    const nested = (levels: number) => `ASK { FILTER(${"(".repeat(levels)}1${")".repeat(levels)}) }`;
    for (const text of [sum(497), sum(600), sum(2_000), nested(30_000)])
      expect(await query(text)).toMatchObject({
        status: 400,
        body: { message: "The query is nested too deeply." },
      });
  });

  const doublings = (n: number, double = (name: string) => `CONCAT(${name}, ${name})`) =>
    Array.from({ length: n }, (_, i) => `BIND(${double(`?v${i}`)} AS ?v${i + 1})`);
  const select = (within: string) => `SELECT * { ${within} }`;
  const replaced = (of: string, ...pairs: readonly (readonly [string, string])[]) =>
    select(
      `?s ?p ?o BIND(${pairs.reduce((text, [from, to]) => `REPLACE(${text}, "${from}", "${to}")`, of)} AS ?t)`,
    );
  test.each([
    ["10 doublings of what is in the graph", select(doublings(10).join(" "))],
    ["names that are used again", select(`BIND(CONCAT(?a, "x") AS ?b) BIND(CONCAT(?b, "y") AS ?a)`)],
    [
      "a list of lists",
      `SELECT (GROUP_CONCAT(?l) AS ?m) { SELECT (GROUP_CONCAT(CONCAT(?a, ": ", ?b)) AS ?l) { ?s ?a ?b } GROUP BY ?s }`,
    ],
    [
      "lists of lists of lists",
      `SELECT (GROUP_CONCAT(?m) AS ?n) { SELECT (GROUP_CONCAT(?l) AS ?m) { SELECT (GROUP_CONCAT(CONCAT(?o, ?o, ?o)) AS ?l) { ?s ?p ?o } } }`,
    ],
    [
      "a choice of values again and again",
      select(doublings(40, (name) => `IF(true, ${name}, COALESCE(${name}, ${name}))`).join(" ")),
    ],
    [
      "a replacement by a word",
      select(`?s ?p ?o BIND(REPLACE(REPLACE(?o, "a", "some words"), "b", "other words") AS ?t)`),
    ],
    ["what exists", `ASK { FILTER EXISTS { ${doublings(3).join(" ")} } }`],
    [
      "a text for HTML",
      replaced("STR(?o)", ["&", "&amp;"], ["<", "&lt;"], [">", "&gt;"], ['\\"', "&quot;"], ["'", "&#39;"]),
    ],
    [
      "a text without its end, where other patterns have an end",
      select(
        `?s ?p ?o BIND(REPLACE(REPLACE(REPLACE(?o, " +$", ""), "a", "some"), "b", "other") AS ?t) FILTER(REGEX(?t, "c$"))`,
      ),
    ],
    [
      "a word for an address",
      replaced("LCASE(?o)", ...Array.from("áéíóúñü").map((letter) => [letter, "a"] as const), [
        "\\\\s+",
        "-",
      ]),
    ],
    [
      "11 letters by others",
      replaced("?o", ...Array.from("abcdefghijk").map((letter) => [letter, "x"] as const)),
    ],
    [
      "a letter to somebody",
      select(`?a ?n ?c BIND(REPLACE(REPLACE("Dear NAME of COUNTRY", "NAME", ?n), "COUNTRY", ?c) AS ?t)`),
    ],
  ])("%s may be made", async (_, text) => {
    expect(await query(text)).toMatchObject({ status: 503 });
  });

  test.each([
    ["11 doublings of what is in the graph", select(doublings(11).join(" "))],
    ["doublings in the other order", select(doublings(11).toReversed().join(" "))],
    ["20 doublings of a letter", select(`BIND("x" AS ?v0) ${doublings(20).join(" ")}`)],
    [
      "doublings in queries within each other",
      doublings(11)
        .reduce((inner, each) => `{ SELECT * { ${each} ${inner} } }`, "")
        .slice(1, -1),
    ],
    [
      "doublings under two names in turn",
      Array.from({ length: 11 }, (_, i) => (i % 2 ? "ab" : "ba"))
        .reduce(
          (inner, [from, to]) => `{ SELECT (CONCAT(?${from}, ?${from}) AS ?${to}) { ${inner} } }`,
          "?s ?p ?a",
        )
        .slice(1, -1),
    ],
    [
      "a replacement of each letter, twice",
      select(`BIND(REPLACE(?a, ".", ?b) AS ?c) BIND(REPLACE(?c, ".", ?c) AS ?d)`),
    ],
    [
      "what is long of nothing",
      select(`BIND(${"REPLACE(".repeat(2)}SHA512("")${`, ".", SHA512(""))`.repeat(2)} AS ?a)`),
    ],
    [
      "a name behind a long prefix",
      `PREFIX p: <http://a/${"x".repeat(3_000)}> SELECT (REPLACE(STR(p:a), ".", STR(p:a)) AS ?b) {}`,
    ],
    [
      "a letter of letters that are there again",
      replaced("?o", ["a", "b".repeat(99)], ["b", "a".repeat(99)]),
    ],
    [
      "what refers to all that it stands for",
      replaced("?o", ["a{9}", "$0".repeat(99)], ["[ab]{9}", "$0".repeat(99)]),
    ],
    [
      "an escape, which is one letter",
      replaced("?o", ["\\\\&", "b".repeat(99)], ["\\\\x62", "b".repeat(99)]),
    ],
    [
      "a place, which is no letter",
      replaced("?o", ...Array.from("abcdefghijk", () => ["\\\\b", "b"] as const)),
    ],
    ["addresses of addresses", select(doublings(5, (name) => `ENCODE_FOR_URI(${name})`).join(" "))],
    ["one expression", `ASK { FILTER(STRLEN(${"REPLACE(".repeat(3)}?a${`, "", ?a)`.repeat(3)}) > 1) }`],
    [
      "what is ordered by",
      `SELECT * { ?s ?p ?a } ORDER BY STRLEN(${"REPLACE(".repeat(3)}?a${`, "", ?a)`.repeat(3)})`,
    ],
    [
      "what is grouped by",
      `SELECT ?k { ${doublings(3).join(" ")} } GROUP BY (STR(?v3) AS ?k) HAVING (CONCAT(?k, ?k) != "")`,
    ],
    ["what exists", `ASK { FILTER EXISTS { ${doublings(4).join(" ")} } }`],
    ["a long literal", select(`VALUES ?v0 { "${"x".repeat(30_000)}" } ${doublings(7).join(" ")}`)],
  ])("values that could become longer than any store has room for are refused: %s", async (_, text) => {
    expect(await query(text)).toMatchObject({
      status: 400,
      body: {
        error: "malformed_query",
        message: expect.stringMatching(/longer than (2,000,000|10,000) characters by [A-Z]/),
      },
    });
  });

  test("how long a value may become is said by the refusal as by the documentation", async () => {
    const { body } = await query(select(doublings(11).join(" ")));
    const [, most] = /longer than ([\d,]+ characters)/.exec((body as { message: string }).message)!;
    const operations = await readFile("docs/operations.md", "utf8");
    const [row] = /^\| a value that a query makes of others .*$/m.exec(operations)!;
    expect(row).toContain(most);
  });

  test("what could take hours is refused with its pattern, and with what helps", async () => {
    const { body } = await query(`ASK { FILTER(REGEX("${"x".repeat(30_000)}", "x*x*y$")) }`);
    expect((body as { message: string }).message).toMatch(
      /^REGEX with the pattern "x\*x\*y\$" could take hours .* \(30,000 characters\); begin the pattern with \^, .* CONTAINS\.$/,
    );
  });

  const long = (letters: number) => `"${"x".repeat(letters)}"`;
  const made = (expression: string) => select(`${doublings(10).join(" ")} BIND(${expression} AS ?made)`);
  test.each([
    ["two unbounded quantifiers over what is in the graph", `ASK { ?s ?p ?o FILTER(REGEX(?o, "a.*b.*c")) }`],
    ["one over a long literal", `ASK { ?s ?p ?o FILTER(REGEX(IF(?o, ${long(30_000)}, ?p), "x*y$")) }`],
    [
      "three from the beginning on",
      `ASK { ?s ?p ?o FILTER(REGEX(STR(?o), "^(\\\\d+)-(\\\\d+)-(\\\\d+)T")) }`,
    ],
    [
      "what may be any of some words",
      `ASK { ?s ?p ?o FILTER(REGEX(?o, "(training|teaching).*(pastor|people).*(rural|remote)")) }`,
    ],
    ["words between anything", `ASK { ?s ?p ?o FILTER(REGEX(?o, ".*(train|teach).*(pastor|leader).*")) }`],
    [
      "what has alternatives in a group only",
      `ASK { ?s ?p ?o FILTER(REGEX(STR(?o), "^(\\\\d+)-(\\\\d+)-(\\\\d+)(T|Z)")) }`,
    ],
    ["what may be anything at the end", `ASK { ?s ?p ?o FILTER(REGEX(?o, ".*a.*b.*")) }`],
    ["a pattern without any over what was doubled", made(`REGEX(?v10, "^x.y$")`)],
    ["one value of the graph in another", `ASK { ?a ?b ?c FILTER(CONTAINS(STR(?c), STR(?a))) }`],
    ["what is squared in turn", select(doublings(6, (name) => `(${name} * ${name})`).join(" "))],
    ["the number of letters, squared", made("STRLEN(?v10) * STRLEN(?v10)")],
    [
      "a number of what is in the graph",
      `SELECT (<http://www.w3.org/2001/XMLSchema#integer>(?o) AS ?n) { ?s ?p ?o }`,
    ],
  ])("may be looked for: %s", async (_, text) => {
    expect(await query(text)).toMatchObject({ status: 503 });
  });

  test.each([
    ["REGEX", `ASK { FILTER(REGEX(${long(30_000)}, "x*x*y$")) }`],
    ["REGEX", `ASK { ?s ?p ?o FILTER(REGEX(STR(?o), "[^#]*[^#]*[^#]*#")) }`],
    ["REGEX", `ASK { FILTER(REGEX(${long(300)}, "^x*x*x*x{0,9998}y")) }`],
    ["REGEX", `ASK { ?s ?p ?o FILTER(REGEX(STR(?o), "^x*x*x*y", "m")) }`],
    ["REGEX", `ASK { FILTER(REGEX(${long(800)}, "^x*x*x*y|z")) }`],
    ["REGEX", made(`REGEX(?v10, "x*y$")`)],
    ["REPLACE", made(`REPLACE(?v10, "x*y$", "")`)],
    ["CONTAINS", made(`CONTAINS(?v10, CONCAT(?v9, "y"))`)],
    ["STRBEFORE", made(`STRBEFORE(?v10, CONCAT(?v9, "y"))`)],
    ["STRAFTER", made(`STRAFTER(?v10, CONCAT(?v9, "y"))`)],
    ["STRDT", made("STRDT(?v10, <http://www.w3.org/2001/XMLSchema#date>)")],
    ["A function", made("<http://www.w3.org/2001/XMLSchema#boolean>(?v10)")],
  ])("%s is refused where it could take hours", async (name, text) => {
    const answer = await query(text);
    expect((answer.body as { message: string }).message.startsWith(name)).toBe(true);
    expect(answer).toMatchObject({
      status: 400,
      body: {
        error: "malformed_query",
        message: expect.stringContaining(
          ` could take hours over values as long as those of this query could become (`,
        ),
      },
    });
  });

  test("each may be within what it takes alone, and all together not", async () => {
    const looking = `REGEX(?o, "x*x*y$")`;
    expect(await query(`ASK { ?s ?p ?o FILTER(${looking}) }`)).toMatchObject({ status: 503 });
    const hashed = (number: number) =>
      query(made(`CONCAT(${Array.from({ length: number }, () => "MD5(?v10)").join()})`));
    expect(await hashed(1_000)).toMatchObject({ status: 503 });
    for (const refused of [
      await query(`ASK { ?s ?p ?o FILTER(${looking}) FILTER(${looking} || ?p = <urn:p>) }`),
      await query(made(`CONCAT(${Array.from({ length: 40 }, () => "STR(CONTAINS(?v4, ?v3))").join()})`)),
      await hashed(2_500),
    ]) {
      expect(refused).toMatchObject({ status: 400, body: { error: "malformed_query" } });
      expect((refused.body as { message: string }).message).toMatch(/could take hours in total/);
    }
  });

  test("a separator is part of what is joined by it", async () => {
    const joined = (letters: number) =>
      query(`SELECT (GROUP_CONCAT(?o; SEPARATOR=${long(letters)}) AS ?l) { ?s ?p ?o }`);
    expect(await joined(9_001)).toMatchObject({ status: 400, body: { error: "malformed_query" } });
    expect(await joined(9_000)).toMatchObject({ status: 503 });
  });

  test("EXISTS stands within EXISTS at most eight deep", async () => {
    const within = (levels: number, what: string) =>
      query(`ASK { ${`?s ?p ?o FILTER ${what} { `.repeat(levels)} ?s ?p ?o ${"}".repeat(levels)} }`);
    for (const what of ["EXISTS", "NOT EXISTS"]) {
      expect(await within(8, what)).toMatchObject({ status: 503 });
      expect(await within(9, what)).toMatchObject({
        status: 400,
        body: { message: "EXISTS and NOT EXISTS may stand within each other at most 8 deep." },
      });
    }
    const beside = "FILTER EXISTS { ?s ?p ?o } ".repeat(50);
    expect(await query(`ASK { ${beside} }`)).toMatchObject({ status: 503 });
  });

  test.each([
    ["\\u0041SK {}", "ASK {}"],
    ["ASK { ?s ?p '\\U0010FFFF' }", "ASK { ?s ?p '\\U0010FFFF' }"],
    ["ASK { ?s ?p '\\u0041' }", "ASK { ?s ?p '\\u0041' }"],
  ])("%s is sent as a text that every store reads alike", async (text, sent) => {
    const { guardQuery } = await import("../graph/sparql-guard.ts");
    expect(guardQuery(text)).toMatchObject({ form: "ask", text: sent });
  });

  describe("bodies that are refused", () => {
    test.each<[string, number, string, string, string]>([
      ["no content type", 415, "unsupported_media_type", "", "ASK {}"],
      ["another content type", 415, "unsupported_media_type", "text/plain", "ASK {}"],
      [
        "another charset",
        415,
        "unsupported_media_type",
        "application/sparql-query; charset=utf-16",
        "ASK {}",
      ],
      ["malformed JSON", 400, "validation_failed", "application/json", "{"],
      ["JSON of another shape", 400, "validation_failed", "application/json", `["ASK {}"]`],
      ["JSON without a query", 400, "validation_failed", "application/json", "{}"],
      [
        "JSON with an unknown field",
        400,
        "validation_failed",
        "application/json",
        `{"query":"ASK {}","x":1}`,
      ],
      ["a form without a query", 400, "validation_failed", "application/x-www-form-urlencoded", "q=ASK"],
      [
        "a form with two queries",
        400,
        "validation_failed",
        "application/x-www-form-urlencoded",
        "query=ASK&query=ASK",
      ],
      ["65,537 bytes", 413, "payload_too_large", "application/sparql-query", " ".repeat(65_537)],
      ["10 MB", 413, "payload_too_large", "application/sparql-query", " ".repeat(10_000_000)],
    ])("%s", async (_name, status, error, type, body) => {
      const answer = await send({
        method: "POST",
        body: Buffer.from(body),
        headers: type ? { "content-type": type } : {},
      });
      expect(answer).toMatchObject({ status, body: { error, statusCode: status } });
      // What was not read of it would be taken for the next request.
      if (status === 413) expect(answer.headers.get("connection")).toBe("close");
    });
    test.each(["gzip", "br"])("one that is packed, as %s", async (encoding) => {
      const answer = await send({
        method: "POST",
        body: "ASK {}",
        headers: { "content-type": "application/sparql-query", "content-encoding": encoding },
      });
      expect(answer).toMatchObject({ status: 415, body: { error: "unsupported_media_type" } });
    });
    test("what is not UTF-8", async () => {
      const body = Buffer.from([0x41, 0x53, 0x4b, 0xff, 0xfe]);
      expect(
        await send({ method: "POST", body, headers: { "content-type": "application/sparql-query" } }),
      ).toMatchObject({ status: 400, body: { error: "validation_failed" } });
    });
    test("a caller who never finishes the body and hangs up leaves nothing behind", async () => {
      const request = httpRequest(door.url, {
        method: "POST",
        headers: { "content-type": "application/sparql-query", "content-length": 100 },
      });
      request.on("error", () => undefined);
      request.write("ASK");
      await new Promise((resolve) => setTimeout(resolve, 50));
      request.destroy();
      expect(await query("ASK {}")).toMatchObject({ status: 503 });
    });
  });

  test.each(["PUT", "DELETE", "PATCH"])("%s is 405", async (method) => {
    const answer = await send({ method });
    expect(answer).toMatchObject({ status: 405, body: { error: "method_not_allowed" } });
    expect(answer.headers.get("allow")).toBe("GET, HEAD, POST, OPTIONS");
  });
});
